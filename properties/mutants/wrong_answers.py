"""Define mutants with broken answers, and with static maps that point to a missing member.

Answers: the group is right; only the answer has fields that are missing, wrong, or in another
version's shape.

Maps: no rule of the base provides for such a map, so they need more than a changed rule: there is a
row for a mapped instance in an Empty group and for an id that is mapped but of no member, and the
effects that look up a holder accept that there is none.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fencepost.model.classic.cells import WITH_MEMBERS
from fencepost.model.classic.classic_work import ClassicWork, Effect
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.perform import add_static
from fencepost.model.classic.vocabulary import CONSUMERS, MID, STATE, SUBSCRIBED, GroupState, Mid
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Difference, Twist
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.shared_features import INST, Inst
from fencepost.model.table.table import Rule
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    in_turn,
    unless,
)
from fencepost.properties.mutants.mutant import (
    ANSWER,
    ECHO,
    GUARD,
    REPLACE,
    SHAPE,
    Mutant,
    added,
    also,
    but,
    mutant,
    only,
    without,
)


def _retention_over(before: Group, work: ClassicWork) -> None:
    del before
    now = work.span.earliest
    work.group = replace(
        work.group,
        offsets=tuple(
            offset if offset.expires_ms is None else offset._replace(expires_ms=now)
            for offset in work.group.offsets
        ),
    )


def _earlier_retention(before: Group, work: ClassicWork) -> None:
    earlier = {(o.topic, o.partition): o.expires_ms for o in before.offsets}
    work.group = replace(
        work.group,
        offsets=tuple(
            offset._replace(expires_ms=earlier.get((offset.topic, offset.partition)))
            if offset.expires_ms is None
            else offset
            for offset in work.group.offsets
        ),
    )


def _join(answer: Message) -> Message:
    if isinstance(answer, JoinGroupResponse):
        rows = tuple(replace(m, group_instance_id=None) for m in answer.members)
        return replace(answer, members=rows)
    return answer


def _generation(answer: Message) -> Message:
    if isinstance(answer, JoinGroupResponse) and answer.error_code:
        return replace(answer, generation_id=0)
    return answer


def _join_protocol(answer: Message) -> Message:
    if isinstance(answer, JoinGroupResponse):
        return replace(answer, protocol_type=None)
    return answer


def _leave_echo(answer: Message) -> Message:
    if isinstance(answer, LeaveGroupResponse):
        rows = tuple(replace(m, group_instance_id=None) for m in answer.members)
        return replace(answer, members=rows)
    return answer


def _leave_first(answer: Message) -> Message:
    if isinstance(answer, LeaveGroupResponse) and answer.members:
        first = answer.members[0].error_code
        rows = tuple(replace(m, error_code=first) for m in answer.members)
        return replace(answer, members=rows)
    return answer


def _leave_top(answer: Message) -> Message:
    if isinstance(answer, LeaveGroupResponse) and answer.members:
        errors = [m.error_code for m in answer.members if m.error_code]
        return replace(answer, error_code=errors[0]) if errors else answer
    return answer


def _described(answer: Message) -> Message:
    if not isinstance(answer, DescribeGroupsResponse):
        return answer
    groups = tuple(
        replace(g, members=tuple(replace(m, group_instance_id=None) for m in g.members))
        for g in answer.groups
    )
    return replace(answer, groups=groups)


ANSWERS: tuple[Mutant, ...] = (
    mutant(
        "members-without-instance",
        "the leader doesn't get the members' instances, and can't keep assignments across restarts",
        SHAPE,
        distort=_join,
    ),
    mutant(
        "refused-join-with-generation",
        "a refused join is answered generation 0 instead of -1",
        ANSWER,
        distort=_generation,
    ),
    mutant(
        "join-without-protocol-type",
        "from Join version 7 on the protocol type is missing",
        SHAPE,
        distort=_join_protocol,
    ),
    mutant(
        "leave-without-instance",
        "the rows of a leave don't echo the instances",
        ECHO,
        distort=_leave_echo,
    ),
    mutant(
        "leave-rows-alike",
        "every row of a leave gets the error of the first",
        ANSWER,
        distort=_leave_first,
    ),
    mutant(
        "leave-row-error-on-top",
        "an error of one row refuses the whole leave, as below version 3",
        SHAPE,
        distort=_leave_top,
    ),
    mutant(
        "described-without-instance",
        "members are described without their instances",
        SHAPE,
        distort=_described,
    ),
    mutant(
        "join-in-old-shape",
        "joins of version 7 and 8 are answered in the shape of version 6",
        SHAPE,
        answer_versions={("JoinGroup", 7): 6, ("JoinGroup", 8): 6},
    ),
    mutant(
        "leave-in-new-shape",
        "leaves of version 1 and 2 are answered in the shape of version 3, with rows",
        SHAPE,
        answer_versions={("LeaveGroup", 1): 3, ("LeaveGroup", 2): 3},
    ),
    mutant(
        "members-deleted",
        "a group is deleted with its members, also with static ones that are away",
        GUARD,
        but("DELETE-MEMBERS", effect=(Do.FORGET,), answer=Error.NONE),
    ),
    mutant(
        "deleted-group-stays",
        "a group that is deleted stays, with its generation and its offsets",
        ANSWER,
        without("DELETE-EMPTY", Do.FORGET),
    ),
    mutant(
        "empty-group-undeletable",
        "a group without members can't be deleted",
        GUARD,
        but("DELETE-EMPTY", effect=(), answer=Error.NON_EMPTY_GROUP),
    ),
    mutant(
        "subscribed-offsets-deleted",
        "the offsets of a topic that members read, also static ones that are away, are deleted",
        GUARD,
        but("OFFSET-DELETE-SUBSCRIBED", effect=(Do.REMOVE_NAMED_OFFSETS,), answer=Error.NONE),
    ),
    mutant(
        "unread-offsets-undeletable",
        "a group with members has none of its offsets deleted",
        GUARD,
        but("OFFSET-DELETE-UNSUBSCRIBED", effect=(), answer=Error.GROUP_SUBSCRIBED_TO_TOPIC),
    ),
    mutant(
        "offset-deletion-keeps-offsets",
        "offsets that are deleted while nobody is a member are still there",
        ANSWER,
        without("OFFSET-DELETE-EMPTY", Do.REMOVE_NAMED_OFFSETS),
        without("OFFSET-DELETE-LAST", Do.REMOVE_NAMED_OFFSETS),
    ),
    mutant(
        "offset-deletion-unchecked",
        "a deletion of offsets says of a group or topic that doesn't exist that it was done",
        ANSWER,
        but("OFFSET-DELETE-ABSENT", answer=Error.NONE),
        but("OFFSET-DELETE-TOPIC-UNKNOWN", answer=Error.NONE),
        but("OFFSET-DELETE-TYPE", answer=Error.NONE),
    ),
    mutant(
        "offsets-expire-in-a-rebalance",
        "while a group rebalances, offsets expire of topics that nobody read (KAFKA-13636)",
        GUARD,
        only("RETENTION-REBALANCING", SUBSCRIBED.among(True)),
        but(
            "RETENTION-UNSUBSCRIBED",
            guard=all_of(
                STATE.among(*WITH_MEMBERS), CONSUMERS.among(True), SUBSCRIBED.among(False)
            ),
        ),
    ),
    mutant(
        "subscribed-offsets-expire",
        "offsets expire of a topic that members read, also static ones that are away",
        GUARD,
        but("RETENTION-SUBSCRIBED", effect=(Do.REMOVE_EXPIRED_OFFSETS,)),
    ),
    mutant(
        "offsets-of-no-consumers-expire",
        "offsets expire while the group has members that are no consumers",
        GUARD,
        but("RETENTION-TYPE", effect=(Do.REMOVE_EXPIRED_OFFSETS,)),
    ),
    mutant(
        "retention-cut-short",
        "a commit with a retention is stored as if the retention were over",
        ANSWER,
        twists={Do.STORE_OFFSETS: afterwards(_retention_over)},
    ),
    mutant(
        "retention-of-an-earlier-commit",
        "a later commit without a retention leaves the offset that of an earlier one",
        ANSWER,
        twists={Do.STORE_OFFSETS: afterwards(_earlier_retention)},
    ),
    mutant(
        "empty-group-unlisted",
        "a group without members is not in the list, though its offsets are there",
        GUARD,
        only("LIST-GROUP", negate(STATE.among(GroupState.EMPTY))),
        also("LIST-NO-GROUP", STATE.among(GroupState.EMPTY)),
    ),
)


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


def _is_ghost(work: ClassicWork) -> bool:
    holder = work.group.holder(work.instance or "")
    return holder is not None and work.group.member(holder) is None


def _bearing(new_id: Callable[[ClassicWork, str], str]) -> Twist:
    """Make a replacement that adds a missing member, under the id that this returns."""

    def twist(own: Effect) -> Effect:
        def effect(work: ClassicWork) -> list[ClassicWork] | None:
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


def _fresh(work: ClassicWork, _: str) -> str:
    assert work.request is not None
    return work.request.fresh_id


def _evicted(_: ClassicWork, ghost: str) -> str:
    return ghost


def _kept(before: Group, work: ClassicWork) -> None:
    """Restore the entries that went with their member."""
    for instance, member_id in before.static:
        if work.group.holder(instance) is None:
            work.group = work.group.with_mapping(instance, member_id)


def _kept_at(prefix: str) -> Twist:
    def after(before: Group, work: ClassicWork) -> None:
        if work.rule.startswith(prefix):
            _kept(before, work)

    return afterwards(after)


def _kept_behind(before: Group, work: ClassicWork) -> None:
    """Restore the entry of a row that comes behind another that names an instance."""
    assert work.request is not None
    leave = work.request.message
    assert isinstance(leave, LeaveGroupRequest)
    named = [row.group_instance_id for row in leave.rows(work.request.version)]
    if any(instance is not None for instance in named[: named.index(work.instance)]):
        _kept(before, work)


def _old_mapping(own: Effect) -> Effect:
    """Replace the member, but leave the old id in the map."""

    def effect(work: ClassicWork) -> list[ClassicWork] | None:
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
        "batch-keeps-later-mappings",
        "of several instances that one request removes only the first leaves the map",
        REPLACE,
        *_ROWS,
        twists={
            Do.REMOVE_HOLDER: in_turn(afterwards(_kept_behind), unless(_is_ghost)),
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
