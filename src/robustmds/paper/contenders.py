"""Who takes part: methods as a user has them, RMDS-AAP told the threshold, an oracle told the wrong pairs.

A contender gets the draw and the problem posed from its distances; what it may look at is its own affair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robustmds.api import pose
from robustmds.linalg import centred
from robustmds.methods import RmdsAap
from robustmds.methods.least_squares import LeastSquares
from robustmds.result import Status

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.methods._run import Method
    from robustmds.paper.draws import Draw
    from robustmds.problem import Problem

NOT_FINITE = "NOT_FINITE"
FAILED = (Status.BREAKDOWN.name, NOT_FINITE, np.linalg.LinAlgError.__name__)


class Attempt(NamedTuple):
    """What a contender made of a draw."""

    points: Array | None  # in the units of the distances; None where they are not finite
    status: str  # the name of a `Status`, or of what went wrong


@dataclass(frozen=True, kw_only=True)
class Contender(ABC):
    """Somebody who finds points: settings only."""

    name: str

    @abstractmethod
    def solve(self, draw: Draw, problem: Problem) -> tuple[Array, Status]:
        """Return the points, in the units of the distances, and how the fit ended."""

    def attempt(self, draw: Draw, problem: Problem) -> Attempt:
        """Return the points, or why there are none."""
        try:
            points, status = self.solve(draw, problem)
        except np.linalg.LinAlgError as error:
            return Attempt(None, type(error).__name__)
        return Attempt(points, status.name) if np.isfinite(points).all() else Attempt(None, NOT_FINITE)


@dataclass(frozen=True, kw_only=True)
class Untold(Contender):
    """A method that sees the distances and nothing else."""

    method: Method

    def solve(self, draw: Draw, problem: Problem) -> tuple[Array, Status]:  # noqa: ARG002 - what untold means
        """Return the points that the method finds."""
        # Not `robust_mds`: its verdict on every pair takes longer than a fit of so few points.
        run = self.method.solve(problem, None, None)
        return problem.to_user(run.points), run.status


@dataclass(frozen=True, kw_only=True)
class Told(Contender):
    """RMDS-AAP with the paper's settings, for which it is told the largest true squared distance, ||D*||inf.

    The paper judges "at convergence" and does not say when that is; its cut falls for ever. Here a run ends
    when the cut has fallen to `last_cut`. A point that is 1 % of the radius off makes residuals of some
    thousandths of ||D*||inf, so that nothing kept or set aside afterwards can decide between success and
    failure: of 780 draws of the noiseless experiment, near the shares where the rates fall, the verdict at
    1e-4 and at 1e-10 was the same in all. In noise the cut has then long set every pair aside.

    Parameters
    ----------
    factor : float
        Of ||D*||inf, the threshold; paper: xi^0.
    decay : float
        Of the cut; paper: gamma.
    last_cut : float
        Of ||D*||inf, the cut at which a run ends.
    """

    factor: float = 1.2
    decay: float = 0.7
    last_cut: float = 1e-4

    def method(self, draw: Draw) -> RmdsAap:
        """Return the settings for a draw."""
        scale = draw.sq_largest
        # A move of the size of the map counts as rest: where the cut has come to rest, the run ends.
        return RmdsAap(threshold=self.factor * scale, decay=self.decay, floor=self.last_cut * scale, tol=1.0)

    def solve(self, draw: Draw, problem: Problem) -> tuple[Array, Status]:
        """Return the points that RMDS-AAP finds."""
        run = self.method(draw).solve(problem, None, None)
        return problem.to_user(run.points), run.status


@dataclass(frozen=True, kw_only=True)
class Oracle(Contender):
    """Least squares on the good pairs alone, from the truth: what nobody can expect to beat."""

    name: str = "oracle"

    def solve(self, draw: Draw, problem: Problem) -> tuple[Array, Status]:  # noqa: ARG002 - it has its own
        """Return the points that fit the good distances best."""
        good, _ = pose(np.where(draw.wrong, np.nan, draw.distances), draw.points.shape[1])
        run = LeastSquares().solve(good, good.to_working(centred(draw.points)), None)
        return good.to_user(run.points), run.status
