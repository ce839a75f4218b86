"""What a case's view of a broker needs of its target: one broker, or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from fencepost.conformance.targets.tcp.address import Address
from fencepost.conformance.targets.tcp.broker_connection import ConnectionPool
from fencepost.conformance.targets.tcp.cluster_admin import Admin
from fencepost.conformance.targets.tcp.namespacing import Names
from fencepost.model.coordinator import AsyncCoordinator, Hello


class Cluster(Protocol):
    """The broker, or the brokers, behind a scope."""

    admin: Admin
    lines: ConnectionPool
    settings: dict[str, int | None]
    anchor: Address
    is_alone: bool
    may_refuse: bool

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """When it was down on purpose."""
        ...

    def scope(self, label: str) -> AbstractAsyncContextManager[AsyncCoordinator]:
        """Another scope."""
        ...

    def describe(self) -> Hello:
        """What the broker can do."""
        ...

    def new_names(self) -> Names:
        """Names that nobody had before."""
        ...

    def made(self, group_id: str, at: Address) -> None:
        """Note a group that must be removed in the end."""
        ...

    @property
    def keeps_connections(self) -> bool:
        """Whether connections outlive a failover."""
        ...

    async def make_topic(self, name: str) -> None:
        """Make a topic of one case, unless that was done before.  Raises CoordinatorFailure."""
        ...

    async def delete_topic(self, name: str) -> None:
        """Delete such a topic, until no broker knows it.  Raises CoordinatorFailure."""
        ...

    async def restart(self, hang_up: Callable[[], None]) -> float:
        """Let the broker fail over; `hang_up` is called just before.

        When it had ended, in seconds of the monotonic clock.
        """
        ...
