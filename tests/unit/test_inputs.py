"""Anything a user may pass: what each form is read as, what is refused in which words, and at what cost."""
# ruff: noqa: E501 - a case is one line
# ruff: noqa: PD011 - these values are ours

from __future__ import annotations

import copy
import math
import tracemalloc
import warnings
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from robustmds.errors import AsymmetryWarning, InputError
from robustmds.inputs import Labelled, Pairs, faults, layouts, read
from robustmds.passes import MeasuredCondensed, MeasuredEdges, MeasuredSquare

NAN = math.nan
NAMES = ("Rome", "Oslo", "Bern", "Bonn", "Graz", "Kyiv")
N = len(NAMES)
FIRST, SECOND = np.triu_indices(N, 1)
POINTS = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0], [7.0, 7.0], [4.0, 11.0]])
CONDENSED = pdist(POINTS)
D = squareform(CONDENSED)
RNG = np.random.default_rng(0)


def dense(checked):
    """Return what the passes would read, in the user's unit: values and weights, (n, n)."""
    measured = checked.measured
    values, weights = np.full((2, measured.n_points, measured.n_points), np.nan)
    for block in measured.blocks():
        for k in range(block.starts.size - 1):
            here = slice(block.starts[k], block.starts[k + 1])
            columns = slice(None) if block.columns is None else block.columns[here]
            values[block.first + k, columns] = block.values[here]
            weights[block.first + k, columns] = 1.0 if block.weights is None else block.weights[here]
    np.fill_diagonal(values, 0.0)
    np.fill_diagonal(weights, 0.0)
    return values, weights


def assert_read(given, expected=D, labels=None, **options):
    checked = read(given, 2, **options)
    np.testing.assert_array_equal(dense(checked)[0], expected)
    assert checked.labels == labels
    assert checked.n_measured == np.count_nonzero(~np.isnan(squareform(np.asarray(expected), checks=False)))
    assert checked.largest == np.nanmax(expected)
    return checked.measured


def refusal(given, n_components=2, **options):
    """Return the only fault, after making sure that it is what `read` raises."""
    (fault,) = faults(given, n_components, **options)
    with pytest.raises(InputError) as caught:
        read(given, n_components, **options)
    assert str(caught.value) == str(fault)
    return str(fault)


def changed(*cells, table=D):
    """Return the table with cells (i, j, value) replaced."""
    table = np.array(table)
    for i, j, value in cells:
        table[i, j] = value
    return table


def both_ways(i, j, value):
    return changed((i, j, value), (j, i, value))


# Forms


class Wrapped:
    """What NumPy can read, and nothing else."""

    def __array__(self, dtype=None, copy=None):
        return np.array(D, dtype=dtype, copy=copy)


SQUARES = {
    "float64": D,
    "Fortran order": np.asfortranarray(D),
    "read only": np.frombuffer(D.tobytes()).reshape(N, N),
    "strided": np.repeat(np.repeat(D, 2, axis=0), 3, axis=1)[::2, ::3],
    "big endian": D.astype(">f8"),
    "long double": D.astype(np.longdouble),
    "lists": D.tolist(),
    "tuples": tuple(map(tuple, D.tolist())),
    "objects": D.astype(object),
    "matrix": np.asmatrix(D),
    "masked, nothing masked": np.ma.masked_array(D),
    "pandas": pd.DataFrame(D),
    "polars": pl.DataFrame(D),
    "with __array__": Wrapped(),
}


@pytest.mark.parametrize("form", SQUARES)
def test_a_square_in_any_form_is_read_as_it_is(form):
    assert isinstance(assert_read(SQUARES[form]), MeasuredSquare)


@pytest.mark.parametrize("form", [CONDENSED, CONDENSED.tolist(), pd.Series(CONDENSED), pl.Series(CONDENSED)])
def test_a_condensed_vector_in_any_form_is_read_as_pdist_has_it(form):
    assert isinstance(assert_read(form), MeasuredCondensed)


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble", "int8", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("form", ["square", "condensed", "sparse", "pairs"])
def test_every_real_type_is_read_and_float32_stays(dtype, form):
    values = CONDENSED.round().astype(dtype)
    if (dtype, form) == ("float16", "sparse"):
        pytest.skip("scipy has no such matrix")
    given = {
        "square": squareform,
        "condensed": np.array,
        "sparse": lambda d: sp.csr_array(squareform(d)),
        "pairs": lambda d: Pairs(FIRST, SECOND, d),
    }[form](values)
    measured = assert_read(given, squareform(CONDENSED.round()))
    assert measured.rows(0, 1).values.dtype == (np.float32 if dtype == "float32" else np.float64)


def labelled_frames():
    plain = dict(zip(NAMES, D, strict=True))
    yield "pandas", pd.DataFrame(D, index=NAMES, columns=NAMES)
    yield "pandas, names on top", pd.DataFrame(D, columns=NAMES)
    yield "pandas, names at the side", pd.DataFrame(D, index=NAMES)
    yield "pandas, names in a column", pd.DataFrame({"place": NAMES, **plain})
    yield "pandas, float64 with NA", pd.DataFrame(D, index=NAMES, columns=NAMES).astype("Float64")
    yield "polars", pl.DataFrame(plain)
    yield "polars, names in a column", pl.DataFrame({"place": NAMES, **plain})
    yield "scikit-bio", SimpleNamespace(data=D, ids=NAMES)
    yield "Labelled", Labelled(D, NAMES)
    yield "Labelled, condensed", Labelled(CONDENSED, list(NAMES))


@pytest.mark.parametrize("given", [pytest.param(frame, id=name) for name, frame in labelled_frames()])
def test_labels_come_with_the_table(given):
    assert_read(given, labels=NAMES)


