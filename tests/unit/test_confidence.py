"""Noise, share and probabilities: from residuals whose law is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds.confidence import RESIDUALS, SIZES, Mixture, mixture
from robustmds.kernels import BINS_PER_OCTAVE
from robustmds.methods.least_squares import LeastSquares
from robustmds.passes import EVERYTHING, NOTHING, MeasuredSquare, residual_histogram
from robustmds.problem import Problem

N, R = 150, 6  # in six dimensions no distance is so small that noise could make it negative
N_PAIRS = N * (N - 1) // 2
N_FREE = N * R - R * (R + 1) // 2
PROBABILITIES = [0.01, 0.1, 0.5, 0.9, 0.99]


def given(values, n_components=2, **rest):
    """Return the problem of a square array of distances."""
    n = len(values)
    unit = 2.0 ** -float(np.floor(np.log2(values.max())))
    measured = MeasuredSquare(n_points=n, values=values, unit=unit)
    n_measured = int((~np.isnan(values)).sum() - n) // 2
    return Problem(measured=measured, n_components=n_components, n_measured=n_measured, **rest)


def true_points():
    return np.random.default_rng(0).normal(size=(N, R))


SPREAD = 15.0  # wrong distances lie anywhere up to here; true ones up to about half of it


def simulated(seed, noise, share, toward=0):
    """Return distances with normal errors, a share of them wrong, and how many those are."""
    rng = np.random.default_rng(seed)
    d = cdist(true_points(), true_points())
    true = d[np.triu_indices(N, 1)]
    wrong = rng.random(N_PAIRS) < share
    low, high = (true if toward > 0 else 0.0), (true if toward < 0 else SPREAD)
    seen = np.where(wrong, rng.uniform(low, high, N_PAIRS), true + noise * rng.normal(size=N_PAIRS))
    d[np.triu_indices(N, 1)] = seen
    d = np.triu(d) + np.triu(d).T
    assert (d >= 0).all()
    return d, int(wrong.sum())


def found(d, **rest):
    """Return the mixture at the true points, in the user's units but for the share."""
    problem = given(d, R, **rest)
    law = mixture(problem, problem.to_working(true_points()))
    return law._replace(noise=law.noise / problem.unit)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.02])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.45])
def test_noise_and_share_are_found_within_a_few_standard_errors(noise, share, seed):
    d, n_wrong = simulated(seed, noise, share)
    law = found(d)
    n_good = N_PAIRS - n_wrong
    # At the true points nothing of the noise was taken up, but the estimate corrects for what a fit takes.
    expected = noise * np.sqrt(n_good / (n_good - N_FREE))
    hidden = n_wrong * 8 * noise / SPREAD  # wrong, and yet within four standard deviations
    extra = hidden * 16 / 3 / n_good  # by how much these can widen the good, relative to the variance
    np.testing.assert_allclose(law.noise, expected, rtol=5 / np.sqrt(2 * n_good) + extra / 2)
    error = 5 * np.sqrt(N_PAIRS * share) / N_PAIRS + hidden / N_PAIRS
    np.testing.assert_allclose(law.share, n_wrong / N_PAIRS, rtol=0, atol=error)


@pytest.mark.parametrize("noise", [1e-6, 0.02, 0.1])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.45])
def test_what_the_law_says_of_the_residuals_gives_the_law_again(noise, share):
    # The likeliest law is a fixed point of expectation and maximisation. A bin is 1/32 of its octave wide,
    # and the rounds end at a change of 1e-6.
    d, _ = simulated(0, noise, share)
    problem = given(d, R)
    law = mixture(problem, problem.to_working(true_points()))
    residuals = (d - cdist(true_points(), true_points()))[np.triu_indices(N, 1)] * problem.unit
    good = 1 - law.probability(residuals)
    np.testing.assert_allclose(1 - good.mean(), law.share, rtol=1e-3)
    again = np.sqrt((good * residuals**2).sum() / (good.sum() - N_FREE))
    np.testing.assert_allclose(again, law.noise, rtol=1e-3)


def test_the_noise_that_the_points_took_up_is_counted():
    n, noise, sq_noise = 40, 0.01, []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        e = np.triu(noise * rng.normal(size=(n, n)), 1)
        problem = given(np.abs(cdist(X, X) + e + e.T))
        fitted = LeastSquares().solve(problem, problem.to_working(X)).points
        sq_noise.append((mixture(problem, fitted).noise / problem.unit / noise) ** 2)
    # The variance of a variance of that many residuals, averaged over the draws; without the correction the
    # mean would be lower by a tenth.
    n_left = n * (n - 1) / 2 - 2 * n + 3
    np.testing.assert_allclose(np.mean(sq_noise), 1.0, rtol=0, atol=4 * np.sqrt(2 / n_left / 20))


