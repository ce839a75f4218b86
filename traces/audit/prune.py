"""Drop states early: those that gave an answer that the log contradicts further down.

The oracle would find the contradiction when it reaches that line.  By then it would have tried
dozens of overlapping requests in every order.
"""

from __future__ import annotations

from fencepost.model.messages.messages import (
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message


def contradicts(expected: Message, observed: Message, *, strict: bool) -> bool:
    """Return whether an answer of the model can't be the one that was read.

    `strict`: one error for another is a contradiction, too, and so is another generation.
    """
    match expected, observed:
        case JoinGroupResponse(), JoinGroupResponse():
            if _differ(expected.error_code, observed.error_code, strict=strict):
                return True
            if expected.error_code != 0:
                return False
            if strict and expected.generation_id != observed.generation_id:
                return True
            return len(expected.members) != len(observed.members)
        case LeaveGroupResponse(), LeaveGroupResponse():
            return _differ(expected.error_code, observed.error_code, strict=strict) or any(
                _differ(a.error_code, b.error_code, strict=strict)
                for a, b in zip(expected.members, observed.members, strict=False)
            )
        case OffsetCommitResponse(), OffsetCommitResponse():
            pairs = zip(expected.topics, observed.topics, strict=False)
            return any(
                _differ(p.error_code, q.error_code, strict=strict)
                for a, b in pairs
                for p, q in zip(a.partitions, b.partitions, strict=False)
            )
        case DescribeGroupsResponse(), DescribeGroupsResponse():
            return any(
                a.group_state != b.group_state or len(a.members) != len(b.members)
                for a, b in zip(expected.groups, observed.groups, strict=False)
            )
    ours, theirs = getattr(expected, "error_code", 0), getattr(observed, "error_code", 0)
    return _differ(ours, theirs, strict=strict)


def _differ(expected: int | str, observed: int | str, *, strict: bool) -> bool:
    if strict:
        return expected != observed
    return (expected == 0) is not (observed == 0)
