"""Broken syncs: how assignments get from the leader to everybody, and who is waited for."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import Group, Member
from fencepost.model.classic.work import Emission, Work
from fencepost.model.messages.messages import SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.base import RULES
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.table import Rule
from fencepost.model.table.vocabulary import ROLE, STATE, GroupState, Role
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_members,
    retold,
    unanswered,
)
from fencepost.properties.mutants.mutant import (
    EFFECT,
    GUARD,
    TIMER,
    Mutant,
    added,
    but,
    dropped,
    mutant,
    only,
    without,
)


def _left_out_keep(before: Group, work: Work) -> None:
    def kept(member: Member) -> Member:
        old = before.member(member.member_id)
        return (
            member
            if member.assignment or old is None
            else replace(member, assignment=old.assignment)
        )

    changed_members(work, kept)


def _emptied(_: Work, emission: Emission) -> Message | None:
    assert isinstance(emission.message, SyncGroupResponse)
    return replace(emission.message, assignment=b"")


def _only_leader_told(work: Work, emission: Emission) -> Message | None:
    assert work.request is not None
    return emission.message if emission.request_id == work.request.id else None


def _sessions_run_on(before: Group, work: Work) -> None:
    for timer in before.timers:
        work.group = work.group.with_timer(timer.kind, timer.subject, timer.earliest, timer.latest)


_BY_LEADER = ROLE.among(Role.LEADER)
_ASSIGNS = RULES["SYNC-COMPLETING-LEADER"].effect

SYNCS: tuple[Mutant, ...] = (
    mutant(
        "waiting-syncs-forgotten",
        "syncs that wait when a rebalance begins are never answered",
        EFFECT,
        twists={Do.REBALANCE: retold(unanswered)},
    ),
    mutant(
        "follower-assigns",
        "what a follower's sync brings is taken for the assignment",
        GUARD,
        but("SYNC-COMPLETING-FOLLOWER", effect=_ASSIGNS),
    ),
    mutant(
        "left-out-keep-assignment",
        "a member that the leader assigns nothing keeps what it had: two may own a partition",
        EFFECT,
        twists={Do.ASSIGN: afterwards(_left_out_keep)},
    ),
    mutant(
        "late-sync-empty",
        "a sync in Stable is answered with an empty assignment",
        EFFECT,
        twists={Do.ANSWER_ASSIGNMENT: retold(_emptied)},
    ),
    mutant(
        "late-sync-assigns",
        "what a leader's sync brings in Stable replaces what the members were given",
        GUARD,
        only("SYNC-STABLE", negate(_BY_LEADER)),
        added(
            "SYNC-STABLE",
            Rule(
                "SYNC-STABLE-LEADER",
                all_of(STATE.among(GroupState.STABLE), _BY_LEADER),
                _ASSIGNS,
            ),
        ),
    ),
    mutant(
        "waiting-followers-forgotten",
        "when the leader's sync comes, the followers that wait for it are not answered",
        EFFECT,
        twists={Do.ANSWER_SYNCS: retold(_only_leader_told)},
    ),
    mutant(
        "sync-keeps-no-session",
        "the session timers don't restart when the assignment is handed out",
        TIMER,
        twists={Do.ANSWER_SYNCS: afterwards(_sessions_run_on)},
    ),
    mutant(
        "syncs-not-noted",
        "a follower that sent its sync in time is removed with those that did not",
        EFFECT,
        without("SYNC-COMPLETING-FOLLOWER", Do.NOTE_SYNC),
    ),
    mutant(
        "record-size-unchecked",
        "an assignment that is too large to be stored is handed out as if it were stored",
        GUARD,
        dropped("SYNC-COMPLETING-LEADER-TOO-LARGE"),
    ),
)
