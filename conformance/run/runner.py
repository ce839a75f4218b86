"""Run one case against one coordinator: send its requests, read answers, and ask the oracle.

A wait ends when the answer came, when no explanation of the history is left (something is wrong,
and going on would prove nothing more), or when the limit for a wait is reached.  On a real clock
what looks wrong may only be late: as long as the control shows that more lag must be allowed, the
history is judged anew with it, and the run goes on.

A case of a suite ends at its first violation, so the oracle gets each event at once.  A history
with many explanations takes long to judge; on a real clock that is done beside the event loop,
which would be late by it.  Random plans run by the thousand there, and most of them hold.  Each is
judged at its end anyway, so the oracle gets its events earlier only during a long wait: then the
run does not wait for an answer that never comes.

A run may go on behind a violation that known departures explain (`follows`): from there on the
model with these departures judges, and a violation that it can't explain either ends the run.  It
may also go on behind a deviation that is not the subject of its case (`own`): then an oracle judges
that adopts such answers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.cases.script import CASE_PARTITIONS, CASE_TOPICS, TOO_LONG_MS
from fencepost.conformance.runtime.event_loop import aside
from fencepost.conformance.targets.target import Clocked, Hints
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.consumer.settings import ASSIGNMENT_INTERVAL
from fencepost.model.consumer.topics import topic_id
from fencepost.model.coordinator import (
    PARTITIONS,
    TOPICS,
    Answer,
    AsyncCoordinator,
    Config,
    CoordinatorFailure,
    Dropped,
    Hello,
    Send,
    Topic,
    UnsupportedError,
    codes_in,
    named,
    spans,
)
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Event,
    Handled,
    Moved,
    Passed,
    Restarted,
    Sent,
)
from fencepost.model.history.words import with_article
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.messages import LeaveGroupRequest, LeavingMember, carried_fields
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.plans.bind import Knowledge
from fencepost.model.plans.steps import (
    Await,
    Disconnect,
    Failover,
    MoveCoordinator,
    OperatorStep,
    Pause,
    Plan,
    PlanStep,
    ProtocolOf,
    Request,
    Settle,
)
from fencepost.model.plans.times import Times, times_for
from fencepost.model.revision import Revision
from fencepost.properties.departures.attribution import attributed, departed_by
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.oracle.behind import judge_behind
from fencepost.properties.oracle.oracle import Oracle, judge
from fencepost.properties.oracle.verdict import Verdict

_LONGEST_BEHIND_S = 30
"""Seconds that a case may go on behind a deviation: a target may be late in each further step."""

SELDOM_S = 5.0
"""Seconds between two times at which the oracle gets the events of a plan that waits."""

_MANY_ORDERS = 64
"""Number of orders of requests from which on they are tried outside the event loop."""


class Listener:
    """An oracle that may get events late.

    `every_s`: least seconds between two times at which `still_open` passes events on; 0: each event
    is passed on, at once unless that takes long; None: at once, even if that takes long, as on a
    virtual clock, where nothing is late.
    `follows`: go on with an oracle that has the known departures that explain a violation.  `own`:
    the rules that the case is about; go on behind what has nothing to do with them; None: don't.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config,
        lag_ms: int,
        every_s: float | None,
        *,
        follows: bool = False,
        own: Iterable[str] | None = None,
        may_go_on: Callable[[Verdict], bool] = lambda _: True,
    ) -> None:
        self._may_go_on = may_go_on
        self._went_on_s: float | None = None
        self._revision = revision
        self._config = config
        self._first = self._oracle = Oracle(revision, config, lag_ms=lag_ms)
        self._follows = follows
        self._own = None if own is None else frozenset(own)
        self._keeps = follows or own is not None
        self._events: list[Event] = []
        self._every_s = every_s
        self._passed_on_s = time.monotonic()
        self._waiting: deque[Event] = deque()

    def observe(self, event: Event) -> None:
        """Add an event."""
        if self._every_s is None or not (self._every_s or self._waiting or self._takes_long()):
            self._pass_on(event)
            return
        if not isinstance(event, Passed):
            self._passed_on_s = time.monotonic()
        elif self._waiting and isinstance(self._waiting[-1], Passed):
            self._waiting.pop()  # the longer silence replaces it
        self._waiting.append(event)

    def open(self) -> bool:
        """Return True if the oracle explains all events that it got; it gets no more by this."""
        return self._oracle.open()

    @property
    def is_violated(self) -> bool:
        """Return True if the oracle got a violation; then it stays so."""
        return self._oracle.violation is not None

    @property
    def is_behind(self) -> bool:
        """Return True if there was a violation, and an oracle that went on behind it judges."""
        return self._oracle is not self._first

    @property
    def behind_s(self) -> float:
        """Return the seconds since it went on behind a deviation that no departure explains."""
        return 0.0 if self._went_on_s is None else time.monotonic() - self._went_on_s

    async def relax(self, history: list[Event], lag_ms: int) -> None:
        """Judge the history anew with more lag, and go on with that."""
        if lag_ms > self.lag_ms:
            await aside(partial(self._relax, history, lag_ms))

    def _relax(self, history: list[Event], lag_ms: int) -> None:
        self._first = self._oracle = judge(self._revision, self._config, history, lag_ms=lag_ms)
        self._events = list(history) if self._keeps else []
        self._waiting.clear()
        self._passed_on_s = time.monotonic()
        self._follow()

    @property
    def lag_ms(self) -> int:
        """Return the lag that the oracle allows, in ms."""
        return self._first.lag_ms

    async def still_open(self) -> bool:
        """Like `open`, after the oracle has processed all events, if it is time for that."""
        if self._waiting and time.monotonic() - self._passed_on_s >= (self._every_s or 0):
            await aside(self._catch_up)
        return self._oracle.open()

    def next_deadline_ms(self, after_ms: int) -> int | None:
        """Return the oracle's next deadline after all events."""
        self._catch_up()
        return self._oracle.next_deadline_ms(after_ms)

    def verdict(self) -> Verdict:
        """Return the verdict of the first oracle, without any departure, on all events."""
        self._catch_up()
        return self._first.verdict()

    def _takes_long(self) -> bool:
        orders = (1 << len(c.unapplied) for c in self._oracle.explanations())
        return sum(orders) >= _MANY_ORDERS

    def _catch_up(self) -> None:
        while self._waiting:
            self._pass_on(self._waiting.popleft())
        self._passed_on_s = time.monotonic()

    def _pass_on(self, event: Event) -> None:
        was_open = self._oracle.open()
        self._oracle.observe(event)
        if self._keeps:
            self._events.append(event)
            if was_open:
                self._follow()

    def _follow(self) -> None:
        """Go on behind the violation, if that is possible."""
        if self._oracle.violation is None:
            return
        if self._follows:
            self._follow_departures()
        if self._own is None or self.is_behind:
            return
        if self._may_go_on(self._first.verdict()):
            self._went_on_s = time.monotonic()
            self._oracle = judge_behind(
                self._revision, self._config, self._events, lag_ms=self.lag_ms, own=self._own
            )

    def _follow_departures(self) -> None:
        """Go on with the departures that explain the violation, if there are any."""
        if self._revision.protocol is not CLASSIC:  # several departures have too many states live
            return
        cause = attributed(self._revision, self._config, self._events, lag_ms=self.lag_ms).cause
        if cause:
            departed = departed_by(self._revision, cause)
            self._oracle = judge(departed, self._config, self._events, lag_ms=self.lag_ms)


