"""Every method on the same distances, side by side.

A method that cannot use them, or fails, is a row with its reason. What a method would call its own success is
not asked for: all are measured by the same numbers, at the points they return.
"""

from __future__ import annotations

from collections import Counter
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robustmds.api import pose, robust_mds
from robustmds.errors import InputError, UnsupportedError, require_choice
from robustmds.linalg import centred, motion
from robustmds.methods import METHODS
from robustmds.passes import EVERYTHING, stress
from robustmds.result import matched
from robustmds.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy.typing as npt

    from robustmds.linalg import Array
    from robustmds.problem import Problem
    from robustmds.result import Result

NEAR = 0.05  # of the size of the points: methods whose points are no farther apart agree


class Row(NamedTuple):
    """What is said about one method."""

    method: str
    seconds: float = np.nan
    stress: float = np.nan
    set_aside: float = np.nan
    noise: float = np.nan
    agrees_with: int = 0
    error: float = np.nan
    status: str = ""


def compare(
    distances: Any,  # noqa: ANN401 - whatever robust_mds takes
    n_components: int = 2,
    *,
    methods: Sequence[str] | None = None,
    truth: npt.ArrayLike | Mapping[Hashable, npt.ArrayLike] | None = None,
    squared: bool = False,
    tell: Callable[[str], None] | None = None,
) -> Table:
    """Fit the same distances by several methods, and measure what each of them makes of them.

    Parameters
    ----------
    distances : array, table, sparse matrix or Pairs
        As `robust_mds` takes them.
    n_components : int
        Dimension r of the points.
    methods : sequence of str, optional
        Names in `METHODS`; all of them without it.
    truth : (n, r) array or mapping, optional
        The true points, or some of them by name or position.
    squared : bool
        Whether the distances are squared ones.
    tell : callable, optional
        Called with the name of every method before its turn.

    Returns
    -------
    Table
        One row a method, in the order of `methods`: `seconds` for the fit (compilation aside); `stress`, the
        root of the sum of squared residuals over that of squared distances, of all pairs; `set_aside`, the
        share of the pairs that are probably wrong at its points; `noise` of the others; `agrees_with`, how
        many of the other methods place the points within 5 % of their size; `error`, the root mean square
        distance to the true points after the best motion, nan without them; and `status`, or the reason why
        there is no result.

    Examples
    --------
    >>> import robustmds as rm
    >>> distances, _ = rm.datasets.eurodist()
    >>> table = rm.compare(distances, methods=["auto", "classical"])
    >>> table.method.tolist(), table.set_aside.round(2).tolist()
    (['auto', 'classical'], [0.02, 0.01])
    """
    names = list(METHODS) if methods is None else list(methods)
    for name in names:
        require_choice("methods", name, tuple(METHODS))
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError("methods", "must name every method once", f"got {name!r} {count} times")
    problem, _ = pose(distances, n_components, squared=squared)
    ends = []
    for name in names:
        (tell or _silent)(name)
        ends.append(_end(name, distances, n_components, squared=squared))
    points = [end.points for _, end in ends if not isinstance(end, str)]
    rows = [
        Row(name, seconds, status=end)
        if isinstance(end, str)
        else Row(
            name,
            seconds,
            stress=_stress(problem, end.points),
            set_aside=end.outlier_share,
            noise=end.noise,
            agrees_with=sum(_apart(end.points, other) <= NEAR for other in points) - 1,
            error=np.nan if truth is None else _error(end, truth),
            status=end.status.name,
        )
        for name, (seconds, end) in zip(names, ends, strict=True)
    ]
    columns = zip(Row._fields, zip(*rows, strict=True), strict=True)
    return Table({name: np.array(column) for name, column in columns})


def _silent(_name: str) -> None:
    pass


def _end(name: str, distances: Any, n_components: int, *, squared: bool) -> tuple[float, Result | str]:  # noqa: ANN401
    """Return how long a method took, and its result or the reason why there is none."""
    try:
        # The first step of a process compiles: it is taken once before the clock starts.
        robust_mds(distances, n_components, method=name, squared=squared, callback=lambda _: True)
        began = perf_counter()
        result = robust_mds(distances, n_components, method=name, squared=squared)
    except UnsupportedError as error:
        return np.nan, error.rule
    except np.linalg.LinAlgError as error:
        return np.nan, str(error)
    seconds = perf_counter() - began
    if not np.isfinite(result.points).all():
        return seconds, "the points are not finite"
    return seconds, result


def _stress(problem: Problem, points: Array) -> float:
    """Return the root of the sum of squared residuals over that of squared distances."""
    nowhere = np.zeros_like(points)
    at, of_all = (stress(problem.measured, X, EVERYTHING).loss for X in (problem.to_working(points), nowhere))
    return float(np.sqrt(at / of_all))


def _apart(points: Array, others: Array) -> float:
    """Return how far two sets of points lie apart after the best motion, relative to their size."""
    R, t, _ = motion(points, others)
    size = np.linalg.norm(centred(others))
    return float(np.linalg.norm(points @ R + t - others) / max(size, np.finfo(float).tiny))


def _error(result: Result, truth: npt.ArrayLike | Mapping[Hashable, npt.ArrayLike]) -> float:
    """Return the root mean square distance to the true points after the best motion."""
    own, to = matched(result, truth)
    R, t, _ = motion(own, to)
    return float(np.sqrt(((own @ R + t - to) ** 2).sum(axis=1).mean()))
