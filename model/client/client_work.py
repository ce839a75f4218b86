"""A client's step in progress: the state as it is being changed, and what comes out of it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fencepost.model.client.behaviour import Conduct
from fencepost.model.client.client_interface import (
    Asked,
    Committed,
    ErrorTold,
    HangUp,
    Lost,
    UserEvent,
)
from fencepost.model.client.client_state import Backoff, ClientState, Life, Membership, Reading
from fencepost.model.client.consumer_settings import ClientSettings
from fencepost.model.messages.errors import Error, error_name


class ClientWork:
    """What the concerns of a client work on, one after the other."""

    __slots__ = ("events", "now_ms", "requests", "settings", "state")

    def __init__(self, settings: ClientSettings, state: ClientState, now_ms: int) -> None:
        self.settings = settings
        self.state = state
        self.now_ms = now_ms
        self.requests: list[Asked | HangUp] = []
        self.events: list[UserEvent] = []

    @property
    def conduct(self) -> Conduct:
        """How this client conducts itself."""
        return self.settings.conduct

    @property
    def is_static(self) -> bool:
        """Whether this client takes itself for a static member."""
        return self.settings.group_instance_id is not None and bool(self.conduct.identified)

    def change(self, **changes: Any) -> None:
        """Change fields of the state."""
        self.state = replace(self.state, **changes)

    def change_member(self, **changes: Any) -> None:
        """Change fields of the membership."""
        self.change(membership=replace(self.state.membership, **changes))

    def change_cluster(self, **changes: Any) -> None:
        """Change fields of what is known of the cluster."""
        self.change(cluster=replace(self.state.cluster, **changes))

    def change_reading(self, **changes: Any) -> None:
        """Change fields of what the user reads."""
        self.change(reading=replace(self.state.reading, **changes))

    def tell(self, event: UserEvent) -> None:
        """Let the user see an event."""
        self.events.append(event)

    def failed(self, backoff: Backoff, *, at_once: bool = False) -> Backoff:
        """Something failed once more: the pause doubles each time, up to the settings' longest.

        `at_once`: the first failure in a row has no pause, as it is part of the protocol.
        """
        settings, failures = self.settings, backoff.failures
        pause = 0
        if self.conduct.backs_off and not (at_once and failures == 0):
            doubled = settings.retry_backoff_ms << min(failures - at_once, 20)
            pause = min(doubled, settings.retry_backoff_max_ms)
        return Backoff(failures + 1, self.now_ms + pause)

    def fail(self, code: int | str, where: str) -> None:
        """Come to a fatal error: nothing is done by itself any more, and the user is told."""
        told = ErrorTold(error_name(code), fatal=True, where=where)
        self.end_commit(told.code)
        if self.state.life is Life.CLOSING:
            self.tell(told)
            self.change(membership=Membership(), leaving=None)
            return
        self.change(life=Life.FAILED, failure=told, was_told=False)
        if not (self.conduct.reads_when_fenced or self.conduct.commits_when_fenced):
            self.change(membership=Membership(), leaving=None)
            self.hang_up_all()

    def hang_up_all(self) -> None:
        """End all connections."""
        self.requests += [HangUp(link.endpoint) for link in self.state.links if link.is_up]
        self.change(links=())

    def end_commit(self, error: str) -> None:
        """What is being committed is over; the user, if it waits, is told how."""
        if (current := self.state.committing) is not None:
            for _ in range(current.waiting):
                self.tell(Committed(error))
            self.change(committing=None)

    def tell_lost(self) -> None:
        """The user may own nothing of what it was given any more."""
        if owned := self.state.reading.owned:
            if self.conduct.tells_loss:
                self.tell(Lost(owned))
            self.change(reading=Reading())

    def tell_error(self, code: int | str, where: str) -> None:
        """Tell the user an error that the client goes on after."""
        self.tell(ErrorTold(error_name(code), fatal=False, where=where))


def is_fenced(state: ClientState) -> bool:
    """Whether the fatal error is that another process has the instance."""
    return state.failure is not None and state.failure.code == Error.FENCED_INSTANCE_ID.name
