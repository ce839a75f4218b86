"""Compute the possible errors of a request in any state of the group; remember facts.

The model's decision table is evaluated for every possible state.  An answer that no state gives is
wrong wherever a log begins, however much of it is missing.

Facts hold about a group whose state is not known; an answer may contradict them.  A member id that
was fenced or that left is never a member again, since ids are never reused.  A member is never in
an older generation than the last one that an answer gave it.  A lower generation alone is no
contradiction: an Empty group is deleted in time, and the next group begins at 1.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Any, NamedTuple, TypeVar

from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import Generation, Given, Mid, feasible
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import ShapeError
from fencepost.model.revision import Revision
from fencepost.model.table.shared_features import Availability, GroupId, Inst
from fencepost.model.table.table import Rule
from fencepost.traces.audit.audit_settings import BEYOND, commit_error
from fencepost.traces.logs.request_log import LoggedExchange

Known = dict[str, frozenset[Hashable]]


class RequestFeatures(NamedTuple):
    """The features of a point that a request itself shows.

    `negative`, `null`: True if its generation is negative, or its protocol fields are null; None
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


@dataclass(frozen=True, slots=True)
class PossibleAnswers:
    """Finds answers whose errors are impossible."""

    revision: Revision

    def fault(self, exchange: LoggedExchange) -> str | None:
        """Return the fault of an answer that no state gives; None if some state gives it."""
        try:
            request, answer = exchange.request, exchange.answer
        except ShapeError as error:
            return f"the answer has a shape that version {exchange.version} forbids: {error}"
        version = exchange.version
        match request, answer:
            case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest(), _:
                codes: list[tuple[int | str, RequestFeatures]] = [
                    (answer.error_code, _features_of(request, version))  # type: ignore[attr-defined]
                ]
                table = exchange.api
            case OffsetCommitRequest(), OffsetCommitResponse():
                features = _features_of(request, version)
                codes = [(p.error_code, features) for t in answer.topics for p in t.partitions]
                table = exchange.api
            case LeaveGroupRequest(), LeaveGroupResponse() if version >= 3 and answer.members:
                if len(answer.members) != len(request.members):
                    return f"{len(answer.members)} rows answer {len(request.members)}"
                pairs = zip(request.members, answer.members, strict=True)
                codes = [(got.error_code, _features_of(row, version)) for row, got in pairs]
                table = "LeaveGroup member"
            case _:
                return None
        for code, features in codes:
            if code in BEYOND or code in (
                allowed := _possible_codes(self.revision, table, features)
            ):
                continue
            words = ", ".join(error_name(c) for c in sorted(allowed, key=str))
            return f"{error_name(code)}, which is impossible in every state; possible: {words}"
        return None


@cache  # for all logs, and all parts of one
def _possible_codes(
    revision: Revision, name: str, features: RequestFeatures
) -> frozenset[int | str]:
    """Return the error codes that a table has for such a request in any state."""
    table = revision.tables[name]
    known = _known(features)
    identities = [id(feature) for feature in table.features]
    domains = [
        [v for v in f.domain if f.name not in known or v in known[f.name]] for f in table.features
    ]
    codes: set[int | str] = {*_ELSEWHERE}
    for point in product(*domains):
        rule_codes = {code for rule in table.applicable(point) for code in _codes_of(name, rule)}
        # `feasible` is expensive, and most points add no code.
        if rule_codes - codes and feasible(dict(zip(identities, point, strict=True))):
            codes |= rule_codes
    return frozenset(codes)


def _codes_of(api: str, rule: Rule) -> frozenset[int | str]:
    if rule.answer is not None:
        return frozenset({rule.answer.value})
    if Do.PARK_JOIN in rule.effect or Do.PARK_SYNC in rule.effect:
        return _RELEASED[api]
    return frozenset({0})


def _features_of(thing: Any, version: int) -> RequestFeatures:
    """Return the features that a request, or a row of one, shows."""
    generation = getattr(thing, "generation_id", None)
    null = None
    if isinstance(thing, SyncGroupRequest):
        null = thing.protocol_type is None or thing.protocol_name is None
    return RequestFeatures(
        version,
        bool(getattr(thing, "group_id", "")),
        bool(thing.member_id),
        thing.group_instance_id is not None,
        None if generation is None else generation < 0,
        null,
    )


