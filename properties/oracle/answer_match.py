"""Compare an answer with the model's: equal, nearly equal (a deviation), or no match.

Ids that the model made up are bound to those that the target chose, which must be new; the order of
members means nothing.  If the target answers one error where the model gives another, the group is
unchanged in both.  So the history is followed further, and the answer matches with a deviation, as
severe as the rule is binding.  Success where the model gives an error (or the other way round), or
another generation, id, leader, member list or assignment, is no match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any

from msgspec.structs import replace

from fencepost.model.messages.consumer_messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
)
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    CommitResponse,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsResponse,
    FetchedTopic,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.streams_messages import (
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatResponse,
)
from fencepost.model.messages.subscription import assign_alike
from fencepost.model.table.table import Level
from fencepost.properties.oracle.consumer_answers import (
    compare_descriptions,
    compare_heartbeats,
    compare_streams_descriptions,
    compare_tasks,
)
from fencepost.properties.oracle.matcher import FRESH, Match, Matcher, NoMatchError

_REQUIRED = Error.MEMBER_ID_REQUIRED.value
MOST_NEW = 6
"""With more new members in one answer, the orders are too many to try."""


def matches(
    expected: Message,
    observed: Message,
    level: Level,
    known_ids: frozenset[str],
    last_generation: int = -1,
    *,
    unordered: bool = False,
    last: Message | None = None,
) -> list[Match]:
    """Return the ways in which an observed answer is the expected one; none if it can't be.

    `known_ids`: the ids in earlier answers; `last_generation`: the last generation in an answer of
    the group; `level`: the level of the rule that answers; `unordered`, `last`: see `Matcher`.
    """
    ways: list[Match] = []
    for order in _member_orders(expected, observed):
        matcher = Matcher(level, known_ids, last_generation, unordered=unordered, last=last)
        try:
            _compare(matcher, expected, observed, order)
        except NoMatchError:
            continue
        if matcher.match.bindings not in [m.bindings for m in ways]:
            ways.append(matcher.match)
    return ways


def first_difference(
    expected: Message,
    observed: Message,
    level: Level,
    known_ids: frozenset[str],
    last_generation: int = -1,
    *,
    unordered: bool = False,
) -> str:
    """Explain why an answer is not the expected one."""
    matcher = Matcher(level, known_ids, last_generation, unordered=unordered)
    try:
        _compare(matcher, expected, observed, next(_member_orders(expected, observed)))
    except NoMatchError as error:
        name, want, got = error.args
        if name.endswith("errorCode"):
            return f"{name} is {error_name(got)} instead of {error_name(want)}"
        return f"{name} is {_plain(got)} instead of {_plain(want)}"
    return ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def _member_orders(expected: Message, observed: Message) -> Iterator[tuple[Any, ...]]:
    """Yield every way to put the expected members beside the observed ones that could fit.

    For an answer about several groups, an order for each of them.
    """
    match expected, observed:
        case JoinGroupResponse(), JoinGroupResponse():
            yield from _orders(expected.members, observed.members)
        case DescribeGroupsResponse(), DescribeGroupsResponse():
            theirs = {g.group_id: g.members for g in observed.groups}
            each = (_orders(g.members, theirs.get(g.group_id, ())) for g in expected.groups)
            yield from product(*each)
        case _:
            yield ()


def has_too_many_new(message: Message) -> bool:
    """Return True if some group has too many new members to try all orders.

    Instance ids identify members, so only new members without one, or with equal ones, are counted.
    """
    rows: list[Sequence[Any]]
    match message:
        case JoinGroupResponse():
            rows = [message.members]
        case DescribeGroupsResponse():
            rows = [group.members for group in message.groups]
        case _:
            return False
    new = ((row, [i for i, member in enumerate(row) if _is_new(member)]) for row in rows)
    return any(len(alike) > MOST_NEW for each in new for alike in _by_seat(*each).values())


def _orders(expected: Sequence[Any], got: Sequence[Any]) -> Iterator[tuple[int, ...]]:
    place = {row.member_id: j for j, row in enumerate(got)}
    known = {i: place.get(row.member_id) for i, row in enumerate(expected) if not _is_new(row)}
    if len(expected) != len(got) or None in known.values():
        yield ()
        return
    taken = set(known.values())
    rest = [j for j in range(len(got)) if j not in taken]
    new = [i for i in range(len(expected)) if i not in known]
    ours, theirs = _by_seat(expected, new), _by_seat(got, rest)
    anywhere = ours.pop(None, [])
    seated = [i for alike in ours.values() for i in alike]
    for seats in product(*(permutations(theirs.get(k, []), len(v)) for k, v in ours.items())):
        sat = [j for alike in seats for j in alike]
        for others in permutations(sorted(set(rest).difference(sat))):
            order = {**known, **dict(zip((*seated, *anywhere), (*sat, *others), strict=True))}
            yield tuple(int(order[i] or 0) for i in range(len(expected)))
            if len(anywhere) > MOST_NEW:
                return
    if rest:
        yield ()


def _by_seat(rows: Sequence[Any], places: Sequence[int]) -> dict[str | None, list[int]]:
    """Return the places of members by their instance id; None for those that have none."""
    alike: dict[str | None, list[int]] = {}
    for i in places:
        alike.setdefault(rows[i].group_instance_id or None, []).append(i)
    return alike


def _is_new(row: Any) -> bool:
    """Return True if the model made up this member's id."""
    return bool(row.member_id.startswith(FRESH))


