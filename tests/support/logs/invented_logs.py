"""Invent logs of coordinators: groups whose members come, go and expire, at any distances."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line

GAPS_S = (1, 7, 40, 100, 1_500, 15_000)
"""Distances of deeds: within a rebalance, a session, a deployment, and far from all others."""
NAMES = ("ads-1", "ads-2", "ads-3")
STATIC = frozenset({"ads-3"})
CLOSED = "the consumer is being closed"
DEEDS = ("join", "join", "leave", "expire", "expire", "rejoin", "move", "delete")

Step = tuple[int, str, str]
steps = st.lists(
    st.tuples(st.sampled_from(GAPS_S), st.sampled_from(DEEDS), st.sampled_from(NAMES)),
    min_size=1,
    max_size=14,
)
"""A distance in seconds, a deed, and whose it is."""


class InventedGroup:
    """A group that does some steps.

    `partition`: that of __consumer_offsets; `before`: its members when the log begins.
    """

    def __init__(
        self, group: str, partition: int = 0, *, is_new: bool, before: Iterable[str] = ()
    ) -> None:
        self.words = CoordinatorLines(group, is_new=is_new, partition=partition)
        self._partition = partition
        self._ids = 0
        self._members = {name: self._new_id(name) for name in before}
        self._generation = 7 * bool(self._members)
        self._at_ms = START_MS
        self.lines: list[Line] = []

    def do(self, taken: Iterable[Step]) -> InventedGroup:
        """Do steps; those that can't be are left out."""
        for gap_s, deed, name in taken:
            self._at_ms += gap_s * 1000
            {
                "join": self._join,
                "leave": self._leave,
                "expire": self._expire,
                "rejoin": self._rejoin,
                "move": self._move,
                "delete": self._delete,
            }[deed](name)
        return self

    def _new_id(self, name: str) -> str:
        self._ids += 1
        return f"{name}-2623169f-271d-4e1f-ae23-2007b27b{self._ids:04}"

    def _say(self, message: str) -> None:
        self.lines.append((self._at_ms, message))

    def _rebalance(self, reason: str, after: str = "") -> None:
        self._say(self.words.preparation(self._generation, reason))
        if after:
            self._say(after)
        self._generation += 1
        self._at_ms += 2_500
        if not self._members:
            self._say(self.words.no_member(self._generation))
            return
        count = len(self._members)
        self._say(self.words.generation(self._generation, count))
        leader, static = next(iter(self._members.values())), len(STATIC & set(self._members))
        self._say(self.words.assignment(self._generation, leader, count, static))

    def _join(self, name: str) -> None:
        if name in self._members:
            return
        member_id = self._members[name] = self._new_id(name)
        instance = name if name in STATIC else None
        state = "Stable" if len(self._members) > 1 else "Empty"
        if instance is None:
            self._say(self.words.dynamic_join(member_id, state))
        else:
            self._say(self.words.static_join(member_id, instance, state))
        self._rebalance(self.words.join_reason(member_id, instance))

    def _leave(self, name: str) -> None:
        member_id = self._members.pop(name, None)
        if member_id is None:
            return
        reason = self.words.leave_reason(member_id, CLOSED)
        if self.words.is_new:
            self._say(self.words.leave(member_id, CLOSED))
            self._rebalance(reason)
            return
        instance = name if name in STATIC else None
        left = self.words.old_leave(
            member_id,
            CLOSED,
            client_id=name,
            instance=instance,
            host="10.0.0.1",
            session_ms=45_000,
            rebalance_ms=300_000,
        )
        self._rebalance(reason, left)

    def _expire(self, name: str) -> None:
        member_id = self._members.pop(name, None)
        if member_id is not None:
            self._say(self.words.expiry(member_id))
            self._rebalance(self.words.expiry_reason(member_id))

    def _rejoin(self, name: str) -> None:
        if name in self._members:
            self._rebalance(f"Leader {self._members[name]} re-joining group during Stable")

    def _move(self, name: str) -> None:
        """Unload the group, and load it again; a generation may begin elsewhere meanwhile."""
        self._say(f"Resigned as the group coordinator for partition {self._partition} in epoch 8")
        self._at_ms += 20_000
        self._generation += name in STATIC
        if self.words.is_new:
            self._say(
                f"Finished loading of metadata from __consumer_offsets-{self._partition} with "
                "epoch 9 in 12ms where 1ms was spent in the scheduler."
            )
        else:
            group, generation = self.words.group, self._generation
            self._say(f"Loading group metadata for {group} with generation {generation}")

    def _delete(self, _: str) -> None:
        if not self._members and self._generation:
            group = self.words.group
            self._say(
                f"The following groups were deleted: {group}. A total of 3 offsets were removed."
            )
            self._generation = 0
