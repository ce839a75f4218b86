"""Random walks over the handlers: every request has its answer, and partitions one owner.

Four member ids and two instances; all choices of the model are drawn, too.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from support.consumer_world import CONFIG

from fencepost.model.consumer.group import ConsumerGroup, Phase
from fencepost.model.consumer.topics import rows_of
from fencepost.model.machine import Machine
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import LeaveGroupRequest, LeavingMember
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Span

IDS = ("m1", "m2", "m3", "m4")
INSTANCES = (None, "A", "B")
R, STEPS = 1_000, 150
ALL = revisions.CONSUMER_NAMES
FREES_OLD_INSTANCES = ("consumer-4.4", "pr-23542")


def request(random: Random, group: ConsumerGroup | None) -> tuple[Message, int]:
    """Draw a request, most often one that its sender could send."""
    member_id, instance = random.choice(IDS), random.choice(INSTANCES)
    member = None if group is None else group.member(member_id)
    if member is not None and random.random() < 0.7:
        instance = member.instance_id
    if random.random() < 0.05:
        row = LeavingMember(member_id=random.choice([member_id, ""]), group_instance_id=instance)
        return LeaveGroupRequest(group_id="g", members=(row,)), 5
    epoch = random.choice([0, 0, -1, -2, 3])
    owned = None
    if member is not None and random.random() < 0.7:
        epoch = max(0, member.epoch)
        owned = () if epoch == 0 else rows_of(member.partitions())
    elif epoch == 0:
        owned = ()
    if member is not None and random.random() < 0.1:
        epoch = member.previous_epoch
    topics: tuple[str, ...] | None = random.choice([("t",), ("t",), ("t", "u")])
    if epoch != 0 and random.random() < 0.95:
        topics = None
    beat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        instance_id=instance,
        rebalance_timeout_ms=R if epoch == 0 else -1,
        subscribed_topic_names=topics,
        topic_partitions=owned,
        server_assignor=random.choice([None, None, "range"]),
    )
    return beat, 1


def check(group: ConsumerGroup, before: ConsumerGroup | None, *, is_clean: bool) -> None:
    owners = Counter(group.owned())
    assert [p for p, number in owners.items() if number > 1] == []
    assert group.target_epoch <= group.epoch
    if before is not None:
        assert before.epoch <= group.epoch <= before.epoch + 1
    for member in group.members:
        assert member.is_released or 0 < member.epoch <= group.target_epoch
        assert bool(member.revoking) <= (member.phase is Phase.UNREVOKED)
        assert all(since <= group.target_epoch for _, since in member.assigned)
        assert group.timer("session", member.member_id) is not None
        if member.instance_id is not None:
            assert group.holder(member.instance_id) == member.member_id
    named = {member.member_id: member.instance_id for member in group.members}
    assert {mid for mid, _ in group.target} <= set(named)
    assert {t.subject for t in group.timers} <= set(named) | {""}
    if is_clean:
        assert all(named.get(mid) == instance for instance, mid in group.static)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("interval_ms", [0, 1_000])
@pytest.mark.parametrize("name", ALL)
def test_a_walk_finds_each_request_answered_and_one_owner_for_a_partition(
    name: str, interval_ms: int, seed: int
) -> None:
    random = Random(seed)
    limit = {"group.consumer.max.size": random.choice([None, 3])}
    batching = {"group.consumer.assignment.interval.ms": interval_ms}
    machine = Machine(revisions.find(name), {**CONFIG, **limit, **batching, "num.partitions": 2})
    group: ConsumerGroup | None = None
    now = 0
    for step in range(STEPS):
        before = group
        span = Span(now, now)
        if group is not None and random.random() < 0.05:
            outcomes = machine.failover(group, span)
        elif group is not None and group.timers and random.random() < 0.1:
            timer = min(group.timers, key=lambda t: (t.latest, t))
            now = max(now, timer.latest)
            outcomes = machine.expire(group, timer, Span(now, now))
        else:
            message, version = request(random, group)
            asked = Incoming(str(step), "c", message.API, version, message, f"made-{step}")
            outcomes = machine.handle(group, asked, span, group_id="g")
            assert outcomes
            for outcome in outcomes:
                (emission,) = outcome.emissions
                answer = emission.message
                assert answer is not None
                answer.to_body(version)
                is_error = isinstance(answer, ConsumerGroupHeartbeatResponse) and (
                    answer.error_code != Error.NONE.value
                )
                if is_error:
                    assert outcome.group == group
        group = random.choice(outcomes).group
        if group is not None:
            check(group, before, is_clean=name in FREES_OLD_INSTANCES)
        now += random.choice([0, 100, 900])


def test_the_check_catches_a_partition_of_two_owners_and_an_entry_of_an_old_instance() -> None:
    machine = Machine(revisions.find("consumer-4.3"), {**CONFIG, "num.partitions": 2})
    group: ConsumerGroup | None = None
    for number, instance in enumerate(["A", "B"]):
        join = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m1",
            member_epoch=0,
            instance_id=instance,
            rebalance_timeout_ms=R,
            subscribed_topic_names=("t",),
            topic_partitions=(),
        )
        asked = Incoming(str(number), "c", join.API, 1, join, "made")
        (outcome,) = machine.handle(group, asked, Span(0, 0))
        group = outcome.group
    assert group is not None
    check(group, None, is_clean=False)
    with pytest.raises(AssertionError):
        check(group, None, is_clean=True)
    member = group.member("m1")
    assert member is not None
    twin = type(member)("m2", None, "c", R, member.epoch, assigned=member.assigned)
    twice = group.with_member(twin).with_timer("session", "m2", 1, 1)
    with pytest.raises(AssertionError):
        check(twice, None, is_clean=False)
