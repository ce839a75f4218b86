"""Smaller plans: fewer groups, instances, members and connections for the same steps.

A member can replace another of the same instance, a dynamic member another dynamic one, and the
processes of one instance can become further processes of another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import msgspec

from fencepost.model.plans.normalise import asking, mapped, put, with_steps
from fencepost.model.plans.plan import (
    AssignmentsIfLeader,
    Case,
    Disconnect,
    GenerationOf,
    IdOf,
    ProtocolOf,
    RequestStep,
    Step,
    instance_of,
)
from fencepost.model.plans.plan_order import (
    GROUP,
    Versions,
    groups_of_plan,
    instances_of,
    members_of_plan,
    plain_names_of,
)


def merged_groups(case: Case, apis: Versions) -> Iterator[Case]:
    """One group instead of two; and under the usual name."""
    del apis
    groups = groups_of_plan(case.steps)
    for group in groups:
        for other in (GROUP, *groups):
            if other != group:
                yield asking(case, partial(_moved, group=group, other=other))


def _moved(ask: RequestStep, group: str, other: str) -> RequestStep:
    """The request about another group."""

    def named(value: Any, name: str) -> Any:
        if isinstance(value, str):
            of_group = name == "group_id" or (name == "groups" and ask.api == "DescribeGroups")
            return other if of_group and value == group else value
        if isinstance(value, tuple):
            return tuple(named(item, name) for item in value)
        if hasattr(value, "group_id"):
            return msgspec.structs.replace(value, group_id=named(value.group_id, "group_id"))
        return value

    said = {name: named(value, name) for name, value in ask.fields.items()}
    return replace(ask, fields=said)


def merged_instances(case: Case, apis: Versions) -> Iterator[Case]:
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


def merged_members(case: Case, apis: Versions) -> Iterator[Case]:
    """One member instead of two of the same instance, or two dynamic ones."""
    del apis
    names = members_of_plan(case.steps)
    for other, name in combinations(names, 2):
        if instance_of(name) == instance_of(other):
            yield renamed(case, {name: other}, {})


def own_connections(case: Case, apis: Versions) -> Iterator[Case]:
    """Each member over its own connection."""
    del apis
    for place, step in enumerate(case.steps):
        if isinstance(step, RequestStep) and step.connection is not None:
            yield put(case, place, replace(step, connection=None))


def renamed(case: Case, members: Mapping[str, str], instances: Mapping[str, str]) -> Case:
    """The case with other names for members and instances."""

    def value(said: Any) -> Any:
        match said:
            case IdOf() | GenerationOf() | ProtocolOf():
                return replace(said, who=members.get(said.who, said.who))
            case AssignmentsIfLeader():
                rows = {value(member): given for member, given in said.by_member}
                return AssignmentsIfLeader(members.get(said.who, said.who), tuple(rows.items()))
            case _ if hasattr(said, "who"):
                return replace(said, who=members.get(said.who, said.who))
            case _ if hasattr(said, "group_instance_id"):
                instance = said.group_instance_id
                instance = instances.get(instance, instance)
                said = msgspec.structs.replace(said, group_instance_id=instance)
                return mapped(said, value)
            case _:
                return mapped(said, value)

    def step(old: Step) -> Step:
        match old:
            case RequestStep():
                said = {name: value(v) for name, v in old.fields.items()}
                if (instance := said.get("group_instance_id")) is not None:
                    said["group_instance_id"] = instances.get(instance, instance)
                who = members.get(old.who, old.who)
                on = None if old.connection is None else members.get(old.connection, old.connection)
                return replace(old, who=who, fields=said, connection=None if on == who else on)
            case Disconnect(who=who):
                return Disconnect(members.get(who, who))
            case _:
                return old

    return with_steps(case, tuple(map(step, case.steps)))


def plain_names(case: Case, apis: Versions) -> Iterator[Case]:
    """Instances A, B, …, their processes by number, dynamic members a, b, … as they appear."""
    del apis
    yield renamed(case, *plain_names_of(case.steps))
