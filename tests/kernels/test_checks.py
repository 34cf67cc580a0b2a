"""The survey of a square array against its reference: the same numbers to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from robustmds.kernels import STRIP, checks, reference


def both(upper, lower, *, on_diagonal):
    """Return what the kernel writes and what its reference writes."""
    seen, meant = np.full((2, -(-len(upper) // STRIP), 5), np.nan)
    checks.survey_strips(upper, lower, on_diagonal, seen)
    reference.survey_strips(upper, lower, on_diagonal, meant)
    return seen, meant


def table(n_rows, n_columns, dtype, rng):
    """Return numbers of either sign, some of them nan or infinite."""
    values = rng.normal(size=(n_rows, n_columns)).astype(dtype)
    values[rng.random(values.shape) < 0.2] = np.nan
    values.flat[rng.integers(values.size)] = np.inf
    return values


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 100, 513, 1100])
def test_the_survey_of_a_square(n, dtype):
    square = table(n, n, dtype, np.random.default_rng(n))
    np.testing.assert_array_equal(*both(square, square, on_diagonal=True))


@pytest.mark.parametrize("shape", [(3, 20), (20, 3), (600, 530)])
def test_the_survey_of_a_tile_beside_the_diagonal(shape):
    rng = np.random.default_rng(0)
    upper, lower = table(*shape, float, rng), table(*shape[::-1], float, rng)
    np.testing.assert_array_equal(*both(upper, lower, on_diagonal=False))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("place", [(0, 1), (1, 0), (5, 700), (700, 5), (698, 699), (699, 698)])
def test_every_entry_off_the_diagonal_is_read(place, sign):
    square = np.zeros((701, 701))
    square[place] = sign * 5.0
    out = np.empty((-(-701 // STRIP), 5))
    checks.survey_strips(square, square, True, out)  # noqa: FBT003 - compiled code
    largest, smallest, gap = out[:, 2].max(), out[:, 3].min(), out[:, 4].max()
    assert (largest, smallest, gap) == (5.0 * (sign > 0), -5.0 * (sign < 0), 5.0)


def test_the_diagonal_is_no_pair():
    square = np.full((701, 701), np.nan)
    np.fill_diagonal(square, -5.0)
    out = np.empty((-(-701 // STRIP), 5))
    checks.survey_strips(square, square, True, out)  # noqa: FBT003 - compiled code
    assert not out.any()


def test_the_survey_does_not_depend_on_threads():
    square = table(1100, 1100, float, np.random.default_rng(1))
    many, one = np.full((2, -(-1100 // STRIP), 5), np.nan)
    checks.survey_threads(square, square, True, many)  # noqa: FBT003 - compiled code
    for strip in range(len(one)):
        checks.survey_strip(square, square, True, strip, one)  # noqa: FBT003 - compiled code
    np.testing.assert_array_equal(one, many)
