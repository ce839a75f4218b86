"""Streams groups have the tables of the consumer protocol: each measured row, over the machine."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from support.consumer_world import CONFIG, R, error_name

from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.streams import STREAMS
from fencepost.model.machine import Machine
from fencepost.model.messages.streams_messages import (
    Endpoint,
    KeyValue,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.step_soundness import step_faults
from fencepost.model.table.table import Level
from fencepost.model.work import Incoming, Outcome, Span

REVISION = revisions.find("streams-4.4")
TOPOLOGY = Topology(
    epoch=0, subtopologies=(Subtopology(subtopology_id="0", source_topics=("t", "u")),)
)
NONE, UNKNOWN, FENCED = "NONE", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"
UNRELEASED, INVALID = "UNRELEASED_INSTANCE_ID", "INVALID_REQUEST"


def _largest_share(outcome: Outcome) -> int:
    target = () if outcome.group is None else outcome.group.target
    return max((len(partitions) for _, partitions in target), default=0)


class StreamsWorld:
    """One coordinator with one streams group; what a client was told last is what it says next."""

    def __init__(self, revision: Revision = REVISION) -> None:
        self.machine = Machine(revision, CONFIG)
        self.group: ConsumerGroup | None = None
        self.now = self.sent = 0
        self.epochs: dict[str, int] = {}
        self.tasks: dict[str, tuple[TaskIds, ...]] = {}

    def there(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    def ask(self, member_id: str, epoch: int, instance: str | None, **fields: Any) -> str:
        self.sent += 1
        message = StreamsGroupHeartbeatRequest(
            group_id="g", member_id=member_id, member_epoch=epoch, instance_id=instance, **fields
        )
        incoming = Incoming(str(self.sent), "c", message.API, 0, message, "made")
        outcomes = self.machine.handle(self.group, incoming, Span(self.now, self.now))
        chosen = min(outcomes, key=_largest_share)
        self.group = chosen.group
        (emission,) = chosen.emissions
        answer = emission.message
        assert isinstance(answer, StreamsGroupHeartbeatResponse)
        if answer.error_code == 0:
            self.epochs[member_id] = answer.member_epoch
            if answer.active_tasks is not None:
                self.tasks[member_id] = answer.active_tasks
        return error_name(answer.error_code)

    def join(
        self,
        member_id: str,
        instance: str | None = None,
        process: str | None = "p1",
        topology: Topology = TOPOLOGY,
        **fields: Any,
    ) -> str:
        return self.ask(
            member_id,
            0,
            instance,
            rebalance_timeout_ms=R,
            topology=topology,
            active_tasks=(),
            standby_tasks=(),
            warmup_tasks=(),
            process_id=process,
            **fields,
        )

    def beat(self, member_id: str, instance: str | None = None, epoch: int | None = None) -> str:
        sent = self.epochs[member_id] if epoch is None else epoch
        tasks = self.tasks.get(member_id)
        others = None if tasks is None else ()
        return self.ask(
            member_id, sent, instance, active_tasks=tasks, standby_tasks=others, warmup_tasks=others
        )

    def leave(self, member_id: str, epoch: int, instance: str | None) -> str:
        return self.ask(member_id, epoch, instance)

    def wait(self, ms: int) -> None:
        end = self.now + ms
        while self.group is not None and self.group.timers:
            timer = min(self.group.timers, key=lambda t: t.earliest)
            if timer.earliest > end:
                break
            self.now = timer.earliest
            self.group = self.machine.expire(self.group, timer, Span(self.now, self.now))[0].group
        self.now = end


@pytest.fixture
def world() -> StreamsWorld:
    """Member m1 with instance A and m2 with B, each with two of the four tasks."""
    world = StreamsWorld()
    assert world.join("m1", "A") == NONE
    assert world.tasks["m1"] == (TaskIds(subtopology_id="0", partitions=(0, 1, 2, 3)),)
    assert world.join("m2", "B", "p2") == NONE
    for _ in range(3):
        assert {world.beat("m1", "A"), world.beat("m2", "B")} == {NONE}
    assert [len(world.tasks[m][0].partitions) for m in ("m1", "m2")] == [2, 2]
    return world


def test_a_live_holder_is_not_displaced_not_even_by_itself(world: StreamsWorld) -> None:
    assert world.join("m3", "A") == UNRELEASED
    assert world.join("m1", "A") == UNRELEASED


@pytest.mark.parametrize(("process", "bump"), [("p1", 0), ("p9", 1)])
def test_a_return_gets_all_tasks_and_bumps_iff_the_process_id_differs(
    world: StreamsWorld, process: str, bump: int
) -> None:
    tasks = world.tasks["m1"]
    assert world.leave("m1", -2, "A") == NONE
    assert world.epochs["m1"] == -2
    epoch = world.there().epoch
    assert world.join("m3", "A", process) == NONE
    assert world.there().epoch - epoch == bump
    if not bump:
        assert world.tasks["m3"] == tasks
    assert world.beat("m1", "A", 3) == FENCED
    assert world.leave("m1", -1, "A") == FENCED
    assert world.leave("m1", -2, "A") == FENCED


@pytest.mark.parametrize(
    ("fields", "bump"),
    [
        ({}, 0),
        ({"process": None}, 0),
        ({"rack_id": "r"}, 1),
        ({"client_tags": (KeyValue(key="k", value="v"),)}, 1),
        ({"client_tags": ()}, 0),
        ({"user_endpoint": Endpoint(host="h", port=1)}, 0),
    ],
)
def test_a_return_bumps_by_all_that_an_assignor_reads(
    world: StreamsWorld, fields: dict[str, Any], bump: int
) -> None:
    world.leave("m1", -2, "A")
    epoch = world.there().epoch
    assert world.join("m3", "A", **fields) == NONE
    assert world.there().epoch - epoch == bump


def test_a_topology_is_the_groups_for_ever(world: StreamsWorld) -> None:
    others = [replace(TOPOLOGY, epoch=1), replace(TOPOLOGY, subtopologies=())]
    for other in others:
        assert world.join("m3", topology=other) == INVALID
        assert world.join("m3", "A", topology=other) == UNRELEASED
    world.leave("m1", -1, "A")
    world.leave("m2", -1, "B")
    assert not world.there().members
    assert world.join("m3", topology=others[0]) == INVALID
    assert world.join("m3") == NONE


def test_a_heartbeat_names_tasks_of_all_kinds_that_there_are(world: StreamsWorld) -> None:
    foreign = TaskIds(subtopology_id="0", partitions=(4,))
    epoch = world.epochs["m1"]
    assert world.ask("m1", epoch, "A", active_tasks=()) == INVALID
    assert world.ask("m9", 9, "Z", topology=TOPOLOGY) == INVALID
    tasks = {"active_tasks": (foreign,), "standby_tasks": (), "warmup_tasks": ()}
    assert world.ask("m1", epoch, "A", **tasks) == INVALID
    assert world.ask("m1", epoch + 1, "A", **tasks) == "FENCED_MEMBER_EPOCH"


def test_a_member_that_is_not_reconciled_keeps_its_target_under_another_instance() -> None:
    world = StreamsWorld()
    world.join("m1", "A")
    world.join("m2", "B")
    world.beat("m1", "A")
    kept = world.tasks["m1"]
    assert world.join("m1", "C") == NONE
    assert world.tasks["m1"] == kept
    assert len(world.there().target_of("m1")) == 2


def test_before_4_4_no_request_names_an_instance() -> None:
    world = StreamsWorld(revisions.find("streams-4.2"))
    assert world.join("m1", "A") == INVALID
    assert world.join("m1") == NONE
    assert world.join("m1", "A") == INVALID
    assert world.beat("m1", "A") == INVALID
    assert world.leave("m1", -1, "A") == INVALID
    assert world.leave("m1", -2, "A") == INVALID
    assert world.leave("m1", -1, None) == NONE


def test_refusals(world: StreamsWorld) -> None:
    assert world.leave("m1", -2, None) == INVALID
    assert world.leave("m1", -1, "C") == UNKNOWN
    assert world.leave("m1", -2, "C") == UNKNOWN
    assert world.beat("m1", "C") == UNKNOWN
    assert world.beat("m1", None) == NONE
    assert world.beat("m1", "A", 99) == "FENCED_MEMBER_EPOCH"
    assert world.join("", "C") == INVALID


def test_an_id_may_change_its_instance_and_frees_the_old_one(world: StreamsWorld) -> None:
    assert world.join("m1", "C") == NONE
    assert world.join("m3", "A") == NONE


def test_a_join_without_its_instance_keeps_its_place(world: StreamsWorld) -> None:
    assert world.join("m1") == NONE
    assert world.there().holder("A") == "m1"


@pytest.mark.parametrize("released", [False, True])
def test_a_silent_or_released_member_is_removed_a_session_after_its_last_heartbeat(
    world: StreamsWorld, *, released: bool
) -> None:
    epoch = world.there().epoch
    world.wait(4_000)
    assert world.beat("m2", "B") == NONE
    if released:
        assert world.leave("m1", -2, "A") == NONE
    world.wait(1_999)
    assert world.there().member("m1") is not None
    world.wait(1)
    assert world.there().member("m1") is None
    assert world.there().epoch == epoch + 1


def test_a_release_has_nothing_to_wait_for() -> None:
    world = StreamsWorld()
    world.join("m1", "A")
    world.join("m2", "B")
    world.beat("m1", "A")
    member = world.there().member("m1")
    assert member is not None
    assert member.phase.value == "unrevoked"
    world.leave("m1", -2, "A")
    world.group = world.machine.failover(world.there(), Span(world.now, world.now))[0].group
    assert world.there().timer("rebalance", "m1") is None


def test_steps_can_be_done_and_what_is_not_measured_is_may() -> None:
    assert Do.RELEASE not in {do for _, rule in REVISION.rules() for do in rule.effect}
    for table, rule in REVISION.rules():
        assert list(step_faults(table, rule, STREAMS.steps)) == []
        measured = rule.source.startswith("KIP-1071")
        assert measured or rule.level is Level.MAY