WAIT_CAP_MS = 120_000
"""Limit of a single wait of a case on a real clock, in ms."""

VIRTUAL_CAP_MS = 3_600_000
_SLICE_MS = 50
_LONGEST_SLICE_MS = 400
"""Limit of the ms between two checks of a wait; they grow with it.  An answer ends it at once."""

_NO_HINTS = Hints()
_BATCHES_SINCE = 3
_DELAYED_APIS = {"JoinGroup", "SyncGroup"}
"""APIs whose answers a coordinator may delay.  Another request that is dropped was not handled."""


_CHANGES = {
    "ConsumerGroupHeartbeat": (
        *("subscribedTopicNames", "subscribedTopicRegex"),
        *("serverAssignor", "rackId"),
    ),
    "StreamsGroupHeartbeat": ("topology", "processId", "rackId", "clientTags"),
}
"""Fields of a heartbeat that change a member's target, by API."""
_ASSIGNED_AT = {*_CHANGES, "JoinGroup", "Heartbeat"}
"""Requests at which a coordinator makes a target that is due."""


def _changes_target(api: str, body: Mapping[str, Any]) -> bool:
    """Tell if a request may make a new target due."""
    if api not in _CHANGES:
        return api in {"JoinGroup", "LeaveGroup"}
    return body["memberEpoch"] in {0, -1} or any(body.get(name) for name in _CHANGES[api])


