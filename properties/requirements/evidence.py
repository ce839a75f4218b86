"""Collect the evidence that judges read: runs of consumers, calls, events of users, actions.

A *run* is a consumer from its start to its end; a restart begins another one.  All times are ms on
the broker's clock.  A driver's clock is mapped to it: an event is never placed before it happened,
and rarely more than a few ms after, give or take `CLOCK_MS`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.model.history.history import Exchange, answer_error
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import (
    JoinGroupResponse,
    LeaveGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition, readable_assignment
from fencepost.properties.requirements.driver_messages import (
    AnyEvent,
    Assigned,
    ConsumerSettings,
    Ended,
    Error,
    Lost,
    Partition,
    Records,
    Revoked,
)

JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT = (
    "JoinGroup",
    "SyncGroup",
    "Heartbeat",
    "LeaveGroup",
    "OffsetCommit",
)
FIND = "FindCoordinator"
TXN_COMMIT, END_TXN = "TxnOffsetCommit", "EndTxn"
MEMBER_APIS = (JOIN, SYNC, HEARTBEAT, COMMIT)
"""APIs whose requests carry an instance id."""

FIRST_WITH_INSTANCE = {JOIN: 5, SYNC: 3, HEARTBEAT: 3, COMMIT: 7}
"""The first version of each that has room for one."""

FIRST_WITH_ERROR = {
    ("Fetch", "KAFKA_STORAGE_ERROR"): 6,
    ("OffsetFetch", "UNSTABLE_OFFSET_COMMIT"): 7,
}
"""The first version of each that may be answered the error: older ones get another error, or can't
ask for stable offsets.  Source: Kafka's FetchRequest and OffsetFetchRequest, and KIP-447."""

COOPERATIVE = "cooperative"

PAUSE, RESUME, CLOSE_TWICE = "pause-partitions", "resume-partitions", "close-twice"
_CALLS = {
    "start",
    "close",
    CLOSE_TWICE,
    "commit",
    "commit-in-transaction",
    "unsubscribe",
    "subscribe",
    "stop-polling",
    "poll-on",
    PAUSE,
    RESUME,
}
"""Names of the actions that are calls of a user."""

CLOCK_MS = 5.0
"""Limit of the difference of two clocks at one moment: a driver may round to whole ms."""


@dataclass(frozen=True, slots=True)
class ConsumerRun:
    """A consumer from a start to its end.

    `id`: its client id, used once; `consumer`: its name in the scenario; `number`: counts its
    starts from 1.  `ended_ms`: when its end began (None: it ran on).  `how`: `closed`, `crashed`,
    or "".
    """

    id: str
    consumer: str
    number: int
    process: str
    settings: ConsumerSettings
    began_ms: float
    ended_ms: float | None = None
    how: str = ""

    @property
    def instance(self) -> str | None:
        """Return the instance id that its user set."""
        return self.settings.instance

    @property
    def name(self) -> str:
        """Name the run in a sentence: `a`, or `a (start 2)`."""
        return self.consumer if self.number == 1 else f"{self.consumer} (start {self.number})"

    @property
    def is_cooperative(self) -> bool:
        """Tell if its assignor gives partitions back one by one."""
        return self.settings.assignor.startswith(COOPERATIVE)

    def is_over(self, at_ms: float) -> bool:
        """Tell if its end had begun."""
        return self.ended_ms is not None and self.ended_ms <= at_ms


@dataclass(slots=True)
class Call(Exchange[Message | None, Message | None]):
    """An exchange of a run: `client_id` is the run's id.  The model may have no such message.

    `fault`: the fault that the broker injected, an action, or "".  `code`: the error in an answer
    that the model doesn't have.  `commits`: an EndTxn that commits, not aborts.
    """

    fault: str = ""
    code: int | None = None
    commits: bool = False

    @property
    def error(self) -> int | None:
        """The error code of the answer, also of one that the model doesn't have."""
        return self.code if self.answer is None else answer_error(self.answer)

    @property
    def assigned(self) -> tuple[TopicPartition, ...]:
        """The partitions in the answer to a sync, in order; none where they can't be read."""
        if not isinstance(self.answer, SyncGroupResponse):
            return ()
        return readable_assignment(self.answer.assignment)


