"""Mutants with static maps that point to a member who is gone.

No rule of the base provides for such a map, so they need more than a changed rule: there is a row
for a mapped instance in an Empty group and for an id that is mapped but of no member, and the
effects that look up a holder accept that they find nobody.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.perform_members import add_static
from fencepost.model.classic.work import Effect, Work
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, Twist
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import all_of
from fencepost.model.table.table import Rule
from fencepost.model.table.vocabulary import INST, MID, STATE, GroupState, Inst, Mid
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    in_turn,
    unless,
)
from fencepost.properties.mutants.mutant import REPLACE, Mutant, added, also, mutant

_GONE = all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.OWN))
_HAUNTED = all_of(
    MID.among(Mid.EMPTY), INST.among(Inst.OTHER), STATE.among(GroupState.EMPTY, GroupState.ABSENT)
)
_ROWS: tuple[Difference, ...] = (
    also("JOIN-UNKNOWN-MEMBER", _GONE),
    also("LEAVE-MEMBER-UNKNOWN", _GONE),
    added(
        "JOIN-STATIC-EMPTY-NEW",
        Rule(
            "JOIN-STATIC-EMPTY-GHOST",
            _HAUNTED,
            (Do.REPLACE_HOLDER, Do.REBALANCE, Do.PARK_JOIN),
            because="the map still has an entry, though the group is Empty",
        ),
    ),
    added(
        "LEAVE-MEMBER-BY-INSTANCE",
        Rule(
            "LEAVE-MEMBER-BY-INSTANCE-GHOST",
            _HAUNTED,
            answer=Error.NONE,
            because="the map still has an entry, though the group is Empty",
        ),
    ),
)


def _is_ghost(work: Work) -> bool:
    holder = work.group.holder(work.instance or "")
    return holder is not None and work.group.member(holder) is None


def _bearing(new_id: Callable[[Work, str], str]) -> Twist:
    """A replacement that finds no member to replace adds one, under the id that this returns."""

    def twist(own: Effect) -> Effect:
        def effect(work: Work) -> list[Work] | None:
            if not _is_ghost(work):
                return own(work)
            request = work.request
            assert request is not None
            ghost = work.group.holder(work.instance or "") or ""
            work.previous_leader = work.group.leader or ghost
            work.request = replace(request, fresh_id=new_id(work, ghost))
            add_static(work)
            work.request = request
            member = work.group.member(work.caller)
            assert member is not None
            if work.group.state is GroupState.STABLE:  # its first join is complete at once
                changed_member(work, work.caller, lambda m: replace(m, new=False))
                work.set_timer(SESSION, work.caller, member.session_timeout_ms)
            return None

        return effect

    return twist


def _fresh(work: Work, _: str) -> str:
    assert work.request is not None
    return work.request.fresh_id


def _evicted(_: Work, ghost: str) -> str:
    return ghost


def _kept(before: Group, work: Work) -> None:
    """Entries that went with their member are put back."""
    for instance, member_id in before.static:
        if work.group.holder(instance) is None:
            work.group = work.group.with_mapping(instance, member_id)


def _kept_at(prefix: str) -> Twist:
    def after(before: Group, work: Work) -> None:
        if work.rule.startswith(prefix):
            _kept(before, work)

    return afterwards(after)


def _old_mapping(own: Effect) -> Effect:
    """The member is replaced, and the map still has the old id."""

    def effect(work: Work) -> list[Work] | None:
        instance = work.instance or ""
        mapped = work.group.holder(instance)
        assert mapped is not None
        live = [m.member_id for m in work.group.members if m.group_instance_id == instance]
        if live:
            work.group = work.group.with_mapping(instance, live[0])
        works = own(work)
        if live:
            work.group = work.group.with_mapping(instance, mapped)
        return works

    return effect


GHOSTS: tuple[Mutant, ...] = (
    mutant(
        "seaweedfs-evicted-entry",
        "the map keeps the entry of a member that timed out, and its next process gets that id",
        "seaweedfs",
        *_ROWS,
        twists={
            Do.REMOVE_MEMBER: _kept_at("SESSION"),
            Do.REMOVE_HOLDER: unless(_is_ghost),
            Do.REPLACE_HOLDER: _bearing(_evicted),
        },
    ),
    mutant(
        "leave-keeps-mapping",
        "the map keeps the entry of a member that left: who names it is fenced, not unknown",
        REPLACE,
        *_ROWS,
        twists={
            Do.REMOVE_MEMBER: _kept_at("LEAVE"),
            Do.REMOVE_HOLDER: in_turn(_kept_at("LEAVE"), unless(_is_ghost)),
            Do.REPLACE_HOLDER: _bearing(_fresh),
        },
    ),
    mutant(
        "replace-keeps-old-mapping",
        "the map does not follow a replacement: the new process is fenced",
        REPLACE,
        *_ROWS,
        twists={
            Do.REMOVE_HOLDER: unless(_is_ghost),
            Do.REPLACE_HOLDER: in_turn(_bearing(_fresh), _old_mapping),
        },
    ),
)
