"""When an answer is the model's: what is bound, what may differ, and how gravely."""

from __future__ import annotations

from itertools import permutations

import pytest
from msgspec.structs import replace

from fencepost.model.messages.messages import (
    CommittedPartition,
    CommittedTopic,
    DescribedGroup,
    DescribedMember,
    DescribeGroupsResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupResponse,
    LeftMember,
    OffsetCommitResponse,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.messages.subscription import TopicPartition, encode_assignment
from fencepost.model.table.table import Level
from fencepost.properties.oracle.answer_match import (
    MOST_NEW,
    first_difference,
    has_too_many_new,
    matches,
    renamed,
)
from fencepost.properties.oracle.matcher import FRESH, Match

NEW = f"{FRESH}r1"
OTHER = f"{FRESH}r2"


def row(mid: str, instance: str | None = None) -> JoinMember:
    return JoinMember(member_id=mid, group_instance_id=instance, metadata=b"m")


LED = JoinGroupResponse(
    error_code=0,
    generation_id=1,
    protocol_type="consumer",
    protocol_name="range",
    leader=NEW,
    member_id=NEW,
    members=(row(NEW, "A"), row(OTHER, "B"), row("known")),
)
TOLD = replace(LED, leader="a", member_id="a", members=(row("a", "A"), row("b", "B"), row("known")))
REFUSED = JoinGroupResponse(error_code=25, member_id="m")


def found(
    expected: Message,
    observed: Message,
    level: Level = Level.MUST,
    seen: frozenset[str] = frozenset(),
    told: int = 0,
) -> list[Match]:
    return matches(expected, observed, level, seen, told)


def worst(match: Match) -> list[tuple[Level, str]]:
    return [(d.level, d.field) for d in match.deviations]


def test_made_up_ids_are_bound_to_those_that_were_told() -> None:
    (match,) = found(LED, TOLD)
    assert match.bindings == {NEW: "a", OTHER: "b"}
    assert match.deviations == []


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_members_means_nothing(order: tuple[int, ...]) -> None:
    shuffled = replace(TOLD, members=tuple(TOLD.members[i] for i in order))
    (match,) = found(LED, shuffled)
    assert match.bindings == {NEW: "a", OTHER: "b"}


def test_dynamic_members_that_nothing_tells_apart_are_bound_either_way() -> None:
    third = f"{FRESH}r3"
    expected = replace(LED, members=(row(NEW), row(OTHER), row(third)))
    observed = replace(TOLD, members=(row("a"), row("b"), row("c")))
    bindings = [m.bindings for m in found(expected, observed)]
    assert {NEW: "a", OTHER: "b", third: "c"} in bindings
    assert {NEW: "a", OTHER: "c", third: "b"} in bindings


def many(*instances: str | None) -> tuple[JoinGroupResponse, JoinGroupResponse]:
    """An answer to a leader with these members, all new: as the model gives it, as it was told."""
    ids = [f"{FRESH}{i}" for i in range(len(instances))]
    expected = tuple(row(mid, instance) for mid, instance in zip(ids, instances, strict=True))
    told = tuple(row(f"m{i}", instance) for i, instance in enumerate(instances))
    return (
        replace(LED, leader=ids[0], member_id=ids[0], members=expected),
        replace(TOLD, leader="m0", member_id="m0", members=told[::-1]),
    )


def test_an_instance_id_says_who_is_who_however_many_are_new() -> None:
    expected, observed = many(*"ABCDEFGHIJKL", None, None)
    assert not has_too_many_new(expected)
    first, second = found(expected, observed)
    assert {f"{FRESH}{i}": f"m{i}" for i in range(14)} in (first.bindings, second.bindings)
    swapped = tuple(replace(m, group_instance_id=None) for m in observed.members)
    assert found(expected, replace(observed, members=swapped)) == []


@pytest.mark.parametrize("instance", [None, "A"])
def test_more_new_members_that_nothing_tells_apart_are_too_many(instance: str | None) -> None:
    expected, _ = many(*[instance] * MOST_NEW, "B", "C")
    assert not has_too_many_new(expected)
    expected, _ = many(*[instance] * (MOST_NEW + 1))
    assert has_too_many_new(expected)


def test_two_members_of_one_instance_are_bound_either_way() -> None:
    expected, observed = many("B", "A", "A")
    told = [[m.bindings[f"{FRESH}{i}"] for i in range(3)] for m in found(expected, observed)]
    assert sorted(told) == [["m0", "m1", "m2"], ["m0", "m2", "m1"]]


def test_a_new_id_must_be_new_and_not_empty_and_one_for_each() -> None:
    assert found(LED, TOLD, seen=frozenset({"b"})) == []
    assert found(LED, replace(TOLD, member_id="", leader="")) == []
    twice = replace(TOLD, members=(row("a", "A"), row("a", "B"), row("known")))
    assert found(LED, twice) == []


@pytest.mark.parametrize(
    "change",
    [
        {"error_code": 25},
        {"leader": "b"},
        {"member_id": "b"},
        {"protocol_name": "sticky"},
        {"skip_assignment": True},
        {"members": ()},
        {"members": TOLD.members[:2]},
        {"members": (row("a", "B"), row("b", "A"), row("known"))},
        {"members": (row("a", "A"), row("b", "B"), row("stranger"))},
        {"members": (row("a", "A"), row("b", "B"), replace(row("known"), metadata=b"?"))},
    ],
    ids=lambda c: next(iter(c)),
)
def test_another_success_is_no_match_and_the_field_is_named(change: dict[str, object]) -> None:
    observed = replace(TOLD, **change)
    assert found(LED, observed) == []
    field = {"error_code": "errorCode", "protocol_name": "protocolName"}.get(next(iter(change)), "")
    assert field in first_difference(LED, observed, Level.MUST, frozenset(), 0)


def test_success_and_error_are_never_the_same() -> None:
    ok, error = HeartbeatResponse(error_code=0), HeartbeatResponse(error_code=82)
    assert found(ok, error) == []
    assert found(error, ok) == []
    words = first_difference(error, ok, Level.MUST, frozenset(), 0)
    assert words == "errorCode is NONE instead of FENCED_INSTANCE_ID"


@pytest.mark.parametrize("level", list(Level))
def test_one_error_for_another_deviates_as_gravely_as_its_rule_binds(level: Level) -> None:
    (match,) = found(HeartbeatResponse(error_code=25), HeartbeatResponse(error_code=82), level)
    assert worst(match) == [(level, "errorCode")]
    assert str(match.deviations[0]) == ("errorCode FENCED_INSTANCE_ID instead of UNKNOWN_MEMBER_ID")


@pytest.mark.parametrize(
    ("change", "level", "field"),
    [
        ({"member_id": ""}, Level.SHOULD, "memberId"),
        ({"generation_id": 3}, Level.SHOULD, "generationId"),
        ({"leader": "x"}, Level.MAY, "leader"),
    ],
)
def test_the_fields_of_a_refusal_may_differ_noted(
    change: dict[str, object], level: Level, field: str
) -> None:
    (match,) = found(REFUSED, replace(REFUSED, **change))
    assert worst(match) == [(level, field)]


def test_a_refusal_with_members_is_no_match() -> None:
    assert found(REFUSED, replace(REFUSED, members=(row("m"),))) == []


def test_an_assignment_has_to_be_the_stored_one() -> None:
    synced = SyncGroupResponse(error_code=0, assignment=b"a", protocol_name="range")
    assert found(synced, replace(synced, assignment=b"b")) == []
    (match,) = found(synced, replace(synced, protocol_name=None))
    assert worst(match) == [(Level.MAY, "protocolName")]


def test_the_rows_of_a_leave_stay_in_order() -> None:
    rows = (
        LeftMember(member_id="m", error_code=0),
        LeftMember(member_id="", group_instance_id="A", error_code=25),
    )
    left = LeaveGroupResponse(error_code=0, members=rows)
    assert found(left, left)[0].deviations == []
    assert found(left, replace(left, members=rows[::-1])) == []
    assert found(left, replace(left, members=rows[:1])) == []
    renamed_row = (rows[0], replace(rows[1], group_instance_id=None))
    (match,) = found(left, replace(left, members=renamed_row))
    assert worst(match) == [(Level.SHOULD, "members[1].groupInstanceId")]


def test_partitions_of_a_commit_are_told_apart_not_ordered() -> None:
    def answer(**codes: int) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=tuple(
                CommittedTopic(
                    name=n, partitions=(CommittedPartition(partition_index=0, error_code=c),)
                )
                for n, c in codes.items()
            )
        )

    assert found(answer(a=0, b=25), answer(b=25, a=0))[0].deviations == []
    assert found(answer(a=0, b=25), answer(a=25, b=0)) == []
    assert found(answer(a=0, b=25), answer(a=0)) == []


