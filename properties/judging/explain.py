"""Explain why a case failed: one sentence, the further violations, and the steps before it.

The sentence names the right answer, the reason, the rule, and the observed answer: "A1's Heartbeat
v4 (step 5) should have been answered X because REASON (rule ID, MUST). Instead: Y."  The steps list
requests and answers, in order, with members by name: "A1" is the first process of instance "A"; a
name in small letters is a dynamic member.

After an answer that only deviates the judge follows the history further.  A graver violation later
is the verdict; the deviations follow it, the gravest first, with step, answer, rule and level.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.history.history import History, HistoryExchange
from fencepost.model.history.step_lines import Line, show_wrong_field, step_lines, texts
from fencepost.model.history.words import (
    WrongField,
    answer_words,
    plural,
    quoted,
    with_names,
    wrong_field,
)
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision
from fencepost.model.table.table import Rule
from fencepost.properties.judging.answer_diff import (
    Recording,
    deviation,
    difference,
    signature,
)
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.oracle.fingerprint import broken_rule
from fencepost.properties.oracle.verdict import (
    Allowed,
    Beside,
    Verdict,
    Violation,
    Wait,
    Wrong,
    nearest,
)

_MOST_IN_FULL = 3
"""The most deviations to describe in full."""


def place_of(lines: Sequence[Line], request_id: str) -> str:
    """Return the step of a request, and that of its answer where it is another."""
    number = next((line.number for line in lines if line.asks == request_id), 0)
    answered = _answered_in(lines, request_id) or number
    if not number:
        return ""
    return (
        f" (step {number})" if number == answered else f" (step {number}, answered in {answered})"
    )


def other_violations(verdict: Verdict, history: History, lines: Sequence[Line]) -> str:
    """List further violations in sentences: in the same answer, before it and after it; or ""."""
    if verdict.violation is None:
        return ""
    own = verdict.violation.request_id
    here = _answered_in(lines, own) or len(lines)
    when: dict[str, list[Beside]] = {}
    for beside in verdict.besides:
        at = _answered_in(lines, beside.request_id)
        word = "before that" if at < here else "after that"
        word = "in the same answer" if beside.request_id == own else word
        when.setdefault(word, []).append(beside)
    words = ""
    for word, those in when.items():
        described = [_described(beside, history, lines) for beside in those[:_MOST_IN_FULL]]
        more = len(those) - len(described)
        if more:
            described.append(f"and {plural(more, 'more field')}, which the steps mark")
        words += f" Also wrong {word}: {'; '.join(described)}."
    return words


def _described(beside: Beside, history: History, lines: Sequence[Line]) -> str:
    exchange = history.exchange(beside.request_id)
    differs = _deviation_words(beside.difference, history.names)
    rule = f"rule {beside.rule}, " if beside.rule else ""
    api = "" if exchange is None else f"'s {exchange.api} v{exchange.version}"
    who = history.senders.get(beside.request_id, "somebody")
    place = place_of(lines, beside.request_id)
    return f"{who}{api}{place}: {differs} ({rule}{beside.level.value})"


def _deviation_words(difference: str, names: Mapping[str, str]) -> str:
    """Describe the wrong field of an answer, or what else deviates."""
    field = wrong_field(difference, names)
    if field is None:
        return deviation(difference, names)
    return f"{field.field} {field.got} instead of {field.want}"


def _answered_in(lines: Sequence[Line], request_id: str) -> int:
    return next((line.number for line in lines if line.answers == request_id), 0)


__all__ = [
    "Explanation",
    "expected_answers",
    "explain",
    "explained",
    "sentence",
    "signature",
    "steps_of",
]


_NAMES = frozenset(error.value for error in Error)
"""The codes; of errors that never got a number, the names."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The sentence, the numbered steps, a line each, and the rule that was broken, if any."""

    sentence: str
    steps: tuple[str, ...]
    signature: str
    rule: Rule | None

    @property
    def text(self) -> str:
        """Return all of it, as lines."""
        return "\n".join([self.sentence, *self.steps])


def explained(result: CaseResult, revision: Revision) -> Explanation | None:
    """Return the explanation of a case's result; None without a recording."""
    if result.recording is None:
        return None
    return explain(result.verdict, result.recording, revision)


