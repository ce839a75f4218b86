"""Broken rebalances: the join phase, election and vote, generations."""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import JOIN, Group, InitialDelay
from fencepost.model.classic.perform_rebalance import join_members
from fencepost.model.classic.work import Effect, Emission, Work
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.revisions.base import RULES
from fencepost.model.table.effects import Do
from fencepost.model.table.expr import all_of, any_of, negate
from fencepost.model.table.vocabulary import (
    DELAY,
    LEFT,
    PARKED,
    TRIGGER,
    GroupState,
    Left,
    Parked,
    Trigger,
)
from fencepost.model.table.vocabulary import Delay as Waiting
from fencepost.properties.departures.departures_of_kfake import COMPLETE, PENDING_ASIDE
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    beforehand,
    changed_members,
    in_turn,
    one_only,
    retold,
    vacant,
)
from fencepost.properties.mutants.mutant import (
    ADDED,
    EFFECT,
    ELECTION,
    GUARD,
    TIMER,
    Mutant,
    but,
    mutant,
    only,
    without,
)

# The join phase.


def _undelayed(before: Group, work: Work) -> None:
    if before.state is GroupState.EMPTY:
        work.group = replace(work.group, delay=None)
        work.set_timer(JOIN, "", work.group.rebalance_timeout_ms())


def _without_end(before: Group, work: Work) -> None:
    assert before.delay is not None
    delay = InitialDelay(before.delay.remaining_ms, somebody_came=False)
    work.group = replace(work.group, delay=delay)


def _no_join_timer(before: Group, work: Work) -> None:
    if before.state not in {GroupState.EMPTY, GroupState.PREPARING}:
        work.group = work.group.without_timer(JOIN)


def _waits_anew(before: Group, work: Work) -> None:
    if before.state is GroupState.PREPARING and before.delay is None:
        work.set_timer(JOIN, "", work.group.rebalance_timeout_ms())


def _least_patient(before: Group, work: Work) -> None:
    if before.state not in {GroupState.EMPTY, GroupState.PREPARING}:
        least = min((m.rebalance_timeout_ms for m in work.group.members), default=0)
        work.set_timer(JOIN, "", least)


def _remove_all_absent(own: Effect) -> Effect:
    """Absent members go, static ones too, where somebody has joined."""

    def effect(work: Work) -> list[Work] | None:
        members = work.group.members
        absent = {m.member_id for m in members if m.joining is None}
        changed_members(
            work, lambda m: replace(m, group_instance_id=None) if m.member_id in absent else m
        )
        return own(work)

    return effect


# Election and generation.


def _same_generation(work: Work) -> None:
    work.group = replace(work.group, generation_id=work.group.generation_id - 1)


def _last_leads(work: Work) -> None:
    joined = [m.member_id for m in work.group.members if m.joining is not None]
    if joined:
        work.group = replace(work.group, leader=joined[-1])


def _absent_leads(own: Effect) -> Effect:
    """A leader that is a member leads, also where it has not joined."""

    def effect(work: Work) -> list[Work] | None:
        leader = work.group.leader
        member = work.group.member(leader or "")
        if member is None or member.joining is not None:
            return own(work)

        def told(_: Work, emission: Emission) -> Message | None:
            assert isinstance(emission.message, JoinGroupResponse)
            return replace(emission.message, leader=leader or "", members=())

        def after(_: Group, done: Work) -> None:
            done.group = replace(done.group, leader=leader)

        return in_turn(one_only, retold(told), afterwards(after))(own)(work)

    return effect


def _members_to(*, leader: bool, followers: bool) -> Twist:
    def told(work: Work, emission: Emission) -> Message | None:
        answer = emission.message
        assert isinstance(answer, JoinGroupResponse)
        shown = leader if answer.leader == answer.member_id else followers
        return replace(answer, members=join_members(work.group) if shown else ())

    return retold(told)


def _by_name(own: Effect) -> Effect:
    """The protocol is the first by name that all support, whatever they prefer."""

    def effect(work: Work) -> list[Work]:
        preferred = {m.member_id: m.protocols for m in work.group.members}
        changed_members(work, lambda m: replace(m, protocols=tuple(sorted(m.protocols, key=_name))))
        works = own(work) or [work]
        for done in works:
            changed_members(done, lambda m: replace(m, protocols=preferred[m.member_id]))
        return works

    def _name(protocol: object) -> str:
        name = getattr(protocol, "name", "")
        assert isinstance(name, str)
        return name

    return effect


