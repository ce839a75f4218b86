"""Describe mixed groups as a protocol: both protocols, and what classic members do in the other."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from fencepost.model.bridge import handlers
from fencepost.model.bridge.conversion import OWED
from fencepost.model.bridge.effects import STEPS
from fencepost.model.bridge.mixed_work import EFFECTS
from fencepost.model.bridge.vocabulary import COLUMNS
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.coordinator import Config
from fencepost.model.protocol import Protocol
from fencepost.model.revision import Revision
from fencepost.model.work import Effect


def _effects(config: Config, revision: Revision) -> Mapping[Enum, Effect]:
    return {**CONSUMER.effects(config, revision), **EFFECTS}


MIXED: Protocol[Any, Any] = Protocol(
    name="mixed",
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
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
    ),
    columns=COLUMNS,
    steps=STEPS,
    work=handlers.work_on,
    effects=_effects,
    handlers=handlers.HANDLERS,
    timers=dict.fromkeys((*CLASSIC.timers, *CONSUMER.timers, *OWED.values()), handlers.expire),
    failover=handlers.fail_over,
    operations={},
    is_unused=handlers.is_unused,
    retentions=handlers.retentions,
    settings=CONSUMER.settings,
    takes_topics=True,
    open_effects=CONSUMER.open_effects,
    elsewhere="groups without classic members are judged by --revision consumer, and those without "
    "consumers by the classic revision",
)
