"""The layout of pairs in any order, each listed once, several times, or in both directions."""
# ruff: noqa: D102 - the base class says what its methods do

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from robustmds.errors import InputError
from robustmds.inputs.layouts import LETTERS, OWN_RULE, SLIGHT, Block, Layout, Survey, and_more, masked
from robustmds.passes import MeasuredEdges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robustmds.inputs.layouts import Values

Positions = npt.NDArray[np.int64]


class Groups(NamedTuple):
    """Neighbours of a sorted list that have the same key, taken together."""

    keys: Positions
    starts: Positions
    low: Values
    high: Values

    @property
    def mean(self) -> Values:
        """One value for every key, whatever the order in which they were listed."""
        if self.low is self.high:
            return self.low
        with np.errstate(invalid="ignore"):  # infinities are refused, whatever their mean
            return self.low + self.gaps / 2

    @property
    def gaps(self) -> Values:
        """How far the values of a key differ."""
        return np.subtract(self.high, self.low, out=np.zeros_like(self.low), where=self.high > self.low)


def grouped(keys: Positions, values: Values) -> Groups:
    """Group the values of sorted keys."""
    is_first = np.ones(keys.size, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    if is_first.all():
        return Groups(keys, np.arange(keys.size), values, values)
    starts = np.flatnonzero(is_first)
    low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return Groups(keys[starts], starts, low, high)


@dataclass(frozen=True, eq=False, kw_only=True)
class Edges(Layout):
    """A list of pairs of positions; `is_matrix` says that they are the stored entries of a sparse matrix."""

    i: Positions
    j: Positions
    size: int
    is_matrix: bool = False

    @property
    def n_points(self) -> int:
        return self.size

    @cached_property
    def _sorted(self) -> tuple[Positions, Positions]:
        """Places of the measured entries, sorted by pair and then by direction, and the keys that say so."""
        measured = ~np.isnan(self.values) & (self.i != self.j)
        if self.weights is not None:
            measured &= self.weights > 0
        places = np.flatnonzero(measured)
        i, j = self.i[places], self.j[places]
        keys = 2 * (np.minimum(i, j) * self.size + np.maximum(i, j)) + (i > j)
        order = np.argsort(keys)
        return places[order], keys[order]

    @cached_property
    def _directions(self) -> Groups:
        places, keys = self._sorted
        return grouped(keys, masked(self.values[places], None))

    @cached_property
    def _pairs(self) -> Groups:
        return grouped(self._directions.keys // 2, self._directions.mean)

    @cached_property
    def survey(self) -> Survey:
        low, high = self._directions.low, self._directions.high
        gap = float(self._pairs.gaps.max(initial=0.0))
        return Survey(self._pairs.keys.size, float(high.max(initial=0.0)), float(low.min(initial=0.0)), gap)

    def blocks(self) -> Iterator[Block]:
        values = masked(self.values, None)
        values[self.i == self.j] = np.nan
        yield Block(0, values, 1.0 if self.weights is None else self.weights)

    def entry(self, k: int) -> str:
        i, j, value = int(self.i[k]), int(self.j[k]), self.values[k]
        if self.is_matrix:
            return f"{LETTERS[self.name]}[{i}, {j}] = {value!s}"
        return f"pair {k} = {value!s} ({self.pair(i, j)})"

    def own_faults(self) -> Iterator[InputError]:
        own = np.flatnonzero((self.i == self.j) & ~np.isnan(self.values) & (self.values != 0))
        if self.name == "distances" and own.size:
            found = f"{self.entry(own[0])}{and_more(own.size - 1)}"
            yield InputError(self.name, OWN_RULE, found, "Leave such entries out.")
        if not math.isfinite(self.survey.largest - self.survey.smallest):
            return
        rule = "must not list a pair with two values"
        yield from self._disagreement(self._directions, 1, self.rounding, rule)
        allowed = self.rounding if self.name == "weights" else SLIGHT * self.survey.largest
        yield from self._disagreement(self._pairs, 2, allowed, "must be symmetric")

    def _disagreement(self, groups: Groups, n_keys: int, allowed: float, rule: str) -> Iterator[InputError]:
        count = int((groups.gaps > allowed).sum())
        if not count:
            return
        places, keys = self._sorted
        same = places[keys // n_keys == groups.keys[groups.gaps.argmax()]]
        a, b = sorted((same[self.values[same].argmin()], same[self.values[same].argmax()]))
        found = f"{self.entry(a)} and {self.entry(b)}{and_more(count - 1)}"
        yield InputError(self.name, rule, found, "Decide which is right, or average them.")

    def measured(self, unit: float, *, squared: bool) -> MeasuredEdges:
        low, high = np.divmod(self._pairs.keys, self.size)
        above, below = starts_of(low, self.size), starts_of(high, self.size)
        count = np.arange(low.size)
        # The same pairs by their second point: a transposition is a counting sort.
        turned = csr_array((count, high, above), shape=(self.size, self.size)).tocsc().data
        # In every row, first those that end there, then those that begin there.
        ending, beginning = count + above[high[turned]], count + below[low + 1]

        def both_ways(first: Values, second: Values) -> Values:
            out = np.empty(2 * low.size, dtype=first.dtype)
            out[ending], out[beginning] = first[turned], second
            return out

        values = self._pairs.mean
        weights = self._pair_weights
        return MeasuredEdges(
            n_points=self.size,
            unit=unit,
            squared=squared,
            values=both_ways(values, values),
            starts=above + below,
            columns=both_ways(low.astype(np.int32), high.astype(np.int32)),
            weights=None if weights is None else both_ways(weights, weights),
        )

    @property
    def _pair_weights(self) -> Values | None:
        if self.weights is None:
            return None
        places, keys = self._sorted
        directions = grouped(keys, self.weights[places].astype(float))
        return grouped(directions.keys // 2, directions.mean).mean


def starts_of(rows: Positions, n: int) -> Positions:
    """Return where every row would start in a list sorted by row, and where the last one would end."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
