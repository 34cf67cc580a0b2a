"""Files: what each form is read as, what is refused in which words, and writing all or nothing."""

from __future__ import annotations

import math
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from robustmds.errors import InputError
from robustmds.files import read_distances, read_points, require_writable, write_rows, write_whole
from robustmds.inputs import Labelled, Pairs

TABLE = [[0.0, 3.0, 4.5], [3.0, 0.0, 5.0], [4.5, 5.0, 0.0]]
NAN = math.nan


@pytest.fixture
def read(tmp_path):
    """Write a text, or bytes, into a file and read its distances."""

    def write_and_read(content, name="distances.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_distances(path)

    return write_and_read


@pytest.fixture
def sentence(read, tmp_path):
    """Return the sentence with which a text, or bytes, is refused, after the folder's name."""

    def refused(content, name="distances.csv"):
        with pytest.raises(InputError) as caught:
            read(content, name)
        return str(caught.value).removeprefix(f"{tmp_path}/")

    return refused


def assert_plain(seen, expected):
    assert isinstance(seen, np.ndarray)
    np.testing.assert_array_equal(seen, expected)
    assert seen.shape == np.shape(expected)


def assert_labelled(seen, expected, labels):
    assert isinstance(seen, Labelled)
    assert_plain(seen.distances, expected)
    assert tuple(seen.labels) == labels


def assert_pairs(seen, expected, labels, weights=None):
    """Compare with rows of i, j and distance."""
    assert isinstance(seen, Pairs)
    np.testing.assert_array_equal(np.column_stack([seen.i, seen.j, seen.distances]), expected)
    assert np.asarray(seen.i).dtype.kind == np.asarray(seen.j).dtype.kind == "i"
    assert tuple(seen.labels) == labels
    assert (seen.weights is None) == (weights is None)
    if weights is not None:
        np.testing.assert_array_equal(seen.weights, weights)


# Square tables


@pytest.mark.parametrize("mark", [",", ";", "\t", " ", " , ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_square_table_is_read_whatever_separates_its_cells(read, mark, end):
    assert_plain(read("".join(mark.join(map(str, row)) + end for row in TABLE)), TABLE)


def test_the_last_line_needs_no_end(read):
    assert_plain(read("0,3\n3,0"), [[0, 3], [3, 0]])


def test_lines_may_be_indented(read):
    assert_plain(read("  0 3\n 3 0\n"), [[0, 3], [3, 0]])


@pytest.mark.parametrize(
    "text",
    [
        "A,B,C\n0,3,4.5\n3,0,5\n4.5,5,0\n",
        "A,0,3,4.5\nB,3,0,5\nC,4.5,5,0\n",
        ",A,B,C\nA,0,3,4.5\nB,3,0,5\nC,4.5,5,0\n",
        "place,A,B,C\nA,0,3,4.5\nB,3,0,5\nC,4.5,5,0\n",
        "A,B,C\nA,0,3,4.5\nB,3,0,5\nC,4.5,5,0\n",
        "A B C\nA 0 3 4.5\nB 3 0 5\nC 4.5 5 0\n",
        "\tA\tB\tC\nA\t0\t3\t4.5\nB\t3\t0\t5\nC\t4.5\t5\t0\n",
        '"","A","B","C"\n"A","0","3","4.5"\n"B","3","0","5"\n"C","4.5","5","0"\n',
    ],
    ids=["row", "column", "both", "both, named", "no corner", "spaces", "tabs", "all quoted"],
)
def test_labels_stand_in_the_first_row_the_first_column_or_both(read, text):
    assert_labelled(read(text), TABLE, ("A", "B", "C"))


@pytest.mark.parametrize("corner", ["", "id"])
@pytest.mark.parametrize("diagonal", ["0", "0.0"])
def test_whole_numbers_around_a_table_are_labels(read, corner, diagonal):
    text = f"{corner},7,9,11\n7,{diagonal},3,4.5\n9,3,{diagonal},5\n11,4.5,5,{diagonal}\n"
    assert_labelled(read(text), TABLE, ("7", "9", "11"))


@pytest.mark.parametrize(("a", "b"), [("0", "1"), ("1", "2"), ("0.0", "1.0")])
def test_a_count_around_a_table_without_its_diagonal_are_labels(read, a, b):
    assert_labelled(read(f",{a},{b}\n{a},,5\n{b},5,\n"), [[NAN, 5], [5, NAN]], (a, b))


def test_a_table_of_whole_numbers_without_its_diagonal_keeps_its_first_point(read):
    assert_plain(read(",3,4\n3,,5\n4,5,\n"), [[NAN, 3, 4], [3, NAN, 5], [4, 5, NAN]])


def test_labels_may_hold_underscores_between_digits(read):
    assert_labelled(read(",1_1,1_2\n1_1,0,3\n1_2,3,0\n"), [[0, 3], [3, 0]], ("1_1", "1_2"))


def test_some_labels_may_be_numbers_or_marks_for_missing(read):
    rows = [[a, *map(str, row)] for a, row in zip("A7NBC", np.ones((5, 5)), strict=True)]
    text = "\n".join([",A,7,NA,B,C", *(",".join(row) for row in rows)]).replace("\nN,", "\nNA,")
    assert_labelled(read(text), np.ones((5, 5)), ("A", "7", "NA", "B", "C"))


def test_quoted_labels_may_hold_the_delimiter(read):
    assert_labelled(read('"Rome, Italy",B\n0,3\n3,0\n'), [[0, 3], [3, 0]], ("Rome, Italy", "B"))
    assert_labelled(read('"New York" B\n0 3\n3 0\n'), [[0, 3], [3, 0]], ("New York", "B"))


def test_a_table_longer_than_its_first_look_is_read_whole(read):
    rng = np.random.default_rng(0)
    table = rng.uniform(1, 2, (30, 30))
    labels = tuple(f"p{k}" for k in range(30))
    rows = [",".join([label, *map(str, row)]) for label, row in zip(labels, table.tolist(), strict=True)]
    assert_labelled(read("\n".join([",".join(["", *labels]), *rows])), table, labels)


def test_a_long_table_of_whole_numbers_is_no_edge_list(read):
    whole = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    assert_plain(read("".join(",".join(map(str, row)) + "\n" for row in whole)), whole)


# Numbers and marks


@pytest.mark.parametrize(
    "mark", ["", "NA", "n/a", "N/A", "nan", "NaN", "NULL", "null", "None", "-", ".", "?", " ", '""']
)
def test_a_missing_mark_is_nan(read, mark):
    text = f"0,{mark},4.5\n{mark},0,5\n4.5,5,0\n"
    assert_plain(read(text), [[0, NAN, 4.5], [NAN, 0, 5], [4.5, 5, 0]])


def test_a_row_of_tabs_is_a_row_of_missing_distances(read):
    assert_plain(read("\t\t\n\t\t\n\t\t\n"), np.full((3, 3), NAN))


@pytest.mark.parametrize("mark", [";", "\t", " ; "])
def test_decimal_commas_are_read_where_the_delimiter_is_another_mark(read, mark):
    text = ";A;B\nA;0;1,5\nB;1,5e0;0\n".replace(";", mark)
    assert_labelled(read(text), [[0, 1.5], [1.5, 0]], ("A", "B"))


def test_quoted_decimal_commas_are_read(read):
    assert_plain(read('"0";"1,5"\n"1,5";"0"\n'), [[0, 1.5], [1.5, 0]])


def test_exponents_signs_and_infinities_are_numbers(read):
    assert_plain(read("0,1e3\n-2.5E-1,inf\n"), [[0, 1000], [-0.25, math.inf]])


def test_comments_and_blank_lines_are_skipped(read):
    assert_plain(read("# metres\n\n0,3\n   \n  # and\n3,0\n#\n"), [[0, 3], [3, 0]])


def test_a_byte_order_mark_is_no_part_of_the_first_cell(read):
    assert_plain(read(b"\xef\xbb\xbf0,3\n3,0\n"), [[0, 3], [3, 0]])
    assert_labelled(read("\ufeffÅ,B\n0,3\n3,0\n"), [[0, 3], [3, 0]], ("Å", "B"))


# Condensed


@pytest.mark.parametrize(
    "text", ["3,4.5,5\n", "3;4,5;5\n", "3 4.5 5", "3\n4.5\n5\n", "distance\n3\n4.5\n5\n"]
)
def test_one_row_or_one_column_is_condensed(read, text):
    assert_plain(read(text), [3, 4.5, 5])


def test_a_condensed_row_of_three_whole_numbers_is_no_pair(read):
    assert_plain(read("1,2,3\n"), [1, 2, 3])


def test_a_condensed_row_may_miss_its_first(read):
    assert_plain(read(",2,3\n"), [NAN, 2, 3])


def test_one_number_is_the_distance_of_two_points(read):
    assert_plain(read("5\n"), [5])


# Edge lists


@pytest.mark.parametrize(
    "text",
    [
        "i,j,distance\nB,A,3\nA,C,4.5\n",
        "from;to;range\nB;A;3\nA;C;4,5\n",
        "B A 3\nA C 4.5\n",
        "# B first\nB\tA\t3\nA\tC\t4.5\n",
        "a,b,rssi,Distance\nB,A,-60,3\nA,C,-70,4.5\n",
        "a,b,d,note\nB,A,3,wall\nA,C,4.5,\n",
        "a,b,metres\nB,A,3\nA,C,4.5\n",
    ],
)
def test_an_edge_list_gives_pairs_in_the_order_in_which_points_appear(read, text):
    assert_pairs(read(text), [(0, 1, 3), (1, 2, 4.5)], ("B", "A", "C"))


def test_points_that_are_all_numbers_come_in_their_order(read):
    assert_pairs(read("10,2,3\n2,9,4.5\n"), [(2, 0, 3), (0, 1, 4.5)], ("2", "9", "10"))


def test_points_of_which_some_are_numbers_come_as_they_appear(read):
    assert_pairs(read("10,2,3\n2,x,4.5\n"), [(0, 1, 3), (1, 2, 4.5)], ("10", "2", "x"))


def test_an_edge_list_of_one_pair_of_names_is_read(read):
    assert_pairs(read("A,B,3\n"), [(0, 1, 3)], ("A", "B"))


def test_a_missing_distance_of_a_pair_is_nan(read):
    assert_pairs(read("i,j,d\nA,B,\nA,C,NA\n"), [(0, 1, NAN), (0, 2, NAN)], ("A", "B", "C"))


def test_a_point_may_be_called_like_a_missing_mark(read):
    assert_pairs(read("i,j,d\nNA,DE,3\nNA,FR,4\n"), [(0, 1, 3), (0, 2, 4)], ("NA", "DE", "FR"))


def test_a_pair_may_come_twice(read):
    assert_pairs(read("A,B,3\nB,A,4\n"), [(0, 1, 3), (1, 0, 4)], ("A", "B"))


def test_weights_are_read_where_their_column_is(read):
    text = "i,j,weight,distance\nA,B,2,3\nA,C,,4.5\n"
    assert_pairs(read(text), [(0, 1, 3), (0, 2, 4.5)], ("A", "B", "C"), weights=[2, NAN])
    assert_pairs(read("i,j,km,Weights\nA,B,3,2\n"), [(0, 1, 3)], ("A", "B"), weights=[2])


def test_an_edge_list_longer_than_its_first_look_is_read_whole(read):
    edges = [(i, j, i + j / 2) for j in range(20) for i in range(j)]
    text = "".join(f"{i} {j} {d}\n" for i, j, d in edges)
    assert_pairs(read(text), edges, tuple(map(str, range(20))))


# NumPy


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_an_npy_file_stays_on_disk(tmp_path, dtype):
    np.save(tmp_path / "d.npy", np.array(TABLE, dtype))
    seen = read_distances(tmp_path / "d.npy")
    assert isinstance(seen, np.memmap)
    assert seen.dtype == dtype
    assert not seen.flags.writeable
    np.testing.assert_array_equal(seen, np.array(TABLE, dtype))


def test_a_path_may_be_a_string_and_its_ending_in_capitals(tmp_path):
    with (tmp_path / "d.NPY").open("wb") as file:
        np.save(file, [3.0, 4.5, 5.0])
    assert_plain(read_distances(str(tmp_path / "d.NPY")), [3, 4.5, 5])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_holds_one_array_or_one_named_distances(tmp_path, save):
    save(tmp_path / "one.npz", anything=TABLE)
    assert_plain(read_distances(tmp_path / "one.npz"), TABLE)
    save(tmp_path / "many.npz", distances=TABLE, more=[1, 2])
    assert_plain(read_distances(tmp_path / "many.npz"), TABLE)


@pytest.mark.parametrize("labels", [["A", "B", "C"], [["A"], ["B"], ["C"]], [b"A", b"B", b"C"]])
def test_labels_of_an_archive_are_read(tmp_path, labels):
    np.savez(tmp_path / "d.npz", square=TABLE, labels=labels)
    assert_labelled(read_distances(tmp_path / "d.npz"), TABLE, ("A", "B", "C"))


def test_numbers_may_be_the_labels_of_an_archive(tmp_path):
    np.savez(tmp_path / "d.npz", distances=TABLE, labels=[7, 8, 9])
    assert_labelled(read_distances(tmp_path / "d.npz"), TABLE, ("7", "8", "9"))


def test_an_archive_may_hold_pairs(tmp_path):
    np.savez(tmp_path / "d.npz", i=[0, 1], j=[1, 2], distances=[3, 4.5])
    seen = read_distances(tmp_path / "d.npz")
    assert isinstance(seen, Pairs)
    assert seen.weights is None
    assert seen.labels is None
    np.savez(tmp_path / "d.npz", i=[0, 1], j=[1, 2], distances=[3, 4.5], weights=[1, 2], labels=list("ABC"))
    seen = read_distances(tmp_path / "d.npz")
    assert_pairs(seen, [(0, 1, 3), (1, 2, 4.5)], ("A", "B", "C"), weights=[1, 2])


# Refusals


EMPTY = "must hold distances: it is empty, blank lines and comments aside."
RAGGED = "Quote labels that contain a delimiter."
ADVICE = "Leave it empty where nothing was measured."
SHAPE = "must be a square table, an edge list, one row or one column"
HINT = "An edge list needs a header, or exactly three columns: end, end, distance."
OWN = "Give every point a name of its own."
SAME = "They are the same labels in another order: sort the rows or the columns."
CORRECT = "Correct the rows or the columns."
ENDS = "The first two columns are the ends; call the column of distances 'distance'."
WHICH = "must say which column holds the distances"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f" {EMPTY}"),
        ("# only\n\n", f" {EMPTY}"),
        ("A,B,C\n", " must hold distances: nothing below the header."),
        ("0,1,2\n1,0,3\n2,3\n", f", line 3 must have as many cells as the others: 2 instead of 3. {RAGGED}"),
        (
            "# metres\nRome, Italy,0,3\nB,3,0\nC,4,5\n",
            f", line 2 must have as many cells as the others: 4 instead of 3. {RAGGED}",
        ),
        ("0,1.5,2\n1.5,0,3\n", f" {SHAPE}: 2 rows and 3 columns of numbers. {HINT}"),
        ("0,1\n1,0,2\n", f" {SHAPE}: 1 rows and 2 columns of numbers. {HINT}"),
        ("0,1,x\n1,0,2\nx,2,0\n", f", line 1, column 3 must be a number: 'x'. {ADVICE}"),
        ("0,1,1_0\n1,0,2\n1_0,2,0\n", f", line 1, column 3 must be a number: '1_0'. {ADVICE}"),
        ("# metres\n,A,B\nA,0,far\nB,1,0\n", f", line 3, column 'B' must be a number: 'far'. {ADVICE}"),
        ("0 1,5\n1,5 0\n", f", line 1, column 1 must be a number: '0 1'. {ADVICE}"),
        (
            "0;1,5;2.5\n1,5;0;3\n2.5;3;0\n",
            " must use one decimal mark: 1,5 on line 1 and 2.5 on line 1. Write points.",
        ),
        (
            "i;j;d\nA;B;3,5\nA;C;4.5\n",
            " must use one decimal mark: 3,5 on line 2 and 4.5 on line 3. Write points.",
        ),
        ("A,B,A\n0,1,2\n1,0,3\n2,3,0\n", f" must not repeat a label: 'A' is column 1 and column 3. {OWN}"),
        ("A,0,1,2\nB,1,0,3\nB,2,3,0\n", f" must not repeat a label: 'B' is row 2 and row 3. {OWN}"),
        (
            ",A,B\nB,0,1\nA,1,0\n",
            f" must label its rows as its columns: row 1 is 'B', column 1 is 'A'. {SAME}",
        ),
        (
            ",A,B\nA,0,1\nC,1,0\n",
            f" must label its rows as its columns: row 2 is 'C', column 2 is 'B'. {CORRECT}",
        ),
        ("A,B\nC,D\n", " must have a third column, the distance, to be an edge list: got two columns."),
        ("A,B,3\nA,,4\n", ", line 2 must name both ends of the pair: an empty cell."),
        ("A,B,3\nA,C,far\n", f", line 2, column 'distance' must be a number: 'far'. {ADVICE}"),
        ("i,j,d,weight\nA,B,3,much\n", f", line 2, column 'weight' must be a number: 'much'. {ADVICE}"),
        ("# walls\n\nfrom,to,weight\nA,B,1\n", f", line 3 {WHICH}: from, to, weight. {ENDS}"),
        ("distance,i,j\n3,A,B\n", f", line 1 {WHICH}: distance, i, j. {ENDS}"),
    ],
)
def test_a_text_is_refused_in_one_sentence(sentence, text, expected):
    assert sentence(text) == f"distances.csv{expected}"


