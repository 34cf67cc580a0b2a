"""Thin algebra against what it means on full matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ortho_group

from robustmds.edm import P_T, H
from robustmds.linalg import (
    centred,
    conjugate_gradients,
    even_lines,
    leading_eigenpairs,
    motion,
    tangent_step,
)

SEEDS = range(5)
TOL = 1e-13  # what `leading_eigenpairs` is told to reach


def symmetric(rng, n):
    """Return a symmetric matrix with rows that sum to zero."""
    Z = centred(centred(rng.normal(size=(n, n))).T)
    return Z + Z.T


def centred_basis(rng, n, r):
    return np.linalg.qr(centred(rng.normal(size=(n, r))))[0]


def with_eigenvalues(rng, lam):
    """Return a matrix with rows that sum to zero and these eigenvalues beside the zero of the ones."""
    U = centred_basis(rng, len(lam) + 1, len(lam))
    return (U * lam) @ U.T


def test_centred_columns_sum_to_zero_and_keep_their_differences():
    X = np.random.default_rng(0).normal(loc=[0.0, 5.0, -100.0], size=(50, 3))
    np.testing.assert_allclose(centred(X).mean(axis=0), 0.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.diff(centred(X), axis=0), np.diff(X, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("r", "n_lines"), [(1, 2), (2, 2), (3, 4), (4, 4)])
def test_lines_are_the_columns_and_zeros_to_an_even_number(r, n_lines):
    X = np.random.default_rng(0).normal(size=(7, r))
    lines = even_lines(X)
    assert lines.shape == (n_lines, 7)
    assert lines.flags.c_contiguous
    np.testing.assert_array_equal(lines[:r], X.T)
    assert not lines[r:].any()


class TestTangentStep:
    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize(("n", "r"), [(10, 1), (10, 3), (40, 4), (4, 2), (5, 3), (4, 3)])
    def test_it_gives_the_best_approximation_of_the_projected_matrix(self, n, r, seed):
        rng = np.random.default_rng(seed)
        U, B = centred_basis(rng, n, r), symmetric(rng, n)
        V, lam = tangent_step(U, B @ U)
        scale = np.linalg.norm(B)
        np.testing.assert_allclose((V * lam) @ V.T, H(P_T(B, U), r), rtol=0, atol=1e-12 * scale)
        assert (np.diff(lam) <= 0).all()
        assert (lam >= 0).all()

    @pytest.mark.parametrize("seed", range(20))
    @pytest.mark.parametrize("sign", [1.0, -1.0])
    @pytest.mark.parametrize(("n", "r"), [(40, 3), (6, 3), (5, 3), (4, 2), (4, 3), (3, 2)])
    def test_the_new_basis_is_orthonormal_and_centred(self, n, r, sign, seed):
        # With few points the image of U has fewer than r directions beside U, and of a negative B even those
        # without an image are taken.
        rng = np.random.default_rng(seed)
        U, Z = centred_basis(rng, n, r), symmetric(rng, n)
        V, _ = tangent_step(U, sign * Z @ (Z @ U))
        np.testing.assert_allclose(V.T @ V, np.eye(r), rtol=0, atol=1e-11)
        np.testing.assert_allclose(V.sum(axis=0), 0.0, rtol=0, atol=1e-11)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_eigenvectors_of_a_matrix_of_rank_r_stay_where_they_are(self, seed):
        # The image of U has nothing beside U: what is left of it is rounding.
        rng = np.random.default_rng(seed)
        U, lam = centred_basis(rng, 30, 3), np.array([3.0, 2.0, 0.5])
        V, found = tangent_step(U, U * lam)
        np.testing.assert_allclose(found, lam, rtol=1e-13)
        np.testing.assert_allclose(np.abs(V.T @ U), np.eye(3), rtol=0, atol=1e-13)

    def test_a_small_turn_is_not_lost_beside_the_rest(self):
        # The part of the image away from U is 1e-11 of it, and right to 1e-4 of itself.
        rng = np.random.default_rng(0)
        U = centred_basis(rng, 30, 4)
        U, away = U[:, :2], U[:, 2:]
        V, _ = tangent_step(U, U * [2.0, 1.0] + 1e-11 * away)
        np.testing.assert_allclose(away.T @ V, np.diag([0.5e-11, 1e-11]) @ (U.T @ V), rtol=0, atol=1e-15)

    def test_the_correction_of_one_point_is_not_lost_beside_the_roundings_of_the_basis(self):
        U = centred_basis(np.random.default_rng(0), 5000, 2) * (1 + 2e-15)
        image = U.copy()
        image[7] += 5e-15
        V, _ = tangent_step(U, image)
        moved = V * np.sign((V * U).sum(axis=0)) - U
        np.testing.assert_allclose(moved[7], 5e-15, rtol=0.1)

    def test_without_a_positive_eigenvalue_there_is_none(self):
        U = centred_basis(np.random.default_rng(0), 20, 3)
        for image in (-U, 0 * U):
            V, lam = tangent_step(U, image)
            np.testing.assert_allclose(lam, 0.0, rtol=0, atol=1e-15)
            assert (lam >= 0).all()
            np.testing.assert_allclose(V.T @ V, np.eye(3), rtol=0, atol=1e-13)


SPECTRA = {
    "spread": np.arange(60.0, 0.0, -1.0),
    "a few beside noise": np.concatenate([[50.0, 40.0, 30.0], np.linspace(1.0, -1.0, 57)]),
    "clustered": np.concatenate([10 + 1e-6 * np.arange(6), np.linspace(1.0, 0.0, 54)]),
    "repeated": np.concatenate([[7.0] * 5, [3.0] * 55]),
    "the largest are negative": np.concatenate([[5.0, 4.0, 3.0], -np.linspace(8.0, 1.0, 57)]),
    "all negative": -np.arange(1.0, 61.0),
    "one positive": np.concatenate([[2.0], -np.linspace(0.1, 5.0, 59)]),
    "of rank two": np.concatenate([[3.0, 1.0], np.zeros(58)]),
    "over twelve powers of ten": np.logspace(0, -12, 60),
    "all equal": np.ones(60),
}


class TestLeadingEigenpairs:
    @staticmethod
    def certify(Z, r, *, factor=100):
        """Check eigenvalues and residuals to `factor` times the tolerance it is told to reach."""
        n = len(Z)
        U, lam = leading_eigenpairs(lambda V: Z @ V, n, r)
        J = np.eye(n) - 1 / n
        exact = np.linalg.eigvalsh(J @ Z @ J + n * np.abs(Z).max() * (J - np.eye(n)))[::-1]
        atol = factor * TOL * max(np.linalg.norm(J @ Z @ J, 2), np.finfo(float).tiny)
        np.testing.assert_allclose(lam, exact[:r], rtol=0, atol=atol)
        np.testing.assert_allclose(J @ Z @ U, U * lam, rtol=0, atol=atol)
        np.testing.assert_allclose(U.T @ U, np.eye(r), rtol=0, atol=1e-12)
        np.testing.assert_allclose(U.sum(axis=0), 0.0, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("r", [1, 2, 4])
    @pytest.mark.parametrize("name", SPECTRA)
    def test_they_are_those_of_the_full_matrix(self, name, r):
        self.certify(with_eigenvalues(np.random.default_rng(0), SPECTRA[name]), r)

    @pytest.mark.parametrize("n", [3, 4, 5, 6, 8])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_few_points_suffice(self, n, seed):
        self.certify(symmetric(np.random.default_rng(seed), n), n - 2)
        self.certify(symmetric(np.random.default_rng(seed), n), 1)

    @pytest.mark.parametrize("r", [2, 3])
    def test_a_few_hundred_points_do_not_hinder_it(self, r):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 3)) * [3.0, 2.0, 1.0]
        Z = X @ X.T + 0.3 * symmetric(rng, 400)
        self.certify(Z, r)

    def test_the_mean_is_taken_out_of_the_matrix(self):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(50, 50)) + 10.0
        self.certify(Z + Z.T, 3)

    def test_a_mean_in_the_matrix_costs_no_more_products(self):
        Z, n_products = symmetric(np.random.default_rng(0), 50), []
        for A in (Z, Z + np.arange(50.0) + np.arange(50.0)[:, None]):
            calls = []
            leading_eigenpairs(lambda V, A=A, calls=calls: calls.append(1) or A @ V, 50, 2)
            n_products.append(len(calls))
        assert n_products[1] <= 1.5 * n_products[0]

    def test_the_zero_matrix_has_eigenvalues_zero_and_an_orthonormal_basis(self):
        self.certify(np.zeros((20, 20)), 3)

    def test_two_calls_give_the_same_bits(self):
        Z = symmetric(np.random.default_rng(0), 80)
        first, second = (leading_eigenpairs(lambda V: Z @ V, 80, 3) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_array_equal(first[1], second[1])

    def test_the_matrix_is_only_ever_multiplied_by_something_thin(self):
        n, r, widths = 300, 2, []
        Z = symmetric(np.random.default_rng(0), n)

        def multiply(V):
            widths.append(V.shape[1])
            return Z @ V

        leading_eigenpairs(multiply, n, r)
        assert max(widths) <= r + 3


class TestConjugateGradients:
    @staticmethod
    def system(rng, n=30, r=2):
        """Return a positive definite map on (n, r) arrays, as a matrix on their entries."""
        Z = rng.normal(size=(n * r, n * r))
        return Z @ Z.T + np.eye(n * r), rng.normal(size=(n, r))

    @pytest.mark.parametrize("seed", SEEDS)
    def test_they_solve_to_the_tolerance_and_stop_there(self, seed):
        A, G = self.system(np.random.default_rng(seed))
        scale, calls = np.diag(A).reshape(G.shape).sum(axis=1)[:, None], []

        def multiply(P):
            calls.append(1)
            return (A @ P.ravel()).reshape(P.shape)

        def size(R):
            return float(np.sqrt((R**2 / scale).sum()))

        P = conjugate_gradients(multiply, G, scale, 1e-3, max_steps=1000)
        n_calls = len(calls)
        assert size(G - multiply(P)) <= 1e-3 * size(G) * (1 + 1e-6)
        before = conjugate_gradients(multiply, G, scale, 1e-3, max_steps=n_calls - 1)
        assert size(G - multiply(before)) > 1e-3 * size(G)

    def test_as_many_steps_as_unknowns_are_exact(self):
        rng = np.random.default_rng(0)
        A, G = self.system(rng, n=4, r=2)
        P = conjugate_gradients(
            lambda P: (A @ P.ravel()).reshape(P.shape), G, np.ones((4, 1)), 0.0, max_steps=8
        )
        np.testing.assert_allclose(P.ravel(), np.linalg.solve(A, G.ravel()), rtol=1e-8)

    def test_a_diagonal_that_fits_ends_after_one_product(self):
        scale, G, calls = np.logspace(-3, 3, 20)[:, None], np.random.default_rng(0).normal(size=(20, 2)), []

        def multiply(P):
            calls.append(1)
            return scale * P

        P = conjugate_gradients(multiply, G, scale, 1e-10)
        assert len(calls) == 1
        np.testing.assert_allclose(P, G / scale, rtol=1e-12)

    def test_a_singular_matrix_is_solved_in_its_range(self):
        rng = np.random.default_rng(0)
        Z = symmetric(rng, 20)
        A, G = Z @ Z, Z @ Z @ rng.normal(size=(20, 2))
        P = conjugate_gradients(lambda P: A @ P, G, np.ones((20, 1)), 1e-9, max_steps=1000)
        np.testing.assert_allclose(A @ P, G, rtol=0, atol=1e-8 * np.linalg.norm(G))
        np.testing.assert_allclose(P.sum(axis=0), 0.0, rtol=0, atol=1e-8 * np.linalg.norm(P))

    def test_nothing_is_asked_where_nothing_is_wanted(self):
        def multiply(P):
            raise AssertionError(P)

        np.testing.assert_array_equal(
            conjugate_gradients(multiply, np.zeros((5, 2)), np.ones((5, 1)), 0.1), 0.0
        )

    def test_a_direction_without_curvature_ends_it(self):
        G = np.ones((5, 2))
        P = conjugate_gradients(np.zeros_like, G, np.ones((5, 1)), 0.1)
        np.testing.assert_array_equal(P, 0.0)

    def test_the_right_hand_side_is_left_alone(self):
        A, G = self.system(np.random.default_rng(0))
        G.flags.writeable = False
        conjugate_gradients(lambda P: (A @ P.ravel()).reshape(P.shape), G, np.ones((30, 1)), 1e-3)


class TestMotion:
    @pytest.mark.parametrize("mirrored", [False, True])
    @pytest.mark.parametrize("r", [1, 2, 3, 4])
    @pytest.mark.parametrize("factor", [1.0, 2.5])
    def test_a_planted_motion_is_found(self, r, mirrored, factor):
        rng = np.random.default_rng(r)
        X = rng.normal(size=(12, r)) + 3.0
        R = ortho_group.rvs(r, random_state=rng) if r > 1 else np.eye(1)
        R[:, 0] *= np.sign(np.linalg.det(R)) * (-1 if mirrored else 1)
        t = rng.normal(size=r)
        found = motion(X, factor * X @ R + t, scale=True)
        np.testing.assert_allclose(found[0], R, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[1], t, rtol=0, atol=1e-11)
        np.testing.assert_allclose(found[2], factor, rtol=1e-12)
        assert (np.linalg.det(found[0]) < 0) == mirrored

    def test_the_factor_is_one_unless_it_is_asked_for(self):
        X = np.random.default_rng(0).normal(size=(12, 2))
        R, t, s = motion(X, 3.0 * X + 1.0)
        assert s == 1.0
        np.testing.assert_allclose(R, np.eye(2), rtol=0, atol=1e-12)
        np.testing.assert_allclose(s * X.mean(axis=0) @ R + t, 3 * X.mean(axis=0) + 1.0, rtol=1e-12)

    @pytest.mark.parametrize("scale", [False, True])
    @pytest.mark.parametrize("seed", SEEDS)
    def test_no_other_motion_brings_the_points_nearer(self, scale, seed):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(2, 15, 3)) + rng.normal(size=(2, 1, 3))

        def loss(R, t, s):
            return float(np.sum((s * X @ R + t - Y) ** 2))

        R, t, s = motion(X, Y, scale=scale)
        np.testing.assert_allclose(R.T @ R, np.eye(3), rtol=0, atol=1e-12)
        best = loss(R, t, s)
        for size in [2.0, 0.1, 1e-3]:
            for _ in range(30):
                turned = np.linalg.qr(R + size * rng.normal(size=(3, 3)))
                Q = turned[0] * np.sign(np.diag(turned[1]))
                shifted = t + size * rng.normal(size=3)
                stretched = s * np.exp(size * rng.normal()) if scale else s
                assert best <= loss(Q, shifted, stretched)
                # The best shift and factor for this rotation are not better either.
                shifted = Y.mean(axis=0) - s * X.mean(axis=0) @ Q
                assert best <= loss(Q, shifted, s) * (1 + 1e-12)

    @pytest.mark.parametrize("scale", [False, True])
    def test_points_in_one_place_are_only_shifted(self, scale):
        R, t, s = motion(np.ones((4, 2)), np.arange(8.0).reshape(4, 2), scale=scale)
        assert s == 1.0
        np.testing.assert_allclose(np.ones(2) @ R + t, [3.0, 4.0], rtol=1e-12)
