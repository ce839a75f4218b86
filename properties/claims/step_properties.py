"""The step properties that speak of bytes, answers or deadlines, which proofs leave out.

Those that speak of membership alone are formulas (`fencepost.properties.claims.step_formulas`).
"""

from __future__ import annotations

from functools import partial

from fencepost.model.classic.rules import rule_sources as src
from fencepost.properties.claims import refusal_checks as refusals
from fencepost.properties.claims import step_checks as checks
from fencepost.properties.claims.function_property import run_property
from fencepost.properties.logic.property import PropertyKind

_NO_BYTES = "a proof knows no answers' fields, bytes or deadlines"
_property = partial(run_property, PropertyKind.STEP, proof=_NO_BYTES)


STEP_PROPERTIES = (
    _property(
        "answers-have-the-shape-of-their-version",
        "No answer has a field that its version forbids, or lacks one that it asks for.",
        src.KIP_PUBLIC,
        "all answers of a step, each in the version of its request",
        checks.shape,
        lambda view: bool(view.emissions),
    ),
    _property(
        "a-generation-is-told-alike",
        "Those whose joins complete together are told one generation, protocol and leader.",
        src.KIP_BACKGROUND,
        "one step; the leader alone is given the members",
        checks.agreement,
        lambda view: len(checks.joined(view)) > 1,
    ),
    _property(
        "the-generation-told-is-the-groups",
        "A join that is welcomed is told the generation that the group has.",
        src.KIP_BACKGROUND,
        "joins answered NONE",
        checks.told_generation,
        checks.speaks_of_leader,
    ),
    _property(
        "the-leader-told-is-a-member",
        "The leader that a join is told of is a member.",
        f"{src.KIP_BACKGROUND}; {src.KIP_814}",
        "joins answered NONE; a restarted instance below Join v9 is told the id from before",
        checks.leader_told,
        checks.speaks_of_leader,
    ),
    _property(
        "nobody-is-left-without-an-answer",
        "A request is answered, or it stays parked; never both, never neither.",
        src.KIP_BACKGROUND,
        "the request of the step and all parked ones; a superseded one is answered or not",
        checks.unanswered,
        checks.had_parked,
        answers="that a request is answered in bounded time is seen, not where it is kept",
    ),
    _property(
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
    _property(
        "a-rejoin-brings-its-timeouts",
        "A member that joins anew has the timeouts and protocols of its new join.",
        src.KAFKA_JOIN,
        "joins that are parked or take a seat over; one that is answered at once changes nothing",
        checks.timeouts,
        lambda view: checks.moved_in(view) is not None,
        answers="how long a session lasts is seen by bounded time",
    ),
    _property(
        "a-heartbeat-keeps-alive",
        "A heartbeat that is accepted starts the member's session anew.",
        src.KIP_ROLLING,
        "heartbeats answered NONE or REBALANCE_IN_PROGRESS",
        checks.kept_alive,
        lambda view: checks.heard(view) is not None,
        answers="a member that is evicted although it heartbeats is seen by its next answer",
    ),
    _property(
        "silence-is-noticed",
        "A member that is silent for its session timeout is removed, static or not.",
        src.KIP_ROLLING,
        "members with no parked request",
        checks.expired,
        lambda view: checks.silent(view) is not None,
        answers="bounded time is what is seen of it",
    ),
    _property(
        "a-stranger-is-told-so",
        "A heartbeat, sync or commit under an id that is no member's gets UNKNOWN_MEMBER_ID.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, requests without an instance id; in every state of the group",
        refusals.stranger_told,
        refusals.stranger,
    ),
    _property(
        "another-generation-is-told-so",
        "A member's heartbeat, sync or commit of another generation gets ILLEGAL_GENERATION.",
        f"{src.KAFKA_VALIDATE}; {src.KAFKA_8487}",
        "groups with members, members under their own instance; it changes nothing",
        refusals.late_told,
        refusals.late,
    ),
    _property(
        "a-refused-commit-stores-nothing",
        "An offset whose commit was refused is not stored.",
        src.KAFKA_COMMIT,
        "commits answered with an error",
        refusals.offsets,
        refusals.refused_commit,
        answers="what is stored is seen by OffsetFetch, which the catalogue asks",
    ),
)
