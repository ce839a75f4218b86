"""Gather evidence while a scenario runs: from the broker's history, and from drivers' events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.conformance.clients.driver import Driver
from fencepost.conformance.serve.broker_history import History, RecordedExchange
from fencepost.conformance.wire.codec import API_KEYS
from fencepost.model.messages.messages import APIS, OffsetCommitRequest
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.wire_form import ShapeError
from fencepost.properties.requirements.evidence import (
    COMMIT,
    FIND,
    LEAVE,
    MEMBER_APIS,
    Call,
    Deed,
    Evidence,
    Life,
    Seen,
)

_VERSIONS = "ApiVersions"
_READ = {*MEMBER_APIS, LEAVE}
_STALL_S = 0.05
"""What the control waits for less than that is no stall."""


@dataclass(slots=True)
class Timeline:
    """What is known so far of a scenario that runs; `evidence` makes one record of it."""

    history: History
    partitions: Mapping[str, int]
    lives: list[Life] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    drivers: list[Driver] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """What a driver calls a consumer, to its life."""
    broken: str = ""
    unsupported: str = ""
    unmet: list[tuple[float, str]] = field(default_factory=list)
    versions: list[tuple[float, Mapping[str, tuple[int, int]]]] = field(default_factory=list)
    _calls: list[Call] = field(default_factory=list)
    _open: dict[int, RecordedExchange] = field(default_factory=dict)
    _asking: list[RecordedExchange] = field(default_factory=list)
    _read: int = 0

    def now_ms(self) -> float:
        """The broker's time."""
        return self.history.now_ms()

    def begin(self, life: Life, name: str, driver: Driver) -> None:
        """A consumer is started; `name`: in its driver."""
        self.lives.append(life)
        self.names[name] = life.id
        if driver not in self.drivers:
            self.drivers.append(driver)

    def end(self, life: Life, how: str) -> None:
        """The end of a life begins."""
        index = self.lives.index(life)
        self.lives[index] = replace(life, ended_ms=self.now_ms(), how=how)

    def evidence(self) -> Evidence:
        """All that is known now."""
        self._read_history()
        return Evidence(
            lives=tuple(self.lives),
            calls=tuple(self._calls),
            seen=tuple(self._seen()),
            deeds=tuple(self.deeds),
            partitions=self.partitions,
            versions=tuple(self.versions),
            stalls=tuple(self._stalls()),
            ended_ms=self.now_ms(),
            broken=self.broken,
            unmet=tuple(self.unmet),
            unsupported=self.unsupported,
        )

    def _read_history(self) -> None:
        exchanges = self.history.exchanges
        ids = {life.id for life in self.lives}
        for exchange in exchanges[self._read :]:
            if (life := _life_of(exchange, ids)) is not None:
                self._open[len(self._calls)] = exchange
                self._calls.append(_asked(exchange, life))
            if exchange.api == _VERSIONS and life is not None and not self.versions:
                self._asking.append(exchange)
        self._read = len(exchanges)
        if not self.versions:
            self._learn_versions()
        for index, exchange in list(self._open.items()):
            if exchange.provocation is not None or exchange.answered_ms is not None:
                self._calls[index] = _answered(exchange, self._calls[index])
            if exchange.answered_ms is not None:
                del self._open[index]

    def _learn_versions(self) -> None:
        """Where nothing else tells the broker's versions, what it tells clients does."""
        for exchange in self._asking:
            answer = exchange.answer or {}
            if answer.get("apiKeys") and not answer["errorCode"]:
                rows = {
                    row["apiKey"]: (row["minVersion"], row["maxVersion"])
                    for row in answer["apiKeys"]
                }
                known = {name: rows[key] for name, key in API_KEYS.items() if key in rows}
                self.versions.append((0.0, known))
                return

    def _seen(self) -> Sequence[Seen]:
        began_ms = self.history.began_s * 1000
        found = []
        for driver in self.drivers:
            own = [heard for heard in driver.events if heard.event.at_ms is not None]
            # What came quickest shows best how far apart the clocks are.
            apart = min((h.heard_ms - (h.event.at_ms or 0.0) for h in own), default=0.0)
            for heard in own:
                life = self.names.get(heard.event.consumer or "")
                if life is not None and heard.event.at_ms is not None:
                    found.append(Seen(life, heard.event.at_ms + apart - began_ms, heard.event))
        return sorted(found, key=lambda one: one.at_ms)

    def _stalls(self) -> Sequence[tuple[float, float]]:
        began_s, now_ms = self.history.began_s, self.now_ms()
        found = []
        for meter in self.history.meters.values():
            for ended_s, seconds in meter.samples:
                if seconds > _STALL_S:
                    found.append(((ended_s - seconds - began_s) * 1000, seconds * 1000))
            for begun_s in meter.waiting:
                at_ms = (begun_s - began_s) * 1000
                if now_ms - at_ms > _STALL_S * 1000:
                    found.append((at_ms, now_ms - at_ms))
        return sorted(found)


def _life_of(exchange: RecordedExchange, ids: set[str]) -> str | None:
    """Whose request it is: a library may put something behind the client id that it was given."""
    name = exchange.client_id or ""
    if name in ids:
        return name
    return next((one for one in ids if name.startswith(f"{one}-")), None)


def _asked(exchange: RecordedExchange, life: str) -> Call:
    return Call(
        life=life,
        api=exchange.api,
        version=exchange.version,
        at_ms=exchange.received_ms,
        request=_message(exchange, answer=False),
        connection=exchange.connection,
    )


def _answered(exchange: RecordedExchange, call: Call) -> Call:
    provoked = "" if exchange.provocation is None else str(exchange.provocation.action)
    return replace(
        call,
        answered_ms=exchange.answered_ms,
        answer=None if exchange.answered_ms is None else _message(exchange, answer=True),
        provoked=provoked,
        code=_code(exchange),
    )


def _is_beyond(exchange: RecordedExchange) -> bool:
    """Whether it is a commit of a version that the model doesn't have: with ids of topics."""
    return exchange.api == COMMIT and exchange.version > APIS[COMMIT].highest


def _commit(body: Mapping[str, Any]) -> Message | None:
    """Who commits, in such a version; not what."""
    if not body:
        return None
    return OffsetCommitRequest(
        group_id=body["groupId"],
        generation_id=body["generationIdOrMemberEpoch"],
        member_id=body["memberId"],
        group_instance_id=body["groupInstanceId"],
        topics=(),
    )


def _code(exchange: RecordedExchange) -> int | None:
    """The error of an answer that the model doesn't have: to a look-up, or to such a commit."""
    answer = exchange.answer
    if answer is None or not (exchange.api == FIND or _is_beyond(exchange)):
        return None
    rows = [answer, *answer.get("coordinators", ())]
    rows += [row for topic in answer.get("topics", ()) for row in topic["partitions"]]
    return next((row["errorCode"] for row in rows if row.get("errorCode")), 0)


def _message(exchange: RecordedExchange, *, answer: bool) -> Message | None:
    if exchange.api not in _READ or exchange.api not in APIS:
        return None
    if _is_beyond(exchange):
        return None if answer else _commit(exchange.request)
    try:
        return exchange.reply if answer else exchange.message
    except ShapeError:
        return None
