"""Broken answers: fields that are missing, wrong, or in another version's shape.

What the group does is right; only the answer is wrong.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.table.expr import negate
from fencepost.model.table.vocabulary import STATE, GroupState
from fencepost.properties.mutants.mutant import (
    ANSWER,
    ECHO,
    GUARD,
    SHAPE,
    Mutant,
    also,
    mutant,
    only,
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
        "the leader isn't told the members' instances, and can't keep assignments across restarts",
        SHAPE,
        distort=_join,
    ),
    mutant(
        "refused-join-with-generation",
        "a refused join tells generation 0 instead of -1",
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
        "every row of a leave is told what became of the first",
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
        "empty-group-unlisted",
        "a group without members is not in the list, though its offsets are there",
        GUARD,
        only("LIST-GROUP", negate(STATE.among(GroupState.EMPTY))),
        also("LIST-NO-GROUP", STATE.among(GroupState.EMPTY)),
    ),
)
