"""What the paper's theorem says about given points: how many wrong distances, how fast the errors fall.

Deng & Wang, arXiv 2501.02208: assumptions 1 and 2, theorem 1 and proposition 1. The points are known here;
nothing is estimated, and no array is larger than a block of rows of distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.spatial.distance import cdist

from robustmds.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

Array = npt.NDArray[np.float64]

BLOCK_VALUES = 1 << 20  # distances computed at a time
SPARSITY_CONSTANT = 1624  # of theorem 1
LEAST_DECAY = 1 / 3  # for which theorem 1 is proved


def incoherence(points: npt.ArrayLike) -> float:
    """Return mu = n/r max_i |u_i|^2, the incoherence of the points.

    The u_i are the rows of the leading eigenvectors of L, the inner products of the centred points. It is 1
    if all points have the same share in every direction and n/r if a direction is one point's alone.

    Parameters
    ----------
    points : (n, r) array
        Not all in a flat of fewer than r dimensions.

    Returns
    -------
    float
        Between 1 and n/r.

    Raises
    ------
    InputError
        If the points do not span all r dimensions.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, assumption 1.

    Examples
    --------
    >>> from robustmds import datasets, theory
    >>> round(theory.incoherence(datasets.plus_sign()), 3)
    2.856
    """
    U, _ = _spectrum(points)
    n, r = U.shape
    return float(n / r * _longest_row(U) ** 2)


def condition_number(points: npt.ArrayLike) -> float:
    """Return kappa = lambda_1 / lambda_r, how much longer than wide the points lie.

    The lambda_i are the positive eigenvalues of L, descending: sums of squares along the principal axes.

    Parameters
    ----------
    points : (n, r) array
        Not all in a flat of fewer than r dimensions.

    Returns
    -------
    float
        At least 1.

    Raises
    ------
    InputError
        If the points do not span all r dimensions.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, theorem 1.

    Examples
    --------
    >>> from robustmds import theory
    >>> round(theory.condition_number([[0, 0], [2, 0], [2, 1], [0, 1]]), 3)
    4.0
    """
    _, lam = _spectrum(points)
    return float(lam[0] / lam[-1])


def row_sparsity(wrong: npt.ArrayLike | sparray | spmatrix) -> float:
    """Return alpha = 1/n max_i |{j : ij is wrong}|, the largest share of wrong pairs in a row.

    Parameters
    ----------
    wrong : (n, n) boolean array or scipy.sparse matrix
        Which pairs are wrong, each in both directions; of a sparse matrix the entries that are not zero.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, assumption 2.

    Examples
    --------
    >>> from robustmds import theory
    >>> theory.row_sparsity([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    0.5
    """
    mask: Any = wrong if scipy.sparse.issparse(wrong) else np.asarray(wrong)
    if mask.ndim != 2 or mask.shape[0] != mask.shape[1] or not mask.shape[0]:  # noqa: PLR2004 - a matrix
        raise InputError("wrong", "must be square", f"got shape {mask.shape}")
    return float((mask != 0).sum(axis=1).max() / mask.shape[0])


def admissible_sparsity(points: npt.ArrayLike, decay: float) -> float:
    """Return decay / (1624 mu r kappa^2), the alpha up to which theorem 1 promises recovery.

    The promise is a modest one: in practice many times as many wrong pairs do no harm.

    Parameters
    ----------
    points : (n, r) array
        Not all in a flat of fewer than r dimensions.
    decay : float
        Of the threshold, in [1/3, 1); paper: gamma.

    Returns
    -------
    float
        To be compared with `row_sparsity`.

    Raises
    ------
    InputError
        If the points do not span all r dimensions, or the theorem does not speak about this decay.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, theorem 1.

    Examples
    --------
    >>> from robustmds import datasets, theory
    >>> print(f"{theory.admissible_sparsity(datasets.plus_sign(), decay=0.9):.1e}")
    9.7e-05
    """
    _require_decay(decay)
    mu, kappa, r = incoherence(points), condition_number(points), int(np.shape(points)[1])
    return decay / (SPARSITY_CONSTANT * mu * r * kappa**2)


def outlier_envelope(points: npt.ArrayLike, decay: float, k: npt.ArrayLike) -> Array:
    """Return 4 |D*| decay^k, which bounds the largest error of S^k.

    |D*| is the largest squared distance between two of the points.

    Parameters
    ----------
    points : (n, r) array
        The true points.
    decay : float
        Of the threshold, in [1/3, 1); paper: gamma.
    k : int or array of int
        Steps, from 0.

    Returns
    -------
    float or array
        Of the shape of k, in units of squared distance.

    Raises
    ------
    InputError
        If the theorem does not speak about this decay.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, theorem 1.

    Examples
    --------
    >>> from robustmds import theory
    >>> theory.outlier_envelope([[0.0], [1.0], [3.0]], decay=0.5, k=[0, 1, 2])
    array([36., 18.,  9.])
    """
    return 4 * _largest_sq_distance(points) * _powers(decay, k)


def gram_envelope(points: npt.ArrayLike, decay: float, k: npt.ArrayLike) -> Array:
    """Return |D*|/4 decay^(k+1), which bounds the largest error of L^(k+1).

    |D*| is the largest squared distance between two of the points.

    Parameters
    ----------
    points : (n, r) array
        The true points.
    decay : float
        Of the threshold, in [1/3, 1); paper: gamma.
    k : int or array of int
        Steps, from 0.

    Returns
    -------
    float or array
        Of the shape of k, in units of squared distance.

    Raises
    ------
    InputError
        If the theorem does not speak about this decay.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, theorem 1.

    Examples
    --------
    >>> from robustmds import theory
    >>> theory.gram_envelope([[0.0], [1.0], [4.0]], decay=0.5, k=[0, 1, 2])
    array([2. , 1. , 0.5])
    """
    return _largest_sq_distance(points) / 4 * decay * _powers(decay, k)


def points_envelope(points: npt.ArrayLike, decay: float, k: npt.ArrayLike) -> Array:
    """Return sqrt(mu r kappa lambda_1 / n) decay^(k+1), which bounds how far a point of X^(k+1) lies off.

    Both sets of points are centred, and the true ones turned to fit best.

    Parameters
    ----------
    points : (n, r) array
        The true points; not all in a flat of fewer than r dimensions.
    decay : float
        Of the threshold, in [1/3, 1); paper: gamma.
    k : int or array of int
        Steps, from 0.

    Returns
    -------
    float or array
        Of the shape of k, in units of distance.

    Raises
    ------
    InputError
        If the points do not span all r dimensions, or the theorem does not speak about this decay.

    References
    ----------
    Deng & Wang, arXiv 2501.02208, proposition 1.

    Examples
    --------
    >>> from robustmds import theory
    >>> theory.points_envelope([[1, 0], [0, 1], [-1, 0], [0, -1]], decay=0.5, k=[0, 1]).round(3)
    array([0.5 , 0.25])
    """
    U, lam = _spectrum(points)
    # sqrt(mu r / n) is the longest row of U.
    off = _longest_row(U) * float(np.sqrt(lam[0] / lam[-1] * lam[0]))
    return off * decay * _powers(decay, k)


def _checked(points: npt.ArrayLike) -> Array:
    X = np.asarray(points, dtype=np.float64)
    if X.ndim != 2 or not X.size:  # noqa: PLR2004 - a matrix
        raise InputError("points", "must be an (n, r) array", f"got shape {X.shape}")
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0]
        raise InputError("points", "must be finite", f"points[{i}, {j}] = {X[i, j]}")
    return X


def _spectrum(points: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the r leading eigenvectors of L as columns, and their eigenvalues, descending."""
    X = _checked(points)
    U, sizes, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    # What centring rounds off is relative to the points as given, wherever their origin is.
    rounding = max(X.shape) * np.finfo(np.float64).eps * np.linalg.norm(X)
    rank = int((sizes > rounding).sum())
    if rank < X.shape[1]:
        found = f"these {X.shape[0]} span {rank} of {X.shape[1]}"
        advice = "Give them in as many coordinates as they span."
        raise InputError("points", "must span all their dimensions", found, advice)
    return U, sizes**2


def _longest_row(U: Array) -> float:
    return float(np.linalg.norm(U, axis=1).max())


def _largest_sq_distance(points: npt.ArrayLike) -> float:
    X = _checked(points)
    n_rows = max(1, BLOCK_VALUES // len(X))
    blocks = (X[first : first + n_rows] for first in range(0, len(X), n_rows))
    return max(float(cdist(block, X, "sqeuclidean").max()) for block in blocks)


def _require_decay(decay: float) -> None:
    if not LEAST_DECAY <= decay < 1:
        raise InputError("decay", "must lie in [1/3, 1) for theorem 1 to hold", f"got {decay}")


def _powers(decay: float, k: npt.ArrayLike) -> Array:
    _require_decay(decay)
    powers: Array = np.power(decay, np.asarray(k))
    return powers
