"""The paper's experiments: what is drawn, what is measured, and that no number hangs on how they were run."""

from __future__ import annotations

import csv
import json
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import binomtest

from robustmds import robust_mds
from robustmds.edm import A, algorithm_1
from robustmds.errors import InputError
from robustmds.methods import METHODS, Classical, RmdsAap
from robustmds.methods._run import Method, Run
from robustmds.paper import EXPERIMENTS, PAPER, at_a_glance, experiment, figures, reproduce, runner
from robustmds.paper.contenders import Told
from robustmds.paper.draws import ANCHORS, LAWS, SHAPES, n_bad_nodes, noisy_plus, spoilt
from robustmds.paper.programme import SHARES, simulations_of
from robustmds.paper.summaries import success, wilson
from robustmds.plots import COLOURS, LINES, MARKS
from robustmds.result import Status

QUICK = ["classical", "oracle"]  # takes next to no time
FILES = {"noisy.csv", "noisy.json", "noisy.png", "noisy-methods.png"}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    """Leave out what takes longest and says nothing about the numbers."""
    monkeypatch.setattr("robustmds.paper.drawings", lambda *_: {})


@pytest.fixture
def pictures(monkeypatch, no_pictures):  # noqa: ARG001 - it is undone here
    monkeypatch.setattr("robustmds.paper.drawings", figures.drawings)


def generator(number, cell, simulation, seed=0):
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, cell, simulation)))


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def runs(folder, name="noisy"):
    return (folder / f"{name}-runs.jsonl").read_bytes()


def result(folder, name="noisy"):
    """Return all that a reader sees: the table and what is said about it."""
    return (folder / f"{name}.csv").read_bytes(), (folder / f"{name}.json").read_bytes()


def quickly(folder, **settings):
    return reproduce("noisy", folder, **({"simulations": 7, "methods": QUICK} | settings))


def errors(folder, name, cell, series):
    """Return the errors of a cell and series from the file of runs, in the order of the simulations."""
    lines = [json.loads(line) for line in runs(folder, name).splitlines()[1:]]
    blocks = [line for line in lines if (line["cell"], line["series"]) == (cell, series)]
    return [error for line in blocks for error in line["error"]]


# What is drawn


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_the_papers_outliers_are_so_many_and_make_distances_longer_by_up_to_40(share):
    draw = spoilt(np.random.default_rng(0), "plus sign", "too long", share)
    added = squareform(draw.distances - cdist(draw.points, draw.points), checks=False)
    wrong = squareform(draw.wrong)
    assert wrong.sum() == round(share * 5050)
    np.testing.assert_array_equal(added[~wrong], 0.0)
    assert 0 < added[wrong].min() < 2
    assert 38 < added[wrong].max() <= 40
    np.testing.assert_allclose(added[wrong].mean(), 20, rtol=0, atol=4 * 40 / np.sqrt(12 * wrong.sum()))
    assert draw.sq_largest == 2500
    np.testing.assert_array_equal(draw.judged, np.arange(101))


def test_symmetric_outliers_go_both_ways_and_leave_no_distance_negative():
    draw = spoilt(np.random.default_rng(0), "square", "symmetric", 0.4)
    added = squareform(draw.distances - cdist(draw.points, draw.points), checks=False)[squareform(draw.wrong)]
    assert 0.4 < (added > 0).mean() < 0.6
    assert draw.distances.min() == 0
    assert squareform(draw.distances).min() > 0


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6])
def test_of_a_bad_node_all_distances_are_wrong_and_it_is_not_judged(share):
    draw = spoilt(np.random.default_rng(0), "clusters", "bad nodes", share)
    bad = np.setdiff1d(np.arange(101), draw.judged)
    assert len(bad) == n_bad_nodes(share)
    assert draw.wrong[bad].sum() == len(bad) * 100
    assert not draw.wrong[np.ix_(draw.judged, draw.judged)].any()
    assert abs(squareform(draw.wrong).mean() - share) < 0.01  # one node more is 2 % of the pairs at most


@pytest.mark.parametrize(("shape", "r"), [("plus sign", 2), ("square", 2), ("ball", 3), ("clusters", 2)])
def test_every_shape_has_101_points(shape, r):
    points = SHAPES[shape](np.random.default_rng(0))
    assert points.shape == (101, r)
    assert np.linalg.matrix_rank(points - points.mean(axis=0)) == r


