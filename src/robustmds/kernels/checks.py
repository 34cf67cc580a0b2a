"""The compiled survey of a square array; `reference` says in NumPy what it means.

Both directions of a pair are read together, tile by tile: what lies below the diagonal is turned over in a
small buffer first, so that every loop runs along contiguous numbers. Extremes are kept per column of a tile,
since a maximum along a row would not vectorise where a nan has to fail its comparisons. A strip of rows owns
its numbers, so they do not depend on how many threads there are.
"""

import numpy as np

from robustmds.kernels import STRIP
from robustmds.kernels._jit import parallel_kernel, prange, serial_kernel

WIDTH = 512  # of a tile
THREADED = 1 << 16  # values from which threads pay


@serial_kernel
def turn_over(lower, begin, width, first, height, turned):
    """Fill `turned` with the transposed tile below the diagonal."""
    for t in range(width):
        line = lower[begin + t, first : first + height]
        for s in range(height):
            turned[s, t] = line[s]


@serial_kernel
def compare_lines(above, below, largest, smallest, gap):
    """Update the extremes by a line of pairs; return how many values were measured, and pairs both ways."""
    n_values, n_both = 0.0, 0.0
    for t in range(above.size):
        a, b = np.float64(above[t]), np.float64(below[t])
        difference = abs(a - b)
        # Of these, a nan is never the larger or the smaller one: it comes second.
        largest[t] = max(largest[t], a, b)
        smallest[t] = min(smallest[t], a, b)
        gap[t] = max(gap[t], difference)
        seen_a = 1.0 if a == a else 0.0
        seen_b = 1.0 if b == b else 0.0
        n_values += seen_a + seen_b
        n_both += seen_a * seen_b
    return n_values, n_both


@serial_kernel
def survey_strip(upper, lower, on_diagonal, strip, out):
    """Survey the pairs of one strip of rows."""
    first = strip * STRIP
    height = min(STRIP, upper.shape[0] - first)
    turned = np.empty((STRIP, WIDTH), dtype=lower.dtype)
    largest, smallest, gap = np.zeros(WIDTH), np.zeros(WIDTH), np.zeros(WIDTH)
    n_values, n_both = 0.0, 0.0
    for begin in range(first if on_diagonal else 0, upper.shape[1], WIDTH):
        end = min(begin + WIDTH, upper.shape[1])
        turn_over(lower, begin, end - begin, first, height, turned)
        for s in range(height):
            skip = min(end - begin, max(0, first + s + 1 - begin)) if on_diagonal else 0
            values, both = compare_lines(
                upper[first + s, begin + skip : end], turned[s, skip : end - begin], largest, smallest, gap
            )
            n_values += values
            n_both += both
    out[strip, 0], out[strip, 1] = n_values - n_both, n_values - 2 * n_both
    out[strip, 2], out[strip, 3], out[strip, 4] = largest.max(), smallest.min(), gap.max()


@parallel_kernel
def survey_threads(upper, lower, on_diagonal, out):
    # The first strip of a triangle is the longest and the last the shortest: in pairs they are even.
    n_strips = out.shape[0]
    for g in prange((n_strips + 1) // 2):
        survey_strip(upper, lower, on_diagonal, g, out)
        if g != n_strips - 1 - g:
            survey_strip(upper, lower, on_diagonal, n_strips - 1 - g, out)


def survey_strips(upper, lower, on_diagonal, out):
    if upper.size < THREADED:
        for strip in range(len(out)):
            survey_strip(upper, lower, on_diagonal, strip, out)
    else:
        survey_threads(upper, lower, on_diagonal, out)
