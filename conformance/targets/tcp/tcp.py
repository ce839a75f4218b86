"""`tcp://HOST:PORT`: a broker that somebody else started.

It is ready when it reports its versions and names a coordinator.  Its settings are what the user
says, else what the broker reports, else Kafka's defaults.  The advertised versions are tried.  In
the end the groups and the topic of this run are removed; their names are unique.

Source: protocol.md section 9; cli.md, "Targets"; Kafka's protocol guide (offsets in ZooKeeper).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target import Hints, Target
from fencepost.conformance.targets.tcp.address import Address, AddressError, parse_address
from fencepost.conformance.targets.tcp.broker_connection import ConnectionPool
from fencepost.conformance.targets.tcp.cluster_admin import DEADLINES, Admin, AdminError, Deadlines
from fencepost.conformance.targets.tcp.failovers import Failovers
from fencepost.conformance.targets.tcp.namespacing import PREFIX, Names
from fencepost.conformance.targets.tcp.security import PLAINTEXT, Security
from fencepost.conformance.targets.tcp.tcp_coordinator import TcpScope
from fencepost.conformance.targets.tcp.version_probe import Findings, probe, working_ranges
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    AsyncCoordinator,
    CoordinatorFailure,
    Hello,
    Provenance,
    UnsupportedError,
)
from fencepost.model.messages.messages import APIS

_BATCH = 100
_LOOKS_S = (0.0, 0.3, 1.0)
"""The pauses before each look for what a run left that was cut short; any run has the first."""
_OF_GROUPS_SINCE = {"OffsetCommit": 1, "OffsetFetch": 1}
"""Version 0 means offsets in ZooKeeper: no group is asked, and a Kafka without one refuses it."""


_UNTOLD = {"offsets.retention.check.interval.ms": 600_000}
"""What somebody else's broker may do, unless it tells otherwise: Kafka's default."""


class TcpTarget(Target):
    """A broker on a port.

    `settings`: the group settings that the user knows better than the broker tells.
    `probe`: whether to try each advertised version at entry; otherwise all of them count as
    working, unless `working` says otherwise.
    `failovers`: how a broker of ours is restarted, for all scopes at once; `features` says that a
    case can have one, here or on another broker of the same target.
    `temporary`: the broker is thrown away afterwards, so nothing is cleaned up.
    `security`: what each connection begins with.
    """

    hints = Hints()

    def __init__(
        self,
        address: str,
        *,
        remote: bool = False,
        name: str | None = None,
        settings: Mapping[str, int | None] | None = None,
        implementation: str | None = None,
        version: str = "unknown",
        deadlines: Deadlines = DEADLINES,
        probe: bool = True,
        working: Mapping[str, tuple[int, int]] | None = None,
        capacity: int = 8,
        features: frozenset[str] = frozenset({"disconnect", "missing-topics", "delete-topics"}),
        failovers: Failovers | None = None,
        temporary: bool = False,
        is_brief: bool = False,
        security: Security = PLAINTEXT,
    ) -> None:
        if unknown := sorted(set(settings or {}) - set(CONFIG_DEFAULTS)):
            known = ", ".join(CONFIG_DEFAULTS)
            raise AddressError(f"{unknown[0]!r} is no group setting; there are {known}")
        self.address = parse_address(address)
        self.name = name or f"tcp://{self.address}"
        self.capacity = capacity
        self.deadlines = deadlines
        self.admin = Admin(self.address, remote=remote, deadlines=deadlines, security=security)
        self.settings: dict[str, int | None] = dict(CONFIG_DEFAULTS)
        if not temporary:
            self.settings |= _UNTOLD
        self.settings_source: dict[str, str] = dict.fromkeys(CONFIG_DEFAULTS, "default")
        """Where each setting is from: `describe-configs`, `option` or `default` (unknown)."""
        self.anchor = self.address
        """The broker to ask about no group in particular."""
        self.is_brief = is_brief
        """Whether it was started for one scope, and ends with it."""
        self.is_alone = False
        """Whether it is the only broker, so that it coordinates all groups."""
        self.lines = ConnectionPool()
        self.working: dict[str, tuple[int, int]] = {}
        self.broken: dict[str, dict[int, str]] = {}
        """What is advertised but broken: API → version → why."""
        self.run = secrets.token_hex(4)
        self.topic = f"{PREFIX}{self.run}-topic"
        self.topic_problem: str | None = None
        """Why there is no topic to commit offsets for, if there is none."""
        self._options = dict(settings or {})
        self._implementation = implementation or f"the broker at {self.address}"
        self._version = version
        self._probe = probe
        self._given_working = working
        self._controller: Address | None = None
        self._features = features
        self._failovers = failovers
        self._temporary = temporary
        self.may_refuse = not temporary
        """Whether there may be rules of access, so that a refusal is no fault of the protocol."""
        self._topics: dict[str, asyncio.Future[None]] = {}
        """Topics of ours, which may exist: each is made once."""
        self._numbers = itertools.count(1)
        self._groups: dict[str, Address] = {}

    @property
    def advertised(self) -> dict[str, tuple[int, int]]:
        """The versions that the broker says it speaks, of what the model knows of groups."""
        told = self.admin.advertised
        both = {
            name: (
                max(api.lowest, told[name][0], _OF_GROUPS_SINCE.get(name, 0)),
                min(api.highest, told[name][1]),
            )
            for name, api in APIS.items()
            if name in told
        }
        return {name: bounds for name, bounds in both.items() if bounds[0] <= bounds[1]}

    async def __aenter__(self) -> Self:
        """Reach it.  Raises TargetUnavailableError; AddressError for one that needs `--remote`."""
        try:
            await self.admin.open()
            self.anchor = await self.admin.find_coordinator(f"{PREFIX}{self.run}")
            await self.admin.door(self.anchor)
            await self._learn_settings()
            await self._learn_versions()
            await self._make_topic()
        except BaseException as error:
            with contextlib.suppress(Exception):
                await self._clean_up()
            if isinstance(error, AdminError | OSError):
                raise TargetUnavailableError(f"{error}.") from error
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove what this run left on the broker, as far as the broker lets it, within seconds."""
        self.lines.close()
        if not self._temporary:
            await self._clean_up(cut_short=kind is not None)

    async def _learn_settings(self) -> None:
        told = await self._told_settings()
        for source, known in (("describe-configs", told), ("option", self._options)):
            self.settings.update(known)
            self.settings_source.update(dict.fromkeys(known, source))

    async def _told_settings(self) -> dict[str, int | None]:
        """What the brokers tell.  Raises TargetUnavailableError where they don't agree."""
        brokers: dict[int, Address] = {}
        with contextlib.suppress(AdminError):
            brokers = await self.admin.brokers()
        self._controller = brokers.pop(-1, None)
        self.is_alone = list(brokers.values()) == [self.anchor]
        told: dict[str, int | None] = {}
        by: dict[str, int] = {}
        for node_id, address in brokers.items():
            settings: dict[str, int | None] = {}
            with contextlib.suppress(AdminError):
                settings = await self.admin.group_settings(node_id, address)
            for key, value in settings.items():
                if told.setdefault(key, value) != value and key not in self._options:
                    raise TargetUnavailableError(
                        f"{key} is {told[key]} at broker {by[key]} and {value} at {node_id}: give "
                        "all brokers the same settings, for each has some of the groups"
                    )
                by.setdefault(key, node_id)
        return told

    async def _learn_versions(self) -> None:
        if not self._probe:
            self.working = dict(self._given_working or self.advertised)
            return
        found = await self.probe_versions()
        if not self._temporary:
            await self.admin.check_deletion(f"{PREFIX}{self.run}", self.anchor)
        self.working = working_ranges(found)
        self.broken = {
            api: {v: why for v, why in versions.items() if why is not None}
            for api, versions in found.items()
            if any(why is not None for why in versions.values())
        }

    async def probe_versions(self) -> Findings:
        """Try every advertised version; API → version → why it is broken, or None.

        Raises AccessError.
        """
        door = await self.admin.door(self.anchor)
        prefix = f"{PREFIX}{self.run}-probe-"
        return await probe(
            door,
            self.advertised,
            prefix,
            join_s=self.deadlines.probe_s,
            answer_s=self.deadlines.answer_s,
        )

    async def _make_topic(self) -> None:
        if "OffsetCommit" not in self.working:
            return
        try:
            await self._made_once(self.topic)
        except AdminError as error:
            self.topic_problem = f"{error}."

    async def _made_once(self, topic: str) -> None:
        if topic not in self._topics:  # from here on it may exist, whatever the answer
            made = self.admin.create_topic(topic, self._controller)
            self._topics[topic] = asyncio.ensure_future(made)
        await asyncio.shield(self._topics[topic])

    async def make_topic(self, name: str) -> None:
        """Make a topic of one case, unless that was done before.  Raises CoordinatorFailure."""
        try:
            await self._made_once(name)
        except AdminError as error:
            raise CoordinatorFailure(f"{error}.") from error

    async def delete_topic(self, name: str) -> None:
        """Delete such a topic, until no broker knows it.  Raises CoordinatorFailure."""
        try:
            await self._made_once(name)  # else it could not be told from one that was deleted
            await self.admin.delete_topic(name, self._controller)
            await self.admin.forgotten(name)
        except AdminError as error:
            raise CoordinatorFailure(f"{error}.") from error

    def describe(self) -> Hello:
        """What each scope says of itself."""
        features = self._features
        if not {"CreateTopics", "DeleteTopics"} <= self.admin.advertised.keys():
            features -= {"delete-topics"}
        return Hello(self._implementation, self._version, "real", dict(self.working), features)

    def new_names(self) -> Names:
        """A prefix for one life of a scope."""
        return Names(f"{PREFIX}{self.run}-{next(self._numbers)}-", self.topic)

    def made(self, group_id: str, at: Address) -> None:
        """Note a group of ours and its coordinator."""
        self._groups[group_id] = at

    def provenance(self) -> Provenance:
        """The name as given and what is known of the broker."""
        return Provenance(self.name, self._implementation, self._version, str(self.address))

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Group names and connections of its own; nothing isolates more, in one broker.

        Raises CoordinatorFailure where the broker did not come back from a restart before.
        """
        del label, isolated
        async with AsyncExitStack() as stack:
            if restarts and self._failovers is not None:
                with _back_from_a_restart():
                    await stack.enter_async_context(self._failovers.taking_part())
            scope = TcpScope(self)
            stack.push_async_callback(scope.close)
            yield scope

    @property
    def outages(self) -> Sequence[tuple[float, float]]:
        """When it was down on purpose, in seconds of the monotonic clock."""
        return () if self._failovers is None else self._failovers.outages

    @property
    def keeps_connections(self) -> bool:
        """Whether connections outlive a failover."""
        return self._failovers is not None and self._failovers.keeps_connections

    async def restart(self, hang_up: Callable[[], None]) -> float:
        """Let the broker fail over, together with all scopes that want it; when it had ended.

        Raises UnsupportedError for a broker that is not ours, CoordinatorFailure for one that does
        not come back.
        """
        if self._failovers is None:
            raise UnsupportedError("restart: this broker was not started by fencepost")
        with _back_from_a_restart():
            return await self._failovers.wait(hang_up)

    async def _clean_up(self, *, cut_short: bool = False) -> None:
        """Best effort.  A group whose members are still being rebalanced is tried again."""
        with contextlib.suppress(TimeoutError, AddressError):
            async with asyncio.timeout(self.deadlines.cleanup_s):
                await self._remove_groups(_LOOKS_S if cut_short else _LOOKS_S[:1])
        if "DeleteTopics" in self.admin.advertised:
            with contextlib.suppress(TimeoutError, AddressError, AdminError):
                async with asyncio.timeout(self.deadlines.cleanup_s):
                    for topic in self._topics:
                        await self.admin.delete_topic(topic, self._controller)

    async def _remove_groups(self, looks_s: Sequence[float]) -> None:
        if "DeleteGroups" not in self.admin.advertised:
            return
        left: dict[Address, list[str]] = {}
        for group_id, at in self._groups.items():
            left.setdefault(at, []).append(group_id)
        brokers = list(left)
        await self._remove(left)
        # What was on its way when a run was cut short may make a group only now.
        for pause_s in looks_s:
            await asyncio.sleep(pause_s)
            again = {at: await self._groups_at(at) for at in brokers}
            await self._remove({at: group_ids for at, group_ids in again.items() if group_ids})

    async def _groups_at(self, at: Address) -> list[str]:
        with contextlib.suppress(AdminError):
            return await self.admin.groups(f"{PREFIX}{self.run}", at)
        return []

    async def _remove(self, left: dict[Address, list[str]]) -> None:
        """Remove groups from their coordinators, until none is left or no broker lets us."""
        while left:
            for at, group_ids in list(left.items()):
                batch, rest = group_ids[:_BATCH], group_ids[_BATCH:]
                try:
                    stay = await self.admin.remove_groups(batch, at)
                except AdminError:
                    stay, rest = [], []  # this broker is gone, or can't do it
                left[at] = rest + stay
                if not left[at]:
                    del left[at]
            await asyncio.sleep(0.05 if left else 0)


@contextlib.contextmanager
def _back_from_a_restart() -> Iterator[None]:
    """Raises CoordinatorFailure where a broker does not come back."""
    try:
        yield
    except TargetUnavailableError as error:
        raise CoordinatorFailure(f"after a restart: {error}") from error
