"""FSMDS and SSMDS: squared distances and sparse errors, fitted together in the cone of classical scaling.

Squared measured distances Delta; weights W, 0 where nothing was measured, the largest 1. Let K_r hold the
matrices Z for which J Z J is positive semidefinite of rank at most r, J = I - 11'/n: points in r dimensions
have the squared distances D with -D in K_r and diagonal 0. With norms of whole matrices, full-space sparse
MDS minimises over D and S, symmetric and of diagonal 0,

    1/2 |W^(1/2) o (Delta - D - S)|^2 + lambda (|S|_1 - |S|_F) + rho/2 dist(-D, K_r)^2,
    lower^2 <= D_ij <= upper^2,

and subspace sparse MDS, which measures the residual where classical scaling does, and needs no rho,

    1/2 |J (Delta - D - S) J|^2 + lambda |S|_1,    -D in K_r,    which is, for the best D,
    1/2 dist(S - Delta, K_r)^2 + lambda |S|_1.

The projection of Z on K_r is Z - J Z J + PCA_r+(J Z J), PCA_r+ the r leading eigenpairs that are positive.
For E, minus the projection of some -D, dist(-D, K_r) <= |D - E| with equality at that D. A step puts |D - E|
in its place, makes that smaller by a new S and then a new D, and projects again:

    FSMDS    S <- prox(S + W o (Delta - S - D) / c, lambda / c)    D the best for the old S
             D <- E + W / (W + rho) o (Delta - S - E)              within its bounds
             c = rho / (1 + rho), or 1 with bounds
    SSMDS    S <- soft(Delta - E, lambda)
             D <- Delta - S, and E where nothing was measured

The prox is that of |S|_1 - |S|_F (Lou & Yan 2018). With weights of 1 and no bounds S is the prox of Delta - E
at lambda / c: the cut. SSMDS is FSMDS with the l1 norm and rho to 0.

The code of the authors could not be had, and this is ours: A fit to a small lambda that begins far away comes
to rest far away, so the cut begins at the median residual and falls whenever E moves by less than it. Unless
lambda is given, it falls for as long as the median residual does. Steps begin from E extrapolated as by
Nesterov or, should the objective rise, from E.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from robustmds.edm import A
from robustmds.errors import require_between, require_count
from robustmds.methods._run import Iterative
from robustmds.passes import matrices
from robustmds.starts import trimmed

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

TINY = float(np.finfo(float).tiny)
DECAY = 0.6  # of the cut
MET = 0.9  # share of the cut at which the median residual, or lambda, ends its fall
BESIDE_CUT = 0.005  # a move this small beside the cut, both relative, is at rest


class Given(NamedTuple):
    """What does not change in a fit: symmetric matrices, (n, n)."""

    seen: Array  # Delta, in squared working units; 0 where nothing was measured
    W: Array
    share: Array  # of Delta - S - E that D takes; 1 on the diagonal, where D is 0
    pairs: npt.NDArray[np.intp]  # the measured pairs, each once: their places in a flat matrix
    bounds: tuple[Array, ...] | None  # of D
    n_components: int


class State(NamedTuple):
    """Where the fit is, in squared working units: symmetric matrices, (n, n)."""

    given: Given
    D: Array
    S: Array
    E: Array  # the model: -E is in K_r
    ahead: Array  # E extrapolated
    cut: float  # of the next step: lambda / c
    floor: float  # the cut falls no further
    fit: float = inf  # the objective without the penalty on S
    spread: float = inf  # the penalty on S, over lambda
    momentum: float = 1.0
    residual: float = inf  # root mean square of Delta - S - E
    n_outliers: int = 0
    step_norm: float = inf

    @property
    def sq_size(self) -> float:
        """Mean squared distance of the model."""
        return max(float(self.E.mean()), TINY)

    @property
    def points(self) -> Array:
        """Classical scaling of D, (n, r)."""
        U, lam = leading(double_centred(-self.D / 2), self.given.n_components)
        return U * np.sqrt(lam)


class SparseCone(Iterative[State]):
    """What FSMDS and SSMDS share."""

    power: ClassVar[int] = 2
    sparsity: float | None
    tol: float

    @property
    @abstractmethod
    def _scale(self) -> float:
        """Return lambda over the cut."""

    @abstractmethod
    def _given(self, problem: Problem) -> Given:
        """Return what does not change."""

    @abstractmethod
    def _errors(self, state: State, E: Array) -> Array:
        """Return the next S."""

    @abstractmethod
    def _objective(self, state: State) -> tuple[float, float]:
        """Return the objective in two parts: without the penalty on S, and that penalty over lambda."""

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return the model of the points to begin from, and the first cut."""
        given = self._given(problem)
        X = trimmed(problem) if points is None else points
        E = A(X @ X.T)
        floor = self._floor(problem, given, E)
        cut = max(median_residual(given, E), floor)
        return State(given, bounded(given, E), np.zeros_like(E), E, E, cut, floor)

    def step(self, problem: Problem, state: State) -> State:
        """Return the next S, D and E, and the cut of the step after it."""
        given, lam = state.given, self._scale * state.cut
        new = self._after(state, state.ahead)
        if new.fit + lam * new.spread > state.fit + lam * state.spread:
            new = self._after(state._replace(momentum=1.0), state.E)
        move = new.E - state.E
        momentum = (1 + sqrt(1 + 4 * new.momentum**2)) / 2
        floor, cut = self._floor(problem, given, new.E), state.cut
        if np.abs(move).max() <= cut:
            cut = min(cut, max(DECAY * cut, floor))
        kept = (given.seen - new.S - new.E).take(given.pairs)
        return new._replace(
            ahead=new.E + (new.momentum - 1) / momentum * move,
            cut=cut,
            floor=floor,
            momentum=momentum,
            residual=float(np.linalg.norm(kept)) / sqrt(len(kept)),
            n_outliers=int(np.count_nonzero(new.S.take(given.pairs))),
            step_norm=float(np.linalg.norm(move)) / max(float(np.linalg.norm(new.E)), TINY),
        )

    def settled(self, state: State) -> bool:
        """Tell whether the cut has come to rest, and the model with it."""
        cut = state.cut / state.sq_size
        tol = self.tol if self.sparsity is not None else max(self.tol, BESIDE_CUT * cut)
        return cut <= self.tol or (state.floor >= MET * state.cut and state.step_norm <= tol)

    def _after(self, state: State, E: Array) -> State:
        """Return S, D and E after a step that begins from E."""
        given, S = state.given, self._errors(state, E)
        D = bounded(given, E + given.share * (given.seen - S - E))
        new = state._replace(D=D, S=S, E=cone_model(D, given.n_components))
        fit, spread = self._objective(new)
        return new._replace(fit=fit, spread=spread)

    def _floor(self, problem: Problem, given: Given, E: Array) -> float:
        """Return the cut that the fall ends at."""
        if self.sparsity is None:
            return median_residual(given, E)
        return self.sparsity * problem.unit * problem.unit / self._scale


