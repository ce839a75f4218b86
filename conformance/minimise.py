"""A plan made smaller as long as it still shows something, against whatever showed it.

Decides which smaller plan is taken: the first, in order, that a judge says shows it too.  Plans are
tried several side by side where running them takes time; which is taken doesn't depend on which
ends first, so luck has as little say as can be.  It ends when nothing simpler shows it, so no step
can be left out; or when enough was tried, or for long enough.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from fencepost.conformance.plan import Case
from fencepost.conformance.plan_edits import EDITS, Edit, sensible
from fencepost.conformance.plan_weight import DELAY, Versions, steps_key

T = TypeVar("T")

TRIES = 4000
"""So many plans are tried for one failure at most."""

AT_ONCE = 24
"""So many side by side, on a real clock."""


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """A plan that shows what is looked for, and the run that showed it."""

    case: Case
    run: T


Judge = Callable[[Case], Coroutine[None, None, T | None]]
"""A plan → the run that showed what is looked for, None where it didn't show."""


@dataclass(frozen=True, slots=True)
class Minimal(Generic[T]):
    """The smallest that was found, how many plans were tried, and whether nothing was left out."""

    shown: Shown[T]
    tried: int
    is_minimal: bool


async def smallest(
    first: Shown[T],
    apis: Versions,
    judge: Judge[T],
    *,
    at_once: int = 1,
    tries: int = TRIES,
    seconds: float | None = None,
) -> Minimal[T]:
    """Make a plan smaller; `apis`: the versions that can be asked for; `seconds`: at most."""
    work = _Work(first, apis, judge, at_once, tries)
    ended = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while await work.round():
                pass
            ended = True
    return Minimal(work.best, work.tried, ended and work.tried < tries)


class _Work(Generic[T]):
    """One minimisation under way; `best` always shows it."""

    def __init__(
        self, first: Shown[T], apis: Versions, judge: Judge[T], at_once: int, tries: int
    ) -> None:
        self.best = first
        self.tried = 0
        self._apis = apis
        self._judge = judge
        self._at_once = at_once
        self._tries = tries
        self._known = {_key(first.case)}

    async def round(self) -> bool:
        """Every kind of change; whether any made it smaller."""
        began = self.best
        for edit in EDITS:
            place: int | None = 0
            while place is not None:
                place = await self._change(edit, place)
        return self.best is not began

    async def _change(self, edit: Edit, place: int) -> int | None:
        """The first change of a kind, from some place on; where to go on, if there was one."""
        candidates = self._new(edit, place)
        while batch := list(islice(candidates, min(self._at_once, self._tries - self.tried))):
            self.tried += len(batch)
            runs = [asyncio.create_task(self._judge(case)) for _, case in batch]
            try:
                for (at, case), running in zip(batch, runs, strict=True):
                    if (run := await running) is not None:
                        self.best = Shown(case, run)
                        return at
            finally:
                for running in runs:
                    running.cancel()
                await asyncio.gather(*runs, return_exceptions=True)
        return None

    def _new(self, edit: Edit, place: int) -> Iterator[tuple[int, Case]]:
        """What was not tried yet; what stands before `place` was, in a bigger plan."""
        for at, case in enumerate(sensible(edit, self.best.case, self._apis)):
            key = _key(case)
            if at >= place and key not in self._known:
                self._known.add(key)
                yield at, case


def _key(case: Case) -> tuple[str, int | None]:
    return steps_key(case.steps), case.needs.config.get(DELAY)
