"""The history of a broker: what its clients sent and were answered, and what was done to them.

Times are ms since the broker began, on its own monotonic clock.  Bodies are kept as JSON text,
which takes a fraction of the memory; of records only their number, size and offsets are kept.
"""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.provocation import Provocation
from fencepost.conformance.run.latency_monitor import LagMeter
from fencepost.conformance.serve.control_client import CONTROL
from fencepost.conformance.wire.codec import RequestHeader
from fencepost.conformance.wire.record_batches import summary
from fencepost.model.bad_input import BadInputError
from fencepost.model.messages.messages import APIS, Api
from fencepost.model.messages.shapes import Message

Json = dict[str, Any]


def as_json(body: Mapping[str, Any]) -> bytes:
    """A body as it is kept: of records only what `summary` tells."""
    return msgspec.json.encode(_without_records(body))


def _without_records(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_records(row) for row in value]
    if not isinstance(value, Mapping):
        return value
    return {
        key: summary(base64.b64decode(inner))
        if key == "records" and isinstance(inner, str)
        else _without_records(inner)
        for key, inner in value.items()
    }


@dataclass(slots=True)
class RecordedExchange:
    """A request and what became of it.

    `node`: the broker's; `connection`: its name, used once.  `api`: its name, `key N` if this
    project doesn't speak it.  `answered_ms`, `answer` None: not yet, or never.
    """

    node: int
    connection: str
    client_id: str | None
    api: str
    version: int
    correlation_id: int
    received_ms: float
    request_json: bytes | None = None
    """None where it can't be read."""
    answered_ms: float | None = None
    answer_json: bytes | None = None
    provocation: Provocation | None = None

    def line(self) -> bytes:
        """It as a line of JSON."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        bodies = {
            name: msgspec.Raw(text)
            for name, text in (("request", self.request_json), ("answer", self.answer_json))
            if text is not None
        }
        return msgspec.json.encode({**plain, **bodies}) + b"\n"

    @property
    def request(self) -> Json:
        """Its body; empty where it can't be read."""
        return {} if self.request_json is None else msgspec.json.decode(self.request_json)

    @property
    def answer(self) -> Json | None:
        """The answer's body; None where there is none, or it can't be read."""
        return None if self.answer_json is None else msgspec.json.decode(self.answer_json)

    @property
    def message(self) -> Message | None:
        """The request as the model reads it; None for an API or version that it doesn't have.

        Raises ShapeError for what no client may send.
        """
        api = self._model_api
        return None if api is None else api.request.from_body(self.request, self.version)

    @property
    def reply(self) -> Message | None:
        """The answer as the model reads it; None where there is none, or the model lacks it.

        Raises ShapeError for what no broker may answer.
        """
        api, answer = self._model_api, self.answer
        return (
            None if api is None or answer is None else api.response.from_body(answer, self.version)
        )

    @property
    def _model_api(self) -> Api | None:
        api = APIS.get(self.api)
        if api is None or self.request_json is None:
            return None
        return api if api.lowest <= self.version <= api.highest else None


_PLAIN = tuple(f.name for f in fields(RecordedExchange) if not f.name.endswith("_json"))


@dataclass(frozen=True, slots=True)
class Act:
    """What an administrator did or what befell the broker: `remove`, `restart` and so on."""

    at_ms: float
    name: str
    about: Json


@dataclass(slots=True)
class ConnectionSpan:
    """When a connection was made, and when and by whom it was ended."""

    node: int
    opened_ms: float
    closed_ms: float | None = None
    closed_by_client: bool = False


@dataclass(slots=True)
class History:
    """All that happened, in order of receipt.

    `meters`: for each node, how quick it was, as a control client on a connection of its own saw
    it; in seconds of the monotonic clock.  `sink`: takes what is over, a line of JSON each, and
    nothing is kept.
    """

    began_s: float = field(default_factory=time.monotonic)
    exchanges: list[RecordedExchange] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    connections: dict[str, ConnectionSpan] = field(default_factory=dict)
    meters: dict[int, LagMeter] = field(default_factory=dict)
    sink: Callable[[bytes], object] | None = None
    _open: dict[str, RecordedExchange] = field(default_factory=dict)
    """For a sink: the last request of each connection, until it is over."""

    # What a broker notes.

    def opened(self, connection: str, node: int) -> None:
        """A connection was made."""
        self.connections[connection] = ConnectionSpan(node, self.now_ms())

    def closed(self, connection: str, *, by_client: bool) -> None:
        """A connection is over."""
        span = self.connections.get(connection)
        if span is not None:
            span.closed_ms, span.closed_by_client = self.now_ms(), by_client
        if self.sink is not None:
            self.connections.pop(connection, None)
            self._pass_on(connection)

    def receive(
        self, node: int, connection: str, api: str, header: RequestHeader
    ) -> RecordedExchange | None:
        """A request came; its body and its answer are added when they are known.

        None for the control's: neither it nor its connection is part of the history.
        """
        if header.client_id == CONTROL:
            self.connections.pop(connection, None)
            return None
        exchange = RecordedExchange(
            node,
            connection,
            header.client_id,
            api,
            header.version,
            header.correlation_id,
            self.now_ms(),
        )
        if self.sink is None:
            self.exchanges.append(exchange)
        else:
            self._pass_on(connection)  # one that got no answer
            self._open[connection] = exchange
        return exchange

    def answer(self, exchange: RecordedExchange, body: Mapping[str, Any] | None) -> None:
        """An answer was given; None: it can't be read."""
        exchange.answered_ms = self.now_ms()
        exchange.answer_json = None if body is None else as_json(body)
        self._pass_on(exchange.connection)

    def act(self, name: str, **about: Any) -> None:
        """Something was done to the broker, or to a group."""
        self.acts.append(Act(self.now_ms(), name, about))

    def _pass_on(self, connection: str) -> None:
        exchange = self._open.pop(connection, None)
        if exchange is not None and self.sink is not None:
            self.sink(exchange.line())

    # What a judge reads.

    def now_ms(self) -> float:
        """The broker's time."""
        return (time.monotonic() - self.began_s) * 1000

    def worst_ms(self, began_ms: float, ended_ms: float) -> int:
        """How long the control had to wait at most between two times, on any node."""
        began, ended = self._seconds(began_ms), self._seconds(ended_ms)
        return max((meter.worst_ms(began, ended) for meter in self.meters.values()), default=0)

    def was_quick(self, began_ms: float, ended_ms: float, lag_ms: int) -> bool:
        """Whether the control was answered all the time on all nodes, well within this lag."""
        began, ended = self._seconds(began_ms), self._seconds(ended_ms)
        return all(m.answers_throughout(began, ended, lag_ms) for m in self.meters.values())

    def _seconds(self, ms: float) -> float:
        return self.began_s + ms / 1000


class HistoryFileError(BadInputError):
    """A file can't be written.  `str()` says why."""


@contextlib.contextmanager
def appending(path: Path) -> Iterator[Callable[[bytes], object]]:
    """A sink that appends to a file, each line at once.  Raises HistoryFileError."""
    try:
        file = path.open("ab", buffering=0)
    except OSError as error:
        raise HistoryFileError(f"{path}: can't be written ({error.strerror})") from None
    with file:
        yield file.write
