"""What nobody said of a group and no log showed, in words, each with the option that says it."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.conformance.advise.known_facts import SAID, KnownGroup
from fencepost.conformance.simulate.durations import Spread

_ASSUMED = {
    "members": "{} members",
    "topics": "{} partitions, of one topic",
    "at_a_time": "a deployment restarts {} process at a time",
    "pause_s": "a process that lives is never silent for longer than {:g} s",
    "processing_s": "work on what one poll returned takes up to {:g} s",
    "resume_s": "a member reads a partition {:g} s after it was assigned, as in real bounces",
    "warmup_s": "a member needs {:g} s to warm up for a partition that is new to it",
    "deployments": "a deployment {:g} times in a week",
    "crashes": "a process that dies and is started again, {:g} times in a week",
    "deaths": "a host that dies and doesn't come back, {:g} times in a week",
    "heartbeat_s": "to compare with, a heartbeat interval of {:g} s (--heartbeat-interval-ms)",
    "session_s": "to compare with, a session timeout of {:g} s (--session-timeout-ms)",
    "is_static": "to compare with, {} members (--static, --dynamic)",
    "strategy": "to compare with, members that offer both assignors and rebalance eagerly, as "
    "Java's do by default since 3.0 (--strategy)",
}
_ALWAYS = (
    "the next processes of a rollout are restarted when the group is balanced",
    "what fencepost simulate assumes: messages of 2 ms, a broker that never fails",
)


def assumptions(known: KnownGroup, given: Sequence[str]) -> list[str]:
    """The sentences; `given`: the facts that were said, or that a log shows."""
    said = []
    if not isinstance(known.restart_s, Spread):
        said.append(f"every restart takes {known.restart_s:g} s (--restart-p95-s)")
    for name, words in _ASSUMED.items():
        if name in given:
            continue
        value = getattr(known, name)
        if name == "is_static":
            value = "static" if value else "dynamic"
        elif name == "topics":
            value = known.partitions
        option = f" ({SAID[name]})" if name in SAID else ""
        said.append(words.format(value) + option)
    return [*said, *_ALWAYS]