@pytest.mark.parametrize("ends", [("1", "2"), ("A", "B")])
def test_an_edge_list_whose_rows_are_counted_without_a_header_is_not_misread(sentence, ends):
    rows = "".join(f'"{k}" {ends[0]} {ends[1]} {k}.5\n' for k in range(1, 5))
    assert sentence(f'"from" "to" "distance"\n{rows}')


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"0,\xff\n1,0\n", "'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"),
        (
            "0,1\n1,0\n".encode("utf-16"),
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b"0,1\n1,0\0\n", "it contains NUL bytes"),
    ],
)
def test_bytes_that_are_no_text_are_refused(sentence, content, found):
    advice = "Save plain numbers and labels again, as csv in UTF-8, .npy or .npz."
    assert sentence(content) == f"distances.csv must be text in UTF-8: {found}. {advice}"


@pytest.mark.parametrize("name", ["d.csv", "d.npy", "d.npz"])
def test_a_file_that_is_not_there_is_refused(tmp_path, name):
    with pytest.raises(InputError) as caught:
        read_distances(tmp_path / name)
    found = "must be a file that can be read: No such file or directory. Check the path and its permissions."
    assert str(caught.value) == f"{tmp_path / name} {found}"


@pytest.mark.parametrize("name", ["d.csv", "d.npy", "d.npz"])
def test_a_folder_is_refused(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="must be a file that can be read: Is a directory"):
        read_distances(tmp_path / name)


