"""Run the model: all groups of a coordinator, their timers, and the requests that wait.

The model is a pure step function.  This module routes requests to groups, fires timers in order and
sends answers to waiting requests.  The caller decides what the protocol leaves open: `choose` picks
an outcome, `new_id` makes member ids.  The clock is the caller's, too, in ms from 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fencepost.model.assignors.server_assignors import assign_at_broker
from fencepost.model.classic.group import SESSION, Offset, first_timer
from fencepost.model.coordinator import Answer, Config, Send, Topics, UnsupportedError
from fencepost.model.history.events import TopicsDeleted
from fencepost.model.machine import Machine, missing_topic
from fencepost.model.messages.messages import about_nothing, groups_of, merged
from fencepost.model.messages.shapes import Message
from fencepost.model.plans.steps import DeleteTopics, OperatorStep
from fencepost.model.revision import Revision
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import CLEANUP, RETENTION, Emission, Incoming, Outcome, Span, Timer

_STALE = 64


def coordinating_machine(
    revision: Revision,
    config: Config | None = None,
    missing: Callable[[str], bool] = missing_topic,
    topics: Topics | None = None,
) -> Machine:
    """Return a machine that assigns by itself, as a coordinator does; see `Machine`."""
    return Machine(revision, config, missing, topics=topics, assign=assign_at_broker)


Choose = Callable[[Sequence[Outcome]], Outcome]
NewId = Callable[[str, int], str]
"""Makes a member id of the instance id (or client id) and the number of ids before it, plus 1."""


Where = Callable[[str], Availability]
"""Returns for a group whether the broker that got the request coordinates it."""


def everywhere(group_id: str) -> Availability:
    """Return that every group is here: there is one broker."""
    del group_id
    return Availability.HERE


def first(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the first: by member id (for a leader), by name (for a protocol)."""
    return outcomes[0]


def numbered(name: str, number: int) -> str:
    """Return the name and the number: the same in each run."""
    return f"{name}-{number}"


