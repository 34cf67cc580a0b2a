"""What the robust-PCA methods share: D = L + S, and eigenvectors by the size of their eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from robustmds.edm import A, T
from robustmds.errors import require_between, require_count
from robustmds.methods._run import Iterative
from robustmds.methods.sparse_cone import double_centred
from robustmds.methods.sparse_cone import leading as leading_positive
from robustmds.passes import matrices
from robustmds.starts import sq_diameter

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

TINY = float(np.finfo(float).tiny)
PARTIAL_FROM = 200  # points from which a few eigenpairs cost less than all


@dataclass(frozen=True, kw_only=True)
class Split:
    """D and its parts, symmetric (n, n) arrays in squared working units."""

    n_components: int  # of the points
    D: Array
    L: Array
    S: Array
    cut: float
    residual: float = np.inf  # root mean square of D - L over the pairs that S leaves alone
    n_outliers: int = 0
    step_norm: float = np.inf  # |L - L before| / |D|

    @property
    def points(self) -> Array:
        """Classical scaling of L, (n, r)."""
        U, lam = leading_positive(double_centred(-self.L / 2), self.n_components)
        return U * np.sqrt(lam)


P = TypeVar("P", bound=Split)


class RobustPca(Iterative[P]):
    """What the four methods share."""

    power: ClassVar[int] = 2
    holds_matrices: ClassVar[bool] = True
    zero_diagonal: bool
    max_steps: int
    tol: float

    def _require_common(self) -> None:
        require_count("max_steps", self.max_steps, 1)
        require_between("tol", self.tol, 0.0)

    def _without_diagonal(self, S: Array) -> Array:
        """Return S, with zeros on its diagonal if that is known to be right."""
        if self.zero_diagonal:
            np.fill_diagonal(S, 0.0)
        return S

    def _beyond(self, R: Array, cut: float) -> Array:
        """Return the entries of R that are larger than the cut."""
        return self._without_diagonal(T(R, cut))

    def _next(self, state: P, L: Array, S: Array, cut: float, **own: Any) -> P:  # noqa: ANN401 - of each kind
        """Return the next state, and what is measured at it."""
        kept = S == 0
        np.fill_diagonal(kept, val=False)
        n_kept = int(np.count_nonzero(kept))
        size = max(float(np.linalg.norm(state.D)), TINY)
        return replace(
            state,
            L=L,
            S=S,
            cut=cut,
            residual=float(np.linalg.norm((state.D - L) * kept)) / np.sqrt(max(n_kept, 1)),
            n_outliers=(len(L) * (len(L) - 1) - n_kept) // 2,
            step_norm=float(np.linalg.norm(L - state.L)) / size,
            **own,
        )


def given(problem: Problem, points: Array | None) -> tuple[Array, Array]:
    """Return D, and L: the squared distances of the points, or 0 without them."""
    D, _ = matrices(problem.measured)
    return D, np.zeros_like(D) if points is None else A(points @ points.T)


def first_cut(problem: Problem, threshold: float | None) -> float:
    """Return the first cut in squared working units: the one asked for, or the estimate."""
    if threshold is None:
        return sq_diameter(problem.measured)
    return threshold * problem.unit * problem.unit  # unit**2 may overflow where this does not


def true_rank(problem: Problem) -> int:
    """Return the rank of the squared distances of points in general position."""
    return min(problem.n_components + 2, problem.n_points)


def sizes(lam: Array) -> Array:
    """Return the sizes of eigenvalues, and a 0 for the one that comes after the last."""
    return np.append(np.abs(lam), 0.0)


def low_rank(U: Array, lam: Array) -> Array:
    """Return U Lambda U', symmetric to the last bit."""
    L = (U * lam) @ U.T
    return (L + L.T) / 2


def leading(Z: Array, k: int) -> tuple[Array, Array]:
    """Return k eigenvectors of a symmetric Z and their eigenvalues, the largest in size first."""
    n = len(Z)
    if n >= PARTIAL_FROM:
        # A function of n alone, so that the answer is one of the distances alone.
        begin = np.random.default_rng(0).standard_normal(n)
        try:
            lam, U = eigsh(Z, k, v0=begin)
        except ArpackNoConvergence:
            pass
        else:
            return by_size(U, lam, k)
    lam, U = np.linalg.eigh(Z)
    return by_size(U, lam, k)


def by_size(U: Array, lam: Array, k: int) -> tuple[Array, Array]:
    """Return k eigenvectors and their eigenvalues, the largest in size first."""
    order = np.argsort(-np.abs(lam), kind="stable")[:k]
    return U[:, order], lam[order]


def tangent_leading(U: Array, Z: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of UU'Z + ZUU' - UU'ZUU', the largest in size first.

    Those that can differ from 0: twice as many as U, (n, k), has columns, or n.
    """
    k = U.shape[1]
    Q, R = np.linalg.qr(np.hstack([U, Z @ U]))
    # In the basis Q, orthonormal even where ZU lies in the span of U: UU' is VV' and ZUU' is WV'.
    V, W = R[:, :k], R[:, k:]
    half = W @ V.T - V @ (V.T @ W) @ V.T / 2
    lam, small = np.linalg.eigh(half + half.T)
    small, lam = by_size(small, lam, len(lam))
    return Q @ small, lam


def largest(R: Array, m: int) -> Array:
    """Return the entries of a symmetric R that are among the m largest in size of their row and column."""
    if m < 1:
        return np.zeros_like(R)
    size = np.abs(R)
    least = np.partition(size, len(R) - m, axis=1)[:, len(R) - m]
    return np.where((size >= least) & (size >= least[:, None]), R, 0.0)
