"""Rules of events without a request: session timeout, rebalance timeout, failover, the cleaner."""

from __future__ import annotations

from fencepost.model.consumer.cells import when
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.rules.leave import GONE
from fencepost.model.consumer.vocabulary import STORED, SUBJECT, Stored, Subject
from fencepost.model.table.expr import ALWAYS
from fencepost.model.table.table import Level, Rule, Table

SESSION = Table(
    "session timeout",
    (SUBJECT,),
    (),
    (
        Rule(
            "CG-SESSION-EXPIRED",
            when(subject=Subject.LIVE),
            GONE,
            source=src.KIP_TIMERS,
            because="a member that is silent for the group's session timeout is removed",
        ),
        Rule(
            "CG-SESSION-EXPIRED-RELEASED",
            when(subject=Subject.RELEASED),
            GONE,
            source=src.KIP_TIMERS,
            because=(
                "nobody returned within the session, which began with the last heartbeat before "
                "the release"
            ),
        ),
    ),
)

REBALANCE = Table(
    "rebalance timeout",
    (SUBJECT,),
    (),
    (
        Rule(
            "CG-REBALANCE-EXPIRED",
            when(subject=Subject.LIVE),
            GONE,
            level=Level.SHOULD,
            source=src.KIP_TIMERS,
            because="a member that doesn't give up its partitions within its R is removed",
        ),
        Rule(
            "CG-REBALANCE-EXPIRED-RELEASED",
            when(subject=Subject.RELEASED),
            GONE,
            level=Level.MAY,
            source=src.KAFKA_20641,
            because=(
                "a failover found that the released member had partitions to revoke, so its R began"
            ),
        ),
    ),
)

FAILOVER = Table(
    "failover",
    (STORED,),
    (),
    (
        Rule(
            "CG-FAILOVER-NOTHING",
            when(stored=Stored.NOTHING),
            (Do.FORGET,),
            level=Level.SHOULD,
            source=src.KAFKA_FAILOVER,
            because="nothing was stored",
        ),
        Rule(
            "CG-FAILOVER-GROUP",
            when(stored=Stored.GROUP),
            (Do.RELOAD,),
            level=Level.SHOULD,
            source=f"{src.KAFKA_FAILOVER}; {src.KAFKA_20641}",
            because=(
                "members, instances, epochs and the target are as they were stored, and a released "
                "member gains a full session"
            ),
        ),
    ),
)
"""Effect of a failover: each change is written before it is answered, so only timers are lost."""

CLEANUP = Table(
    "cleanup",
    (),
    (),
    (
        Rule(
            "CG-CLEANUP-UNUSED",
            ALWAYS,
            (Do.FORGET,),
            level=Level.MAY,
            source=src.KAFKA_CLEANUP,
            because="the cleaner removes a group without members and offsets",
        ),
    ),
)
"""Effect of the cleaner on an unused group: see `Machine.cleaned`."""
