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

from robustmds.errors import require_between
from robustmds.methods.majorization import Smacof
from robustmds.passes import broken_triangles, pairs_in
from robustmds.starts import trimmed

if TYPE_CHECKING:
    import numpy.typing as npt

    from robustmds.linalg import Array
    from robustmds.methods._run import Callback, Run
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
    The count takes n^3 looks; of more than 1,000 points, 1,000 evenly spaced ones are looked at for every
    pair. Counts and weights take two thirds of the memory of the table. By its authors it is for less than a
    fifth of wrong distances. They have no slack, with which points on a line break triangles by their noise,
    and do not say where SMACOF begins: here at classical scaling without the longest distances
    (docs/methods.md). Missing distances are supported; weights are not, as the method has its own.

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
    holds_matrices: ClassVar[bool] = True

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

        start = trimmed(problem) if points is None else points
        run = super().solve(rest, start, callback and (lambda step: callback(told(step))))
        return run._replace(history=tuple(map(told, run.history)))

    def _kept(self, problem: Problem) -> Problem:
        """Return the problem with a weight of 0 where a pair breaks more triangles than the limit."""
        measured, n = problem.measured, problem.n_points
        judges = np.unique(np.linspace(0, n - 1, min(n, MOST_JUDGES)).astype(np.intp))
        histogram, counts = np.zeros(len(judges) + 1, dtype=np.intp), []
        for rows, broken in broken_triangles(measured, judges, 1 + self.slack + ROUNDING):
            histogram += np.bincount(broken[pairs_in(rows, n)], minlength=len(histogram))
            counts.append(broken)
        most = limit(histogram)
        n_kept = int(histogram[: most + 1].sum()) // 2
        weights = measured.gathered([broken <= most for broken in counts])
        return replace(problem, measured=replace(measured, weights=weights), n_measured=n_kept)


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