def names_no_instance(call: Call) -> bool:
    """Tell if it can't be fenced: a broker fences by the instance id, and it has none."""
    has_room = call.version >= FIRST_WITH_INSTANCE.get(call.api, 0)
    return not has_room or (call.request is not None and call.instance is None)


@dataclass(frozen=True, slots=True)
class UserEvent:
    """An event that the user of a run saw; `run`: the run's id."""

    run: str
    at_ms: float
    event: AnyEvent


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a consumer, or one of an administrator or the broker (`run` "").

    `outcome`: `ok`, `late` (the library didn't return), `unsupported`, or the name of an error;
    `message`: the sentence with it; `fatal`: the library calls it so.  `took_ms`, `limit_ms`: the
    time that it took by the library's account, and the time that it may take.  `count`: of the
    records that it appended to each partition; `partitions`: the number of these.  `topic`: that it
    is about; "": the scenario has one.  `named`: the partitions that it names.
    """

    name: str
    run: str
    began_ms: float
    ended_ms: float
    outcome: str = "ok"
    message: str = ""
    fatal: bool = False
    took_ms: float | None = None
    limit_ms: float | None = None
    count: int = 0
    partitions: int = 0
    topic: str = ""
    named: tuple[Partition, ...] = ()

    @property
    def is_refused_call(self) -> bool:
        """Tell if the library answered a call of its user's with an error."""
        return self.name in _CALLS and self.outcome not in {"ok", "late", "unsupported"}


@dataclass(frozen=True, slots=True)
class Evidence:
    """All evidence of a run of a scenario.

    `calls` and `user_events` are in order of time.  `partitions`: number of each topic's.
    `versions`: times, and the ranges that the broker advertised from then on.  `stalls`: times at
    which the control client had to wait, with the ms.  `broken`: the reason why the run did not
    come to its end, or "".  `unmet`: times and conditions of waits in vain.  `unsupported`: the
    feature that the library reported to lack, or "".  `features`: those of its driver.  `stderr`:
    its end, by process; it is for readers, and no judge looks at it.
    """

    runs: tuple[ConsumerRun, ...]
    calls: tuple[Call, ...] = ()
    user_events: tuple[UserEvent, ...] = ()
    actions: tuple[Action, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    versions: tuple[tuple[float, Mapping[str, tuple[int, int]]], ...] = ()
    stalls: tuple[tuple[float, float], ...] = ()
    ended_ms: float = 0.0
    broken: str = ""
    unmet: tuple[tuple[float, str], ...] = ()
    unsupported: str = ""
    features: frozenset[str] = frozenset()
    stderr: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    # Runs.

    def run_of(self, consumer: str, number: int | None = None) -> ConsumerRun | None:
        """Return the run of a consumer with this number, or its last one; None without one."""
        runs = [run for run in self.runs if run.consumer == consumer]
        if number is not None:
            runs = [run for run in runs if run.number == number]
        return runs[-1] if runs else None

    @property
    def static_runs(self) -> Sequence[ConsumerRun]:
        """List the runs whose user set an instance id."""
        return [run for run in self.runs if run.instance is not None]

    def member_ids(self, run: ConsumerRun) -> set[str]:
        """Collect the member ids that a run was assigned."""
        answers = (call.answer for call in self.of(run, JOIN))
        return {a.member_id for a in answers if isinstance(a, JoinGroupResponse)} - {""}

    # Calls.

    def of(
        self, run: ConsumerRun, *apis: str, since: float = 0.0, until: float | None = None
    ) -> Sequence[Call]:
        """List the calls of a run, of these APIs or all, received between two times."""
        return [
            call
            for call in self.calls
            if call.client_id == run.id
            and (not apis or call.api in apis)
            and call.at_ms >= since
            and (until is None or call.at_ms < until)
        ]

    def first_after(
        self, run: ConsumerRun, since: float, *apis: str, until: float | None = None
    ) -> Call | None:
        """Return the first call of a run, of these APIs, received at a time or later."""
        return next(iter(self.of(run, *apis, since=since, until=until)), None)

    def joins_of(self, run: ConsumerRun) -> list[Call]:
        """List the joins of a run that were answered without an error."""
        return [call for call in self.of(run, JOIN) if call.went_well]

    def syncs_of(self, run: ConsumerRun) -> list[Call]:
        """List the syncs of a run that were answered without an error."""
        return [call for call in self.of(run, SYNC) if call.went_well]

    def is_led_by(self, run: ConsumerRun) -> bool:
        """Tell if a run led the group by its last join."""
        joins = self.joins_of(run)
        return bool(joins) and joins[-1].makes_leader

    def leaves_of(self, run: ConsumerRun, since: float = 0.0) -> Iterator[Call]:
        """Yield the LeaveGroup requests that name a run: its own, and others with its ids."""
        names = self.member_ids(run)
        for call in self.calls:
            request = call.request
            if call.api != LEAVE or call.at_ms < since:
                continue
            if not isinstance(request, LeaveGroupRequest):
                continue
            members = {request.member_id, *(row.member_id for row in request.members)}
            if call.client_id == run.id or members & names:
                yield call

    def refusals(self, code: Code, *apis: str) -> Iterator[tuple[ConsumerRun, Call]]:
        """Yield the calls that were answered with this error while their run went on.

        A provoked answer that no real broker could have given to such a request is left out.
        """
        for run in self.runs:
            for call in self.of(run, *(apis or MEMBER_APIS)):
                is_possible = code is not Code.FENCED_INSTANCE_ID or not names_no_instance(call)
                if call.is_answered(code) and is_possible and not run.is_over(call.end_ms):
                    yield run, call

    def fenced_calls(self) -> Iterator[tuple[ConsumerRun, Call]]:
        """Yield the calls that were answered FENCED_INSTANCE_ID, and not by chance.

        A member whose heartbeats name no instance is fenced by chance alone, while two take the
        place from each other: when the other one joins between its join and its sync.
        """
        for run, call in self.refusals(Code.FENCED_INSTANCE_ID):
            beats = self.of(run, HEARTBEAT)
            if call.fault or not beats or not all(map(names_no_instance, beats)):
                yield run, call

    def unanswerable(self, until: float = math.inf) -> Call | None:
        """Return the first call with a provoked error that no broker answers in its version.

        `until`: only of answers before this time.
        """
        for call in self.calls:
            first = FIRST_WITH_ERROR.get((call.api, call.error_name), 0)
            if call.fault and call.version < first and call.end_ms <= until:
                return call
        return None

    def too_old(self, until: float = math.inf) -> Call | None:
        """Return the first call of a version that the broker no longer has: it gets no answer.

        `until`: only before this time.
        """
        return next((c for c in self.calls if c.at_ms <= until and self.is_too_old(c)), None)

    def is_too_old(self, call: Call) -> bool:
        """Tell if a call got no answer since the broker no longer has its version."""
        known = None if call.answered_ms is not None else self.advertised(call.api, call.at_ms)
        return known is not None and call.version < known[0]

    # Events of users, and actions.

    def events_of(self, run: ConsumerRun, *kinds: type, since: float = 0.0) -> Sequence[UserEvent]:
        """List the events of a run's user, of these kinds or all, from a time on."""
        return [
            event
            for event in self.user_events
            if event.run == run.id
            and (not kinds or isinstance(event.event, kinds))
            and event.at_ms >= since
        ]

    def errors_of(self, run: ConsumerRun, since: float = 0.0) -> Sequence[tuple[float, Error]]:
        """List the errors that a run's user received, in order, with their times.

        An error that a call of the user's failed with is received by that call.
        """
        errors = [
            (event.at_ms, event.event)
            for event in self.events_of(run, Error, since=since)
            if isinstance(event.event, Error)
        ]
        for act in self.actions:
            if act.run == run.id and act.is_refused_call and act.ended_ms >= since:
                at_ms = act.ended_ms
                error = Error(run.consumer, at_ms, act.name, act.outcome, act.fatal, act.message)
                errors.append((at_ms, error))
        return sorted(errors, key=lambda row: row[0])

    def ended(self, run: ConsumerRun) -> float | None:
        """Return when the library gave up by itself; None: it didn't."""
        return next((event.at_ms for event in self.events_of(run, Ended)), None)

    @property
    def tells_partitions(self) -> bool:
        """Tell if the library reports partitions to users: some have no such callback."""
        return any(isinstance(event.event, Assigned) for event in self.user_events)

    def owned(self, run: ConsumerRun, at_ms: float | None = None) -> frozenset[Partition]:
        """Return the partitions that a run's user has at a time, or at the end, by its events.

        Where the library reports no partitions to users, those that the answer to its last sync
        has.
        """
        if not self.tells_partitions:
            return self._answered_partitions(run, at_ms)
        owned: frozenset[Partition] = frozenset()
        for changed_ms, partitions in self.ownership(run):
            if at_ms is not None and changed_ms > at_ms:
                break
            owned = partitions
        return owned

    def ownership(self, run: ConsumerRun) -> Iterator[tuple[float, frozenset[Partition]]]:
        """Yield the partitions that a run's user has after each event that changes them."""
        owned: frozenset[Partition] = frozenset()
        for event in self.events_of(run, Assigned, Revoked, Lost, Ended):
            match event.event:
                case Assigned(partitions=partitions) if (
                    run.is_cooperative and not owned & frozenset(partitions)
                ):
                    owned |= frozenset(partitions)
                case Assigned(partitions=partitions):
                    owned = frozenset(partitions)
                case Revoked(partitions=partitions) | Lost(partitions=partitions):
                    owned -= frozenset(partitions)
                case Ended():
                    owned = frozenset()
            yield event.at_ms, owned

    def _answered_partitions(self, run: ConsumerRun, at_ms: float | None) -> frozenset[Partition]:
        until = self.ended_ms if at_ms is None else at_ms
        calls = [c for c in self.of(run, SYNC, until=until) if c.went_well]
        return frozenset(calls[-1].assigned) if calls else frozenset()

    def records_of(self, run: ConsumerRun, since: float = 0.0) -> Iterator[tuple[float, Records]]:
        """Yield the records that a run's user received, with their times."""
        for event in self.events_of(run, Records, since=since):
            if isinstance(event.event, Records):
                yield event.at_ms, event.event

    def actions_of(self, name: str, run: ConsumerRun | None = None) -> Sequence[Action]:
        """List the actions of this name, on a run or on any."""
        return [a for a in self.actions if a.name == name and (run is None or a.run == run.id)]

    def failed_start(self, run: ConsumerRun) -> Action | None:
        """Return the start of a run if its library refused it: then there is no consumer."""
        return next((act for act in self.actions_of("start", run) if act.is_refused_call), None)

    def actions_on_runs(self, *names: str) -> Iterator[tuple[ConsumerRun, Action]]:
        """Yield the actions of these names on consumers, each with its run."""
        runs = {run.id: run for run in self.runs}
        for act in self.actions:
            if act.name in names and act.run in runs:
                yield runs[act.run], act

    # The broker, and the machine.

    def advertised(self, api: str, at_ms: float) -> tuple[int, int] | None:
        """Return the broker's versions of an API at a time."""
        known = [ranges for since, ranges in self.versions if since <= at_ms]
        return known[-1].get(api) if known else None

    def worst_stall_ms(self, began_ms: float, ended_ms: float) -> float:
        """Return the longest wait of the control client between two times."""
        return max(
            (ms for at, ms in self.stalls if at + ms >= began_ms and at <= ended_ms), default=0.0
        )

    def stalled_ms(self, began_ms: float, ended_ms: float) -> float:
        """Return the sum of the waits of the control client between two times."""
        return sum(ms for at, ms in self.stalls if at + ms >= began_ms and at <= ended_ms)

    def later(self, since: float, ms: float) -> float:
        """Add ms to a time, and the longest wait of the control client meanwhile."""
        return since + ms + self.worst_stall_ms(since, since + ms)
