"""The open requests of an adapter, and the limits of its clock.

An answer is valid if it belongs to an open request, and if its time never falls and, on a virtual
clock, is not ahead of what was advanced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.model.coordinator import Answer, Send
from fencepost.model.messages.messages import Api
from fencepost.model.messages.wire_form import ShapeError


class LedgerError(Exception):
    """An answer that can't be.  `str()` completes the sentence "the adapter …"."""


class Ledger:
    """The requests since the last reset, and the clock."""

    def __init__(self, apis: Mapping[str, Api], *, is_virtual: bool) -> None:
        self._apis = apis
        self._is_virtual = is_virtual
        self.reset()

    def reset(self) -> None:
        """All is forgotten; the clock starts again."""
        self._open: dict[str, Send] = {}
        self._ended: dict[str, str] = {}
        self._latest = 0
        self._now = 0

    def owes(self, request: Send) -> None:
        """A request was accepted."""
        self._open[request.id] = request

    def knows(self, request_id: str) -> bool:
        """Whether a request with this id was sent since the last reset."""
        return request_id in self._open or request_id in self._ended

    def take(self, rows: Iterable[dict[str, Any]], ms: int = 0) -> tuple[Answer, ...]:
        """The answers of a reply, during which `ms` may have passed.  Raises LedgerError."""
        began = self._now
        self._now += ms
        if self._is_virtual:
            self._latest = max(self._latest, began)
        return tuple(self._answer(row) for row in rows)

    def drop(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Requests that will never be answered.  Raises LedgerError."""
        return tuple(self._end(request_id, "dropped").id for request_id in ids)

    def _answer(self, row: dict[str, Any]) -> Answer:
        request = self._end(row["id"], "answered")
        at_ms = int(row["at_ms"])
        if at_ms < self._latest:
            raise LedgerError(
                f"went back in time: {request.id!r} is answered at {at_ms} ms, "
                f"but it was {self._latest} ms already"
            )
        if self._is_virtual and at_ms > self._now:
            raise LedgerError(
                f"ran ahead: {request.id!r} is answered at {at_ms} ms, but its virtual clock "
                f"was advanced to {self._now} ms only"
            )
        self._latest = at_ms
        body = row.get("body")
        api = self._apis.get(request.api)
        if body is None or api is None or not api.lowest <= request.version <= api.highest:
            return Answer(request.id, at_ms, body)
        try:
            api.response.from_body(body, request.version)
        except ShapeError as error:
            return Answer(request.id, at_ms, api.response.readable_part(body), (str(error),))
        return Answer(request.id, at_ms, body)

    def _end(self, request_id: str, how: str) -> Send:
        request = self._open.pop(request_id, None)
        if request is None:
            before = self._ended.get(request_id)
            problem = "was never sent" if before is None else f"was {before} before"
            raise LedgerError(f"says that {request_id!r} is {how}, which {problem}")
        self._ended[request_id] = how
        return request
