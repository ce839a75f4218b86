"""Define the step properties of answers, deadlines and bytes, which proofs leave out.

Nearly each speaks for rows of the table that no other property speaks of.  The sources are KIP-345
and those that it builds on: KIP-394 (an id first), KIP-389 (the size of groups), KIP-814.
Properties of membership alone are formulas (`fencepost.properties.claims.step_formulas`).
"""

from __future__ import annotations

from functools import partial

from fencepost.model.classic.rules import rule_sources as src
from fencepost.properties.claims import deletion_checks as deletions
from fencepost.properties.claims import step_checks as checks
from fencepost.properties.claims import wait_checks as waits
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.logic.logic import PropertyKind

_NO_BYTES = "a proof knows no answers' fields, bytes or deadlines"
_CATALOGUE = "the catalogue has cases for it; a history doesn't have the group's state"
_property = partial(run_property, PropertyKind.STEP, proof=_NO_BYTES, answers=_CATALOGUE)

_ANY_VERSION = "row 3 of the comment's table hands out ids in every version"

OF_JOINS = (
    _property(
        "a-newcomer-is-told-its-id-first",
        "From version 4 on, the first join of a dynamic process gets a pending id and adds no "
        "member; below version 4 no join is answered MEMBER_ID_REQUIRED.",
        f"{src.KIP_394}; {src.KIP_JOIN}",
        "joins that name neither member nor instance, and aren't refused for something else",
        checks.id_first,
        checks.nameless,
        expected=dict.fromkeys(("comment-table-1", "comment-table-2"), _ANY_VERSION),
    ),
    _property(
        "a-session-timeout-is-within-bounds",
        "A join with a session timeout out of the broker's bounds is answered "
        "INVALID_SESSION_TIMEOUT.",
        src.KAFKA_CHECKS,
        "joins that are not refused for their group id or coordinator; Kafka's default bounds",
        checks.bounds_kept,
        checks.out_of_bounds,
    ),
    _property(
        "a-refused-join-learns-nothing",
        "A refused join gets no generation, no leader, no members, and no id but its own; "
        "FENCED_INSTANCE_ID and UNKNOWN_MEMBER_ID repeat that id.",
        f"{src.KIP_JOIN}; {src.KAFKA_JOIN}",
        "joins that get an error other than MEMBER_ID_REQUIRED, at once or when they waited",
        checks.refusal_tells_nothing,
        checks.somebody_refused,
    ),
    _property(
        "the-replaced-is-fenced",
        "When an instance is replaced, the parked requests of its old process are answered "
        "FENCED_INSTANCE_ID.",
        src.KIP_JOIN,
        "joins and syncs that were parked by the old holder of an instance",
        checks.replaced_fenced,
        checks.waiting_replaced,
    ),
    _property(
        "the-welcomed-know-the-group",
        "A join that is answered NONE gets the group's protocol; the leader also gets each "
        "member with its instance and metadata.",
        f"{src.KIP_PUBLIC}; {src.KIP_BACKGROUND}",
        "joins answered NONE",
        checks.welcome,
        checks.speaks_of_leader,
    ),
    _property(
        "a-leader-that-rejoins-is-heard",
        "When the leader of a stable group rejoins under its id, a rebalance starts.",
        src.KIP_BACKGROUND,
        "joins under the leader's member id, and its own instance if any, that aren't refused",
        checks.leader_heard,
        checks.leader_rejoins,
        expected=dict.fromkeys(
            ("comment-table-1", "comment-table-2"),
            "row 4 gives any member known with its instance its old assignment, also the leader",
        ),
    ),
    _property(
        "a-restarted-leader-assigns-nothing",
        "A leader that restarts in a stable group leads and must skip the assignment "
        "from version 9 on, and follows below it; no other member must skip it.",
        src.KIP_814,
        "joins answered NONE",
        checks.skips_assignment,
        checks.speaks_of_leader,
        expected={"comment-table-2": "the comment is older than KIP-814"},
    ),
)
OF_WAITS = (
    _property(
        "a-rebalance-waits-for-all",
        "Before the wait for joins is over, a generation begins only when every member has "
        "joined and no id is pending.",
        f"{src.KIP_BACKGROUND}; {src.KIP_394}",
        "generations that begin by anything but the end of the wait",
        waits.all_joined,
        waits.completed_early,
    ),
    _property(
        "the-wait-has-a-fixed-end",
        "A rebalance waits for joins as long as the longest rebalance timeout of its members; "
        "new joins don't move the end.",
        f"{src.KIP_ROLLING}; {src.KAFKA_TIMERS}",
        "rebalances of groups with a generation, and their waits; not the initial delay",
        waits.wait_lasts,
        waits.waits_for_joins,
    ),
    _property(
        "the-leader-alone-assigns",
        "A group becomes Stable only by its leader's SyncGroup, and each member gets what the "
        "leader assigned to it, or an empty assignment.",
        src.KIP_BACKGROUND,
        "steps from CompletingRebalance to Stable",
        waits.leader_assigned,
        waits.assigned,
    ),
    _property(
        "nobody-is-assigned-before-the-leader",
        "A SyncGroup is answered NONE only in a stable group, with its sender's assignment.",
        src.KIP_BACKGROUND,
        "syncs answered NONE, at once or when they waited",
        waits.assignment_is_there,
        lambda view: bool(waits.assignments_in_answers(view)),
    ),
    _property(
        "who-waited-has-a-whole-session",
        "When a parked join or sync is answered, the session of its member restarts.",
        src.KAFKA_TIMERS,
        "parked requests that are answered NONE or REBALANCE_IN_PROGRESS",
        waits.released_alive,
        waits.somebody_released,
    ),
    _property(
        "no-timer-takes-who-has-synced",
        "No timer removes a member that has a parked SyncGroup.",
        f"{src.KAFKA_12890}; {src.KAFKA_TIMERS}",
        "the ends of sessions and of the wait for syncs",
        waits.sync_outlasts,
        waits.sync_waits_at_timer,
    ),
    _property(
        "a-heartbeat-tells-of-a-rebalance",
        "A member's heartbeat is answered REBALANCE_IN_PROGRESS in the join phase, and NONE "
        "otherwise.",
        f"{src.KIP_BACKGROUND}; {src.KAFKA_10134}",
        "heartbeats in the group's generation, under the member's own instance if any",
        waits.rebalance_in_answer,
        waits.beats,
    ),
    _property(
        "another-protocol-is-told-so",
        "A member's sync that names another protocol than the selected one is answered "
        "INCONSISTENT_GROUP_PROTOCOL and changes nothing.",
        src.KAFKA_CHECKS,
        "syncs in the group's generation, from version 5 on",
        waits.other_protocol_refused,
        waits.other_protocol,
        api="SyncGroup",
        version=5,
    ),
)
OF_LEAVES = (
    _property(
        "a-leave-has-a-row-for-each",
        "From version 3 on the answer to a leave has a row for each row of the request, with "
        "its ids, and no error on top.",
        src.KIP_LEAVE,
        "LeaveGroup, also of a group that doesn't exist; below version 3 there are no rows",
        checks.rows_answered,
        checks.left,
        expected={"kip-345": "its text has INVALID_GROUP_ID for a group that doesn't exist"},
    ),
    _property(
        "exactly-the-named-leave",
        "A row of a leave is answered NONE if it names a member or a pending id, or the "
        "instance of a member alone; FENCED_INSTANCE_ID if the instance is another member's; "
        "and UNKNOWN_MEMBER_ID otherwise. Exactly the members whose rows are answered NONE are "
        "removed.",
        f"{src.KIP_LEAVE}; {src.KIP_SCALE_DOWN}",
        "leaves of every version of a group that exists; rows count in their order",
        checks.exactly_the_named,
        checks.named_exist,
    ),
)
OF_OPERATORS = (
    _property(
        "an-accepted-commit-is-read",
        "A fetch returns the last offset that was committed.",
        src.KAFKA_COMMIT,
        "commits that are answered NONE",
        waits.stored,
        waits.accepted,
    ),
    _property(
        "members-commit-and-nobody-else",
        "A commit is accepted from a member of the generation outside the sync phase; from "
        "another client only without a generation and while the group is Empty.  In a "
        "transaction it is accepted in each state, also if it names neither member nor "
        "generation.",
        f"{src.KAFKA_COMMIT}; {src.KAFKA_8487}; {src.KAFKA_TXN_COMMIT}",
        "commits to groups that exist",
        waits.commit_answered,
        waits.commits,
    ),
    _property(
        "a-commit-keeps-alive",
        "An accepted commit outside a transaction restarts its member's session.",
        f"{src.KIP_ROLLING}; {src.KAFKA_COMMIT}",
        "commits that are answered NONE",
        waits.commit_kept_alive,
        waits.member_commits,
    ),
    _property(
        "operators-see-the-group",
        "A group is listed, and described with its state, its members' ids and their instances.",
        f"{src.KIP_PUBLIC}; {src.KAFKA_ADMIN}",
        "DescribeGroups and ListGroups",
        waits.described,
        waits.looks,
    ),
)
OF_DELETIONS = (
    _property(
        "a-group-with-members-stays",
        "DeleteGroups removes no group that has members, present or absent.",
        src.KAFKA_DELETING,
        "DeleteGroups of groups with members",
        deletions.members_stay,
        deletions.deletes_members,
    ),
    _property(
        "offsets-that-are-read-stay",
        "OffsetDelete removes no offset of a topic that a member of the generation subscribes to.",
        src.KAFKA_OFFSET_DELETE,
        "OffsetDelete of stored offsets, in CompletingRebalance and Stable",
        deletions.read_offsets_stay,
        deletions.deletes_read_offsets,
        api="OffsetDelete",
    ),
    _property(
        "a-deletion-is-done-or-refused",
        "A group or an offset is gone if its deletion is answered NONE, and stays if it is "
        "refused.",
        f"{src.KAFKA_DELETING}; {src.KAFKA_OFFSET_DELETE}",
        "DeleteGroups and OffsetDelete",
        deletions.deletion_is_done,
        deletions.deletes,
    ),
)
OF_THOSE_WHO_GO = (
    _property(
        "who-must-stop-is-told",
        "A client that is no member of the generation, or that must rejoin, is not answered NONE.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "heartbeats, syncs and commits under an id, to a group with members; heartbeats also from "
        "members while joins are waited for",
        waits.stopped,
        waits.must_stop,
    ),
    _property(
        "what-a-member-had-is-handed-on",
        "When a member with an assignment is removed from a stable group, a rebalance starts.",
        f"{src.KIP_BACKGROUND}; {src.KIP_SCALE_DOWN}",
        "steps by which a member goes and nobody takes its place: leaves, removals, sessions",
        checks.handed_on,
        lambda view: bool(checks.without_heir(view)),
    ),
)
OF_ASSIGNMENTS = (
    _property(
        "a-stable-group-is-assigned",
        "A group is Stable only in a generation whose leader has sent its SyncGroup.",
        src.KIP_BACKGROUND,
        "steps after which a group is stable in a generation in which it was not; a failover "
        "finds what was stored",
        waits.somebody_assigned,
        waits.becomes_stable,
    ),
    _property(
        "somebody-is-to-assign",
        "In CompletingRebalance the leader's join is answered with the members to assign, and "
        "no member must skip the assignment.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "joins answered NONE, of the leader and of those that get skipAssignment",
        waits.leader_assigns,
        waits.leader_or_skipper_answered,
    ),
    _property(
        "an-assignment-lasts-its-generation",
        "While a stable group stays in its generation, each member and each instance keeps its "
        "assignment.",
        f"{src.KIP_BACKGROUND}; {src.KIP_NON_GOAL}",
        "steps of a stable group with a member or instance that stays; failovers, too",
        waits.assignment_lasts,
        waits.stays_stable,
    ),
)
ANSWER_PROPERTIES = (
    *OF_JOINS,
    *OF_WAITS,
    *OF_LEAVES,
    *OF_OPERATORS,
    *OF_DELETIONS,
    *OF_THOSE_WHO_GO,
    *OF_ASSIGNMENTS,
)
"""The step properties of answers."""


