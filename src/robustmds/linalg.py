"""Algebra on thin arrays, (n, r) and smaller; never n x n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

Array = npt.NDArray[np.float64]

N_BLOCKS = 8  # of the Krylov basis, before it restarts from the best pairs so far
EXTRA = 3  # columns beyond those asked for: they speed up the convergence of the last ones
MAX_RESTARTS = 40


def even_lines(X: Array) -> Array:
    """Return the columns of X as contiguous lines, an even number of them: the layout the kernels read."""
    n, r = X.shape
    lines = np.zeros((r + r % 2, n))
    lines[:r] = X.T
    return lines


def centred(X: Array) -> Array:
    """Return J X: the columns without their means."""
    return X - X.mean(axis=0)


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
    W = BU - U @ C
    Q, R = np.linalg.qr(W - U @ (U.T @ W))  # twice: near convergence W is small beside U C
    M = np.block([[(C + C.T) / 2, R.T], [R, np.zeros((r, r))]])
    lam, V = np.linalg.eigh(M)
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
    Q, AQ = np.empty((n, room)), np.empty((n, room))
    done = 0
    while done < room:
        block = block[:, : room - done]
        here = slice(done, done + block.shape[1])
        Q[:, here] = block
        AQ[:, here] = centred(multiply(block))
        done = here.stop
        block = AQ[:, here]
        # Of a direction that the space already holds only rounding is left: the first time blows it up to unit
        # length, the second makes it orthogonal, the third removes what rounding left of that.
        for _ in range(3):
            block = centred(block)
            block = np.linalg.qr(block - Q[:, :done] @ (Q[:, :done].T @ block))[0]
    return Q, AQ


def align(points: Array, to: Array, *, scale: bool = False) -> tuple[Array, Array, float]:
    """Return the rotation R, the shift t and the factor s for which s points R + t is nearest to `to`.

    Parameters
    ----------
    points, to : (n, r) arrays
        Row by row the same points.
    scale : bool
        Whether the factor may differ from one.
    """
    X, Y = centred(points), centred(to)
    A, sizes, Bt = np.linalg.svd(X.T @ Y)
    R = A @ Bt
    total = float((X**2).sum())
    s = float(sizes.sum()) / total if scale and total > 0 else 1.0
    return R, to.mean(axis=0) - s * points.mean(axis=0) @ R, s
