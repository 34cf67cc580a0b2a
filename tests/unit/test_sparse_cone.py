"""FSMDS and SSMDS: every step and every end against what defines it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds import datasets
from robustmds.api import pose
from robustmds.errors import InputError
from robustmds.linalg import motion
from robustmds.methods.sparse_cone import Fsmds, Ssmds, cone_model, shrink, shrink_l12
from robustmds.result import Status

both = pytest.mark.parametrize("method", [Fsmds, Ssmds])
SEEDS = range(5)
UNIT = 1000.0  # of the distances of `spoilt`: bounds and lambda are in the user's units


def symmetric(rng, n, scale=1.0):
    """Return a random symmetric matrix of diagonal 0."""
    Z = np.triu(rng.normal(scale=scale, size=(n, n)), 1)
    return Z + Z.T


def clean(seed, n=30, r=2):
    X = np.random.default_rng(seed).normal(size=(n, r))
    return X - X.mean(axis=0), UNIT * cdist(X, X)


def spoilt(seed, n=20, noise=0.05, share=0.1, missing=0.0):
    """Return points and distances with some noise, of which some are too long or missing."""
    rng = np.random.default_rng([seed, n])
    X, d = clean(seed, n)
    wrong = np.triu(rng.random((n, n)) < share, 1) * rng.uniform(1, 3, (n, n))
    d = np.abs(d + UNIT * (symmetric(rng, n, noise) + wrong + wrong.T))
    gone = np.triu(rng.random((n, n)) < missing, 1)
    d[gone | gone.T] = np.nan
    return X, d


def random_weights(seed, n):
    rng = np.random.default_rng([seed, 99])
    W = np.triu(rng.uniform(0.2, 3, (n, n)), 1)
    return W + W.T


def states(method, problem, points=None):
    """Return the states of a fit, the first one included."""
    state = method.start(problem, points)
    seen = [state]
    for _ in range(method.max_steps):
        state = method.step(problem, state)
        seen.append(state)
        if method.settled(state):
            break
    return seen


def last(method, problem):
    return states(method, problem)[-1]


def off(problem, points, X):
    """Return how far the farthest point lies off, relative to the size of the true points."""
    found = problem.to_user(points) / UNIT
    R, t, _ = motion(found, X)
    return np.abs(found @ R + t - X).max() / np.abs(X).max()


def centring(n):
    return np.eye(n) - 1 / n


def projection(Z, r):
    """Return the projection of Z on K_r, as the paper has it."""
    J = centring(len(Z))
    lam, U = np.linalg.eigh(J @ Z @ J)
    lam[:-r] = 0.0
    return Z - J @ Z @ J + (U * np.maximum(lam, 0.0)) @ U.T


def objective(method, state, lam):
    """Return the objective at D and S, from its definition."""
    seen, W, D, S = state.given.seen, state.given.W, state.D, state.S
    r = state.given.n_components
    if isinstance(method, Ssmds):  # D is the best one for this S; an S that is free is in D already
        return ((-D - projection(-D, r)) ** 2).sum() / 2 + lam * np.abs(S).sum()
    far = ((-D - projection(-D, r)) ** 2).sum()
    fit = (W * (seen - D - S) ** 2).sum() / 2 + method.penalty / 2 * far
    return fit + lam * (np.abs(S).sum() - np.linalg.norm(S))


# The parts of a step


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.99, 1.01, 2.0, 3.3, 3.5])  # of the largest entry
@pytest.mark.parametrize(("shrunk", "less"), [(shrink, 0.0), (shrink_l12, 1.0)])
def test_nothing_is_better_than_the_shrunk_matrix(shrunk, less, cut, seed):
    rng = np.random.default_rng(seed)
    T = symmetric(rng, 4)
    cut *= np.abs(T).max()
    S = shrunk(T, cut)

    def cost(Z):
        size = np.sqrt((Z**2).sum(axis=(-1, -2)))
        return ((T - Z) ** 2).sum(axis=(-1, -2)) / 2 + cut * (np.abs(Z).sum(axis=(-1, -2)) - less * size)

    i, j = np.triu_indices(4, 1)
    tried = np.zeros((40_000, 4, 4))
    near, far = S[i, j] + 0.03 * rng.normal(size=(20_000, 6)), T[i, j] * rng.uniform(0, 1.5, (20_000, 6))
    tried[:, i, j] = np.vstack([near, far]) * (rng.random((40_000, 6)) < rng.random((40_000, 1)))
    tried += tried.transpose(0, 2, 1)
    np.testing.assert_array_equal(S, S.T)
    assert cost(S) <= cost(tried).min() + 1e-12


@pytest.mark.parametrize(("cut", "n_pairs"), [(0.5, None), (1.01, 1), (2.0, 1), (3.4, 1), (3.42, 0)])
def test_l12_leaves_one_pair_where_l1_leaves_none_and_none_beyond_that(cut, n_pairs):
    T = symmetric(np.random.default_rng(0), 6)
    S = shrink_l12(T, cut * np.abs(T).max())
    found = np.count_nonzero(np.triu(S))
    # 1 / (1 - 2^-1/2) = 3.414
    assert found == n_pairs if n_pairs is not None else 1 < found < 15
    if n_pairs == 1:
        assert np.abs(S).argmax() == np.abs(T).argmax()
        assert np.sign(S.flat[np.abs(S).argmax()]) == np.sign(T.flat[np.abs(T).argmax()])


@pytest.mark.parametrize("sign", [1, -1])  # with -1 few eigenvalues are positive
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_model_is_the_projection_on_the_cone(seed, r, sign):
    D = sign * np.abs(symmetric(np.random.default_rng(seed), 5))
    np.testing.assert_allclose(cone_model(D, r), -projection(-D, r), rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_in_the_cone_is_nearer_than_the_projection(seed):
    n, r = 6, 2
    rng = np.random.default_rng(seed)
    D = np.abs(symmetric(rng, n))
    J = centring(n)
    Z = -cone_model(D, r)
    lam, U = np.linalg.eigh(J @ Z @ J)
    np.testing.assert_allclose(lam[:-r], 0.0, atol=1e-13)  # it is in the cone
    factor, rest = U[:, -r:] * np.sqrt(np.maximum(lam[-r:], 0)), Z - J @ Z @ J
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(2000):
            other = J @ (factor + scale * rng.normal(size=(n, r)))
            offsets = scale * rng.normal(size=(n, 1))
            near = other @ other.T + rest + offsets + offsets.T
            assert ((-D - near) ** 2).sum() >= ((-D - Z) ** 2).sum()


def test_the_points_are_the_classical_scaling_of_d():
    problem, _ = pose(spoilt(0)[1], 2)
    state = last(Fsmds(), problem)
    J = centring(20)
    lam, U = np.linalg.eigh(-J @ state.D @ J / 2)
    L = (U[:, -2:] * lam[-2:]) @ U[:, -2:].T
    np.testing.assert_allclose(state.points @ state.points.T, L, rtol=0, atol=1e-13)


# The whole


CASES = {
    "plain": {},
    "weak": {"penalty": 0.1},
    "strong": {"penalty": 20.0},
    "bounded": {"lower": 0.3 * UNIT, "upper": 2.5 * UNIT},
}
every_case = pytest.mark.parametrize(
    ("method", "weighted"),
    [(Fsmds(**settings), weighted) for settings in CASES.values() for weighted in (False, True)]
    + [(Ssmds(), False)],
    ids=[f"{name} {weighted}" for name in CASES for weighted in ("plain", "weighted")] + ["subspace"],
)


@every_case
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_objective_never_rises(method, weighted, missing):
    _, d = spoilt(1, missing=missing)
    problem, _ = pose(d, 2, weights=random_weights(1, 20) if weighted else None)
    for before, after in pairwise(states(method, problem)[1:]):
        lam = before.cut * method._scale  # noqa: SLF001 - lambda of the step between the two
        assert objective(method, after, lam) <= objective(method, before, lam) * (1 + 1e-12) + 1e-14


@every_case
def test_what_the_step_compares_is_the_objective(method, weighted):
    _, d = spoilt(2, missing=0.1)
    problem, _ = pose(d, 2, weights=random_weights(2, 20) if weighted else None)
    for state in states(method, problem)[1:20]:
        assert state.fit + 0.7 * state.spread == pytest.approx(objective(method, state, 0.7), rel=1e-10)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [({"lower": 0.0, "upper": np.inf}, 0), ({"lower": 0.4 * UNIT, "upper": 2.5 * UNIT}, 4)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_fsmds_ends_where_its_conditions_hold(weighted, bounds, expected):
    _, d = spoilt(3, missing=0.1)
    W = random_weights(3, 20) if weighted else None
    problem, _ = pose(d, 2, weights=W)
    method = Fsmds(sparsity=0.05 * UNIT**2, penalty=2.0, tol=1e-13, max_steps=20_000, **bounds)
    state = last(method, problem)
    assert method.settled(state)
    lam, D, S, W = 0.05 * (UNIT * problem.unit) ** 2, state.D, state.S, state.given.W
    force = W * (state.given.seen - D - S)
    free = S != 0
    assert 2 <= np.count_nonzero(free) <= 300  # of 380
    np.testing.assert_allclose(
        force[free], lam * (np.sign(S) - S / np.linalg.norm(S))[free], rtol=0, atol=1e-9
    )
    assert np.abs(force[~free]).max() <= lam + 1e-9
    pull = force - method.penalty * (D + projection(-D, 2))  # minus the gradient over D
    np.fill_diagonal(pull, 0.0)
    at_low, at_high = (
        np.isclose(D, (bound * problem.unit) ** 2, rtol=1e-14, atol=0) for bound in bounds.values()
    )
    assert np.count_nonzero(at_low) >= expected
    assert np.count_nonzero(at_high) >= expected
    assert (pull[at_low] <= 0).all()
    assert (pull[at_high] >= 0).all()
    assert np.abs(pull[~at_low & ~at_high]).max() <= 1e-9


def test_ssmds_ends_where_its_conditions_hold():
    _, d = spoilt(3)
    problem, _ = pose(d, 2)
    method = Ssmds(sparsity=0.05 * UNIT**2, tol=1e-13, max_steps=20_000)
    state = last(method, problem)
    assert method.settled(state)
    lam, S, J = 0.05 * (UNIT * problem.unit) ** 2, state.S, centring(20)
    force = J @ (state.given.seen - cdist(state.points, state.points) ** 2 - S) @ J
    np.fill_diagonal(force, 0.0)
    free = S != 0
    assert 2 <= np.count_nonzero(free) <= 300  # of 380
    np.testing.assert_allclose(force[free], lam * np.sign(S)[free], rtol=0, atol=1e-9)
    assert np.abs(force[~free]).max() <= lam + 1e-9


@both
@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_clean_distances_give_the_points(method, seed, r):
    X, d = clean(seed, r=r)
    problem, _ = pose(d, r)
    run = method().solve(problem)
    assert run.status is Status.CONVERGED
    assert off(problem, run.points, X) < 1e-12


@both
@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_wrong_and_missing_distances_without_noise_leave_no_trace(method, seed, r):
    X, d = clean(seed, r=r)
    rng = np.random.default_rng([seed, r])
    wrong = np.triu(rng.random(d.shape) < 0.05, 1) * rng.uniform(-1, 3, d.shape) * UNIT
    d = np.abs(d + wrong + wrong.T)
    gone = np.triu(rng.random(d.shape) < 0.1, 1)
    d[gone | gone.T] = np.nan
    problem, _ = pose(d, r)
    state = last(method(), problem)
    assert off(problem, state.points, X) < 1e-5  # 100 tol
    large = np.abs(np.triu(wrong + wrong.T)) > 0.1 * UNIT
    found = np.abs(np.triu(state.S)) > 1e-3
    assert found[large & ~gone].all()


@both
@pytest.mark.parametrize("seed", SEEDS)
def test_a_plus_sign_of_which_every_fifth_distance_is_too_long_is_found(method, seed):
    rng = np.random.default_rng(seed)
    X = datasets.plus_sign(101) - 6.0
    d = cdist(X, X)
    wrong = np.triu(rng.random(d.shape) < 0.2, 1) * rng.uniform(0, 40, d.shape)
    problem, _ = pose(UNIT * (d + wrong + wrong.T), 2)
    assert off(problem, method().solve(problem).points, X) < 1e-5


@both
def test_the_noisy_plus_sign_is_drawn_as_well_as_with_the_best_lambda(method):
    X = datasets.plus_sign(25) - 6.0
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        wrong = np.triu(rng.random((25, 25)) < 0.1, 1) * rng.uniform(0, 20, (25, 25))
        d = np.abs(cdist(X, X) + symmetric(rng, 25, 0.2**0.5) + wrong + wrong.T)
        problem, _ = pose(UNIT * d, 2)
        settings = [None, *(UNIT**2 * np.array([0.5, 2.0, 8.0, 32.0]))]
        runs = [method(sparsity=sparsity, tol=1e-5).solve(problem) for sparsity in settings]
        errors.append([off(problem, run.points, X) for run in runs])
    automatic, *fixed = np.mean(errors, axis=0)
    assert automatic < 1.1 * min(fixed)
    assert max(fixed) > 1.3 * min(fixed)


# What does not matter, and what does


@both
def test_the_order_of_the_points_does_not_matter(method):
    _, d = spoilt(4, missing=0.1)
    order = np.random.default_rng(0).permutation(20)
    one, other = (last(method(), pose(D, 2)[0]) for D in (d, d[np.ix_(order, order)]))
    np.testing.assert_allclose(other.D, one.D[np.ix_(order, order)], rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.S, one.S[np.ix_(order, order)], rtol=0, atol=1e-9)


@both
@pytest.mark.parametrize("sparsity", [None, 0.03 * UNIT**2])
def test_distances_four_times_as_long_change_nothing_but_the_unit(method, sparsity):
    _, d = spoilt(5, missing=0.1)
    one, other = pose(d, 2)[0], pose(4 * d, 2)[0]
    near = method(sparsity=sparsity).solve(one)
    far = method(sparsity=sparsity and 16 * sparsity).solve(other)
    np.testing.assert_array_equal(other.to_user(far.points), 4 * one.to_user(near.points))
    assert len(far.history) == len(near.history)
    assert far.history[-1].cut == 16 * near.history[-1].cut


def test_a_weight_of_0_is_the_same_as_not_measured():
    _, d = spoilt(6)
    gone = spoilt(6, missing=0.15)[1]
    W = random_weights(6, 20)
    zeros = np.where(np.isnan(gone), 0.0, W)
    one = last(Fsmds(), pose(d, 2, weights=zeros)[0])
    other = last(Fsmds(), pose(gone, 2, weights=W)[0])
    np.testing.assert_array_equal(one.D, other.D)
    assert not one.S[np.isnan(gone)].any()


def test_weights_four_times_as_large_change_nothing():
    _, d = spoilt(7)
    W = random_weights(7, 20)
    one, other = (last(Fsmds(), pose(d, 2, weights=weights)[0]) for weights in (W, 4 * W))
    np.testing.assert_array_equal(one.D, other.D)


def test_pairs_of_more_weight_are_fitted_better():
    _, d = spoilt(8, share=0.0)
    W = np.ones_like(d)
    W[:3, :3] = 30.0
    misfit = []
    for weights in (None, W):
        problem, _ = pose(d, 2, weights=weights)
        X = problem.to_user(last(Fsmds(sparsity=1e3 * UNIT**2), problem).points)[:3]
        misfit.append(np.linalg.norm(cdist(X, X) - d[:3, :3]))
    assert misfit[1] < 0.7 * misfit[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_cleaned_distances_keep_within_their_bounds(weighted):
    _, d = spoilt(9, missing=0.1)
    problem, _ = pose(d, 2, weights=random_weights(9, 20) if weighted else None)
    lower, upper = 0.5 * UNIT, 2.0 * UNIT
    free, kept = (last(Fsmds(**bounds), problem) for bounds in ({}, {"lower": lower, "upper": upper}))
    pairs = np.triu_indices(20, 1)
    cleaned = np.sqrt(kept.D[pairs]) / problem.unit
    assert cleaned.min() >= lower * (1 - 1e-12)
    assert cleaned.max() <= upper * (1 + 1e-12)
    assert free.D[pairs].min() < (lower * problem.unit) ** 2
    assert free.D[pairs].max() > (upper * problem.unit) ** 2
    np.testing.assert_array_equal(np.diagonal(kept.D), 0.0)


@both
def test_a_fit_begins_where_it_is_told_to(method):
    X, d = clean(10)
    problem, _ = pose(d, 2)
    first = problem.to_working(UNIT * (X + 0.1))
    state = method().start(problem, first)
    np.testing.assert_allclose(state.E, cdist(first, first) ** 2, rtol=0, atol=1e-14)


@both
def test_the_longest_distances_have_no_part_in_the_start(method):
    _, d = spoilt(16)
    longer = d.copy()
    longer[0, 1:3] = longer[1:3, 0] = 30 * UNIT
    E, other = (method().start(of, None).E / of.unit**2 for of in (pose(d, 2)[0], pose(longer, 2)[0]))
    assert other.max() < 1.5 * E.max()


@both
def test_the_cut_only_falls(method):
    X, d = spoilt(11, noise=0.02, share=0.2)
    problem, _ = pose(d, 2)
    # From the true points, whose residuals have the smallest median, the first step leads away.
    for first in (None, problem.to_working(UNIT * X)):
        cuts = [state.cut for state in states(method(), problem, first)]
        assert all(after <= before for before, after in pairwise(cuts))


@both
def test_while_the_cut_has_to_fall_nothing_is_settled(method):
    problem, _ = pose(spoilt(14)[1], 2)
    end = last(method(), problem)._replace(step_norm=0.0)
    assert method().settled(end)
    assert not method().settled(end._replace(floor=end.cut / 2))


@both
def test_the_cut_ends_at_the_given_lambda(method):
    _, d = spoilt(11)
    problem, _ = pose(d, 2)
    settings = method(sparsity=0.02 * UNIT**2)
    cuts = [state.cut for state in states(settings, problem)]
    assert cuts[-1] * settings._scale == pytest.approx(0.02 * (UNIT * problem.unit) ** 2, rel=1e-12)  # noqa: SLF001


@both
def test_without_a_lambda_the_cut_ends_at_the_median_residual(method):
    _, d = spoilt(12)
    problem, _ = pose(d, 2)
    state = last(method(), problem)
    pairs = np.triu_indices(20, 1)
    middle = np.median(np.abs(state.given.seen - state.E)[pairs])
    assert 0.9 * state.cut <= middle <= 1.1 * state.cut
    assert state.n_outliers == np.count_nonzero(state.S[pairs])
    kept = (state.given.seen - state.S - state.E)[pairs]
    assert state.residual == pytest.approx(np.sqrt(np.mean(kept**2)), rel=1e-12)


@both
def test_a_step_that_broke_says_so(method):
    problem, _ = pose(spoilt(13)[1], 2)
    state = method().start(problem, None)
    broken = state._replace(E=state.E * np.nan, ahead=state.E * np.nan)
    assert not np.isfinite(method().step(problem, broken).step_norm)


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        (Fsmds, {"sparsity": 0.0}, "sparsity must be finite, at least"),
        (Fsmds, {"penalty": 0.0}, "penalty must lie between 1e-06 and 1e[+]06: got 0"),
        (Fsmds, {"lower": -1.0}, "lower must be finite, at least 0: got -1"),
        (Fsmds, {"lower": np.inf}, "lower must be finite"),
        (Fsmds, {"lower": 2.0, "upper": 1.0}, "upper must be finite, at least 2: got 1"),
        (Fsmds, {"upper": np.nan}, "upper must be finite"),
        (Fsmds, {"max_steps": 0}, "max_steps must be finite, at least 1: got 0"),
        (Fsmds, {"tol": -1.0}, "tol must be finite, at least 0: got -1"),
        (Ssmds, {"sparsity": -1.0}, "sparsity must be finite, at least"),
        (Ssmds, {"max_steps": 1.5}, "max_steps must be a whole number: got 1.5"),
        (Ssmds, {"tol": np.nan}, "tol must be finite"),
    ],
)
def test_settings_are_checked(method, settings, message):
    with pytest.raises(InputError, match=f"^{message}"):
        method(**settings)