_step_property = partial(run_property, PropertyKind.STEP, proof=_NO_BYTES)


STEP_PROPERTIES = (
    _step_property(
        "answers-have-the-shape-of-their-version",
        "No answer has a field that its version forbids, or lacks a field that its version "
        "requires.",
        src.KIP_PUBLIC,
        "all answers of a step, each in the version of its request",
        checks.shape,
        lambda view: bool(view.emissions),
    ),
    _step_property(
        "a-generation-is-told-alike",
        "Joins that complete together get the same generation, protocol and leader.",
        src.KIP_BACKGROUND,
        "one step; the leader alone is given the members",
        checks.agreement,
        lambda view: len(checks.joined(view)) > 1,
    ),
    _step_property(
        "the-generation-told-is-the-groups",
        "A join that is answered NONE gets the generation of the group.",
        src.KIP_BACKGROUND,
        "joins answered NONE",
        checks.generation_in_answer,
        checks.speaks_of_leader,
    ),
    _step_property(
        "the-leader-told-is-a-member",
        "The leader that the answer to a join names is a member.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "joins answered NONE; a restarted instance below Join v9 gets the id from before",
        checks.leader_in_answer,
        checks.speaks_of_leader,
    ),
    _step_property(
        "nobody-is-left-without-an-answer",
        "A request is either answered or parked, never both or neither.",
        src.KIP_BACKGROUND,
        "the request of the step and all parked ones; a superseded one is answered or not",
        checks.unanswered,
        checks.had_parked,
        answers="that a request is answered in bounded time is seen, not where it is kept",
    ),
    _step_property(
        "a-restart-in-a-stable-group-is-quiet",
        "A static member that restarts in a stable group keeps its place, and nothing else "
        "changes.",
        f"{src.KIP_NON_GOAL}; {src.KIP_JOIN}",
        "an empty id, the mapped instance, the same protocols: same generation, same assignments",
        checks.quiet_restart,
        lambda view: checks.restarted(view) is not None,
        expected={
            "member-name-draft": "a leader that restarts causes a rebalance in this draft",
            "comment-table-1": "the stored id is returned with MEMBER_ID_REQUIRED; no answer yet",
        },
    ),
    _step_property(
        "a-rejoin-brings-its-timeouts",
        "A member that rejoins has the timeouts and protocols of its new join.",
        src.KAFKA_JOIN,
        "joins that are parked or take a seat over; one that is answered at once changes nothing",
        checks.timeouts,
        lambda view: checks.moved_in(view) is not None,
        answers="how long a session lasts is seen by bounded time",
    ),
    _step_property(
        "a-heartbeat-keeps-alive",
        "After a heartbeat that is answered NONE or REBALANCE_IN_PROGRESS, its member's session "
        "restarts.",
        src.KIP_ROLLING,
        "heartbeats of members",
        checks.kept_alive,
        lambda view: checks.heard(view) is not None,
        answers="a member that is evicted although it heartbeats is seen by its next answer",
    ),
    _step_property(
        "silence-is-noticed",
        "A member, static or dynamic, is removed when it is silent for its session timeout.",
        src.KIP_ROLLING,
        "members with no parked request",
        checks.expired,
        lambda view: checks.silent(view) is not None,
        answers="its visible part is bounded time",
    ),
    _step_property(
        "a-stranger-is-told-so",
        "A heartbeat, sync or commit under an id of no member is answered UNKNOWN_MEMBER_ID.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, requests without an instance id; in every state of the group",
        waits.stranger_refused,
        waits.stranger,
    ),
    _step_property(
        "another-generation-is-told-so",
        "A member's heartbeat, sync or commit of another generation is answered "
        "ILLEGAL_GENERATION.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, members under their own instance; it changes nothing",
        waits.late_refused,
        waits.late,
    ),
    _step_property(
        "a-refused-commit-stores-nothing",
        "A refused commit stores no offset.",
        src.KAFKA_COMMIT,
        "commits answered with an error",
        waits.offsets,
        waits.refused_commit,
        answers="OffsetFetch shows what is stored, in the catalogue",
    ),
)
