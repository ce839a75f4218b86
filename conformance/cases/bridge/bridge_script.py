"""Write cases of mixed groups: members of both protocols in one group, by name.

Members of the consumer protocol have the calls of `ConsumerScript`, members of the classic one
those of `Script`, as `classic`.  Where a leader assigns, the members share the partitions of the
topic t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from fencepost.conformance.cases.consumer.consumer_script import ALL, ConsumerScript
from fencepost.conformance.cases.script import CASE_PARTITIONS, Script, SetUp
from fencepost.model.coordinator import MIGRATION_POLICY, NAMED_VALUES, Config
from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from fencepost.model.plans.plan_order import DELAY
from fencepost.model.plans.steps import IdOf

Protocols = tuple[tuple[str, bytes], ...]


def policy(name: str) -> dict[str, int]:
    """Return the setting of a migration policy."""
    return {MIGRATION_POLICY: NAMED_VALUES[MIGRATION_POLICY].index(name)}


def owning(
    *numbers: int, topics: Sequence[str] = ("t",), user_data: bytes | None = None
) -> Protocols:
    """Return the protocols of a join that owns these partitions of topic t.

    It names no generation, so a coordinator takes its partitions in any epoch.
    """
    owned = tuple(TopicPartition("t", number) for number in numbers)
    subscription = Subscription(tuple(topics), owned, user_data=user_data)
    return (("range", encode_subscription(subscription, version=1)),)


HOLDING_ALL = owning(*ALL)
"""The protocols of a join that owns all partitions of topic t."""


class ClassicScript(Script):
    """The steps of members of the classic protocol; `user_data`: of the leader's assignments."""

    user_data: bytes | None = None

    def _assigned(self, members: tuple[str, ...], padding: int) -> tuple[tuple[Any, bytes], ...]:
        """Return a share of topic t for each member."""
        del padding
        share = CASE_PARTITIONS // max(len(members), 1)
        rows = []
        for place, member in enumerate(members):
            numbers = range(share * place, share * (place + 1))
            partitions = (TopicPartition("t", number) for number in numbers)
            rows.append((IdOf(member), encode_assignment(partitions, user_data=self.user_data)))
        return tuple(rows)

    def joined(self, *who: str, **join: Any) -> None:
        """Send JoinGroup and, with its answer, SyncGroup for each; both are answered at once."""
        for name in who:
            self.join(name, wait=True, **join)
            self.sync(name, wait=True)


class BridgeScript(ConsumerScript):
    """The steps of one case of mixed groups."""

    SETTINGS: ClassVar[Config] = {**ConsumerScript.SETTINGS, DELAY: 0}
    """The settings for cases of this class: a coordinator delays nothing."""

    def __init__(self, *, delayed: bool, way: SetUp | None = None) -> None:
        super().__init__(delayed=delayed, way=way)
        self.classic = ClassicScript(delayed=delayed, way=way)
        self.classic.steps, self.classic.set_up = self.steps, self.set_up

    def upgraded(self, **join: Any) -> None:
        """Make a classic group of A1 and B1; A2 of the consumer protocol takes A1's place.

        `join`: fields of A1's and B1's joins.
        """
        self.classic.stable("A1", "B1", **join)
        self.join("A2")

    def mixed(self, **join: Any) -> None:
        """Make a consumer group of A1 and B1; A2 of the classic protocol takes A1's place.

        `join`: fields of A2's join.
        """
        self.reconciled("A1", "B1")
        self.classic.joined("A2", **join)
