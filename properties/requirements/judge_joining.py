"""Judges of the area JOIN: what a member does after an answer, or without one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    unknown,
    unsupported,
    violated,
)
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    COMMIT,
    FIND,
    FIRST_WITH_INSTANCE,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Call,
    Evidence,
    Life,
)
from fencepost.properties.requirements.evidence_queries import (
    answered,
    code_name,
    first_after,
    has_no_partitions,
    is_over,
    member_ids,
    refused,
    said,
)

_LOST = {"lose", "cut"}
_REQUIRES = 4
"""The first version of JoinGroup that may be answered MEMBER_ID_REQUIRED."""

_WINDOW_MS = 1000
_MOST = 50
"""More requests of one kind in a second are a hot loop: the Java client first waits 100 ms, and a
loop without a pause sends hundreds."""


def empty_first(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-EMPTY-FIRST."""
    shown = False
    for life in evidence.lives:
        call = first_after(evidence, life, 0.0, JOIN)
        if call is None:
            continue
        shown = True
        if call.member_id:
            return violated(
                "the first JoinGroup has a member id",
                f"{said(life)} was just started, and joined with member id {call.member_id!r}",
                call.at_ms,
            )
    return HOLDS if shown else unknown("nobody joined")


def id_required(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-ID-REQUIRED."""
    shown = False
    for life, call in refused(evidence, Code.MEMBER_ID_REQUIRED, JOIN):
        given = call.answer.member_id if isinstance(call.answer, JoinGroupResponse) else ""
        after = first_after(evidence, life, answered(call), JOIN)
        if after is None:
            return _no_join(evidence, life, call)
        shown = True
        if after.member_id != given:
            return violated(
                "the JoinGroup after MEMBER_ID_REQUIRED has another member id",
                f"{said(life)} was given the member id {given!r} with MEMBER_ID_REQUIRED, and "
                f"joined with {after.member_id!r}",
                after.at_ms,
            )
    versions = {call.version for life in evidence.lives for call in evidence.of(life, JOIN)}
    if not shown and versions and max(versions) < _REQUIRES:
        return unsupported(f"it joins with JoinGroup v{max(versions)}, without MEMBER_ID_REQUIRED")
    return HOLDS if shown else unknown("MEMBER_ID_REQUIRED was never answered")


def lost_answer(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-LOST-ANSWER."""
    return _came_to_nothing(evidence, "lose", "after the answer to its JoinGroup was lost")


def cut(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-CUT."""
    return _came_to_nothing(evidence, "cut", "after its connection was cut in a JoinGroup")


def _came_to_nothing(evidence: Evidence, action: str, after: str) -> Verdict:
    shown = False
    for life in evidence.lives:
        lost = [c for c in evidence.of(life, JOIN) if c.provoked == action and not c.answer]
        if life.instance is None or not lost:
            continue
        shown = True
        for call in lost:
            again = first_after(evidence, life, call.at_ms + 1e-6, JOIN)
            if again is None:
                return _no_join(evidence, life, call, after)
            allowed = {"", call.member_id} | member_ids(evidence, life)
            if again.instance != life.instance or again.member_id not in allowed:
                return violated(
                    f"joins as somebody else {after}",
                    f"{said(life)} joined with instance id {again.instance!r} and member id "
                    f"{again.member_id!r} {after}",
                    again.at_ms,
                )
        if (wrong := has_no_partitions(evidence, life, lost[0].at_ms, after)) is not None:
            return wrong
    return HOLDS if shown else unknown("no such JoinGroup was seen")


def unknown_member(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-UNKNOWN-MEMBER."""

    def is_itself(life: Life, _: Call, join: Call) -> bool:
        return join.instance == life.instance

    return _rejoined(evidence, Code.UNKNOWN_MEMBER_ID, MEMBER_APIS, is_itself)


def unknown_empty(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-UNKNOWN-EMPTY."""

    def begins_anew(_: Life, __: Call, join: Call) -> bool:
        return not join.member_id

    return _rejoined(evidence, Code.UNKNOWN_MEMBER_ID, MEMBER_APIS, begins_anew)


def illegal_generation(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-ILLEGAL-GENERATION."""

    def is_itself(life: Life, _: Call, join: Call) -> bool:
        return join.instance == life.instance

    return _rejoined(evidence, Code.ILLEGAL_GENERATION, (SYNC, HEARTBEAT, COMMIT), is_itself)


def rebalance(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-REBALANCE."""

    def is_itself(life: Life, call: Call, join: Call) -> bool:
        return join.member_id == call.member_id and join.instance == life.instance

    return _rejoined(evidence, Code.REBALANCE_IN_PROGRESS, (SYNC, HEARTBEAT), is_itself)


def _rejoined(
    evidence: Evidence,
    code: Code,
    apis: Sequence[str],
    is_right: Callable[[Life, Call, Call], bool],
) -> Verdict:
    """Judge the next join after each such answer to a static member."""
    shown = False
    for life, call in refused(evidence, code, *apis):
        if life.instance is None or _was_dealt_with(evidence, life, call):
            continue
        join = first_after(evidence, life, answered(call), JOIN)
        if join is None:
            return _no_join(evidence, life, call)
        shown = True
        if not is_right(life, call, join):
            return violated(
                f"joins as somebody else after {code.name} in {call.api}",
                f"{said(life)} (instance id {life.instance!r}, member id {call.member_id!r}) was "
                f"answered {code.name} in {call.api}, and joined with instance id "
                f"{join.instance!r} and member id {join.member_id!r}",
                join.at_ms,
            )
        wrong = has_no_partitions(
            evidence, life, answered(call), f"after {code.name} in {call.api}", until=life.ended_ms
        )
        if wrong is not None:
            return wrong
    return HOLDS if shown else unknown(f"no static member was answered {code.name}")


def _was_dealt_with(evidence: Evidence, life: Life, call: Call) -> bool:
    """Whether an answer came to a request that was sent before a join: that is the reaction."""
    joins = evidence.of(life, JOIN, since=call.at_ms, until=answered(call))
    return call.api != JOIN and any(join is not call for join in joins)


def _no_join(evidence: Evidence, life: Life, call: Call, after: str = "") -> Verdict:
    after = after or f"after {code_name(call)} in {call.api}"
    since = answered(call)
    end = evidence.ended_ms if life.ended_ms is None else life.ended_ms
    return violated(
        f"no JoinGroup {after}",
        f"{said(life)} sent no JoinGroup {after}, for {(end - since) / 1000:.1f} s",
        since,
        waited=(since, end),
    )


def coordinator(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-COORDINATOR."""
    codes = (Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE)
    return _went_on(evidence, codes, looks=True)


def loading(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-LOADING."""
    return _went_on(evidence, (Code.COORDINATOR_LOAD_IN_PROGRESS,), looks=False)


def _went_on(evidence: Evidence, codes: Sequence[Code], *, looks: bool) -> Verdict:
    shown = False
    for code in codes:
        for life, call in refused(evidence, code):
            since = answered(call)
            if looks and first_after(evidence, life, call.at_ms, FIND) is None:
                return violated(
                    f"no FindCoordinator after {code.name}",
                    f"{said(life)} was answered {code.name} in {call.api}, and didn't look for the "
                    "coordinator",
                    since,
                    waited=(since, evidence.ended_ms),
                )
            later = evidence.of(life, *MEMBER_APIS, since=since)
            decided = next(
                (c for c in later if c.error is not None and c.error not in MOVING), None
            )
            if decided is None:
                return violated(
                    f"does not go on after {code.name}",
                    f"{said(life)} was answered {code.name} in {call.api}, and nothing that it "
                    "sent afterwards was answered well",
                    since,
                    waited=(since, evidence.ended_ms),
                )
            shown = True
            has_room = decided.version >= FIRST_WITH_INSTANCE[decided.api]
            lost_id = has_room and decided.instance != life.instance
            if call.member_id != decided.member_id or lost_id:
                return violated(
                    f"is somebody else after {code.name}",
                    f"{said(life)} was {call.member_id!r} when it was answered {code.name}, and "
                    f"went on as {decided.member_id!r} with instance id {decided.instance!r}",
                    decided.at_ms,
                )
    names = " or ".join(code.name for code in codes)
    return HOLDS if shown else unknown(f"{names} was never answered to a member")


def backoff(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-BACKOFF."""
    shown = False
    for life in evidence.lives:
        for api in (*MEMBER_APIS, FIND):
            calls = evidence.of(life, api)
            refusals = [call for call in calls if call.error in MOVING]
            shown = shown or bool(refusals)
            for index, first in enumerate(refusals):
                within = [c for c in refusals[index:] if c.at_ms < first.at_ms + _WINDOW_MS]
                if len(within) > _MOST:
                    return violated(
                        f"hot loop of {api}",
                        f"{said(life)} sent {api} {len(within)} times within a second while it was "
                        f"answered {code_name(first)}",
                        first.at_ms,
                    )
    return HOLDS if shown else unknown("no error was answered that can be tried again")


def silent(evidence: Evidence) -> Verdict:
    """Judge CLIENT-JOIN-SILENT."""
    shown = False
    for life in evidence.lives:
        trouble = [c for c in evidence.of(life, *MEMBER_APIS) if _passes(c)]
        if not trouble:
            continue
        shown = True
        since, what = answered(trouble[0]), _trouble(trouble[0])
        out = [answered(c) for one, c in refused(evidence, Code.FENCED_INSTANCE_ID) if one is life]
        fenced_ms = min(out, default=math.inf)
        for at_ms, error in evidence.errors_of(life, since):
            if error.fatal and at_ms < fenced_ms - CLOCK_MS and not is_over(life, at_ms):
                return violated(
                    f"fatal after {what}",
                    f"the user of {said(life)} was told {error.code} as a fatal error, in "
                    f"{error.where}, after {what}",
                    at_ms,
                )
        at_ended = evidence.ended(life)
        if at_ended is not None and at_ended < fenced_ms and not is_over(life, at_ended):
            return violated(f"ends after {what}", f"{said(life)} gave up after {what}", at_ended)
    return HOLDS if shown else unknown("no error was answered that can be tried again")


def _passes(call: Call) -> bool:
    """Whether a call met trouble that passes."""
    return call.error in MOVING or (call.provoked in _LOST and call.answer is None)


def _trouble(call: Call) -> str:
    return f"a lost answer to {call.api}" if call.error is None else code_name(call)
