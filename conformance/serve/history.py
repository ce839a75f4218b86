"""The history of a broker: what its clients sent and were answered, and what was done to them.

Times are ms since the broker began, on its own monotonic clock.  Bodies are kept as JSON text,
which takes a fraction of the memory; of records only their number, size and offsets are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fencepost.conformance.execution.latency_monitor import LagMeter
from fencepost.conformance.serve.provocation import Provocation
from fencepost.model.messages.messages import APIS
from fencepost.model.messages.shapes import Message

Json = dict[str, Any]


@dataclass(slots=True)
class Exchange:
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
    request_json: bytes | None
    """None where it can't be read."""
    answered_ms: float | None = None
    answer_json: bytes | None = None
    provocation: Provocation | None = None

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
        """The request as the model reads it; None for an API that the model doesn't have."""
        if self.api not in APIS or self.request_json is None:
            return None
        return APIS[self.api].request.from_body(self.request, self.version)

    @property
    def reply(self) -> Message | None:
        """The answer as the model reads it; None where there is none."""
        answer = self.answer
        if self.api not in APIS or answer is None:
            return None
        return APIS[self.api].response.from_body(answer, self.version)


@dataclass(frozen=True, slots=True)
class Act:
    """What an administrator did, or what befell the broker: `remove`, `move`, `restart` and so on."""

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
    it; in seconds of the monotonic clock.  `sink`: is given what is over, instead of keeping it.
    """

    began_s: float = field(default_factory=time.monotonic)
    exchanges: list[Exchange] = field(default_factory=list)
    acts: list[Act] = field(default_factory=list)
    connections: dict[str, ConnectionSpan] = field(default_factory=dict)
    meters: dict[int, LagMeter] = field(default_factory=dict)
    sink: Callable[[Exchange | Act], None] | None = None

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
