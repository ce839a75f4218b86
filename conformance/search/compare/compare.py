"""Compare two targets: run the same plans on both, and report the shortest on which they differ.

Confirm, shrink and explain the differences that a search found, one of each kind.

The simplest difference that is seen each time stands for its kind.  Its plan is shrunk against both
targets as long as the difference stays the same.  If it is at the first wrong answer of a side,
each side may end its plan there, which saves the rest of the waits.  On a real clock each
difference gets a limited time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from msgspec import structs

from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.runner import reset_for
from fencepost.conformance.runtime.unavailable import needed_of_a_target
from fencepost.conformance.search.compare.compare_search import (
    CompareOptions,
    CompareTally,
    DifferenceSearch,
    Kind,
)
from fencepost.conformance.search.compare.difference import (
    DifferenceFingerprint,
    Origins,
    Sources,
    Taken,
    TargetDifference,
    better,
    compared,
)
from fencepost.conformance.search.compare.differential import Both, TargetPair
from fencepost.conformance.search.findings.confirm import Confirmation, Finding, confirm, examine
from fencepost.conformance.search.findings.findings import under
from fencepost.conformance.search.shrink.shrink_plan import shrinking_plan
from fencepost.conformance.targets.target import Target
from fencepost.model.coordinator import Provenance
from fencepost.model.plans.plan_order import steps_digest, weight, with_steps
from fencepost.model.plans.steps import Await, Plan, Request
from fencepost.model.revision import Revision
from fencepost.properties.checking.shrinking import Minimal, Reproducer, shrink
from fencepost.properties.judging.report import EXIT_CODES, Overall

EXAMINE_S = 60.0
"""The time limit to shrink one difference, in seconds, on a real clock."""

_TRIES = 600
_CHOICES = 3
"""Plans of a kind that are tried to find one that differs each time."""


@dataclass(frozen=True, slots=True)
class DifferenceFinding(Finding[Plan, TargetDifference, DifferenceFingerprint]):
    """A difference that was run again; `origins`: what is known of either side."""

    origins: Origins = (None, None)


class Examiner:
    """Confirms and shrinks differences, one of each kind, side by side."""

    def __init__(self, pair: TargetPair, revision: Revision, sources: Sources) -> None:
        self._pair = pair
        self._ending_early = pair.ending_early()
        self._revision = revision
        self._sources = sources

    async def examined(
        self, by_kind: dict[Kind, list[TargetDifference]], most: int
    ) -> tuple[DifferenceFinding, ...]:
        """Examine the simplest kinds, each by its simplest difference, the shortest plan first."""
        kinds = [sorted(alike, key=self._weight) for alike in by_kind.values()]
        kinds.sort(key=lambda alike: (alike[0].taken is Taken.BOTH, self._weight(alike[0])))
        confirmed = await asyncio.gather(*(self._kind(alike) for alike in kinds[:most]))
        return tuple(sorted(confirmed, key=lambda c: self._weight(c.result)))

    def _weight(self, difference: TargetDifference) -> tuple[tuple[int, ...], str]:
        return weight(difference.both.case, self._pair.apis), difference.both.case.id

    async def _kind(self, alike: Sequence[TargetDifference]) -> DifferenceFinding:
        until = time.monotonic() + EXAMINE_S
        tried = [await self._confirmed(alike[0], len(alike), until)]
        for difference in alike[1:_CHOICES]:
            late = not self._pair.is_virtual and time.monotonic() > until
            if tried[-1].is_confirmed or late:
                break
            tried.append(await self._confirmed(difference, len(alike), until))
        return tried[-1] if tried[-1].is_confirmed else tried[0]

    async def _confirmed(
        self, difference: TargetDifference, occurrences: int, until: float
    ) -> DifferenceFinding:
        case, origins = difference.both.case, self._sources.of(difference)
        work, confirmation = await self._work(difference, until)
        first = DifferenceFinding(
            case,
            difference,
            difference.fingerprint,
            case,
            occurrences,
            confirmation.failed,
            confirmation.runs,
            origins=origins,
        )
        if confirmation.is_flaky:
            return first

        async def again(
            smallest: Reproducer[Plan, TargetDifference],
        ) -> Confirmation[TargetDifference]:
            is_first = smallest.value is case
            return confirmation if is_first else await work.again(smallest.value)

        async def is_steady() -> bool:
            return True

        minimal, last = await examine(
            lambda times: work.minimal(difference, times), again, is_steady
        )
        small = _named(minimal.smallest.run)
        return replace(
            first,
            smallest=small.both.case,
            result=small,
            failed=last.failed,
            tried=minimal.tried,
            is_minimal=minimal.is_minimal,
            origins=better(self._sources.of(small), origins),
        )

    async def _work(
        self, difference: TargetDifference, until: float
    ) -> tuple[_Examination, Confirmation[TargetDifference]]:
        """Choose how to examine a difference, and confirm it in that way.

        A run may end at its first wrong answer if the difference shows each time even so.  Where an
        answer comes too late, such a run sees silence, which is another difference.
        """
        fingerprint = difference.fingerprint
        if difference.is_first_wrong and (
            fingerprint.field or fingerprint.left != fingerprint.right
        ):
            ending_early = _Examination(self._ending_early, self._revision, fingerprint, until)
            again = await ending_early.again(difference.both.case)
            if not again.is_flaky:
                return ending_early, again
        work = _Examination(self._pair, self._revision, fingerprint, until)
        return work, await work.again(difference.both.case)


class _Examination:
    """The examination of one difference."""

    def __init__(
        self, pair: TargetPair, revision: Revision, fingerprint: DifferenceFingerprint, until: float
    ) -> None:
        self._pair = pair
        self._revision = revision
        self._gap = fingerprint
        self._until = until

    async def minimal(
        self, difference: TargetDifference, times: int
    ) -> Minimal[Plan, TargetDifference]:
        """Find the smallest plan that shows the difference in each of this many runs."""

        async def judge(case: Plan) -> TargetDifference | None:
            differing = await self._differing(case, times)
            return differing[0] if None not in differing else None

        first = Reproducer(difference.both.case, difference)
        left = None if self._pair.is_virtual else self._until - time.monotonic()
        if left is not None and left <= 0:
            return Minimal(first, 0, is_minimal=False)
        cut = _cut(difference)
        if cut is not None and (run := await judge(cut)) is not None:
            first = Reproducer(cut, run)
        pair = self._pair
        work = shrinking_plan(first, pair.apis, at_once=pair.at_once, tries=_TRIES)
        return await shrink(work, judge, seconds=left)

    async def again(self, case: Plan) -> Confirmation[TargetDifference]:
        """Run a plan some times more."""
        return await confirm(lambda times: self._differing(case, times))

    async def _differing(self, case: Plan, times: int) -> list[TargetDifference | None]:
        """For each run of a plan the difference, if it is this one."""
        exact = self._pair.is_virtual
        runs = await self._pair.run([case] * times)
        differences = [compared(both, self._revision, exact=exact).differs for both in runs]
        return [d if d and d.fingerprint == self._gap else None for d in differences]


def _cut(difference: TargetDifference) -> Plan | None:
    """Cut a plan after the answers that differ; None where that leaves nothing out."""
    case, number = difference.both.case, difference.number
    step = case.steps[number - 1] if number else None
    if not isinstance(step, Request):
        return None
    waits = [
        place
        for place, right in enumerate(case.steps, start=1)
        if isinstance(right, Await) and step.label in right.labels
    ]
    end = waits[-1] if waits else number
    return with_steps(case, case.steps[:end]) if end < len(case.steps) else None


def _named(difference: TargetDifference) -> TargetDifference:
    """Name the case of a difference by an id that depends on its steps alone."""
    both = difference.both
    case = structs.replace(both.case, id=f"differs/{steps_digest(both.case.steps)}", about="")
    left, right = (under(result, case) for result in both.results)
    return replace(difference, both=Both(case, left, right))


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """The result of a comparison.

    `differences`: the shortest plan first; `unsteady`: differences that were not seen each time;
    `more`: how many kinds of difference were not examined; `unlike_settings`: key → the values of
    both sides.
    """

    left: Provenance
    right: Provenance
    revision: Revision
    is_virtual: bool
    seed: int
    tally: CompareTally
    differences: tuple[DifferenceFinding, ...]
    unsteady: tuple[DifferenceFinding, ...]
    more: int
    unlike_settings: dict[str, tuple[int | None, int | None]]

    def overall(self) -> Overall:
        """Violated if the targets differ, unknown if some plan is undecided, else it holds."""
        if self.differences:
            return Overall.VIOLATED
        is_unknown = self.unsteady or self.tally.unknown or not self.tally.compared
        return Overall.UNKNOWN if is_unknown else Overall.HOLDS

    def exit_code(self) -> int:
        """1 if they differ, 2 if that is undecided, else 0."""
        return EXIT_CODES[self.overall()]


async def _learn_settings(target: Target, suite: OpenTarget) -> None:
    """Learn the settings of a target that can't choose them, with those of its protocol.

    Raises TargetUnavailableError.
    """
    if suite.chooses_settings or not suite.revision.protocol.takes_topics:
        return
    with needed_of_a_target():
        async with target.scope("settings") as coordinator:
            suite.config = await reset_for(suite.revision, suite.hello, coordinator, {})


@asynccontextmanager
async def _paired(
    left: Target, right: Target, options: CompareOptions
) -> AsyncIterator[TargetPair]:
    run_options = Options(jobs=options.jobs, attempts=1, persists=True)
    async with (
        open_target(left, options.revision, run_options) as first,
        open_target(right, options.revision, run_options) as second,
    ):
        for target, suite in ((left, first), (right, second)):
            await _learn_settings(target, suite)
        slower = left if first.hello.clock == "real" else right
        yield TargetPair(first, second, slower.hints)


async def compare(left: Target, right: Target, options: CompareOptions) -> TargetComparison:
    """Run the stages on both targets until one finds a difference.

    Raises TargetUnavailableError.
    """
    async with _paired(left, right, options) as pair:
        sources = Sources(left, right, options.revision)
        search = DifferenceSearch(pair, options, sources)
        await search.run()
        examined = await Examiner(pair, options.revision, sources).examined(
            search.by_kind, options.kinds
        )
        return TargetComparison(
            left=left.provenance(),
            right=right.provenance(),
            revision=options.revision,
            is_virtual=pair.is_virtual,
            seed=options.seed,
            tally=search.tally,
            differences=tuple(finding for finding in examined if finding.is_confirmed),
            unsteady=tuple(finding for finding in examined if not finding.is_confirmed),
            more=len(search.by_kind) - len(examined),
            unlike_settings=pair.unlike_settings(),
        )
