"""Every form in which distances may be passed, and the layout it becomes.

pandas, polars and scikit-bio are recognised by their attributes and never imported.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from robustmds.errors import InputError
from robustmds.inputs.edges import Edges
from robustmds.inputs.layouts import LETTERS, Condensed, Layout, Square, and_more, points_of
from robustmds.passes import float_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from robustmds.inputs.layouts import Values

DISTANCE_NAMES = ("distance", "dist", "d", "measured", "range", "length", "value")
WEIGHT_NAMES = ("weight", "weights")
NUMBER_ADVICE = "Write numbers, and nan where nothing was measured."
MOST_POINTS = 10**9  # twice the square of it is still an integer of 64 bits
ENDS_ADVICE = "The first two columns are the ends; call the column of distances 'distance'."
FORMS = "a square array, a condensed vector, a sparse matrix, a data frame or rm.Pairs"


class Labelled(NamedTuple):
    """Distances and the names of the points.

    Attributes
    ----------
    distances : array
        Square or condensed.
    labels : tuple of str
        The names, in the order of the rows.
    """

    distances: npt.NDArray[Any]
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Measured pairs, in any order.

    A pair may be listed in either direction, or in both.

    Parameters
    ----------
    i, j : (m,) arrays
        The two ends of every pair: positions, counted from 0, or names. Names are put in the order in which
        they first appear, unless `labels` gives the order.
    distances : (m,) array
        nan where nothing was measured.
    weights : (m,) array, optional
        Finite and not negative; a pair of weight 0 counts as not measured.
    labels : sequence of str, optional
        The names of all points in order. Without them, and with positions, there are as many points as the
        largest position tells.

    Examples
    --------
    >>> from robustmds.inputs import Pairs
    >>> Pairs(["Rome", "Rome", "Oslo"], ["Oslo", "Bern", "Bern"], [2008.0, 689.0, 1462.0])
    Pairs(i=['Rome', 'Rome', 'Oslo'], j=['Oslo', 'Bern', 'Bern'], distances=[2008.0, 689.0, 1462.0],
          weights=None, labels=None)
    """

    i: npt.ArrayLike
    j: npt.ArrayLike
    distances: npt.ArrayLike
    weights: npt.ArrayLike | None = None
    labels: Sequence[str] | None = None

    @classmethod
    def from_frame(cls, frame: Any) -> Pairs:  # noqa: ANN401 - of pandas or of polars
        """Return the pairs that the rows of a data frame hold.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            The ends are the columns ``i`` and ``j``, else the first two; the distances are in the column
            ``distance`` (or ``dist``, ``d``, ``measured``, ``range``, ``length``, ``value``), else in the
            third; weights in ``weight`` or ``weights``. Ends that are whole numbers, but not all from 0
            upwards, are names, in the order of the numbers.

        Returns
        -------
        Pairs
            With the labels that the ends are.

        Examples
        --------
        >>> import pandas as pd
        >>> from robustmds.inputs import Pairs
        >>> Pairs.from_frame(pd.DataFrame({"from": [7, 9], "to": [9, 12], "distance": [1.5, 2.5]})).labels
        ('7', '9', '12')
        """
        header = [str(name) for name in frame.columns]
        ends = end_columns(header)
        used = value_columns("the data frame", header, ends)
        i, j, distances, *weights = (_column(frame, k) for k in (*ends, *used))
        labels = None
        if i.size and _are_positions(i) and _are_positions(j):
            names, numbers = np.unique(np.stack([i, j]).astype(np.int64), return_inverse=True)
            i, j = numbers.reshape(2, -1)
            is_counted = names[0] == 0 and names[-1] == names.size - 1
            labels = None if is_counted else tuple(map(str, names.tolist()))
        return cls(i, j, distances, weights[0] if weights else None, labels)


def end_columns(header: Sequence[str]) -> tuple[int, int]:
    """Return where an edge table has its ends."""
    words = [word.lower() for word in header]
    return (words.index("i"), words.index("j")) if {"i", "j"} <= set(words) else (0, 1)


def value_columns(name: str, header: Sequence[str], ends: tuple[int, int]) -> list[int]:
    """Return where an edge table has its distances and, if there are any, its weights.

    Parameters
    ----------
    name : str
        What to call the header in a refusal.
    header : sequence of str
        The names of the columns.
    ends : (int, int)
        Where the ends are.
    """
    words = [word.lower() for word in header]
    others = [k for k in range(len(words)) if k not in ends]
    places = {words[k]: k for k in reversed(others)}
    weights = [places[word] for word in WEIGHT_NAMES if word in places][:1]
    distances = [places[word] for word in DISTANCE_NAMES if word in places][:1]
    if not distances and (others[:1] in ([], weights) or words[0] in DISTANCE_NAMES):
        rule = "must say which column holds the distances"
        raise InputError(name, rule, ", ".join(header), ENDS_ADVICE)
    return (distances or others[:1]) + weights