def test_metadata_and_assignment_of_a_description_count_in_stable_only() -> None:
    member = DescribedMember(member_id="m", client_id="c", member_assignment=b"a")
    group = DescribedGroup(error_code=0, group_id="g", group_state="Stable", members=(member,))

    def answer(state: str, assignment: bytes) -> DescribeGroupsResponse:
        one = replace(member, member_assignment=assignment)
        return DescribeGroupsResponse(groups=(replace(group, group_state=state, members=(one,)),))

    preparing = "PreparingRebalance"
    assert found(answer("Stable", b"a"), answer("Stable", b"b")) == []
    assert found(answer(preparing, b""), answer(preparing, b"stale"))[0].deviations == []
    assert found(answer("Stable", b"a"), answer(preparing, b"a")) == []


def test_groups_described_together_have_their_members_each() -> None:
    def answer(*members: tuple[str, str]) -> DescribeGroupsResponse:
        rows = tuple(
            DescribedGroup(
                error_code=0,
                group_id=group_id,
                group_state="Stable",
                members=tuple(
                    DescribedMember(member_id=member_id)
                    for name, member_id in members
                    if name == group_id
                ),
            )
            for group_id in ("g", "h")
        )
        return DescribeGroupsResponse(groups=rows)

    model = answer(("g", NEW), ("g", "a"), ("h", "b"))
    (match,) = found(model, answer(("g", "a"), ("g", "n"), ("h", "b")))
    assert match.bindings == {NEW: "n"}
    assert found(model, answer(("g", "a"), ("h", "n"), ("h", "b"))) == []
    assert found(answer(("g", "a")), answer(("g", "a"))) != []


def test_another_kind_of_answer_is_no_match() -> None:
    assert found(HeartbeatResponse(error_code=0), SyncGroupResponse(error_code=0)) == []


def test_names_are_replaced_wherever_ids_stand() -> None:
    assert renamed(LED, {NEW: "a", OTHER: "b"}) == TOLD
    assert renamed(REFUSED, {NEW: "a"}) is REFUSED


@pytest.mark.parametrize(("unordered", "ways"), [(False, 0), (True, 1)])
def test_the_order_of_an_assignment_counts_unless_the_coordinator_makes_it(
    unordered: bool, ways: int
) -> None:
    first, other = (
        SyncGroupResponse(error_code=0, assignment=encode_assignment([TopicPartition("t", n)]))
        for n in (1, 2)
    )
    both = encode_assignment([TopicPartition("t", 1), TopicPartition("t", 2)])
    one, two = (number.to_bytes(4) for number in (1, 2))
    turned = both.replace(one + two, two + one)
    made, read = (SyncGroupResponse(error_code=0, assignment=data) for data in (both, turned))
    ids: frozenset[str] = frozenset()
    assert len(matches(made, read, Level.MUST, ids, unordered=unordered)) == ways
    assert not matches(first, other, Level.MUST, ids, unordered=unordered)
