"""The only iteration loop: what a method must offer, and how it is driven."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from robustmds.result import Status, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from robustmds.linalg import Array
    from robustmds.problem import Problem

    Callback = Callable[[Step], bool | None]


class State(Protocol):
    """What the loop needs to see of a method's state, in working units."""

    @property
    def points(self) -> Array: ...
    @property
    def cut(self) -> float: ...
    @property
    def residual(self) -> float: ...
    @property
    def n_outliers(self) -> int: ...
    @property
    def step_norm(self) -> float: ...


S = TypeVar("S", bound=State)


class Method(Protocol[S]):
    """Settings only: an instance holds no data and may be reused, hashed and printed."""

    @property
    def name(self) -> str: ...
    @property
    def power(self) -> int:
        """Of the distances, in which `cut` and `residual` are measured: 1 or 2."""

    @property
    def max_steps(self) -> int: ...
    def start(self, problem: Problem, points: Array | None) -> S: ...
    def step(self, problem: Problem, state: S) -> S: ...
    def settled(self, state: S) -> bool: ...


class Run(NamedTuple):
    """What the loop returns."""

    points: Array  # in working units, (n, r)
    status: Status
    history: tuple[Step, ...]


def run(
    method: Method[S], problem: Problem, points: Array | None = None, callback: Callback | None = None
) -> Run:
    """Drive a method until it settles, breaks down, is told to stop, or runs out of steps.

    The points returned are always those of the last step that stayed finite.

    Parameters
    ----------
    method : Method
        What to drive.
    problem : Problem
        What it works on.
    points : (n, r) array, optional
        Where to begin, in working units.
    callback : callable, optional
        Sees every step; returning True stops.
    """
    state = method.start(problem, points)
    history, status = [], Status.MAX_STEPS
    for _ in range(method.max_steps):
        new = _attempt(method, problem, state)
        if new is None:
            status = Status.BREAKDOWN
            break
        state = new
        row = _row(method, problem, state)
        history.append(row._replace(points=None))
        if callback is not None and callback(row):
            status = Status.STOPPED
            break
        if method.settled(state):
            status = Status.CONVERGED
            break
    return Run(state.points, status, tuple(history))


def _attempt(method: Method[S], problem: Problem, state: S) -> S | None:
    """Return the next state, or None where it is not finite."""
    try:
        new = method.step(problem, state)
    except np.linalg.LinAlgError:
        return None
    return new if np.isfinite(new.points).all() else None


def _row(method: Method[S], problem: Problem, state: S) -> Step:
    cut, residual = state.cut, state.residual
    for _ in range(method.power):
        cut, residual = cut / problem.unit, residual / problem.unit
    return Step(
        method.name, cut, residual, state.n_outliers, state.step_norm, problem.to_user(state.points)
    )