def layout(distances: Any, weights: Any = None) -> Layout:  # noqa: ANN401 - anything a user may pass
    """Return distances, and their weights, in the layout of their form, or refuse what has none."""
    table = _layout(distances, "distances")
    if table.n_points > MOST_POINTS:
        raise InputError(
            "distances", f"must be between at most {MOST_POINTS} points", f"got {table.n_points}"
        )
    if weights is None:
        return table
    if isinstance(table, Edges) and not table.is_matrix:
        rule, advice = "must come with the pairs", "Pass them as the weights of rm.Pairs."
        raise InputError("weights", rule, "the distances are a list of pairs", advice)
    return _weighted(table, _layout(weights, "weights"))


def _layout(given: Any, name: str) -> Layout:  # noqa: ANN401
    if isinstance(given, Labelled):
        return _array_layout(given.distances, name, tuple(map(str, given.labels)))
    if isinstance(given, Pairs):
        return _edges(given)
    if issparse(given):
        return _sparse(given, name)
    if not isinstance(given, np.ndarray):
        if hasattr(given, "to_numpy") and hasattr(given, "columns"):
            return _frame(given, name)
        if hasattr(given, "ids") and hasattr(given, "data"):  # scikit-bio's DistanceMatrix
            return _array_layout(given.data, name, tuple(map(str, given.ids)))
    return _array_layout(given, name, None)


def _array_layout(given: Any, name: str, labels: tuple[str, ...] | None) -> Layout:  # noqa: ANN401
    values = _numbers(given, name, labels)
    if values.size == 0:
        raise InputError(name, "must not be empty", f"got shape {values.shape}")
    table: Layout
    if values.ndim == 1:
        _require_triangular(values.size, name)
        table = Condensed(values=values, labels=labels, name=name)
    elif values.ndim == 2 and values.shape[0] == values.shape[1]:  # noqa: PLR2004 - a matrix
        table = Square(values=values, labels=labels, name=name)
    else:
        raise InputError(
            name, "must be square, or condensed as by scipy's pdist", f"got shape {values.shape}"
        )
    if labels is not None and len(labels) != table.n_points:
        rule = "must be as many as the points"
        raise InputError("labels", rule, f"got {len(labels)} for {table.n_points} points")
    return table


def _require_triangular(size: int, name: str) -> None:
    n = points_of(size)
    here, beyond = n * (n - 1) // 2, n * (n + 1) // 2
    if size != here:
        found = f"got {size}, between {here} for {n} points and {beyond} for {n + 1} points"
        raise InputError(name, "must hold one number for every pair to be condensed", found)


def _numbers(given: Any, name: str, labels: tuple[str, ...] | None = None) -> Values:  # noqa: ANN401
    """Return an array of real numbers, not copied unless it has to be."""
    array = _as_array(given, name)
    if isinstance(array, np.ma.MaskedArray):
        array = _unmasked(array)
    elif not isinstance(array, np.memmap):
        array = np.asarray(array)
    if array.ndim == 0:
        raise InputError(name, f"must be {FORMS}", f"got {type(given).__name__}")
    if array.dtype.kind in "OUST":
        return _numbers_in_cells(array, name, labels)
    if array.dtype.kind not in "iuf":
        raise InputError(name, "must be real numbers", f"got {array.dtype}")
    return array


def _as_array(given: Any, name: str) -> Values:  # noqa: ANN401
    if isinstance(given, np.ndarray):
        return given
    try:
        array: Values = np.asarray(given)
        # NumPy makes all cells words if one of them is; as objects they keep their types.
        return np.asarray(given, dtype=object) if array.dtype.kind in "USc" and array.ndim else array
    except (TypeError, ValueError) as error:
        found = "its rows differ in length" if isinstance(given, (list, tuple)) else str(error).rstrip(".")
        raise InputError(name, f"must be {FORMS}", found) from error


def _unmasked(array: np.ma.MaskedArray[Any, Any]) -> Values:
    """Return the array with its masked entries missing."""
    if array.dtype.kind in "iuf":
        return np.ma.filled(array.astype(float_type(array.dtype)), np.nan)
    if array.dtype.kind == "O":
        cells = array.data.copy()
        cells[np.ma.getmaskarray(array)] = None
        return cells
    return array.data


