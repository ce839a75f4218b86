"""Judges of the area RESTART: a member comes back, and nothing moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    unknown,
    unsupported,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Partition, Revoked
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    FIRST_WITH_INSTANCE,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Evidence,
    Life,
)
from fencepost.properties.requirements.evidence_queries import (
    answered,
    first_after,
    has_no_partitions,
    joined,
    led,
    said,
    synced,
)

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
