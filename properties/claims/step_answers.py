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
        checks.id_first,
        checks.nameless,
        expected=dict.fromkeys(("comment-table-1", "comment-table-2"), _ANY_VERSION),
    ),
    _property(
        "a-session-timeout-is-within-bounds",
        "A join with a session timeout out of the broker's bounds is told INVALID_SESSION_TIMEOUT.",
        src.KAFKA_CHECKS,
        "joins that are not refused for their group id or coordinator; Kafka's default bounds",
        checks.bounds_kept,
        checks.out_of_bounds,
    ),
    _property(
        "a-refused-join-learns-nothing",
        "A refused join is told no id but the one that it was sent under, no generation, no leader "
        "and no members; FENCED_INSTANCE_ID and UNKNOWN_MEMBER_ID repeat that id.",
        f"{src.KIP_JOIN}; {src.KAFKA_JOIN}",
        "joins that are told an error other than MEMBER_ID_REQUIRED, at once or when they waited",
        checks.refusal_tells_nothing,
        checks.somebody_refused,
    ),
    _property(
        "the-replaced-is-fenced",
        "What a member waits for when its instance is replaced is answered FENCED_INSTANCE_ID.",
        src.KIP_JOIN,
        "joins and syncs that were parked by the old holder of an instance",
        checks.replaced_fenced,
        checks.waiting_replaced,
    ),
    _property(
        "the-welcomed-know-the-group",
        "Who is welcomed is told the group's protocol, and its leader each member with its "
        "instance and what it offers.",
        f"{src.KIP_PUBLIC}; {src.KIP_BACKGROUND}",
        "joins answered NONE",
        checks.welcome,
        checks.speaks_of_leader,
    ),
    _property(
        "a-leader-that-rejoins-is-heard",
        "When the leader of a stable group joins again under its id, a rebalance begins.",
        src.KIP_BACKGROUND,
        "joins under the leader's member id, and its own instance if any, that aren't refused",
        checks.leader_heard,
        checks.leader_rejoins,
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
        checks.skips_assignment,
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
        lambda view: bool(waits.assignments_in_answers(view)),
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
        waits.rebalance_in_answer,
        waits.beats,
    ),
    _property(
        "another-protocol-is-told-so",
        "A member's sync with another protocol than the selected one gets "
        "INCONSISTENT_GROUP_PROTOCOL, and changes nothing.",
        src.KAFKA_CHECKS,
        "syncs in the group's generation, from version 5 on",
        waits.other_protocol_refused,
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
        checks.rows_answered,
        checks.left,
        expected={"kip-345": "its text has INVALID_GROUP_ID for a group that doesn't exist"},
    ),
    _property(
        "exactly-the-named-leave",
        "A row of a leave is told NONE if it names a member or a pending id, or the instance of a "
        "member alone; FENCED_INSTANCE_ID if the instance is another's; else UNKNOWN_MEMBER_ID. "
        "Those who were told NONE are gone, and nobody else.",
        f"{src.KIP_LEAVE}; {src.KIP_SCALE_DOWN}",
        "leaves of every version of a group that exists; rows count in their order",
        checks.exactly_the_named,
        checks.named_exist,
    ),
)
OF_OPERATORS = (
    _property(
        "an-accepted-commit-is-read",
        "A committed offset is what is read after it.",
        src.KAFKA_COMMIT,
        "commits that are told NONE",
        waits.stored,
        waits.accepted,
    ),
    _property(
        "members-commit-and-nobody-else",
        "A commit is accepted from a member of the generation unless assignments are awaited, from "
        "others only without a generation and while the group is Empty.  In a transaction it is "
        "accepted in each state, also from who names neither member nor generation.",
        f"{src.KAFKA_COMMIT}; {src.KAFKA_8487}; {src.KAFKA_TXN_COMMIT}",
        "commits to groups that exist",
        waits.commit_answered,
        waits.commits,
    ),
    _property(
        "a-commit-keeps-alive",
        "A commit of a member that is accepted, outside of a transaction, starts its session anew.",
        f"{src.KIP_ROLLING}; {src.KAFKA_COMMIT}",
        "commits that are told NONE",
        waits.commit_kept_alive,
        waits.member_commits,
    ),
    _property(
        "operators-see-the-group",
        "A group is listed, and described with its state and its members' ids and instances.",
        f"{src.KIP_PUBLIC}; {src.KAFKA_ADMIN}",
        "DescribeGroups and ListGroups",
        waits.described,
        waits.looks,
    ),
)
OF_DELETIONS = (
    _property(
        "a-group-with-members-stays",
        "DeleteGroups removes no group that has members, static ones that are away among them.",
        src.KAFKA_DELETING,
        "DeleteGroups of groups with members",
        deletions.members_stay,
        deletions.deletes_members,
    ),
    _property(
        "offsets-that-are-read-stay",
        "OffsetDelete removes no offset of a topic that a member of the generation reads.",
        src.KAFKA_OFFSET_DELETE,
        "OffsetDelete of stored offsets, in CompletingRebalance and Stable",
        deletions.read_offsets_stay,
        deletions.deletes_read_offsets,
        api="OffsetDelete",
    ),
    _property(
        "a-deletion-is-done-or-refused",
        "A group or an offset whose deletion is told NONE is gone; one that is refused is there.",
        f"{src.KAFKA_DELETING}; {src.KAFKA_OFFSET_DELETE}",
        "DeleteGroups and OffsetDelete",
        deletions.deletion_is_done,
        deletions.deletes,
    ),
)
OF_THOSE_WHO_GO = (
    _property(
        "who-must-stop-is-told",
        "Who is no member of the generation, or must rejoin, is not told NONE.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "heartbeats, syncs and commits under an id, to a group with members; heartbeats also from "
        "members while joins are waited for",
        waits.stopped,
        waits.must_stop,
    ),
    _property(
        "what-a-member-had-is-handed-on",
        "When a member with an assignment is gone from a stable group, a rebalance begins.",
        f"{src.KIP_BACKGROUND}; {src.KIP_SCALE_DOWN}",
        "steps by which a member goes and nobody takes its place: leaves, removals, sessions",
        checks.handed_on,
        lambda view: bool(checks.without_heir(view)),
    ),
)
OF_ASSIGNMENTS = (
    _property(
        "a-stable-group-is-assigned",
        "A group is stable only in a generation whose leader has sent its SyncGroup.",
        src.KIP_BACKGROUND,
        "steps after which a group is stable in a generation in which it was not; a failover "
        "finds what was stored",
        waits.somebody_assigned,
        waits.becomes_stable,
    ),
    _property(
        "somebody-is-to-assign",
        "While assignments are awaited the leader's join is answered with the members to assign, "
        "and nobody is told to skip that.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "joins answered NONE, of the leader and of those who are told to skip the assignment",
        waits.leader_assigns,
        waits.leader_or_skipper_answered,
    ),
    _property(
        "an-assignment-lasts-its-generation",
        "While a stable group stays in its generation, a member's assignment, or an instance's, "
        "stays what it is.",
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
        "No answer has a field that its version forbids, or lacks one that it asks for.",
        src.KIP_PUBLIC,
        "all answers of a step, each in the version of its request",
        checks.shape,
        lambda view: bool(view.emissions),
    ),
    _step_property(
        "a-generation-is-told-alike",
        "Those whose joins complete together are told one generation, protocol and leader.",
        src.KIP_BACKGROUND,
        "one step; the leader alone is given the members",
        checks.agreement,
        lambda view: len(checks.joined(view)) > 1,
    ),
    _step_property(
        "the-generation-told-is-the-groups",
        "A join that is welcomed is told the generation that the group has.",
        src.KIP_BACKGROUND,
        "joins answered NONE",
        checks.generation_in_answer,
        checks.speaks_of_leader,
    ),
    _step_property(
        "the-leader-told-is-a-member",
        "The leader that a join is told of is a member.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "joins answered NONE; a restarted instance below Join v9 is told the id from before",
        checks.leader_in_answer,
        checks.speaks_of_leader,
    ),
    _step_property(
        "nobody-is-left-without-an-answer",
        "A request is answered, or it stays parked; never both, never neither.",
        src.KIP_BACKGROUND,
        "the request of the step and all parked ones; a superseded one is answered or not",
        checks.unanswered,
        checks.had_parked,
        answers="that a request is answered in bounded time is seen, not where it is kept",
    ),
    _step_property(
        "a-restart-in-a-stable-group-is-quiet",
        "A static member that restarts in a stable group keeps its place, and so does all else.",
        f"{src.KIP_NON_GOAL}; {src.KIP_JOIN}",
        "an empty id, the mapped instance, the same protocols: same generation, same assignments",
        checks.quiet_restart,
        lambda view: checks.restarted(view) is not None,
        expected={
            "member-name-draft": "a leader that restarts causes a rebalance in this draft",
            "comment-table-1": "the stored id is told with MEMBER_ID_REQUIRED; no answer yet",
        },
    ),
    _step_property(
        "a-rejoin-brings-its-timeouts",
        "A member that joins anew has the timeouts and protocols of its new join.",
        src.KAFKA_JOIN,
        "joins that are parked or take a seat over; one that is answered at once changes nothing",
        checks.timeouts,
        lambda view: checks.moved_in(view) is not None,
        answers="how long a session lasts is seen by bounded time",
    ),
    _step_property(
        "a-heartbeat-keeps-alive",
        "After a heartbeat that is answered NONE or REBALANCE_IN_PROGRESS its member has a whole "
        "session before it.",
        src.KIP_ROLLING,
        "heartbeats of members",
        checks.kept_alive,
        lambda view: checks.heard(view) is not None,
        answers="a member that is evicted although it heartbeats is seen by its next answer",
    ),
    _step_property(
        "silence-is-noticed",
        "A member that is silent for its session timeout is removed, static or not.",
        src.KIP_ROLLING,
        "members with no parked request",
        checks.expired,
        lambda view: checks.silent(view) is not None,
        answers="bounded time is what is seen of it",
    ),
    _step_property(
        "a-stranger-is-told-so",
        "A heartbeat, sync or commit under an id that is no member's gets UNKNOWN_MEMBER_ID.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, requests without an instance id; in every state of the group",
        waits.stranger_refused,
        waits.stranger,
    ),
    _step_property(
        "another-generation-is-told-so",
        "A member's heartbeat, sync or commit of another generation gets ILLEGAL_GENERATION.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, members under their own instance; it changes nothing",
        waits.late_refused,
        waits.late,
    ),
    _step_property(
        "a-refused-commit-stores-nothing",
        "An offset whose commit was refused is not stored.",
        src.KAFKA_COMMIT,
        "commits answered with an error",
        waits.offsets,
        waits.refused_commit,
        answers="what is stored is seen by OffsetFetch, which the catalogue asks",
    ),
)
