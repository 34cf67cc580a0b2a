"""What every accepted form becomes: a square array, a condensed vector or a list of pairs, not yet checked.

A layout surveys itself in one pass that copies no more than a block, finds the entries that a fault is
about, and becomes the `Measured` that the passes read.
"""
# ruff: noqa: D102 - the base class says what its methods do

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robustmds.errors import InputError
from robustmds.kernels import STRIP, checks
from robustmds.passes import MeasuredCondensed, MeasuredSquare, float_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from robustmds.passes import Measured

    Values = npt.NDArray[Any]
    Mask = npt.NDArray[np.bool_]

ROUNDINGS = 64  # by which two values may differ that should be the same
SLIGHT = 1e-3  # difference of two directions, relative to the largest distance, of which the mean is taken
TILE = 512  # side of a tile that has to be copied: a row of it fills a page of memory
CHUNK = 1 << 18  # values of a vector that are looked at together
OWN_RULE = "must be 0 from a point to itself"
LETTERS = {"distances": "D", "weights": "W"}


class Block(NamedTuple):
    """Some entries, one after the other, as floating-point numbers."""

    first: int  # the place of the first one
    values: Values  # nan where a point meets itself
    weights: Values | float  # 1 where there are none

    @property
    def counting(self) -> Values:
        """The values that have a weight; nan elsewhere."""
        return np.where(np.greater(self.weights, 0), self.values, np.nan)


class Survey(NamedTuple):
    """What one pass over all entries tells."""

    n_measured: int  # pairs
    largest: float
    smallest: float  # below 0 where an entry is negative, else 0
    asymmetry: float = 0.0  # largest difference of the two directions of a pair
    one_way: bool = False  # some pairs were measured in one direction only


@dataclass(frozen=True, eq=False, kw_only=True)
class Layout(ABC):
    """Distances, or weights, whose shape is right; nan = not measured."""

    values: Values
    weights: Values | None = None
    labels: tuple[str, ...] | None = None
    name: str = "distances"

    @property
    @abstractmethod
    def n_points(self) -> int:
        """Number of points n."""

    @cached_property
    @abstractmethod
    def survey(self) -> Survey:
        """One pass over all entries; those of weight 0 are not measured."""

    @abstractmethod
    def measured(self, unit: float, *, squared: bool) -> Measured:
        """Return what the passes read."""

    @abstractmethod
    def own_faults(self) -> Iterator[InputError]:
        """Yield what is wrong in this layout only."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield copies of all entries, some at a time."""

    @abstractmethod
    def entry(self, k: int) -> str:
        """Say where the k-th entry stands, what it is and whose it is."""

    def find(self, is_bad: Callable[[Block], Mask]) -> str:
        """Say which entry is the first bad one, and how many more there are."""
        places, count = [], 0
        for block in self.blocks():
            bad = np.flatnonzero(is_bad(block))
            places += (block.first + bad[:1]).tolist()
            count += bad.size
        return f"{self.entry(places[0])}{and_more(count - 1)}"

    @property
    def rounding(self) -> float:
        """How far two values may differ and pass for the same."""
        spacing = np.finfo(self.values.dtype).eps if self.values.dtype.kind == "f" else 0.0
        spacing = max(float(spacing), float(np.finfo(np.float64).eps))
        return min(ROUNDINGS * spacing, SLIGHT) * self.survey.largest

    @property
    def is_two_sided(self) -> bool:
        """Whether the two directions of some pairs differ, or only one of them was measured."""
        return self.survey.one_way or self.survey.asymmetry > self.rounding

    def point(self, i: int) -> str:
        """Name a point."""
        return f"point {i}" if self.labels is None else self.labels[i]

    def pair(self, i: int, j: int) -> str:
        """Name a pair."""
        return f"points {i} and {j}" if self.labels is None else f"{self.labels[i]} - {self.labels[j]}"

    @cached_property
    def as_weights(self) -> Layout | None:
        """The weights, to be looked at as distances are."""
        if self.weights is None:
            return None
        return replace(self, values=self.weights, weights=None, name="weights")

    def without_weights_of_one(self) -> Layout:
        """Return the same without weights if all of them are one: they change nothing."""
        if self.weights is None:
            return self
        all_one = all(np.all(np.isnan(values) | (weights == 1)) for _, values, weights in self.blocks())
        return replace(self, weights=None) if all_one else self


