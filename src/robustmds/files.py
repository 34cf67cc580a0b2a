"""Distances out of files, and results into files: all of them or none.

What a file holds is found out by looking at its first rows: a square table (labels in the first row, the
first column, both or neither), an edge list (end, end, distance), or one row or column of numbers in the
order of ``scipy.spatial.distance.pdist``. Whether they can be distances is for `robustmds.inputs` to say.
"""

from __future__ import annotations

import csv
import math
import re
import shutil
import tempfile
import zipfile
import zlib
from array import array
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from statistics import mode
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from robustmds.errors import InputError
from robustmds.inputs import Labelled, Pairs, value_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    Line = tuple[int, str]  # with its number in the file
    Row = tuple[int, list[str]]

T = TypeVar("T")

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-", ".", "?"})
UNWRITABLE = ("must be a folder that can be written", "Choose a folder that you can write to.")
NAMES = frozenset({"id", "label", "name"})  # of a column with the names of points
HEAD = 8  # rows looked at before deciding what a text file holds
QUOTED = re.compile(r'"[^"]*"')
WHOLE = re.compile(r"\s*[-+]?\d+(\.0*)?\s*")
# Numbers that fill a cell: a delimiter, a quote or an end of the line on either side.
DECIMAL = {
    mark: re.compile(rf'(?<![^;\t"])( *[-+]?\d*)[{mark}](\d+(?:[eE][-+]?\d+)? *)(?![^;\t"\n])')
    for mark in ",."
}
BROKEN = (ValueError, csv.Error, EOFError, zipfile.BadZipFile, zlib.error)


def read_distances(path: str | Path) -> npt.NDArray[Any] | Labelled | Pairs:
    """Read the distances that a file holds, whatever its form.

    Parameters
    ----------
    path : str or Path
        ``.npy`` and ``.npz``: NumPy's own files. Any other ending: text in UTF-8, its cells separated by
        comma, semicolon, tab or white space; blank lines and lines that begin with ``#`` are skipped.

    Returns
    -------
    ndarray, Labelled or Pairs
        A square or condensed array (``.npy`` stays on disk, as a memmap); the same with labels; or the pairs
        of an edge list, its points in the order of their numbers if every id is a whole number, else in the
        order of first appearance. NaN where nothing was measured.
    """
    path = Path(path)
    is_numpy = path.suffix.lower() in {".npy", ".npz"}
    with _refusing(path, "must be a file that can be read", "Check the path and its permissions."):
        try:
            return _read_numpy(path) if is_numpy else _read_text(path)
        except InputError as error:  # an empty name means the whole file
            name = f"{path}, {error.name}" if error.name else str(path)
            raise InputError(name, error.rule, error.found, error.advice) from error
        except BROKEN as error:
            rule = "must be an intact NumPy file without pickles" if is_numpy else "must be text in UTF-8"
            advice = "Save plain numbers and labels again, as csv in UTF-8, .npy or .npz."
            raise InputError(str(path), rule, str(error).rstrip("."), advice) from error


