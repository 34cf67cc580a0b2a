"""The problem that every method is given: checked, scaled, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.passes import Measured


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """Points to be found from measured pairs.

    ==============  =====================================  =================
    mathematics     parameters, attributes, fields         in a solver body
    ==============  =====================================  =================
    d, D = d^2      `distances`, `sq_distances`            `D`
    X, n, r         `points`, `n_points`, `n_components`   `X`, `n`, `r`
    S               `suspects`, `outlier_...`              `S`
    xi^k, xi^0      `cut`, `threshold`                     `cut`
    gamma           `decay`                                `decay`
    U, Lambda       `basis`, `eigenvalues`                 `U`, `lam`
    sigma           `noise`                                `sigma`
    ==============  =====================================  =================

    Methods work in working units, in which the largest distance lies between 1 and 2; the factor is a power of
    two, so that multiplying all distances by 2 changes nothing else.

    Parameters
    ----------
    measured : Measured
        The pairs, and the factor.
    n_components : int
        Dimension r of the points.
    n_measured : int
        How many pairs were measured.
    noise : float, optional
        Standard deviation of a good distance where it is known, in the user's units.
    """

    measured: Measured
    n_components: int
    n_measured: int
    noise: float | None = None

    def __str__(self) -> str:
        n, r = self.n_points, self.n_components
        every = n * (n - 1) // 2
        share = f"all {every}" if self.n_measured == every else f"{self.n_measured} of {every}"
        return (
            f"find X ({n} x {r}) and the sparse S with\n"
            f"    d_ij^2 = |x_i - x_j|^2 + S_ij + noise   over {share} pairs"
        )

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.measured.n_points

    @property
    def unit(self) -> float:
        """A distance times this is in working units."""
        return float(np.sqrt(self.measured.unit)) if self.measured.squared else self.measured.unit

    @property
    def resolution(self) -> float:
        """How well a distance near the largest can be told from its neighbour, in working units."""
        return 2 * self.measured.resolution

    def to_working(self, points: Array) -> Array:
        """Return points in working units."""
        return points * self.unit

    def to_user(self, points: Array) -> Array:
        """Return points in the units of the distances."""
        return points / self.unit
