"""What an assignor promises, each promise as a function from an assignor and a group to its faults.

A fault is a sentence.  No faults: the promise is kept, or nothing is promised about such a group.
`ASSIGNOR_PROMISES` has them by name; `broken_promises` asks all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fencepost.model.assignors.assignor_input import NO_RACKS, Assignment, racks_matter
from fencepost.model.assignors.assignors import Assignor
from fencepost.model.assignors.ownership_claims import claims_of
from fencepost.properties.assignors.assignor_groups import AssignorInput
from fencepost.properties.assignors.optimum import best_assignment, quality_of

AssignorPromise = Callable[[Assignor, AssignorInput], Iterator[str]]
HANDOVER = 2
"""Rounds in which a cooperative assignor comes to its end, where all members want the same."""
LONGEST = 8
"""Rounds in which it does in any case; with racks, or different wishes, 5 have been seen."""


def settled(assignor: Assignor, group: AssignorInput) -> Assignment:
    """What is assigned in the end: at once, or, if cooperative, when nothing moves any more."""
    return rounds(assignor, group)[-1][1]


def rounds(assignor: Assignor, group: AssignorInput) -> list[tuple[AssignorInput, Assignment]]:
    """Each round in which something moves: who owned what before it, and what was assigned.

    One that isn't cooperative does everything in the first round; there are at most LONGEST.
    """
    generation = max(m.subscription.generation_id for m in group.members)
    found = [(group, group.assigned(assignor))]
    while assignor.is_cooperative and len(found) < LONGEST:
        generation += 1
        group = group.owning(found[-1][1], generation)
        again = group.assigned(assignor)
        if again == found[-1][1]:
            break
        found.append((group, again))
    return found


def every_partition_once(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Every partition is given to one member, which wants it; never, in between, to two."""
    wanted = {m.member_id: set(m.subscription.topics) for m in group.members}
    found: Assignment = {}
    for _, found in rounds(assignor, group):
        if found.keys() != wanted.keys():
            yield f"members {sorted(found)} instead of {sorted(wanted)}"
            return
        count = Counter(p for partitions in found.values() for p in partitions)
        yield from (f"{p.topic}-{p.partition} twice" for p, n in count.items() if n > 1)
        for member_id, partitions in found.items():
            strange = sorted(p for p in partitions if p.topic not in wanted[member_id])
            yield from (f"{member_id} doesn't want {p.topic}-{p.partition}" for p in strange)
    given = {p for partitions in found.values() for p in partitions}
    if missing := set(group.partitions()) - given:
        yield f"{len(missing)} partitions to nobody, {min(missing)} first"
    if more := given - set(group.partitions()):
        yield f"{len(more)} partitions that don't exist, {min(more)} first"