class CaseUnsupportedError(Exception):
    """The target lacks something that the case needs.  `str()` names it."""


class CaseRun:
    """One run of one case.

    `lag_ms`: differences in time that the target's clock can't show, by which waits are scaled; 0
    for a virtual clock.  `hints`: how to send requests to this target.  `persists`: run the plan to
    its end even after a violation, to see further violations.  `eager`: judge the plan while it
    runs, even if it is about no rule.  `follows`: go on behind a violation that known departures
    explain; `goes_on`: behind one that has nothing to do with the rules of the case, if this holds
    for the verdict and the recording so far.
    `lag_since`: the lag that must be allowed by now for events since a time of the monotonic clock.
    """

    def __init__(
        self,
        case: Plan,
        coordinator: AsyncCoordinator,
        hello: Hello,
        config: Config,
        revision: Revision,
        lag_ms: int,
        hints: Hints = _NO_HINTS,
        *,
        persists: bool = False,
        eager: bool = False,
        follows: bool = False,
        goes_on: Callable[[Verdict, Recording], bool] | None = None,
        lag_since: Callable[[float], int] = lambda _: 0,
    ) -> None:
        self._persists = persists
        self._lag_since = lag_since
        self._case = case
        self._coordinator = coordinator
        self._hello = hello
        self._virtual = hello.clock == "virtual"
        lag = 0 if self._virtual else lag_ms
        self._times: Times = times_for(
            config, lag_ms=lag, session_ms=hints.session_ms, tick_ms=hints.tick_ms
        )
        self._knowledge = Knowledge(self._times)
        if revision.protocol.takes_topics:
            self._knowledge.names |= {topic_id(name): name for name in CASE_TOPICS}
        patience = 0 if self._virtual else max(lag, hints.patience_for(self._times.session))
        every_s = 0.0 if case.rules or eager else SELDOM_S
        self._oracle = Listener(
            revision,
            config,
            patience,
            None if self._virtual else every_s,
            follows=follows,
            own=case.rules if goes_on is not None and case.rules else None,
            may_go_on=self._may_go_on,
        )
        self._goes_on_behind = goes_on
        is_about_batching = ASSIGNMENT_INTERVAL in case.needs.config or not case.rules
        self._interval_ms = 0 if is_about_batching else config.get(ASSIGNMENT_INTERVAL) or 0
        self._changed: int | None = None
        timers = self._times.session + self._times.rebalance
        self._unjudged_cap = timers if self._virtual else patience
        short = self._times.short_session + self._times.short_rebalance
        self._departed_cap = timers if self._virtual else short + patience
        self._now = 0
        self._origin = time.monotonic()
        self._open: dict[str, Request] = {}
        self._bodies: dict[str, dict[str, Any]] = {}
        self.recording = Recording(
            case, config, hello.clock, lag, patience, written_for_ms=lag, times=self._times
        )

    async def run(self) -> Recording:
        """Run the plan to its end, or until a violation ends it.

        Raises CaseUnsupportedError; CoordinatorFailure where the target itself failed.
        """
        self.recording.began = time.monotonic()
        for number, step in enumerate(self._case.steps, start=1):
            try:
                await self._step(step, number)
            except (CaseUnsupportedError, CoordinatorFailure) as error:
                if not self._oracle.is_behind:
                    raise
                # What came before is wrong, whatever the target lacks for the rest.
                self.recording.stopped = str(error)
            self.recording.step_ends.append(self._clock())
            if self.recording.stopped or not await self._goes_on():
                break
        else:
            await self._linger()
            self.recording.completed = await self._goes_on()
        self.recording.names = dict(self._knowledge.names)
        self.recording.ended = time.monotonic()
        return self.recording

    def _may_go_on(self, verdict: Verdict) -> bool:
        recording = dataclasses.replace(self.recording, names=dict(self._knowledge.names))
        return self._goes_on_behind is not None and self._goes_on_behind(verdict, recording)

    @property
    def pauses_ms(self) -> int:
        """Return the sum of the pauses of its case, in ms."""
        return pauses_ms(self._case, self._times)

    def verdict(self) -> Verdict:
        """Return the oracle's verdict so far; on a real clock it allows for `patience_ms`."""
        return self._oracle.verdict()

    async def _goes_on(self) -> bool:
        if not self._virtual and self._oracle.behind_s > _LONGEST_BEHIND_S:
            self.recording.stopped = (
                f"the case went on behind a deviation for {_LONGEST_BEHIND_S} s"
            )
            return False
        if self._persists or await self._oracle.still_open():
            return True
        if self._virtual:
            return False
        if self._oracle.is_violated:
            lag_ms = self._lag_since(self.recording.began)
            if lag_ms > self._oracle.lag_ms:  # twice as much, or this is done at each wait
                lag_ms = max(lag_ms, 2 * self._oracle.lag_ms)
                await self._oracle.relax(self.recording.history, lag_ms)
        # An unknown verdict may be decided in the end, but not behind a deviation.
        return self._oracle.open() or not (self._oracle.is_violated or self._oracle.is_behind)

    async def _step(self, step: PlanStep, number: int) -> None:
        match step:
            case Request():
                await self._ask(step, number)
            case Await():
                await self._await(step.labels)
            case Pause():
                await self._let_pass(pause_ms(step, self._times))
            case Settle():
                if not self._virtual:
                    await self._let_pass(self._times.settle)
                    self.recording.settled.append(len(self._bodies))
            case Disconnect():
                dropped = await self._coordinator.disconnect(step.who)
                self._take(dropped.answers)
                self._record(Disconnected(self._clock(), step.who, dropped.dropped))
                for request_id in dropped.dropped:
                    self._open.pop(request_id, None)
            case Failover():
                await self._take_over(self._coordinator.restart, Restarted)
            case MoveCoordinator():
                await self._take_over(self._coordinator.move, Moved)
            case OperatorStep():
                begun = self._clock()
                answers = await self._coordinator.operate(step)
                self._record(step.happened(begun, self._clock()))
                self._take(answers)

    async def _take_over(
        self, call: Callable[[], Awaitable[Dropped]], kind: type[Restarted | Moved]
    ) -> None:
        begun = self._clock()
        dropped = await call()
        lost = dropped.dropped
        if dropped.outage is None:
            self._record(kind(begun, self._clock(), dropped.dropped))
            moved = self.recording.moved
            self._take(dropped.answers)
            self.recording.moved = moved  # the restart may answer so
        else:
            begun, down = map(self._since_origin, dropped.outage)
            for answer, read in zip(dropped.answers, dropped.read, strict=True):
                self._take([answer], min(begun, self._since_origin(read)))
            parked = [a for a in dropped.late if self._open[a.id].api in _DELAYED_APIS]
            lost = (*lost, *(a.id for a in dropped.late if a not in parked))
            self._record(kind(begun, self._clock(), lost, down + 1))
            moved = self.recording.moved
            self._take(parked)
            self.recording.moved = moved
        for request_id in lost:
            self._open.pop(request_id, None)

    async def _may_assign(self) -> None:
        """Wait until the coordinator assigns what was changed, where it batches assignments.

        So a case that is not about batching takes its course there, too.
        """
        if self._changed is None:
            return
        due = self._changed + self._interval_ms + (0 if self._virtual else self._times.settle)
        self._changed = None
        if (left := due - self._clock()) > 0:
            await self._let_pass(left)

    async def _ask(self, step: Request, number: int) -> None:
        if self._interval_ms and step.api in _ASSIGNED_AT:
            await self._may_assign()
        version, body = bound_request(step, self._hello, self._knowledge)
        request_id = f"r{number}"
        connection = step.connection or step.who
        if any((ask.connection or ask.who) == connection for ask in self._open.values()):
            self.recording.stopped = f"{step.label}: its connection waits for another answer"
            return
        request = Send(request_id, connection, "fencepost", step.api, version, body)
        self._open[request_id] = step
        self._bodies[request_id] = body
        self.recording.labels[request_id] = step.label
        self.recording.senders[request_id] = step.who
        begun = self._clock()
        answers = await self._coordinator.send(request)
        self._record(Sent(begun, request, self._clock()))
        self._take(answers)
        if self._virtual:
            self._record(Handled(self._now))
        if self._interval_ms and _changes_target(step.api, body):
            self._changed = self._clock()

    def _clock(self) -> int:
        if self._virtual:
            return self._now
        return self._since_origin(time.monotonic())

    def _since_origin(self, seconds: float) -> int:
        return int((seconds - self._origin) * 1000)

    def _record(self, event: Event) -> None:
        history = self.recording.history
        last = history[-1] if history and not self._virtual else None
        if isinstance(event, Passed) and isinstance(last, Passed):
            history.pop()  # the longer silence replaces it
        history.append(event)
        self._oracle.observe(event)

    def _take(self, answers: Sequence[Answer], read_ms: int | None = None) -> None:
        """Record answers.  `read_ms`: on a real clock, the time of reading, if not now."""
        for answer in answers:
            read = answer if self._virtual else self._stamped(answer, read_ms)
            ask = self._open.pop(answer.id, None)
            if ask is not None and answer.body is not None:
                self.recording.moved |= not MOVING.isdisjoint(codes_in(answer.body))
                self._knowledge.learn(ask.who, ask.api, answer.body, self._bodies[answer.id])
            self._record(Answered(read))  # last: a signature names the ids that it brings

    def _stamped(self, answer: Answer, read_ms: int | None) -> Answer:
        """Return the answer with the time when we read it, by our own clock."""
        at = self._clock() if read_ms is None else read_ms
        if read_ms is None and isinstance(self._coordinator, Clocked):
            read_ms = self._since_origin(self._coordinator.read_at(answer))
            at = min(at, max(read_ms, self._latest_ms()))
        return Answer(answer.id, at + 1, answer.body, answer.findings)

    def _latest_ms(self) -> int:
        """Return the time of the last event, in ms."""
        if not self.recording.history:
            return 0
        last = self.recording.history[-1]
        return last.ended_ms if isinstance(last, Sent) else last.at_ms

    async def _advance(self, ms: int) -> None:
        before = self._clock()
        answers = await self._coordinator.advance(ms)
        if self._virtual:
            self._now += ms
            self._take(answers)
            self._record(Passed(self._now))
        else:
            self._take(answers)
            if not answers:
                self._take(await self._drained())
                self._record(Passed(before))

    async def _drained(self) -> Sequence[Answer]:
        """Return the answers that are still on their way through the event loop."""
        for _ in range(3):
            await asyncio.sleep(0)
        return await self._coordinator.advance(0)

    async def _let_pass(self, ms: int) -> None:
        end = self._clock() + ms
        if self._virtual:
            await self._advance(ms)
            return
        slice_ms = _SLICE_MS
        while (left := end - self._clock()) > 0 and await self._goes_on():
            await self._advance(min(left, slice_ms))
            slice_ms = min(2 * slice_ms, _LONGEST_SLICE_MS)

    async def _await(self, labels: tuple[str, ...]) -> None:
        begun = self._clock()
        looked_ms = begun - 1  # an answer that is due now may not have been checked yet
        cap = VIRTUAL_CAP_MS if self._virtual else WAIT_CAP_MS
        slice_ms = _SLICE_MS
        while (waiting := self._waiting(labels)) and await self._goes_on():
            if self._oracle.is_violated:  # the answers that are due are unknown from here on
                cap = self._unjudged_cap
            elif self._oracle.is_behind:  # plans wait for the effects of short timers
                cap = self._departed_cap
            if self._clock() - begun > cap:
                self.recording.stopped = f"{', '.join(waiting)} waited for in vain"
                return
            if not self._virtual:
                await self._advance(slice_ms)
                slice_ms = min(2 * slice_ms, _LONGEST_SLICE_MS)
                continue
            if not self._oracle.open():
                await self._advance(self._times.short_rebalance)
                continue
            deadline = self._oracle.next_deadline_ms(looked_ms)
            if deadline is None:
                await self._advance(0)  # an answer that is due now has not come
                self.recording.stopped = f"{', '.join(waiting)}: nothing left that could answer"
                return
            await self._advance(deadline - self._now)
            looked_ms = self._now

    def _waiting(self, labels: tuple[str, ...]) -> list[str]:
        return [ask.label for ask in self._open.values() if ask.label in labels]

    async def _linger(self) -> None:
        """Wait, after the last step, for answers that should come, or should not."""
        if self._virtual:
            await self._advance(0)
        elif self._open or self._case.rules:  # else no answer matters
            await self._let_pass(self._times.margin)


