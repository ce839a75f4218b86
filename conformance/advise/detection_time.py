"""When the members of a group notice that one is gone, after its session has ended.

After a rebalance all send their heartbeats at the same moments.  A static member that is restarted
without one sends them at moments of its own from then on, `alone`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from fencepost.conformance.advise.known_facts import KnownGroup

_PARTS = 100
"""Into which the time is divided over which the slowest is averaged."""


@dataclass(frozen=True, slots=True)
class Notice:
    """From the end of a session until the others have joined, in s: the last, and the mean."""

    last_s: float
    mean_s: float


def noticed(
    known: KnownGroup, session_s: float, alone: int, *, is_fresh: bool, gone: int = 1
) -> Notice:
    """When the others notice, of whom so many beat `alone`, the rest together with the dead.

    So many are `gone`.  The rest notice at the moment at which these would have sent a heartbeat;
    if the session is a multiple of the interval that is when it ends, and half of them beat just
    before and a whole interval later.  Where it `is_fresh`, stopped before a first heartbeat, its
    session ends before theirs.
    """
    beat_ms = round(known.heartbeat_s * 1000)
    rest_ms = -round(session_s * 1000) % beat_ms
    return _noticed(
        known.members - gone,
        known.heartbeat_s,
        known.processing_s,
        rest_ms / 1000,
        alone,
        not rest_ms and not is_fresh,
    )


@cache
def _noticed(
    others: int, beat_s: float, work_s: float, rest_s: float, alone: int, is_split: bool
) -> Notice:
    together = others - alone
    longest_s = beat_s + work_s

    def together_by(at_s: float) -> float:
        if is_split:
            return (_done_by(at_s, work_s) + _done_by(at_s - beat_s, work_s)) / 2
        return _done_by(at_s - rest_s, work_s)

    def alone_by(at_s: float) -> float:
        return _mean_done(at_s, beat_s, work_s)

    step_s = longest_s / _PARTS
    last_s = (
        sum(
            1 - together_by(at_s) ** together * alone_by(at_s) ** alone
            for at_s in (step_s * (part + 0.5) for part in range(_PARTS))
        )
        * step_s
    )
    each_s = beat_s / 2 if is_split else rest_s
    mean_s = (together * each_s + alone * beat_s / 2) / others + work_s / 2
    return Notice(last_s, mean_s)


def _done_by(left_s: float, work_s: float) -> float:
    """The part of the members that were told so long ago and have ended their work."""
    if left_s < 0:
        return 0.0
    return min(left_s / work_s, 1.0) if work_s else 1.0


def _mean_done(at_s: float, beat_s: float, work_s: float) -> float:
    """The same of members that are told at any moment of an interval."""

    def area(left_s: float) -> float:
        if left_s <= 0:
            return 0.0
        if left_s >= work_s:
            return left_s - work_s / 2
        return left_s * left_s / (2 * work_s)

    return (area(at_s) - area(at_s - beat_s)) / beat_s
