"""Hold the work of a classic member's request in a consumer group, and perform its own steps."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec.structs import replace

from fencepost.model.bridge.effects import Do
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.group import JOIN, SYNC, ClassicSide, ConsumerGroup, Member
from fencepost.model.consumer.perform import bump_epoch, caller, heartbeat
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.subscription import PROTOCOL_TYPE, encode_assignment, version_of
from fencepost.model.work import Effect, Incoming, Span


class MixedWork(ConsumerWork):
    """A step in progress.  `join`: the JoinGroup in progress, if it is one.

    The steps of the consumer protocol read it as a heartbeat with epoch 0.
    """

    __slots__ = ("join",)

    def __init__(
        self, group: ConsumerGroup | None, span: Span, request: Incoming | None = None
    ) -> None:
        super().__init__(group, span, request)
        self.join: JoinGroupRequest | None = None

    def fork(self) -> MixedWork:
        """Return a copy that is changed on its own."""
        other = super().fork()
        assert isinstance(other, MixedWork)
        other.join = self.join
        return other


def bump_for_subscription(work: MixedWork) -> None:
    """Increase the group's epoch, if the caller subscribes to other topics than before."""
    names = heartbeat(work).subscribed_topic_names or ()
    if tuple(sorted(set(names))) != caller(work).topics:
        bump_epoch(work)


def become_classic(work: MixedWork) -> None:
    """Make the caller a member of the classic protocol."""
    assert work.join is not None
    side = ClassicSide(work.join.session_timeout_ms, work.join.protocols)
    work.group = work.group.with_member(replace(caller(work), classic=side))


def start_join_timer(work: MixedWork) -> None:
    """Give the caller its R to join again, if that time doesn't run yet."""
    if work.group.timer(JOIN, work.caller) is None:
        work.set_timer(JOIN, work.caller, caller(work).rebalance_timeout_ms)


def start_sync_timer(work: MixedWork) -> None:
    """Give the caller, which has joined, its R to send SyncGroup."""
    work.group = work.group.without_timer(JOIN, work.caller)
    work.set_timer(SYNC, work.caller, caller(work).rebalance_timeout_ms)


def stop_sync_timer(work: MixedWork) -> None:
    """End the time for SyncGroup."""
    work.group = work.group.without_timer(SYNC, work.caller)


def hand_out_id(work: MixedWork) -> None:
    """Make a member id, which nobody keeps."""
    assert work.request is not None
    work.caller = work.request.fresh_id


def _first_protocol(member: Member) -> tuple[str, bytes]:
    assert member.classic is not None
    first = member.classic.protocols[0]
    return first.name, first.metadata


def answer_join(work: MixedWork) -> None:
    """Answer a join: the epoch is the generation; nobody leads."""
    member = caller(work)
    answer = JoinGroupResponse(
        error_code=0,
        generation_id=member.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=_first_protocol(member)[0],
        member_id=member.member_id,
    )
    _emit(work, answer)


def answer_sync(work: MixedWork) -> None:
    """Answer a sync: the caller's assignment, in the version of its subscription."""
    member = caller(work)
    name, metadata = _first_protocol(member)
    assignment = encode_assignment(member.partitions(), version_of(metadata))
    _emit(
        work,
        SyncGroupResponse(
            error_code=0, protocol_type=PROTOCOL_TYPE, protocol_name=name, assignment=assignment
        ),
    )


def _emit(work: MixedWork, answer: JoinGroupResponse | SyncGroupResponse) -> None:
    assert work.request is not None
    work.emit(work.request.id, answer)


def _convert(work: MixedWork) -> None:
    """Mark a conversion; the handler does it."""


EFFECTS: Mapping[Enum, Effect] = {
    Do.BUMP_FOR_SUBSCRIPTION: bump_for_subscription,
    Do.BECOME_CLASSIC: become_classic,
    Do.START_JOIN_TIMER: start_join_timer,
    Do.START_SYNC_TIMER: start_sync_timer,
    Do.STOP_SYNC_TIMER: stop_sync_timer,
    Do.HAND_OUT_ID: hand_out_id,
    Do.ANSWER_JOIN: answer_join,
    Do.ANSWER_SYNC: answer_sync,
    Do.UPGRADE: _convert,
    Do.START_ANEW: _convert,
    Do.DOWNGRADE: _convert,
    Do.REBALANCE: _convert,
    Do.ANSWER_AT_ZERO: _convert,
}