@pytest.mark.parametrize("name", ["d.npy", "d.npz"])
@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04hello", b"PKhello", b"\x93NUMPYhello"])
def test_a_broken_numpy_file_is_refused(sentence, name, content):
    assert sentence(content, name).startswith(f"{name} must be an intact NumPy file without pickles: ")
    assert sentence(content, name).endswith(
        ". Save plain numbers and labels again, as csv in UTF-8, .npy or .npz."
    )


def test_a_numpy_file_cut_short_is_refused(tmp_path, sentence):
    np.save(tmp_path / "d.npy", TABLE)
    content = (tmp_path / "d.npy").read_bytes()
    assert "must be an intact NumPy file without pickles" in sentence(content[:-8], "d.npy")


def test_an_archive_with_flipped_bits_is_refused(tmp_path, sentence):
    np.savez_compressed(tmp_path / "d.npz", np.random.default_rng(0).random((50, 50)))
    content = bytearray((tmp_path / "d.npz").read_bytes())
    content[len(content) // 2] ^= 255
    assert "must be an intact NumPy file without pickles" in sentence(bytes(content), "d.npz")


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (tmp_path / "sprung").touch, ()

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "d.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "d.npz", distances=trap)
    np.savez(tmp_path / "labels.npz", distances=TABLE, labels=trap)
    for name in ["d.npy", "d.npz", "labels.npz"]:
        with pytest.raises(InputError, match="must be an intact NumPy file without pickles"):
            read_distances(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (np.array(5.0), "must be square, or one number per pair: got shape ()."),
        (np.zeros((2, 3)), "must be square, or one number per pair: got shape (2, 3)."),
        (np.zeros((2, 2, 2)), "must be square, or one number per pair: got shape (2, 2, 2)."),
        (np.zeros((2, 2), complex), "must hold real numbers: got complex128. Save it as float64."),
        (np.zeros((2, 2), bool), "must hold real numbers: got bool. Save it as float64."),
        (np.array([["a"]]), "must hold real numbers: got <U1. Save it as float64."),
    ],
)
def test_an_array_that_cannot_be_distances_is_refused(tmp_path, array, found):
    np.save(tmp_path / "d.npy", array)
    np.savez(tmp_path / "d.npz", distances=array)
    for path in [tmp_path / "d.npy", tmp_path / "d.npz"]:
        with pytest.raises(InputError) as caught:
            read_distances(path)
        assert str(caught.value) == f"{path} {found}"


