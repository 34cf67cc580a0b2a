"""Classical multidimensional scaling: what everybody begins with, and what a wrong distance spoils.

Squared distances D. The points are X = U Lambda^(1/2), with U and Lambda the r leading eigenpairs of

    B(D) = -1/2 J D J,    J = I - 11'/n,

negative eigenvalues taken as 0: the nearest inner products of points in r dimensions (Torgerson 1952). A
partial eigen-solver asks for products of D with a few columns, each one pass over the distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from robustmds.methods._run import Method, Run
from robustmds.result import Status
from robustmds.starts import classical

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.methods._run import Callback
    from robustmds.problem import Problem


@dataclass(frozen=True, kw_only=True)
class Classical(Method):
    """Settings of classical multidimensional scaling: there are none.

    Notes
    -----
    All pairs have to be measured. Nothing is iterated, so there is no history.

    References
    ----------
    W. S. Torgerson, *Multidimensional scaling: I. Theory and method*, Psychometrika 17 (1952),
    doi:10.1007/BF02288916.

    Examples
    --------
    >>> Classical()
    Classical()
    """

    name: ClassVar[str] = "classical"
    summary: ClassVar[str] = "classical scaling: leading eigenvectors, no protection (Torgerson 1952)"

    def solve(
        self,
        problem: Problem,
        points: Array | None,  # noqa: ARG002 - no need of a start
        callback: Callback | None,  # noqa: ARG002 - nor of steps
    ) -> Run:
        """Return the points; there are no steps on the way."""
        U, lam = classical(problem, cut=np.inf)
        return Run(U * np.sqrt(lam), Status.CONVERGED, ())
