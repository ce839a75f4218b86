"""Run the model on a real clock: it answers at once or later, and its timers fire by themselves.

Timers that were due before a request came fire before it is handled.  Times are rounded so that no
timer is early by the clients' clocks.  Where the protocol leaves a choice, a seed chooses.

With several nodes each group has one that coordinates it; it may move, load, or not be there.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from fencepost.conformance.targets.model_coordinator import RunningModel, coordinating_machine
from fencepost.conformance.wire.refusal import Code, refused_message
from fencepost.model.classic.group import Offset
from fencepost.model.coordinator import Answer, Config, Send, Topics
from fencepost.model.messages.messages import TxnOffsetCommitRequest, groups_of
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Revision
from fencepost.model.table.shared_features import Availability

_T = TypeVar("_T")
Deliver = Callable[[int, dict[str, Any]], None]
"""Takes an answer: the version that it is written in, and its body."""


class GroupCoordinator:
    """All groups of a broker, and the node that coordinates each.

    `topics`: those that there are, now and later.  `fail`: takes the exception of a timer.
    """

    def __init__(
        self,
        revision: Revision,
        settings: Config | None,
        *,
        seed: int,
        nodes: Sequence[int],
        topics: Topics,
        fail: Callable[[Exception], None],
    ) -> None:
        self._random = random.Random(seed)  # noqa: S311  (choices, no secrets)
        self.running = RunningModel(
            coordinating_machine(revision, settings, topics=topics),
            choose=self.choose,
            new_id=self._new_id,
        )
        self._nodes = tuple(nodes)
        self._fail = fail
        self._open: dict[str, tuple[Send, Deliver]] = {}
        self._moved: dict[str, int] = {}
        self._loading: set[str] = set()
        self._absent: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._began_s = 0.0

    def start(self, began_s: float) -> None:
        """Start the clock; in seconds of the event loop's."""
        self._began_s = began_s

    def close(self) -> None:
        """Let no timer fire any more."""
        if self._timer is not None:
            self._timer.cancel()

    def ask(self, send: Send, message: Message, deliver: Deliver, node: int) -> None:
        """Ask a node; `deliver` is called once, unless the request is dropped."""
        if not self._absent.isdisjoint(groups_of(message, send.version) or ()):
            deliver(*self.refusal(send, message, Code.COORDINATOR_NOT_AVAILABLE))
            return
        self._open[send.id] = send, deliver
        self._advance()
        answers = self.running.handle(
            send, message, where=lambda group: self.availability(group, node)
        )
        self._deliver(answers)
        self._set_timer()

    def ask_without_storing(
        self, send: Send, message: TxnOffsetCommitRequest, deliver: Deliver, node: int
    ) -> tuple[Offset, ...]:
        """Ask a node as `ask`; take back the offsets that it stores, and return them."""
        group = self.running.groups.get(message.group_id)
        self.ask(send, message, deliver, node)
        before = () if group is None else group.offsets
        return self.running.take_back_offsets(message.group_id, before)

    def store_offsets(self, group: str, offsets: Iterable[Offset]) -> None:
        """Store offsets that were taken back."""
        self._advance()
        self.running.store_offsets(group, offsets)
        self._set_timer()

    def drop(self, connection: str) -> None:
        """Forget the open requests of a connection.  No group notices."""
        for request_id in self.running.drop(connection):
            self._open.pop(request_id, None)

    def refusal(self, send: Send, message: Message, code: int) -> tuple[int, dict[str, Any]]:
        """Return the answer with this error, and its version; no group changes."""
        version = self.running.answer_version(send)
        return version, refused_message(message, send.version, code).to_body(version)

    # Who coordinates what.

    def node_of(self, group: str) -> int:
        """Return the node that coordinates a group."""
        return self._moved.get(group, self._nodes[zlib.crc32(group.encode()) % len(self._nodes)])

    def lookup(self, group: str) -> int | None:
        """Return the node to answer FindCoordinator with; None: there is none."""
        return None if group in self._absent else self.node_of(group)

    def availability(self, group: str, node: int) -> Availability:
        """Return the relation of a node to a group; any node answers for a group of no name."""
        if group and self.node_of(group) != node:
            return Availability.ELSEWHERE
        return Availability.LOADING if group in self._loading else Availability.HERE

    def move(self, group: str, node: int | None) -> int:
        """Fail over to a node, or to the next one; return it."""
        at = self._nodes.index(self.node_of(group))
        self._moved[group] = self._nodes[(at + 1) % len(self._nodes)] if node is None else node
        self.fail_over([group])
        return self._moved[group]

    @contextlib.contextmanager
    def loading(self, group: str) -> Iterator[None]:
        """Load a group: requests about it meanwhile get an error that says so."""
        self._loading.add(group)
        try:
            yield
        finally:
            self._loading.discard(group)

    @contextlib.contextmanager
    def absent(self, group: str) -> Iterator[None]:
        """Have no coordinator for a group: requests for it, or about it, get such an error."""
        self._absent.add(group)
        try:
            yield
        finally:
            self._absent.discard(group)

    # What befalls groups.

    def fail_over(self, groups: Sequence[str] | None = None) -> None:
        """Answer parked requests NOT_COORDINATOR, and restore groups as stored; all, or some."""
        self._advance()
        self._deliver(self.running.fail_over(groups))
        self._set_timer()

    def expire(self, group: str, name: str) -> bool:
        """End the session of a member (by its id or its instance's) now; False: it has none."""
        self._advance()
        held = self.running.groups.get(group)
        member_id = name if held is None else held.holder(name) or name
        answers = self.running.expire(group, member_id)
        self._deliver(answers or ())
        self._set_timer()
        return answers is not None

    # The clock.

    def _advance(self) -> None:
        """Fire due timers, none early; an event of now is handled no earlier than it happens."""
        now_ms = self._now_ms()
        self._deliver(self.running.advance_to(math.floor(now_ms)))
        self.running.now_ms = max(self.running.now_ms, math.ceil(now_ms))

    def _now_ms(self) -> float:
        return (asyncio.get_running_loop().time() - self._began_s) * 1000

    def _set_timer(self) -> None:
        self.close()
        self._timer = None
        deadline = self.running.next_deadline_ms()
        if deadline is not None:
            at = self._began_s + deadline / 1000
            self._timer = asyncio.get_running_loop().call_at(at, self._expire)

    def _expire(self) -> None:
        try:
            self._deliver(self.running.advance_to(math.floor(self._now_ms())))
            self._set_timer()
        except Exception as error:  # noqa: BLE001 - whoever serves is told
            self._fail(error)

    def _deliver(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            send, deliver = self._open.pop(answer.id)
            deliver(self.running.answer_version(send), dict(answer.body or {}))

    # What the model leaves open.

    def choose(self, outcomes: Sequence[_T]) -> _T:
        """Choose one of several allowed outcomes."""
        return outcomes[0] if len(outcomes) == 1 else self._random.choice(outcomes)

    def _new_id(self, name: str, number: int) -> str:
        del number  # ids of a broker that runs after this one must be others
        return f"{name}-{uuid.UUID(int=self._random.getrandbits(128), version=4)}"
