"""Verdicts on one requirement in one run, and the evidence that several judges read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.errors import error_name
from fencepost.model.messages.messages import JoinGroupResponse, LeaveGroupRequest
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import (
    HEARTBEAT,
    JOIN,
    LEAVE,
    MEMBER_APIS,
    SYNC,
    Call,
    Evidence,
    Life,
)

_SLOW_MS = 250
"""Most ms that the control client may wait where a verdict rests on lateness."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one requirement in one run: PASS, FAIL, UNKNOWN or UNSUPPORTED.

    `sentence`: what was observed, with the names of this run.  `observed`: its signature, which is
    equal in every run and by which known failures are matched; "" unless it fails.  `at_ms`: where
    on the timeline it shows.  `waited`: the time of a wait in vain on which the verdict rests.
    """

    outcome: Outcome
    sentence: str = ""
    observed: str = ""
    at_ms: float | None = None
    waited: tuple[float, float] | None = None


HOLDS = Verdict(Outcome.PASS)


def holds(sentence: str = "") -> Verdict:
    """The obligation is met."""
    return Verdict(Outcome.PASS, sentence)


def violated(
    observed: str,
    sentence: str,
    at_ms: float | None = None,
    *,
    waited: tuple[float, float] | None = None,
) -> Verdict:
    """The obligation is broken."""
    return Verdict(Outcome.FAIL, sentence, observed, at_ms, waited)


def unknown(sentence: str) -> Verdict:
    """The run doesn't show it."""
    return Verdict(Outcome.UNKNOWN, sentence)


def unsupported(sentence: str) -> Verdict:
    """The library has no such thing."""
    return Verdict(Outcome.UNSUPPORTED, sentence)


def weighed(verdict: Verdict, evidence: Evidence) -> Verdict:
    """The verdict; unknown where it rests on a wait during which the machine was slow.

    A run that broke off shows nothing but what is wrong.
    """
    if verdict.outcome is Outcome.FAIL and verdict.waited is not None:
        worst = evidence.worst_stall_ms(*verdict.waited)
        if worst > _SLOW_MS:
            said = f"{verdict.sentence}; but the control client had to wait {worst:.0f} ms then"
            return replace(verdict, outcome=Outcome.UNKNOWN, sentence=said, observed="")
    if verdict.outcome is Outcome.UNKNOWN and evidence.unsupported:
        return unsupported(evidence.unsupported)
    if evidence.broken and verdict.outcome in {Outcome.PASS, Outcome.UNKNOWN}:
        return unknown(evidence.broken)
    return verdict


def said(life: Life) -> str:
    """A life in a sentence: `a`, or `a (start 2)`."""
    return life.consumer if life.number == 1 else f"{life.consumer} (start {life.number})"


def static_lives(evidence: Evidence) -> Sequence[Life]:
    """The lives whose user set an instance id."""
    return [life for life in evidence.lives if life.instance is not None]


def joined(evidence: Evidence, life: Life) -> list[Call]:
    """The joins of a life that were answered without an error."""
    return [call for call in evidence.of(life, JOIN) if call.went_well]


def synced(evidence: Evidence, life: Life) -> list[Call]:
    """The syncs of a life that were answered without an error."""
    return [call for call in evidence.of(life, SYNC) if call.went_well]


def is_leader(call: Call) -> bool:
    """Whether the answer to a join says that its member leads."""
    answer = call.answer
    return isinstance(answer, JoinGroupResponse) and answer.leader == answer.member_id != ""


def led(evidence: Evidence, life: Life) -> bool:
    """Whether a life led the group at last."""
    calls = joined(evidence, life)
    return bool(calls) and is_leader(calls[-1])


def refused(evidence: Evidence, code: Code, *apis: str) -> Iterator[tuple[Life, Call]]:
    """The calls that were answered with this error while their life went on.

    A provoked answer that no real broker could have given to such a request is left out.
    """
    for life in evidence.lives:
        for call in evidence.of(life, *(apis or MEMBER_APIS)):
            is_possible = code is not Code.FENCED_INSTANCE_ID or not call.names_no_instance
            if call.is_answered(code) and is_possible and not is_over(life, answered(call)):
                yield life, call