def _compare(m: Matcher, expected: Message, observed: Message, order: tuple[Any, ...]) -> None:
    match expected, observed:
        case JoinGroupResponse(), JoinGroupResponse():
            _join(m, expected, observed, order)
        case SyncGroupResponse(), SyncGroupResponse():
            if m.error("errorCode", expected.error_code, observed.error_code):
                assigned = expected.assignment, observed.assignment
                if not (m.unordered and assign_alike(*assigned)):
                    m.same("assignment", *assigned)
            for name, want, got in (
                ("protocolType", expected.protocol_type, observed.protocol_type),
                ("protocolName", expected.protocol_name, observed.protocol_name),
            ):  # a client gives up on another one than that of its join, but not on none
                m.nearly(name, want, got, Level.SHOULD if want and got else Level.MAY)
        case HeartbeatResponse(), HeartbeatResponse():
            m.error("errorCode", expected.error_code, observed.error_code)
        case LeaveGroupResponse(), LeaveGroupResponse():
            _leave(m, expected, observed)
        case OffsetCommitResponse(), OffsetCommitResponse():
            _commit(m, expected, observed)
        case TxnOffsetCommitResponse(), TxnOffsetCommitResponse():
            _commit(m, expected, observed)
        case OffsetFetchResponse(), OffsetFetchResponse():
            _fetch(m, expected, observed)
        case DescribeGroupsResponse(), DescribeGroupsResponse():
            m.same("groups", len(expected.groups), len(observed.groups))
            ours = {g.group_id: g for g in observed.groups}
            for row, places in zip(expected.groups, order, strict=True):
                if row.group_id not in ours:
                    m.differs("groups", row.group_id, sorted(ours))
                _describe(m, row, ours[row.group_id], places)
        case ConsumerGroupHeartbeatResponse(), ConsumerGroupHeartbeatResponse():
            compare_heartbeats(m, expected, observed)
        case StreamsGroupHeartbeatResponse(), StreamsGroupHeartbeatResponse():
            compare_tasks(m, expected, observed)
        case ConsumerGroupDescribeResponse(), ConsumerGroupDescribeResponse():
            compare_descriptions(m, expected, observed)
        case StreamsGroupDescribeResponse(), StreamsGroupDescribeResponse():
            compare_streams_descriptions(m, expected, observed)
        case ListGroupsResponse(), ListGroupsResponse():
            m.error("errorCode", expected.error_code, observed.error_code)
            m.same("groups", _listed(expected), _listed(observed))
        case OffsetDeleteResponse(), OffsetDeleteResponse():
            m.error("errorCode", expected.error_code, observed.error_code)
            right, codes = _codes(expected), _codes(observed)
            m.same("topics", sorted(right), sorted(codes))
            for (topic, partition), code in right.items():
                at = f"topics[{topic}].partitions[{partition}].errorCode"
                m.error(at, code, codes[topic, partition])
        case DeleteGroupsResponse(), DeleteGroupsResponse():
            rows = {row.group_id: row.error_code for row in observed.results}
            both = expected.results, observed.results
            m.same("results", *(sorted(row.group_id for row in each) for each in both))
            for deleted in expected.results:
                at = f"results[{deleted.group_id}].errorCode"
                m.error(at, deleted.error_code, rows[deleted.group_id])
        case _:
            if hasattr(expected, "error_code") and type(expected) is type(observed):
                m.error("errorCode", expected.error_code, getattr(observed, "error_code", 0))
            else:
                m.same("answer", type(expected).__name__, type(observed).__name__)


def _join(
    m: Matcher, expected: JoinGroupResponse, observed: JoinGroupResponse, order: tuple[int, ...]
) -> None:
    if not m.error("errorCode", expected.error_code, observed.error_code):
        made_up = expected.member_id.startswith(FRESH)
        if made_up and (observed.member_id or expected.error_code == _REQUIRED):
            m.member_id("memberId", expected.member_id, observed.member_id)
        else:
            m.nearly("memberId", expected.member_id, observed.member_id, Level.SHOULD)
        m.nearly("generationId", expected.generation_id, observed.generation_id, Level.SHOULD)
        m.nearly("leader", expected.leader, observed.leader, Level.MAY)
        m.same("members", 0, len(observed.members))
        return
    m.generation(expected.generation_id, observed.generation_id)
    m.same("protocolName", expected.protocol_name, observed.protocol_name)
    m.nearly("protocolType", expected.protocol_type, observed.protocol_type, Level.SHOULD)
    m.same("members", len(expected.members), len(observed.members))
    m.member_id("memberId", expected.member_id, observed.member_id)
    if len(order) != len(expected.members):
        expected_ids = sorted(r.member_id for r in expected.members)
        m.differs("members", expected_ids, sorted(r.member_id for r in observed.members))
    for row, place in zip(expected.members, order, strict=True):
        got = observed.members[place]
        m.member_id("members.memberId", row.member_id, got.member_id)
        m.same("members.groupInstanceId", row.group_instance_id, got.group_instance_id)
        m.same("members.metadata", row.metadata, got.metadata)
    m.member_id("leader", expected.leader, observed.leader)
    m.same("skipAssignment", expected.skip_assignment, observed.skip_assignment)


