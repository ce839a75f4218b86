"""Run one scenario once: its acts in order, and what came of them as evidence."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.scenario import PARTITIONS, Scenario, client_id, process_of
from fencepost.conformance.cases.clients.scenario_steps import (
    AnyAct,
    Await,
    Close,
    Commit,
    Crash,
    Expire,
    Load,
    Move,
    NotAvailable,
    PollOn,
    Produce,
    Provoke,
    Relent,
    Remove,
    Restart,
    Settings,
    Start,
    StopPolling,
    Subscribe,
    Unsubscribe,
)
from fencepost.conformance.clients.conditions import is_met
from fencepost.conformance.clients.driver import Driver, DriverError, Late, Reply
from fencepost.conformance.clients.driver_pool import DriverPool
from fencepost.conformance.clients.stage import Place
from fencepost.conformance.clients.timeline import Timeline
from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.properties.requirements.driver_messages import (
    ConsumerSettings,
    Done,
    Introduction,
    Refused,
    Unsupported,
)
from fencepost.properties.requirements.evidence import CLOCK_MS, COOPERATIVE, Deed, Evidence, Life

SESSION_MS, HEARTBEAT_MS, POLL_INTERVAL_MS = 8000, 400, 30_000
"""What consumers are set where a scenario doesn't say otherwise; a virtual machine restarts in less
than a session."""

_USUAL = "range"
_POLL_S = 0.05
_LEADER_MS = 5000
_AFTER_MS = 300
"""What is under way when a scenario ends has so much time to arrive."""


class _BrokeOffError(Exception):
    """What comes next would show nothing.  `str()` says why."""


def settings_for(
    wanted: Settings, scenario: Scenario, introduction: Introduction, place: Place, life: str
) -> ConsumerSettings:
    """The settings of a consumer, without its instance id."""
    name = wanted.assignor or scenario.assignor
    return ConsumerSettings(
        bootstrap=place.broker.bootstrap,
        group=place.group,
        topics=(place.topic,),
        session_timeout_ms=wanted.session_timeout_ms or SESSION_MS,
        heartbeat_interval_ms=wanted.heartbeat_interval_ms or HEARTBEAT_MS,
        max_poll_interval_ms=wanted.max_poll_interval_ms or POLL_INTERVAL_MS,
        assignor=usual_assignor(introduction) if name is None else _named(introduction, name),
        client_id=life,
        auto_commit_ms=wanted.auto_commit_ms,
    )


def usual_assignor(introduction: Introduction) -> str:
    """What consumers use where a scenario names none: range, or the library's first eager one."""
    if _USUAL in introduction.assignors:
        return _USUAL
    eager = (one for one in introduction.assignors if not one.startswith(COOPERATIVE))
    return next(eager, next(iter(introduction.assignors), _USUAL))


def _named(introduction: Introduction, name: str) -> str:
    return assignor_in(introduction, name) or name


def assignor_in(introduction: Introduction, name: str) -> str | None:
    """What a library calls an assignor; `cooperative` is whichever cooperative one it has."""
    if name == COOPERATIVE:
        found = (one for one in introduction.assignors if one.startswith(COOPERATIVE))
        return next(found, None)
    return name if name in introduction.assignors else None


