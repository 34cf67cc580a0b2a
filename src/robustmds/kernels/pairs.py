"""The compiled kernels; `reference` says in NumPy what each of them means.

Every row owns its sums and is worked through in the same chunks whoever asks for it, so no number depends on
how many threads there are or how the rows are cut into blocks; small blocks are done by the caller's own thread,
because waking others takes longer. Coordinates come as (r, n) arrays, one contiguous
line per component and an even number of them (an odd one is followed by zeros), so that the loops over a chunk
vectorise for any r; the rows of a group share each chunk of those lines while it lies in the cache.

Two habits keep the loops vectorised: positions are unsigned (no test for negative indices), and counts are
floating-point numbers (exact far beyond any row length).
"""

import math

import numpy as np

from robustmds.kernels import BINS_PER_OCTAVE, LOWEST_OCTAVE
from robustmds.kernels._jit import parallel_kernel, prange, serial_kernel

CHUNK = 2048
GROUP = 8
THREADED = 1 << 16  # values of a block from which threads pay


@serial_kernel
def column(columns, lo, offset, t):
    """Return the point at position t of a chunk: stored, or counted where every column is there."""
    if columns is None:
        return np.uintp(offset + t)
    return np.uintp(columns[np.uintp(lo + t)])


@serial_kernel
def weight(weights, k):
    """Return the weight of the k-th value."""
    if weights is None:
        return 1.0
    return weights[np.uintp(k)]


@serial_kernel
def longest_row(starts, group, stop):
    """Return the number of values in the longest row of a group."""
    longest = 0
    for i in range(group, stop):
        longest = max(longest, starts[i + 1] - starts[i])
    return longest


@serial_kernel
def sq_model(columns, points, n_lines, own, lo, offset, n_here, model):
    """Fill `model` with the squared distances from point `own` to a chunk's, over the first `n_lines` lines."""
    for t in range(n_here):
        model[t] = 0.0
    for c in range(0, n_lines, 2):
        x, y = points[c, own], points[c + 1, own]
        for t in range(n_here):
            j = column(columns, lo, offset, t)
            dx, dy = x - points[c, j], y - points[c + 1, j]
            model[t] += dx * dx + dy * dy


@serial_kernel
def inner_products(columns, points, direction, own, lo, offset, n_here, slope):
    """Fill `slope` with (x_i - x_j) . (p_i - p_j) for the points j of a chunk."""
    for t in range(n_here):
        slope[t] = 0.0
    for c in range(points.shape[0]):
        x, p = points[c, own], direction[c, own]
        for t in range(n_here):
            j = column(columns, lo, offset, t)
            slope[t] += (x - points[c, j]) * (p - direction[c, j])


@serial_kernel
def weighted_sum(columns, lines, c, lo, offset, n_here, values):
    """Return sum_j values_j * lines[c, j] over a chunk."""
    total = 0.0
    for t in range(n_here):
        total += values[t] * lines[c, column(columns, lo, offset, t)]
    return total


@serial_kernel
def plain_sum(values, n_here):
    """Return the sum over a chunk."""
    total = 0.0
    for t in range(n_here):
        total += values[t]
    return total


@serial_kernel
def keep_within(values, columns, points, basis, own, lo, offset, unit, squared, cut, n_here, model, kept):
    """Fill `kept` with the squared residual, or 0 where it is set aside or missing; sum it up on the way.

    `model` brings the squared distances over all lines but the last two, which are added here, where the
    distances are read: most maps have no others.
    """
    last = points.shape[0] - 1
    x, y = points[last - 1, own], points[last, own]
    sq_loss, n_kept, total_u, total_v = 0.0, 0.0, 0.0, 0.0
    for t in range(n_here):
        j = column(columns, lo, offset, t)
        seen = values[np.uintp(lo + t)] * unit
        seen = seen if squared else seen * seen
        dx, dy = x - points[last - 1, j], y - points[last, j]
        residual = seen - (model[t] + dx * dx + dy * dy)
        good = 1.0 if abs(residual) <= cut else 0.0
        residual = residual if good == 1.0 else 0.0
        sq_loss += residual * residual
        n_kept += good
        total_u += residual * basis[last - 1, j]
        total_v += residual * basis[last, j]
        kept[t] = residual
    return sq_loss, n_kept, total_u, total_v


