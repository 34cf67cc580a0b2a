"""The figures of the experiments, from their tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from robustmds import theory
from robustmds.methods import METHODS
from robustmds.paper.draws import LAWS, SHAPES
from robustmds.paper.experiments import Convergence
from robustmds.paper.programme import ORACLE
from robustmds.paper.summaries import labelled
from robustmds.plots import COLOURS, draw_curve, draw_rates, new_figure, tidy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from robustmds.datasets import Mask
    from robustmds.paper.experiments import Experiment
    from robustmds.table import Table

    Figure = Any  # matplotlib's

NAMES = {
    "S": r"$\|S^k-S^\star\|_\infty$",
    "L": r"$\|L^{k+1}-L^\star\|_\infty$",
    "X": r"$\|X^{k+1}-X^\star R^{k+1}\|_\infty$",
}
ENVELOPES = {"S": theory.outlier_envelope, "L": theory.gram_envelope, "X": theory.points_envelope}
LAW_NAMES = {
    "too long": "outliers too long",
    "symmetric": "outliers too long or too short",
    "bad nodes": "all distances of some points",
}
IN_PAPER = ("auto", "rmds-aap", "fsmds", ORACLE)  # the figure that is like the paper's; the first four kinds
LEAST_ERROR = 1e-3  # errors of exact fits are drawn here
SINGLE, SMALL, TALL = (5.0, 4.0), (4.0, 3.4), (4.0, 4.4)


def drawings(experiment: Experiment, table: Table) -> dict[str, Callable[[Path], None]]:
    """Return, for the file name of every figure, what draws it into a file."""
    name = experiment.name
    if name == "noisy":
        like_paper = [n for n in experiment.names if n in IN_PAPER]
        drawn = {
            "noisy.png": partial(_noisy, table, like_paper or experiment.names),
            "noisy-methods.png": partial(_noisy_methods, table, experiment.names),
        }
    elif isinstance(experiment, Convergence):
        drawn = {"convergence.png": partial(_convergence, experiment, table)}
    else:
        draw = {"decay": _decay, "threshold": _threshold, "methods": _methods}[name]
        drawn = {f"{name}.png": partial(draw, table, experiment.names)}
    return {file: partial(_save, draw) for file, draw in drawn.items()}


def _save(draw: Callable[[], Figure], path: Path) -> None:
    draw().savefig(path)


def _convergence(experiment: Convergence, table: Table) -> Figure:
    figure = new_figure(1, panel=SINGLE)
    (ax,) = figure.axes
    points = SHAPES[experiment.cells[0][0]](np.random.default_rng(0))
    for kind, name in enumerate(experiment.names):
        rows = _rows(table, quantity=name)
        draw_curve(ax, table.k[rows], table.log10_mean[rows], NAMES[name], kind, every=5)
        bound = np.log10(ENVELOPES[name](points, experiment.told.decay, table.k[rows]))
        ax.plot(table.k[rows], bound, "--", color=COLOURS[kind], linewidth=0.8, zorder=0)
    ax.plot([], [], "--", color="0.4", linewidth=0.8, label="their bounds in the theorem")
    tidy(ax, "$k$", r"$\log_{10}$ of the mean error")
    ax.legend(frameon=False)
    return figure


def _decay(table: Table, names: Sequence[str]) -> Figure:
    figure = new_figure(1, panel=SINGLE)
    (ax,) = figure.axes
    for kind, name in enumerate(names):
        rows = _rows(table, decay=name)
        _draw_rate(ax, table, rows, rf"$\gamma={name}$", kind)
    tidy(ax, "$p$", "success rate")
    ax.legend(frameon=False)
    return figure


def _threshold(table: Table, names: Sequence[str]) -> Figure:
    figure = new_figure(1, panel=(6.0, 3.6))
    (ax,) = figure.axes
    rates = np.array([table.success_rate[_rows(table, threshold=name)] for name in names])
    shares = table.outlier_share[_rows(table, threshold=names[0])]
    draw_rates(ax, shares, [float(name) for name in names], rates)
    ax.set_xlabel("$p$")
    ax.set_ylabel(r"$\xi^0/\|D^\star\|_\infty$")
    return figure


def _noisy(table: Table, names: Sequence[str]) -> Figure:
    """Draw means and standard deviations of a few methods, as in the paper."""
    figure, panels = _panels_by_noise(table, SMALL)
    for ax, here in panels:
        for place, name in enumerate(names):
            rows = here & _rows(table, method=name)
            # Side by side, so that the bars can be told apart.
            m = table.n_outliers[rows] + 1.2 * (place - (len(names) - 1) / 2)
            label = _label(table, name)
            draw_curve(ax, m, table["mean"][rows], label, _kind(name), bars=table.standard_deviation[rows])
        ax.set_ylim(bottom=0)
    _legend(figure, len(names))
    return figure


def _noisy_methods(table: Table, names: Sequence[str]) -> Figure:
    """Draw the means of all methods, on a logarithmic scale."""
    figure, panels = _panels_by_noise(table, TALL)
    for ax, here in panels:
        ax.sharey(figure.axes[0])
        for name in names:
            rows = here & _rows(table, method=name)
            error = np.maximum(table["mean"][rows], LEAST_ERROR)
            draw_curve(ax, table.n_outliers[rows], error, _label(table, name), _kind(name))
    figure.axes[0].set_yscale("log")  # and with it all
    figure.axes[0].set_ylabel(f"mean RMSE, at least {LEAST_ERROR:g}")
    _legend(figure, len(names))
    return figure


def _panels_by_noise(table: Table, panel: tuple[float, float]) -> tuple[Figure, Iterator[tuple[Any, Mask]]]:
    variances = np.unique(table.noise_variance)
    figure = new_figure(len(variances), panel=panel)
    for ax, variance in zip(figure.axes, variances, strict=True):
        tidy(ax, "$m$", "mean RMSE" if ax is figure.axes[0] else "", rf"$\sigma^2={variance:g}$")
        ax.set_xticks(np.unique(table.n_outliers))
    return figure, zip(figure.axes, (table.noise_variance == v for v in variances), strict=True)


def _methods(table: Table, names: Sequence[str]) -> Figure:
    figure = new_figure(len(LAWS), len(SHAPES), panel=(4.0, 2.7))
    places = [(shape, law) for shape in SHAPES for law in LAWS]
    for ax, (shape, law) in zip(figure.axes, places, strict=True):
        here = _rows(table, shape=shape, outliers=law)
        for name in names:
            _draw_rate(
                ax, table, here & _rows(table, method=name), _label(table, name), _kind(name), band=False
            )
        tidy(
            ax,
            "$p$" if shape == list(SHAPES)[-1] else "",
            "success rate" if law == LAWS[0] else "",
            f"{shape}, {LAW_NAMES[law]}",
        )
    _legend(figure, len(names))
    return figure


def _draw_rate(ax: Any, table: Table, rows: Mask, label: str, kind: int, *, band: bool = True) -> None:  # noqa: ANN401 - matplotlib's Axes
    interval = (table.success_low[rows], table.success_high[rows]) if band else None
    draw_curve(ax, table.outlier_share[rows], table.success_rate[rows], label, kind, band=interval)
    ax.set_ylim(-0.04, 1.04)


def _rows(table: Table, **where: object) -> Mask:
    """Return a mask of the rows with these values."""
    return np.logical_and.reduce([table[column] == value for column, value in where.items()])


def _kind(name: str) -> int:
    """Return the kind of line of a method: the same in all figures, whoever else takes part."""
    base = [*IN_PAPER, *(other for other in METHODS if other not in IN_PAPER)]
    every = [*base[: len(IN_PAPER)], "rmds-aap-estimated", *base[len(IN_PAPER) :]]
    return every.index(name)


def _label(table: Table, name: str) -> str:
    return labelled(table, name, _rows(table, method=name))


def _legend(figure: Figure, n_names: int) -> None:
    lines = figure.axes[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=min(n_names, 6), frameon=False, fontsize=9)
