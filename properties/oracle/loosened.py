"""Adopt an answer that no run of the model gives, and list the states that a group may be in then.

A coordinator that departs from the model once goes on from a state of its own.  Its answer tells a
part of that: who is a member, under which id, and in which generation.  The rest isn't known: the
phase, which of the generations that were handed out counts, who leads, when a timer fires, and
whether those whom a request names are still members, or again.  `adopted` takes over what the
answer tells; `loosened` lists the states that differ in the rest.  They are more than a coordinator
can be in, so an answer that none of them gives is wrong whatever the first departure led to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product

from msgspec.structs import replace

from fencepost.model.classic.group import JOIN, SESSION, SYNC, WRITE, Group, Member, Offset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    CommitRequest,
    CommitResponse,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinMember,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.work import Incoming
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.matcher import FRESH

_LATER_MS = 600_000
"""Longest time, ms, until a timer fires whose begin isn't known; no case waits for that."""

UNTOLD = 1_000_000
"""A generation that was never handed out: that of a group which forgot its own."""

_MOST_ROWS = 4
"""The most members of a leave of whom each may be gone or not, by itself."""

_PHASES = (GroupState.STABLE, GroupState.COMPLETING, GroupState.PREPARING)
_GONE = (Error.UNKNOWN_MEMBER_ID.value, Error.FENCED_INSTANCE_ID.value)


def can_adopt(observed: Message) -> bool:
    """Tell if an answer is of a kind that changes a group or its members."""
    kinds = (
        JoinGroupResponse,
        SyncGroupResponse,
        HeartbeatResponse,
        LeaveGroupResponse,
        OffsetCommitResponse,
        TxnOffsetCommitResponse,
    )
    return isinstance(observed, kinds)


def adopted(
    candidate: Candidate, group_id: str, request: Incoming, observed: Message, at_ms: int
) -> Iterator[Candidate]:
    """Yield the candidates after an answer that the model doesn't give.

    The request is answered in all of them.  What it did follows from the answer; where that leaves
    it open, each way is one candidate.
    """
    if isinstance(observed, JoinGroupResponse) and observed.error_code == 0:
        candidate = candidate.bound(_names(candidate.group(group_id), request.id, observed))
    candidate = _answered(candidate, group_id, request.id)
    group = candidate.group(group_id)
    for after in dict.fromkeys(_groups_after(group, request, observed, at_ms)):
        groups = candidate.with_group(group_id, after)
        yield replace(candidate, groups=groups, now=max(candidate.now, 0))


def loosened(
    candidate: Candidate,
    group_id: str,
    request: Incoming,
    generations: Iterable[int],
    former: Mapping[str, Member | None],
    at_ms: int,
    *,
    is_likely: bool = False,
) -> Iterator[Candidate]:
    """Yield the candidates that differ in what isn't known of a group, at a request.

    The request takes effect once more in each.  `generations`: those that were handed out;
    `former`: the ids that were handed out, and the members that had them, if any had.
    `is_likely`: only those in which everybody is still a member, and the last generation counts.
    """
    candidate = _unhandled(candidate, group_id, request.id)
    group = candidate.group(group_id)
    if is_likely:
        yield from in_any_phase(candidate, group_id, at_ms)
        return
    for whole in _memberships(group, request, former):
        if whole is None or not whole.members:
            yield replace(candidate, groups=candidate.with_group(group_id, whole))
            continue
        leaders = dict.fromkeys((whole.leader, *_callers(whole, request)))
        counted = sorted({whole.generation_id, *generations, UNTOLD})
        for phase, generation, leader in product(_PHASES, counted, leaders):
            if leader is not None and whole.member(leader) is None:
                continue
            after = replace(
                _in_phase(whole, phase, at_ms),
                generation_id=generation,
                leader=leader or whole.members[0].member_id,
            )
            yield replace(candidate, groups=candidate.with_group(group_id, after))


