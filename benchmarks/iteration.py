"""One iteration of RMDS-AAP against one parallel read of the same distances, and what it allocates.

    python benchmarks/iteration.py [n]

Everything is timed in turns in one run: medians of seven, as ratios. The read is the fastest way we know to
add up the array with all threads.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

import numba  # noqa: TID251 - the read to compare with is no kernel of the package
import numpy as np

from robustmds.inputs import read
from robustmds.linalg import one_blas_thread
from robustmds.methods import RmdsAap
from robustmds.problem import Problem

ROUNDS = 7


@numba.njit(parallel=True, fastmath=True)
def parallel_sum(values):
    """Return the sum of a square array."""
    total = 0.0
    for i in numba.prange(values.shape[0]):
        row = 0.0
        for j in range(values.shape[1]):
            row += values[i, j]
        total += row
    return total


def distances(n, dtype):
    """Return the distances of points in a square, one in ten of them wrong."""
    rng = np.random.default_rng(0)
    points = rng.random((n, 2))
    table = np.empty((n, n), dtype)
    for i in range(n):
        table[i] = np.hypot(*(points[i] - points).T)
    for i in range(n):
        wrong = i + 1 + np.flatnonzero(rng.random(n - i - 1) < 0.1)
        table[i, wrong] += rng.random(wrong.size)
        table[wrong, i] = table[i, wrong]
    return table


def seconds_of(tasks):
    """Return the median time of every task, taken in turns."""
    seconds = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - began)
    return {name: np.median(times) for name, times in seconds.items()}


def measure(table):
    """Return the ratio of an iteration to a read, the two times, and the share that iterations allocate."""
    checked = read(table, 2)
    problem = Problem(measured=checked.measured, n_components=2, n_measured=checked.n_measured, largest=2.0)
    method = RmdsAap()
    state = method.step(problem, method.start(problem, None))
    parallel_sum(table)
    times = seconds_of(
        {"read": lambda: parallel_sum(table), "iteration": lambda: method.step(problem, state)}
    )
    tracemalloc.start()
    for _ in range(5):
        state = method.step(problem, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return times["iteration"] / times["read"], times, peak / table.nbytes


def main(n):
    """Print the ratios."""
    for dtype in (np.float64, np.float32):
        with one_blas_thread():  # as in a fit
            ratio, times, share = measure(distances(n, dtype))
        print(
            f"n = {n}, {dtype.__name__}: read {times['read'] * 1e3:.1f} ms, "
            f"iteration {times['iteration'] * 1e3:.1f} ms, ratio {ratio:.2f}; "
            f"traced allocations {share:.3%} of the array"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12_000)
