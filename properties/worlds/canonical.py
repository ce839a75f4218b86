"""Give a group its canonical form: states that differ only in names are one state.

Member ids are renamed by their place in the group (the holder of an instance, a dynamic member, a
pending id), generations are shifted, deadlines count from now.  This is sound because the table
looks at none of these: it compares ids and generations for equality and order, and time only as a
difference.  Choices that the machine lists in the order of names are listed in another order, never
other choices.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from fencepost.model.classic.group import Group, Member, ParkedRequest
from fencepost.model.work import Timer
from fencepost.properties.worlds.protocol_worlds import NOW, UNKNOWN, Naming
from fencepost.properties.worlds.world_client import Client

LOST = "lost"
"""A request that is neither parked nor answered."""
_OF = " of "
_EARLIER = 0
_CURRENT = 1


def request_name(kind: str, member_id: str) -> str:
    """Return the name of a member's parked request; `kind`: "join" or "sync"."""
    return f"{kind}{_OF}{member_id}"


def known_as(client: Client, naming: Naming) -> Client:
    """Rename a client's ids and generations to those of its group; mark those it doesn't know."""
    ids = naming.ids

    def name(member_id: str) -> str:
        return ids.get(member_id) or (UNKNOWN + member_id if member_id else "")

    generation = client.generation
    if generation >= 0 and naming.shift:
        generation = max(generation + naming.shift, _EARLIER)
    return client._replace(
        member_id=name(client.member_id),
        generation=generation,
        roster=tuple(map(name, client.roster)),
        waits=waits_as(client.waits, ids) if client.waits else "",
    )


def waits_as(waits: str, ids: Mapping[str, str]) -> str:
    """Return the name of a parked request after its member is renamed."""
    kind, _, member_id = waits.partition(_OF)
    return request_name(kind, ids[member_id]) if member_id in ids else LOST


def settled(client: Client, others: dict[str, str]) -> Client:
    """Give names to ids that the group doesn't know, in the order in which they come."""

    def name(member_id: str) -> str:
        if not member_id.startswith(UNKNOWN):
            return member_id
        return others.setdefault(member_id.removeprefix(UNKNOWN), f"other.{len(others) + 1}")

    member_id = name(client.member_id)
    if member_id == client.member_id and not client.roster:
        return client
    return client._replace(member_id=member_id, roster=tuple(map(name, client.roster)))


def order(client: Client) -> tuple[object, ...]:
    """Return a total order of clients."""
    return (
        client.member_id,
        client.generation,
        client.waits,
        client.leads,
        client.roster,
        client.instances,
        client.protocol or "",
        client.assignment is None,
        client.assignment or b"",
        client.offers,
    )


def named(group: Group | None, *, keep_generations: bool) -> Naming:
    """Return the canonical form of a group.

    `keep_generations`: where the end of a group may bring a generation back, they are not shifted,
    and the stored group counts.
    """
    if group is None:
        return Naming(None, {}, 0)
    if not keep_generations:
        group = group if group.stored is None else replace(group, stored=None)  # never read
    ids = _ids(group)
    shift = 0 if keep_generations else _CURRENT - group.generation_id
    return Naming(_renamed(group, ids, shift), ids, shift, _parked_now(group))


def unchanged(group: Group | None) -> Naming:
    """Return the names of a group that is in canonical form, as they are."""
    if group is None:
        return Naming(None, {}, 0)
    ids = [m.member_id for m in group.members] + [*group.pending]
    ids += [member_id for _, member_id in group.static]
    if group.stored is not None:
        ids += [m.member_id for m in group.stored.members]
    return Naming(group, {member_id: member_id for member_id in ids}, 0, LOST)


def _parked_now(group: Group) -> str:
    for member in group.members:
        if member.joining is not None and member.joining.request_id == NOW:
            return request_name("join", member.member_id)
        if member.syncing is not None and member.syncing.request_id == NOW:
            return request_name("sync", member.member_id)
    return LOST


def _ids(group: Group) -> dict[str, str]:
    ids: dict[str, str] = {}
    timers = {t.subject: (t.earliest, t.latest) for t in group.timers}
    counts: dict[str, int] = {}

    def name(member_id: str, prefix: str) -> None:
        if member_id not in ids:
            counts[prefix] = counts.get(prefix, 0) + 1
            number = counts[prefix]
            ids[member_id] = f"{prefix}.{number}"

    def place(member: Member) -> tuple[object, ...]:
        return (
            member.joining is None,
            member.syncing is None,
            member.new,
            member.owes_sync,
            group.leader != member.member_id,
            timers.get(member.member_id, (0, 0)),
            member.assignment,
            member.member_id,
        )

    for member in sorted(group.members, key=place):
        name(member.member_id, member.group_instance_id or "dynamic")
    for member_id in sorted(group.pending, key=lambda p: (timers.get(p, (0, 0)), p)):
        name(member_id, "pending")
    for member_id in sorted(mid for _, mid in group.static):
        name(member_id, "gone")
    if group.stored is not None:
        for member in group.stored.members:
            name(member.member_id, f"stored {member.group_instance_id or 'dynamic'}")
    return ids


def _renamed(group: Group, ids: Mapping[str, str], shift: int) -> Group:
    stored = group.stored
    return Group(
        state=group.state,
        generation_id=group.generation_id + shift,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=None if group.leader is None else ids.get(group.leader, group.leader),
        members=tuple(sorted([_member(m, ids[m.member_id]) for m in group.members], key=_by_id)),
        static=tuple(sorted([(i, ids.get(m, m)) for i, m in group.static])),
        pending=tuple(sorted([ids[p] for p in group.pending])),
        timers=tuple(sorted([Timer(t[0], ids.get(t[1], t[1]), t[2], t[3]) for t in group.timers])),
        delay=group.delay,
        offsets=group.offsets,
        stored=None if stored is None else _renamed(replace(stored, stored=None), ids, shift),
    )


def _member(member: Member, new: str) -> Member:
    joining, syncing = member.joining, member.syncing
    if joining is not None:
        joining = ParkedRequest(request_name("join", new), joining.version)
    if syncing is not None:
        syncing = ParkedRequest(request_name("sync", new), syncing.version)
    if (
        new == member.member_id
        and not member.client_id
        and joining == member.joining
        and syncing == member.syncing
    ):
        return member
    return replace(member, member_id=new, client_id="", joining=joining, syncing=syncing)


def _by_id(member: Member) -> str:
    return member.member_id
