"""One pass over the measured pairs: every kernel is driven here, block of rows by block of rows.

The distances stay where and as they are. A contiguous array of floating-point numbers is one block and is
read in place; anything else (a memmap, integers, a condensed vector, a square array whose two directions
are averaged) is read a few rows at a time. A row's numbers do not depend on the block it came in, so
neither does any sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robustmds.kernels import N_BINS, Pull, Rows, pairs, triangles
from robustmds.linalg import even_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from robustmds.linalg import Array
    from robustmds.losses import Loss

BLOCK_VALUES = 1 << 18  # values of a block that has to be copied
N_PARTS = 8  # of a histogram, counted side by side
EVERYTHING = (-np.inf, np.inf)  # the band that keeps all pairs
NOTHING = (np.inf, -np.inf)  # the band that keeps none


@dataclass(frozen=True, eq=False, kw_only=True)
class Measured(ABC):
    """Where the measured pairs are: what the passes read, never changed.

    Every pair ij appears twice, in row i and in row j. A value times `unit` is in working units, in which
    the largest distance lies between 1 and 2; `unit` is a power of two, so that nothing is rounded.
    """

    n_points: int
    unit: float = 1.0
    squared: bool = False
    weights: npt.NDArray[Any] | None = None  # in the form of the values

    @property
    @abstractmethod
    def resolution(self) -> float:
        """The relative spacing of the numbers that the values are stored as."""

    @property
    @abstractmethod
    def own_pairs(self) -> Array:
        """One for every point whose row holds its distance 0 to itself, (n,): not a pair, but read as one."""

    @abstractmethod
    def rows(self, begin: int, end: int) -> Rows:
        """Return rows begin to end - 1."""

    @abstractmethod
    def gathered(self, rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return numbers that belong to the values, of all rows in their order, in the form of the values."""

    def blocks(self) -> Iterator[Rows]:
        """Return all rows, in blocks that cost little memory."""
        return _strips(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredSquare(Measured):
    """A square array; nan = not measured.

    `two_sided` says that the two directions of a pair may differ: then their mean counts, or the one that
    was measured.
    """

    values: npt.NDArray[Any]
    two_sided: bool = False

    @property
    def resolution(self) -> float:
        return spacing(self.values.dtype)

    @cached_property
    def own_pairs(self) -> Array:
        return (~np.isnan(np.diagonal(self.values))).astype(float) * self._in_place

    @cached_property
    def _in_place(self) -> bool:
        return (
            not self.two_sided
            and self.weights is None
            and not isinstance(self.values, np.memmap)
            and self.values.flags.c_contiguous
            and self.values.dtype in (np.float32, np.float64)
        )

    def rows(self, begin: int, end: int) -> Rows:
        values = self.values[begin:end]
        weights = None
        if not self._in_place:
            values = values.astype(float_type(values.dtype))
            if self.two_sided:
                values = mean_of_both(values, self.values[:, begin:end].T)
            if self.weights is not None:
                weights = self.weights[begin:end].astype(float)
                if self.two_sided:
                    weights = mean_of_both(weights, self.weights[:, begin:end].T)
                values[~(weights > 0)] = np.nan
            np.fill_diagonal(values[:, begin:end], np.nan)
        return full_rows(self, begin, values, weights)

    def gathered(self, rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(rows).reshape(self.values.shape)

    def blocks(self) -> Iterator[Rows]:
        if self._in_place:
            yield self.rows(0, self.n_points)
        else:
            yield from super().blocks()


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredCondensed(Measured):
    """The upper triangle, row by row, as `scipy.spatial.distance.pdist` has it; nan = not measured.

    The kernels read it: its numbers are integers, float32 or float64 of this machine.
    """

    values: npt.NDArray[Any]

    @property
    def resolution(self) -> float:
        return spacing(self.values.dtype)

    @cached_property
    def own_pairs(self) -> Array:
        return np.zeros(self.n_points)

    def rows(self, begin: int, end: int) -> Rows:
        values, weights = self._square_rows(self.values, begin, end), None
        if self.weights is not None:
            weights = self._square_rows(self.weights, begin, end).astype(float)
            values[~(weights > 0)] = np.nan
        return full_rows(self, begin, values, weights)

    def gathered(self, rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        lines = (line for block in rows for line in block.reshape(-1, self.n_points))
        return np.concatenate([line[i + 1 :] for i, line in enumerate(lines)])

    def _square_rows(self, condensed: npt.NDArray[Any], begin: int, end: int) -> npt.NDArray[Any]:
        block = np.empty((end - begin, self.n_points), dtype=float_type(condensed.dtype))
        pairs.spread_rows(condensed, begin, block)
        return block


@dataclass(frozen=True, eq=False, kw_only=True)
class MeasuredEdges(Measured):
    """Only the measured pairs, row after row: row i holds positions starts[i] to starts[i + 1] - 1."""

    values: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]

    @property
    def resolution(self) -> float:
        return spacing(self.values.dtype)

    @cached_property
    def own_pairs(self) -> Array:
        return np.zeros(self.n_points)

    def rows(self, begin: int, end: int) -> Rows:
        here = slice(self.starts[begin], self.starts[end])
        weights = None if self.weights is None else self.weights[here]
        starts = self.starts[begin : end + 1] - self.starts[begin]
        return Rows(self.values[here], starts, self.columns[here], weights, begin, self.unit, self.squared)

    def gathered(self, rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        return np.concatenate(rows)

    def blocks(self) -> Iterator[Rows]:
        yield self.rows(0, self.n_points)


def float_type(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    """Return the type that values are read as: float32 stays what it is, all else is read as float64."""
    return np.float32 if dtype == np.float32 else np.float64


def full_rows(
    measured: Measured, begin: int, values: npt.NDArray[Any], weights: npt.NDArray[Any] | None
) -> Rows:
    """Return rows in which every column is there, in order."""
    starts = np.arange(len(values) + 1) * measured.n_points
    flat = None if weights is None else weights.ravel()
    return Rows(values.ravel(), starts, None, flat, begin, measured.unit, measured.squared)


def mean_of_both(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the mean of two directions, or the one that was measured."""
    mean = values + (others - values) / 2
    return np.where(np.isnan(values), others, np.where(np.isnan(others), values, mean))


def spacing(dtype: np.dtype[Any]) -> float:
    """Return the relative spacing of a type's numbers as they are read."""
    stored = np.finfo(dtype).eps if dtype.kind == "f" else 0.0
    return float(max(stored, np.finfo(float_type(dtype)).eps))


class Kept(NamedTuple):
    """What a pass over the residuals of squared distances returns."""

    product: Array  # sum_j T(d_ij^2 - |x_i - x_j|^2) u_j, (n, r)
    sq_loss: float  # sum over the kept pairs of the squared residual
    n_kept: int  # pairs within the cut


class Stress(NamedTuple):
    """What a pass over the residuals of distances returns."""

    gradient: Array  # of the loss, (n, r)
    loss: float  # 1/2 sum over i < j of w_ij clip(d_ij - |x_i - x_j|, low, high)^2
    n_kept: Array  # pairs of each point within the band, (n,)
    weight: Array  # their weight, (n,)


def kept_product(measured: Measured, points: Array, basis: Array, cut: float) -> Kept:
    """Multiply the kept residuals of the squared distances by a thin basis.

    Parameters
    ----------
    measured : Measured
        The pairs.
    points : (n, r) array
        The points whose distances are the model, in working units.
    basis : (n, r) array
        What to multiply by.
    cut : float
        Largest residual of a squared distance that is kept, in squared working units.
    """
    lines, thin = even_lines(points), even_lines(basis)
    out, (loss, kept) = np.empty_like(lines), np.empty((2, len(points)))
    for rows, here in _places(measured):
        block = np.empty((len(lines), here.stop - here.start))
        pairs.kept_product_rows(rows, lines, thin, float(cut), block, loss[here], kept[here])
        out[:, here] = block
    n_kept = int((kept - measured.own_pairs).sum()) // 2
    return Kept(out[: basis.shape[1]].T, float(loss.sum()) / 2, n_kept)


def stress(measured: Measured, points: Array, band: tuple[float, float]) -> Stress:
    """Return the stress of the pairs within a band, and what goes with it.

    Parameters
    ----------
    measured : Measured
        The pairs.
    points : (n, r) array
        The points, in working units.
    band : (low, high)
        The residuals d_ij - |x_i - x_j| that are kept; others count as if they lay on its edge.
    """
    return _pulled(measured, points, Pull(None, None, *band))


def robust_stress(measured: Measured, points: Array, loss: Loss, near: float) -> Stress:
    """Return the sum of w_ij rho(d_ij - |x_i - x_j|), its gradient, and the w_ij psi(e)/e of every point.

    `n_kept` counts the residuals of a size up to `near`.
    """
    return _pulled(measured, points, Pull(loss.code, None, near, loss.scale))


def stress_beside_errors(measured: Measured, points: Array, cut: float, ridge: Array) -> Stress:
    """Return what is left of the stress beside the errors that cost least, and its gradient.

    An error o of pair ij costs cut |o| + (ridge_i + ridge_j) o^2 / 2, and the residual without it half its
    square. `n_kept` counts the pairs without an error; `weight` is the sum of the squared errors of a point.
    Weights of pairs take no part.
    """
    return _pulled(measured, points, Pull(None, ridge, -cut, cut))


def _pulled(measured: Measured, points: Array, pull: Pull) -> Stress:
    lines = even_lines(points)
    out, (loss, kept, weight) = np.empty_like(lines), np.empty((3, len(points)))
    for rows, here in _places(measured):
        block = np.empty((len(lines), here.stop - here.start))
        pairs.stress_rows(rows, lines, pull, block, loss[here], kept[here], weight[here])
        out[:, here] = block
    kept -= measured.own_pairs
    if pull.ridge is None:  # beside errors, which a point has none of to itself
        weight -= measured.own_pairs
    return Stress(out[: points.shape[1]].T, float(loss.sum()) / 2, kept.astype(int), weight)


def laplacian(measured: Measured, points: Array, direction: Array, loss: Loss | None = None) -> Array:
    """Return sum_j w_ij v_ij (p_i - p_j) for all i, (n, r), with v = psi(e)/e of a loss, or 1 without one."""
    lines, moves = even_lines(points), even_lines(direction)
    code, scale = (None, np.inf) if loss is None else (loss.code, loss.scale)
    out = np.empty_like(lines)
    for rows, here in _places(measured):
        block = np.empty((len(lines), here.stop - here.start))
        pairs.laplacian_rows(rows, lines, moves, code, scale, block)
        out[:, here] = block
    return out[: points.shape[1]].T


def stress_curvature(measured: Measured, points: Array, direction: Array, band: tuple[float, float]) -> Array:
    """Multiply the Gauss-Newton curvature of the stress by a direction, (n, r)."""
    lines, moves = even_lines(points), even_lines(direction)
    out = np.empty_like(lines)
    for rows, here in _places(measured):
        block = np.empty((len(lines), here.stop - here.start))
        pairs.stress_curvature_rows(rows, lines, moves, band, block)
        out[:, here] = block
    return out[: points.shape[1]].T


def residual_histogram(measured: Measured, points: Array) -> npt.NDArray[np.int64]:
    """Count the residuals d_ij - |x_i - x_j| by sign (row 0: negative or 0) and size, (2, N_BINS)."""
    counts = np.zeros((N_PARTS, 2, N_BINS), dtype=np.int64)
    lines = even_lines(points)
    for rows, _ in _places(measured):
        pairs.residual_histogram_rows(rows, lines, counts)
    return counts.sum(axis=0)


def distances_from(measured: Measured, i: int) -> Array:
    """Return the distances of point i to all, nan where not measured or its own, in working units, (n,)."""
    rows = measured.rows(i, i + 1)
    values = rows.values * rows.unit
    row = np.full(measured.n_points, np.nan)
    row[slice(None) if rows.columns is None else rows.columns] = np.sqrt(values) if rows.squared else values
    row[i] = np.nan
    return row


def matrices(measured: Measured) -> tuple[Array, Array]:
    """Return the squared distances, in squared working units, and the weights as (n, n) arrays.

    Both are 0 where nothing was measured and on the diagonal. They are for the methods that have to hold
    matrices; the others form none.
    """
    values, weights = np.zeros((2, measured.n_points, measured.n_points))
    for rows, here in _places(measured):
        i = np.repeat(np.arange(here.start, here.stop), np.diff(rows.starts))
        place = here if rows.columns is None else (i, rows.columns)
        shape = values[place].shape
        values[place] = rows.values.reshape(shape)
        weights[place] = 1.0 if rows.weights is None else rows.weights.reshape(shape)
    np.fill_diagonal(values, np.nan)
    gone = np.isnan(values)
    values[gone] = weights[gone] = 0.0
    values *= measured.unit
    return (values if measured.squared else values**2), weights


def broken_triangles(
    measured: Measured, judges: npt.NDArray[np.intp], slack: float
) -> Iterator[tuple[Rows, npt.NDArray[np.int16]]]:
    """Yield rows, and of every value over how many of some third points its triangle does not close.

    Parameters
    ----------
    measured : Measured
        The pairs.
    judges : (m,) array of int
        The third points.
    slack : float
        The longest side may be so many times as long as the other two together.
    """
    table = np.stack([distances_from(measured, k) for k in judges], axis=1)
    for rows in _strips(measured):
        counts = np.empty(rows.values.size, dtype=np.int16)
        triangles.broken_rows(rows, table, slack, counts)
        yield rows, counts


class Listed(NamedTuple):
    """Some of the pairs ij, i < j, one after the other."""

    i: npt.NDArray[np.intp]
    j: npt.NDArray[np.intp]
    seen: Array  # d_ij, in working units
    fitted: Array  # |x_i - x_j|, in working units


def pairs_outside(measured: Measured, points: Array, band: tuple[float, float]) -> Listed:
    """Return the measured pairs with a residual d_ij - |x_i - x_j| outside a band.

    It is for looking at some pairs, not for a step of a method: the list is as long as it has to be.
    """
    found = []
    for rows in _strips(measured):
        every = _listed(rows, points)
        residual = every.seen - every.fitted
        outside = (residual < band[0]) | (residual > band[1])
        found.append([column[outside] for column in every])
    i, j, seen, fitted = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return Listed(i, j, seen, fitted)


def pairs_in(rows: Rows, n_points: int) -> npt.NDArray[np.bool_]:
    """Tell which values of a block are measured pairs: not missing, and not from a point to itself."""
    i, j = _ends(rows, n_points)
    there: npt.NDArray[np.bool_] = (i != j) & ~np.isnan(rows.values)
    return there


def _ends(rows: Rows, n_points: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Return the two points of every value of a block."""
    n_rows = rows.starts.size - 1
    i = rows.first + np.repeat(np.arange(n_rows), np.diff(rows.starts))
    return i, np.tile(np.arange(n_points), n_rows) if rows.columns is None else rows.columns


def _listed(rows: Rows, points: Array) -> Listed:
    """Return the pairs of a block of rows."""
    i, j = _ends(rows, len(points))
    once = (j > i) & ~np.isnan(rows.values)
    i, j, seen = i[once], j[once].astype(np.intp), rows.values[once] * rows.unit
    seen = np.sqrt(seen) if rows.squared else seen
    return Listed(i, j, seen, np.linalg.norm(points[i] - points[j], axis=1))


def _strips(measured: Measured) -> Iterator[Rows]:
    """Yield all rows, a few at a time."""
    step = max(1, BLOCK_VALUES // measured.n_points)
    for begin in range(0, measured.n_points, step):
        yield measured.rows(begin, min(measured.n_points, begin + step))


def _places(measured: Measured) -> Iterator[tuple[Rows, slice]]:
    """Yield blocks of rows and where their points stand."""
    for rows in measured.blocks():
        yield rows, slice(rows.first, rows.first + rows.starts.size - 1)
