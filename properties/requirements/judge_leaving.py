"""State the requirements of the areas CLOSE, FENCED and REMOVED, and judge them.

They are about the leave of a member, and its behaviour after it has lost its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse, LeaveGroupRequest
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Partition, Revoked
from fencepost.properties.requirements.evidence import (
    CLOSE_TWICE,
    COMMIT,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Action,
    Call,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import (
    BEHAVIOUR,
    HOLDS,
    JOIN_LOGIC,
    Members,
    Requirement,
    Verdict,
    has_partitions,
    holds,
    no_leave,
    nobody_fenced,
    unknown,
    unsupported,
    violated,
    wait_in_vain,
    with_instance,
    with_member,
)

_CLOSE, _REMOVE, _EXPIRE, _RESUME = "close", "remove", "expire", "poll-on"
_FENCED = Code.FENCED_INSTANCE_ID

_SPARE_MS = 500
"""Time that a close may take beyond its timeout."""

_GRACE_MS = 100
"""Delay of events that another thread hands over beside an error."""

_QUIET_MS = 500
"""Delay of requests in flight when the answer came, and of a heartbeat that was due."""

_SILENT_MS = 1000
"""Time after the answer at which a client counts as fenced if its user gets no error."""


def _stays(evidence: Evidence, name: str) -> Iterator[Verdict]:
    """Judge that a static member sends no LeaveGroup after an action of its user."""
    for run, act in evidence.actions_on_runs(name):
        if run.instance is not None and not _owed(evidence, run, act.began_ms):
            yield no_leave(evidence, run, act.began_ms)


def _owed(evidence: Evidence, run: ConsumerRun, at_ms: float) -> frozenset[Partition]:
    """Return what a cooperative member's last sync took from it, unless it joined after that.

    Nobody is assigned it before the member joins again, or has left.
    """
    syncs = [sync for sync in evidence.syncs_of(run) if sync.end_ms < at_ms]
    if not run.is_cooperative or len(syncs) < 2:
        return frozenset()
    if any(syncs[-1].end_ms < join.end_ms < at_ms for join in evidence.joins_of(run)):
        return frozenset()
    had, has = (frozenset(sync.assigned) for sync in syncs[-2:])
    return had - has


def _revoked_is_assigned(evidence: Evidence) -> Iterator[Verdict]:
    for run, close in evidence.actions_on_runs(_CLOSE):
        owed = _owed(evidence, run, close.began_ms)
        again = evidence.run_of(run.consumer, run.number + 1)
        if run.instance is None or not owed or again is None or again.ended_ms is not None:
            continue
        yield HOLDS
        running = [other for other in evidence.runs if other.ended_ms is None]
        owned = [evidence.owned(other) for other in running]
        if orphans := sorted(owed.difference(*owned)):
            topic, number = orphans[0]
            yield violated(
                "partitions that it gave back have no reader",
                f"{run.name} gave {topic}-{number} and {len(orphans) - 1} more back, closed before "
                "it joined again, and came back; nobody had them for "
                f"{(evidence.ended_ms - again.began_ms) / 1000:.1f} s",
                close.began_ms,
                waited=wait_in_vain(evidence, again.began_ms, evidence.ended_ms),
            )


def _nothing_owed(evidence: Evidence) -> Verdict:
    """Make the verdict where no member owed a join when it closed, with the reason."""
    for run, stop in evidence.actions_on_runs("stop-polling"):
        if evidence.actions_of(_CLOSE, run) and not evidence.of(run, SYNC, since=stop.began_ms):
            return unsupported(f"{run.name} joins only when its user polls")
    return unknown("no static member closed between its last assignment and the join that it owed")


def _dynamic_leaves(evidence: Evidence) -> Iterator[Verdict]:
    for run, close in evidence.actions_on_runs(_CLOSE):
        names = evidence.member_ids(run)
        if run.instance is not None or not names:
            continue
        leave = next(evidence.leaves_of(run, close.began_ms), None)
        if leave is None:
            yield violated(
                "no LeaveGroup of a dynamic member",
                f"{run.name}, a dynamic member, closed and sent no LeaveGroup",
                close.ended_ms,
                waited=(close.began_ms, evidence.ended_ms),
            )
            return
        if leave.instance is not None or leave.member_id not in names:
            yield violated(
                "LeaveGroup of somebody else",
                f"{run.name} left with {with_member(leave.member_id)} and "
                f"{with_instance(leave.instance)}",
                leave.at_ms,
            )
        yield HOLDS


def _closes_in_time(evidence: Evidence) -> Iterator[Verdict]:
    for run, close in evidence.actions_on_runs(_CLOSE):
        yield _in_time(evidence, run, close)


def _closes_twice(evidence: Evidence) -> Iterator[Verdict]:
    for run, close in evidence.actions_on_runs(CLOSE_TWICE):
        yield _in_time(evidence, run, close)
        if close.is_refused_call:
            yield violated(
                f"{close.outcome} from a second close",
                f"the user of {run.name} closed it twice, and got {close.outcome}: {close.message}",
                close.began_ms,
            )


def _in_time(evidence: Evidence, run: ConsumerRun, close: Action) -> Verdict:
    """Judge the time of a close; the library's own account of it counts most.

    A slow machine excuses no close that is late by more than twice all waits of the control client.
    """
    limit = close.limit_ms
    took = close.ended_ms - close.began_ms if close.took_ms is None else close.took_ms
    if limit is None or (close.outcome != "late" and took <= limit + _SPARE_MS):
        return HOLDS
    how = "had not returned" if close.outcome == "late" else "returned"
    stalled = evidence.stalled_ms(close.began_ms, close.ended_ms)
    is_excused = took - limit - _SPARE_MS <= 2 * stalled
    return violated(
        "close is late",
        f"the close of {run.name} {how} after {took:.0f} ms; its timeout is {limit:.0f} ms",
        close.began_ms,
        waited=(close.began_ms, close.ended_ms) if is_excused else None,
    )


def _fenced_close(evidence: Evidence) -> Iterator[Verdict]:
    fenced_ms = {run.id: call.end_ms for run, call in evidence.fenced_calls()}
    for run, close in evidence.actions_on_runs(_CLOSE):
        if run.id not in fenced_ms or close.began_ms < fenced_ms[run.id]:
            continue
        yield _in_time(evidence, run, close)
        own = evidence.member_ids(run)
        for call in evidence.leaves_of(run, fenced_ms[run.id]):
            rows = call.request.members if isinstance(call.request, LeaveGroupRequest) else ()
            if any(row.member_id not in own and row.group_instance_id for row in rows):
                yield violated(
                    "LeaveGroup of the one who has its place",
                    f"{run.name} was fenced, and sent LeaveGroup with "
                    f"{with_instance(call.instance)} and {with_member(call.member_id)}",
                    call.at_ms,
                )
    if not fenced_ms:
        yield nobody_fenced(evidence)


def _rebalancing(evidence: Evidence) -> Iterator[Verdict]:
    for run, close in evidence.actions_on_runs(_CLOSE):
        joins = evidence.of(run, JOIN, until=close.began_ms)
        if all(c.answered_ms is not None and c.answered_ms <= close.began_ms for c in joins):
            continue
        yield _in_time(evidence, run, close)
        if run.instance is not None:
            yield no_leave(evidence, run, close.began_ms)


def _removals(evidence: Evidence, *names: str) -> Iterator[tuple[ConsumerRun, float]]:
    """Yield each member that lost its place, and when."""
    for run, act in evidence.actions_on_runs(*names):
        if act.outcome == "ok" and not _is_still_member(evidence, run, act.ended_ms):
            yield run, act.ended_ms


def _is_still_member(evidence: Evidence, run: ConsumerRun, since: float) -> bool:
    """Tell if the coordinator goes on with the member id that it had given before.

    So it is when the removal is lost: the coordinator failed over before it was stored.
    """
    joins = [call.answer for call in evidence.joins_of(run) if call.end_ms <= since]
    ids = {a.member_id for a in joins if isinstance(a, JoinGroupResponse)}
    calls = evidence.of(run, HEARTBEAT, SYNC, since=since)
    return any(call.went_well and call.member_id in ids for call in calls)


def _comes_back(evidence: Evidence, name: str, after: str) -> Iterator[Verdict]:
    """Judge the return of a member that lost its place by this action."""
    for run, since in _removals(evidence, name):
        # A join that was under way at the removal is refused, and shows nothing yet.
        joins = [call for call in evidence.of(run, JOIN, since=since) if not call.member_id]
        joins += [call for call in evidence.of(run, JOIN, since=since) if call.went_well]
        if not joins:
            yield violated(
                f"does not come back {after}",
                f"{run.name} did not join as a new member {after}, for "
                f"{(evidence.ended_ms - since) / 1000:.1f} s",
                since,
                waited=(since, evidence.ended_ms),
            )
            return
        if joins[0].instance != run.instance or joins[0].member_id:
            yield violated(
                f"comes back as somebody else {after}",
                f"{run.name} joined with {with_instance(joins[0].instance)} and "
                f"{with_member(joins[0].member_id)} {after}",
                joins[0].at_ms,
            )
        yield has_partitions(evidence, run, since, after)


def _no_commits_after_removal(evidence: Evidence) -> Iterator[Verdict]:
    for run, since in _removals(evidence, _REMOVE, _EXPIRE):
        back = next((c for c in evidence.of(run, JOIN, since=since) if c.went_well), None)
        until = evidence.ended_ms if back is None else back.end_ms
        yield HOLDS
        for call in evidence.of(run, COMMIT, since=since, until=until):
            if call.request is None:
                continue
            if call.generation < 0:  # with a generation it is refused, whoever sends it
                yield violated(
                    "commits as nobody's member",
                    f"{run.name} had been removed, and committed with "
                    f"{with_member(call.member_id)}, {with_instance(call.instance)} and generation "
                    f"{call.generation}",
                    call.at_ms,
                )


def _reports_loss(evidence: Evidence) -> Iterator[Verdict]:
    for run, since in _removals(evidence, _REMOVE, _EXPIRE):
        if evidence.owned(run, since) and not evidence.events_of(run, Assigned):
            yield unsupported("it reports no partitions to its user")
        again = next(iter(evidence.events_of(run, Assigned, since=since)), None)
        before = [event for event in evidence.events_of(run, Assigned) if event.at_ms < since]
        if again is None or not before or evidence.first_after(run, since, JOIN) is None:
            continue
        yield HOLDS
        losses = [e for e in evidence.events_of(run, Revoked, Lost) if e.at_ms <= again.at_ms]
        if not losses or losses[-1].at_ms < before[-1].at_ms:
            yield violated(
                "not told that its partitions are lost",
                f"{run.name} was removed and came back, and its user was assigned partitions "
                "anew without an event that the old ones are gone",
                again.at_ms,
            )


def _fenced_runs(evidence: Evidence) -> Iterator[tuple[ConsumerRun, Call]]:
    """Yield each run that was fenced, with the first answer that says so."""
    for run in evidence.runs:
        calls = [call for other, call in evidence.fenced_calls() if other is run]
        if calls:
            yield run, min(calls, key=lambda call: call.end_ms)


def _reports_fencing(evidence: Evidence, api: str) -> Iterator[Verdict]:
    """Judge that the user gets an error after FENCED_INSTANCE_ID in this API."""
    is_judged = False
    for run, call in evidence.refusals(_FENCED, api):
        is_judged = True
        since = call.end_ms
        if _report_ms(evidence, run, call.at_ms) is None:
            others = [error for _, error in evidence.errors_of(run, call.at_ms)]
            codes = ", ".join(dict.fromkeys(error.code for error in others))
            how, detail = "is not told", "got no error"
            if others:
                how, detail = "is told of something else", f"got {codes}, and not this error,"
            if any(error.fatal for error in others):
                detail = f"got a fatal error without the reason ({codes})"
            yield violated(
                f"the user {how} after {api}",
                f"{run.name} was answered {_FENCED.name} in {api}, and its user {detail} "
                f"for {(evidence.ended_ms - since) / 1000:.1f} s",
                since,
                waited=(since, evidence.ended_ms),
            )
    yield HOLDS if is_judged else nobody_fenced(evidence, api)


def _report_ms(evidence: Evidence, run: ConsumerRun, since: float) -> float | None:
    """Return when the user got the error that the member is fenced."""
    for at_ms, error in evidence.errors_of(run, since - _GRACE_MS):
        if "fenced" in f"{error.code} {error.message}".lower():
            return at_ms
    return None


def _no_join(evidence: Evidence) -> Iterator[Verdict]:
    for run, call in _fenced_runs(evidence):
        yield HOLDS
        since = call.end_ms
        for again in evidence.of(run, JOIN, since=since, until=_resumed_ms(evidence, run, since)):
            if not again.member_id:
                yield _joins_again(run, again, "by itself")


def _quiet(evidence: Evidence) -> Iterator[Verdict]:
    for run, call in _fenced_runs(evidence):
        yield HOLDS
        since = evidence.later(call.end_ms, _QUIET_MS)
        acts = [a.began_ms for a in evidence.actions if a.run == run.id and a.began_ms >= since]
        until = min(acts, default=evidence.ended_ms)
        for more in evidence.of(run, *MEMBER_APIS, since=since, until=until):
            yield violated(
                f"goes on with {more.api}",
                f"{run.name} was fenced, and by itself sent {more.api} with "
                f"{with_member(more.member_id)} {(more.at_ms - call.end_ms) / 1000:.1f} s later",
                more.at_ms,
            )


def _resumes(evidence: Evidence) -> Iterator[Verdict]:
    is_fenced = False
    for run, call in _fenced_runs(evidence):
        is_fenced = True
        at_ms = _resumed_ms(evidence, run, call.end_ms)
        if at_ms is None:
            continue
        if (again := evidence.first_after(run, at_ms, JOIN)) is not None:
            yield _joins_again(run, again, "when its user polls on")
        errors = [error.code for _, error in evidence.errors_of(run, at_ms)]
        reaction = f"gets {errors[0]}" if errors else "gets nothing"
        yield holds(f"the user of {run.name} polls on and {reaction}")
        return
    yield unknown("no user of a fenced member polled on") if is_fenced else nobody_fenced(evidence)


def _joins_again(run: ConsumerRun, call: Call, when: str) -> Verdict:
    how = "with an empty member id" if not call.member_id else "with a member id"
    return violated(
        f"joins again {how} {when}",
        f"{run.name} was fenced, and {when} joined again {how} and {with_instance(call.instance)}",
        call.at_ms,
    )


def _resumed_ms(evidence: Evidence, run: ConsumerRun, since: float) -> float | None:
    """Return when the user polled on."""
    acts = evidence.actions_of(_RESUME, run)
    return next((act.began_ms for act in acts if act.began_ms >= since), None)


def _no_records(evidence: Evidence) -> Iterator[Verdict]:
    is_fenced = False
    for run, call in _fenced_runs(evidence):
        is_fenced = True
        report_ms = _report_ms(evidence, run, call.at_ms)
        begun = (call.end_ms, _SILENT_MS) if report_ms is None else (report_ms, _GRACE_MS)
        since = evidence.later(*begun)
        until = _resumed_ms(evidence, run, since) or evidence.ended_ms
        for at_ms, records in evidence.records_of(run, since):
            if at_ms >= until:
                break
            topic, partition = records.partition
            yield violated(
                "records after it was fenced",
                f"{run.name} was fenced, and its user was given records of {topic}-{partition} "
                f"{(at_ms - call.end_ms) / 1000:.1f} s later",
                at_ms,
            )
        if any(since <= act.began_ms < until for act in evidence.actions_of("produce")):
            yield HOLDS
    if not is_fenced:
        yield nobody_fenced(evidence)


def _no_commits_after_fencing(evidence: Evidence) -> Iterator[Verdict]:
    for run, call in _fenced_runs(evidence):
        yield HOLDS
        since = call.end_ms
        back = (c.at_ms for c in evidence.of(run, JOIN, since=since) if c.went_well)
        for commit in evidence.of(run, COMMIT, since=since, until=next(back, evidence.ended_ms)):
            is_nobody = not commit.member_id and commit.instance is None
            if commit.went_well or (commit.request is not None and is_nobody):
                how = "and was served" if commit.went_well else "as nobody's member"
                yield violated(
                    f"commits {how}",
                    f"{run.name} was fenced, and committed {how}, with "
                    f"{with_member(commit.member_id)} and generation {commit.generation}",
                    commit.at_ms,
                )


def _late_commit(evidence: Evidence) -> Iterator[Verdict]:
    for run, act in evidence.actions_on_runs("commit"):
        if not _is_replaced(evidence, run, act.began_ms):
            continue
        if act.is_refused_call:
            yield HOLDS
        for call in evidence.of(run, COMMIT, since=act.began_ms):
            yield HOLDS
            if call.went_well:
                yield violated(
                    "the commit of a replaced member is accepted",
                    f"another process had the place of {run.name} when its user committed; its "
                    f"OffsetCommit v{call.version} with {with_member(call.member_id)} and "
                    f"{with_instance(call.instance)} was accepted",
                    call.at_ms,
                )


def _is_replaced(evidence: Evidence, run: ConsumerRun, at_ms: float) -> bool:
    """Tell if another run with its instance id was the last to be let in before a time."""
    rivals = [other for other in evidence.runs if other.instance == run.instance is not None]
    joins = [
        (call.end_ms, rival.id)
        for rival in rivals
        for call in evidence.joins_of(rival)
        if call.end_ms <= at_ms
    ]
    return bool(joins) and max(joins)[1] != run.id


def _takeovers(evidence: Evidence) -> Iterator[Verdict]:
    holders: dict[str, list[tuple[ConsumerRun, float]]] = {}
    runs = {run.id: run for run in evidence.static_runs}
    until = min((act.began_ms for act in evidence.actions_of(_RESUME)), default=evidence.ended_ms)
    for call in evidence.calls:
        if call.at_ms >= until:
            break
        run = runs.get(call.client_id or "")
        if call.api != JOIN or not call.went_well or run is None or run.instance is None:
            continue
        held = holders.setdefault(run.instance, [])
        if not held or held[-1][0] is not run:
            held.append((run, call.end_ms))
    for instance, held in holders.items():
        rivals = {run.id for run, _ in held}
        if not _ran_together([run for run, _ in held]):
            continue
        yield HOLDS
        if len(held) > len(rivals):
            names = ", ".join(run.name for run, _ in held[:6])
            yield violated(
                "takes the instance id back",
                f"the holder of {with_instance(instance)} changed {len(held) - 1} times: {names}",
                held[len(rivals)][1],
            )


def _ran_together(runs: Sequence[ConsumerRun]) -> bool:
    return any(
        run is not other and not run.is_over(other.began_ms) and run.began_ms <= other.began_ms
        for run in runs
        for other in runs
    )


REQUIREMENTS = (
    Requirement(
        "CLIENT-CLOSE-REVOKED",
        Level.SHOULD,
        "A static member that revoked partitions in a cooperative rebalance, and closes before "
        "it rejoins, leaves, so that another member gets them.",
        "KIP-429, the second rebalance; franz-go's documentation of InstanceID",
        provoked="a static member has to revoke partitions for another one, closes before its next "
        "JoinGroup is handled, and is started again",
        judged="each partition that its last assignment took from it has a reader in the end",
        dispute="KIP-345 says that a static member sends no LeaveGroup, and KIP-429 doesn't say "
        "what becomes of one that closes in between: not a MUST.  But the coordinator has an "
        "assignment without these partitions, and hands it out at each return, until something "
        "else makes the group rebalance: measured on Kafka 3.1.0 with franz-go 1.22.1 and with "
        "librdkafka 2.16.0, while franz-go 1.22.2 leaves.",
        judge=_revoked_is_assigned,
        unseen=_nothing_owed,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-CLOSE-STATIC-STAYS",
        Level.MUST,
        "A static member that closes sends no LeaveGroup: its place is kept until its session "
        "expires.  Only a member that revoked partitions, and has not rejoined since, may "
        "leave.",
        BEHAVIOUR,
        provoked="a static member closes in a stable group, and while no coordinator is available",
        judged="no LeaveGroup names it, by member id or by instance id",
        judge=lambda evidence: _stays(evidence, _CLOSE),
        unseen="no static member closed",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-CLOSE-DYNAMIC-LEAVES",
        Level.SHOULD,
        "A dynamic member that closes leaves, with its member id and without an instance id.",
        "KIP-345, Leave Group Logic Change, rule 2",
        provoked="a dynamic member closes in a stable group",
        judged="a LeaveGroup names its member id, and its instance id is null",
        judge=_dynamic_leaves,
        unseen="no dynamic member closed",
        members=Members.DYNAMIC,
    ),
    Requirement(
        "CLIENT-CLOSE-UNSUBSCRIBED-STAYS",
        Level.SHOULD,
        "A static member that unsubscribes sends no LeaveGroup.",
        BEHAVIOUR,
        provoked="the user of a static member unsubscribes",
        judged="no LeaveGroup names it",
        judge=lambda evidence: _stays(evidence, "unsubscribe"),
        unseen="no static member unsubscribed",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-CLOSE-IN-TIME",
        Level.SHOULD,
        "A client closes within the time that its user set.",
        "KIP-102, a close with a timeout",
        provoked="a member closes in a stable group, and while no coordinator is available",
        judged="the duration of the call",
        judge=_closes_in_time,
        unseen="no member closed",
    ),
    Requirement(
        "CLIENT-CLOSE-AGAIN",
        Level.SHOULD,
        "A closed consumer that is closed again returns in time, without an error.",
        "java.io.Closeable, which Kafka's own consumer is: closing again has no effect",
        provoked="a member's user closes it twice",
        judged="that the second call returns in time, without an error",
        dispute="A second close is a mistake in the program, some say, and should be an error.  "
        "But a clean-up that runs after another one is usual, and an error there hides the first "
        "one.",
        judge=_closes_twice,
        unseen="no member closed twice",
    ),
    Requirement(
        "CLIENT-CLOSE-FENCED",
        Level.MUST,
        "A fenced member closes in time, and sends no LeaveGroup that could remove the new holder.",
        BEHAVIOUR,
        provoked="a member is fenced, and its user closes it",
        judged="how long the call took, and that no LeaveGroup names the instance without a member "
        "id, or with the member id of its new holder",
        judge=_fenced_close,
        unseen="no fenced member closed",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-CLOSE-REBALANCING",
        Level.SHOULD,
        "A client closes in time during a rebalance, and a static member sends no LeaveGroup then.",
        "KIP-102, a close with a timeout",
        provoked="a member closes while its JoinGroup is parked",
        judged="the duration of the call, and that no LeaveGroup names the member",
        judge=_rebalancing,
        unseen="no member closed while its JoinGroup was parked",
    ),
    Requirement(
        "CLIENT-CLOSE-BROKER-GONE",
        Level.SHOULD,
        "A client closes in time when no broker answers.",
        "KIP-102, a close with a timeout",
        provoked="the broker takes connections and answers nothing, and a member closes",
        judged="the duration of the call",
        judge=_closes_in_time,
        unseen="no member closed",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-FENCED-JOIN",
        Level.MUST,
        "After FENCED_INSTANCE_ID in JoinGroup a client reports a fatal error that a program "
        "can't miss.",
        JOIN_LOGIC,
        provoked="another process takes the instance id while the member has to rejoin",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=lambda evidence: _reports_fencing(evidence, JOIN),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-SYNC",
        Level.MUST,
        "After FENCED_INSTANCE_ID in SyncGroup a client reports a fatal error that a program "
        "can't miss.",
        JOIN_LOGIC,
        provoked="a SyncGroup is answered FENCED_INSTANCE_ID",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=lambda evidence: _reports_fencing(evidence, SYNC),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-HEARTBEAT",
        Level.MUST,
        "After FENCED_INSTANCE_ID in Heartbeat a client reports a fatal error that a program "
        "can't miss.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=lambda evidence: _reports_fencing(evidence, HEARTBEAT),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-COMMIT",
        Level.MUST,
        "After FENCED_INSTANCE_ID in OffsetCommit a client reports it: the commit fails with "
        "this error.",
        JOIN_LOGIC,
        provoked="an OffsetCommit of the user is answered FENCED_INSTANCE_ID",
        judged="the commit's own error, or another that the user gets",
        judge=lambda evidence: _reports_fencing(evidence, COMMIT),
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-NO-JOIN",
        Level.MUST,
        "A fenced member doesn't rejoin by itself with an empty member id, since that would "
        "fence the new holder.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup of the fenced consumer with an empty member id follows, until its "
        "user polls on",
        judge=_no_join,
        unseen=nobody_fenced,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-QUIET",
        Level.SHOULD,
        "A fenced member sends no further requests to its group by itself.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup, SyncGroup, Heartbeat or OffsetCommit of the fenced consumer follows, "
        "until its user does something",
        dispute="Each request with the old member id is refused, so the other process "
        "loses nothing, and no promise of the KIP is broken: not a MUST.  The KIP asks that the "
        "client fails itself immediately; one that repeats requests hasn't, and its requests look "
        "like those of a member.",
        judge=_quiet,
        unseen=nobody_fenced,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-NO-RECORDS",
        Level.MUST,
        "A member delivers no more records after it was fenced, whether or not it reported the "
        "error.",
        JOIN_LOGIC,
        provoked="another process takes the instance id while records are produced",
        judged="no records after the reported error, beyond those of the call that returned it; "
        "if no error was reported, none from a second after the answer that fenced the member",
        judge=_no_records,
        unseen="no records came after a member was fenced",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-NO-COMMITS",
        Level.MUST,
        "A fenced member makes no commit that is accepted.",
        JOIN_LOGIC,
        provoked="another process takes the instance id; then the user polls on and closes",
        judged="no OffsetCommit of the fenced consumer is accepted after the error",
        judge=_no_commits_after_fencing,
        unseen=nobody_fenced,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-LATE-COMMIT",
        Level.MUST,
        "A replaced member makes no late commit that is accepted, and doesn't rejoin for it.",
        JOIN_LOGIC,
        provoked="another process takes the instance id; then the user of the first one commits, "
        "before it knows",
        judged="no OffsetCommit of the consumer that was replaced is accepted",
        judge=_late_commit,
        unseen="no member that was replaced committed",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-POLLED-ON",
        Level.SHOULD,
        "A fenced member that is polled reports the error again, or delivers nothing, and "
        "doesn't rejoin.",
        JOIN_LOGIC,
        provoked="the user of a fenced member polls on",
        judged="the user's errors, and that no JoinGroup follows",
        judge=_resumes,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-FENCED-TAKEOVERS",
        Level.MUST,
        "Two processes with one instance id don't replace each other again and again: the "
        "second keeps it.",
        JOIN_LOGIC,
        provoked="a second process is started with the instance id of a running one",
        judged="the number of changes of the holder of the instance id: one",
        judge=_takeovers,
        unseen="no two processes had one instance id",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-REMOVED-COMES-BACK",
        Level.MUST,
        "A member that an administrator removed rejoins with an empty member id, a static one "
        "with its instance id.",
        "KIP-345, Leave Group Logic Change",
        provoked="an administrator removes the member, a static one by its instance id",
        judged="the next JoinGroup, and that the user has partitions again",
        judge=lambda evidence: _comes_back(evidence, _REMOVE, "after it was removed"),
        unseen="no member was removed in this way",
    ),
    Requirement(
        "CLIENT-REMOVED-EXPIRED",
        Level.MUST,
        "A member whose session expired rejoins with an empty member id, a static one with its "
        "instance id.",
        "KIP-345, Rolling Bounce",
        provoked="the session of the member ends at the coordinator",
        judged="the next JoinGroup, and that the user has partitions again",
        judge=lambda evidence: _comes_back(evidence, _EXPIRE, "after its session ended"),
        unseen="no member was removed in this way",
    ),
    Requirement(
        "CLIENT-REMOVED-NO-COMMITS",
        Level.MUST,
        "A removed member sends no commit without a generation until it has rejoined.",
        "KIP-345, Join Group Logic Change, on OffsetCommit",
        provoked="an administrator removes the member while it reads records",
        judged="no OffsetCommit without a generation is sent until it is back; one with an empty "
        "member id and a generation is refused",
        judge=_no_commits_after_removal,
        unseen="no member was removed",
    ),
    Requirement(
        "CLIENT-REMOVED-TOLD",
        Level.SHOULD,
        "A removed member reports its partitions as lost before it gets new ones.",
        "KIP-429, onPartitionsLost",
        provoked="an administrator removes the member",
        judged="a revoked or lost event lies between the two assignments",
        judge=_reports_loss,
        unseen="no removed member rejoined",
    ),
)
