"""Compute which errors a request can be answered with in any state of the group.

The model's decision table is asked for every possible state.  An answer that no state gives is
wrong wherever a log begins, however much of it is missing.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from fencepost.model.messages.errors import error_name
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
from fencepost.traces.audit.line_kind import BEYOND
from fencepost.traces.logs.logged_exchange import LoggedExchange

Known = dict[str, frozenset[Hashable]]


class Said(NamedTuple):
    """What a request itself says of the point that it is in.

    `negative`, `null`: whether its generation is negative, and its protocol fields are null; None
    for a request without them.
    """

    version: int
    has_group: bool
    has_member: bool
    has_instance: bool
    negative: bool | None
    null: bool | None


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
    _found: dict[tuple[str, Said], frozenset[int | str]] = field(default_factory=dict)

    def fault(self, exchange: LoggedExchange) -> str | None:
        """Return what is wrong with an answer that no state gives; None if some state gives it."""
        try:
            request, answer = exchange.request, exchange.response
        except ShapeError as error:
            return f"the answer has a shape that version {exchange.version} forbids: {error}"
        version = exchange.version
        match request, answer:
            case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest(), _:
                codes: list[tuple[int | str, Said]] = [
                    (answer.error_code, _said(request, version))  # type: ignore[attr-defined]
                ]
                table = exchange.api
            case OffsetCommitRequest(), OffsetCommitResponse():
                said = _said(request, version)
                codes = [(p.error_code, said) for t in answer.topics for p in t.partitions]
                table = exchange.api
            case LeaveGroupRequest(), LeaveGroupResponse() if version >= 3 and answer.members:
                if len(answer.members) != len(request.members):
                    return f"{len(answer.members)} rows answer {len(request.members)}"
                pairs = zip(request.members, answer.members, strict=True)
                codes = [(got.error_code, _said(row, version)) for row, got in pairs]
                table = "LeaveGroup member"
            case _:
                return None
        for code, said in codes:
            if code in BEYOND or code in (allowed := self._codes(table, said)):
                continue
            words = ", ".join(error_name(c) for c in sorted(allowed, key=str))
            return f"{error_name(code)}, which is impossible in every state; possible: {words}"
        return None

    def _codes(self, name: str, said: Said) -> frozenset[int | str]:
        found = self._found.get((name, said))
        if found is None:
            found = self._found[name, said] = frozenset(self._asked(name, _known(said)))
        return found

    def _asked(self, name: str, known: Known) -> set[int | str]:
        table = self.revision.tables[name]
        identities = [id(feature) for feature in table.features]
        domains = [
            [v for v in f.domain if f.name not in known or v in known[f.name]]
            for f in table.features
        ]
        codes: set[int | str] = {*_ELSEWHERE}
        for point in product(*domains):
            found = {code for rule in table.applicable(point) for code in _codes_of(name, rule)}
            # Whether a point can occur is dear to tell, and most tell nothing new.
            if found - codes and feasible(dict(zip(identities, point, strict=True))):
                codes |= found
        return codes


def _codes_of(api: str, rule: Rule) -> frozenset[int | str]:
    if rule.answer is not None:
        return frozenset({rule.answer.value})
    if Do.PARK_JOIN in rule.effect or Do.PARK_SYNC in rule.effect:
        return _RELEASED[api]
    return frozenset({0})


def _said(thing: Any, version: int) -> Said:
    """Return what a request, or a row of one, says."""
    generation = getattr(thing, "generation_id", None)
    null = None
    if isinstance(thing, SyncGroupRequest):
        null = thing.protocol_type is None or thing.protocol_name is None
    return Said(
        version,
        bool(getattr(thing, "group_id", "")),
        bool(thing.member_id),
        thing.group_instance_id is not None,
        None if generation is None else generation < 0,
        null,
    )


def _known(said: Said) -> Known:
    """Return the values that the features of a point can have, where a request says them."""
    known: Known = {"coordinator": _HERE, "version": frozenset({said.version})}
    if said.has_group:
        known["group id"] = frozenset({GroupId.GIVEN})
    empty = frozenset({Mid.EMPTY})
    known["mid"] = frozenset(Mid) - empty if said.has_member else empty
    none = frozenset({Inst.NONE})
    known["inst"] = frozenset(Inst) - none if said.has_instance else none
    if said.negative is not None:
        negative = frozenset({Generation.NEGATIVE})
        known["generation"] = negative if said.negative else frozenset(Generation) - negative
    if said.null is not None:
        known["protocol fields"] = frozenset({Given.NULL if said.null else Given.GIVEN})
    return known
