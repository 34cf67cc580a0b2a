"""Multidimensional scaling by majorization: stress, and losses that bear wrong distances.

Distances d_ij, weights w_ij, residuals e_ij = d_ij - |x_i - x_j|. All methods here minimise a sum over the
measured pairs of w_ij rho(e_ij), by steps that never make it larger:

    X <- X - V+ G,    G = gradient of the sum,    V = Laplacian of the w_ij v_ij,

which for rho(e) = e^2/2 and v = 1 is the transform of Guttman, written as a move. For the other losses a pair
is majorised at its residual e in one of two ways (half-quadratic minimisation):

    multiplicative   v = psi(e)/e: its square with that weight, by which a far residual counts less
    additive         v = 1:        a square about |x_i - x_j| + psi(e), by which a far one asks for less

For a complete table without weights, V+ G is G/n; else conjugate gradients solve V P = -G, and every step of
theirs lowers the majorising function, so that they need not go on to the end.

A loss has a scale. It begins with the largest residual and falls from step to step, so that the largest
errors are let go first, until a share of the residuals says that it has reached the noise.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from robustmds.confidence import residual_quantile
from robustmds.errors import require_between, require_choice, require_count
from robustmds.linalg import conjugate_gradients
from robustmds.losses import LOSSES, Huber, Loss
from robustmds.methods._run import Iterative
from robustmds.passes import (
    EVERYTHING,
    laplacian,
    robust_stress,
    stress,
    stress_beside_errors,
)
from robustmds.starts import torgerson, trimmed

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.passes import Stress
    from robustmds.problem import Problem

MEDIAN_OF_NORMAL = 0.6745  # of its absolute value, in standard deviations
FORMS = ("multiplicative", "additive")
FORCING = 0.03  # conjugate gradients stop where they have reduced the gradient to this
LEAST_SCALE = 1e-4  # of the first one
NODE = 0.3  # what errors cost a point, beside what they cost pairs
LEAST_ERRORS = 0.1  # of a point: with none at all it would never have any


class State(NamedTuple):
    """Where a method is, in working units."""

    points: Array  # X, (n, r)
    weight: Array  # sum of the w_ij of every point, (n, 1)
    cut: float = np.inf  # scale of the loss
    least: float = 0.0  # the scale falls no further
    ridge: Array | None = None  # of the errors of every point, (n,)
    residual: float = (
        np.inf
    )  # root mean square of what the loss leaves of the residuals, where the step began
    n_outliers: int = 0  # pairs beyond the scale there
    step_norm: float = np.inf
    falling: bool = False  # whether the scale is on its way down


class Majorization(Iterative[State]):
    """A method whose step moves the points by -V+ G, until they move by less than `tol` of their size."""

    power: ClassVar[int] = 1

    tol: float

    @abstractmethod
    def pull(self, problem: Problem, state: State) -> tuple[Stress, Loss | None]:
        """Return the stress at the points, and the loss that V takes its v from; None: v = 1."""

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return the points to begin from, by default those of classical scaling."""
        X = torgerson(problem) if points is None else points - points.mean(axis=0)
        return State(X, stress(problem.measured, X, EVERYTHING).weight[:, None])

    def step(self, problem: Problem, state: State) -> State:
        """Return the points after one step, and the scale of the next."""
        at, loss = self.pull(problem, state)
        X, P = state.points, _move(problem, state, at, loss)
        moved = state._replace(
            points=X + P,
            residual=float(np.sqrt(2 * at.loss / problem.n_measured)),
            n_outliers=problem.n_measured - int(at.n_kept.sum()) // 2,
            step_norm=float(np.linalg.norm(P)) / max(float(np.linalg.norm(X)), np.finfo(float).tiny),
        )
        return self.narrowed(problem, moved, at)

    def narrowed(self, problem: Problem, state: State, at: Stress) -> State:  # noqa: ARG002 - for those with a scale
        """Return the state with the scale of the next step."""
        return state

    def settled(self, state: State) -> bool:
        """Tell whether the scale has come to rest, and the points with it."""
        return not state.falling and state.step_norm <= self.tol


def _move(problem: Problem, state: State, at: Stress, loss: Loss | None) -> Array:
    """Return -V+ G."""
    measured = problem.measured
    if loss is None and measured.weights is None and problem.is_complete:
        return -at.gradient / problem.n_points
    weight = state.weight if loss is None else at.weight[:, None]
    # A point that nothing pulls at any more stays where it is.
    weight = np.where(weight > np.finfo(float).eps * state.weight, weight, np.inf)

    def multiply(P: Array) -> Array:
        return laplacian(measured, state.points, P, loss)

    P = conjugate_gradients(multiply, -at.gradient, weight, FORCING)
    return P - P.mean(axis=0)


