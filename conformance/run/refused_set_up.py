"""Set groups up in another way where a target refuses the usual one, and report the refusal once.

A target that refuses the first request of a hundred cases has one fault, and ninety-nine cases say
nothing about their own rules.  So a case whose set-up is refused is tried again with a set-up that
leads to the same state by other requests.  The refusal must still be seen: some case fails by it,
or the first one that met it keeps it as its result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.group_set_up import Entering, SetUp
from fencepost.model.history.words import plural
from fencepost.model.messages.errors import Error
from fencepost.model.plans.plan import Case, RequestStep
from fencepost.model.plans.plan_order import DELAY
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import kind_of
from fencepost.properties.oracle.verdict import Violation, Wrong, nearest

_MEMBER_ID_REQUIRED_SINCE = 4

RefusedStep = Callable[[CaseResult], RequestStep | None]
Try = Callable[[SetUp, RefusedStep], Awaitable[CaseResult]]
"""Tries a case in a way, until there is a result, or one attempt whose set-up is refused."""


def usual_way(apis: Mapping[str, tuple[int, int]]) -> SetUp:
    """How groups are set up first on a target with these versions."""
    oldest = apis.get("JoinGroup", (0, 0))[0]
    return SetUp(
        Entering.AT_ONCE if oldest < _MEMBER_ID_REQUIRED_SINCE else Entering.ID_FIRST,
    )


def other_ways(usual: SetUp) -> Iterator[SetUp]:
    """The other ways, those with the fewest changes first."""
    entering = (usual.entering, Entering.ID_FIRST, Entering.STATIC)
    ways = {SetUp(*parts) for parts in product(entering, (False, True), (False, True))}

    def order(way: SetUp) -> tuple[int, bool, bool, bool]:
        changes = (way.entering is not usual.entering) + way.older + way.metadata
        return changes, way.entering is Entering.STATIC, way.metadata, way.older

    yield from sorted(ways - {usual}, key=order)


def is_refusal(violation: Violation) -> bool:
    """Whether a request got an error that is not due, no id that is, or a closed connection."""
    chosen = nearest(violation.allowed)
    due = chosen.body.get("errorCode") if chosen is not None and chosen.body is not None else 0
    seen = (violation.observed or {}).get("errorCode")
    match violation.wrong:
        case Wrong.CLOSED:
            return True
        case Wrong.ANSWER | Wrong.EARLY if seen:
            return bool(seen != due)
        case Wrong.ANSWER | Wrong.EARLY | Wrong.SILENCE:
            return bool(due == Error.MEMBER_ID_REQUIRED.value)
        case _:
            return False


@dataclass
class SetUps:
    """How the groups of one target are set up, and what it refused."""

    usual: SetUp
    _refused: dict[str, tuple[CaseResult, SetUp]] = field(default_factory=dict)

    async def judged(self, entry: Entry, first: CaseResult, attempt: Try) -> CaseResult:
        """The result of a case: `first`, or that of another way if the set-up was refused.

        Another way counts if its own set-up is not refused, and it passes or fails.
        """
        refused = self._refused_step(entry, self.usual, first)
        violation = first.violation
        is_its_rule = violation and not set(violation.decided_by).isdisjoint(first.case.rules)
        steps = [] if refused is None or is_its_rule else [refused]
        for way in other_ways(self.usual) if steps else ():
            case = self._written(entry, first, way)
            if any(_sends(case, step) for step in steps):
                continue
            refused_step = partial(self._refused_step, entry, way)
            result = await attempt(way, refused_step)
            if (refused := refused_step(result)) is not None:
                steps.append(refused)
            elif result.outcome is Outcome.UNKNOWN:
                break  # a set-up that works is enough
            elif result.outcome in {Outcome.FAIL, Outcome.PASS}:
                self._refused[entry.id] = first, way
                note = f"{way}, since otherwise {first.observed}"
                return replace(result, notes=(note, *result.notes))
        return first

    def reported(self, results: list[CaseResult]) -> list[CaseResult]:
        """The results, with each refusal in at least one of them."""
        seen = {_refusal(r) for r in results if r.outcome is Outcome.FAIL}
        found = []
        for result in results:
            first, _ = self._refused.get(result.case.id, (None, None))
            if first is not None and _refusal(first) not in seen:
                seen.add(_refusal(first))
                del self._refused[result.case.id]
                found.append(first)
            else:
                found.append(result)
        return found

    def notes(self) -> tuple[str, ...]:
        """What a certificate says of it."""
        counts = Counter((way, _refusal(first)) for first, way in self._refused.values())
        return tuple(
            f"the set-up of {plural(count, 'case')} was refused ({refusal}), and there {way}"
            for (way, refusal), count in counts.most_common()
        )

    def _refused_step(self, entry: Entry, way: SetUp, result: CaseResult) -> RequestStep | None:
        """The request of the set-up that was refused."""
        violation, recording = result.violation, result.recording
        if result.outcome is not Outcome.FAIL or violation is None or recording is None:
            return None
        if not is_refusal(violation):
            return None
        label = recording.labels.get(violation.request_id)
        delayed = bool(recording.config.get(DELAY))
        if label not in entry.script(delayed=delayed, way=way).set_up:
            return None
        steps = (s for s in result.case.steps if isinstance(s, RequestStep) and s.label == label)
        return next(steps, None)

    @staticmethod
    def _written(entry: Entry, first: CaseResult, way: SetUp) -> Case:
        config = {} if first.recording is None else first.recording.config
        return entry.case({}, delayed=bool(config.get(DELAY)), way=way)


def _refusal(result: CaseResult) -> str:
    """What was refused, by which rules it should have been handled, and how it was answered."""
    violation = result.violation
    if violation is None:
        return ""
    how = violation.wrong.value if violation.observed is None else kind_of(violation.observed)
    return f"{', '.join(violation.decided_by)}: {how}"


def _sends(case: Case, step: RequestStep) -> bool:
    """Whether the case sends the same request, whatever its number is."""
    return any(
        isinstance(other, RequestStep) and replace(other, label=step.label) == step
        for other in case.steps
    )
