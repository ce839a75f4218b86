"""A dynamic member becomes static by a join that names a free instance.

The second comment under the KIP asks for this (row 4.2).  Is it safe?

    fencepost check examples/revisions/upgrade_in_place.py:UPGRADE
"""

from fencepost.model import KAFKA_4, Do, GroupState, Inst, Mid, Rule, SetRule, derive, when

COMMENT = "KIP-345's page, second comment table, row 4.2"

UPGRADE = derive(
    KAFKA_4,
    "upgrade-in-place",
    "a member that names an unmapped instance gets it",
    (
        # Change a rule: it still applies to unknown member ids.
        SetRule(
            "JoinGroup",
            KAFKA_4.rule("JOIN-INSTANCE-UNMAPPED").but(
                guard=when(mid=Mid.UNKNOWN, inst=Inst.UNMAPPED)
            ),
            COMMENT,
        ),
        # Add two rules, for all states that have members.
        SetRule(
            "JoinGroup",
            Rule(
                "JOIN-UPGRADE",
                when(
                    mid=Mid.MEMBER,
                    inst=Inst.UNMAPPED,
                    state=(GroupState.COMPLETING, GroupState.STABLE),
                ),
                (Do.MAP_CALLER, Do.UPDATE_MEMBER, Do.REBALANCE, Do.PARK_JOIN),
                source=COMMENT,
                because="a dynamic member may become static by naming an instance",
            ),
            COMMENT,
        ),
        SetRule(
            "JoinGroup",
            Rule(
                "JOIN-UPGRADE-PREPARING",
                when(mid=Mid.MEMBER, inst=Inst.UNMAPPED, state=GroupState.PREPARING),
                (Do.MAP_CALLER, Do.UPDATE_MEMBER, Do.PARK_JOIN),
                source=COMMENT,
                because="a dynamic member may become static by naming an instance",
            ),
            COMMENT,
        ),
    ),
)
