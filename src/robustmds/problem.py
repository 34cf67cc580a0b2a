"""The problem that every method is given: checked, scaled, frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.passes import Measured

ARITHMETIC = 2.0**-42  # relative rounding of all the sums behind a point; a thousand times that of one number
OUTLIER_SIGNS = ("any", "too-long", "too-short")


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

    Methods work in working units, in which the largest distance lies between 1 and 2; the factor is a power
    of two, so that multiplying all distances by 2 changes nothing else.

    Parameters
    ----------
    measured : Measured
        The pairs, and the factor.
    n_components : int
        Dimension r of the points.
    n_measured : int
        How many pairs were measured.
    largest : float
        Largest measured distance, in working units.
    noise : float, optional
        Standard deviation of a good distance where it is known, in the user's units.
    outlier_sign : str
        Which sign the error of a wrong distance can have, one of `OUTLIER_SIGNS`.
    """

    measured: Measured
    n_components: int
    n_measured: int
    largest: float = 2.0
    noise: float | None = None
    outlier_sign: str = "any"

    def __str__(self) -> str:
        n, r = self.n_points, self.n_components
        every = n * (n - 1) // 2
        share = f"all {every}" if self.is_complete else f"{self.n_measured} of {every}"
        return (
            f"find X ({n} x {r}) and the sparse S with\n"
            f"    d_ij^2 = |x_i - x_j|^2 + S_ij + noise   over {share} pairs"
        )

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return self.measured.n_points

    @property
    def n_free(self) -> int:
        """Number of coordinates that distances can determine: all but the motions of all points together."""
        n, r = self.n_points, self.n_components
        return n * r - r * (r + 1) // 2

    @property
    def is_complete(self) -> bool:
        """Whether all pairs were measured."""
        return self.n_measured == self.n_points * (self.n_points - 1) // 2

    @property
    def unit(self) -> float:
        """A distance times this is in working units."""
        return float(np.sqrt(self.measured.unit)) if self.measured.squared else self.measured.unit

    @property
    def resolution(self) -> float:
        """How well the largest distances can be told apart, in working units: nobody asks for less."""
        return 2 * max(self.measured.resolution, ARITHMETIC)

    def to_working(self, points: Array) -> Array:
        """Return points in working units."""
        return points * self.unit

    def to_user(self, points: Array) -> Array:
        """Return points in the units of the distances."""
        return points / self.unit
