"""Compute the matrix of rules, triggers and versions, and the cells that the catalogue covers.

A cell is one of these, in words:

- a rule and what triggers it: state, member id and instance id of a request, or all that a timer or
  a failover depends on: `HEARTBEAT-STABLE · state Stable, mid a member, inst none`;
- a rule and one value of anything else that its table looks at: `JOIN-LEADER-STABLE · caller
  leader`; a version stands for all in which the same rules apply;
- an answer, and versions in which requests and answers have one form: `Heartbeat NONE · v1 to v2`;
- a connection that drops while its request is parked: `SyncGroup · dropped while parked`.

A case covers a cell if it holds for the model, and the model takes the cell in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.runner import CaseRun, CaseUnsupportedError
from fencepost.conformance.targets.in_process import InProcessCoordinator, ModelCoordinator
from fencepost.conformance.targets.model_coordinator import RunningModel
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.vocabulary import (
    MID,
    PROTOCOL_FIELDS,
    PROTOCOL_FIT,
    STATE,
    Fit,
    Given,
    GroupState,
)
from fencepost.model.coordinator import Answer, Config, Dropped, Reset, Send, Topics
from fencepost.model.history.events import Answered, Sent
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import APIS, carried_forms
from fencepost.model.messages.shapes import wire_fields
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.revision import Revision
from fencepost.model.table.expr import (
    Conjunction,
    Disjunction,
    Expr,
    In,
    Negation,
    Point,
    features_of,
    word,
)
from fencepost.model.table.shared_features import (
    COORDINATOR,
    GROUP_ID,
    INST,
    Availability,
    GroupId,
    Inst,
)
from fencepost.model.table.table import Rule, Table
from fencepost.model.work import Outcome
from fencepost.properties.departures.attribution import Footprint

_TRIGGER = (STATE, MID, INST)
_VERSION = "version"
_PARKING = ("JoinGroup", "SyncGroup")
_DELAYS = (0, 3000)
_ROWS = "LeaveGroup member"


def cells_of(revision: Revision) -> frozenset[str]:
    """Return all cells of a revision by its tables; some may be out of reach."""
    cells: set[str] = set()
    for table in revision.tables.values():
        classes = _versions_of(table, revision)
        for point in _points(table, classes):
            for rule in table.applicable(point):
                if rule.defensive is None:
                    cells.update(_cells(table, rule, point, classes))
    for api in revision.apis:
        for kind, lowest in _answers_of(revision, api).items():
            cells.update(
                _form(api, kind, versions)
                for versions in forms(revision, api)
                if versions[-1] >= lowest
            )
    cells.update(f"{api} · dropped while parked" for api in _PARKING)
    return frozenset(cells)


def covering_cases(revision: Revision, entries: Iterable[Entry]) -> dict[str, str]:
    """Return cell → the first case that covers it, of those that hold for the model."""
    cases: dict[str, str] = {}
    model = _Watched(revision)
    for entry in entries:
        for delay in _DELAYS:
            if entry.delayed in {None, delay > 0}:
                for cell in asyncio.run(_taken(model, revision, entry, delay)):
                    cases.setdefault(cell, entry.id)
    return cases


def forms(revision: Revision, api: str) -> list[tuple[int, ...]]:
    """Return the versions of an API, those with one form of request and answer together."""
    low, high = revision.apis[api]
    shapes = APIS[api]

    def form(version: int) -> Hashable:
        fields = (
            (name, field.allows_null(version))
            for kind in (shapes.request, shapes.response)
            for name, field in carried_forms(kind, version)
        )
        return tuple(fields), version >= shapes.flexible

    return [tuple(versions) for _, versions in groupby(range(low, high + 1), form)]


# The cells of a table.


def _versions_of(table: Table, revision: Revision) -> dict[int, tuple[int, ...]]:
    """Return version → the versions of the revision in which the same rules apply."""
    feature = next((f for f in table.features if f.name == _VERSION), None)
    if feature is None:
        return {}
    value_sets = [
        part.values for r in table.rules() for part in _ins(r.guard) if part.feature is feature
    ]
    low, high = revision.apis[table.name]
    versions = range(low, high + 1)
    alike = groupby(versions, lambda v: [v in values for values in value_sets])
    groups = [tuple(group) for _, group in alike]
    return {version: group for group in groups for version in group}


def _ins(expr: Expr) -> Iterator[In]:
    match expr:
        case In():
            yield expr
        case Negation(part):
            yield from _ins(part)
        case Conjunction(parts) | Disjunction(parts):
            for part in parts:
                yield from _ins(part)


def _points(table: Table, classes: Mapping[int, tuple[int, ...]]) -> Iterator[Point]:
    """Return the points that a request, a timer or a failover can bring about."""
    domains = [
        tuple(dict.fromkeys(group[-1] for group in classes.values()))
        if feature.name == _VERSION
        else tuple(v for v in feature.domain if v not in _NEVER)
        for feature in table.features
    ]
    return (
        point for point in COLUMNS.points(table.features, domains) if _can_be_sent(table, point)
    )


_NEVER = frozenset({GroupState.DEAD, GroupId.NULL, Availability.LOADING, Availability.ELSEWHERE})
"""Values out of reach: no request leaves a group Dead or carries a null id, no plan moves it."""


def _can_be_sent(table: Table, point: Point) -> bool:
    """Return True if some request has these fields.

    An instance, and the protocol of a sync, need a version that carries them; a group with an empty
    id has no members; a group that doesn't exist has no other protocol; rows of a leave need a
    group that exists.
    """
    values = dict(zip((feature.name for feature in table.features), point, strict=True))
    version = values.get(_VERSION)
    if isinstance(version, int) and table.name in APIS:
        carried = {n: f.carried_by(version) for n, f in wire_fields(APIS[table.name].request)}
        if values.get(INST.name, Inst.NONE) is not Inst.NONE and not carried["group_instance_id"]:
            return False
        null = (Given.NULL, Fit.MATCHING)
        if not carried.get("protocol_type", True) and null != (
            values[PROTOCOL_FIELDS.name],
            values[PROTOCOL_FIT.name],
        ):
            return False
    if values.get(GROUP_ID.name) is GroupId.EMPTY and values[STATE.name] is not GroupState.ABSENT:
        return False
    absent = values.get(STATE.name) is GroupState.ABSENT
    if absent and values.get(PROTOCOL_FIT.name) is Fit.DIFFERENT:
        return False
    return not (table.name == _ROWS and absent)


def _cells(
    table: Table, rule: Rule, point: Point, classes: Mapping[int, tuple[int, ...]]
) -> Iterator[str]:
    named_values = [
        (
            feature,
            _span(classes[value])
            if feature.name == _VERSION and isinstance(value, int)
            else word(value),
        )
        for feature, value in zip(table.features, point, strict=True)
        if feature is not COORDINATOR
    ]
    guard_features = set(map(id, features_of(rule.guard)))
    if STATE not in table.features or table.name == _ROWS:
        trigger = named_values
    elif guard_features & set(map(id, _TRIGGER)):
        trigger = [(feature, value) for feature, value in named_values if feature in _TRIGGER]
    else:
        trigger = []
    if trigger:
        yield f"{rule.id} · {', '.join(f'{f.name} {value}' for f, value in trigger)}"
    for feature, value in named_values:
        if (feature, value) not in trigger and len(feature.domain) > 1:
            yield f"{rule.id} · {feature.name} {value}"


def _span(versions: Sequence[int]) -> str:
    first, last = versions[0], versions[-1]
    return f"v{first}" if first == last else f"v{first} to v{last}"


# The forms of answers.


def _form(api: str, kind: str, versions: Sequence[int]) -> str:
    return f"{api} {kind} · {_span(versions)}"


def _answers_of(revision: Revision, api: str) -> dict[str, int]:
    """Return the kinds of answers of an API, each with the lowest version that can get it."""
    table = revision.tables[api]
    classes = _versions_of(table, revision)
    lowest_by_kind: dict[str, int] = {}
    for point in _points(table, classes):
        for rule in table.applicable(point):
            if rule.answer is not None and rule.defensive is None:
                version = _lowest(table, point, classes)
                name = rule.answer.name
                lowest_by_kind[name] = min(lowest_by_kind.get(name, version), version)
    if api == "LeaveGroup":
        rows = revision.tables[_ROWS].rules()
        lowest_by_kind |= {rule.answer.name: 3 for rule in rows if rule.answer} | lowest_by_kind
    if api in {"OffsetCommit", "TxnOffsetCommit"}:  # of a partition, whatever the others get
        lowest_by_kind |= {Error.OFFSET_METADATA_TOO_LARGE.name: 0}
    if api in _PARKING:
        lowest_by_kind |= dict.fromkeys(
            ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "NOT_COORDINATOR"), 0
        )
        lowest_by_kind.pop("NONE", None)
        lowest_by_kind |= (
            # Parked syncs are refused, too, where the assignments can't be stored.
            {"NONE": 0, "UNKNOWN_SERVER_ERROR": 0}
            if api == "SyncGroup"
            else {"NONE leads": 0, "NONE follows": 0}
        )
    return lowest_by_kind


def _lowest(table: Table, point: Point, classes: Mapping[int, tuple[int, ...]]) -> int:
    """Return the lowest version in which a request of this point can be sent."""
    values = dict(zip((feature.name for feature in table.features), point, strict=True))
    version = values.get(_VERSION)
    lowest = classes[version][0] if isinstance(version, int) else 0
    form = dict(wire_fields(APIS[table.name].request)).get("group_instance_id")
    named = values.get(INST.name, Inst.NONE) is not Inst.NONE
    return max(lowest, form.lowest) if named and form is not None else lowest


def _kind(api: str, body: Mapping[str, Any]) -> Iterator[str]:
    """Return the kinds of an answer: its errors, of rows and partitions, too."""
    if api == "JoinGroup" and body["errorCode"] == 0:
        yield "NONE leads" if body["leader"] == body["memberId"] else "NONE follows"
        return
    if "errorCode" in body:
        yield error_name(body["errorCode"])
    for value in body.values():
        for row in value if isinstance(value, list) else ():
            if isinstance(row, Mapping):
                yield from _kind(api, row)


# The cells that the model takes in a case.


class _Watched(ModelCoordinator):
    """A model that notes the cells that it takes."""

    def __init__(self, revision: Revision) -> None:
        self.cells: set[str] = set()
        self._classes = {
            name: _versions_of(table, revision) for name, table in revision.tables.items()
        }
        self._forms = {
            (api, v): group
            for api in revision.apis
            for group in forms(revision, api)
            for v in group
        }
        self._footprint = Footprint(revision)
        super().__init__(self._footprint.revision)

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Reset the model, and watch its choices."""
        self.cells = set()
        done = super().reset(config, topics)
        self._running = RunningModel(Machine(self._revision, config), choose=self._chosen)
        return done

    def disconnect(self, connection: str) -> Dropped:
        """Drop a connection, and note its parked requests."""
        open_ = list(self._running.open.values())
        self.cells |= {
            f"{o.api} · dropped while parked" for o in open_ if o.connection == connection
        }
        return super().disconnect(connection)

    def tell(self, request: Send, answer: Answer) -> None:
        """Note the form of an answer."""
        versions = self._forms[request.api, request.version]
        for kind in _kind(request.api, answer.body or {}):
            self.cells.add(_form(request.api, kind, versions))

    def _chosen(self, outcomes: Sequence[Outcome]) -> Outcome:
        outcome = outcomes[0]
        for (name, point), rule in self._footprint.decided.items():
            if rule.id in outcome.rules:
                table = self._revision.tables[name]
                self.cells.update(_cells(table, rule, point, self._classes[name]))
        self._footprint.decided.clear()
        return outcome


async def _taken(model: _Watched, revision: Revision, entry: Entry, delay: int) -> set[str]:
    """Return the cells that the model takes in a case; none if it doesn't hold."""
    levels = {rule.id: rule.level for _, rule in revision.rules()}
    coordinator = InProcessCoordinator(model)
    config = (await coordinator.reset({DELAY: delay, **entry.needs.config})).config
    case = entry.case(levels, delayed=delay > 0)
    run = CaseRun(case, coordinator, await coordinator.hello(), config, revision, 0)
    try:
        recording = await run.run()
    except CaseUnsupportedError:
        return set()
    verdict = run.verdict()
    if verdict.violation is not None or verdict.unknown is not None or recording.stopped:
        return set()
    requests: dict[str, Send] = {}
    for event in recording.history:
        if isinstance(event, Sent):
            requests[event.request.id] = event.request
        elif isinstance(event, Answered) and event.answer.id in requests:
            model.tell(requests[event.answer.id], event.answer)
    return model.cells
