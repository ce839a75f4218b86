"""Hold the result of an audit for each group: outcome, violations, and unjudged segments."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from fencepost.model.table.table import Level
from fencepost.properties.oracle.verdict import Allowed
from fencepost.traces.files.document_schema import Count, Document
from fencepost.traces.logs.request_log import LoggedExchange

EXPLAINED: Final = "explained"
VIOLATED: Final = "violated"
UNKNOWN: Final = "unknown"

_MOST_NOTED = 20


LevelName = Annotated[str, Meta(extra_json_schema={"enum": [level.name for level in Level]})]
Outcome = Literal["violated", "unknown", "explained"]
FileLine = Annotated[str, Meta(pattern=":[0-9]+$", description="FILE:LINE")]
_Counted = dict[str, Annotated[int, Meta(ge=1)]]


class AllowedEntry(Document, frozen=True):
    """An answer that would have been correct.

    `rule`: its rule in the model; `body`: the answer; `difference`: how the answer in the log
    differs from it.
    """

    rule: str
    body: dict[str, Any] | None
    difference: str


class ViolationEntry(Document, frozen=True):
    """An answer that no state explains.

    `place`: its line, as FILE:LINE; `file`, `line`: the same apart; `broker`: the name of the
    broker; `at_ms`: the time of the answer; `api`, `version`, `client_id`, `member_id`,
    `group_instance_id`: of the request.  `says`: the violation, as a sentence; `wrong`: the
    part of the answer that is wrong; `level`: how strong the rule is; `rule`: the nearest rule,
    null where every state forbids the answer.  `observed`: the answer in the log; `allowed`:
    correct answers, the nearest first.
    """

    place: FileLine
    file: str
    line: Annotated[int, Meta(ge=1)]
    broker: str
    at_ms: int
    api: str
    version: int
    client_id: str
    member_id: str | None
    group_instance_id: str | None
    says: str
    wrong: str
    level: LevelName
    rule: str | None
    allowed: tuple[AllowedEntry, ...]
    observed: dict[str, Any]


class UnjudgedSegment(Document, frozen=True):
    """Lines that fencepost could not judge.

    `first`, `last`: the lines, as FILE:LINE; `lines`: their number; `reason`: a sentence.
    """

    reason: str
    first: FileLine
    last: FileLine
    lines: Count


class GroupEntry(Document, frozen=True):
    """The result for a group.

    `group`: its id; `outcome`: explained, violated or unknown; `reason`: a sentence for it;
    `lines`: the number of lines that name the group; `judged`: of these, lines that fencepost
    compared with a known state, the others with all states; `anchors`: how often its state
    became known.  `first_ms`, `last_ms`: times of the first line and the last; `brokers`: names
    of the brokers that answered.  `violations`: the number of wrong answers; `found`: the first
    of them; `undecided`: the number of segments without a verdict; `unjudged`: the first of
    them; `assumed`: assumptions, `notes`: tolerated deviations, each with its number of uses.
    """

    group: str
    outcome: Outcome
    reason: str
    lines: Count
    judged: Count
    anchors: Count
    first_ms: int
    last_ms: int
    brokers: tuple[str, ...]
    violations: Count
    found: tuple[ViolationEntry, ...]
    undecided: Count
    unjudged: tuple[UnjudgedSegment, ...]
    assumed: _Counted
    notes: _Counted


@dataclass(frozen=True, slots=True)
class AuditViolation:
    """An answer that no state explains.

    `says`: the violation, in a sentence; `rule`: the nearest explanation's, None where every state
    forbids the answer; `allowed`: right answers, nearest first.
    """

    exchange: LoggedExchange
    says: str
    level: str
    wrong: str
    rule: str | None = None
    allowed: tuple[Allowed, ...] = ()

    def entry(self) -> ViolationEntry:
        """Return it as the report has it."""
        x = self.exchange
        return ViolationEntry(
            place=x.place,
            file=x.source,
            line=x.line,
            broker=x.broker,
            at_ms=x.answered_ms,
            api=x.api,
            version=x.version,
            client_id=x.client_id,
            member_id=x.request_body.get("memberId"),
            group_instance_id=x.request_body.get("groupInstanceId"),
            says=self.says,
            wrong=self.wrong,
            level=self.level,
            rule=self.rule,
            allowed=tuple(
                AllowedEntry(rule=a.rule, body=a.body, difference=a.difference)
                for a in self.allowed
            ),
            observed=dict(x.answer_body),
        )


@dataclass(slots=True)
class GroupResult:
    """The result of an audit for one group.

    `lines`: all that name it; `judged`: those held to a known state; `assumed`: assumptions, with
    their numbers; `notes`: deviations that are allowed; `unjudged`: the first segments without a
    verdict; `undecided`: their number; `anchors`: the times that its state became known; `refused`:
    the first rebalance that completes, and that nothing explains.
    """

    group_id: str
    lines: int = 0
    judged: int = 0
    anchors: int = 0
    first_ms: int = 0
    last_ms: int = 0
    brokers: set[str] = field(default_factory=set)
    first_violations: list[AuditViolation] = field(default_factory=list)
    violations: int = 0
    undecided: int = 0
    unjudged: list[UnjudgedSegment] = field(default_factory=list)
    refused: str = ""
    assumed: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    @property
    def outcome(self) -> Outcome:
        """`explained`, `violated` or `unknown`."""
        if self.violations:
            return VIOLATED
        return UNKNOWN if self.undecided or self._is_lost else EXPLAINED

    @property
    def _is_lost(self) -> bool:
        """Return True if rebalances complete, and none of them makes the state known."""
        return not self.anchors and bool(self.refused)

    @property
    def reason(self) -> str:
        """The verdict in a sentence."""
        if self.violations:
            first = self.first_violations[0]
            return f"{first.exchange.place}: {first.exchange.api} was answered {first.says}"
        if self.undecided:
            first_gap = self.unjudged[0]
            return f"{first_gap.first} to {first_gap.last}: {first_gap.reason}"
        if self._is_lost:
            return f"{self.refused}: a rebalance completes, but the model can't explain it"
        if not self.anchors:
            return "no rebalance completes in the log, but every answer is possible"
        return "the model explains every answer"

    def add_violation(self, violation: AuditViolation) -> None:
        """Add a violation."""
        self.violations += 1
        if len(self.first_violations) < _MOST_NOTED:
            self.first_violations.append(violation)

    def add_unjudged(self, segment: UnjudgedSegment) -> None:
        """Add a segment that could not be judged."""
        self.undecided += 1
        if len(self.unjudged) < _MOST_NOTED:
            self.unjudged.append(segment)

    def entry(self) -> GroupEntry:
        """Return it as the report has it."""
        return GroupEntry(
            group=self.group_id,
            outcome=self.outcome,
            reason=self.reason,
            lines=self.lines,
            judged=self.judged,
            anchors=self.anchors,
            first_ms=self.first_ms,
            last_ms=self.last_ms,
            brokers=tuple(sorted(self.brokers)),
            violations=self.violations,
            found=tuple(violation.entry() for violation in self.first_violations),
            undecided=self.undecided,
            unjudged=tuple(self.unjudged),
            assumed=dict(sorted(self.assumed.items())),
            notes=dict(sorted(self.notes.items())),
        )
