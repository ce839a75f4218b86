"""Play stories of real client libraries in groups of a Kafka, and count the deeds in each.

Each story is one group.  It counts what an audit has to report of it, so that an audit of the
broker's logs is held to what really happened, and not to another audit.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum

from support.kafka.admin import open_admin
from support.logs.log_clients import Cluster, Line, Pod
from support.logs.two_brokers import TwoBrokers

from fencepost.conformance.clients.driver import Driver, DriverPool
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion
from fencepost.conformance.targets.tcp.cluster_admin import Admin, AdminError
from fencepost.model.plans.steps import Close, ResumePolling, StopPolling
from fencepost.properties.requirements.driver_messages import ConsumerSettings, Done, Error

TOPIC = "stories"
PARTITIONS = 4
SESSION_MS, BEAT_MS, POLL_MS = 6000, 500, 8000
SETTLED_S = 90.0
TURNS = 6
_PAUSE_S = 0.1
_NAMES = itertools.count(1)


class Deed(Enum):
    """An action on members, or an event of theirs, by the name of its column."""

    TAKEN = "takeovers"
    IN_TURN = "ids taken in turn"
    FENCED = "fenced alive"
    EXPIRED = "expirations"
    RESTARTED = "restarts"
    NOT_POLLED = "poll timeouts"
    UNUSED = "unused ids"
    LOST = "lost groups"
    LOOP = "loops"
    LOADED = "failovers"


@dataclass
class Played:
    """A group, and the number of each deed in it."""

    group: str
    deeds: dict[Deed, int] = field(default_factory=dict)


class Library:
    """A client library's drivers: one for all consumers that are closed, others for crashes."""

    def __init__(self, name: str, pool: DriverPool, shared: Driver) -> None:
        self.name = name
        self.pool = pool
        self.shared = shared


@asynccontextmanager
async def open_libraries(names: Mapping[str, str], spare: int) -> AsyncIterator[dict[str, Library]]:
    """Start the drivers of libraries: full names by short ones; `spare`: processes for crashes."""
    async with AsyncExitStack() as stack:
        libraries = {}
        for name, client in names.items():
            pool = await stack.enter_async_context(DriverPool(find_client(client)))
            await pool.warm(1 + spare)
            libraries[name] = Library(name, pool, await pool.take())
        yield libraries


@dataclass
class Consumer:
    """A consumer of a group, in a driver; `own`: it is the only one of its process."""

    scene: Scene
    driver: Driver
    name: str
    own: bool

    async def close(self) -> None:
        await self.driver.do(Close(self.name))
        if self.own:
            await self.scene.library.pool.give_back(self.driver, clean=True)

    async def crash(self) -> None:
        assert self.own
        await self.scene.library.pool.give_back(self.driver, clean=False)

    async def stop_polling(self) -> None:
        await self.driver.do(StopPolling(self.name))

    async def poll_on(self) -> None:
        await self.driver.do(ResumePolling(self.name))

    async def fenced(self) -> None:
        """Return when its library reports that it is fenced."""
        event = await self.driver.wait_for(lambda row: self._is_fencing(row.event), SETTLED_S)
        assert event is not None, f"{self.name} was not fenced"
        self.scene.note(Deed.FENCED)

    def _is_fencing(self, event: object) -> bool:
        if not isinstance(event, Error) or event.consumer != self.name:
            return False
        return "fenced" in f"{event.code} {event.message}".lower()


@dataclass
class Scene:
    """A group of one story, with one library."""

    bootstrap: str
    library: Library
    story: str
    admin: Admin
    gives_reasons: bool = False
    """True if the client gives a reason when it leaves, and the broker takes it (KIP-800)."""
    deeds: Counter[Deed] = field(default_factory=Counter)

    @property
    def group(self) -> str:
        return f"{self.library.name}-{self.story}"

    def note(self, deed: Deed, times: int = 1) -> None:
        self.deeds[deed] += times

    async def start(
        self, number: int, *, static: bool = False, own: bool = False, client_id: str = ""
    ) -> Consumer:
        """Start a consumer; return at once, before it has joined."""
        library = self.library
        driver = await library.pool.take() if own else library.shared
        name = f"{self.group}-{number}-{next(_NAMES)}"
        settings = ConsumerSettings(
            bootstrap=self.bootstrap,
            group=self.group,
            topics=(TOPIC,),
            instance=f"{self.group}-{number}" if static else None,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=BEAT_MS,
            max_poll_interval_ms=POLL_MS,
            client_id=client_id or f"{self.group}-pod-{number}",
        )
        reply = await driver.start_consumer(name, settings)
        assert isinstance(reply, Done), reply
        return Consumer(self, driver, name, own)

    async def pair(self, *, static: bool = False, own: bool = False) -> tuple[Consumer, Consumer]:
        """Start two; `own`: the second in a process of its own."""
        first = await self.start(1, static=static)
        await self.settled(1)
        second = await self.start(2, static=static, own=own)
        await self.settled(2)
        return first, second

    async def settled(self, members: int) -> None:
        """Return when the group is stable with this number of members."""
        state = ""
        async with asyncio.timeout(SETTLED_S):
            while state != f"Stable {members}":
                await asyncio.sleep(_PAUSE_S)
                try:
                    at = await self.admin.find_coordinator(self.group)
                    answer = await self.admin.call("DescribeGroups", {"groups": [self.group]}, at)
                except (AdminError, OSError):
                    continue
                (row,) = answer["groups"]
                state = f"{row['groupState']} {len(row['members'])}"
        await asyncio.sleep(3 * BEAT_MS / 1000)  # until each has its assignment

    async def close(self, *consumers: Consumer, static: bool = False) -> None:
        """Close all; static ones send no LeaveGroup: their sessions end, and so does the group."""
        for consumer in consumers:
            await consumer.close()
        if static:
            self.note(Deed.EXPIRED, len(consumers))
            self.note(Deed.LOST)


