"""The theorem's numbers: by hand on points where they are known, against full matrices, and in a run."""

from __future__ import annotations

import tracemalloc
from itertools import islice

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist, pdist

from robustmds import theory
from robustmds.datasets import corrupt, plus_sign
from robustmds.edm import A, B, algorithm_1
from robustmds.errors import InputError


def circle(n=60):
    turns = 2 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(turns), np.sin(turns)])


def cloud(n=40, r=3):
    return np.random.default_rng(0).normal(size=(n, r)) * np.arange(1.0, r + 1)


def rotation(r):
    return np.linalg.qr(np.random.default_rng(1).normal(size=(r, r)))[0]


def test_points_on_a_circle_have_incoherence_and_condition_number_one():
    np.testing.assert_allclose(theory.incoherence(circle()), 1.0, rtol=1e-12)
    np.testing.assert_allclose(theory.condition_number(circle()), 1.0, rtol=1e-12)


def test_the_plus_sign_has_incoherence_about_three_and_condition_number_one():
    # The end of an arm, 25 from the centre, against 2 (1 + 4 + ... + 625) along each axis.
    np.testing.assert_allclose(theory.incoherence(plus_sign()), 101 / 2 * 625 / 11050, rtol=1e-12)
    np.testing.assert_allclose(theory.condition_number(plus_sign()), 1.0, rtol=1e-12)


def test_a_direction_that_is_one_points_alone_has_the_largest_incoherence():
    points = np.zeros((11, 2))
    points[:5, 0], points[5:10, 0], points[10, 1] = 1.0, -1.0, 1e6
    np.testing.assert_allclose(theory.incoherence(points), 11 / 2 * (1 - 1 / 11), rtol=1e-12)


def test_the_condition_number_is_the_square_of_the_sides_ratio():
    np.testing.assert_allclose(theory.condition_number([[0, 0], [6, 0], [6, 2], [0, 2]]), 9.0, rtol=1e-12)


@pytest.mark.parametrize("quantity", [theory.incoherence, theory.condition_number])
@pytest.mark.parametrize("points", [cloud(), plus_sign(25)])
def test_a_rigid_motion_and_a_scale_change_nothing(quantity, points):
    moved = 1e-3 * points @ rotation(points.shape[1]) + 7.0
    np.testing.assert_allclose(quantity(moved), quantity(points), rtol=1e-9)


def test_incoherence_and_condition_number_are_those_of_the_full_matrix():
    points = cloud()
    lam, U = np.linalg.eigh(B(A(points @ points.T)))
    lam, U = lam[-3:], U[:, -3:]
    np.testing.assert_allclose(theory.incoherence(points), 40 / 3 * (U**2).sum(axis=1).max(), rtol=1e-10)
    np.testing.assert_allclose(theory.condition_number(points), lam[-1] / lam[0], rtol=1e-10)


SPARSE = [scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.dok_array]


@pytest.mark.parametrize("form", [np.asarray, *SPARSE])
def test_row_sparsity_is_the_share_of_the_worst_row(form):
    wrong = np.zeros((8, 8), dtype=bool)
    wrong[2, [0, 5, 7]] = wrong[[0, 5, 7], 2] = True
    assert theory.row_sparsity(form(wrong)) == 3 / 8
    assert theory.row_sparsity(form(np.zeros((8, 8), dtype=bool))) == 0


def test_a_stored_zero_is_not_a_wrong_pair():
    wrong = scipy.sparse.csr_array(([1.0, 0.0, 1.0], ([0, 0, 1], [1, 2, 0])), shape=(4, 4))
    assert wrong.nnz == 3
    assert theory.row_sparsity(wrong) == 1 / 4


def test_row_sparsity_refuses_what_is_not_square():
    with pytest.raises(InputError, match=r"wrong must be square: got shape \(3, 4\)"):
        theory.row_sparsity(np.zeros((3, 4), dtype=bool))


@pytest.mark.parametrize(("points", "mu"), [(circle(), 1.0), (plus_sign(), 101 / 2 * 625 / 11050)])
def test_the_admissible_sparsity_of_round_shapes_is_known(points, mu):
    np.testing.assert_allclose(theory.admissible_sparsity(points, 0.5), 0.5 / 1624 / mu / 2, rtol=1e-12)


def test_the_admissible_sparsity_falls_with_the_square_of_the_condition_number():
    # A stretched circle keeps its incoherence.
    ratio = theory.admissible_sparsity(circle(), 0.5) / theory.admissible_sparsity(circle() * [2, 1], 0.5)
    np.testing.assert_allclose(ratio, 4.0**2, rtol=1e-12)


# n = 4, mu = kappa = 1, lambda_1 = 2, the largest squared distance 4.
SQUARE = [[1, 0], [0, 1], [-1, 0], [0, -1]]


