"""Perform each step of a rule of the consumer protocol.

The steps change members (add, replace, release, remove), epochs and the target, and the caller's
assignment (reconcile).  Each change is stored at once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import Enum

from msgspec.structs import replace

from fencepost.model.consumer import answer_bodies
from fencepost.model.consumer.consumer_work import Assign, ConsumerWork
from fencepost.model.consumer.effects import Do
from fencepost.model.consumer.group import (
    ASSIGNMENT,
    JOIN,
    REBALANCE,
    RELEASED_EPOCH,
    SESSION,
    SYNC,
    Held,
    Member,
    Offset,
    Partitions,
    Phase,
)
from fencepost.model.consumer.open_targets import (
    NO_BOUNDS,
    Bounds,
    with_open_target,
    with_share_of,
)
from fencepost.model.consumer.settings import (
    ASSIGNMENT_INTERVAL,
    HEARTBEAT_INTERVAL,
    SESSION_TIMEOUT,
)
from fencepost.model.consumer.topics import (
    NO_SLIP,
    Slip,
    Target,
    legal_targets,
    partitions_in,
    readers,
)
from fencepost.model.coordinator import Config
from fencepost.model.messages.consumer_messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.messages import CommitRequest
from fencepost.model.messages.subscription import TopicPartition

Effect = Callable[[ConsumerWork], list[ConsumerWork] | None]
"""Performs a step on a work; returns several works if it forks, None if it doesn't."""


def heartbeat(work: ConsumerWork) -> ConsumerGroupHeartbeatRequest:
    """Return the heartbeat in progress."""
    assert work.request is not None
    assert isinstance(work.request.message, ConsumerGroupHeartbeatRequest)
    return work.request.message


def caller(work: ConsumerWork) -> Member:
    """Return the caller, which is a member."""
    member = work.group.member(work.caller)
    assert member is not None
    return member


def sent_or_fresh_id(work: ConsumerWork) -> str:
    """Return the member id of a join; where version 0 sends none, the coordinator makes one."""
    assert work.request is not None
    return heartbeat(work).member_id or work.request.fresh_id


def create_group(work: ConsumerWork) -> None:
    """Create a group of epoch 1, if it is absent, or has offsets alone."""
    if work.start is None or work.start.is_simple:
        work.create()
        work.group = replace(work.group, epoch=1)


def create_group_at_zero(work: ConsumerWork) -> None:
    """Create a group of epoch 0, if it is absent."""
    if work.start is None:
        work.create()


def _add(work: ConsumerWork, instance_id: str | None) -> None:
    join = heartbeat(work)
    assert work.request is not None
    work.caller = sent_or_fresh_id(work)
    blank = Member(
        member_id=work.caller,
        instance_id=instance_id,
        client_id=work.request.client_id,
        rebalance_timeout_ms=join.rebalance_timeout_ms,
    )
    work.group = work.group.with_member(_updated(work, blank))


def add_dynamic(work: ConsumerWork) -> None:
    """Add a member without an instance."""
    _add(work, None)


def add_static(work: ConsumerWork) -> None:
    """Add a member with an instance, and map the instance to it."""
    assert work.instance is not None
    _add(work, work.instance)
    work.group = work.group.with_mapping(work.instance, work.caller)


def _holder(work: ConsumerWork) -> Member:
    assert work.instance is not None
    member = work.group.member(work.group.holder(work.instance) or "")
    assert member is not None
    return member


def replace_holder(work: ConsumerWork) -> list[ConsumerWork]:
    """Put the caller in the place of the holder: a copy of it, at epoch 0.

    What the caller was assigned before, if it was a member, is nobody's from now on; see
    `recompute_target_at_once` for its part of the target.  Up to 4.3.1
    the holder's own instance may be another one than the request names: both are the caller's then.
    """
    holder = _holder(work)
    work.caller = sent_or_fresh_id(work)
    before = () if holder.member_id == work.caller else (work.caller,)
    was_member = bool(before) and work.group.has_id(work.caller)
    works = _with_shares(work, *before, holder.member_id)
    for each in works:
        if was_member:
            mine, copied = map(each.group.target_of, (work.caller, holder.member_id))
            each.copied = mine, copied
        _replace_by_copy(each, holder)
    return works