def test_numbers_that_name_rows_and_columns_are_labels_unless_they_only_count():
    assert_read(pd.DataFrame(D, index=range(N), columns=range(N)))
    assert_read(pd.DataFrame(D).iloc[1:, 1:], D[1:, 1:], ("1", "2", "3", "4", "5"))


def test_a_point_may_be_called_as_a_column_of_distances_is():
    names = ("a", "b", "c", "d", "e", "f")
    assert_read(pd.DataFrame(D, columns=names), labels=names)


SPARSE = {
    "both": D,
    "upper": np.triu(D),
    "lower": np.tril(D),
    "mixed": np.triu(D) * (np.add.outer(range(N), range(N)) % 2)
    + np.tril(D) * (np.add.outer(range(N), range(N)) % 2 == 0),
}


@pytest.mark.parametrize("directions", SPARSE)
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("of", [sp.coo_array, sp.coo_matrix])
def test_a_sparse_matrix_holds_its_stored_pairs_in_any_direction(directions, kind, of):
    given = of(SPARSE[directions]).asformat(kind)
    assert isinstance(assert_read(given), MeasuredEdges)


def test_a_stored_zero_is_a_distance_unless_it_stands_on_the_diagonal():
    table = sp.coo_array(([0.0, 1.0, 1.0, 2.0, 2.0, 0.0], ([0, 0, 1, 0, 1, 3], [1, 2, 2, 3, 3, 3])), (4, 4))
    expected = [[0, 0, 1, 2], [0, 0, 1, 2], [1, 1, 0, NAN], [2, 2, NAN, 0]]
    assert_read(table, expected)


def test_a_stored_nan_is_no_pair():
    table = changed((0, 1, NAN), (1, 0, NAN), (2, 4, NAN))  # 2 and 4 were measured the other way
    assert_read(sp.csr_array(table), both_ways(0, 1, NAN))


@given(st.permutations(range(FIRST.size)), st.lists(st.booleans(), min_size=FIRST.size, max_size=FIRST.size))
def test_pairs_come_in_any_order_and_direction(order, turned):
    i, j, d = FIRST[order], SECOND[order], CONDENSED[order]
    i, j = np.where(turned, j, i), np.where(turned, i, j)
    measured = assert_read(Pairs(i, j, d))
    assert measured.columns.dtype == np.int32
    assert measured.starts.dtype == np.int64
    for k in range(N):
        assert (np.diff(measured.columns[measured.starts[k] : measured.starts[k + 1]]) > 0).all()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64", "object"])
def test_positions_may_be_whole_numbers_of_any_type(dtype):
    assert_read(
        Pairs(FIRST.astype(dtype), SECOND.astype(dtype), CONDENSED),
        labels=tuple("012345") if dtype == "object" else None,  # objects are names
    )


@pytest.mark.parametrize("dtype", [str, object])
def test_names_count_in_the_order_in_which_they_appear(dtype):
    names = np.array(NAMES, dtype=dtype)
    assert_read(Pairs(names[FIRST], names[SECOND], CONDENSED), labels=NAMES)
    assert_read(Pairs(names[SECOND], names[FIRST].tolist(), CONDENSED, labels=NAMES), labels=NAMES)
    turned = Pairs(names[FIRST[::-1]], names[SECOND[::-1]], CONDENSED[::-1])
    assert read(turned, 2).labels == ("Graz", "Kyiv", "Bonn", "Bern", "Oslo", "Rome")


def test_labels_say_how_many_points_there_are():
    assert read(Pairs(FIRST, SECOND, CONDENSED, labels=NAMES), 2).labels == NAMES
    assert "Wien has none" in refusal(Pairs(FIRST, SECOND, CONDENSED, labels=[*NAMES, "Wien"]))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    "columns",
    [
        lambda i, j, d: {"i": i, "j": j, "distance": d},
        lambda i, j, d: {"Range": d, "j": j, "note": ["x"] * len(d), "i": i},
        lambda i, j, d: {"from": i, "to": j, "metres": d},
        lambda i, j, d: {"from": i, "to": j, "rssi": -d, "D": d},
    ],
)
def test_an_edge_table_is_read_whatever_its_columns_are_called(frame, columns):
    names = np.array(NAMES)
    assert_read(frame(columns(FIRST, SECOND, CONDENSED)))
    assert_read(frame(columns(names[FIRST], names[SECOND], CONDENSED)), labels=NAMES)
    assert_read(frame(columns(FIRST + 7, SECOND + 7, CONDENSED)), labels=("7", "8", "9", "10", "11", "12"))


def test_an_edge_table_may_be_as_high_as_it_is_wide():
    table = pd.DataFrame({"i": ["a", "b", "a"], "j": ["b", "c", "c"], "distance": [3.0, 4.0, 5.0]})
    assert read(table, 1).labels == ("a", "b", "c")


def test_of_two_columns_of_distances_the_first_counts():
    table = pd.DataFrame(np.column_stack([FIRST, SECOND, CONDENSED, CONDENSED + 1]), columns=list("ijdD"))
    assert_read(table)


def test_the_weights_of_an_edge_table_are_its_column():
    weights = np.arange(1.0, FIRST.size + 1)
    pairs = Pairs.from_frame(pd.DataFrame({"i": FIRST, "j": SECOND, "weight": weights, "length": CONDENSED}))
    np.testing.assert_array_equal(pairs.weights, weights)
    np.testing.assert_array_equal(dense(read(pairs, 2))[1], squareform(weights))


# Missing


