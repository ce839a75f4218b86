"""Many processes for one level of an exploration.

Decides how work is shared and ended.  Workers are forked for each level, so they start with all
that is known and nothing needs to be sent to them, systems made of closures included; a state
crosses a pipe once, from the worker that finds it.  Workers take short chunks from a common
counter, and results are handed on in the order of the chunks.

Nothing waits without an end: the parent waits for pipes that close when a worker dies, workers
write to pipes that break when the parent dies, and whatever happens the workers are ended.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import pickle
import signal
import traceback
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import TracebackType
from typing import Generic, Self, cast

from fencepost.properties.explorer.chunk import Expanded, Judge, Manner, expand_chunk
from fencepost.properties.explorer.compact import is_compact
from fencepost.properties.explorer.exploration import A, S, System
from fencepost.properties.workers.processes import END_S, end_all

_FORK = multiprocessing.get_context("fork")
_CHUNKS_EACH = 16
_SMALLEST, _LARGEST = 16, 1024
_OURS = frozenset({signal.SIGINT, signal.SIGTERM})


class WorkerLostError(Exception):
    """A worker ended without a word, for example because the system needed its memory."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a worker's chunk raised."""

    error: BaseException


_Message = tuple[int, Expanded[S, A] | _Failure]


class Workers(Generic[S, A]):
    """The processes of one level; a context manager that ends them."""

    def __init__(
        self,
        system: System[S, A],
        judge: Judge[S, A],
        frontier: Sequence[S],
        known: dict[S, int],
        manner: Manner,
        jobs: int,
    ) -> None:
        self.numbers = [array("q") for _ in range(jobs)]
        """Per worker, for whoever files its results: the final numbers of its new states."""
        self._system = system
        self._judge = judge
        self._frontier = frontier
        self._known = known
        # There is no limit in a worker: it can't know how much the others have found.
        self._manner = replace(manner, limit=None)
        size = len(frontier) // (jobs * _CHUNKS_EACH)
        self._size = min(max(size, _SMALLEST), _LARGEST)
        self._chunks = -(-len(frontier) // self._size)
        self._next = _FORK.Value("q", 0)
        self._processes: list[ForkProcess] = []
        self._pipes: dict[Connection, int] = {}

    def __enter__(self) -> Self:
        try:
            for worker in range(len(self.numbers)):
                self._start(worker)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._end()

    def results(self) -> Iterator[tuple[int, Expanded[S, A]]]:
        """The worker and the result of each chunk, in the order of the chunks.

        Raises what a chunk raised, when it is its turn, and WorkerLostError.
        """
        waiting: dict[int, tuple[int, Expanded[S, A] | _Failure]] = {}
        for turn in range(self._chunks):
            while turn not in waiting:
                for pipe in wait(list(self._pipes)):
                    pipe = cast("Connection", pipe)
                    worker = self._pipes[pipe]
                    message: _Message[S, A] | None = _received(pipe)
                    if message is None:
                        del self._pipes[pipe]
                        pipe.close()
                        self._ended(worker)
                    else:
                        waiting[message[0]] = (worker, message[1])
                if not self._pipes and turn not in waiting:
                    raise WorkerLostError("a worker left without an error; the system must not")
            worker, result = waiting.pop(turn)
            if isinstance(result, _Failure):
                raise result.error
            yield worker, result

    def _start(self, worker: int) -> None:
        reader, writer = _FORK.Pipe(duplex=False)
        self._pipes[reader] = worker
        process = _FORK.Process(target=self._work, args=(writer,), daemon=True)
        # No signal may come between the start of a process and its entry in the list, nor reach it
        # before it has handlers of its own.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _OURS)
        try:
            process.start()
            self._processes.append(process)
        finally:
            writer.close()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _work(self, writer: Connection) -> None:
        """What a worker does with its life."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
        gc.freeze()  # what is shared with the parent is never copied just to be looked through
        for pipe in self._pipes:
            pipe.close()
        if is_compact(self._system):
            self._system.begin()
        while (turn := self._take()) < self._chunks:
            first = turn * self._size
            chunk = self._frontier[first : first + self._size]
            try:
                result: Expanded[S, A] | _Failure
                result = expand_chunk(
                    self._system, self._judge, chunk, first, self._known, self._manner
                )
                if is_compact(self._system):
                    result.learnt = self._system.learnt()
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            except BaseException as error:  # noqa: BLE001 - it is raised again, in the parent
                error.add_note(f"in a worker:\n{''.join(traceback.format_exception(error))}")
                result = _Failure(_portable(error))
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            try:
                writer.send_bytes(message)
            except BrokenPipeError:
                return  # nobody wants to know any more
            if isinstance(result, _Failure):
                return

    def _take(self) -> int:
        with self._next.get_lock():
            turn: int = self._next.value
            self._next.value = turn + 1
        return turn

    def _ended(self, worker: int) -> None:
        """Raise WorkerLostError unless it did what it had to: others may wait for it for ever."""
        process = self._processes[worker]
        process.join(END_S)
        if process.exitcode != 0:
            raise WorkerLostError(
                f"a worker ended before its work did (exit code {process.exitcode}, negative: by a"
                " signal); if the system needed its memory, try fewer jobs"
            )

    def _end(self) -> None:
        end_all(self._processes)
        for pipe in self._pipes:
            pipe.close()
        self._processes.clear()
        self._pipes.clear()


def _received(pipe: Connection) -> _Message[S, A] | None:
    """A worker's message, or None if it has ended."""
    with contextlib.suppress(EOFError, ConnectionResetError):
        message: _Message[S, A] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - our own child
        return message
    return None


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