def _numbers_in_cells(array: Values, name: str, labels: tuple[str, ...] | None) -> Values:
    cells = [np.nan if _is_missing(cell) else cell for cell in array.ravel().tolist()]
    bad = [k for k, cell in enumerate(cells) if not _is_number(cell)]
    if bad:
        place = [int(k) for k in np.unravel_index(bad[0], array.shape)]
        names = "" if labels is None or len(place) == 1 else f" ({' - '.join(labels[k] for k in place)})"
        where = f"{LETTERS[name]}{place}" if len(place) > 1 else f"entry {place[0]}"
        found = f"{where} = {cells[bad[0]]!r}{names}{and_more(len(bad) - 1)}"
        raise InputError(name, "must be real numbers", found, NUMBER_ADVICE)
    try:
        return np.array(cells, dtype=np.float64).reshape(array.shape)
    except OverflowError as error:
        raise InputError(name, "must be finite", "an integer beyond 1e308", NUMBER_ADVICE) from error


def _is_missing(cell: object) -> bool:
    pandas = sys.modules.get("pandas")
    return cell is None or (pandas is not None and cell is pandas.NA)


def _is_number(cell: object) -> bool:
    return isinstance(cell, (Real, Decimal)) and not isinstance(cell, bool)


def _sparse(given: Any, name: str) -> Edges:  # noqa: ANN401
    if given.format in ("bsr", "dia"):
        found = f"got {given.format}, in which a stored zero may be padding"
        raise InputError(name, "must be a sparse matrix of single entries", found, "Turn it into csr or coo.")
    if given.ndim != 2 or given.shape[0] != given.shape[1]:  # noqa: PLR2004 - a matrix
        raise InputError(name, "must be square", f"got shape {given.shape}")
    coo = given.tocoo(copy=False)
    i, j = coo.row.astype(np.int64), coo.col.astype(np.int64)
    values = _numbers(coo.data, name)
    return Edges(i=i, j=j, size=given.shape[0], values=values, name=name, is_matrix=True)


def _weighted(table: Layout, weights: Layout) -> Layout:
    if type(table) is not type(weights) or table.n_points != weights.n_points:
        found = f"got {_described(weights)}, not {_described(table)}"
        raise InputError("weights", "must have the form of the distances", found)
    if table.labels and weights.labels and table.labels != weights.labels:
        raise InputError("weights", "must have the labels of the distances", "got others, or another order")
    values = weights.values
    if isinstance(table, Edges) and isinstance(weights, Edges):
        here, there = (np.lexsort((edges.j, edges.i)) for edges in (table, weights))
        if not all(
            np.array_equal(a[here], b[there]) for a, b in ((table.i, weights.i), (table.j, weights.j))
        ):
            raise InputError("weights", "must be stored where the distances are", "the patterns differ")
        values = np.empty_like(weights.values)
        values[here] = weights.values[there]
    return replace(table, weights=values)


def _described(table: Layout) -> str:
    form = {Square: "a square array", Condensed: "a condensed vector", Edges: "a list of pairs"}[type(table)]
    return f"{form} for {table.n_points} points"


def _frame(frame: Any, name: str) -> Layout:  # noqa: ANN401
    columns, n_rows = [str(column) for column in frame.columns], len(frame)
    rows = _row_names(frame) if n_rows <= len(columns) else None
    if len(columns) == n_rows + 1 and rows is None and _column(frame, 0).dtype.kind not in "iufb":
        first = [str(label) for label in _column(frame, 0).tolist()]
        if set(first) == set(columns[1:]) or not _is_edge_table(frame, columns, rows):
            table = frame.iloc[:, 1:] if hasattr(frame, "iloc") else frame[:, 1:]
            return _array_layout(table.to_numpy(), name, _agreed(first, columns[1:]))
    if _is_edge_table(frame, columns, rows):
        return _edges(Pairs.from_frame(frame))
    if len(columns) != n_rows:
        found = f"got {n_rows} rows and {len(columns)} columns"
        raise InputError(name, "must be square, or an edge table", found, ENDS_ADVICE)
    has_names = columns not in ([f"{k}" for k in range(n_rows)], [f"column_{k}" for k in range(n_rows)])
    return _array_layout(frame.to_numpy(), name, _agreed(rows, columns if has_names else None))


def _column(frame: Any, k: int) -> Values:  # noqa: ANN401
    series = frame.iloc[:, k] if hasattr(frame, "iloc") else frame.to_series(k)
    return np.asarray(series.to_numpy())


def _row_names(frame: Any) -> list[str] | None:  # noqa: ANN401
    """Return the names of the rows, unless they only count them."""
    names = list(getattr(frame, "index", range(len(frame))))
    return None if names == list(range(len(names))) else [str(name) for name in names]


