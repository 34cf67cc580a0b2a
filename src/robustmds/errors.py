"""Errors and warnings of the package, and the one form their messages take.

A message names the thing, states the rule, says what was found and where, and what to do:

    distances must not be negative: D[3, 17] = -0.4 (Rome - Vienna). Write nan where nothing was measured.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class RobustMDSError(Exception):
    """Base class of everything this package raises on purpose."""


class InputError(RobustMDSError, ValueError):
    """The input cannot be used.

    Parameters
    ----------
    name : str
        What the sentence is about: a parameter, a file, a line of it.
    rule : str
        What must hold, as the continuation of the sentence: ``"must be square"``.
    found : str, optional
        What was found instead, and where.
    advice : str, optional
        What to do about it: a sentence of its own.

    Examples
    --------
    >>> print(InputError("distances", "must be square", "got shape (3, 4)"))
    distances must be square: got shape (3, 4).
    """

    def __init__(self, name: str, rule: str, found: str = "", advice: str = "") -> None:
        self.name, self.rule, self.found, self.advice = name, rule, found, advice
        fact = f"{name} {rule}: {found}." if found else f"{name} {rule}."
        super().__init__(f"{fact} {advice}".rstrip())

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str, str]]:
        return type(self), (self.name, self.rule, self.found, self.advice)


class UnsupportedError(InputError):
    """The method cannot do what was asked; the message names one that can."""


class AsymmetryWarning(UserWarning):
    """The two directions of some pairs differ slightly; their mean is used."""


def require_between(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Refuse a number that is not finite or not between two others."""
    if not low <= value <= high or not math.isfinite(value):
        is_open = high == math.inf
        rule = f"must be finite, at least {low:g}" if is_open else f"must lie between {low:g} and {high:g}"
        raise InputError(name, rule, f"got {value}")


def require_count(name: str, count: int, low: int, high: float = math.inf) -> None:
    """Refuse what is not a whole number between two others."""
    if not isinstance(count, Integral):
        raise InputError(name, "must be a whole number", f"got {count!r}")
    require_between(name, int(count), low, high)


def require_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(name, f"must be one of {', '.join(choices)}", f"got {value!r}")