def widened(problem: Problem, state: State) -> State:
    """Return the state with the largest residual as its scale, which may fall from there."""
    widest = max(residual_quantile(problem, state.points, 1.0), problem.resolution)
    return state._replace(cut=widest, least=max(LEAST_SCALE * widest, problem.resolution), falling=True)


@dataclass(frozen=True, kw_only=True)
class Smacof(Majorization):
    """Settings of SMACOF: least squares on the distances, without protection.

    Parameters
    ----------
    max_steps : int
        Steps after which the fit ends unsettled.
    tol : float
        Largest relative move of the points at which they count as settled.

    Notes
    -----
    It minimises the raw stress, the sum of w_ij (d_ij - |x_i - x_j|)^2, from the points of classical scaling
    (of the shortest paths, where distances are missing). Missing distances and weights are supported. A step
    costs a pass over the distances; with weights or missing ones, some more.

    References
    ----------
    J. de Leeuw, *Convergence of the majorization method for multidimensional scaling*, Journal of
    Classification 5 (1988), doi:10.1007/BF01897162.

    Examples
    --------
    >>> Smacof()
    Smacof(tol=1e-07, max_steps=2000)
    """

    name: ClassVar[str] = "smacof"
    summary: ClassVar[str] = "stress by majorization, no protection (de Leeuw 1977)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing", "weights"})

    tol: float = 1e-7
    max_steps: int = 2000

    def __post_init__(self) -> None:
        require_between("tol", self.tol, 0.0)
        require_count("max_steps", self.max_steps, 1)

    def pull(self, problem: Problem, state: State) -> tuple[Stress, Loss | None]:
        """Return the stress at the points."""
        return stress(problem.measured, state.points, EVERYTHING), None