def _with_shares(
    work: ConsumerWork,
    *member_ids: str,
    topics: tuple[str, ...] | None = None,
    bounds: Bounds = NO_BOUNDS,
    alike: Container[TopicPartition] = (),
) -> list[ConsumerWork]:
    """Return a work for each possible share of these members, where the target is open.

    `topics`: the topics of which their shares matter; None: all.  `bounds`: those of each share.
    `alike`: partitions of which it matters only whether a share has any.
    """
    groups = [work.group]
    for member_id in member_ids:
        groups = [
            share
            for group in groups
            for share in with_share_of(group, member_id, topics, bounds, alike)
        ]
    works = []
    for group in groups:
        fork = work.fork() if len(groups) > 1 else work
        fork.group = group
        works.append(fork)
    return works


def _replace_by_copy(work: ConsumerWork, holder: Member) -> None:
    assert work.instance is not None
    target = work.group.target_of(holder.member_id)
    copy = replace(
        holder,
        member_id=work.caller,
        instance_id=work.instance,
        epoch=0,
        previous_epoch=0,
    )
    owed = [t for t in work.group.timers if t.kind in {JOIN, SYNC} and t.subject == work.caller]
    group = work.group.without_member(holder.member_id).with_member(copy)
    group = group.with_target(work.caller, target).without_timer(REBALANCE, work.caller)
    group = replace(group, timers=tuple(sorted({*group.timers, *owed})))
    if holder.instance_id is not None:
        group = group.with_mapping(holder.instance_id, work.caller)
    work.group = group.with_mapping(work.instance, work.caller)


def free_instance(work: ConsumerWork) -> None:
    """Remove the entry of the caller's own instance, if the request names another one."""
    member = work.group.member(work.caller)
    if member is None or member.instance_id is None or member.instance_id == work.instance:
        return
    if work.group.holder(member.instance_id) == work.caller:
        work.group = work.group.without_mapping(member.instance_id)


def map_caller(work: ConsumerWork) -> None:
    """Map the instance to the caller; the entry of the one that it had stays."""
    assert work.instance is not None
    member = replace(caller(work), instance_id=work.instance)
    work.group = work.group.with_member(member).with_mapping(work.instance, work.caller)


def update_member(work: ConsumerWork) -> None:
    """Take what the request gives: instance, subscription, rebalance timeout, assignor, rack.

    Up to 4.3.1 a heartbeat may name an instance that the caller had before, and has again then.

    The member is one of this protocol from now on; what a classic one has to do in time it has to
    do still.
    """
    work.group = work.group.with_member(_updated(work, caller(work)))


def _updated(work: ConsumerWork, member: Member) -> Member:
    sent = heartbeat(work)
    assert work.request is not None
    names, regex = sent.subscribed_topic_names, sent.subscribed_topic_regex
    timeout_ms = sent.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if sent.instance_id is None else sent.instance_id,
        client_id=work.request.client_id,
        topics=member.topics if names is None else tuple(sorted(set(names))),
        regex=member.regex if regex is None else regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        assignor=sent.server_assignor or member.assignor,
        rack_id=sent.rack_id or member.rack_id,
        classic=None,
    )


def release(work: ConsumerWork) -> None:
    """Release the caller.

    It stays in its phase, even if it had partitions to revoke (KAFKA-20641), and its time to revoke
    ends, since that was of another epoch.
    """
    member = caller(work)
    released = replace(
        member,
        epoch=RELEASED_EPOCH,
        previous_epoch=0,
        assigned=tuple((partition, 0) for partition, _ in member.assigned),
        revoking=(),
    )
    work.group = work.group.with_member(released).without_timer(REBALANCE, work.caller)


