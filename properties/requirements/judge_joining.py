"""State the requirements of the areas IDENTITY, JOIN and OLD-BROKER, and judge them.

They are about the requests of a member that joins, its reactions to answers and to missing answers,
and about brokers that know no static members.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.table.table import Level
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
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import (
    HOLDS,
    JOIN_LOGIC,
    Members,
    Requirement,
    Verdict,
    has_partitions,
    holds,
    unknown,
    unsupported,
    violated,
    wait_in_vain,
    with_instance,
    with_member,
)

_LOST = {"lose", "cut"}
_OF_READERS = ("OffsetFetch", "ListOffsets", "Fetch")
"""APIs whose errors pass, whichever they are: a reader asks again."""

_REQUIRES = 4
"""The first version of JoinGroup that may be answered MEMBER_ID_REQUIRED."""

_WINDOW_MS = 1000
_MOST = 50
"""More requests of one kind in a second are a hot loop: the Java client first waits 100 ms, and a
loop without a pause sends hundreds."""
_AT_ONCE_MS = 20
_RUN = 10
"""This many repeats, each sent within that time of the refusal, are a hot loop, too.  Such a loop
sends fewer in a second while the machine is busy."""


def _carries_instance(evidence: Evidence, *apis: str) -> Iterator[Verdict]:
    """Judge the instance id in each request of a static member that has room for one."""
    judged = set()
    for run in evidence.static_runs:
        for call in evidence.of(run, *apis):
            if call.request is None or not _has_room(evidence, call):
                continue
            judged.add(call.api)
            if call.version < FIRST_WITH_INSTANCE[call.api] or call.instance != run.instance:
                yield _other_instance(run, call)
    missing = [api for api in apis if api not in judged and api != COMMIT]
    if missing:
        yield unknown(f"no static member sent {' or '.join(missing)}")
    is_whole = set(apis) <= judged
    yield HOLDS if is_whole else holds(f"nothing was committed, so {COMMIT} was not seen")


def _has_room(evidence: Evidence, call: Call) -> bool:
    """Tell if a request could have carried an instance id, as far as the broker goes."""
    versions = evidence.advertised(call.api, call.at_ms)
    first = FIRST_WITH_INSTANCE[call.api]
    return call.version >= first or (versions is not None and versions[1] >= first)


def _other_instance(run: ConsumerRun, call: Call) -> Verdict:
    if call.version < FIRST_WITH_INSTANCE[call.api]:
        how, detail = "in a version without room for one", f"is of version {call.version}"
    elif call.instance is None:
        how, detail = "without an instance id", "has none"
    else:
        how, detail = "with another instance id", f"has '{call.instance}'"
    return violated(
        f"{call.api} {how}",
        f"the user of {run.name} set {with_instance(run.instance)}; {call.api} "
        f"v{call.version} {detail}",
        call.at_ms,
    )


def _versions(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.static_runs:
        for call in evidence.of(run, *MEMBER_APIS):
            first = FIRST_WITH_INSTANCE[call.api]
            known = evidence.advertised(call.api, call.at_ms)
            if known is None or known[1] < first:
                continue
            yield HOLDS
            if call.version < first:
                yield violated(
                    f"{call.api} v{call.version}",
                    f"{run.name}, a static member, sent {call.api} v{call.version}, where the "
                    f"broker knows up to v{known[1]}: fencing needs v{first}",
                    call.at_ms,
                )


def _newest(evidence: Evidence) -> Iterator[Verdict]:
    usual: dict[tuple[str, str], int] = {}
    changed_ms = evidence.versions[-1][0] if len(evidence.versions) > 1 else math.inf
    for run in evidence.runs:
        for call in evidence.of(run, *MEMBER_APIS):
            known = evidence.advertised(call.api, call.at_ms)
            if known is None:
                continue
            before = usual.setdefault((run.id, call.api), call.version)
            if call.at_ms > changed_ms:
                yield HOLDS
            if call.version != min(before, known[1]) and call.error is not None:
                yield violated(
                    f"{call.api} not in the newest version that both know",
                    f"{run.name} sent {call.api} v{call.version}; it knows v{before}, and the "
                    f"broker up to v{known[1]}",
                    call.at_ms,
                )


def _dynamic(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        if run.instance is not None:
            continue
        for call in evidence.of(run, *MEMBER_APIS):
            yield HOLDS
            if call.instance is not None:
                yield violated(
                    f"{call.api} with an instance id",
                    f"the user of {run.name} set no instance id; {call.api} v{call.version} has "
                    f"'{call.instance}'",
                    call.at_ms,
                )


def _empty_first(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        call = evidence.first_after(run, 0.0, JOIN)
        if call is None:
            continue
        yield HOLDS
        if call.member_id:
            yield violated(
                "the first JoinGroup has a member id",
                f"{run.name} was just started, and joined with {with_member(call.member_id)}",
                call.at_ms,
            )


def _id_required(evidence: Evidence) -> Iterator[Verdict]:
    is_judged = False
    for run, call in evidence.refusals(Code.MEMBER_ID_REQUIRED, JOIN):
        member_id = call.answer.member_id if isinstance(call.answer, JoinGroupResponse) else ""
        after = evidence.first_after(run, call.end_ms, JOIN)
        if after is None:
            yield _no_join(evidence, run, call)
        elif after.member_id != member_id:
            yield violated(
                "the JoinGroup after MEMBER_ID_REQUIRED has another member id",
                f"{run.name} was given {with_member(member_id)} with MEMBER_ID_REQUIRED, and "
                f"joined with {with_member(after.member_id)}",
                after.at_ms,
            )
        is_judged = True
        yield HOLDS
    versions = {call.version for run in evidence.runs for call in evidence.of(run, JOIN)}
    if not is_judged and versions and max(versions) < _REQUIRES:
        yield unsupported(f"it joins with JoinGroup v{max(versions)}, without MEMBER_ID_REQUIRED")


def _rejoins_without_answer(evidence: Evidence, fault: str, after: str) -> Iterator[Verdict]:
    """Judge the join after one that came to nothing by this fault."""
    for run in evidence.runs:
        lost = [c for c in evidence.of(run, JOIN) if c.fault == fault and not c.answer]
        for call in lost:
            again = evidence.first_after(run, call.at_ms + 1e-6, JOIN)
            if again is None:
                yield _no_join(evidence, run, call, after)
                return
            allowed = {"", call.member_id} | evidence.member_ids(run)
            if again.instance != run.instance or again.member_id not in allowed:
                yield violated(
                    f"joins as somebody else {after}",
                    f"{run.name} joined with {with_instance(again.instance)} and "
                    f"{with_member(again.member_id)} {after}",
                    again.at_ms,
                )
        if lost:
            yield has_partitions(evidence, run, lost[0].at_ms, after)


def _rejoins_after(
    evidence: Evidence,
    code: Code,
    apis: Sequence[str],
    is_right: Callable[[ConsumerRun, Call, Call], bool],
) -> Iterator[Verdict]:
    """Judge the next join after each such answer to a member."""
    is_judged = False
    for run, call in evidence.refusals(code, *apis):
        if _is_handled(evidence, run, call) or _has_left(evidence, run, call):
            continue
        is_judged = True
        join = evidence.first_after(run, call.end_ms, JOIN)
        if join is None:
            yield _no_join(evidence, run, call)
            return
        if not is_right(run, call, join):
            yield violated(
                f"joins as somebody else after {code.name} in {call.api}",
                f"{run.name} ({with_instance(run.instance)}, {with_member(call.member_id)}) was "
                f"answered {code.name} in {call.api}, and joined with "
                f"{with_instance(join.instance)} and {with_member(join.member_id)}",
                join.at_ms,
            )
        after = f"after {code.name} in {call.api}"
        yield has_partitions(evidence, run, call.end_ms, after, until=run.ended_ms)
    if not is_judged:
        yield unknown(f"no member was answered {code.name}")


def _is_handled(evidence: Evidence, run: ConsumerRun, call: Call) -> bool:
    """Tell if an answer came to a request that was sent before a join: that is the reaction."""
    joins = evidence.of(run, JOIN, since=call.at_ms, until=call.end_ms)
    return call.api != JOIN and any(join is not call for join in joins)


def _has_left(evidence: Evidence, run: ConsumerRun, call: Call) -> bool:
    """Tell if a member had left when the answer came, and had not joined again."""
    leaves = [leave.at_ms for leave in evidence.leaves_of(run) if leave.client_id == run.id]
    left_ms = max((at_ms for at_ms in leaves if at_ms <= call.end_ms), default=None)
    return left_ms is not None and not evidence.of(run, JOIN, since=left_ms, until=call.end_ms)


def _has_instance(run: ConsumerRun, _: Call, join: Call) -> bool:
    return join.instance == run.instance


def _no_join(evidence: Evidence, run: ConsumerRun, call: Call, after: str = "") -> Verdict:
    after = after or f"after {call.error_name} in {call.api}"
    since = call.end_ms
    end = evidence.ended_ms if run.ended_ms is None else run.ended_ms
    return violated(
        f"no JoinGroup {after}",
        f"{run.name} sent no JoinGroup {after}, for {(end - since) / 1000:.1f} s",
        since,
        waited=wait_in_vain(evidence, since, end),
    )


def _goes_on(evidence: Evidence, *codes: Code, looks: bool) -> Iterator[Verdict]:
    """Judge the reaction to an error of the coordinator; `looks`: True: look for another one."""
    is_judged = False
    for code in codes:
        for run, call in evidence.refusals(code):
            since = call.end_ms
            if looks and evidence.first_after(run, call.at_ms, FIND) is None:
                yield violated(
                    f"no FindCoordinator after {code.name}",
                    f"{run.name} was answered {code.name} in {call.api}, and didn't look for the "
                    "coordinator",
                    since,
                    waited=(since, evidence.ended_ms),
                )
            later = evidence.of(run, *MEMBER_APIS, since=since)
            decided = next(
                (c for c in later if c.error is not None and c.error not in MOVING), None
            )
            if decided is None:
                yield violated(
                    f"does not go on after {code.name}",
                    f"{run.name} was answered {code.name} in {call.api}, and nothing that it "
                    "sent afterwards was answered well",
                    since,
                    waited=(since, evidence.ended_ms),
                )
                return
            is_judged = True
            has_room = decided.version >= FIRST_WITH_INSTANCE[decided.api]
            lost_id = has_room and decided.instance != run.instance
            if call.member_id != decided.member_id or lost_id:
                yield violated(
                    f"is somebody else after {code.name}",
                    f"{run.name} had {with_member(call.member_id)} when it was answered "
                    f"{code.name}, and went on with {with_member(decided.member_id)} and "
                    f"{with_instance(decided.instance)}",
                    decided.at_ms,
                )
    names = " or ".join(code.name for code in codes)
    yield HOLDS if is_judged else unknown(f"{names} was never answered to a member")


def _backoff(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for api in (*MEMBER_APIS, FIND, *_OF_READERS):
            refusals = [call for call in evidence.of(run, api) if _is_repeated(call)]
            for index, first in enumerate(refusals):
                yield HOLDS
                within = [c for c in refusals[index:] if c.at_ms < first.at_ms + _WINDOW_MS]
                if len(within) > _MOST:
                    yield violated(
                        f"hot loop of {api}",
                        f"{run.name} sent {api} {len(within)} times within a second while it was "
                        f"answered {first.error_name}",
                        first.at_ms,
                    )
                elif _goes_on_at_once(refusals[index : index + _RUN + 1]):
                    yield violated(
                        f"hot loop of {api}",
                        f"{run.name} sent {api} {_RUN} times within {_AT_ONCE_MS} ms of the answer "
                        f"{first.error_name}",
                        first.at_ms,
                    )


def _goes_on_at_once(refusals: Sequence[Call]) -> bool:
    """Tell if these are enough refusals, each but the last followed by the next one at once."""
    pairs = list(pairwise(refusals))
    return len(pairs) == _RUN and all(b.at_ms - a.end_ms <= _AT_ONCE_MS for a, b in pairs)


def _is_repeated(call: Call) -> bool:
    """Tell if a call met an error after which a client sends the same request again."""
    return call.error in MOVING or (call.api in _OF_READERS and bool(call.error))


def _silent(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        trouble = next((c for c in evidence.of(run, *MEMBER_APIS) if _passes(c)), None)
        if trouble is None:
            continue
        yield HOLDS
        lost = f"a lost answer to {trouble.api}"
        cause = lost if trouble.error is None else trouble.error_name
        refusals = evidence.refusals(Code.FENCED_INSTANCE_ID)
        fenced_ms = min((c.end_ms for other, c in refusals if other is run), default=math.inf)
        for at_ms, error in evidence.errors_of(run, trouble.end_ms):
            if error.fatal and at_ms < fenced_ms - CLOCK_MS and not run.is_over(at_ms):
                yield violated(
                    f"fatal after {cause}",
                    f"the user of {run.name} got {error.code} as a fatal error, in "
                    f"{error.where}, after {cause}",
                    at_ms,
                )
        ended_ms = evidence.ended(run)
        if ended_ms is not None and ended_ms < fenced_ms and not run.is_over(ended_ms):
            yield violated(f"ends after {cause}", f"{run.name} gave up after {cause}", ended_ms)


def _passes(call: Call) -> bool:
    """Tell if a call met trouble that passes."""
    return call.error in MOVING or (call.fault in _LOST and call.answer is None)


def _not_twice(evidence: Evidence) -> Iterator[Verdict]:
    silent: dict[str | None, ConsumerRun] = {}
    for run in _at_old_broker(evidence):
        yield HOLDS
        first = next(iter(evidence.events_of(run, Assigned)), None)
        if first is None or _first_error(evidence, run) is not None:
            continue
        other = silent.setdefault(run.instance, run)
        if other is not run:
            yield violated(
                "works in silence at a broker without static members",
                f"{other.name} and {run.name} both have {with_instance(run.instance)}; "
                "their users were assigned partitions at a broker without static members, and got "
                "no error",
                first.at_ms,
                waited=(other.began_ms, evidence.ended_ms),
            )


def _reports_old_broker(evidence: Evidence) -> Iterator[Verdict]:
    for run in _at_old_broker(evidence):
        code = _first_error(evidence, run)
        if code is None:
            yield violated(
                "not told that the broker has no static members",
                f"the user of {run.name}, a static member, got no error at a broker without "
                "static members",
                run.began_ms,
                waited=(run.began_ms, evidence.ended_ms),
            )
        yield holds(f"got {code}")


def _at_old_broker(evidence: Evidence) -> Iterator[ConsumerRun]:
    for run in evidence.static_runs:
        versions = evidence.advertised(JOIN, run.began_ms)
        if versions is not None and versions[1] < FIRST_WITH_INSTANCE[JOIN]:
            yield run


def _first_error(evidence: Evidence, run: ConsumerRun) -> str | None:
    """Return the code of the first error that the user received."""
    return next((error.code for _, error in evidence.errors_of(run)), None)


def _older_after_restart(evidence: Evidence) -> Iterator[Verdict]:
    for restart in evidence.actions_of("restart"):
        for run in evidence.runs:
            if run.began_ms > restart.began_ms or run.ended_ms is not None:
                continue
            for call in evidence.of(run, FIND, *MEMBER_APIS, since=restart.ended_ms):
                known = evidence.advertised(call.api, call.at_ms)
                if known is None:
                    continue
                yield HOLDS
                if call.version > known[1]:
                    yield violated(
                        f"{call.api} above the broker's newest version",
                        f"{run.name} sent {call.api} v{call.version} to a broker that came back "
                        f"with v{known[1]} at most",
                        call.at_ms,
                    )
            wrong = has_partitions(evidence, run, restart.ended_ms, "after the broker came back")
            if wrong is not HOLDS:
                yield wrong


_OF_INSTANCE_ID = "KIP-345, the consumer setting group.instance.id"
_OF_ERRORS = "Kafka's protocol guide, error codes that can be tried again"
_OF_REQUESTS = "KIP-345, Client Side Changes"


REQUIREMENTS = (
    Requirement(
        "CLIENT-IDENTITY-AS-SET",
        Level.MUST,
        "A static member puts the instance id that its user set, unchanged, into each JoinGroup.",
        _OF_INSTANCE_ID,
        provoked="a static member joins",
        judged="the instance id in each JoinGroup whose version has room for one",
        judge=lambda evidence: _carries_instance(evidence, JOIN),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-IDENTITY-EVERY-REQUEST",
        Level.MUST,
        "A static member puts its instance id into each SyncGroup, Heartbeat and OffsetCommit, "
        "so that it can be fenced.",
        _OF_REQUESTS,
        provoked="a static member joins, heartbeats and commits",
        judged="the instance id in each request whose version has room for one",
        judge=lambda evidence: _carries_instance(evidence, SYNC, HEARTBEAT, COMMIT),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-IDENTITY-VERSIONS",
        Level.MUST,
        "A static member uses versions of JoinGroup, SyncGroup, Heartbeat and OffsetCommit that "
        "carry its instance id, if the broker has them.",
        _OF_REQUESTS,
        provoked="a static member joins, heartbeats and commits at a broker that knows them all",
        judged="no request is of a version below JoinGroup 5, SyncGroup 3, Heartbeat 3, "
        "OffsetCommit 7",
        judge=_versions,
        unseen="no static member sent a request to a broker that knows any",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-IDENTITY-NEWEST",
        Level.SHOULD,
        "A client uses the newest version of each API that it and the broker have.",
        "KIP-35, ApiVersions",
        provoked="the broker comes back with lower versions",
        judged="each version is the one that was used before, or the broker's newest if that is "
        "lower",
        judge=_newest,
        unseen="no request came after the broker's versions changed",
    ),
    Requirement(
        "CLIENT-IDENTITY-DYNAMIC",
        Level.MUST,
        "A consumer without an instance id is a dynamic member: no request carries an instance "
        "id, not even an empty one.",
        _OF_INSTANCE_ID,
        provoked="a dynamic member joins, heartbeats and commits",
        judged="the instance id of each request is null",
        judge=_dynamic,
        unseen="no dynamic member sent a request",
        members=Members.DYNAMIC,
    ),
    Requirement(
        "CLIENT-JOIN-EMPTY-FIRST",
        Level.MUST,
        "A new consumer joins with an empty member id, so that the coordinator can "
        "distinguish a restart from a zombie.",
        JOIN_LOGIC,
        provoked="a member is started",
        judged="the member id of its first JoinGroup",
        judge=_empty_first,
        unseen="no member joined",
    ),
    Requirement(
        "CLIENT-JOIN-ID-REQUIRED",
        Level.SHOULD,
        "After MEMBER_ID_REQUIRED a client joins with the member id of that answer.",
        "KIP-394",
        provoked="a dynamic member is started",
        judged="the member id of the JoinGroup after such an answer",
        judge=_id_required,
        unseen="MEMBER_ID_REQUIRED was never answered",
        members=Members.DYNAMIC,
    ),
    Requirement(
        "CLIENT-JOIN-LOST-ANSWER",
        Level.MUST,
        "A member that lost the answer to its JoinGroup rejoins, a static one with its instance "
        "id, and gets its partitions.",
        JOIN_LOGIC,
        provoked="the answer to a JoinGroup is lost with its connection",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        judge=lambda evidence: _rejoins_without_answer(
            evidence, "lose", "after the answer to its JoinGroup was lost"
        ),
        unseen="no such JoinGroup was seen",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-JOIN-CUT",
        Level.MUST,
        "A member that lost its connection while its JoinGroup was parked rejoins, a static one "
        "with its instance id, and gets its partitions.",
        JOIN_LOGIC,
        provoked="the connection is cut while a JoinGroup is parked",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        judge=lambda evidence: _rejoins_without_answer(
            evidence, "cut", "after its connection was cut in a JoinGroup"
        ),
        unseen="no such JoinGroup was seen",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-JOIN-UNKNOWN-MEMBER",
        Level.MUST,
        "After UNKNOWN_MEMBER_ID a member rejoins, a static one with its instance id, and gets "
        "its partitions.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        judge=lambda evidence: _rejoins_after(
            evidence, Code.UNKNOWN_MEMBER_ID, MEMBER_APIS, _has_instance
        ),
    ),
    Requirement(
        "CLIENT-JOIN-UNKNOWN-EMPTY",
        Level.SHOULD,
        "After UNKNOWN_MEMBER_ID a member joins with an empty member id.",
        "KIP-345, Join and Leave Group Logic Change",
        provoked="a heartbeat, a SyncGroup and a JoinGroup are answered UNKNOWN_MEMBER_ID",
        judged="the member id of the next JoinGroup",
        judge=lambda evidence: _rejoins_after(
            evidence, Code.UNKNOWN_MEMBER_ID, MEMBER_APIS, lambda _, __, join: not join.member_id
        ),
    ),
    Requirement(
        "CLIENT-JOIN-ILLEGAL-GENERATION",
        Level.SHOULD,
        "After ILLEGAL_GENERATION a member rejoins, a static one with its instance id, and gets "
        "its partitions.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered ILLEGAL_GENERATION",
        judged="the instance id of the next JoinGroup, and that the user has partitions at the end",
        judge=lambda evidence: _rejoins_after(
            evidence, Code.ILLEGAL_GENERATION, (SYNC, HEARTBEAT, COMMIT), _has_instance
        ),
    ),
    Requirement(
        "CLIENT-JOIN-REBALANCE",
        Level.SHOULD,
        "After REBALANCE_IN_PROGRESS a member rejoins with its member id and its instance id.",
        "Kafka's protocol guide",
        provoked="a heartbeat and a SyncGroup are answered REBALANCE_IN_PROGRESS",
        judged="member id and instance id of the next JoinGroup",
        judge=lambda evidence: _rejoins_after(
            evidence,
            Code.REBALANCE_IN_PROGRESS,
            (SYNC, HEARTBEAT),
            lambda run, call, join: (
                join.member_id == call.member_id and join.instance == run.instance
            ),
        ),
    ),
    Requirement(
        "CLIENT-JOIN-COORDINATOR",
        Level.SHOULD,
        "After NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE a member looks up the coordinator, "
        "and keeps its ids.",
        _OF_ERRORS,
        provoked="the coordinator moves to another node; then none is available for a while",
        judged="a FindCoordinator follows, and the next group requests have the member id and the "
        "instance id of before",
        judge=lambda evidence: _goes_on(
            evidence, Code.NOT_COORDINATOR, Code.COORDINATOR_NOT_AVAILABLE, looks=True
        ),
    ),
    Requirement(
        "CLIENT-JOIN-LOADING",
        Level.SHOULD,
        "While the coordinator loads, a member retries, and keeps its ids.",
        _OF_ERRORS,
        provoked="the coordinator answers COORDINATOR_LOAD_IN_PROGRESS for a while",
        judged="the next requests that are answered without error have the member id of before",
        judge=lambda evidence: _goes_on(evidence, Code.COORDINATOR_LOAD_IN_PROGRESS, looks=False),
    ),
    Requirement(
        "CLIENT-JOIN-BACKOFF",
        Level.SHOULD,
        "A client waits before it retries a refused request.",
        "KIP-580, backoff",
        provoked=(
            "a member gets temporary errors for two seconds, for each of its requests, those "
            "for offsets and records, too"
        ),
        judged="the number of refused requests of one kind within a second",
        judge=_backoff,
        unseen="no temporary error was answered",
    ),
    Requirement(
        "CLIENT-JOIN-SILENT",
        Level.SHOULD,
        "A client reports no error as fatal from which it can recover, and goes on.",
        "KIP-345, Join Group Logic Change: only a taken instance id is an error",
        provoked="a member gets temporary errors for a while, or loses an answer",
        judged="the user gets no fatal error, and the consumer doesn't end",
        judge=_silent,
        unseen="no temporary error was answered",
    ),
    Requirement(
        "CLIENT-OLD-BROKER-NOT-TWICE",
        Level.SHOULD,
        "At a broker without JoinGroup 5, two processes with one instance id never both read "
        "without an error: they are refused, or their users get the error that they are dynamic.",
        "Kafka's own client, which joins nothing there; KIP-345 is silent",
        provoked="two processes with one instance id start at a broker of Kafka 2.2",
        judged="of the users that have partitions there, all but one got an error",
        dispute="KIP-345 asks for old versions at old brokers, but only for joins without an "
        "instance id; of static members it says no more than that brokers are upgraded first.  "
        "Joined as dynamic members, the two have different partitions, and nothing is read twice: "
        "not a MUST.  But an option was set and is not in force, and the copied id that it "
        "would have shown is never found.",
        judge=_not_twice,
        unseen="no static member was started at such a broker",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-OLD-BROKER-TOLD",
        Level.SHOULD,
        "A static member reports a clear error if the broker has no static members.",
        "Kafka's own client, which raises UnsupportedVersionException; KIP-345 is silent",
        provoked="a static member starts at a broker of Kafka 2.2",
        judged="an error that is raised, returned or handed to a callback",
        dispute="The sentence on UNSUPPORTED_VERSION in the KIP is about its administration tool, "
        "so the KIP doesn't ask for it: not a MUST.  But a user without the error relies on "
        "restarts without a rebalance, and doesn't get them.",
        judge=_reports_old_broker,
        unseen="no static member was started there",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-OLD-BROKER-RESTARTED",
        Level.SHOULD,
        "After a broker restarted as an older release, a client asks for its versions again, "
        "and uses only those.",
        "KIP-35, ApiVersions after each connection",
        provoked="the broker is restarted as Kafka 2.3 while a member runs",
        judged="no request has a version above the broker's after the new connection's ApiVersions",
        judge=_older_after_restart,
        unseen="no member ran during a restart of its broker",
    ),
)
