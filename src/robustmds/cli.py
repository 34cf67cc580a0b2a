"""The command line: thin; everything it says is worked out elsewhere.

Exit codes: 0 settled, 2 bad input (one sentence on stderr), 3 not settled (the results are still written),
130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table as Grid
from rich.text import Text
from scipy.spatial.distance import pdist, squareform

import robustmds as rm
from robustmds import plots
from robustmds.errors import InputError, require_choice
from robustmds.files import read_distances, read_points, require_writable, write_rows, write_whole
from robustmds.inputs import faults
from robustmds.paper import EXPERIMENTS, PAPER, Glance, at_a_glance, experiment, reproduce
from robustmds.result import Result, Status, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from robustmds.datasets import Array, Mask

SHOWN_SUSPECTS = 10
SHOWN_PANELS = 3  # of an experiment
NOT_SETTLED, BAD_INPUT, INTERRUPTED = 3, 2, 130

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Points from pairwise distances when some of the distances are grossly wrong, and which ones were.",
)
out, err = Console(highlight=False), Console(stderr=True, highlight=False)

File = Annotated[
    Path, typer.Argument(help="csv, tsv or other text, npy, npz: a square table, a list of pairs.")
]
Components = Annotated[int, typer.Option("-d", "--components", help="Dimension of the points.")]
Squared = Annotated[bool, typer.Option("--squared", help="The file holds squared distances.")]


def main() -> None:
    """Run the command line, and say what is wrong with its input in one sentence."""
    try:
        app()
    except InputError as error:
        err.print(Text(f"robustmds: {error}"), soft_wrap=True)
        sys.exit(BAD_INPUT)


@app.command()
def fit(
    file: File,
    components: Components = 2,
    out_folder: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write points, suspects, result and map there.")
    ] = None,
    method: Annotated[str, typer.Option(help="One of those that `robustmds methods` lists.")] = "auto",
    squared: Squared = False,
    outlier_sign: Annotated[str, typer.Option(help="any, too-long or too-short, if it is known.")] = "any",
    noise: Annotated[float | None, typer.Option(help="Standard deviation of a good distance.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Find the points and the wrong distances of a file."""
    if out_folder is not None:
        require_writable(out_folder)
    distances = read_distances(file)
    with watched() as callback:
        result = rm.robust_mds(
            distances,
            components,
            method=method,
            squared=squared,
            outlier_sign=outlier_sign,
            noise=noise,
            callback=callback,
        )
    if out_folder is not None:
        write_result(out_folder, result)
    if as_json:
        sys.stdout.write(json.dumps(as_plain(result), indent=1) + "\n")
    else:
        show(result)
        say(
            f"Written: {out_folder}"
            if out_folder
            else "Nothing was written: -o FOLDER writes points, suspects and a map."
        )
    if result.status is not Status.CONVERGED:
        raise typer.Exit(NOT_SETTLED)


@app.command()
def check(file: File, components: Components = 2, squared: Squared = False) -> None:
    """Say what is wrong with a file, before any fit."""
    found = faults(read_distances(file), components, squared=squared)
    for fault in found:
        err.print(Text(str(fault)), soft_wrap=True)
    if found:
        raise typer.Exit(BAD_INPUT)
    say(f"{file}: nothing wrong.")


@app.command()
def methods() -> None:
    """List the methods."""
    grid = Grid("method", "what it is", "can use", box=None, header_style="bold")
    for name, method in rm.METHODS.items():
        grid.add_row(name, method.summary, ", ".join(sorted(method.supports)) or "-")
    out.print(grid)


