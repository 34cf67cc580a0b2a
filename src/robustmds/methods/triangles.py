"""TMDS: distances that break many triangles are left out, and the others fitted by least squares.

Three distances a, b, c between three points close a triangle if none is longer than the other two together.
Every pair has the number of third points with which its triangle does not close. Of these numbers H(b) pairs
have b, and the limit is

    the smallest b with sum_{c <= b} H(c) >= half of the pairs and H(b + 1) > H(b):

up to the bulk of the good pairs the histogram falls, and where it rises again the wrong ones begin. Pairs
beyond the limit get the weight 0 in SMACOF (Blouvshtein & Cohen-Or 2019).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from robustmds.errors import require_between
from robustmds.methods._run import Run
from robustmds.methods.majorization import Smacof
from robustmds.passes import NOTHING, MeasuredEdges, broken_triangles, pairs_outside
from robustmds.result import Status
from robustmds.starts import torgerson

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from robustmds.linalg import Array
    from robustmds.methods._run import Callback
    from robustmds.problem import Problem
    from robustmds.result import Step

MOST_JUDGES = 1000  # third points that are looked at
ROUNDING = 1e-9  # points on a line break no triangle by rounding
HALF = 0.5  # of the pairs are taken for good


@dataclass(frozen=True, kw_only=True)
class Tmds(Smacof):
    """Settings of TMDS: SMACOF without the pairs that break many triangles.

    Parameters
    ----------
    slack : float
        The longest side of a triangle that closes may be longer than the other two together by this share of
        them.
    tol : float
        Largest relative move of the points at which they count as settled.
    max_steps : int
        Steps after which a fit ends unsettled.

    Notes
    -----
    The count takes n^3/2 looks; of more than 1,000 points, 1,000 evenly spaced ones are looked at for every
    pair. The list of pairs takes about twice the memory of the table. By its authors it is for less than a
    fifth of wrong distances. They have no slack, with which points on a line break triangles by their noise;
    on the plus sign with noise the error falls by a third. Nor do they say where SMACOF begins: here at the
    points that fit all pairs, and at classical scaling of the shortest paths along the kept ones; the fit
    with the smaller stress is the answer (docs/methods.md). Missing distances are supported; weights are not, as
    the method has its own.

    References
    ----------
    L. Blouvshtein, D. Cohen-Or, *Outlier detection for robust multi-dimensional scaling*, IEEE Transactions
    on Pattern Analysis and Machine Intelligence 41 (2019), doi:10.1109/TPAMI.2018.2851513.

    Examples
    --------
    >>> Tmds()
    Tmds(tol=1e-07, max_steps=2000, slack=0.05)
    """

    name: ClassVar[str] = "tmds"
    summary: ClassVar[str] = "leaves out what breaks many triangles (Blouvshtein & Cohen-Or 2019)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing"})

    slack: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between("slack", self.slack, 0.0)

    def solve(self, problem: Problem, points: Array | None = None, callback: Callback | None = None) -> Run:
        """Return the points that fit the kept pairs."""
        rest = self._kept(problem)
        n_broken = problem.n_measured - rest.n_measured

        def told(step: Step) -> Step:
            return step._replace(n_outliers=step.n_outliers + n_broken)

        told_back = callback and (lambda step: callback(told(step)))
        history: list[Step] = []
        ends: list[Run] = []
        for start in self._starts(problem, rest, points, callback):
            history += start.history
            ends.append(start)
            if start.status is Status.STOPPED:
                break
            end = super().solve(rest, start.points, told_back)
            history += map(told, end.history)
            ends.append(end)
            if end.status is Status.STOPPED:
                break
        last = ends[-1]
        best = (
            last
            if last.status is Status.STOPPED
            else min(ends[1::2], key=lambda end: end.history[-1].residual)
        )
        return best._replace(history=tuple(history))

    def _starts(
        self, problem: Problem, rest: Problem, points: Array | None, callback: Callback | None
    ) -> Iterator[Run]:
        """Yield where the fit of the kept pairs begins: at the fit of all, and at their shortest paths."""
        yield super().solve(problem, points, callback)
        i, j, _, _ = pairs_outside(rest.measured, np.zeros((rest.n_points, 1)), NOTHING)
        n_parts, _ = connected_components(
            csr_array((np.ones(i.size), (i, j)), (rest.n_points, rest.n_points))
        )
        if points is None and n_parts == 1:
            yield Run(torgerson(rest), Status.CONVERGED, ())

    def _kept(self, problem: Problem) -> Problem:
        """Return the problem without the pairs that break more triangles than the limit."""
        n = problem.n_points
        judges = np.unique(np.linspace(0, n - 1, min(n, MOST_JUDGES)).astype(np.intp))
        listed, counts = broken_triangles(problem.measured, judges, 1 + self.slack + ROUNDING)
        kept = counts <= limit(np.bincount(counts.astype(np.intp)))
        i, j, seen = listed.i[kept], listed.j[kept], listed.seen[kept]
        row, column, value = np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([seen, seen])
        order = np.lexsort((column, row))
        edges = MeasuredEdges(
            n_points=n,
            values=value[order],
            starts=np.searchsorted(row[order], np.arange(n + 1)),
            columns=column[order].astype(np.int32),
        )
        return replace(problem, measured=edges, n_measured=i.size)


def limit(histogram: npt.NDArray[np.intp]) -> int:
    """Return the number of broken triangles up to which a pair is kept.

    Parameters
    ----------
    histogram : (m,) array of int
        How many pairs break 0, 1, 2, ... triangles.
    """
    half = np.cumsum(histogram) >= HALF * histogram.sum()
    rises = np.append(histogram[1:] > histogram[:-1], True)  # behind the last there is nothing
    return int(np.flatnonzero(half & rises)[0])
