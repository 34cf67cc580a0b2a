"""What must not matter: the order of the points, where they stand, the unit, and the form of the numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from robustmds.methods import Auto, RmdsAap
from robustmds.passes import MeasuredSquare
from robustmds.problem import Problem
from robustmds.result import Status

FLOOR = 0.2  # more than ten standard deviations of the longest distances, squared: no good pair is near it
METHODS = pytest.mark.parametrize("method", [RmdsAap(floor=FLOOR), Auto()])
ALL_METHODS = pytest.mark.parametrize("method", [RmdsAap(floor=FLOOR), RmdsAap(), Auto()])
SEEDS = st.integers(0, 2**20)
NOISE = 0.003
few = settings(max_examples=10, deadline=None, derandomize=True)


def drawn(seed, r=2, noise=NOISE, missing=0.1):
    """Return points, and their distances: some wrong, some missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(25, 40))
    X = rng.uniform(-1, 1, (n, r))
    d = cdist(X, X) + noise * rng.normal(size=(n, n))
    wrong, gone = rng.random((n, n)) < 0.03, rng.random((n, n)) < missing
    d = np.where(wrong, rng.uniform(0, 3, (n, n)), d)
    d[gone] = np.nan
    d = np.abs(np.triu(d, 1))
    return X, d + d.T


def problem_of(values, r=2, **rest):
    unit = 2.0 ** -float(np.floor(np.log2(np.nanmax(values))))
    measured = MeasuredSquare(n_points=len(values), values=values, unit=unit, **rest)
    n_measured = int(np.count_nonzero(~np.isnan(values[np.triu_indices(len(values), 1)])))
    largest = float(np.nanmax(values)) * unit
    if measured.squared:
        largest = np.sqrt(largest)
    return Problem(measured=measured, n_components=r, n_measured=n_measured, largest=largest)


def fitted(method, values, r=2, **rest):
    """Return the points, in the user's units, and the run."""
    problem = problem_of(values, r, **rest)
    run = method.solve(problem, None, None)
    return problem.to_user(run.points), run


def scaled(method, factor):
    """Return the settings for distances that are longer by a factor."""
    floor = getattr(method, "floor", None)
    return method if floor is None else replace(method, floor=floor * factor**2)


def assert_same_shape(points, others, rtol):
    """Compare all distances between points."""
    here, there = cdist(points, points), cdist(others, others)
    np.testing.assert_allclose(here, there, rtol=0, atol=rtol * there.max())


@few
@ALL_METHODS
@given(seed=SEEDS)
def test_the_order_of_the_points_does_not_matter(method, seed):
    _, d = drawn(seed)
    order = np.random.default_rng(seed).permutation(len(d))
    points, run = fitted(method, d)
    others, other_run = fitted(method, d[np.ix_(order, order)])
    assert_same_shape(others, points[order], 1e-9)
    assert other_run.status is run.status
    # A least-squares fit may try once more or less where the loss falls by no more than rounding.
    assert other_run.history[-1].n_outliers == run.history[-1].n_outliers


@few
@METHODS
@given(seed=SEEDS, r=st.integers(1, 3), shift=st.floats(-10, 10))
def test_where_the_points_stand_does_not_matter(method, seed, r, shift):
    X, d = drawn(seed, r, noise=0.0)
    turn = ortho_group.rvs(r, random_state=seed) if r > 1 else -np.eye(1)
    moved = X @ turn + shift
    # The same errors on the distances of the moved points, which are the same but for rounding.
    there = d - cdist(X, X) + cdist(moved, moved)
    assert_same_shape(fitted(method, there, r)[0], fitted(method, d, r)[0], 1e-6)


@few
@ALL_METHODS
@given(seed=SEEDS, power=st.integers(-400, 400))
def test_a_power_of_two_changes_no_bit(method, seed, power):
    _, d = drawn(seed)
    points, run = fitted(method, d)
    others, other_run = fitted(scaled(method, 2.0**power), np.ldexp(d, power))
    np.testing.assert_array_equal(others, np.ldexp(points, power))
    assert other_run.status is run.status
    assert [step.n_outliers for step in other_run.history] == [step.n_outliers for step in run.history]


@few
@METHODS
@given(seed=SEEDS, factor=st.floats(0.01, 100.0))
def test_another_unit_changes_next_to_nothing(method, seed, factor):
    _, d = drawn(seed)
    points, _ = fitted(method, d)
    assert_same_shape(fitted(scaled(method, factor), factor * d)[0], factor * points, 1e-6)


@few
@METHODS
@given(seed=SEEDS)
def test_single_precision_gives_nearly_the_same(method, seed):
    _, d = drawn(seed)
    # Rounded to 6e-8 of themselves, and a pair at the edge may change sides: a hundred times that.
    assert_same_shape(fitted(method, d.astype(np.float32))[0], fitted(method, d)[0], 6e-6)


@few
@METHODS
@given(seed=SEEDS)
def test_squared_distances_give_the_same(method, seed):
    _, d = drawn(seed)
    assert_same_shape(fitted(method, d**2, squared=True)[0], fitted(method, d)[0], 1e-6)


@few
@pytest.mark.parametrize("method", [RmdsAap(decay=0.9, floor=0.0), Auto()])
@given(seed=SEEDS, missing=st.floats(0.0, 0.2))
def test_missing_pairs_leave_the_points_where_they_are(method, seed, missing):
    X, d = drawn(seed, noise=0.0, missing=missing)
    points, run = fitted(method, d)
    assert run.status is Status.CONVERGED
    # A thousand times the move at which the points count as settled, or more.
    assert_same_shape(points, X, 1e-6)


@few
@METHODS
@given(seed=SEEDS, filler=st.floats(0.0, 1e6))
def test_what_stands_where_nothing_was_measured_does_not_matter(method, seed, filler):
    # Of weight 0 is not measured, whatever the number; the other weights are one.
    _, d = drawn(seed)
    gone = np.isnan(d)
    problem = problem_of(d)
    filled = MeasuredSquare(
        n_points=len(d), values=np.where(gone, filler, d), weights=1.0 - gone, unit=problem.unit
    )
    others = method.solve(replace(problem, measured=filled), None, None)
    np.testing.assert_array_equal(others.points, method.solve(problem, None, None).points)