@contextmanager
def _refusing(path: str | Path, rule: str, advice: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(str(path), rule, error.strerror or str(error), advice) from error


def _read_numpy(path: Path) -> npt.NDArray[Any] | Labelled | Pairs:
    with path.open("rb") as file:  # np.load leaves a broken archive open if it opened it itself
        if file.read(2) == b"PK":
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                return _read_archive(archive)
    return _checked(np.load(path, mmap_mode="r", allow_pickle=False))


def _read_archive(archive: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any] | Labelled | Pairs:
    labels = tuple(archive["labels"].astype(str).ravel().tolist()) if "labels" in archive else None
    _refuse_repeats("label", labels or ())
    if {"i", "j", "distances"} <= set(archive):
        weights = _checked(archive["weights"]) if "weights" in archive else None
        return Pairs(archive["i"], archive["j"], _checked(archive["distances"]), weights, labels)
    names = [name for name in archive if name != "labels"]
    if "distances" not in names and len(names) != 1:
        raise InputError(
            "", "must hold one array, or one named distances", f"got {', '.join(names) or 'none'}"
        )
    distances = _checked(archive["distances" if "distances" in names else names[0]])
    return distances if labels is None else Labelled(distances, labels)


def _checked(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    values = np.asanyarray(values)  # bytes, if an archive holds something else than arrays
    if values.dtype.kind not in "iuf":
        raise InputError("", "must hold real numbers", f"got {values.dtype}", "Save it as float64.")
    if values.ndim != 1 and (not values.ndim or values.shape != values.shape[:1] * 2):
        raise InputError("", "must be square, or one number per pair", f"got shape {values.shape}")
    return values


def _read_text(path: Path) -> npt.NDArray[np.float64] | Labelled | Pairs:
    top, lines = _peek(_content(path))
    if not top:
        raise InputError("", "must hold distances", "it is empty, blank lines and comments aside")
    delimiter = _delimiter([line for _, line in top])
    first, rows = _peek(_rows(_decimal_points(lines) if delimiter in ";\t" else lines, delimiter))
    head = [cells for _, cells in first]
    width = len(head[-1])
    if width == 2 and len(head) > 1 and all(map(_is_word, head[1])):  # noqa: PLR2004 - two ends
        raise InputError("", "must have a third column, the distance, to be an edge list", "got two columns")
    has_header, has_label_column = _labelled_sides(head, width)
    if _is_edge_list(head, width, has_header=has_header, first=int(has_label_column)):
        return _read_edges(rows, has_header=has_header)
    return _read_table(rows, has_header=has_header, first=int(has_label_column))


def _peek(items: Iterator[T]) -> tuple[list[T], Iterator[T]]:
    head = list(islice(items, HEAD))
    return head, chain(head, items)


def _content(path: Path) -> Iterator[Line]:
    """Yield the lines that are neither blank nor comments."""
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if "\0" in line:
                raise UnicodeError("it contains NUL bytes")
            # A line of tabs is a row of empty cells, not a blank line.
            if line.strip(" \n") and not line.lstrip().startswith("#"):
                yield number, line


def _delimiter(lines: Sequence[str]) -> str:
    """Return the first of tab, semicolon, comma that most lines have outside quotes; else white space."""
    bare = [QUOTED.sub("", line) for line in lines]
    return next((mark for mark in "\t;," if 2 * sum(mark in line for line in bare) > len(bare)), " ")


def _decimal_points(lines: Iterator[Line]) -> Iterator[Line]:
    """Write decimal commas as points; refuse a mixture, in which ``1,234`` may be a thousand and more."""
    seen: dict[str, str] = {}
    for number, line in lines:
        for mark, pattern in DECIMAL.items():
            if mark in line and mark not in seen and (match := pattern.search(line)):
                seen[mark] = f"{match[0].strip()} on line {number}"
        if len(seen) > 1:
            raise InputError("", "must use one decimal mark", " and ".join(seen.values()), "Write points.")
        yield number, DECIMAL[","].sub(r"\1.\2", line) if seen else line


def _rows(lines: Iterator[Line], delimiter: str) -> Iterator[Row]:
    """Yield rows of as many cells; only the first may lack one, the corner."""
    texts = ((number, " ".join(line.split()) if delimiter == " " else line) for number, line in lines)
    readers = (
        (number, csv.reader([text], delimiter=delimiter, skipinitialspace=True)) for number, text in texts
    )
    head, rows = _peek((number, list(map(str.strip, next(reader)))) for number, reader in readers)
    width = mode(len(cells) for _, cells in head[1:] or head)
    for k, (number, cells) in enumerate(rows):
        if len(cells) != width and (k > 0 or len(cells) != width - 1):
            found, advice = f"{len(cells)} instead of {width}", "Quote labels that contain a delimiter."
            raise InputError(f"line {number}", "must have as many cells as the others", found, advice)
        yield number, cells


def _value(cell: str) -> float | None:
    """Return the number in a cell, NaN for a missing one, None for a word."""
    if "_" in cell:  # Python reads 1_2 as twelve; in a file it is a label
        return None
    with suppress(ValueError):
        return math.nan if cell.lower() in MISSING else float(cell)
    return None


def _is_word(cell: str) -> bool:
    return _value(cell) is None


def _mostly_words(cells: list[str]) -> bool:
    # Most, not all: a point may be called 7, and one bad cell does not make a header.
    return 2 * sum(map(_is_word, cells)) > len(cells)


def _is_edge_list(head: list[list[str]], width: int, *, has_header: bool, first: int) -> bool:
    body = head[1:] if has_header else head
    has_same_labels = head[0][1 : len(head)] == [row[0] for row in head[1:]] and len(head) == min(width, HEAD)
    if has_same_labels or _has_zero_diagonal(body, first, width - first):
        return False
    if width < 3 or not body or not head[0][0] or not (has_header or width == 3):  # noqa: PLR2004 - see above
        return False
    if len(head[0]) < width:  # the first column has no name, so the header does not say which are the ends
        return False
    ends = [_value(cell) for row in body for cell in row[:2] if cell]
    one_row_of_numbers = len(head) == 1 and None not in ends
    # A word or a whole number names a point; NA may be Namibia.
    return not one_row_of_numbers and not any(end is not None and end % 1 > 0 for end in ends)


def _has_zero_diagonal(body: list[list[str]], first: int, size: int) -> bool:
    # Two rows of an edge list may have one by chance, so a table with rows left out must show three.
    diagonal = [_value(row[first + k]) for k, row in enumerate(body[:size])]
    return min(3, size) <= len(body) <= size and all(v is not None and not abs(v) > 0 for v in diagonal)


def _labelled_sides(head: list[list[str]], width: int) -> tuple[bool, bool]:
    """Tell whether the first row and the first column of a table are labels."""
    corner, body = head[0][0], head[1:]
    outer = chain(head[0][1:], (row[0] for row in body))
    numbered = (not corner or _is_word(corner)) and all(map(WHOLE.fullmatch, outer))
    if numbered and not corner and not any(row[k] for k, row in enumerate(body[: width - 1], 1)):
        # The whole diagonal is empty, so the corner may be part of it: only labels that count are labels.
        numbered = list(map(float, head[0][1:])) in (list(range(width - 1)), list(range(1, width)))
    if len(head[0]) < width or (numbered and _has_zero_diagonal(body, 1, width - 1)):
        return True, True
    has_header = _mostly_words(head[0][1:] or head[0])
    column = [row[0] for row in (body if has_header else head)]
    return has_header, width > 1 and (_mostly_words(column) or (has_header and not corner))


def _read_table(rows: Iterator[Row], *, has_header: bool, first: int) -> npt.NDArray[np.float64] | Labelled:
    """Read a square table, or one row or column; its numbers begin in column `first`."""
    header = next(rows)[1] if has_header else []
    columns, labels, values, n_rows = [], [], array("d"), 0
    for number, cells in rows:
        columns = header[len(header) - len(cells) + first :]
        labels += cells[:first]
        values.extend(_numbers(number, columns, cells[first:]))
        n_rows += 1
    if not n_rows:
        raise InputError("", "must hold distances", "nothing below the header")
    table = np.frombuffer(values).reshape(n_rows, -1)
    if 1 in table.shape and not labels:
        return table.ravel()
    if table.shape[0] != table.shape[1]:
        found = f"{n_rows} rows and {table.shape[1]} columns of numbers"
        advice = "An edge list needs a header, or exactly three columns: end, end, distance."
        raise InputError("", "must be a square table, an edge list, one row or one column", found, advice)
    return Labelled(table, _agreed_labels(columns, labels)) if columns or labels else table


def _agreed_labels(columns: list[str], rows: list[str]) -> tuple[str, ...]:
    _refuse_repeats("column", columns)
    _refuse_repeats("row", rows)
    if columns and rows and rows != columns:
        k = next(k for k, row in enumerate(rows) if row != columns[k])
        found = f"row {k + 1} is {rows[k]!r}, column {k + 1} is {columns[k]!r}"
        same = "They are the same labels in another order: sort" if set(rows) == set(columns) else "Correct"
        raise InputError("", "must label its rows as its columns", found, f"{same} the rows or the columns.")
    return tuple(columns or rows)


def _refuse_repeats(what: str, labels: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for k, label in enumerate(labels, 1):
        if (first := seen.setdefault(label, k)) != k:
            found = f"{label!r} is {what} {first} and {what} {k}"
            raise InputError("", "must not repeat a label", found, "Give every point a name of its own.")


def _numbers(line: int, columns: Sequence[str], cells: Sequence[str]) -> array[float]:
    if "_" not in "".join(cells):
        with suppress(ValueError):
            return array("d", map(float, cells))
    values = [_value(cell) for cell in cells]
    numbers = array("d", (value for value in values if value is not None))
    if len(numbers) == len(values):
        return numbers
    k = values.index(None)
    name = f"line {line}, column {repr(columns[k]) if columns else k + 1}"
    raise InputError(name, "must be a number", repr(cells[k]), "Leave it empty where nothing was measured.")


def _read_edges(rows: Iterator[Row], *, has_header: bool) -> Pairs:
    line, header = next(rows) if has_header else (0, ["i", "j", "distance"])
    used = value_columns(f"line {line}", header, (0, 1))
    names = [header[k] for k in used]
    positions: dict[str, int] = {}
    ends, values = array("q"), array("d")
    for number, cells in rows:
        for label in cells[:2]:
            if not label:
                raise InputError(f"line {number}", "must name both ends of the pair", "an empty cell")
            ends.append(positions.setdefault(label, len(positions)))
        values.extend(_numbers(number, names, [cells[k] for k in used]))
    labels = list(positions)
    if all(map(WHOLE.fullmatch, labels)):
        labels.sort(key=float)
    rank = np.argsort([positions[label] for label in labels])
    i, j = rank[np.frombuffer(ends, dtype=np.int64)].reshape(-1, 2).T
    distances, *weights = np.frombuffer(values).reshape(-1, len(used)).T
    return Pairs(i, j, distances, weights[0] if weights else None, tuple(labels))


def read_points(path: str | Path, n_components: int) -> npt.NDArray[np.float64] | dict[Hashable, list[float]]:
    """Read points that a file holds.

    Parameters
    ----------
    path : str or Path
        ``.npy``: an (n, r) array. Any other ending: text as for `read_distances`, one row a point. With a
        header, the coordinates are the columns x, y, z or x1, x2, ..., and the names stand in a column before
        them, or in one called id, label or name; without one, in the first of r + 1 columns.
    n_components : int
        Dimension r of the points.

    Returns
    -------
    ndarray or dict
        The points in the order of the file, or by name.
    """
    path = Path(path)
    with _refusing(path, "must be a file that can be read", "Check the path and its permissions."):
        try:
            if path.suffix.lower() == ".npy":
                return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
            return _points_of_text(path, n_components)
        except InputError as error:
            name = f"{path}, {error.name}" if error.name else str(path)
            raise InputError(name, error.rule, error.found, error.advice) from error
        except BROKEN as error:
            raise InputError(str(path), "must hold points", str(error).rstrip(".")) from error


def _points_of_text(path: Path, r: int) -> npt.NDArray[np.float64] | dict[Hashable, list[float]]:
    top, lines = _peek(_content(path))
    if not top:
        raise InputError("", "must hold points", "it is empty, blank lines and comments aside")
    head, rows = _peek(_rows(lines, _delimiter([line for _, line in top])))
    first = [cell.lower() for cell in head[0][1]]
    axes = [["x", "y", "z"][:r], [f"x{c + 1}" for c in range(r)]]
    named = next((names for names in axes if set(names) <= set(first)), None)
    if named is not None:
        columns = [first.index(name) for name in named]
        next(rows)
    else:
        columns = list(range(len(first)))[-r:]
        if len(first) not in {r, r + 1}:
            found, advice = f"got {', '.join(head[0][1])}", "Name the columns x, y, z or x1, x2, ..."
            raise InputError("", f"must have the coordinates of {r} dimensions", found, advice)
    of_names = next((k for k, name in enumerate(first) if k < min(columns) or name in NAMES), None)
    names: list[str] = []
    places: list[list[float]] = []
    for number, cells in rows:
        places.append(list(_numbers(number, named or (), [cells[k] for k in columns])))
        names += [] if of_names is None else [cells[of_names]]
    _refuse_repeats("point", names)
    return dict(zip(names, places, strict=True)) if names else np.array(places)


def require_writable(folder: str | Path) -> None:
    """Make a folder, its parents too, and make sure that files can be written there.

    Parameters
    ----------
    folder : str or Path
        May exist already.
    """
    with _refusing(folder, *UNWRITABLE):
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            pass


def write_whole(folder: str | Path, writers: Mapping[str, Callable[[Path], None]]) -> None:
    """Write several files into a folder: all of them, or none.

    Parameters
    ----------
    folder : str or Path
        An existing folder. Files of the same names are replaced.
    writers : mapping of str to callable
        For every file name, what writes the file to the path it is given. Whatever one of them raises, the
        folder stays as it was; an OSError becomes an InputError.
    """
    # The temporary folder is inside, so that moving a file never crosses file systems.
    with (
        _refusing(folder, *UNWRITABLE),
        tempfile.TemporaryDirectory(dir=folder, prefix=".robustmds-") as temporary,
        ExitStack() as undo,
    ):
        new, old = Path(temporary, "new"), Path(temporary, "old")
        new.mkdir()
        old.mkdir()
        for name, write in writers.items():
            write(new / name)
        for target in map(Path(folder).joinpath, writers):
            if target.exists():
                shutil.copy2(target, old)
                undo.callback(shutil.move, old / target.name, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            (new / target.name).replace(target)
        undo.pop_all()


def write_rows(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as csv in UTF-8; numbers come back from it exactly.

    Parameters
    ----------
    path : str or Path
        Where to; an OSError is left to `write_whole`.
    header : sequence of str
        The names of the columns.
    rows : iterable of sequences
        The cells; labels are quoted where needed.
    """
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        plain = csv.writer(file, lineterminator="\n")
        quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
        for row in chain([header], rows):
            # Unquoted, a first # would make a comment, and a semicolon or tab may pass for the delimiter.
            text = "".join(map(str, row))
            is_plain = not text.lstrip().startswith("#") and ";" not in text and "\t" not in text
            (plain if is_plain else quoted).writerow(row)
