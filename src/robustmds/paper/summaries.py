"""Tables from runs: one row per cell and series."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robustmds.paper.contenders import FAILED
from robustmds.paper.experiments import SUCCESS, Convergence, Recovery
from robustmds.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robustmds.datasets import Array, Mask
    from robustmds.paper.experiments import Experiment
    from robustmds.paper.runs import Records

NORMAL_95 = 1.959963984540054
SHOWN_VALUES = 12  # columns of a table at a glance
FORMATS = {"success_rate": ".2f", "mean": ".3g", "log10_mean": ".1f"}


class Glance(NamedTuple):
    """A small table: one row per series."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]


def wilson(n_successes: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a success rate, after Wilson.

    References
    ----------
    E. B. Wilson, *Probable inference, the law of succession, and statistical inference*, JASA 22 (1927),
    doi:10.1080/01621459.1927.10502953.

    Examples
    --------
    >>> low, high = wilson(9, 10)
    >>> round(low, 3), round(high, 3)
    (0.596, 0.982)
    """
    z2 = NORMAL_95**2
    middle = (n_successes + z2 / 2) / (n + z2)
    half = NORMAL_95 * float(np.sqrt(n_successes * (n - n_successes) / n + z2 / 4)) / (n + z2)
    # At no success and at nothing else one end is exact, but for rounding.
    return (middle - half if n_successes else 0.0), (middle + half if n_successes < n else 1.0)


def summary(experiment: Experiment, records: Records) -> Table:
    """Return the table of an experiment.

    Of `n` simulations `n_failed` ended in a breakdown and `n_excluded` gave no finite points; the mean,
    standard deviation, median and largest of the errors are over all but those excluded.
    """
    rows: list[dict[str, Any]] = []
    for c, cell in enumerate(experiment.cells):
        for name in experiment.names:
            status, errors = records.of(c, name)
            failed = np.isin(status, FAILED)
            where = dict(zip(experiment.columns, cell, strict=True)) | {experiment.series: name}
            if isinstance(experiment, Convergence):
                rows += [
                    where | {"k": k} | described(column, failed) | {"log10_mean": _log10_mean(column)}
                    for k, column in enumerate(errors.T)
                ]
            else:
                rates = success(errors, failed) if isinstance(experiment, Recovery) else {}
                rows.append(where | described(errors, failed) | rates)
    return Table({name: [row[name] for row in rows] for name in rows[0]})


def at_a_glance(experiment: Experiment, table: Table) -> Iterator[Glance]:
    """Yield small tables of what the figures show."""
    across, form = experiment.across, FORMATS[experiment.value]
    others = [name for name in experiment.columns if name != across]
    where = list(zip(*(table[name].tolist() for name in others), strict=True)) or [()] * len(table)
    for panel in dict.fromkeys(where):
        here = np.array([place == panel for place in where])
        x = np.unique(table[across][here])
        x = x[:: -(-len(x) // SHOWN_VALUES)]
        rows = []
        for name in experiment.names:
            of_name = here & (table[experiment.series] == name)
            values = [table[experiment.value][of_name & (table[across] == value)][0] for value in x]
            rows.append((labelled(table, name, of_name), *(format(value, form) for value in values)))
        title = ", ".join(f"{name} {value}" for name, value in zip(others, panel, strict=True))
        header = (experiment.series, *(f"{value:g}" for value in x))
        yield Glance(f"{experiment.value} over {across}, {table.n.max()} draws: {title}", header, rows)


def labelled(table: Table, name: str, rows: Mask) -> str:
    """Return the name of a series, with the number of simulations where it ran on fewer than others."""
    n = table.n[rows].max()
    return name if n == table.n.max() else f"{name} ({n})"


def described(errors: Array, failed: Mask) -> dict[str, float]:
    """Return how many errors there are, and how large they are."""
    finite = errors[np.isfinite(errors)]
    n = len(finite)
    return {
        "n": len(errors),
        "n_failed": int(failed.sum()),
        "n_excluded": len(errors) - n,
        "mean": float(finite.mean()) if n else np.nan,
        "standard_deviation": float(finite.std(ddof=1)) if n > 1 else np.nan,
        "median": float(np.median(finite)) if n else np.nan,
        "largest": float(finite.max()) if n else np.nan,
    }


def success(errors: Array, failed: Mask) -> dict[str, float]:
    """Return the share of the simulations in which the points were found, and its 95 % interval."""
    n_found, n = int(((errors < SUCCESS) & ~failed).sum()), len(errors)
    low, high = wilson(n_found, n)
    return {"success_rate": n_found / n, "success_low": low, "success_high": high}


def endings(experiment: Experiment, records: Records) -> dict[str, dict[str, int]]:
    """Return for every series how its simulations ended, and how often."""
    counted = {name: Counter[str]() for name in experiment.names}
    for (_, name), status in records.status.items():
        counted[name].update(status.tolist())
    return {name: dict(sorted(count.items())) for name, count in counted.items()}


def _log10_mean(errors: Array) -> float:
    finite = errors[np.isfinite(errors)]
    return float(np.log10(finite.mean())) if finite.any() else np.nan