@app.command()
def compare(
    file: File,
    components: Components = 2,
    truth: Annotated[
        Path | None, typer.Option(help="A file with the true points, or some: name, x, y; npy.")
    ] = None,
    methods: Annotated[str | None, typer.Option(help="Only these, as in auto,rmds-aap.")] = None,
    squared: Squared = False,
    out_folder: Annotated[Path | None, typer.Option("-o", "--out", help="Write the table there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Fit a file by every method, and lay what they make of it side by side.

    stress is that of all pairs, relative to the distances; set aside, the share of the pairs that are
    probably wrong at a method's points, and noise that of the others; agrees with counts the other methods
    that place the points within 5 % of their size; error needs --truth.
    """
    if out_folder is not None:
        require_writable(out_folder)
    distances = read_distances(file)
    known = None if truth is None else read_points(truth, components)
    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    with err.status("reading the distances") as status:
        table = rm.compare(
            distances,
            components,
            methods=chosen,
            truth=known,
            squared=squared,
            tell=status.update,
        )
    if out_folder is not None:
        write_whole(out_folder, {"compare.csv": lambda path: write_rows(path, table.columns, table)})
    if as_json:
        rows = [{k: None if str(v) == "nan" else v for k, v in row._asdict().items()} for row in table]
        sys.stdout.write(json.dumps(rows, indent=1) + "\n")
        return
    grid = Grid(*(name.replace("_", " ") for name in table.columns), box=None, header_style="bold")
    for row in table:
        cells = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in row)
        grid.add_row(*(Text("-" if cell == "nan" else cell) for cell in cells))
    out.print(grid)
    if out_folder is not None:
        say(f"Written: {out_folder}/compare.csv")


@app.command()
def demo(
    out_folder: Annotated[Path, typer.Option("-o", "--out", help="Where to write.")] = Path("robustmds-demo"),
) -> None:
    """Fit two sets of distances that come with the package, beside plain MDS."""
    require_writable(out_folder)
    say(
        "1. Road distances in km between 21 European cities, as an encyclopaedia has them; four are wrong",
        "bold",
    )
    cities = rm.Labelled(*rm.datasets.eurodist())
    roads = {method: rm.robust_mds(cities, method=method) for method in ("classical", "auto")}
    show(roads["auto"], n_suspects=5)
    say("\n2. A plus sign of 101 points; one distance in five is made too long", "bold")
    plus = rm.datasets.plus_sign()
    spoilt = rm.datasets.corrupt(squareform(pdist(plus)), share=0.2, random_state=0)
    signs = {
        method: rm.robust_mds(spoilt.distances, method=method).align_to(plus)
        for method in ("classical", "auto")
    }
    show(signs["auto"], n_suspects=0)
    say("\n3. Beside plain MDS", "bold")
    beside(roads, signs, plus, spoilt.wrong)
    write_result(out_folder, roads["auto"], "eurodist-")
    write_result(out_folder, signs["auto"], "plus-sign-")
    write_whole(
        out_folder,
        {
            "eurodist.csv": lambda path: write_rows(path, ["", *cities.labels], named_rows(cities)),
            "plus-sign.png": lambda path: draw_beside(path, signs),
        },
    )
    say(f"\nPoints, suspects and pictures are in {out_folder}. Go on with:")
    say(f"robustmds fit {out_folder}/eurodist.csv")


@app.command()
def paper(
    what: Annotated[str, typer.Argument(metavar="EXPERIMENT", help=f"{', '.join(EXPERIMENTS)} or all.")],
    simulations: Annotated[int | None, typer.Option(help="Draws per case: 1000; of methods, 100.")] = None,
    seed: Annotated[int, typer.Option(help="Of all draws.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; as many as there are processors.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these in noisy and methods, as in auto,rmds-aap.")
    ] = None,
    folder: Annotated[Path, typer.Option("-o", "--out", help="Where to write.")] = Path("robustmds-paper"),
) -> None:
    """Run the experiments of the RMDS-AAP paper again: for each a table, a figure and its settings.

    "all" is the four that the paper has. "methods" is ours: all methods, on other shapes and with other
    outliers, too; it takes longest. The numbers do not depend on --jobs. What was interrupted goes on.
    """
    require_choice("experiment", what, (*EXPERIMENTS, "all"))
    chosen = None if methods is None else [name.strip() for name in methods.split(",")]
    todo = dict.fromkeys(PAPER) | {"noisy": chosen} if what == "all" else {what: chosen}
    settings = {name: experiment(name, among) for name, among in todo.items()}  # refuses before any work
    n_jobs = getattr(os, "process_cpu_count", os.cpu_count)() or 1 if jobs is None else jobs
    for name, among in todo.items():
        try:
            with counted(name) as tell:
                table = reproduce(
                    name, folder, simulations=simulations, seed=seed, jobs=n_jobs, methods=among, tell=tell
                )
        except KeyboardInterrupt:
            text = f"Interrupted. What is done is kept in {folder}; the same command goes on from there."
            err.print(Text(text), soft_wrap=True)
            raise typer.Exit(INTERRUPTED) from None
        show_glances(list(at_a_glance(settings[name], table)))
        say(f"Written: {folder}/{name}.csv, .json and .png\n")
    if what == "all":
        say("Not in the paper, and separate because it takes long: robustmds paper methods")


def show_glances(glances: list[Glance]) -> None:
    """Print what the first panels of an experiment show."""
    for glance in glances[:SHOWN_PANELS]:
        say(glance.title, "bold")
        grid = Grid(*glance.header, box=None, header_style="bold", pad_edge=False, collapse_padding=True)
        for row in glance.rows:
            grid.add_row(*row)
        out.print(grid)
    if len(glances) > SHOWN_PANELS:
        say(f"and {len(glances) - SHOWN_PANELS} more such tables")


def beside(roads: dict[str, Result], signs: dict[str, Result], plus: Array, wrong: Mask) -> None:
    """Print what plain MDS and robustmds make of the two sets."""
    grid = Grid("", "plain MDS", "robustmds", box=None, header_style="bold")
    known = {frozenset(pair) for pair in rm.datasets.EURODIST_ERRORS}
    first = {method: result.suspects(0.0)[:5] for method, result in roads.items()}
    n_known = {
        method: len(known & {frozenset(pair) for pair in zip(table.label_i, table.label_j, strict=True)})
        for method, table in first.items()
    }
    grid.add_row(
        "cities: known errors among the first five suspects",
        *(f"{k} of {len(known)}" for k in n_known.values()),
    )
    size = np.sqrt(((plus - plus.mean(axis=0)) ** 2).sum(axis=1).mean())
    error = {
        method: np.sqrt(((result.points - plus) ** 2).sum(axis=1).mean()) / size
        for method, result in signs.items()
    }
    grid.add_row(
        "plus sign: error of the points, relative to its size", *(f"{e:.1g}" for e in error.values())
    )
    suspects = {method: result.suspects() for method, result in signs.items()}
    n_found = {method: int(wrong[table.i, table.j].sum()) for method, table in suspects.items()}
    total = int(wrong.sum()) // 2
    grid.add_row("plus sign: wrong distances found", *(f"{k} of {total}" for k in n_found.values()))
    false = (len(table) - n_found[method] for method, table in suspects.items())
    grid.add_row("plus sign: good distances suspected", *(str(k) for k in false))
    out.print(grid)


def show(result: Result, n_suspects: int = SHOWN_SUSPECTS) -> None:
    """Print a result for a person: the summary and the worst suspects."""
    say(str(result))
    suspects = result.suspects()
    if not n_suspects or not len(suspects):
        return
    grid = Grid("pair", "measured", "fitted", "probably wrong", box=None, header_style="bold")
    for row in suspects[:n_suspects]:
        pair = Text(f"{result.labels[row.i]} - {result.labels[row.j]}")
        grid.add_row(pair, f"{row.measured:.5g}", f"{row.fitted:.5g}", f"{row.probability:.1%}")
    out.print(grid)
    if len(suspects) > n_suspects:
        say(f"and {len(suspects) - n_suspects} more")


def write_result(folder: Path, result: Result, prefix: str = "") -> None:
    """Write points, suspects, the result and its map into a folder, all or none."""
    points, suspects = result.table(), result.suspects()
    write_whole(
        folder,
        {
            f"{prefix}points.csv": lambda path: write_rows(path, points.columns, points),
            f"{prefix}suspects.csv": lambda path: write_rows(path, suspects.columns, suspects),
            f"{prefix}result.npz": result.save,
            f"{prefix}map.png": lambda path: draw(path, result),
        },
    )


def draw(path: Path, result: Result) -> None:
    """Draw the map of a result into a file."""
    figure = plots.new_figure(1)
    result.plot(figure.axes[0])
    figure.savefig(path)


def draw_beside(path: Path, results: dict[str, Result]) -> None:
    """Draw the points of plain MDS and of robustmds side by side into a file."""
    figure = plots.new_figure(len(results))
    titles = ("plain MDS", "robustmds")
    for ax, title, result in zip(figure.axes, titles, results.values(), strict=True):
        plots.draw_map(result.points, ax=ax)
        ax.set_title(title)
    figure.savefig(path)


def named_rows(cities: rm.Labelled) -> Iterator[list[Any]]:
    """Yield the rows of a labelled square, each with its name."""
    for name, row in zip(cities.labels, cities.distances, strict=True):
        yield [name, *row]


def as_plain(result: Result) -> dict[str, Any]:
    """Return a result as JSON can hold it."""
    return {
        "status": result.status.name,
        "advice": result.status.value,
        "method": result.method,
        "settings": dict(result.settings),
        "versions": dict(result.versions),
        "n_measured": result.n_measured,
        "noise": result.noise,
        "outlier_share": result.outlier_share,
        "points": result.table().to_dict(),
        "suspects": result.suspects().to_dict(),
    }


def say(text: str, style: str = "") -> None:
    """Print a line; what looks like markup in it is text."""
    out.print(Text(text, style=style), soft_wrap=True)


@contextmanager
def watched() -> Iterator[Callable[[Step], None]]:
    """Show, where somebody looks on, what the fit is doing."""
    with err.status("reading the distances") as status:

        def tell(step: Step) -> None:
            status.update(f"{step.method}: cut {step.cut:.3g}, {step.n_outliers} pairs set aside")

        yield tell


@contextmanager
def counted(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show, where somebody looks on, how many runs are done, and how long the others will take."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal) as progress:
        task = progress.add_task(name, total=None, left="")
        at_first: list[float] = []  # when it began, and how many runs were there before

        def tell(done: int, wanted: int) -> None:
            at_first.extend([time.monotonic(), done] if not at_first else [])
            began, before = at_first
            seconds = (time.monotonic() - began) * (wanted - done) / max(done - before, 1)
            left = f"{timedelta(seconds=round(seconds))} left" if done > before else ""
            progress.update(task, total=wanted, completed=done, left=left)

        yield tell
