"""A static member leaves by its instance: by its member id alone it stays.

`inst` is about what a request names, so it doesn't tell a dynamic member from a static one that
leaves its instance out; the column `membership` does.

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
    """Return a rule of kafka-4 for all but a static member that leaves its instance out."""
    rule = KAFKA_4.rule(rule_id)
    return SetRule("LeaveGroup member", rule.but(guard=all_of(rule.guard, negate(NAMELESS))), IDEA)


NAMED_LEAVE = derive(
    KAFKA_4,
    "named-leave",
    "a static member that leaves names its instance",
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
                because="an id changes with each restart, and may be that of an earlier process",
            ),
            IDEA,
        ),
    ),
)

# A leave that names a static member by its id alone ...
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
        meaning="A leave that names a static member by its id alone doesn't remove it.",
        source=IDEA,
        kind=PropertyKind.STEP,
        scope="rows of a leave",
        engines=frozenset({Engine.PROOF, Engine.EXPLORATION, Engine.HYPOTHESIS}),
        formula=logic.implies(BY_ID_ALONE, sig.MEMBER.then(sig.MID)),  # ... leaves it there.
        premise=BY_ID_ALONE,
        not_by={Engine.ANSWERS: "it looks into the group"},
    ),
)