@pytest.mark.parametrize(
    ("arrays", "found"),
    [
        ({}, "must hold one array, or one named distances: got none."),
        ({"a": TABLE, "b": TABLE}, "must hold one array, or one named distances: got a, b."),
        (
            {"distances": TABLE, "labels": ["A", "B", "A"]},
            "must not repeat a label: 'A' is label 1 and label 3. Give every point a name of its own.",
        ),
    ],
)
def test_an_archive_that_does_not_say_what_it_holds_is_refused(tmp_path, arrays, found):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(InputError) as caught:
        read_distances(tmp_path / "d.npz")
    assert str(caught.value) == f"{tmp_path / 'd.npz'} {found}"


def test_a_zip_file_of_other_things_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("d.csv", "0,1\n1,0\n")
    with pytest.raises(InputError, match="must hold real numbers"):
        read_distances(tmp_path / "d.npz")


# Writing


def test_all_files_are_written_and_old_ones_replaced(tmp_path):
    (tmp_path / "a").write_text("old")
    write_whole(tmp_path, {"a": lambda path: path.write_text("A"), "b": lambda path: path.write_text("B")})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "A", "b": "B"}


@pytest.mark.parametrize("failing", [ValueError, KeyboardInterrupt, ZeroDivisionError])
def test_nothing_is_written_if_one_writer_fails(tmp_path, failing):
    (tmp_path / "a").write_text("old")

    def fail(path):
        path.write_text("half")
        raise failing

    with pytest.raises(failing):
        write_whole(tmp_path, {"a": lambda path: path.write_text("A"), "b": fail})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_a_writer_that_meets_the_system_is_refused_in_one_sentence(tmp_path):
    def fail(path):
        raise OSError(28, "No space left on device", path)

    with pytest.raises(InputError) as caught:
        write_whole(tmp_path, {"a": lambda path: path.write_text("A"), "b": fail})
    found = "must be a folder that can be written: No space left on device."
    assert str(caught.value) == f"{tmp_path} {found} Choose a folder that you can write to."
    assert list(tmp_path.iterdir()) == []