def test_the_ball_is_filled_evenly_and_the_clusters_stand_apart():
    rng = np.random.default_rng(0)
    radii = np.linalg.norm(np.vstack([SHAPES["ball"](rng) for _ in range(30)]), axis=1)
    assert radii.max() <= 1
    np.testing.assert_allclose(np.mean(radii < 0.5 ** (1 / 3)), 0.5, atol=0.04)  # half of the volume
    right = SHAPES["clusters"](rng)[:, 0] > 3
    assert 49 <= right.sum() <= 52


def test_noise_is_on_all_distances_and_outliers_are_on_no_distance_between_anchors():
    noise = []
    for seed in range(40):
        draw = noisy_plus(np.random.default_rng(seed), 0.2, 75)
        added = squareform(draw.distances - cdist(draw.points, draw.points), checks=False)
        wrong = squareform(draw.wrong)
        assert wrong.sum() == 75
        assert not draw.wrong[np.ix_(ANCHORS, ANCHORS)].any()
        assert draw.distances.min() >= 0
        assert added[wrong].max() < 20 + 5 * 0.2**0.5
        noise.append(added[~wrong])
    np.testing.assert_allclose(np.var(noise), 0.2, rtol=0.05)
    np.testing.assert_array_equal(draw.points[ANCHORS], [[0, 6], [12, 6], [6, 0], [6, 12]])
    np.testing.assert_array_equal(draw.judged, np.setdiff1d(np.arange(25), ANCHORS))


def test_without_noise_all_but_the_outliers_are_exact():
    draw = noisy_plus(np.random.default_rng(0), 0.0, 15)
    added = squareform(draw.distances) - pdist(draw.points)
    assert np.count_nonzero(added) == 15
    np.testing.assert_array_equal(added != 0, squareform(draw.wrong))
    assert added.min() >= 0


# What is measured


def test_the_errors_of_every_step_are_those_of_algorithm_1(tmp_path):
    reproduce("convergence", tmp_path, simulations=2)
    draw = spoilt(generator(1, 0, 1), "plus sign", "too long", 0.05)
    truth = draw.points - draw.points.mean(axis=0)
    L_true = truth @ truth.T
    S_true = draw.distances**2 - A(L_true)
    steps = islice(algorithm_1(draw.distances**2, 2, 1.2 * 2500, 0.5), 31)
    seen = {name: errors(tmp_path, "convergence", 0, name)[1] for name in "SLX"}
    for k, (S, L) in enumerate(steps):
        lam, U = np.linalg.eigh(L)
        X = U[:, -2:] * np.sqrt(lam[-2:])
        R, _ = orthogonal_procrustes(truth, X)
        expected = [np.abs(S - S_true).max(), np.abs(L - L_true).max(), np.abs(X - truth @ R).max()]
        found = [seen[name][k] for name in "SLX"]
        # Rounding is some 1e-16 of squared distances up to 8,000, and adds up.
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9, err_msg=f"k = {k}")
    table = read(tmp_path / "convergence.csv")
    for row in table:
        column = [error[int(row["k"])] for error in errors(tmp_path, "convergence", 0, row["quantity"])]
        np.testing.assert_allclose(float(row["log10_mean"]), np.log10(np.mean(column)), rtol=1e-12)
    assert len(table) == 93


def test_success_is_a_worst_error_of_one_percent_of_the_radius(tmp_path):
    reproduce("decay", tmp_path, simulations=2)
    decays = (0.5, 0.7, 0.9)
    for cell, share in ((3, 0.2), (9, 0.5)):
        draw = spoilt(generator(2, cell, 1), "plus sign", "too long", share)
        for decay in decays:
            method = RmdsAap(threshold=1.2 * 2500, decay=decay, floor=1e-4 * 2500, tol=1.0)
            found = robust_mds(draw.distances, method=method).points
            truth = draw.points - draw.points.mean(axis=0)
            R, _ = orthogonal_procrustes(found, truth)
            expected = np.linalg.norm(found @ R - truth, axis=1).max() / 25
            seen = errors(tmp_path, "decay", cell, str(decay))[1]
            np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-12)
    for row in read(tmp_path / "decay.csv"):
        column = np.array(
            errors(tmp_path, "decay", round(20 * float(row["outlier_share"])) - 1, row["decay"])
        )
        assert float(row["success_rate"]) == np.mean(column < 0.01)
        assert float(row["mean"]) == column.mean()
    rates = [float(row["success_rate"]) for row in read(tmp_path / "decay.csv")]
    assert (rates[0], rates[-1]) == (1.0, 0.0)


