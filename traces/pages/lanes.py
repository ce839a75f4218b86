"""Lay out swim lanes: the coordinator, each instance with its processes, each dynamic member.

A bar is a member id, as long as the model has it as a member, in the row of the process that got
it; its end says why it ended.  Phases are the group's states.  Timers run from the step that sets
them to the step in which they fire or are cancelled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import SESSION, Group
from fencepost.model.consumer.effects import Do as ConsumerDo
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.history.words import member
from fencepost.properties.oracle.matcher import FRESH
from fencepost.properties.oracle.verdict import Happened
from fencepost.traces.pages.group_fields import timer_name
from fencepost.traces.pages.trace_with_model import TraceWithModel

_LATER_ID = re.compile(r" \(id \d+\)$")
_REPLACES = {
    Do.REPLACE_HOLDER,
    Do.REPLACE_HOLDER_AS_SENT,
    Do.REPLACE_ID,
    ConsumerDo.REPLACE_HOLDER,
}
_HEARTBEAT = "ConsumerGroupHeartbeat"
COORDINATOR = -1
_MOST_ROWS = 4
"""The most processes of an instance that have a row each."""


@dataclass(slots=True)
class Lanes:
    """Rows by lane, bars, phases and timers; `open_...`: those that have not ended."""

    story: TraceWithModel
    rows: list[dict[str, Any]] = field(default_factory=list)
    row_of: dict[str, int] = field(default_factory=dict)
    bars: list[dict[str, Any]] = field(default_factory=list)
    phases: list[dict[str, Any]] = field(default_factory=list)
    timers: list[dict[str, Any]] = field(default_factory=list)
    open_bars: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    open_phases: dict[str, dict[str, Any]] = field(default_factory=dict)
    open_timers: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the data for the page."""
        return {
            "rows": self.rows,
            "bars": self.bars,
            "phases": self.phases,
            "timers": self.timers,
            "groups": sorted({phase["group"] for phase in self.phases}),
        }


def lanes(story: TraceWithModel) -> Lanes:
    """Lay out the lanes of a trace."""
    drawn = Lanes(story)
    _rows(drawn)
    for index, steps in enumerate(story.beside):
        for step in steps:
            _phases(drawn, index, step)
            _members(drawn, index, step)
            _timers(drawn, index, step)
    return drawn


def _rows(drawn: Lanes) -> None:
    """Return a row for each process: by instance, then dynamic members, then others."""
    trace = drawn.story.trace
    lane: dict[str, tuple[int, str]] = {}
    acts: dict[str, list[int]] = {}
    for request in drawn.story.requests.values():
        who = trace.senders.get(request.id, request.connection)
        keys = ("groupInstanceId", "memberName", "instanceId")
        instance = next(filter(None, map(request.body.get, keys)), None)
        if instance is not None:
            row_key = (0, f"instance {instance}")
        elif request.api in {"JoinGroup", "SyncGroup", "Heartbeat", _HEARTBEAT}:
            row_key = (1, f"dynamic {who}")
        else:
            row_key = (2, who)
        lane[who] = min(row_key, lane.get(who, row_key))
        acts.setdefault(who, []).append(drawn.story.sent_at[request.id])
    places = {row: place for place, row in enumerate(dict.fromkeys(lane.values()))}
    for kind, label in sorted(places, key=lambda row: (row[0], places[row])):
        processes = [who for who in lane if lane[who] == (kind, label)]
        for together in _packed(processes, acts):
            drawn.row_of |= dict.fromkeys(together, len(drawn.rows))
            shape = ("static", "dynamic", "client")[kind]
            drawn.rows.append({"lane": label, "who": ", ".join(together), "kind": shape})


