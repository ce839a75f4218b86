"""Write cases of streams groups: threads of Kafka Streams join, heartbeat, are released and leave.

A thread is a member, named as in all cases.  Its heartbeats have the epoch and the tasks of its
last answer, unless a call has a field.
"""

from __future__ import annotations

from typing import Any

from fencepost.conformance.cases.consumer.consumer_script import ConsumerScript, sender
from fencepost.conformance.cases.script import AUTO
from fencepost.model.messages.streams_messages import KeyValue, Subtopology, TaskIds, Topology
from fencepost.model.plans.steps import Ms, OwnedOf

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

    HEARTBEAT = "StreamsGroupHeartbeat"

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
                **sender(name, group, member_id, 0),
                "topology": topology,
                "process_id": process,
                "active_tasks": (),
                "standby_tasks": (),
                "warmup_tasks": (),
                "rebalance_timeout_ms": Ms("rebalance") if rebalance is AUTO else rebalance,
            }
            self._heartbeat(name, instance, 0, {**says, **fields})

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
                **sender(name, group, member_id, epoch),
                "active_tasks": OwnedOf(name) if owns is AUTO else owns,
                "standby_tasks": others,
                "warmup_tasks": others,
            }
            self._heartbeat(name, instance, 0, {**says, **fields})

    def describe(self, *groups: str) -> None:  # type: ignore[override]
        """Send StreamsGroupDescribe from a connection of its own."""
        self.ask("admin", "StreamsGroupDescribe", group_ids=groups or ("g",))
