"""Majorization: steps that never go up, and where they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from robustmds.api import pose
from robustmds.errors import InputError
from robustmds.losses import LOSSES, Huber
from robustmds.methods import Hqmmds, Rmds, Smacof, Tmds
from robustmds.methods.majorization import LEAST_ERRORS, NODE
from robustmds.methods.triangles import limit
from robustmds.result import Status

SEEDS = range(3)
CASES = pytest.mark.parametrize("case", ["complete", "missing", "weighted"])


def drawn(seed, case="complete", n=25, share=0.1, noise=0.02):
    """Return points, their distances with some wrong, and weights or None."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    e = np.where(rng.random((n, n)) < share, rng.uniform(0, 3, (n, n)), noise * rng.normal(size=(n, n)))
    d = np.triu(np.abs(cdist(X, X) + e), 1)
    W = np.triu(rng.uniform(0.2, 5.0, (n, n)), 1)
    if case == "missing":
        d[np.triu(rng.random((n, n)) < 0.3, 1)] = np.nan
    return X, d + d.T, (W + W.T if case == "weighted" else None)


def posed(seed, case, **rest):
    _, d, W = drawn(seed, case, **rest)
    problem, _ = pose(d, 2, weights=W)
    seen = d * problem.unit
    np.fill_diagonal(seen, np.nan)
    return problem, seen, np.ones_like(d) if W is None else W


def residuals(seen, X):
    return seen - cdist(X, X)


def total(values):
    """Return the sum over the measured pairs, each once."""
    return np.nansum(np.triu(values, 1))


def slope(function, X, h=1e-6):
    """Return the gradient of a function of the points by central differences."""
    G = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = h
        G[place] = (function(X + step) - function(X - step)) / (2 * h)
    return G


# SMACOF


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_is_the_transform_of_guttman(seed):
    problem, seen, _ = posed(seed, "complete")
    method = Smacof()
    state = method.start(problem, None)
    X, n = state.points, len(seen)
    B = -np.nan_to_num(seen / cdist(X, X))
    np.fill_diagonal(B, 0.0)
    np.fill_diagonal(B, -B.sum(axis=1))
    np.testing.assert_allclose(method.step(problem, state).points, B @ X / n, rtol=0, atol=1e-12)


@CASES
def test_a_step_goes_against_the_slope_of_the_stress(case):
    problem, seen, W = posed(0, case)
    method = Smacof()
    state = method.start(problem, None)
    X, P = state.points, method.step(problem, state).points - state.points
    weights = np.where(np.isnan(seen), 0.0, W)
    V = np.diag(weights.sum(axis=1)) - weights
    G = slope(lambda X: total(W * residuals(seen, X) ** 2) / 2, X)
    # Exactly without weights; otherwise conjugate gradients stop before the end.
    np.testing.assert_allclose(
        V @ P, -G, rtol=0, atol=(1e-7 if case == "complete" else 0.05) * np.linalg.norm(G)
    )


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_the_stress_never_rises(seed, case):
    problem, seen, W = posed(seed, case)
    method = Smacof()
    state = method.start(problem, None)
    before = np.inf
    for _ in range(60):
        now = total(W * residuals(seen, state.points) ** 2)
        assert now <= before * (1 + 1e-12)
        before, state = now, method.step(problem, state)


@CASES
def test_at_the_end_the_slope_of_the_stress_is_zero(case):
    problem, seen, W = posed(1, case)
    run = Smacof(tol=1e-10, max_steps=20_000).solve(problem)
    assert run.status is Status.CONVERGED
    G = slope(lambda X: total(W * residuals(seen, X) ** 2) / 2, run.points)
    assert np.abs(G).max() < 1e-6 * np.nansum(W)


# The sparse errors of RMDS


@pytest.mark.parametrize("case", ["complete", "missing"])
@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_fixed_penalty_the_objective_never_rises(seed, case):
    problem, seen, _ = posed(seed, case)
    method = Rmds(penalty=0.2)
    state = method.start(problem, None)
    cut = state.least
    assert cut == pytest.approx(0.1 * problem.unit)
    state, before = state._replace(cut=cut), np.inf
    for _ in range(60):
        now = total(Huber(cut).rho(residuals(seen, state.points)))
        assert now <= before * (1 + 1e-12)
        before, state = now, method.step(problem, state)
        assert state.cut == cut


