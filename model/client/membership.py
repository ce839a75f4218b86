"""Join, sync and send heartbeats, and react to each error answer.

The user's callbacks happen while it polls: partitions are given back before a join and handed out
after a sync only then; heartbeats go on meanwhile, until the poll interval is exceeded.

Source: KIP-345; KIP-62 (heartbeats beside processing, max.poll.interval.ms), KIP-394
(MEMBER_ID_REQUIRED), KIP-429 (cooperative rebalancing), KIP-814 (skipAssignment), KIP-881 (racks);
Kafka's AbstractCoordinator, where these leave a choice.
"""

from __future__ import annotations

from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.assignors.sticky import Memory, encode_memory
from fencepost.model.client import committing, links, lookup
from fencepost.model.client.behaviour import (
    MEMBER_APIS,
    REJOINING,
    ClientSettings,
    Occasion,
    Reaction,
)
from fencepost.model.client.client_interface import Assigned, Revoked
from fencepost.model.client.client_state import (
    Backoff,
    ClientWork,
    Flight,
    Link,
    Membership,
    Phase,
    Position,
    Reading,
    Stage,
)
from fencepost.model.client.committing import sent_instance
from fencepost.model.client.lookup import assignments, group_topics, topic_layouts
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.model.messages.subscription import (
    PROTOCOL_TYPE,
    Subscription,
    decode_assignment,
    encode_subscription,
    is_later,
    named_version,
    version_of,
)

_JOIN, _SYNC, _HEARTBEAT = "JoinGroup", "SyncGroup", "Heartbeat"
_LATE_MS = 1000
"""Ms after a SyncGroup from which on an assignment is late for a client that wants it at once."""


def is_cooperative(settings: ClientSettings) -> bool:
    """Return True if members keep their partitions while they join again, by each assignor."""
    return all(ASSIGNORS[name].is_cooperative for name in settings.assignors)


def pursue(work: ClientWork) -> None:
    """Do what is due: leave at the poll interval, join, sync, hand out, beat."""
    if work.state.stage is not Stage.RUNNING:
        return
    exceeded = work.state.poll_by_ms
    if exceeded is not None and work.now_ms >= exceeded and work.conduct.ends_at_poll_interval:
        work.change(poll_by_ms=None)
        step_out(work, Occasion.POLL_INTERVAL)
        if not work.conduct.returns_after_poll_interval:
            work.change(topics=())
    if work.state.is_polling and work.state.membership.generation_id < 0:
        work.tell_lost()
    if work.state.membership.phase is Phase.STABLE:
        _note_changed_topics(work)
        _hand_out(work)
    if _wants_join(work):
        _join(work)
    if work.state.membership.phase is Phase.SYNCING:
        _sync(work)
    if work.state.membership.phase is Phase.STABLE:
        _beat(work)


def step_out(work: ClientWork, occasion: Occasion) -> None:
    """Be no member from now on; the occasion decides about LeaveGroup.

    A static member that closes leaves where it owes a join: its return would be no rebalance, and
    what it gave back would have no reader.
    """
    member = work.state.membership
    conduct = work.conduct
    leaves = conduct.leaves_when_static if work.is_static else conduct.leaves_when_dynamic
    if member.owes_join and conduct.leaves_when_owing:
        leaves |= {Occasion.CLOSE}
    if member.phase in {Phase.JOINING, Phase.SYNCING} and work.state.cluster.coordinator:
        links.hang_up(work, work.state.cluster.coordinator)
    if member.member_id and occasion in leaves:
        work.change(leaving=member.member_id)
    work.end_commit(Error.UNKNOWN_MEMBER_ID.name)
    work.change(membership=Membership(backoff=member.backoff))


# Joining.


def _wants_join(work: ClientWork) -> bool:
    state, member = work.state, work.state.membership
    is_out = member.phase is Phase.OUT
    return (
        (is_out or (member.phase is Phase.STABLE and member.needs_join))
        and bool(state.topics)
        and state.is_polling
        and state.leaving is None
        and lookup.knows_topics(state)
        and work.now_ms >= member.backoff.not_before_ms
    )


