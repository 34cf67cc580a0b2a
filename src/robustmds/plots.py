"""Pictures, from plain arrays; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from robustmds.linalg import Array

# Two colours that everybody can tell apart (Okabe and Ito 2008).
POINTS, SUSPECTS = "#0072B2", "#D55E00"
NAMED = 80  # more points than these are drawn without their names


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


def new_figure(n_panels: int) -> Any:  # noqa: ANN401 - matplotlib's Figure
    """Return a figure with panels side by side, for a file: pyplot knows nothing of it."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - heavy

    figure = Figure(figsize=(6 * n_panels, 5.2), layout="constrained", dpi=150)
    figure.subplots(1, n_panels, squeeze=False)
    return figure
