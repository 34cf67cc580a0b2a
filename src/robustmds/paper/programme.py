"""The five experiments: under which conditions, who takes part, and how often.

Plus sign of 101 points, exact distances, a share p of them with an outlier (paper, figure 1):

    convergence   the errors of RMDS-AAP over its steps, p = .05
    decay         success rate over p, for three decays gamma
    threshold     success rate over p, for six thresholds xi^0
    methods       success rate over p of all methods, on other shapes and with other outliers, too: not in the
                  paper

Plus sign of 25 points, 4 of them anchors, noisy distances, m of them with an outlier (paper, figure 2):

    noisy         root mean square error over m of all methods, and of an oracle, for three variances
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

from robustmds.errors import InputError, require_choice
from robustmds.methods import METHODS, RmdsAap
from robustmds.paper.contenders import Oracle, Told, Untold
from robustmds.paper.draws import LAWS, SHAPES
from robustmds.paper.experiments import Convergence, Noisy, Recovery

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robustmds.paper.contenders import Contender
    from robustmds.paper.experiments import Experiment

P = tuple(k / 20 for k in range(1, 13))  # .05, .10, ..., .60
COARSE_P = tuple(k / 10 for k in range(1, 7))

# The share of the simulations that a slow method runs on unless it was asked for by name, by experiment; the
# tables say how many they were. Methods that are not here run on all.
SHARES: dict[str, dict[str, float]] = {
    "noisy": {"auto": 0.3, "rmds": 0.3, "hqmmds": 0.3, "tmds": 0.3},
    "methods": {},
}
LEAST_SIMULATIONS = 50  # a share is never fewer than these

ORACLE = Oracle().name


def _convergence(_: Sequence[str]) -> Experiment:
    return Convergence(
        name="convergence",
        number=1,
        cells=(("plus sign", "too long", 0.05),),
        contenders=(),
        series="quantity",
        told=Told(name="rmds-aap", decay=0.5),
    )


def _decay(_: Sequence[str]) -> Experiment:
    return Recovery(
        name="decay",
        number=2,
        cells=tuple(("plus sign", "too long", p) for p in P),
        contenders=tuple(Told(name=str(decay), decay=decay) for decay in (0.5, 0.7, 0.9)),
        series="decay",
    )


def _threshold(_: Sequence[str]) -> Experiment:
    return Recovery(
        name="threshold",
        number=3,
        cells=tuple(("plus sign", "too long", p) for p in P),
        contenders=tuple(
            Told(name=str(factor), decay=0.9, factor=factor) for factor in (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
        ),
        series="threshold",
    )


def _noisy(methods: Sequence[str]) -> Experiment:
    return Noisy(
        name="noisy",
        number=4,
        cells=tuple(product((0.0, 0.1, 0.2), (15, 30, 45, 60, 75))),
        contenders=tuple(_noisy_contender(name) for name in methods),
        series="method",
    )


def _noisy_contender(name: str) -> Contender:
    if name == ORACLE:
        return Oracle()
    return Told(name=name) if name == RmdsAap.name else _untold(name)


def _methods(methods: Sequence[str]) -> Experiment:
    """Return every method on every shape and law; RMDS-AAP also with the threshold that it estimates."""
    contenders: list[Contender] = []
    for name in methods:
        if name == RmdsAap.name:
            contenders += [Told(name=name), _untold(name, f"{name}-estimated")]
        else:
            contenders.append(_untold(name))
    first, *others = product(SHAPES, LAWS)
    cells = [(*first, p) for p in P] + [(*other, p) for other in others for p in COARSE_P]
    return Recovery(
        name="methods",
        number=5,
        cells=tuple(cells),
        contenders=tuple(contenders),
        series="method",
        default_simulations=100,
    )


def _untold(name: str, called: str | None = None) -> Untold:
    return Untold(name=called or name, method=METHODS[name]())


MADE: dict[str, Callable[[Sequence[str]], Experiment]] = {
    "convergence": _convergence,
    "decay": _decay,
    "threshold": _threshold,
    "noisy": _noisy,
    "methods": _methods,
}
EXPERIMENTS = tuple(MADE)
PAPER = EXPERIMENTS[:4]  # those that the paper has


def experiment(name: str, methods: Sequence[str] | None = None) -> Experiment:
    """Return the settings of an experiment.

    Parameters
    ----------
    name : str
        One of `EXPERIMENTS`.
    methods : sequence of str, optional
        Who takes part in "noisy" and in "methods": names in `METHODS` and, in "noisy", "oracle". Without it,
        all of them.

    Returns
    -------
    Experiment

    Examples
    --------
    >>> experiment("decay").names
    ('0.5', '0.7', '0.9')
    """
    require_choice("experiment", name, EXPERIMENTS)
    if name not in SHARES:
        if methods is not None:
            able = " and ".join(SHARES)
            raise InputError("methods", f"can be chosen in {able} only", f"got {name}", "Leave them out.")
        return MADE[name](())
    choices = [*METHODS, *([ORACLE] if name == "noisy" else [])]
    asked = choices if methods is None else list(methods) or [""]
    for method in asked:
        require_choice("methods", method, choices)
    return MADE[name]([method for method in choices if method in asked])


def simulations_of(experiment: Experiment, simulations: int, *, slow_ones_less: bool) -> dict[str, int]:
    """Return on how many simulations each series runs."""
    shares = SHARES.get(experiment.name, {}) if slow_ones_less else {}
    least = min(simulations, LEAST_SIMULATIONS)
    return {name: max(least, math.ceil(shares.get(name, 1.0) * simulations)) for name in experiment.names}