def _memberships(
    group: Group | None, request: Incoming, former: Mapping[str, Member | None]
) -> Iterator[Group | None]:
    """Yield a group with and without those whom a request names, as far as they may be members.

    Nobody has two ids: whoever was replaced is no member again.
    """
    yield group
    held = group or Group()
    back = held
    for sent in _former_ids(held, request, former):
        member = former[sent]
        if member is None:
            back = replace(back, pending=tuple(sorted({*back.pending, sent})))
        elif (instance := member.group_instance_id) is None:
            back = back.with_member(replace(member, joining=None, syncing=None))
        elif back.holder(instance) is None:
            back = back.with_member(replace(member, joining=None, syncing=None))
            back = back.with_mapping(instance, sent)
    if back != held:
        yield back
    if group is None:
        yield held
        return
    if not (group.members or group.pending or group.offsets):
        yield None
    known = tuple(_callers(group, request))
    sizes = range(1, len(known) + 1) if len(known) <= _MOST_ROWS else (len(known),)
    for size in sizes:
        for gone in combinations(known, size):
            yield _without(group, gone)


def in_any_phase(candidate: Candidate, group_id: str, at_ms: int) -> Iterator[Candidate]:
    """Yield a candidate with its group in each phase that a group with members can be in."""
    group = candidate.group(group_id)
    if group is None or not group.members:
        yield candidate
        return
    for phase in _PHASES:
        after = _in_phase(group, phase, at_ms)
        yield replace(candidate, groups=candidate.with_group(group_id, after))


def _names(group: Group | None, request_id: str, observed: JoinGroupResponse) -> Mapping[str, str]:
    """Return made-up ids and the real ones that a join's answer tells for them."""
    names = {FRESH + request_id: observed.member_id}
    known = {row.member_id for row in group.members} if group is not None else set()
    made_up = [m for m in (group.members if group is not None else ()) if _is_made_up(m)]
    for row in observed.members:
        if row.member_id in known or row.member_id == observed.member_id:
            continue
        alike = (m for m in made_up if m.group_instance_id == row.group_instance_id)
        unbound = next((m for m in alike if m.member_id not in names), None)
        if unbound is not None:
            names[unbound.member_id] = row.member_id
    if observed.member_id in known:
        del names[FRESH + request_id]
    return names


def _is_made_up(member: Member) -> bool:
    return member.member_id.startswith(FRESH)


def _answered(candidate: Candidate, group_id: str, request_id: str) -> Candidate:
    """Return the candidate in which nothing waits for the answer to this request any more."""
    rest = tuple(r for r in candidate.unapplied if r != request_id)
    candidate = replace(candidate.without_emission(request_id), unapplied=rest)
    group = candidate.group(group_id)
    if group is None:
        return candidate
    after = _without_parked(group, request_id)
    return replace(candidate, groups=candidate.with_group(group_id, after))


def _unhandled(candidate: Candidate, group_id: str, request_id: str) -> Candidate:
    """Return the candidate in which this request still has to take effect.

    A newcomer that it added is gone again.  What it did to a member that was there stays.
    """
    if request_id in candidate.unapplied:
        return candidate
    candidate = candidate.without_emission(request_id)
    group = candidate.group(group_id)
    if group is not None:
        added = group.member(FRESH + request_id)
        group = _without_parked(group, request_id)
        # A static one may have been there, as another process; a dynamic one was not.
        if added is not None and (added.new or added.group_instance_id is None):
            group = group.without_member(added.member_id)
        groups = candidate.with_group(group_id, group)
        candidate = replace(candidate, groups=groups)
    return replace(candidate, unapplied=(*candidate.unapplied, request_id))


def _without_parked(group: Group, request_id: str) -> Group:
    for member in group.members:
        parked = member.joining, member.syncing
        if any(each is not None and each.request_id == request_id for each in parked):
            joining, syncing = (
                None if each is not None and each.request_id == request_id else each
                for each in parked
            )
            restart = None if joining is None else member.restart
            changed = replace(member, joining=joining, syncing=syncing, restart=restart)
            group = group.with_member(changed).without_timer(WRITE, member.member_id)
    return group


