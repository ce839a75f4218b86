"""Judges of the area SESSION: how a member shows that it lives."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    unknown,
    unsupported,
    violated,
)
from fencepost.properties.requirements.evidence import HEARTBEAT, JOIN, Evidence, Life
from fencepost.properties.requirements.evidence_queries import (
    first_after,
    has_no_partitions,
    no_leave,
    refused,
    said,
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
