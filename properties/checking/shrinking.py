"""Shrink a value: find the smallest that still shows a failure, in the same order each time.

`Shrinking` chooses the candidates and takes the first that shows it; `shrink` runs them side by
side in an event loop, `shrink_now` one batch after the other.  The stages of a value, which lie
beside its type, define how it becomes smaller: `item_stages` for lists, others for plans, scenarios
and programs.  This room is the lowest that needs it, so traces and searches share it.

A run may be given up because it takes long; a patient stage tries such values again. Shrinking ends
when no candidate is accepted, or when the limit of tries or of time is reached.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from itertools import combinations, islice
from typing import Generic, TypeVar

from fencepost.properties.workers.processes import Stop

T = TypeVar("T")
R = TypeVar("R")

_MOMENT_S = 0.5
_TRIES = 5_000


@dataclass(frozen=True, slots=True)
class Reproducer(Generic[T, R]):
    """A value that shows the failure, and the run that showed it."""

    value: T
    run: R


@dataclass(frozen=True, slots=True)
class Minimal(Generic[T, R]):
    """The smallest value of a shrinking, the number of tries, and true if it is minimal."""

    smallest: Reproducer[T, R]
    tried: int
    is_minimal: bool


class Undecided(Enum):
    """The reason why a run left open whether its value shows the failure."""

    CANCELLED = auto()
    GIVEN_UP = auto()


class GivenUpError(Exception):
    """A run took too long, or its result is undecided."""


Result = Reproducer[T, R] | Undecided | None
"""The result of one candidate; None: it does not show the failure."""

Edit = Callable[[T, int | None], Iterator[tuple[int, T]]]
"""A value and a place → smaller values, each with its place.

With a place, those that come before it are left out; None: all of them.
"""

Run = Callable[[T], Coroutine[None, None, R | None]]
"""A value → the run that showed the failure, or None.  May raise GivenUpError."""


@dataclass(frozen=True, slots=True)
class EditStage(Generic[T]):
    """Edits to try one after the other; once one is taken, shrinking begins again.

    `goes_on`: it begins again only after this stage, which goes on from the place of the change;
    `is_patient`: runs are not given up, and those that were are tried again.
    """

    edits: Sequence[Edit[T]]
    goes_on: bool = False
    is_patient: bool = False


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    """Candidates that may run side by side."""

    values: Sequence[T]
    is_patient: bool = False


class Shrinking(Generic[T, R]):
    """One shrinking under way; `best` always shows the failure.

    `stages`: of a value; `key`: equal for values that need not be run twice; `begin`: values to
    start with, if one shows it, the first that does.
    """

    def __init__(
        self,
        first: Reproducer[T, R],
        stages: Callable[[T], Iterable[EditStage[T]]],
        key: Callable[[T], Hashable],
        *,
        begin: Sequence[T] = (),
        tries: int = _TRIES,
        at_once: int = 1,
    ) -> None:
        self.best = first
        self.tried = 0
        self._stages = stages
        self._key = key
        self._begin = begin[:tries]
        self._tries = tries
        self._at_once = at_once
        self._known = {key(first.value)}
        self._given_up: set[Hashable] = set()

    def minimal(self, *, is_minimal: bool) -> Minimal[T, R]:
        """Return the best so far."""
        return Minimal(self.best, self.tried, is_minimal)

    def batches(self) -> Generator[Batch[T], Sequence[Result[T, R]], Minimal[T, R]]:
        """Yield candidates, to be answered by their results; return the smallest."""
        if self._begin:
            yield from self._first(Batch(self._begin))
        while (yield from self._round()):
            pass
        return self.minimal(is_minimal=not self._given_up and self.tried < self._tries)

    def _round(self) -> Generator[Batch[T], Sequence[Result[T, R]], bool]:
        """Go through the stages up to the first that makes the value smaller."""
        began = self.best
        for stage in self._stages(began.value):
            if stage.is_patient:
                self._known -= self._given_up
                self._given_up.clear()
            for edit in stage.edits:
                place = yield from self._change(edit, None, stage)
                while stage.goes_on and place is not None:
                    place = yield from self._change(edit, place, stage)
                if place is not None:
                    return True
            if self.best is not began:
                return True
        return False

    def _change(
        self, edit: Edit[T], place: int | None, stage: EditStage[T]
    ) -> Generator[Batch[T], Sequence[Result[T, R]], int | None]:
        """Take the first change of a kind; return its place, None if there is none."""
        candidates = self._new(edit, place)
        while batch := list(islice(candidates, min(self._at_once, self._tries - self.tried))):
            values = Batch([value for _, value in batch], stage.is_patient)
            taken = yield from self._first(values)
            if taken is not None:
                return batch[taken][0]
        return None

    def _new(self, edit: Edit[T], place: int | None) -> Iterator[tuple[int, T]]:
        for at, value in edit(self.best.value, place):
            key = self._key(value)
            if key not in self._known:
                self._known.add(key)
                yield at, value

    def _first(self, batch: Batch[T]) -> Generator[Batch[T], Sequence[Result[T, R]], int | None]:
        """Take the first value that shows the failure; return its place, None if none does."""
        self.tried += len(batch.values)
        results = yield batch
        taken: int | None = None
        for place, (value, result) in enumerate(zip(batch.values, results, strict=True)):
            if result is Undecided.GIVEN_UP:
                self._given_up.add(self._key(value))
            elif isinstance(result, Reproducer) and taken is None:
                taken, self.best = place, result
            elif result is not None:
                self._known.discard(self._key(value))  # a later batch may decide it
        return taken


def shrink_now(
    work: Shrinking[T, R], run: Callable[[Sequence[T]], Sequence[Reproducer[T, R] | None]]
) -> Minimal[T, R]:
    """Shrink a value; `run` runs the candidates of one batch."""
    batches = work.batches()
    try:
        batch = next(batches)
        while True:
            batch = batches.send(run(batch.values))
    except StopIteration as ended:
        minimal: Minimal[T, R] = ended.value
        return minimal


async def shrink(
    work: Shrinking[T, R],
    run: Run[T, R],
    *,
    patient: Run[T, R] | None = None,
    seconds: float | None = None,
    stop: Stop | None = None,
) -> Minimal[T, R]:
    """Shrink a value, with the candidates of a batch side by side.

    One that is accepted waits a moment for those before it, so that the result depends little on
    timing.  `patient`: runs those on which `run` gave up; `seconds`: the time limit; `stop`: ends
    it early.
    """
    minimal = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            minimal = await (stop or Stop()).cut(_driven(work, run, patient or run))
    return minimal or work.minimal(is_minimal=False)


async def _driven(work: Shrinking[T, R], run: Run[T, R], patient: Run[T, R]) -> Minimal[T, R]:
    batches = work.batches()
    try:
        batch = next(batches)
        while True:
            results = await _results(batch.values, patient if batch.is_patient else run)
            batch = batches.send(results)
    except StopIteration as ended:
        minimal: Minimal[T, R] = ended.value
        return minimal


async def _results(values: Sequence[T], run: Run[T, R]) -> list[Result[T, R]]:
    """Run values until the first that is accepted is sure; the others are cancelled then."""
    runs = [asyncio.create_task(_result(value, run)) for value in values]
    try:
        await _decided(runs)
        return [r.result() if r.done() else Undecided.CANCELLED for r in runs]
    finally:
        for running in runs:
            running.cancel()
        await asyncio.gather(*runs, return_exceptions=True)


async def _result(value: T, run: Run[T, R]) -> Result[T, R]:
    try:
        failing_run = await run(value)
    except GivenUpError:
        return Undecided.GIVEN_UP
    return None if failing_run is None else Reproducer(value, failing_run)


async def _decided(runs: Sequence[asyncio.Task[Result[T, R]]]) -> None:
    """Wait until all runs have ended, or one is accepted and those before had a moment more."""
    pending = set(runs)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if any(isinstance(running.result(), Reproducer) for running in done):
            accepted = (
                n for n, r in enumerate(runs) if r.done() and isinstance(r.result(), Reproducer)
            )
            if before := [running for running in runs[: next(accepted)] if not running.done()]:
                await asyncio.wait(before, timeout=_MOMENT_S)
            return


def numbered(candidates: Callable[[T], Iterator[T]]) -> Edit[T]:
    """Make an edit of which the candidates are numbered; a place leaves out those before it."""

    def edit(value: T, place: int | None) -> Iterator[tuple[int, T]]:
        return islice(enumerate(candidates(value)), place, None)

    return edit


# Lists.

Items = tuple[T, ...]


def without(items: Sequence[T], start: int, stop: int) -> Items[T]:
    """Return the items but for those from `start` up to, and not including, `stop`."""
    return (*items[:start], *items[stop:])


def without_runs(items: Sequence[T], size: int) -> Iterator[Items[T]]:
    """Yield the items without each run of `size` items, which don't overlap; the last run first."""
    for stop in range(len(items), 0, -size):
        yield without(items, max(0, stop - size), stop)


