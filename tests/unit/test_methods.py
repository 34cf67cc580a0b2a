"""The loop with tiny methods, and what every method promises by itself."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds.errors import InputError
from robustmds.linalg import motion
from robustmds.methods import METHODS, Auto, Classical, RmdsAap
from robustmds.methods._run import Iterative
from robustmds.methods.least_squares import LeastSquares
from robustmds.passes import MeasuredSquare
from robustmds.problem import Problem
from robustmds.result import Status

SEEDS = range(5)


def given(values, n_components=2, **rest):
    """Return the problem of a square array of distances, nan where not measured."""
    n = len(values)
    unit = 2.0 ** -float(np.floor(np.log2(np.nanmax(values))))
    measured = MeasuredSquare(n_points=n, values=values, unit=unit, **rest)
    n_measured = int(np.count_nonzero(~np.isnan(values[np.triu_indices(n, 1)])))
    return Problem(measured=measured, n_components=n_components, n_measured=n_measured)


def noisy(seed, n=30, r=2, noise=0.05, missing=0.0):
    """Return points and their distances with normal errors, some of them missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, r))
    X -= X.mean(axis=0)
    e = np.triu(rng.normal(scale=noise, size=(n, n)), 1) if noise else np.zeros((n, n))
    d = np.abs(cdist(X, X) + e + e.T)
    gone = np.triu(rng.random((n, n)) < missing, 1)
    d[gone | gone.T] = np.nan
    return X, d


def error(problem, points, X):
    """Return the largest distance from a point to the true one, relative to the size of the true points."""
    found = problem.to_user(points)
    R, t, _ = motion(found, X)
    return np.abs(found @ R + t - X).max() / np.abs(X).max()


# The loop


class Counted(NamedTuple):
    points: np.ndarray
    k: int = 0
    cut: float = 8.0
    residual: float = 4.0
    n_outliers: int = 3
    step_norm: float = 0.25


@dataclass(frozen=True, kw_only=True)
class Counting(Iterative[Counted]):
    """Points that say which step they come from; it settles or fails when it is told to."""

    name: ClassVar[str] = "counting"
    summary: ClassVar[str] = "for tests"
    power: ClassVar[int] = 1
    max_steps: int = 10
    settles_at: int = 1000
    fails_at: int = 1000
    failure: float | type[Exception] = np.nan

    def start(self, problem, points):
        first = np.zeros((problem.n_points, problem.n_components)) if points is None else points
        return Counted(first)

    def step(self, problem, state):  # noqa: ARG002 - as it must be
        points = state.points + 1
        if state.k + 1 == self.fails_at:
            if isinstance(self.failure, type):
                raise self.failure
            points[-1, -1] = self.failure
        moved = float(np.abs(points - state.points).max())
        return Counted(points, state.k + 1, step_norm=moved / 4)

    def settled(self, state):
        return state.k >= self.settles_at


class CountingSquares(Counting):
    power: ClassVar[int] = 2


PROBLEM = given(4.0 * (1 - np.eye(3)))


def test_the_loop_ends_when_the_points_have_settled():
    run = Counting(settles_at=4).solve(PROBLEM)
    assert run.status is Status.CONVERGED
    assert len(run.history) == 4
    np.testing.assert_array_equal(run.points, 4.0)


def test_the_loop_ends_when_the_steps_run_out():
    run = Counting(max_steps=7).solve(PROBLEM)
    assert run.status is Status.MAX_STEPS
    assert len(run.history) == 7
    np.testing.assert_array_equal(run.points, 7.0)


def test_settling_with_the_last_step_is_settling():
    assert Counting(max_steps=7, settles_at=7).solve(PROBLEM).status is Status.CONVERGED


def test_the_loop_begins_where_it_is_told_to():
    run = Counting(max_steps=2).solve(PROBLEM, np.full((3, 2), 5.0))
    np.testing.assert_array_equal(run.points, 7.0)


