"""Judges of the area RESTART: a member comes back, and nothing moves.

Judges of the area SESSION: how a member shows that it lives.

Judges of the area STREAMS: several members in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest
from fencepost.model.table.table import Level
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    answered,
    first_after,
    has_no_partitions,
    joined,
    led,
    no_leave,
    refused,
    said,
    static_lives,
    synced,
    unknown,
    unsupported,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Partition, Revoked
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    FIRST_WITH_INSTANCE,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Evidence,
    Life,
)
from fencepost.properties.requirements.requirement import BEHAVIOUR, Requirement

_OF_SESSION = 0.9
"""Who is away for longer than this part of its session may have been removed."""

_SKIPS = 9
"""The first version of JoinGroup with skipAssignment."""

_ALL = 3
"""So many restarts are all members, one after the other."""

Restart = tuple[Life, Life]
"""A life, and the next one of the same static consumer."""


def restarts(evidence: Evidence) -> Iterator[Restart]:
    """Each restart of a static member within its session, as the coordinator saw it."""
    for life in evidence.lives:
        before = evidence.life(life.consumer, life.number - 1)
        if before is None or life.instance is None or not joined(evidence, before):
            continue
        last, first = evidence.of(before, *MEMBER_APIS)[-1], first_after(evidence, life, 0.0, JOIN)
        back_ms = evidence.ended_ms if first is None else first.at_ms
        if back_ms - last.at_ms < _OF_SESSION * life.settings.session_timeout_ms:
            yield before, life


def _kept(
    evidence: Evidence, is_one: Callable[[Life, Life], bool], what: str, at_least: int = 1
) -> Verdict:
    """Judge the restarts of a kind: same generation, same partitions, nobody else disturbed."""
    found = [pair for pair in restarts(evidence) if is_one(*pair)]
    if len(found) < at_least:
        return unknown(f"{what} did not restart within its session")
    wrong = (disturbance(evidence, *pair) for pair in found)
    return next(filter(None, wrong), HOLDS)


def disturbance(evidence: Evidence, before: Life, life: Life) -> Verdict | None:
    """What a restart moved; None: nothing.

    On a machine that is slow a session may end meanwhile: so all of it rests on lateness.
    """
    wrong = _moved(evidence, before, life)
    if wrong is None or wrong.waited is not None:
        return wrong
    return replace(wrong, waited=(before.began_ms, evidence.ended_ms))


def _moved(evidence: Evidence, before: Life, life: Life) -> Verdict | None:
    own = first_after(evidence, life, 0.0, JOIN)
    if own is not None and own.version < FIRST_WITH_INSTANCE[JOIN]:
        return violated(
            "comes back in a version without instance ids",
            f"{said(life)} came back with JoinGroup v{own.version}",
            own.at_ms,
        )
    if (wrong := has_no_partitions(evidence, life, life.began_ms, "after a restart")) is not None:
        return wrong
    old, new = synced(evidence, before), synced(evidence, life)
    if old and new and new[0].generation != old[-1].generation:
        return violated(
            "a rebalance at a restart",
            f"{said(life)} came back in generation {new[0].generation}; it had been in "
            f"{old[-1].generation}",
            new[0].at_ms,
        )
    ended = (before.ended_ms or 0.0) - CLOCK_MS
    had, has = evidence.owned(before, ended), _first_owned(evidence, life)
    if had != has:
        return violated(
            "other partitions after a restart",
            f"{said(life)} had {_listed(had)} before its restart, and {_listed(has)} after it",
            life.began_ms,
        )
    return _others_moved(evidence, before, life)


def _first_owned(evidence: Evidence, life: Life) -> frozenset[Partition]:
    first = next(iter(evidence.seen_by(life, Assigned)), None)
    return frozenset() if first is None else evidence.owned(life, first.at_ms)


def _others_moved(evidence: Evidence, before: Life, life: Life) -> Verdict | None:
    since = before.ended_ms or 0.0
    done = next(iter(evidence.seen_by(life, Assigned)), None)
    until = evidence.ended_ms if done is None else done.at_ms
    for other in evidence.lives:
        if other.began_ms >= since or (other.ended_ms is not None and other.ended_ms <= until):
            continue
        call = first_after(evidence, other, since, JOIN, until=until)
        moved = [
            one
            for one in evidence.seen_by(other, Assigned, Revoked, Lost, since=since)
            if one.at_ms < until
        ]
        if call is not None or moved:
            how = "had to join again" if call is not None else "was told of other partitions"
            return violated(
                "another member is disturbed by a restart",
                f"{said(other)} {how} when {said(life)} came back",
                call.at_ms if call is not None else moved[0].at_ms,
            )
    return None


def _listed(partitions: frozenset[Partition]) -> str:
    return ", ".join(f"{t}-{p}" for t, p in sorted(partitions)) or "no partitions"


def follower(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-FOLLOWER."""
    return _kept(evidence, lambda before, _: not led(evidence, before), "a follower")


