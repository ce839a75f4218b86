"""Describe the consumer protocol: ConsumerGroupHeartbeat, with static members (KIP-848)."""

from __future__ import annotations

from fencepost.model.consumer import handlers
from fencepost.model.consumer.cells import COLUMNS
from fencepost.model.consumer.consumer_work import ConsumerWork
from fencepost.model.consumer.effect_needs import STEPS
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.consumer.perform import effects_with
from fencepost.model.consumer.settings import SETTINGS
from fencepost.model.protocol import Protocol

CONSUMER: Protocol[ConsumerGroup, ConsumerWork] = Protocol(
    name="consumer",
    apis=(
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
        "LeaveGroup",
        "DescribeGroups",
        "ListGroups",
        "DeleteGroups",
        "OffsetCommit",
        "OffsetFetch",
        "TxnOffsetCommit",
        "OffsetDelete",
    ),
    columns=COLUMNS,
    steps=STEPS,
    work=ConsumerWork,
    effects=lambda config, _: effects_with(config),
    open_effects=lambda config: effects_with(config, leaves_open=True),
    handlers=handlers.HANDLERS,
    timers=handlers.TIMERS,
    failover=handlers.fail_over,
    operations={},
    is_unused=handlers.is_unused,
    settings=SETTINGS,
    takes_topics=True,
)
