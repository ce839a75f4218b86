"""Judges of the area JOIN: what a member does after an answer, or without one.

Judges of the area IDENTITY: instance ids and versions.

Judges of the area OLD-BROKER: a broker that knows no static members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.table.table import Level
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    answered,
    code_name,
    first_after,
    has_no_partitions,
    holds,
    is_over,
    member_ids,
    refused,
    said,
    static_lives,
    unknown,
    unsupported,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned
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
from fencepost.properties.requirements.requirement import JOIN_LOGIC, Requirement

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


def as_set(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-AS-SET."""
    return _carried(evidence, (JOIN,))


def every_request(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-EVERY-REQUEST."""
    return _carried(evidence, (SYNC, HEARTBEAT, COMMIT))


def _carried(evidence: Evidence, apis: tuple[str, ...]) -> Verdict:
    shown = set()
    for life in static_lives(evidence):
        for call in evidence.of(life, *apis):
            if call.request is None or not _has_room(evidence, call):
                continue
            shown.add(call.api)
            if call.version < FIRST_WITH_INSTANCE[call.api] or call.instance != life.instance:
                return _other_instance(life, call)
    missing = [api for api in apis if api not in shown and api != COMMIT]
    if missing:
        return unknown(f"no static member sent {' or '.join(missing)}")
    without = set(apis) - shown
    return holds(f"nothing was committed, so {COMMIT} was not seen") if without else HOLDS


def _has_room(evidence: Evidence, call: Call) -> bool:
    """Whether a request could have carried an instance id, as far as the broker goes."""
    versions = evidence.advertised(call.api, call.at_ms)
    first = FIRST_WITH_INSTANCE[call.api]
    return call.version >= first or (versions is not None and versions[1] >= first)


def _other_instance(life: Life, call: Call) -> Verdict:
    if call.version < FIRST_WITH_INSTANCE[call.api]:
        how, shown = "in a version without room for one", f"is of version {call.version}"
    elif call.instance is None:
        how, shown = "without an instance id", "has none"
    else:
        how, shown = "with another instance id", f"has {call.instance!r}"
    return violated(
        f"{call.api} {how}",
        f"the user of {said(life)} set the instance id {life.instance!r}; {call.api} "
        f"v{call.version} {shown}",
        call.at_ms,
    )


def versions(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-VERSIONS."""
    shown = False
    for life, call in _static_calls(evidence, MEMBER_APIS):
        first = FIRST_WITH_INSTANCE[call.api]
        known = evidence.advertised(call.api, call.at_ms)
        if known is None or known[1] < first:
            continue
        shown = True
        if call.version < first:
            return violated(
                f"{call.api} v{call.version}",
                f"{said(life)}, a static member, sent {call.api} v{call.version}, where the broker "
                f"knows up to v{known[1]}: fencing needs v{first}",
                call.at_ms,
            )
    return HOLDS if shown else unknown("no static member sent a request to a broker that knows any")


def newest(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-NEWEST."""
    usual: dict[tuple[str, str], int] = {}
    changed_ms = evidence.versions[-1][0] if len(evidence.versions) > 1 else math.inf
    compared = False
    for life in evidence.lives:
        for call in evidence.of(life, *MEMBER_APIS):
            known = evidence.advertised(call.api, call.at_ms)
            if known is None:
                continue
            before = usual.setdefault((life.id, call.api), call.version)
            compared = compared or call.at_ms > changed_ms
            if call.version != min(before, known[1]) and call.error is not None:
                return violated(
                    f"{call.api} not in the newest version that both know",
                    f"{said(life)} sent {call.api} v{call.version}; it knows v{before}, and the "
                    f"broker up to v{known[1]}",
                    call.at_ms,
                )
    return HOLDS if compared else unknown("no request came after the broker's versions changed")


def dynamic(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-DYNAMIC."""
    shown = False
    for life in evidence.lives:
        if life.instance is not None:
            continue
        for call in evidence.of(life, *MEMBER_APIS):
            shown = True
            if call.instance is not None:
                return violated(
                    f"{call.api} with an instance id",
                    f"the user of {said(life)} set no instance id; {call.api} v{call.version} has "
                    f"{call.instance!r}",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("no dynamic member sent a request")


def _static_calls(evidence: Evidence, apis: Iterable[str]) -> Iterator[tuple[Life, Call]]:
    for life in static_lives(evidence):
        for call in evidence.of(life, *apis):
            yield life, call


_RESTART = "restart"


def not_twice(evidence: Evidence) -> Verdict:
    """Judge CLIENT-OLD-BROKER-NOT-TWICE."""
    lives = _at_old_broker(evidence)
    if not lives:
        return unknown("no static member was started at such a broker")
    silent: dict[str | None, Life] = {}
    for life in lives:
        seen = next(iter(evidence.seen_by(life, Assigned)), None)
        if seen is None or _told(evidence, life) is not None:
            continue
        other = silent.setdefault(life.instance, life)
        if other is not life:
            return violated(
                "works in silence at a broker without static members",
                f"{said(other)} and {said(life)} both have the instance id {life.instance!r}; "
                "their users were assigned partitions at a broker without static members, and told "
                "nothing",
                seen.at_ms,
                waited=(other.began_ms, evidence.ended_ms),
            )
    return HOLDS


def told(evidence: Evidence) -> Verdict:
    """Judge CLIENT-OLD-BROKER-TOLD."""
    lives = _at_old_broker(evidence)
    codes = []
    for life in lives:
        code = _told(evidence, life)
        if code is None:
            return violated(
                "not told that the broker has no static members",
                f"the user of {said(life)}, a static member, was told nothing at a broker without "
                "static members",
                life.began_ms,
                waited=(life.began_ms, evidence.ended_ms),
            )
        codes.append(code)
    return holds(f"told {codes[0]}") if codes else unknown("no static member was started there")


def _at_old_broker(evidence: Evidence) -> list[Life]:
    found = []
    for life in static_lives(evidence):
        versions = evidence.advertised(JOIN, life.began_ms)
        if versions is not None and versions[1] < FIRST_WITH_INSTANCE[JOIN]:
            found.append(life)
    return found


def _told(evidence: Evidence, life: Life) -> str | None:
    """The code of the first error that the user was told."""
    return next((error.code for _, error in evidence.errors_of(life)), None)


def restarted(evidence: Evidence) -> Verdict:
    """Judge CLIENT-OLD-BROKER-RESTARTED."""
    shown = False
    for deed in evidence.deeds_of(_RESTART):
        for life in static_lives(evidence):
            if life.began_ms > deed.began_ms or life.ended_ms is not None:
                continue
            for call in evidence.of(life, *MEMBER_APIS, since=deed.ended_ms):
                known = evidence.advertised(call.api, call.at_ms)
                if known is None:
                    continue
                shown = True
                if call.version > known[1]:
                    return violated(
                        f"{call.api} above the broker's newest version",
                        f"{said(life)} sent {call.api} v{call.version} to a broker that came back "
                        f"with v{known[1]} at most",
                        call.at_ms,
                    )
            after = "after the broker came back"
            wrong = has_no_partitions(evidence, life, deed.ended_ms, after)
            if wrong is not None:
                return wrong
    return HOLDS if shown else unknown("no member lived through a restart of its broker")


_OF_INSTANCE_ID = "KIP-345, the consumer setting group.instance.id"
_OF_ERRORS = "Kafka's protocol guide, error codes that can be tried again"
_OF_REQUESTS = "KIP-345, Client Side Changes"


REQUIREMENTS = (
    Requirement(
        "CLIENT-IDENTITY-AS-SET",
        Level.MUST,
        "The instance id that the user set is in every JoinGroup of the member, as it was set.",
        _OF_INSTANCE_ID,
        provoked="a static member joins",
        judged="the instance id in each JoinGroup whose version has room for one",
        judge=as_set,
    ),
    Requirement(
        "CLIENT-IDENTITY-EVERY-REQUEST",
        Level.MUST,
        "The instance id is in every SyncGroup, Heartbeat and OffsetCommit, too: else they can't "
        "be fenced.",
        _OF_REQUESTS,
        provoked="a static member joins, heartbeats and commits",
        judged="the instance id in each request whose version has room for one",
        judge=every_request,
    ),
    Requirement(
        "CLIENT-IDENTITY-VERSIONS",
        Level.MUST,
        "A static member uses versions that carry its instance id for all of JoinGroup, SyncGroup, "
        "Heartbeat and OffsetCommit, if the broker knows them; else fencing can't reach it.",
        _OF_REQUESTS,
        provoked="a static member joins, heartbeats and commits at a broker that knows them all",
        judged="no request is of a version below JoinGroup 5, SyncGroup 3, Heartbeat 3, "
        "OffsetCommit 7",
        judge=versions,
    ),
    Requirement(
        "CLIENT-IDENTITY-NEWEST",
        Level.SHOULD,
        "The version of each API is the newest that both sides know.",
        "KIP-35, ApiVersions",
        provoked="the broker comes back with lower versions",
        judged="each version is the one that was used before, or the broker's newest if that is "
        "lower",
        judge=newest,
    ),
    Requirement(
        "CLIENT-IDENTITY-DYNAMIC",
        Level.MUST,
        "Without an instance id from its user a consumer is a dynamic member: no request carries "
        "one, not even an empty one.",
        _OF_INSTANCE_ID,
        provoked="a dynamic member joins, heartbeats and commits",
        judged="the instance id of each request is null",
        judge=dynamic,
    ),
    Requirement(
        "CLIENT-JOIN-EMPTY-FIRST",
        Level.MUST,
        "A consumer that was just started joins with an empty member id: so the coordinator knows "
        "a restart from a zombie.",
        JOIN_LOGIC,
        provoked="a member is started",
        judged="the member id of its first JoinGroup",
        judge=empty_first,
    ),
    Requirement(
        "CLIENT-JOIN-ID-REQUIRED",
        Level.SHOULD,
        "MEMBER_ID_REQUIRED is followed by a JoinGroup with the member id of that answer.",
        "KIP-394",
        provoked="a dynamic member is started",
        judged="the member id of the JoinGroup after such an answer",
        judge=id_required,
    ),
    Requirement(
        "CLIENT-JOIN-LOST-ANSWER",
        Level.MUST,
        "A static member whose JoinGroup was answered to nobody comes back as itself, with its "
        "instance id, and gets its partitions.",
        JOIN_LOGIC,
        provoked="the answer to a JoinGroup is lost with its connection",
        judged="the next JoinGroup has the instance id, and the user has partitions at the end",
        judge=lost_answer,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-JOIN-CUT",
        Level.MUST,
        "A static member whose connection is lost while its JoinGroup is parked comes back as "
        "itself, with its instance id, and gets its partitions.",
        JOIN_LOGIC,
        provoked="the connection is cut while a JoinGroup is parked",
        judged="the next JoinGroup has the instance id, and the user has partitions at the end",
        judge=cut,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-JOIN-UNKNOWN-MEMBER",
        Level.MUST,
        "After UNKNOWN_MEMBER_ID a static member joins again with its instance id, and gets its "
        "partitions.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        judge=unknown_member,
    ),
    Requirement(
        "CLIENT-JOIN-UNKNOWN-EMPTY",
        Level.SHOULD,
        "After UNKNOWN_MEMBER_ID the next JoinGroup has an empty member id: the old one is gone.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the member id of the next JoinGroup",
        judge=unknown_empty,
    ),
    Requirement(
        "CLIENT-JOIN-ILLEGAL-GENERATION",
        Level.SHOULD,
        "After ILLEGAL_GENERATION a member joins again, with its instance id.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered ILLEGAL_GENERATION",
        judged="a JoinGroup with the instance id follows",
        judge=illegal_generation,
    ),
    Requirement(
        "CLIENT-JOIN-REBALANCE",
        Level.SHOULD,
        "After REBALANCE_IN_PROGRESS a member joins again as who it is, with its member id.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered REBALANCE_IN_PROGRESS",
        judged="member id and instance id of the next JoinGroup",
        judge=rebalance,
    ),
    Requirement(
        "CLIENT-JOIN-COORDINATOR",
        Level.SHOULD,
        "After NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE a member looks for the coordinator and "
        "goes on as who it is.",
        _OF_ERRORS,
        provoked="the coordinator moves to another node; then none is available for a while",
        judged="a FindCoordinator follows, and the next group requests have the member id and the "
        "instance id of before",
        judge=coordinator,
    ),
    Requirement(
        "CLIENT-JOIN-LOADING",
        Level.SHOULD,
        "While the coordinator loads, a member asks again, and stays who it is.",
        _OF_ERRORS,
        provoked="the coordinator answers COORDINATOR_LOAD_IN_PROGRESS for a while",
        judged="the next requests that are answered without error have the member id of before",
        judge=loading,
    ),
    Requirement(
        "CLIENT-JOIN-BACKOFF",
        Level.SHOULD,
        "What is refused is asked again with a pause, not in a hot loop.",
        "KIP-580, backoff",
        provoked="errors that can be tried again are answered for two seconds",
        judged="how many requests of one kind come within a second",
        judge=backoff,
    ),
    Requirement(
        "CLIENT-JOIN-SILENT",
        Level.SHOULD,
        "An error that the client can recover from is no fatal one for its user, and ends nothing.",
        "KIP-345, Join Group Logic Change: only a taken place is told",
        provoked="errors that can be tried again are answered for a while, or an answer is lost",
        judged="the user is told of no fatal error, and the consumer doesn't end",
        judge=silent,
    ),
    Requirement(
        "CLIENT-OLD-BROKER-NOT-TWICE",
        Level.SHOULD,
        "At a broker without JoinGroup 5 two processes with one instance id never both work in "
        "silence: they are refused, or join as dynamic members and their users are told.",
        "Kafka's own client, which joins nothing there; KIP-345 is silent",
        provoked="two processes with one instance id start at a broker of Kafka 2.2",
        judged="of the users that have partitions there, all but one were told something",
        dispute="KIP-345 asks for old versions at old brokers, but only for joins without an "
        "instance id; of static members it says no more than that brokers are upgraded first.  "
        "Joined as dynamic members, the two have different partitions, and nothing is read twice: "
        "not a MUST.  But an option was set and is not in force, and the copied id that it "
        "would have shown is never found.",
        judge=not_twice,
    ),
    Requirement(
        "CLIENT-OLD-BROKER-TOLD",
        Level.SHOULD,
        "The user of a static member is told clearly that the broker has no static members.",
        "Kafka's own client, which raises UnsupportedVersionException; KIP-345 is silent",
        provoked="a static member starts at a broker of Kafka 2.2",
        judged="an error that is raised, returned or handed to a callback",
        dispute="The sentence on UNSUPPORTED_VERSION in the KIP is about its administration tool, "
        "so the KIP doesn't ask for it: not a MUST.  But a user who isn't told relies on restarts "
        "without a rebalance, and doesn't get them.",
        judge=told,
    ),
    Requirement(
        "CLIENT-OLD-BROKER-RESTARTED",
        Level.SHOULD,
        "When a broker comes back as an older release, the member asks for its versions again, and "
        "uses none that it doesn't know.",
        "KIP-35, ApiVersions after each connection",
        provoked="the broker is restarted as Kafka 2.3 while a static member runs",
        judged="no request has a version above the broker's after the new connection's ApiVersions",
        judge=restarted,
    ),
)
