"""Give worlds what mixed groups have: clients of both protocols, and names of groups of both kinds.

A group of either kind counts in epochs: the generation of a classic group is its epoch, as an
upgrade takes it.  So epochs become ranks, as `fencepost.properties.worlds.consumer_worlds` has it.
"""

# ruff: noqa: ARG002  (the methods of all protocols have one signature)

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from fencepost.model.bridge.conversion import OWED
from fencepost.model.classic.group import Group
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.work import Emission
from fencepost.properties.worlds import canonical
from fencepost.properties.worlds import mixed_client as asks
from fencepost.properties.worlds.consumer_worlds import ConsumerWorlds, real_epoch
from fencepost.properties.worlds.mixed_abstraction import MIXED
from fencepost.properties.worlds.mixed_client import MixedClient
from fencepost.properties.worlds.mixed_scope import (
    CHECK_SCOPES,
    DIFF_SCOPES,
    DRAWING,
    PROMISE_SCOPES,
    MixedScope,
)
from fencepost.properties.worlds.protocol_worlds import Ask, Naming, Seat

_CURRENT = 2
"""The rank of the generation of a classic group."""


class MixedWorlds(ConsumerWorlds):
    """The part of mixed groups in worlds."""

    acts = asks.ACTS
    client = MixedClient
    default_scope = MixedScope(clients=2, instances=2, members=2)
    abstraction = MIXED
    check_scopes = CHECK_SCOPES
    rare_scopes = ()
    promise_scopes = PROMISE_SCOPES
    diff_scopes = DIFF_SCOPES
    drawing = DRAWING

    def can(self, scope: Any, group: Any, client: Any, kind: str, seat: Seat) -> bool:
        """Return True if a client can do an act."""
        if kind in {"restart", "switch"}:
            return bool(client != self.cut_off(client, kind))
        return asks.can(group, client, kind, scope.members)

    def ask(self, scope: Any, seat: Seat, client: Any, kind: str) -> Ask:
        """Return the request that a client sends in an act.  Raises ValueError for no such act."""
        return asks.ask(seat, client, kind)

    def asking(self, scope: Any, client: Any, kind: str) -> Any:
        """Return the client after it sent this request, before any answer."""
        return asks.asking(client, kind)

    def answered(
        self, scope: Any, client: Any, kind: str, answer: Message | None, waits: str
    ) -> Any:
        """Return the client whose request was handled: it waits by this name, or was answered."""
        if kind in self.unheard:
            return client
        if waits:
            return client._replace(waits=waits)
        return asks.after_answer(client, kind, answer)

    def overheard(self, client: Any, emissions: Iterable[Emission]) -> Any:
        """Return a client after a step of another: its own request was answered."""
        for emission in emissions:
            if client.waits and client.waits == emission.request_id:
                return asks.after_answer(client, "", emission.message)
        return client

    def cut_off(self, client: Any, kind: str) -> Any:
        """Return the new process in place of a client: it has the same instance."""
        is_classic = client.is_classic is not (kind == "switch")
        return MixedClient(instance=client.instance, is_classic=is_classic)

    def counted(self, group: Any) -> str:
        """Return how far a group has come, in words."""
        if isinstance(group, Group):
            return f"generation {group.generation_id}"
        return super().counted(group)

    def knowledge(self, client: Any, called: Mapping[str, str]) -> tuple[object, ...]:
        """Return what a client knows, with other names of ids; of its epoch only the kind."""
        renamed = client._replace(roster=tuple(called.get(i, "") for i in client.roster))
        return super().knowledge(renamed, called)

    def duty(self, group: Any, client: Any, seat: Seat) -> str | None:
        """Return the next act of a client that keeps to the protocol; None: it waits or stopped."""
        return asks.duty(client)

    # Names.

    def named(self, scope: Any, group: Any) -> Naming:
        """Return the canonical form of a group.

        A classic group keeps what it owes to its members alone: no id comes back.
        """
        if not isinstance(group, Group):
            return super().named(scope, group)
        ids = {member.member_id for member in group.members}
        owed = OWED.values()
        kept = tuple(t for t in group.timers if t.kind not in owed or t.subject in ids)
        naming = canonical.named(replace(group, timers=kept), keep_generations=False)
        number = group.generation_id
        renamed = replace(naming.group, generation_id=_CURRENT if number > 0 else 0)
        return Naming(renamed, naming.ids, _rank_of(number), naming.waits)

    def unchanged(self, group: Any) -> Naming:
        """Return the names of a group that is in canonical form, as they are."""
        if not isinstance(group, Group):
            return super().unchanged(group)
        same = canonical.unchanged(group)
        return Naming(group, same.ids, _rank_of(group.generation_id), same.waits)

    def known_as(self, client: Any, naming: Naming) -> Any:
        """Rename a client's ids and epoch to those of its group; mark an id it doesn't know.

        A leader gives no share to an id that is gone.
        """
        known: Any = super().known_as(client, naming)
        if client.roster:
            here = (naming.ids.get(member_id) for member_id in client.roster)
            known = known._replace(roster=tuple(filter(None, here)))
        if client.waits:
            known = known._replace(waits=canonical.waits_as(client.waits, naming.ids))
        return known

    # Real runs.

    def real_group(self, group: Any, ids: Mapping[str, str], numbers: Any, now_ms: int) -> Any:
        """Return a group of a world in real ids, epochs and times."""
        if not isinstance(group, Group):
            return super().real_group(group, ids, numbers, now_ms)
        real = group.renamed(ids).shifted(now_ms)
        return replace(real, generation_id=real_epoch(real.generation_id, numbers))

    def real_answer(
        self, message: Message, ids: Mapping[str, str], numbers: Any, makers: Mapping[str, str]
    ) -> Message:
        """Return an answer in real ids and epochs; `makers`: real id → its client."""
        if not isinstance(message, JoinGroupResponse):
            return super().real_answer(message, ids, numbers, makers)
        members = tuple(
            replace(m, member_id=ids.get(m.member_id, m.member_id)) for m in message.members
        )
        return replace(
            message,
            generation_id=real_epoch(message.generation_id, numbers),
            member_id=ids.get(message.member_id, message.member_id),
            leader=ids.get(message.leader, message.leader),
            members=members,
        )


MIXED_WORLDS = MixedWorlds()


def _rank_of(generation: int) -> tuple[tuple[int, int], ...]:
    """Return the rank of a generation, as `Naming.shift`; 0 is none."""
    return ((generation, _CURRENT),) if generation > 0 else ()