def and_more(n: int) -> str:
    """Say that there are more."""
    return f", and {n} more" if n > 0 else ""


def masked(values: Values, weights: Values | None) -> Values:
    """Return a floating-point copy in which what has no positive weight is nan."""
    with np.errstate(over="ignore"):  # a long double too large becomes infinite, and is refused as such
        copy = values.astype(float_type(values.dtype))
    if weights is not None:
        copy[~(weights > 0)] = np.nan
    return copy


@dataclass(frozen=True, eq=False, kw_only=True)
class Square(Layout):
    """A square array."""

    @property
    def n_points(self) -> int:
        return len(self.values)

    @property
    def lines(self) -> Values:
        """The array, or its transpose if it lies row by row in that."""
        is_turned = self.values.flags.f_contiguous and not self.values.flags.c_contiguous
        return self.values.T if is_turned else self.values

    @property
    def is_in_place(self) -> bool:
        """Whether the kernels can read it without a copy."""
        plain = not isinstance(self.values, np.memmap) and self.values.dtype in (np.float32, np.float64)
        return self.weights is None and plain and self.lines.flags.c_contiguous

    @cached_property
    def survey(self) -> Survey:
        if self.is_in_place:
            out = surveyed(self.lines, self.lines, on_diagonal=True)
        else:
            out = np.concatenate([surveyed(a, b, on_diagonal=i == j) for i, j, a, b in self._tiles()])
        measured, one_way, largest, smallest, asymmetry = out.T
        return Survey(
            n_measured=int(measured.sum()),
            largest=float(largest.max()),
            smallest=float(smallest.min()),
            asymmetry=float(asymmetry.max()),
            one_way=bool(one_way.any()),
        )

    def _tiles(self) -> Iterator[tuple[int, int, Values, Values]]:
        """Yield the row, the column and a copy of every tile on or above the diagonal, and of its mirror."""
        steps = range(0, self.n_points, TILE)
        for i in steps:
            for j in steps[i // TILE :]:
                yield i, j, self._block(i, j), self._block(j, i)

    def _block(self, i: int, j: int) -> Values:
        here = slice(i, i + TILE), slice(j, j + TILE)
        return masked(self.values[here], None if self.weights is None else self.weights[here])

    def blocks(self) -> Iterator[Block]:
        n = self.n_points
        step = max(1, CHUNK // n)
        for begin in range(0, n, step):
            here = slice(begin, begin + step)
            values = masked(self.values[here], None)
            np.fill_diagonal(values[:, begin:], np.nan)
            weights = 1.0 if self.weights is None else self.weights[here].ravel()
            yield Block(begin * n, values.ravel(), weights)

    def entry(self, k: int) -> str:
        i, j = divmod(k, self.n_points)
        return f"{self._cell(i, j)}{self._names(i, j)}"

    def _cell(self, i: int, j: int) -> str:
        return f"{LETTERS[self.name]}[{i}, {j}] = {self.values[i, j]!s}"

    def _names(self, i: int, j: int) -> str:
        if self.labels is None:
            return ""
        return f" ({self.labels[i] if i == j else self.pair(i, j)})"

    def own_faults(self) -> Iterator[InputError]:
        if self.name == "distances":
            diagonal = np.diagonal(self.values)
            bad = np.flatnonzero((diagonal != 0) & ~np.isnan(diagonal))
            if bad.size:
                found = f"{self.entry(int(bad[0]) * (self.n_points + 1))}{and_more(bad.size - 1)}"
                yield InputError(self.name, OWN_RULE, found, "Similarities have to be turned into distances.")
        allowed = self.rounding if self.name == "weights" else SLIGHT * self.survey.largest
        is_finite = math.isfinite(self.survey.largest - self.survey.smallest)
        if is_finite and self.survey.asymmetry > allowed:
            yield InputError(self.name, "must be symmetric", *self._asymmetry(allowed))

    def _asymmetry(self, allowed: float) -> tuple[str, str]:
        """Say which pair differs most in its two directions, or that one triangle is empty; and advise."""
        gaps, count, above, below = [], 0, 0.0, 0.0
        for i, j, upper, lower in self._tiles():
            a, b = (np.triu(tile, 1) if i == j else tile for tile in (upper, lower.T))
            gap = np.nan_to_num(np.abs(a - b), nan=0.0)
            above, below = (
                float(np.fmax.reduce(tile, None, initial=most)) for tile, most in ((a, above), (b, below))
            )
            count += int((gap > allowed).sum())
            s, t = map(int, np.unravel_index(gap.argmax(), gap.shape))
            gaps.append((float(gap[s, t]), i + s, j + t))
        if min(above, below) == 0:
            side = "below" if below == 0 else "above"
            found = f"all entries {side} the diagonal are 0, as if only one triangle were filled"
            return found, "Add the transpose."
        _, i, j = max(gaps, key=lambda gap: gap[0])
        letter = LETTERS[self.name]
        found = f"{self._cell(i, j)} but {self._cell(j, i)}{self._names(i, j)}{and_more(count - 1)}"
        return found, f"Decide which is right, or average: ({letter} + {letter}.T) / 2."

    def measured(self, unit: float, *, squared: bool) -> Measured:
        return MeasuredSquare(
            n_points=self.n_points,
            unit=unit,
            squared=squared,
            values=self.lines,
            weights=self.weights,
            two_sided=self.is_two_sided,
        )


def surveyed(upper: Values, lower: Values, *, on_diagonal: bool) -> npt.NDArray[np.float64]:
    """Survey a tile and its mirror."""
    out = np.empty((-(-len(upper) // STRIP), 5))
    checks.survey_strips(upper, lower, on_diagonal, out)
    return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Condensed(Layout):
    """The upper triangle, row by row."""

    @property
    def n_points(self) -> int:
        return points_of(len(self.values))

    @cached_property
    def survey(self) -> Survey:
        n_measured, largest, smallest = 0, 0.0, 0.0
        for block in self.blocks():
            values = block.counting
            n_measured += values.size - int(np.isnan(values).sum())
            largest = float(np.fmax.reduce(values, initial=largest))
            smallest = float(np.fmin.reduce(values, initial=smallest))
        return Survey(n_measured, largest, smallest)

    def blocks(self) -> Iterator[Block]:
        for k in range(0, len(self.values), CHUNK):
            here = slice(k, k + CHUNK)
            yield Block(
                k, masked(self.values[here], None), 1.0 if self.weights is None else self.weights[here]
            )

    def entry(self, k: int) -> str:
        n = self.n_points
        before = np.arange(n) * (2 * n - np.arange(n) - 1) // 2
        i = int(np.searchsorted(before, k, side="right")) - 1
        j = k - int(before[i]) + i + 1
        return f"entry {k} = {self.values[k]!s} ({self.pair(i, j)})"

    def own_faults(self) -> Iterator[InputError]:
        yield from ()

    def measured(self, unit: float, *, squared: bool) -> Measured:
        return MeasuredCondensed(
            n_points=self.n_points,
            unit=unit,
            squared=squared,
            values=compilable(self.values),
            weights=None if self.weights is None else compilable(self.weights),
        )


def compilable(values: Values) -> Values:
    """Return the values, or a copy where kernels cannot read them: half, long or foreign numbers."""
    dtype = values.dtype
    is_plain = dtype.isnative and (dtype.kind in "iu" or dtype in (np.float32, np.float64))
    return values if is_plain else values.astype(float_type(dtype))


def points_of(n_pairs: int) -> int:
    """Return the largest number of points that have no more than so many pairs."""
    return (1 + math.isqrt(1 + 8 * n_pairs)) // 2
