"""Define mutants with broken rebalances, syncs, sessions and failovers.

Rebalances: the join phase, election and vote, generations.  Syncs: the way of assignments from the
leader to all, and the members to wait for.  Sessions and failovers: data that a failover, or the
deletion of a topic, loses.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.classic_work import ClassicWork, Effect
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import JOIN, SESSION, SYNC, Group, InitialDelay, Member
from fencepost.model.classic.perform import join_members
from fencepost.model.classic.vocabulary import (
    DELAY,
    LEFT,
    PARKED,
    ROLE,
    STATE,
    TRIGGER,
    GroupState,
    Left,
    Parked,
    Role,
    Trigger,
)
from fencepost.model.classic.vocabulary import Delay as Waiting
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.revisions.base import RULES
from fencepost.model.table.expr import all_of, any_of, negate
from fencepost.model.table.table import Rule
from fencepost.model.work import Emission
from fencepost.properties.departures.known_departures import COMPLETE, PENDING_ASIDE
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    beforehand,
    changed_members,
    in_turn,
    one_only,
    retold,
    unanswered,
    vacant,
)
from fencepost.properties.mutants.mutant import (
    ADDED,
    EFFECT,
    ELECTION,
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

# The join phase.


def _undelayed(before: Group, work: ClassicWork) -> None:
    if before.state is GroupState.EMPTY:
        work.group = replace(work.group, delay=None)
        work.set_timer(JOIN, "", work.group.rebalance_timeout_ms())


def _without_end(before: Group, work: ClassicWork) -> None:
    assert before.delay is not None
    delay = InitialDelay(before.delay.remaining_ms, somebody_came=False)
    work.group = replace(work.group, delay=delay)


def _no_join_timer(before: Group, work: ClassicWork) -> None:
    if before.state not in {GroupState.EMPTY, GroupState.PREPARING}:
        work.group = work.group.without_timer(JOIN)


def _waits_anew(before: Group, work: ClassicWork) -> None:
    if before.state is GroupState.PREPARING and before.delay is None:
        work.set_timer(JOIN, "", work.group.rebalance_timeout_ms())


def _least_patient(before: Group, work: ClassicWork) -> None:
    if before.state not in {GroupState.EMPTY, GroupState.PREPARING}:
        least = min((m.rebalance_timeout_ms for m in work.group.members), default=0)
        work.set_timer(JOIN, "", least)


def _remove_all_absent(own: Effect) -> Effect:
    """Remove absent members, static ones too, where somebody has joined."""

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        members = work.group.members
        absent = {m.member_id for m in members if m.joining is None}
        changed_members(
            work, lambda m: replace(m, group_instance_id=None) if m.member_id in absent else m
        )
        return own(work)

    return effect


# Election and generation.


def _same_generation(work: ClassicWork) -> None:
    work.group = replace(work.group, generation_id=work.group.generation_id - 1)


def _last_leads(work: ClassicWork) -> None:
    joined = [m.member_id for m in work.group.members if m.joining is not None]
    if joined:
        work.group = replace(work.group, leader=joined[-1])


def _absent_leads(own: Effect) -> Effect:
    """Let a leader that is a member lead, also where it has not joined."""

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
        leader = work.group.leader
        member = work.group.member(leader or "")
        if member is None or member.joining is not None:
            return own(work)

        def change(_: ClassicWork, emission: Emission) -> Message | None:
            assert isinstance(emission.message, JoinGroupResponse)
            return replace(emission.message, leader=leader or "", members=())

        def after(_: Group, done: ClassicWork) -> None:
            done.group = replace(done.group, leader=leader)

        return in_turn(one_only, retold(change), afterwards(after))(own)(work)

    return effect


def _members_to(*, leader: bool, followers: bool) -> Twist:
    def change(work: ClassicWork, emission: Emission) -> Message | None:
        answer = emission.message
        assert isinstance(answer, JoinGroupResponse)
        has_members = leader if answer.leader == answer.member_id else followers
        return replace(answer, members=join_members(work.group) if has_members else ())

    return retold(change)


def _by_name(own: Effect) -> Effect:
    """Select the protocol that is the first by name that all support, whatever they prefer."""

    def effect(work: ClassicWork) -> list[ClassicWork]:
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
        "the initial delay runs once, also if members join meanwhile",
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
        "the leader doesn't get the members",
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


def _left_out_keep(before: Group, work: ClassicWork) -> None:
    def kept(member: Member) -> Member:
        old = before.member(member.member_id)
        return (
            member
            if member.assignment or old is None
            else replace(member, assignment=old.assignment)
        )

    changed_members(work, kept)


def _emptied(_: ClassicWork, emission: Emission) -> Message | None:
    assert isinstance(emission.message, SyncGroupResponse)
    return replace(emission.message, assignment=b"")


def _only_leader_answered(work: ClassicWork, emission: Emission) -> Message | None:
    assert work.request is not None
    return emission.message if emission.request_id == work.request.id else None


def _sessions_run_on(before: Group, work: ClassicWork) -> None:
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
        "the assignments in a follower's sync are taken",
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
        "the assignments in a leader's sync in Stable replace those of the members",
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
        twists={Do.ANSWER_SYNCS: retold(_only_leader_answered)},
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


def _impatient(_: Group, work: ClassicWork) -> None:
    """Give a new member its own session timeout, and not five minutes."""
    member = work.group.member(work.caller)
    assert member is not None
    work.set_timer(SESSION, member.member_id, member.session_timeout_ms)


def _silent(_: Group, work: ClassicWork) -> None:
    work.emissions.clear()


def _old_phases(before: Group, work: ClassicWork) -> None:
    kept = (timer for timer in before.timers if timer.kind in {JOIN, SYNC})
    work.group = work.group.with_timers(kept)


def _old_sessions(before: Group, work: ClassicWork) -> None:
    known = {timer.subject for timer in work.group.timers}
    kept = (t for t in before.timers if t.kind == SESSION and t.subject in known)
    work.group = work.group.with_timers(kept)


def _old_pending(before: Group, work: ClassicWork) -> None:
    kept = (t for t in before.timers if t.kind == SESSION and t.subject in before.pending)
    work.group = replace(work.group.with_timers(kept), pending=before.pending)


def _no_sessions(_: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, timers=())


def _no_map(_: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, static=())


def _no_offsets(_: Group, work: ClassicWork) -> None:
    if work.group.offsets:  # else a group that is absent would come to exist
        work.group = replace(work.group, offsets=())


def _first_generation(_: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, generation_id=0)


def _stored_as_before(before: Group, work: ClassicWork) -> None:
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
        "unload-answers-nobody",
        "a coordinator that unloads a group leaves the joins and syncs that wait unanswered",
        EFFECT,
        twists={do: afterwards(_silent) for do in (Do.RELOAD, Do.FORGET)},
    ),
    mutant(
        "unload-keeps-phases",
        "the timers of a rebalance outlive the unload, and strike when the group is loaded again",
        TIMER,
        twists={Do.RELOAD: afterwards(_old_phases)},
    ),
    mutant(
        "unload-keeps-sessions",
        "sessions outlive the unload: a loaded member has no whole session timeout",
        TIMER,
        twists={Do.RELOAD: afterwards(_old_sessions)},
    ),
    mutant(
        "unload-keeps-pending",
        "ids that were handed out outlive the unload, and are known when the group is loaded again",
        EFFECT,
        twists={Do.RELOAD: afterwards(_old_pending)},
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
