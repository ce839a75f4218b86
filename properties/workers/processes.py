"""Worker processes: how each one starts, listens to its parent, reports an error and ends.

A worker has one pipe to its parent.  It ignores a terminal's Ctrl-C, which is for the parent to act
on, and it ends as soon as the pipe closes, so no worker outlives its parent, whatever ended that.
`WorkerGroup` is a context manager: all its workers have ended when the block is left.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, Self

END_S = 2.0
"""How long a worker may take to end once it is told to; then it is killed."""

_OURS = frozenset({signal.SIGINT, signal.SIGTERM})


class WorkerLostError(Exception):
    """A worker ended before its work did, for example because the system needed its memory."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a worker's work raised; `str()` says what and where, in one line."""

    error: BaseException
    words: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe an error, in a form that can be sent through a pipe."""
        last = error
        while isinstance(last, BaseExceptionGroup):
            last = last.exceptions[0]
        frames = traceback.extract_tb(last.__traceback__)
        where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
        return cls(_portable(error), f"{type(last).__name__}: {last}{where}")

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True, eq=False)
class Worker:
    """A process and the parent's end of the pipe to it."""

    process: BaseProcess
    pipe: Connection

    def receive(self) -> Any:
        """Wait for a message.  Raises WorkerLostError when there will be none."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            raise WorkerLostError(
                "a worker ended before its work did; if the system needed its memory, try fewer"
                " jobs"
            ) from None


class WorkerGroup:
    """Workers that end together; a context manager that ends them.

    `method`: "spawn" starts a new interpreter, so the work must be a function that can be imported;
    "fork" copies this process, so the work may be anything.
    """

    def __init__(self, method: Literal["spawn", "fork"] = "spawn") -> None:
        self.workers: list[Worker] = []
        spawn, fork = multiprocessing.get_context("spawn"), multiprocessing.get_context("fork")
        self._context = fork if method == "fork" else spawn
        self._forks = method == "fork"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, work: Callable[..., None], *given: Any) -> Worker:
        """Start a worker, which calls `work(pipe, *given)` with its end of the pipe."""
        ours, theirs = self._context.Pipe()
        inherited = (*(worker.pipe for worker in self.workers), ours) if self._forks else ()
        process = self._context.Process(
            target=_run, args=(theirs, inherited, work, given), daemon=True
        )
        # No signal may come between the start of a process and its entry in the list, nor reach a
        # fork before it has handlers of its own.
        mine = _OURS if self._forks else {signal.SIGINT}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, mine)
        try:
            process.start()
            worker = Worker(process, ours)
            self.workers.append(worker)
        finally:
            theirs.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return worker

    def end(self) -> None:
        """End all workers at once, and wait until they are gone."""
        workers, self.workers = self.workers, []
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.join(END_S)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
            worker.process.close()
            worker.pipe.close()


def listen(pipe: Connection, heard: Callable[[Any], None] = lambda _: None) -> None:
    """For a worker: pass on the parent's messages from now on; end at once when the pipe closes.

    `heard` is called in a thread of its own.
    """
    threading.Thread(target=_listen, args=(pipe, heard), daemon=True).start()


def _listen(pipe: Connection, heard: Callable[[Any], None]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            heard(pipe.recv())
    os._exit(os.EX_SOFTWARE)


def _run(
    pipe: Connection,
    inherited: tuple[Connection, ...],
    work: Callable[..., None],
    given: tuple[Any, ...],
) -> None:
    """In a process of its own: do the work, for as long as the parent is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
    for other in inherited:
        other.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        work(pipe, *given)


def _portable(error: BaseException) -> BaseException:
    """The exception itself where it survives the way to the parent, else one that tells of it."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling an exception runs its code
        copy = None
    if type(copy) is type(error):
        return error
    told = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told
