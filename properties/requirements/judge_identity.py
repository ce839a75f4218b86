"""Judges of the area IDENTITY: instance ids and versions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from fencepost.properties.requirements.client_verdict import (
    HOLDS,
    Verdict,
    holds,
    unknown,
    violated,
)
from fencepost.properties.requirements.evidence import (
    COMMIT,
    FIRST_WITH_INSTANCE,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    Call,
    Evidence,
    Life,
)
from fencepost.properties.requirements.evidence_queries import said, static_lives


def as_set(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-AS-SET."""
    return _carried(evidence, (JOIN,))


def every_request(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-EVERY-REQUEST."""
    return _carried(evidence, (SYNC, HEARTBEAT, COMMIT))


def _carried(evidence: Evidence, apis: tuple[str, ...]) -> Verdict:
    shown = set()
    for life in static_lives(evidence):
        for call in evidence.of(life, *apis):
            if call.request is None or not _has_room(evidence, call):
                continue
            shown.add(call.api)
            if call.version < FIRST_WITH_INSTANCE[call.api] or call.instance != life.instance:
                return _other_instance(life, call)
    missing = [api for api in apis if api not in shown and api != COMMIT]
    if missing:
        return unknown(f"no static member sent {' or '.join(missing)}")
    without = set(apis) - shown
    return holds(f"nothing was committed, so {COMMIT} was not seen") if without else HOLDS


def _has_room(evidence: Evidence, call: Call) -> bool:
    """Whether a request could have carried an instance id, as far as the broker goes."""
    versions = evidence.advertised(call.api, call.at_ms)
    first = FIRST_WITH_INSTANCE[call.api]
    return call.version >= first or (versions is not None and versions[1] >= first)


def _other_instance(life: Life, call: Call) -> Verdict:
    if call.version < FIRST_WITH_INSTANCE[call.api]:
        how, shown = "in a version without room for one", f"is of version {call.version}"
    elif call.instance is None:
        how, shown = "without an instance id", "has none"
    else:
        how, shown = "with another instance id", f"has {call.instance!r}"
    return violated(
        f"{call.api} {how}",
        f"the user of {said(life)} set the instance id {life.instance!r}; {call.api} "
        f"v{call.version} {shown}",
        call.at_ms,
    )


def versions(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-VERSIONS."""
    shown = False
    for life, call in _static_calls(evidence, MEMBER_APIS):
        first = FIRST_WITH_INSTANCE[call.api]
        known = evidence.advertised(call.api, call.at_ms)
        if known is None or known[1] < first:
            continue
        shown = True
        if call.version < first:
            return violated(
                f"{call.api} v{call.version}",
                f"{said(life)}, a static member, sent {call.api} v{call.version}, where the broker "
                f"knows up to v{known[1]}: fencing needs v{first}",
                call.at_ms,
            )
    return HOLDS if shown else unknown("no static member sent a request to a broker that knows any")


def newest(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-NEWEST."""
    usual: dict[tuple[str, str], int] = {}
    changed_ms = evidence.versions[-1][0] if len(evidence.versions) > 1 else math.inf
    compared = False
    for life in evidence.lives:
        for call in evidence.of(life, *MEMBER_APIS):
            known = evidence.advertised(call.api, call.at_ms)
            if known is None:
                continue
            before = usual.setdefault((life.id, call.api), call.version)
            compared = compared or call.at_ms > changed_ms
            if call.version != min(before, known[1]) and call.error is not None:
                return violated(
                    f"{call.api} not in the newest version that both know",
                    f"{said(life)} sent {call.api} v{call.version}; it knows v{before}, and the "
                    f"broker up to v{known[1]}",
                    call.at_ms,
                )
    return HOLDS if compared else unknown("no request came after the broker's versions changed")


def dynamic(evidence: Evidence) -> Verdict:
    """Judge CLIENT-IDENTITY-DYNAMIC."""
    shown = False
    for life in evidence.lives:
        if life.instance is not None:
            continue
        for call in evidence.of(life, *MEMBER_APIS):
            shown = True
            if call.instance is not None:
                return violated(
                    f"{call.api} with an instance id",
                    f"the user of {said(life)} set no instance id; {call.api} v{call.version} has "
                    f"{call.instance!r}",
                    call.at_ms,
                )
    return HOLDS if shown else unknown("no dynamic member sent a request")


def _static_calls(evidence: Evidence, apis: Iterable[str]) -> Iterator[tuple[Life, Call]]:
    for life in static_lives(evidence):
        for call in evidence.of(life, *apis):
            yield life, call
