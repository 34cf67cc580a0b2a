"""The compiled kernels; `reference` says in NumPy what each of them means.

Every row owns its sums and is worked through in the same chunks whoever asks for it, so no number depends on
how many threads there are or how the rows are cut into blocks; small blocks are done by the caller's own
thread, because waking others takes longer. Coordinates come as (r, n) arrays, one contiguous line per
component and an even number of them (an odd one is followed by zeros), so that the loops over a chunk
vectorise for any r; the rows of a group share each chunk of those lines while it lies in the cache.

Two habits keep the loops vectorised: positions are unsigned (no test for negative indices), and counts are
floating-point numbers (exact far beyond any row length).
"""

import math

import numpy as np

from robustmds.kernels import BINS_PER_OCTAVE, LOWEST_OCTAVE
from robustmds.kernels._jit import parallel_kernel, prange, prefetch, serial_kernel
from robustmds.losses import CAUCHY, GEMAN_MCCLURE, WELSCH

CHUNK = 2048  # values of a row for which there is room
LONG_CHUNK = 8 * CHUNK  # where no room is needed: the memory is read in longer strides
GROUP = 8
# A processor foresees little of what four rows side by side will need, and nothing beyond a page of memory:
# told a stretch at a time, and in time, it reads while it reckons.
STRETCH, AHEAD = 64, 256  # values of a row
LINE_BYTES = 64  # that the memory sends together
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
    """Fill `model` with the squared distances from point `own` to a chunk's, over the first lines."""
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
def kept_residual(value, unit, squared, early, dx, dy, cut):
    """Return the squared residual of a pair, or 0 where it is set aside or missing, and 1 where it is kept.

    `early` is the squared distance over all lines but the last two, whose differences are dx and dy.
    """
    seen = value * unit
    seen = seen if squared else seen * seen
    residual = seen - (early + dx * dx + dy * dy)
    good = abs(residual) <= cut
    return residual if good else 0.0, 1.0 if good else 0.0


@serial_kernel
def keep_in_row(values, columns, points, basis, own, lo, offset, unit, squared, cut, n_here, early, kept):
    """Sum up one row's chunk: squares and number of the kept, products with the last two lines of the basis.

    `early` brings the squared distances over all lines but the last two, which are added here, where the
    distances are read: most maps have no others, and then `early` and `kept`, which takes the residuals for
    the other products, are None.
    """
    c = points.shape[0] - 2
    x, y = points[c, own], points[c + 1, own]
    loss, count, p, q = 0.0, 0.0, 0.0, 0.0
    for t in range(n_here):
        j = column(columns, lo, offset, t)
        r, good = kept_residual(
            values[np.uintp(lo + t)], unit, squared, 0.0 if early is None else early[0, t],
            x - points[c, j], y - points[c + 1, j], cut,
        )  # fmt: skip
        loss, count, p, q = loss + r * r, count + good, p + r * basis[c, j], q + r * basis[c + 1, j]
        if kept is not None:
            kept[0, t] = r
    sums = (loss, count, p, q)
    return sums, sums, sums, sums  # of the type that four rows return; only the first is used