def release_settled(work: ConsumerWork) -> None:
    """Release the caller, which has no phase to go on with when it returns."""
    release(work)
    work.group = work.group.with_member(replace(caller(work), phase=Phase.STABLE))


def remove_member(work: ConsumerWork) -> None:
    """Remove the caller, or the member whose timer expired."""
    work.group = work.group.without_member(caller(work).member_id)


def remove_holder(work: ConsumerWork) -> None:
    """Remove the holder of the instance."""
    work.group = work.group.without_member(_holder(work).member_id)


def bump_epoch(work: ConsumerWork) -> None:
    """Increase the group's epoch, once for a request."""
    if not work.is_bumped:
        work.group = replace(work.group, epoch=work.group.epoch + 1)
        work.is_bumped = True


def settle_empty(work: ConsumerWork) -> None:
    """Make the target of a group without members: nothing, at the group's epoch.

    The next target need not wait for the interval.
    """
    if not work.group.members:
        settled = replace(work.group, target=(), open=(), target_epoch=work.group.epoch)
        work.group = settled.without_timer(ASSIGNMENT)


def recompute_target_at_once(work: ConsumerWork) -> list[ConsumerWork] | None:
    """Make the target anew, if it is older than the group: one outcome for each legal target.

    A coordinator may slip: see `_slips`.
    """
    group = work.group
    if group.epoch == group.target_epoch:
        return None
    forks = []
    for target in _new_targets(work):
        fork = work.fork()
        fork.group = replace(group, target=target, target_epoch=group.epoch)
        fork.has_new_target = True
        forks.append(fork)
    return forks


def _new_targets(work: ConsumerWork) -> Iterator[Target]:
    slips = _slips(work)
    if work.assign is None:
        for slip in slips:
            yield from legal_targets(work.group, work.count, slip)
    else:
        yield _assigned(work, work.assign, NO_SLIP if work.is_bumped else slips[-1])


def _assigned(work: ConsumerWork, assign: Assign, slip: Slip) -> Target:
    """Return the target of an assignor that slips."""
    group = work.group
    if slip.idle:
        topics = {topic for member in group.members for topic in member.topics}
        group = group.with_member(replace(caller(work), topics=tuple(sorted(topics))))
    rows = (
        (name, tuple(p for p in row if p not in slip.nobodys))
        for name, row in assign(group, work.count)
    )
    return tuple((name, row) for name, row in rows if row)


def _slips(work: ConsumerWork) -> list[Slip]:
    """Return how a coordinator may slip in a new target, first that it doesn't.

    It takes the part of a caller that became a copy for given, and gives it to nobody: seen on
    4.0.1 to 4.4.0 with the assignor `uniform`, where all members have one subscription.  It takes a
    newcomer that subscribes to nothing for one that reads what the others do, where these have one
    subscription: seen on 4.0.1 to 4.4.0; from 4.2.0 on the newcomer never gets its share.  Or it
    takes the others for ones that subscribe to nothing, too: seen on 4.3.0 and 4.4.0.
    """
    slips = [NO_SLIP]
    if work.copied is not None and work.copied[0]:
        slips.append(Slip(nobodys=work.copied[0]))
    if _is_idle_newcomer(work):
        everything = tuple(readers(work.group, work.count))
        slips += [Slip(nobodys=everything), Slip(idle=work.caller)]
    return slips


def _is_idle_newcomer(work: ConsumerWork) -> bool:
    member = work.group.member(work.caller)
    if member is None or member.topics or member.regex:
        return False
    return work.start is not None and not work.start.has_id(work.caller)


