"""What the kernels mean, in NumPy: same names, same signatures, full blocks of pairs at once."""

from __future__ import annotations

import numpy as np

from robustmds.kernels import BINS_PER_OCTAVE, LOWEST_OCTAVE, N_BINS, STRIP, Rows
from robustmds.losses import LOSSES


def dense(rows: Rows, n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the block's distances and weights as (rows, n_points) arrays; nan where there is no pair."""
    n_rows = rows.starts.size - 1
    seen, weights = np.full((n_rows, n_points), np.nan), np.zeros((n_rows, n_points))
    for i in range(n_rows):
        here = slice(rows.starts[i], rows.starts[i + 1])
        columns = np.arange(n_points) if rows.columns is None else rows.columns[here]
        seen[i, columns] = rows.values[here] * rows.unit
        weights[i, columns] = 1.0 if rows.weights is None else rows.weights[here]
    return (np.sqrt(seen) if rows.squared else seen), weights


def differences(rows: Rows, lines: np.ndarray) -> np.ndarray:
    """Return x_i - x_j for the rows i of the block and all j, as (r, rows, n)."""
    own = lines[:, rows.first : rows.first + rows.starts.size - 1]
    return own[:, :, None] - lines[:, None, :]


def kept_product_rows(rows, points, basis, cut, out, row_loss, row_kept):
    seen, _ = dense(rows, points.shape[1])
    residual = seen**2 - (differences(rows, points) ** 2).sum(axis=0)
    kept = np.abs(residual) <= cut
    residual = np.where(kept, residual, 0.0)
    out[:] = (residual @ basis.T).T
    row_loss[:], row_kept[:] = (residual**2).sum(axis=1), kept.sum(axis=1)


def _stress_terms(rows, points, band):
    low, high = band
    seen, weights = dense(rows, points.shape[1])
    difference = differences(rows, points)
    model = np.sqrt((difference**2).sum(axis=0))
    residual = seen - model
    return difference, model, residual, weights, (low <= residual) & (residual <= high)


def _pulled(rows, residual, weights, loss):
    """Return, pair by pair, the loss, its derivative, what is kept, and what is summed up beside it."""
    code, ridge, low, high = loss
    if ridge is not None:
        damping = ridge[rows.first : rows.first + len(residual), None] + ridge
        size = np.maximum(np.abs(residual) - high, 0.0) / (1 + damping)
        rest = residual - np.copysign(size, residual)
        return 0.5 * rest**2 + high * size + 0.5 * damping * size**2, rest, size == 0, size**2
    if code is not None:
        rule = next(rule for rule in LOSSES.values() if rule.code == code)(high)
        pulling, near = weights * rule.weight(residual), (np.abs(residual) <= low) & (weights > 0)
        return weights * rule.rho(residual), pulling * residual, near, pulling
    kept = (low <= residual) & (residual <= high) & (weights > 0)
    clipped = np.clip(residual, low, high)
    return 0.5 * weights * clipped**2, np.where(kept, weights * residual, 0.0), kept, weights * kept


def stress_rows(rows, points, loss, gradient, row_loss, row_kept, row_weight):
    difference, model, residual, weights, _ = _stress_terms(rows, points, (-np.inf, np.inf))
    value, slope, kept, beside = _pulled(rows, residual, weights, loss)
    known = ~np.isnan(residual)
    pull = np.divide(slope, model, out=np.zeros_like(model), where=known & (model > 0))
    gradient[:] = -(pull * difference).sum(axis=2)
    row_loss[:], row_weight[:] = (np.where(known, terms, 0.0).sum(axis=1) for terms in (value, beside))
    row_kept[:] = (kept & known).sum(axis=1)


def laplacian_rows(rows, points, direction, code, scale, out):
    _, _, residual, weights, _ = _stress_terms(rows, points, (-np.inf, np.inf))
    loss = (code, None, scale, scale) if code is not None else (None, None, -np.inf, np.inf)
    *_, pulling = _pulled(rows, residual, weights, loss)
    out[:] = (np.where(np.isnan(residual), 0.0, pulling) * differences(rows, direction)).sum(axis=2)


def stress_curvature_rows(rows, points, direction, band, out):
    difference, model, _, weights, kept = _stress_terms(rows, points, band)
    slope = (difference * differences(rows, direction)).sum(axis=0)
    stiffness = np.divide(weights * slope, model**2, out=np.zeros_like(model), where=kept & (model > 0))
    out[:] = (stiffness * difference).sum(axis=2)


def residual_histogram_rows(rows, points, counts):
    seen, _ = dense(rows, points.shape[1])
    residual = seen - np.sqrt((differences(rows, points) ** 2).sum(axis=0))
    own = rows.first + np.arange(seen.shape[0])
    residual = residual[(np.arange(seen.shape[1]) > own[:, None]) & ~np.isnan(residual)]
    mantissa, exponent = np.frexp(np.abs(residual))
    part = ((mantissa - 0.5) * 2 * BINS_PER_OCTAVE).astype(int)
    bins = np.clip((exponent - 1 - LOWEST_OCTAVE) * BINS_PER_OCTAVE + part, 0, N_BINS - 1)
    bins[residual == 0] = 0
    np.add.at(counts[0], ((residual > 0).astype(int), bins), 1)


def survey_strips(upper, lower, on_diagonal, out):
    """Survey a tile and its mirror; on the diagonal, only the pairs above it."""
    a, b = np.array(upper, dtype=float), np.array(lower, dtype=float).T
    if on_diagonal:
        here = np.tril_indices(len(a))
        a[here] = b[here] = np.nan
    for strip, begin in enumerate(range(0, len(a), STRIP)):
        above, below = a[begin : begin + STRIP], b[begin : begin + STRIP]
        seen_above, seen_below = ~np.isnan(above), ~np.isnan(below)
        both = np.concatenate([above[seen_above], below[seen_below]])
        gap = np.abs(above - below)[seen_above & seen_below]
        out[strip] = (
            (seen_above | seen_below).sum(),
            (seen_above != seen_below).sum(),
            both.max(initial=0.0),
            both.min(initial=0.0),
            gap.max(initial=0.0),
        )


def spread_rows(condensed, begin, out):
    n = out.shape[1]
    square = np.full((n, n), np.nan, dtype=out.dtype)
    square[np.triu_indices(n, 1)] = condensed
    lower = np.tril_indices(n, -1)
    square[lower] = square.T[lower]
    out[:] = square[begin : begin + len(out)]


def broken_rows(rows, judges, slack, out):
    n_points = len(judges)
    for i in range(rows.starts.size - 1):
        here, own = slice(rows.starts[i], rows.starts[i + 1]), rows.first + i
        j = np.arange(n_points) if rows.columns is None else rows.columns[here]
        seen = rows.values[here].astype(float) * rows.unit
        sides = np.broadcast_arrays(
            (np.sqrt(seen) if rows.squared else seen)[:, None], judges[own], judges[j]
        )
        broken = [side > (sum(sides) - side) * slack for side in sides]
        out[here] = np.any(broken, axis=0).sum(axis=1)
