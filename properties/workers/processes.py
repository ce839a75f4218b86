"""Run tasks in worker processes, and ask running work to end early.

A worker has one pipe to its parent.  It ignores a terminal's Ctrl-C, which is for the parent to act
on, and it ends as soon as the pipe closes, so no worker outlives its parent, whatever ended that.
`WorkerGroup` is a context manager: all its workers have ended when the block is left.

`run_tasks` is for an event loop, `run_side_by_side` for code without one, `run_forked` for work
that can't be sent to another process.  An asynchronous task
reports its results as it goes.  At its time limit it is asked to stop, and may still report;
GRACE_S later it is killed.

Code that starts work and code that may end it share one `Stop`.  Cancelled work returns nothing, so
it must keep its results somewhere else.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

END_S = 2.0
"""Seconds that a worker may take to end after SIGTERM, before it is killed."""

_OURS = frozenset({signal.SIGINT, signal.SIGTERM})

_COLLECTED = 50_000, 20, 20
"""Thresholds of the garbage collector for work that makes millions of objects and few cycles."""


@contextmanager
def collect_seldom(*thresholds: int) -> Iterator[None]:
    """Collect garbage seldom while the body runs, and never look through what was there before.

    `thresholds`: as `gc.set_threshold` takes them.  Within itself it does nothing.  Reference
    counts free nearly everything at once; with Python's thresholds the collector takes a quarter of
    the time of an exploration.
    """
    before, during = gc.get_threshold(), thresholds or _COLLECTED
    if before == during:
        yield
        return
    gc.freeze()
    gc.set_threshold(*during)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class WorkerLostError(Exception):
    """A worker ended before its work did, for example because the system needed its memory."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error that a worker's work raised; `str()` gives type, message and place in one line."""

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

    def start(self, work: Callable[..., None], *arguments: Any) -> Worker:
        """Start a worker, which calls `work(pipe, *given)` with its end of the pipe."""
        ours, theirs = self._context.Pipe()
        inherited = (*(worker.pipe for worker in self.workers), ours) if self._forks else ()
        process = self._context.Process(
            target=_run, args=(theirs, inherited, work, arguments), daemon=True
        )
        # No signal may come between the start of a process and its entry in the list, nor reach a
        # fork before it has handlers of its own.
        mine = _OURS if self._forks else {signal.SIGINT}
        resource_tracker.ensure_running()  # which unblocks them, if `process.start` must start it
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


def listen(pipe: Connection, handle: Callable[[Any], None] = lambda _: None) -> None:
    """Pass on the parent's messages to `handle`, in a worker; end at once when the pipe closes.

    `handle` is called in a thread of its own.
    """
    threading.Thread(target=_listen, args=(pipe, handle), daemon=True).start()


def _listen(pipe: Connection, handle: Callable[[Any], None]) -> None:
    with contextlib.suppress(EOFError, OSError):
        while True:
            handle(pipe.recv())
    os._exit(os.EX_SOFTWARE)