@dataclass(frozen=True, kw_only=True)
class Fsmds(SparseCone):
    """Settings of full-space sparse MDS (Kong, Qi & Qi 2019).

    Parameters
    ----------
    sparsity : float, optional
        Weight of the penalty on the errors, in squared units of the distances; paper: lambda. Without it, the
        residual beyond which a pair has an error ends at the median residual. On the paper's noisy experiment
        no fixed one that is chosen with hindsight is better by a tenth.
    penalty : float
        Weight of the distance to the cone, beside a largest weight of 1 of the pairs; paper: rho. From 0.1 to
        3 the points are as good; with more there are more steps, and they end in worse minima.
    lower : float
        Least distance.
    upper : float
        Largest distance.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest relative move of the squared distances at which they count as settled. Without a given
        sparsity, a move that is small beside the median residual will do.

    Notes
    -----
    A step takes r eigenpairs of an n x n matrix and some thirty passes over n x n matrices, of which it holds
    about ten. Missing distances and weights are supported; one-sided outliers are not. The points are the
    classical scaling of D: it is D that keeps within the bounds, the points nearly.

    The authors' code, and with it their lambda and rho, could not be had: every default is ours.

    References
    ----------
    L. Kong, C. Qi, H.-D. Qi, *Classical multidimensional scaling: a subspace perspective, over-denoising and
    outlier detection*, IEEE Transactions on Signal Processing 67 (2019), 3842-3857,
    https://eprints.soton.ac.uk/431544.
    Y. Lou, M. Yan, *Fast L1-L2 minimization via a proximal operator*, Journal of Scientific Computing 74
    (2018), doi:10.1007/s10915-017-0463-2.

    Examples
    --------
    >>> Fsmds(upper=100.0)
    Fsmds(sparsity=None, penalty=0.3, lower=0.0, upper=100.0, max_steps=1000, tol=1e-07)
    """

    name: ClassVar[str] = "fsmds"
    summary: ClassVar[str] = "full-space sparse MDS, errors by l1-2 (Kong, Qi & Qi 2019)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing", "weights"})
    holds_matrices: ClassVar[bool] = True

    sparsity: float | None = None
    penalty: float = 0.3
    lower: float = 0.0
    upper: float = inf
    max_steps: int = 1000
    tol: float = 1e-7

    def __post_init__(self) -> None:
        if self.sparsity is not None:
            require_between("sparsity", self.sparsity, TINY)
        require_between("penalty", self.penalty, 1e-6, 1e6)
        require_between("lower", self.lower, 0.0)
        if self.upper != inf:
            require_between("upper", self.upper, self.lower)
        require_count("max_steps", self.max_steps, 1)
        require_between("tol", self.tol, 0.0)

    @property
    def _scale(self) -> float:
        return self.penalty / (1 + self.penalty)

    def _given(self, problem: Problem) -> Given:
        seen, W = matrices(problem.measured)
        W /= W.max()
        share = W / (W + self.penalty)
        np.fill_diagonal(share, 1.0)
        bounds = None
        if self.lower > 0 or self.upper < inf:
            ends = self.lower * problem.unit, self.upper * problem.unit
            bounds = tuple(np.where(np.eye(len(W)), 0.0, end * end) for end in ends)
        return Given(seen, W, share, np.flatnonzero(np.triu(W)), bounds, problem.n_components)

    def _errors(self, state: State, E: Array) -> Array:
        given = state.given
        # The curvature left when D gives way as far as it can, which bounds may keep it from.
        c = self._scale if given.bounds is None else 1.0
        R = given.seen - state.S
        R -= bounded(given, E + given.share * (R - E))
        R *= given.W / c
        return shrink_l12(state.S + R, self._scale * state.cut / c)

    def _objective(self, state: State) -> tuple[float, float]:
        given, S = state.given, state.S
        R = given.seen - state.D - S
        sq_fit = float(np.sum(given.W * R * R)) + self.penalty * float(np.sum((state.D - state.E) ** 2))
        return sq_fit / 2, float(np.abs(S).sum() - np.linalg.norm(S))


