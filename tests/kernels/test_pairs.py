"""Every kernel against its reference, on every layout: within a few roundings of what was summed up."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from robustmds.kernels import N_BINS, Pull, Rows, pairs, reference, triangles
from robustmds.losses import LOSSES

BOUND = 64 * np.finfo(float).eps
LAYOUTS = ["square", "later rows", "stored pairs", "weighted", "squared", "float32", "long rows"]


def make_rows(layout, rng):
    """Return a block of rows in some layout, with nan among its values, and the number of points."""
    n = 2500 if layout == "long rows" else 41
    distances = rng.uniform(0.1, 3.0, (n, n))
    distances[rng.random((n, n)) < 0.2] = np.nan
    first, n_rows = (5, 17) if layout == "later rows" else (0, 20 if layout == "long rows" else n)
    block = distances[first : first + n_rows]
    columns, weights, starts = None, None, np.arange(n_rows + 1) * n
    if layout in {"stored pairs", "weighted"}:
        stored = rng.random(block.shape) < 0.4
        stored[3] = False  # a row without pairs
        columns = np.nonzero(stored)[1].astype(np.int32)
        starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
        weights = None
        if layout == "weighted":
            weights = np.where(rng.random(columns.size) < 0.1, 0.0, rng.uniform(0.5, 2.0, columns.size))
        block = block[stored]
    values = np.ascontiguousarray(block).ravel()
    values = values.astype(np.float32) if layout == "float32" else values
    return Rows(values, starts, columns, weights, first, 0.5, layout == "squared"), n


@pytest.fixture(params=LAYOUTS)
def rows_and_n(request):
    return make_rows(request.param, np.random.default_rng(0))


@pytest.fixture(params=[2, 4, 6])
def lines(request, rows_and_n):
    rng = np.random.default_rng(1)
    return rng.normal(scale=0.6, size=(2, request.param, rows_and_n[1]))


def outputs(rows, r, n_sums):
    n_rows = rows.starts.size - 1
    return [np.full((r, n_rows), np.nan)] + [np.full(n_rows, np.nan) for _ in range(n_sums)]


def both(name, rows, *arguments, n_sums=0):
    """Return what the kernel writes and what its reference writes."""
    r = arguments[0].shape[0]
    seen, meant = outputs(rows, r, n_sums), outputs(rows, r, n_sums)
    getattr(pairs, name)(rows, *arguments, *seen)
    getattr(reference, name)(rows, *arguments, *meant)
    return seen, meant


def assert_close(seen, meant, n):
    for a, b in zip(seen, meant, strict=True):
        scale = max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a, b, rtol=0, atol=BOUND * scale * np.sqrt(n))


def test_kept_product(rows_and_n, lines):
    rows, n = rows_and_n
    points, basis = lines
    seen, meant = both("kept_product_rows", rows, points, basis, 1.3, n_sums=2)
    assert 0 < meant[2].sum() < rows.values.size
    assert_close(seen, meant, n)


@pytest.mark.parametrize("band", [(-0.5, 0.5), (-0.3, 1.0), (-np.inf, np.inf)])
def test_stress(rows_and_n, lines, band):
    rows, n = rows_and_n
    points, _ = lines
    assert_close(*both("stress_rows", rows, points, Pull(None, None, *band), n_sums=3), n)


@pytest.mark.parametrize("loss", LOSSES.values())
def test_stress_of_a_loss(rows_and_n, lines, loss):
    rows, n = rows_and_n
    points, _ = lines
    seen, meant = both("stress_rows", rows, points, Pull(loss.code, None, 0.2, 0.4), n_sums=3)
    assert 0 < meant[2].sum() < rows.values.size
    assert_close(seen, meant, n)


def test_stress_beside_errors(rows_and_n, lines):
    rows, n = rows_and_n
    points, _ = lines
    ridge = np.random.default_rng(3).uniform(0.0, 2.0, n)
    seen, meant = both("stress_rows", rows, points, Pull(None, ridge, -0.3, 0.3), n_sums=3)
    assert 0 < meant[2].sum() < rows.values.size
    assert_close(seen, meant, n)


@pytest.mark.parametrize("loss", [None, *LOSSES.values()])
def test_laplacian(rows_and_n, lines, loss):
    rows, n = rows_and_n
    points, direction = lines
    assert_close(*both("laplacian_rows", rows, points, direction, loss and loss.code, 0.4), n)


def test_broken_triangles(rows_and_n):
    rows, n = rows_and_n
    rng = np.random.default_rng(3)
    judges = rng.uniform(0.1, 1.5, (n, 7))
    judges[rng.random(judges.shape) < 0.2] = np.nan
    seen, meant = np.full((2, rows.values.size), np.nan)
    triangles.broken_rows(rows, judges, 1.05, seen)
    reference.broken_rows(rows, judges, 1.05, meant)
    assert len(np.unique(meant)) > 3
    np.testing.assert_array_equal(seen, meant)


@pytest.mark.parametrize("band", [(-0.5, 0.5), (-0.3, 1.0)])
def test_stress_curvature(rows_and_n, lines, band):
    rows, n = rows_and_n
    points, direction = lines
    assert_close(*both("stress_curvature_rows", rows, points, direction, band), n)


def test_residual_histogram(rows_and_n, lines):
    rows, _ = rows_and_n
    points, _ = lines
    seen, meant = np.zeros((3, 2, N_BINS), np.int64), np.zeros((3, 2, N_BINS), np.int64)
    pairs.residual_histogram_rows(rows, points, seen)
    reference.residual_histogram_rows(rows, points, meant)
    # Residuals at the edge of a bin may fall on either side.
    assert np.abs(np.cumsum(seen.sum(axis=0) - meant.sum(axis=0), axis=1)).max() <= 2
    assert seen.sum() == meant.sum() > 0


@pytest.mark.parametrize("n", [2, 7, 300])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_spreading_a_condensed_vector(n, dtype):
    condensed = np.random.default_rng(5).uniform(1, 99, n * (n - 1) // 2).astype(dtype)
    for begin, end in [(0, n), (0, 1), (n - 1, n), (n // 3, n // 2 + 1)]:
        seen, meant = np.empty((2, end - begin, n))
        pairs.spread_rows(condensed, begin, seen)
        reference.spread_rows(condensed, begin, meant)
        np.testing.assert_array_equal(seen, meant)


def test_the_gradient_is_the_slope_of_the_loss():
    rows, n = make_rows("square", np.random.default_rng(2))
    # Symmetric, so that a pair's two entries pull both its points the same way.
    square = rows.values.reshape(n, n)
    rows = rows._replace(values=np.minimum(square, square.T).ravel())
    rng = np.random.default_rng(3)
    points, direction, step = rng.normal(size=(2, n)), rng.normal(size=(2, n)), 1e-6

    def loss(X):
        gradient, *sums = outputs(rows, 2, 3)
        pairs.stress_rows(rows, X, Pull(None, None, -9.0, 9.0), gradient, *sums)
        return sums[0].sum(), gradient

    slope = (loss(points + step * direction)[0] - loss(points - step * direction)[0]) / (2 * step)
    # The loss of all rows counts every pair twice; the gradient's row counts it once.
    np.testing.assert_allclose(2 * (loss(points)[1] * direction).sum(), slope, rtol=1e-7)


def test_no_bit_depends_on_whether_the_code_was_in_the_cache(tmp_path):
    # This file as a program: the first time it compiles, the second time it finds what the first compiled.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, __file__]
    compiled, found = (subprocess.check_output(command, env=environment) for _ in range(2))
    assert len(compiled) > 0
    assert compiled == found
    assert list(tmp_path.rglob("*.nbc"))


if __name__ == "__main__":
    rng, n = np.random.default_rng(4), 400
    rows = Rows(rng.uniform(0.1, 3.0, n * n), np.arange(n + 1) * n, None, None, 0, 0.5, False)  # noqa: FBT003
    sums = outputs(rows, 4, 2)
    pairs.kept_product_rows(rows, *rng.normal(size=(2, 4, n)), 1.3, *sums)
    sys.stdout.buffer.write(b"".join(one.tobytes() for one in sums))
