"""Run the oracle along a log, trying the most likely order of requests first.

In a log dozens of requests overlap, and their orders are too many to try all.  So at first only the
oldest requests may be next.  Only if that explains nothing are more orders tried, then slower
brokers.

Drop states early: those that gave an answer that the log contradicts further down.

The oracle would find the contradiction when it reaches that line.  By then it would have tried
dozens of overlapping requests in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Disconnected, Event, Sent
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import Level
from fencepost.model.work import Incoming, Outcome
from fencepost.properties.oracle.answer_match import first_difference
from fencepost.properties.oracle.candidate import Candidate, Emitted
from fencepost.properties.oracle.matcher import FRESH, Match
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.oracle_search import FOREVER, Request, Search, Step, TooManyError
from fencepost.properties.oracle.verdict import Allowed
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.logs.request_log import LoggedExchange, shaped


def contradicts(expected: Message, observed: Message, *, strict: bool) -> bool:
    """Return True if the model's answer can't be the logged one.

    `strict`: one error for another is a contradiction, too, and so is another generation.
    """
    match expected, observed:
        case JoinGroupResponse(), JoinGroupResponse():
            if _differ(expected.error_code, observed.error_code, strict=strict):
                return True
            if expected.error_code != 0:
                return False
            if strict and expected.generation_id != observed.generation_id:
                return True
            return len(expected.members) != len(observed.members)
        case LeaveGroupResponse(), LeaveGroupResponse():
            return _differ(expected.error_code, observed.error_code, strict=strict) or any(
                _differ(a.error_code, b.error_code, strict=strict)
                for a, b in zip(expected.members, observed.members, strict=False)
            )
        case OffsetCommitResponse(), OffsetCommitResponse():
            pairs = zip(expected.topics, observed.topics, strict=False)
            return any(
                _differ(p.error_code, q.error_code, strict=strict)
                for a, b in pairs
                for p, q in zip(a.partitions, b.partitions, strict=False)
            )
        case DescribeGroupsResponse(), DescribeGroupsResponse():
            return any(
                a.group_state != b.group_state or len(a.members) != len(b.members)
                for a, b in zip(expected.groups, observed.groups, strict=False)
            )
    ours, theirs = getattr(expected, "error_code", 0), getattr(observed, "error_code", 0)
    return _differ(ours, theirs, strict=strict)


def _differ(expected: int | str, observed: int | str, *, strict: bool) -> bool:
    if strict:
        return expected != observed
    return (expected == 0) is not (observed == 0)


CLOCK_MS = 2
"""Tolerance for the times of a line: two roundings."""
_THREADS_MS = 20
"""Tolerance for dates that go back in a log: several threads write it."""

_PARKING = frozenset({"JoinGroup", "SyncGroup"})


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of orders of requests to try.

    `window`: the number of waiting requests of which each may be next; `enough`: the number of
    explanations of an answer to follow, None for all; `strict`: errors are those that the model
    gives, and generations are counted as it does; `slower`: the factor by which a broker may be
    later than usual; `whole`: a join may have been taken in any time before its answer; `part`:
    divides the limit of states; `late`: lines may have been dated late, so requests arrived earlier
    than they say, by as much as a broker may be late.
    """

    window: int
    enough: int | None
    strict: bool = True
    part: int = 1
    slower: int = 1
    whole: bool = False
    late: bool = False


EXHAUSTIVE = Effort(1_000_000, None, strict=False)
"""All orders, all explanations, and a broker as quick as is assumed."""
LATE = Effort(1_000_000, None, strict=False, slower=2, late=True)
"""Like `EXHAUSTIVE`, and lines may be dated late: an answer is refuted only where both fail."""
EFFORTS = (
    Effort(1, 4, part=4),
    Effort(3, 4, part=4),
    Effort(6, 16, part=2),
    Effort(12, None, strict=False),
    Effort(6, None, slower=8, whole=True, strict=False),
)
"""The efforts to explain some lines, the cheapest first."""


class _EnoughError(Exception):
    """The search has as many explanations as it needs."""


