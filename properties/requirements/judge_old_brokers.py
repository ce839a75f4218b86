"""Judges of the area OLD-BROKER: a broker that knows no static members."""

from __future__ import annotations

from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    holds,
    unknown,
    violated,
)
from fencepost.properties.requirements.driver_messages import Assigned
from fencepost.properties.requirements.evidence import (
    FIRST_WITH_INSTANCE,
    JOIN,
    MEMBER_APIS,
    Evidence,
    Life,
)
from fencepost.properties.requirements.evidence_queries import has_no_partitions, said, static_lives

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
