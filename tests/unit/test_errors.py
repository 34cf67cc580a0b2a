"""The one form of a message, and the small checks of parameters."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from robustmds.errors import (
    InputError,
    RobustMDSError,
    UnsupportedError,
    require_between,
    require_choice,
    require_count,
)


def test_a_message_names_the_thing_the_rule_what_was_found_and_what_to_do():
    assert str(InputError("a", "must be b", "got c", "Do d.")) == "a must be b: got c. Do d."
    assert str(InputError("a", "must be b", "got c")) == "a must be b: got c."
    assert str(InputError("a", "must be b")) == "a must be b."
    assert str(InputError("a", "must be b", "", "Do d.")) == "a must be b. Do d."


@pytest.mark.parametrize("kind", [InputError, UnsupportedError])
def test_an_error_survives_pickling_and_copying(kind):
    error = kind("a", "must be b", "got c", "Do d.")
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301 - our own
        assert (type(twin), str(twin), twin.found) == (kind, str(error), "got c")


def test_a_bad_input_is_a_value_error_and_one_of_ours():
    assert issubclass(UnsupportedError, InputError)
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, RobustMDSError)


@pytest.mark.parametrize("value", [-1, 2, math.nan, math.inf, -math.inf])
def test_a_number_out_of_range_is_refused(value):
    with pytest.raises(InputError, match=rf"x must lie between 0 and 1: got {value}\."):
        require_between("x", value, 0, 1)
    require_between("x", 0, 0, 1)
    require_between("x", 1, 0, 1)


def test_without_an_upper_bound_infinity_is_refused_all_the_same():
    with pytest.raises(InputError, match=r"x must be finite, at least 2: got inf\."):
        require_between("x", math.inf, 2)


@pytest.mark.parametrize("value", [1.5, "3", None])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(InputError, match=r"n must be a whole number: got"):
        require_count("n", value, 0)
    require_count("n", np.int64(3), 0)


def test_a_word_that_is_no_choice_is_refused_with_those_that_are():
    with pytest.raises(InputError, match=r"w must be one of a, b: got 'c'\."):
        require_choice("w", "c", ("a", "b"))
    with pytest.raises(InputError, match=r"w must be one of a, b: got \['a'\]\."):
        require_choice("w", ["a"], ("a", "b"))