@pytest.mark.parametrize(
    "given",
    [
        both_ways(0, 1, NAN),
        both_ways(0, 1, NAN).astype(object).tolist(),
        [[None if k + m == 1 else D[k, m] for m in range(N)] for k in range(N)],
        squareform(both_ways(0, 1, NAN), checks=False),
        np.ma.masked_array(D, both_ways(0, 1, 99.0) == 99),
        np.ma.masked_array(D.astype(object), both_ways(0, 1, 99.0) == 99),
        pd.DataFrame(both_ways(0, 1, NAN)).astype("Float64"),
        pd.DataFrame(D).astype("Float64").mask(both_ways(0, 1, 99.0) == 99),
        pd.DataFrame(D).astype(object).mask(both_ways(0, 1, 99.0) == 99, None),
        pl.DataFrame(both_ways(0, 1, NAN)).fill_nan(None),
        Pairs(FIRST[1:], SECOND[1:], CONDENSED[1:]),
        Pairs(FIRST, SECOND, [NAN, *CONDENSED[1:]]),
        Pairs(FIRST, SECOND, [None, *CONDENSED[1:]]),
        Pairs(FIRST, SECOND, CONDENSED, weights=[0.0, *[1.0] * (FIRST.size - 1)]),
    ],
    ids=range(14),
)
def test_missing_is_nan_none_masked_or_not_there(given):
    assert_read(given, both_ways(0, 1, NAN))


def test_a_weight_of_zero_is_a_missing_distance():
    weights = np.ones(FIRST.size)
    weights[0] = 0.0
    sparse = sp.csr_array(D)
    stored = sp.csr_array((squareform(weights)[sparse.nonzero()], sparse.indices, sparse.indptr))
    for form, same_form in [(D, squareform(weights)), (CONDENSED, weights), (sparse, stored)]:
        assert_read(form, both_ways(0, 1, NAN), weights=same_form)


def test_a_nan_diagonal_is_as_good_as_zeros():
    table = D.copy()
    np.fill_diagonal(table, NAN)
    assert_read(table)


# Two directions


@pytest.mark.parametrize("n", [N, 1500])  # one tile and several
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_slight_differences_are_averaged_with_one_warning(n, dtype, order):
    points = np.random.default_rng(0).uniform(0, 1e6, (n, 2))
    table = squareform(pdist(points)).round().astype(dtype, order=order)
    table[n - 1, 2] += 100
    with pytest.warns(AsymmetryWarning) as caught:
        checked = read(table, 2)
    assert len(caught) == 1
    words = str(caught[0].message)
    assert words.startswith("the two directions of some pairs differ, by up to ")
    assert words.endswith(" of the largest distance: their mean is used")
    assert checked.measured.two_sided
    for i, j in [(n - 1, 2), (2, n - 1)]:
        assert checked.measured.rows(i, i + 1).values[j] == table[2, n - 1] + 50
    assert faults(table, 2) == []


