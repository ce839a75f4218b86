"""Define the base revision: `kafka-4`, a correct current coordinator."""

from __future__ import annotations

from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.classic.rules import (
    describe_list,
    heartbeat,
    join,
    leave,
    offsets,
    sync,
    timers,
)
from fencepost.model.classic.rules.rule_sources import BINDING
from fencepost.model.revision import Revision

_TABLES = {
    table.name: table
    for table in (
        join.TABLE,
        sync.TABLE,
        heartbeat.TABLE,
        leave.TABLE,
        leave.MEMBER_TABLE,
        offsets.COMMIT,
        offsets.TXN_COMMIT,
        offsets.FETCH,
        offsets.DELETE_OFFSETS,
        describe_list.DESCRIBE,
        describe_list.LIST,
        describe_list.DELETE,
        timers.SESSION,
        timers.JOIN_PHASE,
        timers.SYNC_PHASE,
        timers.FAILOVER,
        *timers.OPERATED_TABLES,
        timers.CLEANUP,
        timers.RETENTION,
    )
}


def versions(*pairs: tuple[int, int]) -> dict[str, tuple[int, int]]:
    """Return version ranges by API, in the order of the protocol's APIs."""
    return dict(zip(CLASSIC.apis, pairs, strict=True))


KAFKA_4 = Revision(
    "kafka-4",
    "what a correct current coordinator does",
    CLASSIC,
    _TABLES,
    versions(
        (0, 9), (0, 5), (0, 4), (0, 5), (2, 9), (1, 9), (0, 6), (0, 5), (0, 2), (0, 5), (0, 0)
    ),
    binding=BINDING,
)

RULES = {rule.id: rule for _, rule in KAFKA_4.rules()}
"""The base's rules by id, for revisions to change."""
