"""The oracle along a log: from states that are known, trying the likely order first.

Decides in which orders requests are tried.  In a log dozens of requests overlap, and all their
orders are too many.  So at first only the oldest requests may be next; if that explains the
answers, they are explained.  Only where it does not, more orders are tried, then slower brokers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fencepost.model.coordinator import Answer, Send
from fencepost.model.drafts import ALL_APIS
from fencepost.model.history import Answered, Disconnected, Event, Sent
from fencepost.model.group import Timer
from fencepost.model.vocabulary import GroupState
from fencepost.model.work import Incoming, Outcome, Span
from fencepost.properties.candidate import Candidate
from fencepost.properties.matching import FRESH
from fencepost.properties.oracle import Oracle
from fencepost.properties.search import FOREVER, Request, Search, Step
from fencepost.traces.audit.settings import Settings
from fencepost.traces.exchange import Exchange, shaped

CLOCK_MS = 2
"""How far the times of a line may be off: two roundings."""

_PARKING = frozenset({"JoinGroup", "SyncGroup"})


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried.

    `window`: of how many waiting requests each may be next; `slower`: how many times later than
    usual a broker may be; `whole`: a join may have been taken in any time before its answer.
    """

    window: int
    slower: int = 1
    whole: bool = False


EFFORTS = (Effort(1), Effort(4), Effort(12), Effort(6, slower=8, whole=True))


@dataclass(slots=True)
class InOrder(Search):
    """A search in which only the `window` oldest requests may be next.

    `was_empty`: whether a group was Empty on some path.
    """

    window: int = 1
    was_empty: bool = False

    def steps(self, candidate: Candidate) -> list[Step]:
        """What may happen next."""
        steps = super(InOrder, self).steps(candidate)
        asked = [s for s in steps if s.request_id is not None]
        if len(asked) <= self.window:
            return steps
        urgent = min(asked, key=_latest)
        oldest = sorted(asked, key=_earliest)[: self.window]
        offered = [s for s in oldest if max(candidate.now, s.earliest) <= urgent.latest]
        if urgent not in offered:
            offered.append(urgent)
        return [s for s in steps if s.request_id is None] + offered

    def became(
        self,
        candidate: Candidate,
        group_id: str,
        outcome: Outcome,
        span: Span,
        *,
        incoming: Incoming | None = None,
        timer: Timer | None = None,
    ) -> Candidate:
        """The candidate after an outcome for one of its groups."""
        if outcome.group is not None and outcome.group.state is GroupState.EMPTY:
            self.was_empty = True
        return super(InOrder, self).became(
            candidate, group_id, outcome, span, incoming=incoming, timer=timer
        )


class Follower(Oracle):
    """The oracle for a stretch of one group's log.

    `start`: the states that it may begin in; `parked`: exchanges whose requests wait in these.
    """

    def __init__(
        self,
        settings: Settings,
        start: Sequence[Candidate],
        *,
        effort: Effort,
        parked: Sequence[Exchange] = (),
    ) -> None:
        lag_ms = settings.lag_ms * effort.slower
        super().__init__(
            settings.revision, settings.machine_config(), lag_ms=lag_ms, limit=settings.limit
        )
        self.effort = effort
        self._search = self.search = InOrder(
            self.machine, lag_ms, settings.limit, window=effort.window
        )
        self._candidates = list(start)
        for candidate in start:
            for _, group in candidate.groups:
                self._seen.update(m.member_id for m in group.members if m.joining is None)
                self._seen.update(group.pending)
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
                incoming, exchange.group_ids, exchange.arrived_ms, exchange.arrived_ms
            )

    @property
    def candidates(self) -> list[Candidate]:
        """The states that explain what was seen, as a new stretch may begin in them."""
        return [replace(c, used=frozenset(), deviations=()) for c in self._candidates]

    def follow(self, exchanges: Sequence[Exchange], hidden: Sequence[Sent] = ()) -> None:
        """Judge a stretch; `hidden`: requests that may have been made as well."""
        parked = self._search.requests.keys()
        for event in history(exchanges, self.lag_ms, frozenset(parked), self.effort, hidden):
            self.observe(event)
            if not self.open():
                return


def history(
    exchanges: Sequence[Exchange],
    lag_ms: int,
    parked: frozenset[str],
    effort: Effort,
    hidden: Sequence[Sent] = (),
) -> list[Event]:
    """Exchanges as events in order of time; `parked`: those whose request is there already."""
    timed: list[tuple[int, int, int, Event]] = []
    for number, sent in enumerate(hidden):
        lost = Disconnected(sent.at_ms, sent.request.connection, (sent.request.id,))
        timed += [(sent.at_ms, 0, number, sent), (sent.at_ms, 1, number, lost)]
    for number, exchange in enumerate(exchanges):
        request_id = exchange.place
        if request_id not in parked:
            at_ms = exchange.arrived_ms - CLOCK_MS
            waits = exchange.api in _PARKING and not effort.whole
            by_ms = min(exchange.answered_ms, exchange.arrived_ms + (lag_ms if waits else FOREVER))
            timed.append((at_ms, 2, number, Sent(at_ms, _send(exchange), max(by_ms, at_ms))))
        body = shaped(exchange.api, exchange.response_body)
        answer = Answer(request_id, exchange.answered_ms + CLOCK_MS, body)
        timed.append((answer.at_ms, 3, number, Answered(answer)))
    timed.sort(key=lambda entry: entry[:3])
    return [event for *_, event in timed]


def _send(exchange: Exchange) -> Send:
    return Send(
        exchange.place,
        exchange.connection,
        exchange.client_id,
        exchange.api,
        exchange.version,
        shaped(exchange.api, exchange.request_body),
    )


def hidden_request(
    name: str, at_ms: int, client_id: str, api: str, version: int, body: dict[str, object]
) -> Sent:
    """A request that the log does not show."""
    ALL_APIS[api].request.from_body(body, version)
    return Sent(at_ms, Send(name, f"{name} connection", client_id, api, version, body))


def _latest(step: Step) -> tuple[int, int]:
    return step.latest, step.earliest


def _earliest(step: Step) -> tuple[int, int]:
    return step.earliest, step.latest
