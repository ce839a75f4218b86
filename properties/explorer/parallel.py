"""Worker processes for one level of an exploration.

Workers are forked for each level, so they start with all that is known and nothing needs to be sent
to them, systems made of closures included; a state crosses a pipe once, from the worker that finds
it.  Workers take short chunks from a common counter, and results are handed on in the order of the
chunks.
"""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import traceback
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from typing import Generic, Self, cast

from fencepost.properties.explorer.chunk import Expanded, Judge, Manner, expand_chunk
from fencepost.properties.explorer.compact_systems import is_compact
from fencepost.properties.explorer.exploration import A, S, System
from fencepost.properties.workers.processes import (
    END_S,
    Failure,
    Worker,
    WorkerGroup,
    WorkerLostError,
    listen,
)

_FORK = multiprocessing.get_context("fork")
_CHUNKS_EACH = 16
_SMALLEST, _LARGEST = 16, 1024
_Message = tuple[int, Expanded[S, A] | Failure]


class LevelWorkers(Generic[S, A]):
    """The workers of one level; a context manager that ends them."""

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
        """Per worker the final numbers of its new states; the explorer writes them."""
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
        self._group = WorkerGroup("fork")

    def __enter__(self) -> Self:
        try:
            for _ in self.numbers:
                self._group.start(self._work)
        except BaseException:
            self._group.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._group.end()

    def results(self) -> Iterator[tuple[int, Expanded[S, A]]]:
        """Yield the worker and the result of each chunk, in the order of the chunks.

        Raises what a chunk raised, when it is its turn, and WorkerLostError.
        """
        workers = {worker.pipe: n for n, worker in enumerate(self._group.workers)}
        waiting: dict[int, tuple[int, Expanded[S, A] | Failure]] = {}
        for turn in range(self._chunks):
            while turn not in waiting:
                for ready in wait(list(workers)):
                    pipe = cast("Connection", ready)
                    message: _Message[S, A] | None = _received(self._group.workers[workers[pipe]])
                    if message is None:
                        del workers[pipe]
                    else:
                        waiting[message[0]] = (workers[pipe], message[1])
                if not workers and turn not in waiting:
                    raise WorkerLostError("a worker left without an error; the system must not")
            worker, result = waiting.pop(turn)
            if isinstance(result, Failure):
                raise result.error
            yield worker, result

    def _work(self, pipe: Connection) -> None:
        """In a worker: expand chunks as long as there are any."""
        gc.freeze()  # what is shared with the parent is never copied just to be looked through
        listen(pipe)
        if is_compact(self._system):
            self._system.begin()
        while (turn := self._take()) < self._chunks:
            first = turn * self._size
            chunk = self._frontier[first : first + self._size]
            try:
                result: Expanded[S, A] | Failure
                result = expand_chunk(
                    self._system, self._judge, chunk, first, self._known, self._manner
                )
                if is_compact(self._system):
                    result.learnt = self._system.learnt()
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            except BaseException as error:  # noqa: BLE001 - it is raised again, in the parent
                error.add_note(f"in a worker:\n{''.join(traceback.format_exception(error))}")
                result = Failure.of(error)
                message = pickle.dumps((turn, result), pickle.HIGHEST_PROTOCOL)
            pipe.send_bytes(message)
            if isinstance(result, Failure):
                return

    def _take(self) -> int:
        with self._next.get_lock():
            turn: int = self._next.value
            self._next.value = turn + 1
        return turn


def _received(worker: Worker) -> _Message[S, A] | None:
    """Return a worker's message, or None if it has ended after its work.

    Raises WorkerLostError if it ended before: others may wait for its result for ever.
    """
    try:
        message: _Message[S, A] = worker.receive()
    except WorkerLostError as lost:
        worker.process.join(END_S)
        if worker.process.exitcode == 0:
            return None
        code = worker.process.exitcode
        raise WorkerLostError(f"{lost} (exit code {code}, negative: by a signal)") from None
    return message
