"""What a simulation notes, beside the requests and their answers."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fencepost.model.client.client_interface import Asked, UserEvent


class Told(NamedTuple):
    """What a client's user saw, and when."""

    at_ms: int
    client: str
    event: UserEvent


class SkippedRequests(NamedTuple):
    """Requests that a client did not send, since they change nothing: one of them, and how many."""

    client: str
    asked: Asked
    times: int


class CoordinatorEvent(Enum):
    """What happens at a coordinator that no client asked for."""

    TIMER = "a timer expired"
    REMOVAL = "an administrator removed a member"
    FAILOVER = "another broker coordinates the group"