@dataclass(frozen=True, kw_only=True)
class Ssmds(SparseCone):
    """Settings of subspace sparse MDS (Kong, Qi & Qi 2019).

    Parameters
    ----------
    sparsity : float, optional
        Weight of the penalty on the errors, in squared units of the distances; paper: lambda. Without it, the
        residual beyond which a pair has an error ends at the median residual.
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest relative move of the squared distances at which they count as settled. Without a given
        sparsity, a move that is small beside the median residual will do.

    Notes
    -----
    A step costs what one of `Fsmds` does, and every default is ours. Missing distances
    are supported: their errors are free. Weights, bounds and one-sided outliers are not. Residuals of the
    form y_i + y_j cost next to nothing, so that a point with distances that are all too long stays unseen.

    References
    ----------
    L. Kong, C. Qi, H.-D. Qi, *Classical multidimensional scaling: a subspace perspective, over-denoising and
    outlier detection*, IEEE Transactions on Signal Processing 67 (2019), 3842-3857,
    https://eprints.soton.ac.uk/431544.

    Examples
    --------
    >>> Ssmds()
    Ssmds(sparsity=None, max_steps=1000, tol=1e-07)
    """

    name: ClassVar[str] = "ssmds"
    summary: ClassVar[str] = "subspace sparse MDS, errors by l1 (Kong, Qi & Qi 2019)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing"})
    holds_matrices: ClassVar[bool] = True

    sparsity: float | None = None
    max_steps: int = 1000
    tol: float = 1e-7

    def __post_init__(self) -> None:
        if self.sparsity is not None:
            require_between("sparsity", self.sparsity, TINY)
        require_count("max_steps", self.max_steps, 1)
        require_between("tol", self.tol, 0.0)

    @property
    def _scale(self) -> float:
        return 1.0

    def _given(self, problem: Problem) -> Given:
        seen, W = matrices(problem.measured)
        W = np.sign(W)
        share = W + np.eye(len(W))
        return Given(seen, W, share, np.flatnonzero(np.triu(W)), None, problem.n_components)

    def _errors(self, state: State, E: Array) -> Array:
        return shrink(state.given.W * (state.given.seen - E), state.cut)

    def _objective(self, state: State) -> tuple[float, float]:
        return float(np.sum((state.D - state.E) ** 2)) / 2, float(np.abs(state.S).sum())


