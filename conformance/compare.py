"""Compare two targets: the same plans to both, and the shortest on which they differ.

Decides where differences are looked for, and which are told.  The catalogue first: its cases are
short and mean something; then the walks over every transition, then plans that nobody thought of,
until the budget is spent; whatever stage finds something is the last.  A difference must come again
each time.  It is then made as small as it gets against both, and stays the same difference.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from fencepost.conformance.certify import Options, opened
from fencepost.conformance.findings import CONFIRMATIONS, under
from fencepost.conformance.minimise import Minimal, Shown, smallest
from fencepost.conformance.outcome import EXIT_CODES, Overall
from fencepost.conformance.pair import Both, Pair
from fencepost.conformance.pair_difference import Compared, Difference, Gap, compared
from fencepost.conformance.plan import Case
from fencepost.conformance.plan_weight import steps_digest, weight
from fencepost.conformance.target import Provenance, Target
from fencepost.model.revision import Revision

EXAMINED = 4
"""So many kinds of difference are made small; more are counted."""

_TRIES = 600
_ATTEMPTS = 3
_BATCH = 300
_BATCH_VIRTUAL = 50

Written = Iterable[Case | str]
"""Cases, or what is lacking for one."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Some plans, by name.  `write`: makes them for two targets; `whole`: whatever the budget."""

    name: str
    write: Callable[[Pair], Written]
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked for.

    `requests`: to each target, `seconds`: in all; None: no limit of this kind.  `told`: is shown
    the tally as it grows.
    """

    revision: Revision
    stages: Sequence[Stage]
    requests: int | None = None
    seconds: float | None = None
    jobs: int | None = None
    seed: int = 0
    told: Callable[[Tally], None] | None = None


@dataclass(slots=True)
class Tally:
    """What was run: plans by stage, requests to each side, and what came of plans.

    `choices`: the answers differed, and the model gives both; `lacking`: what a side lacked;
    `unknown`: plans of which nothing can be said, by id, and why.
    """

    stages: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    same: int = 0
    choices: int = 0
    differing: int = 0
    lacking: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A difference and how often it was seen; `again` of `runs` more runs showed it.

    `first`: the case that showed it first; `is_minimal`: no step can be left out.
    """

    difference: Difference
    seen: int
    first: str
    again: int
    runs: int
    is_minimal: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it.

    `differences`: the shortest first; `unsteady`: what did not come again each time; `more`: kinds
    of difference that were not examined; `unlike_settings`: by key, of either side.
    """

    one: Provenance
    other: Provenance
    revision: Revision
    is_virtual: bool
    seed: int
    tally: Tally
    differences: tuple[Confirmed, ...]
    unsteady: tuple[Confirmed, ...]
    more: int
    unlike_settings: dict[str, tuple[int | None, int | None]]

    def overall(self) -> Overall:
        """Violated if they differ; unknown if nothing can be said of some plan; else it holds."""
        if self.differences:
            return Overall.VIOLATED
        return Overall.UNKNOWN if self.unsteady or self.tally.unknown else Overall.HOLDS

    def exit_code(self) -> int:
        """1 if they differ, 2 if that is open."""
        return EXIT_CODES[self.overall()]


@asynccontextmanager
async def _paired(one: Target, other: Target, wish: Wish) -> AsyncIterator[Pair]:
    options = Options(jobs=wish.jobs, attempts=1, persists=True)
    async with (
        opened(one, wish.revision, options) as first,
        opened(other, wish.revision, options) as second,
    ):
        slower = one if first.hello.clock == "real" else other
        yield Pair(first, second, slower.hints)


async def compare(one: Target, other: Target, wish: Wish) -> Comparison:
    """Run the stages on both until one finds something.  Raises TargetUnavailableError."""
    async with _paired(one, other, wish) as pair:
        course = _Course(pair, wish)
        for stage in wish.stages:
            await course.run(stage)
            if course.found:
                break
        differences, unsteady = await course.examined()
        return Comparison(
            one=pair.suites[0].provenance(),
            other=pair.suites[1].provenance(),
            revision=wish.revision,
            is_virtual=pair.is_virtual,
            seed=wish.seed,
            tally=course.tally,
            differences=differences,
            unsteady=unsteady,
            more=max(0, len(course.found) - EXAMINED),
            unlike_settings=pair.unlike_settings(),
        )


class _Course:
    """A comparison under way; `found`: the differences so far, by their shape."""

    def __init__(self, pair: Pair, wish: Wish) -> None:
        self.tally = Tally()
        self.found: dict[Gap, list[Difference]] = {}
        self._pair = pair
        self._wish = wish
        self._began = time.monotonic()

    async def run(self, stage: Stage) -> None:
        """The plans of a stage, as far as the budget goes."""
        plans = self._possible(stage)
        size = _BATCH_VIRTUAL if self._pair.is_virtual else _BATCH
        self.tally.stages[stage.name] = 0
        while stage.whole or not self._is_spent():
            batch = list(islice(plans, size))
            if not batch:
                return
            self.tally.stages[stage.name] += len(batch)
            for result in await self._compared(batch):
                self._count(result)
            if self._wish.told is not None:
                self._wish.told(self.tally)

    def _is_spent(self) -> bool:
        requests, seconds = self._wish.requests, self._wish.seconds
        if requests is not None and self.tally.requests >= requests:
            return True
        return seconds is not None and time.monotonic() - self._began >= seconds

    def _possible(self, stage: Stage) -> Iterator[Case]:
        for plan in stage.write(self._pair):
            if isinstance(plan, str):
                self._lacks(plan)
            else:
                yield plan

    def _lacks(self, what: str) -> None:
        self.tally.lacking[what] = self.tally.lacking.get(what, 0) + 1

    async def _compared(self, cases: Sequence[Case]) -> list[Compared]:
        """Each plan compared; on a real clock what stays unknown is tried again."""
        results: dict[str, Compared] = {}
        left = list(cases)
        for _ in range(1 if self._pair.is_virtual else _ATTEMPTS):
            for both in await self._pair.run(left):
                self.tally.requests += both.requests
                results[both.case.id] = self._judged(both)
            left = [case for case in left if results[case.id].unknown is not None]
            if not left:
                break
        return [results[case.id] for case in cases]

    def _judged(self, both: Both) -> Compared:
        return compared(both, self._wish.revision, exact=self._pair.is_virtual)

    def _count(self, result: Compared) -> None:
        if (lacks := result.both.lacks) is not None:
            self._lacks(lacks)
        elif result.unknown is not None:
            self.tally.unknown[result.both.case.id] = result.unknown
        elif result.differs is not None:
            self.tally.differing += 1
            self.found.setdefault(result.differs.gap, []).append(result.differs)
        elif result.is_choice:
            self.tally.choices += 1
        else:
            self.tally.same += 1

    # What was found.

    async def examined(self) -> tuple[tuple[Confirmed, ...], tuple[Confirmed, ...]]:
        """The simplest of some kinds of difference, made small; those that don't last apart."""
        simplest = [min(alike, key=self._weight) for alike in self.found.values()]
        simplest.sort(key=self._weight)
        examined = await asyncio.gather(*(self._examined(d) for d in simplest[:EXAMINED]))
        told = sorted(examined, key=lambda c: self._weight(c.difference))
        steady = tuple(c for c in told if c.again == c.runs)
        return steady, tuple(c for c in told if c.again < c.runs)

    def _weight(self, difference: Difference) -> tuple[tuple[int, ...], str]:
        return weight(difference.both.case, self._pair.apis), difference.both.case.id

    async def _examined(self, difference: Difference) -> Confirmed:
        gap, case = difference.gap, difference.both.case
        seen = len(self.found[gap])
        again = await self._again(gap, case)
        if again < CONFIRMATIONS:
            return Confirmed(difference, seen, case.id, again, CONFIRMATIONS, is_minimal=False)
        minimal = await self._minimal(difference, 1)
        again = await self._again(gap, minimal.shown.case)
        if again < CONFIRMATIONS:  # so small that it shows by luck; it must show each time
            minimal = await self._minimal(difference, CONFIRMATIONS)
            again = await self._again(gap, minimal.shown.case)
        small = _named(minimal.shown.run)
        return Confirmed(small, seen, case.id, again, CONFIRMATIONS, minimal.is_minimal)

    async def _minimal(self, difference: Difference, times: int) -> Minimal[Difference]:
        async def judge(case: Case) -> Difference | None:
            shown = await self._shown(difference.gap, case, times)
            return shown[0] if None not in shown else None

        return await smallest(
            Shown(difference.both.case, difference),
            self._pair.apis,
            judge,
            at_once=self._pair.at_once,
            tries=_TRIES,
        )

    async def _again(self, gap: Gap, case: Case) -> int:
        shown = await self._shown(gap, case, CONFIRMATIONS)
        return sum(difference is not None for difference in shown)

    async def _shown(self, gap: Gap, case: Case, times: int) -> list[Difference | None]:
        """For each run of a plan the difference, if it is this one."""
        found = [self._judged(both).differs for both in await self._pair.run([case] * times)]
        return [d if d is not None and d.gap == gap else None for d in found]


def _named(difference: Difference) -> Difference:
    """The difference with its case under an id that stays while the plan does."""
    both = difference.both
    case = replace(both.case, id=f"differs/{steps_digest(both.case.steps)}", about="")
    one, other = (under(result, case) for result in both.results)
    return replace(difference, both=Both(case, one, other))