def bound_request(step: Request, hello: Hello, knowledge: Knowledge) -> tuple[int, dict[str, Any]]:
    """Return the version and body of a request for a target, by its sender's knowledge.

    Raises CaseUnsupportedError where the target lacks the API or version, or the version lacks a
    field.
    """
    versions = hello.versions(step.api)
    if not versions:
        raise CaseUnsupportedError(step.api)
    version = step.version
    if version is None:
        most = versions[-1] if step.at_most is None else step.at_most
        version = max((v for v in versions if v <= most), default=most)
    if version not in versions:
        raise CaseUnsupportedError(f"{step.api} v{version}; the target has {spans(versions)}")
    kind = ALL_APIS[step.api].request
    carried = carried_fields(kind, version)
    values = {
        name: knowledge.value(value)
        for name, value in step.fields.items()
        if name in carried or not isinstance(value, ProtocolOf)
    }
    try:
        return version, _in_version(kind(**values), version).to_body(version)
    except ShapeError as error:
        raise CaseUnsupportedError(
            f"{with_article(step.api)} that can say {error.path}; v{version} can't"
        ) from error


def pause_ms(step: Pause, times: Times) -> int:
    """Return the length of a pause, in ms."""
    total = sum(map(times.of, step.times)) // step.parts
    margin = step.margins * times.margin
    late = times.tick if step.times and step.margins else 0
    return max(0, total - margin if step.minus else total + margin + late)


