"""Define a requirement of clients, a row of the table, and its judge's verdict on one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from fencepost.model.messages.errors import Error as Code
from fencepost.model.table.table import Level
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.evidence import (
    HEARTBEAT,
    MEMBER_APIS,
    ConsumerRun,
    Evidence,
    names_no_instance,
)

_SLOW_MS = 250
"""Longest wait of the control client, in ms; where it had to wait longer, no violation that rests
on lateness counts."""

_ENOUGH_MS = 5000
"""Ms beside the waits of the control client in which a client sends a request that it owes."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one requirement in one run: PASS, FAIL, UNKNOWN or UNSUPPORTED.

    `sentence`: the observation, with the names of this run.  `observed`: its signature, which is
    equal in every run and by which known failures are matched; "" unless it fails.  `at_ms`: its
    place on the timeline.  `waited`: the time of a wait in vain on which the verdict rests.
    """

    outcome: Outcome
    sentence: str = ""
    observed: str = ""
    at_ms: float | None = None
    waited: tuple[float, float] | None = None


HOLDS = Verdict(Outcome.PASS)


def holds(sentence: str = "") -> Verdict:
    """Return the verdict that the requirement is met."""
    return Verdict(Outcome.PASS, sentence)


def violated(
    observed: str,
    sentence: str,
    at_ms: float | None = None,
    *,
    waited: tuple[float, float] | None = None,
) -> Verdict:
    """Return the verdict that the requirement is broken."""
    return Verdict(Outcome.FAIL, sentence, observed, at_ms, waited)


def unknown(sentence: str) -> Verdict:
    """Return the verdict that the run doesn't show it."""
    return Verdict(Outcome.UNKNOWN, sentence)


def unsupported(sentence: str) -> Verdict:
    """Return the verdict that the library has no such thing."""
    return Verdict(Outcome.UNSUPPORTED, sentence)


