"""Robust PCA: its pieces against plain linear algebra, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds.api import pose
from robustmds.datasets import corrupt, plus_sign
from robustmds.edm import P_T
from robustmds.errors import InputError
from robustmds.linalg import motion, one_blas_thread
from robustmds.methods import AccAltProj, AltProj, Pcp, RpcaGd
from robustmds.methods._low_rank import PARTIAL_FROM, largest, leading, low_rank, tangent_leading
from robustmds.result import Status

SEEDS = range(5)


@pytest.fixture(autouse=True)
def _one_thread_for_blas():
    with one_blas_thread():
        yield


def symmetric(rng, n):
    Z = rng.normal(size=(n, n))
    return Z + Z.T


def spoilt(seed, n=30, share=0.05):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, corrupt(cdist(X, X), share, random_state=seed).distances


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [5, 40, PARTIAL_FROM + 5])
def test_the_leading_eigenvectors_are_those_largest_in_size(n, seed):
    Z = symmetric(np.random.default_rng(seed), n)
    U, lam = leading(Z, 4)
    every = np.linalg.eigvalsh(Z)
    np.testing.assert_allclose(np.abs(lam), np.sort(np.abs(every))[::-1][:4], rtol=1e-9)
    np.testing.assert_allclose(Z @ U, U * lam, rtol=0, atol=1e-9 * np.abs(lam[0]))
    np.testing.assert_allclose(U.T @ U, np.eye(4), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("n", "k"), [(20, 3), (4, 3), (6, 4)])
def test_the_tangent_step_is_that_of_the_projection_written_out(n, k, seed):
    rng = np.random.default_rng(seed)
    U, Z = np.linalg.qr(rng.normal(size=(n, k)))[0], symmetric(rng, n)
    V, lam = tangent_leading(U, Z)
    projected = P_T(Z, U)
    np.testing.assert_allclose(low_rank(V, lam), projected, rtol=0, atol=1e-12 * np.abs(Z).sum())
    every = np.sort(np.abs(np.linalg.eigvalsh(projected)))[::-1]
    np.testing.assert_allclose(np.abs(lam[:k]), every[:k], rtol=1e-9)
    assert (np.diff(np.abs(lam)) <= 1e-12 * every[0]).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("m", [0, 1, 3, 9])
def test_the_largest_entries_are_among_the_m_largest_of_their_row_and_column(m, seed):
    R = symmetric(np.random.default_rng(seed), 9)
    expected = np.zeros_like(R)
    for i, j in np.ndindex(R.shape):
        beaten_by = [(np.abs(line) > abs(R[i, j])).sum() for line in (R[i], R[:, j])]
        expected[i, j] = R[i, j] if max(beaten_by) < m else 0.0
    np.testing.assert_array_equal(largest(R, m), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_pcp_ends_its_multipliers_prove_it_optimal(seed):
    _, d = spoilt(seed)
    problem, _ = pose(d, 2)
    method = Pcp(growth=1.02, tol=1e-9, max_steps=3000)
    state = method.start(problem, None)
    for _ in range(method.max_steps):
        state = method.step(problem, state)
        if method.settled(state):
            break
    lam = method.sparsity / np.sqrt(len(d))
    D, L, S, Y = state.D, state.L, state.S, state.Y
    np.testing.assert_allclose(L + S, D, rtol=0, atol=1e-7 * np.abs(D).max())
    # Y is a subgradient of lambda |S|_1, but for the diagonal, where S is told to be 0 ...
    off = ~np.eye(len(D), dtype=bool)
    assert np.abs(Y[off]).max() <= lam * (1 + 1e-5)
    np.testing.assert_allclose(Y[S != 0], lam * np.sign(S[S != 0]), rtol=0, atol=1e-5 * lam)
    # ... and of the nuclear norm of L: U sign(Lambda) U' on its space, and no longer than 1 beside it.
    values, U = np.linalg.eigh(L)
    U, values = (
        U[:, np.abs(values) > 1e-5 * np.abs(values).max()],
        values[np.abs(values) > 1e-5 * np.abs(values).max()],
    )
    np.testing.assert_allclose(Y @ U, U * np.sign(values), rtol=0, atol=1e-3)
    assert np.linalg.norm(Y, 2) <= 1 + 1e-3


@pytest.mark.parametrize("method", [Pcp(), AltProj(), RpcaGd(), AccAltProj()])
def test_a_plus_sign_of_which_every_tenth_distance_is_wrong_is_found(method):
    X = plus_sign(101)
    n_found = 0
    for seed in range(3):
        problem, _ = pose(corrupt(cdist(X, X), 0.1, size=40.0, random_state=seed).distances, 2)
        run = method.solve(problem)
        found = problem.to_user(run.points)
        R, t, _ = motion(found, X)
        n_found += run.status is Status.CONVERGED and np.abs(found @ R + t - X).max() < 0.25
    assert n_found == 3


@pytest.mark.parametrize("method", [Pcp(), AltProj(), RpcaGd(), AccAltProj()])
def test_the_parts_are_symmetric_and_the_wrong_part_has_no_diagonal(method):
    _, d = spoilt(0)
    problem, _ = pose(d, 2)
    state = method.start(problem, None)
    for _ in range(10):
        state = method.step(problem, state)
        np.testing.assert_array_equal(state.L, state.L.T)
        np.testing.assert_allclose(state.S, state.S.T, rtol=0, atol=1e-12)
        assert not np.diagonal(state.S).any()
        assert state.n_outliers == np.count_nonzero(np.triu(state.S))


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Pcp, {"sparsity": 0.0}),
        (Pcp, {"growth": 0.5}),
        (AltProj, {"beta": -1.0}),
        (AltProj, {"decay": 1.0}),
        (AltProj, {"reduction": 0.0}),
        (AccAltProj, {"threshold": 0.0}),
        (AccAltProj, {"max_steps": 0}),
        (RpcaGd, {"alpha": 1.5}),
        (RpcaGd, {"step_size": 2.0}),
        (RpcaGd, {"tol": -1.0}),
    ],
)
def test_settings_that_make_no_sense_are_refused(method, settings):
    with pytest.raises(InputError, match=f"^{next(iter(settings))} must"):
        method(**settings)
