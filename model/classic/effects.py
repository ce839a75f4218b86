"""List all steps of which the effects of rules consist.

The machine performs the steps of a rule in their order, each by one function in
`fencepost.model.classic.perform`.
"""

from __future__ import annotations

from enum import Enum, unique


@unique
class Do(Enum):
    """One step of an effect; the value is its sentence in the printed table."""

    # who is a member
    CREATE_GROUP = "a group that is absent comes to exist, Empty"
    HAND_OUT_PENDING = "hand out a new id, pending, with a timer S"
    HAND_OUT_HOLDER = "return the id that the instance is mapped to"
    ADD_DYNAMIC = "add a member under a new id"
    ADMIT_PENDING = "the pending id becomes a member"
    ADD_STATIC = "add a member under a new id and map the instance to it"
    ADD_STATIC_AS_SENT = "add a member under the id that was sent and map the instance to it"
    REPLACE_HOLDER = "replace the holder's id by a new one; its parked requests are fenced"
    REPLACE_HOLDER_AS_SENT = (
        "replace the holder's id by the one that was sent; its parked requests are fenced"
    )
    REPLACE_ID = (
        "replace the holder's id alone by a new one; its parked requests are fenced, and what it "
        "offered, S and R stay"
    )
    KEEP_HOLDER = "the holder of the instance keeps its place; its session timer restarts"
    MAP_CALLER = "map the instance to the caller, which becomes static"
    SEAT_IDLE = "the new member has its place at once, without an assignment; a timer S"
    UPDATE_MEMBER = "take the offered protocols, S and R"
    REMOVE_CALLER = "remove the caller if it is a member"
    REMOVE_HOLDER = "remove the holder of the instance; its parked requests get UNKNOWN_MEMBER_ID"
    REMOVE_MEMBER = "remove the member; its parked requests get UNKNOWN_MEMBER_ID"
    REMOVE_PENDING = "drop the pending id"
    REMOVE_UNSYNCED = "remove the members that were answered and have not sent SyncGroup"
    REMOVE_UNSYNCED_DYNAMIC = (
        "remove the dynamic members that were answered and have not sent SyncGroup"
    )
    REMOVE_ABSENT_DYNAMIC = "remove dynamic members without a parked join; static ones stay"
    # the rebalance
    REBALANCE = "rebalance, unless one is being prepared: parked syncs get REBALANCE_IN_PROGRESS"
    REBALANCE_FROM_TARGET = (
        "rebalance, if the group has its target size or more members; else store the group"
    )
    REBALANCE_UP_TO_TARGET = (
        "rebalance, if the group has its target size or fewer members; else store the group"
    )
    REBALANCE_BELOW_TARGET = (
        "rebalance, if the group has fewer members than its target size; else store the group"
    )
    EXTEND_DELAY = "wait again, min(D, what remains of R)"
    POSTPONE = "wait R again, same generation"
    COMPLETE_JOIN = "elect, vote, generation + 1, answer all parked joins; CompletingRebalance"
    START_SYNC_TIMER = "the wait for everybody's SyncGroup, R"
    BECOME_EMPTY = "Empty, generation + 1, stored"
    # answers
    PARK_JOIN = "the join waits"
    ANSWER_CURRENT = "answer NONE with the current generation; the leader is given the members"
    ANSWER_RESTARTED = "answer NONE with the current generation; v≥9: the leader skips assignment"
    PARK_SYNC = "the sync waits"
    NOTE_SYNC = "the caller has sent its SyncGroup"
    ASSIGN = "store the assignments, empty for who is left out; Stable"
    ANSWER_SYNCS = "answer all parked syncs NONE; their session timers restart"
    REFUSE_SYNCS = "answer all parked syncs UNKNOWN_SERVER_ERROR; their session timers restart"
    ANSWER_ASSIGNMENT = "answer the stored assignment"
    ANSWER_ROWS = "answer each row"
    ANSWER_ROWS_UNKNOWN = "answer UNKNOWN_MEMBER_ID in each row"
    ANSWER_OFFSETS = "answer the stored offsets"
    ANSWER_DESCRIPTION = "answer the group as it is"
    ANSWER_LISTED = "the group is in the list"
    ANSWER_UNLISTED = "the group is not in the list"
    # timers and storage
    RESTART_SESSION = "the session timer restarts"
    MAYBE_RESTART_SESSION = "the session timer may restart or not"
    STORE_OFFSETS = "store the offsets"
    REMOVE_NAMED_OFFSETS = "the offsets of the partitions that are named are gone"
    REMOVE_OFFSETS = "the offsets of the deleted topics are gone"
    REMOVE_EXPIRED_OFFSETS = "the topic's offsets whose retention is over are gone"
    PERSIST = "store the group"
    FORGET = "the group is gone"
    RELOAD = "the group is as stored; pending ids are lost, session timers restart"