def recompute_target(
    work: ConsumerWork, at_once: Effect, interval_ms: int
) -> list[ConsumerWork] | None:
    """Make the target anew; until the interval after the last time is over, now or later.

    A coordinator with an assignor of its own makes it later.  `at_once`: makes it anew in any case.
    """
    is_later = work.group.timer(ASSIGNMENT) is not None
    if work.assign is not None and is_later:
        return None
    later = [work.fork()] if is_later else []
    forks = at_once(work)
    if forks is None or interval_ms <= 0:
        return forks
    for fork in forks:
        fork.set_timer(ASSIGNMENT, "", interval_ms)
    return [*forks, *later]


def leave_target_open(work: ConsumerWork) -> list[ConsumerWork] | None:
    """Make the target anew, if it is older than the group, without a choice of any."""
    if work.group.epoch == work.group.target_epoch:
        return None
    forks = []
    for slip in _slips(work):
        fork = work.fork()
        fork.group = with_open_target(work.group, work.count, slip)
        fork.has_new_target = True
        forks.append(fork)
    return forks


def reconcile_later(work: ConsumerWork) -> list[ConsumerWork]:
    """Bring the caller nearer to its target, as before 4.1."""
    return reconcile(work, is_free_at_once=False, is_heeding=False)


def reconcile_unheeding(work: ConsumerWork) -> list[ConsumerWork]:
    """Bring the caller nearer to its target, as before 4.2."""
    return reconcile(work, is_heeding=False)


def reconcile(
    work: ConsumerWork, *, is_free_at_once: bool = True, is_heeding: bool = True
) -> list[ConsumerWork]:
    """Bring the caller nearer to its target.

    `is_free_at_once`: what it gives up with this request it may get back with it.  `is_heeding`: it
    has nothing of topics to which it doesn't subscribe, whatever its target says; and where it gave
    up and has more to give up, its epoch stays.
    """
    topics = caller(work).topics if is_heeding else None
    if _waits(work):
        if topics is not None:
            _drop_unsubscribed(work)
        return [work]

    alike = _alike(work)

    def reconciled(work: ConsumerWork, bounds: Bounds) -> list[ConsumerWork]:
        works = _with_shares(work, work.caller, topics=topics, bounds=bounds, alike=alike)
        for each in works:
            target = each.group.target_of(each.caller)
            if topics is not None:
                target = tuple(p for p in target if p.topic in topics)
            _reconcile(each, target, is_free_at_once=is_free_at_once, is_heeding=is_heeding)
        return works

    observed = _observed_assignment(work) if work.group.open else None
    works = [] if observed is None else reconciled(work.fork(), _bounds(work, observed))
    if not any(observed == {*caller(each).partitions()} for each in works):
        works = reconciled(work, NO_BOUNDS)
    return [*works, *_keeping_copies(works)]


def _observed_assignment(work: ConsumerWork) -> set[TopicPartition] | None:
    """Return the partitions that the caller has with the answer; None: it isn't known.

    A heartbeat that isn't told an assignment keeps what it has.
    """
    answer = None if work.request is None else work.request.observed
    if not isinstance(answer, ConsumerGroupHeartbeatResponse) or answer.error_code:
        return None
    if answer.assignment is None:
        return {*caller(work).partitions()}
    return {*partitions_in(answer.assignment.topic_partitions, caller(work).topics, work.ids)}


def _bounds(work: ConsumerWork, observed: set[TopicPartition]) -> Bounds:
    """Return what is in each share of the caller that leads to the observed assignment.

    If it gives nothing up, it has all of its share that was nobody's.
    """
    if not observed.issuperset(caller(work).partitions()):
        return Bounds(frozenset(observed))
    taken = set() if work.start is None else set(work.start.owned())
    rest = (p for p, _ in work.group.open if p not in observed and p not in taken)
    return Bounds(frozenset(observed), frozenset(rest))


