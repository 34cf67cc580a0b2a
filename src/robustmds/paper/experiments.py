"""The kinds of experiments: what is drawn, and what is measured.

Exact distances of points X*, some with an outlier (paper, figure 1), all points centred, and R the rotation,
or rotation and reflection, that fits best:

    Convergence   ||S^k - S*||inf, ||L^{k+1} - L*||inf and ||X^{k+1} - X* R^{k+1}||inf, step by step
    Recovery      ||X - X* R||_{2,inf} / ||X*||_{2,inf} at the end; below 0.01 it is a success

Noisy distances, some with an outlier, with anchors (paper, figure 2):

    Noisy         root mean square error at the other points, after the motion that fits the anchors best
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from robustmds.api import align, pose
from robustmds.edm import A, T
from robustmds.linalg import centred, motion
from robustmds.methods import RmdsAap
from robustmds.paper.contenders import NOT_FINITE
from robustmds.paper.draws import ANCHORS, noisy_plus, spoilt
from robustmds.result import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from robustmds.linalg import Array
    from robustmds.paper.contenders import Attempt, Contender, Told
    from robustmds.paper.draws import Draw

    Cell = tuple[Any, ...]  # the conditions of some draws: strings and numbers

SUCCESS = 0.01  # of the radius: the largest error of a point that counts as success
QUANTITIES = ("S", "L", "X")


class Outcome(NamedTuple):
    """What one series gave in one simulation."""

    status: str
    error: float | list[float]  # nan where there are no finite points


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """Settings of an experiment.

    Attributes
    ----------
    name, number : str, int
        What it is called, and its place in the seeds: never to be changed.
    cells : tuple of tuples
        The conditions under which draws are made.
    contenders : tuple of Contender
        Who gets every one of these draws.
    series : str
        What the contenders differ in.
    default_simulations : int
        How many draws a cell gets.
    """

    columns: ClassVar[tuple[str, ...]]  # the names of the parts of a cell
    across: ClassVar[str]  # the column of the table that a figure has on its x-axis
    value: ClassVar[str]  # the column of the table that it shows
    width: ClassVar[int] = 0  # numbers in an error; 0: it is one and no list
    measures: ClassVar[str]

    name: str
    number: int
    cells: tuple[Cell, ...]
    contenders: tuple[Contender, ...]
    series: str
    default_simulations: int = 1000

    @property
    def names(self) -> tuple[str, ...]:
        """What the series of numbers are called."""
        return tuple(contender.name for contender in self.contenders)

    @abstractmethod
    def simulate(self, cell: Cell, rng: np.random.Generator, names: Sequence[str]) -> dict[str, Outcome]:
        """Make one draw, and return what each of some series gives on it."""

    def settings_of(self, name: str) -> str:
        """Return what a series is made with, as text."""
        return next(repr(contender) for contender in self.contenders if contender.name == name)


@dataclass(frozen=True, kw_only=True)
class Recovery(Experiment):
    """How often the points are found from exact distances some of which have an outlier."""

    columns: ClassVar[tuple[str, ...]] = ("shape", "outliers", "outlier_share")
    across: ClassVar[str] = "outlier_share"
    value: ClassVar[str] = "success_rate"
    measures: ClassVar[str] = (
        f"largest error of a point, relative to the largest distance from the mean; success: below {SUCCESS}"
    )

    def simulate(self, cell: Cell, rng: np.random.Generator, names: Sequence[str]) -> dict[str, Outcome]:
        """Return how far off the worst point is, in radii."""
        return _outcomes(spoilt(rng, *cell), self.contenders, names, worst_error)


@dataclass(frozen=True, kw_only=True)
class Noisy(Experiment):
    """How far off the points are where the other distances are noisy."""

    columns: ClassVar[tuple[str, ...]] = ("noise_variance", "n_outliers")
    across: ClassVar[str] = "n_outliers"
    value: ClassVar[str] = "mean"
    measures: ClassVar[str] = (
        "root mean square error at the 21 points that are no anchors, in units of distance"
    )

    def simulate(self, cell: Cell, rng: np.random.Generator, names: Sequence[str]) -> dict[str, Outcome]:
        """Return the root mean square error, in the units of the distances."""
        return _outcomes(noisy_plus(rng, *cell), self.contenders, names, anchored_error)


@dataclass(frozen=True, kw_only=True)
class Convergence(Experiment):
    """How fast the errors of RMDS-AAP fall on exact distances some of which have an outlier.

    Attributes
    ----------
    told : Told
        The settings; the cut falls for ever, as in the paper.
    """

    columns: ClassVar[tuple[str, ...]] = Recovery.columns
    across: ClassVar[str] = "k"
    value: ClassVar[str] = "log10_mean"
    width: ClassVar[int] = 31  # k = 0, ..., 30: soon after, nothing but rounding is left
    measures: ClassVar[str] = (
        "largest entry of S^k - S*, L^(k+1) - L* and X^(k+1) - X* R^(k+1), k = 0, 1, ..."
    )

    told: Told

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the three errors."""
        return QUANTITIES

    def settings_of(self, name: str) -> str:  # noqa: ARG002 - the three are of one run
        """Return the settings of RMDS-AAP."""
        return repr(self.told)

    def simulate(self, cell: Cell, rng: np.random.Generator, names: Sequence[str]) -> dict[str, Outcome]:
        """Return the errors after every step."""
        draw = spoilt(rng, *cell)
        method = self.told.method(draw)
        errors = traced(draw, RmdsAap(threshold=method.threshold, decay=method.decay, floor=0.0), self.width)
        status = (Status.CONVERGED if np.isfinite(errors).all() else Status.BREAKDOWN).name
        return {name: Outcome(status, errors[QUANTITIES.index(name)].tolist()) for name in names}


