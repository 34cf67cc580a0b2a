"""RMDS-AAP without n x n arrays takes the steps of the plain transcription, which forms all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds.datasets import corrupt
from robustmds.edm import A, algorithm_1
from robustmds.linalg import one_blas_thread
from robustmds.methods import RmdsAap
from robustmds.passes import MeasuredSquare
from robustmds.problem import Problem

N_SEEDS = 100
RTOL = 1e-9  # of the largest entry; rounding is 1e-16, and a hundred steps add it up
MOST_STEPS = 50
SHARES = [0.0, 0.05, 0.1, 0.2, 0.3]
LAST_CUT = 1e-8  # of the largest squared distance: from here on the good residuals are rounding or nearly so
ROUNDING = 1e-11  # of the same: a residual so near to the cut may fall on either side of it
RANK = 1e-9  # of the largest eigenvalue: with less, the tangent space is any


def drawn(seed):
    """Return distances, the dimension, and settings."""
    rng = np.random.default_rng(seed)
    n, r, decay = int(rng.integers(10, 151)), 1 + seed % 4, float(rng.uniform(0.5, 0.95))
    X = rng.normal(size=(n, r)) * rng.uniform(0.5, 2.0, r)
    d = cdist(X, X)
    threshold = 1.2 * d.max() ** 2
    share = SHARES[seed % len(SHARES)]
    if share:
        d = corrupt(d, share, sign="any", random_state=rng).distances
    if seed % 3 == 0:
        e = np.triu(rng.normal(scale=0.01, size=(n, n)), 1)
        d = np.abs(d + e + e.T)
    return d, r, RmdsAap(threshold=threshold, decay=decay, floor=0.0)


def compare(seed):
    """Compare step by step; return the number of steps, and why there were no more if that needs a reason."""
    d, r, method = drawn(seed)
    n = len(d)
    unit = 2.0 ** -float(np.floor(np.log2(d.max())))
    measured = MeasuredSquare(n_points=n, values=d, unit=unit)
    problem = Problem(measured=measured, n_components=r, n_measured=n * (n - 1) // 2)
    D, cut = (d * unit) ** 2, method.threshold * unit**2
    plain = algorithm_1(D, r, cut, method.decay)
    (_, L), state = next(plain), method.start(problem, None)
    for k in range(MOST_STEPS + 1):
        where = f"seed {seed}, L^{k + 1} of {n} points in {r} dimensions"
        X = state.points
        np.testing.assert_allclose(X @ X.T, L, rtol=0, atol=RTOL * np.abs(L).max(), err_msg=where)
        cut *= method.decay
        if cut < LAST_CUT * D.max():
            break
        if state.eigenvalues[-1] <= RANK * state.eigenvalues[0]:
            return k, "rank"
        if np.abs(np.abs(D - A(L)) - cut).min() <= ROUNDING * D.max():
            return k, "near the cut"
        (S, L), state = next(plain), method.step(problem, state)
        assert state.n_outliers == np.count_nonzero(S) / 2, where
        np.testing.assert_allclose(state.cut, cut, rtol=1e-12)
    return k, ""


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_every_step_is_that_of_the_transcription(r):
    with one_blas_thread():
        compared = [compare(seed) for seed in range(r - 1, N_SEEDS, 4)]
    # Steps beyond which the two may part for good reason are rare: nearly all went all the way.
    assert sum(reason != "" for _, reason in compared) <= 0.08 * len(compared)
    assert sum(k for k, _ in compared) > 25 * len(compared)