def _alike(work: ConsumerWork) -> frozenset[TopicPartition]:
    """Return what others own: of these it matters only whether the caller has to wait for any."""
    if work.start is None or _is_copied_anew(work):
        return frozenset()
    member = caller(work)
    mine = {partition for partition, _ in (*member.assigned, *member.revoking)}
    return frozenset(work.start.owned()) - mine


def _is_copied_anew(work: ConsumerWork) -> bool:
    """Return True for a caller that became a copy, where the assignor made a new target."""
    return work.has_new_target and work.copied is not None and work.assign is None


def _keeping_copies(works: Iterable[ConsumerWork]) -> Iterator[ConsumerWork]:
    """Yield further outcomes for a caller that became a copy, and gets what it had before.

    A coordinator may take that for no change, and keep the empty target that was copied: seen on
    4.3.0 and 4.4.0.  With the assignor `range`, 4.3.0 also keeps one that is not empty, so that two
    members are meant to have a partition; that is left out here.
    """
    for work in works:
        if _is_copied_anew(work):
            assert work.copied is not None
            mine, copied = work.copied
            if mine and not copied and mine == work.group.target_of(work.caller):
                fork = work.fork()
                fork.group = work.group.with_target(work.caller, ())
                yield fork


def reconcile_unmapped_later(work: ConsumerWork) -> list[ConsumerWork]:
    """Bring a caller whose instance was unmapped nearer to its target, as before 4.1."""
    return reconcile_unmapped(work, is_free_at_once=False)


def reconcile_unmapped(work: ConsumerWork, *, is_free_at_once: bool = True) -> list[ConsumerWork]:
    """Bring a caller whose instance was unmapped nearer to its target, or to an empty one.

    The coordinator looks the target up under the new instance and finds nothing, unless the target
    was made anew with this request.
    """
    if work.has_new_target:
        return reconcile(work, is_free_at_once=is_free_at_once)
    if not _waits(work):
        _reconcile(work, ())
    return [work]


def _waits(work: ConsumerWork) -> bool:
    """Return True if the caller has taken over its target, or has partitions to give up first."""
    member = caller(work)
    if work.group.is_reconciled(member):
        return True
    return member.phase is Phase.UNREVOKED and _owns(work.owned, member.revoking)


def _drop_unsubscribed(work: ConsumerWork) -> None:
    """Take partitions of topics to which the caller no longer subscribes, before a new target.

    Where it may own them still, it has to give them up first.
    """
    member = caller(work)
    kept = tuple(row for row in member.assigned if row[0].topic in member.topics)
    if kept == member.assigned:
        return
    pending = tuple(sorted({*member.revoking, *member.assigned} - {*kept}))
    if _owns(work.owned, pending):
        member = replace(member, phase=Phase.UNREVOKED, revoking=pending)
    _change(work, replace(member, previous_epoch=member.epoch, assigned=kept))


def _reconcile(
    work: ConsumerWork,
    target: Partitions,
    *,
    is_free_at_once: bool = True,
    is_heeding: bool = True,
) -> None:
    member, owned = caller(work), work.owned
    kept = tuple(row for row in member.assigned if row[0] in target)
    lost = tuple(row for row in member.assigned if row[0] not in target)
    if lost and _owns(owned, lost):
        gave_up = member.phase is Phase.UNREVOKED and not is_heeding
        changed = replace(
            member,
            epoch=member.epoch + gave_up,
            previous_epoch=member.epoch,
            phase=Phase.UNREVOKED,
            assigned=kept,
            revoking=lost,
        )
    else:
        given_up = member.revoking if is_free_at_once else ()
        changed = _advanced(work, member, target, kept, given_up)
    if changed != member:
        _change(work, changed)