def named_by(request: Incoming) -> list[tuple[str, str | None]]:
    """Return the member ids and instances that a request names."""
    message = request.message
    if isinstance(message, LeaveGroupRequest):
        return [(r.member_id, r.group_instance_id) for r in message.rows(request.version)]
    sent = getattr(message, "member_id", "")
    return [(sent, getattr(message, "group_instance_id", None))]


def _former_ids(
    group: Group, request: Incoming, former: Mapping[str, Member | None]
) -> Iterator[str]:
    """Yield the ids that a request means, by id or instance, and that are no members now."""
    for sent, instance in named_by(request):
        holders = [
            i for i, m in former.items() if m is not None and m.group_instance_id == instance
        ]
        last = holders[-1] if instance is not None and holders else sent
        for member_id in dict.fromkeys((sent, last)):
            is_known = group.member(member_id) is not None or member_id in group.pending
            if member_id in former and not is_known:
                yield member_id


def _callers(group: Group, request: Incoming) -> dict[str, None]:
    """Return the members, and pending ids, that a request is about: by id, and by instance."""
    ids: dict[str, None] = {}
    for sent, instance in named_by(request):
        holder = None if instance is None else group.holder(instance)
        known = (i for i in (sent, holder) if i is not None)
        ids |= dict.fromkeys(i for i in known if group.member(i) or i in group.pending)
    return ids


def _in_phase(group: Group, phase: GroupState, at_ms: int) -> Group:
    """Return a group in a phase, of which only the least times of its timers are known."""
    members = tuple(
        replace(
            member,
            joining=member.joining if phase is GroupState.PREPARING else None,
            syncing=member.syncing if phase is GroupState.COMPLETING else None,
            owes_sync=phase is GroupState.COMPLETING and member.syncing is None,
            new=False,
            restart=None,
        )
        for member in group.members
    )
    after = replace(group, state=phase, members=members, delay=None)
    for kind in (JOIN, SYNC, WRITE):
        after = after.without_timer(kind)
    wait_ms = at_ms + max(group.rebalance_timeout_ms(), 0)
    if phase is not GroupState.STABLE:
        kind = JOIN if phase is GroupState.PREPARING else SYNC
        after = after.with_timer(kind, "", wait_ms, wait_ms + _LATER_MS)
    began = {t.subject: t.earliest for t in group.timers if t.kind == SESSION}
    for member in members:
        least_ms = at_ms + max(member.session_timeout_ms, 0)
        earliest = min(began.get(member.member_id, least_ms), least_ms)
        after = after.with_timer(SESSION, member.member_id, earliest, least_ms + _LATER_MS)
    return after


def _groups_after(
    group: Group | None, request: Incoming, observed: Message, at_ms: int
) -> Iterator[Group | None]:
    message = request.message
    match message, observed:
        case JoinGroupRequest(), JoinGroupResponse(error_code=0):
            yield from _joined(group or Group(), request, message, observed, at_ms)
        case JoinGroupRequest(), JoinGroupResponse(error_code=Error.MEMBER_ID_REQUIRED.value):
            yield group
            held = group or Group()
            pending = tuple(sorted({*held.pending, observed.member_id}))
            held = replace(held, pending=pending)
            until_ms = at_ms + message.session_timeout_ms
            yield held.with_timer(SESSION, observed.member_id, until_ms, until_ms + _LATER_MS)
        case SyncGroupRequest(), SyncGroupResponse(error_code=0):
            yield _synced(group, message, observed)
        case LeaveGroupRequest(), LeaveGroupResponse():
            yield group
            if group is not None:
                known = tuple(_callers(group, request))
                for size in range(1, len(known) + 1):
                    yield from (_without(group, gone) for gone in combinations(known, size))
        case OffsetCommitRequest() | TxnOffsetCommitRequest(), _ if isinstance(
            observed, CommitResponse
        ):
            yield group
            yield _committed(group or Group(), message)
        case _:
            yield group
            if group is not None and getattr(observed, "error_code", 0) in _GONE:
                for member_id in _callers(group, request):
                    yield group.without_member(member_id)


