"""A broker that applications run against: records, a history, provocations, an administrator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fencepost.conformance.serve.history import History
from fencepost.conformance.serve.provocation import Provocation


class Recorded(Protocol):
    """What is the same for a served model and for a real Kafka behind a proxy."""

    @property
    def bootstrap(self) -> str:
        """`HOST:PORT` of its first node."""
        ...

    @property
    def history(self) -> History:
        """What happened so far; it grows."""
        ...

    async def create_topics(self, topics: Mapping[str, int]) -> None:
        """Make topics, by name and number of partitions; those that exist stay as they are."""
        ...

    async def produce(self, topic: str, partition: int, count: int) -> None:
        """Append so many small records of our own, in one batch."""
        ...

    async def remove(self, group: str, instance: str) -> int:
        """Remove a static member, as an administrator does; the error code, 0 if it was removed."""
        ...


class Provocable(Recorded, Protocol):
    """What only a served model does."""

    def provoke(self, *provocations: Provocation) -> None:
        """Provoke the requests that fit, counted from now on."""
        ...

    def relent(self) -> None:
        """Drop all provocations."""
        ...

    async def fence(self, group: str, instance: str) -> int:
        """Let another process join with this instance id, once; the error code of its answer.

        It syncs and falls silent.
        """
        ...

    async def expire(self, group: str, member: str) -> bool:
        """End a session now; `member` is a member id or an instance id.  False: no such member."""
        ...

    async def move_coordinator(self, group: str, node: int | None = None) -> int:
        """Fail over to another node (None: the next one); the node that it is now.

        What is parked is told NOT_COORDINATOR, groups are as they were stored.  With one node it
        comes back to the same one.
        """
        ...

    async def load(self, group: str, ms: int) -> None:
        """For so long, requests about the group are told COORDINATOR_LOAD_IN_PROGRESS."""
        ...

    async def not_available(self, group: str, ms: int) -> None:
        """For so long, they are told COORDINATOR_NOT_AVAILABLE, and so is who looks for it."""
        ...

    async def restart(self, *, as_of: str | None = None, down_ms: int = 0) -> None:
        """Cut all connections, and refuse new ones for so long; groups are as they were stored.

        `as_of`: the release that it is of from then on, such as 2.2 (a downgrade).
        """
        ...