def explain(verdict: Verdict | None, recording: Recording, revision: Revision) -> Explanation:
    """Explain a verdict: the right answer, its rule and reason, and the observed answer."""
    history = recording.read()
    names = history.names
    lines = step_lines(history)
    observed = signature(verdict, recording)
    if verdict is not None and (violation := verdict.violation) is not None:
        rule = broken_rule(violation, revision)
        differing = [(violation.request_id, _wrong_field(violation, names))]
        differing += [(b.request_id, wrong_field(b.difference, names)) for b in verdict.besides]
        for request_id, differs in differing:
            if differs is not None:
                show_wrong_field(lines, request_id, differs)
        beside = other_violations(verdict, history, lines)
        place = place_of(lines, violation.request_id)
        text = _sentence(violation, history, rule, place, beside)
        wrong, also = violation.request_id, {b.request_id for b in verdict.besides}
    else:
        rule, text, wrong, also = None, _undecided(verdict, recording), "", set()
    return Explanation(text, tuple(texts(lines, wrong, also=also)), observed, rule)


def sentence(verdict: Verdict | None, recording: Recording, revision: Revision) -> str:
    """Return the sentence alone."""
    return explain(verdict, recording, revision).sentence


def steps_of(recording: Recording, wrong: str = "", known: str = "") -> tuple[str, ...]:
    """Return the steps of a recording, a numbered line each.

    `wrong`: the request whose answer is wrong; `known`: one whose answer is a known failure.
    """
    return tuple(texts(step_lines(recording.read()), wrong, known))


def _undecided(verdict: Verdict | None, recording: Recording) -> str:
    if verdict is not None and verdict.unknown is not None:
        return f"Undecided: {verdict.unknown}."
    if recording.stopped:
        return f"The case was stopped: {recording.stopped}."
    return "The model can give every answer."


def _sentence(
    violation: Violation, history: History, rule: Rule | None, place: str, beside: str
) -> str:
    exchange, names = history.exchange(violation.request_id), history.names
    if exchange is None:
        return with_names(violation.detail, names)
    who = history.sender(exchange.id)
    subject = f"{who}'s {exchange.api} v{exchange.version}{place}"
    own_reason = _reason_of_field(violation) or _reason_of_taken(violation, names)
    should = _should(violation, exchange, names)
    reason = own_reason or ("" if rule is None or should.endswith(_FORMAT) else rule.because)
    why = _why(rule, violation, reason)
    came = _came(violation, exchange, names, should).removesuffix(".")
    source_text = "" if rule is None or own_reason else rule.source
    source = f" Source: {source_text}." if source_text else ""
    twice = _twice(exchange.api, violation) + _typed(exchange.answer_body)
    twice += _vote(exchange.api, violation)
    lost = _lost_timer(violation, rule)
    return f"{subject} should have {should}{why}. Instead: {came}.{lost}{twice}{beside}{source}"


_FORMAT = "the format of its version"

_LISTING_MEMBERS = {"JoinGroup", "DescribeGroups"}
"""The APIs whose answers list the members of a group; the rows of others are what was sent."""


def _twice(api: str, violation: Violation) -> str:
    """Describe the gravest fault that an answer can have: two live members of one instance."""
    if api not in _LISTING_MEMBERS:
        return ""
    body = violation.observed or {}
    double = set()
    for listed in (body, *(row for row in body.get("groups") or () if isinstance(row, dict))):
        rows = listed.get("members") or ()
        held = [row.get("groupInstanceId") for row in rows if isinstance(row, dict)]
        double |= {i for i in held if i is not None and held.count(i) > 1}
    if not double:
        return ""
    return f" The answer lists two live members of instance {', '.join(sorted(double))}."


def _lost_timer(violation: Violation, rule: Rule | None) -> str:
    """Name the timer that never struck, where another rule is broken by that."""
    lost = violation.lost_timer
    if not lost or (rule is not None and rule.id == lost):
        return ""
    return f" Without the removal by rule {lost} all answers are right."


def _vote(api: str, violation: Violation) -> str:
    """Describe the choice of a protocol, where that alone is wrong: no rule's reason does."""
    chosen = nearest(violation.allowed)
    if chosen is None or not chosen.difference.startswith("protocolName "):
        return ""
    if api == "SyncGroup":
        return " The protocol is that of the member's join."
    return (
        " The protocol must be the one that most members prefer, of those that all members offer."
    )


