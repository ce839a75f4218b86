"""200 restarts of 50 static members of confluent-kafka, under traffic: `tox -e clients`.

Records are written all the time.  Two restarts begin each second: most members are closed and
started anew, twenty go when their processes are killed, ten at once.  What a restart
may not do is held to figures of the broker's own clock; where the control client was late, or a
member was silent for most of its session, a rebalance is not put down to a restart.
FENCEPOST_RESTARTS: how many restarts, for a short trial.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from fencepost.conformance.clients.driver import Driver, DriverPool, Late, Reply
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.serve.broker_history import History, RecordedExchange
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import error_name
from fencepost.model.plans.steps import Close, StopPolling
from fencepost.properties.requirements.driver_messages import (
    Assigned,
    ConsumerSettings,
    Done,
    Error,
    Records,
)

RESTARTS = int(os.environ.get("FENCEPOST_RESTARTS", "200"))
MEMBERS, EACH = 50, 10
"""All members, and those of one process."""
CRASH_EVERY = max(2 * EACH, RESTARTS // 2)
"""Of so many restarts, EACH are those of a process that is killed: two processes in all."""
PACE_S = 0.5
"""From one restart to the next, where the machine keeps up."""
TOPIC, GROUP = "t", "g"
PARTITIONS = 2 * MEMBERS
SESSION_MS, OF_SESSION, LATE_MS = 30_000, 0.9, 250
"""As the judges have them: see `judges/restarting.py` and `judges/verdict.py`."""
LONGEST_S = 240.0
OF_RECORDED, SPARE_BYTES = 0.3, 4 << 20
"""Of memory beside what is recorded: an allocator keeps its blocks for one size each and gives
nothing back (a part of what it holds), and beside it come caches of codecs, which fill once."""
MEMBER_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
PAGE = os.sysconf("SC_PAGE_SIZE")


def done(reply: Reply) -> None:
    """Refuse what isn't done; late is the machine's fault here."""
    came = reply.reply if isinstance(reply, Late) else reply
    assert isinstance(came, Done), reply


@dataclass(frozen=True)
class Restart:
    """When a member was told to go, on the broker's clock, and how."""

    member: str
    at_ms: float
    how: str