def test_slight_differences_of_listed_pairs_are_averaged_too():
    for form in (
        Pairs([*FIRST, 1], [*SECOND, 0], [*CONDENSED, CONDENSED[0] + 0.002]),
        sp.csr_array(changed((1, 0, CONDENSED[0] + 0.002))),
    ):
        with pytest.warns(AsymmetryWarning, match="by up to 0.0002 of the largest"):
            values, _ = dense(read(form, 2))
        np.testing.assert_allclose(values, both_ways(0, 1, CONDENSED[0] + 0.001), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_differences_of_some_roundings_are_none(dtype):
    table = D.astype(dtype)
    table[0, 1] = np.nextafter(table[0, 1], dtype(9))
    assert not read(table, 2).measured.two_sided


@pytest.mark.parametrize("n", [N, 1500])
def test_a_pair_measured_in_one_direction_is_measured(n):
    full = squareform(pdist(np.random.default_rng(0).random((n, 2))))
    for table in (np.where(np.tri(n, k=-1), NAN, full), np.where(np.tri(n, k=-1), full, NAN)):
        checked = read(table, 2)
        assert checked.n_measured == n * (n - 1) // 2
        np.testing.assert_array_equal(dense(checked)[0], full)


def test_weights_may_be_given_in_the_direction_that_was_measured():
    upper = np.where(np.tri(N, k=-1), NAN, D)
    weights = np.where(np.tri(N, k=-1), NAN, 1 + D)
    values, seen = dense(read(upper, 2, weights=weights))
    np.testing.assert_array_equal(values, D)
    np.testing.assert_array_equal(seen, 1 + D - np.eye(N))


def test_pairs_listed_more_than_once_and_alike_are_one():
    twice = Pairs([*FIRST, *SECOND, 0], [*SECOND, *FIRST, 1], [*CONDENSED, *CONDENSED, CONDENSED[0]])
    assert_read(twice)


# Weights


@pytest.mark.parametrize("form", ["square", "condensed", "sparse", "pairs"])
def test_weights_of_one_are_no_weights(form):
    given, weights = {
        "square": (both_ways(0, 1, NAN), np.where(np.isnan(both_ways(0, 1, NAN)), NAN, 1 - np.eye(N))),
        "condensed": (CONDENSED, np.ones(FIRST.size, int)),
        "sparse": (sp.csr_array(D), sp.csr_array((D > 0).astype(float))),
        "pairs": (Pairs(FIRST, SECOND, CONDENSED, np.ones(FIRST.size)), None),
    }[form]
    assert read(given, 2, weights=weights).measured.weights is None


@pytest.mark.parametrize("form", ["square", "labelled", "frame", "condensed", "sparse", "pairs"])
def test_weights_are_read_in_the_form_of_the_distances(form):
    w = np.arange(1.0, FIRST.size + 1)
    W = squareform(w)
    given, weights = {
        "square": (D, W.astype(int)),
        "labelled": (Labelled(D, NAMES), Labelled(W, NAMES)),
        "frame": (pd.DataFrame(D, NAMES, NAMES), pd.DataFrame(W, NAMES, NAMES)),
        "condensed": (CONDENSED, w),
        "sparse": (
            sp.csr_array(D),
            sp.coo_array((w.tolist() * 2, ([*SECOND, *FIRST], [*FIRST, *SECOND])), (N, N)),
        ),
        "pairs": (Pairs(FIRST, SECOND, CONDENSED, w), None),
    }[form]
    values, seen = dense(read(given, 2, weights=weights))
    np.testing.assert_array_equal(values, D)
    np.testing.assert_array_equal(seen, W)


def test_what_has_no_weight_may_be_anything():
    weights = np.where(both_ways(0, 1, NAN) >= 0, 1.0, 0.0)
    assert_read(changed((0, 1, -9.0), (1, 0, math.inf)), both_ways(0, 1, NAN), weights=weights)


# Units


@given(st.floats(-299.0, 299.0), st.booleans())
def test_a_power_of_two_brings_the_largest_distance_between_one_and_two(exponent, squared):
    values = CONDENSED / CONDENSED.max() * 10.0**exponent
    checked = read(values, 2, squared=squared)
    unit = math.sqrt(checked.measured.unit) if squared else checked.measured.unit
    largest = math.sqrt(checked.largest) if squared else checked.largest
    assert 1 <= largest * unit < 2
    assert math.frexp(unit)[0] == 0.5


@pytest.mark.parametrize(
    ("largest", "unit"), [(1.0, 1.0), (2.0, 0.5), (np.nextafter(2, 0), 1.0), (0.75, 2.0)]
)
def test_the_unit_of_distances(largest, unit):
    assert read([largest] * 3, 1).measured.unit == unit


@pytest.mark.parametrize(
    ("largest", "unit"), [(1.0, 1.0), (2.0, 1.0), (4.0, 0.25), (np.nextafter(4, 0), 1.0), (0.5, 4.0)]
)
def test_the_unit_of_squared_distances(largest, unit):
    checked = read([largest] * 3, 1, squared=True)
    assert checked.measured.unit == unit
    assert checked.measured.squared


# Cost


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_square_is_read_in_place_and_never_copied(order, dtype):
    n = 2000
    table = squareform(pdist(np.random.default_rng(0).random((n, 2)))).astype(dtype, order=order)
    before = table.copy()
    read(table, 2)  # whatever is allocated once
    tracemalloc.start()
    try:
        checked = read(table, 2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.shares_memory(checked.measured.values, table)
    assert checked.measured.values.flags.c_contiguous
    assert checked.measured.own_pairs.sum() == n  # what MeasuredSquare calls in place
    assert peak < 0.06 * table.nbytes
    np.testing.assert_array_equal(table, before)


def test_a_memmap_is_never_loaded_whole(tmp_path, monkeypatch):
    shapes = []
    survey = layouts.surveyed
    monkeypatch.setattr(
        layouts, "surveyed", lambda a, b, **how: (shapes.append(a.shape), survey(a, b, **how))[1]
    )
    n = 3000
    table = squareform(pdist(np.random.default_rng(0).random((n, 2))))
    np.save(tmp_path / "d.npy", table)
    on_disk = np.load(tmp_path / "d.npy", mmap_mode="r")
    read(D, 2)  # whatever is allocated once
    tracemalloc.start()
    try:
        checked = read(on_disk, 2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert checked.measured.values is on_disk
    assert checked.largest == table.max()
    assert peak < 0.6 * table.nbytes
    assert np.max(shapes) == layouts.TILE < n  # a strip of rows would turn every page over many times


def test_the_rows_of_a_memmap_in_fortran_order_are_its_columns(tmp_path):
    np.save(tmp_path / "d.npy", np.asfortranarray(D))
    measured = assert_read(np.load(tmp_path / "d.npy", mmap_mode="r"))
    assert isinstance(measured.values, np.memmap)
    assert measured.values.flags.c_contiguous


def test_what_is_passed_is_never_written_to():
    weights, square, pairs = np.ones((N, N)), D.copy(), Pairs(FIRST.copy(), SECOND.copy(), CONDENSED.copy())
    sparse = sp.csr_array(D)
    stored = sparse.data, sparse.indices, pairs.i, pairs.j, pairs.distances
    before = copy.deepcopy(stored)
    read(square, 2, weights=weights)
    read(pairs, 2)
    read(sparse, 2)
    for seen, expected in zip((square, weights, *stored), (D, np.ones((N, N)), *before), strict=True):
        np.testing.assert_array_equal(seen, expected)


# Refusals


NOTHING = "Write nan where nothing was measured."
NUMBERS = "Write numbers, and nan where nothing was measured."
FORMS = "must be a square array, a condensed vector, a sparse matrix, a data frame or rm.Pairs"
ENDS = "The first two columns are the ends; call the column of distances 'distance'."
DECIDE = "Decide which is right, or average them."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (D[:, :4], "must be square, or condensed as by scipy's pdist: got shape (6, 4)."),
        (np.zeros((2, 2, 2)), "must be square, or condensed as by scipy's pdist: got shape (2, 2, 2)."),
        (
            CONDENSED[:12],
            "must hold one number for every pair to be condensed: got 12, between 10 for 5 points and 15 for 6 points.",
        ),
        ([], "must not be empty: got shape (0,)."),
        (np.zeros((0, 0)), "must not be empty: got shape (0, 0)."),
        (Pairs([], [], []), "must not be empty: got no pairs."),
        ("distances.csv", f"{FORMS}: got str."),
        (None, f"{FORMS}: got NoneType."),
        (iter([1.0]), f"{FORMS}: got list_iterator."),
        (pl.DataFrame(D).lazy(), f"{FORMS}: got LazyFrame."),
        ([[0, 1], [1]], f"{FORMS}: its rows differ in length."),
        (sp.csr_array(D[:4]), "must be square: got shape (4, 6)."),
        (sp.coo_array((10**10, 10**10)), "must be between at most 1000000000 points: got 10000000000."),
        (
            sp.dia_array(D),
            "must be a sparse matrix of single entries: got dia, in which a stored zero may be padding. Turn it into csr or coo.",
        ),
        (
            pd.DataFrame(D[:, :4]),
            f"must be square, or an edge table: got 6 rows and 4 columns. {ENDS}",
        ),
    ],
)
def test_a_shape_that_cannot_be_distances_is_refused(given, sentence):
    assert refusal(given) == f"distances {sentence}"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (D > 5, "got bool."),
        (D + 1j, "got complex128."),
        (D.astype("M8[s]"), "got datetime64[s]."),
        (sp.csr_array(D > 5), "got bool."),
        (np.ma.masked_array(D > 5), "got bool."),
        (D.round(1).astype(str), f"D[0, 0] = '0.0', and 35 more. {NUMBERS}"),
        ([[0, 1], ["far", 0]], f"D[1, 0] = 'far'. {NUMBERS}"),
        ([[0, 1j], [1, 0]], f"D[0, 1] = 1j. {NUMBERS}"),
        ([[0, True], [None, 0]], f"D[0, 1] = True. {NUMBERS}"),
        ([1.0, 2.0, "x"], f"entry 2 = 'x'. {NUMBERS}"),
        (pd.DataFrame(D, NAMES, NAMES).astype(object).mask(D > 11, "far"), f"D[0, 5] = 'far' (Rome - Kyiv), and 1 more. {NUMBERS}"),
        (Pairs([0, 1], [1, 2], ["x", 1]), f"entry 0 = 'x'. {NUMBERS}"),
    ],
)  # fmt: skip
def test_what_is_no_real_number_is_refused(given, found):
    assert refusal(given) == f"distances must be real numbers: {found}"


