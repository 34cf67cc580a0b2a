"""Method "auto": several starts, each refined on the pairs that are less likely wrong; the likeliest wins.

    start    X from RMDS-AAP with the estimated threshold; from classical MDS; from RMDS-AAP with other decays
    refine   repeat: noise and share of the wrong, from the residuals at X: the band of kept residuals
                     X <- least squares on the pairs within the band
             until the band settles

From every start two roads are taken: straight on, and with the band drawn in from the size of most residuals,
which leads out of many a wrong turn and, if many pairs are wrong, away from many a good start. All roads are
judged by one measure, the likelihood of the residuals. The first two that end in the same place end the
search; of many pairs the first road is taken alone, for wrong turns are a matter of few.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from robustmds.confidence import log_likelihood, mixture, residual_quantile
from robustmds.methods._run import Method, Run
from robustmds.methods.alternating_projections import RmdsAap
from robustmds.methods.classical import Classical
from robustmds.methods.least_squares import LeastSquares
from robustmds.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robustmds.linalg import Array
    from robustmds.methods._run import Callback
    from robustmds.problem import Problem
    from robustmds.result import Step

STARTS = (RmdsAap(decay=0.85), Classical(), RmdsAap(decay=0.7), RmdsAap(decay=0.95))
MOST = 0.9  # of the residuals lie within the first band of a drawn-in fit
DRAWN_IN = 0.8  # from band to band
ROUGH_STEPS, ROUGH_TOL = 3, 1e-2  # of the fits on the way
BAND_SETTLED = 1e-3  # relative change; the pairs this close to the edge do not decide anything
SAME = 1.0  # difference of the logarithms of two likelihoods
MANY = 1 << 20  # measured pairs


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Settings of the default method: none that has to be set.

    Parameters
    ----------
    max_rounds : int
        Times that the band of kept residuals is estimated.
    tol : float
        Largest relative move of the points at which a least-squares fit counts as settled.

    Examples
    --------
    >>> Auto()
    Auto(max_rounds=30, tol=1e-09)
    """

    name: ClassVar[str] = "auto"
    summary: ClassVar[str] = "RMDS-AAP and other starts, then least squares on the pairs above suspicion"
    supports: ClassVar[frozenset[str]] = frozenset({"missing", "weights", "outlier_sign"})

    max_rounds: int = 30
    tol: float = 1e-9

    def solve(self, problem: Problem, points: Array | None, callback: Callback | None) -> Run:
        """Return the likeliest points, how their fit ended, and every step on the way."""
        history: list[Step] = []
        ends: list[tuple[float, Run]] = []
        for run in self._roads(problem, points, callback):
            history += run.history
            ends.append((log_likelihood(problem, run.points), run))
            ends.sort(key=lambda end: -end[0])
            agreed = len(ends) > 1 and ends[0][0] - ends[1][0] <= SAME
            if run.status is Status.STOPPED or agreed or problem.n_measured > MANY:
                break
        best = ends[0][1]
        status = Status.STOPPED if run.status is Status.STOPPED else best.status
        return Run(best.points, status, tuple(history))

    def _roads(self, problem: Problem, points: Array | None, callback: Callback | None) -> Iterator[Run]:
        """Yield where each road ends, with the steps that have not been told yet."""
        for start in self._starts(problem, points, callback):
            yield start if start.status is Status.STOPPED else self._refined(problem, start, callback)
            drawn_in = self._drawn_in(problem, start._replace(history=()), callback)
            yield (
                drawn_in if drawn_in.status is Status.STOPPED else self._refined(problem, drawn_in, callback)
            )

    def _starts(self, problem: Problem, points: Array | None, callback: Callback | None) -> Iterator[Run]:
        """Yield where roads begin: at the given points, if there are any."""
        if points is not None:
            yield Run(points, Status.CONVERGED, ())
            return
        for method in STARTS:
            if problem.is_complete or "missing" in method.supports:
                yield method.solve(problem, None, callback)

    def _refined(self, problem: Problem, run: Run, callback: Callback | None) -> Run:
        """Return the end of the fits on what the band keeps, from the end of a run on."""
        band = np.array([np.inf, np.inf])
        for _ in range(self.max_rounds):
            before, band = band, np.array(mixture(problem, run.points).band())
            fit = LeastSquares(low=band[0], high=band[1], tol=self.tol)
            run = _and_then(run, fit.solve(problem, run.points, callback))
            settled = np.allclose(np.abs(band), np.abs(before), rtol=BAND_SETTLED, atol=0)
            if run.status is not Status.CONVERGED or settled:
                return run
        return run._replace(status=Status.MAX_STEPS)

    def _drawn_in(self, problem: Problem, run: Run, callback: Callback | None) -> Run:
        """Return the end of rough fits on ever narrower bands, down to that of the mixture."""
        width = residual_quantile(problem, run.points, MOST)
        while width > np.abs(band := np.array(mixture(problem, run.points).band())).min():
            # Where errors have one sign, the other side of the band stays open.
            low, high = np.where(np.isinf(band), band, np.copysign(width, band))
            fit = LeastSquares(low=low, high=high, max_steps=ROUGH_STEPS, tol=ROUGH_TOL)
            run = _and_then(run, fit.solve(problem, run.points, callback))
            if run.status is Status.STOPPED:
                break
            width *= DRAWN_IN
        return run


def _and_then(run: Run, more: Run) -> Run:
    """Return two runs as one."""
    return more._replace(history=run.history + more.history)
