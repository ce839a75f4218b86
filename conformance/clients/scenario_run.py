"""Run one scenario once: take its steps in order, and gather the evidence.

The evidence comes from the broker's history and from drivers' events; conditions are checked by it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import structs

from fencepost.conformance.cases.clients.scenario import (
    CaughtUp,
    InjectFaults,
    Scenario,
    ScenarioStep,
    ServedStep,
    Until,
    client_id,
    missing,
    process_of,
)
from fencepost.conformance.clients.condition_checks import BEHIND_MS, is_met, patience_ms
from fencepost.conformance.clients.driver import Driver, DriverError, DriverPool, Late, Reply
from fencepost.conformance.clients.reference_driver import ReferenceConsumer
from fencepost.conformance.clients.stage import Place
from fencepost.conformance.serve.application_broker import ApplicationBroker
from fencepost.conformance.serve.broker_history import History, RecordedExchange
from fencepost.conformance.targets.tcp.cluster_admin import AdminError
from fencepost.conformance.targets.tcp.security import parse_address
from fencepost.conformance.wire.codec import API_KEYS
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.client.behaviour import ClientSettings, Conduct
from fencepost.model.messages.errors import kafka_error
from fencepost.model.messages.messages import (
    BY_ID_SINCE,
    CommitPartition,
    CommitTopic,
    JoinGroupResponse,
    OffsetCommitRequest,
)
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.plans.steps import (
    AddPartitions,
    ClearFaults,
    Close,
    Commit,
    CommitInTransaction,
    Crash,
    CreateTopic,
    DeleteTopic,
    ExpireSession,
    Failover,
    JoinGuest,
    Loading,
    PausePartitions,
    Produce,
    ReleaseHeld,
    RemoveMember,
    RestartBroker,
    ResumePartitions,
    ResumePolling,
    Settings,
    Start,
    StopPolling,
    Subscribe,
    Unavailable,
    Unsubscribe,
    UserStep,
    step_name,
)
from fencepost.properties.requirements.driver_messages import (
    ConsumerSettings,
    Done,
    Introduction,
    Partition,
    Refused,
    Unsupported,
)
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    CLOSE_TWICE,
    COMMIT,
    COOPERATIVE,
    END_TXN,
    FIND,
    LEAVE,
    MEMBER_APIS,
    TXN_COMMIT,
    Action,
    Call,
    ConsumerRun,
    Evidence,
    UserEvent,
)

_VERSIONS = "ApiVersions"
_READ = {*MEMBER_APIS, LEAVE, TXN_COMMIT}
_CODED = {FIND, END_TXN, "OffsetFetch", "ListOffsets", "Fetch"}
"""APIs of whose answers nothing counts but the error."""

_STALL_S = 0.05
"""Shortest wait of the control client that is a stall."""


@dataclass(slots=True)
class Timeline:
    """The evidence of a scenario that runs, so far; `evidence` makes one record of it."""

    history: History
    partitions: Mapping[str, int]
    runs: list[ConsumerRun] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    drivers: list[Driver] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """Name of a consumer in its driver, to the id of its run."""
    broken: str = ""
    unsupported: str = ""
    features: frozenset[str] = frozenset()
    unmet: list[tuple[float, str]] = field(default_factory=list)
    versions: list[tuple[float, Mapping[str, tuple[int, int]]]] = field(default_factory=list)
    stderr: dict[str, list[str]] = field(default_factory=dict)
    _calls: list[Call] = field(default_factory=list)
    _open: dict[int, tuple[RecordedExchange, str]] = field(default_factory=dict)
    _version_requests: list[RecordedExchange] = field(default_factory=list)
    _read: int = 0

    def now_ms(self) -> float:
        """Return the broker's time."""
        return self.history.now_ms()

    def begin(self, run: ConsumerRun, name: str, driver: Driver) -> None:
        """Note the start of a consumer; `name`: in its driver."""
        self.runs.append(run)
        self.names[name] = run.id
        if driver not in self.drivers:
            self.drivers.append(driver)

    def end(self, run: ConsumerRun, how: str) -> None:
        """Note that the end of a run begins."""
        index = self.runs.index(run)
        self.runs[index] = replace(run, ended_ms=self.now_ms(), how=how)

    def evidence(self) -> Evidence:
        """Return the evidence so far."""
        self._read_history()
        return Evidence(
            runs=tuple(self.runs),
            calls=tuple(self._calls),
            user_events=tuple(self._user_events()),
            actions=tuple(self.actions),
            partitions=dict(self.partitions),
            versions=tuple(self.versions),
            stalls=tuple(self._stalls()),
            ended_ms=self.now_ms(),
            broken=self.broken,
            unmet=tuple(self.unmet),
            unsupported=self.unsupported,
            features=self.features,
            stderr={process: tuple(lines) for process, lines in self.stderr.items()},
        )

    def _read_history(self) -> None:
        exchanges = self.history.exchanges
        ids = {run.id for run in self.runs}
        for exchange in exchanges[self._read :]:
            if (run := _run_of(exchange, ids)) is not None:
                self._open[len(self._calls)] = exchange, run
                self._calls.append(_call(exchange, run, self.partitions))
            if exchange.api == _VERSIONS and run is not None and not self.versions:
                self._version_requests.append(exchange)
        self._read = len(exchanges)
        if not self.versions:
            self._learn_versions()
        for index, (exchange, of) in list(self._open.items()):
            if exchange.provocation is not None or exchange.answered_ms is not None:
                self._calls[index] = _call(exchange, of, self.partitions)
            if exchange.answered_ms is not None:
                del self._open[index]

    def _learn_versions(self) -> None:
        """Take the broker's versions from its answers to clients, for want of another source."""
        for exchange in self._version_requests:
            answer = exchange.answer_body
            if answer is not None and answer.get("apiKeys") and not answer["errorCode"]:
                rows = {
                    row["apiKey"]: (row["minVersion"], row["maxVersion"])
                    for row in answer["apiKeys"]
                }
                known = {name: rows[key] for name, key in API_KEYS.items() if key in rows}
                self.versions.append((0.0, known))
                return

    def _user_events(self) -> Sequence[UserEvent]:
        began_ms = self.history.began_s * 1000
        events = []
        for driver in self.drivers:
            times = [(e.received_ms, e.event) for e in driver.events if e.event.at_ms is not None]
            # The quickest event shows best how far apart the clocks are.
            apart = min((received - (event.at_ms or 0.0) for received, event in times), default=0.0)
            for _, event in times:
                run = self.names.get(event.consumer or "")
                if run is not None and event.at_ms is not None:
                    events.append(UserEvent(run, event.at_ms + apart - began_ms, event))
        return sorted(events, key=lambda event: event.at_ms)

    def _stalls(self) -> Sequence[tuple[float, float]]:
        began_s, now_ms = self.history.began_s, self.now_ms()
        stalls = []
        for meter in self.history.meters.values():
            for ended_s, seconds in meter.samples:
                if seconds > _STALL_S:
                    stalls.append(((ended_s - seconds - began_s) * 1000, seconds * 1000))
            for begun_s in meter.waiting:
                at_ms = (begun_s - began_s) * 1000
                if now_ms - at_ms > _STALL_S * 1000:
                    stalls.append((at_ms, now_ms - at_ms))
        return sorted(stalls)


