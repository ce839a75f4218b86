"""One step of a client: what happens to it, and what it does then.  Pure.

The user polls without end, from `Start` on, until `StopPolling`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.model.client.interface import Asked, HangUp, Input, UserEvent
from fencepost.model.client.settings import ClientSettings
from fencepost.model.client.state import ClientState


@dataclass(frozen=True, slots=True)
class ClientStep:
    """The client afterwards, what it sends, what its user sees, and when to wake it.

    `requests` are in the order of sending.  `wake_at_ms` None: nothing is due by itself.
    """

    state: ClientState
    requests: tuple[Asked | HangUp, ...]
    events: tuple[UserEvent, ...]
    wake_at_ms: int | None


def step(settings: ClientSettings, state: ClientState, given: Input, now_ms: int) -> ClientStep:
    """Take an input at a time, in ms, that never goes back."""
    raise NotImplementedError
