"""A static member with a short session that leaves has half a session to come back.

The file defines a column that recognises a short session, and a step that halves it.  Proofs don't
cover such a step, and report this.

    fencepost check examples/revisions/grace.py:GRACE --question "side by side"
"""

from fencepost.model import (
    KAFKA_4,
    ClassicWork,
    Column,
    Error,
    Group,
    GroupState,
    Inst,
    Mid,
    OwnStep,
    Rule,
    SetRule,
    all_of,
    derive,
    negate,
    when,
)

IDEA = "our design note, section 4"
SHORT_MS = 10_000


def has_short_session(group: Group | None, member_id: str, _instance: str | None) -> bool:
    """Return True if the member of this id has a short session."""
    member = None if group is None else group.member(member_id)
    return member is not None and member.session_timeout_ms <= SHORT_MS


def halve_session(work: ClassicWork) -> None:
    """End the session of the caller after half of its timeout."""
    member = work.group.member(work.caller)
    if member is not None:
        work.set_timer("session", work.caller, member.session_timeout_ms // 2)


SHORT = Column("short session", (False, True), "if the session is a short one", has_short_session)
HALVE_SESSION = OwnStep("HALVE_SESSION", "its session ends after half its timeout", halve_session)

LEAVE = KAFKA_4.rule("LEAVE-MEMBER")
HAS_GRACE = when(
    SHORT.among(True),
    mid=Mid.MEMBER,
    inst=Inst.OWN,
    state=(GroupState.COMPLETING, GroupState.STABLE),
)

GRACE = derive(
    KAFKA_4,
    "grace",
    "a static member that leaves has half a session to come back",
    (
        SetRule("LeaveGroup member", LEAVE.but(guard=all_of(LEAVE.guard, negate(HAS_GRACE))), IDEA),
        SetRule(
            "LeaveGroup member",
            Rule(
                "LEAVE-GRACE",
                HAS_GRACE,
                (HALVE_SESSION,),
                Error.NONE,
                source=IDEA,
                because="a process that restarts soon keeps its partitions",
            ),
            IDEA,
        ),
    ),
)
