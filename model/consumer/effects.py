"""List all steps of which the effects of the consumer protocol's rules consist.

The machine performs the steps of a rule in their order, each by one function in
`fencepost.model.consumer.perform`.
"""

from __future__ import annotations

from enum import Enum, unique


@unique
class Do(Enum):
    """One step of an effect; the value is its sentence in the printed table."""

    # who is a member
    CREATE_GROUP = "a group that is absent, or has offsets alone, comes to exist, at epoch 1"
    CREATE_GROUP_AT_ZERO = "a group that is absent comes to exist, at epoch 0"
    ADD_DYNAMIC = "add a member under the id that was sent, or a new one"
    ADD_STATIC = "add a member under the id that was sent, or a new one, and map the instance to it"
    REPLACE_HOLDER = (
        "the caller takes the holder's place: its subscription, target and assignment, at epoch 0; "
        "the holder's id is gone"
    )
    FREE_INSTANCE = "the caller's own instance, if it names another, is unmapped"
    MAP_CALLER = "map the instance to the caller"
    UPDATE_MEMBER = "take instance, subscription, R and assignor where they are given"
    RELEASE = (
        "the caller is released: epoch -2, nothing to revoke, what it is assigned counts from "
        "epoch 0; its session timer goes on"
    )
    RELEASE_SETTLED = (
        "the caller is released: epoch -2, nothing to revoke, nothing to wait for; its session "
        "timer goes on"
    )
    REMOVE_MEMBER = "remove the member"
    REMOVE_HOLDER = "remove the holder of the instance"
    # epochs, target and assignments
    BUMP_EPOCH = "group epoch + 1, once for a request"
    SETTLE_EMPTY = (
        "where nobody is left, the target is empty and of the group's epoch, and the next one is "
        "made at once"
    )
    RECOMPUTE_TARGET = (
        "a target that is older than the group is made anew; within the assignment interval, later"
    )
    RECOMPUTE_TARGET_AT_ONCE = "a target that is older than the group is made anew"
    RECONCILE = (
        "the caller revokes, waits for, or takes over what its target says of topics to which it "
        "subscribes; what it gives up is free at once"
    )
    RECONCILE_UNHEEDING = (
        "the caller revokes, waits for, or takes over what its target says; what it gives up is "
        "free at once; its epoch + 1, if it gave up and has more to give up"
    )
    RECONCILE_LATER = (
        "the caller revokes, waits for, or takes over what its target says; what it gives up is "
        "free from the next request on; its epoch + 1, if it gave up and has more to give up"
    )
    RECONCILE_UNMAPPED = (
        "the caller revokes, waits for, or takes over what its target says; unless that was made "
        "anew, an empty one"
    )
    RECONCILE_UNMAPPED_LATER = (
        "the caller revokes, waits for, or takes over what its target says; unless that was made "
        "anew, an empty one; what it gives up is free from the next request on"
    )
    # answers
    ANSWER_ASSIGNMENT = "answer NONE with the caller's epoch and assignment"
    ANSWER_CHANGES = (
        "answer NONE with the caller's epoch; its assignment, if it changed or all fields are given"
    )
    ANSWER_CHANGED_TASKS = "answer NONE with the caller's epoch; its tasks, if they changed"
    ANSWER_EPOCH = "answer NONE with the epoch that was sent"
    ANSWER_ROWS = "answer each row"
    ANSWER_ROWS_UNKNOWN = "answer UNKNOWN_MEMBER_ID in each row"
    ANSWER_DESCRIPTION = "answer the group as it is; partitions to revoke count as assigned"
    ANSWER_DESCRIPTION_KEPT = "answer the group as it is; partitions to revoke don't count"
    ANSWER_PARTITIONS = "answer each partition"
    REFUSE_ALL = "all partitions get this answer"
    ANSWER_OFFSETS = "answer the stored offsets"
    ANSWER_DEAD = "answer that the group is Dead"
    ANSWER_STATE = "answer with the state of the group, and no members"
    ANSWER_LISTED = "the group is in the list"
    ANSWER_LISTED_CLASSIC = "the group is in the list, as a classic one"
    ANSWER_UNLISTED = "the group is not in the list"
    # timers and storage
    RESTART_SESSION = "the session timer restarts"
    STORE_OFFSETS = "store the offsets"
    REMOVE_NAMED_OFFSETS = "the offsets of the partitions that are named are gone"
    FORGET = "the group is gone"
    RELOAD = (
        "the group is as stored: session timers restart, a member with revocation in its state has "
        "a timer R"
    )
