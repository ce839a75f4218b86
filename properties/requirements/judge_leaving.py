"""Judges of the area CLOSE: how a member goes.

Judges of the area REMOVED: a member lost its place.

Judges of the area FENCED: another process has the member's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse, LeaveGroupRequest
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