def _typed(body: Mapping[str, Any] | None) -> str:
    """Describe a code that came as a string: the name of an error may, a number may not."""
    for name, value in (body or {}).items():
        rows = value if isinstance(value, list) else ()
        if name == "errorCode" and isinstance(value, str) and value not in _NAMES:
            return f" Its errorCode is the string {quoted(value)}; it must be a number."
        if inner := next(filter(None, (_typed(r) for r in rows if isinstance(r, Mapping))), ""):
            return inner
    return ""


def _shape(violation: Violation, exchange: HistoryExchange) -> str:
    """Return the fault in the shape of an answer: the finding in its bytes, if that was kept.

    A value that no such field can have is removed from the body, so the judge has none.
    """
    path = violation.detail.partition(":")[0]
    findings = (finding for finding in exchange.findings if finding.startswith(f"{path}:"))
    return next(findings, violation.detail)


def _why(rule: Rule | None, violation: Violation, reason: str) -> str:
    if rule is None:
        return ""
    because = f" because {reason}" if reason else ""
    level = rule.level.value
    if violation.level is not rule.level:
        level += f"; this failure counts as {violation.level.value}"
        level += f", because {violation.permitted} permits it" if violation.permitted else ""
        level += f", as {violation.lost_timer}" if violation.lost_timer else ""
    return f"{because} (rule {rule.id}, {level})"


_REASONS_OF_FIELDS = (
    (
        re.compile(r"(?:\w+\.)*(?:metadata|memberMetadata) is "),
        "the coordinator passes on the bytes of each member's last join unchanged",
    ),
    (
        re.compile(r"(?:\w+\.)*memberId is .+ instead of a new id$"),
        "a member id belongs to one process alone; with it another process could act as that one",
    ),
    (
        re.compile(r"(?:groups\.)?topics is "),
        "the offsets are those of the last commit that was accepted, -1 without one",
    ),
    (
        re.compile(r"groups\.members\.targetAssignment is "),
        "a target gives each partition of a subscribed topic to one of its subscribers",
    ),
    (
        re.compile(r"groups\.members\.(?:memberEpoch|instanceId) is "),
        "a description shows the epoch and the instance that a member has, -2 if it is released",
    ),
    (
        re.compile(r"groups\.members is "),
        "a description lists all members, released ones too, and nobody else",
    ),
    (
        re.compile(r"groups\.(?:groupEpoch|assignmentEpoch) is "),
        "a description shows the epoch of the group, and that of its target",
    ),
)


def _reason_of_taken(violation: Violation, names: Mapping[str, str]) -> str:
    """Return whose partitions an answer gives away, or ""."""
    owners: dict[str, list[str]] = {}
    for partition, owner in violation.taken:
        owners.setdefault(names.get(owner, owner), []).append(with_names(partition, names))
    whose = ", and ".join(
        f"{', '.join(rows)} {'is' if len(rows) == 1 else 'are'} still {owner}'s"
        for owner, rows in owners.items()
    )
    return f"a partition has one owner, and {whose}" if whose else ""


def _reason_of_field(violation: Violation) -> str:
    """Return the reason why a field of an answer is wrong that is right as a whole, or ""."""
    chosen = nearest(violation.allowed)
    if chosen is None or violation.wrong is not Wrong.ANSWER:
        return ""
    reasons = (reason for form, reason in _REASONS_OF_FIELDS if form.match(chosen.difference))
    return next(reasons, "")


def _should(violation: Violation, exchange: HistoryExchange, names: Mapping[str, str]) -> str:
    sent_ms = exchange.at_ms
    if (differs := _wrong_field(violation, names)) is not None:
        return f"been answered with {differs.field} {differs.want}"
    chosen = None if violation.wrong is Wrong.DEVIATION else nearest(_right(violation))
    if chosen is None and violation.wrong in {Wrong.EARLY, Wrong.CLOSED}:
        return f"waited for its answer{_until(violation.wait, sent_ms)}"
    if chosen is None:
        return f"been answered in {_FORMAT}"
    several = "; or ".join(_right_answers(violation, exchange.api, names)[:3])
    return f"been answered {several}{_by(violation, chosen, sent_ms)}"


