"""How large the noise is and how likely every pair is wrong, from the residuals at the fitted points.

A residual e = d_ij - |x_i - x_j| is good with probability 1 - share and then normal with standard deviation
`noise`, or wrong and then spread evenly from `low` to `high`, as wide as the largest distance either way:

    p(e) = (1 - share) N(e; 0, noise^2) + share / (high - low).

The noise and the share come from expectation and maximisation on the histogram of the residuals, which one
pass over the distances fills: no list of pairs is needed, whatever their number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from robustmds.kernels import BINS_PER_OCTAVE, LOWEST_OCTAVE, N_BINS
from robustmds.passes import EVERYTHING, NOTHING, residual_histogram

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.problem import Problem

MEDIAN_OF_NORMAL = 0.6745  # of its absolute value, in standard deviations
FIRST_SHARE = 0.1
MAX_ROUNDS = 200
TOL = 1e-6
LEAST_SHARE = 0.5  # of a pair: the share is never estimated as 0, so no residual is beyond suspicion


def _middle_of_bins() -> Array:
    """Return what the residuals of each bin are taken for; the first bin holds what is next to 0."""
    octaves, parts = np.divmod(np.arange(N_BINS), BINS_PER_OCTAVE)
    middles = np.ldexp(1 + (parts + 0.5) / BINS_PER_OCTAVE, LOWEST_OCTAVE + octaves)
    middles[0] = 0.0
    return middles


SIZES = _middle_of_bins()
RESIDUALS = np.stack([-SIZES, SIZES])  # as the histogram has them


class Mixture(NamedTuple):
    """What the residuals of good and of wrong pairs look like."""

    noise: float  # standard deviation of the good
    share: float  # of the wrong
    low: float  # the wrong are spread over low..high; 0: none is too short
    high: float  # 0: none is too long

    def probability(self, residuals: Array) -> Array:
        """Return how likely the pairs with these residuals are wrong."""
        return self._wrong(residuals) / self.density(residuals)

    def density(self, residuals: Array) -> Array:
        """Return how likely these residuals are, per unit of distance."""
        z = residuals / self.noise
        good = (1 - self.share) / (self.noise * np.sqrt(2 * np.pi)) * np.exp(-(z**2) / 2)
        return np.maximum(good + self._wrong(residuals), np.finfo(float).tiny)

    def _wrong(self, residuals: Array) -> Array:
        possible = ((residuals >= 0) | (self.low < 0)) & ((residuals <= 0) | (self.high > 0))
        return np.where(possible, self.share / (self.high - self.low), 0.0)

    def band(self, probability: float = 0.5) -> tuple[float, float]:
        """Return the residuals between which pairs are less likely wrong than this."""
        if probability <= 0:
            return NOTHING
        if probability >= 1:
            return EVERYTHING
        odds = (1 - probability) / probability * self.share / (self.high - self.low)
        peak = (1 - self.share) / (self.noise * np.sqrt(2 * np.pi))
        width = self.noise * float(np.sqrt(2 * max(np.log(peak) - np.log(odds), 0.0)))
        return (-width if self.low < 0 else -np.inf), (width if self.high > 0 else np.inf)


def mixture(problem: Problem, points: Array) -> Mixture:
    """Estimate the mixture from the residuals at some points, in working units.

    Parameters
    ----------
    problem : Problem
        The pairs; if it knows the noise, that is kept.
    points : (n, r) array
        In working units.
    """
    counts = residual_histogram(problem.measured, points)
    low = 0.0 if problem.outlier_sign == "too-long" else -problem.largest
    high = 0.0 if problem.outlier_sign == "too-short" else problem.largest
    known = None if problem.noise is None else problem.noise * problem.unit
    first = Mixture(known or _quantile(counts, 0.5) / MEDIAN_OF_NORMAL, FIRST_SHARE, low, high)
    return _maximised(counts, first, problem, known)


def log_likelihood(problem: Problem, points: Array) -> float:
    """Return the logarithm of the likelihood of all residuals, under the mixture that fits them best.

    It is the restricted one: as many residuals as there are free coordinates tell nothing about the noise, or
    the best of all fits would be an exact one of just enough pairs.
    """
    counts = residual_histogram(problem.measured, points)
    law = mixture(problem, points)
    free = problem.n_free * np.log(law.noise)
    return float((counts * np.log(law.density(RESIDUALS))).sum(where=counts > 0) + free)


def residual_quantile(problem: Problem, points: Array, share: float) -> float:
    """Return the size, in working units, below which this share of the residuals lies."""
    return _quantile(residual_histogram(problem.measured, points), share)


def _quantile(counts: npt.NDArray[np.int64], share: float) -> float:
    total = np.cumsum(counts.sum(axis=0))
    return float(SIZES[np.searchsorted(total, share * total[-1])])


def _maximised(
    counts: npt.NDArray[np.int64], first: Mixture, problem: Problem, known: float | None
) -> Mixture:
    """Return the mixture that makes the residuals likeliest, as far as it can be reached from the first."""
    n_pairs, n_free = counts.sum(), problem.n_free
    now = first._replace(noise=max(first.noise, problem.resolution))
    for _ in range(MAX_ROUNDS):
        wrong = now.probability(RESIDUALS)
        n_wrong, n_good = (counts * wrong).sum(), (counts * (1 - wrong)).sum()
        noise = known
        if noise is None:
            # The points took up some of the noise: fewer residuals are free than there are.
            left = max(n_good - n_free, 1.0)
            noise = float(np.sqrt((counts * (1 - wrong) * RESIDUALS**2).sum() / left))
        share = float(np.clip(n_wrong, LEAST_SHARE, n_pairs - LEAST_SHARE) / n_pairs)
        new = now._replace(noise=max(noise, problem.resolution), share=share)
        done = abs(new.noise - now.noise) <= TOL * now.noise and abs(new.share - now.share) <= TOL
        now = new
        if done:
            break
    return now
