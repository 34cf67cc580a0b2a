"""All simulations of an experiment, on one or more processes: the same numbers whatever their number.

Simulation k of cell c of an experiment draws from SeedSequence(seed, spawn_key=(experiment, c, k)), so that
it is the same in whatever order, in whatever process, after whatever interruption it is made. All series of a
cell get the same draws, and can be compared pair by pair.
"""

from __future__ import annotations

import multiprocessing
import platform
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from robustmds.api import DEPENDENCIES
from robustmds.errors import InputError
from robustmds.linalg import one_blas_thread
from robustmds.paper.runs import Block, Records, append, resume

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from multiprocessing.synchronize import Event
    from pathlib import Path

    from robustmds.paper.experiments import Experiment

    Tell = Callable[[int, int], None]

TOGETHER = 5  # simulations of a cell that are made, and saved, together
STOPS: list[Event] = []  # in a worker, set where its parent was interrupted


class Task(NamedTuple):
    """Some simulations of a cell, and the series that lack them."""

    experiment: Experiment
    seed: int
    cell: int
    simulations: tuple[int, ...]
    names: tuple[str, ...]


def run(
    experiment: Experiment,
    path: Path,
    simulations: Mapping[str, int],
    *,
    seed: int,
    jobs: int,
    tell: Tell | None = None,
) -> Records:
    """Make the simulations that a file of runs does not hold yet, and return all that are wanted.

    Parameters
    ----------
    experiment : Experiment
        What to simulate.
    path : Path
        The file of runs.
    simulations : mapping of str to int
        On how many each series runs.
    seed : int
        Of all draws.
    jobs : int
        Processes.
    tell : callable, optional
        Called with the number of runs that are done and that are wanted, first and whenever some were added.
    """
    tell = tell or (lambda _done, _wanted: None)
    records = Records(len(experiment.cells), simulations, experiment.width)
    settings = {name: experiment.settings_of(name) for name in experiment.names}
    for block in resume(path, identity(experiment, seed), settings):
        records.take(block)
    tell(records.n_done, records.n_wanted)
    with closing(_simulated(list(_tasks(experiment, seed, records, simulations)), jobs)) as simulated:
        for blocks in simulated:
            append(path, blocks)
            for block in blocks:
                records.take(block)
            tell(records.n_done, records.n_wanted)
    return records


def identity(experiment: Experiment, seed: int) -> dict[str, Any]:
    """Return what runs are of, the series aside."""
    settings = asdict(experiment)
    del settings["contenders"]  # each of them has its own settings, and may join or leave
    del settings["default_simulations"]
    versions = {name: version(name) for name in DEPENDENCIES} | {"python": platform.python_version()}
    return {"seed": seed, "settings": settings, "versions": versions}


def simulate(task: Task) -> list[Block]:
    """Make some simulations of a cell; fewer, if the parent process has no use for them any more."""
    cell = task.experiment.cells[task.cell]
    outcomes = {}
    with one_blas_thread():
        for k in task.simulations:
            if any(stop.is_set() for stop in STOPS):
                break
            seeds = np.random.SeedSequence(task.seed, spawn_key=(task.experiment.number, task.cell, k))
            outcomes[k] = task.experiment.simulate(cell, np.random.default_rng(seeds), task.names)
    return [
        Block(
            task.cell,
            name,
            list(outcomes),
            [outcome[name].status for outcome in outcomes.values()],
            [outcome[name].error for outcome in outcomes.values()],
        )
        for name in task.names
    ]


def _tasks(
    experiment: Experiment, seed: int, records: Records, simulations: Mapping[str, int]
) -> Iterator[Task]:
    """Yield what is to be done, a few simulations of every cell at a time."""
    for begin in range(0, max(simulations.values()), TOGETHER):
        for cell in range(len(experiment.cells)):
            lacking: dict[tuple[int, ...], list[str]] = {}
            for name in experiment.names:
                missing = records.missing(cell, name, begin, begin + TOGETHER)
                lacking.setdefault(missing, []).append(name)
            for missing, names in lacking.items():
                if missing:
                    yield Task(experiment, seed, cell, missing, tuple(names))


def _simulated(tasks: Sequence[Task], jobs: int) -> Generator[list[Block]]:
    """Yield the runs of every task, in their order."""
    if jobs == 1 or len(tasks) < 2:  # noqa: PLR2004 - nothing to share out
        yield from map(simulate, tasks)
        return
    # A forked process would inherit locks of threads that it does not have.
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    try:
        with ProcessPoolExecutor(min(jobs, len(tasks)), context, _prepare, (stop,)) as pool:
            try:
                with _no_interrupts():  # the processes are made with the first tasks
                    simulated = pool.map(simulate, tasks)
                yield from simulated
            finally:
                stop.set()  # after an interruption nobody waits for what is under way
    except BrokenProcessPool as error:
        rule, advice = "must not end before its work", "The runs so far are kept: the same call goes on."
        found = "it was ended from outside, or out of memory, or a script calls this without a __main__ guard"
        raise InputError("a process", rule, found, advice) from error


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ignore interrupts from the keyboard, here and in the processes that are made meanwhile.

    They reach all processes, and those that are still importing would answer with a traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _prepare(stop: Event) -> None:
    """Make a worker listen to its parent alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    STOPS.append(stop)
