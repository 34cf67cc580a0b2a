"""The command line as a user has it: our own command, in a folder of its own."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import robustmds as rm
from robustmds.cli import main

POINTS = np.random.default_rng(0).random((30, 2))
SPOILT = rm.datasets.corrupt(squareform(pdist(POINTS)), 0.03, random_state=1)


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def command(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["robustmds", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        done = Done(ended.value.code or 0, *capsys.readouterr())
        assert done.code == code, done.stderr
        return done

    return command


@pytest.fixture
def table(tmp_path):
    """Write labelled distances as csv."""
    names = [f"p{k}" for k in range(30)]
    with (tmp_path / "table.csv").open("w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", *names])
        writer.writerows([name, *row] for name, row in zip(names, SPOILT.distances.tolist(), strict=True))
    return tmp_path / "table.csv"


def read(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_demo_finds_what_is_wrong_and_writes_it_down(run, tmp_path):
    text = run("demo").stdout
    assert "Cologne - Geneva" in text
    assert "cities: known errors among the first five suspects" in text
    assert "1010 of 1010" in text
    folder = tmp_path / "robustmds-demo"
    pairs = {frozenset((row["label_i"], row["label_j"])) for row in read(folder / "eurodist-suspects.csv")}
    assert {frozenset(pair) for pair in rm.datasets.EURODIST_ERRORS} <= pairs
    assert len(read(folder / "plus-sign-suspects.csv")) == 1010
    for name in ("eurodist-map.png", "plus-sign.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    # The last line tells the next command, which works.
    assert "set aside as wrong" in run(*text.strip().splitlines()[-1].split("robustmds ")[-1].split()).stdout


def test_a_file_becomes_points_suspects_a_result_and_a_map(run, table, tmp_path):
    text = run("fit", table, "-o", "out/deep").stdout
    assert text.startswith("30 points in 2 dimensions from 435 of 435 distances, by auto")
    points = np.array([[row["x1"], row["x2"]] for row in read(tmp_path / "out/deep/points.csv")], dtype=float)
    np.testing.assert_allclose(rm.align(points, POINTS), POINTS, rtol=0, atol=1e-9)
    expected = rm.robust_mds(SPOILT.distances)
    np.testing.assert_array_equal(points, expected.points)
    suspects = read(tmp_path / "out/deep/suspects.csv")
    assert [int(row["i"]) for row in suspects] == expected.suspects().i.tolist()
    assert suspects[0]["label_i"] == f"p{suspects[0]['i']}"
    np.testing.assert_array_equal(rm.Result.load(tmp_path / "out/deep/result.npz").points, points)
    assert (tmp_path / "out/deep/map.png").stat().st_size > 0


def test_json_is_for_machines(run, table):
    seen = json.loads(run("fit", table, "--json").stdout)
    expected = rm.robust_mds(SPOILT.distances)
    assert seen["status"] == "CONVERGED"
    assert seen["points"]["label"][:2] == ["p0", "p1"]
    assert seen["points"]["x1"] == expected.points[:, 0].tolist()
    assert seen["suspects"]["i"] == expected.suspects().i.tolist()
    assert seen["noise"] == expected.noise


def test_every_option_arrives(run, tmp_path):
    points = np.random.default_rng(2).random((30, 3))
    np.save(tmp_path / "solid.npy", pdist(points))
    options = ["--method", "auto", "--outlier-sign", "too-long", "--noise", 0.01]
    seen = json.loads(run("fit", "solid.npy", "-d", 3, *options, "--json").stdout)
    found = np.column_stack([seen["points"][axis] for axis in ("x1", "x2", "x3")])
    np.testing.assert_allclose(rm.align(found, points), points, rtol=0, atol=1e-6)
    assert (seen["settings"]["outlier_sign"], seen["settings"]["noise"]) == ("too-long", 0.01)


def test_squared_distances_are_told(run, tmp_path):
    np.save(tmp_path / "squared.npy", SPOILT.distances**2)
    seen = json.loads(run("fit", "squared.npy", "--squared", "--json").stdout)
    x, y = seen["points"]["x1"], seen["points"]["x2"]
    np.testing.assert_allclose(rm.align(np.column_stack([x, y]), POINTS), POINTS, rtol=0, atol=1e-9)


def test_a_fit_that_did_not_settle_still_writes_its_results(run, tmp_path):
    rng = np.random.default_rng(3)
    np.save(
        tmp_path / "noise.npy", rng.random(190) + np.where(rng.random(190) < 0.6, 9.0 * rng.random(190), 0.0)
    )
    done = run("fit", "noise.npy", "-o", "out", "--noise", "1e-6", code=3)
    assert "DEGENERATE" in done.stdout
    assert (tmp_path / "out" / "points.csv").exists()


def test_a_label_is_text_and_no_markup(run, tmp_path):
    names = ["[red]a[/red]", "<b>", "[/]", "$x$", "e", "f"]
    distances = squareform(pdist(np.random.default_rng(4).random((6, 2))))
    distances[0, 1] = distances[1, 0] = 5.0
    with (tmp_path / "odd.csv").open("w", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["", *names])
        writer.writerows([name, *row] for name, row in zip(names, distances.tolist(), strict=True))
    assert "[red]a[/red] - <b>" in run("fit", "odd.csv", "-o", "out").stdout


def test_check_finds_nothing_wrong_with_a_good_file(run, table):
    assert "nothing wrong" in run("check", table).stdout


def test_check_tells_all_that_is_wrong(run, tmp_path):
    distances = SPOILT.distances.copy()
    distances[0, 1], distances[2, 2], distances[3, 4] = -1.0, 5.0, np.inf
    np.save(tmp_path / "bad.npy", distances)
    text = run("check", "bad.npy", code=2).stderr
    assert "D[0, 1] = -1" in text
    assert "D[2, 2] = 5" in text
    assert "D[3, 4] = inf" in text


def test_the_methods_are_listed(run):
    text = run("methods").stdout
    assert all(name in text for name in rm.METHODS)


def test_all_methods_are_laid_side_by_side(run, table, tmp_path):
    lines = [f"p{k},{x},{y}" for k, (x, y) in enumerate(POINTS)]
    (tmp_path / "truth.csv").write_text("\n".join(["name,x,y", *lines]), encoding="utf-8")
    text = run("compare", table, "--truth", "truth.csv", "-o", "out").stdout
    assert all(name in text for name in rm.METHODS)
    rows = read(tmp_path / "out/compare.csv")
    assert [row["method"] for row in rows] == list(rm.METHODS)
    assert float(rows[0]["error"]) < 1e-6
    seen = json.loads(run("compare", table, "--methods", "auto,classical", "--json").stdout)
    assert [row["method"] for row in seen] == ["auto", "classical"]
    assert seen[0]["error"] is None
    assert "methods must be one of" in run("compare", table, "--methods", "auto,magic", code=2).stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "bad.csv must hold distances: it is empty"),
        ("0,1,2,4\n1,0,3,5\n", "bad.csv must be a square table, an edge list, one row or one column"),
        (
            "0,1,2\n1,0,3\n2,3\n4,5,6\n",
            "bad.csv, line 3 must have as many cells as the others: 2 instead of 3.",
        ),
        ("a,b,c\n0,1,x\n1,0,2\n3,2,0\n", "must be a number: 'x'"),
        ("0,1,2,4\n1,0,3,4\n2,3,0,-4\n4,4,-4,0\n", "must not be negative: D[2, 3] = -4"),
        (",a,b,c,a\na,0,1,2,3\nb,1,0,3,2\nc,2,3,0,1\na,3,2,1,0\n", "must not repeat a label: 'a'"),
    ],
)
@pytest.mark.parametrize("command", ["fit", "check"])
def test_a_bad_file_is_refused_in_one_sentence(run, tmp_path, content, sentence, command):
    (tmp_path / "bad.csv").write_text(content, encoding="utf-8")
    done = run(command, "bad.csv", code=2)
    assert sentence in done.stderr
    assert done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == ["bad.csv"]  # noqa: PTH208 - names are enough


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "nowhere.csv"], "nowhere.csv must be a file that can be read: No such file or directory."),
        (["fit", "."], ". must be a file that can be read: Is a directory."),
        (["fit", "table.csv", "-d", "0"], "n_components must"),
        (["fit", "table.csv", "-d", "30"], "n_components must"),
        (
            ["fit", "table.csv", "--method", "magic"],
            "method must be one of auto, rmds-aap, classical,",
        ),
        (["fit", "table.csv", "-o", "table.csv"], "table.csv must be a folder that can be written"),
        (["fit", "table.csv", "-o", "table.csv/x"], "must be a folder that can be written"),
        (["demo", "-o", "table.csv"], "table.csv must be a folder that can be written"),
        (
            ["paper", "figures"],
            "experiment must be one of convergence, decay, threshold, noisy, methods, all",
        ),
        (["paper", "noisy", "--methods", "auto,magic"], "methods must be one of auto"),
        (["paper", "all", "--methods", "magic"], "methods must be one of auto"),
        (
            ["paper", "decay", "--methods", "auto"],
            "methods can be chosen in noisy and methods only: got decay.",
        ),
        (["paper", "decay", "--simulations", "0"], "simulations must be"),
        (["paper", "decay", "--seed", "-1"], "seed must be"),
        (["paper", "decay", "--jobs", "0"], "jobs must be"),
        (["paper", "decay", "-o", "table.csv"], "table.csv must be a folder that can be written"),
    ],
)
def test_a_bad_argument_is_refused_in_one_sentence(run, table, arguments, sentence):
    assert table.exists()
    assert sentence in run(*arguments, code=2).stderr


def test_an_experiment_prints_its_table_and_says_where_the_rest_is(run, tmp_path):
    options = ["--simulations", 2, "--methods", "oracle, classical", "--jobs", 1, "-o", "new/deep"]
    done = run("paper", "noisy", *options)
    lines = done.stdout.splitlines()
    assert lines[0] == "mean over n_outliers, 2 draws: noise_variance 0.0"
    assert lines[1].split() == ["method", "15", "30", "45", "60", "75"]
    assert [line.split()[0] for line in lines[2:4]] == ["classical", "oracle"]
    assert "Written: new/deep/noisy.csv, .json and .png" in done.stdout
    assert done.stderr == ""
    written = {path.name for path in (tmp_path / "new/deep").iterdir()}
    assert written == {"noisy.csv", "noisy.json", "noisy.png", "noisy-methods.png", "noisy-runs.jsonl"}
    rows = read(tmp_path / "new/deep/noisy.csv")
    assert [row["n"] for row in rows] == ["2"] * 30
    # The same runs serve again, whatever the number of processes; those of another seed are refused.
    assert run("paper", "noisy", *options[:4], "--jobs", 2, "-o", "new/deep").stdout == done.stdout
    refused = run("paper", "noisy", *options, "--seed", 5, code=2).stderr
    assert "noisy-runs.jsonl must hold runs of the same settings: its seed is 0, not 5." in refused


def test_all_are_the_experiments_that_the_paper_has(run, monkeypatch, tmp_path):
    asked = []

    def reproduce(name, folder, **settings):
        asked.append((name, settings["methods"], settings["simulations"], settings["seed"]))
        return rm.paper.reproduce(name, folder, **(settings | {"simulations": 1}))

    monkeypatch.setattr("robustmds.cli.reproduce", reproduce)
    text = run("paper", "all", "--methods", "classical", "--seed", 3, "--jobs", 1).stdout
    assert asked == [
        ("convergence", None, None, 3),
        ("decay", None, None, 3),
        ("threshold", None, None, 3),
        ("noisy", ["classical"], None, 3),
    ]
    assert text.splitlines()[-1].endswith("robustmds paper methods")
    assert all((tmp_path / "robustmds-paper" / f"{name}.png").exists() for name, *_ in asked)


def test_an_interrupted_experiment_says_how_to_go_on(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("robustmds.cli.reproduce", interrupted)
    done = run("paper", "decay", "-o", "somewhere", code=130)
    assert done.stderr == (
        "Interrupted. What is done is kept in somewhere; the same command goes on from there.\n"
    )


def test_a_typing_error_is_answered_with_the_command_meant(run):
    assert "Did you mean 'check'?" in run("chek", "x", code=2).stderr


def test_help_shows_every_command(run):
    text = run("--help").stdout
    assert all(command in text for command in ("fit", "check", "methods", "demo", "paper"))


def test_the_installed_command_exits_with_the_code_and_without_a_traceback(tmp_path):
    command = Path(sys.executable).with_name("robustmds")
    done = subprocess.run(
        [command, "fit", "x.csv"], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    sentence = "robustmds: x.csv must be a file that can be read: No such file or directory."
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.replace("\n", " ").startswith(sentence)
    assert "Traceback" not in done.stderr