def test_an_integer_beyond_all_floats_is_refused():
    sentence = f"distances must be finite: an integer beyond 1e308. {NUMBERS}"
    assert refusal([[0, 10**400], [10**400, 0]]) == sentence


def test_decimals_and_fractions_are_numbers():
    checked = read([Decimal(3), Fraction(9, 2), 5], 1)
    np.testing.assert_array_equal(dense(checked)[0], squareform([3, 4.5, 5]))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (both_ways(2, 5, -0.5), f"must not be negative: D[2, 5] = -0.5, and 1 more. {NOTHING}"),
        (changed((5, 2, -0.5), (2, 5, NAN)), f"must not be negative: D[5, 2] = -0.5. {NOTHING}"),
        (Labelled(both_ways(2, 5, -2), NAMES), f"must not be negative: D[2, 5] = -2.0 (Bern - Kyiv), and 1 more. {NOTHING}"),
        (both_ways(2, 5, -math.inf), f"must not be negative: D[2, 5] = -inf, and 1 more. {NOTHING}"),
        (changed((2, 5, -math.inf), (5, 2, -math.inf), (0, 1, NAN)), f"must not be negative: D[2, 5] = -inf, and 1 more. {NOTHING}"),
        (changed((2, 5, -math.inf)), f"must not be negative: D[2, 5] = -inf. {NOTHING}"),
        (sp.csr_array(changed((2, 5, -math.inf))), f"must not be negative: D[2, 5] = -inf. {NOTHING}"),
        (both_ways(2, 5, math.inf), f"must be finite: D[2, 5] = inf, and 1 more. {NOTHING}"),
        (np.where(D > 9, math.inf, D), f"must be finite: D[0, 4] = inf, and 5 more. {NOTHING}"),
        (np.float32(-1.1) * D.astype(np.float32), f"must not be negative: D[0, 1] = -4.4, and 29 more. {NOTHING}"),
        (np.where(FIRST == 3, -1.5, CONDENSED), f"must not be negative: entry 12 = -1.5 (points 3 and 4), and 1 more. {NOTHING}"),
        (np.where(FIRST == 4, math.inf, CONDENSED), f"must be finite: entry 14 = inf (points 4 and 5). {NOTHING}"),
        (Labelled(np.where(FIRST == 4, -1.5, CONDENSED), NAMES), f"must not be negative: entry 14 = -1.5 (Graz - Kyiv). {NOTHING}"),
        (Pairs(SECOND, FIRST, np.where(FIRST == 3, -1.5, CONDENSED)), f"must not be negative: pair 12 = -1.5 (points 4 and 3), and 1 more. {NOTHING}"),
        (Pairs(FIRST, SECOND, np.where(FIRST == 3, math.inf, CONDENSED), labels=NAMES), f"must be finite: pair 12 = inf (Bonn - Graz), and 1 more. {NOTHING}"),
        (Pairs([*FIRST, 1], [*SECOND, 0], [math.inf, *CONDENSED[1:], math.inf]), f"must be finite: pair 0 = inf (points 0 and 1), and 1 more. {NOTHING}"),
        (sp.csr_array(both_ways(2, 5, -0.5)), f"must not be negative: D[2, 5] = -0.5, and 1 more. {NOTHING}"),
        (D.astype(np.longdouble) * np.longdouble("1e310"), f"must be finite: D[0, 1] = 4e+310, and 29 more. {NOTHING}"),
        (changed((3, 3, 0.5)), "must be 0 from a point to itself: D[3, 3] = 0.5. Similarities have to be turned into distances."),
        (Labelled(1 + D, NAMES), "must be 0 from a point to itself: D[0, 0] = 1.0 (Rome), and 5 more. Similarities have to be turned into distances."),
        (sp.csr_array(changed((3, 3, 0.5))), "must be 0 from a point to itself: D[3, 3] = 0.5. Leave such entries out."),
        (Pairs([*FIRST, 1], [*SECOND, 1], [*CONDENSED, 2.0]), "must be 0 from a point to itself: pair 15 = 2.0 (points 1 and 1). Leave such entries out."),
    ],
)  # fmt: skip
def test_an_entry_that_is_no_distance_is_refused_with_its_place(given, sentence):
    assert refusal(given) == f"distances {sentence}"


