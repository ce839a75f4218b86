"""What a step needs is what the machine needs: all short orders of steps, done and compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import msgspec
import pytest

from fencepost.model.classic import features
from fencepost.model.classic.effect_needs import HOME, STEPS
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import JOIN, SESSION, Group, InitialDelay, Member
from fencepost.model.classic.vocabulary import GroupState, Trigger
from fencepost.model.machine import Machine
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeavingMember,
)
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.expr import ALWAYS, Point
from fencepost.model.table.shared_features import Availability
from fencepost.model.table.step_soundness import unmet_needs
from fencepost.model.table.table import Rule, Table, TableError
from fencepost.model.work import Incoming, Span, Timer

NOW = Span(0, 0)
REMOVALS = [do for do in Do if do.name.startswith("REMOVE_")]
CERTAIN = {Do.REMOVE_MEMBER, Do.REMOVE_CALLER, Do.REMOVE_HOLDER}
"""Steps after which somebody is gone for sure; after others, who may be gone is taken for gone."""
LENIENT = {Do.HAND_OUT_HOLDER, Do.ANSWER_CURRENT, Do.ANSWER_RESTARTED}
"""Steps that the machine does for somebody who is gone, too: a nonsense that is refused."""
LEAVE, JOINS, SESSIONS = "LeaveGroup member", "JoinGroup", "session timeout"
PLACES: list[tuple[str, GroupState, str, str | None]] = [
    (JOINS, GroupState.STABLE, "", "A"),
    (JOINS, GroupState.STABLE, "", None),
    (JOINS, GroupState.PREPARING, "A-1", "A"),
    (JOINS, GroupState.STABLE, "x-1", "A"),
    (JOINS, GroupState.PREPARING, "p-1", None),
    (JOINS, GroupState.EMPTY, "", "A"),
    (LEAVE, GroupState.STABLE, "A-1", "A"),
    (LEAVE, GroupState.COMPLETING, "A-1", None),
    (LEAVE, GroupState.STABLE, "x-1", None),
    (LEAVE, GroupState.STABLE, "", "A"),
    (LEAVE, GroupState.STABLE, "p-1", "A"),
    ("Heartbeat", GroupState.STABLE, "A-1", "A"),
    ("Heartbeat", GroupState.STABLE, "x-1", "A"),
    (SESSIONS, GroupState.STABLE, "x-1", None),
    (SESSIONS, GroupState.STABLE, "p-1", None),
    ("join phase", GroupState.PREPARING, "", None),
    ("join phase", GroupState.PREPARING, "delayed", None),
]


def members(state: GroupState) -> Group:
    if state is GroupState.EMPTY:
        return Group(pending=("p-1",))
    offer = (JoinProtocol(name="range", metadata=b""),)
    seats = tuple(
        Member(mid, inst, "c", 6_000, 9_000, offer) for mid, inst in (("A-1", "A"), ("x-1", None))
    )
    return Group(
        state=state,
        members=seats,
        static=(("A", "A-1"),),
        pending=("p-1",),
        leader="A-1",
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
    )


def done(table: str, group: Group, mid: str, inst: str | None, effect: tuple[Do, ...]) -> bool:
    """Whether the machine can do these steps."""
    answer = Error.NONE if table in {LEAVE, "Heartbeat"} else None
    rule = Rule("X", ALWAYS, effect, answer)
    tables = {**KAFKA_4.tables, table: Table(table, KAFKA_4.tables[table].features, (), (rule,))}
    machine = Machine(replace(KAFKA_4, tables=tables, unchecked=frozenset({"X"})))
    try:
        if table == SESSIONS:
            machine.expire(group, Timer(SESSION, mid, 0, 0), NOW)
        elif table == "join phase":
            machine.expire(group, Timer(JOIN, "", 0, 0), NOW)
        else:
            message = request(table, mid, inst)
            api = table.removesuffix(" member")
            version = {"JoinGroup": 8, "Heartbeat": 4, "LeaveGroup": 5}[api]
            machine.handle(group, Incoming("r", "c", api, version, message, "n-1"), NOW)
    except TableError as error:
        if str(error).startswith("X: the step"):
            return False
    return True


def request(
    table: str, mid: str, inst: str | None
) -> JoinGroupRequest | LeaveGroupRequest | HeartbeatRequest:
    if table == LEAVE:
        row = LeavingMember(member_id=mid, group_instance_id=inst)
        return LeaveGroupRequest(group_id="g", members=(row,))
    if table == "Heartbeat":
        return HeartbeatRequest(
            group_id="g", generation_id=1, member_id=mid, group_instance_id=inst
        )
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=6_000,
        rebalance_timeout_ms=9_000,
        member_id=mid,
        group_instance_id=inst,
        protocol_type="consumer",
        protocols=(JoinProtocol(name="range", metadata=b""),),
    )


def point_of(table: str, group: Group, mid: str, inst: str | None) -> Point:
    message = request(table, mid, inst)
    if table == SESSIONS:
        return features.session_point(group, mid)
    if table == "join phase":
        return features.join_phase_point(group, Trigger.EXPIRY)
    if table == LEAVE:
        return features.leaving_point(group, mid, inst)
    if isinstance(message, HeartbeatRequest):
        return features.member_point(group, message, Availability.HERE)
    assert isinstance(message, JoinGroupRequest)
    config = Machine(KAFKA_4).config
    return next(iter(features.join_points(group, message, 8, config, Availability.HERE)))


def orders(table: str) -> Iterator[tuple[Do, ...]]:
    there = [do for do in Do if table in HOME.get(do, (table,))]
    yield from ((do,) for do in there)
    yield from product(there, there)
    yield from product(REMOVALS, there, there)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "state", "mid", "inst"), PLACES)
def test_what_is_refused_is_what_the_machine_cannot_do(
    table: str, state: GroupState, mid: str, inst: str | None
) -> None:
    group = members(state)
    if mid == "delayed":
        group = msgspec.structs.replace(group, delay=InitialDelay(6_000, somebody_came=True))
    point = point_of(table, group, mid, inst)
    places = {id(one): i for i, one in enumerate(KAFKA_4.tables[table].features)}
    wrong = []
    for effect in orders(table):
        unmet = list(unmet_needs(effect, point, places, STEPS))
        too_much = any(
            undone in CERTAIN and do not in LENIENT and not need.possible
            for do, need, undone in unmet
        )
        if done(table, group, mid, inst, effect) is bool(unmet) and (too_much or not unmet):
            wrong.append((effect, unmet))
    assert not wrong, (len(wrong), wrong[:10])