def crashed(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-CRASHED."""
    return _kept(evidence, lambda before, _: before.how == "crashed", "a member that crashed")


def leader(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-LEADER."""
    return _kept(evidence, lambda before, _: led(evidence, before), "a leader")


def every_member(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-ALL."""
    return _kept(evidence, lambda _, __: True, "each of three members", _ALL)


def cooperative(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-COOPERATIVE."""
    return _kept(evidence, lambda before, _: before.is_cooperative, "a cooperative member")


def skipped(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-SKIPPED."""
    shown = False
    for life in evidence.lives:
        for call in joined(evidence, life):
            answer = call.answer
            if isinstance(answer, JoinGroupResponse) and answer.skip_assignment:
                shown = True
                if (wrong := _assigns(evidence, life, answered(call))) is not None:
                    return wrong
    return HOLDS if shown else _nothing_to_skip(evidence)


def _nothing_to_skip(evidence: Evidence) -> Verdict:
    """Say why no leader was told to skip the assignment."""
    for before, life in restarts(evidence):
        calls, old = joined(evidence, life), synced(evidence, before)
        if not led(evidence, before) or not calls:
            continue
        version = calls[0].version
        if version < _SKIPS:
            return unsupported(f"it joins with JoinGroup v{version}, without skipAssignment")
        new = synced(evidence, life)
        if old and new and new[0].generation != old[-1].generation:
            return unsupported("the leader's return is a rebalance, so there is nothing to skip")
    return unknown("no leader was told to skip the assignment")


def leader_old(evidence: Evidence) -> Verdict:
    """Judge CLIENT-RESTART-LEADER-OLD."""
    verdict = leader(evidence)
    if verdict is not HOLDS:
        return verdict
    for before, life in restarts(evidence):
        calls = joined(evidence, life)
        if not led(evidence, before) or not calls or calls[0].version >= _SKIPS:
            continue
        return _assigns(evidence, life, answered(calls[0])) or HOLDS
    return unknown("no leader came back below JoinGroup v9")


def _assigns(evidence: Evidence, life: Life, since: float) -> Verdict | None:
    """What is wrong if the next sync of a life has assignments."""
    sync = first_after(evidence, life, since, SYNC)
    if sync is None or not isinstance(sync.request, SyncGroupRequest):
        return None
    if not sync.request.assignments:
        return None
    return violated(
        "assigns although it shall not",
        f"{said(life)} came back and is not to assign anything; its SyncGroup has "
        f"{len(sync.request.assignments)} assignments",
        sync.at_ms,
    )


_STOP, _ON = "stop-polling", "poll-on"
_SLACK_MS = 1500
"""A library looks at its poll interval now and then; so much later heartbeats have to end."""


def timeout(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-TIMEOUT."""
    shown = False
    for life in evidence.lives:
        for call in evidence.of(life, JOIN):
            if not isinstance(call.request, JoinGroupRequest):
                continue
            shown = True
            wanted, sent = life.settings.session_timeout_ms, call.request.session_timeout_ms
            if sent != wanted:
                return violated(
                    "another session timeout",
                    f"the user of {said(life)} set a session timeout of {wanted} ms; JoinGroup "
                    f"v{call.version} has {sent} ms",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("nobody joined")


def rebalance_timeout(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-REBALANCE-TIMEOUT."""
    shown = False
    for life in evidence.lives:
        for call in evidence.of(life, JOIN):
            if not isinstance(call.request, JoinGroupRequest) or call.version < 1:
                continue
            shown = True
            wanted, sent = life.settings.max_poll_interval_ms, call.request.rebalance_timeout_ms
            if sent != wanted:
                return violated(
                    "another rebalance timeout",
                    f"the user of {said(life)} set a poll interval of {wanted} ms; JoinGroup "
                    f"v{call.version} has a rebalance timeout of {sent} ms",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("nobody joined")


def _pauses(evidence: Evidence) -> Iterator[tuple[Life, float, float]]:
    """Each time in which a user did not poll, with its begin and end."""
    for deed in evidence.deeds_of(_STOP):
        life = next((life for life in evidence.lives if life.id == deed.life), None)
        if life is not None and deed.outcome == "ok":
            ons = (d.began_ms for d in evidence.deeds_of(_ON, life) if d.began_ms > deed.began_ms)
            yield life, deed.ended_ms, next(ons, life.ended_ms or evidence.ended_ms)


def heartbeats(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-HEARTBEATS."""
    shown = False
    for life, began, ended in _pauses(evidence):
        session = life.settings.session_timeout_ms
        if ended - began <= session or ended - began >= life.settings.max_poll_interval_ms:
            continue
        shown = True
        beats = [call.at_ms for call in evidence.of(life, HEARTBEAT, since=began, until=ended)]
        gap, since = max((b - a, a) for a, b in pairwise((began, *beats, ended)))
        lost = [c for one, c in refused(evidence, Code.UNKNOWN_MEMBER_ID) if one is life]
        if gap >= session or any(began < c.at_ms < ended for c in lost):
            return violated(
                "heartbeats stop while the user works",
                f"the user of {said(life)} did not poll for {(ended - began) / 1000:.1f} s, and no "
                f"heartbeat came for {gap / 1000:.1f} s; its session is {session} ms",
                since,
                waited=(began, ended),
            )
    return HOLDS if shown else unknown("no user worked for so long")


def _exceeded(evidence: Evidence) -> Iterator[tuple[Life, float, float]]:
    """Each time in which a user did not poll for too long: when that was certain, and its end."""
    for life, began, ended in _pauses(evidence):
        settings = life.settings
        over = began + settings.max_poll_interval_ms + 2 * settings.heartbeat_interval_ms
        if ended > over + _SLACK_MS:
            yield life, over + _SLACK_MS, ended


def poll_interval(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-POLL-INTERVAL."""
    shown = False
    for life, over, ended in _exceeded(evidence):
        shown = True
        beat = first_after(evidence, life, over, HEARTBEAT, until=ended)
        if beat is not None:
            return violated(
                "heartbeats go on though the user doesn't poll",
                f"the user of {said(life)} did not poll for longer than its poll interval of "
                f"{life.settings.max_poll_interval_ms} ms, and heartbeats went on",
                beat.at_ms,
                waited=(over - _SLACK_MS, over),
            )
    return HOLDS if shown else unknown("no user worked for longer than the poll interval")


def static_silent(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-STATIC-SILENT."""
    shown = False
    for life, _, ended in _exceeded(evidence):
        if life.instance is None:
            continue
        shown = True
        wrong = no_leave(evidence, life)
        if wrong is not None and wrong.at_ms is not None and wrong.at_ms < ended:
            return wrong
    return HOLDS if shown else unknown("no static member's user worked for too long")


def polls_on(evidence: Evidence) -> Verdict:
    """Judge CLIENT-SESSION-POLLS-ON."""
    shown = False
    for life, _, ended in _exceeded(evidence):
        if life.instance is None or not evidence.deeds_of(_ON, life):
            continue
        shown = True
        session = life.settings.session_timeout_ms
        beats = evidence.of(life, HEARTBEAT, since=ended - session, until=ended)
        if any(call.went_well for call in beats):
            return unsupported(f"{said(life)} never lost its place: its heartbeats went on")
        join = first_after(evidence, life, ended, JOIN)
        if join is None:
            return violated(
                "does not come back when its user polls on",
                f"{said(life)} sent no JoinGroup when its user polled on, for "
                f"{(evidence.ended_ms - ended) / 1000:.1f} s",
                ended,
                waited=(ended, evidence.ended_ms),
            )
        if join.instance != life.instance:
            return violated(
                "comes back as somebody else when its user polls on",
                f"{said(life)} came back with instance id {join.instance!r}",
                join.at_ms,
            )
        after = "after its user polled on"
        if (wrong := has_no_partitions(evidence, life, ended, after)) is not None:
            return wrong
    return HOLDS if shown else unknown("no user of a static member polled on after too long")


def _together(evidence: Evidence) -> list[Sequence[Life]]:
    """The static lives of each process that has several."""
    lives = sorted(static_lives(evidence), key=lambda life: life.process)
    groups = (list(found) for _, found in groupby(lives, lambda life: life.process))
    return [found for found in groups if len({life.consumer for life in found}) > 1]


def own_ids(evidence: Evidence) -> Verdict:
    """Judge CLIENT-STREAMS-OWN-IDS."""
    groups = _together(evidence)
    for lives in groups:
        holders: dict[str, Life] = {}
        for life in lives:
            for call in joined(evidence, life):
                given = call.answer.member_id if isinstance(call.answer, JoinGroupResponse) else ""
                if holders.setdefault(given, life).consumer != life.consumer:
                    return _mixed(
                        life, f"member id {given!r} of {said(holders[given])}", call.at_ms
                    )
            for call in evidence.of(life, *MEMBER_APIS):
                if call.instance not in {None, life.instance}:
                    return _mixed(life, f"instance id {call.instance!r}", call.at_ms)
    return HOLDS if groups else unknown("no process had several static members")


def _mixed(life: Life, shown: str, at_ms: float) -> Verdict:
    return violated(
        "members of one process are mixed up",
        f"{said(life)} has the instance id {life.instance!r}, and appears with {shown}",
        at_ms,
    )


def rolled(evidence: Evidence) -> Verdict:
    """Judge CLIENT-STREAMS-ROLLED."""
    several = {life.consumer for lives in _together(evidence) for life in lives}
    found = [pair for pair in restarts(evidence) if pair[1].consumer in several]
    if not found:
        return unknown("no process with several static members restarted")
    wrong = (disturbance(evidence, *pair) for pair in found)
    return next(filter(None, wrong), HOLDS)


_OF_RESTARTS = "KIP-345, Join Group Logic Change and the update on leaders that restart"


REQUIREMENTS = (
    Requirement(
        "CLIENT-RESTART-FOLLOWER",
        Level.MUST,
        "A follower that closes and comes back within its session causes no rebalance, and has the "
        "partitions that it had.",
        _OF_RESTARTS,
        provoked="a static member that doesn't lead is closed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        judge=follower,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-CRASHED",
        Level.MUST,
        "A follower whose process was killed comes back within its session, causes no rebalance, "
        "and has the partitions that it had.",
        _OF_RESTARTS,
        provoked="the process of a static member is killed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        judge=crashed,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-LEADER",
        Level.MUST,
        "A leader that closes and comes back within its session causes no rebalance, and has the "
        "partitions that it had.",
        _OF_RESTARTS,
        provoked="the leader is closed and started again, with the newest versions",
        judged="generations, the partitions that users were told, and that no other member joined",
        judge=leader,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-SKIPPED",
        Level.SHOULD,
        "A leader that is told to skip the assignment sends its SyncGroup without one, and takes "
        "the partitions that it is answered.",
        "KIP-814, skipAssignment in JoinGroup 9",
        provoked="the leader is closed and started again, with the newest versions",
        judged="its SyncGroup after the answer with skipAssignment has no assignments",
        judge=skipped,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-LEADER-OLD",
        Level.MUST,
        "Below JoinGroup 9 a leader that came back is not told that it leads: it syncs as a "
        "follower, and has the partitions that it had.",
        "KIP-814, Motivation",
        provoked="the leader is closed and started again at a broker without JoinGroup 9",
        judged="generations, the partitions that users were told, and that its SyncGroup has no "
        "assignments",
        judge=leader_old,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-ALL",
        Level.MUST,
        "When all members are restarted one after the other, nothing moves.",
        "KIP-345, Motivation and Rolling Bounce",
        provoked="each of three static members in turn is closed and started again",
        judged="generations, and the partitions that users were told",
        judge=every_member,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-RESTART-COOPERATIVE",
        Level.MUST,
        "A restart moves nothing with the cooperative assignor either.",
        "KIP-429, with static members",
        provoked="a follower with the cooperative assignor is closed and started again",
        judged="generations, the partitions that users were told, and that no other member joined",
        judge=cooperative,
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-SESSION-TIMEOUT",
        Level.MUST,
        "The session timeout in JoinGroup is the one that the user set: how long a place is kept "
        "hangs on it.",
        "KIP-345, Upgrade Process, step 3",
        provoked="a member joins with a session timeout of its own",
        judged="the session timeout of each JoinGroup",
        judge=timeout,
    ),
    Requirement(
        "CLIENT-SESSION-REBALANCE-TIMEOUT",
        Level.SHOULD,
        "The rebalance timeout in JoinGroup is the poll interval that the user set.",
        "KIP-62, max.poll.interval.ms",
        provoked="a member joins with a poll interval of its own",
        judged="the rebalance timeout of each JoinGroup",
        judge=rebalance_timeout,
    ),
    Requirement(
        "CLIENT-SESSION-HEARTBEATS",
        Level.SHOULD,
        "Heartbeats go on while the user works longer than the session timeout, and shorter than "
        "the poll interval.",
        "KIP-62, heartbeats beside processing",
        provoked="the user doesn't poll for longer than the session timeout",
        judged="the gaps between heartbeats stay below the session timeout, and the member isn't "
        "removed",
        judge=heartbeats,
    ),
    Requirement(
        "CLIENT-SESSION-POLL-INTERVAL",
        Level.SHOULD,
        "When the user works for longer than the poll interval, heartbeats stop, so that the group "
        "can go on.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll for longer than the poll interval",
        judged="no heartbeat comes once the poll interval is over, with room for one interval",
        judge=poll_interval,
    ),
    Requirement(
        "CLIENT-SESSION-STATIC-SILENT",
        Level.MUST,
        "A static member whose user works for too long sends no LeaveGroup: it is silent until its "
        "session ends.",
        BEHAVIOUR,
        provoked="the user of a static member doesn't poll for longer than the poll interval",
        judged="no LeaveGroup names it",
        judge=static_silent,
    ),
    Requirement(
        "CLIENT-SESSION-POLLS-ON",
        Level.SHOULD,
        "When a user polls again after it worked for too long, the member is back, with its "
        "instance id.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll until the session is over, then goes on",
        judged="a JoinGroup with its instance id comes, and the user has partitions again",
        judge=polls_on,
    ),
    Requirement(
        "CLIENT-STREAMS-OWN-IDS",
        Level.MUST,
        "Several members in one process, with instance ids that end in -1, -2 and so on, are "
        "apart: each has its own member id, and its own instance id in every request.",
        "KIP-345, Kafka Streams Change",
        provoked="one process starts three static members of one group",
        judged="the pairs of instance id and member id in all requests",
        judge=own_ids,
    ),
    Requirement(
        "CLIENT-STREAMS-ROLLED",
        Level.MUST,
        "When a process with several static members restarts, nothing moves.",
        "KIP-345, Kafka Streams Change",
        provoked="a process with three static members ends and is started again, beside another",
        judged="generations, and the partitions that users were told",
        judge=rolled,
        needs_calm=True,
    ),
)
