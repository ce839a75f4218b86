"""The step properties of what each kind of request is answered, and of how long a rebalance waits.

Nearly each speaks for rows of the table that no other property speaks of.  The sources are KIP-345
and those that it builds on: KIP-394 (an id first), KIP-389 (the size of groups), KIP-814.
"""

from __future__ import annotations

from functools import partial

from fencepost.model.classic.rules import rule_sources as src
from fencepost.properties.claims import join_checks as joins
from fencepost.properties.claims import leave_checks as leaves
from fencepost.properties.claims import operator_checks as operators
from fencepost.properties.claims import step_checks as checks
from fencepost.properties.claims import wait_checks as waits
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.logic.property import PropertyKind

_NO_BYTES = "a proof knows no answers' fields, bytes or deadlines"
_CATALOGUE = "the catalogue has cases for it; a history doesn't say what the group was"
_property = partial(run_property, PropertyKind.STEP, proof=_NO_BYTES, answers=_CATALOGUE)

_ANY_VERSION = "row 3 of the comment's table hands out ids in every version"

OF_JOINS = (
    _property(
        "a-newcomer-is-told-its-id-first",
        "A dynamic member's first join is told a pending id, from version 4 on, and nobody comes "
        "in; below version 4 no join is told MEMBER_ID_REQUIRED.",
        f"{src.KIP_394}; {src.KIP_JOIN}",
        "joins that name neither member nor instance, and aren't refused for something else",
        joins.id_first,
        joins.nameless,
        expected=dict.fromkeys(("comment-table-1", "comment-table-2"), _ANY_VERSION),
    ),
    _property(
        "a-refused-join-learns-nothing",
        "A refused join is told no id but the one that it was sent under, no generation, no leader "
        "and no members; FENCED_INSTANCE_ID and UNKNOWN_MEMBER_ID repeat that id.",
        f"{src.KIP_JOIN}; {src.KAFKA_JOIN}",
        "joins that are told an error other than MEMBER_ID_REQUIRED, at once or when they waited",
        joins.refusal_tells_nothing,
        joins.somebody_refused,
    ),
    _property(
        "the-replaced-is-fenced",
        "What a member waits for when its instance is replaced is answered FENCED_INSTANCE_ID.",
        src.KIP_JOIN,
        "joins and syncs that were parked by the old holder of an instance",
        joins.replaced_fenced,
        joins.waiting_replaced,
    ),
    _property(
        "the-welcomed-know-the-group",
        "Who is welcomed is told the group's protocol, and its leader each member with its "
        "instance and what it offers.",
        f"{src.KIP_PUBLIC}; {src.KIP_BACKGROUND}",
        "joins answered NONE",
        joins.welcome,
        checks.speaks_of_leader,
    ),
    _property(
        "a-leader-that-rejoins-is-heard",
        "When the leader of a stable group joins again under its id, a rebalance begins.",
        src.KIP_BACKGROUND,
        "joins under the leader's member id, and its own instance if any, that aren't refused",
        joins.leader_heard,
        joins.leader_rejoins,
        expected=dict.fromkeys(
            ("comment-table-1", "comment-table-2"),
            "row 4 gives whoever is known with its instance its old assignment, also the leader",
        ),
    ),
    _property(
        "a-restarted-leader-assigns-nothing",
        "The leader of a stable group that restarts is told, from version 9 on, that it leads and "
        "skips the assignment, and below that it follows; nobody else is told to skip it.",
        src.KIP_814,
        "joins answered NONE",
        joins.skips_assignment,
        checks.speaks_of_leader,
        expected={"comment-table-2": "the comment is older than KIP-814"},
    ),
)
OF_WAITS = (
    _property(
        "a-rebalance-waits-for-all",
        "A generation begins before the wait for joins is over only when every member has joined "
        "and every id that was handed out is used.",
        f"{src.KIP_BACKGROUND}; {src.KIP_394}",
        "generations that begin by anything but the end of the wait",
        waits.all_joined,
        waits.completed_early,
    ),
    _property(
        "the-wait-has-a-fixed-end",
        "A rebalance waits for joins as long as the longest rebalance timeout of its members, and "
        "nobody who joins meanwhile moves its end.",
        f"{src.KIP_ROLLING}; {src.KAFKA_TIMERS}",
        "rebalances of groups with a generation, and their waits; not the initial delay",
        waits.wait_lasts,
        waits.waits_for_joins,
    ),
    _property(
        "the-leader-alone-assigns",
        "A group becomes stable by its leader's SyncGroup, and each member's assignment is what "
        "the leader gave it, none if it gave nothing.",
        src.KIP_BACKGROUND,
        "steps from CompletingRebalance to Stable",
        waits.leader_assigned,
        waits.assigned,
    ),
    _property(
        "nobody-is-assigned-before-the-leader",
        "A SyncGroup is answered NONE in a stable group alone, with what its sender is assigned.",
        src.KIP_BACKGROUND,
        "syncs answered NONE, at once or when they waited",
        waits.assignment_is_there,
        lambda view: bool(waits.told_assignments(view)),
    ),
    _property(
        "who-waited-has-a-whole-session",
        "A member whose join or sync waited has its whole session before it when it is answered.",
        src.KAFKA_TIMERS,
        "parked requests that are answered NONE or REBALANCE_IN_PROGRESS",
        waits.released_alive,
        waits.somebody_released,
    ),
    _property(
        "no-timer-takes-who-has-synced",
        "No timer removes a member whose SyncGroup waits for the leader's.",
        f"{src.KAFKA_12890}; {src.KAFKA_TIMERS}",
        "the ends of sessions and of the wait for syncs",
        waits.sync_outlasts,
        waits.sync_waits_at_timer,
    ),
    _property(
        "a-heartbeat-tells-of-a-rebalance",
        "A member's heartbeat is told REBALANCE_IN_PROGRESS while joins are waited for, else NONE.",
        f"{src.KIP_BACKGROUND}; {src.KAFKA_10134}",
        "heartbeats in the group's generation, under the member's own instance if any",
        waits.rebalance_told,
        waits.beats,
    ),
    _property(
        "another-protocol-is-told-so",
        "A member's sync with another protocol than the selected one gets "
        "INCONSISTENT_GROUP_PROTOCOL, and changes nothing.",
        src.KAFKA_CHECKS,
        "syncs in the group's generation, from version 5 on",
        waits.other_protocol_told,
        waits.other_protocol,
    ),
)
OF_LEAVES = (
    _property(
        "a-leave-has-a-row-for-each",
        "From version 3 on a leave is answered with a row for each, under its ids, and no error "
        "for all.",
        src.KIP_LEAVE,
        "LeaveGroup, also of a group that doesn't exist; below version 3 there are no rows",
        leaves.rows_answered,
        leaves.left,
        expected={"kip-345": "its text has INVALID_GROUP_ID for a group that doesn't exist"},
    ),
    _property(
        "exactly-the-named-leave",
        "A row of a leave is told NONE if it names a member or a pending id, or the instance of a "
        "member alone; FENCED_INSTANCE_ID if the instance is another's; else UNKNOWN_MEMBER_ID. "
        "Those who were told NONE are gone, and nobody else.",
        f"{src.KIP_LEAVE}; {src.KIP_SCALE_DOWN}",
        "leaves of every version of a group that exists; rows count in their order",
        leaves.exactly_the_named,
        leaves.named_exist,
    ),
)
OF_OPERATORS = (
    _property(
        "an-accepted-commit-is-read",
        "A committed offset is what is read after it.",
        src.KAFKA_COMMIT,
        "commits that are told NONE",
        operators.stored,
        operators.accepted,
    ),
    _property(
        "members-commit-and-nobody-else",
        "A commit is accepted from a member of the generation unless assignments are awaited, from "
        "others only without a generation and while the group is Empty.",
        f"{src.KAFKA_COMMIT}; {src.KAFKA_8487}",
        "commits to groups that exist",
        operators.commit_told,
        operators.commits,
    ),
    _property(
        "a-commit-keeps-alive",
        "A commit of a member that is accepted starts its session anew.",
        f"{src.KIP_ROLLING}; {src.KAFKA_COMMIT}",
        "commits that are told NONE",
        operators.commit_kept_alive,
        operators.member_commits,
    ),
    _property(
        "operators-see-the-group",
        "A group is listed, and described with its state and its members' ids and instances.",
        f"{src.KIP_PUBLIC}; {src.KAFKA_ADMIN}",
        "DescribeGroups and ListGroups",
        operators.shown,
        operators.looks,
    ),
)
ANSWER_PROPERTIES = (*OF_JOINS, *OF_WAITS, *OF_LEAVES, *OF_OPERATORS)
"""The step properties of what is answered."""
