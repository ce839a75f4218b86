"""Define a history: events in order, each request with its answer, and readable names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.model.coordinator import Body, Send
from fencepost.model.history.events import Answered, Event, Sent


@dataclass(slots=True)
class Exchange:
    """A request and its answer, as far as there is one; bodies as they were written."""

    sent: Sent
    answered: Answered | None = None

    @property
    def request(self) -> Send:
        """The request."""
        return self.sent.request

    @property
    def body(self) -> Body | None:
        """The body of the answer; None where there is none."""
        return None if self.answered is None else self.answered.answer.body


@dataclass(frozen=True)
class History:
    """The events, request id → sender, member id → name, and the clock."""

    events: Sequence[Event]
    senders: Mapping[str, str]
    names: Mapping[str, str]
    clock: str

    @cached_property
    def exchanges(self) -> Mapping[str, Exchange]:
        """All requests by id, in the order of sending, each with its first answer."""
        exchanges: dict[str, Exchange] = {}
        for event in self.events:
            if isinstance(event, Sent):
                exchanges.setdefault(event.request.id, Exchange(event))
            elif isinstance(event, Answered):
                exchange = exchanges.get(event.answer.id)
                if exchange is not None and exchange.answered is None:
                    exchange.answered = event
        return exchanges

    def exchange(self, request_id: str | None) -> Exchange | None:
        """Return a request and its answer, by the request's id."""
        return self.exchanges.get(request_id or "")

    def sender(self, request_id: str) -> str:
        """Return the sender of a request; where that is unknown its connection, or ""."""
        exchange = self.exchange(request_id)
        connection = "" if exchange is None else exchange.request.connection
        return self.senders.get(request_id, connection)

    def number(self, request_id: str) -> int:
        """Return the number of a request among those of its sender and API, from 1."""
        return next(
            n for n, other in enumerate(self.alike(request_id), start=1) if other == request_id
        )

    def alike(self, request_id: str) -> Iterator[str]:
        """Yield the ids of the requests of the same sender and API, in order."""
        request, who = self.exchanges[request_id].request, self.senders.get(request_id)
        for other, exchange in self.exchanges.items():
            if exchange.request.api == request.api and self.senders.get(other) == who:
                yield other