def _run_of(exchange: RecordedExchange, ids: set[str]) -> str | None:
    """Return the run that sent a request: a library may extend its client id."""
    name = exchange.client_id or ""
    if name in ids:
        return name
    return next((known for known in ids if name.startswith(f"{known}-")), None)


def _call(exchange: RecordedExchange, run: str, topics: Iterable[str]) -> Call:
    """Return an exchange of a run as it is now, with what the model reads of it."""
    call = Call(exchange.api, exchange.version, exchange.at_ms, exchange.answered_ms)
    call.client_id, call.connection = run, exchange.connection
    call.request = _message(exchange, topics, answer=False)
    if exchange.provocation is not None:
        call.fault = str(exchange.provocation.action)
    if exchange.answered_ms is not None:
        call.answer = _message(exchange, topics, answer=True)
    call.code = _code(exchange)
    if exchange.api == END_TXN:
        body = exchange.request_body
        call.commits = body is not None and bool(body["committed"])
    return call


def _has_ids(exchange: RecordedExchange) -> bool:
    """Tell if it is a commit that names topics by ids, which no evidence has."""
    return exchange.api == COMMIT and exchange.version >= BY_ID_SINCE


def _commit(body: Mapping[str, Any] | None, topics: Iterable[str]) -> Message | None:
    """Read such a commit; its offsets only where there is one topic, as it has no names."""
    if not body:
        return None
    names = sorted(topics)
    rows = body["topics"] if len(body["topics"]) == len(names) == 1 else ()
    return OffsetCommitRequest(
        group_id=body["groupId"],
        generation_id=body["generationIdOrMemberEpoch"],
        member_id=body["memberId"],
        group_instance_id=body["groupInstanceId"],
        topics=tuple(
            CommitTopic(
                name=names[0],
                partitions=tuple(
                    CommitPartition(
                        partition_index=row["partitionIndex"],
                        committed_offset=row["committedOffset"],
                    )
                    for row in topic["partitions"]
                ),
            )
            for topic in rows
        ),
    )


