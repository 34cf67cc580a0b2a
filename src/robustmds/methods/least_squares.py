"""Least squares on the kept pairs: the stress, clipped outside a band of residuals.

Distances d_ij, weights w_ij, a band [low, high] of residuals. Minimise

    F(X) = 1/2 sum_{i<j} w_ij clip(d_ij - |x_i - x_j|, low, high)^2,

in which a pair outside the band counts, but pulls at nothing. One step is one of Levenberg and Marquardt:

    (C + damping W) P = -G,    X <- X + P    if F falls, else a larger damping and the same X,

with G the gradient, C the Gauss-Newton curvature of the kept pairs and W the weight of the kept pairs of
every point. C is never formed: conjugate gradients ask for C P, and one pass over the distances gives it. C
is singular along the motions of all points together, and G has no part along them, so the points stay where
they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from robustmds.linalg import conjugate_gradients
from robustmds.methods._run import Iterative
from robustmds.passes import Stress, stress, stress_curvature

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

FIRST_DAMPING = 1e-3
LEAST_DAMPING = 1e-12
LARGEST_DAMPING = 1e12  # beyond it no step is left to take
LEAST_GAIN = 1e-12  # relative; in a fit of more dimensions than the points have, valleys are very flat
FORCING = 0.1  # conjugate gradients stop where they have reduced the gradient to this, and sooner or later


class State(NamedTuple):
    """Where the fit is, in working units."""

    points: Array  # X, (n, r)
    at: Stress  # loss, gradient and weights at X
    cut: float
    residual: float  # root mean square of the residuals, those set aside counted as the edge of the band
    n_outliers: int
    damping: float = FIRST_DAMPING
    step_norm: float = np.inf
    gain: float = np.inf  # by which the last step, if it was taken, made the loss smaller, relative to it


@dataclass(frozen=True, kw_only=True)
class LeastSquares(Iterative[State]):
    """Settings of the least-squares fit on the kept pairs.

    Parameters
    ----------
    low, high : float
        The residuals that are kept, measured minus fitted, in working units.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest relative move of the points at which they count as settled.
    """

    name: ClassVar[str] = "least-squares"
    summary: ClassVar[str] = "least squares on the pairs within a band of residuals"
    supports: ClassVar[frozenset[str]] = frozenset({"missing", "weights"})
    power: ClassVar[int] = 1

    low: float = -np.inf
    high: float = np.inf
    max_steps: int = 200
    tol: float = 1e-9

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return the loss and its gradient at the points to begin from."""
        if points is None:
            raise TypeError("a least-squares fit begins from points")
        X = points - points.mean(axis=0)
        return self._state(problem, X, stress(problem.measured, X, self._band))

    def step(self, problem: Problem, state: State) -> State:
        """Return the points after one step, or the same points and a larger damping."""
        X, at = state.points, state.at
        weight = np.maximum(at.weight, np.finfo(float).tiny)[:, None]

        def curvature(P: Array) -> Array:
            return stress_curvature(problem.measured, X, P, self._band) + state.damping * weight * P

        P = conjugate_gradients(curvature, -at.gradient, weight, FORCING)
        P -= P.mean(axis=0)
        step_norm = float(np.linalg.norm(P) / np.linalg.norm(X))
        new = stress(problem.measured, X + P, self._band)
        # Near the minimum the loss falls by less than it can be computed to: a tiny step is taken anyway.
        if new.loss < at.loss or step_norm <= self.tol:
            gain = (at.loss - new.loss) / at.loss if at.loss > 0 else 0.0
            damping = max(LEAST_DAMPING, state.damping / 10)
            taken = self._state(problem, X + P, new)
            return taken._replace(damping=damping, step_norm=step_norm, gain=gain)
        return state._replace(damping=state.damping * 10, step_norm=step_norm, gain=np.inf)

    def settled(self, state: State) -> bool:
        """Tell whether the points have come to rest, or move along a valley that leads nowhere."""
        at_rest = state.step_norm <= self.tol or state.gain <= LEAST_GAIN
        return at_rest or state.damping > LARGEST_DAMPING

    @property
    def _band(self) -> tuple[float, float]:
        return self.low, self.high

    def _state(self, problem: Problem, X: Array, at: Stress) -> State:
        n_kept = int(at.n_kept.sum()) // 2
        residual = float(np.sqrt(2 * at.loss / problem.n_measured))
        return State(X, at, min(-self.low, self.high), residual, problem.n_measured - n_kept)
