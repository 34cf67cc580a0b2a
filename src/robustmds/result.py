"""x"""
from __future__ import annotations
from enum import Enum
from typing import NamedTuple
from robustmds.linalg import Array

class Status(Enum):
    """How a fit ended; the value is advice.

    CONVERGED settled; MAX_STEPS, STOPPED and BREAKDOWN did not; DEGENERATE set aside more than it kept.
    """

    CONVERGED = "The points have settled."
    MAX_STEPS = (
        "The number of steps ran out before the points settled: allow more `max_steps`, or a larger `tol`."
    )
    STOPPED = "The callback stopped the fit; these are the points it had reached."
    BREAKDOWN = (
        "The next step was not finite; these are the points before it. "
        "Look at the largest distances, or give a larger `threshold`."
    )
    DEGENERATE = (
        "More pairs were set aside than kept, so the points rest on a minority of the distances: "
        "try another `n_components`, a larger `noise`, or look for nodes that failed altogether."
    )

class Step(NamedTuple):
    """One step of a method, as `callback` sees it and `history` keeps it.

    `cut` and `residual` are in the units in which the method compares: squared distances for rmds-aap,
    distances for the least-squares fit.
    """

    method: str
    cut: float  # largest residual kept by the step
    residual: float  # root mean square of the kept residuals, at the points the step began from
    n_outliers: int  # pairs set aside by the step
    step_norm: float  # how far the points moved, relative to their size
    points: Array | None  # after the step, (n, r); None in the history