def test_a_callback_that_returns_true_stops_with_the_points_it_saw():
    seen = []

    def callback(step):
        seen.append(step)
        return len(seen) == 3

    run = Counting().solve(PROBLEM, None, callback)
    assert run.status is Status.STOPPED
    assert len(run.history) == len(seen) == 3
    np.testing.assert_array_equal(run.points, 3.0)
    np.testing.assert_array_equal(seen[-1].points, PROBLEM.to_user(run.points))


def test_a_callback_that_returns_nothing_stops_nothing():
    assert Counting(settles_at=4).solve(PROBLEM, None, lambda _: None).status is Status.CONVERGED


@pytest.mark.parametrize("failure", [np.nan, np.inf, -np.inf, np.linalg.LinAlgError])
def test_a_breakdown_returns_the_points_before_it(failure):
    seen = []
    run = Counting(fails_at=4, failure=failure).solve(PROBLEM, None, seen.append)
    assert run.status is Status.BREAKDOWN
    assert len(run.history) == len(seen) == 3
    np.testing.assert_array_equal(run.points, 3.0)


def test_a_breakdown_in_the_first_step_returns_the_start():
    run = Counting(fails_at=1).solve(PROBLEM, np.full((3, 2), 5.0))
    assert run.status is Status.BREAKDOWN
    assert run.history == ()
    np.testing.assert_array_equal(run.points, 5.0)


def test_a_mistake_is_not_taken_for_a_breakdown():
    with pytest.raises(ZeroDivisionError):
        Counting(fails_at=2, failure=ZeroDivisionError).solve(PROBLEM)


def test_a_history_row_holds_the_numbers_of_its_step_and_no_points():
    run = Counting(settles_at=2).solve(PROBLEM)
    for row in run.history:
        assert row.method == "counting"
        assert (row.n_outliers, row.step_norm) == (3, 0.25)
        assert row.points is None


@pytest.mark.parametrize(("method", "power"), [(Counting, 1), (CountingSquares, 2)])
@pytest.mark.parametrize("largest", [4.0, 0.125])
def test_a_step_is_seen_in_the_users_units(method, power, largest):
    problem, seen = given(largest * (1 - np.eye(3))), []
    run = method(settles_at=2).solve(problem, None, seen.append)
    assert problem.unit == 1 / largest
    for step, row in zip(seen, run.history, strict=True):
        assert step.cut == row.cut == 8.0 * largest**power
        assert step.residual == row.residual == 4.0 * largest**power
    np.testing.assert_array_equal(seen[1].points, 2.0 * largest)


def test_units_whose_square_overflows_do_not_break_the_history():
    problem = given(2.0**-600 * (1 - np.eye(3)))
    assert CountingSquares(settles_at=1).solve(problem).history[0].cut == 0.0


@pytest.mark.parametrize("name", METHODS)
def test_settings_hold_no_data_and_can_be_compared_and_hashed(name):
    method = METHODS[name]()
    assert method == METHODS[name]()
    assert hash(method) == hash(METHODS[name]())
    assert METHODS[name].name == name
    assert METHODS[name].summary
    with pytest.raises(AttributeError):
        method.decay = 0.5


# RMDS-AAP


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"threshold": 0.0}, "threshold must be finite, at least 2.22507e-308: got 0.0."),
        ({"threshold": np.inf}, "threshold must be finite, at least 2.22507e-308: got inf."),
        ({"threshold": np.nan}, "threshold must be finite, at least 2.22507e-308: got nan."),
        ({"decay": 1.0}, "decay must lie between 0.01 and 0.999: got 1.0."),
        ({"decay": 0.0}, "decay must lie between 0.01 and 0.999: got 0.0."),
        ({"decay": np.nan}, "decay must lie between 0.01 and 0.999: got nan."),
        ({"floor": -1.0}, "floor must be finite, at least 0: got -1.0."),
        ({"floor": np.inf}, "floor must be finite, at least 0: got inf."),
        ({"max_steps": 0}, "max_steps must be finite, at least 1: got 0."),
        ({"max_steps": 2.5}, "max_steps must be a whole number: got 2.5."),
        ({"tol": -1e-9}, "tol must be finite, at least 0: got -1e-09."),
    ],
)
def test_a_setting_out_of_its_range_is_refused_in_a_sentence(settings, sentence):
    with pytest.raises(InputError) as caught:
        RmdsAap(**settings)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "settings", [{"decay": 0.01}, {"decay": 0.999}, {"floor": 0.0}, {"tol": 0.0}, {"max_steps": np.int64(1)}]
)
def test_a_setting_at_the_edge_of_its_range_is_taken(settings):
    RmdsAap(**settings)


