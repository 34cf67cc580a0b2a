"""The scikit-learn estimator: scikit-learn's own checks, and that it is the same engine."""

from __future__ import annotations

import pickle
import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import robustmds as rm

POINTS = np.random.default_rng(0).random((40, 2))
SPOILT = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.05, random_state=1)

CHECKS = [
    pytest.param(estimator, check, id=f"{estimator.metric}-{check.func.__name__}")
    for metric in ("precomputed", "euclidean")
    for estimator, check in estimator_checks_generator(rm.RobustMDS(metric=metric))
]


# On the random features of the checks, points in the plane leave most distances unexplained; and of a sparse
# matrix in another format scikit-learn says that it did not look at it.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:Can't check .* sparse matrix for nan or inf:UserWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_has_nothing_against_it(estimator, check):
    check(estimator)


def test_it_is_the_engine_of_robust_mds():
    estimator = rm.RobustMDS().fit(SPOILT.distances)
    result = rm.robust_mds(SPOILT.distances)
    np.testing.assert_array_equal(estimator.embedding_, result.points)
    assert estimator.suspects_.to_dict() == result.suspects().to_dict()
    assert (estimator.noise_, estimator.n_iter_) == (result.noise, len(result.history))
    np.testing.assert_array_equal(rm.RobustMDS().fit_transform(SPOILT.distances), result.points)


@pytest.mark.parametrize("parameter", [{"method": "rmds-aap"}, {"outlier_sign": "too-long"}, {"noise": 0.01}])
def test_every_parameter_arrives(parameter):
    seen = rm.RobustMDS(**parameter).fit(SPOILT.distances).result_
    expected = rm.robust_mds(SPOILT.distances, **parameter)
    np.testing.assert_array_equal(seen.points, expected.points)
    assert seen.settings == expected.settings


def test_squared_distances_can_be_given():
    seen = rm.RobustMDS(squared=True).fit_transform(SPOILT.distances**2)
    np.testing.assert_allclose(seen, rm.RobustMDS().fit_transform(SPOILT.distances), rtol=0, atol=1e-9)


def test_features_are_given_with_a_metric():
    features = np.random.default_rng(2).normal(size=(30, 2)) @ [[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]]
    points = make_pipeline(StandardScaler(), rm.RobustMDS(metric="euclidean")).fit_transform(features)
    np.testing.assert_allclose(pdist(points), pdist(StandardScaler().fit_transform(features)), rtol=1e-9)


def test_labels_of_a_data_frame_reach_the_result():
    names = [f"p{k}" for k in range(40)]
    frame = pd.DataFrame(SPOILT.distances, index=names, columns=names)
    estimator = rm.RobustMDS().set_output(transform="pandas")
    points = estimator.fit_transform(frame)
    assert estimator.result_.labels == tuple(names)
    assert list(points.columns) == ["robustmds0", "robustmds1"]
    assert list(points.index) == names


def test_a_fit_that_did_not_settle_is_warned_of():
    method = rm.methods.RmdsAap(max_steps=2)
    with pytest.warns(ConvergenceWarning, match=r"MAX_STEPS: The number of steps ran out"):
        rm.RobustMDS(method=method).fit(SPOILT.distances)


def test_a_fitted_estimator_survives_a_pickle():
    estimator = rm.RobustMDS().fit(SPOILT.distances)
    copy = pickle.loads(pickle.dumps(estimator))  # noqa: S301 - our own
    np.testing.assert_array_equal(copy.embedding_, estimator.embedding_)
    assert copy.suspects_.to_dict() == estimator.suspects_.to_dict()
    assert clone(estimator).get_params() == estimator.get_params()


def test_its_docstring_explains_its_parameters_in_the_words_of_robust_mds():
    text = rm.RobustMDS.__doc__
    assert not re.search(r"\{\w+\}", text)
    for name in signature(rm.RobustMDS).parameters:
        assert re.search(rf"^{name} : ", text, re.MULTILINE), name
    assert "Whether the distances are squared ones." in text
