"""Where methods begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from robustmds.linalg import centred, leading_eigenpairs
from robustmds.passes import NOTHING, distances_from, kept_product, pairs_outside

if TYPE_CHECKING:
    from robustmds.linalg import Array
    from robustmds.passes import Measured
    from robustmds.problem import Problem

Single = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

N_JUDGES = 64  # evenly spaced points, the distances to which say how far out every point lies
N_SEEN = 200  # points whose distances to each other are looked at
SLACK = 1.05  # a distance may miss its triangle by so much: noise, and points on a line
N_ROUNDS = 3  # of judging every distance by the triangles whose other sides are trusted
LONG_SHARE = 0.6  # a distance beyond this share of both its rows starts with less trust
LONG_TRUST = 0.25
SHARPNESS = 4  # power of the share of triangles that a distance fits, relative to the median share
STEPS = 16  # trust is a multiple of 1/16, so that its sums are exact and no order of the points matters
TRUSTED = 0.5
SOUND = 0.6  # a point with less trust in its distances, relative to the median point, is left out: a bad node
THRESHOLD_FACTOR = 1.2  # the automatic threshold, in squares of the estimated largest distance
ENOUGH = 10.0  # trusted detours from which the shortest of them stands for a distance that is missing


def sq_diameter(measured: Measured) -> float:
    """Return about the largest true squared distance, though many of the measured are wrong.

    A distance d fits a triangle if |a - b| <= d <= a + b for the other sides a and b, up to some slack. It is
    trusted by the share of its triangles that it fits, where triangles of trusted sides count more. What is
    not trusted, or not measured, is bounded by the shortest detour over one point along trusted distances.

    Parameters
    ----------
    measured : Measured
        The pairs. Of more than N_SEEN points only the farthest out, and evenly spaced ones, are looked at.

    Returns
    -------
    float
        In squared working units; 0 where nothing but zeros was measured.

    Notes
    -----
    How often it is right, and where it is not: docs/threshold.md.
    """
    seen = _far_out(measured)
    d = np.stack([distances_from(measured, i)[seen] for i in seen])
    trust, n_detours = _trust(d)
    of_point = trust.sum(axis=1) / np.maximum((~np.isnan(d)).sum(axis=1), 1)
    sound = np.ix_(*2 * [of_point >= SOUND * np.median(of_point)])
    largest = _longest(d[sound], trust[sound] >= TRUSTED, n_detours[sound] >= ENOUGH)
    if not largest:
        # No triangles: of every point the middle distance, as most of them are right.
        middle = (_row_quantile(distances_from(measured, i)[None], 0.5)[0] for i in seen)
        largest = max((m for m in middle if m > 0), default=0.0)
    return float(largest) ** 2


def _longest(d: Array, trusted: Mask, many_detours: Mask) -> float:
    """Return the longest distance that is trusted, or bounded by a detour along two trusted ones."""
    good = np.where(trusted, d, np.inf)
    longest = 0.0
    for i in range(len(d) - 1):
        others = slice(i + 1, None)
        detour = (good[i] + good[others]).min(axis=1)
        says = np.isfinite(detour) & (~np.isnan(d[i, others]) | many_detours[i, others])
        bound = np.where(trusted[i, others], d[i, others], np.fmin(d[i, others], detour))
        longest = max(longest, float(bound.max(initial=0.0, where=says | trusted[i, others])))
    return longest


def _far_out(measured: Measured) -> npt.NDArray[np.intp]:
    """Return the points to look at: all, or those far from most others and evenly spaced ones."""
    n = measured.n_points
    if n <= N_SEEN:
        return np.arange(n)
    judges = np.linspace(0, n - 1, N_JUDGES).astype(int)
    far = _row_quantile(np.stack([distances_from(measured, i) for i in judges], axis=1), 0.5)
    farthest = np.argsort(np.nan_to_num(far), kind="stable")[-(N_SEEN // 2) :]
    return np.union1d(farthest, np.linspace(0, n - 1, N_SEEN // 2).astype(int))


def _row_quantile(d: Array, share: float) -> Array:
    """Return the value at a share of every row's numbers, nan where it has none."""
    middle = (share * (~np.isnan(d)).sum(axis=1)).astype(int)
    value: Array = np.take_along_axis(np.sort(d, axis=1), middle[:, None], axis=1)[:, 0]
    return value


