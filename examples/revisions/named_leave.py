"""A static member must name its instance when it leaves; by its member id alone it stays.

The column `inst` describes the request, so it can't tell a dynamic member from a static member that
doesn't send its instance id.  The column `membership` can.

    fencepost check examples/revisions/named_leave.py:NAMED_LEAVE --question "nameless leave"
"""

from fencepost.model import (
    KAFKA_4,
    Error,
    Inst,
    Membership,
    Mid,
    Rule,
    SetRule,
    all_of,
    derive,
    negate,
    when,
)
from fencepost.properties import Engine, Property, PropertyKind
from fencepost.properties.logic import classic_signature as sig
from fencepost.properties.logic import logic

IDEA = "our design note, section 3"
NAMELESS = when(mid=Mid.MEMBER, inst=Inst.NONE, membership=Membership.STATIC)


def narrowed(rule_id: str) -> SetRule:
    """Return a rule of kafka-4, except for a static member that doesn't send its instance id."""
    rule = KAFKA_4.rule(rule_id)
    return SetRule("LeaveGroup member", rule.but(guard=all_of(rule.guard, negate(NAMELESS))), IDEA)


NAMED_LEAVE = derive(
    KAFKA_4,
    "named-leave",
    "a static member must name its instance when it leaves",
    (
        narrowed("LEAVE-MEMBER"),
        narrowed("LEAVE-MEMBER-PREPARING"),
        SetRule(
            "LeaveGroup member",
            Rule(
                "LEAVE-STATIC-NAMELESS",
                NAMELESS,
                answer=Error.UNKNOWN_MEMBER_ID,
                source=IDEA,
                because="the member id may be that of an earlier process",
            ),
            IDEA,
        ),
    ),
)

# A leave that names a static member by its member id alone ...
BY_ID_ALONE = logic.all_of(
    logic.is_now(sig.EVENT, sig.LEAVE_ROW),
    logic.negate(sig.INST_GIVEN.now()),
    sig.MID_GIVEN.now(),
    sig.MEMBER.now(sig.MID),
    sig.is_static(sig.MID),
)
PROPERTIES = (
    Property(
        id="nobody-static-leaves-by-id",
        meaning="A leave that names a static member by its member id alone doesn't remove it.",
        source=IDEA,
        kind=PropertyKind.STEP,
        scope="rows of a leave",
        engines=frozenset({Engine.PROOF, Engine.EXPLORATION, Engine.HYPOTHESIS}),
        formula=logic.implies(BY_ID_ALONE, sig.MEMBER.then(sig.MID)),  # ... leaves it there.
        premise=BY_ID_ALONE,
        not_by={Engine.ANSWERS: "answers don't show the group"},
    ),
)