def without_pairs(items: Sequence[T]) -> Iterator[Items[T]]:
    """Yield the items without each two of them, the first two first."""
    for first, two in combinations(range(len(items)), 2):
        yield (*items[:first], *items[first + 1 : two], *items[two + 1 :])


def _without_run(size: int, items: Items[T], place: int | None) -> Iterator[tuple[int, Items[T]]]:
    """Yield the items without one run of `size` items, the last first, or only before a place."""
    last = len(items) - size if place is None else min(place - 1, len(items) - size)
    for start in range(last, -1, -1):
        yield start, without(items, start, start + size)


def item_stages(
    simpler: Callable[[T], Iterator[T]],
) -> Callable[[Items[T]], Iterator[EditStage[Items[T]]]]:
    """Make the stages of a list: halves, quarters … single items; two items; a simpler item.

    `simpler`: what may stand in an item's place, the simplest first; it must not go round in
    circles.
    """

    def plainer(items: Items[T]) -> Iterator[Items[T]]:
        for place, item in enumerate(items):
            for plain in simpler(item):
                yield (*items[:place], plain, *items[place + 1 :])

    def stages(items: Items[T]) -> Iterator[EditStage[Items[T]]]:
        half = max(1, len(items) // 2)
        sizes = [half >> n for n in range(half.bit_length())]
        yield EditStage([partial(_without_run, size) for size in sizes], goes_on=True)
        yield EditStage([numbered(without_pairs), numbered(plainer)])

    return stages


def shrink_items(
    items: Sequence[T],
    shows: Callable[[Items[T]], Reproducer[Items[T], R] | None],
    simpler: Callable[[T], Iterator[T]] = lambda _: iter(()),
    *,
    tries: int = _TRIES,
) -> Reproducer[Items[T], R] | None:
    """Shrink a list to the shortest and simplest that still shows a failure.

    It ends when no item and no two items can be left out, and no item can be replaced by a simpler
    one.  `shows`: runs a list, and returns what of it shows the failure; None if the whole list
    doesn't.
    """
    first = shows(tuple(items))
    if first is None:
        return None
    work = Shrinking(first, item_stages(simpler), lambda value: value, tries=tries)
    return shrink_now(work, lambda batch: [shows(value) for value in batch]).smallest
