"""Tasks in worker processes: `run_tasks` for an event loop, `run_side_by_side` without one.

An asynchronous task reports what it has as it goes, and it has a time limit: at its end it is asked
to stop, and may report what it has; a little later it is killed.  No task outlives us.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from fencepost.properties.workers.cancellation import Stop
from fencepost.properties.workers.processes import (
    Failure,
    Worker,
    WorkerGroup,
    WorkerLostError,
    listen,
)

_Given = TypeVar("_Given")
_Result = TypeVar("_Result")

GRACE_S = 45.0
"""How long a task may take to report what it has, once it was asked to stop."""
_STOP = "stop"

Tell = Callable[[Any], None]
Work = Callable[[Any, Stop, Tell], Coroutine[Any, Any, None]]
"""Takes its argument, who may ask it to stop, and where to report (all of it can be pickled)."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to do: a function that a new process can import, and its argument.

    `seconds`: when it is asked to stop; None: it has no time limit.
    """

    name: str
    work: Work
    given: Any
    seconds: float | None = None


async def run_task(
    task: Task, told: Tell, stop: Stop, *, grace_s: float | None = GRACE_S
) -> Failure | None:
    """Run a task in a worker; `told` hears what it reports.  Why it failed, or None.

    `grace_s`: see GRACE_S; None: it is waited for, however long it takes.
    """
    with WorkerGroup() as group:
        worker = group.start(_work, task.work, task.given)
        asking = asyncio.create_task(_ask_to_stop(worker, stop, task.seconds))
        last = asyncio.create_task(_pass_on(worker, told))
        try:
            await asyncio.wait({asking, last}, return_when=asyncio.FIRST_COMPLETED)
            async with asyncio.timeout(grace_s):
                return await last
        except TimeoutError:
            late = f"it did not end within {grace_s:g} s of being asked to, and was killed"
            return Failure(WorkerLostError(late), late)
        finally:
            for waiting in (asking, last):
                waiting.cancel()
            await asyncio.gather(asking, last, return_exceptions=True)


async def run_tasks(
    tasks: Iterable[Task], told: Tell, stop: Stop, *, jobs: int
) -> dict[str, Failure]:
    """Run tasks, at most `jobs` side by side; those that failed, by name."""
    places = asyncio.Semaphore(jobs)
    failed: dict[str, Failure] = {}

    async def one(task: Task) -> None:
        async with places:
            if stop.asked:
                return
            failure = await run_task(task, told, stop)
        if failure is not None:
            failed[task.name] = failure

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(one(task))
    return failed


def run_side_by_side(
    work: Callable[[_Given], _Result], given: Sequence[_Given], jobs: int
) -> Iterator[tuple[_Given, _Result]]:
    """Call a function for each of these in up to `jobs` workers; yield results as they come.

    Raises what the function raises, and WorkerLostError.
    """
    left = list(reversed(given))
    busy: dict[Connection, tuple[Worker, _Given]] = {}
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


async def _ask_to_stop(worker: Worker, stop: Stop, seconds: float | None) -> None:
    """Ask a task to stop, when its time is over or somebody asks for it."""
    await stop.wait(seconds)
    with contextlib.suppress(OSError):
        worker.pipe.send(_STOP)


async def _pass_on(worker: Worker, told: Tell) -> Failure | None:
    """Pass on what is reported, up to the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(worker.pipe.fileno(), ready.set)
    try:
        while True:
            await ready.wait()
            ready.clear()
            while worker.pipe.poll():
                said = worker.receive()
                if said is None or isinstance(said, Failure):
                    return said
                told(said)
    except (WorkerLostError, OSError) as error:
        return Failure(error, str(error))
    finally:
        loop.remove_reader(worker.pipe.fileno())


def _work(pipe: Connection, work: Work, given: Any) -> None:
    """In a worker: run an asynchronous task; then report its end."""
    end: Failure | None = None
    try:
        asyncio.run(_listening(pipe, work, given))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is told)
        end = Failure.of(error)
    pipe.send(end)


async def _listening(pipe: Connection, work: Work, given: Any) -> None:
    stop = Stop()
    loop = asyncio.get_running_loop()

    def asked(_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the work is done
            loop.call_soon_threadsafe(stop.ask)

    listen(pipe, asked)
    await work(given, stop, pipe.send)


def _serve(pipe: Connection, work: Callable[[Any], Any]) -> None:
    """In a worker: call the function as long as somebody asks for it."""
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    listen(pipe, inbox.put)
    while True:
        given = inbox.get()
        try:
            result = work(given)
        except Exception as error:  # noqa: BLE001  (it is raised again, in the parent)
            result = Failure.of(error)
        pipe.send(result)
