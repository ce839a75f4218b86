"""Translate the requests of drafts that never shipped into the shipped ones, and answers back.

In a draft's leave either all rows of the batch are valid, or none is handled; the answer is one
error at top level.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from fencepost.model.classic import features
from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import Mid
from fencepost.model.machine import Machine
from fencepost.model.messages.draft_messages import (
    DraftLeaveGroupResponse,
    MemberNameJoinGroupRequest,
    TupleListLeaveGroupRequest,
    TwoListLeaveGroupRequest,
)
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
)
from fencepost.model.table.shared_features import Inst
from fencepost.model.work import Emission, Incoming, Outcome

Finish = Callable[[tuple[Outcome, ...]], tuple[Outcome, ...]]


def translate(
    machine: Machine, group: Group | None, request: Incoming
) -> tuple[Incoming | None, Finish]:
    """Return the equivalent shipped request, and a function that translates its outcomes.

    None instead of a request: the draft refuses it, and the function alone makes the outcomes.
    Raises TypeError for a message of no API.
    """
    message = request.message
    match message:
        case MemberNameJoinGroupRequest():
            join = JoinGroupRequest(
                group_id=message.group_id,
                session_timeout_ms=message.session_timeout_ms,
                rebalance_timeout_ms=message.rebalance_timeout_ms,
                member_id=message.member_id,
                group_instance_id=message.member_name or None,
                protocol_type=message.protocol_type,
                protocols=message.protocols,
            )
            return replace(request, message=join), lambda outcomes: outcomes
        case TwoListLeaveGroupRequest():
            aligned = len(message.group_instance_id_list) == len(message.member_id_list)
            pairs = list(zip(message.group_instance_id_list, message.member_id_list, strict=False))
        case TupleListLeaveGroupRequest():
            aligned = True
            pairs = [(row.group_instance_id, row.member_id) for row in message.member_identity_list]
        case _:
            raise TypeError(f"{type(message).__name__} is a message of no API")
    return _leave(machine, group, request, pairs, aligned=aligned)


def _leave(
    machine: Machine,
    group: Group | None,
    request: Incoming,
    pairs: list[tuple[str, str]],
    *,
    aligned: bool,
) -> tuple[Incoming | None, Finish]:
    rows = tuple(
        LeavingMember(member_id=mid, group_instance_id=inst or None) for inst, mid in pairs
    )
    rule = machine.decide("LeaveGroup batch", _batch_point(group, rows, aligned=aligned))
    assert rule.answer is not None
    code: int | str = rule.answer.value

    def refuse(_: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        emission = Emission(request.id, DraftLeaveGroupResponse(error_code=code), rule.id)
        return (Outcome(group, (emission,), (rule.id,)),)

    if code:
        return None, refuse
    group_id = getattr(request.message, "group_id", "")
    base = replace(request, message=LeaveGroupRequest(group_id=group_id, members=rows))

    def finish(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        return tuple(
            replace(
                outcome,
                emissions=tuple(_draft_answer(e) for e in outcome.emissions),
                rules=(rule.id, *outcome.rules),
            )
            for outcome in outcomes
        )

    return base, finish


def _draft_answer(emission: Emission) -> Emission:
    if not isinstance(emission.message, LeaveGroupResponse):
        return emission
    return replace(
        emission, message=DraftLeaveGroupResponse(error_code=emission.message.error_code)
    )


def _batch_point(
    group: Group | None, rows: tuple[LeavingMember, ...], *, aligned: bool
) -> tuple[bool, ...]:
    """Make the point of the batch; the features are those of `draft_leave.BATCH`, in order."""
    kinds = [
        (
            features.mid(group, row.member_id),
            features.inst(group, row.group_instance_id, row.member_id),
        )
        for row in rows
    ]
    nobody = all(kind == (Mid.EMPTY, Inst.NONE) for kind in kinds)
    return (
        aligned,
        nobody,
        any(inst is Inst.UNMAPPED for _, inst in kinds),
        any(inst is Inst.OTHER and mid is not Mid.EMPTY for mid, inst in kinds),
        any(mid is Mid.UNKNOWN and inst is Inst.NONE for mid, inst in kinds),
    )