@pytest.mark.parametrize("noise", [1e-3, 0.02, 0.1])
def test_a_known_noise_is_kept(noise):
    d, _ = simulated(0, 0.02, 0.1)
    np.testing.assert_allclose(found(d, noise=noise).noise, noise, rtol=1e-14)


def test_a_larger_known_noise_leaves_fewer_wrong():
    d, _ = simulated(0, 0.02, 0.1)
    shares = [found(d, noise=noise).share for noise in [0.01, 0.02, 0.05, 0.2]]
    assert (np.diff(shares) < 0).all()


def test_a_known_noise_of_nothing_is_the_resolution():
    d, _ = simulated(0, 0.02, 0.1)
    problem = given(d, R, noise=0.0)
    assert mixture(problem, problem.to_working(true_points())).noise == problem.resolution


@pytest.mark.parametrize(("sign", "toward"), [("too-long", 1), ("too-short", -1)])
def test_residuals_of_the_other_sign_are_beyond_suspicion(sign, toward):
    d, n_wrong = simulated(0, 0.01, 0.1, toward)
    law = found(d, outlier_sign=sign)
    np.testing.assert_allclose(law.share, n_wrong / N_PAIRS, rtol=0.15)
    residuals = np.array([-1.0, -0.1, 0.1, 1.0])
    np.testing.assert_array_equal(law.probability(residuals) > 0.5, residuals * toward > 0)
    np.testing.assert_array_equal(law.probability(residuals)[residuals * toward < 0], 0.0)
    edge = law.band()[1 if toward > 0 else 0]
    assert 0 < toward * edge < 0.1
    assert law.band()[0 if toward > 0 else 1] == -toward * np.inf


@pytest.mark.parametrize(
    ("sign", "low", "high"), [("any", -1.5, 1.5), ("too-long", 0.0, 1.5), ("too-short", -1.5, 0.0)]
)
def test_the_wrong_are_spread_as_far_as_the_largest_distance(sign, low, high):
    law = found(simulated(0, 0.01, 0.1)[0], outlier_sign=sign, largest=1.5)
    assert (law.low, law.high) == (low, high)


def test_of_either_sign_both_are_suspicious():
    law = found(simulated(0, 0.01, 0.1)[0])
    assert (law.probability(np.array([-1.0, -0.1, 0.1, 1.0])) > 0.99).all()
    assert law.band()[0] == -law.band()[1]


def test_the_largest_residual_there_can_be_is_the_most_suspicious():
    X = np.random.default_rng(0).normal(size=(30, 2)) / 4
    for seed in range(10):
        rng = np.random.default_rng(seed)
        e = np.triu(0.01 * rng.normal(size=(30, 30)), 1)
        d = np.abs(cdist(X, X) + e + e.T)
        d[2, 7] = d[7, 2] = rng.uniform(2.0, 4.0)
        problem = given(d)
        law = mixture(problem, problem.to_working(X))
        assert law.probability(problem.unit * (d - cdist(X, X)))[2, 7] > 0.99


LAWS = [
    Mixture(0.01, 0.1, -2.0, 2.0),
    Mixture(0.01, 0.001, -0.5, 1.5),
    Mixture(0.3, 0.6, -2.0, 2.0),
    Mixture(1e-15, 1e-6, -2.0, 2.0),
]
ONE_SIDED = [Mixture(0.01, 0.1, 0.0, 2.0), Mixture(0.01, 0.1, -2.0, 0.0)]


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("law", LAWS)
def test_at_the_edge_of_the_band_a_pair_is_as_likely_wrong_as_was_asked(law, probability):
    low, high = law.band(probability)
    assert low == -high
    if high > 0:
        np.testing.assert_allclose(law.probability(np.array([low, high])), probability, rtol=1e-9)
    else:
        # Even without a residual a pair is as suspicious as that.
        assert law.probability(np.zeros(1))[0] >= probability


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("law", LAWS + ONE_SIDED)
def test_outside_the_band_are_the_pairs_that_are_likelier_wrong(law, probability):
    # Without 0, which no band leaves outside.
    residuals = np.linspace(-1.7, 1.7, 20000) * min(1.0, 40 * law.noise)
    low, high = law.band(probability)
    likely = law.probability(residuals)
    outside = (residuals < low) | (residuals > high)
    decided = np.abs(likely - probability) > 1e-9
    np.testing.assert_array_equal(outside[decided], likely[decided] > probability)


@pytest.mark.parametrize("law", LAWS + ONE_SIDED)
def test_the_band_grows_with_the_probability(law):
    for lower, higher in pairwise(PROBABILITIES):
        assert law.band(higher)[0] <= law.band(lower)[0] <= 0
        assert law.band(higher)[1] >= law.band(lower)[1] >= 0