def _join(work: ClientWork) -> None:
    """Join, once positions are committed and partitions given back."""
    coordinator = work.state.cluster.coordinator
    if coordinator is None:
        return
    if not work.state.membership.prepared:
        work.change_member(prepared=True)
        if work.settings.auto_commit_ms is not None or work.settings.commits_on_revoke:
            committing.start(work, work.now_ms + work.settings.max_poll_interval_ms // 2)
    committing_now = work.state.committing
    waits = committing_now is not None and not committing_now.member_id
    if waits and not work.conduct.commits_again:
        return
    if (link := links.idle(work, coordinator)) is None:
        return
    for api in MEMBER_APIS:
        if links.lacks_instances(work, link, api):
            work.fail(Error.UNSUPPORTED_VERSION.value, api)
            return
    _give_back(work)
    settings = work.settings
    timeout = settings.max_poll_interval_ms + settings.join_slack_ms
    if links.ask(work, link, _JOIN, lambda version: _join_request(work, version), timeout):
        work.change_member(phase=Phase.JOINING, needs_join=False, prepared=False)


def _give_back(work: ClientWork) -> None:
    """Give back all partitions; if cooperative, only those of dropped topics."""
    positions = work.state.reading.positions
    kept: tuple[Position, ...] = ()
    if is_cooperative(work.settings):
        kept = tuple(p for p in positions if p.partition.topic in work.state.topics)
    if gone := tuple(p.partition for p in positions if p not in kept):
        work.tell(Revoked(gone))
        work.change_reading(positions=kept)
        if work.conduct.reads_given_back:
            stale = tuple(p for p in positions if p.partition in gone and p.offset is not None)
            work.change_reading(given_back=stale)


def _join_request(work: ClientWork, version: int) -> JoinGroupRequest:
    settings = work.settings
    session = work.conduct.session_timeout_ms or settings.session_timeout_ms
    rebalance = work.conduct.rebalance_timeout_ms or settings.max_poll_interval_ms
    return JoinGroupRequest(
        group_id=settings.group_id,
        session_timeout_ms=session,
        rebalance_timeout_ms=rebalance if version >= 1 else -1,
        member_id=_own_id(work),
        group_instance_id=sent_instance(work, _JOIN, version),
        protocol_type=PROTOCOL_TYPE,
        protocols=tuple(
            JoinProtocol(name=name, metadata=_subscription(work, name))
            for name in settings.assignors
        ),
    )


def _own_id(work: ClientWork) -> str:
    """Return the member id from an answer; a client that was just started has none."""
    member = work.state.membership
    is_new = not (member.member_id or member.was_stable or member.was_removed)
    return work.conduct.first_member_id if is_new else member.member_id


def _subscription(work: ClientWork, assignor: str) -> bytes:
    state, chosen = work.state, ASSIGNORS[assignor]
    subscription = Subscription(
        topics=state.topics,
        owned=state.reading.owned if chosen.is_cooperative else (),
        generation_id=state.membership.assigned_in if chosen.is_sticky else -1,
        rack_id=work.settings.rack_id,
        user_data=encode_memory(state.memory) if chosen.needs_memory else None,
    )
    if work.conduct.omits_owned:
        return named_version(1, encode_subscription(subscription, 0))
    version = work.conduct.writes_version
    return encode_subscription(subscription, *(() if version is None else (version,)))


def _as_read(work: ClientWork, members: tuple[JoinMember, ...]) -> tuple[JoinMember, ...]:
    """Return the members that a leader reads: all, or only those of versions that it knows."""
    if work.conduct.reads_later_versions:
        return members
    return tuple(row for row in members if not is_later(version_of(row.metadata)))


def join_read(work: ClientWork, answer: JoinGroupResponse) -> None:
    """Take the answer to a join."""
    if work.state.membership.phase is not Phase.JOINING:
        return
    code = answer.error_code
    if code == Error.NONE.value and answer.protocol_type not in {None, PROTOCOL_TYPE}:
        code = Error.INCONSISTENT_GROUP_PROTOCOL.value
    if code != Error.NONE.value:
        react(work, _JOIN, code, answer.member_id)
        return
    leads = answer.leader == answer.member_id
    work.change_member(
        phase=Phase.SYNCING,
        member_id=answer.member_id,
        generation_id=answer.generation_id,
        owes_join=False,
        protocol_name=answer.protocol_name,
        leads=leads,
        to_lead=_as_read(work, answer.members) if leads else None,
        skips=answer.skip_assignment,
    )


def join_lost(work: ClientWork) -> None:
    """Join again, as the same member: a join or sync gets no answer any more."""
    if work.conduct.repeats_lost_join:
        member = work.state.membership
        work.change_member(phase=Phase.OUT, backoff=work.failed(member.backoff, at_once=True))


# Syncing.


def _sync(work: ClientWork) -> None:
    member, coordinator = work.state.membership, work.state.cluster.coordinator
    if coordinator is None or work.now_ms < member.backoff.not_before_ms:
        return
    if not lookup.knows_topics(work.state) or (link := links.idle(work, coordinator)) is None:
        return
    if member.to_lead is not None:
        topics = group_topics(member.to_lead) | set(work.state.topics)
        work.change_member(layouts=topic_layouts(work, topics))
    settings = work.settings
    timeout = settings.max_poll_interval_ms + settings.join_slack_ms
    links.ask(work, link, _SYNC, lambda version: _sync_request(work, version), timeout)


def _sync_request(work: ClientWork, version: int) -> SyncGroupRequest:
    member = work.state.membership
    names_protocol = version >= 5
    members = () if member.skips and work.conduct.heeds_skip else member.to_lead
    return SyncGroupRequest(
        group_id=work.settings.group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=sent_instance(work, _SYNC, version),
        protocol_type=PROTOCOL_TYPE if names_protocol else None,
        protocol_name=member.protocol_name if names_protocol else None,
        assignments=assignments(work, members) if members else (),
    )


def sync_read(work: ClientWork, flight: Flight, answer: SyncGroupResponse) -> None:
    """Take the answer to a sync: the assignment, or an error."""
    member = work.state.membership
    if member.phase is not Phase.SYNCING:
        return
    if answer.error_code != Error.NONE.value:
        react(work, _SYNC, answer.error_code)
        return
    is_ignored = is_later(version_of(answer.assignment)) and not work.conduct.reads_later_versions
    if work.now_ms - flight.sent_ms > _LATE_MS and not work.conduct.takes_late_assignment:
        is_ignored = True
    try:
        target = () if is_ignored else decode_assignment(answer.assignment)
    except ValueError:
        work.tell_error(Error.UNKNOWN_SERVER_ERROR.value, _SYNC)
        target = ()
    again = work.conduct.rejoins_after_start and not member.was_stable
    if any(ASSIGNORS[name].needs_memory for name in work.settings.assignors):
        work.change(memory=Memory(target, member.generation_id))
    work.change_member(
        phase=Phase.STABLE,
        target=target,
        target_before=member.target,
        is_handed_out=False,
        assigned_in=member.generation_id,
        was_stable=True,
        needs_join=member.needs_join or again,
        to_lead=None,
        heartbeat_ms=work.now_ms + work.settings.heartbeat_interval_ms,
        backoff=Backoff(),
    )


def _hand_out(work: ClientWork) -> None:
    """Hand the assignment to the user, when it polls."""
    member = work.state.membership
    if member.is_handed_out or member.needs_join or not work.state.is_polling:
        return
    before = {p.partition: p for p in work.state.reading.positions}
    gone = tuple(p for p in before if p not in member.target)
    added = tuple(p for p in member.target if p not in before)
    if gone and work.settings.commits_on_revoke and not member.prepared:
        work.change_member(prepared=True)
        committing.start(work, work.now_ms + work.settings.max_poll_interval_ms // 2)
    if gone and work.state.membership.prepared and work.state.committing is not None:
        return
    if gone:
        work.tell(Revoked(gone))
    work.tell(Assigned(added))
    positions = tuple(before.get(p) or Position(p) for p in member.target)
    stale = (p for p in work.state.reading.given_back if p.partition not in member.target)
    paused = work.state.reading.paused.intersection(before)
    work.change(reading=Reading(positions, tuple(stale), paused))
    again = bool(gone) and work.conduct.rejoins_after_revoking
    work.change_member(is_handed_out=True, needs_join=again, owes_join=bool(gone))


def _note_changed_topics(work: ClientWork) -> None:
    """Join again, as a leader, when partitions or their racks differ from those it assigned by."""
    member = work.state.membership
    if not work.conduct.heeds_changed_topics:
        return
    if member.leads and member.layouts is not None and not member.needs_join:
        topics = [layout.topic for layout in member.layouts]
        known = {row.topic for row in work.state.cluster.topics}
        if known.issuperset(topics) and topic_layouts(work, topics) != member.layouts:
            work.change_member(needs_join=True)


# Heartbeats.


def _beat(work: ClientWork) -> None:
    member, coordinator = work.state.membership, work.state.cluster.coordinator
    if coordinator is None or work.now_ms < member.heartbeat_ms:
        return
    if not work.state.is_polling and not work.conduct.beats_while_busy:
        return
    if not member.target and not work.conduct.beats_when_idle:
        return
    link: Link | None = links.idle(work, coordinator)
    if link is not None and links.ask(work, link, _HEARTBEAT, lambda v: _heartbeat(work, v)):
        work.change_member(heartbeat_ms=work.now_ms + work.settings.heartbeat_interval_ms)


def _heartbeat(work: ClientWork, version: int) -> HeartbeatRequest:
    member = work.state.membership
    return HeartbeatRequest(
        group_id=work.settings.group_id,
        generation_id=member.generation_id,
        member_id=member.member_id,
        group_instance_id=sent_instance(work, _HEARTBEAT, version),
    )


def heartbeat_read(work: ClientWork, answer: HeartbeatResponse) -> None:
    """Take the answer to a heartbeat."""
    if work.state.membership.phase is not Phase.STABLE:
        return
    if answer.error_code == Error.NONE.value:
        work.change_member(backoff=Backoff())
    else:
        react(work, _HEARTBEAT, answer.error_code)


# Errors.


def react(work: ClientWork, api: str, code: int | str, answered_id: str = "") -> None:
    """React to an error answer as the table says; `answered_id`: a join's member id."""
    member = work.state.membership
    soon = work.failed(member.backoff, at_once=True)
    reaction = work.conduct.reaction(api, code)
    if work.conduct.tells_passing_errors and reaction is not Reaction.FAIL:
        work.tell_error(code, api)
    if work.conduct.looks_up_to_rejoin and reaction in REJOINING:
        lookup.forget_coordinator(work)
    match reaction:
        case Reaction.GO_ON:
            if member.phase is not Phase.STABLE:
                work.change_member(phase=Phase.OUT, backoff=work.failed(member.backoff))
        case Reaction.TAKE_ID:
            work.change_member(phase=Phase.OUT, member_id=answered_id, backoff=soon)
        case Reaction.REJOIN if member.phase is Phase.STABLE:
            work.change_member(needs_join=True)
        case Reaction.REJOIN:
            work.change_member(phase=Phase.OUT, backoff=soon)
        case Reaction.REJOIN_WITHOUT_GENERATION:
            work.change_member(phase=Phase.OUT, generation_id=-1, assigned_in=-1, backoff=soon)
        case Reaction.BEGIN_ANEW:
            begin_anew(work)
        case Reaction.FIND_COORDINATOR:
            lookup.forget_coordinator(work)
            _pause(work, stays=member.phase is Phase.STABLE)
        case Reaction.RETRY:
            _pause(work, stays=member.phase is not Phase.JOINING)
        case Reaction.TELL:
            work.tell_error(code, api)
            _pause(work, stays=member.phase is not Phase.JOINING)
        case Reaction.FAIL:
            work.fail(code, api)


def begin_anew(work: ClientWork) -> None:
    """Join like a new process: the member was removed, and its partitions are lost."""
    member = work.state.membership
    if work.conduct.commits_as_nobody:
        committing.start(work, work.now_ms + work.settings.request_timeout_ms)
    work.change(
        membership=Membership(
            member_id="" if work.conduct.forgets_unknown_id else member.member_id,
            was_stable=member.was_stable,
            was_removed=True,
            prepared=True,
            backoff=work.failed(member.backoff, at_once=True),
        )
    )


def _pause(work: ClientWork, *, stays: bool) -> None:
    """Send the request again after a pause; where the phase doesn't stay, that is a join."""
    backoff = work.failed(work.state.membership.backoff)
    if not stays:
        work.change_member(phase=Phase.OUT)
    work.change_member(backoff=backoff, heartbeat_ms=backoff.not_before_ms)