def median_residual(given: Given, E: Array) -> float:
    """Return the median of |Delta - E| over the measured pairs, each times the root of its weight."""
    residual = (given.seen - E).take(given.pairs)
    return float(np.median(np.abs(residual) * np.sqrt(given.W.take(given.pairs))))


def bounded(given: Given, D: Array) -> Array:
    """Return D within its bounds."""
    return D if given.bounds is None else np.clip(D, *given.bounds)


def double_centred(Z: Array) -> Array:
    """Return J Z J of a symmetric Z."""
    means = Z.mean(axis=0)
    return Z - means - (means - means.mean())[:, None]


def leading(Z: Array, r: int) -> tuple[Array, Array]:
    """Return the r leading eigenvectors of a symmetric Z, and their eigenvalues, none below 0."""
    n = len(Z)
    lam, U = eigh(Z, subset_by_index=[n - r, n - 1], check_finite=False)
    return U[:, ::-1], np.maximum(lam[::-1], 0.0)


def cone_model(D: Array, r: int) -> Array:
    """Return minus the projection of -D on K_r."""
    means = D.mean(axis=0)
    E = means + (means - means.mean())[:, None]
    U, lam = leading(E - D, r)
    return E - (U * lam) @ U.T


def shrink(T: Array, cut: float) -> Array:
    """Return the S that minimises 1/2 |T - S|^2 + cut |S|_1: the soft threshold."""
    return T - np.clip(T, -cut, cut)


def shrink_l12(T: Array, cut: float) -> Array:
    """Return the symmetric S that minimises 1/2 |T - S|^2 + cut (|S|_1 - |S|_F), T of diagonal 0."""
    S = shrink(T, cut)
    size = float(np.linalg.norm(S))
    if size > 0:
        return S * (1 + cut / size)
    # One pair, if any: its two entries count once in the Frobenius norm and twice in the other.
    i, j = np.unravel_index(np.abs(T).argmax(), T.shape)
    left = abs(float(T[i, j])) - (1 - sqrt(0.5)) * cut
    if left > 0:
        S[i, j] = S[j, i] = np.copysign(left, T[i, j])
    return S
