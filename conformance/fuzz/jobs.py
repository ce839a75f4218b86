"""Several fuzzers at one target, each in a process of its own, with seeds of their own.

Decides how a run is shared out: each process draws, runs and judges its own plans, for all of that
takes the processor, and has its part of the requests.  A broker that was started here is shared
through its address; of anything else each process opens its own.  What they found comes back in
the order of their numbers, so on a virtual clock the sum is the same for the same seed and number.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import cast

from fencepost.conformance.certify.certify import OpenTarget, Options, opened
from fencepost.conformance.certify.known_failures import KnownFailure
from fencepost.conformance.fuzz.engine import Budget, Tally
from fencepost.conformance.fuzz.progress import FuzzOptions, FuzzProgress
from fencepost.conformance.plans.plan import Case
from fencepost.conformance.targets.registry import TargetOptions, find_revision, find_target
from fencepost.conformance.targets.target import Target
from fencepost.properties.workers.cancellation import STOP, Stop, watch
from fencepost.properties.workers.processes import end_all

_SPAWN = multiprocessing.get_context("spawn")
_APART = 1 << 32
"""So far apart are the seeds of the processes of one run."""

Share = tuple[Tally, dict[str, int], list[Case] | None]


class HelperLostError(Exception):
    """A process ended before its work did, for example because the system needed its memory."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What a process is to do; all of it fits through a pipe."""

    target: str
    target_options: TargetOptions
    revision: str
    budget: Budget
    seed: int
    corpus: tuple[Case, ...]
    known: tuple[KnownFailure, ...]


@dataclass(frozen=True, slots=True)
class Helpers:
    """The processes beside this one."""

    pipes: tuple[Connection, ...]

    async def join(self, progress: FuzzProgress) -> list[Case] | None:
        """Wait for all, and add what they found; None, or who may have ended their target."""
        suspects_found: list[Case] | None = None
        for pipe in self.pipes:
            tally, known_counts, theirs = await asyncio.to_thread(_received, pipe)
            progress.tally.merge(tally)
            progress.known_counts.update(known_counts)
            if theirs is not None:
                suspects_found = [*(suspects_found or []), *theirs]
        return suspects_found


@asynccontextmanager
async def helped(
    progress: FuzzProgress, target: Target, suite: OpenTarget
) -> AsyncIterator[Helpers]:
    """The processes that were wished for, at work while the body is; ended with it."""
    options = progress.options
    if options.jobs == 1 or progress.tally.died:
        yield Helpers(())
        return
    name, target_options = _shared(target, suite, options)
    known = tuple(options.known(target))
    budget = progress.budget()
    share = budget.requests
    if share is not None:
        share = -(-share // options.jobs)
        progress.options = replace(options, budget=replace(options.budget, requests=share))
    processes: list[SpawnProcess] = []
    pipes: list[Connection] = []
    passing = asyncio.create_task(_passed_on(options.stop, pipes))
    try:
        for number in range(1, options.jobs):
            ours, theirs = _SPAWN.Pipe()
            errand = Errand(
                name,
                target_options,
                options.revision.name,
                Budget(share, budget.seconds),
                options.seed + number * _APART,
                tuple(options.corpus)[number :: options.jobs],
                known,
            )
            process = _SPAWN.Process(target=_work, args=(theirs, errand), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            pipes.append(ours)
        yield Helpers(tuple(pipes))
    finally:
        progress.options = options
        passing.cancel()
        await asyncio.gather(passing, return_exceptions=True)
        end_all(processes)
        for pipe in pipes:
            pipe.close()


async def _passed_on(stop: Stop, pipes: Sequence[Connection]) -> None:
    """Tell the others when an end is wished for."""
    await stop.wait()
    for pipe in pipes:
        with contextlib.suppress(OSError):
            pipe.send(STOP)


def _shared(target: Target, suite: OpenTarget, options: FuzzOptions) -> tuple[str, TargetOptions]:
    """What the others open: the broker that this process started, or one of their own."""
    address = getattr(target, "address", None)
    if isinstance(address, str):
        return f"tcp://{address}", TargetOptions(settings=dict(suite.config))
    return options.target, options.target_options


def _received(pipe: Connection) -> Share:
    try:
        result = pipe.recv()
    except (EOFError, OSError):
        raise HelperLostError(
            "a process ended before its work did; if the system needed its memory, try fewer jobs"
        ) from None
    if isinstance(result, BaseException):
        raise result
    return cast("Share", result)


def _work(pipe: Connection, errand: Errand) -> None:
    """In a process of its own: do the errand, and end at once if nobody waits for it any more.

    A terminal's Ctrl-C comes to all its processes; what to do then is for the first to say.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    result: Share | BaseException
    try:
        result = asyncio.run(_listening(pipe, errand))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is the parent's to raise)
        result = error
    with contextlib.suppress(BrokenPipeError):
        pipe.send(result)


async def _listening(pipe: Connection, errand: Errand) -> Share:
    stop = Stop()
    loop = asyncio.get_running_loop()
    threading.Thread(target=watch, args=(pipe, loop, stop), daemon=True).start()
    return await _done(errand, stop)


async def _done(errand: Errand, stop: Stop) -> Share:
    options = FuzzOptions(
        find_revision(errand.revision),
        errand.budget,
        errand.seed,
        lambda _: errand.known,
        errand.corpus,
        stop=stop,
    )
    progress = FuzzProgress(options)
    target = find_target(errand.target, errand.target_options)
    async with opened(target, options.revision, Options(attempts=1)) as suite:
        suspects_found = await progress.searched(
            target, suite, await progress.arrived(target, suite)
        )
    return progress.tally, dict(progress.known_counts), suspects_found
