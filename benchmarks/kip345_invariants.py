"""Define the four invariants of kip345-small, one for each seeded fault.

The first three speak of the server alone, the fourth of the server and the generations of two
clients.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.kip345_small import DYNAMIC, NONE, Action, Client, Server, State
from fencepost.properties.explorer.exploration import Check


def one_member_per_instance(server: Server) -> str | None:
    """Check I1."""
    taken = [m.instance for m in server.members if m.instance != DYNAMIC]
    if len(set(taken)) == len(taken):
        return None
    return f"two members have one instance: {server.members}"


def mapped_ids_are_members(server: Server) -> str | None:
    """Check I2."""
    instances = {m.id: m.instance for m in server.members}
    for instance, member_id in enumerate(server.static):
        if member_id != NONE and instances.get(member_id) != instance:
            return f"instance {instance} is mapped to {member_id}, which is no member of that name"
    return None


def leader_is_a_member(server: Server) -> str | None:
    """Check I3."""
    ids = {m.id for m in server.members}
    if server.leader in (ids or {NONE}):
        return None
    return f"the leader is {server.leader}, the members are {sorted(ids)}"


def synced_generation(server: Server, client: Client) -> int | None:
    """Return the generation of a client, if its member is synced, for I4."""
    if any(m.id == client.id and m.synced for m in server.members):
        return client.generation
    return None


def synced_in_one_generation(state: State) -> str | None:
    """Check I4."""
    generations = {synced_generation(state.server, client) for client in state.clients} - {None}
    if len(generations) <= 1:
        return None
    return f"clients of synced members were told different generations: {generations}"


SERVER_INVARIANTS: dict[str, Callable[[Server], str | None]] = {
    "I1": one_member_per_instance,
    "I2": mapped_ids_are_members,
    "I3": leader_is_a_member,
}


def invariants() -> list[Check[State, Action]]:
    """Return the four invariants, for `SmallSystem`."""
    checks: list[Check[State, Action]] = [
        Check(name, state=_of_server(holds)) for name, holds in SERVER_INVARIANTS.items()
    ]
    return [*checks, Check("I4", state=synced_in_one_generation)]


def _of_server(holds: Callable[[Server], str | None]) -> Callable[[State], str | None]:
    return lambda state: holds(state.server)