def test_at_the_end_errors_and_points_are_optimal():
    problem, seen, _ = posed(0, "complete")
    method = Rmds(penalty=0.2, tol=1e-9, max_steps=20_000)
    run = method.solve(problem)
    assert run.status is Status.CONVERGED
    half, e = 0.1 * problem.unit, residuals(seen, run.points)
    o = np.sign(e) * np.maximum(np.abs(e) - half, 0.0)
    # What is left beside an error is half the penalty, with its sign; beside none, at most that.
    np.testing.assert_allclose((e - o)[o != 0], half * np.sign(o[o != 0]), rtol=1e-9)
    assert run.history[-1].n_outliers == np.count_nonzero(np.triu(np.nan_to_num(o), 1)) > 0
    G = slope(lambda X: total((seen - o - cdist(X, X)) ** 2) / 2, run.points)
    assert np.abs(G).max() < 1e-6 * len(seen)


def test_without_a_penalty_it_falls_until_so_many_pairs_have_an_error():
    problem, _, _ = posed(0, "complete")
    for share in (0.2, 0.5):
        history = Rmds(outlier_share=share).solve(problem).history
        assert history[0].n_outliers < 0.05 * problem.n_measured
        np.testing.assert_allclose(history[-1].n_outliers, share * problem.n_measured, rtol=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_structured_objective_never_rises(seed):
    problem, seen, _ = posed(seed, "complete")
    method = Rmds(penalty=0.2, structured=True)
    state = method.start(problem, None)
    cut, known = state.least, ~np.isnan(seen)
    node = NODE * cut * np.sqrt(len(seen))
    least = LEAST_ERRORS * cut * np.sqrt(len(seen))

    def objective(X, o):
        norms = np.linalg.norm(o, axis=1)
        # Below a least norm the square root goes over into a square.
        cost = np.where(norms >= least, norms, (norms**2 + least**2) / (2 * least))
        return total((residuals(seen, X) - o) ** 2 / 2 + cut * np.abs(o)) + node * cost.sum()

    state, before = method.step(problem, state._replace(cut=cut)), np.inf
    for _ in range(60):
        e = np.where(known, residuals(seen, state.points), 0.0)
        o = np.sign(e) * np.maximum(np.abs(e) - cut, 0.0) / (1 + state.ridge[:, None] + state.ridge)
        new = method.step(problem, state)
        now = objective(new.points, o)
        assert now <= before * (1 + 1e-12)
        before, state = now, new
        np.testing.assert_allclose(new.ridge, node / np.maximum(np.linalg.norm(o, axis=1), least), rtol=1e-9)


# Half-quadratic minimisation


@CASES
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("form", ["multiplicative", "additive"])
def test_at_a_fixed_scale_the_loss_never_rises(form, loss, case):
    problem, seen, W = posed(2, case)
    method = Hqmmds(loss=loss, form=form)
    scale = 0.2 * problem.unit
    state, before = method.start(problem, None)._replace(cut=scale, least=scale), np.inf
    for _ in range(60):
        now = total(W * LOSSES[loss](scale).rho(residuals(seen, state.points)))
        assert now <= before * (1 + 1e-12)
        before, state = now, method.step(problem, state)
        assert state.cut == scale


@CASES
@pytest.mark.parametrize("form", ["multiplicative", "additive"])
def test_a_step_solves_the_system_of_its_form(form, case):
    problem, seen, W = posed(2, case)
    method = Hqmmds(form=form)
    scale = 0.2 * problem.unit
    state = method.start(problem, None)._replace(cut=scale, least=scale)
    P = method.step(problem, state).points - state.points
    loss, e = LOSSES["welsch"](scale), np.nan_to_num(residuals(seen, state.points))
    weights = np.where(np.isnan(seen), 0.0, W) * (loss.weight(e) if form == "multiplicative" else 1.0)
    V = np.diag(weights.sum(axis=1)) - weights
    G = slope(lambda X: total(W * loss.rho(residuals(seen, X))), state.points)
    np.testing.assert_allclose(V @ P, -G, rtol=0, atol=0.05 * np.linalg.norm(G))


@CASES
@pytest.mark.parametrize("form", ["multiplicative", "additive"])
def test_both_forms_end_where_the_slope_of_the_loss_is_zero(form, case):
    problem, seen, W = posed(3, case)
    run = Hqmmds(form=form, tol=1e-9, max_steps=20_000).solve(problem)
    assert run.status is Status.CONVERGED
    loss = LOSSES["welsch"](run.history[-1].cut * problem.unit)
    G = slope(lambda X: total(W * loss.rho(residuals(seen, X))), run.points)
    assert np.abs(G).max() < 1e-5 * np.nansum(W) / len(seen)


def test_the_scale_ends_at_so_many_deviations_of_the_residuals():
    problem, seen, _ = posed(0, "complete", n=60)
    for deviations in (1.5, 3.0):
        run = Hqmmds(deviations=deviations).solve(problem)
        median = np.median(np.abs(residuals(seen, run.points)[np.triu_indices(60, 1)]))
        np.testing.assert_allclose(
            run.history[-1].cut * problem.unit, deviations * median / 0.6745, rtol=0.05
        )


def test_a_point_that_nothing_pulls_at_stays_where_it_is():
    X, _, _ = drawn(0)
    d = cdist(X, X)
    d[7, :7] = d[:7, 7] = d[7, :7] + 0.7
    d[7, 8:] = d[8:, 7] = d[7, 8:] + 0.7
    problem, _ = pose(d, 2)
    method = Hqmmds()
    scale = 0.1 * problem.unit  # of 0.7, which then has the weight 1e-21
    start = problem.to_working(X + 1e-3 * np.random.default_rng(0).normal(size=X.shape))
    state = method.start(problem, start)._replace(cut=scale, least=scale)
    moved = np.linalg.norm(method.step(problem, state).points - state.points, axis=1)
    assert moved[7] < 0.1 * np.delete(moved, 7).min()


@pytest.mark.parametrize("method", [Hqmmds(), Hqmmds(loss="cauchy"), Rmds(), Tmds()])
def test_wrong_distances_do_less_harm_than_to_least_squares(method):
    for seed in SEEDS:
        X, d, _ = drawn(seed, n=40)
        problem, _ = pose(d, 2)
        true = cdist(X, X)
        off = [
            np.abs(cdist(points, points) - true).max()
            for points in (problem.to_user(m.solve(problem).points) for m in (method, Smacof()))
        ]
        assert off[0] < 0.4 * off[1]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (Rmds, {"penalty": 0.0}),
        (Rmds, {"outlier_share": 1.5}),
        (Rmds, {"decay": 1.0}),
        (Hqmmds, {"loss": "square"}),
        (Hqmmds, {"form": "both"}),
        (Hqmmds, {"deviations": 0.0}),
        (Smacof, {"tol": -1.0}),
        (Smacof, {"max_steps": 0}),
        (Tmds, {"slack": -0.1}),
        (Tmds, {"tol": np.nan}),
    ],
)
def test_settings_that_make_no_sense_are_refused(method, settings):
    with pytest.raises(InputError, match=f"^{next(iter(settings))} must"):
        method(**settings)


