"""List the steps of mixed groups, beside those of the consumer protocol, and where each belongs."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Enum, unique

from fencepost.model.bridge.vocabulary import SENDER, Sender
from fencepost.model.consumer.effect_needs import NEEDS, Where
from fencepost.model.consumer.effects import Do as Common
from fencepost.model.consumer.vocabulary import INST, MID, Mid
from fencepost.model.table.expr import Feature
from fencepost.model.table.step_soundness import Need, Steps


@unique
class Do(Enum):
    """One step of an effect; the value is its sentence in the printed table."""

    BUMP_FOR_SUBSCRIPTION = "group epoch + 1, if the subscription is another one"
    BECOME_CLASSIC = "the caller is of the classic protocol, with its session timeout and protocols"
    START_JOIN_TIMER = "the caller has R to join again, if that time doesn't run yet"
    START_SYNC_TIMER = "the caller has joined in time, and has R to send SyncGroup"
    STOP_SYNC_TIMER = "the time for SyncGroup ends"
    HAND_OUT_ID = "make a member id"
    ANSWER_JOIN = "answer NONE with the caller's epoch as generation, without leader and members"
    ANSWER_SYNC = "answer NONE with the caller's assignment"
    UPGRADE = (
        "the group is a consumer group: its epoch is the generation, its target the assignments; "
        "parked requests get REBALANCE_IN_PROGRESS"
    )
    START_ANEW = "a consumer group takes the place of the empty classic one, with its offsets"
    DOWNGRADE = (
        "the group is a classic group, Stable: its generation is the epoch, the assignments are "
        "the target; any member leads"
    )
    REBALANCE = "the group prepares a rebalance"
    ANSWER_AT_ZERO = "the join is answered with generation 0"


JOIN_TABLE = "JoinGroup"
SYNC_TABLE = "SyncGroup"
HEARTBEAT_TABLE = "Heartbeat"
COMMIT_TABLE = "OffsetCommit of a classic member"
FETCH_TABLE = "OffsetFetch of a classic member"
UPGRADE_TABLE = "upgrade"
DOWNGRADE_TABLE = "downgrade"
JOIN_TIMEOUT_TABLE = "join timeout"
SYNC_TIMEOUT_TABLE = "sync timeout"

_JOINS: frozenset[Enum] = frozenset(
    {
        Common.ADD_DYNAMIC,
        Common.ADD_STATIC,
        Common.REPLACE_HOLDER,
        Common.UPDATE_MEMBER,
        Common.BUMP_EPOCH,
        Common.RECOMPUTE_TARGET,
        Common.RECOMPUTE_TARGET_AT_ONCE,
        Common.RECONCILE,
        Common.RECONCILE_UNHEEDING,
        Common.RECONCILE_LATER,
        Common.RESTART_SESSION,
        Do.BUMP_FOR_SUBSCRIPTION,
        Do.BECOME_CLASSIC,
        Do.START_SYNC_TIMER,
        Do.HAND_OUT_ID,
        Do.ANSWER_JOIN,
    }
)
_ENDS: frozenset[Enum] = frozenset({Common.REMOVE_MEMBER, Common.BUMP_EPOCH, Common.SETTLE_EMPTY})
TABLES: dict[str, frozenset[Enum]] = {
    JOIN_TABLE: _JOINS,
    SYNC_TABLE: frozenset(
        {Common.RESTART_SESSION, Do.START_JOIN_TIMER, Do.STOP_SYNC_TIMER, Do.ANSWER_SYNC}
    ),
    HEARTBEAT_TABLE: frozenset({Common.RESTART_SESSION, Do.START_JOIN_TIMER}),
    COMMIT_TABLE: frozenset({Common.STORE_OFFSETS}),
    FETCH_TABLE: frozenset({Common.ANSWER_OFFSETS}),
    UPGRADE_TABLE: frozenset({Do.UPGRADE, Do.START_ANEW}),
    DOWNGRADE_TABLE: frozenset({Do.DOWNGRADE, Do.REBALANCE, Do.ANSWER_AT_ZERO}),
    JOIN_TIMEOUT_TABLE: _ENDS,
    SYNC_TIMEOUT_TABLE: _ENDS,
}
"""Table → the steps that can be done there."""

_ALIVE = NEEDS[Common.RESTART_SESSION]
_NEEDS: dict[Enum, tuple[Need, ...]] = {
    **NEEDS,
    **dict.fromkeys(
        (
            Do.BUMP_FOR_SUBSCRIPTION,
            Do.BECOME_CLASSIC,
            Do.START_JOIN_TIMER,
            Do.START_SYNC_TIMER,
            Do.STOP_SYNC_TIMER,
            Do.ANSWER_JOIN,
            Do.ANSWER_SYNC,
        ),
        _ALIVE,
    ),
}


def _first_place(at: Callable[[Feature], Hashable]) -> Where:
    """Return the state for the first step at a point whose features have these values."""
    is_member = at(MID) is Mid.MEMBER or at(MID) is None or at(SENDER) is Sender.CLASSIC
    return Where(at(INST), is_member=is_member)


STEPS = Steps(
    Do,
    TABLES,
    _NEEDS,
    _first_place,
    frozenset({Do.ANSWER_JOIN, Do.ANSWER_SYNC, Do.UPGRADE, Do.START_ANEW}),
    example=Do.BECOME_CLASSIC,
    without_request=frozenset({DOWNGRADE_TABLE, JOIN_TIMEOUT_TABLE, SYNC_TIMEOUT_TABLE}),
    welcomes={JOIN_TABLE: str(Do.ANSWER_JOIN), SYNC_TABLE: str(Do.ANSWER_SYNC)},
)