def _run(
    pipe: Connection,
    inherited: tuple[Connection, ...],
    work: Callable[..., None],
    arguments: tuple[Any, ...],
) -> None:
    """Do the work in this new process, for as long as the parent is there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OURS)
    for other in inherited:
        other.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        work(pipe, *arguments)


def _portable(error: BaseException) -> BaseException:
    """Return the exception if it can be pickled, else a RuntimeError with its text and notes."""
    try:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling an exception runs its code
        copy = None
    if type(copy) is type(error):
        return error
    described = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        described.add_note(note)
    return described


_T = TypeVar("_T")


class Stop:
    """A request to end early; once made, it can't be taken back."""

    def __init__(self) -> None:
        self.requested = False
        """True once somebody called `ask`."""
        self._waiting: set[asyncio.Future[None]] = set()

    def ask(self) -> None:
        """Ask everything that shares this to end."""
        self.requested = True
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until the end is requested, or for this many seconds."""
        if self.requested:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await future
        finally:
            self._waiting.discard(future)

    @asynccontextmanager
    async def following(self, other: Stop, seconds: float | None = None) -> AsyncIterator[None]:
        """Request the end when `other` does, or after these seconds, while the body runs."""

        async def follow() -> None:
            await other.wait(seconds)
            self.ask()

        if other.requested:
            self.ask()
        waiting = asyncio.create_task(follow())
        try:
            yield
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def cut(self, work: Coroutine[Any, Any, _T], *, grace_s: float = 0) -> _T | None:
        """Run work and return its result; cancel it and return None if the end is requested first.

        `grace_s`: seconds that it may go on after the request, since it may have a result all the
        same.
        """
        if self.requested and not grace_s:
            work.close()
            return None
        running, stopping = asyncio.create_task(work), asyncio.create_task(self.wait())
        try:
            await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if grace_s:
                await asyncio.wait({running}, timeout=grace_s)
            return running.result() if running.done() else None
        finally:
            for task in (running, stopping):
                task.cancel()
            await asyncio.gather(running, stopping, return_exceptions=True)


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

GRACE_S = 45.0
"""Seconds that a task may take to report its results after it was asked to stop."""
_STOP = "stop"

Tell = Callable[[Any], None]
Work = Callable[[Any, Stop, Tell], Coroutine[Any, Any, None]]
"""Takes its argument, the `Stop` to obey, and the function to report to (all can be pickled)."""


@dataclass(frozen=True, slots=True)
class Task:
    """A function that a new process can import, and its argument.

    `seconds`: time until it is asked to stop; None: no time limit.
    """

    name: str
    work: Work
    argument: Any
    seconds: float | None = None


async def run_task(
    task: Task, tell: Tell, stop: Stop, *, grace_s: float | None = GRACE_S
) -> Failure | None:
    """Run a task in a worker and pass its reports to `tell`; return why it failed, or None.

    `grace_s`: as GRACE_S; None: wait for its end without a limit.
    """
    with WorkerGroup() as group:
        worker = group.start(_work, task.work, task.argument)
        asking = asyncio.create_task(_ask_to_stop(worker, stop, task.seconds))
        last = asyncio.create_task(_pass_on(worker, tell))
        try:
            await asyncio.wait({asking, last}, return_when=asyncio.FIRST_COMPLETED)
            async with asyncio.timeout(grace_s):
                return await last
        except TimeoutError:
            late = f"it did not end within {grace_s:g} s after the request, and was killed"
            return Failure(WorkerLostError(late), late)
        finally:
            for waiting in (asking, last):
                waiting.cancel()
            await asyncio.gather(asking, last, return_exceptions=True)


async def run_tasks(
    tasks: Iterable[Task], tell: Tell, stop: Stop, *, jobs: int
) -> dict[str, Failure]:
    """Run tasks, at most `jobs` side by side; return those that failed, by name."""
    places = asyncio.Semaphore(jobs)
    failed: dict[str, Failure] = {}

    async def run(task: Task) -> None:
        async with places:
            if stop.requested:
                return
            failure = await run_task(task, tell, stop)
        if failure is not None:
            failed[task.name] = failure

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(run(task))
    return failed


def run_side_by_side(
    work: Callable[[_Item], _Result], items: Sequence[_Item], jobs: int
) -> Iterator[tuple[_Item, _Result]]:
    """Call a function for each item in up to `jobs` workers; yield results as they come.

    Raises what the function raises, and WorkerLostError.
    """
    left = list(reversed(items))
    busy: dict[Connection, tuple[Worker, _Item]] = {}
    with WorkerGroup() as group:
        for _ in range(min(jobs, len(left))):
            worker = group.start(_serve, work)
            busy[worker.pipe] = worker, left.pop()
            worker.pipe.send(busy[worker.pipe][1])
        while busy:
            for ready in wait(list(busy)):
                worker, item = busy.pop(ready)  # type: ignore[call-overload]  # they are our pipes
                result = worker.receive()
                if isinstance(result, Failure):
                    raise result.error
                yield item, result
                if left:
                    busy[worker.pipe] = worker, left.pop()
                    worker.pipe.send(busy[worker.pipe][1])


@collect_seldom()
def run_forked(tasks: Iterable[Callable[[Tell], _Result]], jobs: int, tell: Tell) -> list[_Result]:
    """Run tasks in processes forked from this one, at most `jobs` at once; return their results.

    A task may be any function, since its process is a copy of this one; it is taken from `tasks`
    when there is room for it.  It reports to the function that it is given, which calls `tell`
    here.  With one job this process does all the work.  If tasks fail, the first of them is run
    again in this process, so its exception has its traceback.
    """
    if jobs == 1:
        return [task(tell) for task in tasks]
    results: dict[int, _Result] = {}
    failed: dict[int, Callable[[Tell], _Result]] = {}
    busy: dict[Connection, tuple[Worker, int, Callable[[Tell], _Result]]] = {}
    waiting = enumerate(tasks)
    with WorkerGroup("fork") as group:
        while True:
            while len(busy) < jobs and not failed and (following := next(waiting, None)):
                worker = group.start(_run_once, following[1])
                busy[worker.pipe] = worker, *following
            if not busy:
                break
            for ready in wait(list(busy)):
                worker, number, task = busy[ready]  # type: ignore[index]  # they are our pipes
                is_report, message = worker.receive()
                if is_report:
                    tell(message)
                    continue
                del busy[worker.pipe]
                if isinstance(message, Failure):
                    failed[number] = task
                else:
                    results[number] = message
    if failed:
        return [failed[min(failed)](tell)]
    return [results[number] for number in range(len(results))]


def _run_once(pipe: Connection, task: Callable[[Tell], Any]) -> None:
    """Run one task in a worker, and send its reports and its result."""
    gc.freeze()  # the collector would write to each object, so the system would copy its page
    listen(pipe)
    try:
        result = task(lambda report: pipe.send((True, report)))
        message = pickle.dumps((False, result), pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  (the task is run again, in the parent)
        message = pickle.dumps((False, Failure.of(error)), pickle.HIGHEST_PROTOCOL)
    pipe.send_bytes(message)


async def _ask_to_stop(worker: Worker, stop: Stop, seconds: float | None) -> None:
    """Ask a task to stop when its time is over or the end is requested."""
    await stop.wait(seconds)
    with contextlib.suppress(OSError):
        worker.pipe.send(_STOP)


async def _pass_on(worker: Worker, tell: Tell) -> Failure | None:
    """Pass on a task's reports; return its failure, or None."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(worker.pipe.fileno(), ready.set)
    try:
        while True:
            await ready.wait()
            ready.clear()
            while worker.pipe.poll():
                message = worker.receive()
                if message is None or isinstance(message, Failure):
                    return message
                tell(message)
    except (WorkerLostError, OSError) as error:
        return Failure(error, str(error))
    finally:
        loop.remove_reader(worker.pipe.fileno())


def _work(pipe: Connection, work: Work, argument: Any) -> None:
    """Run an asynchronous task in a worker; then report its end."""
    end: Failure | None = None
    try:
        asyncio.run(_listening(pipe, work, argument))
    except Exception as error:  # noqa: BLE001  (every error is reported)
        end = Failure.of(error)
    pipe.send(end)


async def _listening(pipe: Connection, work: Work, argument: Any) -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()

    def stop_work(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the work is done
            loop.call_soon_threadsafe(stop.ask)

    listen(pipe, stop_work)
    await work(argument, stop, pipe.send)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """Call the function in a worker for each argument that the parent sends."""
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    listen(pipe, inbox.put)
    while True:
        argument = inbox.get()
        try:
            result = work(argument)
        except Exception as error:  # noqa: BLE001  (it is raised again, in the parent)
            result = Failure.of(error)
        pipe.send(result)