def test_a_point_that_is_one_percent_off_is_no_success_and_one_without_error_neither():
    errors = np.array([0.0, 0.0099, 0.01, 0.0101, np.nan])
    assert success(errors, np.zeros(5, dtype=bool))["success_rate"] == 0.4


@pytest.mark.parametrize("decay", [0.5, 0.7, 0.9])
def test_no_success_is_decided_after_the_last_cut(decay):
    told = Told(name="", decay=decay)
    further = Told(name="", decay=decay, last_cut=1e-9)
    for seed in range(8):
        share = {0.5: 0.2, 0.7: 0.32, 0.9: 0.4}[decay]  # where about half of the runs fail
        draw = spoilt(np.random.default_rng(seed), "plus sign", "too long", share)
        found = [
            robust_mds(draw.distances, method=who.method(draw)).align_to(draw.points).points
            for who in (told, further)
        ]
        off = [np.linalg.norm(points - draw.points, axis=1).max() / 25 for points in found]
        assert (off[0] < 0.01) == (off[1] < 0.01)


def test_the_noisy_error_is_measured_once_the_anchors_lie_on_theirs(tmp_path):
    reproduce("noisy", tmp_path, simulations=2, methods=["classical", "rmds-aap"])
    draw = noisy_plus(generator(4, 13, 1), 0.2, 60)
    told = RmdsAap(threshold=1.2 * 144, decay=0.7, floor=1e-4 * 144, tol=1.0)
    for name, method in (("classical", Classical()), ("rmds-aap", told)):
        found = robust_mds(draw.distances, method=method).points
        here, there = found[ANCHORS].mean(axis=0), draw.points[ANCHORS].mean(axis=0)
        R, _ = orthogonal_procrustes(found[ANCHORS] - here, draw.points[ANCHORS] - there)
        off = ((found - here) @ R + there - draw.points)[draw.judged]
        expected = np.sqrt((off**2).sum() / 21)
        np.testing.assert_allclose(errors(tmp_path, "noisy", 13, name)[1], expected, rtol=1e-6)


def test_the_oracle_fits_the_good_pairs_as_well_as_anybody_can():
    draw = noisy_plus(np.random.default_rng(0), 0.2, 60)
    oracle = next(c for c in experiment("noisy").contenders if c.name == "oracle")
    X = oracle.attempt(draw, None).points  # it poses a problem of its own
    with np.errstate(invalid="ignore"):
        pull = np.where(draw.wrong, 0.0, np.nan_to_num(draw.distances / cdist(X, X) - 1))
    gradient = (pull[:, :, None] * (X[:, None] - X)).sum(axis=1)
    # At the minimum it is 0; the fit stops where a step is 1e-9 of the size of the map.
    np.testing.assert_allclose(gradient, 0, rtol=0, atol=1e-4)


def test_methods_get_the_same_draws_and_no_help():
    seen = {}

    @dataclass(frozen=True, kw_only=True)
    class Spy(Method):
        name: ClassVar[str] = "spy"
        summary: ClassVar[str] = "looks"

        def solve(self, problem, points, callback):
            seen.setdefault("problems", []).append((problem, points, callback))
            return Run(np.zeros((25, 2)), Status.CONVERGED, ())

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(METHODS, "spy", Spy)
        chosen = experiment("noisy", ["spy"])
    for _ in range(2):
        chosen.simulate((0.1, 15), generator(4, 5, 0), ["spy"])
    (first, *told), (second, *_) = seen["problems"]
    assert told == [None, None]
    assert first.noise is None
    np.testing.assert_array_equal(first.measured.values, second.measured.values)