def spoilt(seed, share=0.05, **rest):
    X, d = noisy(seed, n=60, **rest)
    rng = np.random.default_rng(seed + 100)
    wrong = np.triu(rng.random(d.shape) < share, 1)
    e = np.where(wrong, rng.uniform(0.5, 4.0, d.shape), 0.0)
    return X, d + e + e.T, wrong


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_of_a_step_are_those_at_the_points_it_began_from(seed):
    X, d, _ = spoilt(seed)
    problem, seen = given(d), []
    RmdsAap(threshold=1.2 * cdist(X, X).max() ** 2).solve(problem, None, seen.append)
    upper = np.triu_indices(60, 1)
    for before, step in pairwise(seen):
        residual = (d**2 - cdist(before.points, before.points) ** 2)[upper]
        kept = np.abs(residual) <= step.cut
        assert step.n_outliers == (~kept).sum()
        np.testing.assert_allclose(step.residual, np.sqrt(np.mean(residual[kept] ** 2)), rtol=1e-10)
        R, t, _ = motion(step.points, before.points)
        moved = np.linalg.norm(step.points @ R + t - before.points) / np.linalg.norm(before.points)
        np.testing.assert_allclose(step.step_norm, moved, rtol=1e-6, atol=1e-14)


def test_the_cut_falls_by_the_decay_down_to_the_floor():
    X, d, _ = spoilt(0)
    threshold = 1.2 * cdist(X, X).max() ** 2
    run = RmdsAap(threshold=threshold, decay=0.6, floor=2.0).solve(given(d))
    cuts = [step.cut for step in run.history]
    np.testing.assert_allclose(
        cuts, np.maximum(threshold * 0.6 ** np.arange(1, len(cuts) + 1), 2.0), rtol=1e-12
    )
    assert cuts[-1] == cuts[-2]
    assert run.status is Status.CONVERGED
    assert run.history[-1].step_norm <= 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_the_floor_that_is_found_spares_the_good_pairs(seed):
    # A few in a hundred of the good lie beyond three standard deviations: long distances have larger errors
    # when squared.
    X, d, wrong = spoilt(seed, noise=0.01)
    run = RmdsAap(threshold=1.2 * cdist(X, X).max() ** 2).solve(given(d))
    assert run.status is Status.CONVERGED
    n_good = 60 * 59 / 2 - wrong.sum()
    assert 0.9 * wrong.sum() < run.history[-1].n_outliers < wrong.sum() + 0.1 * n_good
    assert error(given(d), run.points, X) < 0.05


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("method", [RmdsAap(), RmdsAap(floor=0.0), Auto()])
def test_missing_and_wrong_pairs_leave_the_points_exact(method, seed):
    # 1e4 times the move at which the points count as settled.
    X, d, wrong = spoilt(seed, noise=0.0, missing=0.15)
    problem = given(d)
    run = method.solve(problem, None, None)
    assert run.status is Status.CONVERGED
    assert error(problem, run.points, X) < 1e4 * method.tol
    assert run.history[-1].n_outliers >= (wrong & ~np.isnan(d)).sum()