async def bounce(scene: Scene, client_id: str = "") -> None:
    """Close each dynamic member in turn, and start it again."""
    consumers = []
    for number in (1, 2, 3):
        consumers.append(await scene.start(number, client_id=client_id))
        await scene.settled(number)
    for number, consumer in enumerate(consumers):
        await consumer.close()
        consumers[number] = await scene.start(number + 1, client_id=client_id)
        scene.note(Deed.RESTARTED)
        await scene.settled(3)
    await scene.close(*consumers)


async def one_client_id(scene: Scene) -> None:
    """Like `bounce`, where all processes have one client id, as Java's default is."""
    await bounce(scene, f"consumer-{scene.group}-1")


async def in_time(scene: Scene) -> None:
    """Crash a static member that is back within its session."""
    first, second = await scene.pair(static=True, own=True)
    await second.crash()
    second = await scene.start(2, static=True)
    scene.note(Deed.TAKEN)
    await scene.settled(2)
    await scene.close(first, second, static=True)


async def too_late(scene: Scene) -> None:
    """Crash a static member that is back after its session."""
    first, second = await scene.pair(static=True, own=True)
    await second.crash()
    scene.note(Deed.EXPIRED)
    await scene.settled(1)
    second = await scene.start(2, static=True)
    await scene.settled(2)
    await scene.close(first, second, static=True)


async def crash(scene: Scene) -> None:
    """Crash a dynamic member that never comes back."""
    first, second = await scene.pair(own=True)
    await second.crash()
    scene.note(Deed.EXPIRED)
    await scene.settled(1)
    await scene.close(first)


async def last_one(scene: Scene) -> None:
    """Crash the only member of a group."""
    only = await scene.start(1, own=True)
    await scene.settled(1)
    await only.crash()
    scene.note(Deed.EXPIRED)
    scene.note(Deed.LOST)


async def slow_poll(scene: Scene) -> None:
    """Let a dynamic member not poll for max.poll.interval.ms, and then go on.

    Without a reason it looks like a restart: it leaves, and is back.
    """
    first, second = await scene.pair()
    await second.stop_polling()
    scene.note(Deed.NOT_POLLED if scene.gives_reasons else Deed.RESTARTED)
    await scene.settled(1)
    await second.poll_on()
    await scene.settled(2)
    await scene.close(first, second)


async def static_slow_poll(scene: Scene) -> None:
    """Let a static member not poll: it only falls silent, so its session ends."""
    first, second = await scene.pair(static=True)
    await second.stop_polling()
    scene.note(Deed.EXPIRED)
    await scene.settled(1)
    await second.poll_on()
    await scene.settled(2)
    await scene.close(first, second, static=True)


async def rival(scene: Scene) -> None:
    """Let a second process take the instance id of a living one, by mistake."""
    first, second = await scene.pair(static=True)
    other = await scene.start(2, static=True, client_id=f"{scene.group}-rival")
    scene.note(Deed.TAKEN)
    await second.fenced()
    await second.close()
    await scene.settled(2)
    await scene.close(first, other, static=True)


async def in_turn(scene: Scene) -> None:
    """Let two processes share an instance id: each is started again when it is fenced."""
    first, holder = await scene.pair(static=True)
    scene.note(Deed.IN_TURN)
    for turn in range(TURNS):
        name = f"{scene.group}-{'other' if turn % 2 == 0 else 'pod'}-2"
        challenger = await scene.start(2, static=True, client_id=name)
        scene.note(Deed.TAKEN)
        await holder.fenced()
        await holder.close()
        await asyncio.sleep(1)
        holder = challenger
    await scene.settled(2)
    await scene.close(first, holder, static=True)


