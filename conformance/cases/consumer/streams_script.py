"""Write cases of streams groups: threads of Kafka Streams join, heartbeat, are released and leave.

A thread is a member, named as in all cases.  Its heartbeats say what it was told last, unless a
call gives a field.
"""

from __future__ import annotations

from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.consumer.consumer_script import ConsumerScript
from fencepost.conformance.cases.script import AUTO
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL
from fencepost.model.messages.streams_messages import KeyValue, Subtopology, TaskIds, Topology
from fencepost.model.plans.steps import EpochOf, Ms, OwnedOf, instance_of

PROCESS, OTHER_PROCESS = "p1", "p2"


def topology(epoch: int = 0, **sources: str) -> Topology:
    """Return a topology: each subtopology with its source topic."""
    parts = (
        Subtopology(subtopology_id=name.removeprefix("s"), source_topics=(topic,))
        for name, topic in sources.items()
    )
    return Topology(epoch=epoch, subtopologies=tuple(parts))


ONE_PART = topology(s0="t")


def tasks(*numbers: int, part: str = "0") -> tuple[TaskIds, ...]:
    """Return tasks of one subtopology."""
    return (TaskIds(subtopology_id=part, partitions=numbers),)


def tags(**pairs: str) -> tuple[KeyValue, ...]:
    """Return tags of a client."""
    return tuple(KeyValue(key=key, value=value) for key, value in pairs.items())


class StreamsScript(ConsumerScript):
    """The steps of one case of streams groups."""

    def join(
        self,
        *who: str,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        topology: Topology | None = ONE_PART,
        process: str | None = PROCESS,
        rebalance: Any = AUTO,
        group: str = "g",
        **fields: Any,
    ) -> None:
        """Send a join for each, with epoch 0; `fields`: of `ask` and of the request."""
        for name in who:
            says: dict[str, Any] = {
                "group_id": group,
                "member_id": name if member_id is AUTO else member_id,
                "member_epoch": 0,
                "topology": topology,
                "process_id": process,
                "active_tasks": (),
                "standby_tasks": (),
                "warmup_tasks": (),
                "rebalance_timeout_ms": Ms("rebalance") if rebalance is AUTO else rebalance,
            }
            self._tell(name, instance, {**says, **fields})

    def beat(
        self,
        *who: str,
        member_id: Any = AUTO,
        instance: Any = AUTO,
        epoch: Any = AUTO,
        owns: Any = AUTO,
        group: str = "g",
        **fields: Any,
    ) -> None:
        """Send a heartbeat for each; `owns`: its active tasks, None: it says nothing of tasks."""
        for name in who:
            others = None if owns is None else ()
            says = {
                "group_id": group,
                "member_id": name if member_id is AUTO else member_id,
                "member_epoch": EpochOf(name) if epoch is AUTO else epoch,
                "active_tasks": OwnedOf(name) if owns is AUTO else owns,
                "standby_tasks": others,
                "warmup_tasks": others,
            }
            self._tell(name, instance, {**says, **fields})

    def _tell(self, who: str, instance: Any, says: dict[str, Any]) -> None:
        mine = instance_of(who) if instance is AUTO else instance
        fields = {**says, "instance_id": mine} if mine is not None else dict(says)
        self.ask(who, "StreamsGroupHeartbeat", version=0, **fields)


def registry(**settings: int) -> Registry:
    """Return a registry for cases of streams groups: new targets are made at once.

    `settings`: further ones.
    """
    return Registry(StreamsScript, settings={ASSIGNMENT_INTERVAL: 0, **settings})