@dataclass(slots=True)
class OrderedSearch(Search):
    """A search in which only the `window` oldest requests may be next.

    `enough`: the number of explaining states to find, None for all; `explains`: returns True if a
    state explains the logged answer; `answers`: the known answers, by request; `strict`: as in
    `contradicts`; `was_empty`: True if a group was Empty on some path.
    """

    window: int = 1
    enough: int | None = None
    explains: Callable[[Candidate], bool] | None = None
    answers: dict[str, Message] = field(default_factory=dict)
    strict: bool = False
    was_empty: bool = False

    def _successors(self, candidate: Candidate, horizon: int) -> Iterator[Candidate]:
        known = {e.request_id for e in candidate.emitted}
        for following in super(OrderedSearch, self)._successors(candidate, horizon):
            if not any(self._is_contradicted(e) for e in following.emitted if e[0] not in known):
                yield following

    def _is_contradicted(self, emitted: Emitted) -> bool:
        observed = self.answers.get(emitted.request_id)
        if observed is None or emitted.message is None:
            return False
        return contradicts(emitted.message, observed, strict=self.strict)

    def explore(
        self,
        candidates: list[Candidate],
        horizon: int,
        goal: Callable[[Candidate], bool],
        *,
        everything: bool = False,
    ) -> list[Candidate]:
        """Return all candidates that meet the goal, or enough that explain the answer."""
        explaining: list[Candidate] = []

        def looked_at(candidate: Candidate) -> bool:
            if not goal(candidate):
                return False
            if self.enough is not None and self.explains is not None and self.explains(candidate):
                explaining.append(candidate)
                if len(explaining) >= self.enough:
                    raise _EnoughError
            return True

        try:
            return super(OrderedSearch, self).explore(
                candidates, horizon, looked_at, everything=everything
            )
        except _EnoughError:
            return explaining
        except TooManyError:
            if explaining:
                return explaining
            raise

    def steps(self, candidate: Candidate, horizon: int) -> list[Step]:
        """Return the steps that may be next."""
        steps = super(OrderedSearch, self).steps(candidate, horizon)
        requests = [s for s in steps if s.request_id is not None]
        if len(requests) <= self.window:
            return steps
        urgent = min(requests, key=_latest)
        oldest = sorted(requests, key=_earliest)[: self.window]
        offered = [s for s in oldest if max(candidate.now, s.earliest) <= urgent.latest]
        return [s for s in steps if s.request_id is None] + (offered or [urgent])

    def became(
        self, candidate: Candidate, group_id: str, outcome: Outcome, *arguments: Any, **more: Any
    ) -> Candidate:
        """See Search; note if the group was ever Empty."""
        if outcome.group is not None and outcome.group.state is GroupState.EMPTY:
            self.was_empty = True
        return super(OrderedSearch, self).became(candidate, group_id, outcome, *arguments, **more)


