"""Tables: their columns, rows and pieces, how they print, and what becomes of them elsewhere."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

from robustmds.errors import InputError
from robustmds.table import SHOWN, Table


@pytest.fixture
def cities():
    return Table({"city": ["Rome", "Oslo", "Ulm"], "x": [1.5, -2.0, 0.0], "n": [1, 20, 300]})


def test_a_column_is_an_item_and_an_attribute(cities):
    assert cities.columns == ("city", "x", "n")
    np.testing.assert_array_equal(cities["x"], [1.5, -2.0, 0.0])
    assert cities.x is cities["x"]


def test_an_unknown_column_is_named_beside_those_there_are(cities):
    with pytest.raises(AttributeError, match="a table of city, x, n has no y"):
        _ = cities.y
    assert not hasattr(cities, "_x")


def test_a_row_is_a_named_tuple_of_plain_values(cities):
    row = cities[1]
    assert row == ("Oslo", -2.0, 20)
    assert row._fields == cities.columns
    assert [type(value) for value in row] == [str, float, int]
    assert cities[-1].city == "Ulm"


def test_a_row_beyond_the_last_is_refused(cities):
    with pytest.raises(IndexError):
        cities[3]


def test_a_row_holds_whatever_a_column_of_objects_holds():
    names = np.array(["a", (1, 2), None], dtype=object)
    assert [row.name for row in Table({"name": names})] == ["a", (1, 2), None]


def test_looping_yields_the_rows_in_order(cities):
    assert len(cities) == 3
    assert [row.n for row in cities] == [1, 20, 300]


def test_a_slice_is_a_table(cities):
    part = cities[::2]
    assert isinstance(part, Table)
    assert part.columns == cities.columns
    assert part.to_dict() == {"city": ["Rome", "Ulm"], "x": [1.5, 0.0], "n": [1, 300]}


def test_a_table_can_be_empty():
    empty = Table({"i": np.zeros(0, int), "x": np.zeros(0)})
    assert len(empty) == 0
    assert list(empty) == []
    assert str(empty) == "i  x"


def test_columns_cannot_be_written_to(cities):
    with pytest.raises(ValueError, match="read-only"):
        cities.x[0] = 9.0


def test_the_array_that_a_column_came_from_can_still_be_written_to():
    x = np.zeros(3)
    Table({"x": x})
    x[0] = 1.0


def test_text_stands_left_and_numbers_right(cities):
    assert str(cities).splitlines() == [
        "city    x    n",
        "Rome  1.5    1",
        "Oslo   -2   20",
        "Ulm     0  300",
    ]
    assert str(Table({"kept": [True, False], "o": np.array(["a", 12], object)})).splitlines()[1] == "True   a"


def test_a_long_table_prints_its_first_rows_and_how_many_more_there_are():
    lines = str(Table({"i": np.arange(SHOWN + 5)})).splitlines()
    assert lines[SHOWN] == f"{SHOWN - 1:2d}"
    assert lines[SHOWN + 1 :] == ["... 5 more rows"]
    assert "more" not in str(Table({"i": np.arange(SHOWN)}))


def test_floats_print_with_five_digits():
    assert str(Table({"x": [1234567.0, 0.0123456789]})).split() == ["x", "1.2346e+06", "0.012346"]


def test_html_shows_names_as_they_are_written():
    html = Table({"city": ["<b>", "Rome & Oslo"], "x": [1.0, 2.0]})._repr_html_()
    assert "<tr><th>city</th><th>x</th></tr>" in html
    assert "<tr><td>&lt;b&gt;</td><td>1</td></tr>" in html
    assert "<td>Rome &amp; Oslo</td>" in html


def test_a_data_frame_holds_the_same(cities):
    frame = cities.to_frame()
    assert tuple(frame.columns) == cities.columns
    assert {name: list(frame[name]) for name in frame} == cities.to_dict()


def test_without_pandas_a_sentence_says_what_to_do(cities, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError) as caught:
        cities.to_frame()
    sentence = "to_frame needs pandas: it is not installed. Install it, or use the columns as they are."
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))],  # noqa: S301 - our own
)
def test_a_copy_holds_the_same(cities, again):
    other = again(cities)
    assert other.to_dict() == cities.to_dict()
    assert other[0].city == "Rome"
    assert not other.x.flags.writeable
