"""What takes effect in two steps, first written and then done: what may come in between."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import partial

import pytest
from msgspec.structs import replace
from support.told import Told, holds, wrong
from support.world import PARKED, D, Reply

from fencepost.conformance.targets import model_coordinator
from fencepost.model.classic.group import WRITE
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.history.events import Handled, Passed, Restarted
from fencepost.model.machine import Machine
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.work import Span
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Wrong

LAG = 50
DESCRIBED = {"groups": ["g"], "includeAuthorizedOperations": False}


def fail_over(world: Told) -> None:
    """Let the coordinator fail over, a lag after what was last seen."""
    world.wait(LAG)
    place = len(world.history)
    dropped = world.restart().dropped
    world.history.insert(place, Restarted(world.now, world.now, dropped))


@dataclass
class Writing:
    """A target that writes a leader's assignments first, while it does so.

    Two static members were told generation 1; the follower's and the leader's sync wait.
    """

    world: Told
    leader: str
    follower: str
    syncs: tuple[Reply, Reply]

    def judged(self, lag_ms: int = LAG) -> Oracle:
        """What a real clock shows: the write may take as long as the lag."""
        self.world.wait(0)
        seen = [e for e in self.world.history if not isinstance(e, Handled | Passed)]
        end = Passed(self.world.now + 4 * LAG)
        return judge(KAFKA_4, {}, [*seen, end], lag_ms=lag_ms)


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> Writing:
    monkeypatch.setattr(model_coordinator, "Machine", partial(Machine, in_two_steps=True))
    world = Told()
    first, second = world.join("A"), world.join("B")
    world.wait(D)
    world.wait(D)
    ids = {reply.leader == reply.mid: reply for reply in (first, second)}
    leader, follower = ids[True].mid, ids[False].mid
    names = {first.mid: "A", second.mid: "B"}
    syncs = (
        world.sync(names[follower], follower, 1),
        world.sync(names[leader], leader, 1, {leader: b"1", follower: b"2"}),
    )
    assert [s.error for s in syncs] == [PARKED, PARKED]
    return Writing(world, leader, follower, syncs)


def test_a_leader_that_leaves_during_the_write_is_gone(writing: Writing) -> None:
    writing.world.leave((writing.leader, None))
    assert [s.error for s in writing.syncs] == ["REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"]
    assert holds(writing.judged())


def test_a_sync_of_a_leader_that_left_during_the_write_must_be_answered(writing: Writing) -> None:
    writing.world.leave((writing.leader, None))
    writing.world.history = writing.world.unanswered(writing.syncs[1])
    assert wrong(writing.judged()) == (Wrong.SILENCE, writing.syncs[1]._id)
    known = departed(KAFKA_4, [DEPARTURES["parked-sync"]])
    assert holds(judge(known, {}, [*writing.world.history, Passed(9 * D)], lag_ms=LAG))


def test_a_leader_that_is_replaced_during_the_write_is_fenced(writing: Writing) -> None:
    instance = "A" if writing.world.group().holder("A") == writing.leader else "B"
    writing.world.join(instance)
    assert [s.error for s in writing.syncs] == ["REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID"]
    assert holds(writing.judged())


def test_of_two_syncs_the_first_is_written_and_the_second_answered(writing: Writing) -> None:
    instance = "A" if writing.world.group().holder("A") == writing.leader else "B"
    again = writing.world.sync(instance, writing.leader, 1, {writing.leader: b"3"})
    assert holds(writing.judged())
    assert base64.b64decode(again.body["assignment"]) == b"1"
    assert writing.syncs[1].error == PARKED, "superseded"
    assert not holds(writing.world.judged()), "on a virtual clock nothing comes in between"


def test_a_write_of_an_earlier_generation_makes_nothing_stable(writing: Writing) -> None:
    writing.world.join("C")
    assert [s.error for s in writing.syncs] == ["REBALANCE_IN_PROGRESS"] * 2
    writing.world.wait(0)
    assert writing.world.group().state is GroupState.PREPARING
    assert holds(writing.judged())


def test_a_write_that_a_rebalance_cut_short_is_found_after_a_failover(writing: Writing) -> None:
    world = writing.world
    world.join("C")
    assert [s.error for s in writing.syncs] == ["REBALANCE_IN_PROGRESS"] * 2
    fail_over(world)
    world.send("admin", "DescribeGroups", 5, DESCRIBED)
    assert world.group().state is GroupState.STABLE
    assert {m.member_id for m in world.group().members} == {writing.leader, writing.follower}
    assert holds(writing.judged())


def test_a_write_that_was_answered_is_not_lost_by_a_failover(writing: Writing) -> None:
    world = writing.world
    world.wait(0)
    fail_over(world)
    shown = world.send("admin", "DescribeGroups", 5, DESCRIBED)
    (group,) = shown.body["groups"]
    assert holds(writing.judged())
    world.history = world.told(shown, groups=[{**group, "groupState": "Empty", "members": []}])
    assert wrong(writing.judged()) == (Wrong.ANSWER, shown._id)


def test_a_write_that_never_ends_is_a_fault(writing: Writing) -> None:
    writing.world.wait(0)
    assert [s.error for s in writing.syncs] == ["NONE", "NONE"]
    assert holds(writing.judged())
    for sync in writing.syncs:
        writing.world.history = writing.world.unanswered(sync)
    assert wrong(writing.judged()) == (Wrong.SILENCE, writing.syncs[0]._id)


@pytest.fixture
def restarting(writing: Writing) -> tuple[Writing, str, Reply]:
    """The group is Stable, and that the follower's new process replaced it is being written."""
    writing.world.wait(0)
    instance = "B" if writing.world.group().holder("A") == writing.leader else "A"
    restart = writing.world.join(instance)
    assert restart.error == PARKED
    return writing, instance, restart