@dataclass(frozen=True, kw_only=True)
class Poor(Method):
    """A method that fails in every way there is, by turns."""

    name: ClassVar[str] = "poor"
    summary: ClassVar[str] = "fails"
    turns: ClassVar[list[int]] = []

    def solve(self, problem, points, callback):  # noqa: ARG002 - it is not that kind of method
        turn = len(self.turns) % 4
        self.turns.append(turn)
        if turn == 0:
            raise np.linalg.LinAlgError("singular")
        X = np.full((problem.n_points, problem.n_components), np.nan if turn == 1 else 0.0)
        return Run(X, Status.BREAKDOWN if turn == 2 else Status.MAX_STEPS, ())


def test_a_failure_is_counted_with_its_reason_and_an_error_that_is_none_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "poor", Poor)
    Poor.turns.clear()
    reproduce("noisy", tmp_path, simulations=4, methods=["poor"])
    endings = json.loads((tmp_path / "noisy.json").read_text())["endings"]["poor"]
    assert endings == {"BREAKDOWN": 15, "LinAlgError": 15, "MAX_STEPS": 15, "NOT_FINITE": 15}
    row = read(tmp_path / "noisy.csv")[0]
    assert (row["n"], row["n_failed"], row["n_excluded"]) == ("4", "3", "2")
    at_one_place = np.sqrt(
        2 * 2 * (1 + 4 + 9 + 16 + 25) / 21
    )  # five points on each of four arms, and the centre
    np.testing.assert_allclose(float(row["mean"]), at_one_place, rtol=1e-12)


def test_a_breakdown_is_no_success_wherever_the_points_are(tmp_path, monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Lucky(Classical):
        name: ClassVar[str] = "lucky"

        def solve(self, problem, points, callback):
            return super().solve(problem, points, callback)._replace(status=Status.BREAKDOWN)

    monkeypatch.setitem(METHODS, "lucky", Lucky)
    chosen = experiment("methods", ["lucky", "classical"])
    draw = chosen.simulate(("plus sign", "too long", 0.0), np.random.default_rng(0), chosen.names)
    assert draw["lucky"].error == draw["classical"].error < 0.01
    monkeypatch.setattr(type(chosen), "simulate", lambda *_: draw)
    table = reproduce("methods", tmp_path, simulations=2, methods=["lucky", "classical"])
    rates = dict(zip(table.method.tolist(), table.success_rate.tolist(), strict=True))
    assert rates == {"lucky": 0.0, "classical": 1.0}


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (9, 10), (10, 10), (431, 1000), (0, 1), (1, 1)])
def test_the_interval_of_a_rate_is_wilsons(k, n):
    interval = binomtest(k, n).proportion_ci(method="wilson")
    np.testing.assert_allclose(wilson(k, n), (interval.low, interval.high), rtol=1e-12, atol=1e-15)


# That no number hangs on how they were run


def test_the_number_of_processes_changes_nothing(tmp_path):
    for jobs in (1, 2):
        quickly(tmp_path / str(jobs), jobs=jobs)
    assert result(tmp_path / "1") == result(tmp_path / "2")
    assert runs(tmp_path / "1") == runs(tmp_path / "2")


@pytest.mark.parametrize("share", [0.02, 0.4, 0.999])
def test_an_interrupted_run_goes_on_where_it_was(tmp_path, share):
    quickly(tmp_path / "whole")
    quickly(tmp_path / "cut")
    whole = runs(tmp_path / "whole")
    cut = int(share * len(whole))
    (tmp_path / "cut" / "noisy-runs.jsonl").write_bytes(whole[:cut])
    told = []
    quickly(tmp_path / "cut", tell=lambda *at: told.append(at))
    assert result(tmp_path / "cut") == result(tmp_path / "whole")
    assert sorted(runs(tmp_path / "cut").splitlines()) == sorted(whole.splitlines())
    # Of the torn line nothing counts, of the lines before it everything.
    kept = [json.loads(line) for line in whole[:cut].split(b"\n")[1:-1]]
    assert told[0] == (sum(len(line["simulations"]) for line in kept), 7 * 15 * 2)
    assert told[-1] == (7 * 15 * 2, 7 * 15 * 2)