@serial_kernel
def pull_within(values, weights, lo, unit, squared, low, high, n_here, pull):
    """Replace the squared model in `pull` by w r / distance, or by 0 where r is set aside or missing."""
    loss, n_kept, kept_weight = 0.0, 0.0, 0.0
    for t in range(n_here):
        seen = values[np.uintp(lo + t)] * unit
        seen = math.sqrt(seen) if squared else seen
        model = math.sqrt(pull[t])
        residual = seen - model
        w = weight(weights, lo + t)
        good = 1.0 if (low <= residual) & (residual <= high) else 0.0
        clipped = low if residual < low else (high if residual > high else residual)
        loss += w * clipped * clipped if residual == residual else 0.0
        n_kept += good
        kept_weight += w if good == 1.0 else 0.0
        # Coincident points have no direction to be pulled in.
        pull[t] = w * residual / model if (good == 1.0) & (model > 0.0) else 0.0
    return loss, n_kept, kept_weight


@serial_kernel
def stiffness_within(values, weights, lo, unit, squared, low, high, n_here, model, slope):
    """Replace `slope` by w slope / distance^2, or by 0 where the pair is set aside or missing."""
    for t in range(n_here):
        seen = values[np.uintp(lo + t)] * unit
        seen = math.sqrt(seen) if squared else seen
        residual = seen - math.sqrt(model[t])
        w = weight(weights, lo + t)
        good = (low <= residual) & (residual <= high) & (model[t] > 0.0)
        slope[t] = w * slope[t] / model[t] if good else 0.0


@serial_kernel
def kept_product_group(values, starts, columns, first, unit, squared, group, stop, points, basis, cut, out, loss, kept):
    """Do the rows of one group, chunk by chunk."""
    model, residual = np.zeros(CHUNK), np.empty(CHUNK)
    n_early = points.shape[0] - 2
    for i in range(group, stop):
        loss[i], kept[i] = 0.0, 0.0
        for c in range(basis.shape[0]):
            out[c, i] = 0.0
    for offset in range(0, longest_row(starts, group, stop), CHUNK):
        for i in range(group, stop):
            lo, own = starts[i] + offset, first + i
            n_here = min(CHUNK, starts[i + 1] - lo)
            if n_here <= 0:
                continue
            if n_early > 0:
                sq_model(columns, points, n_early, own, lo, offset, n_here, model)
            chunk_loss, chunk_kept, total_u, total_v = keep_within(
                values, columns, points, basis, own, lo, offset, unit, squared, cut, n_here, model, residual
            )
            for c in range(n_early):
                out[c, i] += weighted_sum(columns, basis, c, lo, offset, n_here, residual)
            out[n_early, i] += total_u
            out[n_early + 1, i] += total_v
            loss[i] += chunk_loss
            kept[i] += chunk_kept


@parallel_kernel
def kept_product_threads(values, starts, columns, first, unit, squared, points, basis, cut, out, loss, kept):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        kept_product_group(
            values, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, basis, cut, out, loss, kept,
        )  # fmt: skip