class RunningModel:
    """A machine's groups.  `now_ms` never falls."""

    def __init__(
        self, machine: Machine, *, choose: Choose = first, new_id: NewId = numbered
    ) -> None:
        self.machine = machine
        self.groups: dict[str, Any] = {}
        self._looked_ms: dict[str, int] = {}
        self._kept: dict[tuple[str, str], tuple[Any, int]] = {}
        """The group, and the time in ms, when a pass last looked at expired offsets of a topic."""
        self.open: dict[str, Send] = {}
        """Requests without an answer yet, by request id."""
        self.deleted: frozenset[str] = frozenset()
        """The topics that were deleted."""
        self.now_ms = 0
        self._choose = choose
        self._new_id = new_id
        self._ids = 0
        self._due: list[tuple[int, str, Timer]] = []
        self._first: dict[str, Timer] = {}
        """The first timer of each group, but for those whose timers changed since it was
        computed."""
        self._changed: set[str] = set()

    def forked(self, machine: Machine) -> RunningModel:
        """Return a copy that goes on from here with another machine and the same choices."""
        other = RunningModel(machine, choose=self._choose, new_id=self._new_id)
        other.go_on_from(self)
        return other

    def go_on_from(self, other: RunningModel) -> None:
        """Take the groups of another model, its requests and its time."""
        self.groups, self.open = dict(other.groups), dict(other.open)
        self.now_ms, self._ids, self._due = other.now_ms, other._ids, list(other._due)
        self._looked_ms, self._kept = dict(other._looked_ms), dict(other._kept)
        self.deleted = other.deleted
        self._first, self._changed = dict(other._first), set(other._changed)

    def answer_version(self, request: Send) -> int:
        """Return the version that an answer is written in: usually that of the request."""
        request_version = request.api, request.version
        return self.machine.revision.answer_versions.get(request_version, request.version)

    def handle(
        self, request: Send, message: Message, at_ms: int = 0, where: Where = everywhere
    ) -> list[Answer]:
        """Handle a request, now or at `at_ms`, if that is later; its body is read already."""
        self.now_ms = max(self.now_ms, at_ms)
        self.open[request.id] = request
        instance = getattr(message, "group_instance_id", None) or getattr(
            message, "member_name", None
        )
        fresh = self._new_id(instance or request.client_id, self._ids + 1)
        incoming = Incoming(
            request.id,
            request.client_id,
            request.api,
            request.version,
            message,
            fresh,
            self.deleted,
        )
        emissions: list[Emission] = []
        replies: list[Message] = []
        named = groups_of(message, request.version)
        if named is None:  # all groups; the one of no name stands for those that don't exist
            here = [g for g in sorted(self.groups) if where(g) is Availability.HERE]
            named = list(dict.fromkeys([*here, ""]))
        for group_id in named:
            group = self.groups.get(group_id)
            outcome = self._choose(
                self.machine.handle(
                    group, incoming, self._span(), where(group_id), group_id=group_id
                )
            )
            self._take(group_id, outcome)
            for emission in outcome.emissions:
                if emission.request_id == request.id and emission.message is not None:
                    replies.append(emission.message)
                else:
                    emissions.append(emission)
        known = (self.groups[group_id] for group_id in named if group_id in self.groups)
        if any(group.has_id(fresh) for group in known):
            self._ids += 1
        if named == []:
            replies.append(about_nothing(message))
        if replies:
            emissions.append(Emission(request.id, merged(replies), ""))
        return self._answers(emissions)

    def advance_to(self, end_ms: int) -> list[Answer]:
        """Fire timers, each at its own deadline; those due together by group, kind and subject."""
        answers: list[Answer] = []
        while (due := self._next_due()) is not None and due[0] <= end_ms:
            deadline, group_id, timer = due
            self.now_ms = max(self.now_ms, deadline)
            group = self.groups[group_id]
            if timer.kind == CLEANUP:
                self._looked_ms[group_id] = deadline
            outcome = self._choose(self.machine.expire(group, timer, self._span()))
            if timer.kind == RETENTION:
                self._kept[group_id, timer.subject] = outcome.group, deadline
            self._take(group_id, outcome)
            answers += self._answers(outcome.emissions)
        self.now_ms = max(self.now_ms, end_ms)
        return answers

    def next_deadline_ms(self) -> int | None:
        """Return the time of the next timer; None where none runs."""
        due = self._next_due()
        return None if due is None else due[0]

    def expire(self, group_id: str, member_id: str) -> list[Answer] | None:
        """End a session before its time; None where the group has no such member."""
        group = self.groups.get(group_id)
        timers = () if group is None else group.timers
        named = (t for t in timers if t.kind == SESSION and t.subject == member_id)
        timer = next(named, None)
        if timer is None:
            return None
        outcome = self._choose(self.machine.expire(group, timer, self._span()))
        self._take(group_id, outcome)
        return self._answers(outcome.emissions)

    def restart_sessions(self, group_id: str, due_ms: Mapping[str, int]) -> bool:
        """Set session timers to these deadlines, by member id, as heartbeats would have.

        Returns True if any changed; a member without a session timer is left out.
        """
        group = self.groups[group_id]
        timers = tuple(
            timer._replace(earliest=at_ms, latest=at_ms)
            if timer.kind == SESSION and (at_ms := due_ms.get(timer.subject)) is not None
            else timer
            for timer in group.timers
        )
        if timers == group.timers:
            return False
        self._take(group_id, Outcome(replace(group, timers=timers), (), ()))
        return True

    def fail_over(self, only: Collection[str] | None = None, at_ms: int = 0) -> list[Answer]:
        """Fail over all groups or some: parked requests get NOT_COORDINATOR, groups are as stored.

        It is now, or `at_ms`, if that is later; what was due meanwhile was due nowhere.
        """
        self.now_ms = max(self.now_ms, at_ms)
        answers: list[Answer] = []
        for group_id in sorted(self.groups if only is None else self.groups.keys() & set(only)):
            outcome = self._choose(self.machine.failover(self.groups[group_id], self._span()))
            self._take(group_id, outcome)
            answers += self._answers(outcome.emissions)
        return answers

    def operate(self, step: OperatorStep) -> None:
        """Do what an operator does, now.  Raises UnsupportedError."""
        match step:
            case DeleteTopics(topics=topics):
                self.delete_topics(topics)
            case _:
                raise UnsupportedError(step.do)

    def delete_topics(self, topics: Iterable[str]) -> None:
        """Delete topics now, for good."""
        gone = frozenset(topics)
        self.deleted |= gone
        self.remove_offsets(gone)

    def remove_offsets(self, topics: frozenset[str]) -> None:
        """Delete topics now: all groups' offsets for them go, if the protocol models that."""
        if TopicsDeleted not in self.machine.protocol.operations:
            return
        event = TopicsDeleted(self.now_ms, tuple(sorted(topics)))
        for group_id, group in sorted(self.groups.items()):
            outcome = self._choose(self.machine.operate(group, event, self._span()))
            self._take(group_id, outcome)

    def take_back_offsets(self, group_id: str, before: tuple[Offset, ...]) -> tuple[Offset, ...]:
        """Give a group the offsets that it had before; return those that were stored since."""
        group = self.groups.get(group_id)
        if group is None or group.offsets == before:
            return ()
        self._take(group_id, Outcome(replace(group, offsets=before), (), ()))
        return tuple(offset for offset in group.offsets if offset not in before)

    def store_offsets(self, group_id: str, offsets: Iterable[Offset]) -> None:
        """Store offsets, whoever is a member; the group is there then."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.machine.protocol.work(None, self._span(), None).group
        kept = {(o.topic, o.partition): o for o in (*group.offsets, *offsets)}
        stored = tuple(kept[place] for place in sorted(kept))
        self._take(group_id, Outcome(replace(group, offsets=stored), (), ()))

    def drop(self, connection: str) -> tuple[str, ...]:
        """Drop a connection; return its requests, whose answers are lost.

        No group notices.
        """
        dropped = tuple(r for r, o in self.open.items() if o.connection == connection)
        for request_id in dropped:
            del self.open[request_id]
        return dropped

    def _next_due(self) -> tuple[int, str, Timer] | None:
        """Return the next timer, or what the cleaner does next where that is sooner."""
        due = self._next_timer()
        every = self.machine.config["offsets.retention.check.interval.ms"]
        if every is None:
            return due
        passes = [
            (self._cleaned_next_ms(group_id, timer, every), group_id, timer)
            for group_id, group in self.groups.items()
            for timer in self.machine.cleaned(group)
            if not self._is_kept(group_id, group, timer)
        ]
        if not passes or (due is not None and due[0] <= min(passes)[0]):
            return due
        at_ms, group_id, timer = min(passes)
        return at_ms, group_id, timer._replace(earliest=at_ms, latest=at_ms)

    def _is_kept(self, group_id: str, group: object, timer: Timer) -> bool:
        """Return True if a pass since the end of a retention kept the offsets of this very group.

        A pass that finds it as it was would keep them again.
        """
        kept, looked_ms = self._kept.get((group_id, timer.subject), (None, -1))
        return timer.kind == RETENTION and kept == group and timer.earliest <= looked_ms

    def _cleaned_next_ms(self, group_id: str, timer: Timer, every_ms: int) -> int:
        """Return the time of the cleaner's next look at a group: each pass looks at it once."""
        looked_ms = self._looked_ms.get(group_id, 0) if timer.kind == CLEANUP else 0
        earliest = max(self.now_ms, 1, looked_ms + 1, timer.earliest)
        return -(-earliest // every_ms) * every_ms

    def _span(self) -> Span:
        return Span(self.now_ms, self.now_ms)

    def _take(self, group_id: str, outcome: Outcome) -> None:
        before = self.groups.get(group_id)
        if outcome.group is None:
            self.groups.pop(group_id, None)
        else:
            self.groups[group_id] = outcome.group
            if before is not None and before.timers is outcome.group.timers:
                return
        self._changed.add(group_id)

    def _next_timer(self) -> tuple[int, str, Timer] | None:
        """Return the first of all groups' first timers; stale entries of the heap are dropped."""
        for group_id in self._changed:
            was, group = self._first.pop(group_id, None), self.groups.get(group_id)
            if group is not None and group.timers:
                timer = self._first[group_id] = first_timer(group.timers)
                if timer != was:
                    heapq.heappush(self._due, (timer.latest, group_id, timer))
        self._changed.clear()
        if len(self._due) > _STALE + 2 * len(self.groups):
            self._due = [(timer.latest, g, timer) for g, timer in self._first.items()]
            heapq.heapify(self._due)
        while self._due:
            due = self._due[0]
            if self._first.get(due[1]) == due[2]:
                return due
            heapq.heappop(self._due)
        return None

    def _answers(self, emissions: Iterable[Emission]) -> list[Answer]:
        answers = []
        for emission in emissions:
            request = self.open.get(emission.request_id)
            if request is None or emission.message is None:
                continue
            del self.open[emission.request_id]
            body = emission.message.to_body(self.answer_version(request))
            answers.append(Answer(emission.request_id, self.now_ms, body))
        return answers