def test_old_files_come_back_if_a_later_one_cannot_be_moved(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "c").mkdir()  # a file cannot take the place of a folder
    with pytest.raises(InputError, match="must be a folder that can be written"):
        write_whole(tmp_path, {name: lambda path: path.write_text("new") for name in "abc"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c"]
    assert (tmp_path / "a").read_text() == "old"


def test_a_folder_that_is_not_there_cannot_be_written(tmp_path):
    with pytest.raises(
        InputError, match=r"must be a folder that can be written: No such file or directory\."
    ):
        write_whole(tmp_path / "none", {"a": lambda path: path.write_text("A")})


def test_a_folder_is_made_with_its_parents_and_left_empty(tmp_path):
    require_writable(tmp_path / "a" / "b")
    require_writable(str(tmp_path / "a" / "b"))
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_folder_cannot_be_made_where_a_file_is(tmp_path, below):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="must be a folder that can be written"):
        require_writable(tmp_path / "file" / below)
    assert (tmp_path / "file").read_text() == "mine"


# Round trips


@pytest.mark.parametrize(
    "label", ["a,b", 'say "hi"', "#1 first", ' # "x', "a;b", "tab\there", "a'b", "NA", "-", "1_2"]
)
def test_a_label_comes_back_as_it_was_written(tmp_path, label):
    labels = (label.strip(), "plain", "word")
    write_rows(tmp_path / "d.csv", ["", *labels], [[a, *row] for a, row in zip(labels, TABLE, strict=True)])
    assert_labelled(read_distances(tmp_path / "d.csv"), TABLE, labels)
    write_rows(
        tmp_path / "d.csv", ["i", "j", "distance"], [(labels[0], "plain", 1.5), ("word", labels[0], 2.5)]
    )
    assert_pairs(read_distances(tmp_path / "d.csv"), [(0, 1, 1.5), (2, 0, 2.5)], (labels[0], "plain", "word"))


@pytest.mark.parametrize("mark", [";", "\t", "#"])
def test_labels_that_all_hold_another_delimiter_come_back(tmp_path, mark):
    labels = tuple(f"{mark}{k}{mark}x" for k in "abc") if mark == "#" else tuple(f"{k}{mark}x" for k in "abc")
    write_rows(tmp_path / "d.csv", labels, TABLE)
    assert_labelled(read_distances(tmp_path / "d.csv"), TABLE, labels)


def test_plain_rows_are_written_without_quotes(tmp_path):
    write_rows(
        tmp_path / "d.csv", ["i", "j", "d"], [("A", 1, 0.1), ("B", 2, np.float64(1e-300)), ("C", 3, None)]
    )
    assert (tmp_path / "d.csv").read_bytes() == b"i,j,d\nA,1,0.1\nB,2,1e-300\nC,3,\n"


def is_word(label):
    try:
        float(label)
    except ValueError:
        return True
    return False


LABELS = st.text("abcäß東01_,;#\"'\t .-?&|", min_size=1, max_size=6).filter(
    lambda label: label == label.strip() and any(map(str.isalpha, label)) and is_word(label)
)
DISTANCES = st.one_of(st.just(NAN), st.floats(min_value=0, allow_nan=False))


@st.composite
def labelled_tables(draw):
    labels = draw(st.lists(LABELS, min_size=2, max_size=12, unique=True))
    diagonal = draw(st.sampled_from([0.0, NAN]))
    return labels, [[diagonal if a == b else draw(DISTANCES) for b in labels] for a in labels]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("round-trips")


@given(labelled_tables(), st.booleans())
def test_any_table_that_is_written_is_read_back_equal(folder, table, has_column):
    labels, rows = table
    if has_column:
        write_rows(folder / "d.csv", ["", *labels], ([a, *row] for a, row in zip(labels, rows, strict=True)))
    else:
        write_rows(folder / "d.csv", labels, rows)
    assert_labelled(read_distances(folder / "d.csv"), rows, tuple(labels))


# Points


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x,y\n0,1\n2,3\n", [[0, 1], [2, 3]]),
        ("0 1\n2 3\n", [[0, 1], [2, 3]]),
        ("a,0,1\nb,2,3\n", {"a": [0, 1], "b": [2, 3]}),
        ("label,lat,lon,x,y\nRome,9,9,0,1\nOslo,9,9,2,3\n", {"Rome": [0, 1], "Oslo": [2, 3]}),
        ("id,x,y,z,anchor\n7,0,1,5,1\n9,2,3,5,0\n", {"7": [0, 1], "9": [2, 3]}),
        ("x,y,anchor\n0,1,1\n2,3,1\n", [[0, 1], [2, 3]]),
        ("y;name;X\n1;a;0\n3;b;2\n", {"a": [0, 1], "b": [2, 3]}),
        ("label,x1,x2,suspicion\na,0,1,0.5\nb,2,3,0\n", {"a": [0, 1], "b": [2, 3]}),
    ],
)
def test_points_are_read_with_their_names(tmp_path, text, expected):
    path = tmp_path / "points.csv"
    path.write_text(text, encoding="utf-8")
    found = read_points(path, 2)
    if isinstance(expected, dict):
        assert found == expected
    else:
        np.testing.assert_array_equal(found, expected)


def test_points_are_read_from_an_array_on_disk(tmp_path):
    np.save(tmp_path / "points.npy", np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(read_points(tmp_path / "points.npy", 2), [[0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "points.csv must hold points: it is empty"),
        (
            "a,b,c,d\n1,2,3,4\n",
            "points.csv must have the coordinates of 2 dimensions: got a, b, c, d. Name the",
        ),
        ("x,y\n0,one\n", "points.csv, line 2, column 'y' must be a number: 'one'"),
        ("a,0,1\na,2,3\n", "points.csv must not repeat a label: 'a' is point 1 and point 2"),
    ],
)
def test_a_file_without_points_is_refused_in_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "points.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_points(path, 2)
    assert sentence in str(caught.value)


def test_a_file_of_points_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="must be a file that can be read"):
        read_points(tmp_path / "nowhere.csv", 2)
