"""Few points, many errors: one road alone often ends in a wrong place, the likeliest of several rarely."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import robustmds as rm


def draw(seed):
    points = np.random.default_rng(seed).normal(size=(30, 2))
    table = squareform(pdist(points))
    return points, rm.datasets.corrupt(table, 0.1, noise=0.01, random_state=1000 + seed).distances


def is_found(result, points):
    return np.linalg.norm(rm.align(result.points, points) - points, axis=1).max() < 0.1


def test_the_likeliest_of_several_roads_is_right_where_one_start_is_not():
    n_found, n_found_by_one = 0, 0
    for seed in range(40):
        points, distances = draw(seed)
        n_found += is_found(rm.robust_mds(distances), points)
        n_found_by_one += is_found(rm.robust_mds(distances, method="rmds-aap"), points)
    assert n_found_by_one < 36
    assert n_found >= 38


@pytest.mark.parametrize("sign", ["any", "too-long"])
def test_the_band_is_drawn_in_whatever_the_sign_of_the_errors(sign):
    _, distances = draw(0)
    history = rm.robust_mds(distances, outlier_sign=sign).history
    cuts = np.unique(history.cut[history.method == "least-squares"])
    assert np.isfinite(cuts).all()
    # Bands that are drawn in follow each other at a fixed ratio; those of the mixture do not.
    ratios = cuts[:-1] / cuts[1:]
    assert np.isclose(ratios, 0.8, rtol=1e-12).sum() >= 3


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_start_is_left_behind(seed):
    points, distances = draw(seed)
    elsewhere = np.random.default_rng(99 + seed).normal(size=points.shape)
    begun_well = rm.robust_mds(distances, start=points)
    begun_badly = rm.robust_mds(distances, start=elsewhere)
    assert is_found(begun_well, points)
    # Nothing promises that a bad start ends well, but what ends badly must look worse.
    assert is_found(begun_badly, points) or begun_badly.outlier_share > begun_well.outlier_share