async def loop(scene: Scene) -> None:
    """Let a dynamic member end soon after each start, and start it again."""
    first, second = await scene.pair()
    scene.note(Deed.LOOP)
    for _ in range(TURNS):
        await second.close()
        second = await scene.start(2)
        scene.note(Deed.RESTARTED)
        await scene.settled(2)
    await scene.close(first, second)


async def unused_id(scene: Scene) -> None:
    """Ask for a member id, and never join with it."""
    first = await scene.start(1)
    await scene.settled(1)
    at = await scene.admin.find_coordinator(scene.group)
    line = Line(Cluster.of(str(at), (4, 2, 2, 2, 6)), Pod(f"{scene.group}-pod-9", "127.0.0.1"))
    body = {
        "groupId": scene.group,
        "sessionTimeoutMs": SESSION_MS,
        "rebalanceTimeoutMs": POLL_MS,
        "memberId": "",
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": ""}],
    }
    answer = await line.ask("JoinGroup", body)
    line.close()
    assert answer["memberId"]
    scene.note(Deed.UNUSED)
    second = await scene.start(2)
    await scene.settled(2)
    await scene.close(first, second)


Story = Callable[[Scene], Awaitable[None]]
STORIES: Mapping[str, tuple[Story, ...]] = {
    "java": (
        *(bounce, one_client_id, in_time, too_late, crash, last_one, slow_poll, static_slow_poll),
        *(rival, in_turn, loop, unused_id),
    ),
    "confluent-kafka": (in_time, too_late, crash, slow_poll, rival),
    "franz-go": (bounce, in_time, crash, last_one, in_turn, loop),
}
_JAVA_OF = ((2, 8, 0), "java:2.4.1")
"""Releases before that one are played with that client."""
_REASONS_SINCE = (3, 2, 0)


def clients_of(version: KafkaVersion) -> dict[str, str]:
    """Return the full names of the libraries that play with a release."""
    before, old = _JAVA_OF
    return {name: name for name in STORIES} | ({"java": old} if version.number < before else {})


async def _the_end(address: str, library: Library) -> None:
    """Wait until all sessions are over: a request log shows nothing after its last request."""
    await asyncio.sleep(2 * SESSION_MS / 1000)
    end = Scene(address, library, "end", await open_admin(address))
    last = await end.start(1)
    await end.settled(1)
    await last.close()


async def play_clients(
    version: KafkaVersion,
    address: str,
    libraries: Mapping[str, Library],
    say: Callable[[str], object],
) -> list[Played]:
    """Play all stories on a broker, side by side; return when all sessions are over."""
    admin = await open_admin(address)
    await admin.create_topic(TOPIC, (await admin.brokers()).get(-1), PARTITIONS)

    async def one(story: Story, library: Library) -> Played:
        reasons = library.name == "java" and version.number >= _REASONS_SINCE
        scene = Scene(address, library, story.__name__.replace("_", "-"), admin, reasons)
        await story(scene)
        say(scene.group)
        return Played(scene.group, dict(scene.deeds))

    async with asyncio.TaskGroup() as tasks:
        played = [
            tasks.create_task(one(story, libraries[name]))
            for name, stories in STORIES.items()
            for story in stories
        ]
    await _the_end(address, next(iter(libraries.values())))
    return [task.result() for task in played]


async def play_failover(
    brokers: TwoBrokers, libraries: Iterable[Library], say: Callable[[str], object]
) -> list[Played]:
    """Move the groups to the other broker just when a member of each has crashed."""
    address = brokers.bootstrap.partition(",")[0]
    admin = await open_admin(address)
    topic = {"name": TOPIC, "numPartitions": PARTITIONS, "replicationFactor": 2}
    await admin.call(
        "CreateTopics",
        {"topics": [{**topic, "assignments": [], "configs": []}], "timeoutMs": 10_000},
        (await admin.brokers()).get(-1),
    )
    scenes, pairs = [], []
    for library in libraries:
        for static in (True, False):
            name = "failover-static" if static else "failover"
            scene = Scene(brokers.bootstrap, library, name, admin)
            pairs.append(await scene.pair(static=static, own=True))
            scenes.append(scene)
            say(f"{scene.group} is there")
    for scene, (_, second) in zip(scenes, pairs, strict=True):
        await second.crash()
        scene.note(Deed.EXPIRED)
        scene.note(Deed.LOADED)
    say("a failover")
    left = await brokers.fail_over()
    after = await open_admin(left)
    for number, (scene, (first, _)) in enumerate(zip(scenes, pairs, strict=True)):
        scene.admin = after
        await scene.settled(1)
        await scene.close(first, static=number % 2 == 0)
        say(scene.group)
    await _the_end(left, scenes[0].library)
    return [Played(scene.group, dict(scene.deeds)) for scene in scenes]
