"""Abstract a group or an event of the classic protocol to the structure that formulas speak of.

Of a request the abstraction keeps the id and instance that it names, the fresh id, the answer, and
the changes by its protocols.  A batch of several rows names several members and no single one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from fencepost.model.classic import features
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import JOIN, SESSION, SYNC, Group
from fencepost.model.classic.vocabulary import Change, GroupState, Mid, Offer, Trigger
from fencepost.model.messages.draft_messages import (
    MemberNameJoinGroupRequest,
    TupleListLeaveGroupRequest,
    TwoListLeaveGroupRequest,
)
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest
from fencepost.model.table.shared_features import Inst
from fencepost.model.table.table import Rule
from fencepost.model.work import CLEANUP as CLEANUP_TIMER
from fencepost.model.work import RETENTION as RETENTION_TIMER
from fencepost.model.work import Emission, Incoming, Timer
from fencepost.properties.logic.classic_signature import (
    CLASSIC_SIGNATURE,
    CLEANUP,
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    RETENTION,
    SESSION_END,
    SYNC_PHASE,
)
from fencepost.properties.logic.structures import Abstraction
from fencepost.properties.worlds.views import StepView

Ids = frozenset[str]
_NO_IDS: frozenset[Any] = frozenset()


@dataclass(frozen=True, slots=True)
class AbstractEvent:
    """An event as formulas see it.  "" and None: absent."""

    event: str
    deciding_rule: str = ""
    answer: Error | None = None
    the_id_sent: str = ""
    the_instance_sent: str | None = None
    the_fresh_id: str = ""
    the_timers_id: str = ""
    named: Ids = _NO_IDS
    selected_protocol: Hashable = Change.MEANINGLESS
    protocols: Hashable = Change.MEANINGLESS
    trigger: Trigger | None = None

    @property
    def mid_given(self) -> bool:
        """True if a member id is sent."""
        return bool(self.the_id_sent)

    @property
    def inst_given(self) -> bool:
        """True if an instance is sent."""
        return self.the_instance_sent is not None


def abstract_event(view: StepView) -> AbstractEvent:
    """Return the event of a step as formulas see it; a batch of several rows names no single id."""
    event = view.event
    if isinstance(event, Incoming):
        return _request(view, event)
    rule = view.rules[0].id if view.rules else ""
    if isinstance(event, Timer):
        kinds = {
            SESSION: SESSION_END,
            JOIN: JOIN_PHASE,
            SYNC: SYNC_PHASE,
            CLEANUP_TIMER: CLEANUP,
            RETENTION_TIMER: RETENTION,
        }
        if event.kind == RETENTION_TIMER:  # its subject is a topic, and no id
            return AbstractEvent(RETENTION, rule)
        named = _one_id(event.subject or None)
        return AbstractEvent(kinds[event.kind], rule, the_timers_id=event.subject, named=named)
    return AbstractEvent(FAILOVER, rule)


def sent_pairs(request: Incoming) -> tuple[tuple[str, str | None], ...] | None:
    """Return the (member id, instance) pairs of a leave, row by row; None for another request."""
    match request.message:
        case LeaveGroupRequest() as leave:
            rows = leave.rows(request.version)
            return tuple((row.member_id, row.group_instance_id) for row in rows)
        case TwoListLeaveGroupRequest() as leave:
            instances = leave.group_instance_id_list
            pairs = zip(leave.member_id_list, instances, strict=False)
            return tuple((member_id, instance or None) for member_id, instance in pairs)
        case TupleListLeaveGroupRequest() as leave:
            return tuple(
                (row.member_id, row.group_instance_id or None) for row in leave.member_identity_list
            )
        case _:
            return None


def _request(view: StepView, request: Incoming) -> AbstractEvent:
    message = request.message
    rows = sent_pairs(request)
    rule = _deciding(view.rules)
    if rows is not None and len(rows) != 1:
        named = _NO_IDS.union(*(_named(view.before, *row) for row in rows))
        return AbstractEvent(
            "LeaveGroup",
            rule,
            first_error(view, request),
            the_fresh_id=request.fresh_id,
            named=named,
        )
    if rows is not None:
        name = LEAVE_ROW
        member_id, instance = rows[0]
    else:
        name = request.api.partition("/")[0]
        member_id = getattr(message, "member_id", "")
        if isinstance(message, MemberNameJoinGroupRequest):
            instance = message.member_name or None
        else:
            instance = getattr(message, "group_instance_id", None)
    selection, subscription = _offered(view.before, message, member_id, instance)
    return AbstractEvent(
        name,
        rule,
        first_error(view, request),
        member_id,
        instance,
        request.fresh_id,
        "",
        _named(view.before, member_id, instance),
        selection,
        subscription,
    )


def _named(group: Group | None, member_id: str, instance: str | None) -> Ids:
    if member_id:
        return frozenset([member_id])
    if group is None or instance is None:
        return _NO_IDS
    return _one_id(group.holder(instance))


def _deciding(rules: tuple[Rule, ...]) -> str:
    """Return the rule that decides: behind those that only pass on the rows of a leave."""
    for rule in rules:
        if Do.ANSWER_ROWS not in rule.effect and rule.id != "LEAVE-BATCH":
            return rule.id
    return rules[0].id if rules else ""


def _offered(
    group: Group | None, message: Any, member_id: str, instance: str | None
) -> tuple[Change, Change]:
    """Return the changes by an offer of protocols: of the selected (or a tie), of the member's."""
    protocols = getattr(message, "protocols", None)
    if group is None or protocols is None:
        return Change.MEANINGLESS, Change.MEANINGLESS
    if (member := group.member(member_id)) is not None:
        same = member.protocols == protocols
        return Change.MEANINGLESS, Change.UNCHANGED if same else Change.CHANGED
    if (
        not isinstance(message, JoinGroupRequest)
        or group.state is not GroupState.STABLE
        or features.mid(group, member_id) is not Mid.EMPTY
        or features.inst(group, instance, member_id) is not Inst.OTHER
        or features.offer(group, message) is not Offer.SUPPORTED
    ):
        return Change.MEANINGLESS, Change.MEANINGLESS
    changes = features.selections(group, message)
    kept = changes == (Change.UNCHANGED,)
    return Change.UNCHANGED if kept else Change.CHANGED, Change.MEANINGLESS