def test_every_pair_is_wrong_with_probability_zero_and_none_with_more_than_one():
    assert LAWS[0].band(0.0) == NOTHING
    assert LAWS[0].band(1.0) == EVERYTHING


@pytest.mark.parametrize("law", LAWS + ONE_SIDED)
def test_probabilities_lie_between_zero_and_one_however_large_the_residual(law):
    likely = law.probability(np.array([-2.0, -1e-200, 0.0, 1e-200, 1e-16, 1e-3, 2.0]))
    assert ((likely >= 0) & (likely <= 1)).all()


def test_without_noise_it_is_the_resolution_and_one_error_stands_out():
    X = true_points()
    d = cdist(X, X)
    clean = given(d, R)
    law = mixture(clean, clean.to_working(X))
    # Rounding of the distances themselves is all there is.
    assert clean.resolution <= law.noise < 10 * clean.resolution
    assert law.band()[1] < 1000 * clean.resolution
    d[3, 8] = d[8, 3] = d[3, 8] + 1e-9
    problem = given(d, R)
    law = mixture(problem, problem.to_working(X))
    likely = law.probability(problem.unit * (d - cdist(X, X)))
    assert np.argwhere(np.triu(likely > 0.5)).tolist() == [[3, 8]]
    np.testing.assert_allclose(law.share, 1 / N_PAIRS, rtol=0.1)


def test_distances_that_are_all_equal_and_fitted_have_no_noise():
    X = np.eye(4) / np.sqrt(2)
    problem = given(np.ones((4, 4)) - np.eye(4), 3)
    law = mixture(problem, X @ np.linalg.svd(X - X.mean(axis=0))[2][:3].T)
    assert law.noise <= 10 * problem.resolution
    assert law.share == 0.5 / 6


def test_residuals_that_are_all_equal_give_a_finite_law():
    problem = given(np.ones((10, 10)) - np.eye(10))
    law = mixture(problem, np.zeros((10, 2)))
    assert np.isfinite(law).all()
    assert law.noise >= problem.resolution
    assert np.isfinite(law.probability(np.ones(1))).all()


@pytest.mark.parametrize("power", [-300, -7, 1, 300])
def test_a_power_of_two_changes_no_bit(power):
    d, _ = simulated(0, 0.02, 0.1)
    here, there = given(d, R), given(np.ldexp(d, power), R)
    X = true_points()
    assert there.unit == np.ldexp(here.unit, -power)
    assert mixture(here, here.to_working(X)) == mixture(there, there.to_working(np.ldexp(X, power)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_the_share_of_the_wrong_is_never_zero(noise, seed):
    share = found(simulated(seed, noise, 0.0)[0]).share
    assert 0.5 / N_PAIRS <= share < 5 / N_PAIRS


def test_the_share_of_the_wrong_is_never_one():
    X = np.random.default_rng(0).normal(size=(30, 2))
    problem = given(cdist(X, X), noise=1e-9)
    law = mixture(problem, problem.to_working(np.roll(X, 7, axis=0)))
    assert law.share == 1 - 0.5 / 435
    assert np.isfinite(law.band()).all()


def test_missing_pairs_take_no_part():
    d, _ = simulated(0, 0.02, 0.1)
    missing = np.triu(np.random.default_rng(1).random((N, N)) < 0.4, 1)
    d[missing | missing.T] = np.nan
    unit = 2.0 ** -float(np.floor(np.log2(np.nanmax(d))))
    n_measured = N_PAIRS - int(missing.sum())
    problem = Problem(
        measured=MeasuredSquare(n_points=N, values=d, unit=unit), n_components=R, n_measured=n_measured
    )
    law = mixture(problem, problem.to_working(true_points()))
    expected = 0.02 * np.sqrt(0.9 * n_measured / (0.9 * n_measured - N_FREE))
    np.testing.assert_allclose(law.noise / unit, expected, rtol=5 / np.sqrt(2 * 0.9 * n_measured) + 0.02)
    np.testing.assert_allclose(law.share, 0.1, rtol=0, atol=5 * np.sqrt(0.09 / n_measured) + 0.012)


def test_every_residual_is_taken_for_one_within_its_bin():
    X = np.zeros((2, 1))
    for size in [1e-15, 0.3, 1.0, 1.999]:
        measured = MeasuredSquare(n_points=2, values=np.array([[0.0, size], [size, 0.0]]))
        taken = RESIDUALS[residual_histogram(measured, X) > 0]
        np.testing.assert_allclose(taken, size, rtol=0.5 / BINS_PER_OCTAVE)
    assert SIZES[0] == 0
    assert (np.diff(SIZES) > 0).all()
