"""RMDS-AAP: robust multi-dimensional scaling by accelerated alternating projections.

Squared distances D, some grossly wrong. Find points X and a sparse S with

    D = A(L) + S,    L = X X',    A(L)_ij = L_ii + L_jj - 2 L_ij = |x_i - x_j|^2.

Algorithm 1 of Deng & Wang, with the update of their appendix A:

    S^0 = T_cut(D)                     cut = xi^0, the threshold
    L^1 = H_r+ B(D - S^0)              B(Z) = -1/2 J Z J,   J = I - 11'/n
    for k = 1, 2, ...
        S^k     = T_cut(D - A(L^k))    cut = xi^0 gamma^k, gamma the decay
        L^{k+1} = H_r+ P_T B(D - S^k)  T the tangent space at L^k = U Lambda U'

Neither S nor any other n x n array is formed. P_T B needs B U alone, and since J U = U and B(A(L)) = L,

    B(D - S) U = U Lambda - 1/2 J (D - S - A(L)) U,

where D - S - A(L) is the residual where it is at most the cut and 0 elsewhere: also where nothing was
measured, which is how a missing distance takes the model's value. One pass over the distances gives the
product.

We depart from the paper in one thing: it lets the cut fall for ever, which with noise ends in setting every
pair aside. Here it stops at a floor. Unless given, that is found when the cut has passed the median of the
residuals, which says how large the noise is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from robustmds.errors import require_between, require_count
from robustmds.linalg import centred, tangent_step
from robustmds.methods._run import Iterative
from robustmds.passes import kept_product
from robustmds.starts import THRESHOLD_FACTOR, classical, factor, sq_diameter

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

KEPT_AT_MEDIAN = 0.5  # share of the measured pairs
# From the median of the residuals to three standard deviations of the long pairs: the noise of a squared
# distance grows with the distance, and a floor too low for the long pairs lets the far points drift.
FLOOR_FACTOR = 3 * 3 / 0.6745
BESIDE_NOISE = 0.02  # a move this small beside the kept residuals, both relative, is at rest


class State(NamedTuple):
    """Where RMDS-AAP is; squared quantities in squared working units."""

    basis: Array  # U, (n, r), orthonormal and centred
    eigenvalues: Array  # Lambda, (r,), descending
    decayed: float  # xi^0 gamma^k, before the floor
    cut: float  # of the step that led here
    floor: float  # the cut falls no further; 0: not known yet
    residual: float = np.inf  # root mean square of what that step kept, at the points it began from
    n_outliers: int = 0
    step_norm: float = np.inf

    @property
    def sq_size(self) -> float:
        """Mean squared distance between the points."""
        mean = 2 * float(self.eigenvalues.sum()) / len(self.basis)
        return max(mean, np.finfo(float).tiny)

    @property
    def points(self) -> Array:
        """X = U Lambda^(1/2), (n, r)."""
        return self.basis * np.sqrt(self.eigenvalues)


@dataclass(frozen=True, kw_only=True)
class RmdsAap(Iterative[State]):
    """Settings of RMDS-AAP (Deng & Wang 2025).

    Parameters
    ----------
    threshold : float, optional
        First cut, in squared units of the distances; paper: xi^0. It should lie between one and three times
        the largest true squared distance; without it, that is estimated.
    decay : float
        Factor by which the cut falls from step to step; paper: gamma. A slower decay bears more outliers and
        takes more steps. The default is that of the paper's noisy experiment.
    floor : float, optional
        The cut falls no further, in squared units of the distances. 0 lets it fall for ever, as the paper
        does; without it, it is some standard deviations of the noise as the residuals show it.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest relative move of the points at which they count as settled. Without a given floor, a move that
        is small beside the noise will do.

    Notes
    -----
    A step reads the distances once and costs about 7 n^2 r flops and O(n r^2) more. Missing distances are
    supported; weights and one-sided outliers are not.

    References
    ----------
    T. Deng, T. Wang, *Robust multi-dimensional scaling via accelerated alternating projections*,
    arXiv 2501.02208.

    Examples
    --------
    >>> RmdsAap(decay=0.9)
    RmdsAap(threshold=None, decay=0.9, floor=None, max_steps=1000, tol=1e-10)
    """

    name: ClassVar[str] = "rmds-aap"
    summary: ClassVar[str] = "accelerated alternating projections (Deng & Wang 2025)"
    power: ClassVar[int] = 2
    supports: ClassVar[frozenset[str]] = frozenset({"missing"})

    threshold: float | None = None
    decay: float = 0.7
    floor: float | None = None
    max_steps: int = 1000
    tol: float = 1e-10

    def __post_init__(self) -> None:
        if self.threshold is not None:
            require_between("threshold", self.threshold, np.finfo(float).tiny)
        require_between("decay", self.decay, 0.01, 0.999)
        if self.floor is not None:
            require_between("floor", self.floor, 0.0)
        require_count("max_steps", self.max_steps, 1)
        require_between("tol", self.tol, 0.0)

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return L^1 and the first cut."""
        unit = problem.unit  # its square may overflow where the products below do not
        if self.threshold is None:
            cut = THRESHOLD_FACTOR * sq_diameter(problem.measured)
        else:
            cut = self.threshold * unit * unit
        U, lam = classical(problem, cut) if points is None else factor(points)
        floor = 0.0 if self.floor is None else self.floor * unit * unit
        return State(U, lam, cut, cut, floor)

    def step(self, problem: Problem, state: State) -> State:
        """Return S^k, as what its removal leaves, and L^{k+1}."""
        U, lam, X = state.basis, state.eigenvalues, state.points
        decayed = self.decay * state.decayed
        floor = state.floor if self.floor is not None else self._floor(problem, state)
        cut = max(decayed, floor)
        kept = kept_product(problem.measured, X, U, cut)
        U, lam = tangent_step(U, U * lam - centred(kept.product) / 2)
        residual = float(np.sqrt(kept.sq_loss / max(kept.n_kept, 1)))
        new = State(U, lam, decayed, cut, floor, residual, problem.n_measured - kept.n_kept)
        return new._replace(step_norm=_moved(X, new.points))

    def settled(self, state: State) -> bool:
        """Tell whether the cut has come to rest, and the points with it."""
        # A small step means nothing while the cut is still falling; and one that is small beside the noise,
        # from which the floor comes, gains nothing more.
        noise = state.residual / state.sq_size
        tol = self.tol if self.floor is not None else max(self.tol, BESIDE_NOISE * noise)
        return state.decayed <= max(state.floor, np.finfo(float).eps) and state.step_norm <= tol

    @staticmethod
    def _floor(problem: Problem, state: State) -> float:
        """Return the floor, if the step that led here set aside half of the pairs and so passed the noise."""
        n_kept = problem.n_measured - state.n_outliers
        if state.floor or n_kept >= KEPT_AT_MEDIAN * problem.n_measured:
            return state.floor
        return FLOOR_FACTOR * max(state.cut, problem.resolution)


def _moved(X: Array, new: Array) -> float:
    """Return how far the points moved, relative to their size; both are centred, and turned to fit best."""
    A, _, Bt = np.linalg.svd(new.T @ X)
    return float(np.linalg.norm(new @ (A @ Bt) - X)) / max(float(np.linalg.norm(X)), np.finfo(float).tiny)
