"""How kernels are compiled: the only place that decides it."""

from __future__ import annotations

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

# No "nnan" and no "ninf": a missing distance is a nan, and must fail its comparisons.
FLAGS = {"nsz", "arcp", "contract", "reassoc"}

# The cache on disk notices a change in the kernel's own file only: a kernel calls compiled functions of its
# own file and of no other.
# A compiled function that others call exists once for each of them, every time optimised anew, and which copy
# a process runs depends on what it found in the cache. Inlined, each caller has its own, and the same bits.
parallel_kernel = numba.njit(parallel=True, cache=True, fastmath=FLAGS, nogil=True)
serial_kernel = numba.njit(cache=True, fastmath=FLAGS, nogil=True, forceinline=True)
prange = numba.prange


def prefetch(values, k):
    """Have the memory around the k-th value read while other work goes on; k may lie beyond the end."""


@overload(prefetch, inline="always")
def _prefetch(values, k):  # noqa: ARG001 - numba looks at the signature
    return lambda values, k: _ask_memory(values, k)  # noqa: PLW0108 - numba compiles a function


@intrinsic
def _ask_memory(_context, values, k):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(ask, [place, number(0), number(3), number(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(values, k), generate
