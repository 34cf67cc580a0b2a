"""The result: what it says of points and pairs, moving it, and keeping it."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import robustmds as rm
from robustmds.errors import InputError
from robustmds.table import Table

CITIES = ("Rome", "Oslo", "Bonn", "Bern", "Kiev", "Riga", "Graz", "Genoa")
N = 50


@pytest.fixture(scope="module")
def spoilt():
    points = np.random.default_rng(0).random((N, 2))
    return points, rm.datasets.corrupt(squareform(pdist(points)), 0.1, noise=0.003, random_state=1)


@pytest.fixture(scope="module")
def result(spoilt):
    return rm.robust_mds(spoilt[1].distances)


@pytest.fixture(scope="module")
def named():
    points = np.random.default_rng(2).normal(size=(8, 2))
    distances = squareform(pdist(points))
    distances[1, 4] = distances[4, 1] = 9.0
    return rm.robust_mds(rm.Labelled(distances, CITIES))


def assert_same(a, b):
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.point_suspicion, b.point_suspicion)
    assert (a.status, a.noise, a.outlier_share, a.n_measured) == (
        b.status,
        b.noise,
        b.outlier_share,
        b.n_measured,
    )
    assert (a.method, a.settings, a.versions) == (b.method, b.settings, b.versions)
    assert tuple(a.labels) == tuple(b.labels)
    assert type(a.labels) is type(b.labels)
    assert a.history.to_dict() == b.history.to_dict()
    assert a.suspects().to_dict() == b.suspects().to_dict()


def test_the_suspects_are_the_planted_pairs_worst_first(spoilt, result):
    suspects = result.suspects()
    # Errors are uniform from 0, so some of them hide in the noise.
    assert spoilt[1].wrong[suspects.i, suspects.j].mean() > 0.9
    assert len(suspects) >= 0.9 * spoilt[1].wrong.sum() / 2
    assert (np.diff(np.abs(suspects.residual)) <= 0).all()
    assert (suspects.i < suspects.j).all()
    assert (suspects.probability >= 0.5).all()


def test_every_column_of_the_suspects_belongs_to_its_pair(spoilt, result):
    every = result.suspects(0.0)
    assert len(every) == N * (N - 1) / 2
    np.testing.assert_allclose(every.measured, spoilt[1].distances[every.i, every.j], rtol=1e-15)
    fitted = np.linalg.norm(result.points[every.i] - result.points[every.j], axis=1)
    np.testing.assert_allclose(every.fitted, fitted, rtol=1e-9)
    np.testing.assert_allclose(every.residual, every.measured - every.fitted, rtol=1e-9, atol=1e-14)


def test_a_higher_probability_takes_fewer_pairs(result):
    counts = [len(result.suspects(p)) for p in (0.0, 0.01, 0.5, 0.99, 1.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[-1]


def test_the_share_set_aside_is_that_of_the_suspects(result):
    n_suspects = len(result.suspects())
    assert result.outlier_share == pytest.approx(n_suspects / result.n_measured, rel=1e-12)
    ends = np.concatenate([result.suspects().i, result.suspects().j])
    np.testing.assert_allclose(result.point_suspicion, np.bincount(ends, minlength=N) / (N - 1), rtol=1e-12)


def test_names_of_the_points_stand_beside_the_pairs(named):
    (worst,) = named.suspects()
    assert (worst.i, worst.j, worst.label_i, worst.label_j, worst.measured) == (1, 4, "Oslo", "Kiev", 9.0)
    assert named.labels == CITIES
    assert named.to_frame().index.tolist() == list(CITIES)


def test_points_without_names_are_called_by_their_positions(result):
    assert result.labels == range(N)
    assert "label_i" not in result.suspects().columns


@pytest.mark.parametrize("probability", [-0.1, 1.5, np.nan])
def test_a_probability_lies_between_0_and_1(result, probability):
    with pytest.raises(InputError, match=r"probability must lie between 0 and 1: got"):
        result.suspects(probability)


def test_a_change_of_the_array_after_a_small_fit_changes_nothing(spoilt):
    distances = spoilt[1].distances.copy()
    result = rm.robust_mds(distances)
    before = result.suspects().to_dict()
    distances[:] = 1.0
    assert result.suspects().to_dict() == before


def test_a_change_of_the_array_after_a_large_fit_is_noticed(monkeypatch, spoilt):
    monkeypatch.setattr("robustmds.api.SMALL", 0)
    distances = spoilt[1].distances.copy()
    result = rm.robust_mds(distances)
    assert result.suspects().to_dict() == rm.robust_mds(spoilt[1].distances).suspects().to_dict()
    distances[0, 1] += 0.1
    with pytest.raises(InputError, match=r"distances must be those of the fit: they were changed since"):
        result.suspects()


def test_the_points_go_onto_given_ones(spoilt, result):
    moved = spoilt[0] @ [[0.0, -1.0], [-1.0, 0.0]] + 5.0  # turned and mirrored
    aligned = result.align_to(moved)
    assert np.linalg.norm(aligned.points - moved, axis=1).max() < 0.01
    np.testing.assert_allclose(aligned.align_to(result.points).points, result.points, rtol=0, atol=1e-12)
    assert aligned.suspects().to_dict() == result.suspects().to_dict()


def test_the_points_go_onto_some_anchors_by_position_or_name(spoilt, named):
    result = rm.robust_mds(spoilt[1].distances)
    anchors = {k: spoilt[0][k] for k in (0, 3, 7, 11)}
    assert np.linalg.norm(result.align_to(anchors).points - spoilt[0], axis=1).max() < 0.01
    wanted = named.points * [1.0, -1.0] + 2.0
    aligned = named.align_to({name: wanted[CITIES.index(name)] for name in ("Graz", "Rome", "Kiev")})
    np.testing.assert_allclose(aligned.points, wanted, rtol=0, atol=1e-9)


def test_only_on_request_are_the_points_stretched(result):
    wanted = 3.0 * result.points + 1.0
    np.testing.assert_allclose(result.align_to(wanted, scale=True).points, wanted, rtol=0, atol=1e-9)
    size = np.linalg.norm(result.align_to(wanted).points - result.align_to(wanted).points.mean(axis=0))
    assert size == pytest.approx(np.linalg.norm(result.points), rel=1e-12)


@pytest.mark.parametrize(
    ("anchors", "sentence"),
    [
        (
            {0: [0, 0], 1: [1, 0]},
            r"points must be at least 3 that span 2 dimensions: got an array of shape \(2, 2\)",
        ),
        ({0: [0, 0], 1: [1, 1], 2: [2, 2]}, r"points must be at least 3 that span 2 dimensions"),
        (
            {0: [0, 0], 1: [1, 0], 50: [0, 1]},
            r"points must be named by the labels or positions of points: got 50",
        ),
        ({}, r"points must be at least 3"),
        (np.zeros((4, 2)), r"points must have shape \(50, 2\): got \(4, 2\)"),
    ],
)
def test_anchors_that_fix_nothing_are_refused(result, anchors, sentence):
    with pytest.raises(InputError, match=sentence):
        result.align_to(anchors)


@pytest.mark.parametrize("kept", ["saved", "pickled"])
def test_a_result_comes_back_as_it_was(result, named, tmp_path, kept):
    for one in (result, named):
        if kept == "saved":
            one.save(tmp_path / "result.npz")
            assert_same(rm.Result.load(tmp_path / "result.npz"), one)
        else:
            assert_same(pickle.loads(pickle.dumps(one)), one)  # noqa: S301 - our own


def test_of_a_large_fit_the_likely_suspects_are_saved(monkeypatch, spoilt, tmp_path):
    monkeypatch.setattr("robustmds.api.SMALL", 0)
    result = rm.robust_mds(spoilt[1].distances)
    result.save(tmp_path / "result.npz")
    loaded = rm.Result.load(tmp_path / "result.npz")
    assert loaded.suspects(0.01).to_dict() == result.suspects(0.01).to_dict()
    with pytest.raises(InputError, match=r"probability must be at least 0.01"):
        loaded.suspects(0.001)


def test_a_saved_file_holds_no_pickle(result, tmp_path):
    result.save(tmp_path / "result.npz")
    with np.load(tmp_path / "result.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "Uifu" for name in archive)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("result.csv", r"path must end in \.npz: got 'result\.csv'"),
        ("nowhere/result.npz", r"path must lie in an existing folder"),
    ],
)
def test_saving_where_it_cannot_be_is_refused(result, tmp_path, path, sentence):
    with pytest.raises(InputError, match=sentence):
        result.save(tmp_path / path)
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names are enough


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 half an archive"])
def test_a_file_that_holds_no_result_is_refused(tmp_path, content):
    path = tmp_path / "result.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"result\.npz must hold a result"):
        rm.Result.load(path)


def test_an_archive_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", points=np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"other\.npz must hold a result"):
        rm.Result.load(tmp_path / "other.npz")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"must be a file that can be read: No such file"):
        rm.Result.load(tmp_path / "result.npz")


def test_a_result_cannot_be_changed(result):
    with pytest.raises(AttributeError):
        result.noise = 0.0
    assert isinstance(result.history, Table)
    with pytest.raises(ValueError, match="read-only"):
        result.points[0, 0] = 1.0


def test_a_printed_result_says_what_a_person_asks_first(result):
    text = repr(result)
    assert text.startswith(
        "50 points in 2 dimensions from 1225 of 1225 distances, by auto\nset aside as wrong: "
    )
    assert f"({result.outlier_share:.1%})" in text
    assert text.endswith("CONVERGED: The points have settled.")


def test_the_map_shows_points_names_and_suspects(named):
    ax = named.plot()
    assert [text.get_text() for text in ax.texts] == list(CITIES)
    (line,) = ax.lines
    np.testing.assert_allclose(np.column_stack(line.get_data()), named.points[[1, 4]], rtol=1e-12)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), named.points, rtol=1e-12)


@pytest.mark.parametrize("r", [1, 3])
def test_points_of_other_dimensions_are_drawn_flat(r):
    points = np.random.default_rng(3).normal(size=(9, r))
    ax = rm.robust_mds(pdist(points), r).plot()
    assert ax.collections[0].get_offsets().shape == (9, 2)