AVERAGE = "Decide which is right, or average: (D + D.T) / 2."
FILLED = "the diagonal are 0, as if only one triangle were filled. Add the transpose."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (changed((2, 5, 9.5)), f"must be symmetric: D[2, 5] = 9.5 but D[5, 2] = 8.0. {AVERAGE}"),
        (np.asfortranarray(changed((5, 2, 9.5))), f"must be symmetric: D[2, 5] = 8.0 but D[5, 2] = 9.5. {AVERAGE}"),
        (Labelled(changed((2, 5, 9.5), (0, 1, 5.0)), NAMES), f"must be symmetric: D[2, 5] = 9.5 but D[5, 2] = 8.0 (Bern - Kyiv), and 1 more. {AVERAGE}"),
        (np.triu(D), f"must be symmetric: all entries below {FILLED}"),
        (np.tril(D), f"must be symmetric: all entries above {FILLED}"),
        (np.tril(D).T, f"must be symmetric: all entries below {FILLED}"),
        (sp.csr_array(changed((2, 5, 9.5))), f"must be symmetric: D[2, 5] = 9.5 and D[5, 2] = 8.0. {DECIDE}"),
        (Pairs([*FIRST, 1], [*SECOND, 0], [*CONDENSED, 5.0]), f"must be symmetric: pair 0 = 4.0 (points 0 and 1) and pair 15 = 5.0 (points 1 and 0). {DECIDE}"),
        (Pairs([*FIRST, 0], [*SECOND, 1], [*CONDENSED, 5.0]), f"must not list a pair with two values: pair 0 = 4.0 (points 0 and 1) and pair 15 = 5.0 (points 0 and 1). {DECIDE}"),
        (Pairs([*FIRST, 0], [*SECOND, 1], [*CONDENSED, 4.0001], labels=NAMES), f"must not list a pair with two values: pair 0 = 4.0 (Rome - Oslo) and pair 15 = 4.0001 (Rome - Oslo). {DECIDE}"),
    ],
)  # fmt: skip
def test_two_values_for_a_pair_are_refused_with_both(given, sentence):
    assert refusal(given) == f"distances {sentence}"


def test_the_worst_of_many_tiles_is_found():
    table = np.ones((2100, 2100)) - np.eye(2100)
    for i, j, value in [(2090, 3, 1.5), (1500, 1400, 1.75), (0, 1, 1.25)]:
        table[i, j] = value
    sentence = "distances must be symmetric: D[1400, 1500] = 1.0 but D[1500, 1400] = 1.75, and 2 more. "
    assert refusal(table) == sentence + AVERAGE


def test_places_are_right_beyond_the_first_block():
    table = np.ones((1500, 1500)) - np.eye(1500)
    table[1400, 3] = table[3, 1450] = table[1450, 1400] = -1
    sentence = "distances must not be negative: D[3, 1450] = -1.0, and 2 more. "
    assert str(faults(table, 2)[0]) == sentence + NOTHING
    table[3, 1450] = 1
    sentence = "distances must not be negative: D[1400, 3] = -1.0, and 1 more. "
    assert str(faults(table, 2)[0]) == sentence + NOTHING


def test_a_point_and_itself_are_no_pair_among_bad_ones():
    table = changed((0, 0, -1.0), (2, 5, -0.5), (5, 2, -0.5))
    sentence = f"distances must not be negative: D[2, 5] = -0.5, and 1 more. {NOTHING}"
    for form in (table, sp.csr_array(table)):
        assert str(faults(form, 2)[0]) == sentence


