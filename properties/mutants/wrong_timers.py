"""Broken sessions, and coordinators that lose something in a failover, or when a topic goes."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.work import Work
from fencepost.model.table.effects import Do
from fencepost.properties.departures.mutation_operators import afterwards
from fencepost.properties.mutants.mutant import (
    ADDED,
    EFFECT,
    GUARD,
    TIMER,
    Mutant,
    but,
    mutant,
    without,
)


def _impatient(_: Group, work: Work) -> None:
    """A new member gets its own session timeout, and not five minutes."""
    member = work.group.member(work.caller)
    assert member is not None
    work.set_timer(SESSION, member.member_id, member.session_timeout_ms)


def _no_sessions(_: Group, work: Work) -> None:
    work.group = replace(work.group, timers=())


def _no_map(_: Group, work: Work) -> None:
    work.group = replace(work.group, static=())


def _no_offsets(_: Group, work: Work) -> None:
    if work.group.offsets:  # else a group that is absent would come to exist
        work.group = replace(work.group, offsets=())


def _first_generation(_: Group, work: Work) -> None:
    work.group = replace(work.group, generation_id=0)


def _stored_as_before(before: Group, work: Work) -> None:
    work.group = replace(work.group, stored=before.stored)


TIMERS: tuple[Mutant, ...] = (
    mutant(
        "waiting-member-expires",
        "a member whose join or sync waits for an answer is removed when its session ends",
        ADDED,
        but("SESSION-WAITING", effect=(Do.REMOVE_MEMBER, Do.REBALANCE)),
    ),
    mutant(
        "expiry-without-rebalance",
        "a member whose session ends is removed and nobody is given its partitions",
        EFFECT,
        without("SESSION-EXPIRED", Do.REBALANCE),
    ),
    mutant(
        "new-member-expires-early",
        "a member whose first join still waits is removed after its session timeout",
        TIMER,
        twists={
            do: afterwards(_impatient) for do in (Do.ADD_STATIC, Do.ADD_DYNAMIC, Do.ADMIT_PENDING)
        },
    ),
    mutant(
        "new-member-never-expires",
        "a member whose first join waits is never removed, however long that takes",
        GUARD,
        without("SESSION-EXPIRED-NEW", Do.REMOVE_MEMBER),
    ),
    mutant(
        "assignment-not-stored",
        "a generation is not stored: after a failover the group is as it was before",
        EFFECT,
        without("SYNC-COMPLETING-LEADER", Do.PERSIST),
    ),
    mutant(
        "emptiness-not-stored",
        "a group that everybody left is not stored: after a failover its members are back",
        EFFECT,
        twists={Do.BECOME_EMPTY: afterwards(_stored_as_before)},
    ),
    mutant(
        "failover-forgets-sessions",
        "a new coordinator starts no session timers: who fell silent meanwhile stays for ever",
        TIMER,
        twists={Do.RELOAD: afterwards(_no_sessions)},
    ),
    mutant(
        "failover-forgets-map",
        "a new coordinator doesn't know which member holds which instance",
        EFFECT,
        twists={Do.RELOAD: afterwards(_no_map)},
    ),
    mutant(
        "failover-forgets-offsets",
        "a new coordinator doesn't load the offsets that were stored",
        EFFECT,
        twists={Do.RELOAD: afterwards(_no_offsets)},
    ),
    mutant(
        "failover-forgets-generation",
        "a new coordinator counts generations from 0",
        EFFECT,
        twists={Do.RELOAD: afterwards(_first_generation)},
    ),
    mutant(
        "deletion-keeps-offsets",
        "the offsets of a deleted topic are kept, also for the topic that is made in its place",
        EFFECT,
        without("TOPICS-DELETED", Do.REMOVE_OFFSETS),
    ),
    mutant(
        "deletion-removes-all-offsets",
        "a group loses the offsets of all topics when one of them is deleted",
        EFFECT,
        twists={Do.REMOVE_OFFSETS: afterwards(_no_offsets)},
    ),
)