def _joined(
    group: Group,
    request: Incoming,
    join: JoinGroupRequest,
    observed: JoinGroupResponse,
    at_ms: int,
) -> Iterator[Group]:
    own = observed.member_id
    instance = join.group_instance_id
    member = group.member(own)
    if instance is not None and (holder := group.holder(instance)) not in {None, own}:
        assert holder is not None
        group = group.without_member(holder)
    if member is None:
        member = Member(own, instance, request.client_id, 0, 0, ())
    group = replace(
        group.with_member(
            replace(
                member,
                session_timeout_ms=join.session_timeout_ms,
                rebalance_timeout_ms=join.session_timeout_ms
                if request.version == 0
                else join.rebalance_timeout_ms,
                protocols=join.protocols,
                new=False,
                joining=None,
            )
        ),
        pending=tuple(p for p in group.pending if p != own),
    )
    if instance is not None:
        group = group.with_mapping(instance, own)
    for row in observed.members:
        group = _listed(group, row, observed, member)
    leads = group.member(observed.leader) is not None
    group = replace(
        group,
        generation_id=observed.generation_id,
        protocol_type=group.protocol_type or join.protocol_type,
        protocol_name=observed.protocol_name or group.protocol_name,
        leader=observed.leader if leads else group.leader or own,
    )
    yield from _of_listed(_in_phase(group, GroupState.COMPLETING, at_ms), observed)


def _listed(group: Group, row: JoinMember, observed: JoinGroupResponse, like: Member) -> Group:
    """Return the group with a member of whom an answer tells, though nobody knew it."""
    if group.member(row.member_id) is not None:
        return group
    name = observed.protocol_name or ""
    added = replace(
        like,
        member_id=row.member_id,
        group_instance_id=row.group_instance_id,
        protocols=(JoinProtocol(name=name, metadata=row.metadata),),
        joining=None,
        syncing=None,
    )
    group = group.with_member(added)
    if row.group_instance_id is None:
        return group
    return group.with_mapping(row.group_instance_id, row.member_id)


def _of_listed(group: Group, observed: JoinGroupResponse) -> Iterator[Group]:
    """Yield the group, and the group of those members alone that the leader was told of."""
    yield group
    listed = {row.member_id for row in observed.members}
    if not listed:
        return
    for member in group.members:
        if member.member_id not in listed:
            group = group.without_member(member.member_id)
    if group.members:
        yield replace(group, leader=group.leader or group.members[0].member_id)


def _synced(
    group: Group | None, sync: SyncGroupRequest, observed: SyncGroupResponse
) -> Group | None:
    if group is None or (member := group.member(sync.member_id)) is None:
        return group
    synced = replace(member, owes_sync=False, syncing=None, assignment=observed.assignment)
    return group.with_member(synced)


def _without(group: Group, gone: Iterable[str]) -> Group:
    for member_id in gone:
        group = group.without_member(member_id)
    group = replace(group, pending=tuple(p for p in group.pending if p not in gone))
    if group.members:
        return replace(group, leader=group.leader or group.members[0].member_id)
    return replace(
        group, state=GroupState.EMPTY, leader=None, protocol_name=None, delay=None, timers=()
    )


def _committed(group: Group, commit: CommitRequest) -> Group:
    kept = {(o.topic, o.partition): o for o in group.offsets}
    for topic in commit.topics:
        for part in topic.partitions:
            kept[topic.name, part.partition_index] = Offset(
                topic.name, part.partition_index, part.committed_offset, part.committed_metadata
            )
    return replace(group, offsets=tuple(kept[place] for place in sorted(kept)))