@serial_kernel
def keep_in_four_rows(values, points, basis, owns, los, offset, unit, squared, cut, n_here, early, kept):
    """Do what `keep_in_row` does for four full rows, which share what is read of the lines."""
    c = points.shape[0] - 2
    own0, own1, own2, own3 = owns
    x0, x1, x2, x3 = points[c, own0], points[c, own1], points[c, own2], points[c, own3]
    y0, y1, y2, y3 = points[c + 1, own0], points[c + 1, own1], points[c + 1, own2], points[c + 1, own3]
    lo0, lo1, lo2, lo3 = los
    loss0, count0, p0, q0 = 0.0, 0.0, 0.0, 0.0
    loss1, count1, p1, q1 = 0.0, 0.0, 0.0, 0.0
    loss2, count2, p2, q2 = 0.0, 0.0, 0.0, 0.0
    loss3, count3, p3, q3 = 0.0, 0.0, 0.0, 0.0
    for stretch in range(0, n_here, STRETCH):
        for ahead in range(stretch + AHEAD, stretch + AHEAD + STRETCH, LINE_BYTES // values.itemsize):
            for lo in los:
                prefetch(values, np.uintp(lo + ahead))
        for t in range(stretch, min(stretch + STRETCH, n_here)):
            j = np.uintp(offset + t)
            x, y, u, v = points[c, j], points[c + 1, j], basis[c, j], basis[c + 1, j]
            e0, e1, e2, e3 = 0.0, 0.0, 0.0, 0.0
            if early is not None:
                e0, e1, e2, e3 = early[0, t], early[1, t], early[2, t], early[3, t]
            r0, good0 = kept_residual(values[np.uintp(lo0 + t)], unit, squared, e0, x0 - x, y0 - y, cut)
            r1, good1 = kept_residual(values[np.uintp(lo1 + t)], unit, squared, e1, x1 - x, y1 - y, cut)
            r2, good2 = kept_residual(values[np.uintp(lo2 + t)], unit, squared, e2, x2 - x, y2 - y, cut)
            r3, good3 = kept_residual(values[np.uintp(lo3 + t)], unit, squared, e3, x3 - x, y3 - y, cut)
            loss0, count0, p0, q0 = loss0 + r0 * r0, count0 + good0, p0 + r0 * u, q0 + r0 * v
            loss1, count1, p1, q1 = loss1 + r1 * r1, count1 + good1, p1 + r1 * u, q1 + r1 * v
            loss2, count2, p2, q2 = loss2 + r2 * r2, count2 + good2, p2 + r2 * u, q2 + r2 * v
            loss3, count3, p3, q3 = loss3 + r3 * r3, count3 + good3, p3 + r3 * u, q3 + r3 * v
            if kept is not None:
                kept[0, t], kept[1, t], kept[2, t], kept[3, t] = r0, r1, r2, r3
    return (
        (loss0, count0, p0, q0), (loss1, count1, p1, q1), (loss2, count2, p2, q2), (loss3, count3, p3, q3),
    )  # fmt: skip


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
        good = 1.0 if (low <= residual) & (residual <= high) & (w > 0.0) else 0.0
        clipped = low if residual < low else (high if residual > high else residual)
        loss += 0.5 * w * clipped * clipped if residual == residual else 0.0
        n_kept += good
        kept_weight += w if good == 1.0 else 0.0
        # Coincident points have no direction to be pulled in.
        pull[t] = w * residual / model if (good == 1.0) & (model > 0.0) else 0.0
    return loss, n_kept, kept_weight


@serial_kernel
def loss_of(code, scale, e):
    """Return the loss of a residual and its weight psi(e)/e; `losses` has the formulas."""
    q = (e / scale) ** 2
    if code == WELSCH:
        return -0.5 * scale * scale * math.expm1(-q), math.exp(-q)
    if code == CAUCHY:
        return 0.5 * scale * scale * math.log1p(q), 1.0 / (1.0 + q)
    if code == GEMAN_MCCLURE:
        return 0.5 * e * e / (1.0 + q), 1.0 / ((1.0 + q) * (1.0 + q))
    size = abs(e)
    if size <= scale:
        return 0.5 * e * e, 1.0
    return scale * (size - 0.5 * scale), scale / size


@serial_kernel
def pull_by_loss(values, weights, lo, unit, squared, code, near, scale, n_here, pull):
    """Replace the squared model in `pull` by w psi(r) / distance, or by 0 where the pair is missing."""
    loss, n_near, pulling = 0.0, 0.0, 0.0
    for t in range(n_here):
        seen = values[np.uintp(lo + t)] * unit
        seen = math.sqrt(seen) if squared else seen
        model = math.sqrt(pull[t])
        residual = seen - model
        pull[t] = 0.0
        if residual == residual:
            w = weight(weights, lo + t)
            rho, share = loss_of(code, scale, residual)
            loss += w * rho
            n_near += 1.0 if (abs(residual) <= near) & (w > 0.0) else 0.0
            pulling += w * share
            if model > 0.0:
                pull[t] = w * share * residual / model
    return loss, n_near, pulling


@serial_kernel
def pull_beside_errors(values, columns, ridge, own, lo, offset, unit, squared, cut, n_here, pull):
    """Replace the squared model in `pull` by (r - o) / distance, with o the sparse error of the pair."""
    loss, n_without, errors = 0.0, 0.0, 0.0
    for t in range(n_here):
        seen = values[np.uintp(lo + t)] * unit
        seen = math.sqrt(seen) if squared else seen
        model = math.sqrt(pull[t])
        residual = seen - model
        pull[t] = 0.0
        if residual == residual:
            damping = ridge[own] + ridge[column(columns, lo, offset, t)]
            size = max(abs(residual) - cut, 0.0) / (1.0 + damping)
            error = math.copysign(size, residual)
            loss += 0.5 * (residual - error) ** 2 + cut * size + 0.5 * damping * size * size
            n_without += 1.0 if size == 0.0 else 0.0
            errors += size * size
            if model > 0.0:
                pull[t] = (residual - error) / model
    return loss, n_without, errors


@serial_kernel
def weigh(values, weights, lo, unit, squared, code, scale, n_here, model):
    """Replace the squared model by w psi(r)/r, without a code by w, or by 0 where the pair is missing."""
    for t in range(n_here):
        seen = values[np.uintp(lo + t)] * unit
        seen = math.sqrt(seen) if squared else seen
        residual = seen - math.sqrt(model[t])
        share = 1.0
        if code is not None:
            _, share = loss_of(code, scale, residual)
        model[t] = weight(weights, lo + t) * share if residual == residual else 0.0


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
def kept_product_group(
    values, starts, columns, first, unit, squared, group, stop, points, basis, cut, room, out, loss, kept
):
    """Do the rows of one group, chunk by chunk; `room` is None where there are two lines only."""
    last = points.shape[0] - 2
    early = None if room is None else np.zeros((4, CHUNK))
    residual = None if room is None else np.empty((4, CHUNK))
    for i in range(group, stop):
        loss[i], kept[i] = 0.0, 0.0
        for c in range(basis.shape[0]):
            out[c, i] = 0.0
    n_together = 4 if columns is None else 1
    chunk = LONG_CHUNK if room is None else CHUNK
    for offset in range(0, longest_row(starts, group, stop), chunk):
        for i in range(group, stop, n_together):
            lo = starts[i] + offset
            n_here = min(chunk, starts[i + 1] - lo)
            if n_here <= 0:
                continue
            n_rows = min(n_together, stop - i)
            if room is not None:
                for k in range(n_rows):
                    sq_model(
                        columns, points, last, first + i + k, starts[i + k] + offset, offset, n_here, early[k]
                    )
            if columns is None:
                # Of four rows some may lie beyond the last: it is then done again and the sums dropped.
                i1, i2, i3 = min(i + 1, stop - 1), min(i + 2, stop - 1), min(i + 3, stop - 1)
                owns = (first + i, first + i1, first + i2, first + i3)
                los = (lo, starts[i1] + offset, starts[i2] + offset, starts[i3] + offset)
                sums = keep_in_four_rows(
                    values, points, basis, owns, los, offset, unit, squared, cut, n_here, early, residual
                )
            else:
                sums = keep_in_row(
                    values, columns, points, basis, first + i, lo, offset, unit, squared, cut, n_here,
                    early, residual,
                )  # fmt: skip
            for k in range(n_rows):
                loss[i + k] += sums[k][0]
                kept[i + k] += sums[k][1]
                out[last, i + k] += sums[k][2]
                out[last + 1, i + k] += sums[k][3]
                if room is not None:
                    for c in range(last):
                        out[c, i + k] += weighted_sum(
                            columns, basis, c, starts[i + k] + offset, offset, n_here, residual[k]
                        )


@parallel_kernel
def kept_product_threads(
    values, starts, columns, first, unit, squared, points, basis, cut, room, out, loss, kept
):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        kept_product_group(
            values, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, basis, cut, room, out, loss, kept,
        )  # fmt: skip


def kept_product_rows(rows, points, basis, cut, out, row_loss, row_kept):
    block = (rows.values, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    room = None if len(points) == 2 else True  # noqa: PLR2004 - the last two lines need none
    rest = (points, basis, cut, room, out, row_loss, row_kept)
    if rows.values.size < THREADED:
        kept_product_group(*block, 0, rows.starts.size - 1, *rest)
    else:
        kept_product_threads(*block, *rest)


@serial_kernel
def stress_group(
    values,
    weights,
    starts,
    columns,
    first,
    unit,
    squared,
    group,
    stop,
    points,
    code,
    ridge,
    low,
    high,
    gradient,
    loss,
    kept,
    weight_sum,
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
            if ridge is not None:
                sums = pull_beside_errors(
                    values, columns, ridge, own, lo, offset, unit, squared, high, n_here, room
                )
            elif code is not None:
                sums = pull_by_loss(values, weights, lo, unit, squared, code, low, high, n_here, room)
            else:
                sums = pull_within(values, weights, lo, unit, squared, low, high, n_here, room)
            pull = plain_sum(room, n_here)
            for c in range(points.shape[0]):
                gradient[c, i] += (
                    weighted_sum(columns, points, c, lo, offset, n_here, room) - pull * points[c, own]
                )
            loss[i] += sums[0]
            kept[i] += sums[1]
            weight_sum[i] += sums[2]


@parallel_kernel
def stress_threads(
    values,
    weights,
    starts,
    columns,
    first,
    unit,
    squared,
    points,
    code,
    ridge,
    low,
    high,
    gradient,
    loss,
    kept,
    weight_sum,
):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        stress_group(
            values, weights, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, code, ridge, low, high, gradient, loss, kept, weight_sum,
        )  # fmt: skip


def stress_rows(rows, points, loss, gradient, row_loss, row_kept, row_weight):
    block = (rows.values, rows.weights, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    rest = (points, *loss, gradient, row_loss, row_kept, row_weight)
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
                out[c, i] += total * points[c, own] - weighted_sum(
                    columns, points, c, lo, offset, n_here, slope
                )


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
def laplacian_group(
    values, weights, starts, columns, first, unit, squared, group, stop, points, direction, code, scale, out
):
    """Do the rows of one group, chunk by chunk."""
    room = np.empty(CHUNK)
    for i in range(group, stop):
        for c in range(points.shape[0]):
            out[c, i] = 0.0
    for offset in range(0, longest_row(starts, group, stop), CHUNK):
        for i in range(group, stop):
            lo, own = starts[i] + offset, first + i
            n_here = min(CHUNK, starts[i + 1] - lo)
            if n_here <= 0:
                continue
            sq_model(columns, points, points.shape[0], own, lo, offset, n_here, room)
            weigh(values, weights, lo, unit, squared, code, scale, n_here, room)
            total = plain_sum(room, n_here)
            for c in range(points.shape[0]):
                out[c, i] += total * direction[c, own] - weighted_sum(
                    columns, direction, c, lo, offset, n_here, room
                )


@parallel_kernel
def laplacian_threads(
    values, weights, starts, columns, first, unit, squared, points, direction, code, scale, out
):
    n_rows = starts.size - 1
    for g in prange((n_rows + GROUP - 1) // GROUP):
        laplacian_group(
            values, weights, starts, columns, first, unit, squared, g * GROUP, min(n_rows, (g + 1) * GROUP),
            points, direction, code, scale, out,
        )  # fmt: skip


def laplacian_rows(rows, points, direction, code, scale, out):
    block = (rows.values, rows.weights, rows.starts, rows.columns, rows.first, rows.unit, rows.squared)
    rest = (points, direction, code, scale, out)
    if rows.values.size < THREADED:
        laplacian_group(*block, 0, rows.starts.size - 1, *rest)
    else:
        laplacian_threads(*block, *rest)


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
    """Count the residuals of the pairs ij, i < j, of some rows; row 0 of `counts` takes the negative ones."""
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


@serial_kernel
def spread_column(condensed, begin, j, out):
    """Write the distances of point j to the rows of a block into its column of the block."""
    n_rows, n = out.shape
    before = j * (2 * n - j - 3) // 2 - 1  # pair (j, i), j < i, stands at before + i
    for i in range(max(begin, j + 1), begin + n_rows):
        out[i - begin, j] = condensed[before + i]
    if begin <= j < begin + n_rows:
        out[j - begin, j] = np.nan
        for i in range(j + 1, n):
            out[j - begin, i] = condensed[before + i]


@parallel_kernel
def spread_threads(condensed, begin, out):
    for j in prange(min(out.shape[1], begin + out.shape[0])):
        spread_column(condensed, begin, j, out)


def spread_rows(condensed, begin, out):
    if out.size < THREADED:
        for j in range(min(out.shape[1], begin + out.shape[0])):
            spread_column(condensed, begin, j, out)
    else:
        spread_threads(condensed, begin, out)