def _change(work: ConsumerWork, changed: Member) -> None:
    """Change the caller; its time to revoke, if it has any, begins anew.

    That of a classic member, from when it was of this protocol or from a failover, goes on as long
    as it keeps its epoch.
    """
    keeps_time = changed.classic is not None and changed.epoch == caller(work).epoch
    work.group = work.group.with_member(changed)
    if keeps_time:
        return
    work.group = work.group.without_timer(REBALANCE, work.caller)
    if changed.phase is Phase.UNREVOKED and changed.classic is None:
        work.set_timer(REBALANCE, work.caller, changed.rebalance_timeout_ms)


def _owns(owned: frozenset[object] | None, rows: Held) -> bool:
    """Return True if the caller may still own one of these; it does unless it says otherwise."""
    return owned is None or any(partition in owned for partition, _ in rows)


def _advanced(
    work: ConsumerWork, member: Member, target: Partitions, kept: Held, given_up: Held
) -> Member:
    """Return the member at its target's epoch, with what is free of its target.

    What was somebody's before this request is free from the next one on, but for `given_up`.
    """
    epoch = work.group.target_epoch
    taken = set() if work.start is None else set(work.start.owned())
    taken -= {partition for partition, _ in given_up}
    mine = {partition for partition, _ in kept}
    missing = [partition for partition in target if partition not in mine]
    free = [(partition, epoch) for partition in missing if partition not in taken]
    return replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        phase=Phase.STABLE if len(free) == len(missing) else Phase.UNRELEASED,
        assigned=tuple(sorted([*kept, *free])),
        revoking=(),
    )


def restart_session(work: ConsumerWork, timeout_ms: int) -> None:
    """Restart the caller's session timer: the group's, or its own for a classic member."""
    member = caller(work)
    own_ms = timeout_ms if member.classic is None else member.classic.session_timeout_ms
    work.set_timer(SESSION, member.member_id, own_ms)


def answer_assignment(work: ConsumerWork, interval_ms: int) -> None:
    """Answer with the caller's epoch and all that it may own."""
    member = caller(work)
    _answer(work, answer_bodies.welcome(member, interval_ms, member.partitions(), work.ids))


def answer_changes(work: ConsumerWork, interval_ms: int, *, tells_all: bool = True) -> None:
    """Answer with the caller's epoch, and with its assignment where it must be told.

    `tells_all`: a heartbeat that gives all fields is told all.
    """
    member = caller(work)
    before = None if work.start is None else work.start.member(work.caller)
    changed = before is None or before.partitions() != member.partitions()
    is_full = tells_all and answer_bodies.is_full(heartbeat(work))
    assignment = member.partitions() if changed or is_full else None
    _answer(work, answer_bodies.welcome(member, interval_ms, assignment, work.ids))


def answer_epoch(work: ConsumerWork) -> None:
    """Answer a leave: with its epoch, and no heartbeat interval."""
    _answer(work, answer_bodies.farewell(heartbeat(work)))


def _answer(work: ConsumerWork, answer: answer_bodies.HeartbeatAnswer) -> None:
    assert work.request is not None
    work.emit(work.request.id, answer)


def store_offsets(work: ConsumerWork) -> None:
    """Store the offsets of the partitions that pass; they survive a failover."""
    assert work.request is not None
    assert isinstance(work.request.message, CommitRequest)
    kept = {(o.topic, o.partition): o for o in work.group.offsets}
    for topic in work.request.message.topics:
        for part in topic.partitions:
            place = topic.name, part.partition_index
            if place in work.named:
                kept[place] = Offset(*place, part.committed_offset, part.committed_metadata)
    work.group = replace(work.group, offsets=tuple(kept[place] for place in sorted(kept)))


def remove_named_offsets(work: ConsumerWork) -> None:
    """Remove the offsets that are named; without any, the group stays the same object."""
    kept = tuple(o for o in work.group.offsets if (o.topic, o.partition) not in work.named)
    if kept != work.group.offsets:
        work.group = replace(work.group, offsets=kept)


def forget(work: ConsumerWork) -> None:
    """Take the group away."""
    work.forget()


