"""The front door: what it accepts, refuses and passes on."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist, squareform

import robustmds as rm
from robustmds.errors import InputError, UnsupportedError

POINTS = np.random.default_rng(0).random((40, 2))
SPOILT = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.05, random_state=1)
UPPER = np.triu_indices(40, 1)


def error(result, points=POINTS):
    return np.abs(result.align_to(points).points - points).max()


FORMS = {
    "square": lambda D: D,
    "a nested list": lambda D: D.tolist(),
    "condensed": lambda D: D[UPPER],
    "sparse": scipy.sparse.csr_array,
    "pairs": lambda D: rm.Pairs(*UPPER, D[UPPER]),
    "labelled": lambda D: rm.Labelled(D, tuple(f"p{k}" for k in range(40))),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_answer(form):
    expected = rm.robust_mds(SPOILT.distances)
    result = rm.robust_mds(FORMS[form](SPOILT.distances))
    np.testing.assert_allclose(result.points, expected.points, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(result.suspects().i, expected.suspects().i)


def test_squared_distances_give_the_same_answer():
    result = rm.robust_mds(SPOILT.distances**2, squared=True)
    np.testing.assert_allclose(result.points, rm.robust_mds(SPOILT.distances).points, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        result.suspects().measured, rm.robust_mds(SPOILT.distances).suspects().measured
    )


@pytest.mark.parametrize("method", rm.METHODS)
def test_every_method_finds_clean_points_exactly(method):
    result = rm.robust_mds(pdist(POINTS), method=method)
    assert result.status is rm.Status.CONVERGED
    assert result.method == method
    assert error(result) < 1e-9
    assert len(result.suspects()) == 0


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_points_of_any_dimension_are_found(r):
    points = np.random.default_rng(r).normal(size=(60, r))
    spoilt = rm.datasets.corrupt(squareform(pdist(points)), 0.02, size=2.0, random_state=r)
    assert error(rm.robust_mds(spoilt.distances, r), points) < 1e-9


def test_missing_distances_do_no_harm():
    spoilt = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.03, missing=0.2, random_state=2)
    result = rm.robust_mds(spoilt.distances)
    assert result.n_measured == 40 * 39 / 2 - round(0.2 * 40 * 39 / 2)
    assert error(result) < 1e-9


def test_settings_can_be_given_instead_of_a_name():
    method = rm.methods.RmdsAap(decay=0.9)
    result = rm.robust_mds(SPOILT.distances, method=method)
    assert (result.method, result.settings["decay"]) == ("rmds-aap", 0.9)


def test_all_ones_are_no_weights():
    weighted = rm.robust_mds(SPOILT.distances, weights=np.ones((40, 40)))
    np.testing.assert_array_equal(weighted.points, rm.robust_mds(SPOILT.distances).points)


def test_a_weight_of_zero_is_a_missing_distance():
    weights, missing = np.ones((40, 40)), SPOILT.distances.copy()
    weights[0, 1] = weights[1, 0] = 0.0
    missing[0, 1] = missing[1, 0] = np.nan
    weighted = rm.robust_mds(SPOILT.distances, weights=weights)
    np.testing.assert_allclose(weighted.points, rm.robust_mds(missing).points, rtol=0, atol=1e-9)
    assert weighted.n_measured == 40 * 39 / 2 - 1


def test_a_heavier_pair_is_fitted_more_closely():
    distances = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.0, noise=0.01, random_state=3).distances
    heavy = np.ones((40, 40))
    heavy[0, 1] = heavy[1, 0] = 1000.0

    def residual(weights):
        result = rm.robust_mds(distances, weights=weights)
        return abs(distances[0, 1] - np.linalg.norm(result.points[0] - result.points[1]))

    assert residual(heavy) < 0.1 * residual(None)


def test_a_known_sign_lets_no_pair_of_the_other_sign_be_suspected():
    distances = rm.datasets.corrupt(
        squareform(pdist(POINTS)), 0.05, sign="any", noise=0.01, random_state=4
    ).distances
    signs = {sign: np.sign(rm.robust_mds(distances, outlier_sign=sign).suspects().residual) for sign in SIGNS}
    assert set(signs["any"]) == {-1.0, 1.0}
    assert set(signs["too-long"]) == {1.0}
    assert set(signs["too-short"]) == {-1.0}


SIGNS = ("any", "too-long", "too-short")


def test_known_noise_is_kept():
    distances = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.02, noise=0.01, random_state=5).distances
    assert rm.robust_mds(distances, noise=0.02).noise == pytest.approx(0.02, rel=1e-12)
    assert rm.robust_mds(distances).noise == pytest.approx(0.01, rel=0.1)


def test_a_start_is_begun_from():
    result = rm.robust_mds(SPOILT.distances, start=POINTS + 7.0)
    assert result.history.method[0] == "least-squares"
    # Nothing turned them: they only lost their mean.
    np.testing.assert_allclose(result.points, POINTS - POINTS.mean(axis=0), rtol=0, atol=1e-9)


def test_the_callback_sees_every_step_and_can_stop():
    seen = []

    def stop_at_five(step):
        seen.append(step)
        return len(seen) == 5

    result = rm.robust_mds(SPOILT.distances, callback=stop_at_five)
    assert result.status is rm.Status.STOPPED
    assert len(result.history) == len(seen) == 5
    assert [step.cut for step in seen] == result.history.cut.tolist()
    aligned = rm.align(result.points, seen[-1].points)
    np.testing.assert_allclose(aligned, seen[-1].points - seen[-1].points.mean(axis=0), rtol=0, atol=1e-9)


def test_nothing_that_is_passed_in_is_written_to():
    distances, start, weights = SPOILT.distances.copy(), POINTS.copy(), np.full((40, 40), 2.0)
    for array in (distances, start, weights):
        array.flags.writeable = False
    rm.robust_mds(distances, start=start, weights=weights)


def test_points_come_out_along_their_principal_axes():
    points = rm.robust_mds(SPOILT.distances).points
    spread = points.T @ points
    assert spread[0, 0] > spread[1, 1]
    assert abs(spread[0, 1]) < 1e-9 * spread[0, 0]
    np.testing.assert_allclose(points.mean(axis=0), 0, rtol=0, atol=1e-12)


def test_more_pairs_set_aside_than_kept_is_said():
    spoilt = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.6, random_state=6)
    result = rm.robust_mds(spoilt.distances, start=POINTS, noise=1e-6)
    assert error(result) < 1e-9
    assert result.outlier_share == pytest.approx(0.6, abs=0.01)
    assert result.status is rm.Status.DEGENERATE


@pytest.mark.parametrize("factor", [1e-299, 1e-30, 1e30, 1e299])
@pytest.mark.parametrize("method", rm.METHODS)
def test_tiny_and_huge_distances_work(factor, method):
    result = rm.robust_mds(factor * pdist(POINTS), method=method)
    assert error(result, factor * POINTS) < 1e-9 * factor


REFUSALS = {
    f"method must be one of {', '.join(rm.METHODS)}: got 'smacov'": {"method": "smacov"},
    "outlier_sign must be one of any, too-long, too-short: got 'long'": {"outlier_sign": "long"},
    "noise must be finite, at least 0: got -1": {"noise": -1},
    "start must be finite points of shape (40, 2): got shape (3, 2).": {"start": np.zeros((3, 2))},
    "start must be finite points of shape (40, 2): got an infinite": {"start": np.full((40, 2), np.nan)},
    "n_components must": {"n_components": 0},
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_a_parameter_out_of_range_is_refused(sentence):
    with pytest.raises(InputError) as caught:
        rm.robust_mds(SPOILT.distances, **REFUSALS[sentence])
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("method", "what", "options"),
    [
        ("rmds-aap", "weights", {"weights": np.full((40, 40), 2.0)}),
        ("classical", "weights", {"weights": np.full((40, 40), 2.0)}),
        ("rmds-aap", "the sign of outliers", {"outlier_sign": "too-long"}),
    ],
)
def test_what_a_method_cannot_use_is_refused_with_the_name_of_one_that_can(method, what, options):
    with pytest.raises(UnsupportedError) as caught:
        rm.robust_mds(SPOILT.distances, method=method, **options)
    assert str(caught.value) == f"method {method!r} cannot use {what}. Take 'auto'."


def test_classical_scaling_refuses_missing_distances():
    with pytest.raises(
        UnsupportedError, match=r"method 'classical' cannot use missing distances\. Take 'auto'\."
    ):
        rm.robust_mds(
            FORMS["pairs"](SPOILT.distances).__class__([0, 0, 1, 2], [1, 2, 2, 3], [1, 1, 1, 1.0]),
            1,
            method="classical",
        )


def test_points_of_other_shapes_cannot_be_aligned():
    with pytest.raises(InputError, match=r"points must have the shape of those they go to: got"):
        rm.align(np.zeros((3, 2)), np.zeros((4, 2)))