def _trust(d: Array) -> tuple[Single, Single]:
    """Return how far each distance is trusted, 0 to 1, and the trust in its detours, summed up."""
    n, pairs = len(d), np.triu(~np.isnan(d), 1)
    fits = _fits(d.astype(np.float32))
    long = _row_quantile(d, LONG_SHARE)
    trust = np.where((d > long) & (d > long[:, None]), LONG_TRUST, ~np.isnan(d)).astype(np.float32)
    for _ in range(N_ROUNDS):
        n_detours, n_fits = trust @ trust, np.zeros((n, n), np.float32)
        for i, fit in enumerate(fits):
            # Not @: products this small wait for its threads longer than they take.
            n_fits[i, i + 1 :] = np.einsum("jk,k->j", fit * trust[i + 1 :], trust[i])
        judged = pairs & (n_detours > 0)
        share = np.divide(n_fits, n_detours, out=np.zeros_like(n_fits), where=judged)
        usual = np.median(share[judged]) if judged.any() else 0.0
        if not usual:
            return np.zeros_like(trust), n_detours
        trust = np.rint(STEPS * np.minimum(share / usual, 1.0) ** SHARPNESS) / np.float32(STEPS)
        trust += trust.T
    return trust, n_detours


def _fits(d: Single) -> list[Mask]:
    """Tell for every i, in an array [j - i - 1, k], whether d_ij fits the triangle with d_ik and d_jk."""
    most, least = d * np.float32(SLACK), d / np.float32(SLACK)
    fits = []
    for i in range(len(d) - 1):
        other, own = d[i + 1 :], slice(i + 1, None)
        difference, total = np.abs(d[i] - other), d[i] + other
        fits.append((difference <= most[i, own, None]) & (least[i, own, None] <= total))
    return fits


def classical(problem: Problem, cut: float) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of H_r+ B(D - T_cut(D)): classical MDS without the largest.

    Parameters
    ----------
    problem : Problem
        The pairs.
    cut : float
        Squared distances beyond it are left out, in squared working units. What is left out or missing
        counts as 0, as in the paper's initialisation.

    Returns
    -------
    U : (n, r) array
        Orthonormal and centred.
    lam : (r,) array
        Descending, not negative.
    """
    n, r = problem.n_points, problem.n_components

    def multiply(V: Array) -> Array:
        return -0.5 * kept_product(problem.measured, np.zeros_like(V), V, cut).product

    U, lam = leading_eigenpairs(multiply, n, r)
    return U, np.maximum(lam, 0.0)


def torgerson(problem: Problem) -> Array:
    """Return the points of classical scaling, in working units, (n, r).

    Where distances are missing, the shortest paths along measured ones stand for all: an (n, n) array.
    """
    n, r = problem.n_points, problem.n_components
    if problem.is_complete:
        U, lam = classical(problem, np.inf)
        return U * np.sqrt(lam)
    i, j, seen, _ = pairs_outside(problem.measured, np.zeros((n, r)), NOTHING)
    # A stored 0 is an edge of no length, as it should be.
    D = dijkstra(csr_array((seen, (i, j)), shape=(n, n)), directed=False) ** 2
    U, lam = leading_eigenpairs(lambda V: -0.5 * (D @ V), n, r)
    return U * np.sqrt(np.maximum(lam, 0.0))


def trimmed(problem: Problem) -> Array:
    """Return the points of classical scaling without the longest distances, as RMDS-AAP begins, (n, r).

    Where distances are missing, the longest cannot be told from those that would bridge a gap, and stay.
    """
    if not problem.is_complete:
        return torgerson(problem)
    U, lam = classical(problem, THRESHOLD_FACTOR * sq_diameter(problem.measured))
    return U * np.sqrt(lam)


def factor(points: Array) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of X X' for given points, centred."""
    U, sizes, _ = np.linalg.svd(centred(points), full_matrices=False)
    return U, sizes**2
