"""The oracle rejects liars, follows what deviates without harm, and says what it doesn't know."""

from __future__ import annotations

from typing import Any

import pytest
from support.told import Told, holds, late, wrong
from support.world import PARKED, D, S

from fencepost.model.history.events import Answered, Disconnected, Event, Passed, Sent
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import Level
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Wrong


def test_what_the_model_did_holds() -> None:
    world = Told()
    seats = world.stable("A", "B", "x")
    world.join("B")
    world.beat("B", seats["B"].mid, 1)
    world.wait(2 * S)
    assert holds(world.judged())


def test_many_static_members_that_come_at_once_are_told_apart_by_their_instances() -> None:
    world = Told()
    world.stable(*"ABCDEFGHI")
    reply = world.join("B")
    assert holds(world.judged())
    assert wrong(world.judged(world.told(reply, skipAssignment=True)))[1] == reply._id


def test_an_id_that_is_handed_out_twice_is_a_lie() -> None:
    world = Told()
    first, second = world.join("x"), world.join("y")
    assert wrong(world.judged(world.told(second, memberId=first.mid))) == (Wrong.ANSWER, "2")


def test_a_replacement_under_the_holders_id_is_two_live_members() -> None:
    world = Told()
    seats = world.stable("A", "B")
    reply = world.join("B")
    lie = world.told(reply, memberId=seats["B"].mid)
    assert wrong(world.judged(lie)) == (Wrong.ANSWER, reply._id)


def test_a_fenced_member_that_is_told_none_is_a_lie() -> None:
    world = Told()
    seats = world.stable("A", "B")
    world.join("B")
    world.beat("B", seats["B"].mid, 1)
    world.commit(seats["B"].mid, 1, "B")
    sync = world.sync("B", seats["B"].mid, 1)
    oracle = world.judged(world.told(sync, errorCode=0, assignment="Qg=="))
    assert wrong(oracle) == (Wrong.ANSWER, sync._id)
    assert oracle.violation is not None
    assert oracle.violation.level is Level.MUST
    assert oracle.violation.allowed[0].rule == "SYNC-INSTANCE-FENCED"
    assert "FENCED_INSTANCE_ID" in oracle.violation.allowed[0].difference


@pytest.mark.parametrize(
    "fields",
    [
        {"generationId": 7},
        {"generationId": 0},
        {"leader": "x-1"},
        {"skipAssignment": True},
        {"errorCode": 25},
        {"protocolName": "sticky"},
        {"members": [{"memberId": "s", "groupInstanceId": None, "metadata": ""}]},
    ],
    ids=lambda f: next(iter(f)),
)
def test_another_success_than_the_models_is_a_lie(fields: dict[str, Any]) -> None:
    world = Told()
    world.stable("A", "B")
    reply = world.join("B")
    assert wrong(world.judged(world.told(reply, **fields)))[1] == reply._id


def test_another_assignment_is_a_lie() -> None:
    world = Told()
    seats = world.stable("A", "B")
    reply = world.sync("B", seats["B"].mid, 1)
    assert wrong(world.judged(world.told(reply, assignment="QQ==")))[0] is Wrong.ANSWER


def test_silence_where_an_answer_is_due_is_seen_as_soon_as_it_is_evidence() -> None:
    world = Told()
    reply = world.join("A")
    world.wait(D)
    assert wrong(world.judged(world.unanswered(reply))) == (Wrong.SILENCE, reply._id)


def test_a_request_that_waits_is_no_silence() -> None:
    world = Told()
    assert world.join("A").error == PARKED
    world.wait(D - 1)
    assert holds(world.judged())


def test_an_answer_before_its_time_is_early() -> None:
    world = Told()
    reply = world.join("A")
    world.wait(D)
    answered = next(e for e in world.history if isinstance(e, Answered))
    early = Answered(type(answered.answer)(reply._id, D - 1, answered.answer.body))
    history: list[Event] = [*world.history[:2], early, Passed(D - 1)]
    assert wrong(world.judged(history)) == (Wrong.EARLY, reply._id)


def test_an_answer_after_its_time_is_late_where_the_clock_is_exact() -> None:
    world = Told()
    reply = world.join("A")
    world.wait(D)
    world.wait(10)
    assert wrong(world.judged(late(world.history, reply, 1))) == (Wrong.SILENCE, reply._id)


def test_a_closed_connection_is_no_answer() -> None:
    world = Told()
    reply = world.join("x")
    assert wrong(world.judged(world.closed(reply))) == (Wrong.CLOSED, reply._id)


@pytest.mark.parametrize("fields", [{"memberId": None}, {"surprise": 1}, {"generationId": "1"}])
def test_an_illegal_shape_is_named(fields: dict[str, Any]) -> None:
    world = Told()
    reply = world.join("x")
    oracle = world.judged(world.told(reply, **fields))
    assert wrong(oracle) == (Wrong.SHAPE, reply._id)
    assert oracle.violation is not None
    assert next(iter(fields)) in oracle.violation.detail