@dataclass(frozen=True, kw_only=True)
class Rmds(Majorization):
    """Settings of RMDS: an error for every pair, most of them none (Forero & Giannakis 2012).

    Parameters
    ----------
    penalty : float, optional
        What an error costs, in units of distance; paper: lambda. Without it, `outlier_share` decides.
    outlier_share : float
        Without a penalty, it falls until so many of the pairs have an error.
    structured : bool
        Whether errors come by whole points as well, as those of a sensor that failed.
    decay : float
        Factor by which the penalty falls from step to step.
    tol : float
        Largest relative move of the points at which they count as settled.
    max_steps : int
        Steps after which the fit ends unsettled.

    Notes
    -----
    It minimises, over points and errors o,

        sum_{i<j} (d_ij - |x_i - x_j| - o_ij)^2 + penalty sum_{i<j} |o_ij| [+ node sum_i |o_i|_2],

    in turns: o_ij is e_ij drawn to 0 by half the penalty, and the points follow by the transform of Guttman
    for the distances d - o. The authors follow the penalty from 2 max |e| down to 1e-4 of that through 1000
    values, each to its end, and stop at a known share of outliers. Here it falls in every step, by a factor
    that leads to the same points, and without being told it stops where every second pair has an error: for
    normal residuals at a penalty of 1.35 standard deviations, and at twice as much where a quarter of the
    distances is wrong. It begins at classical scaling without the longest distances, which on the plus sign
    divides the error by three, and there no fixed penalty does better by much (docs/methods.md).

    The errors of a point, o_i, cost in the structured form as much as those of a point with so many small
    errors would; its square root is majorised by a square.

    Missing distances are supported; weights are not. A step costs a pass over the distances.

    References
    ----------
    P. A. Forero, G. B. Giannakis, *Sparsity-exploiting robust multidimensional scaling*, IEEE Transactions on
    Signal Processing 60 (2012), doi:10.1109/TSP.2012.2197617.

    Examples
    --------
    >>> Rmds(outlier_share=0.3)
    Rmds(penalty=None, outlier_share=0.3, structured=False, decay=0.95, tol=1e-06, max_steps=5000)
    """

    name: ClassVar[str] = "rmds"
    summary: ClassVar[str] = "a sparse error for every pair (Forero & Giannakis 2012)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing"})

    penalty: float | None = None
    outlier_share: float = 0.5
    structured: bool = False
    decay: float = 0.95
    tol: float = 1e-6
    max_steps: int = 5000

    def __post_init__(self) -> None:
        if self.penalty is not None:
            require_between("penalty", self.penalty, np.finfo(float).tiny)
        require_between("outlier_share", self.outlier_share, 0.0, 1.0)
        require_between("decay", self.decay, 0.01, 0.9999)
        require_between("tol", self.tol, 0.0)
        require_count("max_steps", self.max_steps, 1)

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return the points to begin from, and half the penalty for which no pair has an error."""
        first = widened(problem, super().start(problem, trimmed(problem) if points is None else points))
        if self.penalty is not None:
            first = first._replace(least=min(self.penalty * problem.unit / 2, first.cut))
        return first._replace(ridge=np.zeros(problem.n_points)) if self.structured else first

    def pull(self, problem: Problem, state: State) -> tuple[Stress, Loss | None]:
        """Return what is left of the stress beside the errors."""
        if state.ridge is not None:
            return stress_beside_errors(problem.measured, state.points, state.cut, state.ridge), None
        return robust_stress(problem.measured, state.points, Huber(state.cut), state.cut), None

    def narrowed(self, problem: Problem, state: State, at: Stress) -> State:
        """Return the state with the next penalty, and with what errors cost their points."""
        enough = self.penalty is None and state.n_outliers >= self.outlier_share * problem.n_measured
        cut = state.cut if enough else max(self.decay * state.cut, state.least)
        new = state._replace(cut=cut, falling=cut < state.cut)
        if state.ridge is None:
            return new
        size = cut * np.sqrt(problem.n_points)  # of the errors of a point, each as large as the cut
        return new._replace(ridge=NODE * size / np.maximum(np.sqrt(at.weight), LEAST_ERRORS * size))


@dataclass(frozen=True, kw_only=True)
class Hqmmds(Majorization):
    """Settings of HQMMDS: half-quadratic minimisation of a robust loss (Mandanas & Kotropoulos 2017).

    Parameters
    ----------
    loss : {"welsch", "cauchy", "huber", "geman-mcclure"}
        Of a residual; "welsch" is correntropy.
    form : {"multiplicative", "additive"}
        How a pair is majorised: with a weight, or about a distance that asks for less.
    deviations : float
        Scale of the loss, in standard deviations of a good distance, taken from the median of the residuals.
    decay : float
        Factor by which the scale falls from step to step, until it is there.
    tol : float
        Largest relative move of the points at which they count as settled.
    max_steps : int
        Steps after which the fit ends unsettled.

    Notes
    -----
    It minimises the sum of w_ij rho(d_ij - |x_i - x_j|). The authors take the scale anew from the residuals
    in every pass, by Silverman's rule, from where it hardly moves: what begins wrong stays wrong. Here the
    points begin at classical scaling without the longest distances, and the scale comes down slowly from the
    largest residual to some deviations: on the plus sign that divides the error by more than ten
    (docs/methods.md). The authors' penalty on the size of the points is left out: distances determine it.

    Missing distances and weights are supported. A step costs a pass over the distances, in the multiplicative
    form a few.

    References
    ----------
    F. D. Mandanas, C. L. Kotropoulos, *Robust multidimensional scaling using a maximum correntropy
    criterion*, IEEE Transactions on Signal Processing 65 (2017), doi:10.1109/TSP.2016.2625265.

    Examples
    --------
    >>> Hqmmds(loss="cauchy").form
    'multiplicative'
    """

    name: ClassVar[str] = "hqmmds"
    summary: ClassVar[str] = "half-quadratic, correntropy or another loss (Mandanas & Kotropoulos 2017)"
    supports: ClassVar[frozenset[str]] = frozenset({"missing", "weights"})

    loss: str = "welsch"
    form: str = "multiplicative"
    deviations: float = 3.0
    decay: float = 0.95
    tol: float = 1e-6
    max_steps: int = 5000

    def __post_init__(self) -> None:
        require_choice("loss", self.loss, LOSSES)
        require_choice("form", self.form, FORMS)
        require_between("deviations", self.deviations, 0.1)
        require_between("decay", self.decay, 0.01, 0.9999)
        require_between("tol", self.tol, 0.0)
        require_count("max_steps", self.max_steps, 1)

    def start(self, problem: Problem, points: Array | None) -> State:
        """Return the points to begin from, with the largest residual as the scale."""
        return widened(problem, super().start(problem, trimmed(problem) if points is None else points))

    def pull(self, problem: Problem, state: State) -> tuple[Stress, Loss | None]:
        """Return the loss at the points."""
        loss = LOSSES[self.loss](state.cut)
        median = state.cut * MEDIAN_OF_NORMAL / self.deviations  # of the residuals, where the scale ends
        at = robust_stress(problem.measured, state.points, loss, median)
        return at, loss if self.form == "multiplicative" else None

    def narrowed(self, problem: Problem, state: State, at: Stress) -> State:
        """Return the state with the next scale."""
        is_wide = state.n_outliers <= problem.n_measured / 2
        cut = max(self.decay * state.cut, state.least) if is_wide else state.cut
        lost = 1 - float(at.weight.sum() / state.weight.sum())
        return state._replace(cut=cut, falling=cut < state.cut, n_outliers=round(lost * problem.n_measured))
