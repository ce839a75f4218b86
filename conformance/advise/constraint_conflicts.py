"""Say which wishes no session timeout fulfils together, and what would let one do so."""

from __future__ import annotations

import math

from fencepost.conformance.advise.known_facts import BEATS, SESSIONS_S, KnownGroup
from fencepost.conformance.advise.longest_gap import longest_death_s


def conflict_of(known: KnownGroup, shortest_s: float) -> str:
    """The conflict in a sentence; `shortest_s`: the shortest session that is safe."""
    if known.gap_s is None or known.shortest_s > SESSIONS_S[1]:
        return (
            f"processes that are silent for {known.pause_s:g} s and live can be told from "
            f"dead ones by no session timeout that brokers allow, {shortest_s:g} s at most"
        )
    why = f"a session shorter than {BEATS} heartbeats would end by two that are lost"
    if known.shortest_s == SESSIONS_S[0]:
        why = "brokers allow no shorter one by default"
    if known.shortest_s == known.pause_s + known.heartbeat_s:
        why = f"a process that lives may be silent for {known.pause_s:g} s (--longest-pause-s)"
    outs = list(_ways_out(known, known.gap_s))
    remedy = f": give {', or '.join(outs)}" if outs else ""
    return (
        f"no session timeout keeps a gap of {known.gap_s:g} s: since {why}, the shortest that is "
        f"safe is {shortest_s:g} s, with which a death is noticed after up to "
        f"{longest_death_s(known, shortest_s):.1f} s{remedy}"
    )


def _ways_out(known: KnownGroup, gap_s: float) -> list[str]:
    """What alone would let a session keep the gap."""
    left_s = gap_s - known.processing_s - known.reading_s
    outs = []
    pause_s = math.floor(10 * (left_s - 2 * known.heartbeat_s) + 1e-6) / 10
    if pause_s > 0 and max(BEATS * known.heartbeat_s, SESSIONS_S[0]) <= left_s - known.heartbeat_s:
        outs.append(f"--longest-pause-s {pause_s:g} or less, if that is so")
    beat_s = min((left_s - known.pause_s) / 2, left_s / (BEATS + 1), left_s - SESSIONS_S[0])
    beat_ms = 100 * math.floor(10 * beat_s + 1e-6)
    if beat_ms > 0:
        outs.append(f"--heartbeat-interval-ms {beat_ms} or less, and set it in the consumers")
    return outs