class SegmentOracle(Oracle):
    """The oracle for a segment of one group's log.

    `start`: the states that it may begin in; `parked`: exchanges whose requests wait in these.
    """

    def __init__(
        self,
        settings: AuditSettings,
        start: Sequence[Candidate],
        *,
        effort: Effort,
        parked: Sequence[LoggedExchange] = (),
    ) -> None:
        lag_ms = settings.lag_ms * effort.slower
        limit = settings.limit // effort.part
        super().__init__(settings.revision, settings.machine_config(), lag_ms=lag_ms, limit=limit)
        self.effort = effort
        self._search = self.search = OrderedSearch(
            self.machine, lag_ms, limit, window=effort.window, enough=effort.enough
        )
        self.search.strict = effort.strict
        self._requests: dict[str, Message] = {}
        self._matched: dict[int, tuple[Candidate, list[Candidate]]] = {}
        self._candidates = list(start)
        for candidate in start:
            for _, group in candidate.groups:
                self._known_ids.update(m.member_id for m in group.members if m.joining is None)
                self._known_ids.update(group.pending)
        waiting = {exchange.place for exchange in parked}
        for candidate in start:
            for _, group in candidate.groups:
                for member in group.members:
                    if member.joining is not None and member.joining.request_id not in waiting:
                        self._search.dropped[member.joining.request_id] = candidate.now
        for exchange in parked:
            incoming = Incoming(
                exchange.place,
                exchange.client_id,
                exchange.api,
                exchange.version,
                exchange.request,
                FRESH + exchange.place,
            )
            self._search.requests[exchange.place] = Request(
                incoming, exchange.group_ids, exchange.at_ms, exchange.at_ms
            )

    @property
    def candidates(self) -> list[Candidate]:
        """The states that explain the segment, as a new segment may begin in them."""
        lost = self._search.dropped
        return [
            replace(
                c,
                used=frozenset(),
                deviations=(),
                unapplied=tuple(r for r in c.unapplied if r not in lost),
            )
            for c in self._candidates
        ]

    def right(self, exchange: LoggedExchange) -> list[Allowed]:
        """Return the right answers to a request whose recorded answer was ignored."""
        by_difference: dict[str, Allowed] = {}
        for candidate in self._candidates:
            emitted = candidate.emission(exchange.place)
            if emitted is None or emitted.message is None:
                continue
            level = self._levels.get(emitted.rule, Level.MUST)
            generation = candidate.last_generation(exchange.group_ids[0])
            body = emitted.message.to_body(exchange.version)
            message = emitted.message.as_carried(exchange.version)
            difference = first_difference(message, exchange.answer, level, frozenset(), generation)
            by_difference.setdefault(
                f"{emitted.rule} {difference}", Allowed(body, emitted.rule, difference)
            )
        return list(by_difference.values())

    def _agreed(
        self, candidate: Candidate, emitted: Emitted, observed: Message, match: Match
    ) -> Candidate:
        """Return the candidate after an answer of its own was read.

        The client id of a static member was decided by its first join, long before the log.
        """
        agreed = super()._agreed(candidate, emitted, observed, match)
        if any(group.static for _, group in agreed.groups):
            kept = tuple(d for d in agreed.deviations if not d[1].field.endswith("clientId"))
            return replace(agreed, deviations=kept)
        return agreed

    def _message_of(self, request: Send) -> Message:
        """Return the message of a request, which its line has read already."""
        return self._requests.get(request.id) or super()._message_of(request)

    def _read(self, request: Incoming, body: dict[str, Any]) -> Message:
        """Return the message of an answer, which its line has read already."""
        return self.search.answers.get(request.id) or super()._read(request, body)

    def _answered(self, event: Answered) -> None:
        answer = event.answer
        request = self._search.requests[answer.id].incoming
        observed = self._read(request, dict(answer.body or {}))
        self.search.explains = lambda c: bool(self._matching(c, answer, observed))
        self._matched.clear()
        super()._answered(event)

    def _matching(self, candidate: Candidate, answer: Answer, observed: Message) -> list[Candidate]:
        """See Oracle; the search asks for it first, and then the oracle."""
        match = self._matched.get(id(candidate))
        if match is None:
            made = super()._matching(candidate, answer, observed)
            match = self._matched[id(candidate)] = candidate, made
        return match[1]

    def follow(
        self,
        exchanges: Sequence[LoggedExchange],
        hidden: Sequence[Sent] = (),
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        """Judge a segment.

        `hidden`: requests that may have been made as well; `ignored`: those whose answers are not
        checked.
        """
        self.search.answers = {e.place: e.answer for e in exchanges if e.place not in ignored}
        self._requests = {e.place: e.request for e in exchanges}
        parked = self._search.requests.keys()
        for event in history(exchanges, self.lag_ms, frozenset(parked), self.effort, hidden):
            if isinstance(event, Answered) and event.answer.id in ignored:
                continue
            self.observe(event)
            if not self.open():
                return


def history(
    exchanges: Sequence[LoggedExchange],
    lag_ms: int,
    parked: frozenset[str],
    effort: Effort,
    hidden: Sequence[Sent] = (),
) -> list[Event]:
    """Return exchanges as events in order of time; `parked`: those whose request waits already.

    A broker reads no request of a connection before it has written the line of the one before.
    """
    timed: list[tuple[int, int, int, Event]] = []
    late_ms = lag_ms // effort.slower if effort.late else 0
    earlier = [replace(sent, at_ms=sent.at_ms - late_ms, by_ms=sent.ended_ms) for sent in hidden]
    for number, sent in enumerate(earlier):
        lost = Disconnected(sent.at_ms, sent.request.connection, (sent.request.id,))
        timed += [(sent.at_ms, 0, number, sent), (sent.at_ms, 1, number, lost)]
    read_ms = 0
    last: dict[str, int] = {}
    for number, exchange in enumerate(exchanges):
        request_id = exchange.place
        if not 0 < read_ms - exchange.answered_ms <= _THREADS_MS:
            read_ms = exchange.answered_ms
        if request_id not in parked:
            before_ms = last.get(exchange.connection, 0)
            early_ms = max(exchange.at_ms - late_ms, min(before_ms, exchange.at_ms))
            at_ms = early_ms - CLOCK_MS
            waits = exchange.api in _PARKING and not effort.whole
            by_ms = min(exchange.answered_ms, exchange.at_ms + (lag_ms if waits else FOREVER))
            timed.append((at_ms, 2, number, Sent(at_ms, _send(exchange), max(by_ms, at_ms))))
        last[exchange.connection] = exchange.answered_ms
        body = shaped(exchange.api, exchange.answer_body)
        answer = Answer(request_id, read_ms + CLOCK_MS, body)
        timed.append((answer.at_ms, 3, number, Answered(answer)))
    timed.sort(key=lambda entry: entry[:3])
    return [event for *_, event in timed]


def _send(exchange: LoggedExchange) -> Send:
    return Send(
        exchange.place,
        exchange.connection,
        exchange.client_id,
        exchange.api,
        exchange.version,
        shaped(exchange.api, exchange.request_body),
    )


def unlogged_request(
    name: str, at_ms: int, client_id: str, api: str, version: int, body: dict[str, object]
) -> Sent:
    """Make the event of a request that the log does not show."""
    ALL_APIS[api].request.from_body(body, version)
    return Sent(at_ms, Send(name, f"{name} connection", client_id, api, version, body))


def _latest(step: Step) -> tuple[int, int]:
    return step.latest, step.earliest


def _earliest(step: Step) -> tuple[int, int]:
    return step.earliest, step.latest
