"""Robust PCA: the squared distances as any matrix that is low-rank but for a few entries.

Squared distances D, (n, n), of points in r dimensions have rank r + 2 at most: with x_i the points and
a_i = |x_i|^2, D = a 1' + 1 a' - 2 X X'. Of that the four methods know the rank and no more. They look for

    D = L + S,    L of low rank, S of few nonzero entries,

and the points are the classical scaling of L. All matrices are symmetric, so that singular values are the
sizes of eigenvalues and left singular vectors the right ones, up to sign: an L of rank k is U Lambda U'. Let
k be r + 2, H_k(Z) the k eigenpairs of Z largest in size, s_j(Z) the size of the j-th, and T_cut the hard
threshold. The steps are

    pcp           S <- soft(D - L + Y / mu, lambda / mu)     minimises |L|_* + lambda |S|_1
                  L <- soft(D - S + Y / mu, 1 / mu)          of the eigenvalues
                  Y <- Y + mu (D - L - S),    mu <- growth mu
    altproj       L <- H_j(D - S),    S <- T_cut(D - L)      for j = 1, 2, ..., k
                  cut = beta (s_{j+1}(D - S) + gamma^t s_j(D - S)),    t the steps with this j
    accaltproj    L <- H_k(Z),    S <- T_cut(D - L)          Z the projection of D - S on the tangent space
                  cut = beta (s_{k+1}(Z) + gamma^t s_1(Z))   of the matrices of rank k at L = U Lambda U':
                                                             UU'(D - S) + (D - S)UU' - UU'(D - S)UU'
    rpca-gd       S <- the entries of D - L that are among the alpha n largest of their row and their column
                  X <- X - eta ((L + S - D) X G + 1/2 X (X'X - G X'X G)),    L = X G X'

with G diagonal, of signs: rpca-gd factors L = U V', and in the symmetric case V = U G holds for ever if it
holds at first.

We depart from the papers in two things. They begin by taking the largest entries out of D itself, but in
distances the largest of every row are good ones, those to the far side: all begin, unless told, at the
largest true squared distance as `starts.sq_diameter` estimates it. And the diagonal is known to be right:
unless told, S has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from robustmds.errors import require_between
from robustmds.methods._low_rank import (
    TINY,
    RobustPca,
    Split,
    first_cut,
    given,
    largest,
    leading,
    low_rank,
    sizes,
    tangent_leading,
    true_rank,
)
from robustmds.methods.sparse_cone import shrink

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

LARGEST_GROWTH = 1e7  # of mu, over all steps
STAGE_TOL = 0.15  # a stage of altproj ends when neither gamma^t s_j, beside s_{j+1}, nor L, moves more
BETA_SHARE = 0.5
FIRST_ALPHA = 0.4
NEAR = 1e-3  # a move of L this small, relative to D: the residuals show which entries stand out
STANDS_OUT = 8 / 0.6745  # times the median residual: eight standard deviations


@dataclass(frozen=True, kw_only=True)
class Multiplied(Split):
    """Where pcp is."""

    Y: Array  # the multipliers of D = L + S
    mu: float
    largest_mu: float


@dataclass(frozen=True, kw_only=True)
class Pcp(RobustPca[Multiplied]):
    """Settings of principal component pursuit (Candes, Li, Ma & Wright 2011).

    Parameters
    ----------
    sparsity : float
        Weight lambda of the errors, times the root of n. The publication's is 1, with which a point far from
        all others is taken for errors, even in clean distances; with more, fewer wrong pairs are borne.
    growth : float
        Factor by which mu grows from step to step. Public code has 1.5, at which the steps end before the
        minimum is reached: of 20 plus signs with 30 % wrong distances it finds none, and 1.1 finds all.
    zero_diagonal : bool
        Whether the diagonal is known to be right.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest |D - L - S| / |D| at which the matrices count as settled.

    Notes
    -----
    The steps are those of the inexact augmented Lagrangian of Lin, Chen & Ma, with their mu of 1.25 / |D|_2,
    at most 1e7 times that. A step takes all eigenpairs of an n x n matrix. The history has lambda / mu as its
    cut. All pairs have to be measured. Noise goes into L or S, as there is no third part.

    References
    ----------
    E. J. Candes, X. Li, Y. Ma, J. Wright, *Robust principal component analysis?*, Journal of the ACM 58
    (2011), doi:10.1145/1970392.1970395.
    Z. Lin, M. Chen, Y. Ma, *The augmented Lagrange multiplier method for exact recovery of corrupted
    low-rank matrices*, arXiv 1009.5055.

    Examples
    --------
    >>> Pcp(growth=1.5)
    Pcp(sparsity=1.2, growth=1.5, zero_diagonal=True, max_steps=1000, tol=1e-09)
    """

    name: ClassVar[str] = "pcp"
    summary: ClassVar[str] = "principal component pursuit: nuclear norm and l1 (Candes et al. 2011)"

    sparsity: float = 1.2
    growth: float = 1.1
    zero_diagonal: bool = True
    max_steps: int = 1000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        require_between("sparsity", self.sparsity, TINY)
        require_between("growth", self.growth, 1.0, 10.0)
        self._require_common()

    def start(self, problem: Problem, points: Array | None) -> Multiplied:
        """Return the multipliers of Lin, Chen & Ma, and the first mu."""
        D, L = given(problem, points)
        norm = max(float(np.abs(np.linalg.eigvalsh(D)).max()), TINY)
        dual_norm = max(norm, float(np.abs(D).max()) / self._lambda(D))
        mu = 1.25 / norm
        return Multiplied(
            n_components=problem.n_components,
            D=D,
            L=L,
            S=np.zeros_like(D),
            cut=self._lambda(D) / mu,
            Y=D / dual_norm,
            mu=mu,
            largest_mu=LARGEST_GROWTH * mu,
        )

    def step(self, problem: Problem, state: Multiplied) -> Multiplied:  # noqa: ARG002 - the state has D
        """Return the next S, L and Y, and the mu of the step after."""
        D, Y, mu = state.D, state.Y, state.mu
        cut = self._lambda(D) / mu
        S = self._without_diagonal(shrink(D - state.L + Y / mu, cut))
        lam, U = np.linalg.eigh(D - S + Y / mu)
        L = low_rank(U, shrink(lam, 1 / mu))
        return self._next(
            state, L, S, cut, Y=Y + mu * (D - L - S), mu=min(self.growth * mu, state.largest_mu)
        )

    def settled(self, state: Multiplied) -> bool:
        """Tell whether L and S add up to D."""
        left = float(np.linalg.norm(state.D - state.L - state.S))
        return left <= self.tol * float(np.linalg.norm(state.D))

    def _lambda(self, D: Array) -> float:
        return self.sparsity / float(np.sqrt(len(D)))


@dataclass(frozen=True, kw_only=True)
class Staged(Split):
    """Where altproj is."""

    rank: int  # j
    age: int = 0  # t
    beta: float
    cut_move: float = np.inf  # by how much the cut changed


@dataclass(frozen=True, kw_only=True)
class AltProj(RobustPca[Staged]):
    """Settings of alternating projections (Netrapalli et al. 2014).

    Parameters
    ----------
    threshold : float, optional
        First cut, in squared units of the distances. Without it, the largest true squared distance is
        estimated; paper: beta s_1(D).
    beta : float, optional
        Cut over eigenvalue. Without it 1 over the root of n, as in the authors' code; their theory has
        4 mu^2 r / n, with a mu that nobody knows.
    decay : float
        Factor by which the falling part of the cut falls; paper: gamma = 1/2.
    reduction : float
        Factor by which beta falls with every step in which the last stage stands still, so that noise does
        not end the fall of the cut. The authors' code has 0.9; 1 leaves beta as it is, as in the paper.
    stages : bool
        Whether the rank goes from 1 to r + 2, or is r + 2 throughout.
    zero_diagonal : bool
        Whether the diagonal is known to be right.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest |L - L before| / |D| at which the matrices count as settled.

    Notes
    -----
    A step takes r + 3 eigenpairs of an n x n matrix. All pairs have to be measured. When the paper ends a
    stage after a number of steps that follows from the accuracy asked for, this ends it when it stands still.

    References
    ----------
    P. Netrapalli, U. N. Niranjan, S. Sanghavi, A. Anandkumar, P. Jain, *Non-convex robust PCA*,
    arXiv 1410.7660.

    Examples
    --------
    >>> AltProj(decay=0.5)
    AltProj(threshold=None, beta=None, decay=0.5, reduction=0.9, stages=True, zero_diagonal=True,
            max_steps=1000, tol=1e-09)
    """

    name: ClassVar[str] = "altproj"
    summary: ClassVar[str] = "robust PCA by alternating projections, in stages (Netrapalli et al. 2014)"

    threshold: float | None = None
    beta: float | None = None
    decay: float = 0.9
    reduction: float = 0.9
    stages: bool = True
    zero_diagonal: bool = True
    max_steps: int = 1000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        if self.threshold is not None:
            require_between("threshold", self.threshold, TINY)
        if self.beta is not None:
            require_between("beta", self.beta, TINY)
        require_between("decay", self.decay, 0.01, 0.999)
        require_between("reduction", self.reduction, 0.01, 1.0)
        self._require_common()

    def start(self, problem: Problem, points: Array | None) -> Staged:
        """Return what lies within the first cut; with points, the last stage."""
        D, L = given(problem, points)
        cut = first_cut(problem, self.threshold)
        return Staged(
            n_components=problem.n_components,
            D=D,
            L=L,
            S=self._beyond(D - L, cut),
            cut=cut,
            rank=1 if self.stages and points is None else true_rank(problem),
            beta=1 / float(np.sqrt(len(D))) if self.beta is None else self.beta,
        )

    def step(self, problem: Problem, state: Staged) -> Staged:
        """Return the next L and S, and the stage and beta of the step after."""
        j, beta = state.rank, state.beta
        U, lam = leading(state.D - state.S, j + 1)
        falling, rest = self.decay**state.age * sizes(lam)[j - 1], sizes(lam)[j]
        L = low_rank(U[:, :j], lam[:j])
        cut = beta * (rest + falling)
        S = self._beyond(state.D - L, cut)
        new = self._next(state, L, S, cut, age=state.age + 1, cut_move=abs(cut - state.cut))
        fallen = falling <= max(STAGE_TOL * rest, self.tol * sizes(lam)[0])
        if not fallen or new.step_norm > STAGE_TOL:
            return new
        if j < true_rank(problem):
            return replace(new, rank=j + 1, age=0)
        return replace(new, beta=self.reduction * beta)

    def settled(self, state: Staged) -> bool:
        """Tell whether the cut has come to rest in the last stage, and L with it."""
        if state.rank < min(state.n_components + 2, len(state.D)):
            return False
        # A small step means nothing while the cut is still falling.
        return max(state.step_norm, state.cut_move / max(float(np.abs(state.D).max()), TINY)) <= self.tol


@dataclass(frozen=True, kw_only=True)
class Tangent(Split):
    """Where accaltproj is."""

    U: Array  # the eigenvectors of L, (n, k)
    age: int = 0  # t
    beta: float


@dataclass(frozen=True, kw_only=True)
class AccAltProj(RobustPca[Tangent]):
    """Settings of accelerated alternating projections (Cai, Cai & Wei 2019).

    Parameters
    ----------
    threshold : float, optional
        First cut, in squared units of the distances. Without it, the largest true squared distance is
        estimated; paper: beta_init s_1(D).
    beta : float, optional
        Cut over eigenvalue. The paper has mu r / n for the first cut and half of it for the others, which is
        where mu r / n is the largest entry of L over its largest eigenvalue; so without it, this is half the
        threshold over the largest eigenvalue of the first L.
    decay : float
        Factor by which the falling part of the cut falls; paper: gamma. Code: 0.5 to 0.7.
    zero_diagonal : bool
        Whether the diagonal is known to be right.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest |L - L before| / |D|, and gamma^t, at which the matrices count as settled.

    Notes
    -----
    A step takes one product of an n x n matrix with r + 2 columns and passes over n x n matrices. All pairs
    have to be measured. The authors' trimming of the longest rows of U, off in their code, is left out.

    References
    ----------
    H. Cai, J.-F. Cai, K. Wei, *Accelerated alternating projections for robust principal component analysis*,
    Journal of Machine Learning Research 20 (2019), https://jmlr.org/papers/v20/18-022.html.

    Examples
    --------
    >>> AccAltProj(decay=0.7)
    AccAltProj(threshold=None, beta=None, decay=0.7, zero_diagonal=True, max_steps=1000, tol=1e-09)
    """

    name: ClassVar[str] = "accaltproj"
    summary: ClassVar[str] = "robust PCA by accelerated alternating projections (Cai, Cai & Wei 2019)"

    threshold: float | None = None
    beta: float | None = None
    decay: float = 0.9
    zero_diagonal: bool = True
    max_steps: int = 1000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        if self.threshold is not None:
            require_between("threshold", self.threshold, TINY)
        if self.beta is not None:
            require_between("beta", self.beta, TINY)
        require_between("decay", self.decay, 0.01, 0.999)
        self._require_common()

    def start(self, problem: Problem, points: Array | None) -> Tangent:
        """Return one projection of what lies within the first cut, or the points."""
        D, L = given(problem, points)
        first = first_cut(problem, self.threshold)
        Z = D - self._beyond(D, first) if points is None else L
        U, lam = leading(Z, true_rank(problem))
        L = low_rank(U, lam)
        top = max(float(sizes(lam)[0]), TINY)
        beta = BETA_SHARE * first / top if self.beta is None else self.beta
        cut = beta * top
        S = self._beyond(D - L, cut)
        return Tangent(n_components=problem.n_components, D=D, L=L, S=S, cut=cut, U=U, beta=beta)

    def step(self, problem: Problem, state: Tangent) -> Tangent:  # noqa: ARG002 - the state has D
        """Return the next L and S."""
        k, age = state.U.shape[1], state.age + 1
        U, lam = tangent_leading(state.U, state.D - state.S)
        L = low_rank(U[:, :k], lam[:k])
        size = sizes(lam)
        cut = state.beta * (size[k] + self.decay**age * size[0])
        return self._next(state, L, self._beyond(state.D - L, cut), cut, U=U[:, :k], age=age)

    def settled(self, state: Tangent) -> bool:
        """Tell whether the cut has fallen, and L come to rest."""
        return self.decay**state.age <= self.tol and state.step_norm <= self.tol


@dataclass(frozen=True, kw_only=True)
class Factored(Split):
    """Where rpca-gd is."""

    X: Array  # L = X G X', (n, k)
    signs: Array  # G, (k,)
    near: bool = False  # whether a move was as small as NEAR


@dataclass(frozen=True, kw_only=True)
class RpcaGd(RobustPca[Factored]):
    """Settings of robust PCA by gradient descent (Yi, Park, Chen & Caramanis 2016).

    Parameters
    ----------
    alpha : float, optional
        Share of a row that may be wrong, which the paper takes as known. Too small a one leaves errors in,
        too large a one slows the steps down, or leads to wrong points where few distances are wrong. Without
        it, it is 0.4 until a step is small, and from then on the largest share of a row that stands out from
        the median residual.
    threshold : float, optional
        What is beyond it is left out at first, in squared units of the distances. Without it, the largest
        true squared distance is estimated. The paper leaves out the alpha n largest of every row.
    step_size : float
        eta times the largest eigenvalue of X'X; as in the authors' code. From 1 on, steps may diverge.
    zero_diagonal : bool
        Whether the diagonal is known to be right.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest |L - L before| / |D| at which the matrices count as settled.

    Notes
    -----
    A step takes products of n x n matrices with r + 2 columns and the alpha n largest of every row. All pairs
    have to be measured. The number of steps grows with the ratio of the largest to the smallest eigenvalue of
    L. The projection of X on bounded rows, off in the authors' code, is left out; the weight of the last term
    of the gradient is the paper's. The history has the largest residual kept as its cut.

    References
    ----------
    X. Yi, D. Park, Y. Chen, C. Caramanis, *Fast algorithms for robust PCA via gradient descent*,
    arXiv 1605.07784.

    Examples
    --------
    >>> RpcaGd(alpha=0.2)
    RpcaGd(alpha=0.2, threshold=None, step_size=0.5, zero_diagonal=True, max_steps=3000, tol=1e-09)
    """

    name: ClassVar[str] = "rpca-gd"
    summary: ClassVar[str] = "robust PCA by factored gradient descent (Yi et al. 2016)"

    alpha: float | None = None
    threshold: float | None = None
    step_size: float = 0.5
    zero_diagonal: bool = True
    max_steps: int = 3000
    tol: float = 1e-9

    def __post_init__(self) -> None:
        if self.alpha is not None:
            require_between("alpha", self.alpha, 0.0, 1.0)
        if self.threshold is not None:
            require_between("threshold", self.threshold, TINY)
        require_between("step_size", self.step_size, 1e-6, 1.0)
        self._require_common()

    def start(self, problem: Problem, points: Array | None) -> Factored:
        """Return the factors of what lies within the first cut, or of the points."""
        D, L = given(problem, points)
        cut = first_cut(problem, self.threshold)
        S = self._beyond(D - L, cut)
        U, lam = leading(D - S if points is None else L, true_rank(problem))
        L, X = low_rank(U, lam), U * np.sqrt(np.abs(lam))
        return Factored(n_components=problem.n_components, D=D, L=L, S=S, cut=cut, X=X, signs=np.sign(lam))

    def step(self, problem: Problem, state: Factored) -> Factored:  # noqa: ARG002 - the state has D
        """Return the next S and L."""
        X, signs = state.X, state.signs
        R = state.D - state.L
        S = self._without_diagonal(R.copy())
        S = largest(S, round(self._alpha(state, S) * len(S)))
        E = R - S
        M = X.T @ X
        eta = self.step_size / max(float(np.linalg.norm(M, 2)), TINY)
        X = X + eta * (E @ (X * signs) - X @ (M - signs[:, None] * M * signs) / 2)
        new = self._next(state, low_rank(X, signs), S, float(np.abs(E).max()), X=X)
        return replace(new, near=state.near or new.step_norm <= NEAR)

    def settled(self, state: Factored) -> bool:
        """Tell whether L has come to rest."""
        return state.near and state.step_norm <= self.tol

    def _alpha(self, state: Factored, R: Array) -> float:
        """Return the share of the entries of a row that may be wrong."""
        if self.alpha is not None:
            return self.alpha
        if not state.near:
            return FIRST_ALPHA
        out = np.abs(R) > STANDS_OUT * np.median(np.abs(R))
        return float(out.mean(axis=1).max())