def _is_edge_table(frame: Any, columns: list[str], rows: list[str] | None) -> bool:  # noqa: ANN401
    ends = end_columns(columns)
    is_named = any(word.lower() in DISTANCE_NAMES for k, word in enumerate(columns) if k not in ends)
    if len(columns) != len(frame):
        return len(columns) == 3 or (is_named and len(columns) > 3)  # noqa: PLR2004 - end, end, distance
    diagonal = [_column(frame, k)[k] for k in range(len(columns))] if is_named and rows != columns else []
    # A point may be called d: then its distance to itself is 0.
    return any(not (_is_missing(cell) or cell != cell or cell == 0) for cell in diagonal)  # noqa: PLR0124


def _agreed(rows: list[str] | None, columns: list[str] | None) -> tuple[str, ...] | None:
    if rows is not None and columns is not None and rows != columns:
        k = next(k for k, row in enumerate(rows) if row != columns[k])
        found = f"row {k} is {rows[k]!r}, column {k} is {columns[k]!r}"
        same = sorted(rows) == sorted(columns)
        advice = "They are the same in another order: sort the rows or the columns." if same else ""
        raise InputError("labels", "must be the same for rows and columns", found, advice)
    names = columns if rows is None else rows
    return None if names is None else tuple(names)


def _edges(pairs: Pairs) -> Edges:
    i, j = (np.asarray(_as_array(ends, "pairs")) for ends in (pairs.i, pairs.j))
    distances = _numbers(pairs.distances, "distances")
    weights = None if pairs.weights is None else _numbers(pairs.weights, "weights")
    given = [i, j, distances] + ([] if weights is None else [weights])
    if len({array.shape for array in given}) > 1 or i.ndim != 1:
        found = "got shapes " + ", ".join(str(array.shape) for array in given)
        raise InputError("pairs", "must have two ends and one distance each", found)
    if i.size == 0:
        raise InputError("distances", "must not be empty", "got no pairs")
    labels = None if pairs.labels is None else tuple(map(str, pairs.labels))
    for ends in (i, j):
        if ends.dtype.kind in "bcfV" and not _are_positions(ends):
            k = int((ends % 1 != 0).argmax()) if ends.dtype.kind == "f" else 0
            found = f"got {ends[k]} at pair {k}"
            raise InputError("ends of pairs", "must be whole numbers or names", found)
    if _are_positions(i) and _are_positions(j):
        i, j, size = _positions(i, j, labels)
    else:
        i, j, labels = _positions_of_names(i, j, labels)
        size = len(labels)
    return Edges(i=i, j=j, size=size, values=distances, weights=weights, labels=labels)


def _are_positions(ends: Values) -> bool:
    return ends.dtype.kind in "iu" or (ends.dtype.kind == "f" and bool((ends % 1 == 0).all()))


def _positions(i: Values, j: Values, labels: tuple[str, ...] | None) -> tuple[Values, Values, int]:
    size = int(max(i.max(), j.max())) + 1 if labels is None else len(labels)
    for bad, rule in (
        ((i < 0) | (j < 0), "must not be negative"),
        ((i >= size) | (j >= size), f"must be less than {size}, the number of labels"),
    ):
        if bad.any():
            k = int(bad.argmax())
            found = f"pair {k} is {int(i[k])} - {int(j[k])}{and_more(int(bad.sum()) - 1)}"
            raise InputError("positions", rule, found, "They count the points from 0.")
    if size > 2 * i.size:
        found = f"the largest position is {size - 1}, with {i.size} pairs"
        advice = "If these numbers are names, pass them as words."
        raise InputError("positions", "must count the points from 0 without gaps", found, advice)
    return i.astype(np.int64), j.astype(np.int64), size


def _positions_of_names(
    i: Values, j: Values, labels: tuple[str, ...] | None
) -> tuple[Values, Values, tuple[str, ...]]:
    ends = list(chain.from_iterable(zip(i.tolist(), j.tolist(), strict=True)))
    names = dict.fromkeys(ends)
    for name in names:
        if _is_missing(name) or name != name:  # noqa: PLR0124 - nan
            k = next(k for k, end in enumerate(ends) if end is name)
            raise InputError("pairs", "must have two ends each", f"an end of pair {k // 2} is {name}")
    place = {name: k for k, name in enumerate(names)} if labels is None else _places_among(names, labels)
    both = np.fromiter(map(place.__getitem__, ends), dtype=np.int64, count=len(ends)).reshape(-1, 2)
    return both[:, 0], both[:, 1], tuple(map(str, names)) if labels is None else labels


def _places_among(names: Iterable[object], labels: tuple[str, ...]) -> dict[object, int]:
    places = {label: k for k, label in enumerate(labels)}
    unknown = [name for name in names if str(name) not in places]
    if unknown:
        found = f"{unknown[0]!r} is not among them{and_more(len(unknown) - 1)}"
        raise InputError("labels", "must hold the names of all ends", found)
    return {name: places[str(name)] for name in names}
