"""The compiled count of broken triangles; `reference` says in NumPy what it means.

A row of pairs is one thread's, so that nothing depends on how many there are.
"""

import numpy as np

from robustmds.kernels._jit import parallel_kernel, prange, serial_kernel

THREADED = 1 << 18  # triangles from which threads pay


@serial_kernel
def broken_of_pair(seen, own, other, slack):
    """Return over how many third points the triangle of a pair does not close."""
    count = 0.0
    for k in range(own.size):
        a, b = own[k], other[k]
        # A comparison with nan fails: what was not measured breaks nothing.
        too_long = seen > (a + b) * slack
        too_short = (a > (seen + b) * slack) | (b > (seen + a) * slack)
        count += 1.0 if too_long | too_short else 0.0
    return count


@serial_kernel
def broken_of_row(values, starts, columns, own, unit, squared, i, judges, slack, out):
    """Count for the pairs of one row."""
    for k in range(starts[i], starts[i + 1]):
        j = k - starts[i] if columns is None else columns[k]
        seen = values[k] * unit
        out[k] = broken_of_pair(np.sqrt(seen) if squared else seen, judges[own], judges[j], slack)


@parallel_kernel
def broken_threads(values, starts, columns, first, unit, squared, judges, slack, out):
    for i in prange(starts.size - 1):
        broken_of_row(values, starts, columns, first + i, unit, squared, i, judges, slack, out)


@serial_kernel
def broken_serial(values, starts, columns, first, unit, squared, judges, slack, out):
    for i in range(starts.size - 1):
        broken_of_row(values, starts, columns, first + i, unit, squared, i, judges, slack, out)


def broken_rows(rows, judges, slack, out):
    run = broken_serial if rows.values.size * judges.shape[1] < THREADED else broken_threads
    run(
        rows.values, rows.starts, rows.columns, rows.first, rows.unit, rows.squared, judges, slack, out
    )  # fmt: skip