class ScenarioRun:
    """A run of a scenario on a broker; `run` it once."""

    def __init__(self, scenario: Scenario, place: Place, pool: DriverPool, label: str) -> None:
        self._scenario = scenario
        self._place = place
        self._pool = pool
        self._label = label
        self._drivers: dict[str, Driver] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._since = 0.0
        self.timeline = Timeline(place.broker.history, {place.topic: PARTITIONS})

    async def run(self) -> Evidence:
        """Do all acts; what is known then.  Raises TargetUnavailableError."""
        self._note_versions()
        try:
            for act in self._scenario.acts:
                await self._do(act)
            await asyncio.sleep(_AFTER_MS / 1000)
        except (_BrokeOffError, DriverError) as error:
            self.timeline.broken = str(error)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        evidence = self.timeline.evidence()
        await self._tidy(evidence)
        return evidence

    async def _do(self, act: AnyAct) -> None:
        if isinstance(act, Await):
            await self._await(act)
            return
        self._since = self.timeline.now_ms()
        match act:
            case Start():
                await self._start(act)
            case Crash(process=process):
                await self._crash(process)
            case Produce(count=count):
                for partition in range(PARTITIONS):
                    await self._produce(partition, count)
                self._note("produce")
            case Remove(consumer=consumer):
                life = self._life(consumer)
                code = await self._place.broker.remove(self._place.group, life.instance or "")
                self._note("remove", life, "ok" if code == 0 else f"error {code}")
            case Close() | StopPolling() | PollOn() | Commit() | Unsubscribe() | Subscribe() as act:
                await self._tell(act)
            case _:
                await self._provoke(act)

    async def _produce(self, partition: int, count: int) -> None:
        """Append records; a topic that was just made may have no leader yet."""
        broker, topic = self._place.broker, self._place.topic
        deadline = self.timeline.now_ms() + _LEADER_MS
        while True:
            try:
                await broker.produce(topic, partition, count)
            except AdminError as error:
                if self.timeline.now_ms() > deadline:
                    raise _BrokeOffError(str(error)) from error
                await asyncio.sleep(_POLL_S)
            else:
                return

    async def _start(self, act: Start) -> None:
        process = process_of(act)
        driver = self._drivers.get(process)
        if driver is None:
            driver = self._drivers[process] = await self._pool.take()
        number = 1 + sum(life.consumer == act.consumer for life in self.timeline.lives)
        life_id = client_id(act.consumer, number)
        settings = settings_for(
            act.settings, self._scenario, driver.introduction, self._place, life_id
        )
        if act.instance is not None:
            settings = _with_instance(settings, act.instance)
        self._since = self.timeline.now_ms()
        life = Life(life_id, act.consumer, number, process, settings, self._since)
        self.timeline.begin(life, self._name(life), driver)
        self._note_reply("start", life, await driver.start_consumer(self._name(life), settings))

    async def _crash(self, process: str) -> None:
        driver = self._drivers.pop(process)
        for life in list(self.timeline.lives):
            if life.process == process and life.ended_ms is None:
                self.timeline.end(life, "crashed")
        await driver.crash()
        self._note("crash")
        await self._pool.give_back(driver, clean=False)

    async def _tell(
        self, act: Close | StopPolling | PollOn | Commit | Unsubscribe | Subscribe
    ) -> None:
        life = self._life(act.consumer)
        driver, name = self._drivers[life.process], self._name(life)
        limit_ms = None
        match act:
            case Close(timeout_ms=timeout_ms):
                limit_ms = float(timeout_ms)
                self.timeline.end(life, "closed")
                asked, reply = "close", await driver.close(name, timeout_ms)
            case StopPolling():
                asked, reply = "stop-polling", await driver.stop_polling(name)
            case PollOn():
                asked, reply = "poll-on", await driver.poll_on(name)
            case Commit():
                asked, reply = "commit", await driver.commit(name)
            case Unsubscribe():
                asked, reply = "unsubscribe", await driver.unsubscribe(name)
            case _:
                asked, reply = "subscribe", await driver.subscribe(name, (self._place.topic,))
        self._note_reply(asked, life, reply, limit_ms)

    async def _provoke(self, act: AnyAct) -> None:
        broker = self._served()
        group = self._place.group
        match act:
            case Provoke(provocations=provocations):
                broker.provoke(*provocations)
                self._note("provoke")
            case Relent():
                broker.relent()
                self._note("relent")
            case Expire(consumer=consumer):
                life = self._life(consumer)
                found = await broker.expire(group, life.instance or "")
                self._note("expire", life, "ok" if found else "no such member")
            case Move():
                await broker.move_coordinator(group)
                self._note("move")
            case Load(ms=ms):
                self._beside(broker.load(group, ms))
                self._note("load")
            case NotAvailable(ms=ms):
                self._beside(broker.not_available(group, ms))
                self._note("not-available")
            case Restart(as_of=as_of, down_ms=down_ms):
                await broker.restart(as_of=as_of, down_ms=down_ms)
                self._note_versions()
                self._note("restart")

    def _served(self) -> ApplicationBroker:
        if self._place.served is None:
            raise _BrokeOffError(f"{self._scenario.id} provokes, and a real broker can't be")
        return self._place.served

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _await(self, act: Await) -> None:
        began = self.timeline.now_ms()
        while not is_met(act.until, self.timeline.evidence(), self._since, began):
            if self.timeline.now_ms() - began > act.within_ms:
                said = f"{_words(act)} was not seen within {act.within_ms / 1000:g} s"
                self.timeline.unmet.append((began, said))
                if act.needed:
                    raise _BrokeOffError(said)
                return
            self._refuse_broken()
            await asyncio.sleep(_POLL_S)
        # What is done next must not be mistaken for what was waited for: clocks are a bit apart.
        await asyncio.sleep(4 * CLOCK_MS / 1000)

    def _refuse_broken(self) -> None:
        for driver in self._drivers.values():
            if driver.fault is not None:
                raise DriverError(driver.fault)

    async def _tidy(self, evidence: Evidence) -> None:
        """Close what still runs, and give the processes back."""

        async def tidied(process: str, driver: Driver) -> None:
            clean = not evidence.broken
            for life in evidence.lives:
                if life.process == process and life.ended_ms is None and driver.fault is None:
                    clean = await _closed(driver, self._name(life)) and clean
            late = any(deed.outcome == "late" for deed in evidence.deeds)
            await self._pool.give_back(driver, clean=clean and not late)

        await asyncio.gather(*(tidied(*one) for one in self._drivers.items()))

    def _life(self, consumer: str) -> Life:
        return next(one for one in reversed(self.timeline.lives) if one.consumer == consumer)

    def _name(self, life: Life) -> str:
        return f"{self._label}/{life.id}"

    def _note(self, name: str, life: Life | None = None, outcome: str = "ok") -> None:
        of = "" if life is None else life.id
        deed = Deed(name, of, self._since, self.timeline.now_ms(), outcome)
        self.timeline.deeds.append(deed)

    def _note_reply(
        self, name: str, life: Life, reply: Reply, limit_ms: float | None = None
    ) -> None:
        outcome, said, fatal, took_ms = "ok", "", False, None
        match reply:
            case Done(took_ms=took):
                took_ms = took
            case Refused(error=error):
                outcome, said, fatal = error.code, error.message, error.fatal
            case Unsupported(unsupported=why):
                outcome, said = "unsupported", why
                self.timeline.unsupported = why
            case Late():
                outcome, said = "late", str(reply)
        now = self.timeline.now_ms()
        self.timeline.deeds.append(
            Deed(name, life.id, self._since, now, outcome, said, fatal, took_ms, limit_ms)
        )

    def _note_versions(self) -> None:
        if (versions := self._place.versions()) is not None:
            self.timeline.versions.append((self.timeline.now_ms(), versions))


async def _closed(driver: Driver, name: str) -> bool:
    """Whether a consumer was closed well."""
    try:
        return isinstance(await driver.close(name, 2000), Done)
    except DriverError:
        return False


def _with_instance(settings: ConsumerSettings, instance: str) -> ConsumerSettings:
    return msgspec.structs.replace(settings, instance=instance)


def _words(act: Await) -> str:
    fields = msgspec.to_builtins(act.until)
    name = fields.pop("until")
    told = ", ".join(f"{v}" if not isinstance(v, list) else " ".join(v) for v in fields.values())
    return f"{name} ({told})"
