"""What can be wrong with distances: one sentence for every fault, in the order in which to repair them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from robustmds.errors import InputError
from robustmds.inputs.layouts import and_more
from robustmds.passes import MeasuredEdges, distances_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robustmds.inputs.layouts import Block, Layout, Mask
    from robustmds.passes import Measured

ADVICE = {
    "distances": "Write nan where nothing was measured.",
    "weights": "Write 0 where a distance is not to count.",
}
SMALLEST, LARGEST = 1e-300, 1e300  # of the largest distance; 1 / it and it are far from overflow
N_NAMES = 8  # that a sentence lists
N_SAMPLE = 150  # points on which squared distances are recognised
SPARE = 4  # points beyond n_components that they take
FITS, MISFITS = 0.999, 0.99  # explained shares of what fits the dimension, and of what does not


def faults(layout: Layout, measured: Measured, n_components: int) -> Iterator[InputError]:
    """Yield all that is wrong with distances whose shape is right, and with what is asked of them."""
    n = layout.n_points
    asked = [*dimension_faults(n_components), *size_faults(n, n_components), *label_faults(layout)]
    yield from asked
    values = [*value_faults(layout), *weight_faults(layout)]
    yield from values
    if values or n < 2:  # noqa: PLR2004 - a pair
        return
    whole = [*range_faults(layout), *graph_faults(layout, measured)]
    yield from whole
    if not (asked or whole or measured.squared):
        yield from squared_faults(measured, n_components)


def dimension_faults(n_components: object) -> Iterator[InputError]:
    """Yield why this cannot be a number of dimensions."""
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)):
        yield InputError("n_components", "must be a whole number", f"got {n_components!r}")
    elif n_components < 1:
        yield InputError("n_components", "must be at least 1", f"got {n_components}")


def size_faults(n: int, n_components: object) -> Iterator[InputError]:
    """Yield why so many points cannot be placed in so many dimensions."""
    r = n_components if isinstance(n_components, (int, np.integer)) and n_components >= 1 else 1
    if r >= n > 2:  # noqa: PLR2004 - with fewer points than 3, no dimension will do
        yield InputError("n_components", "must be less than the number of points", f"got {r} for {n} points")
    elif n < r + 2:
        plural = "s" if n != 1 else ""
        rule = f"must be between at least n_components + 2 = {r + 2} points"
        yield InputError("distances", rule, f"got {n} point{plural}")


def label_faults(layout: Layout) -> Iterator[InputError]:
    """Yield the labels that occur twice."""
    labels = layout.labels or ()
    if len(set(labels)) == len(labels):
        return
    seen: dict[str, int] = {}
    repeats = [(seen[label], k) for k, label in enumerate(labels) if seen.setdefault(label, k) != k]
    i, j = repeats[0]
    found = f"points {i} and {j} are both {labels[i]!r}{and_more(len(repeats) - 1)}"
    yield InputError("labels", "must not repeat", found, "Give every point a name of its own.")


def value_faults(layout: Layout) -> Iterator[InputError]:
    """Yield what is wrong with entries, of distances or of weights."""
    survey = layout.survey
    if survey.smallest < 0:
        found = layout.find(lambda block: block.counting < 0)
        yield InputError(layout.name, "must not be negative", found, ADVICE[layout.name])
    if math.isinf(survey.largest):
        found = layout.find(lambda block: np.isposinf(block.counting))
        yield InputError(layout.name, "must be finite", found, ADVICE[layout.name])
    yield from layout.own_faults()


def weight_faults(layout: Layout) -> Iterator[InputError]:
    """Yield what is wrong with weights, by themselves and beside the distances."""
    if layout.as_weights is None:
        return
    yield from value_faults(layout.as_weights)
    if any(lacks_weight(block).any() for block in layout.blocks()):
        rule = "must not be nan where distances are not"
        yield InputError("weights", rule, layout.find(lacks_weight), ADVICE["weights"])


def lacks_weight(block: Block) -> Mask:
    """Tell which values have no weight."""
    return np.isnan(block.weights) & ~np.isnan(block.values)


def range_faults(layout: Layout) -> Iterator[InputError]:
    """Yield that there is no distance, or none that is not 0, or none of a size to reckon with."""
    survey = layout.survey
    if survey.n_measured == 0:
        found = "no pair was" if layout.weights is None else "no pair was, or none has a weight above 0"
        yield InputError("distances", "must be measured", found)
    elif survey.largest == 0:
        yield InputError("distances", "must not all be 0", "all points would coincide")
    elif not SMALLEST <= survey.largest <= LARGEST:
        rule = f"must have a largest value between {SMALLEST} and {LARGEST}"
        yield InputError("distances", rule, f"got {survey.largest}", "Pass them in another unit.")


def graph_faults(layout: Layout, measured: Measured) -> Iterator[InputError]:
    """Yield the points without a measured distance, and the groups of points between which there is none."""
    n = layout.n_points
    if layout.survey.n_measured in (0, n * (n - 1) // 2):
        return
    groups = connected(measured)
    sizes = np.bincount(groups)
    alone = np.flatnonzero(sizes[groups] == 1)
    if alone.size:
        found = f"{layout.point(int(alone[0]))} has none{and_more(alone.size - 1)}"
        advice = "Measure one, or leave the point out."
        yield InputError("every point", "must have a measured distance", found, advice)
    pieces = np.flatnonzero(sizes > 1)
    if pieces.size > 1:
        largest = pieces[sizes[pieces].argmax()]
        outside = np.flatnonzero((groups != largest) & (sizes[groups] > 1))
        names = ", ".join(layout.point(int(i)) for i in outside[:N_NAMES])
        more = f" and {outside.size - N_NAMES} more" if outside.size > N_NAMES else ""
        counts = sorted(sizes[pieces].tolist(), reverse=True)
        listed = ", ".join(map(str, counts[:N_NAMES])) + (", ..." if len(counts) > N_NAMES else "")
        found = f"there are {pieces.size} groups, of {listed} points; outside the largest are {names}{more}"
        advice = "Measure distances between the groups, or fit each by itself."
        yield InputError("measured distances", "must link all points", found, advice)


def connected(measured: Measured) -> npt.NDArray[np.int64]:
    """Return for every point the number of its group, (n,)."""
    n = measured.n_points
    if isinstance(measured, MeasuredEdges):
        ones = np.ones(measured.columns.size, dtype=np.int8)
        graph = csr_array((ones, measured.columns, measured.starts), shape=(n, n))
        return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
    groups, unseen, k = np.zeros(n, dtype=np.int64), np.arange(n), 0
    while unseen.size:
        queue, unseen = [unseen[0]], unseen[1:]
        groups[queue] = k
        while queue and unseen.size:
            linked = ~np.isnan(distances_from(measured, queue.pop())[unseen])
            groups[unseen[linked]] = k
            queue += unseen[linked].tolist()
            unseen = unseen[~linked]
        k += 1
    return groups


def squared_faults(measured: Measured, n_components: int) -> Iterator[InputError]:
    """Yield that distances are squared, where that is certain.

    It is where some points, all pairs of which were measured, fit the dimension when their values are taken
    as squares, and do not when they are taken as distances.
    """
    n = measured.n_points
    chosen = np.unique(np.linspace(0, n - 1, min(n, N_SAMPLE)).astype(int))
    table = np.array([distances_from(measured, i)[chosen] for i in chosen])
    np.fill_diagonal(table, 0.0)
    whole = complete(table)
    if whole.size < max(n_components + SPARE, chosen.size / 2):
        return
    table = table[np.ix_(whole, whole)]
    as_squares = explained(table, n_components)
    if as_squares >= FITS and (as_distances := explained(table**2, n_components)) < MISFITS:
        found = (
            f"taken as squares they fit {n_components} dimensions to {as_squares:.1%}, "
            f"as distances to {as_distances:.1%}"
        )
        yield InputError("distances", "must not be squared", found, "Pass squared=True.")


def complete(table: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return points all of whose pairs were measured: those that miss most are left out, one by one."""
    kept = np.arange(len(table))
    missing = np.isnan(table)
    while (counts := missing[np.ix_(kept, kept)].sum(axis=0)).any():
        kept = np.delete(kept, counts.argmax())
    return kept


def explained(sq_distances: npt.NDArray[np.float64], r: int) -> float:
    """Return the share of the leading r eigenvalues of -1/2 J D J in the sum of all absolute ones."""
    centred = sq_distances - sq_distances.mean(axis=0)
    inner = -(centred - centred.mean(axis=1, keepdims=True)) / 2
    lam = np.linalg.eigvalsh(inner)
    return float(np.maximum(lam[-r:], 0).sum() / np.abs(lam).sum())
