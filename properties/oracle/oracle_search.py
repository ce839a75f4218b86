"""Search the possible steps of a history in all possible orders, for the oracle.

A step of a candidate is a request that takes effect or a timer that fires, each somewhere in its
window.  None may be delayed past the end of its window, and none happens before a step that was
already taken.  `oracle.py` defines the terms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.classic.group import JOIN, Group
from fencepost.model.history.events import Disturbance, Takeover, TopicsDeleted
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import about_nothing, groups_of
from fencepost.model.messages.messages import merged as merged_rows
from fencepost.model.messages.shapes import Message
from fencepost.model.work import CLEANUP, RETENTION, Emission, Incoming, Outcome, Span, Timer
from fencepost.properties.oracle.candidate import Candidate, Emitted
from fencepost.properties.oracle.verdict import Happened

FOREVER = 10**15
"""A time that nothing reaches, ms; not even times since 1970."""


class Request(msgspec.Struct, frozen=True):
    """A request that was sent, and the groups that it is about; `of_all`: all existing groups.

    `deleted`: the topics that may have been deleted before it is handled, each as one set.
    `done`: it is no request, but what an operator does to a group.
    """

    incoming: Incoming
    group_ids: tuple[str, ...]
    sent_ms: int
    written_ms: int
    of_all: bool = False
    deleted: tuple[frozenset[str], ...] = (frozenset(),)
    done: Disturbance | None = None


class Step(NamedTuple):
    """A step that may happen next, somewhere in [earliest, latest] ms."""

    earliest: int
    latest: int
    request_id: str | None = None
    group_id: str = ""
    timer: Timer | None = None


class TooManyError(Exception):
    """There are more candidates than the limit."""


@dataclass(slots=True)
class Search:
    """The steps of one history.

    `requests`: all that were sent; `known`: the groups that they are about; `dropped`: those
    without a connection, and the time of its end; `deleted`: the deleted topics; `decided`: the
    rules that decided each request, on any path; `performed`: these and all that followed from them
    at once, such as those of the rows of a batch; `still`: timers wait, a request is being handled
    (virtual clock); `limit`: the most states for one event; `remembers`: true if candidates keep
    their provenance; `renewed`: the rule that began a join phase's timer anew, by group and timer,
    for timers that may still run; `young_ms`: least time without a request, in ms, after which the
    cleaner may remove a group that nobody uses; `withheld`: true once it was not let, since the
    group was younger, or the last pass not an interval ago.
    """

    machine: Machine
    lag_ms: int
    limit: int
    requests: dict[str, Request] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)
    dropped: dict[str, int] = field(default_factory=dict)
    decided: dict[str, set[str]] = field(default_factory=dict)
    performed: dict[str, set[str]] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    still: bool = False
    remembers: bool = False
    renewed: dict[tuple[str, Timer], str] = field(default_factory=dict)
    young_ms: int = 0
    withheld: bool = False

    def sent(self, incoming: Incoming, sent_ms: int, written_ms: int) -> None:
        """Add a request.

        A request for all groups may be handled after later ones, so it is about their groups, too.
        """
        named = groups_of(incoming.message, incoming.version)
        group_ids = tuple(sorted(self.known) or [""] if named is None else named)
        deleted = (self.deleted,)
        request = Request(
            incoming, group_ids, sent_ms, written_ms, of_all=named is None, deleted=deleted
        )
        self.requests[incoming.id] = request
        if self.known.issuperset(group_ids):
            return
        self.known.update(group_ids)
        every = tuple(sorted(self.known))
        for listing in [r for r in self.requests.values() if r.of_all]:
            self.requests[listing.incoming.id] = replace(listing, group_ids=every)

    def operate(self, event: Disturbance, candidates: list[Candidate]) -> list[Candidate]:
        """Do what an operator does; return the candidates, to whose groups it has still to be done.

        A request that is being handled meanwhile may find each deleted topic or not.
        """
        if isinstance(event, TopicsDeleted):
            topics = frozenset(event.topics)
            for request_id in {r for c in candidates for r in c.unapplied}:
                deleted = self.requests[request_id].deleted
                for topic in topics:
                    more = (known | {topic} for known in deleted)
                    deleted = tuple(dict.fromkeys((*deleted, *more)))
                self.requests[request_id] = replace(self.requests[request_id], deleted=deleted)
            self.deleted |= topics
        parts = []
        for group_id in sorted(self.known):
            parts.append(f"{event.note()} {len(self.requests)}")
            nobodys = Incoming(parts[-1], "", "", 0, Message(), "")
            self.requests[parts[-1]] = Request(nobodys, (group_id,), *event.span, done=event)
        return [replace(c, unapplied=(*c.unapplied, *parts)) for c in candidates]

    def failed_over(self, event: Takeover, candidates: list[Candidate]) -> list[Candidate]:
        """Return the candidates after the coordinator failed over, without the dropped requests."""
        after: list[Candidate] = []
        for candidate in candidates:
            span = Span(max(candidate.now, event.begun_ms), event.at_ms)
            states = [replace(candidate, now=span.earliest)]
            for group_id, group in candidate.groups:
                states = [
                    self.became(state, group_id, outcome, span)
                    for state in states
                    for outcome in self.machine.failover(group, span)
                ]
            after += [
                replace(s, unapplied=tuple(r for r in s.unapplied if r not in self.dropped))
                for s in states
            ]
        return after

    def explore(
        self,
        candidates: list[Candidate],
        horizon: int,
        goal: Callable[[Candidate], bool],
        *,
        everything: bool = False,
    ) -> list[Candidate]:
        """Return every candidate that meets the goal, after any steps up to the horizon.

        `everything`: all that can be reached, goal or not.  Raises TooManyError.
        """
        if self.renewed:
            self._forget_renewals(candidates)
        if not everything and all(map(goal, candidates)):
            return list(candidates)
        reached: list[Candidate] = []
        visited = set(candidates)
        queue = deque(candidates)
        while queue:
            candidate = queue.popleft()
            if everything:
                reached.append(candidate)
            elif goal(candidate):
                reached.append(candidate)
                continue
            for following in self._successors(candidate, horizon):
                if following not in visited:
                    if len(visited) >= self.limit:
                        raise TooManyError
                    visited.add(following)
                    queue.append(following)
        return reached

    def _forget_renewals(self, candidates: list[Candidate]) -> None:
        """Forget the timers that end before all that these candidates have, or can still set.

        A timer that is set from now on ends later than now; two that are merged into one begin
        where one of them began.
        """
        now = min((candidate.now for candidate in candidates), default=0)
        since = {
            group_id: min(
                [t.earliest for c in candidates if (t := _join_timer(c.group(group_id)))] + [now]
            )
            for group_id, _ in self.renewed
        }
        self.renewed = {k: rule for k, rule in self.renewed.items() if k[1].earliest >= since[k[0]]}

    def steps(self, candidate: Candidate, horizon: int) -> list[Step]:
        """Return the steps that may happen next, each with its window.

        Timers that begin after the horizon are left out: they delay no earlier step.
        """
        steps = []
        for request_id in candidate.unapplied:
            sent_ms = self.requests[request_id].sent_ms
            steps.append(Step(sent_ms, self._latest_ms(request_id), request_id=request_id))
        if self.still:
            return steps
        for group_id, group in candidate.groups:
            steps += [
                Step(t.earliest, t.latest + self.lag_ms, group_id=group_id, timer=t)
                for t in group.timers
                if t.earliest <= horizon
            ]
            for timer in self.machine.cleaned(group):
                earliest = self._cleaned_from(candidate, group_id, timer)
                if timer.kind == CLEANUP:
                    self.withheld |= earliest > horizon
                elif earliest > horizon:
                    continue
                passes = timer._replace(earliest=earliest, latest=FOREVER)
                steps.append(Step(earliest, FOREVER, group_id=group_id, timer=passes))
        return steps

    def may_fire(self, candidate: Candidate, at_ms: int) -> bool:
        """Return True if a timer may have fired by then."""
        if self.still:
            return False
        return any(
            any(t.earliest <= at_ms for t in group.timers)
            or any(
                self._cleaned_from(candidate, group_id, timer) <= at_ms
                for timer in self.machine.cleaned(group)
            )
            for group_id, group in candidate.groups
        )

    @staticmethod
    def _cleaned_from(candidate: Candidate, group_id: str, timer: Timer) -> int:
        """Return the earliest time, in ms, at which a pass of the cleaner lets a timer expire."""
        free = candidate.cleanable_ms(group_id) if timer.kind == CLEANUP else 0
        return max(candidate.now, timer.earliest, free)

    def is_overdue(self, candidate: Candidate, limit: int, *, timers: bool) -> bool:
        """Return True if a request, or a timer, must have had its step before the limit."""
        for request_id in candidate.unapplied:
            if self._latest_ms(request_id) < limit:
                return True
        if self.still or not timers:
            return False
        limit -= self.lag_ms
        return any(t.latest < limit for _, group in candidate.groups for t in group.timers)

    def _latest_ms(self, request_id: str) -> int:
        """Return the latest time for a request's effect; it may be lost with its connection."""
        latest = self.requests[request_id].written_ms + self.lag_ms
        return FOREVER if self.dropped.get(request_id, FOREVER) <= latest else latest

    def _successors(self, candidate: Candidate, horizon: int) -> Iterator[Candidate]:
        steps = self.steps(candidate, horizon)
        barrier = min((s.latest for s in steps), default=FOREVER)
        for step in steps:
            start = max(candidate.now, step.earliest)
            if start > min(barrier, horizon):
                continue  # something else must come first, or it is still to come
            span = Span(start, min(step.latest, horizon))
            if step.timer is not None:
                group = candidate.group(step.group_id)
                assert group is not None
                before = replace(candidate, now=start)
                for outcome in self.machine.expire(group, step.timer, span):
                    if step.timer.kind == RETENTION and outcome.group == group:
                        continue  # the offsets are kept: nothing happened
                    if step.timer.kind == JOIN and (again := _join_timer(outcome.group)):
                        self.renewed[step.group_id, again] = outcome.rules[0]
                    yield self.became(before, step.group_id, outcome, span, timer=step.timer)
            else:
                assert step.request_id is not None
                yield from self._applied(candidate, step.request_id, span)

    def _applied(self, candidate: Candidate, request_id: str, span: Span) -> Iterator[Candidate]:
        request = self.requests[request_id]
        rest = tuple(r for r in candidate.unapplied if r != request_id)
        states = [replace(candidate, unapplied=rest, now=span.earliest)]
        if request.done is not None:
            (group_id,) = request.group_ids
            for outcome in self.machine.operate(candidate.group(group_id), request.done, span):
                yield self.became(states[0], group_id, outcome, span, done=request.done)
            return
        incomings = [replace(request.incoming, deleted=deleted) for deleted in request.deleted]
        for group_id in request.group_ids:
            following = []
            for state, incoming in product(states, incomings):
                outcomes = self.machine.handle(
                    state.group(group_id), incoming, span, group_id=group_id
                )
                for outcome in outcomes:
                    self.decided.setdefault(request_id, set()).add(outcome.rules[0])
                    self.performed.setdefault(request_id, set()).update(outcome.rules)
                    following.append(self.became(state, group_id, outcome, span, incoming=incoming))
            states = following
        if not request.group_ids:
            answer = Emission(request_id, about_nothing(request.incoming.message), "")
            states = [
                self.became(state, "", Outcome(state.group(""), (answer,), ()), span)
                for state in states
            ]
        yield from states

    def became(
        self,
        candidate: Candidate,
        group_id: str,
        outcome: Outcome,
        span: Span,
        *,
        incoming: Incoming | None = None,
        timer: Timer | None = None,
        done: Disturbance | None = None,
    ) -> Candidate:
        """Return the candidate after an outcome for a group: of a request, a timer, or neither."""
        emitted = candidate.emitted
        for e in outcome.emissions:
            if e.request_id not in self.dropped:
                new = Emitted(e.request_id, e.message, e.rule, span.earliest, span.latest)
                emitted = _with_rows(emitted, new)
        after = replace(
            candidate,
            groups=candidate.with_group(group_id, outcome.group),
            emitted=emitted,
            used=candidate.used.union(outcome.rules),
        )
        # The next group of this id counts anew.  In the classic protocol its first generation is
        # compared with the last one, else a coordinator that never counts would go unseen.
        if outcome.group is None and self.machine.revision.protocol.takes_topics:
            after = after.without_generation(group_id)
        after = self._left_alone(after, group_id, span, timer)
        if not self.remembers:
            return after
        before = candidate.group(group_id)
        return after.after(Happened(group_id, before, outcome, span, incoming, timer, done))

    def _left_alone(
        self, candidate: Candidate, group_id: str, span: Span, timer: Timer | None
    ) -> Candidate:
        """Note until when the cleaner leaves a group alone after a step.

        It strikes once an interval, and seldom just after a request: a broker has one pass for all
        groups, at a time that has to do with none of them.
        """
        interval_ms = self.machine.config["offsets.retention.check.interval.ms"]
        if interval_ms is None or (timer is not None and timer.kind == RETENTION):
            return candidate
        struck = timer is not None and timer.kind == CLEANUP
        after_ms = max(0, interval_ms - self.lag_ms) if struck else self.young_ms
        return (
            candidate.not_cleaned_before(group_id, span.earliest + after_ms)
            if after_ms
            else (candidate)
        )


def _join_timer(group: Any) -> Timer | None:
    timers = group.timers if isinstance(group, Group) else ()
    return next((t for t in timers if t.kind == JOIN), None)


def _with_rows(emitted: tuple[Emitted, ...], new: Emitted) -> tuple[Emitted, ...]:
    """Add an answer; a second one to a request for several groups adds its rows."""
    for i, old in enumerate(emitted):
        if old.request_id == new.request_id:
            if old.message is None or new.message is None:
                return emitted
            both = old._replace(message=merged_rows([old.message, new.message]))
            return (*emitted[:i], both, *emitted[i + 1 :])
    return tuple(sorted((*emitted, new), key=_request_id)) if emitted else (new,)


def _request_id(emitted: Emitted) -> str:
    return emitted.request_id
