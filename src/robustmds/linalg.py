"""Algebra on thin arrays, (n, r) and smaller; never n x n."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

Array = npt.NDArray[np.float64]

N_BLOCKS = 8  # of the Krylov basis, before it restarts from the best pairs so far
EXTRA = 3  # columns beyond those asked for: they speed up the convergence of the last ones
MAX_RESTARTS = 40
MAX_PASSES = 10  # of making a block orthogonal
ORTHOGONAL = 1e-14  # cosine
HELD = 0.9  # of the length of a direction: with less it was rounding


def even_lines(X: Array) -> Array:
    """Return the columns of X as contiguous lines, an even number of them: the layout the kernels read."""
    n, r = X.shape
    lines = np.zeros((r + r % 2, n))
    lines[:r] = X.T
    return lines


def centred(X: Array) -> Array:
    """Return J X: the columns without their means."""
    return X - X.mean(axis=0)


def principal(X: Array) -> Array:
    """Return the centred points turned onto their principal axes, the longest first.

    An axis points to the side on which the farthest point lies.
    """
    U, sizes, _ = np.linalg.svd(centred(X), full_matrices=False)
    turned = U * sizes
    farthest = turned[np.abs(turned).argmax(axis=0), np.arange(X.shape[1])]
    return turned * np.where(farthest < 0, -1.0, 1.0)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which sums are the same however many processors there are.

    The arrays are thin, so more threads would not be faster either.
    """
    return _libraries().limit(limits=1, user_api="blas")


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def tangent_step(U: Array, BU: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of H_r+ P_T B, as in appendix A of the paper.

    Parameters
    ----------
    U : (n, r) array
        Orthonormal columns: the basis of the tangent space T.
    BU : (n, r) array
        The symmetric matrix B times U.
    """
    r = U.shape[1]
    C = U.T @ BU
    # U is orthonormal up to some roundings, and what they leave of U here may be as large as the correction
    # of a single point: it is taken out once more.
    W = BU - U @ C
    Q, sizes, V = np.linalg.svd(W - U @ (U.T @ W), full_matrices=False)
    # Where W has little left, near convergence or for want of points, Q is rounding blown up to unit length,
    # neither orthogonal to U nor centred. Once it is, what is not there has vanished.
    Q = centred(Q - U @ (U.T @ Q))
    held = np.linalg.norm(Q, axis=0) > HELD
    Q, R = np.linalg.qr(Q[:, held])
    R = R @ (sizes[held, None] * V[held])
    M = np.zeros((r + len(R), r + len(R)))
    M[:r, :r], M[r:, :r] = (C + C.T) / 2, R
    lam, V = np.linalg.eigh(M)  # it reads the lower triangle
    lam, V = lam[::-1][:r], V[:, ::-1][:, :r]
    return U @ V[:r] + Q @ V[r:], np.maximum(lam, 0.0)


def leading_eigenpairs(
    multiply: Callable[[Array], Array], n: int, r: int, *, tol: float = 1e-13
) -> tuple[Array, Array]:
    """Return the r largest eigenvalues of J A J and their eigenvectors, by block Krylov spaces with restarts.

    Parameters
    ----------
    multiply : callable
        Returns A V for a thin V of shape (n, b).
    n, r : int
        Size of A, and how many pairs.
    tol : float
        Largest residual |A u - u lambda|, relative to the largest eigenvalue met.

    Returns
    -------
    U : (n, r) array
        Orthonormal and centred.
    lam : (r,) array
        Descending.
    """
    b = min(r + EXTRA, n - 1)
    # A function of n alone, so that the answer is one of the distances alone.
    block = np.linalg.qr(centred(np.random.default_rng(0).standard_normal((n, b))))[0]
    for _ in range(MAX_RESTARTS):
        Q, AQ = _krylov(multiply, block)
        lam, V = np.linalg.eigh((Q.T @ AQ + AQ.T @ Q) / 2)
        lam, V = lam[::-1], V[:, ::-1][:, :b]
        block = Q @ V
        residual = AQ @ V[:, :r] - block[:, :r] * lam[:r]
        if Q.shape[1] >= n - 1 or np.linalg.norm(residual, axis=0).max() <= tol * np.abs(lam).max():
            break
    return block[:, :r], lam[:r]


def _krylov(multiply: Callable[[Array], Array], block: Array) -> tuple[Array, Array]:
    """Return an orthonormal basis Q of span(V, AV, A^2 V, ...) and A Q, for the centred A."""
    n, b = block.shape
    room = min(N_BLOCKS * b, n - 1)
    Q, AQ = np.empty((n, 1 + room)), np.empty((n, room))
    Q[:, 0] = 1 / np.sqrt(n)  # what is orthogonal to it is centred
    for done in range(0, room, b):
        block = _beside(Q[:, : 1 + done], block[:, : room - done])
        here = slice(done, done + block.shape[1])
        Q[:, 1 + here.start : 1 + here.stop] = block
        AQ[:, here] = block = centred(multiply(block))
    return Q[:, 1:], AQ


def _beside(Q: Array, block: Array) -> Array:
    """Return an orthonormal basis of what a block has beside the orthonormal Q."""
    # Of a direction that lies in Q only rounding is left, which is blown up to unit length and has to be made
    # orthogonal in its turn; where that leaves rounding again, once more.
    for _ in range(MAX_PASSES):
        block = np.linalg.qr(block - Q @ (Q.T @ block))[0]
        if np.abs(Q.T @ block).max() <= ORTHOGONAL:
            break
    return block


def conjugate_gradients(
    multiply: Callable[[Array], Array], G: Array, scale: Array, tol: float, max_steps: int = 100
) -> Array:
    """Solve A P = G for thin arrays by conjugate gradients.

    Parameters
    ----------
    multiply : callable
        Returns A P, with A symmetric and positive semidefinite.
    G : (n, r) array
        In the range of A.
    scale : (n, 1) array
        Diagonal of the preconditioner.
    tol : float
        The residual is reduced to this share of its norm.
    max_steps : int
        Products with A at most.
    """
    P, R = np.zeros_like(G), G
    Z = R / scale
    V, rz = Z, float((R * Z).sum())
    goal = tol**2 * rz
    for _ in range(max_steps):
        if rz <= goal:
            break
        AV = multiply(V)
        bend = float((V * AV).sum())
        if bend <= 0:  # nothing but rounding is left
            break
        P, R = P + rz / bend * V, R - rz / bend * AV
        Z = R / scale
        rz, before = float((R * Z).sum()), rz
        V = Z + rz / before * V
    return P


def motion(points: Array, to: Array, *, scale: bool = False) -> tuple[Array, Array, float]:
    """Return the rotation R, the shift t and the factor s for which s points R + t is nearest to `to`.

    Parameters
    ----------
    points, to : (n, r) arrays
        Row by row the same points.
    scale : bool
        Whether the factor may differ from one.

    Returns
    -------
    R : (r, r) array
        Orthogonal: it may mirror.
    t : (r,) array
    s : float
    """
    X, Y = centred(points), centred(to)
    size = max(np.abs(X).max(), np.abs(Y).max(), np.finfo(float).tiny)  # products must not overflow
    X, Y = X / size, Y / size
    A, sizes, Bt = np.linalg.svd(X.T @ Y)
    R = A @ Bt
    total = float((X**2).sum())
    s = float(sizes.sum()) / total if scale and total > 0 else 1.0
    return R, to.mean(axis=0) - s * points.mean(axis=0) @ R, s
