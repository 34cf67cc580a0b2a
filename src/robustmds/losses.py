"""Losses of a residual e, which grow more slowly than its square: frozen, each a formula.

All are e^2/2 where e is small beside the `scale`, so that psi(e) = rho'(e) is e and the weight psi(e)/e is 1;
beyond the scale they say how much a residual may still pull. The kernels have the same formulas, by `code`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

HUBER, WELSCH, CAUCHY, GEMAN_MCCLURE = range(4)


@dataclass(frozen=True)
class Loss(ABC):
    """A loss.

    Parameters
    ----------
    scale : float
        Size of a residual from which it is doubted, in the units of the residuals.
    """

    name: ClassVar[str]
    code: ClassVar[int]

    scale: float

    @abstractmethod
    def rho(self, e: Array) -> Array:
        """Return the loss of every residual."""

    @abstractmethod
    def weight(self, e: Array) -> Array:
        """Return psi(e)/e, between 0 and 1."""

    def psi(self, e: Array) -> Array:
        """Return the derivative of the loss."""
        return e * self.weight(e)


class Huber(Loss):
    """rho = e^2/2 up to the scale s, s|e| - s^2/2 beyond: the pull stays as it is.

    Examples
    --------
    >>> Huber(1.0).rho(np.array([0.5, 3.0]))
    array([0.125, 2.5  ])
    """

    name: ClassVar[str] = "huber"
    code: ClassVar[int] = HUBER

    def rho(self, e: Array) -> Array:
        """Return the loss of every residual."""
        near = np.minimum(np.abs(e), self.scale)
        loss: Array = near * (np.abs(e) - near / 2)
        return loss

    def weight(self, e: Array) -> Array:
        """Return psi(e)/e, between 0 and 1."""
        weight: Array = self.scale / np.maximum(np.abs(e), self.scale)
        return weight


class Welsch(Loss):
    """rho = s^2/2 (1 - exp(-e^2/s^2)): correntropy, after which a far residual pulls at nothing.

    Examples
    --------
    >>> Welsch(1.0).weight(np.array([0.0, 1.0, 4.0])).round(3)
    array([1.   , 0.368, 0.   ])
    """

    name: ClassVar[str] = "welsch"
    code: ClassVar[int] = WELSCH

    def rho(self, e: Array) -> Array:
        """Return the loss of every residual."""
        loss: Array = -0.5 * self.scale**2 * np.expm1(-((e / self.scale) ** 2))
        return loss

    def weight(self, e: Array) -> Array:
        """Return psi(e)/e, between 0 and 1."""
        weight: Array = np.exp(-((e / self.scale) ** 2))
        return weight


class Cauchy(Loss):
    """rho = s^2/2 log(1 + e^2/s^2): the pull of a far residual fades, and slowly.

    Examples
    --------
    >>> Cauchy(1.0).weight(np.array([0.0, 1.0, 4.0])).round(3)
    array([1.   , 0.5  , 0.059])
    """

    name: ClassVar[str] = "cauchy"
    code: ClassVar[int] = CAUCHY

    def rho(self, e: Array) -> Array:
        """Return the loss of every residual."""
        loss: Array = 0.5 * self.scale**2 * np.log1p((e / self.scale) ** 2)
        return loss

    def weight(self, e: Array) -> Array:
        """Return psi(e)/e, between 0 and 1."""
        weight: Array = 1 / (1 + (e / self.scale) ** 2)
        return weight


class GemanMcClure(Loss):
    """rho = e^2/2 / (1 + e^2/s^2): bounded, with a pull that fades faster than Cauchy's.

    Examples
    --------
    >>> GemanMcClure(1.0).weight(np.array([0.0, 1.0, 4.0])).round(3)
    array([1.   , 0.25 , 0.003])
    """

    name: ClassVar[str] = "geman-mcclure"
    code: ClassVar[int] = GEMAN_MCCLURE

    def rho(self, e: Array) -> Array:
        """Return the loss of every residual."""
        loss: Array = 0.5 * e**2 / (1 + (e / self.scale) ** 2)
        return loss

    def weight(self, e: Array) -> Array:
        """Return psi(e)/e, between 0 and 1."""
        weight: Array = 1 / (1 + (e / self.scale) ** 2) ** 2
        return weight


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (Welsch, Cauchy, Huber, GemanMcClure)}
