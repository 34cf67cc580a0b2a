"""A table to look at: named columns of equal length, printed aligned, turned into a data frame on request."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from robustmds.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHOWN = 20  # rows of a table that are printed


class Table:
    """Columns of equal length, by name.

    ``table["i"]`` and ``table.i`` are columns, ``table[0]`` is a row, ``table[:5]`` a shorter table; looping
    over it yields the rows, as named tuples.

    Parameters
    ----------
    columns : mapping of str to array
        The columns, in order.

    Examples
    --------
    >>> table = Table({"city": ["Rome", "Oslo"], "x": [1.5, -2.0]})
    >>> print(table)
    city    x
    Rome  1.5
    Oslo   -2
    >>> table[0].city, table["x"].tolist()
    ('Rome', [1.5, -2.0])
    """

    def __init__(self, columns: Mapping[str, npt.ArrayLike]) -> None:
        # Views, so that only ours are locked.
        self._columns = {name: np.asarray(column).view() for name, column in columns.items()}
        for column in self._columns.values():
            column.flags.writeable = False
        self._row = namedtuple("Row", list(self._columns))  # type: ignore[misc]  # noqa: PYI024 - names at run time

    def __reduce__(self) -> tuple[type[Table], tuple[dict[str, npt.NDArray[Any]]]]:
        # The class of the rows is made for this table and has no address to be found at.
        return Table, (self._columns,)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"a table of {', '.join(self.columns)} has no {name}")
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: str | int | slice) -> Any:  # noqa: ANN401 - a column, a row or a table
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            return Table({name: column[key] for name, column in self._columns.items()})
        return self._row(*(column[[key]].tolist()[0] for column in self._columns.values()))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists."""
        return {name: column.tolist() for name, column in self._columns.items()}

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas is imported when met
        """Return a pandas DataFrame."""
        try:
            import pandas as pd  # noqa: PLC0415 - heavy, and optional
        except ModuleNotFoundError as error:
            advice = "Install it, or use the columns as they are."
            raise InputError("to_frame", "needs pandas", "it is not installed", advice) from error
        return pd.DataFrame(self._columns)

    def __repr__(self) -> str:
        cells = [
            [name, *(_cell(value) for value in column[:SHOWN])] for name, column in self._columns.items()
        ]
        widths = [max(map(len, column)) for column in cells]
        is_text = [column.dtype.kind in "OUb" for column in self._columns.values()]
        lines = [
            "  ".join(
                c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, widths, is_text, strict=True)
            )
            for row in zip(*cells, strict=True)
        ]
        more = len(self) - SHOWN
        return "\n".join(line.rstrip() for line in lines) + (f"\n... {more} more rows" if more > 0 else "")

    def _repr_html_(self) -> str:
        import html  # noqa: PLC0415 - for notebooks only

        def row(tag: str, values: list[str]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(value)}</{tag}>" for value in values) + "</tr>"

        body = "".join(row("td", list(map(_cell, values))) for values in self[:SHOWN])
        return f"<table>{row('th', list(self.columns))}{body}</table>"


def _cell(value: Any) -> str:  # noqa: ANN401 - whatever a column holds
    return f"{value:.5g}" if isinstance(value, (float, np.floating)) else str(value)