def expected_answers(verdict: Verdict | None, recording: Recording | None) -> list[str]:
    """Return the right answers in words, the nearest first; [] without a violation.

    Of an answer that is wrong in one field this is the field with its value; of one that came too
    early `no answer yet`.
    """
    violation = None if verdict is None else verdict.violation
    if violation is None or recording is None:
        return []
    history = recording.read()
    exchange, names = history.exchange(violation.request_id), history.names
    if exchange is None:
        return []
    if (differs := _wrong_field(violation, names)) is not None:
        return [f"{differs.field} {differs.want}"]
    if violation.wrong in {Wrong.EARLY, Wrong.CLOSED} and not _right(violation):
        return ["no answer yet"]
    if violation.wrong is Wrong.DEVIATION:
        return [_FORMAT]
    return _right_answers(violation, exchange.api, names) or [_FORMAT]


def _wrong_field(violation: Violation, names: Mapping[str, str]) -> WrongField | None:
    """Return the wrong field, if the rest of the answer is right."""
    if violation.wrong is not Wrong.DEVIATION:
        return None
    return wrong_field(violation.detail, names)


def _right_answers(violation: Violation, api: str, names: Mapping[str, str]) -> list[str]:
    chosen = nearest(_right(violation))
    bodies = [] if chosen is None else [chosen.body]
    bodies += [a.body for a in _right(violation) if a.body not in bodies]
    return list(dict.fromkeys(answer_words(api, body, names) for body in bodies))


def _right(violation: Violation) -> tuple[Allowed, ...]:
    """Return the right answers; of an answer before its time, those that were due just then."""
    return violation.allowed or (() if violation.wait is None else violation.wait.due)


def _until(wait: Wait | None, sent_ms: float) -> str:
    if wait is None:
        return ""
    until = f"until {wait.until_ms - sent_ms} ms after it was sent"
    return f" {until}" if not wait.unless else f" until {wait.unless}, or {until}"


def _by(violation: Violation, chosen: Allowed, sent_ms: float) -> str:
    """Return the deadline of an answer that is missing, or is right but for its time."""
    is_late = violation.wrong is Wrong.SILENCE or (
        violation.wrong is Wrong.ANSWER and " instead of " not in chosen.difference
    )
    if not is_late or chosen.by_ms is None:
        return ""
    due_ms = chosen.by_ms - sent_ms
    return f", within {due_ms} ms" if due_ms > 0 else ", at once"


def _came(
    violation: Violation, exchange: HistoryExchange, names: Mapping[str, str], should: str
) -> str:
    got = answer_words(exchange.api, violation.observed, names)
    chosen = nearest(violation.allowed)
    waited = violation.at_ms - exchange.at_ms
    match violation.wrong:
        case Wrong.ANSWER if chosen is not None and " instead of " in chosen.difference:
            differs = difference(exchange.api, violation.observed, chosen, names)
            return got + ("" if _is_repeated(differs, got, should) else f" ({differs})")
        case Wrong.ANSWER:
            return f"{got}, too late: after {waited} ms"
        case Wrong.EARLY if _right(violation):
            return got
        case Wrong.EARLY:
            moment = "at once" if waited == 0 else f"after {waited} ms"
            return f"{got}, {moment}"
        case Wrong.SILENCE:
            within = f" within {waited} ms" if waited > 0 else ""
            return f"no answer{within}{_afterwards(exchange, names)}"
        case Wrong.CLOSED:
            reason = "" if violation.detail == Wrong.CLOSED.value else f": {violation.detail}"
            return f"the connection was closed{with_names(reason, names)}"
        case Wrong.SHAPE:
            shape = _shape(violation, exchange)
            return f"a malformed answer: {with_names(shape, names)}"
        case Wrong.DEVIATION:
            got = answer_words(exchange.api, exchange.answer_body, names)
            return f"{got} ({_deviation_words(violation.detail, names)})"


def _afterwards(exchange: HistoryExchange, names: Mapping[str, str]) -> str:
    """Describe the answer that came after all, if it came too late."""
    if exchange.answered_ms is None:
        return ""
    waited = exchange.answered_ms - exchange.at_ms
    return f" (after {waited} ms: {answer_words(exchange.api, exchange.answer_body, names)})"


def _is_repeated(differs: str, got: str, should: str) -> bool:
    """Return True if the difference only repeats the first words of two answers that differ."""
    says_no_more = differs.startswith("errorCode ") and got.startswith(differs.split()[1])
    return says_no_more and not reads_alike(should, got)


def reads_alike(should: str, got: str) -> bool:
    """Return True if the answer reads as one of the right ones."""
    return got in should.removeprefix("been answered ").split("; or ")