def pauses_ms(case: Plan, times: Times) -> int:
    """Return the sum of the pauses of a case, in ms."""
    return sum(pause_ms(step, times) for step in case.steps if isinstance(step, Pause))


def _in_version(message: Message, version: int) -> Message:
    """Return a leave of one dynamic member in the form of versions that name one member id."""
    match message:
        case LeaveGroupRequest(members=(LeavingMember(group_instance_id=None) as row,)):
            if version < _BATCHES_SINCE:
                return replace(message, member_id=row.member_id, members=())
    return message


async def reset_for(
    revision: Revision, hello: Hello, coordinator: AsyncCoordinator, settings: Config
) -> Config:
    """Reset a coordinator for a case, and return its settings.

    Where groups hold partitions it is given topics, too.  Their ids follow from their names, and
    the number of their partitions is among the settings, so that a judge knows them by these.
    Raises UnsupportedError.
    """
    if not revision.protocol.takes_topics:
        return (await coordinator.reset(settings)).config
    for api in revision.apis:
        if api.endswith("GroupHeartbeat") and api not in hello.apis:
            raise UnsupportedError(api)
    if TOPICS not in hello.features:
        raise UnsupportedError(f"{TOPICS}, a feature that {revision.name} needs")
    topics = {name: Topic(topic_id(name), CASE_PARTITIONS) for name in CASE_TOPICS}
    config = (await coordinator.reset(settings, topics)).config
    return {**config, PARTITIONS: CASE_PARTITIONS}


def unmet_need(case: Plan, hello: Hello, config: Config) -> str | None:
    """Return the API, feature or setting that a target lacks for a case, or None."""
    needs = case.needs
    for api, version in needs.apis:
        if version not in hello.versions(api):
            return f"{api} v{version}"
    if missing := sorted(needs.features - hello.features):
        return f"feature {missing[0]}"
    for key, value in needs.config.items():
        if config.get(key) != value:
            needed, has = named({key: value}), named({key: config.get(key)})
            return f"{key}={needed[key]} (it is {has[key]})"
    longest = config.get("group.max.session.timeout.ms")
    if longest == TOO_LONG_MS and _exceeds_longest_session(case):
        return f"a session timeout above group.max.session.timeout.ms (it is {longest})"
    return None


def _exceeds_longest_session(case: Plan) -> bool:
    """Tell if a case has a join refused for the longest session timeout that a request can say.

    It is above no maximum of that length.
    """
    joins = (s for s in case.steps if isinstance(s, Request) and s.api == "JoinGroup")
    return "JOIN-SESSION-TIMEOUT-INVALID" in case.rules and any(
        join.fields.get("session_timeout_ms") == TOO_LONG_MS for join in joins
    )
