"""The operators of the paper on full matrices: what the fast code means.

With x_i the points, D their squared distances and L the inner products of the centred points,
    D = A(L),    L = B(D),
and of distances some of which are wrong, D = A(L) + S with few nonzero entries in S. Every function returns
a new array. The letters are those of Deng & Wang, arXiv 2501.02208, sections 1.1 and 2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Iterator

Matrix = npt.NDArray[np.float64]


def J(n: int) -> Matrix:
    """Return J = I - 11'/n, which takes the mean out of every column.

    Parameters
    ----------
    n : int
        Number of points.

    Returns
    -------
    (n, n) array

    Examples
    --------
    >>> J(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    return np.eye(n) - 1 / n


def A(Z: Matrix) -> Matrix:
    """Return diag(Z) 1' + 1 diag(Z)' - 2 Z: squared distances from inner products.

    Parameters
    ----------
    Z : (n, n) array
        Symmetric.

    Returns
    -------
    (n, n) array

    Examples
    --------
    >>> x = np.array([[0.0], [3.0], [5.0]])
    >>> A(x @ x.T)
    array([[ 0.,  9., 25.],
           [ 9.,  0.,  4.],
           [25.,  4.,  0.]])
    """
    z = np.diag(Z)
    return z[:, None] + z - 2 * Z


def B(Z: Matrix) -> Matrix:
    """Return -1/2 J Z J: inner products of the centred points from squared distances.

    Parameters
    ----------
    Z : (n, n) array
        Symmetric.

    Returns
    -------
    (n, n) array

    Examples
    --------
    >>> B(np.array([[0.0, 4.0], [4.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    n = Z.shape[0]
    return -0.5 * J(n) @ Z @ J(n)


def T(Z: Matrix, cut: float) -> Matrix:
    """Return z where |z| > cut and 0 elsewhere, entry by entry: the hard threshold.

    Parameters
    ----------
    Z : array
        Of any shape.
    cut : float
        Entries of this size are still set to 0.

    Returns
    -------
    array
        Of the shape of Z.

    Examples
    --------
    >>> T(np.array([-3.0, 1.0, 2.0, 5.0]), 2.0)
    array([-3.,  0.,  0.,  5.])
    """
    return np.where(np.abs(Z) > cut, Z, 0.0)


def H(Z: Matrix, r: int) -> Matrix:
    """Return the sum of max(lambda_i, 0) u_i u_i' over the r largest eigenvalues: H_r^+.

    It is the nearest positive semidefinite matrix of rank at most r.

    Parameters
    ----------
    Z : (n, n) array
        Symmetric.
    r : int
        How many eigenvalues.

    Returns
    -------
    (n, n) array

    Examples
    --------
    >>> H(np.diag([2.0, 3.0, -4.0]), 1)
    array([[0., 0., 0.],
           [0., 3., 0.],
           [0., 0., 0.]])
    """
    lam, U = _leading(Z, r)
    return (U * np.maximum(lam, 0.0)) @ U.T


def P_T(Z: Matrix, U: Matrix) -> Matrix:
    """Return UU'Z + ZUU' - UU'ZUU': the projection onto the tangent space T at U Lambda U'.

    Parameters
    ----------
    Z : (n, n) array
        Symmetric.
    U : (n, r) array
        Orthonormal columns.

    Returns
    -------
    (n, n) array

    Examples
    --------
    >>> P_T(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([[1.0], [0.0]]))
    array([[1., 2.],
           [2., 0.]])
    """
    UU = U @ U.T
    return UU @ Z + Z @ UU - UU @ Z @ UU


def algorithm_1(D: Matrix, r: int, threshold: float, decay: float) -> Iterator[tuple[Matrix, Matrix]]:
    """Yield S^k = T(D - A(L^k), cut^k) and L^(k+1) = H_r^+ P_T B(D - S^k), where cut^k = threshold decay^k.

    It starts from S^0 = T(D, threshold) and L^1 = H_r^+ B(D - S^0), and does not end.

    Parameters
    ----------
    D : (n, n) array
        Squared distances, symmetric and all of them measured.
    r : int
        Dimension of the points.
    threshold : float
        First cut, of the size of the largest good squared distance; paper: xi^0.
    decay : float
        Between 0 and 1; paper: gamma.

    Yields
    ------
    S, L : (n, n) arrays
        S^k and L^(k+1), for k = 0, 1, 2, ...

    Notes
    -----
    T is the tangent space at L^k, given by its r leading eigenvectors. Where L^k has fewer than r positive
    eigenvalues, neither the paper nor this function says which of the others are taken.

    References
    ----------
    Deng & Wang, *Robust multi-dimensional scaling via accelerated alternating projections*,
    arXiv 2501.02208, algorithm 1.

    Examples
    --------
    >>> x = np.arange(6.0)[:, None]
    >>> D = A(x @ x.T)
    >>> D[1, 4] = D[4, 1] = 20.0
    >>> steps = algorithm_1(D, r=1, threshold=25.0, decay=0.7)
    >>> S, L = [next(steps) for k in range(40)][-1]
    >>> S[1].round(3)
    array([ 0.,  0.,  0.,  0., 11.,  0.])
    >>> A(L)[1].round(3)
    array([ 1.,  0.,  1.,  4.,  9., 16.])
    """
    cut = threshold
    S = T(D, cut)
    L = H(B(D - S), r)
    while True:
        yield S, L
        cut *= decay
        S = T(D - A(L), cut)
        _, U = _leading(L, r)
        L = H(P_T(B(D - S), U), r)


def _leading(Z: Matrix, r: int) -> tuple[Matrix, Matrix]:
    """Return the r largest eigenvalues, descending, and their eigenvectors as columns."""
    lam, U = np.linalg.eigh(Z)
    return lam[::-1][:r], U[:, ::-1][:, :r]
