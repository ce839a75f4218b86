"""Test a broker that somebody else started: `tcp://HOST:PORT`.

It is ready when it reports its versions and names a coordinator.  Its settings are those of the
user's options, else those that the broker reports, else those that can be measured, else Kafka's
defaults.  In the end the groups
and the topic of this run are removed; their names are unique.

`Failovers`: one restart of a broker for all cases that wait for one.  A shared broker is restarted
when every open scope waits for it.  The restart waits for a case that has not come to its failover
yet, or has gone on after one.  A case that begins while the broker is down waits until it is up.

Source: protocol.md section 9; cli.md, "Targets"; Kafka's protocol guide (offsets in ZooKeeper);
librdkafka's mock cluster advertises versions that it can't speak (targets.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

from fencepost.conformance.runtime.event_loop import STAGGER_S, cancel_all, shared_task
from fencepost.conformance.runtime.unavailable import TargetUnavailableError
from fencepost.conformance.targets.target import HelperFailedError, Hints, Target
from fencepost.conformance.targets.tcp.broker_connection import (
    ConnectionPool,
)
from fencepost.conformance.targets.tcp.cluster_admin import (
    CONSUMER_BEAT,
    DEADLINES,
    PARTITIONS,
    AccessError,
    Admin,
    AdminError,
    Deadlines,
    RefusedError,
    UnreadableError,
)
from fencepost.conformance.targets.tcp.measured_settings import (
    MEASURABLE,
    measured,
    measured_session,
)
from fencepost.conformance.targets.tcp.namespacing import PREFIX, Names
from fencepost.conformance.targets.tcp.security import (
    PLAINTEXT,
    Address,
    AddressError,
    Security,
    parse_address,
)
from fencepost.conformance.targets.tcp.tcp_coordinator import TcpScope
from fencepost.conformance.targets.tcp.transactions import (
    COMMIT,
    Transaction,
    Transactions,
    offers_transactions,
)
from fencepost.conformance.targets.tcp.version_probe import Findings, probe, working_ranges
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL, BROKER_SETTINGS, SETTINGS
from fencepost.model.coordinator import (
    CONFIG_DEFAULTS,
    TOPICS,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Hello,
    Provenance,
    UnsupportedError,
    named,
)
from fencepost.model.coordinator import PARTITIONS as PARTITIONS_OF_TOPICS
from fencepost.model.messages.draft_messages import ALL_APIS

HangUp = Callable[[], None]
_QUIET_S = 0.5
"""Cases begin one after the other; a failover waits for those that are just about to."""


class Failovers:
    """Counts the scopes of a broker.

    `end`: ends it, or makes it resign; `start`: starts it again, or waits for the next one.  Their
    exceptions go to all waiting scopes; a scope that begins later waits for `start` once more, so
    that none meets a broker that isn't ready.  `keeps_connections`: the old coordinator keeps
    running, and still answers what it had parked.
    """

    def __init__(
        self,
        end: Callable[[], Awaitable[None]],
        start: Callable[[], Awaitable[None]],
        quiet_s: float = _QUIET_S,
        *,
        keeps_connections: bool = False,
    ) -> None:
        self.keeps_connections = keeps_connections
        self._end_broker = end
        self._start_broker = start
        self._quiet_s = quiet_s
        self._open = 0
        self._waiting: list[tuple[HangUp, asyncio.Future[float]]] = []
        self._up = asyncio.Event()
        self._up.set()
        self._changed = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._mending = asyncio.Lock()
        self._is_lost = False
        self._gone: Exception | None = None
        self.count = 0
        self.outages: list[tuple[float, float]] = []
        """Times when the broker was down, in s of the monotonic clock; one that lasts has no
        end."""

    @asynccontextmanager
    async def taking_part(self) -> AsyncIterator[None]:
        """Yield a scope, from its first request to its last.  Raises the exceptions of `start`."""
        await self._up.wait()
        await self._mend()
        self._open += 1
        self._look_soon()
        try:
            yield
        finally:
            self._open -= 1
            self._look_soon()

    async def wait(self, hang_up: HangUp) -> float:
        """Take part in the next failover; `hang_up` is called when it begins.

        Returns the time of the broker's end, in seconds of the monotonic clock.
        """
        done: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        entry = (hang_up, done)
        self._waiting.append(entry)
        self._look_soon()
        try:
            return await done
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    async def close(self) -> None:
        """Give up; all waits are cancelled."""
        await cancel_all(list(self._tasks))
        for _, done in self._waiting:
            done.cancel()

    async def _mend(self) -> None:
        """Wait once more for a broker that did not come back; after that, it is gone."""
        async with self._mending:
            if self._gone is not None:
                raise self._gone
            if not self._is_lost:
                return
            try:
                await self._start_broker()
            except Exception as error:
                self._gone = error
                raise
            self._is_lost = False

    def _look_soon(self) -> None:
        self._changed += 1
        task = asyncio.create_task(self._look(self._changed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, changed: int) -> None:
        """Restart if all wait and nothing changed for a while."""
        await asyncio.sleep(self._quiet_s)
        if changed != self._changed or not self._up.is_set():
            return
        if not self._waiting or len(self._waiting) < self._open:
            return
        batch, self._waiting = self._waiting, []
        self._up.clear()
        for hang_up, _ in batch:
            hang_up()
        result: float | Exception
        down = time.monotonic()
        self.outages.append((down, math.inf))
        try:
            await self._end_broker()
            result = time.monotonic()
            await self._start_broker()
        except Exception as error:  # noqa: BLE001  (each of those that wait gets it)
            result = error
        self.outages[-1] = (down, time.monotonic())
        self._is_lost = isinstance(result, Exception)
        self.count += 1
        self._up.set()
        try:
            for _, done in batch:
                if done.done():
                    continue
                if isinstance(result, Exception):
                    done.set_exception(result)
                else:
                    done.set_result(result)
                    await asyncio.sleep(STAGGER_S)
        finally:
            for _, done in batch:
                done.cancel()


_BATCH = 100
_LOOKS_S = (0.0, 0.3, 1.0)
"""The pauses before each look for leftovers of a run that was cut short; any run has the first."""
_OF_GROUPS_SINCE = {"OffsetCommit": 1, "OffsetFetch": 1}
"""Version 0 means offsets in ZooKeeper: no group is asked, and a Kafka without one refuses it."""


_OF_CONSUMERS = {
    key: value
    for key, value in {**SETTINGS, ASSIGNMENT_INTERVAL: 0}.items()
    if key != PARTITIONS_OF_TOPICS
}
"""Settings of the consumer protocol, with Kafka's defaults; one without the interval, as Kafka
before 4.3, makes targets at once."""
_UNREPORTED = {"offsets.retention.check.interval.ms": 600_000}
"""Kafka's default, assumed of somebody else's broker unless it reports another value."""


class TcpTarget(Target):
    """A broker on a port.

    `settings`: group settings that override those the broker reports.  `probe`: True to try each
    advertised version at entry; otherwise all of them count as working, unless `working` says
    otherwise.  `measures`: measure the settings that somebody else's broker does not report.
    `failovers`: restarts a broker of ours, for all scopes at once; `features` says that a case can
    have one, here or on another broker of the same target.  `temporary`: the broker is thrown away
    afterwards, so nothing is cleaned up.  `security`: of each connection.  `named_as`: see Admin.
    """

    hints = Hints(isolates=False)

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
        measures: bool = True,
        working: Mapping[str, tuple[int, int]] | None = None,
        capacity: int = 8,
        features: frozenset[str] = frozenset({"disconnect", "missing-topics", "delete-topics"}),
        failovers: Failovers | None = None,
        temporary: bool = False,
        is_brief: bool = False,
        security: Security = PLAINTEXT,
        named_as: Address | None = None,
    ) -> None:
        if unknown := sorted(set(settings or {}) - set(BROKER_SETTINGS)):
            known = ", ".join(BROKER_SETTINGS)
            raise AddressError(f"{unknown[0]!r} is no group setting; there are {known}")
        self.address = parse_address(address)
        self.name = name or f"tcp://{self.address}"
        self.capacity = capacity
        self.deadlines = deadlines
        self.admin = Admin(
            self.address, remote=remote, deadlines=deadlines, security=security, named_as=named_as
        )
        self.settings: dict[str, int | None] = dict(CONFIG_DEFAULTS)
        self.consumer_settings: dict[str, int | None] = {}
        """Settings of the consumer protocol, if the broker speaks it."""
        if not temporary:
            self.settings |= _UNREPORTED
        self.settings_source: dict[str, str] = dict.fromkeys(CONFIG_DEFAULTS, "assumed")
        """The source of each setting: `describe-configs`, `option`, `measured` or `assumed`."""
        self.remarks: tuple[str, ...] = ()
        """Sentences for a certificate: settings that could not be read or measured."""
        self.anchor = self.address
        """The broker to ask about no group in particular."""
        self.is_brief = is_brief
        """True if it was started for one scope, and ends with it."""
        self.is_alone = False
        """True if it is the only broker, so that it coordinates all groups."""
        self.lines = ConnectionPool()
        self.working: dict[str, tuple[int, int]] = {}
        self.broken: dict[str, dict[int, str]] = {}
        """Versions that are advertised but broken: API → version → reason."""
        self.run = secrets.token_hex(4)
        self.topic = f"{PREFIX}{self.run}-topic"
        self.topic_problem: str | None = None
        """The reason why there is no topic to commit offsets for, if there is none."""
        self._options = dict(settings or {})
        self._implementation = implementation or f"the broker at {self.address}"
        self._version = version
        self._probe = probe
        self._measures = measures and not temporary
        self._measuring: asyncio.Task[None] | None = None
        self._given_working = working
        self._controller: Address | None = None
        self._features = features
        self._failovers = failovers
        self._temporary = temporary
        self.may_refuse = not temporary
        """True if there may be rules of access, so that a refusal is no fault of the protocol."""
        self._transactions = Transactions(self.admin, deadlines.coordinator_s)
        self._topics: dict[str, asyncio.Task[None]] = {}
        """Topics of ours, which may exist: each is made once."""
        self._topic_ids: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._groups: dict[str, Address] = {}

    @property
    def advertised(self) -> dict[str, tuple[int, int]]:
        """The versions that the broker advertises, as far as the model knows them."""
        versions = self.admin.advertised
        both = {
            name: (
                max(api.lowest, versions[name][0], _OF_GROUPS_SINCE.get(name, 0)),
                min(api.highest, versions[name][1]),
            )
            for name, api in ALL_APIS.items()
            if name in versions and (name != COMMIT or offers_transactions(versions))
        }
        return {name: bounds for name, bounds in both.items() if bounds[0] <= bounds[1]}

    async def __aenter__(self) -> Self:
        """Reach it.  Raises TargetUnavailableError; AddressError for one that needs `--remote`."""
        try:
            await self.admin.open()
            self.anchor = await self.admin.find_coordinator(f"{PREFIX}{self.run}")
            await self.admin.check_reachable(self.anchor)
            await self._learn_settings()
            await self._learn_versions()
            await self._measure_settings()
            await self._make_topic()
        except BaseException as error:
            with contextlib.suppress(Exception):
                await self._clean_up()
            if isinstance(error, AdminError | OSError):
                raise TargetUnavailableError(f"{error}.") from error
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Remove this run's groups and topic from the broker, if it lets us, within seconds."""
        self.lines.close()
        if not self._temporary:
            await self._clean_up(cut_short=kind is not None)

    async def _learn_settings(self) -> None:
        reported = await self._reported_settings()
        if CONSUMER_BEAT in self.admin.advertised:
            self.consumer_settings = dict(_OF_CONSUMERS)
            self.settings_source |= dict.fromkeys(_OF_CONSUMERS, "assumed")
        for source, every in (("describe-configs", reported), ("option", self._options)):
            for settings in (self.settings, self.consumer_settings):
                known = {key: value for key, value in every.items() if key in settings}
                settings.update(known)
                self.settings_source.update(dict.fromkeys(known, source))

    async def _reported_settings(self) -> dict[str, int | None]:
        """Return the brokers' settings.  Raises TargetUnavailableError where they don't agree."""
        brokers: dict[int, Address] = {}
        with contextlib.suppress(AdminError):
            brokers = await self.admin.brokers()
        self._controller = brokers.pop(-1, None)
        self.is_alone = list(brokers.values()) == [self.anchor]
        reported: dict[str, int | None] = {}
        by: dict[str, int] = {}
        for node_id, address in brokers.items():
            settings: dict[str, int | None] = {}
            with contextlib.suppress(AdminError):
                settings = await self.admin.group_settings(node_id, address)
            for key, value in settings.items():
                if reported.setdefault(key, value) != value and key not in self._options:
                    raise TargetUnavailableError(
                        f"{key} is {reported[key]} at broker {by[key]} and {value} at {node_id}: "
                        "give all brokers the same settings, for each has some of the groups"
                    )
                by.setdefault(key, node_id)
        return reported

    async def learn_consumer_settings(self) -> None:
        """Measure those settings of the consumer protocol that nobody reported, once."""
        if self._measuring is None:
            self._measuring = shared_task(self._measure_consumer_settings())
        await asyncio.shield(self._measuring)

    async def _measure_consumer_settings(self) -> None:
        unknown = {key for key in _OF_CONSUMERS if self.settings_source.get(key) == "assumed"}
        if not self._measures or CONSUMER_BEAT not in self.working:
            return
        door = await self.admin.door(self.anchor)
        versions = self.working[CONSUMER_BEAT]
        result = await measured_session(door, versions, self._new_group, frozenset(unknown))
        self.consumer_settings |= result.settings
        self.settings_source |= dict.fromkeys(result.settings, "measured")
        self.remarks += tuple(result.remarks)

    def _new_group(self) -> str:
        """Return the id of a new group to measure with, which is removed in the end."""
        group_id = f"{PREFIX}{self.run}-measure-{next(self._numbers)}"
        self.made(group_id, self.anchor)
        return group_id

    async def _learn_versions(self) -> None:
        if not self._probe:
            self.working = dict(self._given_working or self.advertised)
            return
        findings = await self.probe_versions()
        if not self._temporary:
            await self.admin.check_deletion(f"{PREFIX}{self.run}", self.anchor)
        self.working = working_ranges(findings)
        self.broken = {
            api: {v: why for v, why in versions.items() if why is not None}
            for api, versions in findings.items()
            if any(why is not None for why in versions.values())
        }

    async def _measure_settings(self) -> None:
        """Measure the settings that the broker does not report, and that nobody gave."""
        unknown = {key for key, source in self.settings_source.items() if source == "assumed"}
        if not self._measures:
            return
        if not (MEASURABLE & unknown) or "JoinGroup" not in self.working:
            return
        door = await self.admin.door(self.anchor)
        result = await measured(
            door, self.working["JoinGroup"], self._new_group, frozenset(unknown)
        )
        self.settings |= result.settings
        self.settings_source |= dict.fromkeys(result.settings, "measured")
        self.remarks = tuple(result.remarks)

    def sources(self, config: Config) -> tuple[str, ...]:
        """Say where each setting in force is from, and how to give others than those assumed.

        Nothing is said of a broker that was started here, or measured by whoever made the target.
        """
        if not self._measures:
            return ()
        texts = []
        for source, words, remedy in (
            ("describe-configs", "read from the broker", ""),
            ("option", "given with --set", ""),
            ("measured", "measured", ""),
            ("assumed", "assumed", ": give --set KEY=VALUE where the broker has another"),
        ):
            rows = (
                f"{key} {'none' if value is None else value}"
                for key, value in named(config).items()
                if self.settings_source.get(key) == source
            )
            if text := ", ".join(rows):
                texts.append(f"settings {words}: {text}{remedy}")
        return tuple(texts)

    async def probe_versions(self) -> Findings:
        """Try every advertised version; return API → version → why it is broken, or None.

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
            self.topic_problem = str(error)
            self.remarks += (f"no topic could be made: {error}",)

    async def _made_once(self, topic: str, partitions: int = PARTITIONS) -> None:
        if topic not in self._topics:  # from here on it may exist, whatever the answer
            made = self.admin.create_topic(topic, self._controller, partitions)
            self._topics[topic] = shared_task(made)
        await asyncio.shield(self._topics[topic])

    async def make_topic(self, name: str) -> None:
        """Make a topic of one case, unless that was done before.

        Raises UnsupportedError where the broker refuses it, HelperFailedError where it fails.
        """
        with _helping("topics that are made for a case"):
            await self._made_once(name)

    async def topic_with(self, partitions: int, name: str) -> tuple[str, str]:
        """Make a topic that cases share, unless that was done before; return its name and id.

        `name`: the whole name of a topic of one case, or what distinguishes a shared one from
        others with as many partitions.  Raises as `make_topic`.
        """
        is_own = name.startswith(PREFIX)
        topic = name if is_own else f"{PREFIX}{self.run}-topic-{partitions}-{name}"
        with _helping("topics that are made for a case"):
            await self._made_once(topic, partitions)
            if topic not in self._topic_ids:
                topic_id = await self.admin.topic_id(topic)
                group_id = f"{topic}-probe"
                at = await self.admin.find_coordinator(group_id)
                self.made(group_id, at)
                await self.admin.until_assigned(topic, partitions, group_id, at)
                self._topic_ids[topic] = topic_id
        return topic, self._topic_ids[topic]

    async def delete_topic(self, name: str) -> None:
        """Delete such a topic, until no broker knows it.  Raises as `make_topic`."""
        with _helping("topics that are made for a case"):
            await self._made_once(name)  # else it could not be told from one that was deleted
            await self.admin.delete_topic(name, self._controller)
            await self.admin.forgotten(name)

    async def begin_transaction(self, name: str, group_id: str) -> Transaction:
        """Begin a transaction with offsets of a group.  Raises as `make_topic`."""
        with _helping("transactions"):
            return await self._transactions.begin(name, group_id)

    async def commit_transaction(
        self, transaction: Transaction, body: Mapping[str, Any], at: Address
    ) -> None:
        """Commit the transaction of a TxnOffsetCommit.  Raises as `make_topic`."""
        with _helping("transactions"):
            await self._transactions.commit(transaction, body, at)

    def describe(self) -> Hello:
        """Return the greeting of each scope."""
        features = self._features
        if not {"CreateTopics", "DeleteTopics"} <= self.admin.advertised.keys():
            features -= {"delete-topics"}
        if CONSUMER_BEAT in self.working and self.admin.has_topic_ids:
            features |= {TOPICS}
        broken = {api: frozenset(versions) for api, versions in self.broken.items()}
        return Hello(
            self._implementation, self._version, "real", dict(self.working), features, broken
        )

    def new_names(self) -> Names:
        """Return a prefix for one life of a scope."""
        return Names(f"{PREFIX}{self.run}-{next(self._numbers)}-", self.topic)

    def made(self, group_id: str, at: Address) -> None:
        """Note a group of ours and its coordinator."""
        self._groups[group_id] = at

    def provenance(self) -> Provenance:
        """Return the target's name and what is known of the broker."""
        return Provenance(self.name, self._implementation, self._version, str(self.address))

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield a scope with groups and connections of its own; one broker isolates no further.

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
        """Return the times when it was down on purpose, in seconds of the monotonic clock."""
        return () if self._failovers is None else self._failovers.outages

    @property
    def keeps_connections(self) -> bool:
        """Return True if connections outlive a failover."""
        return self._failovers is not None and self._failovers.keeps_connections

    async def restart(self, hang_up: Callable[[], None]) -> float:
        """Let the broker fail over, with all scopes that wait for it; return the time of its end.

        Raises UnsupportedError for a broker that is not ours, CoordinatorFailure for one that does
        not come back.
        """
        if self._failovers is None:
            raise UnsupportedError("restart: this broker was not started by fencepost")
        with _back_from_a_restart():
            return await self._failovers.wait(hang_up)

    async def _clean_up(self, *, cut_short: bool = False) -> None:
        """Remove groups and topic as far as possible; retry a group that is still rebalancing."""
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
    """Raise CoordinatorFailure where a broker does not come back."""
    try:
        yield
    except TargetUnavailableError as error:
        raise CoordinatorFailure(f"after a restart: {error}") from error


@contextlib.contextmanager
def _helping(with_what: str) -> Iterator[None]:
    """Tell a topic that can't be made, or a transaction, from a failure of the group protocol."""
    try:
        yield
    except (AccessError, RefusedError, UnreadableError) as error:
        raise UnsupportedError(f"{with_what}: {error}") from error
    except (AdminError, AddressError) as error:
        raise HelperFailedError(str(error)) from error
