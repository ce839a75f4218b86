"""Define a history: events in order, each request with its answer, and readable names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.model.history.events import Answered, Event, Sent
from fencepost.model.history.exchange import Exchange
from fencepost.model.messages.shapes import Message


@dataclass(slots=True)
class HistoryExchange(Exchange[Message, Message | None]):
    """An exchange with the id of its request, and with the flaws of the bytes of its answer."""

    id: str = ""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """The events, request id → sender, member id → name, and the clock."""

    events: Sequence[Event]
    senders: Mapping[str, str]
    names: Mapping[str, str]
    clock: str

    @cached_property
    def exchanges(self) -> Mapping[str, HistoryExchange]:
        """All requests by id, in the order of sending, each with its first answer."""
        exchanges: dict[str, HistoryExchange] = {}
        for event in self.events:
            if isinstance(event, Sent):
                send = event.request
                sent = HistoryExchange(send.api, send.version, event.at_ms)
                sent.id, sent.connection, sent.request_body = send.id, send.connection, send.body
                exchanges.setdefault(send.id, sent)
            elif isinstance(event, Answered):
                exchange = exchanges.get(event.answer.id)
                if exchange is not None and exchange.answered_ms is None:
                    exchange.answered_ms = event.at_ms
                    exchange.answer_body = event.answer.body
                    exchange.findings = event.answer.findings
        return exchanges

    def exchange(self, request_id: str | None) -> HistoryExchange | None:
        """Return a request and its answer, by the request's id."""
        return self.exchanges.get(request_id or "")

    def sender(self, request_id: str) -> str:
        """Return the sender of a request; where that is unknown its connection, or ""."""
        exchange = self.exchange(request_id)
        connection = "" if exchange is None else exchange.connection
        return self.senders.get(request_id, connection)

    def number(self, request_id: str) -> int:
        """Return the number of a request among those of its sender and API, from 1."""
        return next(
            n for n, other in enumerate(self.alike(request_id), start=1) if other == request_id
        )

    def alike(self, request_id: str) -> Iterator[str]:
        """Yield the ids of the requests of the same sender and API, in order."""
        api, who = self.exchanges[request_id].api, self.senders.get(request_id)
        for other, exchange in self.exchanges.items():
            if exchange.api == api and self.senders.get(other) == who:
                yield other
