"""Skip heartbeats that change nothing: the same simulation, and the same results, sooner.

While a group is stable, a member's heartbeat restarts its session and does nothing else.  Such a
member rests: nothing is done for it until something else happens to it or to its group.  Then its
heartbeats up to that moment are made up for: they are counted, its session is as the last one left
it, and one that is still under way is sent.  The times of each heartbeat and its answer are known
without sending it, since a message's time depends on nothing else.

Nothing rests where requests are interfered with.  It is for the shipped rules for heartbeats alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from fencepost.conformance.simulate.simulation import (
    AFTER_ALL,
    CoordinatorEvent,
    Key,
    SimulatedExchange,
    Simulation,
    SkippedRequests,
    Turn,
    Waiting,
    arrived,
)
from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.client import links
from fencepost.model.client.client import step
from fencepost.model.client.client_interface import Endpoint, Input, Outgoing, Woken
from fencepost.model.client.client_state import Backoff, ClientState, Phase, Stage
from fencepost.model.messages.messages import HeartbeatResponse

_NEVER = 10**15


@dataclass(frozen=True, slots=True)
class _Rest:
    """A member whose heartbeats are skipped from `since_ms` on, the time of the next one."""

    since_ms: int
    every_ms: int
    session_ms: int
    member_id: str
    first_id: int
    coordinator: Endpoint


class QuietSimulation(Simulation):
    """A simulation that skips heartbeats that change nothing, and notes how many in `skipped`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._resting: dict[str, dict[str, _Rest]] = {}
        """By group and client."""
        self._key: Key = (0, AFTER_ALL, Turn.READ, 0)

    # When a client rests.

    def _wake(self, name: str) -> None:
        self._stir(name)
        if not self._lie_down(name):
            super()._wake(name)

    def _lie_down(self, name: str) -> bool:
        """Let a client rest, if nothing but heartbeats is due."""
        client = self._clients[name]
        state, member, settings = client.state, client.state.membership, client.settings
        coordinator = state.cluster.coordinator
        if (
            self.interfere is not None
            or self.is_down
            or not client.is_alive
            or member.heartbeat_ms != self.now_ms
            or coordinator is None
            or settings.heartbeat_interval_ms <= 2 * self._latency_ms[1]
            or not _is_at_ease(state, coordinator)
            or self.cluster.coordinator_of(settings.group_id).node != coordinator.node
        ):
            return False
        group = self.cluster.model.groups.get(settings.group_id)
        if (
            group is None
            or group.state is not GroupState.STABLE
            or group.generation_id != member.generation_id
            or group.member(member.member_id) is None
        ):
            return False
        without = replace(state, membership=replace(member, heartbeat_ms=_NEVER))
        ahead = step(settings, without, Woken(), self.now_ms)
        if ahead.requests or ahead.events:
            return False
        rest = _Rest(
            self.now_ms,
            settings.heartbeat_interval_ms,
            settings.session_timeout_ms,
            member.member_id,
            state.next_id,
            coordinator,
        )
        self._resting.setdefault(settings.group_id, {})[name] = rest
        due_ms = ahead.wake_at_ms
        self._set_wake(name, None if due_ms is None or due_ms >= _NEVER else due_ms)
        return True

    # What ends a rest.

    def give(self, name: str, input_: Input) -> None:
        """Give a client an input, now; its skipped heartbeats are made up for first."""
        self._stir(name)
        super().give(name, input_)

    def move_coordinator(self, group_id: str, node: int) -> None:
        """Let another broker coordinate the group."""
        self.rest_no_more()
        super().move_coordinator(group_id, node)

    def rest_no_more(self) -> None:
        """Make up for all heartbeats that were skipped up to now."""
        for group_id, resting in list(self._resting.items()):
            self._stir_many(group_id, list(resting))

    def _end(self, name: str, endpoint: Endpoint) -> None:
        self._stir(name)
        super()._end(name, endpoint)

    def _changed(
        self, before: Mapping[str, Group], about: SimulatedExchange | CoordinatorEvent
    ) -> None:
        for group_id in self._resting:
            if group_id in before:
                after = self.cluster.model.groups.get(group_id)
                self._disturb(group_id, before[group_id], after)
        super()._changed(before, about)

    def _disturb(self, group_id: str, before: Group, after: Group | None) -> None:
        """Wake the members that an event at the coordinator concerns."""
        resting = self._resting[group_id]
        if (
            after is None
            or after.state is not GroupState.STABLE
            or after.generation_id != before.generation_id
        ):
            self._stir_many(group_id, list(resting), before)
        elif after.members is not before.members:
            members = {member.member_id for member in after.members}
            gone = [name for name, rest in resting.items() if rest.member_id not in members]
            self._stir_many(group_id, gone, before)

    # Making up for heartbeats.

    def _stir(self, name: str) -> None:
        group_id = self._clients[name].settings.group_id
        if name in self._resting.get(group_id, ()):
            self._stir_many(group_id, [name])

    def _stir_many(self, group_id: str, names: list[str], before: Group | None = None) -> None:
        self._restart_sessions(group_id, names, self._key, before)
        for name in names:
            self._make_up(name, self._resting[group_id].pop(name))

    def _make_up(self, name: str, rest: _Rest) -> None:
        """Let a client be as if it had sent its heartbeats; one under way is sent."""
        client = self._clients[name]
        sent = self._sent(name, rest, self._key)
        done = sent
        if sent and self._read_key(name, rest, sent - 1) >= self._key:
            done -= 1
        if done:
            (heartbeat,) = step(client.settings, client.state, Woken(), rest.since_ms).requests
            assert isinstance(heartbeat, Outgoing)  # noqa: S101  (for the type checker)
            self.skipped.append(SkippedRequests(name, heartbeat, done))
        next_ms = rest.since_ms + done * rest.every_ms
        state = client.state
        client.state = replace(
            state,
            next_id=rest.first_id + done,
            membership=replace(state.membership, heartbeat_ms=next_ms, backoff=Backoff()),
        )
        if done:
            client.arrivals[rest.coordinator] = self._arrival_ms(name, rest, done - 1)
        if done == sent:
            self._set_wake(name, next_ms)
        elif self._arrival_key(name, rest, done) >= self._key:
            self._step(name, client, Woken(), next_ms)
        else:
            self._answer_late(name, next_ms)

    def _answer_late(self, name: str, sent_ms: int) -> None:
        """Schedule the answer of a heartbeat that was handled, but not yet answered."""
        client = self._clients[name]
        done = step(client.settings, client.state, Woken(), sent_ms)
        client.state = done.state
        (heartbeat,) = done.requests
        assert isinstance(heartbeat, Outgoing)  # noqa: S101  (for the type checker)
        number, to = heartbeat.correlation_id, heartbeat.to
        at_ms = sent_ms + self._travel_ms(name, number, "to")
        answer = HeartbeatResponse(error_code=0)
        epoch = client.epochs.get(to, 0)
        exchange = arrived(name, heartbeat, epoch, at_ms)
        exchange.answered_ms, exchange.answer = at_ms, answer
        self.history.append(exchange)
        client.arrivals[to] = at_ms
        self._set_wake(name, done.wake_at_ms)
        waiting = Waiting(name, to, epoch, number, exchange)
        self._return(waiting, answer, at_ms)

    def _restart_sessions(
        self, group_id: str, names: Iterable[str], until: Key, before: Group | None = None
    ) -> bool:
        """Set the session timers of members that rest as their heartbeats would have.

        `before`: the group before the event that ends their rest; a timer that it set stays.
        """
        group = self.cluster.model.groups.get(group_id)
        if group is None:
            return False
        resting = self._resting[group_id]
        due: dict[str, int] = {}
        for name in names:
            rest = resting[name]
            arrived = self._sent(name, rest, until)
            if arrived and self._arrival_key(name, rest, arrived - 1) >= until:
                arrived -= 1
            if arrived:
                due[rest.member_id] = self._arrival_ms(name, rest, arrived - 1) + rest.session_ms
        if before is not None:
            same = {t.subject for t in {*before.timers} & {*group.timers} if t.kind == SESSION}
            due = {member_id: at_ms for member_id, at_ms in due.items() if member_id in same}
        return self.cluster.model.restart_sessions(group_id, due)

    def _sent(self, name: str, rest: _Rest, until: Key) -> int:
        """Count the heartbeats that were sent before an event."""
        count = max((until[0] - rest.since_ms) // rest.every_ms + 1, 0)
        last_ms = rest.since_ms + (count - 1) * rest.every_ms
        return count - 1 if count and (last_ms, name, Turn.WAKE, 0) >= until else count

    def _arrival_ms(self, name: str, rest: _Rest, index: int) -> int:
        sent_ms = rest.since_ms + index * rest.every_ms
        return sent_ms + self._travel_ms(name, rest.first_id + index, "to")

    def _arrival_key(self, name: str, rest: _Rest, index: int) -> Key:
        at_ms = self._arrival_ms(name, rest, index)
        return at_ms, name, Turn.ARRIVE, rest.first_id + index

    def _read_key(self, name: str, rest: _Rest, index: int) -> Key:
        number = rest.first_id + index
        at_ms = self._arrival_ms(name, rest, index) + self._travel_ms(name, number, "from")
        return at_ms, name, Turn.READ, number

    # Time.

    def _go_to(self, key: Key) -> None:
        super()._go_to(key)
        self._key = key

    def _model_due_ms(self, limit_ms: int) -> int | None:
        """Return the time of the next timer that no skipped heartbeat restarts."""
        while True:
            due_ms = super()._model_due_ms(limit_ms)
            if due_ms is None or due_ms > limit_ms:
                return due_ms
            until = due_ms, "", Turn.READ, 0
            restarted = [self._restart_sessions(*each, until) for each in self._resting.items()]
            if not any(restarted):
                return due_ms


def _is_at_ease(state: ClientState, coordinator: Endpoint) -> bool:
    """Return True if a client is a member that has all it wants, and nothing under way."""
    member, link = state.membership, links.find(state, coordinator)
    return (
        state.stage is Stage.RUNNING
        and state.is_polling
        and member.phase is Phase.STABLE
        and member.is_handed_out
        and not member.needs_join
        and state.committing is None
        and state.transacting is None
        and state.leaving is None
        and link is not None
        and link.is_up
        and link.versions is not None
        and link.flight is None
    )
