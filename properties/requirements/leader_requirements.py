"""Obligations of the member that assigns partitions for the group."""

from __future__ import annotations

from fencepost.model.table.table import Level
from fencepost.properties.requirements.requirement import Obligation

LEADER = (
    Obligation(
        "CLIENT-LEADER-MEMBERS",
        Level.SHOULD,
        "The assignment names all members of the answer to the JoinGroup, and nobody else.",
        "Kafka's protocol guide, SyncGroup",
        provoked="three members join, one of them restarted with a new member id",
        judged="the member ids in the leader's SyncGroup",
        part="CLIENT-LEADER-MEMBERS",
    ),
    Obligation(
        "CLIENT-LEADER-ONCE",
        Level.MUST,
        "No partition is assigned to two members.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        part="CLIENT-LEADER-PARTITIONS",
    ),
    Obligation(
        "CLIENT-LEADER-WHOLE",
        Level.SHOULD,
        "Every partition of the topics is assigned; with a cooperative assignor, those that move "
        "may wait for the next generation.",
        "KIP-345, Background of Consumer Rebalance",
        provoked="members join and go, with each assignor that the library has",
        judged="the partitions in the leader's SyncGroup",
        part="CLIENT-LEADER-PARTITIONS",
    ),
    Obligation(
        "CLIENT-LEADER-INSTANCES",
        Level.SHOULD,
        "Members are told apart by their instance ids: after a restart, a later rebalance gives "
        "each instance the partitions that it had.",
        "KIP-345, Client Behavior Changes, the example of A, B and C",
        provoked="a member restarts, and then the group is made to rebalance",
        judged="the partitions of each instance before and after",
        part="CLIENT-LEADER-MEMBERS",
    ),
    Obligation(
        "CLIENT-LEADER-COOPERATIVE",
        Level.MUST,
        "With a cooperative assignor a partition is given to another member only when the one that "
        "had it has revoked it, and joined again.",
        "KIP-429",
        provoked="a member joins a group that is stable",
        judged="who claims a partition in the JoinGroup requests, whom the leader gives it, "
        "when users were told, and that a JoinGroup follows what is revoked",
        part="CLIENT-LEADER-COOPERATIVE",
    ),
)
