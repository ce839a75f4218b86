"""Several fuzzers at one target, each in a worker process, with seeds of their own.

A run is shared out: each worker draws, runs and judges its own plans, since all of that takes the
processor, and has its part of the requests.  A broker that was started here is shared through its
address; of anything else each worker opens its own.  What they found comes back in the order of
their numbers, so on a virtual clock the sum is the same for the same seed and number.
There one is enough unless more are asked for; a real target has one for each processor.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from fencepost.conformance.run.certify import OpenTarget, Options, opened
from fencepost.conformance.search.fuzz.fuzz_progress import FuzzOptions, FuzzProgress
from fencepost.conformance.search.fuzz.tally import Budget, Tally
from fencepost.conformance.targets.own_revision import load_named
from fencepost.conformance.targets.target import Target
from fencepost.conformance.targets.target_registry import TargetOptions, find_revision, find_target
from fencepost.model.plans.plan import Case
from fencepost.properties.workers.cancellation import Stop
from fencepost.properties.workers.pool import Task, Tell, run_task
from fencepost.properties.workers.processes import Failure
from fencepost.traces.report.known_failures import KnownFailure

_APART = 1 << 32
"""The distance between the seeds of the workers of one run."""

_MOST = 4
"""So many at most, unless more are asked for: the target needs the processors, too."""

Share = tuple[Tally, dict[str, int], list[Case] | None]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What one worker searches; all of it can be pickled."""

    target: str
    target_options: TargetOptions
    revision: str
    budget: Budget
    seed: int
    corpus: tuple[Case, ...] | None
    known: tuple[KnownFailure, ...]
    known_as: str


@dataclass(frozen=True, slots=True)
class OtherJobs:
    """The fuzzers beside the one in this process."""

    running: tuple[asyncio.Task[Failure | None], ...] = ()
    found: tuple[list[Share], ...] = ()

    async def join(self, progress: FuzzProgress) -> list[Case] | None:
        """Wait for all, and add what they found; None, or who may have ended their target.

        Raises what a fuzzer raises, and WorkerLostError.
        """
        suspects_found: list[Case] | None = None
        for task, found in zip(self.running, self.found, strict=True):
            if (failure := await task) is not None:
                raise failure.error
            ((tally, known_counts, theirs),) = found
            progress.tally.merge(tally)
            progress.known_counts.update(known_counts)
            if theirs is not None:
                suspects_found = [*(suspects_found or []), *theirs]
        return suspects_found


def usual_jobs(clock: str) -> int:
    """How many search a target unless somebody says so; on a virtual clock always the same."""
    return 1 if clock == "virtual" else min(_MOST, os.cpu_count() or 1)


@asynccontextmanager
async def other_jobs(
    progress: FuzzProgress, target: Target, suite: OpenTarget
) -> AsyncIterator[OtherJobs]:
    """Run the other fuzzers of this run while the body does; they end with it."""
    options = progress.options
    jobs = options.jobs or usual_jobs(suite.hello.clock)
    if jobs == 1 or progress.tally.died:
        yield OtherJobs()
        return
    name, target_options = _shared(target, suite, options)
    known = tuple(options.known(target))
    corpus = None if options.corpus is None else tuple(options.corpus)
    budget = progress.budget()
    share = budget.requests
    if share is not None:
        share = -(-share // jobs)
        progress.options = replace(options, budget=replace(options.budget, requests=share))
    found = tuple(list[Share]() for _ in range(1, jobs))
    running = []
    try:
        for number, mine in enumerate(found, 1):
            assignment = Assignment(
                name,
                target_options,
                options.revision.name,
                Budget(share, budget.seconds),
                options.seed + number * _APART,
                None if corpus is None else corpus[number::jobs],
                known,
                options.target,
            )
            task = Task(f"fuzzer {number}", _fuzz, assignment)
            running.append(
                asyncio.create_task(run_task(task, mine.append, options.stop, grace_s=None))
            )
        await asyncio.sleep(0)  # they start before this process has other things to do
        yield OtherJobs(tuple(running), found)
    finally:
        progress.options = options
        for waiting in running:
            waiting.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _shared(target: Target, suite: OpenTarget, options: FuzzOptions) -> tuple[str, TargetOptions]:
    """What the others open: the broker that this process started, or one of their own."""
    address = getattr(target, "address", None)
    if isinstance(address, str):
        return f"tcp://{address}", TargetOptions(settings=dict(suite.config))
    return options.target, options.target_options


async def _fuzz(given: Assignment, stop: Stop, tell: Tell) -> None:
    """In a worker: search, and report the share of the sum."""
    load_named(given.revision)
    load_named(given.target)
    options = FuzzOptions(
        find_revision(given.revision),
        given.budget,
        given.seed,
        lambda _: given.known,
        given.corpus,
        stop=stop,
    )
    progress = FuzzProgress(options)
    target = find_target(given.target, given.target_options)
    how = Options(attempts=1, follows=True, known_as=given.known_as)
    async with opened(target, options.revision, how) as suite:
        suspects_found = await progress.searched(
            target, suite, await progress.arrived(target, suite)
        )
    tell((progress.tally, dict(progress.known_counts), suspects_found))
