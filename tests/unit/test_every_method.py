"""What every method of the table promises, whatever it does inside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import robustmds as rm
from robustmds.methods import METHODS

every_method = pytest.mark.parametrize("method", METHODS)
ITERATIVE = [name for name in METHODS if name != "classical"]
TOL = 1e-6  # of the size of the points: what is asked of clean distances


def clean(seed, n=30, r=2):
    X = np.random.default_rng(seed).normal(size=(n, r))
    return X, cdist(X, X)


def spoilt(seed, n=30, share=0.05):
    """Return distances with some noise, of which some are too long."""
    rng = np.random.default_rng(seed)
    X, d = clean(seed, n)
    e = np.where(rng.random((n, n)) < share, rng.uniform(0, 4, (n, n)), 0.02 * rng.normal(size=(n, n)))
    d = np.triu(np.abs(d + e), 1)
    return X, d + d.T


def off(result, X):
    """Return how far the farthest point lies off, relative to the size of the true points."""
    return np.abs(result.align_to(X).points - X).max() / np.abs(X - X.mean(axis=0)).max()


@every_method
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_clean_distances_give_the_points(method, r, seed):
    X, d = clean(seed, r=r)
    result = rm.robust_mds(d, r, method=method)
    assert result.status is rm.Status.CONVERGED
    assert off(result, X) < TOL


@every_method
def test_the_order_of_the_points_does_not_matter(method):
    _, d = spoilt(0)
    order = np.random.default_rng(1).permutation(len(d))
    first = rm.robust_mds(d, method=method).points
    other = rm.robust_mds(d[np.ix_(order, order)], method=method).points
    # The tolerances at which methods settle let two ways to the same points end this far apart.
    np.testing.assert_allclose(
        cdist(other, other), cdist(first, first)[np.ix_(order, order)], rtol=0, atol=1e-4
    )


@every_method
def test_distances_twice_as_long_give_points_twice_as_far_apart_to_the_last_bit(method):
    _, d = spoilt(1)
    one, two = (rm.robust_mds(factor * d, method=method) for factor in (1.0, 2.0))
    np.testing.assert_array_equal(two.points, 2 * one.points)
    np.testing.assert_array_equal(two.history.n_outliers, one.history.n_outliers)


@every_method
def test_squared_distances_give_the_same_points(method):
    _, d = spoilt(2)
    one, other = rm.robust_mds(d, method=method), rm.robust_mds(d**2, method=method, squared=True)
    np.testing.assert_allclose(*(cdist(*2 * [r.points]) for r in (one, other)), rtol=0, atol=1e-4)


@every_method
def test_the_input_is_not_written_to(method):
    _, d = spoilt(3)
    before = d.copy()
    d.flags.writeable = False
    rm.robust_mds(d, method=method)
    np.testing.assert_array_equal(d, before)


@pytest.mark.parametrize("method", ITERATIVE)
def test_every_step_is_told_and_true_stops(method):
    _, d = spoilt(4)
    seen = []

    def callback(step):
        seen.append(step)
        return len(seen) == 3

    result = rm.robust_mds(d, method=method, callback=callback)
    assert result.status is rm.Status.STOPPED
    assert len(result.history) == len(seen) == 3
    for step in seen:
        assert np.isfinite(step.points).all()
        assert 0 <= step.n_outliers <= result.n_measured
        assert step.step_norm >= 0
    np.testing.assert_allclose(
        cdist(result.points, result.points), cdist(seen[-1].points, seen[-1].points), rtol=0, atol=1e-9
    )


@every_method
@pytest.mark.parametrize("n", [4, 5, 6])
def test_a_few_points_give_finite_points(method, n):
    _, d = spoilt(5, n=n, share=0.3)
    assert np.isfinite(rm.robust_mds(d, method=method).points).all()


@every_method
def test_missing_distances_are_used_or_refused_with_the_name_of_a_method_that_can(method):
    X, d = clean(6)
    gone = np.triu(np.random.default_rng(6).random(d.shape) < 0.15, 1)
    d[gone | gone.T] = np.nan
    if "missing" in METHODS[method].supports:
        assert off(rm.robust_mds(d, method=method), X) < 1e-3
    else:
        with pytest.raises(
            rm.UnsupportedError, match=rf"^method '{method}' cannot use missing .* Take 'auto'\.$"
        ):
            rm.robust_mds(d, method=method)


@every_method
def test_weights_are_used_or_refused_with_the_name_of_a_method_that_can(method):
    X, d = spoilt(7)
    weights = np.ones_like(d)
    weights[:4, 4:] = weights[4:, :4] = 1e-3  # beside the others, these distances do not count
    d[:4, 4:] *= 1.2
    d[4:, :4] *= 1.2
    if "weights" in METHODS[method].supports:
        plain, weighted = (rm.robust_mds(d, method=method, weights=W) for W in (None, weights))
        rest = slice(4, None)
        there = cdist(X[rest], X[rest])
        errors = [np.abs(cdist(*2 * [r.points[rest]]) - there).mean() for r in (plain, weighted)]
        assert errors[1] < errors[0]
    else:
        with pytest.raises(
            rm.UnsupportedError, match=rf"^method '{method}' cannot use weights.* Take 'auto'\.$"
        ):
            rm.robust_mds(d, method=method, weights=weights)


@every_method
def test_its_settings_say_what_they_are(method):
    settings = METHODS[method]()
    assert settings.name == method
    assert settings.summary
    assert hash(settings) == hash(METHODS[method]())
    assert repr(settings).startswith(METHODS[method].__name__)
    explained = METHODS[method].__doc__ or ""
    assert "Examples" in explained
    assert method == "auto" or "doi:" in explained or "arXiv" in explained or "https:" in explained