def kept_product_rows(rows, points, basis, cut, out, row_loss, row_kept):
    block = (rows.values, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    rest = (points, basis, cut, out, row_loss, row_kept)
    if rows.values.size < THREADED:
        kept_product_group(*block, 0, rows.starts.size - 1, *rest)
    else:
        kept_product_threads(*block, *rest)


@serial_kernel
def stress_group(
    values, weights, starts, columns, first, unit, squared, group, stop, points, low, high, gradient, loss, kept, weight_sum
):
    """Do the rows of one group, chunk by chunk."""
    room = np.empty(CHUNK)
    for i in range(group, stop):
        loss[i], kept[i], weight_sum[i] = 0.0, 0.0, 0.0
        for c in range(points.shape[0]):
            gradient[c, i] = 0.0
    for offset in range(0, longest_row(starts, group, stop), CHUNK):
        for i in range(group, stop):
            lo, own = starts[i] + offset, first + i
            n_here = min(CHUNK, starts[i + 1] - lo)
            if n_here <= 0:
                continue
            sq_model(columns, points, points.shape[0], own, lo, offset, n_here, room)
            chunk_loss, chunk_kept, chunk_weight = pull_within(
                values, weights, lo, unit, squared, low, high, n_here, room
            )
            pull = plain_sum(room, n_here)
            for c in range(points.shape[0]):
                gradient[c, i] += weighted_sum(columns, points, c, lo, offset, n_here, room) - pull * points[c, own]
            loss[i] += 0.5 * chunk_loss
            kept[i] += chunk_kept
            weight_sum[i] += chunk_weight


@parallel_kernel
def stress_threads(
    values, weights, starts, columns, first, unit, squared, points, low, high, gradient, loss, kept, weight_sum
):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        stress_group(
            values, weights, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, low, high, gradient, loss, kept, weight_sum,
        )  # fmt: skip


def stress_rows(rows, points, band, gradient, row_loss, row_kept, row_weight):
    block = (rows.values, rows.weights, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    rest = (points, *band, gradient, row_loss, row_kept, row_weight)
    if rows.values.size < THREADED:
        stress_group(*block, 0, rows.starts.size - 1, *rest)
    else:
        stress_threads(*block, *rest)


@serial_kernel
def curvature_group(
    values, weights, starts, columns, first, unit, squared, group, stop, points, direction, low, high, out
):
    """Do the rows of one group, chunk by chunk."""
    model, slope = np.empty(CHUNK), np.empty(CHUNK)
    for i in range(group, stop):
        for c in range(points.shape[0]):
            out[c, i] = 0.0
    for offset in range(0, longest_row(starts, group, stop), CHUNK):
        for i in range(group, stop):
            lo, own = starts[i] + offset, first + i
            n_here = min(CHUNK, starts[i + 1] - lo)
            if n_here <= 0:
                continue
            sq_model(columns, points, points.shape[0], own, lo, offset, n_here, model)
            inner_products(columns, points, direction, own, lo, offset, n_here, slope)
            stiffness_within(values, weights, lo, unit, squared, low, high, n_here, model, slope)
            total = plain_sum(slope, n_here)
            for c in range(points.shape[0]):
                out[c, i] += total * points[c, own] - weighted_sum(columns, points, c, lo, offset, n_here, slope)


@parallel_kernel
def curvature_threads(
    values, weights, starts, columns, first, unit, squared, points, direction, low, high, out
):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        curvature_group(
            values, weights, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, direction, low, high, out,
        )  # fmt: skip


def stress_curvature_rows(rows, points, direction, band, out):
    block = (rows.values, rows.weights, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    rest = (points, direction, *band, out)
    if rows.values.size < THREADED:
        curvature_group(*block, 0, rows.starts.size - 1, *rest)
    else:
        curvature_threads(*block, *rest)


@serial_kernel
def bin_of(size, n_bins):
    """Return the bin of an absolute residual: the octave, cut into equal parts."""
    if size == 0.0:
        return 0
    mantissa, exponent = math.frexp(size)
    part = int((mantissa - 0.5) * 2.0 * BINS_PER_OCTAVE)
    return min(max((exponent - 1 - LOWEST_OCTAVE) * BINS_PER_OCTAVE + part, 0), n_bins - 1)


@serial_kernel
def histogram_part(values, starts, columns, first, unit, squared, begin, end, points, counts):
    """Count the residuals of the pairs (i, j), i < j, of some rows; row 0 of `counts` takes the negative ones."""
    room = np.empty(CHUNK)
    for i in range(begin, end):
        own = first + i
        for lo in range(starts[i], starts[i + 1], CHUNK):
            offset = lo - starts[i]
            n_here = min(CHUNK, starts[i + 1] - lo)
            sq_model(columns, points, points.shape[0], own, lo, offset, n_here, room)
            for t in range(n_here):
                seen = values[lo + t] * unit
                seen = math.sqrt(seen) if squared else seen
                residual = seen - math.sqrt(room[t])
                if column(columns, lo, offset, t) > own and residual == residual:
                    side = 1 if residual > 0.0 else 0
                    counts[side, bin_of(abs(residual), counts.shape[1])] += 1


@parallel_kernel
def histogram_threads(values, starts, columns, first, unit, squared, points, counts):
    n_rows, n_parts = starts.size - 1, counts.shape[0]
    for part in prange(n_parts):
        histogram_part(
            values, starts, columns, first, unit, squared,
            part * n_rows // n_parts, (part + 1) * n_rows // n_parts, points, counts[part],
        )  # fmt: skip


def residual_histogram_rows(rows, points, counts):
    block = (rows.values, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    if rows.values.size < THREADED:
        histogram_part(*block, 0, rows.starts.size - 1, points, counts[0])
    else:
        histogram_threads(*block, points, counts)
