"""RMDS-AAP: robust multi-dimensional scaling by accelerated alternating projections.

Squared distances D, some grossly wrong. Find points X and a sparse S with

    D = A(L) + S,    L = X X',    A(L)_ij = L_ii + L_jj - 2 L_ij = |x_i - x_j|^2.

Algorithm 1 of the paper, with the update of its appendix A:

    S^0 = T_cut(D)                     cut = xi^0, the threshold
    L^1 = H_r+ B(D - S^0)              B(Z) = -1/2 J Z J,   J = I - 11'/n
    for k = 1, 2, ...
        S^k     = T_cut(D - A(L^k))    cut = xi^0 gamma^k, gamma the decay
        L^{k+1} = H_r+ P_T B(D - S^k)  T the tangent space at L^k = U Lambda U'

Neither S nor any other n x n array is formed. P_T B needs B U alone, and since J U = U and B(A(L)) = L,

    B(D - S) U = U Lambda - 1/2 J (D - S - A(L)) U,

where D - S - A(L) is the residual where it is at most the cut and 0 elsewhere: also where nothing was measured,
which is how a missing distance takes the model's value. One pass over the distances gives the product.

We depart from the paper in one thing: it lets the cut fall for ever, which with noise ends in setting every pair
aside. Here it stops at a floor, which unless given is a multiple of the residuals themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from robustmds.linalg import align, centred, leading_eigenpairs, tangent_step
from robustmds.passes import kept_product
from robustmds.starts import classical_basis, sq_diameter

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

KEPT=.5
FLOOR_FACTOR = 3.0  # the automatic floor, in root mean squares of the kept residuals


class State(NamedTuple):
    """Where RMDS-AAP is; squared quantities in squared working units."""

    basis: Array  # U, (n, r), orthonormal and centred
    eigenvalues: Array  # Lambda, (r,)
    decayed: float  # xi^0 gamma^k, before the floor
    cut: float  # of the step that led here
    floor: float  # the cut falls no further
    residual: float  # root mean square of what that step kept; 0: no step yet
    n_outliers: int
    step_norm: float

    @property
    def points(self) -> Array:
        """X = U Lambda^(1/2), (n, r)."""
        return self.basis * np.sqrt(self.eigenvalues)


@dataclass(frozen=True, kw_only=True)
class RmdsAap:
    name: ClassVar[str] = "rmds-aap"
    power: ClassVar[int] = 2

    threshold: float | None = None
    decay: float = 0.7
    floor: float | None = None
    max_steps: int = 500
    tol: float = 1e-10

    def start(self, problem: Problem, points: Array | None) -> State:
        threshold = sq_diameter(problem) if self.threshold is None else self.threshold * problem.unit**2
        if points is None:
            U, lam = classical_basis(problem, cut=threshold)
        else:
            U, sizes, _ = np.linalg.svd(centred(points), full_matrices=False)
            lam = sizes**2
        floor = 0.0 if self.floor is None else self.floor * problem.unit**2
        return State(U, lam, threshold, threshold, floor, 0.0, 0, np.inf)

    def step(self, problem: Problem, state: State) -> State:
        U, lam, X = state.basis, state.eigenvalues, state.points
        floor = state.floor
        decayed = self.decay * state.decayed
        if self.floor is None and floor == 0.0 and problem.n_measured - state.n_outliers < KEPT * problem.n_measured and np.isfinite(state.step_norm):
            floor = FLOOR_FACTOR * max(state.cut, problem.resolution)
        cut = max(decayed, floor)
        kept = kept_product(problem.measured, X, U, cut)
        U, lam = tangent_step(U, U * lam - centred(kept.product) / 2)
        residual = np.sqrt(kept.sq_loss / max(kept.n_kept, 1))
        new = State(U, lam, decayed, cut, floor, residual, problem.n_measured - kept.n_kept, 0.0)
        R, t, _ = align(new.points, to=X)
        step_norm = np.linalg.norm(new.points @ R + t - X) / np.linalg.norm(X)
        return new._replace(step_norm=float(step_norm))

    def settled(self, state: State) -> bool:
        # A small step means nothing while the cut is still falling.
        return state.decayed <= max(state.floor, 1e-14) and state.step_norm <= self.tol