# Triangles


@pytest.mark.parametrize(
    ("histogram", "expected"),
    [
        ([10], 0),  # nothing is broken
        ([6, 3, 1, 2, 0], 2),  # half are reached at 0; it rises after 2
        ([6, 7, 1], 2),  # half are reached at 1, and it does not rise again
        ([1, 2, 3, 9, 4, 5], 4),
        ([6, 0, 0, 1, 2], 2),
        ([3, 2, 5], 1),  # exactly half
    ],
)
def test_the_limit_is_where_the_histogram_rises_after_half_of_the_pairs(histogram, expected):
    assert limit(np.array(histogram)) == expected


def test_a_distance_that_breaks_triangles_is_left_out():
    X, d, _ = drawn(0, share=0.0, noise=0.0)
    d[3, 7] = d[7, 3] = 9.0
    problem, _ = pose(d, 2)
    run = Tmds().solve(problem)
    np.testing.assert_allclose(cdist(*2 * [problem.to_user(run.points)]), cdist(X, X), rtol=0, atol=1e-5)
    assert run.history[-1].n_outliers >= 1
    listed, _ = pose(csr_array(np.triu(d, 1)), 2)
    assert Tmds().solve(listed).history[-1].n_outliers == run.history[-1].n_outliers
    with_slack = replace(Tmds(), slack=1e6).solve(problem)
    assert with_slack.history[-1].n_outliers == 0
