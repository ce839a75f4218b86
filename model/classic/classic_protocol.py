"""Describe the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, with KIP-345."""

from __future__ import annotations

from fencepost.model.classic import handlers
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effect_needs import STEPS
from fencepost.model.classic.group import Group
from fencepost.model.classic.perform import effects_with
from fencepost.model.protocol import Protocol

CLASSIC: Protocol[Group, ClassicWork] = Protocol(
    name="classic",
    apis=(
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetFetch",
        "DescribeGroups",
        "ListGroups",
        "DeleteGroups",
        "TxnOffsetCommit",
        "OffsetDelete",
    ),
    columns=COLUMNS,
    steps=STEPS,
    work=ClassicWork,
    effects=lambda config, revision: effects_with(config, revision.target_size),
    handlers=handlers.HANDLERS,
    timers=handlers.TIMERS,
    failover=handlers.fail_over,
    operations=handlers.OPERATIONS,
    is_unused=handlers.is_unused,
    retentions=handlers.retentions,
    writes=handlers.WRITES,
)
