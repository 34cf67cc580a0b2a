"""The paper's plus sign: how often its points are found, without any parameter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import robustmds as rm

PLUS = rm.datasets.plus_sign()
SIZE = np.linalg.norm(PLUS - PLUS.mean(axis=0), axis=1).max()


def error(points):
    """Return how far the worst point lies off, relative to the farthest from the centre."""
    return np.linalg.norm(rm.align(points, PLUS) - PLUS, axis=1).max() / SIZE


@pytest.mark.parametrize(("share", "n_draws", "at_least"), [(0.1, 20, 20), (0.2, 100, 99), (0.3, 40, 38)])
def test_one_distance_in_so_many_wrong_does_no_harm(share, n_draws, at_least):
    table = squareform(pdist(PLUS))
    n_found = 0
    for seed in range(n_draws):
        spoilt = rm.datasets.corrupt(table, share, size=40.0, random_state=seed)
        result = rm.robust_mds(spoilt.distances)
        found = np.zeros_like(spoilt.wrong)
        found[result.suspects().i, result.suspects().j] = True
        n_found += error(result.points) < 1e-6 and (found == np.triu(spoilt.wrong)).all()
    assert n_found >= at_least


def test_rmds_aap_with_the_papers_threshold_finds_them_all_the_same():
    table = squareform(pdist(PLUS))
    method = rm.methods.RmdsAap(threshold=1.2 * table.max() ** 2, decay=0.8, floor=0.0)
    for seed in range(20):
        spoilt = rm.datasets.corrupt(table, 0.2, size=40.0, random_state=seed)
        assert error(rm.robust_mds(spoilt.distances, method=method).points) < 1e-6
