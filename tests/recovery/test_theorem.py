"""Theorem 1 and proposition 1 of the paper, in their own regime, watched at every step of the fast method.

On a circle mu = kappa = 1, so that of n points each may have alpha n = decay n / (1624 * 2) wrong distances:
7,500 points are enough for one (decay .45) or two (decay .9). The paper's S^k is never formed by the method.
Here it is read off the points that the step began from, S^k = T_cut(D - A(L^k)), block of rows by block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from robustmds import theory
from robustmds.methods import RmdsAap
from robustmds.passes import MeasuredSquare
from robustmds.problem import Problem

N_POINTS = 7500
N_ROWS = 64  # of a block: it stays in the cache
# Squared distances and inner products come with so many roundings of the largest squared distance.
ROUNDING = 64 * np.finfo(float).eps


class Wrong(NamedTuple):
    """supp(S*), ordered by rows, and the true squared distances there."""

    i: np.ndarray
    j: np.ndarray
    true: np.ndarray


def circle(n):
    turns = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(turns), np.sin(turns)])


def sq_distances_between(points):
    D = np.empty((len(points), len(points)))
    for first in range(0, len(points), N_ROWS):
        rows = slice(first, first + N_ROWS)
        cdist(points[rows], points, "sqeuclidean", out=D[rows])
    return D


def corrupted(D, n_wrong, rng):
    """Put one or two errors into every row, in place: of either sign, from a millionth to 250 times |D*|."""
    order = rng.permutation(len(D))
    # Neighbours on a closed tour through all points: every other leg, or every leg.
    i, j = np.column_stack([order, np.roll(order, -1)])[:: 3 - n_wrong].T
    too_long = rng.random(len(i)) < 0.5
    share = 10.0 ** rng.uniform(-6, np.where(too_long, 2.4, 0.0))
    true = D[i, j]
    wrong = np.where(too_long, true + share * D.max(), true - share * true)
    D[i, j] = D[j, i] = wrong
    i, j, true = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(true, 2)
    by_rows = np.argsort(i)
    return Wrong(i[by_rows], j[by_rows], true[by_rows])


def largest(left, right, minus=None, except_for=None):
    """Return max_ij |left_i . right_j - minus_ij| without some pairs, over one half: all is symmetric."""
    n, found, room = len(left), 0.0, np.empty(N_ROWS * len(left))
    for first in range(0, n, N_ROWS):
        rows = slice(first, min(n, first + N_ROWS))
        block = room[: (rows.stop - first) * (n - first)].reshape(-1, n - first)
        np.matmul(left[rows], right[first:].T, out=block)
        if minus is not None:
            block -= minus[rows, first:]
        if except_for is not None:
            here = slice(*np.searchsorted(except_for.i, [first, rows.stop]))
            i, j = except_for.i[here], except_for.j[here]
            block[i[j >= first] - first, j[j >= first] - first] = 0.0
        found = max(found, block.max(), -block.min())
    return found


def outliers_at(D, wrong, X, cut):
    """Return max |D - A(L)| over the pairs that are right, and max |S - S*| over those that are wrong."""
    sq_norms, ones = (X**2).sum(axis=1), np.ones(len(X))
    left, right = np.column_stack([-2 * X, sq_norms, ones]), np.column_stack([X, ones, sq_norms])
    kept = largest(left, right, minus=D, except_for=wrong)
    model = ((X[wrong.i] - X[wrong.j]) ** 2).sum(axis=1)
    seen = D[wrong.i, wrong.j]
    # S - S* is D - A(L) - S* = D* - A(L) where the pair is set aside, and -S* where it is kept.
    error = np.where(np.abs(seen - model) > cut, wrong.true - model, wrong.true - seen)
    return kept, np.abs(error).max()


def points_off(X, true):
    """Return |X - X* R|_2,inf, with the rotation R of proposition 1."""
    Y, _, Z = np.linalg.svd(true.T @ X)
    return np.linalg.norm(X - true @ (Y @ Z), axis=1).max()


@pytest.fixture(autouse=True)
def _one_thread_for_blas():
    # Its threads wait for each other longer than the product of a block takes, where the cores are busy.
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.mark.parametrize(
    ("decay", "n_wrong", "times", "n_steps"), [(0.9, 2, 3.0, 60), (0.45, 1, 1.0, 36)], ids=["two", "one"]
)
def test_every_step_keeps_the_promises_of_the_theorem(decay, n_wrong, times, n_steps):
    true = circle(N_POINTS)
    assert n_wrong / N_POINTS <= theory.admissible_sparsity(true, decay)
    D = sq_distances_between(true)
    size = D.max()
    wrong = corrupted(D, n_wrong, np.random.default_rng(0))
    assert (np.bincount(wrong.i) == n_wrong).all()

    unit = 4.0 ** -np.floor(np.log2(D.max()) / 2)
    measured = MeasuredSquare(n_points=N_POINTS, values=D, unit=unit, squared=True)
    n_measured = N_POINTS * (N_POINTS - 1) // 2
    problem = Problem(measured=measured, n_components=2, n_measured=n_measured)
    method = RmdsAap(threshold=times * size, decay=decay, floor=0.0)
    steps = np.arange(n_steps)
    outlier_bound = theory.outlier_envelope(true, decay, steps) + ROUNDING * size
    gram_bound = theory.gram_envelope(true, decay, steps) + ROUNDING * size
    points_bound = theory.points_envelope(true, decay, steps) + ROUNDING * np.sqrt(size)

    before, state = np.zeros_like(true), method.start(problem, None)  # L^0 = 0, and L^1
    for k in steps:
        cut = state.cut / unit
        np.testing.assert_allclose(cut, times * size * decay**k, rtol=1e-12)
        kept, outlier_error = outliers_at(D, wrong, before, cut)
        assert kept <= cut + ROUNDING * size, f"S^{k} sets aside a right pair: {kept:.3g} > {cut:.3g}"
        assert outlier_error <= outlier_bound[k], f"|S^{k} - S*|"
        X = problem.to_user(state.points)
        gram_error = largest(np.hstack([X, -true]), np.hstack([X, true]))
        assert gram_error <= gram_bound[k], f"|L^{k + 1} - L*|"
        assert points_off(X, true) <= points_bound[k], f"|X^{k + 1} - X* R|"
        before, state = X, method.step(problem, state)