@dataclass
class Fleet:
    """Members in processes, and what their users saw.

    `seen`: how often each record was, by partition and offset.  `twice`: records seen again, by how
    the one who saw them again had come.  `errors`: told to users, by code.
    """

    broker: ApplicationBroker
    pool: DriverPool
    drivers: list[Driver] = field(default_factory=list)
    seen: defaultdict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    assigned: set[str] = field(default_factory=set)
    came: defaultdict[str, str] = field(default_factory=lambda: defaultdict(lambda: "at first"))
    twice: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    restarts: list[Restart] = field(default_factory=list)

    def fold(self) -> None:
        """Count the events that came, and forget them: they are no memory of the broker."""
        for driver in self.drivers:
            for heard in driver.events:
                self.take(heard.event)
            driver.events.clear()

    def take(self, event: Any) -> None:
        match event:
            case Records():
                offsets = self.seen[event.partition[1]]
                missing = event.first + event.count - len(offsets)
                offsets.extend(bytes(max(0, missing)))
                for offset in range(event.first, event.first + event.count):
                    self.twice[self.came[event.consumer]] += offsets[offset] > 0
                    offsets[offset] = min(255, offsets[offset] + 1)
            case Assigned() if event.partitions:
                self.assigned.add(event.consumer)
            case Error():
                self.errors[event.code] += 1

    async def start(self, member: str, driver: Driver) -> None:
        settings = ConsumerSettings(
            bootstrap=self.broker.bootstrap,
            group=GROUP,
            topics=(TOPIC,),
            instance=member,
            client_id=member,
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=1000,
            max_poll_interval_ms=10 * SESSION_MS,
            auto_commit_ms=5000,
        )
        done(await driver.start_consumer(member, settings))

    async def form(self, members: int) -> int:
        """Start all, and wait for the group that they are to be; its generation."""
        for number in range(members):
            if number % EACH == 0:
                self.drivers.append(await self.pool.take())
            await self.start(f"i{number}", self.drivers[-1])
        async with asyncio.timeout(LONGEST_S):
            while not self.is_whole(members):
                await asyncio.sleep(0.1)
                self.fold()
        generation: int = self.broker.groups.running.groups[GROUP].generation_id
        return generation

    def is_whole(self, members: int) -> bool:
        group = self.broker.groups.running.groups.get(GROUP)
        return (
            group is not None
            and group.state is GroupState.STABLE
            and len(group.members) == len(self.assigned) == members
        )

    def note(self, member: str, how: str) -> None:
        self.restarts.append(Restart(member, self.broker.history.now_ms(), how))

    async def close_and_start(self, number: int) -> None:
        driver, member = self.drivers[number // EACH], f"i{number}"
        self.note(member, "closed")
        done(await driver.do(Close(member, 10_000)))
        self.fold()
        self.came[member] = "closed"
        await self.start(member, driver)

    async def crash(self, place: int) -> None:
        """Kill a process and start it anew.

        Its users stop reading first, so that all that they saw was told; nothing is committed.
        """
        driver = self.drivers[place]
        members = [f"i{number}" for number in range(place * EACH, (place + 1) * EACH)]
        for member in members:
            done(await driver.do(StopPolling(member)))
            self.note(member, "crashed")
        self.fold()
        await self.pool.give_back(driver, clean=False)
        driver = self.drivers[place] = await self.pool.take()
        for member in members:
            self.came[member] = "crashed"
            await self.start(member, driver)

    async def close(self) -> None:
        for number in range(len(self.drivers) * EACH):
            done(await self.drivers[number // EACH].do(Close(f"i{number}")))
        self.fold()


@asynccontextmanager
async def written_to(broker: ApplicationBroker) -> AsyncIterator[None]:
    """Two records to each partition each second, in turn."""

    async def write() -> None:
        while True:
            for partition in range(PARTITIONS):
                await broker.produce(TOPIC, partition, 2)
                if partition % 10 == 9:
                    await asyncio.sleep(0.1)

    task = asyncio.create_task(write())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# What a history tells.


def group_calls(history: History) -> dict[str, list[RecordedExchange]]:
    """The requests about the group, by member."""
    calls = defaultdict(list)
    for exchange in history.exchanges:
        if exchange.api in MEMBER_APIS and exchange.client_id:
            calls[exchange.client_id].append(exchange)
    return calls


def gaps_ms(history: History, restarts: list[Restart]) -> list[float]:
    """How long each member was away: from its last request to the join that brought it back."""
    calls = group_calls(history)
    found = []
    for one in restarts:
        own = calls[one.member]
        back = next(
            (
                call.at_ms
                for call in own
                if call.at_ms >= one.at_ms
                and call.api == "JoinGroup"
                and call.request_body is not None
                and not call.request_body["memberId"]
            ),
            history.now_ms(),
        )
        before = [call.at_ms for call in own if call.at_ms < back]
        found.append(back - before[-1] if before else back)
    return found


def silences(history: History) -> list[tuple[float, float]]:
    """When a member sent nothing for most of its session."""
    return [
        (one, other)
        for own in group_calls(history).values()
        for one, other in pairwise([*(c.at_ms for c in own), history.now_ms()])
        if other - one >= OF_SESSION * SESSION_MS
    ]


def rebalances(history: History, formed: int) -> list[float]:
    """When each generation after the group's formation began, in ms."""
    began: dict[int, float] = {}
    for exchange in history.exchanges:
        if exchange.api == "JoinGroup" and exchange.answered_ms is not None:
            body = exchange.answer_body
            generation = -1 if body is None else body.get("generationId", -1)
            if generation > formed:
                began.setdefault(generation, exchange.answered_ms)
    return list(began.values())


def by_restart(history: History, formed: int) -> int:
    """How many rebalances nothing but a restart explains."""
    silent = silences(history)
    return sum(
        history.worst_ms(at - SESSION_MS, at) <= LATE_MS
        and not any(since <= at <= until for since, until in silent)
        for at in rebalances(history, formed)
    )


def codes(body: Any) -> Iterator[int]:
    """All error codes in an answer."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "errorCode":
                yield value
            else:
                yield from codes(value)
    elif isinstance(body, list):
        for row in body:
            yield from codes(row)


def refused(history: History, since_ms: float) -> Counter[str]:
    """The requests that were answered with an error, once each."""
    return Counter(
        f"{exchange.api} {error_name(code)}"
        for exchange in history.exchanges
        if exchange.at_ms >= since_ms
        for code in {code for code in codes(exchange.answer_body) if code}
    )


# Memory.


@dataclass(frozen=True)
class Memory:
    """Bytes: of the process; of what is kept because it was recorded, or is in the log."""

    resident: int
    recorded: int
    exchanges: int


def memory(broker: ApplicationBroker) -> Memory:
    gc.collect()
    history = broker.history
    meters = history.meters.values()
    return Memory(
        int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE,
        sum(exchange_bytes(one) for one in history.exchanges)
        + sum(300 for _ in history.connections)
        + sum(16 * len(meter.samples) + 8 * len(meter.answered) for meter in meters)
        + sum(log._size for log in broker.topics[TOPIC].partitions),
        len(history.exchanges),
    )


def exchange_bytes(one: RecordedExchange) -> int:
    """What an exchange takes, by its parts; the connection's name is shared."""
    own = (one, one.client_id, one.correlation_id, one.at_ms, one.answered_ms)
    bodies = (body for body in (one.request_body, one.answer_body) if body is not None)
    kept = ((body, body.text) for body in bodies)
    return 8 + sum(map(sys.getsizeof, own)) + sum(map(sys.getsizeof, chain.from_iterable(kept)))


# The outcome.


@dataclass(frozen=True)
class Outcome:
    """What came of a run; times in ms, memory in bytes, `grown` and `recorded` since the start."""

    members: int
    closed: int
    crashed: int
    took_s: float
    generations: int
    by_restart: int
    produced: int
    committed: int
    read: int
    lost: list[str]
    twice: dict[str, int]
    refused: dict[str, int]
    errors: dict[str, int]
    gaps: list[float]
    control_ms: int
    exchanges: int
    grown: int
    recorded: int

    def faults(self) -> list[str]:
        """What may not be."""
        rest = self.grown - self.recorded
        allowed = OF_RECORDED * self.recorded + SPARE_BYTES
        return [
            sentence
            for is_wrong, sentence in (
                (self.by_restart, f"{self.by_restart} rebalances by a restart in the session"),
                (self.lost, f"{len(self.lost)} records lost: {', '.join(self.lost[:9])}"),
                (self.committed < self.produced, f"{self.committed} of {self.produced} committed"),
                (rest > allowed, f"{rest:,} bytes that nothing recorded explains"),
            )
            if is_wrong
        ]

    def table(self) -> str:
        """The figures, a line each."""
        each = self.grown / max(1, self.exchanges)
        rows = {
            "members": self.members,
            "restarts": f"{self.closed} closed, {self.crashed} crashed, in {self.took_s:.0f} s",
            "away": f"{statistics.median(self.gaps):.0f} ms (median), {max(self.gaps):.0f} ms",
            "control": f"waited for {self.control_ms} ms at most",
            "rebalances": f"{self.generations}, {self.by_restart} of them by a restart",
            "records": f"{self.produced} produced, {self.committed} committed, {self.read} read",
            "lost": len(self.lost),
            "read again": json.dumps(self.twice),
            "refused": json.dumps(self.refused),
            "errors to users": json.dumps(self.errors),
            "exchanges": self.exchanges,
            "memory": f"{self.grown:,} bytes more, {self.recorded:,} recorded, {each:.0f} each",
        }
        return "".join(f"{name:<16} {value}\n" for name, value in rows.items())


@contextmanager
def within(seconds: float) -> Iterator[asyncio.Event]:
    """An event that is set after so long."""
    over = asyncio.Event()
    timer = asyncio.get_running_loop().call_later(seconds, over.set)
    try:
        yield over
    finally:
        timer.cancel()


async def under_load(client: str, members: int, restarts: int) -> Outcome:
    """Run it; what must not be is for `faults` to say."""
    settings = {"group.initial.rebalance.delay.ms": 3000}
    broker = ApplicationBroker(find_revision("kafka-4"), settings, topics={TOPIC: PARTITIONS})
    order = random.Random(17)
    async with broker, DriverPool(find_client(client)) as pool:
        fleet, history = Fleet(broker, pool), broker.history
        async with written_to(broker):
            formed = await fleet.form(members)
            await asyncio.sleep(5)  # what fills once is filled
            first, began_ms = memory(broker), history.now_ms()
            while len(fleet.restarts) < restarts:
                with within(PACE_S) as pause:
                    if len(fleet.restarts) % CRASH_EVERY == CRASH_EVERY - EACH:
                        await fleet.crash(order.randrange(len(fleet.drivers)))
                    else:
                        await fleet.close_and_start(order.randrange(members))
                    await pause.wait()
                    fleet.fold()
            ended_ms = history.now_ms()
        logs = broker.topics[TOPIC].partitions
        produced = sum(log.end_offset for log in logs)
        with within(LONGEST_S) as over:
            while committed(broker) < produced and not over.is_set():
                await asyncio.sleep(0.1)
                fleet.fold()
        last, until_ms = memory(broker), history.now_ms()
        generations = broker.groups.running.groups[GROUP].generation_id - formed
        found = by_restart(history, formed)
        await fleet.close()
        lost = [
            f"{partition}/{offset}"
            for partition, log in enumerate(logs)
            for offset in range(log.end_offset)
            if not any(fleet.seen[partition][offset : offset + 1])
        ]
        how = Counter(one.how for one in fleet.restarts)
        return Outcome(
            members=members,
            closed=how["closed"],
            crashed=how["crashed"],
            took_s=(ended_ms - began_ms) / 1000,
            generations=generations,
            by_restart=found,
            produced=produced,
            committed=committed(broker),
            read=produced - len(lost),
            lost=lost,
            twice=dict(+fleet.twice),
            refused=dict(refused(history, began_ms)),
            errors=dict(fleet.errors),
            gaps=gaps_ms(history, fleet.restarts),
            control_ms=history.worst_ms(began_ms, until_ms),
            exchanges=last.exchanges - first.exchanges,
            grown=last.resident - first.resident,
            recorded=last.recorded - first.recorded,
        )


def committed(broker: ApplicationBroker) -> int:
    return sum(one.offset for one in broker.groups.running.groups[GROUP].offsets)


async def test_restarts_move_nothing_and_lose_nothing() -> None:
    outcome = await under_load("confluent-kafka", MEMBERS, RESTARTS)
    sys.stdout.write(f"\n{outcome.table()}")
    assert outcome.faults() == []


# A liar each.

GOOD = Outcome(
    members=2,
    closed=2,
    crashed=0,
    took_s=1.0,
    generations=0,
    by_restart=0,
    produced=4,
    committed=4,
    read=4,
    lost=[],
    twice={},
    refused={},
    errors={},
    gaps=[1.0, 2.0],
    control_ms=3,
    exchanges=1000,
    grown=1_000_000,
    recorded=1_000_000,
)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, None),
        ({"by_restart": 1}, "1 rebalances by a restart"),
        ({"lost": ["7/3"]}, "1 records lost: 7/3"),
        ({"committed": 3}, "3 of 4 committed"),
        ({"grown": 9_000_000}, "8,000,000 bytes that nothing recorded explains"),
    ],
)
def test_what_may_not_be_is_said(wrong: dict[str, Any], words: str | None) -> None:
    faults = replace(GOOD, **wrong).faults()
    assert (faults == []) if words is None else (words in faults[0])


@pytest.mark.parametrize("client", ["reference", "mutant:leaves-on-close"])
async def test_a_client_that_leaves_is_seen(client: str) -> None:
    outcome = await under_load(client, EACH, 4)
    sys.stdout.write(f"\n{client}\n{outcome.table()}")
    assert outcome.lost == []
    assert bool(outcome.generations) is client.startswith("mutant")