def test_what_was_dropped_with_its_connection_is_waited_for_no_more() -> None:
    world = Told()
    reply = world.join("A")
    world.history.append(Disconnected(0, reply._id, (reply._id,)))
    world.wait(D)
    assert holds(world.judged(world.unanswered(reply)))


@pytest.mark.parametrize(
    ("session", "told", "level"),
    [(1, 24, Level.SHOULD), (S, 25, Level.MUST)],
    ids=["INVALID_SESSION_TIMEOUT", "MEMBER_ID_REQUIRED"],
)
def test_one_error_for_another_is_followed_and_as_grave_as_its_rule(
    session: int, told: int, level: Level
) -> None:
    world = Told()
    reply = world.join("x", s=session)
    world.join("y")
    violation = world.judged(world.told(reply, errorCode=told)).verdict().violation
    assert violation is not None
    assert (violation.wrong, violation.level) == (Wrong.DEVIATION, level)
    assert violation.request_id == reply._id


def test_what_deviated_before_a_graver_fault_stays_in_the_verdict() -> None:
    world = Told()
    world.stable("A")
    refused = world.join("x", s=1)
    unknown = world.join("z", "nobody")
    last = world.join("y")
    world.history = world.told(refused, errorCode=24)
    world.history = world.told(unknown, errorCode=22)
    oracle = world.judged(world.told(last, errorCode=0))
    assert wrong(oracle)[1] == last._id
    assert not oracle.open()
    besides = [(b.request_id, b.level) for b in oracle.verdict().besides]
    assert besides == [(unknown._id, Level.MUST), (refused._id, Level.SHOULD)]


def test_of_several_deviations_the_gravest_is_the_violation_and_the_others_stay() -> None:
    world = Told()
    refused = world.join("x", s=1)
    unknown = world.join("z", "nobody")
    world.history = world.told(refused, errorCode=24)
    oracle = world.judged(world.told(unknown, errorCode=22))
    assert wrong(oracle) == (Wrong.DEVIATION, unknown._id)
    assert [b.request_id for b in oracle.verdict().besides] == [refused._id]


def test_another_error_for_an_accident_is_noted_and_holds() -> None:
    world = Told()
    world.stable("A")
    mid = world.join("x").mid
    reply = world.join("x", mid, inst="A")
    assert reply.error == "UNKNOWN_SERVER_ERROR"
    oracle = world.judged(world.told(reply, errorCode=82))
    assert oracle.verdict().violation is None
    notes = oracle.verdict().notes
    assert any("FENCED_INSTANCE_ID instead of" in note.difference for note in notes)


def test_a_rule_is_used_only_if_every_explanation_used_it() -> None:
    world = Told()
    seats = world.stable("A", "B", "x")
    world.leave(("", "A"))
    used = world.judged().verdict().used
    assert "LEAVE-MEMBER-BY-INSTANCE" in used
    assert "HEARTBEAT-STABLE" not in used
    world.beat("B", seats["B"].mid, 1)
    assert "HEARTBEAT-PREPARING" in world.judged().verdict().used


def test_explanations_that_differ_share_what_they_have_in_common() -> None:
    world = Told()
    world.stable("A", "B", "C")
    world.leave(("", "A"))
    oracle = world.judged()
    assert oracle.verdict().candidates > 1
    assert holds(oracle)


def test_too_many_states_are_unknown_and_never_a_pass() -> None:
    world = Told()
    world.stable("A", "B")
    verdict = world.judged(limit=1).verdict()
    assert verdict.violation is None
    assert verdict.unknown == "more than 1 states would have to be followed"
    assert not holds(world.judged(limit=1))
    assert verdict.used == frozenset()


def test_groups_may_be_listed_before_anything_else_is_asked() -> None:
    world = Told()
    world.send("admin", "ListGroups", 4, {"statesFilter": []})
    assert holds(world.judged())


LAG = 50


def listed_beside_the_first_join(*order: int) -> Oracle:
    """A list and the join that makes the group: sent, answered; sent, answered; in this order."""
    world = Told()
    join = world.join("x")
    listed = world.send("admin", "ListGroups", 4, {"statesFilter": []})
    assert [group["groupId"] for group in listed.body["groups"]] == ["g"]
    parts = [event for event in world.history if isinstance(event, Sent | Answered)]
    assert [type(event) for event in parts] == [Sent, Answered] * 2
    assert join.error == "MEMBER_ID_REQUIRED"
    return judge(KAFKA_4, {}, [parts[i] for i in order], lag_ms=LAG)


LIST_SENT, LISTED, JOIN_SENT, JOINED = 2, 3, 0, 1


def test_a_list_that_was_asked_for_before_the_first_join_may_show_its_group() -> None:
    assert holds(listed_beside_the_first_join(LIST_SENT, JOIN_SENT, JOINED, LISTED))
    assert holds(listed_beside_the_first_join(LIST_SENT, JOIN_SENT, LISTED, JOINED))


def test_a_group_that_is_listed_before_anybody_named_it_is_a_lie() -> None:
    early = listed_beside_the_first_join(LIST_SENT, LISTED, JOIN_SENT, JOINED)
    assert wrong(early) == (Wrong.ANSWER, "2")
