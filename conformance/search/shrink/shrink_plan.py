"""Shrink a plan as long as it still shows a failure, by running smaller plans.

The first smaller plan, in order, that the judge accepts is taken.  Several plans run side by side
where a run takes time; one that is accepted waits a moment for those before it, so that the result
depends little on timing.  A judge may give up on a run that takes long; at the end it is asked
again with more patience about plans that leave out a step, a member or a group.  Shrinking ends
when no smaller plan is accepted, so no step can be left out, or when the limit of tries or of time
is reached.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from fencepost.conformance.search.shrink.plan_edits import EDITS, LEAVING_OUT, Edit, sensible
from fencepost.model.plans.plan import Case
from fencepost.model.plans.plan_order import DELAY, Versions, steps_key
from fencepost.properties.workers.cancellation import Stop

T = TypeVar("T")

TRIES = 4000
"""The most plans that are tried for one failure."""

AT_ONCE = 24
"""How many plans run side by side on a real clock."""

_MOMENT_S = 0.5


@dataclass(frozen=True, slots=True)
class Reproducer(Generic[T]):
    """A plan that shows a failure, and the run that showed it."""

    case: Case
    run: T


Judge = Callable[[Case], Coroutine[None, None, T | None]]
"""A plan → the run that showed the failure, None where it did not show.

May raise GivenUpError.
"""


class GivenUpError(Exception):
    """A run took so long that it was not waited for, or it left undecided what it shows."""


@dataclass(frozen=True, slots=True)
class Minimal(Generic[T]):
    """The smallest plan that was found, how many were tried, and whether it is minimal."""

    shown: Reproducer[T]
    tried: int
    is_minimal: bool


async def smallest(
    first: Reproducer[T],
    apis: Versions,
    judge: Judge[T],
    *,
    patient: Judge[T] | None = None,
    begin: Sequence[Case] = (),
    at_once: int = 1,
    tries: int = TRIES,
    seconds: float | None = None,
    stop: Stop | None = None,
) -> Minimal[T]:
    """Shrink a plan.

    `apis`: the versions that the target has; `patient`: the judge for plans on which `judge` gave
    up; `begin`: plans to start with, if one fails, the first that does; `seconds`: the time limit;
    `stop`: ends it early.
    """
    work = _PlanShrinking(first, apis, judge, patient or judge, at_once, tries)
    ended = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            ended = await (stop or Stop()).cut(work.whole(begin))
    return Minimal(work.best, work.tried, bool(ended) and work.tried < tries)


class _PlanShrinking(Generic[T]):
    """One shrinking under way; `best` always shows the failure."""

    def __init__(
        self,
        first: Reproducer[T],
        apis: Versions,
        judge: Judge[T],
        patient: Judge[T],
        at_once: int,
        tries: int,
    ) -> None:
        self.best = first
        self.tried = 0
        self._apis = apis
        self._judge = judge
        self._quick = judge
        self._patient = patient
        self._at_once = at_once
        self._tries = tries
        self._known = {_key(first.case)}
        self._given_up: set[_Key] = set()

    async def whole(self, begin: Sequence[Case]) -> bool:
        """Shrink until no smaller plan shows the failure; returns whether that is sure of each."""
        await self._first(begin[: self._tries])
        while True:
            while await self._round():
                pass
            if not await self._leaves_out_with_patience():
                return not self._given_up

    async def _round(self) -> bool:
        """Try every kind of change; returns whether any made the plan smaller."""
        began = self.best
        for edit in EDITS:
            place: int | None = 0
            while place is not None:
                place = await self._change(edit, place)
        return self.best is not began

    async def _leaves_out_with_patience(self) -> bool:
        """Whether something can be left out, by a run that was given up before."""
        self._known -= self._given_up
        self._given_up.clear()
        self._judge = self._patient
        try:
            for edit in LEAVING_OUT:
                if await self._change(edit, 0) is not None:
                    return True
        finally:
            self._judge = self._quick
        return False

    async def _change(self, edit: Edit, place: int) -> int | None:
        """Take the first change of a kind from some place on; returns where to go on."""
        candidates = self._new(edit, place)
        while batch := list(islice(candidates, min(self._at_once, self._tries - self.tried))):
            taken = await self._first([case for _, case in batch])
            if taken is not None:
                return batch[taken][0]
        return None

    async def _first(self, cases: Sequence[Case]) -> int | None:
        """Take the first plan that shows the failure; returns its place, None if none."""
        self.tried += len(cases)
        runs = [asyncio.create_task(self._asked(case)) for case in cases]
        try:
            await _decided(runs)
            for place, running in enumerate(runs):
                if running.done() and (run := running.result()) is not None:
                    self.best = Reproducer(cases[place], run)
                    return place
        finally:
            for running in runs:
                running.cancel()
            came = await asyncio.gather(*runs, return_exceptions=True)
            for case, shown in zip(cases, came, strict=True):
                if shown is not None:
                    self._known.discard(_key(case))  # it was not decided
        return None

    async def _asked(self, case: Case) -> T | None:
        try:
            return await self._judge(case)
        except GivenUpError:
            self._given_up.add(_key(case))
            return None

    def _new(self, edit: Edit, place: int) -> Iterator[tuple[int, Case]]:
        """Plans that were not tried yet; those before `place` were tried in a bigger plan."""
        for at, case in enumerate(sensible(edit, self.best.case, self._apis)):
            key = _key(case)
            if at >= place and key not in self._known:
                self._known.add(key)
                yield at, case


async def _decided(runs: Sequence[asyncio.Task[T | None]]) -> None:
    """Wait until all runs have ended, or one is accepted and those before had a moment more."""
    pending = set(runs)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if any(running.result() is not None for running in done):
            first = next(n for n, r in enumerate(runs) if r.done() and r.result() is not None)
            if before := [running for running in runs[:first] if not running.done()]:
                await asyncio.wait(before, timeout=_MOMENT_S)
            return


_Key = tuple[str, int | None]


def _key(case: Case) -> _Key:
    return steps_key(case.steps), case.needs.config.get(DELAY)