def _code(exchange: RecordedExchange) -> int | None:
    """Return the first error of an answer that isn't read as a message; 0: there is none."""
    answer = exchange.answer_body
    if answer is None or not (exchange.api in _CODED or _has_ids(exchange)):
        return None
    return next(_codes(msgspec.json.decode(answer.text)), 0)


def _codes(body: Any) -> Iterator[int]:
    """Yield the errors in an answer: of the whole, of its topics and of its partitions."""
    rows: Iterable[Any] = body if isinstance(body, list) else ()
    if isinstance(body, dict):
        if code := body.get("errorCode"):
            yield code
        rows = body.values()
    for row in rows:
        yield from _codes(row)


def _message(exchange: RecordedExchange, topics: Iterable[str], *, answer: bool) -> Message | None:
    if exchange.api not in _READ or exchange.request_body is None:
        return None
    if _has_ids(exchange):
        return None if answer else _commit(exchange.request_body, topics)
    try:
        return exchange.answer if answer else exchange.request
    except ShapeError:
        return None


SESSION_MS, HEARTBEAT_MS, POLL_INTERVAL_MS = 8000, 400, 30_000
"""Settings of consumers where a scenario has none; a virtual machine restarts in less than a
session."""

_USUAL = "range"
_GUEST = "guest"
"""The client id of a member of another client."""
_POLL_S = 0.05
_LEADER_MS = 5000
_AFTER_MS = 300
"""Ms for requests and events that are under way at the end of a scenario."""

_STEP_RECORDS = 2
"""Records that are appended after each wait: a member may lose one and not the other."""
_CATCH_UP_MS = 12_000


class _BrokeOffError(Exception):
    """The rest of the scenario would prove nothing.  `str()` is the reason."""


def settings_for(
    chosen: Settings,
    scenario: Scenario,
    introduction: Introduction,
    place: Place,
    run: str,
    topics: Iterable[str],
) -> ConsumerSettings:
    """Make the settings of a consumer of these topics, without its instance id."""
    name = chosen.assignor or scenario.assignor
    return ConsumerSettings(
        bootstrap=place.broker.bootstrap,
        group=place.group,
        topics=tuple(topics),
        session_timeout_ms=chosen.session_timeout_ms or SESSION_MS,
        heartbeat_interval_ms=chosen.heartbeat_interval_ms or HEARTBEAT_MS,
        max_poll_interval_ms=chosen.max_poll_interval_ms or POLL_INTERVAL_MS,
        assignor=usual_assignor(introduction)
        if name is None
        else assignor_in(introduction, name) or name,
        client_id=run,
        auto_commit_ms=chosen.auto_commit_ms,
        commit_on_revoke=chosen.commit_on_revoke or msgspec.UNSET,
        metadata_max_age_ms=chosen.metadata_max_age_ms or msgspec.UNSET,
        transactions="transactions" in scenario.needs or msgspec.UNSET,
        pattern=f"^{place.topic}.*$" if chosen.by_pattern else msgspec.UNSET,
    )


