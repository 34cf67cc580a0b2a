"""The experiments of the paper, run again: tables, figures, and what it takes to repeat them.

Deng & Wang, arXiv 2501.02208, section "Numerical Experiments". ``robustmds paper`` on the command line is a
thin cover over `reproduce`.

==============  ==========================================================================================
experiment      what it shows
==============  ==========================================================================================
`convergence`   figure 1, left: the errors of RMDS-AAP fall by the factor gamma in every step
`decay`         figure 1, middle: success rate over the share of outliers, for three gamma
`threshold`     figure 1, right: the same for gamma = 0.9 and six thresholds
`noisy`         figure 2: error with noise and outliers, of all methods
`methods`       not in the paper: success rate of all methods, on other shapes and with other outliers, too
==============  ==========================================================================================
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robustmds.errors import require_count
from robustmds.files import require_writable, write_rows, write_whole
from robustmds.paper.figures import drawings
from robustmds.paper.programme import EXPERIMENTS, PAPER, experiment, simulations_of
from robustmds.paper.runner import identity, run
from robustmds.paper.summaries import Glance, at_a_glance, endings, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from robustmds.paper.runner import Tell
    from robustmds.table import Table

__all__ = ["EXPERIMENTS", "PAPER", "Glance", "at_a_glance", "experiment", "reproduce"]


def reproduce(
    name: str,
    folder: str | Path,
    *,
    simulations: int | None = None,
    seed: int = 0,
    jobs: int = 1,
    methods: Sequence[str] | None = None,
    tell: Tell | None = None,
) -> Table:
    """Run an experiment of the paper, and write its table, its figures and its settings.

    Every simulation has a seed of its own: the numbers depend neither on `jobs` nor on interruptions. What is
    done is kept in the folder; the same call goes on from there, and so does one with more simulations or
    other methods. Runs of another seed, of other settings or versions are refused, not mixed.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    folder : str or Path
        Where to write; it is made if it is not there. For "decay": ``decay.csv`` (one row per share of
        outliers and decay), ``decay.png``, ``decay.json`` (settings, versions, how the runs ended) and
        ``decay-runs.jsonl`` (every run).
    simulations : int, optional
        Draws per cell; without it 1000, and for "methods" 100. Methods that are slow run on some of them,
        unless `methods` names them; the table says on how many.
    seed : int
        Of all draws.
    jobs : int
        Processes to share the work. With more than one, a script has to make the call under
        ``if __name__ == "__main__":``.
    methods : sequence of str, optional
        Who takes part in "noisy" and in "methods": names in `METHODS` and, in "noisy", "oracle". Without it,
        all of them.
    tell : callable, optional
        Called with the number of runs that are done and that are wanted.

    Returns
    -------
    Table
        What the csv holds.

    References
    ----------
    Deng & Wang, *Robust multi-dimensional scaling via accelerated alternating projections*,
    arXiv 2501.02208.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from robustmds import paper
    >>> with TemporaryDirectory() as folder:
    ...     table = paper.reproduce("decay", folder, simulations=1)
    >>> table[0].outlier_share, table[0].decay, table[0].success_rate
    (0.05, '0.5', 1.0)
    """
    chosen = experiment(name, methods)
    n = chosen.default_simulations if simulations is None else simulations
    require_count("simulations", n, 1)
    require_count("seed", seed, 0)
    require_count("jobs", jobs, 1)
    require_writable(folder)
    counts = simulations_of(chosen, n, slow_ones_less=methods is None)
    records = run(chosen, Path(folder, f"{name}-runs.jsonl"), counts, seed=seed, jobs=jobs, tell=tell)
    table = summary(chosen, records)
    about = {
        "experiment": name,
        "measures": chosen.measures,
        "columns": chosen.columns,
        **identity(chosen, seed),
        "series": {series: chosen.settings_of(series) for series in chosen.names},
        "simulations": counts,
        "endings": endings(chosen, records),
    }
    write_whole(
        folder,
        {
            f"{name}.csv": lambda path: write_rows(path, table.columns, table),
            f"{name}.json": partial(_write_json, about),
            **drawings(chosen, table),
        },
    )
    return table


def _write_json(content: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
