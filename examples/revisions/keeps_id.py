"""A static member that restarts keeps its member id: the coordinator answers with the stored id.

The first comment under the KIP asks for this (row 6).  It is simpler: the coordinator replaces no
member id, and no assignment names an old one.  But does the old process still get an error?

    fencepost check examples/revisions/keeps_id.py:KEEPS_ID --question "two processes"
"""

from fencepost.model import KAFKA_4, Do, Revision, SetRule, derive

COMMENT = "KIP-345's page, first comment table, row 6"
# The steps after HAND_OUT_HOLDER act on the member that holds the instance.
AS_HOLDER = (Do.HAND_OUT_HOLDER, Do.UPDATE_MEMBER, Do.RESTART_SESSION)
AND_THEN = {
    "JOIN-STATIC-EMPTY-PREPARING": (Do.PARK_JOIN,),
    "JOIN-STATIC-EMPTY-COMPLETING": (Do.ANSWER_CURRENT,),
    "JOIN-STATIC-EMPTY-STABLE": (Do.PERSIST, Do.ANSWER_CURRENT),
    "JOIN-STATIC-EMPTY-STABLE-SELECTION": (Do.REBALANCE, Do.PARK_JOIN),
}


def keeping(base: Revision) -> tuple[SetRule, ...]:
    """Return the four rules of a restart, with another effect and another reason."""
    return tuple(
        SetRule(
            "JoinGroup",
            base.rule(rule_id).but(
                effect=AS_HOLDER + then,
                source=COMMENT,
                because="a restarted member is the same member, so it keeps its id",
            ),
            COMMENT,
        )
        for rule_id, then in AND_THEN.items()
    )


KEEPS_ID = derive(
    KAFKA_4, "keeps-id", "a static member that restarts keeps its member id", keeping(KAFKA_4)
)