_EXTENDABLE = DELAY.among(Waiting.EXTENDABLE)
_SOMEBODY_JOINED = all_of(LEFT.among(Left.SOMEBODY), PARKED.among(Parked.SOME, Parked.ALL))

REBALANCES: tuple[Mutant, ...] = (
    mutant(
        "pending-does-not-block",
        "a join phase ends although an id that was handed out has not joined yet",
        GUARD,
        but("JOIN-PHASE-WAIT", effect=COMPLETE),
        twists=PENDING_ASIDE,
    ),
    mutant(
        "absent-static-removed",
        "at the end of a join phase absent static members go as dynamic ones do",
        GUARD,
        but(
            "JOIN-PHASE-POSTPONED",
            effect=(Do.REMOVE_ABSENT_DYNAMIC, Do.BECOME_EMPTY),
        ),
        twists={Do.REMOVE_ABSENT_DYNAMIC: _remove_all_absent},
    ),
    mutant(
        "absent-dynamic-stays",
        "at the end of a join phase absent dynamic members stay",
        EFFECT,
        without("JOIN-PHASE-EXPIRED", Do.REMOVE_ABSENT_DYNAMIC),
    ),
    mutant(
        "nobody-joined-generation",
        "where only absent static members are left, a generation begins that nobody has joined",
        GUARD,
        but("JOIN-PHASE-POSTPONED", effect=(Do.REMOVE_ABSENT_DYNAMIC, *COMPLETE)),
    ),
    mutant(
        "no-initial-delay",
        "the first rebalance of a group doesn't wait for others to come",
        TIMER,
        twists={Do.REBALANCE: afterwards(_undelayed)},
    ),
    mutant(
        "initial-delay-not-extended",
        "the initial delay runs once, whoever comes meanwhile",
        GUARD,
        only("JOIN-PHASE-DELAY-EXTENDED", negate(_SOMEBODY_JOINED)),
        but(
            "JOIN-PHASE-DELAY-OVER",
            guard=any_of(
                RULES["JOIN-PHASE-DELAY-OVER"].guard,
                all_of(TRIGGER.among(Trigger.EXPIRY), _EXTENDABLE, _SOMEBODY_JOINED),
            ),
        ),
    ),
    mutant(
        "initial-delay-without-end",
        "the initial delay is extended beyond the rebalance timeout while new members come",
        TIMER,
        twists={Do.EXTEND_DELAY: afterwards(_without_end)},
    ),
    mutant(
        "join-timer-lost",
        "a rebalance waits for an absent member for ever",
        TIMER,
        twists={Do.REBALANCE: afterwards(_no_join_timer)},
    ),
    mutant(
        "join-timer-restarts",
        "each join during a rebalance lets the rebalance timeout run anew",
        TIMER,
        twists={Do.REBALANCE: afterwards(_waits_anew)},
    ),
    mutant(
        "least-rebalance-timeout",
        "a rebalance waits as long as its least patient member, not its most patient",
        TIMER,
        twists={Do.REBALANCE: afterwards(_least_patient)},
    ),
    mutant(
        "generation-not-counted",
        "a rebalance ends in the generation that it began in",
        ELECTION,
        twists={Do.COMPLETE_JOIN: beforehand(_same_generation)},
    ),
    mutant(
        "leader-not-kept",
        "at each rebalance some other member is made the leader",
        ELECTION,
        twists={Do.COMPLETE_JOIN: beforehand(_last_leads)},
    ),
    mutant(
        "absent-leader-leads",
        "a static leader that did not join still leads: nobody assigns",
        ELECTION,
        twists={Do.COMPLETE_JOIN: _absent_leads},
    ),
    mutant(
        "newcomer-leads",
        "when the leader leaves nobody is elected, and the next one to come leads",
        ELECTION,
        twists={
            Do.REMOVE_MEMBER: in_turn(one_only, afterwards(vacant)),
            Do.REMOVE_HOLDER: in_turn(one_only, afterwards(vacant)),
        },
    ),
    mutant(
        "leader-without-members",
        "the leader is not told who the members are",
        EFFECT,
        twists={Do.COMPLETE_JOIN: _members_to(leader=False, followers=False)},
    ),
    mutant(
        "members-told-to-all",
        "followers, too, are given the members and their metadata",
        ADDED,
        twists={Do.COMPLETE_JOIN: _members_to(leader=True, followers=True)},
    ),
    mutant(
        "vote-by-name",
        "of the protocols that all support the first by name is selected, not the preferred one",
        ELECTION,
        twists={Do.COMPLETE_JOIN: _by_name},
    ),
)