def test_a_restart_is_answered_when_it_is_written(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, _, restart = restarting
    writing.world.wait(0)
    assert (restart.error, restart.gen) == ("NONE", 1)
    assert holds(writing.judged())
    writing.world.history = writing.world.unanswered(restart)
    assert wrong(writing.judged()) == (Wrong.SILENCE, restart._id)


def test_a_process_that_is_removed_while_its_restart_is_written_is_unknown(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, instance, restart = restarting
    writing.world.leave(("", instance))
    assert restart.error == "UNKNOWN_MEMBER_ID"
    assert holds(writing.judged())
    assert not holds(writing.world.judged()), "on a virtual clock nothing comes in between"


def test_a_process_that_is_replaced_while_its_restart_is_written_is_fenced(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, instance, restart = restarting
    writing.world.join(instance)
    assert restart.error == "FENCED_INSTANCE_ID"
    assert holds(writing.judged())


def test_nobody_else_is_fenced_while_a_restart_is_written(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, _, restart = restarting
    writing.world.wait(0)
    lie = {"errorCode": 82, "generationId": -1, "leader": ""}
    writing.world.history = writing.world.told(restart, **lie)
    assert wrong(writing.judged()) == (Wrong.ANSWER, restart._id)


def test_a_rebalance_that_begins_while_a_restart_is_written_may_answer_it(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, _, restart = restarting
    leader = "A" if writing.world.group().holder("A") == writing.leader else "B"
    writing.world.join(leader, writing.leader)
    assert (restart.error, restart.gen) == ("NONE", 2)
    assert holds(writing.judged())


def test_where_nobody_leads_what_a_restart_is_told_is_open(
    restarting: tuple[Writing, str, Reply],
) -> None:
    writing, instance, restart = restarting
    group = replace(writing.world.group(), leader=None)
    (timer,) = (t for t in group.timers if t.kind == WRITE)
    (outcome,) = Machine(KAFKA_4, in_two_steps=True).expire(group, timer, Span(0, 0))
    assert [(e.request_id, e.message) for e in outcome.emissions] == [(restart._id, None)]
    assert outcome.group is not None
    holder = outcome.group.member(outcome.group.holder(instance) or "")
    assert holder is not None
    assert (holder.joining, holder.restart) == (None, None)
