"""Turn programs into cases, move by move.

A process waits for the answer to its join or sync before it sends anything else, as a client
library does, unless its connection drops or it ends.  An API, a version or a feature that a
coordinator lacks is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.script import BOTH, RANGE, RENEWED, ROUNDROBIN, Script
from fencepost.model.coordinator import Hello
from fencepost.model.messages.messages import LeavingMember
from fencepost.model.plans.plan import GenerationOf, IdOf, Ms, Needs, instance_of
from fencepost.model.table.table import Level
from fencepost.properties.stateful.programs import CAST, Move, Program

_INSTANCE_SINCE = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3}
_INSTANCE_SINCE["OffsetCommit"] = 7
_OLDER = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7, "LeaveGroup": 2}
_OLDER_DYNAMIC = {"JoinGroup": 3, "SyncGroup": 2, "Heartbeat": 2, "OffsetCommit": 2}
_API = {
    "join": "JoinGroup",
    "change": "JoinGroup",
    "sync": "SyncGroup",
    "beat": "Heartbeat",
    "leave": "LeaveGroup",
    "remove": "LeaveGroup",
    "batch": "LeaveGroup",
    "commit": "OffsetCommit",
    "fetch": "OffsetFetch",
    "describe": "DescribeGroups",
    "list": "ListGroups",
}
_ONE_GROUP_BEFORE = 8
_OTHER_GROUP = "h"
_NOBODYS = "Z"
_TOO_SHORT_MS = 1
_FATAL = ("unlike", "later")
"""Joins that make some coordinators abort: two members whose first protocols differ."""


def entry_of(name: str, program: Program, hello: Hello) -> Entry:
    """A program as a case for a coordinator with these features."""
    virtual = hello.clock == "virtual"

    def write(script: Script) -> None:
        writer = _CaseWriter(script, hello)
        for move in program.moves:
            writer.move(move)
        writer.wait_for(*writer.names)

    return Entry(
        name,
        "what Hypothesis made up",
        (),
        Needs(),
        isolated=any(
            move.do in {"join", "change"} and move.odd in _FATAL for move in program.moves
        ),
        level=Level.MUST,
        delayed=program.delayed if virtual else None,
        write=write,
    )


@dataclass(slots=True)
class _CaseWriter:
    """Writes moves; `names`: what the process in each seat is called now."""

    script: Script
    hello: Hello
    names: list[str] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=dict)
    waits: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Start everybody's first process."""
        self.names = [self.new_name(seat) for seat in CAST]

    def new_name(self, seat: str) -> str:
        """The name of a process that is new."""
        number = self.count[seat] = self.count.get(seat, 0) + 1
        return f"{seat}{number}" if seat[0].isupper() or number > 1 else seat

    def move(self, move: Move) -> None:
        """Write one move, if the coordinator has the features for it."""
        who = self.names[move.who]
        match move.do:
            case "await":
                self.wait_for(who)
            case "restart":
                self.cut_off(who)
                self.names[move.who] = self.new_name(CAST[move.who])
            case "drop":
                self.cut_off(who)
            case "form":
                self.form(self.names[0], self.names[2])
            case "pause":
                self.script.pause("short rebalance" if move.odd else "short session")
            case "failover":
                if "restart" in self.hello.features:
                    self.script.restart()
                    self.waits.clear()
            case _:
                self.request(move, who)

    def cut_off(self, who: str) -> None:
        self.script.disconnect(who)
        self.waits.discard(who)

    def wait_for(self, *who: str) -> None:
        waiting = [name for name in dict.fromkeys(who) if name in self.waits]
        if waiting:
            self.script.wait(*waiting)
            self.waits.difference_update(waiting)

    def form(self, *who: str) -> None:
        """Form a stable group of these; the first may be alone at first, so it joins again."""
        seats = [self.names.index(name) for name in who]
        for seat in (*seats, seats[0]):
            self.request(Move("join", seat), self.names[seat])
        self.wait_for(*who)
        for seat in reversed(seats):
            self.request(Move("sync", seat), self.names[seat])
        self.wait_for(*who)

    def request(self, move: Move, who: str) -> None:
        api = _API[move.do]
        bounds = self.hello.apis.get(api)
        if bounds is None:
            return
        version = self.version(move, api, instance_of(who), bounds)
        fields = self.fields(move, who, api, version)
        if fields is None:
            return
        asker = "admin" if move.do in {"describe", "list"} else who
        self.wait_for(asker)
        self.script.ask(asker, api, version=version, wait=False, **fields)
        if api in {"JoinGroup", "SyncGroup"}:
            self.waits.add(who)
        self.script.settle()

    @staticmethod
    def version(move: Move, api: str, instance: str | None, bounds: tuple[int, int]) -> int:
        low, high = bounds
        if api == "OffsetFetch":
            return max(low, min(high, _ONE_GROUP_BEFORE - 1))
        if move.odd != "older":
            return high
        older = _OLDER if instance is not None else {**_OLDER, **_OLDER_DYNAMIC}
        return max(low, min(high, older.get(api, high)))

    def fields(self, move: Move, who: str, api: str, version: int) -> dict[str, Any] | None:
        """The fields of a request; None where the version lacks one."""
        group = {"elsewhere": _OTHER_GROUP, "nowhere": ""}.get(move.odd, "g")
        if move.do == "describe":
            return {"groups": (group,)}
        if move.do == "list":
            return {}
        scratch = Script(delayed=False)
        if move.do == "fetch":
            scratch.fetch(who, version=version, group=group)
            return dict(_asked(scratch))
        if api == "LeaveGroup":
            return self.leaving(move, who, group, version)
        says: dict[str, Any] = {"member_id": self.member_id(move, who), "group": group}
        carries = version >= _INSTANCE_SINCE[api] and move.odd != "dynamic"
        mine = _NOBODYS if move.odd == "claims" else instance_of(who)
        says["instance"] = mine if carries else None
        if api == "JoinGroup":
            scratch.join(who, version=version, **says, **_join(move))
        else:
            says["generation"] = _generation(move, who)
            if move.do == "sync":
                if move.odd == "unlike" and version >= 5:
                    says["protocol_name"] = ROUNDROBIN[0][0]
                scratch.sync(who, version=version, assign=self.names, **says)
            elif move.do == "beat":
                scratch.beat(who, version=version, **says)
            else:
                scratch.commit(who, version=version, **says)
        return dict(_asked(scratch))

    def leaving(self, move: Move, who: str, group: str, version: int) -> dict[str, Any] | None:
        if version < _INSTANCE_SINCE["LeaveGroup"]:
            if move.do != "leave":
                return None
            return {"group_id": group, "member_id": self.member_id(move, who)}
        own = _NOBODYS if move.odd == "claims" else instance_of(who)
        instance = None if move.odd == "dynamic" else own
        rows: Iterable[tuple[Any, str | None]] = [(self.member_id(move, who), instance)]
        if move.do == "remove":
            rows = [("", instance)]
        elif move.do == "batch":
            rows = [(IdOf(name), instance_of(name)) for name in self.names]
        members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in rows)
        return {"group_id": group, "members": members}

    def member_id(self, move: Move, who: str) -> Any:
        match move.odd:
            case "stranger":
                return "stranger"
            case "nobody":
                return ""
            case "earlier":
                return IdOf(who, back=1)
            case "other":
                return IdOf(self.names[(move.who + 1) % len(self.names)])
            case _:
                return IdOf(who)


def _join(move: Move) -> dict[str, Any]:
    said: dict[str, Any] = {"session": Ms("short session"), "rebalance": Ms("short rebalance")}
    if move.do == "change":
        said["protocols"] = BOTH if move.odd == "later" else RENEWED
    elif move.odd == "unlike":
        said["protocols"] = ROUNDROBIN
    else:
        said["protocols"] = RANGE
    if move.odd == "short":
        said["session"] = _TOO_SHORT_MS
    return said


def _generation(move: Move, who: str) -> Any:
    match move.odd:
        case "later":
            return GenerationOf(who, plus=1)
        case "never":
            return -1
        case _:
            return GenerationOf(who)


def _asked(script: Script) -> Any:
    """The fields of the request that a scratch script asks."""
    return next(step.fields for step in script.steps if hasattr(step, "fields"))
