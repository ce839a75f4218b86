"""Compute which errors a request can be answered with in any state of the group.

The model's decision table is asked for every possible state.  An answer that no state gives is
wrong wherever a log begins, however much of it is missing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
)
from fencepost.model.messages.wire_form import ShapeError
from fencepost.model.revision import Revision
from fencepost.model.table.effects import Do
from fencepost.model.table.errors import error_name
from fencepost.model.table.table import Rule
from fencepost.model.table.vocabulary import (
    Availability,
    Generation,
    Given,
    GroupId,
    Inst,
    Mid,
    feasible,
)
from fencepost.traces.audit.judge.line_kind import BEYOND
from fencepost.traces.logs.exchange import LoggedExchange

Known = dict[str, frozenset[Hashable]]

_RELEASED: dict[str, frozenset[int | str]] = {
    "JoinGroup": frozenset({0, 16, 25, 82}),
    "SyncGroup": frozenset({0, 16, 25, 27, 82}),
}
"""Error codes of answers to a request that waited; 0: success."""


_HERE = frozenset({Availability.HERE})
_ELSEWHERE = frozenset({14, 15, 16})
"""Errors of a coordinator that is elsewhere, loading or failing."""


@dataclass(slots=True)
class PossibleAnswers:
    """Computes which errors are possible, and caches them."""

    revision: Revision
    _found: dict[object, frozenset[int | str]] = field(default_factory=dict)

    def fault(self, exchange: LoggedExchange) -> str | None:
        """Return what is wrong with an answer that no state gives; None if some state gives it."""
        try:
            request, answer = exchange.request, exchange.response
        except ShapeError as error:
            return f"the answer has a shape that version {exchange.version} forbids: {error}"
        version = exchange.version
        match request, answer:
            case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest(), _:
                codes: list[tuple[int | str, Known]] = [
                    (answer.error_code, _about(request, version))  # type: ignore[attr-defined]
                ]
                table = exchange.api
            case OffsetCommitRequest(), OffsetCommitResponse():
                known = _about(request, version)
                codes = [(p.error_code, known) for t in answer.topics for p in t.partitions]
                table = exchange.api
            case LeaveGroupRequest(), LeaveGroupResponse() if version >= 3 and answer.members:
                if len(answer.members) != len(request.members):
                    return f"{len(answer.members)} rows answer {len(request.members)}"
                pairs = zip(request.members, answer.members, strict=True)
                codes = [(got.error_code, _about(row, version)) for row, got in pairs]
                table = "LeaveGroup member"
            case _:
                return None
        for code, known in codes:
            if code in BEYOND or code in (allowed := self._codes(table, known)):
                continue
            words = ", ".join(error_name(c) for c in sorted(allowed, key=str))
            return f"{error_name(code)}, which is impossible in every state; possible: {words}"
        return None

    def _codes(self, name: str, known: Known) -> frozenset[int | str]:
        key = (name, tuple(sorted(known.items())))
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = frozenset(self._asked(name, known))
        return found

    def _asked(self, name: str, known: Known) -> set[int | str]:
        table = self.revision.tables[name]
        known = {"coordinator": _HERE, **known}
        domains = [
            [v for v in f.domain if f.name not in known or v in known[f.name]]
            for f in table.features
        ]
        codes: set[int | str] = {*_ELSEWHERE}
        for point in product(*domains):
            if feasible({id(f): v for f, v in zip(table.features, point, strict=True)}):
                for rule in table.applicable(point):
                    codes |= _codes_of(name, rule)
        return codes


def _codes_of(api: str, rule: Rule) -> frozenset[int | str]:
    if rule.answer is not None:
        return frozenset({rule.answer.value})
    if Do.PARK_JOIN in rule.effect or Do.PARK_SYNC in rule.effect:
        return _RELEASED[api]
    return frozenset({0})


def _about(thing: Any, version: int) -> Known:
    """Return what a request itself tells of the point that it is in."""
    known: Known = {"version": frozenset({version})}
    if getattr(thing, "group_id", ""):
        known["group id"] = frozenset({GroupId.GIVEN})
    empty = frozenset({Mid.EMPTY})
    known["mid"] = empty if not thing.member_id else frozenset(Mid) - empty
    none = frozenset({Inst.NONE})
    known["inst"] = none if thing.group_instance_id is None else frozenset(Inst) - none
    generation = getattr(thing, "generation_id", None)
    if generation is not None:
        negative = frozenset({Generation.NEGATIVE})
        known["generation"] = negative if generation < 0 else frozenset(Generation) - negative
    if isinstance(thing, SyncGroupRequest):
        null = thing.protocol_type is None or thing.protocol_name is None
        known["protocol fields"] = frozenset({Given.NULL if null else Given.GIVEN})
    return known
