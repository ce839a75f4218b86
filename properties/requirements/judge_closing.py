"""Judges of the area CLOSE: how a member goes."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.messages.messages import LeaveGroupRequest
from fencepost.properties.requirements import evidence_queries
from fencepost.properties.requirements.client_verdict import HOLDS, Verdict, unknown, violated
from fencepost.properties.requirements.evidence import JOIN, Call, Deed, Evidence, Life
from fencepost.properties.requirements.evidence_queries import (
    answered,
    leaves_of,
    member_ids,
    no_leave,
    nobody_fenced,
    said,
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


def fenced(evidence: Evidence) -> Verdict:
    """Judge CLIENT-CLOSE-FENCED."""
    out = {life.id: answered(call) for life, call in evidence_queries.fenced(evidence)}
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
