"""Every pass on every form of the measured pairs: what it means, in whatever blocks and threads."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from robustmds import passes
from robustmds.kernels import BINS_PER_OCTAVE, LOWEST_OCTAVE
from robustmds.losses import LOSSES
from robustmds.passes import (
    EVERYTHING,
    NOTHING,
    MeasuredCondensed,
    MeasuredEdges,
    MeasuredSquare,
    broken_triangles,
    kept_product,
    laplacian,
    matrices,
    pairs_in,
    pairs_outside,
    residual_histogram,
    robust_stress,
    stress,
    stress_beside_errors,
    stress_curvature,
)

RTOL = 1e-12  # of the largest number
UNIT = 0.5
CUT = 1.3
BAND = (-0.5, 0.5)
WITHIN = pytest.mark.parametrize(
    ("r", "band"), [(1, BAND), (2, (-0.3, 1.0)), (3, (-np.inf, 0.4)), (4, EVERYTHING)]
)

# The layout, and what else is special.
FULL = [
    "in-place",
    "in-place own",
    "in-place some-own",
    "fortran",
    "memmap",
    "strided",
    "two-sided",
    "condensed",
]
FORMS = [
    *FULL,
    "edges",
    *(f"{layout} integers" for layout in ["in-place", "condensed", "edges"]),
    *(f"{layout} float32" for layout in ["in-place", "fortran", "two-sided", "condensed", "edges"]),
    *(f"{layout} squared" for layout in ["in-place", "fortran", "two-sided", "condensed", "edges"]),
    *(f"{layout} weighted" for layout in ["in-place", "memmap", "two-sided", "condensed", "edges"]),
    *(f"two-sided asymmetric {what}".strip() for what in ["", "weighted", "float32", "squared"]),
]


def symmetric(rng, n, low, high):
    Z = np.triu(rng.uniform(low, high, (n, n)), 1)
    return Z + Z.T


def numbers(form, n):
    """Return values and weights as square arrays, in which the directions of some pairs may differ."""
    rng = np.random.default_rng(0)
    values = symmetric(rng, n, 0.2, 6.0)
    missing = symmetric(rng, n, 0.0, 1.0) > 0.8
    weights = symmetric(rng, n, 0.5, 2.0)
    weights[5, 7] = weights[7, 5] = 0.0
    weights[3, 8] = weights[8, 3] = np.nan
    if "asymmetric" in form:
        values += rng.uniform(0.0, 0.1, (n, n))
        weights += rng.uniform(0.0, 0.1, (n, n)) * (weights > 0)
        missing |= rng.random((n, n)) < 0.1
    if "integers" in form:
        return np.round(values).astype(int), weights
    values = np.round(values * 1024) / 1024  # so that the mean of two is exact in float32
    values[missing] = np.nan
    np.fill_diagonal(values, 0.0)
    if "squared" in form:
        values **= 2
    return values.astype(np.float32 if "float32" in form else float), weights


def make(form, folder, n=41):
    """Return measured pairs, their distances in working units as a square array, and their weights."""
    layout, *special = form.split()
    values, weights = numbers(form, n)
    V, W = mean_of_two(values.astype(float)), mean_of_two(weights)
    measured_here = ~np.isnan(V)
    if "weighted" in special:
        measured_here &= W > 0
    else:
        W, weights = np.ones((n, n)), None
    np.fill_diagonal(measured_here, val=False)
    seen = np.where(measured_here, np.sqrt(V * UNIT) if "squared" in special else V * UNIT, np.nan)
    common = {"n_points": n, "unit": UNIT, "squared": "squared" in special}
    if layout == "condensed":
        upper = np.triu_indices(n, 1)
        weights = None if weights is None else weights[upper]
        return MeasuredCondensed(values=values[upper], weights=weights, **common), seen, W
    if layout == "edges":
        starts = np.concatenate([[0], np.cumsum(measured_here.sum(axis=1))])
        columns = np.nonzero(measured_here)[1].astype(np.int32)
        weights = None if weights is None else weights[measured_here]
        values = values[measured_here]
        return (
            MeasuredEdges(values=values, starts=starts, columns=columns, weights=weights, **common),
            seen,
            W,
        )
    values = laid_out(values, layout, special, folder)
    return MeasuredSquare(values=values, weights=weights, two_sided=layout == "two-sided", **common), seen, W


def laid_out(values, layout, special, folder):
    n = len(values)
    if layout == "fortran":
        return np.asfortranarray(values)
    if layout == "strided":
        wide = np.full((2 * n, 2 * n), np.nan)
        wide[::2, ::2] = values
        return wide[::2, ::2]
    if layout == "memmap":
        stored = np.memmap(folder / "values", dtype=values.dtype, mode="w+", shape=values.shape)
        stored[:] = values
        return stored
    if "own" in special or "some-own" in special:
        np.fill_diagonal(values, np.nan)
    if "some-own" in special:
        values[range(0, n, 3), range(0, n, 3)] = 0.0
    return values


def mean_of_two(Z):
    """Return the mean of the two directions, or the one that is not nan."""
    return np.where(np.isnan(Z), Z.T, np.where(np.isnan(Z.T), Z, (Z + Z.T) / 2))


def points_and_more(n, r):
    """Return points, with two in one place, and as much again to multiply by."""
    X, V = np.random.default_rng(1).normal(scale=0.6, size=(2, n, r))
    X[9] = X[2]
    return X, V


def model(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


def close(actual, desired):
    np.testing.assert_allclose(actual, desired, rtol=0, atol=RTOL * max(1.0, float(np.abs(desired).max())))


@pytest.fixture(params=FORMS)
def case(request, tmp_path):
    return make(request.param, tmp_path)


@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_the_product_is_that_of_the_kept_residuals(case, r):
    measured, seen, _ = case
    X, V = points_and_more(len(seen), r)
    residual = seen**2 - model(X) ** 2
    kept = np.abs(residual) <= CUT
    found = kept_product(measured, X, V, CUT)
    close(found.product, np.where(kept, residual, 0.0) @ V)
    close(found.sq_loss, np.sum(residual[kept] ** 2) / 2)
    assert found.n_kept == kept.sum() / 2 > 0


def test_the_matrices_hold_what_was_measured(case):
    measured, seen, W = case
    values, weights = matrices(measured)
    close(values, np.nan_to_num(seen**2))
    np.testing.assert_array_equal(weights, np.where(np.isnan(seen), 0.0, W))


def test_a_pair_is_kept_up_to_and_including_the_cut():
    values = np.array([[0.0, 2.0, 3.0], [2.0, 0.0, np.nan], [3.0, np.nan, 0.0]])
    measured, X = MeasuredSquare(n_points=3, values=values), np.zeros((3, 1))
    assert kept_product(measured, X, X, 4.0).n_kept == 1
    assert kept_product(measured, X, X, np.nextafter(4.0, 0.0)).n_kept == 0
    assert kept_product(measured, X, X, np.inf).n_kept == 2


@WITHIN
def test_the_stress_is_that_of_the_clipped_residuals(case, r, band):
    measured, seen, W = case
    X, _ = points_and_more(len(seen), r)
    residual = seen - model(X)
    kept = (band[0] <= residual) & (residual <= band[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = np.where(kept & (model(X) > 0), W * residual / model(X), 0.0)
    found = stress(measured, X, band)
    close(found.gradient, pull @ X - pull.sum(axis=1)[:, None] * X)
    close(found.loss, np.nansum(W * np.clip(residual, *band) ** 2) / 4)
    close(found.weight, np.where(kept, W, 0.0).sum(axis=1))
    np.testing.assert_array_equal(found.n_kept, kept.sum(axis=1))


@pytest.mark.parametrize("name", LOSSES)
def test_the_stress_of_a_loss_is_the_sum_over_the_pairs(case, name):
    measured, seen, W = case
    X, P = points_and_more(len(seen), 2)
    loss, residual, known = LOSSES[name](0.4), seen - model(X), ~np.isnan(seen)
    pull = np.divide(W * loss.psi(residual), model(X), out=np.zeros_like(seen), where=known & (model(X) > 0))
    found = robust_stress(measured, X, loss, 0.3)
    close(found.gradient, pull @ X - pull.sum(axis=1)[:, None] * X)
    close(found.loss, np.where(known, W * loss.rho(residual), 0.0).sum() / 2)
    share = np.where(known, W * loss.weight(residual), 0.0)
    close(found.weight, share.sum(axis=1))
    np.testing.assert_array_equal(found.n_kept, (np.abs(residual) <= 0.3).sum(axis=1))
    close(laplacian(measured, X, P, loss), share.sum(axis=1)[:, None] * P - share @ P)
    plain = np.where(known, W, 0.0)
    close(laplacian(measured, X, P), plain.sum(axis=1)[:, None] * P - plain @ P)


def test_the_errors_beside_the_stress_are_the_cheapest(case):
    measured, seen, _ = case
    X, _ = points_and_more(len(seen), 2)
    ridge, cut = np.random.default_rng(4).uniform(0.0, 1.0, len(seen)), 0.3
    residual, damping = seen - model(X), ridge[:, None] + ridge
    cost = np.full((2001, *seen.shape), np.inf)
    for k, o in enumerate(np.linspace(-5, 5, 2001)):
        cost[k] = (residual - o) ** 2 / 2 + cut * abs(o) + damping * o**2 / 2
    found = stress_beside_errors(measured, X, cut, ridge)
    best = np.nansum(np.min(cost, axis=0)) / 2
    # The grid misses the best error by at most 1/400, where the cost is at its flattest.
    assert found.loss <= best <= found.loss + np.count_nonzero(~np.isnan(seen)) / 2 * 3 / 400**2 / 2
    errors = np.where(
        np.isnan(seen), 0.0, np.linspace(-5, 5, 2001)[np.nanargmin(np.nan_to_num(cost), axis=0)]
    )
    np.testing.assert_array_equal(found.n_kept, (~np.isnan(seen) & (np.abs(residual) <= cut)).sum(axis=1))
    np.testing.assert_allclose(found.weight, (errors**2).sum(axis=1), rtol=0.01)


def test_a_triangle_is_broken_where_a_side_is_longer_than_the_others_together(case):
    measured, seen, _ = case
    n = len(seen)
    sides = np.stack(np.broadcast_arrays(seen[:, :, None], seen[:, None, :], seen[None, :, :]))
    most = sides.max(axis=0)
    broken = 2 * most - sides.sum(axis=0) > 0.05 * (sides.sum(axis=0) - most)
    expected = broken.sum(axis=2)
    assert len(np.unique(expected)) > 3
    n_seen = 0
    for rows, counts in broken_triangles(measured, np.arange(n), 1.05):
        there = pairs_in(rows, n)
        n_rows = rows.starts.size - 1
        i = rows.first + np.repeat(np.arange(n_rows), np.diff(rows.starts))
        j = np.tile(np.arange(n), n_rows) if rows.columns is None else rows.columns
        np.testing.assert_array_equal(there, ~np.isnan(seen[i, j]))
        np.testing.assert_array_equal(counts[there], expected[i, j][there])
        n_seen += there.sum()
    assert n_seen == np.count_nonzero(~np.isnan(seen))


def test_what_belongs_to_the_values_is_gathered_in_their_form(case):
    measured, seen, _ = case
    n = len(seen)
    blocks = [measured.rows(begin, min(n, begin + 7)) for begin in range(0, n, 7)]
    gathered = measured.gathered([rows.values for rows in blocks])
    assert gathered.shape == measured.values.shape
    again = replace(measured, values=gathered, weights=None)
    close(
        np.concatenate([again.rows(k, k + 1).values for k in range(n)]),
        np.concatenate([r.values for r in blocks]),
    )


@WITHIN
def test_the_curvature_is_that_of_the_kept_pairs(case, r, band):
    measured, seen, W = case
    X, P = points_and_more(len(seen), r)
    residual = seen - model(X)
    kept = (band[0] <= residual) & (residual <= band[1]) & (model(X) > 0)
    along = np.einsum("ijc,ijc->ij", X[:, None] - X, P[:, None] - P)
    stiffness = np.divide(W * along, model(X) ** 2, out=np.zeros_like(seen), where=kept)
    close(stress_curvature(measured, X, P, band), stiffness.sum(axis=1)[:, None] * X - stiffness @ X)


@pytest.mark.parametrize("r", [2, 3])
def test_the_histogram_counts_every_pair_once_by_sign_and_size(case, r):
    measured, seen, _ = case
    X, _ = points_and_more(len(seen), r)
    residual = (seen - model(X))[np.triu_indices(len(seen), 1)]
    residual = residual[~np.isnan(residual)]
    found = residual_histogram(measured, X)
    for side, sizes in [(0, -residual[residual < 0]), (1, residual[residual > 0])]:
        octaves = np.floor(np.log2(sizes))
        parts = np.floor((sizes / 2**octaves - 1) * BINS_PER_OCTAVE)
        bins = (octaves - LOWEST_OCTAVE) * BINS_PER_OCTAVE + parts
        np.testing.assert_array_equal(np.flatnonzero(found[side]), np.unique(bins))
        np.testing.assert_array_equal(found[side][found[side] > 0], np.unique(bins, return_counts=True)[1])


@WITHIN
def test_the_pairs_outside_a_band_are_listed_in_order(case, r, band):
    measured, seen, _ = case
    X, _ = points_and_more(len(seen), r)
    residual = seen - model(X)
    i, j = np.nonzero(np.triu((residual < band[0]) | (residual > band[1])))
    found = pairs_outside(measured, X, band)
    np.testing.assert_array_equal(found.i, i)
    np.testing.assert_array_equal(found.j, j)
    np.testing.assert_allclose(found.seen, seen[i, j], rtol=RTOL)
    np.testing.assert_allclose(found.fitted, model(X)[i, j], rtol=RTOL)


def test_outside_everything_is_nothing_and_outside_nothing_is_every_measured_pair(case):
    measured, seen, _ = case
    X, _ = points_and_more(len(seen), 2)
    assert pairs_outside(measured, X, EVERYTHING).i.size == 0
    assert pairs_outside(measured, X, NOTHING).i.size == (~np.isnan(seen)).sum() / 2


def test_a_pair_at_the_edge_of_the_band_is_not_outside():
    measured = MeasuredSquare(n_points=2, values=np.array([[0.0, 0.5], [0.5, 0.0]]))
    assert pairs_outside(measured, np.zeros((2, 1)), (-0.5, 0.5)).i.size == 0
    assert pairs_outside(measured, np.zeros((2, 1)), (-0.5, np.nextafter(0.5, 0))).i.size == 1
    apart = np.array([[0.0], [1.0]])
    assert pairs_outside(measured, apart, (-0.5, 0.5)).i.size == 0
    assert pairs_outside(measured, apart, (np.nextafter(-0.5, 0), 0.5)).i.size == 1


@pytest.mark.parametrize("layout", ["in-place", "fortran", "two-sided", "condensed", "edges"])
def test_single_precision_stays_what_it_is_and_all_else_is_read_as_double(layout, tmp_path):
    for special, kind in [("", np.float64), ("float32", np.float32)]:
        measured, _, _ = make(f"{layout} {special}", tmp_path)
        assert measured.rows(0, 3).values.dtype == kind
        assert measured.resolution == np.finfo(kind).eps
    if layout != "edges":
        assert make(f"{layout} integers", tmp_path)[0].resolution == np.finfo(float).eps


def test_pairs_that_are_given_once_are_listed_once():
    columns = np.array([1, 2, 2], np.int32)
    measured = MeasuredEdges(
        n_points=3, values=np.arange(1.0, 4.0), starts=np.array([0, 2, 3, 3]), columns=columns
    )
    found = pairs_outside(measured, np.zeros((3, 1)), NOTHING)
    np.testing.assert_array_equal(
        np.column_stack([found.i, found.j, found.seen]), [[0, 1, 1], [0, 2, 2], [1, 2, 3]]
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("in-place", [1.0, 1.0, 1.0, 1.0]),
        ("in-place own", [0.0, 0.0, 0.0, 0.0]),
        ("in-place some-own", [1.0, 0.0, 0.0, 1.0]),
        ("in-place integers", [0.0, 0.0, 0.0, 0.0]),
        ("fortran", [0.0, 0.0, 0.0, 0.0]),
        ("memmap", [0.0, 0.0, 0.0, 0.0]),
        ("two-sided", [0.0, 0.0, 0.0, 0.0]),
        ("condensed", [0.0, 0.0, 0.0, 0.0]),
        ("edges", [0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_a_zero_on_the_diagonal_is_an_own_pair_only_where_it_is_read_in_place(form, expected, tmp_path):
    measured, _, _ = make(form, tmp_path, n=12)
    np.testing.assert_array_equal(measured.own_pairs[:4], expected)


@pytest.mark.parametrize("layout", ["in-place", "two-sided", "condensed", "edges"])
def test_weights_that_are_all_one_change_no_bit(layout, tmp_path):
    measured, seen, _ = make(layout, tmp_path)
    X, P = points_and_more(len(seen), 3)
    weighted = type(measured)(**(vars(measured) | {"weights": np.ones_like(measured.values)}))
    for plain, ones in zip(everything(measured, X, P), everything(weighted, X, P), strict=True):
        np.testing.assert_array_equal(ones, plain)


def everything(measured, X, P):
    """Return every number of every pass."""
    return [
        *kept_product(measured, X, P, CUT),
        *stress(measured, X, BAND),
        stress_curvature(measured, X, P, BAND),
        residual_histogram(measured, X),
        *pairs_outside(measured, X, BAND),
    ]


LARGE = 301  # points whose distances in one block are worked through by several threads, in small ones not


@pytest.mark.parametrize("block_values", [1, 5 * LARGE, 64 * LARGE])
@pytest.mark.parametrize("form", [*FULL, "two-sided weighted", "condensed squared", "in-place integers"])
def test_no_bit_depends_on_the_size_of_the_blocks(form, block_values, tmp_path, monkeypatch):
    measured, seen, _ = make(form, tmp_path, n=LARGE)
    X, P = points_and_more(len(seen), 3)
    whole = everything(measured, X, P)
    monkeypatch.setattr(passes, "BLOCK_VALUES", block_values)
    for one, many in zip(whole, everything(measured, X, P), strict=True):
        np.testing.assert_array_equal(many, one)


@pytest.mark.parametrize("form", FULL[1:])
def test_no_bit_depends_on_where_the_distances_lie(form, tmp_path, monkeypatch):
    monkeypatch.setattr(passes, "BLOCK_VALUES", 7 * LARGE)
    measured, seen, _ = make(form, tmp_path, n=LARGE)
    X, P = points_and_more(len(seen), 3)
    in_place, _, _ = make("in-place", tmp_path, n=LARGE)
    for here, there in zip(everything(measured, X, P), everything(in_place, X, P), strict=True):
        np.testing.assert_array_equal(here, there)


def in_threads(folder):
    """Return every number of every pass on enough points for several threads."""
    found = []
    for form in ["in-place", "edges weighted"]:
        measured, seen, _ = make(form, folder, n=3 * LARGE)
        found += everything(measured, *points_and_more(len(seen), 3))
    return found


def test_no_bit_depends_on_the_number_of_threads(tmp_path):
    # This file as a program, with another number of threads.
    n_threads = str((os.cpu_count() or 1) + 3)
    stored = tmp_path / "found.npz"
    environment = os.environ | {"NUMBA_NUM_THREADS": n_threads}
    subprocess.run([sys.executable, __file__, tmp_path], env=environment, check=True)
    with np.load(stored) as others:
        for k, here in enumerate(in_threads(tmp_path)):
            np.testing.assert_array_equal(others[f"arr_{k}"], here)


def peak(function, *arguments):
    """Return the largest memory that a call takes beside what was there, in bytes."""
    function(*arguments)
    tracemalloc.start()
    try:
        function(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", ["in-place", "fortran", "two-sided", "condensed"])
def test_no_pass_takes_memory_of_the_size_of_the_distances(layout, tmp_path, monkeypatch):
    # What is not read in place is copied block by block; a block is small here.
    monkeypatch.setattr(passes, "BLOCK_VALUES", 1 << 13)
    n = 1500
    measured, _, _ = make(layout, tmp_path, n=n)
    X, P = points_and_more(n, 2)
    share = 0.05 * n**2 * 8
    assert peak(kept_product, measured, X, P, CUT) < share
    assert peak(stress, measured, X, BAND) < share
    assert peak(stress_curvature, measured, X, P, BAND) < share
    # Counts are kept apart by the part of the rows, whatever the number of points.
    counts = passes.N_PARTS * 2 * passes.N_BINS * 8
    assert peak(residual_histogram, measured, X) < share + counts
    assert peak(pairs_outside, measured, X, (-9.0, 9.0)) < share


def test_no_pass_writes_into_the_distances(case):
    measured, seen, _ = case
    measured.values.flags.writeable = False
    if measured.weights is not None:
        measured.weights.flags.writeable = False
    before = measured.values.copy()
    everything(measured, *points_and_more(len(seen), 2))
    np.testing.assert_array_equal(measured.values, before)


if __name__ == "__main__":
    np.savez(Path(sys.argv[1]) / "found.npz", *in_threads(Path(sys.argv[1])))
