"""Loops over pairs: the only place that imports numba.

A kernel works through a block of `Rows` and writes one number, or one column, per row. `reference` holds the
same functions in NumPy, of the same signature and meaning.

==========================  ====================================================================
kernel                      per row i, over the measured pairs ij
==========================  ====================================================================
kept_product_rows           sum_j T(d_ij^2 - |x_i - x_j|^2) u_j, with T(r) = r where |r| <= cut, else 0
stress_rows                 gradient and value of sum_j w_ij rho(d_ij - |x_i - x_j|); see `Pull` for rho
laplacian_rows              sum_j w_ij psi(e_ij)/e_ij (p_i - p_j), with e_ij = d_ij - |x_i - x_j|
stress_curvature_rows       Gauss-Newton curvature of the clipped squares, times a direction
spread_rows                 the values themselves, of a condensed vector; nan from a point to itself
residual_histogram_rows     counts of d_ij - |x_i - x_j| by sign and logarithmic bin
broken_rows                 per value: third points with which the pair's triangle does not close
survey_strips               per STRIP rows: counts, extremes, largest |d_ij - d_ji|
==========================  ====================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

# Bins of the residual histogram: BINS_PER_OCTAVE for every power of two from 2**LOWEST_OCTAVE upwards, in
# units in which the largest distance lies between 1 and 2. The first bin also takes everything smaller.
BINS_PER_OCTAVE = 32
LOWEST_OCTAVE = -60
N_BINS = 64 * BINS_PER_OCTAVE

STRIP = 8  # rows that are surveyed together


class Rows(NamedTuple):
    """A block of rows of pairs, in the layout the kernels read."""

    values: np.ndarray  # the distances of all rows, one row after the other; nan = not measured
    starts: np.ndarray  # row i holds values[starts[i]:starts[i + 1]]
    columns: np.ndarray | None  # the other point of each value; None: every column is there, in order
    weights: np.ndarray | None  # of each value; None: all one
    first: int  # the point that the block's first row belongs to
    unit: float  # a value times this is in working units
    squared: bool  # the values are squared distances


class Pull(NamedTuple):
    """What residuals e pull with: which rho the stress is made of.

    Without more, rho(e) = clip(e, low, high)^2 / 2, and what lies outside pulls at nothing. With a code, it
    is that of `losses`, of scale `high`, and the residuals up to `low` are counted. With a ridge, it is the
    least of

        (e - o)^2 / 2 + cut |o| + (ridge_i + ridge_j) o^2 / 2

    over the error o of the pair, where `high` is the cut.
    """

    code: int | None
    ridge: np.ndarray | None  # of each point
    low: float
    high: float
