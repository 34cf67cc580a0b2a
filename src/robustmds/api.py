"""The front door: distances in, result out."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from robustmds.confidence import mixture
from robustmds.errors import InputError, UnsupportedError, require_between, require_choice
from robustmds.inputs import read
from robustmds.linalg import motion, one_blas_thread, principal
from robustmds.methods import METHODS
from robustmds.methods._run import Method
from robustmds.passes import EVERYTHING, stress
from robustmds.problem import OUTLIER_SIGNS, Problem
from robustmds.result import Evidence, Result, Status
from robustmds.table import Table

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt

    from robustmds.linalg import Array
    from robustmds.methods._run import Callback, Run

SMALL = 1 << 18  # measured pairs up to which the result keeps its own list of them
DEGENERATE_SHARE = 0.5  # of the pairs set aside
WORDS = {"missing": "missing distances", "weights": "weights", "outlier_sign": "the sign of outliers"}
HISTORY = ("method", "cut", "residual", "n_outliers", "step_norm")
DEPENDENCIES = ("robustmds", "numpy", "scipy", "numba")


def robust_mds(
    distances: Any,  # noqa: ANN401 - whatever inputs.read takes
    n_components: int = 2,
    *,
    method: str | Method = "auto",
    squared: bool = False,
    weights: Any = None,  # noqa: ANN401 - as the distances
    outlier_sign: str = "any",
    noise: float | None = None,
    start: npt.ArrayLike | None = None,
    callback: Callback | None = None,
) -> Result:
    """Find points from their distances, some of which are wrong, noisy or missing.

    Parameters
    ----------
    distances : array, table, sparse matrix or Pairs
        Distances, not squared; nan = not measured. A square array; a condensed vector as
        `scipy.spatial.distance.pdist` returns it; a `scipy.sparse` matrix, whose stored entries are the
        measured pairs; a list of pairs, as `Pairs` or as a data frame with two columns of ends and one of
        distances; a square pandas or polars data frame with labels; a `numpy.memmap`.
        It is never copied whole.
    n_components : int
        Dimension r of the points.
    method : str or settings
        A name in `METHODS`, or an object such as ``methods.RmdsAap(decay=0.9)``.
    squared : bool
        Whether the distances are squared ones.
    weights : like distances, optional
        How much every pair counts in the least-squares fit; 0 is the same as not measured.
    outlier_sign : {"any", "too-long", "too-short"}
        Which errors a wrong distance can have, if that is known.
    noise : float, optional
        Standard deviation of a good distance; estimated without it.
    start : (n, r) array, optional
        Points to begin from.
    callback : callable, optional
        Called with every `Step`; returning True stops, and the points so far are the answer.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If the input cannot be used; the message says why and what to do.

    References
    ----------
    Deng & Wang, *Robust multi-dimensional scaling via accelerated alternating projections*,
    arXiv 2501.02208.

    Examples
    --------
    >>> import robustmds as rm
    >>> distances, cities = rm.datasets.eurodist()
    >>> result = rm.robust_mds(rm.Labelled(distances, cities))
    >>> for pair in result.suspects()[:2]:
    ...     print(pair.label_i, pair.label_j, pair.measured, round(pair.fitted))
    Athens Rome 817.0 1807
    Cologne Geneva 1662.0 684
    """
    chosen = _method(method)
    problem, labels = pose(
        distances, n_components, squared=squared, weights=weights, outlier_sign=outlier_sign, noise=noise
    )
    _require_support(chosen, problem)
    points = None if start is None else _points_to_start(start, problem)
    with one_blas_thread():
        run = chosen.solve(problem, points, callback)
        if start is None:
            run = run._replace(points=principal(run.points))
        return _result(problem, labels, chosen, run)


def pose(
    distances: Any,  # noqa: ANN401 - whatever inputs.read takes
    n_components: int,
    *,
    squared: bool = False,
    weights: Any = None,  # noqa: ANN401 - as the distances
    outlier_sign: str = "any",
    noise: float | None = None,
) -> tuple[Problem, Sequence[Hashable]]:
    """Return the problem that methods are given, and the names of the points.

    The parameters are those of `robust_mds`.
    """
    checked = read(distances, n_components, squared=squared, weights=weights)
    require_choice("outlier_sign", outlier_sign, OUTLIER_SIGNS)
    if noise is not None:
        require_between("noise", noise, 0.0)
    largest = checked.largest * checked.measured.unit
    problem = Problem(
        measured=checked.measured,
        n_components=int(n_components),
        n_measured=checked.n_measured,
        largest=float(np.sqrt(largest)) if squared else largest,
        noise=noise,
        outlier_sign=outlier_sign,
    )
    return problem, range(problem.n_points) if checked.labels is None else checked.labels


def align(points: npt.ArrayLike, to: npt.ArrayLike, *, scale: bool = False) -> Array:
    """Return points turned, mirrored and shifted so that they lie as near as possible to others.

    Parameters
    ----------
    points, to : (n, r) arrays
        Row by row the same points.
    scale : bool
        Whether they may also be stretched.

    Returns
    -------
    (n, r) array

    References
    ----------
    P. H. Schönemann, *A generalized solution of the orthogonal Procrustes problem*, Psychometrika 31
    (1966), doi:10.1007/BF02289451.

    Examples
    --------
    >>> import robustmds as rm
    >>> rm.align([[0, 0], [2, 0], [0, 1]], to=[[5, 5], [5, 7], [4, 5]]).round(6)
    array([[5., 5.],
           [5., 7.],
           [4., 5.]])
    """
    X, Y = np.asarray(points, dtype=float), np.asarray(to, dtype=float)
    if X.ndim != 2 or X.shape != Y.shape:  # noqa: PLR2004 - a matrix
        raise InputError("points", "must have the shape of those they go to", f"got {X.shape} and {Y.shape}")
    R, t, s = motion(X, Y, scale=scale)
    return s * X @ R + t


def _method(method: str | Method) -> Method:
    if isinstance(method, Method):
        return method
    require_choice("method", method, tuple(METHODS))
    return METHODS[method]()


def _require_support(method: Method, problem: Problem) -> None:
    """Refuse what the method cannot use, and name one that can."""
    needed = {
        "missing": not problem.is_complete,
        "weights": problem.measured.weights is not None,
        "outlier_sign": problem.outlier_sign != "any",
    }
    for what, is_needed in needed.items():
        if is_needed and what not in method.supports:
            able = next(name for name, other in METHODS.items() if what in other.supports)
            raise UnsupportedError(
                f"method {method.name!r}", f"cannot use {WORDS[what]}", "", f"Take {able!r}."
            )


def _points_to_start(start: npt.ArrayLike, problem: Problem) -> Array:
    X = np.asarray(start, dtype=float)
    shape = (problem.n_points, problem.n_components)
    if X.shape != shape or not np.isfinite(X).all():
        found = f"got shape {X.shape}" if X.shape != shape else "got an infinite or missing coordinate"
        raise InputError("start", f"must be finite points of shape {shape}", found)
    return problem.to_working(X - X.mean(axis=0))


def _result(problem: Problem, labels: Sequence[Hashable], method: Method, run: Run) -> Result:
    """Return the points with all that is measured at them."""
    X = run.points
    law = mixture(problem, X)
    every = stress(problem.measured, X, EVERYTHING)
    kept = stress(problem.measured, X, law.band()).n_kept
    evidence = Evidence(problem.measured, X, law, problem.unit, every.loss)
    share = 1 - float(kept.sum() / every.n_kept.sum())
    status = run.status
    if status is Status.CONVERGED and share > DEGENERATE_SHARE:
        status = Status.DEGENERATE
    columns = list(zip(*run.history, strict=True)) or [()] * len(HISTORY)
    asked = {
        "squared": problem.measured.squared,
        "outlier_sign": problem.outlier_sign,
        "noise": problem.noise,
    }
    return Result(
        points=problem.to_user(X),
        labels=labels,
        status=status,
        n_measured=problem.n_measured,
        noise=law.noise / problem.unit,
        outlier_share=share,
        point_suspicion=1 - kept / every.n_kept,
        history=Table(dict(zip(HISTORY, columns[: len(HISTORY)], strict=True))),
        method=method.name,
        settings=asked | asdict(method),
        versions=_versions(),
        evidence=evidence.own() if problem.n_measured <= SMALL else evidence,
    )


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in DEPENDENCIES}
