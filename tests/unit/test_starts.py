"""The estimated largest distance: by hand on lines, on every layout, and its rate over many draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform

from robustmds.datasets import corrupt, plus_sign
from robustmds.methods.alternating_projections import THRESHOLD_FACTOR
from robustmds.passes import MeasuredCondensed, MeasuredEdges, MeasuredSquare
from robustmds.starts import ENOUGH, N_SEEN, sq_diameter


def square(distances, **more):
    return MeasuredSquare(n_points=len(distances), values=distances, **more)


def condensed(distances, **more):
    values = squareform(distances, checks=False)
    return MeasuredCondensed(n_points=len(distances), values=values, **more)


def edges(distances, **more):
    stored = ~np.isnan(distances) & ~np.eye(len(distances), dtype=bool)
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    columns = np.nonzero(stored)[1].astype(np.int32)
    values = distances[stored]
    return MeasuredEdges(n_points=len(distances), values=values, starts=starts, columns=columns, **more)


def line(n):
    """Return the distances between the points 0, 1, ..., n - 1."""
    return np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)


def put(distances, i, j, value):
    distances[i, j] = distances[j, i] = value
    return distances


def scattered(n=150, share=0.2, sign="any", seed=0, **more):
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2))
    return corrupt(cdist(points, points), share, sign=sign, random_state=rng, **more).distances


def test_of_right_distances_it_is_the_square_of_the_largest():
    assert sq_diameter(square(line(3))) == 4.0
    assert sq_diameter(square(line(10))) == 81.0


def test_a_distance_that_fits_no_triangle_does_not_count():
    assert sq_diameter(square(put(line(10), 2, 5, 50.0))) == 81.0


def test_where_the_largest_is_wrong_its_shortest_detour_counts():
    assert sq_diameter(square(put(line(10), 0, 9, 90.0))) == 81.0


def test_a_detour_along_a_distance_that_is_too_short_does_not_count():
    # The detour from 0 to 9 over 5 would be 1 + 4; but 1 is less than the difference of 8 and 3, for one.
    assert sq_diameter(square(put(put(line(10), 0, 9, 90.0), 0, 5, 1.0))) == 81.0


def test_where_the_largest_is_missing_its_shortest_of_many_detours_counts():
    n = int(ENOUGH) + 2  # so many that all other points make enough
    assert sq_diameter(square(put(line(n), 0, n - 1, np.nan))) == (n - 1) ** 2
    assert sq_diameter(square(put(line(n - 1), 0, n - 2, np.nan))) == (n - 3) ** 2


def test_without_triangles_it_is_the_largest_middle_distance_of_a_point():
    distances = np.full((6, 6), np.nan)
    for other, value in zip(range(1, 6), [1.0, 2.0, 3.0, 4.0, 99.0], strict=True):
        put(distances, 0, other, value)
    # Point 5 has nothing but the distance 99.
    assert sq_diameter(edges(distances)) == 99.0**2
    assert sq_diameter(edges(distances[:5, :5])) == 16.0
    assert sq_diameter(square(np.array([[0.0, 3.0], [3.0, 0.0]]))) == 9.0


def test_where_nothing_but_zeros_was_measured_it_is_zero():
    assert sq_diameter(square(np.zeros((5, 5)))) == 0.0
    assert sq_diameter(edges(np.full((4, 4), np.nan))) == 0.0


def test_a_node_whose_every_distance_is_too_long_is_left_out():
    distances = line(30)
    errors = np.random.default_rng(0).uniform(0.0, 87.0, 30)
    distances[:, 11] += errors
    distances[11] += errors
    distances[11, 11] = 0.0
    assert sq_diameter(square(distances)) == 29.0**2


@pytest.mark.parametrize("n_more", [2, 300])
def test_a_lone_far_point_is_not_missed(n_more):
    points = np.random.default_rng(0).random((N_SEEN + n_more, 2))
    points[N_SEEN // 2 + 1] += 10.0
    distances = cdist(points, points)
    spoilt = corrupt(distances, 0.2, random_state=1).distances
    np.testing.assert_allclose(sq_diameter(square(spoilt)), distances.max() ** 2, rtol=0.02)


@pytest.mark.parametrize("n", [40, N_SEEN + 60])
def test_twice_the_distances_are_four_times_the_estimate_bit_for_bit(n):
    distances = scattered(n, missing=0.2, noise=0.01)
    assert sq_diameter(square(2.0 * distances)) == 4.0 * sq_diameter(square(distances))
    assert sq_diameter(square(distances, unit=0.25)) == sq_diameter(square(distances)) / 16


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_the_order_of_the_points_does_not_matter_bit_for_bit(share):
    distances = scattered(N_SEEN, share=share, missing=0.2, noise=0.01)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(distances))
        assert sq_diameter(square(distances[np.ix_(order, order)])) == sq_diameter(square(distances))


@pytest.mark.parametrize("n", [40, N_SEEN + 60])
def test_every_layout_gives_the_same(n, tmp_path):
    distances = scattered(n, missing=0.3)
    expected = sq_diameter(square(distances))
    np.save(tmp_path / "distances.npy", distances)
    one_sided = np.where(np.tri(n, dtype=bool), distances, np.nan)
    layouts = [
        condensed(distances),
        edges(distances),
        square(np.asfortranarray(distances)),
        square(np.load(tmp_path / "distances.npy", mmap_mode="r")),
        square(one_sided, two_sided=True),
        square(np.where(np.isnan(distances), 7.0, distances), weights=~np.isnan(distances)),
    ]
    assert [sq_diameter(measured) for measured in layouts] == [expected] * len(layouts)
    for squared in [square(distances**2, squared=True), edges(distances**2, squared=True)]:
        np.testing.assert_allclose(sq_diameter(squared), expected, rtol=1e-14)
    np.testing.assert_allclose(sq_diameter(square(distances.astype(np.float32))), expected, rtol=1e-6)


def test_the_distances_are_not_written_to():
    distances = scattered(N_SEEN + 60)
    before = distances.copy()
    distances.setflags(write=False)
    sq_diameter(square(distances))
    np.testing.assert_array_equal(distances, before)


@pytest.mark.parametrize("sign", ["too-long", "any", "too-short"])
@pytest.mark.parametrize("size", [0.8, 10.0])
def test_the_threshold_is_right_in_nearly_all_draws_with_three_tenths_wrong(sign, size):
    points = [
        plus_sign(),
        np.random.default_rng(0).random((50, 3)),
        np.random.default_rng(1).random((100, 2)),
    ]
    right = []
    for X in points:
        distances = cdist(X, X)
        for seed in range(20):
            spoilt = corrupt(distances, 0.3, sign=sign, size=size * distances.max(), random_state=seed)
            ratio = THRESHOLD_FACTOR * sq_diameter(square(spoilt.distances)) / distances.max() ** 2
            right.append(1.0 <= ratio <= 3.0)
    # 60 draws, of which docs/threshold.md lets one in a hundred or so fail.
    assert np.mean(right) >= 0.95
