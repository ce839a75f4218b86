"""The ways in which a plan becomes smaller, in the order in which they are tried.

Whole groups, members and halves of the plan come first, since that is quickest where a run takes
seconds; then single steps and pairs of steps; then the same steps with fewer groups, instances,
members and connections; last shorter waits, lower versions, and requests with fewer or usual
values.  Running the plans is for `properties.checking.shrinking`.

A member can replace another of the same instance, a dynamic member another dynamic one, and the
processes of one instance can become further processes of another.  A value is simple if a correct
client sends it, or if it can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import FetchGroup
from fencepost.model.messages.shapes import wire_fields
from fencepost.model.plans.plan_order import (
    DELAY,
    GROUP,
    PROTOCOLS,
    WAITS,
    Versions,
    asking,
    connection_of,
    groups_of_plan,
    instances_of,
    mapped,
    members_of_plan,
    overlaps,
    plain_names_of,
    put,
    rank,
    steps_key,
    usual,
    version_of,
    weight,
    with_steps,
)
from fencepost.model.plans.steps import (
    AssignmentsIfLeader,
    Disconnect,
    GenerationOf,
    IdOf,
    Ms,
    Pause,
    Plan,
    PlanStep,
    ProtocolOf,
    Request,
    instance_of,
)
from fencepost.properties.checking import shrinking
from fencepost.properties.checking.shrinking import (
    EditStage,
    Reproducer,
    Shrinking,
    numbered,
    without_pairs,
    without_runs,
)

R = TypeVar("R")

_PROTOCOL_SINCE = 5
_INSTANCE_KEYS = ("group_instance_id", "instance_id")


def shorter_waits(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Shorten a pause, or leave out one of its times."""
    del apis
    for place, step in enumerate(case.steps):
        if not isinstance(step, Pause):
            continue
        for at, time in enumerate(step.times):
            around = step.times[:at], step.times[at + 1 :]
            yield put(case, place, replace(step, times=(*around[0], *around[1])))
            for name in WAITS[: rank(time) - 1]:
                yield put(case, place, replace(step, times=(*around[0], Ms(name), *around[1])))
        for margins in range(step.margins):
            yield put(case, place, replace(step, margins=margins))


