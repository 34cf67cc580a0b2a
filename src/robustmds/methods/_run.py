"""The only iteration loop: what a method must offer, and how it is driven."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from robustmds.result import Status, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from robustmds.linalg import Array
    from robustmds.problem import Problem

    Callback = Callable[[Step], bool | None]


class Run(NamedTuple):
    """What a method returns."""

    points: Array  # in working units, (n, r)
    status: Status
    history: tuple[Step, ...]


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """Settings of a method: an instance holds no data and may be reused, hashed and printed."""

    name: ClassVar[str]
    summary: ClassVar[str]
    supports: ClassVar[frozenset[str]] = frozenset()  # of "missing", "weights", "outlier_sign"
    holds_matrices: ClassVar[bool] = False  # of the size of the distances, or nearly

    @abstractmethod
    def solve(self, problem: Problem, points: Array | None, callback: Callback | None) -> Run:
        """Return the points, how the fit ended, and every step on the way.

        Parameters
        ----------
        problem : Problem
            What to work on.
        points : (n, r) array, optional
            Where to begin, in working units.
        callback : callable, optional
            Sees every step; returning True stops.
        """


class State(Protocol):
    """What the loop needs to see of a method's state, in working units."""

    @property
    def points(self) -> Array: ...  # asked for at the end, and by a callback
    @property
    def cut(self) -> float: ...
    @property
    def residual(self) -> float: ...
    @property
    def n_outliers(self) -> int: ...
    @property
    def step_norm(self) -> float: ...  # not finite where the step was not


S = TypeVar("S", bound=State)


class Iterative(Method, Generic[S]):
    """A method that is one step, taken again and again."""

    power: ClassVar[int]  # of the distances, in which `cut` and `residual` are measured: 1 or 2
    max_steps: int

    @abstractmethod
    def start(self, problem: Problem, points: Array | None) -> S:
        """Return the first state, at these points if there are any."""

    @abstractmethod
    def step(self, problem: Problem, state: S) -> S:
        """Return the next state."""

    @abstractmethod
    def settled(self, state: S) -> bool:
        """Tell whether another step would change nothing worth having."""

    def solve(self, problem: Problem, points: Array | None = None, callback: Callback | None = None) -> Run:
        """Take steps until the points settle, break down, somebody says stop, or the steps run out.

        The points returned are always those of the last step that stayed finite.
        """
        state = self.start(problem, points)
        history, status = [], Status.MAX_STEPS
        for _ in range(self.max_steps):
            new = self._attempt(problem, state)
            if new is None:
                status = Status.BREAKDOWN
                break
            state = new
            step = self._seen(problem, state)
            history.append(step)
            if callback is not None and callback(step._replace(points=problem.to_user(state.points))):
                status = Status.STOPPED
                break
            if self.settled(state):
                status = Status.CONVERGED
                break
        return Run(state.points, status, tuple(history))

    def _attempt(self, problem: Problem, state: S) -> S | None:
        """Return the next state, or None where it is not finite."""
        try:
            new = self.step(problem, state)
        except np.linalg.LinAlgError:
            return None
        return new if isfinite(new.step_norm) else None

    def _seen(self, problem: Problem, state: S) -> Step:
        """Return the step as the user sees it, without the points."""
        unit = problem.unit
        cut, residual = float(state.cut), float(state.residual)
        for _ in range(self.power):  # unit**2 may overflow where this does not
            cut, residual = cut / unit, residual / unit
        return Step(self.name, cut, residual, state.n_outliers, state.step_norm)
