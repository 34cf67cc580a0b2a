"""The data sets: what they promise, exactly, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from robustmds.datasets import corrupt, eurodist, plus_sign, sensor_network
from robustmds.errors import InputError


def all_pairs(n=25):
    points = plus_sign(n)
    return cdist(points, points)


def some_pairs():
    """Return distances of which about half are measured."""
    return sensor_network(70, radius=0.5, random_state=0).distances


def pairs(table):
    return table[np.triu_indices(len(table), k=1)]


def n_measured(table):
    return np.count_nonzero(~np.isnan(pairs(table)))


def assert_is_a_table_of_distances(table):
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, table.T)
    np.testing.assert_array_equal(np.diag(table), 0.0)
    assert not (table < 0).any()


# The plus sign


@pytest.mark.parametrize(("n", "low", "high"), [(101, -19, 31), (25, 0, 12), (5, 5, 7)])
def test_the_plus_sign_ends_where_the_paper_says(n, low, high):
    points = plus_sign(n)
    assert points.shape == (n, 2)
    assert len(np.unique(points, axis=0)) == n
    np.testing.assert_array_equal(points[0], [6, 6])
    for end in ([low, 6], [high, 6], [6, low], [6, high]):
        assert (points == end).all(axis=1).any()
    np.testing.assert_array_equal([points.min(), points.max()], [low, high])


def test_the_arms_of_the_plus_sign_go_outwards_in_unit_steps():
    arms = plus_sign(25)[1:].reshape(4, 6, 2)
    np.testing.assert_array_equal(np.linalg.norm(arms - 6, axis=2), np.tile(np.arange(1, 7), (4, 1)))
    np.testing.assert_array_equal(np.linalg.norm(np.diff(arms, axis=1), axis=2), 1)


@pytest.mark.parametrize("n", [-3, 0, 1, 4, 100, 103])
def test_a_plus_sign_with_unequal_arms_is_refused(n):
    with pytest.raises(InputError, match=f"n_points must leave four equal arms around a centre: got {n}"):
        plus_sign(n)


# Sensor networks


@pytest.mark.parametrize("r", [1, 2, 3])
def test_a_network_measures_exactly_the_pairs_within_the_radius(r):
    points, distances = sensor_network(50, r, radius=0.3, random_state=0)
    true = cdist(points, points)
    assert points.shape == (50, r)
    assert points.min() >= 0
    assert points.max() <= 1
    assert_is_a_table_of_distances(distances)
    np.testing.assert_array_equal(~np.isnan(distances), true <= 0.3)
    assert 0 < n_measured(distances) < 50 * 49 / 2
    np.testing.assert_allclose(distances[true <= 0.3], true[true <= 0.3], rtol=1e-12)


def test_noise_changes_neither_the_points_nor_which_pairs_of_a_network_are_measured():
    quiet = sensor_network(200, random_state=0)
    noisy = sensor_network(200, noise=0.02, random_state=0)
    np.testing.assert_array_equal(noisy.points, quiet.points)
    np.testing.assert_array_equal(np.isnan(noisy.distances), np.isnan(quiet.distances))
    error = pairs(noisy.distances - quiet.distances)
    np.testing.assert_allclose(np.nanstd(error), 0.02, rtol=0.05)
    np.testing.assert_allclose(np.nanmean(error), 0.0, rtol=0, atol=0.002)


def test_no_distance_of_a_network_is_negative_however_large_the_noise():
    distances = sensor_network(noise=5.0, random_state=0).distances
    assert_is_a_table_of_distances(distances)
    assert np.nanmax(distances) > 5


def test_a_network_of_one_point_has_no_pairs():
    points, distances = sensor_network(1)
    assert points.shape == (1, 2)
    np.testing.assert_array_equal(distances, [[0]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_points": 0}, "n_points must be finite, at least 1: got 0"),
        ({"n_points": 10.5}, "n_points must be a whole number: got 10.5"),
        ({"n_components": 0}, "n_components must be finite, at least 1: got 0"),
        ({"radius": -0.1}, "radius must be finite, at least 0: got -0.1"),
        ({"noise": np.inf}, "noise must be finite, at least 0: got inf"),
    ],
)
def test_a_network_that_cannot_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        sensor_network(**arguments)


# Corruption


@pytest.mark.parametrize("share", [0.0, 0.0584, 1 / 3, 1.0])
@pytest.mark.parametrize("make", [all_pairs, some_pairs])
def test_exactly_the_share_of_the_measured_pairs_is_wrong(make, share):
    true = make()
    distances, wrong = corrupt(true, share, random_state=0)
    assert_is_a_table_of_distances(distances)
    np.testing.assert_array_equal(wrong, wrong.T)
    assert wrong.dtype == bool
    assert wrong.sum() == 2 * round(share * n_measured(true))
    np.testing.assert_array_equal(np.isnan(distances), np.isnan(true))
    np.testing.assert_array_equal(distances[~wrong], true[~wrong])
    assert (distances[wrong] != true[wrong]).all()


def test_every_pair_may_be_the_wrong_one():
    true = all_pairs(5)
    seen = sum(corrupt(true, 0.1, random_state=seed).wrong for seed in range(400))
    # Ten pairs, each with a binomial count of mean 40 and standard deviation 6.
    assert pairs(seen).sum() == 400
    assert np.abs(pairs(seen) - 40).max() <= 30


@pytest.mark.parametrize("size", [None, 3.0, 100.0])
def test_too_long_distances_are_too_long_by_up_to_the_size(size):
    true = all_pairs(101)
    distances, wrong = corrupt(true, 0.5, size=size, random_state=0)
    largest = 40.0 if size is None else size
    error = pairs(distances - true)[pairs(wrong)]
    assert (error > 0).all()
    assert 0.98 * largest < error.max() <= largest
    np.testing.assert_allclose(error.mean(), largest / 2, rtol=0.05)
    np.testing.assert_allclose(error.std(), largest / np.sqrt(12), rtol=0.05)


@pytest.mark.parametrize("size", [None, 3.0])
def test_too_short_distances_lose_up_to_the_size_or_all_they_have(size):
    true = all_pairs(101)
    distances, wrong = corrupt(true, 0.5, sign="too-short", size=size, random_state=0)
    assert_is_a_table_of_distances(distances)
    most = np.minimum(true, 40.0 if size is None else size)
    share = (true - distances)[wrong] / most[wrong]
    assert (share > 0).all()
    assert 0.98 < share.max() <= 1 + 1e-12
    np.testing.assert_allclose(share.mean(), 0.5, rtol=0.05)


def test_any_sign_means_either_with_the_same_chance():
    true = all_pairs(101)
    distances, wrong = corrupt(true, 0.5, sign="any", random_state=0)
    assert_is_a_table_of_distances(distances)
    np.testing.assert_allclose((distances > true)[wrong].mean(), 0.5, rtol=0.1)


@pytest.mark.parametrize("make", [all_pairs, some_pairs])
def test_every_measured_pair_of_a_bad_node_is_wrong_and_no_other(make):
    true = make()
    distances, wrong = corrupt(true, 0.0, bad_nodes=3, random_state=0)
    counts, degrees = wrong.sum(axis=1), (~np.isnan(true)).sum(axis=1) - 1
    bad = np.flatnonzero((counts == degrees) & (degrees > 0))
    assert len(bad) == 3
    good = np.setdiff1d(np.arange(len(true)), bad)
    assert not wrong[np.ix_(good, good)].any()
    assert (distances[wrong] > true[wrong]).all()


def test_bad_nodes_come_on_top_of_the_share():
    true = all_pairs()
    scattered = corrupt(true, 0.1, random_state=0)
    nodes = corrupt(true, 0.0, bad_nodes=2, random_state=0)
    both = corrupt(true, 0.1, bad_nodes=2, random_state=0)
    np.testing.assert_array_equal(both.wrong, scattered.wrong | nodes.wrong)
    # A pair that is wrong for two reasons has one error.
    np.testing.assert_array_equal(both.distances, np.maximum(scattered.distances, nodes.distances))


@pytest.mark.parametrize("make", [all_pairs, some_pairs])
def test_exactly_the_share_of_the_measured_pairs_goes_missing_wrong_or_not(make):
    true = make()
    full = corrupt(true, 0.3, random_state=0)
    distances, wrong = corrupt(true, 0.3, missing=0.4016, random_state=0)
    assert_is_a_table_of_distances(distances)
    assert n_measured(true) - n_measured(distances) == round(0.4016 * n_measured(true))
    gone = np.isnan(distances)
    np.testing.assert_array_equal(wrong, full.wrong & ~gone)
    np.testing.assert_array_equal(distances[~gone], full.distances[~gone])
    # Of the wrong pairs about as many go missing as of all.
    np.testing.assert_allclose(gone[full.wrong & ~np.isnan(true)].mean(), 0.4, rtol=0.25)


def test_nothing_is_wrong_where_all_is_missing():
    distances, wrong = corrupt(all_pairs(), 0.5, missing=1.0, random_state=0)
    assert n_measured(distances) == 0
    assert not wrong.any()
    assert_is_a_table_of_distances(distances)


def test_noise_is_on_every_measured_distance_and_under_the_errors():
    true = all_pairs(101)
    noisy = corrupt(true, 0.0, noise=0.1, random_state=0)
    error = pairs(noisy.distances - true)
    assert not noisy.wrong.any()
    np.testing.assert_allclose([error.mean(), error.std()], [0.0, 0.1], rtol=0.05, atol=0.005)
    both = corrupt(true, 0.2, noise=0.1, random_state=0)
    np.testing.assert_array_equal(both.distances[~both.wrong], noisy.distances[~both.wrong])
    quiet = corrupt(true, 0.2, random_state=0)
    np.testing.assert_array_equal(both.wrong, quiet.wrong)
    np.testing.assert_allclose(both.distances - noisy.distances, quiet.distances - true, rtol=0, atol=1e-12)


def test_no_distance_is_negative_however_large_the_noise():
    distances, _ = corrupt(all_pairs(), 0.5, sign="any", noise=50.0, random_state=0)
    assert_is_a_table_of_distances(distances)


@pytest.mark.parametrize("option", ["share", "bad_nodes", "missing"])
def test_with_the_same_seed_more_takes_the_same_pairs_and_others(option):
    less, more = ({option: 2}, {option: 5}) if option == "bad_nodes" else ({option: 0.1}, {option: 0.3})
    some, many = (corrupt(all_pairs(), random_state=7, **options) for options in (less, more))
    if option == "missing":
        assert not (np.isnan(some.distances) & ~np.isnan(many.distances)).any()
    else:
        assert not (some.wrong & ~many.wrong).any()
        np.testing.assert_array_equal(some.distances[some.wrong], many.distances[some.wrong])


MAKERS = [
    lambda seed: sensor_network(30, noise=0.1, random_state=seed),
    lambda seed: corrupt(all_pairs(), sign="any", bad_nodes=1, missing=0.2, noise=0.1, random_state=seed),
]


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_data_and_another_seed_others(make):
    for one, same, other in zip(make(3), make(3), make(4), strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other, equal_nan=True)


@pytest.mark.parametrize("make", MAKERS)
def test_a_generator_is_used_as_it_comes_and_moves_on(make):
    rng = np.random.default_rng(3)
    first, second, seeded = make(rng), make(rng), make(3)
    for one, next_one, same in zip(first, second, seeded, strict=True):
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, next_one, equal_nan=True)


def test_the_distances_are_not_written_to():
    true = some_pairs()
    before = true.copy()
    true.flags.writeable = False
    distances, _ = corrupt(true, 0.5, sign="any", bad_nodes=2, missing=0.3, noise=0.1)
    np.testing.assert_array_equal(true, before)
    assert not np.shares_memory(distances, true)


def test_whole_numbers_and_nested_lists_are_distances_too():
    distances, wrong = corrupt([[0, 3], [3, 0]], 1.0, size=1, random_state=0)
    assert_is_a_table_of_distances(distances)
    assert 3 < distances[0, 1] <= 4
    assert wrong[0, 1]


@pytest.mark.parametrize("table", [[[0.0]], np.full((3, 3), np.nan)])
def test_a_table_without_pairs_stays_without_pairs(table):
    distances, wrong = corrupt(table, 0.5, missing=0.5, bad_nodes=1, noise=1.0)
    assert n_measured(distances) == 0
    assert not wrong.any()
    assert_is_a_table_of_distances(distances)


def test_a_rounding_error_between_the_two_directions_is_allowed():
    true = all_pairs()
    true[1, 0] += 1e-12
    assert_is_a_table_of_distances(corrupt(true).distances)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"share": 1.1}, "share must lie between 0 and 1: got 1.1"),
        ({"share": np.nan}, "share must lie between 0 and 1: got nan"),
        ({"missing": -0.1}, "missing must lie between 0 and 1: got -0.1"),
        ({"noise": -1.0}, "noise must be finite, at least 0: got -1.0"),
        ({"size": -1.0}, "size must be finite, at least 0: got -1.0"),
        ({"size": np.inf}, "size must be finite, at least 0: got inf"),
        ({"bad_nodes": 26}, "bad_nodes must lie between 0 and 25: got 26"),
        ({"bad_nodes": 0.2}, "bad_nodes must be a whole number: got 0.2"),
        ({"sign": "long"}, "sign must be one of too-long, any, too-short: got 'long'"),
    ],
)
def test_a_corruption_that_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        corrupt(all_pairs(), **options)


@pytest.mark.parametrize(
    ("i", "j", "value", "message"),
    [
        (2, 7, 99.0, r"distances must be symmetric: D\[2, 7\] = 99.0, D\[7, 2\] = "),
        (2, 7, np.nan, r"distances must be symmetric: D\[2, 7\] = nan, D\[7, 2\] = "),
        (2, 7, -1.0, r"distances must be finite and not negative: D\[2, 7\] = -1.0"),
        (2, 7, np.inf, r"distances must be finite and not negative: D\[2, 7\] = inf"),
    ],
)
def test_a_value_that_is_no_distance_is_refused_by_its_place(i, j, value, message):
    table = all_pairs()
    table[i, j] = value
    with pytest.raises(InputError, match=message):
        corrupt(table)


@pytest.mark.parametrize("table", [[1.0, 2.0, 3.0], np.zeros((2, 3)), np.zeros((0, 0))])
def test_what_is_not_square_is_refused(table):
    with pytest.raises(InputError, match="distances must be square"):
        corrupt(table)


# European cities


def test_eurodist_is_a_table_of_21_cities():
    distances, labels = eurodist()
    assert distances.shape == (21, 21)
    assert_is_a_table_of_distances(distances)
    assert len(set(labels)) == 21
    assert list(labels) == sorted(labels)
    assert n_measured(distances) == 210


@pytest.mark.parametrize(
    ("one", "other", "km"),
    [
        ("Cologne", "Geneva", 1662),
        ("Copenhagen", "Hook of Holland", 269),
        ("Athens", "Rome", 817),
        ("Lisbon", "Lyons", 1178),
        ("Stockholm", "Vienna", 2105),
    ],
)
def test_eurodist_has_its_errors_as_published(one, other, km):
    distances, labels = eurodist()
    assert distances[labels.index(one), labels.index(other)] == km


def test_cologne_to_geneva_is_shorter_by_way_of_lyons():
    distances, labels = eurodist()
    cologne, geneva, lyons = (labels.index(city) for city in ("Cologne", "Geneva", "Lyons"))
    assert distances[cologne, lyons] + distances[lyons, geneva] == 872
