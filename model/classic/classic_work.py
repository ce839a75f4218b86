"""Hold the work of a step of the classic protocol: the group, and notes of its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fencepost.model.classic.group import SESSION, Group, Member
from fencepost.model.work import Incoming, Span, Timer, Work


class ClassicWork(Work[Group]):
    """A step in progress.

    `previous_leader`: the leader before an instance's holder changed; `named`: topics and
    partitions whose offsets are to be removed.
    """

    __slots__ = ("named", "previous_leader")

    def __init__(self, group: Group | None, span: Span, request: Incoming | None = None) -> None:
        super().__init__(group, span, request)
        self.previous_leader: str | None = None
        self.named: frozenset[tuple[str, int]] = frozenset()

    @staticmethod
    def new_group() -> Group:
        """Make a group that is Empty, with no member."""
        return Group()

    def fork(self) -> ClassicWork:
        """Return a copy that is changed on its own."""
        other = super().fork()
        other.previous_leader = self.previous_leader
        other.named = self.named
        return other

    def restart_sessions(self, members: Iterable[Member]) -> None:
        """Restart the session timers of these members."""
        now, until = self.span
        self.group = self.group.with_timers(
            Timer(SESSION, m.member_id, now + ms, until + ms)
            for m in members
            for ms in (max(m.session_timeout_ms, 0),)
        )


Effect = Callable[[ClassicWork], list[ClassicWork] | None]
"""Performs a step on a work; returns several works if it forks, None if it doesn't."""
