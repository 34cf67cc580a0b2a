"""What the experiments measure: points, and distances between them of which some are wrong.

Every draw comes from its own `Generator`, so that neither the order of the draws nor their number matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform

from robustmds.datasets import corrupt, plus_sign

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from robustmds.datasets import Array, Mask

N_POINTS = 101  # of every shape; the paper's plus sign has so many
OUTLIER_SIZE = 0.8  # of the largest distance: 40 for a plus sign of width 50, as in the paper
APART = 6.0  # the centres of the two clusters, in standard deviations of each

ANCHORS = np.array([6, 12, 18, 24])  # the ends of the arms of the plus sign of 25 points
NOISY_OUTLIER = 20.0


class Draw(NamedTuple):
    """One simulated measurement, and the truth behind it.

    Attributes
    ----------
    points : (n, r) array
        Where the points are.
    distances : (n, n) array
        What was measured.
    wrong : (n, n) array of bool
        Which distances were given an outlier.
    judged : (m,) array of int
        The points at which an answer is judged: all but those whose distances all are wrong.
    """

    points: Array
    distances: Array
    wrong: Mask
    judged: npt.NDArray[np.intp]

    @property
    def sq_largest(self) -> float:
        """Largest true squared distance, the paper's ||D*||inf."""
        return float(pdist(self.points, "sqeuclidean").max())


def ball(rng: np.random.Generator) -> Array:
    """Return points spread evenly in the unit ball of three dimensions."""
    direction = rng.normal(size=(N_POINTS, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * np.cbrt(rng.random((N_POINTS, 1)))


def clusters(rng: np.random.Generator) -> Array:
    """Return two normal clouds of the same size, side by side."""
    points = rng.normal(size=(N_POINTS, 2))
    points[: N_POINTS // 2, 0] += APART
    return points


SHAPES: dict[str, Callable[[np.random.Generator], Array]] = {
    "plus sign": lambda rng: plus_sign(N_POINTS),  # noqa: ARG005 - the paper's, always the same
    "square": lambda rng: rng.random((N_POINTS, 2)),
    "ball": ball,
    "clusters": clusters,
}
LAWS = ("too long", "symmetric", "bad nodes")


def spoilt(rng: np.random.Generator, shape: str, law: str, share: float) -> Draw:
    """Return points of a shape and exact distances between them, a share of which got an outlier.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the randomness comes from.
    shape : str
        One of `SHAPES`, of 101 points.
    law : str
        "too long": as in the paper, pairs chosen at random get an outlier, uniform from 0 to 0.8 times the
        largest distance. "symmetric": it is added or subtracted with the same chance, and then at most the
        distance itself. "bad nodes": as in the paper, but the pairs are all those of some points chosen at
        random, as many as come nearest to the share. Those points cannot be found and are not judged.
    share : float
        Of the pairs that are wrong.
    """
    points = SHAPES[shape](rng)
    table = squareform(pdist(points))
    size = OUTLIER_SIZE * float(table.max())
    if law == "bad nodes":
        found = corrupt(table, 0.0, bad_nodes=n_bad_nodes(share), size=size, random_state=rng)
        judged = np.flatnonzero(found.wrong.sum(axis=1) < N_POINTS - 1)
    else:
        sign = "any" if law == "symmetric" else "too-long"
        found = corrupt(table, share, sign=sign, size=size, random_state=rng)
        judged = np.arange(N_POINTS)
    return Draw(points, found.distances, found.wrong, judged)


def n_bad_nodes(share: float) -> int:
    """Return how many points have to fail for about this share of the pairs to be wrong."""
    failed = np.arange(N_POINTS - 3)  # what is left shall be a shape
    n_wrong = failed * (2 * N_POINTS - 1 - failed) / 2
    return int(np.abs(n_wrong - share * N_POINTS * (N_POINTS - 1) / 2).argmin())


def noisy_plus(rng: np.random.Generator, variance: float, n_outliers: int) -> Draw:
    """Return the paper's plus sign of 25 points, with noisy distances some of which got an outlier.

    All 300 distances get normal noise, and their absolute value is kept; then so many of the 294 that are not
    between two anchors get an outlier, uniform from 0 to 20.

    Parameters
    ----------
    rng : numpy.random.Generator
        Where the randomness comes from.
    variance : float
        Of the noise; paper: sigma^2.
    n_outliers : int
        How many distances get an outlier; paper: m.
    """
    points = plus_sign(25)
    seen = pdist(points)
    seen = np.abs(seen + np.sqrt(variance) * rng.normal(size=seen.size))
    i, j = np.triu_indices(len(points), 1)
    free = np.flatnonzero(~(np.isin(i, ANCHORS) & np.isin(j, ANCHORS)))
    chosen = rng.choice(free, n_outliers, replace=False)
    seen[chosen] += rng.uniform(0.0, NOISY_OUTLIER, n_outliers)
    wrong = np.zeros(seen.size, dtype=np.bool_)
    wrong[chosen] = True
    judged = np.setdiff1d(np.arange(len(points)), ANCHORS)
    return Draw(points, squareform(seen), squareform(wrong), judged)