@pytest.mark.parametrize("n", [4, 5, 6])
def test_few_points_do_not_break_it(n):
    for seed in range(20):
        X, d = noisy(seed, n=n, noise=0.0)
        problem = given(d)
        run = RmdsAap().solve(problem)
        assert run.status is not Status.BREAKDOWN
        assert np.isfinite(run.points).all()
        assert error(problem, run.points, X) < 1e-6


def test_points_that_lie_on_a_line_are_found_in_the_plane():
    X, d = noisy(0, r=1, noise=0.0)
    problem = given(d, 2)
    for method in (RmdsAap(), Auto()):
        run = method.solve(problem, None, None)
        assert error(problem, run.points, np.hstack([X, 0 * X])) < 1e-6


# Least squares


def plain_stress(X, d, W):
    """Return the loss and its gradient."""
    difference = X[:, None] - X
    model = np.linalg.norm(difference, axis=2)
    residual = np.where(np.isnan(d), 0.0, d - model)
    pull = W * residual / np.where(model > 0, model, 1.0)
    return np.sum(W * residual**2) / 4, -(pull[:, :, None] * difference).sum(axis=1)


def some_weights(seed, n):
    W = np.triu(np.random.default_rng(seed).uniform(0.2, 5.0, (n, n)), 1)
    return W + W.T


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_gradient_vanishes_at_the_least_squares(missing, weighted, seed):
    X, d = noisy(seed, missing=missing)
    W = some_weights(seed, 30) if weighted else np.ones((30, 30))
    problem = given(d, weights=W if weighted else None)
    method = LeastSquares()
    run = method.solve(problem, problem.to_working(X))
    assert run.status is Status.CONVERGED
    points = problem.to_user(run.points)
    _, gradient = plain_stress(points, d, W)
    # The curvature is at most twice the weight of a point's pairs: times the move at which the points count
    # as settled, and a factor of a hundred.
    weight = np.where(np.isnan(d), 0.0, W).sum(axis=1).max()
    assert np.linalg.norm(gradient) <= 100 * method.tol * 2 * weight * np.linalg.norm(points)
    assert np.linalg.norm(plain_stress(X, d, W)[1]) > 1e5 * np.linalg.norm(gradient)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_points_nearby_have_a_smaller_loss(seed):
    X, d = noisy(seed)
    problem, rng, W = given(d), np.random.default_rng(seed), np.ones((30, 30))
    found = problem.to_user(LeastSquares().solve(problem, problem.to_working(X)).points)
    best = plain_stress(found, d, W)[0]
    for size in [0.3, 1e-2, 1e-4]:
        assert all(best < plain_stress(found + size * rng.normal(size=X.shape), d, W)[0] for _ in range(20))