def test_an_interrupt_leaves_what_is_done(tmp_path):
    def enough(done, _wanted):
        if done > 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quickly(tmp_path / "cut", tell=enough)
    assert {path.name for path in (tmp_path / "cut").iterdir()} == {"noisy-runs.jsonl"}
    told = []
    quickly(tmp_path / "cut", tell=lambda *at: told.append(at))
    quickly(tmp_path / "whole")
    assert told[0][0] > 50
    assert runs(tmp_path / "cut") == runs(tmp_path / "whole")


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    quickly(tmp_path)
    before = runs(tmp_path)
    monkeypatch.setattr(runner, "simulate", lambda _: pytest.fail("nothing was left to simulate"))
    quickly(tmp_path)
    assert runs(tmp_path) == before


def test_a_run_that_is_there_twice_counts_once(tmp_path):
    quickly(tmp_path)
    before, lines = result(tmp_path), runs(tmp_path).splitlines(keepends=True)
    (tmp_path / "noisy-runs.jsonl").write_bytes(b"".join(lines[:7] + lines[5:6]))
    told = []
    quickly(tmp_path, tell=lambda *at: told.append(at))
    assert told[0] == (6 * 5, 7 * 15 * 2)
    assert result(tmp_path) == before


def test_more_simulations_and_other_methods_join_those_that_are_there(tmp_path):
    quickly(tmp_path / "parts", simulations=3, methods=["classical"])
    quickly(tmp_path / "parts", simulations=8, methods=["oracle"])
    quickly(tmp_path / "parts", simulations=12)
    quickly(tmp_path / "once", simulations=12)
    assert result(tmp_path / "parts") == result(tmp_path / "once")
    quickly(tmp_path / "parts", simulations=3)
    assert {row["n"] for row in read(tmp_path / "parts" / "noisy.csv")} == {"3"}


def test_another_seed_gives_other_numbers(tmp_path):
    first, second = (quickly(tmp_path / str(seed), seed=seed) for seed in (0, 1))
    assert (first["mean"][1::2] != second["mean"][1::2]).any()


def test_runs_of_another_seed_are_refused_and_left_alone(tmp_path):
    quickly(tmp_path)
    before = runs(tmp_path), result(tmp_path)
    with pytest.raises(
        InputError, match=r"noisy-runs.jsonl must hold runs of the same settings: its seed is 0"
    ):
        quickly(tmp_path, seed=1)
    assert (runs(tmp_path), result(tmp_path)) == before


def test_runs_of_another_version_are_refused(tmp_path, monkeypatch):
    quickly(tmp_path)
    monkeypatch.setattr(runner, "version", lambda _: "1")
    with pytest.raises(InputError, match=r"its robustmds is .*, not 1\."):
        quickly(tmp_path)


def test_runs_of_a_method_with_other_settings_are_refused(tmp_path, monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Tuned(Classical):
        knob: int = 1

    quickly(tmp_path)
    monkeypatch.setitem(METHODS, "classical", Tuned)
    with pytest.raises(InputError, match="its classical is Untold"):
        quickly(tmp_path)
    quickly(tmp_path, methods=["oracle"])  # of which nothing changed


def test_a_spoilt_line_is_named(tmp_path):
    quickly(tmp_path)
    lines = runs(tmp_path).splitlines(keepends=True)
    lines[4] = lines[4][:20] + b"\n"
    (tmp_path / "noisy-runs.jsonl").write_bytes(b"".join(lines))
    with pytest.raises(InputError, match=r"noisy-runs.jsonl, line 5 must be a run"):
        quickly(tmp_path)


def test_a_process_that_dies_is_told_in_a_sentence(tmp_path, monkeypatch):
    class Dying:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def map(self, *_):
            raise BrokenProcessPool

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Dying)
    with pytest.raises(InputError, match="a process must not end before its work"):
        quickly(tmp_path, jobs=2)


# What is written, and what is refused


