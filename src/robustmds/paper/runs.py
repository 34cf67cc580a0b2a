"""What has been simulated, on disk: one file of runs per experiment, only ever added to.

The first line says what the runs are of; every other line is a block of simulations of one cell and one
series. A line is written at once, so that a process that is killed leaves at most its last line torn, and
that one is dropped. Runs of other settings are refused, never mixed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from robustmds.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from robustmds.linalg import Array

ADVICE = "Choose another folder, or remove the file to begin anew."
SHOWN = 60  # characters of a setting in a message


class Block(NamedTuple):
    """Some simulations of one cell and one series."""

    cell: int
    series: str
    simulations: list[int]
    status: list[str]
    error: list[Any]  # a number each, or a list of numbers


class Records:
    """The simulations of every cell and series, as far as they are done.

    Parameters
    ----------
    n_cells : int
        Of the experiment.
    simulations : mapping of str to int
        For every series, how many are wanted.
    width : int
        Numbers in an error; 0: it is one and no list.
    """

    def __init__(self, n_cells: int, simulations: Mapping[str, int], width: int) -> None:
        places = [(cell, name, n) for cell in range(n_cells) for name, n in simulations.items()]
        self.status = {(cell, name): np.full(n, "", dtype=object) for cell, name, n in places}
        self.error = {(cell, name): np.full((n, width) if width else n, np.nan) for cell, name, n in places}
        self.n_wanted, self.n_done = sum(n for _, _, n in places), 0

    def take(self, block: Block) -> None:
        """Take note of some simulations; what is not wanted, or known already, changes nothing."""
        place = block.cell, block.series
        if place not in self.status:
            return
        status, error = self.status[place], self.error[place]
        for k, how, off in zip(block.simulations, block.status, block.error, strict=True):
            if k < len(status) and not status[k]:
                status[k], error[k] = how, np.asarray(off, dtype=float)
                self.n_done += 1

    def missing(self, cell: int, series: str, begin: int, end: int) -> tuple[int, ...]:
        """Return which of the simulations begin, ..., end - 1 are still to be made."""
        return tuple(k + begin for k, how in enumerate(self.status[cell, series][begin:end]) if not how)

    def of(self, cell: int, series: str) -> tuple[npt.NDArray[np.object_], Array]:
        """Return how every simulation ended, and its error."""
        return self.status[cell, series], self.error[cell, series]


def resume(path: Path, identity: Mapping[str, Any], series: Mapping[str, str]) -> list[Block]:
    """Return the runs that a file holds, and leave it ready for more.

    Parameters
    ----------
    path : Path
        The file; it is made if it is not there.
    identity : mapping
        What the runs are of, as JSON can hold it: all of it must be what the file says.
    series : mapping of str to str
        For every series the settings it is made with; a file may hold other series besides.
    """
    lines, end = _whole_lines(path)
    heads = [line for line in lines if "identity" in line]
    known: dict[str, str] = {}
    for head in heads:
        _require_same(path, head["identity"], _plain(identity))
        known |= head["series"]
    _require_same(path, {name: known[name] for name in series if name in known}, dict(series), partly=True)
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(end)
    if not set(series) <= set(known):
        _write(path, [{"identity": identity, "series": known | dict(series)}])
    return [Block(**line) for line in lines if "identity" not in line]


def append(path: Path, blocks: Sequence[Block]) -> None:
    """Add some runs to a file."""
    _write(path, [block._replace(error=_without_nan(block.error))._asdict() for block in blocks])


def _write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    try:
        with path.open("ab") as file:
            file.write(text.encode())
    except OSError as error:
        rule = "must be a file that can be written"
        raise InputError(str(path), rule, error.strerror or str(error)) from error


def _whole_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the lines of a file but for a torn last one, and where they end."""
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise InputError(str(path), "must be a file that can be read", error.strerror or "") from error
    end = content.rfind(b"\n") + 1
    lines = []
    for number, line in enumerate(content[:end].splitlines(), 1):
        try:
            lines.append(json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}, line {number}", "must be a run", str(error), ADVICE) from error
    return lines, end


def _require_same(
    path: Path, old: Mapping[str, Any], new: Mapping[str, Any], *, partly: bool = False
) -> None:
    """Refuse runs that are of something else, and say what differs."""
    for name in old if partly else {**old, **new}:
        was, is_now = old.get(name), new.get(name)
        if isinstance(was, dict) and isinstance(is_now, dict):
            _require_same(path, was, is_now)
        elif was != is_now:
            found = f"its {name} is {_short(was)}, not {_short(is_now)}"
            raise InputError(str(path), "must hold runs of the same settings", found, ADVICE)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _plain(value: object) -> Any:  # noqa: ANN401 - what JSON holds
    """Return a value as it comes back from a file."""
    return json.loads(json.dumps(value))


def _without_nan(errors: list[Any]) -> list[Any]:
    """Return numbers with None for nan, which JSON does not have."""
    return [_without_nan(e) if isinstance(e, list) else (e if np.isfinite(e) else None) for e in errors]