@pytest.mark.parametrize("band", [(-np.inf, np.inf), (-0.1, 0.1), (-0.05, 0.3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_loss_never_rises(band, seed):
    _, d, _ = spoilt(seed)
    problem, method = given(d), LeastSquares(low=band[0], high=band[1])
    # From anywhere.
    state = method.start(problem, np.random.default_rng(seed).normal(size=(60, 2)))
    for _ in range(60):
        new = method.step(problem, state)
        # A move too small to matter is made without asking; the loss is then off by rounding at most.
        assert new.at.loss <= state.at.loss * (1 + 1e-12)
        state = new


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_clean_distances_give_the_points_exactly(r, seed):
    X, d = noisy(seed, r=r, noise=0.0, missing=0.2)
    problem, method = given(d, r), LeastSquares()
    # In one dimension no point can pass another on its way.
    start = X + (1e-4 if r == 1 else 0.1) * np.random.default_rng(seed).normal(size=X.shape)
    run = method.solve(problem, problem.to_working(start))
    assert run.status is Status.CONVERGED
    assert error(problem, run.points, X) < 100 * method.tol
    assert run.history[-1].residual < 1e-9


def test_weights_decide_between_distances_that_contradict_each_other():
    # a = 1, b = 1 and a + b = 2.6, of weights 1, 2 and 3, on a line: two equations in a and b.
    d = np.array([[0.0, 1.0, 2.6], [1.0, 0.0, 1.0], [2.6, 1.0, 0.0]])
    W = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    a, b = np.linalg.solve([[1 + 3, 3], [3, 2 + 3]], [1 + 3 * 2.6, 2 + 3 * 2.6])
    problem = given(d, 1, weights=W)
    run = LeastSquares().solve(problem, problem.to_working(np.array([[-1.0], [0.1], [1.2]])))
    np.testing.assert_allclose(np.diff(problem.to_user(run.points)[:, 0]), [a, b], rtol=1e-7)


def test_a_weight_of_zero_is_the_same_as_not_measured():
    X, d = noisy(0)
    gone, W = d.copy(), some_weights(0, 30)
    gone[3, 8] = gone[8, 3] = np.nan
    zero = W.copy()
    zero[3, 8] = zero[8, 3] = 0.0
    n_measured = 30 * 29 // 2 - 1
    found = []
    for values, weights in [(gone, W), (d, zero)]:
        unit = 2.0 ** -float(np.floor(np.log2(np.nanmax(d))))
        measured = MeasuredSquare(n_points=30, values=values, weights=weights, unit=unit)
        problem = Problem(measured=measured, n_components=2, n_measured=n_measured)
        found.append(LeastSquares().solve(problem, problem.to_working(X)).points)
    np.testing.assert_array_equal(*found)


def test_weights_that_are_all_one_change_nothing():
    X, d = noisy(0)
    plain, ones = given(d), given(d, weights=np.ones((30, 30)))
    start = plain.to_working(X)
    np.testing.assert_array_equal(
        LeastSquares().solve(ones, start).points, LeastSquares().solve(plain, start).points
    )


def test_the_unit_of_the_weights_changes_no_bit():
    X, d = noisy(0)
    W = some_weights(0, 30)
    one, four = given(d, weights=W), given(d, weights=4.0 * W)
    start = one.to_working(X)
    np.testing.assert_array_equal(
        LeastSquares().solve(four, start).points, LeastSquares().solve(one, start).points
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_few_steps_suffice_near_the_answer(seed):
    X, d = noisy(seed, noise=0.0, missing=0.2)
    problem = given(d)
    start = problem.to_working(X + 0.1 * np.random.default_rng(seed).normal(size=X.shape))
    run = LeastSquares().solve(problem, start)
    assert run.status is Status.CONVERGED
    assert len(run.history) <= 20


@pytest.mark.parametrize("seed", SEEDS)
def test_points_with_unequal_weights_stay_centred(seed):
    X, d = noisy(seed, noise=0.3, missing=0.3)
    problem = given(d, weights=some_weights(seed, 30))
    points = LeastSquares().solve(problem, problem.to_working(X) + 3.0).points
    np.testing.assert_allclose(points.mean(axis=0), 0.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_does_not_move_or_turn_all_points_together(seed):
    X, d = noisy(seed, noise=0.3)
    problem, method = given(d), LeastSquares()
    state = method.start(problem, problem.to_working(X) + 3.0)
    for _ in range(4):
        new = method.step(problem, state)
        P = new.points - state.points
        np.testing.assert_allclose(new.points.sum(axis=0), 0.0, rtol=0, atol=1e-12)
        turn = state.points.T @ P
        atol = 1e-12 * np.linalg.norm(state.points) * np.linalg.norm(P)
        np.testing.assert_allclose(turn, turn.T, rtol=0, atol=atol)
        state = new


def test_pairs_outside_the_band_pull_at_nothing():
    X, d = noisy(0, noise=0.0)
    d[2, 9] = d[9, 2] = d[2, 9] + 2.0
    problem = given(d)
    run = LeastSquares(low=-0.1, high=0.1).solve(problem, problem.to_working(X))
    assert run.history[-1].n_outliers == 1
    assert error(problem, run.points, X) < 1e-8
    everything = LeastSquares().solve(problem, problem.to_working(X))
    assert everything.history[-1].n_outliers == 0
    assert error(problem, everything.points, X) > 1e-2


def test_a_least_squares_fit_needs_points_to_begin_from():
    with pytest.raises(TypeError, match="begins from points"):
        LeastSquares().solve(given(noisy(0)[1]))


# Classical scaling


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("r", [1, 2, 3, 4])
@pytest.mark.parametrize("extra", [2, 26])
def test_classical_scaling_of_clean_distances_is_exact(extra, r, seed):
    X, d = noisy(seed, n=r + extra, r=r, noise=0.0)
    problem = given(d, r)
    run = Classical().solve(problem, None, None)
    assert run.status is Status.CONVERGED
    assert run.history == ()
    # Half of the digits are lost where the points nearly lie in fewer dimensions.
    assert error(problem, run.points, X) < (1e-7 if extra == 2 else 1e-10)


def test_classical_scaling_takes_negative_eigenvalues_as_zero():
    _, d, _ = spoilt(0, share=0.2)
    problem = given(d[:40, :40], 25)
    points = Classical().solve(problem, None, None).points
    assert np.isfinite(points).all()
    lam = np.linalg.eigvalsh(-0.5 * (np.eye(40) - 1 / 40) @ d[:40, :40] ** 2 @ (np.eye(40) - 1 / 40))[::-1][
        :25
    ]
    assert lam[-1] < 0
    sizes = np.linalg.norm(problem.to_user(points), axis=0) ** 2
    np.testing.assert_allclose(sizes, np.maximum(lam, 0.0), rtol=0, atol=1e-10 * lam[0])


# The default method


def test_the_default_method_finds_the_points_in_nearly_every_draw():
    # One distance in twenty is too long by half a unit to four, the others are right to a hundredth.
    n_found = 0
    for seed in range(40):
        X, d, wrong = spoilt(seed, noise=0.01)
        problem = given(d)
        run = Auto().solve(problem, None, None)
        # The best there is: least squares on the pairs that are right.
        right = given(np.where(wrong | wrong.T, np.nan, d))
        best = error(right, LeastSquares().solve(right, right.to_working(X)).points, X)
        n_found += run.status is Status.CONVERGED and error(problem, run.points, X) < 2 * best
    assert n_found >= 38


def test_the_default_method_begins_with_projections_and_ends_with_least_squares():
    _, d, _ = spoilt(0, noise=0.01)
    history = Auto().solve(given(d), None, None).history
    assert (history[0].method, history[-1].method) == ("rmds-aap", "least-squares")


def test_the_default_method_goes_on_from_points_that_are_given():
    X, d, _ = spoilt(0, noise=0.01)
    problem = given(d)
    run = Auto().solve(problem, problem.to_working(X), None)
    assert {step.method for step in run.history} == {"least-squares"}
    other = Auto().solve(problem, None, None)
    np.testing.assert_allclose(error(problem, run.points, X), error(problem, other.points, X), rtol=1e-2)


@pytest.mark.parametrize("last", [1, 5, 10**6])  # among the projections, or the first least squares
def test_the_default_method_stops_when_it_is_told_to(last):
    _, d, _ = spoilt(0, noise=0.01)
    seen = []

    def callback(step):
        seen.append(step)
        return len(seen) == last or step.method == "least-squares"

    run = Auto().solve(given(d), None, callback)
    assert run.status is Status.STOPPED
    assert len(seen) == last or [step.method for step in seen].index("least-squares") == len(seen) - 1
    assert len(run.history) == len(seen)
    np.testing.assert_array_equal(given(d).to_user(run.points), seen[-1].points)


def test_the_default_method_says_when_its_rounds_run_out():
    _, d, _ = spoilt(0, noise=0.01)
    assert Auto(max_rounds=1).solve(given(d), None, None).status is Status.MAX_STEPS