ITSELF = "Give every point a name of its own."
COUNT = "They count the points from 0."


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (Labelled(D, NAMES[1:]), "labels must be as many as the points: got 5 for 6 points."),
        (Labelled(D, ("a", "b", "a", "c", "b", "a")), f"labels must not repeat: points 0 and 2 are both 'a', and 2 more. {ITSELF}"),
        (pd.DataFrame(D, NAMES, NAMES[::-1]), "labels must be the same for rows and columns: row 0 is 'Rome', column 0 is 'Kyiv'. They are the same in another order: sort the rows or the columns."),
        (pd.DataFrame(D, NAMES, ("Roma", *NAMES[1:])), "labels must be the same for rows and columns: row 0 is 'Rome', column 0 is 'Roma'."),
        (pl.DataFrame({"": NAMES, **dict(zip(NAMES[::-1], D, strict=True))}), "labels must be the same for rows and columns: row 0 is 'Rome', column 0 is 'Kyiv'. They are the same in another order: sort the rows or the columns."),
        (Pairs(FIRST - 1, SECOND, CONDENSED), f"positions must not be negative: pair 0 is -1 - 1, and 4 more. {COUNT}"),
        (Pairs(FIRST, SECOND, CONDENSED, labels=NAMES[:5]), f"positions must be less than 5, the number of labels: pair 4 is 0 - 5, and 4 more. {COUNT}"),
        (Pairs(FIRST * 10**12, SECOND * 10**12, CONDENSED), "positions must count the points from 0 without gaps: the largest position is 5000000000000, with 15 pairs. If these numbers are names, pass them as words."),
        (Pairs(["x", "a", "y"], ["a", "b", "b"], [1, 2, 3], labels="ab"), "labels must hold the names of all ends: 'x' is not among them, and 1 more."),
        (Pairs(["a", "b"], ["b", None], [1, 2]), "pairs must have two ends each: an end of pair 1 is None."),
        (Pairs([0.0, NAN], [1.0, 2.0], [1, 2]), "ends of pairs must be whole numbers or names: got nan at pair 1."),
        (Pairs(FIRST + 0.5, SECOND, CONDENSED), "ends of pairs must be whole numbers or names: got 0.5 at pair 0."),
        (Pairs(FIRST > 2, SECOND > 2, CONDENSED), "ends of pairs must be whole numbers or names: got False at pair 0."),
        (Pairs(FIRST, SECOND[1:], CONDENSED), "pairs must have two ends and one distance each: got shapes (15,), (14,), (15,)."),
        (Pairs(FIRST, SECOND, CONDENSED, CONDENSED[1:]), "pairs must have two ends and one distance each: got shapes (15,), (15,), (15,), (14,)."),
        (pd.DataFrame({"a": [0, 1], "b": [1, 2], "weight": [1.0, 2.0]}), f"the data frame must say which column holds the distances: a, b, weight. {ENDS}"),
    ],
)  # fmt: skip
def test_labels_and_positions_that_do_not_fit_are_refused(given, sentence):
    assert refusal(given) == sentence


def test_two_names_that_are_written_alike_are_refused():
    given = Pairs(np.array(["1", 1, 2, 3], object), [2, 2, 3, 4], [1.0, 1.0, 1.0, 1.0])
    assert refusal(given, 1) == f"labels must not repeat: points 0 and 2 are both '1'. {ITSELF}"


COUNTS = "Write 0 where a distance is not to count."


@pytest.mark.parametrize(
    ("given", "weights", "sentence"),
    [
        (D, -D, f"must not be negative: W[0, 1] = -4.0, and 29 more. {COUNTS}"),
        (D, both_ways(2, 5, math.inf), f"must be finite: W[2, 5] = inf, and 1 more. {COUNTS}"),
        (D, both_ways(2, 5, NAN), f"must not be nan where distances are not: D[2, 5] = 8.0, and 1 more. {COUNTS}"),
        (D, changed((2, 5, 9.5)), "must be symmetric: W[2, 5] = 9.5 but W[5, 2] = 8.0. Decide which is right, or average: (W + W.T) / 2."),
        (D, 1 + changed((2, 5, 8.001)), "must be symmetric: W[2, 5] = 9.001 but W[5, 2] = 9.0. Decide which is right, or average: (W + W.T) / 2."),
        (D, CONDENSED, "must have the form of the distances: got a condensed vector for 6 points, not a square array for 6 points."),
        (D, D[:5, :5], "must have the form of the distances: got a square array for 5 points, not a square array for 6 points."),
        (D, D > 1, "must be real numbers: got bool."),
        (Labelled(D, NAMES), Labelled(D, NAMES[::-1]), "must have the labels of the distances: got others, or another order."),
        (CONDENSED, -CONDENSED, f"must not be negative: entry 0 = -4.0 (points 0 and 1), and 14 more. {COUNTS}"),
        (CONDENSED, np.where(FIRST == 4, NAN, 1.0), f"must not be nan where distances are not: entry 14 = 5.0 (points 4 and 5). {COUNTS}"),
        (sp.csr_array(D), sp.csr_array(np.triu(D)), "must be stored where the distances are: the patterns differ."),
        (sp.csr_array(D), sp.csr_array(-D), f"must not be negative: W[0, 1] = -4.0, and 29 more. {COUNTS}"),
        (Pairs(FIRST, SECOND, CONDENSED), CONDENSED, "must come with the pairs: the distances are a list of pairs. Pass them as the weights of rm.Pairs."),
        (Pairs(FIRST, SECOND, CONDENSED, -CONDENSED), None, f"must not be negative: pair 0 = -4.0 (points 0 and 1), and 14 more. {COUNTS}"),
        (Pairs(FIRST, SECOND, CONDENSED, np.where(FIRST == 4, NAN, 1.0)), None, f"must not be nan where distances are not: pair 14 = 5.0 (points 4 and 5). {COUNTS}"),
        (Pairs([*FIRST, 1], [*SECOND, 0], [*CONDENSED, 4.0], [*[1.0] * 15, 1.0005]), None, f"must be symmetric: pair 0 = 1.0 (points 0 and 1) and pair 15 = 1.0005 (points 1 and 0). {DECIDE}"),
        (Pairs([*FIRST, 0], [*SECOND, 1], [*CONDENSED, 4.0], [*[1.0] * 15, 2.0]), None, f"must not list a pair with two values: pair 0 = 1.0 (points 0 and 1) and pair 15 = 2.0 (points 0 and 1). {DECIDE}"),
    ],
)  # fmt: skip
def test_weights_that_are_none_are_refused(given, weights, sentence):
    assert refusal(given, weights=weights) == f"weights {sentence}"