@pytest.mark.parametrize(
    ("envelope", "first"),
    [
        (theory.outlier_envelope, 16.0),
        (theory.gram_envelope, 1.0 * 0.8),
        (theory.points_envelope, np.sqrt(2 * 2 / 4) * 0.8),
    ],
)
def test_the_envelopes_of_a_square_are_known_and_fall_by_the_decay(envelope, first):
    np.testing.assert_allclose(envelope(SQUARE, 0.8, 0), first, rtol=1e-14)
    k = np.array([[0, 1], [2, 10]])
    np.testing.assert_allclose(envelope(SQUARE, 0.8, k), first * 0.8**k, rtol=1e-13)


def test_the_points_envelope_grows_with_the_incoherence_and_the_condition_number():
    points = cloud()
    mu, kappa = theory.incoherence(points), theory.condition_number(points)
    longest = np.linalg.eigvalsh(B(A(points @ points.T)))[-1]
    seen = theory.points_envelope(points, 0.5, 0)
    np.testing.assert_allclose(seen, 0.5 * np.sqrt(mu * 3 * kappa * longest / 40), rtol=1e-10)


def test_the_largest_distance_is_found_in_every_block(monkeypatch):
    monkeypatch.setattr(theory, "BLOCK_VALUES", 100)
    for last in range(40):
        points = np.roll(cloud(), last, axis=0)
        np.testing.assert_allclose(
            theory.outlier_envelope(points, 0.5, 0), 4 * pdist(points).max() ** 2, rtol=1e-14
        )


def test_no_array_of_all_pairs_is_made():
    points = np.random.default_rng(0).random((4000, 2))
    tracemalloc.start()
    try:
        for envelope in (theory.outlier_envelope, theory.gram_envelope, theory.points_envelope):
            envelope(points, 0.5, 0)
        theory.admissible_sparsity(points, 0.5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4000 * 4000 * 8 / 10


@pytest.mark.parametrize("decay", [0.5, 0.8])
def test_algorithm_1_stays_within_the_envelopes(decay):
    points = circle()
    spoilt = corrupt(cdist(points, points), 0.01, random_state=0)
    D, L_true = spoilt.distances**2, points @ points.T
    D_true = A(L_true)
    for k, (S, L) in enumerate(islice(algorithm_1(D, 2, D_true.max(), decay), 30)):
        assert np.abs(S - (D - D_true)).max() <= theory.outlier_envelope(points, decay, k)
        assert np.abs(L - L_true).max() <= theory.gram_envelope(points, decay, k)
        lam, U = np.linalg.eigh(L)
        X = U[:, -2:] * np.sqrt(lam[-2:])
        left, _, right = np.linalg.svd(points.T @ X)
        off = np.linalg.norm(X - points @ left @ right, axis=1).max()
        assert off <= theory.points_envelope(points, decay, k)


FLAT = np.column_stack([np.arange(9.0), 2 * np.arange(9.0)])


@pytest.mark.parametrize("points", [FLAT, FLAT / 3 + 1e8, np.ones((5, 2)), [[0.0, 1.0], [1.0, 0.0]]])
@pytest.mark.parametrize(
    "quantity",
    [
        theory.incoherence,
        theory.condition_number,
        lambda points: theory.admissible_sparsity(points, 0.5),
        lambda points: theory.points_envelope(points, 0.5, 0),
    ],
)
def test_points_that_do_not_span_their_dimensions_are_refused(quantity, points):
    with pytest.raises(InputError, match=r"points must span all their dimensions: these \d span [01] of 2\."):
        quantity(points)


def test_thin_points_far_from_the_origin_are_not_refused():
    points = 1e6 + circle() * [1.0, 1e-3]
    np.testing.assert_allclose(theory.condition_number(points), 1e6, rtol=1e-5)


@pytest.mark.parametrize("points", [[1.0, 2.0], np.zeros((0, 2)), [[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0]]])
def test_what_is_not_a_finite_array_of_points_is_refused(points):
    with pytest.raises(InputError, match=r"points must be (an \(n, r\) array|finite)"):
        theory.incoherence(points)


@pytest.mark.parametrize("decay", [0.3, 1.0, np.nan])
@pytest.mark.parametrize(
    "quantity",
    [
        theory.admissible_sparsity,
        lambda points, decay: theory.outlier_envelope(points, decay, 0),
        lambda points, decay: theory.gram_envelope(points, decay, 0),
        lambda points, decay: theory.points_envelope(points, decay, 0),
    ],
)
def test_a_decay_the_theorem_does_not_cover_is_refused(quantity, decay):
    with pytest.raises(InputError, match=r"decay must lie in \[1/3, 1\)"):
        quantity(circle(), decay)
