"""Judges of the area REMOVED: a member lost its place."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.properties.requirements.client_verdict import HOLDS, Verdict, unknown, violated
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Revoked
from fencepost.properties.requirements.evidence import COMMIT, JOIN, Evidence, Life
from fencepost.properties.requirements.evidence_queries import (
    answered,
    first_after,
    has_no_partitions,
    said,
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


def no_commits(evidence: Evidence) -> Verdict:
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
