"""How long partitions wait at most, and how long a rollout takes: docs/deployments/advise.md.

Times are seconds.  A maximum holds as long as no rebalance begins while another one goes on.
"""

from __future__ import annotations

import math

from fencepost.conformance.advise.arithmetic import is_apart, outlives_of, restarts_of, slowest_s
from fencepost.conformance.advise.known_facts import Form, KnownGroup
from fencepost.conformance.simulate.durations import Spread, longest_s

_CHECK_S = 0.1
"""How often a health check of the simulator looks."""


def longest_death_s(known: KnownGroup, session_s: float) -> float:
    """What a host had that died: its session ends, the others notice, join, and read."""
    return session_s + known.heartbeat_s + known.processing_s + known.reading_s


def longest_restart_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """What a process had that is stopped and started again."""
    if not form.is_static:
        return known.heartbeat_s + known.processing_s + known.reading_s
    restart_s = math.inf if is_unbounded(known) else longest_s(known.restart_s)
    return min(restart_s + known.reading_s, longest_death_s(known, session_s))


def longest_crash_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """What a process had that crashed: a dynamic one's next is nobody that the group knows."""
    if not form.is_static:
        return longest_death_s(known, session_s)
    return longest_restart_s(known, form, session_s)


def is_unbounded(known: KnownGroup) -> bool:
    """Whether no restart is the longest: their times are a distribution without an end."""
    return isinstance(known.restart_s, Spread) and known.restart_s.median is not None


def rollout_s(known: KnownGroup, form: Form, session_s: float) -> float:
    """How long a deployment takes on average, until the group is balanced again.

    A wave takes as long as its longest restart, and until all others have noticed who came back.
    """
    restarts, size = sorted(restarts_of(known.restart_s)), known.at_a_time
    told_s = session_s - known.heartbeat_s / 2 if form.is_static else known.heartbeat_s
    joined_s = known.heartbeat_s / 2 + slowest_s(known)
    if form.strategy == "cooperative":
        joined_s += known.heartbeat_s + slowest_s(known)
    wave_s = 0.0
    for place, restart_s in enumerate(restarts):
        part = ((place + 1) / len(restarts)) ** size - (place / len(restarts)) ** size
        late = outlives_of(known, restart_s, session_s) if form.is_static else 1.0
        apart = is_apart(known, restart_s - told_s, size)
        merged_s = max(restart_s, told_s + slowest_s(known))
        comes_s = apart * (restart_s + joined_s) + (1 - apart) * merged_s
        wave_s += part * (late * comes_s + (1 - late) * restart_s)
    return known.waves * (wave_s + _CHECK_S)