def _packed(processes: Sequence[str], acts: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """Return the rows of processes: one each, or if there are many, shared where possible.

    Never one right behind the process before it, so that a bar passes from row to row.
    """
    if len(processes) <= _MOST_ROWS:
        return [[who] for who in processes]
    rows: list[list[str]] = []
    before = ""
    for who in sorted(processes, key=lambda name: acts[name][0]):
        free = (r for r in rows if r[-1] != before and acts[r[-1]][-1] < acts[who][0])
        row = next(free, None)
        if row is None:
            row = []
            rows.append(row)
        row.append(who)
        before = who
    return rows


def _row(drawn: Lanes, member_id: str, instance: str | None, step: Happened) -> int:
    """Return the row of the process that got this id, or else that sent the request."""
    trace = drawn.story.trace
    who = _LATER_ID.sub("", trace.names.get(member_id, ""))
    if who in drawn.row_of:
        return drawn.row_of[who]
    fresh = member_id.removeprefix(FRESH)
    if fresh in trace.senders:
        return drawn.row_of.get(trace.senders[fresh], 0)
    now = drawn.open_bars.get((step.group_id, member_id))
    if now is not None:
        return int(now["row"])
    if step.incoming is not None and step.incoming.id in trace.senders:
        return drawn.row_of.get(trace.senders[step.incoming.id], 0)
    lane = f"instance {instance}"
    return next((n for n, row in enumerate(drawn.rows) if row["lane"] == lane), 0)


def _phases(drawn: Lanes, index: int, step: Happened) -> None:
    group, name = step.outcome.group, step.group_id
    phase_now = None if group is None else (group.state.value, group.age[1])
    now = drawn.open_phases.get(name)
    if now is not None and phase_now == (now["state"], now["generation"]):
        return
    if now is not None:
        now["to"] = index
        del drawn.open_phases[name]
        if now["from"] == index:
            drawn.phases.remove(now)
    if phase_now is not None:
        phase = {
            "group": name,
            "state": phase_now[0],
            "counts": group.age[0],
            "generation": phase_now[1],
            "from": index,
            "to": None,
        }
        drawn.open_phases[name] = phase
        drawn.phases.append(phase)


def _members(drawn: Lanes, index: int, step: Happened) -> None:
    before, after = _ids(step.before), _ids(step.outcome.group)
    names = drawn.story.trace.names
    for member_id, instance in before.items():
        bar = (
            drawn.open_bars.pop((step.group_id, member_id), None)
            if member_id not in after
            else None
        )
        if bar is not None:
            bar["to"] = index
            bar["ends"] = _end(drawn, step, instance)
    for member_id, instance in after.items():
        if (step.group_id, member_id) not in drawn.open_bars:
            bar = {
                "row": _row(drawn, member_id, instance, step),
                "group": step.group_id,
                "label": member(member_id, names),
                "id": member_id.replace(FRESH, "new for "),
                "from": index,
                "to": None,
                "ends": None,
            }
            drawn.open_bars[step.group_id, member_id] = bar
            drawn.bars.append(bar)


def _ids(group: Group | ConsumerGroup | None) -> dict[str, str | None]:
    if isinstance(group, ConsumerGroup):
        return {m.member_id: m.instance_id for m in group.members}
    return {} if group is None else {m.member_id: m.group_instance_id for m in group.members}


def _end(drawn: Lanes, step: Happened, instance: str | None) -> str:
    """Return how a member id ends: fenced, left, expired, lost in a failover, or removed."""
    group = step.outcome.group
    effects = {
        do for rule_id in step.outcome.rules for do in drawn.story.revision.rule(rule_id).effect
    }
    if (
        instance is not None
        and effects & _REPLACES
        and group is not None
        and group.holder(instance)
    ):
        return "fenced"
    if step.timer is not None:
        return "expired" if step.timer.kind == SESSION else "removed"
    if step.incoming is None:
        return "lost"
    api = step.incoming.api
    return "left" if api.startswith("LeaveGroup") or api == _HEARTBEAT else "removed"


def _timers(drawn: Lanes, index: int, step: Happened) -> None:
    running = () if step.outcome.group is None else step.outcome.group.timers
    before = () if step.before is None else step.before.timers
    set_timers = set()
    for timer in running:
        key = (step.group_id, timer.kind, timer.subject)
        set_timers.add(key)
        now = drawn.open_timers.get(key)
        if now is None:
            now = drawn.open_timers[key] = {
                "row": _row(drawn, timer.subject, None, step)
                if timer.kind == SESSION
                else COORDINATOR,
                "group": step.group_id,
                "label": timer_name(timer, drawn.story.trace.names),
                "from": index,
                "to": None,
                "fired": False,
                "set": [],
            }
            drawn.timers.append(now)
        if timer not in before and index not in now["set"][-1:]:
            now["set"].append(index)
    for key in [k for k in drawn.open_timers if k[0] == step.group_id and k not in set_timers]:
        gone = drawn.open_timers.pop(key)
        gone["to"] = index
        gone["fired"] = step.timer is not None and key[1:] == step.timer[:2]