def _own(view: StepView, request_id: str) -> Emission | None:
    for emission in view.emissions:
        if emission.request_id == request_id:
            return emission
    return None


def first_error(view: StepView, request: Incoming) -> Error | None:
    """Return the error (or NONE) in the answer to the request; of rows and topics, the first."""
    emission = _own(view, request.id)
    message: Any = None if emission is None else emission.message
    if message is None:
        return None
    codes = list(_codes(message))
    return next((Error(code) for code in codes if code != Error.NONE.value), Error.NONE)


def _codes(message: Any) -> Iterator[int | str]:
    if hasattr(message, "error_code"):
        yield message.error_code
    for name in ("members", "topics", "partitions"):
        for row in (getattr(message, name, None) or ())[:1]:
            yield from _codes(row)


def ids_in_answer(view: StepView) -> Ids:
    """Return the ids that the answer to the request contains, or will contain."""
    if not isinstance(view.event, Incoming):
        return _NO_IDS
    emission = _own(view, view.event.id)
    if emission is not None and isinstance(emission.message, JoinGroupResponse):
        return _one_id(emission.message.member_id or None)
    members = () if view.after is None else view.after.members
    waiting = (m for m in members if m.joining is not None)
    return frozenset(
        [m.member_id for m in waiting if m.joining and m.joining.request_id == view.event.id]
    )


def _one_id(member_id: str | None) -> Ids:
    return _NO_IDS if member_id is None else frozenset([member_id])


Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AbstractGroup:
    """A group as formulas see it: one field for each relation, number and question."""

    state: GroupState = GroupState.ABSENT
    stored_state: GroupState = GroupState.ABSENT
    the_generation: int = 0
    the_stored_generation: int = 0
    member: Ids = _NO_IDS
    pending: Ids = _NO_IDS
    seat: Pairs = _NO_IDS
    holds: Pairs = _NO_IDS
    leads: Ids = _NO_IDS
    parked: Ids = _NO_IDS
    syncing: Ids = _NO_IDS
    new: Ids = _NO_IDS
    owes: Ids = _NO_IDS
    session: Ids = _NO_IDS
    join_timer: bool = False
    sync_timer: bool = False
    delayed: bool = False
    offsets: bool = False
    stored_member: Ids = _NO_IDS
    stored_seat: Pairs = _NO_IDS
    stored_holds: Pairs = _NO_IDS
    stored_leads: Ids = _NO_IDS
    caller: Ids = _NO_IDS
    deferred: bool = False

    def differences(self, other: AbstractGroup) -> tuple[str, ...]:
        """Return the names of the fields that differ, but for `caller`, which is part of a step."""
        names = (each.name for each in fields(self) if each.name != "caller")
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))


_NO_GROUP = AbstractGroup()


def abstract_group(group: Group | None) -> AbstractGroup:
    """Return the group as formulas see it."""
    if group is None:
        return _NO_GROUP
    members = group.members
    stored = group.stored
    timers = group.timers
    return AbstractGroup(
        group.state,
        GroupState.ABSENT if stored is None else stored.state,
        group.generation_id,
        0 if stored is None else stored.generation_id,
        frozenset([m.member_id for m in members]),
        frozenset(group.pending),
        _seats(group),
        frozenset(group.static),
        _one_id(group.leader),
        frozenset([m.member_id for m in members if m.joining is not None]),
        frozenset([m.member_id for m in members if m.syncing is not None]),
        frozenset([m.member_id for m in members if m.new]),
        frozenset([m.member_id for m in members if m.owes_sync]),
        frozenset([t.subject for t in timers if t.kind == SESSION]),
        any(t.kind == JOIN for t in timers),
        any(t.kind == SYNC for t in timers),
        group.delay is not None,
        bool(group.offsets),
        _NO_IDS if stored is None else frozenset([m.member_id for m in stored.members]),
        _NO_IDS if stored is None else _seats(stored),
        _NO_IDS if stored is None else frozenset(stored.static),
        _NO_IDS if stored is None else _one_id(stored.leader),
    )


def _seats(group: Group) -> Pairs:
    return frozenset(
        [
            (m.member_id, m.group_instance_id)
            for m in group.members
            if m.group_instance_id is not None
        ]
    )


CLASSIC = Abstraction(CLASSIC_SIGNATURE, _NO_GROUP, abstract_group, abstract_event, ids_in_answer)
"""The abstraction of the classic protocol."""
abstract_step, compiled, evaluate = CLASSIC.step, CLASSIC.compiled, CLASSIC.evaluate
