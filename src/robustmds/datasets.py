"""Points and distances to try things on: made up, spoilt on purpose, or measured."""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist, squareform

from robustmds.errors import InputError, require_between, require_choice, require_count

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

# How likely a wrong distance is to be too long.
CHANCE_OF_TOO_LONG = {"too-long": 1.0, "any": 0.5, "too-short": 0.0}
# Pairs of cities with a wrong distance in `eurodist`.
EURODIST_ERRORS = (
    ("Cologne", "Geneva"),
    ("Copenhagen", "Hook of Holland"),
    ("Athens", "Rome"),
    ("Lisbon", "Lyons"),
)
SYMMETRY = 1e-8  # how far the two directions of a pair may differ, relative to the largest distance


class Network(NamedTuple):
    """Sensors and what they measured.

    Attributes
    ----------
    points : (n, r) array
        Where they are.
    distances : (n, n) array
        Symmetric, zero on the diagonal, nan where nothing was measured.
    """

    points: Array
    distances: Array


class Corrupted(NamedTuple):
    """Distances some of which are wrong, and which.

    Attributes
    ----------
    distances : (n, n) array
        Symmetric, zero on the diagonal, nan where nothing was measured.
    wrong : (n, n) array of bool
        Symmetric, True where a measured distance was given an error.
    """

    distances: Array
    wrong: Mask


class Cities(NamedTuple):
    """A table of distances between cities.

    Attributes
    ----------
    distances : (n, n) array
        Symmetric, in km.
    labels : tuple of str
        Names of the cities, in the order of the rows.
    """

    distances: Array
    labels: tuple[str, ...]


