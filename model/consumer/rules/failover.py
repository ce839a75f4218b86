"""Rules of a failover: another coordinator loads the group.

Each change is written before it is answered, so nothing is lost but timers.
"""

from __future__ import annotations

from fencepost.model.consumer.cells import when
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.rules import rule_sources as src
from fencepost.model.consumer.vocabulary import STORED, Stored
from fencepost.model.table.table import Level, Rule, Table

TABLE = Table(
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