def fenced(evidence: Evidence) -> Iterator[tuple[Life, Call]]:
    """The calls that were answered FENCED_INSTANCE_ID, and not by chance.

    A member whose heartbeats name no instance is fenced by chance alone, while two take the place
    from each other: when the other one joins between its join and its sync.
    """
    for life, call in refused(evidence, Code.FENCED_INSTANCE_ID):
        beats = evidence.of(life, HEARTBEAT)
        if call.provoked or not beats or not all(beat.names_no_instance for beat in beats):
            yield life, call


def is_over(life: Life, at_ms: float) -> bool:
    """Whether the end of a life had begun."""
    return life.ended_ms is not None and life.ended_ms <= at_ms


def answered(call: Call) -> float:
    """When a call was answered; when it came, if it never was."""
    return call.at_ms if call.answered_ms is None else call.answered_ms


def later(evidence: Evidence, since: float, ms: float) -> float:
    """So much later, and by as much again as the control client had to wait meanwhile."""
    return since + ms + evidence.worst_stall_ms(since, since + ms)


def first_after(
    evidence: Evidence, life: Life, since: float, *apis: str, until: float | None = None
) -> Call | None:
    """The first call of a life, of these APIs, received at a time or later."""
    return next(iter(evidence.of(life, *apis, since=since, until=until)), None)


def member_ids(evidence: Evidence, life: Life) -> set[str]:
    """All member ids that a life was given."""
    answers = (call.answer for call in evidence.of(life, JOIN))
    found = {a.member_id for a in answers if isinstance(a, JoinGroupResponse)}
    return found - {""}


def leaves_of(evidence: Evidence, life: Life, since: float = 0.0) -> Iterator[Call]:
    """The LeaveGroup requests that name a life: its own, and others with its ids."""
    names = member_ids(evidence, life)
    for call in evidence.calls:
        if (
            call.api != LEAVE
            or call.at_ms < since
            or not isinstance(call.request, LeaveGroupRequest)
        ):
            continue
        rows = call.request.members
        named = {call.request.member_id, *(row.member_id for row in rows)} & names
        if call.life == life.id or named:
            yield call


def no_leave(evidence: Evidence, life: Life, since: float = 0.0) -> Verdict | None:
    """What is wrong if a LeaveGroup names a static member; None if none does."""
    call = next(leaves_of(evidence, life, since), None)
    if call is None:
        return None
    by = f"instance id {call.instance}" if call.instance else f"member id {call.member_id}"
    return violated(
        "LeaveGroup of a static member",
        f"{said(life)}, a static member, sent LeaveGroup v{call.version} with {by}",
        call.at_ms,
    )


def has_no_partitions(
    evidence: Evidence, life: Life, since: float, after: str, *, until: float | None = None
) -> Verdict | None:
    """What is wrong if a life's user has no partitions in the end; None if it has."""
    end = evidence.ended_ms if until is None else until
    if evidence.owned(life, end):
        return None
    return violated(
        f"no partitions {after}",
        f"{said(life)} had no partitions {after}, {(end - since) / 1000:.1f} s later",
        since,
        waited=(since, end),
    )


def code_name(call: Call) -> str:
    """The name of a call's error; `no answer` where it got none."""
    return "no answer" if call.error is None else error_name(call.error)


def nobody_fenced(evidence: Evidence, api: str = HEARTBEAT) -> Verdict:
    """Say that nobody was fenced; nobody can be, where a member's requests name no instance.

    `api`: where the answer was waited for, unless it came in another.
    """
    code = Code.FENCED_INSTANCE_ID
    for life in static_lives(evidence):
        told = [call for call in evidence.of(life, *MEMBER_APIS) if call.is_answered(code)]
        calls = [c for c in told if c.names_no_instance] or evidence.of(life, api)
        if calls and all(call.names_no_instance for call in calls):
            last = calls[-1]
            what = f"{last.api} v{last.version} has no instance id"
            return unsupported(f"{code.name} can't reach it: {what}")
    return unknown("nobody was fenced")
