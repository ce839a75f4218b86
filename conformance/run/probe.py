"""Ask a coordinator one thing after the other, beside the cases."""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import Any

from fencepost.model.coordinator import AsyncCoordinator, CoordinatorFailure, Send, UnsupportedError


class Asker:
    """Sends one request after the other on one connection; after a failure, on a new one.

    `name`: who asks, for connections and messages; `within_s`: how long an answer may take.
    """

    def __init__(self, coordinator: AsyncCoordinator, name: str, within_s: float) -> None:
        self._coordinator = coordinator
        self._name = name
        self._within_s = within_s
        self._asked = itertools.count(1)
        self._connections = itertools.count(1)
        self._connection = name

    async def ask(self, api: str, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """The answer.  Raises CoordinatorFailure if there is none, or its connection ended."""
        request_id = f"{self._name}-{next(self._asked)}"
        send = Send(request_id, self._connection, "fencepost", api, version, body)
        answers = list(await self._coordinator.send(send))
        end = time.monotonic() + self._within_s
        while time.monotonic() < end:
            for answer in answers:
                if answer.id != request_id:
                    continue
                if answer.body is None:
                    raise CoordinatorFailure(
                        f"the connection of the {self._name}'s {api} was closed"
                    )
                return dict(answer.body)
            answers = list(await self._coordinator.advance(1000))
        raise CoordinatorFailure(
            f"the {self._name}'s {api} was not answered within {self._within_s:g} s"
        )

    async def hang_up(self) -> None:
        """End the connection; the next request takes another."""
        with contextlib.suppress(CoordinatorFailure, UnsupportedError):
            await self._coordinator.disconnect(self._connection)
        self._connection = f"{self._name} {next(self._connections)}"