def weighed(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Return the verdict; unknown where it rests on a wait while the machine was slow.

    A run that broke off shows nothing but violations.  Nothing is held against a library that
    rests on an answer that no broker gives to a request of its version: it is UNSUPPORTED.
    """
    if verdict.outcome is Outcome.FAIL and verdict.waited is not None:
        worst = evidence.worst_stall_ms(*verdict.waited)
        if worst > _SLOW_MS:
            text = f"{verdict.sentence}; but the control client had to wait {worst:.0f} ms then"
            return replace(verdict, outcome=Outcome.UNKNOWN, sentence=text, observed="")
    is_undecided = verdict.outcome is Outcome.UNKNOWN or (
        bool(evidence.broken) and verdict.outcome is Outcome.PASS
    )
    if is_undecided or verdict.outcome is Outcome.FAIL:
        until = math.inf if verdict.at_ms is None or is_undecided else verdict.at_ms
        if why := _not_its_fault(evidence, until):
            return unsupported(why)
    if verdict.outcome is Outcome.UNKNOWN and evidence.unsupported:
        return unsupported(evidence.unsupported)
    if is_undecided:
        return unknown(f"{evidence.broken or verdict.sentence}{_failed_starts(evidence)}")
    return verdict


def _not_its_fault(evidence: Evidence, until: float) -> str:
    """Say which answer before a time the library can't be blamed for, or which it didn't get."""
    if call := evidence.unanswerable(until):
        return f"{call.error_name} can't reach it: it sends {call.api} v{call.version}"
    if call := evidence.too_old(until):
        low, high = evidence.advertised(call.api, call.at_ms) or (0, 0)
        return (
            f"it sent {call.api} v{call.version}, which the broker lacks ({low} to {high}); run it "
            "with --broker kafka:3.8.1"
        )
    return ""


def _failed_starts(evidence: Evidence) -> str:
    """Say which starts the library refused, as the end of a sentence."""
    rows = ((run, evidence.failed_start(run)) for run in evidence.runs)
    return "".join(
        f"; the start of {run.name} failed with {act.outcome}: {act.message}"
        for run, act in rows
        if act is not None
    )


def with_instance(instance: str | None) -> str:
    """Name an instance id in a sentence."""
    return "no instance id" if instance is None else f"the instance id '{instance}'"


def with_member(member_id: str | None) -> str:
    """Name a member id in a sentence."""
    return f"the member id '{member_id}'" if member_id else "an empty member id"


def wait_in_vain(
    evidence: Evidence, since: float, until: float, enough_ms: float = _ENOUGH_MS
) -> tuple[float, float] | None:
    """Return a wait in vain, for `Verdict.waited`; None where no slow machine excuses it.

    That is so where it was longer than twice all waits of the control client by `enough_ms`.
    """
    spare = until - since - 2 * evidence.stalled_ms(since, until)
    return None if spare >= enough_ms else (since, until)


def no_leave(evidence: Evidence, run: ConsumerRun, since: float = 0.0) -> Verdict:
    """Judge that no LeaveGroup names a static member."""
    call = next(evidence.leaves_of(run, since), None)
    if call is None:
        return HOLDS
    by = f"instance id {call.instance}" if call.instance else f"member id {call.member_id}"
    return violated(
        "LeaveGroup of a static member",
        f"{run.name}, a static member, sent LeaveGroup v{call.version} with {by}",
        call.at_ms,
    )


def has_partitions(
    evidence: Evidence, run: ConsumerRun, since: float, after: str, *, until: float | None = None
) -> Verdict:
    """Judge that a run's user has partitions in the end."""
    end = evidence.ended_ms if until is None else until
    if evidence.owned(run, end):
        return HOLDS
    return violated(
        f"no partitions {after}",
        f"{run.name} had no partitions {after}, {(end - since) / 1000:.1f} s later",
        since,
        waited=(since, end),
    )


def nobody_fenced(evidence: Evidence, api: str = HEARTBEAT) -> Verdict:
    """Make the verdict where no member was fenced; UNSUPPORTED if requests name no instance.

    `api`: the API whose answer was expected, unless another API's came.
    """
    code = Code.FENCED_INSTANCE_ID
    for run in evidence.static_runs:
        refusals = [call for call in evidence.of(run, *MEMBER_APIS) if call.is_answered(code)]
        calls = [c for c in refusals if names_no_instance(c)] or evidence.of(run, api)
        if calls and all(map(names_no_instance, calls)):
            last = calls[-1]
            reason = f"{last.api} v{last.version} has no instance id"
            return unsupported(f"{code.name} can't reach it: {reason}")
    return unknown("no member was fenced")


AREAS = {
    "IDENTITY": "Who it says it is",
    "JOIN": "How it joins, and what it does after an error",
    "COMMIT": "It commits",
    "TRANSACTION": "It commits in transactions",
    "SUBSCRIBE": "It subscribes anew",
    "CLOSE": "How it goes",
    "FENCED": "Another has its place",
    "REMOVED": "It lost its place",
    "RESTART": "It comes back",
    "LEADER": "It assigns for the group",
    "BYTES": "What it writes for other members, and reads of theirs",
    "READ": "The records that its user gets",
    "SESSION": "It shows that it is alive",
    "OLD-BROKER": "A broker that knows no static members",
    "STREAMS": "Several members in one process",
}
"""The areas in the order of the table, with their titles."""

JOIN_LOGIC = "KIP-345, Join Group Logic Change"
BEHAVIOUR = "KIP-345, Client Behavior Changes"

CLIENT_PREFIX = "CLIENT-"


class Members(StrEnum):
    """The members that a requirement holds for."""

    ALL = "all"
    STATIC = "static"
    DYNAMIC = "dynamic"


Judge = Callable[[Evidence], Iterator[Verdict]]
"""Function that yields a verdict for each occasion on which the evidence could show a violation.

The first verdict that is not HOLDS decides, and the others are not computed.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of clients.

    `id`: never changes once published.  `level`: MUST where a safety promise of the KIP depends on
    it; SHOULD where users rely on it, or the authors of a library might dispute it.  `sentence`:
    the required behaviour.  `source`: the document that requires it.  `provoked`: the stimulus;
    `judged`: the evidence that counts; `judge`: the function that judges it; `unseen`: the reason,
    or the verdict, where it yields nothing.  `needs_calm`: the judge assumes that nothing else goes
    wrong, so it judges only scenarios of the catalogue, none that are drawn at random.  `members`:
    whom it holds for.  `dispute`: arguments of a library's authors against it, and the reason for
    the level, or "".

    Raises ValueError for an id that names no area.
    """

    id: str
    level: Level
    sentence: str
    source: str
    provoked: str
    judged: str
    judge: Judge
    unseen: str | Callable[[Evidence], Verdict] = "nothing shows it"
    needs_calm: bool = False
    members: Members = Members.ALL
    dispute: str = ""

    def __post_init__(self) -> None:
        if self.area not in AREAS:
            raise ValueError(f"{self.id!r} is no id of an obligation: {CLIENT_PREFIX}AREA-WHAT")

    @property
    def area(self) -> str:
        """The area that its id names, such as `FENCED`; "" for none."""
        rest = self.id.removeprefix(CLIENT_PREFIX) if self.id.startswith(CLIENT_PREFIX) else ""
        return next((area for area in AREAS if rest.startswith(f"{area}-")), "")

    def verdict(self, evidence: Evidence) -> Verdict:
        """Judge the requirement by the evidence of one run."""
        first = None
        for verdict in self.judge(evidence):
            if verdict.outcome is not Outcome.PASS:
                return weighed(verdict, evidence)
            first = first or verdict
        if first is None:
            first = unknown(self.unseen) if isinstance(self.unseen, str) else self.unseen(evidence)
        return weighed(first, evidence)
