"""Judges of the area FENCED: another process has the member's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    holds,
    unknown,
    violated,
)
from fencepost.properties.requirements.evidence import (
    COMMIT,
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
    fenced,
    first_after,
    is_over,
    joined,
    later,
    nobody_fenced,
    refused,
    said,
)

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


def no_commits(evidence: Evidence) -> Verdict:
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