def no_delay(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Without an initial delay, where the case sets one."""
    del apis
    if case.needs.config.get(DELAY):
        config = {**case.needs.config, DELAY: 0}
        yield replace(case, needs=replace(case.needs, config=config))


def lower_versions(case: Plan, apis: Versions) -> Iterator[Plan]:
    """All requests of an API in a lower version, the lowest first; then each by itself."""
    requests = {step.api: step for step in case.steps if isinstance(step, Request)}
    for api in requests:
        low, high = apis.get(api, (0, 0))
        for version in range(low, high):
            yield asking(case, partial(_lowered, api=api, version=version, apis=apis))
    for place, step in enumerate(case.steps):
        if isinstance(step, Request):
            for version in range(apis.get(step.api, (0, 0))[0], version_of(step, apis)):
                if _can_say(step, version):
                    yield put(case, place, replace(step, version=version, at_most=None))


def fitted(case: Plan, apis: Versions) -> Plan:
    """Write the case in versions that the target has, where a lower one can express the same.

    A sync may lose its protocol: it repeats it only so that the coordinator can check it.
    """

    def low_enough(ask: Request) -> Request:
        if ask.api not in apis:
            return ask
        if ask.api == "SyncGroup" and apis[ask.api][1] < _PROTOCOL_SINCE:
            fields = {k: v for k, v in ask.fields.items() if not k.startswith("protocol_")}
            ask = replace(ask, fields=fields)
        return _lowered(ask, ask.api, apis[ask.api][1], apis)

    return asking(case, low_enough)


def _lowered(ask: Request, api: str, version: int, apis: Versions) -> Request:
    if ask.api != api or version_of(ask, apis) <= version or not _can_say(ask, version):
        return ask
    return replace(ask, version=version, at_most=None)


def _can_say(ask: Request, version: int) -> bool:
    """Tell if a version has the fields of a request; a leave may be written in another form."""
    forms = dict(wire_fields(ALL_APIS[ask.api].request))
    return ask.api == "LeaveGroup" or all(
        forms[name].carried_by(version) or isinstance(value, ProtocolOf)
        for name, value in ask.fields.items()
    )


def plain_bodies(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Replace values by those of a correct client, in all requests, then in one; then leave out."""
    del apis
    yield asking(case, _as_usual)
    for place, step in enumerate(case.steps):
        if isinstance(step, Request):
            yield put(case, place, _as_usual(step))
    for place, step in enumerate(case.steps):
        if isinstance(step, Request):
            for fields in _plainer(step):
                yield put(case, place, replace(step, fields=fields))
    yield asking(case, _offering_nothing)


def _plainer(ask: Request) -> Iterator[dict[str, Any]]:
    says = usual(ask)
    kind = dict(wire_fields(ALL_APIS[ask.api].request))
    for name, value in ask.fields.items():
        if name == "protocols":
            bare = tuple(replace(offered, metadata=b"") for offered in value)
            shorter = [PROTOCOLS, bare, *((offered,) for offered in value), value[:-1]]
            yield from ({**ask.fields, name: fields} for fields in shorter if fields)
            continue
        if name in says:
            yield {**ask.fields, name: says[name]}
        elif kind[name].default is not msgspec.NODEFAULT and name not in _INSTANCE_KEYS:
            yield {key: kept for key, kept in ask.fields.items() if key != name}
        if isinstance(value, tuple) and len(value) > 1:
            for at in range(len(value)):
                yield {**ask.fields, name: (*value[:at], *value[at + 1 :])}


def _as_usual(ask: Request) -> Request:
    says = usual(ask)
    return replace(ask, fields={name: says.get(name, value) for name, value in ask.fields.items()})


def _offering_nothing(ask: Request) -> Request:
    if "protocols" not in ask.fields:
        return ask
    return replace(ask, fields={**ask.fields, "protocols": PROTOCOLS})


def merged_groups(case: Plan, apis: Versions) -> Iterator[Plan]:
    """One group instead of two; and under the usual name."""
    del apis
    groups = groups_of_plan(case.steps)
    for group in groups:
        for other in (GROUP, *groups):
            if other != group:
                yield asking(case, partial(_moved, group=group, other=other))


def _moved(ask: Request, group: str, other: str) -> Request:
    """Make the request one about another group."""

    def named(value: Any, name: str) -> Any:
        if isinstance(value, str):
            of_group = name in {"group_id", "groups_names", "group_ids"} or (
                name == "groups" and ask.api == "DescribeGroups"
            )
            return other if of_group and value == group else value
        if isinstance(value, tuple):
            return tuple(named(item, name) for item in value)
        if hasattr(value, "group_id"):
            return replace(value, group_id=named(value.group_id, "group_id"))
        return value

    fields = {name: named(value, name) for name, value in ask.fields.items()}
    return replace(ask, fields=fields)


def merged_instances(case: Plan, apis: Versions) -> Iterator[Plan]:
    """One instance instead of two: the processes of the one become processes of the other."""
    del apis
    instances = instances_of(case.steps)
    for gone, kept in combinations(reversed(instances), 2):
        names = members_of_plan(case.steps)
        count = sum(instance_of(name) == kept for name in names)
        moved = [name for name in names if instance_of(name) == gone]
        members = {name: f"{kept}{count + n}" for n, name in enumerate(moved, start=1)}
        if set(members.values()).isdisjoint(names):
            yield renamed(case, members, {gone: kept})


def merged_members(case: Plan, apis: Versions) -> Iterator[Plan]:
    """One member instead of two of the same instance, or two dynamic ones."""
    del apis
    names = members_of_plan(case.steps)
    for other, name in combinations(names, 2):
        if instance_of(name) == instance_of(other):
            yield renamed(case, {name: other}, {})


def own_connections(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Each member over its own connection."""
    del apis
    for place, step in enumerate(case.steps):
        if isinstance(step, Request) and step.connection is not None:
            yield put(case, place, replace(step, connection=None))


def renamed(case: Plan, members: Mapping[str, str], instances: Mapping[str, str]) -> Plan:
    """Rename members and instances of a case."""

    def value(item: Any) -> Any:
        match item:
            case IdOf() | GenerationOf() | ProtocolOf():
                return replace(item, who=members.get(item.who, item.who))
            case AssignmentsIfLeader():
                rows = {value(member): assigned for member, assigned in item.by_member}
                return AssignmentsIfLeader(members.get(item.who, item.who), tuple(rows.items()))
            case _ if hasattr(item, "who"):
                return replace(item, who=members.get(item.who, item.who))
            case _ if hasattr(item, "group_instance_id"):
                instance = item.group_instance_id
                instance = instances.get(instance, instance)
                item = replace(item, group_instance_id=instance, member_id=own_id(item.member_id))
                return mapped(item, value)
            case FetchGroup():
                return mapped(replace(item, member_id=own_id(item.member_id)), value)
            case _:
                return mapped(item, value)

    def own_id(member_id: Any) -> Any:
        """Return an id that is the name of a member, as the consumer protocol has them."""
        return members.get(member_id, member_id) if isinstance(member_id, str) else member_id

    def step(old: PlanStep) -> PlanStep:
        match old:
            case Request():
                fields = {name: value(v) for name, v in old.fields.items()}
                for key in _INSTANCE_KEYS:
                    if (instance := fields.get(key)) is not None:
                        fields[key] = instances.get(instance, instance)
                if "member_id" in fields:
                    fields["member_id"] = own_id(fields["member_id"])
                who = members.get(old.who, old.who)
                on = None if old.connection is None else members.get(old.connection, old.connection)
                return replace(old, who=who, fields=fields, connection=None if on == who else on)
            case Disconnect(who=who):
                return Disconnect(members.get(who, who))
            case _:
                return old

    return with_steps(case, tuple(map(step, case.steps)))


def plain_names(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Instances A, B, …, their processes by number, dynamic members a, b, … as they appear."""
    del apis
    yield renamed(case, *plain_names_of(case.steps))


_PAIRED = 16
"""In longer plans no two steps are left out together: there are too many pairs."""

Edit = Callable[[Plan, Versions], Iterator[Plan]]


def single_steps(case: Plan) -> Iterator[Plan]:
    """Leave out each step of a plan, and all that depends on it, where that can be run."""
    before = overlaps(case.steps)
    for smaller in _singles(case, {}):
        if overlaps(smaller.steps) <= before:
            yield smaller


def sensible(edit: Edit, case: Plan, *, apis: Versions) -> Iterator[Plan]:
    """Yield the plans that one kind of change gives, if they are simpler and can be run.

    `apis`: the versions that the target has.
    """
    present, before = weight(case, apis), overlaps(case.steps)
    keys = set[tuple[str, bool]]()
    for candidate in edit(case, apis):
        key = steps_key(candidate.steps), bool(candidate.needs.config.get(DELAY))
        if key in keys or not candidate.steps:
            continue
        keys.add(key)
        if weight(candidate, apis) < present and overlaps(candidate.steps) <= before:
            yield candidate


# Leaving out.


def _one_group(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Only what concerns one group, or all but one."""
    del apis
    groups = groups_of_plan(case.steps)
    for keep in groups if len(groups) > 1 else ():
        yield with_steps(case, tuple(s for s in case.steps if _is_about(s, keep)))
    for drop in groups if len(groups) > 1 else ():
        yield with_steps(case, tuple(s for s in case.steps if not _is_about_alone(s, drop)))


def _is_about(step: PlanStep, group: str) -> bool:
    return not isinstance(step, Request) or group in groups_of_plan((step,))


def _is_about_alone(step: PlanStep, group: str) -> bool:
    return isinstance(step, Request) and groups_of_plan((step,)) == [group]


def _without_members(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Without all that one member does, or one connection."""
    del apis
    for name in reversed(members_of_plan(case.steps)):
        yield with_steps(case, tuple(step for step in case.steps if not _is_by(step, name)))


def _is_by(step: PlanStep, name: str) -> bool:
    match step:
        case Request():
            return name in {step.who, connection_of(step)}
        case Disconnect(who=who):
            return who == name
        case _:
            return False


def _chunks(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Without halves, quarters and so on, the last first; down to pairs of neighbours."""
    del apis
    size = len(case.steps) // 2
    while size > 1:
        yield from (with_steps(case, kept) for kept in without_runs(case.steps, size))
        size //= 2


def _singles(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Without each step, the last first."""
    del apis
    yield from (with_steps(case, kept) for kept in without_runs(case.steps, 1))


def _pairs(case: Plan, apis: Versions) -> Iterator[Plan]:
    """Without two steps."""
    del apis
    if len(case.steps) <= _PAIRED:
        yield from (with_steps(case, kept) for kept in without_pairs(case.steps))


EDITS: tuple[Edit, ...] = (
    _one_group,
    _without_members,
    _chunks,
    _singles,
    _pairs,
    merged_groups,
    merged_instances,
    merged_members,
    own_connections,
    shorter_waits,
    no_delay,
    lower_versions,
    plain_bodies,
    plain_names,
)
"""Every kind of change, in the order in which they are tried."""

LEAVING_OUT: tuple[Edit, ...] = (_one_group, _without_members, _singles)
"""The changes after which nothing can be left out."""


TRIES = 4000
"""The most plans that are tried for one failure."""

AT_ONCE = 24
"""Plans that run side by side on a real clock."""


def shrinking_plan(
    first: Reproducer[Plan, R],
    apis: Versions,
    *,
    begin: Sequence[Plan] = (),
    tries: int = TRIES,
    at_once: int = 1,
) -> Shrinking[Plan, R]:
    """Begin to shrink a plan for a target with these versions.

    At the end, runs that were given up are tried again, as far as they leave out a step, a member
    or a group.
    """

    def stages(_: Plan) -> Iterator[EditStage[Plan]]:
        def edits(kinds: Sequence[Edit]) -> list[shrinking.Edit[Plan]]:
            return [numbered(partial(sensible, edit, apis=apis)) for edit in kinds]

        yield EditStage(edits(EDITS), goes_on=True)
        yield EditStage(edits(LEAVING_OUT), is_patient=True)

    return Shrinking(first, stages, _key, begin=begin, tries=tries, at_once=at_once)


def _key(case: Plan) -> tuple[str, int | None]:
    return steps_key(case.steps), case.needs.config.get(DELAY)
