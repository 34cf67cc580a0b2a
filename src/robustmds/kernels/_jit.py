"""How kernels are compiled: the only place that decides it."""

from __future__ import annotations

import numba

# No "nnan" and no "ninf": a missing distance is a nan, and must fail its comparisons.
FLAGS = {"nsz", "arcp", "contract", "reassoc"}

# The cache on disk notices a change in the kernel's own file only: a kernel calls compiled functions of its
# own file and of no other.
# A compiled function that others call exists once for each of them, every time optimised anew, and which copy
# a process runs depends on what it found in the cache. Inlined, each caller has its own, and the same bits.
parallel_kernel = numba.njit(parallel=True, cache=True, fastmath=FLAGS, nogil=True)
serial_kernel = numba.njit(cache=True, fastmath=FLAGS, nogil=True, forceinline=True)
prange = numba.prange