@pytest.mark.parametrize(
    ("given", "n_components", "sentence"),
    [
        (D, 2.0, "n_components must be a whole number: got 2.0."),
        (D, "auto", "n_components must be a whole number: got 'auto'."),
        (D, True, "n_components must be a whole number: got True."),
        (D, 0, "n_components must be at least 1: got 0."),
        (D, 6, "n_components must be less than the number of points: got 6 for 6 points."),
        (D, 5, "distances must be between at least n_components + 2 = 7 points: got 6 points."),
        (D[:3, :3], 2, "distances must be between at least n_components + 2 = 4 points: got 3 points."),
        ([3.0], 1, "distances must be between at least n_components + 2 = 3 points: got 2 points."),
        ([[0.0]], 2, "distances must be between at least n_components + 2 = 4 points: got 1 point."),
        (sp.csr_array((0, 0)), 2, "distances must be between at least n_components + 2 = 4 points: got 0 points."),
    ],
)  # fmt: skip
def test_too_few_points_for_the_dimension_are_refused(given, n_components, sentence):
    assert refusal(given, n_components) == sentence


def test_just_enough_points_are_read():
    assert read(D, np.int32(4)).n_measured == 15


def cut(*groups):
    """Return distances of 1 within groups of points and nan between them."""
    group = np.repeat(range(len(groups)), groups)
    return np.where(group[:, None] == group, 1.0, NAN) - np.eye(len(group))


GROUPS = "Measure distances between the groups, or fit each by itself."
ALONE = "Measure one, or leave the point out."
EIGHT = ", ".join(f"point {k}" for k in range(8))


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (np.full((5, 5), NAN), "distances must be measured: no pair was."),
        (np.zeros((5, 5)), "distances must not all be 0: all points would coincide."),
        (cut(1, 5), f"every point must have a measured distance: point 0 has none. {ALONE}"),
        (cut(5, 1, 1, 1), f"every point must have a measured distance: point 5 has none, and 2 more. {ALONE}"),
        (cut(2, 5, 3), f"measured distances must link all points: there are 3 groups, of 5, 3, 2 points; outside the largest are point 0, point 1, point 7, point 8, point 9. {GROUPS}"),
        (cut(20, 21), f"measured distances must link all points: there are 2 groups, of 21, 20 points; outside the largest are {EIGHT} and 12 more. {GROUPS}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["square", "condensed", "pairs", "one direction", "weights"])
def test_distances_that_do_not_hold_together_are_refused(table, sentence, form):
    n, options = len(table), {}
    i, j = np.triu_indices(n, 1)
    given = {
        "square": table,
        "condensed": table[i, j],
        "pairs": Pairs(i, j, table[i, j]),
        "one direction": np.where(np.tri(n, k=-1), NAN, table),
        "weights": np.nan_to_num(table, nan=5.0),
    }[form]
    if form == "weights":
        np.fill_diagonal(given, 0.0)
        options["weights"] = np.where(np.isnan(table), 0.0, 2.0)
        sentence = sentence.replace("no pair was", "no pair was, or none has a weight above 0")
    assert refusal(given, 1, **options) == sentence


@pytest.mark.parametrize("factor", [1e-310, 1e307])
def test_distances_too_small_or_too_large_to_reckon_with_are_refused(factor):
    sentence = f"distances must have a largest value between 1e-300 and 1e+300: got {D.max() * factor}. "
    assert refusal(D * factor) == sentence + "Pass them in another unit."


def test_all_faults_are_told_in_order():
    table = changed((2, 5, -4.0), (0, 1, math.inf), (3, 3, 1.0))
    seen = [f"{fault.name} {fault.rule}" for fault in faults(Labelled(table, "abcdea"), 0)]
    assert seen == [
        "n_components must be at least 1",
        "labels must not repeat",
        "distances must not be negative",
        "distances must be finite",
        "distances must be 0 from a point to itself",
    ]
    assert [fault.name for fault in faults("x", 0)] == ["n_components", "distances"]


# Squared distances


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("n", [9, 60, 400])
@pytest.mark.parametrize("form", ["square", "pairs", "a few missing"])
def test_squared_distances_are_recognised(r, n, form):
    values = pdist(np.random.default_rng(n).normal(size=(n, r))) ** 2
    if form == "a few missing":
        values[3 :: 5 * n] = NAN
    given = Pairs(*np.triu_indices(n, 1), values) if form == "pairs" else squareform(values)
    sentence = refusal(given, r)
    assert sentence.startswith(
        f"distances must not be squared: taken as squares they fit {r} dimensions to 100.0%"
    )
    assert sentence.endswith("%. Pass squared=True.")
    assert read(given, r, squared=True).measured.squared


def test_squares_of_any_size_are_recognised():
    values = pdist(np.random.default_rng(0).normal(size=(60, 2))) ** 2 * 1e250
    assert "must not be squared" in refusal(values)


def test_what_fits_as_squares_and_as_distances_is_taken_as_distances():
    corners = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]], 4, axis=0)
    assert faults(pdist(corners).round(12), 2) == []


def test_five_points_in_a_plane_are_too_few_to_call_them_squares():
    assert faults(pdist(POINTS[:5]) ** 2, 2) == []


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(5, 60), st.sampled_from([0.0, 0.1, 0.4]))
def test_genuine_distances_are_never_taken_for_squares(seed, r, n, share):
    rng = np.random.default_rng(seed)
    values = pdist(rng.normal(size=(n, r)) * 10.0 ** rng.uniform(-1, 1, (n, 1)))
    wrong = rng.random(values.size) < share
    values[wrong] *= rng.uniform(0, 5, wrong.sum())
    assert faults(values, r) == [] or n < r + 2


def test_nothing_is_said_of_ordinary_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(D.astype(np.float32), 2)
        read(D.round().astype(np.uint8), 2)
