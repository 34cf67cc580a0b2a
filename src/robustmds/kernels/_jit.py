"""How kernels are compiled: the only place that decides it."""

from __future__ import annotations

import numba

# No "nnan" and no "ninf": a missing distance is a nan, and must fail its comparisons.
FLAGS = {"nsz", "arcp", "contract", "reassoc"}

# The cache on disk notices a change in the kernel's own file only: a kernel calls compiled functions of its
# own file and of no other.
parallel_kernel = numba.njit(parallel=True, cache=True, fastmath=FLAGS, nogil=True)
serial_kernel = numba.njit(cache=True, fastmath=FLAGS, nogil=True)
prange = numba.prange