def _known(features: RequestFeatures) -> Known:
    """Return the values that the features of a point can have, as far as a request shows them."""
    known: Known = {"coordinator": _HERE, "version": frozenset({features.version})}
    if features.has_group:
        known["group id"] = frozenset({GroupId.GIVEN})
    empty = frozenset({Mid.EMPTY})
    known["mid"] = frozenset(Mid) - empty if features.has_member else empty
    none = frozenset({Inst.NONE})
    known["inst"] = frozenset(Inst) - none if features.has_instance else none
    if features.negative is not None:
        negative = frozenset({Generation.NEGATIVE})
        known["generation"] = negative if features.negative else frozenset(Generation) - negative
    if features.null is not None:
        known["protocol fields"] = frozenset({Given.NULL if features.null else Given.GIVEN})
    return known


K = TypeVar("K")
V = TypeVar("V")
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: since when it holds, and the line that shows it, with its connection."""

    at_ms: int
    place: str
    event: str
    connection: str

    def precedes(self, exchange: LoggedExchange, late_ms: int) -> bool:
        """Return True if a request surely arrived after it.

        Its line may have been dated late; but after a line of the same connection it is later.
        """
        spare_ms = 0 if exchange.connection == self.connection else late_ms
        return exchange.at_ms - spare_ms > self.at_ms


@dataclass(slots=True)
class Facts:
    """Facts about one group.

    `gone`: member ids that are no members any more, alone or under an instance id; `observed`:
    members, each with its last observed generation; `generation_id`: the last in an answer.
    """

    gone: dict[tuple[str, str | None], Fact] = field(default_factory=dict)
    observed: dict[str, int] = field(default_factory=dict)
    generation_id: int = -1
    newest: Fact | None = None

    def contradicted(self, exchange: LoggedExchange, late_ms: int) -> tuple[str, Fact] | None:
        """Return the fault of an answer, in a sentence, and the fact that it contradicts.

        `late_ms`: how late its line may have been dated.
        """
        mine = _success(exchange)
        if mine is None:
            return None
        member_id, generation_id = mine
        instance = getattr(exchange.request, "group_instance_id", None)
        fact = self.gone.get((member_id, None)) or self.gone.get((member_id, instance))
        if fact is not None and fact.precedes(exchange, late_ms):
            return f"NONE to the member id {member_id}, which {fact.event} ({fact.place})", fact
        newest = self.newest
        if (
            newest is not None
            and newest.precedes(exchange, late_ms)
            and 0 <= generation_id < self.generation_id
            and self.observed.get(member_id) == generation_id
        ):
            return (
                f"NONE in generation {generation_id}, and generation {self.generation_id} "
                f"had been answered before ({newest.place})"
            ), newest
        return None

    def learn(self, exchange: LoggedExchange) -> None:
        """Learn the facts that an answer shows."""
        at_ms, place, of = exchange.answered_ms, exchange.place, exchange.connection
        match exchange.request, exchange.answer:
            case LeaveGroupRequest() as leave, LeaveGroupResponse() as left:
                rows = leave.rows(exchange.version)
                codes = [m.error_code for m in left.members] or [left.error_code] * len(rows)
                for row, code in zip(rows, codes, strict=False):
                    if row.member_id and code == 0:
                        self._gone((row.member_id, None), Fact(at_ms, place, "had left", of))
            case request, _:
                fenced = Error.FENCED_INSTANCE_ID.value
                member_id = getattr(request, "member_id", "")
                if member_id and _error(exchange) == fenced:
                    instance = getattr(request, "group_instance_id", None)
                    self._gone((member_id, instance), Fact(at_ms, place, "had been fenced", of))
        mine = _success(exchange)
        if mine is None:
            return
        _remember(self.observed, mine[0], mine[1])
        if mine[1] > self.generation_id:
            self.generation_id = mine[1]
            self.newest = Fact(at_ms, place, "got", of)

    def _gone(self, who: tuple[str, str | None], fact: Fact) -> None:
        _remember(self.gone, who, fact)


def _remember(of: dict[K, V], key: K, value: V) -> None:
    """Keep it, and of too many the oldest not."""
    if len(of) >= _MOST and key not in of:
        del of[next(iter(of))]
    of[key] = value


def _error(exchange: LoggedExchange) -> int | str | None:
    if exchange.api == "OffsetCommit":
        code: int | str | None = commit_error(exchange)
    else:
        code = getattr(exchange.answer, "error_code", None)
    return code


def _success(exchange: LoggedExchange) -> tuple[str, int] | None:
    """Return the member id and generation that an answer confirms, if it does."""
    match exchange.request, exchange.answer:
        case _, JoinGroupResponse(error_code=0) as joined:
            return joined.member_id, joined.generation_id
        case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
            return sync.member_id, sync.generation_id
        case HeartbeatRequest() as beat, HeartbeatResponse(error_code=0):
            return beat.member_id, beat.generation_id
        case OffsetCommitRequest() as commit, _ if (
            commit.member_id and commit.topics and commit_error(exchange) == 0
        ):
            return commit.member_id, commit.generation_id
    return None
