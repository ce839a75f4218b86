"""Bring groups of a target into a state by the requests that it takes.

A target that refuses the first request of a hundred cases has one fault, and ninety-nine cases say
nothing about their own rules.  So a case whose set-up is refused is tried again with a set-up that
leads to the same state by other requests.  The refusal stays in the report: some case fails by it,
or the first case that met it keeps it as its result.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from msgspec import structs

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.script import Entering, SetUp
from fencepost.conformance.runtime.event_loop import cancel_all
from fencepost.model.history.words import plural
from fencepost.model.messages.errors import Error
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.steps import Plan, Request
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import kind_of
from fencepost.properties.oracle.verdict import Violation, Wrong, nearest

_MEMBER_ID_REQUIRED_SINCE = 4

_LONG_S = 15.0
"""Seconds from which on an attempt takes long.  Eleven others beside each case that takes 5 s keep
our own processor so busy that all answers are late."""

RefusedStep = Callable[[CaseResult], Request | None]
Try = Callable[[SetUp, RefusedStep], Awaitable[CaseResult]]
"""Try a case with a set-up until it has a result, or until one attempt's set-up is refused."""


def usual_way(apis: Mapping[str, tuple[int, int]]) -> SetUp:
    """Return the set-up to try first on a target with these versions."""
    oldest = apis.get("JoinGroup", (0, 0))[0]
    return SetUp(
        Entering.AT_ONCE if oldest < _MEMBER_ID_REQUIRED_SINCE else Entering.ID_FIRST,
    )


def other_ways(usual: SetUp) -> Iterator[SetUp]:
    """Yield the other ways, those with the fewest changes first."""
    entering = (usual.entering, Entering.ID_FIRST, Entering.STATIC)
    ways = {SetUp(*parts) for parts in product(entering, (False, True), (False, True))}

    def order(way: SetUp) -> tuple[int, bool, bool, bool]:
        changes = (way.entering is not usual.entering) + way.older + way.metadata
        return changes, way.entering is Entering.STATIC, way.metadata, way.older

    yield from sorted(ways - {usual}, key=order)


def is_refusal(violation: Violation) -> bool:
    """Return True for a wrong error, no id where one is due, or a closed connection."""
    chosen = nearest(violation.allowed)
    due = chosen.body.get("errorCode") if chosen is not None and chosen.body is not None else 0
    code = (violation.observed or {}).get("errorCode")
    match violation.wrong:
        case Wrong.CLOSED:
            return True
        case Wrong.ANSWER | Wrong.EARLY if code:
            return bool(code != due)
        case Wrong.ANSWER | Wrong.EARLY | Wrong.SILENCE:
            return bool(due == Error.MEMBER_ID_REQUIRED.value)
        case _:
            return False


@dataclass
class SetUps:
    """The set-up of the groups of one target, and the set-ups that it refused."""

    usual: SetUp
    _refused: dict[str, tuple[CaseResult, SetUp]] = field(default_factory=dict)

    async def retry(
        self, entry: Entry, first: CaseResult, attempt: Try, places: asyncio.Semaphore
    ) -> CaseResult:
        """Return `first`, or the result of another way if the set-up was refused.

        Another way counts if its own set-up is not refused, and it passes or fails.  The other ways
        of a case that takes long run side by side, as far as there are places for attempts.
        """
        refused = self._refused_step(entry, self.usual, first)
        violation = first.violation
        is_its_rule = violation and not set(violation.decided_by).isdisjoint(first.case.rules)
        if refused is None or is_its_rule:
            return first
        steps = [refused]
        ways = list(other_ways(self.usual))
        running = dict[SetUp, asyncio.Task[CaseResult]]()
        if first.seconds > _LONG_S and not places.locked():

            async def begin(way: SetUp) -> CaseResult:
                async with places:
                    return await attempt(way, partial(self._refused_step, entry, way))

            others = (w for w in ways if not _sends(self._written(entry, first, w), refused))
            running = {way: asyncio.create_task(begin(way)) for way in others}
        try:
            for way in ways:
                case = self._written(entry, first, way)
                if any(_sends(case, step) for step in steps):
                    continue
                refused_step = partial(self._refused_step, entry, way)
                result = await (running.get(way) or attempt(way, refused_step))
                if (refused := refused_step(result)) is not None:
                    steps.append(refused)
                elif result.outcome is Outcome.UNKNOWN:
                    break  # a set-up that works is enough
                elif result.outcome in {Outcome.FAIL, Outcome.PASS}:
                    self._refused[entry.id] = first, way
                    note = f"{way}, since otherwise {first.observed}"
                    return replace(result, notes=(note, *result.notes))
        finally:
            await cancel_all(running.values())
        return first

    def with_refusals(self, results: list[CaseResult]) -> list[CaseResult]:
        """Return the results, with each refusal in at least one of them."""
        reported = {_refusal(r) for r in results if r.outcome is Outcome.FAIL}
        complete = []
        for result in results:
            first, _ = self._refused.get(result.case.id, (None, None))
            if first is not None and _refusal(first) not in reported:
                reported.add(_refusal(first))
                del self._refused[result.case.id]
                complete.append(first)
            else:
                complete.append(result)
        return complete

    def notes(self) -> tuple[str, ...]:
        """Return the notes of a certificate about refused set-ups."""
        counts = Counter((way, _refusal(first)) for first, way in self._refused.values())
        return tuple(
            f"the set-up of {plural(count, 'case')} was refused ({refusal}): {way}"
            for (way, refusal), count in counts.most_common()
        )

    def _refused_step(self, entry: Entry, way: SetUp, result: CaseResult) -> Request | None:
        """Return the request of the set-up that was refused, or None."""
        violation, recording = result.violation, result.recording
        if result.outcome is not Outcome.FAIL or violation is None or recording is None:
            return None
        if not is_refusal(violation):
            return None
        label = recording.labels.get(violation.request_id)
        delayed = bool(recording.config.get(DELAY))
        if label not in entry.script(delayed=delayed, way=way).set_up:
            return None
        steps = (s for s in result.case.steps if isinstance(s, Request) and s.label == label)
        return next(steps, None)

    @staticmethod
    def _written(entry: Entry, first: CaseResult, way: SetUp) -> Plan:
        config = {} if first.recording is None else first.recording.config
        return entry.case({}, delayed=bool(config.get(DELAY)), way=way)


def _refusal(result: CaseResult) -> str:
    """Return the rules by which the refused request was due, and its answer."""
    violation = result.violation
    if violation is None:
        return ""
    how = violation.wrong.value if violation.observed is None else kind_of(violation.observed)
    return f"{', '.join(violation.decided_by)}: {how}"


def _sends(case: Plan, step: Request) -> bool:
    """Return True if the case sends the same request, under any number."""
    return any(
        isinstance(other, Request) and structs.replace(other, label=step.label) == step
        for other in case.steps
    )
