"""Rows of the kill matrix, made side by side.

Decides how mutants are shared among processes, and that none outlives us: each worker has one pipe
to its parent and nobody else's, so it ends when that closes, whatever ends the parent.
"""

from __future__ import annotations

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

from fencepost.conformance.kill_matrix.suites import ENGINES
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.kill_matrix.matrix import Killing, Row
from fencepost.properties.mutants.catalogue import find_mutant
from fencepost.properties.workers.processes import end_all
from fencepost.traces.files.run_trace import run_lines, run_trace

_SPAWN = multiprocessing.get_context("spawn")

Seconds = dict[str, float]
Told = Callable[[Row], None]


class WorkerLostError(Exception):
    """A worker ended before its work did, for example because the system needed its memory."""


def row_of(name: str, engines: Sequence[str], report: Path | None) -> tuple[list[Killing], Seconds]:
    """What comes of each engine for one mutant, and the seconds that each took."""
    mutant = find_mutant(name)
    killings = []
    seconds: Seconds = {}
    for engine in engines:
        began = time.process_time()
        killing = ENGINES[engine](mutant.revision)
        seconds[engine] = time.process_time() - began
        killings.append(_in_words(mutant.name, killing, report))
    return killings, seconds


def _in_words(name: str, killing: Killing, report: Path | None) -> Killing:
    """The evidence as lines, which fit through a pipe; as a trace file, if there is a folder."""
    shown = killing.evidence
    if shown is None:
        return killing
    if report is not None:
        said = f"{name} breaks {killing.by}" if killing.by else f"{name} answers otherwise"
        trace = run_trace(shown.worlds, shown.run, judged_by=KAFKA_4, message=said)
        trace.write(report / f"{name}-{killing.engine}.json")
    return replace(killing, lines=run_lines(shown.worlds, shown.run), evidence=None)


def rows(
    names: Sequence[str],
    engines: Sequence[str],
    *,
    jobs: int,
    report: Path | None = None,
    told: Told | None = None,
) -> tuple[list[Row], Seconds]:
    """A row for each mutant, in this order, and the seconds of processor time by engine.

    Raises WorkerLostError, and what an engine raises.
    """
    total: Seconds = dict.fromkeys(engines, 0.0)
    found: dict[str, Row] = {}
    made = (
        ((name, row_of(name, engines, report)) for name in names)
        if jobs == 1 or len(names) == 1
        else _side_by_side(names, engines, min(jobs, len(names)), report)
    )
    for name, (killings, seconds) in made:
        found[name] = Row(find_mutant(name), {k.engine: k for k in killings})
        for engine, spent in seconds.items():
            total[engine] += spent
        if told is not None:
            told(found[name])
    return [found[name] for name in names], total


Made = tuple[str, tuple[list[Killing], Seconds]]


def _side_by_side(
    names: Sequence[str], engines: Sequence[str], jobs: int, report: Path | None
) -> Iterator[Made]:
    waiting = list(reversed(names))
    pipes: dict[Connection, str] = {}
    processes: list[SpawnProcess] = []
    try:
        for _ in range(jobs):
            ours, theirs = _SPAWN.Pipe()
            process = _SPAWN.Process(target=_work, args=(theirs, engines, report), daemon=True)
            process.start()
            processes.append(process)
            theirs.close()
            pipes[ours] = waiting.pop()
            ours.send(pipes[ours])
        while pipes:
            for ready in wait(list(pipes)):
                pipe = cast("Connection", ready)
                yield pipes[pipe], _received(pipe)
                del pipes[pipe]
                if waiting:
                    pipes[pipe] = waiting.pop()
                    pipe.send(pipes[pipe])
                else:
                    pipe.close()
    finally:
        end_all(processes)


def _received(pipe: Connection) -> tuple[list[Killing], Seconds]:
    try:
        result = pipe.recv()
    except (EOFError, ConnectionResetError):
        raise WorkerLostError(
            "a worker ended before its work did; if the system needed its memory, try fewer jobs"
        ) from None
    if isinstance(result, BaseException):
        raise result
    return cast("tuple[list[Killing], Seconds]", result)


def _work(pipe: Connection, engines: Sequence[str], report: Path | None) -> None:
    """What a worker does: rows, as long as somebody asks for them.

    Rubbish is looked for seldom: worlds are many and few are cyclic, and it took an eighth of the
    time.
    """
    gc.set_threshold(200_000, 50, 100)
    try:
        while True:
            name = pipe.recv()
            try:
                result: object = row_of(name, engines, report)
            except Exception as error:  # noqa: BLE001 - it is raised again, in the parent
                result = RuntimeError(f"{name}: {type(error).__name__}: {error}")
            pipe.send(result)
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return  # nobody wants to know any more