@pytest.mark.usefixtures("pictures")
def test_a_table_figures_and_settings_are_written(tmp_path):
    quickly(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == FILES | {"noisy-runs.jsonl"}
    for name in ("noisy.png", "noisy-methods.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    rows = read(tmp_path / "noisy.csv")
    assert [(row["noise_variance"], row["n_outliers"], row["method"]) for row in rows[:3]] == [
        ("0.0", "15", "classical"),
        ("0.0", "15", "oracle"),
        ("0.0", "30", "classical"),
    ]
    about = json.loads((tmp_path / "noisy.json").read_text())
    assert about["simulations"] == {"classical": 7, "oracle": 7}
    assert about["seed"] == 0
    assert {"robustmds", "numpy", "scipy", "numba", "python"} == set(about["versions"])
    assert about["series"]["classical"] == "Untold(name='classical', method=Classical())"
    assert len(about["settings"]["cells"]) == 15


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n != "noisy"])
def test_every_experiment_ends_in_a_table_and_a_figure(tmp_path, name):
    methods = ["classical"] if name in SHARES else None
    table = reproduce(name, tmp_path, simulations=1, methods=methods)
    assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    chosen = experiment(name, methods)
    (first, *_) = at_a_glance(chosen, table)
    assert [row[0] for row in first.rows] == list(chosen.names)
    assert len({len(row) for row in [first.header, *first.rows]}) == 1


def test_the_experiments_are_those_of_the_paper():
    assert PAPER == ("convergence", "decay", "threshold", "noisy")
    shares = [round(0.05 * k, 2) for k in range(1, 13)]
    for name, series in (
        ("decay", ("0.5", "0.7", "0.9")),
        ("threshold", ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5")),
    ):
        chosen = experiment(name)
        assert chosen.names == series
        assert [cell[2] for cell in chosen.cells] == shares
    assert all(contender.decay == 0.9 for contender in experiment("threshold").contenders)
    assert experiment("noisy").names == (*METHODS, "oracle")
    assert {cell[:2] for cell in experiment("methods").cells} == {(s, law) for s in SHAPES for law in LAWS}
    assert {"rmds-aap", "rmds-aap-estimated"} <= set(experiment("methods").names)
    numbers = [experiment(name).number for name in EXPERIMENTS]
    assert numbers == [1, 2, 3, 4, 5]  # they are in the seeds


def test_slow_methods_run_on_a_share_of_the_simulations_unless_named(tmp_path, monkeypatch):
    monkeypatch.setitem(SHARES, "noisy", {"classical": 0.25})
    chosen = experiment("noisy", QUICK)
    assert simulations_of(chosen, 1000, slow_ones_less=True) == {"classical": 250, "oracle": 1000}
    assert simulations_of(chosen, 100, slow_ones_less=True) == {"classical": 50, "oracle": 100}
    assert simulations_of(chosen, 20, slow_ones_less=True) == {"classical": 20, "oracle": 20}
    assert simulations_of(chosen, 1000, slow_ones_less=False) == {"classical": 1000, "oracle": 1000}
    monkeypatch.setattr("robustmds.paper.simulations_of", lambda *_, **__: {"classical": 2, "oracle": 8})
    table = quickly(tmp_path)
    assert table.n.tolist() == 15 * [2, 8]
    assert json.loads((tmp_path / "noisy.json").read_text())["endings"]["oracle"] == {"CONVERGED": 8 * 15}
    glance = next(at_a_glance(chosen, table))
    assert [row[0] for row in glance.rows] == ["classical (2)", "oracle"]


def test_the_lines_of_all_methods_can_be_told_apart(monkeypatch):
    for k in range(15 - len(METHODS)):
        monkeypatch.setitem(METHODS, f"more-{k}", Classical)
    kinds = [figures._kind(name) for name in [*METHODS, "oracle", "rmds-aap-estimated"]]  # noqa: SLF001
    looks = {(k % len(COLOURS), k // len(COLOURS) % len(LINES), k % len(MARKS)) for k in kinds}
    assert len(looks) == len(kinds) >= 15
    assert len({look[:2] for look in looks}) == len(kinds)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"name": "figures"}, "experiment must be one of convergence, decay"),
        ({"simulations": 0}, "simulations must be"),
        ({"seed": -1}, "seed must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"jobs": 1.5}, "jobs must be a whole number"),
        ({"methods": ["magic"]}, "methods must be one of auto, .*: got 'magic'"),
        ({"methods": []}, "methods must be one of auto"),
        ({"name": "decay"}, "methods can be chosen in noisy and methods only: got decay"),
        ({"name": "methods"}, "methods must be one of .*: got 'oracle'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, settings, sentence):
    with pytest.raises(InputError, match=sentence):
        reproduce(
            **({"name": "noisy", "folder": tmp_path / "new", "methods": QUICK, "simulations": 1} | settings)
        )
    assert not (tmp_path / "new").exists()
