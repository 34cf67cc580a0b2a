"""Methods side by side: what is measured, and what a failure looks like."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

import robustmds as rm
from robustmds.comparison import NEAR


def spoilt(seed=0, n=25):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 2))
    return X, rm.datasets.corrupt(cdist(X, X), 0.05, random_state=seed, noise=0.001).distances


def test_every_method_has_a_row_in_the_order_of_the_table():
    _, d = spoilt()
    table = rm.compare(d)
    assert table.method.tolist() == list(rm.METHODS)
    assert (table.seconds > 0).all()
    assert rm.compare(d, methods=["rmds", "auto"]).method.tolist() == ["rmds", "auto"]


def test_the_numbers_are_those_of_the_results():
    X, d = spoilt()
    names = ["auto", "smacof", "hqmmds"]
    table = rm.compare(d, methods=names, truth=X)
    results = [rm.robust_mds(d, method=name) for name in names]
    seen = d[np.triu_indices(25, 1)]
    for row, result in zip(table, results, strict=True):
        residual = seen - pdist(result.points)
        np.testing.assert_allclose(row.stress, np.sqrt((residual**2).sum() / (seen**2).sum()), rtol=1e-9)
        assert (row.set_aside, row.noise) == (result.outlier_share, result.noise)
        off = result.align_to(X).points - X
        np.testing.assert_allclose(row.error, np.sqrt((off**2).sum(axis=1).mean()), rtol=1e-9)
        assert row.status == result.status.name
        size = np.linalg.norm(X - X.mean(axis=0))
        near = [
            np.linalg.norm(other.align_to(result.points).points - result.points) <= NEAR * size
            for other in results
        ]
        assert row.agrees_with == sum(near) - 1
    assert table[0].agrees_with > 0


def test_without_the_truth_there_is_no_error():
    assert np.isnan(rm.compare(spoilt()[1], methods=["auto"]).error).all()


@pytest.mark.parametrize("name", [int, str])  # a file has words
def test_the_truth_of_some_points_will_do(name):
    X, d = spoilt()
    known = {name(k): X[k] for k in (0, 3, 7, 9)}
    row = rm.compare(d, methods=["auto"], truth=known)[0]
    own = rm.robust_mds(d).align_to({k: X[k] for k in (0, 3, 7, 9)}).points[[0, 3, 7, 9]]
    np.testing.assert_allclose(
        row.error, np.sqrt(((own - X[[0, 3, 7, 9]]) ** 2).sum(axis=1).mean()), rtol=1e-9
    )


def test_a_method_that_cannot_is_a_row_with_its_reason():
    _, d = spoilt()
    d[2, 5] = d[5, 2] = np.nan
    row = rm.compare(d, methods=["classical", "smacof"])[0]
    assert row.status == "cannot use missing distances"
    assert np.isnan([row.seconds, row.stress, row.set_aside, row.noise, row.error]).all()
    assert row.agrees_with == 0


@pytest.mark.parametrize(
    ("methods", "sentence"),
    [(["magic"], "methods must be one of auto"), (["auto", "auto"], "methods must name every method once")],
)
def test_names_that_make_no_sense_are_refused(methods, sentence):
    with pytest.raises(rm.InputError, match=f"^{sentence}"):
        rm.compare(spoilt()[1], methods=methods)


def test_input_that_cannot_be_used_is_refused_before_any_method_runs():
    told = []
    with pytest.raises(rm.InputError, match="square"):
        rm.compare(np.ones((3, 4)), tell=told.append)
    assert told == []


def test_the_method_whose_turn_it_is_is_told():
    told = []
    rm.compare(spoilt()[1], methods=["smacof", "auto"], tell=told.append)
    assert told == ["smacof", "auto"]
