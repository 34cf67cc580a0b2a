"""The paper's operators: its lemmas, and the meaning of each operator checked by another road."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from robustmds.datasets import corrupt, plus_sign
from robustmds.edm import P_T, A, B, H, J, T, algorithm_1

SEEDS = range(5)


def symmetric(rng, n=9):
    Z = rng.normal(size=(n, n))
    return Z + Z.T


def basis(rng, n=9, r=3):
    return np.linalg.qr(rng.normal(size=(n, r)))[0]


def gram(points):
    centred = points - points.mean(axis=0)
    return centred @ centred.T


def longest_row(Z):
    return np.linalg.norm(Z, axis=1).max()


def test_A_of_inner_products_is_the_squared_distances():
    points = np.random.default_rng(0).normal(size=(12, 3))
    np.testing.assert_allclose(A(points @ points.T), cdist(points, points) ** 2, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_A_the_largest_entry_grows_at_most_fourfold(seed):
    Z = symmetric(np.random.default_rng(seed))
    assert np.abs(A(Z)).max() <= 4 * np.abs(Z).max()


def test_lemma_A_the_factor_four_is_reached():
    np.testing.assert_array_equal(A(np.array([[1.0, -1.0], [-1.0, 1.0]])), [[0, 4], [4, 0]])


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_A_B_undoes_A_on_matrices_whose_rows_sum_to_zero(seed):
    Z = symmetric(np.random.default_rng(seed))
    centred = Z - Z.mean(axis=0) - Z.mean(axis=1)[:, None] + Z.mean()
    np.testing.assert_allclose(B(A(centred)), centred, rtol=1e-12, atol=1e-12)


def test_B_does_not_see_where_the_points_are():
    points = np.random.default_rng(0).normal(size=(12, 3))
    D = cdist(points, points) ** 2
    np.testing.assert_allclose(B(D), gram(points + 5.0), rtol=1e-12, atol=1e-12)


def test_T_keeps_what_is_larger_than_the_cut_and_not_what_equals_it():
    Z = np.array([[-3.0, -2.0], [2.0, np.nextafter(2.0, 3.0)]])
    np.testing.assert_array_equal(T(Z, 2.0), [[-3.0, 0.0], [0.0, np.nextafter(2.0, 3.0)]])


def nearly_right(seed):
    """Return true squared distances, their errors, and squared distances that are off by a little."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(15, 2))
    spoilt = corrupt(cdist(points, points), 0.2, sign="any", random_state=rng)
    truth = A(gram(points))
    return truth, spoilt.distances**2 - truth, A(gram(points + rng.normal(scale=0.05, size=(15, 2))))


@pytest.mark.parametrize("slack", [1.0, 1.5])
@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_S_infinity_a_cut_above_the_error_of_the_model_sets_only_wrong_pairs_aside(seed, slack):
    truth, errors, model = nearly_right(seed)
    off = np.abs(model - truth).max()
    S = T(truth + errors - model, slack * off)
    is_wrong = np.abs(errors) > 1e-12 * truth.max()
    assert S.any()
    assert not S[~is_wrong].any()
    assert np.abs(S - errors).max() <= off + slack * off


def test_lemma_S_infinity_a_lower_cut_sets_good_pairs_aside():
    truth, errors, model = nearly_right(0)
    is_good = np.abs(errors) <= 1e-12 * truth.max()
    cut = 0.9 * np.abs(model - truth)[is_good].max()
    assert T(truth + errors - model, cut)[is_good].any()


@pytest.mark.parametrize("n", [2, 3, 10])
def test_lemma_J_has_norm_one(n):
    np.testing.assert_allclose(np.linalg.norm(J(n), 2), 1.0, rtol=1e-13)


