"""Judges of the area CLOSE: how a member goes.

Judges of the area REMOVED: a member lost its place.

Judges of the area FENCED: another process has the member's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse, LeaveGroupRequest
from fencepost.model.table.table import Level
from fencepost.properties.requirements import client_verdict
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    answered,
    fenced,
    first_after,
    has_no_partitions,
    holds,
    is_over,
    joined,
    later,
    leaves_of,
    member_ids,
    no_leave,
    nobody_fenced,
    refused,
    said,
    unknown,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Revoked
from fencepost.properties.requirements.evidence import (
    COMMIT,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Call,
    Deed,
    Evidence,
    Life,
)
from fencepost.properties.requirements.requirement import BEHAVIOUR, JOIN_LOGIC, Requirement

CLOSE, UNSUBSCRIBE = "close", "unsubscribe"
_SPARE_MS = 500
"""A close that says when it must end may take so much longer."""


def static_stays(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-STATIC-STAYS."""
    return _stays(evidence, CLOSE)


def unsubscribed_stays(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-UNSUBSCRIBED-STAYS."""
    return _stays(evidence, UNSUBSCRIBE)


def _stays(evidence: Evidence, name: str) -> Verdict:
    shown = False
    for life, deed in _done(evidence, name):
        if life.instance is None:
            continue
        shown = True
        if (wrong := no_leave(evidence, life, deed.began_ms)) is not None:
            return wrong
    return HOLDS if shown else unknown(f"no static member did {name}")


def dynamic_leaves(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-DYNAMIC-LEAVES."""
    shown = False
    for life, deed in _done(evidence, CLOSE):
        names = member_ids(evidence, life)
        if life.instance is not None or not names:
            continue
        shown = True
        calls = list(leaves_of(evidence, life, deed.began_ms))
        if not calls:
            return violated(
                "no LeaveGroup of a dynamic member",
                f"{said(life)}, a dynamic member, closed and sent no LeaveGroup",
                deed.ended_ms,
                waited=(deed.began_ms, evidence.ended_ms),
            )
        if calls[0].instance is not None or calls[0].member_id not in names:
            return violated(
                "LeaveGroup of somebody else",
                f"{said(life)} left with member id {calls[0].member_id!r} and instance id "
                f"{calls[0].instance!r}",
                calls[0].at_ms,
            )
    return HOLDS if shown else unknown("no dynamic member closed")


def in_time(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-IN-TIME and CLIENT-CLOSE-BROKER-GONE."""
    found = list(_done(evidence, CLOSE))
    wrong = (_late(life, deed) for life, deed in found)
    return next(filter(None, wrong), HOLDS if found else unknown("nobody closed"))


def no_leave_after_fencing(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-FENCED."""
    out = {life.id: answered(call) for life, call in client_verdict.fenced(evidence)}
    shown = False
    for life, deed in _done(evidence, CLOSE):
        if life.id not in out or deed.began_ms < out[life.id]:
            continue
        shown = True
        if (wrong := _late(life, deed)) is not None:
            return wrong
        own = member_ids(evidence, life)
        for call in leaves_of(evidence, life, out[life.id]):
            rows = call.request.members if isinstance(call.request, LeaveGroupRequest) else ()
            if any(row.member_id not in own and row.group_instance_id for row in rows):
                return violated(
                    "LeaveGroup of the one who has its place",
                    f"{said(life)} was fenced, and sent LeaveGroup with instance id "
                    f"{call.instance!r} and member id {call.member_id!r}",
                    call.at_ms,
                )
    if not shown and not out:
        return nobody_fenced(evidence)
    return HOLDS if shown else unknown("no fenced member closed")


def rebalancing(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-REBALANCING."""
    shown = False
    for life, deed in _done(evidence, CLOSE):
        waiting = [c for c in evidence.of(life, JOIN, until=deed.began_ms) if _is_open(c, deed)]
        if not waiting:
            continue
        shown = True
        wrong = _late(life, deed)
        if wrong is None and life.instance is not None:
            wrong = no_leave(evidence, life, deed.began_ms)
        if wrong is not None:
            return wrong
    return HOLDS if shown else unknown("nobody closed while its JoinGroup was parked")


def _is_open(call: Call, deed: Deed) -> bool:
    at = call.answered_ms
    return at is None or at > deed.began_ms


def _done(evidence: Evidence, name: str) -> Iterator[tuple[Life, Deed]]:
    for deed in evidence.deeds_of(name):
        for life in evidence.lives:
            if life.id == deed.life:
                yield life, deed


def _late(life: Life, deed: Deed) -> Verdict | None:
    """What is wrong if a close took too long; what the library says it took counts most."""
    limit = deed.limit_ms
    took = deed.ended_ms - deed.began_ms if deed.took_ms is None else deed.took_ms
    if limit is None or (deed.outcome != "late" and took <= limit + _SPARE_MS):
        return None
    how = "had not returned" if deed.outcome == "late" else "returned"
    return violated(
        "close is late",
        f"the close of {said(life)} {how} after {took:.0f} ms; its timeout is {limit:.0f} ms",
        deed.began_ms,
        waited=(deed.began_ms, deed.ended_ms),
    )


REMOVE, EXPIRE = "remove", "expire"


def comes_back(evidence: Evidence) -> Verdict:
    """Judge CLIENT-REMOVED-COMES-BACK."""
    return _back(evidence, REMOVE)


def expired(evidence: Evidence) -> Verdict:
    """Judge CLIENT-REMOVED-EXPIRED."""
    return _back(evidence, EXPIRE)


def _removed(evidence: Evidence, *names: str) -> Iterator[tuple[Life, float]]:
    for deed in evidence.deeds:
        if deed.name in names and deed.outcome == "ok":
            for life in evidence.lives:
                if life.id == deed.life and life.instance is not None:
                    yield life, deed.ended_ms


def _back(evidence: Evidence, name: str) -> Verdict:
    shown = False
    after = "after it was removed" if name == REMOVE else "after its session ended"
    for life, since in _removed(evidence, name):
        shown = True
        # One that was under way when it was removed is refused, and says nothing yet.
        joins = [call for call in evidence.of(life, JOIN, since=since) if not call.member_id]
        joins += [call for call in evidence.of(life, JOIN, since=since) if call.went_well]
        if not joins:
            return violated(
                f"does not come back {after}",
                f"{said(life)} did not join as a new member {after}, for "
                f"{(evidence.ended_ms - since) / 1000:.1f} s",
                since,
                waited=(since, evidence.ended_ms),
            )
        if joins[0].instance != life.instance or joins[0].member_id:
            return violated(
                f"comes back as somebody else {after}",
                f"{said(life)} joined with instance id {joins[0].instance!r} and member id "
                f"{joins[0].member_id!r} {after}",
                joins[0].at_ms,
            )
        if (wrong := has_no_partitions(evidence, life, since, after)) is not None:
            return wrong
    return HOLDS if shown else unknown("no static member was removed so")


def no_commits_after_removal(evidence: Evidence) -> Verdict:
    """Judge CLIENT-REMOVED-NO-COMMITS."""
    shown = False
    for life, since in _removed(evidence, REMOVE, EXPIRE):
        back = next((c for c in evidence.of(life, JOIN, since=since) if c.went_well), None)
        until = evidence.ended_ms if back is None else answered(back)
        shown = True
        for call in evidence.of(life, COMMIT, since=since, until=until):
            if call.request is None:
                continue
            if (not call.member_id and call.instance is None) or call.generation < 0:
                return violated(
                    "commits as nobody's member",
                    f"{said(life)} had been removed, and committed with member id "
                    f"{call.member_id!r}, instance id {call.instance!r} and generation "
                    f"{call.generation}",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("no static member was removed")


def told(evidence: Evidence) -> Verdict:
    """Judge CLIENT-REMOVED-TOLD."""
    shown = False
    for life, since in _removed(evidence, REMOVE, EXPIRE):
        again = next(iter(evidence.seen_by(life, Assigned, since=since)), None)
        before = [one for one in evidence.seen_by(life, Assigned) if one.at_ms < since]
        if again is None or not before or first_after(evidence, life, since, JOIN) is None:
            continue
        shown = True
        gone = [one for one in evidence.seen_by(life, Revoked, Lost) if one.at_ms <= again.at_ms]
        if not gone or gone[-1].at_ms < before[-1].at_ms:
            return violated(
                "not told that its partitions are lost",
                f"{said(life)} was removed and came back, and its user was assigned partitions "
                "anew without having been told that the old ones are gone",
                again.at_ms,
            )
    return HOLDS if shown else unknown("nobody was removed and came back")


_FENCED = Code.FENCED_INSTANCE_ID
_POLL_ON, _PRODUCE, _COMMIT = "poll-on", "produce", "commit"
_GRACE_MS = 100
"""What was handed over beside the error, by another thread, may come so much later."""

_QUIET_MS = 500
"""What was under way when the answer came may come so much later; a heartbeat that was due, too."""

_UNTOLD_MS = 1000
"""Where the user is never told, what comes so long after the answer is held against the client."""


def _fenced_lives(evidence: Evidence) -> Iterator[tuple[Life, Call]]:
    """Each life that was fenced, with the first answer that says so."""
    for life in evidence.lives:
        calls = [call for one, call in fenced(evidence) if one is life]
        if calls:
            yield life, min(calls, key=answered)


def told_by(api: str) -> Callable[[Evidence], Verdict]:
    """Return the judge of CLIENT-FENCED-JOIN, -SYNC, -HEARTBEAT or -COMMIT."""

    def judge(evidence: Evidence) -> Verdict:
        shown = False
        for life, call in refused(evidence, _FENCED, api):
            shown = True
            since = answered(call)
            if _told_ms(evidence, life, call.at_ms) is None:
                others = [error.code for _, error in evidence.errors_of(life, call.at_ms)]
                how, what = "is not told", "not told"
                if others:
                    how = "is told of something else"
                    what = f"told {', '.join(dict.fromkeys(others))}, and nothing of that"
                return violated(
                    f"the user {how} after {api}",
                    f"{said(life)} was answered {_FENCED.name} in {api}, and its user was {what} "
                    f"for {(evidence.ended_ms - since) / 1000:.1f} s",
                    since,
                    waited=(since, evidence.ended_ms),
                )
        return HOLDS if shown else nobody_fenced(evidence, api)

    return judge


fenced_join = told_by(JOIN)
fenced_sync = told_by(SYNC)
fenced_heartbeat = told_by(HEARTBEAT)
fenced_commit = told_by(COMMIT)


def _told_ms(evidence: Evidence, life: Life, since: float) -> float | None:
    """When the user was told that the member is fenced."""
    for at_ms, error in evidence.errors_of(life, since - _GRACE_MS):
        if "fenced" in f"{error.code} {error.message}".lower():
            return at_ms
    return None


def no_join(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-NO-JOIN."""
    shown = False
    for life, call in _fenced_lives(evidence):
        shown = True
        since = answered(call)
        joins = evidence.of(life, JOIN, since=since, until=_polled_on(evidence, life, since))
        for again in joins:
            if not again.member_id:
                return _joins_again(life, again, "by itself")
    return HOLDS if shown else nobody_fenced(evidence)


def quiet(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-QUIET."""
    shown = False
    for life, call in _fenced_lives(evidence):
        shown = True
        since = later(evidence, answered(call), _QUIET_MS)
        asked = [d.began_ms for d in evidence.deeds if d.life == life.id and d.began_ms >= since]
        until = min(asked, default=evidence.ended_ms)
        for more in evidence.of(life, *MEMBER_APIS, since=since, until=until):
            return violated(
                f"goes on with {more.api}",
                f"{said(life)} was fenced, and by itself sent {more.api} with member id "
                f"{more.member_id!r} {(more.at_ms - answered(call)) / 1000:.1f} s later",
                more.at_ms,
            )
    return HOLDS if shown else nobody_fenced(evidence)


def polled_on(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-POLLED-ON."""
    for life, call in _fenced_lives(evidence):
        at_ms = _polled_on(evidence, life, answered(call))
        if at_ms is None:
            continue
        if (again := first_after(evidence, life, at_ms, JOIN)) is not None:
            return _joins_again(life, again, "when its user polls on")
        errors = [error.code for _, error in evidence.errors_of(life, at_ms)]
        told = f"is told {errors[0]}" if errors else "gets nothing"
        return holds(f"the user of {said(life)} polls on and {told}")
    if next(_fenced_lives(evidence), None) is None:
        return nobody_fenced(evidence)
    return unknown("no user of a fenced member polled on")


def _joins_again(life: Life, call: Call, when: str) -> Verdict:
    how = "with an empty member id" if not call.member_id else "with a member id"
    return violated(
        f"joins again {how} {when}",
        f"{said(life)} was fenced, and {when} joined again {how} and instance id {call.instance!r}",
        call.at_ms,
    )


def _polled_on(evidence: Evidence, life: Life, since: float) -> float | None:
    deeds = evidence.deeds_of(_POLL_ON, life)
    return next((deed.began_ms for deed in deeds if deed.began_ms >= since), None)


def no_records(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-NO-RECORDS."""
    shown = False
    for life, call in _fenced_lives(evidence):
        told = _told_ms(evidence, life, call.at_ms)
        begun = (answered(call), _UNTOLD_MS) if told is None else (told, _GRACE_MS)
        since = later(evidence, *begun)
        until = _polled_on(evidence, life, since) or evidence.ended_ms
        produced = evidence.deeds_of(_PRODUCE)
        shown = shown or any(since <= deed.began_ms < until for deed in produced)
        for at_ms, records in evidence.records_of(life, since):
            if at_ms >= until:
                break
            topic, partition = records.partition
            return violated(
                "records after it was fenced",
                f"{said(life)} was fenced, and its user was given records of {topic}-{partition} "
                f"{(at_ms - answered(call)) / 1000:.1f} s later",
                at_ms,
            )
    if not shown and next(_fenced_lives(evidence), None) is None:
        return nobody_fenced(evidence)
    return HOLDS if shown else unknown("no records came after a member was fenced")


def no_commits_after_fencing(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-NO-COMMITS."""
    shown = False
    for life, call in _fenced_lives(evidence):
        shown = True
        since = answered(call)
        back = (c.at_ms for c in evidence.of(life, JOIN, since=since) if c.went_well)
        for commit in evidence.of(life, COMMIT, since=since, until=next(back, evidence.ended_ms)):
            is_nobody = not commit.member_id and commit.instance is None
            if commit.went_well or (commit.request is not None and is_nobody):
                how = "and was served" if commit.went_well else "as nobody's member"
                return violated(
                    f"commits {how}",
                    f"{said(life)} was fenced, and committed {how}, with member id "
                    f"{commit.member_id!r} and generation {commit.generation}",
                    commit.at_ms,
                )
    return HOLDS if shown else nobody_fenced(evidence)


def late_commit(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-LATE-COMMIT."""
    shown = False
    for deed in evidence.deeds_of(_COMMIT):
        life = next(life for life in evidence.lives if life.id == deed.life)
        if not _is_replaced(evidence, life, deed.began_ms):
            continue
        shown = shown or deed.is_refused_call
        for call in evidence.of(life, COMMIT, since=deed.began_ms):
            shown = True
            if call.went_well:
                return violated(
                    "the commit of a replaced member is accepted",
                    f"another process had the place of {said(life)} when its user committed; its "
                    f"OffsetCommit v{call.version} with member id {call.member_id!r} and instance "
                    f"id {call.instance!r} was accepted",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("no member that was replaced committed")


def _is_replaced(evidence: Evidence, life: Life, at_ms: float) -> bool:
    """Whether another life with its instance id was the last to be let in before a time."""
    rivals = [one for one in evidence.lives if one.instance == life.instance is not None]
    let_in = [
        (answered(call), one.id)
        for one in rivals
        for call in joined(evidence, one)
        if answered(call) <= at_ms
    ]
    return bool(let_in) and max(let_in)[1] != life.id


def takeovers(evidence: Evidence) -> Verdict:
    """Judge CLIENT-FENCED-TAKEOVERS."""
    holders: dict[str, list[tuple[Life, float]]] = {}
    lives = {life.id: life for life in evidence.lives}
    until = min((d.began_ms for d in evidence.deeds_of(_POLL_ON)), default=evidence.ended_ms)
    for call in evidence.calls:
        if call.at_ms >= until:
            break
        answer = call.answer
        if call.api != JOIN or not isinstance(answer, JoinGroupResponse) or not call.went_well:
            continue
        life = lives.get(call.life)
        if life is None or life.instance is None:
            continue
        held = holders.setdefault(life.instance, [])
        if not held or held[-1][0] is not life:
            held.append((life, answered(call)))
    shown = False
    for instance, held in holders.items():
        rivals = {life.id for life, _ in held}
        if not _lived_together([life for life, _ in held]):
            continue
        shown = True
        if len(held) > len(rivals):
            names = ", ".join(said(life) for life, _ in held[:6])
            return violated(
                "takes the instance id back",
                f"the holder of instance id {instance!r} changed {len(held) - 1} times: {names}",
                held[len(rivals)][1],
            )
    return HOLDS if shown else unknown("no two processes had one instance id")


def _lived_together(lives: list[Life]) -> bool:
    return any(
        one is not other and not is_over(one, other.began_ms) and one.began_ms <= other.began_ms
        for one in lives
        for other in lives
    )


REQUIREMENTS = (
    Requirement(
        "CLIENT-CLOSE-STATIC-STAYS",
        Level.MUST,
        "A static member that closes sends no LeaveGroup: its place is kept until its session "
        "ends.",
        BEHAVIOUR,
        provoked="a static member closes in a stable group, and while no coordinator is available",
        judged="no LeaveGroup names it, by member id or by instance id",
        judge=static_stays,
    ),
    Requirement(
        "CLIENT-CLOSE-DYNAMIC-LEAVES",
        Level.SHOULD,
        "A dynamic member that closes leaves, with its member id and no instance id.",
        "KIP-345, Leave Group Logic Change, rule 2",
        provoked="a dynamic member closes in a stable group",
        judged="a LeaveGroup names its member id, and its instance id is null",
        judge=dynamic_leaves,
    ),
    Requirement(
        "CLIENT-CLOSE-UNSUBSCRIBED-STAYS",
        Level.SHOULD,
        "A static member that unsubscribes sends no LeaveGroup either.",
        BEHAVIOUR,
        provoked="the user of a static member unsubscribes",
        judged="no LeaveGroup names it",
        judge=unsubscribed_stays,
    ),
    Requirement(
        "CLIENT-CLOSE-IN-TIME",
        Level.SHOULD,
        "Closing ends within the time that the user gave.",
        "KIP-102, a close with a timeout",
        provoked="a member closes in a stable group, and while no coordinator is available",
        judged="how long the call took",
        judge=in_time,
    ),
    Requirement(
        "CLIENT-CLOSE-FENCED",
        Level.MUST,
        "A member that was fenced closes in time and sends no LeaveGroup that could remove who has "
        "its place now.",
        BEHAVIOUR,
        provoked="a member is fenced, and its user closes it",
        judged="how long the call took, and that no LeaveGroup names the instance without a member "
        "id, or with the member id of its new holder",
        judge=no_leave_after_fencing,
    ),
    Requirement(
        "CLIENT-CLOSE-REBALANCING",
        Level.SHOULD,
        "Closing ends in time while the group rebalances, and a static member doesn't leave then "
        "either.",
        "KIP-102, a close with a timeout",
        provoked="a member closes while its JoinGroup is parked",
        judged="how long the call took, and that no LeaveGroup names it",
        judge=rebalancing,
    ),
    Requirement(
        "CLIENT-CLOSE-BROKER-GONE",
        Level.SHOULD,
        "Closing ends in time when no broker answers.",
        "KIP-102, a close with a timeout",
        provoked="the broker takes connections and answers nothing, and a member closes",
        judged="how long the call took",
        judge=in_time,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-FENCED-JOIN",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a JoinGroup is fatal, and the user is told so that a "
        "program can't miss it.",
        JOIN_LOGIC,
        provoked="another process takes the instance id while the member has to join again",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=fenced_join,
    ),
    Requirement(
        "CLIENT-FENCED-SYNC",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a SyncGroup is fatal, and the user is told so that a "
        "program can't miss it.",
        JOIN_LOGIC,
        provoked="a SyncGroup is answered FENCED_INSTANCE_ID",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=fenced_sync,
    ),
    Requirement(
        "CLIENT-FENCED-HEARTBEAT",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to a Heartbeat is fatal, and the user is told so that a "
        "program can't miss it.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="an error with this code that is raised, returned or handed to a callback",
        judge=fenced_heartbeat,
    ),
    Requirement(
        "CLIENT-FENCED-COMMIT",
        Level.MUST,
        "FENCED_INSTANCE_ID as the answer to an OffsetCommit is fatal, and the user is told: the "
        "commit fails with this error.",
        JOIN_LOGIC,
        provoked="an OffsetCommit that the user asked for is answered FENCED_INSTANCE_ID",
        judged="the commit's own error, or another that the user is told",
        judge=fenced_commit,
    ),
    Requirement(
        "CLIENT-FENCED-NO-JOIN",
        Level.MUST,
        "A member that was fenced doesn't join by itself with an empty member id: that would fence "
        "the other.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup of the fenced consumer with an empty member id follows, until its "
        "user polls on",
        judge=no_join,
    ),
    Requirement(
        "CLIENT-FENCED-QUIET",
        Level.SHOULD,
        "A member that was fenced sends nothing more by itself to its group, not with its old "
        "member id either.",
        JOIN_LOGIC,
        provoked="another process takes the instance id in a stable group",
        judged="no JoinGroup, SyncGroup, Heartbeat or OffsetCommit of the fenced consumer follows, "
        "until its user does something",
        dispute="What is sent with the old member id is refused each time, so the other process "
        "loses nothing, and no promise of the KIP is broken: not a MUST.  The KIP asks that the "
        "client fails itself immediately; one that asks on and on hasn't, and a user who looks at "
        "its requests takes it for a member.",
        judge=quiet,
    ),
    Requirement(
        "CLIENT-FENCED-NO-RECORDS",
        Level.MUST,
        "Once the user was told, no more records are delivered: the other has these partitions.",
        JOIN_LOGIC,
        provoked="another process takes the instance id while records are produced",
        judged="no records after the error, beyond those of the call that told it",
        judge=no_records,
    ),
    Requirement(
        "CLIENT-FENCED-NO-COMMITS",
        Level.MUST,
        "A member that was fenced commits nothing that counts, least of all as nobody's member.",
        JOIN_LOGIC,
        provoked="another process takes the instance id; then the user polls on and closes",
        judged="no OffsetCommit of the fenced consumer is accepted after it was told",
        judge=no_commits_after_fencing,
    ),
    Requirement(
        "CLIENT-FENCED-LATE-COMMIT",
        Level.MUST,
        "The commit of a member that was replaced doesn't count, and isn't made to count by "
        "joining again.",
        JOIN_LOGIC,
        provoked="another process takes the instance id; then the user of the first one commits, "
        "before it knows",
        judged="no OffsetCommit of the consumer that was replaced is accepted",
        judge=late_commit,
    ),
    Requirement(
        "CLIENT-FENCED-POLLED-ON",
        Level.SHOULD,
        "A user who polls on in spite of it is told again, or gets nothing; the member stays out.",
        JOIN_LOGIC,
        provoked="the user of a fenced member polls on",
        judged="what the user is told, and that no JoinGroup follows",
        judge=polled_on,
    ),
    Requirement(
        "CLIENT-FENCED-TAKEOVERS",
        Level.MUST,
        "Two processes with one instance id don't take it from each other for ever: the second one "
        "has it, and the first one is out.",
        JOIN_LOGIC,
        provoked="a second process is started with the instance id of a running one",
        judged="how often the holder of the instance id changes: once",
        judge=takeovers,
    ),
    Requirement(
        "CLIENT-REMOVED-COMES-BACK",
        Level.MUST,
        "A static member that an administrator removed comes back as a new one, with its instance "
        "id and an empty member id.",
        "KIP-345, Leave Group Logic Change",
        provoked="an administrator removes the member by its instance id",
        judged="the next JoinGroup, and that the user has partitions again",
        judge=comes_back,
    ),
    Requirement(
        "CLIENT-REMOVED-EXPIRED",
        Level.MUST,
        "A static member whose session ended comes back as a new one, with its instance id and an "
        "empty member id.",
        "KIP-345, Rolling Bounce",
        provoked="the session of the member ends at the coordinator",
        judged="the next JoinGroup, and that the user has partitions again",
        judge=expired,
    ),
    Requirement(
        "CLIENT-REMOVED-NO-COMMITS",
        Level.MUST,
        "A member that was removed commits nothing as nobody's member until it is back: that would "
        "not be fenced.",
        "KIP-345, Join Group Logic Change, on OffsetCommit",
        provoked="an administrator removes the member while it reads records",
        judged="no OffsetCommit without member id and generation is sent until it is back",
        judge=no_commits_after_removal,
    ),
    Requirement(
        "CLIENT-REMOVED-TOLD",
        Level.SHOULD,
        "The user of a member that was removed is told that its partitions are lost before it gets "
        "new ones.",
        "KIP-429, onPartitionsLost",
        provoked="an administrator removes the member",
        judged="a revoked or lost event lies between the two assignments",
        judge=told,
    ),
)