def traced(draw: Draw, method: RmdsAap, n_steps: int) -> Array:
    """Return the largest errors of S^k, L^{k+1} and X^{k+1}, (3, n_steps); nan once a step was not finite.

    The method forms neither S nor L; here the points are few.
    """
    problem, _ = pose(draw.distances, draw.points.shape[1])
    truth = centred(draw.points)
    D, L_true = draw.distances**2, truth @ truth.T
    S_true = D - A(L_true)
    errors = np.full((3, n_steps), np.nan)
    with suppress(np.linalg.LinAlgError):
        state, L = method.start(problem, None), np.zeros_like(D)
        for k in range(n_steps):
            S = T(D - A(L), state.cut / problem.unit**2)  # of the points that the step began from
            X = problem.to_user(state.points)
            L = X @ X.T
            R, _, _ = motion(truth, X)
            errors[:, k] = [np.abs(E).max() for E in (S - S_true, L - L_true, X - truth @ R)]
            state = method.step(problem, state)
    return errors


def worst_error(draw: Draw, points: Array) -> float:
    """Return ||X - X* R||_{2,inf} / ||X*||_{2,inf}, at the points that are judged."""
    truth, found = draw.points[draw.judged], points[draw.judged]
    off = np.linalg.norm(align(found, truth) - truth, axis=1).max()
    return float(off / np.linalg.norm(centred(truth), axis=1).max())


def anchored_error(draw: Draw, points: Array) -> float:
    """Return the root mean square error at the points that are judged, once the anchors lie on theirs."""
    R, t, _ = motion(points[ANCHORS], draw.points[ANCHORS])
    off = (points @ R + t - draw.points)[draw.judged]
    return float(np.sqrt((off**2).sum() / len(off)))


def _outcomes(
    draw: Draw, contenders: Sequence[Contender], names: Sequence[str], error: Callable[[Draw, Array], float]
) -> dict[str, Outcome]:
    problem, _ = pose(draw.distances, draw.points.shape[1])
    tried = {c.name: c.attempt(draw, problem) for c in contenders if c.name in names}
    return {name: _judged(draw, attempt, error) for name, attempt in tried.items()}


def _judged(draw: Draw, attempt: Attempt, error: Callable[[Draw, Array], float]) -> Outcome:
    if attempt.points is None:
        return Outcome(attempt.status, np.nan)
    off = error(draw, attempt.points)
    return Outcome(attempt.status, off) if np.isfinite(off) else Outcome(NOT_FINITE, np.nan)