def _leave(m: Matcher, expected: LeaveGroupResponse, observed: LeaveGroupResponse) -> None:
    m.error("errorCode", expected.error_code, observed.error_code)
    m.same("members", len(expected.members), len(observed.members))
    for i, (row, got) in enumerate(zip(expected.members, observed.members, strict=True)):
        m.error(f"members[{i}].errorCode", row.error_code, got.error_code)
        m.nearly(f"members[{i}].memberId", row.member_id, got.member_id, Level.SHOULD)
        m.nearly(
            f"members[{i}].groupInstanceId",
            row.group_instance_id,
            got.group_instance_id,
            Level.SHOULD,
        )


def _commit(m: Matcher, expected: CommitResponse, observed: CommitResponse) -> None:
    want, got = _codes(expected), _codes(observed)
    m.same("topics", sorted(want), sorted(got))
    for (topic, partition), code in sorted(want.items()):
        m.error(f"topics[{topic}-{partition}].errorCode", code, got[topic, partition])


def _fetch(m: Matcher, expected: OffsetFetchResponse, observed: OffsetFetchResponse) -> None:
    def offsets(topics: tuple[FetchedTopic, ...]) -> dict[tuple[str, int], tuple[int, Any]]:
        return {
            (t.called, p.partition_index): (p.committed_offset, p.error_code)
            for t in topics
            for p in t.partitions
        }

    m.error("errorCode", expected.error_code, observed.error_code)
    m.same("topics", offsets(expected.topics), offsets(observed.topics))
    got = {g.group_id: g for g in observed.groups}
    m.same("groups", sorted(g.group_id for g in expected.groups), sorted(got))
    for row in expected.groups:
        m.error("groups.errorCode", row.error_code, got[row.group_id].error_code)
        m.same("groups.topics", offsets(row.topics), offsets(got[row.group_id].topics))


def _describe(m: Matcher, row: DescribedGroup, got: DescribedGroup, order: tuple[int, ...]) -> None:
    m.error("groups.errorCode", row.error_code, got.error_code)
    m.same("groups.groupState", row.group_state, got.group_state)
    stable = row.group_state == "Stable"
    if row.group_state not in {"Dead", "Empty", ""}:
        m.nearly("groups.protocolType", row.protocol_type, got.protocol_type, Level.SHOULD)
    if stable:
        m.same("groups.protocolData", row.protocol_data, got.protocol_data)
    m.same("groups.members", len(row.members), len(got.members))
    if len(order) != len(row.members):
        expected_ids = sorted(r.member_id for r in row.members)
        m.differs("groups.members", expected_ids, sorted(r.member_id for r in got.members))
    for member, place in zip(row.members, order, strict=True):
        got_member = got.members[place]
        m.member_id("groups.members.memberId", member.member_id, got_member.member_id)
        m.same(
            "groups.members.groupInstanceId", member.group_instance_id, got_member.group_instance_id
        )
        m.nearly("groups.members.clientId", member.client_id, got_member.client_id, Level.SHOULD)
        if stable:
            m.same(
                "groups.members.memberMetadata", member.member_metadata, got_member.member_metadata
            )
            m.same(
                "groups.members.memberAssignment",
                member.member_assignment,
                got_member.member_assignment,
            )


def _codes(answer: CommitResponse | OffsetDeleteResponse) -> dict[tuple[str, int], int | str]:
    """Return the code of each partition; several rows of one are one."""
    return {
        (t.called, p.partition_index): p.error_code for t in answer.topics for p in t.partitions
    }


def _listed(answer: ListGroupsResponse) -> list[tuple[str, str, str, str]]:
    return sorted(
        (g.group_id, g.protocol_type, g.group_state, g.group_type.casefold()) for g in answer.groups
    )


def renamed(message: Message, names: Mapping[str, str]) -> Any:
    """Return the message with made-up ids replaced by the real ones."""
    changes: dict[str, Any] = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in {"member_id", "leader"} and value in names:
            changes[name] = names[value]
        elif isinstance(value, tuple) and value and isinstance(value[0], Message):
            rows = tuple(renamed(row, names) for row in value)
            if rows != value:
                changes[name] = rows
    return replace(message, **changes) if changes else message


def ids_in(message: Message) -> Iterator[str]:
    """Yield the member ids in an answer."""
    for name in ("member_id", "leader"):
        if value := getattr(message, name, ""):
            yield value
    for rows in ("members", "groups"):
        for row in getattr(message, rows, ()) or ():
            yield from ids_in(row)
