"""A static member that leaves has half a session to come back, if its session is a short one.

No column tells a short session, and no step halves it: the file brings both, as functions of the
group.  Proofs don't know what they do, and say so.

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
    """Return whether the member of this id has a short session."""
    member = None if group is None else group.member(member_id)
    return member is not None and member.session_timeout_ms <= SHORT_MS


def halve_session(work: ClassicWork) -> None:
    """Let the session of the caller end in half of its timeout."""
    member = work.group.member(work.caller)
    if member is not None:
        work.set_timer("session", work.caller, member.session_timeout_ms // 2)


SHORT = Column("short session", (False, True), "whether the caller's is short", has_short_session)
HALVE_SESSION = OwnStep("HALVE_SESSION", "its session ends in half of its timeout", halve_session)

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
                because="a process that is replaced comes back soon, and keeps its partitions",
            ),
            IDEA,
        ),
    ),
)