def balance(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """No partition could go to a member with two fewer: of its topic, for range; or in all.

    Round robin promises it where all members want the same.
    """
    if assignor.name == "roundrobin" and not wants_are_alike(group):
        return
    found = settled(assignor, group)
    for topic in sorted({p.topic for p in group.partitions()}):
        load = {
            m.member_id: sum(
                assignor.name != "range" or p.topic == topic for p in found[m.member_id]
            )
            for m in group.members
            if topic in m.subscription.topics
        }
        givers = [m for m in load if any(p.topic == topic for p in found[m])]
        most = max(givers, key=lambda m: load[m], default=None)
        least = min(load, key=lambda m: load[m])
        if most is not None and load[most] > load[least] + 1:
            yield f"{most} has {load[most]}, and {least}, which wants {topic}, has {load[least]}"


def stickiness(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """No more moves than must be; promised where all want the same and racks don't matter."""
    if not assignor.is_sticky or not wants_are_alike(group) or _by_racks(assignor, group):
        return
    moves = quality_of(group, settled(assignor, group)).moves
    must = quality_of(group, best_assignment(group, by_racks=False)).moves
    if moves > must:
        yield f"{moves} partitions move, where {must} must"


def restart(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Static members that come back under other member ids, in another order, change nothing."""
    new = {
        m.member_id: f"{len(group.members) - index:04}{m.member_id}"
        for index, m in enumerate(group.members)
        if m.group_instance_id is not None
    }
    again = replace(
        group,
        members=tuple(
            replace(m, member_id=new.get(m.member_id, m.member_id)) for m in group.members[::-1]
        ),
    )
    before, after = group.assigned(assignor), again.assigned(assignor)
    for member_id, partitions in before.items():
        now = after.get(new.get(member_id, member_id))
        if now is None or set(now) != set(partitions):
            yield f"{member_id} had {len(partitions)} partitions, and others after a restart"


def calm(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """Where nothing changed, a rebalance moves nothing; not promised where racks matter."""
    if assignor.is_sticky and _by_racks(assignor, group):
        return
    found = settled(assignor, group)
    generation = max(m.subscription.generation_id for m in group.members) + LONGEST
    again = settled(assignor, group.owning(found, generation))
    for member_id, partitions in found.items():
        if set(again[member_id]) != set(partitions):
            yield f"{member_id} got {len(partitions)} partitions, and others the next time"


def handover(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """A cooperative member gets nothing that another still has, and there is an end.

    That is after two rounds, where all want the same and racks don't matter.  Promised where no two
    members claim the same.
    """
    claims = claims_of(group.members, group.counts)
    if not assignor.is_cooperative or any(len(of) > 1 for of in claims.claimants.values()):
        return
    passed = rounds(assignor, group)
    for number, (before, found) in enumerate(passed, 1):
        holders = {p: m.member_id for m in before.members for p in m.subscription.owned}
        for member_id, partitions in found.items():
            for p in partitions:
                if holders.get(p, member_id) != member_id:
                    yield (
                        f"{p.topic}-{p.partition} goes to {member_id} in round {number}, "
                        f"while {holders[p]} has it"
                    )
    is_plain = wants_are_alike(group) and not _by_racks(assignor, group)
    if len(passed) > (HANDOVER if is_plain else LONGEST - 1):
        yield f"something moves in round {len(passed)}"


def racks_cost_no_balance(assignor: Assignor, group: AssignorInput) -> Iterator[str]:
    """With racks the loads are as even as without; promised where all want the same."""
    if not wants_are_alike(group):
        return
    with_racks, without = (_loads(assignor, one) for one in (group, replace(group, racks=NO_RACKS)))
    if with_racks != without:
        yield f"loads {with_racks} with racks, {without} without"


def _loads(assignor: Assignor, group: AssignorInput) -> list[list[int]]:
    """The members' loads, sorted; of each topic, for range."""
    found = settled(assignor, group).values()
    if assignor.name != "range":
        return [sorted(map(len, found))]
    return [
        sorted(sum(p.topic == topic for p in partitions) for partitions in found)
        for topic in sorted(group.counts)
    ]


ASSIGNOR_PROMISES: Mapping[str, AssignorPromise] = {
    "every-partition-once": every_partition_once,
    "balance": balance,
    "stickiness": stickiness,
    "restart": restart,
    "calm": calm,
    "handover": handover,
    "racks-cost-no-balance": racks_cost_no_balance,
}
"""The promises by name."""


def broken_promises(assignor: Assignor, group: AssignorInput) -> list[str]:
    """Each fault of an assignor on a group, with the name of the promise."""
    return [
        f"{name}: {fault}"
        for name, promise in ASSIGNOR_PROMISES.items()
        for fault in promise(assignor, group)
    ]


def wants_are_alike(group: AssignorInput) -> bool:
    """Whether all members want the same topics."""
    return len({frozenset(m.subscription.topics) for m in group.members}) == 1


def _by_racks(assignor: Assignor, group: AssignorInput) -> bool:
    return assignor.knows_racks and racks_matter(group.members, group.partitions(), group.racks)
