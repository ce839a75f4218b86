"""Judges of the area STREAMS: several members in one process."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.properties.requirements.client_verdict import HOLDS, Verdict, unknown, violated
from fencepost.properties.requirements.evidence import MEMBER_APIS, Evidence, Life
from fencepost.properties.requirements.evidence_queries import joined, said, static_lives
from fencepost.properties.requirements.judge_restarting import disturbance, restarts


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
