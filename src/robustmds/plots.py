"""Pictures, from plain arrays; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from robustmds.linalg import Array

# Colours that everybody can tell apart (Okabe and Ito 2008); their yellow is too light for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9")
POINTS, SUSPECTS = COLOURS[:2]
LINES = ("-", "--", ":")  # every colour once with each
MARKS = "os^DvPX<>ph"  # more than colours, so that lines of one colour differ in them, too
NAMED = 80  # more points than these are drawn without their names
BLACK_ON_WHITE = 0.5  # from this value on, numbers in an image are black


def draw_map(
    points: Array,
    names: Sequence[Hashable] | None = None,
    links: npt.NDArray[np.intp] | None = None,
    ax: Any = None,  # noqa: ANN401 - matplotlib's Axes
) -> Any:  # noqa: ANN401 - matplotlib's Axes
    """Draw points, their names, and lines between some of them.

    Parameters
    ----------
    points : (n, r) array
        Of more than two dimensions the first two are drawn; of one, a line.
    names : sequence, optional
        Written beside the points, unless there are too many.
    links : (m, 2) array of int, optional
        Positions of the ends of the lines.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if there is none.

    Returns
    -------
    matplotlib Axes
    """
    ax = new_axes() if ax is None else ax
    flat = points[:, :2] if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])
    for i, j in [] if links is None else links:
        ax.plot(*flat[[i, j]].T, color=SUSPECTS, linewidth=0.9, alpha=0.6, zorder=1)
    ax.scatter(*flat.T, s=16, color=POINTS, linewidths=0, zorder=2)
    if names is not None and len(names) <= NAMED:
        for name, place in zip(names, flat, strict=True):
            ax.annotate(str(name), place, xytext=(3, 3), textcoords="offset points", fontsize=7, zorder=3)
    ax.set_aspect("equal", adjustable="datalim")
    ax.tick_params(labelsize=7)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def new_axes() -> Any:  # noqa: ANN401 - matplotlib's Axes
    """Return the axes of a new figure, as pyplot shows it."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 - heavy

    return plt.subplots(figsize=(6, 5.2), layout="constrained")[1]


def new_figure(n_panels: int, n_rows: int = 1, *, panel: tuple[float, float] = (6.0, 5.2)) -> Any:  # noqa: ANN401 - matplotlib's Figure
    """Return a figure with rows of panels side by side, for a file: pyplot knows nothing of it."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    size = (panel[0] * n_panels, panel[1] * n_rows)
    figure = Figure(figsize=size, layout="constrained", dpi=150)
    figure.subplots(n_rows, n_panels, squeeze=False)
    return figure


def draw_curve(
    ax: Any,  # noqa: ANN401 - matplotlib's Axes
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    label: str,
    kind: int,
    *,
    band: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    bars: npt.ArrayLike | None = None,
    every: int = 1,
) -> None:
    """Draw a line with marks.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    x, y : array-likes
        The points of the line.
    label : str
        Its name in the legend.
    kind : int
        Lines of different kinds differ in colour or dashes, and in their marks.
    band : two array-likes, optional
        Between these values the line may lie: shaded.
    bars : array-like, optional
        Half the length of the error bars.
    every : int
        So many points have one mark.
    """
    colour, line = COLOURS[kind % len(COLOURS)], LINES[kind // len(COLOURS) % len(LINES)]
    mark = MARKS[kind % len(MARKS)]
    style = {"color": colour, "linestyle": line, "linewidth": 1.4, "marker": mark, "markersize": 4.5}
    style["zorder"] = 2 + 1 / (1 + kind)  # where lines coincide, the first kinds are seen
    if bars is None:
        ax.plot(x, y, label=label, markevery=every, **style)
    else:
        ax.errorbar(x, y, bars, label=label, capsize=2.5, elinewidth=0.9, **style)
    if band is not None:
        ax.fill_between(x, *band, color=colour, alpha=0.18, linewidth=0)


def draw_rates(ax: Any, x: npt.ArrayLike, y: npt.ArrayLike, rates: Array) -> None:  # noqa: ANN401 - matplotlib's
    """Draw a table of rates as an image from black (0) to white (1), with the numbers in it.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    x, y : array-likes
        What belongs to the columns and to the rows.
    rates : (n_rows, n_columns) array
        The first row is drawn at the bottom.
    """
    image = ax.imshow(rates, cmap="gray", vmin=0, vmax=1, origin="lower", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label="success rate")
    ax.set_xticks(range(len(rates[0])), [f"{value:g}" for value in np.asarray(x)])
    ax.set_yticks(range(len(rates)), [f"{value:g}" for value in np.asarray(y)])
    for (row, column), rate in np.ndenumerate(rates):
        colour = "black" if rate >= BLACK_ON_WHITE else "white"
        ax.text(column, row, f"{rate:.2f}", color=colour, fontsize=6.5, ha="center", va="center")


def tidy(ax: Any, x: str, y: str, title: str = "") -> None:  # noqa: ANN401 - matplotlib's Axes
    """Name the axes of a panel, and take away what says nothing."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_title(title, fontsize=10)
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