def plus_sign(n_points: int = 101) -> Array:
    """Return points in the shape of a plus sign, with unit steps and centre (6, 6).

    It is the example of the paper (section 3), with 101 points and with 25.

    Parameters
    ----------
    n_points : int
        The centre and four arms of equal length: 5, 9, 13, ...

    Returns
    -------
    (n_points, 2) array
        The centre first, then the arms to the left, right, bottom and top, each from the inside out.

    References
    ----------
    Deng & Wang, arXiv 2501.02208.

    Examples
    --------
    >>> from robustmds import datasets
    >>> datasets.plus_sign(5)
    array([[6., 6.],
           [5., 6.],
           [7., 6.],
           [6., 5.],
           [6., 7.]])
    """
    if n_points < 5 or n_points % 4 != 1:  # noqa: PLR2004 - four arms of at least one point
        advice = "Pass one more than a multiple of four."
        raise InputError("n_points", "must leave four equal arms around a centre", f"got {n_points}", advice)
    steps = np.arange(1.0, n_points // 4 + 1)[:, None]
    arms = np.kron([[-1, 0], [1, 0], [0, -1], [0, 1]], steps)
    return 6.0 + np.vstack([np.zeros((1, 2)), arms])


def sensor_network(
    n_points: int = 100,
    n_components: int = 2,
    *,
    radius: float = 0.35,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> Network:
    """Return points scattered in a unit cube, and the distances between those that are near.

    Parameters
    ----------
    n_points : int
        How many.
    n_components : int
        Dimension of the cube.
    radius : float
        Pairs at most this far apart are measured.
    noise : float
        Standard deviation of the Gaussian noise on every measured distance; the absolute value is kept.
    random_state : int, numpy.random.Generator or None
        Where the randomness comes from; the same seed gives the same network.

    Returns
    -------
    Network
        The points and the distances, nan beyond the radius.

    Examples
    --------
    >>> from robustmds import datasets
    >>> points, distances = datasets.sensor_network(4, radius=0.5, random_state=0)
    >>> distances.round(2)
    array([[0.  ,  nan,  nan, 0.46],
           [ nan, 0.  ,  nan,  nan],
           [ nan,  nan, 0.  , 0.28],
           [0.46,  nan, 0.28, 0.  ]])
    """
    require_count("n_points", n_points, 1)
    require_count("n_components", n_components, 1)
    require_between("radius", radius, 0.0)
    require_between("noise", noise, 0.0)
    rng = np.random.default_rng(random_state)
    points = rng.random((n_points, n_components))
    distances = pdist(points)
    measured = np.where(distances <= radius, np.abs(rng.normal(distances, noise)), np.nan)
    return Network(points, squareform(measured))


def corrupt(
    distances: npt.ArrayLike,
    share: float = 0.1,
    *,
    sign: str = "too-long",
    size: float | None = None,
    bad_nodes: int = 0,
    missing: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.Generator | None = None,
) -> Corrupted:
    """Return a copy of the distances in which some are wrong, and which.

    First every measured distance gets its noise. Then `share` of the pairs, chosen at random, and all pairs
    of the bad nodes get one error each. Last, pairs go missing, wrong or not.

    Parameters
    ----------
    distances : (n, n) array
        Symmetric, not negative, nan where nothing was measured. It is not written to.
    share : float
        Share of the measured pairs to get an error: exactly ``round(share * n_measured)`` of them.
    sign : {"too-long", "too-short", "any"}
        Whether errors are added, subtracted, or either with the same chance.
    size : float, optional
        Errors are uniform between 0 and `size`; those subtracted, between 0 and the distance if that is
        less. Without it, 0.8 times the largest distance: 40 for a plus sign of width 50, as in the paper.
    bad_nodes : int
        How many points, chosen at random, have an error on every distance, as a failed sensor has.
    missing : float
        Share of the measured pairs to become nan, chosen without regard to which are wrong. A missing pair
        does not count as wrong.
    noise : float
        Standard deviation of the Gaussian noise on every measured distance; the absolute value is kept.
    random_state : int, numpy.random.Generator or None
        Where the randomness comes from. With the same seed, a larger `share`, `bad_nodes` or `missing`
        takes the same pairs and more, and the other parameters do not change the choice.

    Returns
    -------
    Corrupted
        The new distances, and which of them were given an error.

    Examples
    --------
    >>> import numpy as np
    >>> from robustmds import datasets
    >>> distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    >>> spoilt = datasets.corrupt(distances, 1 / 6, random_state=4)
    >>> spoilt.distances.round(1)
    array([[0. , 1. , 2. , 3. ],
           [1. , 0. , 1. , 2. ],
           [2. , 1. , 0. , 3.3],
           [3. , 2. , 3.3, 0. ]])
    >>> np.argwhere(spoilt.wrong)
    array([[2, 3],
           [3, 2]])
    """
    table = _checked(distances)
    require_between("share", share, 0.0, 1.0)
    require_between("missing", missing, 0.0, 1.0)
    require_between("noise", noise, 0.0)
    require_count("bad_nodes", bad_nodes, 0, len(table))
    require_choice("sign", sign, CHANCE_OF_TOO_LONG)
    seen = squareform(table, checks=False)
    measured = ~np.isnan(seen)
    n_measured = int(measured.sum())
    size = 0.8 * float(seen[measured].max(initial=0.0)) if size is None else size
    require_between("size", size, 0.0)

    # Every draw is made for all pairs, so that no parameter changes what the next one gives.
    rng = np.random.default_rng(random_state)
    seen = np.abs(rng.normal(seen, noise))
    wrong = _chosen(rng, measured, round(share * n_measured))
    is_bad = _chosen(rng, np.ones(len(table), dtype=np.bool_), bad_nodes)
    wrong |= measured & squareform(np.logical_or.outer(is_bad, is_bad), checks=False)
    too_long = rng.random(seen.size) < CHANCE_OF_TOO_LONG[sign]
    error = rng.random(seen.size) * np.where(too_long, size, np.minimum(size, seen))
    seen[wrong] += np.where(too_long, error, -error)[wrong]
    gone = _chosen(rng, measured, round(missing * n_measured))
    seen[gone] = np.nan
    return Corrupted(squareform(seen), squareform(wrong & ~gone))


def eurodist() -> Cities:
    """Return the road distances between 21 European cities.

    They come from the R package *datasets*, which has them from The Cambridge Encyclopaedia. Four of them
    are grossly wrong, as published (`EURODIST_ERRORS` has their names):

    * Cologne - Geneva, 1662 km: 872 km by way of Lyons, in the same table;
    * Copenhagen - Hook of Holland, 269 km: 689 km in a straight line;
    * Athens - Rome, 817 km: 1049 km in a straight line;
    * Lisbon - Lyons, 1178 km: 1389 km in a straight line.

    Returns
    -------
    Cities
        Distances in km, and the names of the cities.

    References
    ----------
    D. Crystal (ed.), *The Cambridge Encyclopaedia*, Cambridge University Press, 1990.

    Examples
    --------
    >>> from robustmds import datasets
    >>> distances, labels = datasets.eurodist()
    >>> print(labels[5], labels[7], distances[5, 7])
    Cologne Geneva 1662.0
    """
    text = resources.files("robustmds").joinpath("data", "eurodist.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    return Cities(np.array([row[1:] for row in rows], dtype=np.float64), tuple(header[1:]))


def _chosen(rng: np.random.Generator, among: Mask, count: int) -> Mask:
    """Return a mask of so many of the True entries; with the same draw, a larger one contains a smaller."""
    chosen = np.zeros_like(among)
    chosen[rng.permutation(np.flatnonzero(among))[:count]] = True
    return chosen


def _checked(distances: npt.ArrayLike) -> Array:
    """Return the distances as a square array of numbers; its upper triangle is what is used."""
    table = np.asarray(distances, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not table.size:  # noqa: PLR2004 - a matrix
        advice = "Turn a condensed vector into a square with scipy.spatial.distance.squareform."
        raise InputError("distances", "must be square", f"got shape {table.shape}", advice)
    for i, j in np.argwhere((table < 0) | np.isinf(table))[:1]:
        rule, advice = "must be finite and not negative", "Write nan where nothing was measured."
        raise InputError("distances", rule, f"D[{i}, {j}] = {table[i, j]}", advice)
    allowed = SYMMETRY * np.max(table, initial=0.0, where=~np.isnan(table))
    for i, j in np.argwhere(~np.isclose(table, table.T, rtol=0.0, atol=allowed, equal_nan=True))[:1]:
        found = f"D[{i}, {j}] = {table[i, j]}, D[{j}, {i}] = {table[j, i]}"
        raise InputError("distances", "must be symmetric", found, "Decide on one value for every pair.")
    return table