def usual_assignor(introduction: Introduction) -> str:
    """Return the assignor where a scenario names none: range, or the library's first eager one."""
    if _USUAL in introduction.assignors:
        return _USUAL
    eager = (name for name in introduction.assignors if not name.startswith(COOPERATIVE))
    return next(eager, next(iter(introduction.assignors), _USUAL))


def assignor_in(introduction: Introduction, name: str) -> str | None:
    """Return the library's name of an assignor; `cooperative` is its first one of that kind."""
    if name == COOPERATIVE:
        return next((n for n in introduction.assignors if n.startswith(COOPERATIVE)), None)
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
        self._guests: list[ReferenceConsumer] = []
        self._since = 0.0
        self._is_behind = False
        self._partitions = {place.topic: scenario.broker.partitions}
        self.timeline = Timeline(place.broker.history, self._partitions)

    async def run(self) -> Evidence:
        """Take all steps; return the evidence then.  Raises TargetUnavailableError."""
        self._note_versions()
        try:
            if self._scenario.reads:
                await self._append(_STEP_RECORDS)
            for act in self._scenario.acts:
                await self._do(act)
                if self._scenario.reads and isinstance(act, Until):
                    await self._append(_STEP_RECORDS)
            if self._scenario.reads:
                await self._read_on()
            await asyncio.sleep(_AFTER_MS / 1000)
        except (_BrokeOffError, DriverError) as error:
            self.timeline.broken = str(error)
        finally:
            for guest in self._guests:
                guest.kill()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        for process, driver in self._drivers.items():
            self._keep_stderr(process, driver)
        evidence = self.timeline.evidence()
        await self._tidy(evidence)
        return evidence

    async def _do(self, act: ScenarioStep) -> None:
        if isinstance(act, Until):
            await self._await(act)
            return
        self._since = self.timeline.now_ms()
        match act:
            case Start():
                await self._start(act)
            case Crash(process=process):
                await self._crash(process)
            case Produce(count=count):
                await self._append(count)
            case JoinGuest(version=version):
                await self._invite(version)
            case RemoveMember(consumer=consumer):
                run = self._run(consumer)
                member_id = self._member_id(run) if run.instance is None else ""
                remove = self._place.broker.remove
                code = await remove(self._place.group, run.instance, member_id)
                self._note("remove", run, "ok" if code == 0 else kafka_error(code))
            case (
                Close()
                | StopPolling()
                | ResumePolling()
                | PausePartitions()
                | ResumePartitions()
                | Commit()
                | CommitInTransaction()
                | Unsubscribe()
                | Subscribe()
            ):
                await self._tell(act)
            case _:
                await self._provoke(act)

    async def _append(self, count: int) -> None:
        """Append records to each partition."""
        for topic, partitions in self._partitions.items():
            began = self.timeline.now_ms()
            for partition in range(partitions):
                await self._produce(topic, partition, count)
            ended = self.timeline.now_ms()
            self.timeline.actions.append(
                Action("produce", "", began, ended, count=count, partitions=partitions, topic=topic)
            )

    async def _read_on(self) -> None:
        """Give those who run the time to read all, and further records then."""
        running = tuple(run.consumer for run in self.timeline.runs if run.ended_ms is None)
        if running:
            await self._await(Until(CaughtUp(running), _CATCH_UP_MS))
            await self._append(_STEP_RECORDS)
            await self._await(Until(CaughtUp(running), _CATCH_UP_MS))

    async def _produce(self, topic: str, partition: int, count: int) -> None:
        """Append records; a topic that was just made may have no leader yet."""
        broker = self._place.broker
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

    async def _invite(self, version: int | None) -> None:
        """Let a member of another client join: our own, which offers all assignors."""
        events: asyncio.Queue[object] = asyncio.Queue()
        settings = ClientSettings(
            group_id=self._place.group,
            topics=(self._place.topic,),
            client_id=_GUEST,
            assignors=tuple(ASSIGNORS),
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            max_poll_interval_ms=POLL_INTERVAL_MS,
            auto_commit_ms=None,
            fetches=False,
            conduct=Conduct(writes_version=version),
        )
        guest = ReferenceConsumer(
            settings, parse_address(self._place.broker.bootstrap), events.put_nowait
        )
        self._guests.append(guest)
        guest.give(Start(_GUEST))
        self._note("guest")
        if self.timeline.runs:
            return  # its partitions are the leader's part
        try:
            async with asyncio.timeout(_LEADER_MS / 1000):
                await events.get()
        except TimeoutError as error:
            raise _BrokeOffError("the other client got no partitions") from error

    async def _start(self, act: Start) -> None:
        process = process_of(act)
        driver = self._drivers.get(process)
        if driver is None:
            driver = self._drivers[process] = await self._pool.take()
        self.timeline.features = frozenset(driver.introduction.features)
        number = 1 + sum(run.consumer == act.consumer for run in self.timeline.runs)
        run_id = client_id(act.consumer, number)
        settings = settings_for(
            act.settings,
            self._scenario,
            driver.introduction,
            self._place,
            run_id,
            self._partitions,
        )
        if act.instance is not None:
            settings = structs.replace(settings, instance=act.instance)
        self._since = self.timeline.now_ms()
        run = ConsumerRun(run_id, act.consumer, number, process, settings, self._since)
        self.timeline.begin(run, self._name(run), driver)
        self._note_reply("start", run, await driver.start_consumer(self._name(run), settings))

    async def _crash(self, process: str) -> None:
        driver = self._drivers.pop(process)
        for run in list(self.timeline.runs):
            if run.process == process and run.ended_ms is None:
                self.timeline.end(run, "crashed")
        await driver.crash()
        self._keep_stderr(process, driver)
        self._note("crash")
        await self._pool.give_back(driver, clean=False)

    async def _tell(self, act: UserStep) -> None:
        run = self._run(act.consumer)
        step, limit_ms = structs.replace(act, consumer=self._name(run)), None
        name = step_name(act)
        named: tuple[Partition, ...] = ()
        if isinstance(step, Close):
            limit_ms = float(step.timeout_ms)
            self.timeline.end(run, "closed")
            if step.twice is True:
                name, limit_ms = CLOSE_TWICE, 2 * limit_ms
        elif isinstance(step, PausePartitions | ResumePartitions):
            named = tuple((self._place.topic, number) for _, number in step.partitions)
            step = structs.replace(step, partitions=named)
        elif isinstance(step, Subscribe):
            step = structs.replace(step, topics=(self._place.topic,))
        reply = await self._drivers[run.process].do(step)
        self._note_reply(name, run, reply, limit_ms, named)

    async def _provoke(self, act: ServedStep) -> None:
        broker = self._served()
        group = self._place.group
        run, outcome, topic = None, "ok", ""
        match act:
            case InjectFaults(provocations=provocations):
                broker.provoke(*provocations)
            case ClearFaults():
                broker.relent()
            case ReleaseHeld():
                broker.release_held()
            case AddPartitions(count=count):
                broker.add_partitions(self._place.topic, count)
                self._partitions[self._place.topic] = count
            case CreateTopic(name=name, partitions=partitions):
                topic = f"{self._place.topic}-{name}"
                broker.create_topic(topic, partitions)
                self._partitions[topic] = partitions
            case DeleteTopic(name=name):
                topic = f"{self._place.topic}-{name}"
                broker.delete_topic(topic)
                self._partitions.pop(topic, None)
            case ExpireSession(consumer=consumer):
                run = self._run(consumer)
                if not await broker.expire(group, run.instance or self._member_id(run)):
                    outcome = "no such member"
            case Failover():
                await broker.move_coordinator(group)
            case Loading(ms=ms):
                self._beside(broker.load(group, ms))
            case Unavailable(ms=ms):
                self._beside(broker.not_available(group, ms))
            case RestartBroker(as_of=as_of, down_ms=down_ms):
                await broker.restart(as_of=as_of, down_ms=down_ms)
                self._note_versions()
        self._note(step_name(act), run, outcome, topic)

    def _served(self) -> ApplicationBroker:
        if self._place.served is None:
            raise _BrokeOffError(f"{self._scenario.id} injects faults, and a real broker can't")
        return self._place.served

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    async def _await(self, act: Until) -> None:
        began, within_ms = self.timeline.now_ms(), act.within_ms
        if self._is_behind and isinstance(act.condition, CaughtUp):
            within_ms = BEHIND_MS
        while not is_met(act.condition, evidence := self.timeline.evidence(), self._since, began):
            limit_ms = patience_ms(act.condition, evidence, within_ms)
            if self.timeline.now_ms() - began > limit_ms + self._stalled_ms(act, began):
                within = f" within {limit_ms / 1000:g} s" if limit_ms else ""
                reason = f"{missing(act.condition)}{within}"
                self.timeline.unmet.append((began, reason))
                self._is_behind = self._is_behind or isinstance(act.condition, CaughtUp)
                if act.needed:
                    raise _BrokeOffError(reason)
                return
            self._refuse_broken()
            await asyncio.sleep(_POLL_S)
        # Clocks are a bit apart, and the next action must not seem to come before this event.
        await asyncio.sleep(4 * CLOCK_MS / 1000)

    def _stalled_ms(self, act: Until, began: float) -> float:
        """Return the time that a wait is prolonged, since the machine was slow meanwhile."""
        if not isinstance(act.condition, CaughtUp):
            return 0.0
        stalls = self.timeline.evidence().stalls
        return sum(ms for at_ms, ms in stalls if at_ms + ms >= began)

    def _refuse_broken(self) -> None:
        for driver in self._drivers.values():
            if driver.fault is not None:
                raise DriverError(driver.fault)

    async def _tidy(self, evidence: Evidence) -> None:
        """Close the consumers that still run, and give the processes back."""

        async def tidy(process: str, driver: Driver) -> None:
            clean = not evidence.broken
            for run in evidence.runs:
                if run.process == process and run.ended_ms is None and driver.fault is None:
                    clean = await _close(driver, self._name(run)) and clean
            late = any(action.outcome == "late" for action in evidence.actions)
            await self._pool.give_back(driver, clean=clean and not late)

        await asyncio.gather(*(tidy(process, driver) for process, driver in self._drivers.items()))

    def _run(self, consumer: str) -> ConsumerRun:
        return next(run for run in reversed(self.timeline.runs) if run.consumer == consumer)

    def _member_id(self, run: ConsumerRun) -> str:
        """Return the member id that the coordinator gave last to a run; "" for none."""
        joins = self.timeline.evidence().joins_of(run)
        answer = joins[-1].answer if joins else None
        return answer.member_id if isinstance(answer, JoinGroupResponse) else ""

    def _keep_stderr(self, process: str, driver: Driver) -> None:
        if lines := driver.last_words():
            self.timeline.stderr.setdefault(process, []).extend(lines)

    def _name(self, run: ConsumerRun) -> str:
        return f"{self._label}/{run.id}"

    def _note(
        self, name: str, run: ConsumerRun | None = None, outcome: str = "ok", topic: str = ""
    ) -> None:
        of = "" if run is None else run.id
        action = Action(name, of, self._since, self.timeline.now_ms(), outcome, topic=topic)
        self.timeline.actions.append(action)

    def _note_reply(
        self,
        name: str,
        run: ConsumerRun,
        reply: Reply,
        limit_ms: float | None = None,
        named: tuple[Partition, ...] = (),
    ) -> None:
        outcome, message, fatal, took_ms = "ok", "", False, None
        match reply:
            case Done(took_ms=took):
                took_ms = took
            case Refused(error=error):
                outcome, message, fatal = error.code, error.message, error.fatal
            case Unsupported(unsupported=why):
                outcome, message = "unsupported", why
                self.timeline.unsupported = why
            case Late():
                outcome, message = "late", str(reply)
        now = self.timeline.now_ms()
        self.timeline.actions.append(
            Action(
                name,
                run.id,
                self._since,
                now,
                outcome,
                message,
                fatal,
                took_ms,
                limit_ms,
                named=named,
            )
        )

    def _note_versions(self) -> None:
        if (versions := self._place.versions()) is not None:
            self.timeline.versions.append((self.timeline.now_ms(), versions))


async def _close(driver: Driver, name: str) -> bool:
    """Close a consumer; tell if that went well."""
    try:
        return isinstance(await driver.do(Close(name, 2000)), Done)
    except DriverError:
        return False