def reload(work: ConsumerWork, timeout_ms: int) -> None:
    """Load the stored group: all timers begin anew, with the group's session timeout.

    A member whose stored state is that it has partitions to revoke has its rebalance timeout, even
    if it was released since (KAFKA-20641).
    """
    work.group = replace(work.group, timers=())
    for member in work.group.members:
        work.set_timer(SESSION, member.member_id, timeout_ms)
        if member.phase is Phase.UNREVOKED:
            work.set_timer(REBALANCE, member.member_id, member.rebalance_timeout_ms)


def _fill(work: ConsumerWork) -> None:
    """Mark what the answer of the rule is filled with; the handler does it."""


_EFFECTS: dict[Enum, Effect] = {
    Do.CREATE_GROUP: create_group,
    Do.CREATE_GROUP_AT_ZERO: create_group_at_zero,
    Do.ADD_DYNAMIC: add_dynamic,
    Do.ADD_STATIC: add_static,
    Do.REPLACE_HOLDER: replace_holder,
    Do.FREE_INSTANCE: free_instance,
    Do.MAP_CALLER: map_caller,
    Do.UPDATE_MEMBER: update_member,
    Do.RELEASE: release,
    Do.RELEASE_SETTLED: release_settled,
    Do.REMOVE_MEMBER: remove_member,
    Do.REMOVE_HOLDER: remove_holder,
    Do.BUMP_EPOCH: bump_epoch,
    Do.SETTLE_EMPTY: settle_empty,
    Do.RECONCILE: reconcile,
    Do.RECONCILE_UNHEEDING: reconcile_unheeding,
    Do.RECONCILE_LATER: reconcile_later,
    Do.RECONCILE_UNMAPPED: reconcile_unmapped,
    Do.RECONCILE_UNMAPPED_LATER: reconcile_unmapped_later,
    Do.ANSWER_EPOCH: answer_epoch,
    Do.ANSWER_ROWS: _fill,
    Do.ANSWER_ROWS_UNKNOWN: _fill,
    Do.ANSWER_DESCRIPTION: _fill,
    Do.ANSWER_DESCRIPTION_KEPT: _fill,
    Do.ANSWER_DEAD: _fill,
    Do.ANSWER_STATE: _fill,
    Do.ANSWER_PARTITIONS: _fill,
    Do.REFUSE_ALL: _fill,
    Do.ANSWER_OFFSETS: _fill,
    Do.ANSWER_LISTED: _fill,
    Do.ANSWER_LISTED_CLASSIC: _fill,
    Do.ANSWER_UNLISTED: _fill,
    Do.STORE_OFFSETS: store_offsets,
    Do.REMOVE_NAMED_OFFSETS: remove_named_offsets,
    Do.FORGET: forget,
}


def effects_with(config: Config, *, leaves_open: bool = False) -> Mapping[Enum, Effect]:
    """Return step → effect under a broker's settings.

    `leaves_open`: a new target stays open, instead of one outcome for each.
    """
    at_once = leave_target_open if leaves_open else recompute_target_at_once
    session_ms = config[SESSION_TIMEOUT] or 0
    beat_ms = config[HEARTBEAT_INTERVAL] or 0
    assignment_ms = config[ASSIGNMENT_INTERVAL] or 0
    return {
        **_EFFECTS,
        Do.RECOMPUTE_TARGET_AT_ONCE: at_once,
        Do.RECOMPUTE_TARGET: lambda work: recompute_target(work, at_once, assignment_ms),
        Do.ANSWER_ASSIGNMENT: lambda work: answer_assignment(work, beat_ms),
        Do.ANSWER_CHANGES: lambda work: answer_changes(work, beat_ms),
        Do.ANSWER_CHANGED_TASKS: lambda work: answer_changes(work, beat_ms, tells_all=False),
        Do.RESTART_SESSION: lambda work: restart_session(work, session_ms),
        Do.RELOAD: lambda work: reload(work, session_ms),
    }