def test_lemma_J_leaves_the_eigenvectors_of_centred_points_alone():
    _, U = np.linalg.eigh(gram(np.random.default_rng(0).normal(size=(10, 3))))
    np.testing.assert_allclose(J(10) @ U[:, -3:], U[:, -3:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_J_makes_no_row_more_than_twice_as_long(seed):
    Z = np.random.default_rng(seed).normal(size=(10, 3)) + 1.0
    assert longest_row(J(10) @ Z) <= 2 * longest_row(Z)


def test_lemma_J_the_factor_two_is_nearly_reached_by_one_row_against_all_others():
    n = 1000
    Z = np.where(np.arange(n) == 0, 1.0, -1.0)[:, None]
    np.testing.assert_allclose(longest_row(J(n) @ Z), 2 - 2 / n, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
class TestPT:
    def test_repeating_the_projection_changes_nothing(self, seed):
        rng = np.random.default_rng(seed)
        Z, U = symmetric(rng), basis(rng)
        np.testing.assert_allclose(P_T(P_T(Z, U), U), P_T(Z, U), rtol=1e-12, atol=1e-12)

    def test_what_it_removes_is_orthogonal_to_what_it_keeps(self, seed):
        rng = np.random.default_rng(seed)
        Z, W, U = symmetric(rng), symmetric(rng), basis(rng)
        inner = np.sum((Z - P_T(Z, U)) * P_T(W, U))
        np.testing.assert_allclose(inner, 0.0, rtol=0, atol=1e-11)

    def test_it_keeps_the_directions_in_which_a_matrix_of_rank_r_can_move(self, seed):
        rng = np.random.default_rng(seed)
        U, M = basis(rng), rng.normal(size=(9, 3))
        np.testing.assert_allclose(P_T(U @ M.T + M @ U.T, U), U @ M.T + M @ U.T, rtol=1e-12, atol=1e-12)

    def test_lemma_T_op_the_norm_grows_by_a_third_at_most(self, seed):
        rng = np.random.default_rng(seed)
        Z, U = symmetric(rng), basis(rng)
        assert np.linalg.norm(P_T(Z, U), 2) <= 4 / 3 * np.linalg.norm(Z, 2)


def test_the_norm_of_the_projection_can_exceed_that_of_the_matrix():
    # (a, b; b, -a) has norm 1 if a^2 + b^2 = 1; without its last entry, 2 / sqrt(3) if a^2 = 1/3.
    a, b = np.sqrt([1 / 3, 2 / 3])
    projected = P_T(np.array([[a, b], [b, -a]]), np.array([[1.0], [0.0]]))
    np.testing.assert_allclose(np.linalg.norm(projected, 2), 2 / np.sqrt(3), rtol=1e-13)


@pytest.mark.parametrize("signs", [(1, 1, 1, -1, -1), (1, -1, -1, -1, -1), (-1, -1, -1, -1, -1)])
@pytest.mark.parametrize("r", [1, 2])
def test_no_positive_semidefinite_matrix_of_rank_r_is_nearer_than_H(r, signs):
    rng = np.random.default_rng(0)
    U = basis(rng, 5, 5)
    Z = (U * (np.array([5.0, 4.0, 2.0, 3.0, 6.0]) * signs)) @ U.T

    def loss(x):
        X = x.reshape(5, r)
        return np.sum((Z - X @ X.T) ** 2), -4 * ((Z - X @ X.T) @ X).ravel()

    found = [minimize(loss, rng.normal(size=5 * r), jac=True, tol=1e-14).fun for _ in range(10)]
    np.testing.assert_allclose(np.sum((Z - H(Z, r)) ** 2), min(found), rtol=1e-9)
    lam = np.linalg.eigvalsh(H(Z, r))
    assert lam[0] >= -1e-13
    assert (lam > 1e-13).sum() <= r


def lightly_corrupted():
    points = plus_sign(25)
    spoilt = corrupt(cdist(points, points), 0.05, random_state=0)
    return gram(points), spoilt


def test_algorithm_1_recovers_a_lightly_corrupted_plus_sign():
    L_true, spoilt = lightly_corrupted()
    D, D_true = spoilt.distances**2, A(L_true)
    S, L = next(islice(algorithm_1(D, 2, 1.2 * D_true.max(), 0.7), 60, None))
    np.testing.assert_allclose(L, L_true, rtol=0, atol=1e-9)
    np.testing.assert_allclose(S, D - D_true, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(S != 0, spoilt.wrong)


def test_algorithm_1_begins_without_a_tangent_space():
    L_true, spoilt = lightly_corrupted()
    D, threshold = spoilt.distances**2, A(L_true).max()
    S, L = next(algorithm_1(D, 2, threshold, 0.7))
    np.testing.assert_array_equal(S, np.where(threshold < D, D, 0.0))
    assert S.any()
    np.testing.assert_allclose(L, H(B(D - S), 2), rtol=1e-12, atol=1e-12)


def test_algorithm_1_sets_aside_what_exceeds_the_cut_of_its_step():
    L_true, spoilt = lightly_corrupted()
    D, threshold = spoilt.distances**2, A(L_true).max()
    steps = list(islice(algorithm_1(D, 2, threshold, 0.5), 12))
    for k in range(1, 12):
        S, L = steps[k][0], steps[k - 1][1]
        residual = np.abs(D - A(L))
        cut = threshold / 2**k
        np.testing.assert_array_equal(S != 0, residual > cut)
        assert residual[S == 0].max() <= cut < residual[S != 0].min()


def test_algorithm_1_moves_within_the_span_of_the_last_points_and_their_image():
    L_true, spoilt = lightly_corrupted()
    D = spoilt.distances**2
    (_, before), (S, after) = islice(algorithm_1(D, 2, A(L_true).max(), 0.7), 2)
    span, _ = np.linalg.qr(np.hstack([M @ np.linalg.eigh(before)[1][:, -2:] for M in (np.eye(25), B(D - S))]))
    np.testing.assert_allclose(span @ (span.T @ after), after, rtol=0, atol=1e-10 * np.abs(after).max())
    assert np.linalg.matrix_rank(after) == 2


def test_algorithm_1_leaves_its_input_alone():
    L_true, spoilt = lightly_corrupted()
    D = spoilt.distances**2
    D.flags.writeable = False
    for _ in islice(algorithm_1(D, 2, A(L_true).max(), 0.7), 3):
        pass
