"""The checks before a join is looked at: their order, and what an error answer carries."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace
from support.world import MAX_SIZE, PARKED, World, offers

from fencepost.model.messages.messages import JoinGroupRequest
from fencepost.model.table.shared_features import Availability
from fencepost.model.work import Incoming, Span

# In the order of the checks: what is wrong with the request, and the error that it gets.
WRONG: dict[str, dict[str, object]] = {
    "INVALID_GROUP_ID": {"group_id": ""},
    "INVALID_SESSION_TIMEOUT": {"session_timeout_ms": 5_999},
    "GROUP_MAX_SIZE_REACHED": {"member_id": "nobody"},
    "INCONSISTENT_GROUP_PROTOCOL": {"protocol_type": "connect"},
    "UNKNOWN_MEMBER_ID": {"member_id": "nobody", "group_instance_id": None},
}


def request(**changes: object) -> JoinGroupRequest:
    good = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id="",
        group_instance_id="B",
        protocol_type="consumer",
        protocols=offers("range"),
    )
    return replace(good, **changes)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(WRONG, 2)))
def test_the_earlier_check_answers(first: str, second: str) -> None:
    full = "GROUP_MAX_SIZE_REACHED" in {first, second}
    world = World(config={MAX_SIZE: 1 if full else None})
    world.stable("A")
    assert world.ask("B", request(**{**WRONG[second], **WRONG[first]}), 9).error == first


@pytest.mark.parametrize(
    ("here", "error"), [(Availability.LOADING, 14), (Availability.ELSEWHERE, 16)]
)
def test_a_broker_that_doesnt_coordinate_says_so_after_the_group_id(
    here: Availability, error: int
) -> None:
    machine = World().machine

    def answer(message: JoinGroupRequest) -> object:
        incoming = Incoming("1", "c", "JoinGroup", 9, message, "new")
        (outcome,) = machine.handle(None, incoming, Span(0, 0), here)
        assert outcome.group is None
        return outcome.emissions[0].message

    assert answer(request(session_timeout_ms=1)).error_code == error  # type: ignore[attr-defined]
    assert answer(request(group_id="")).error_code == 24  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("s", "error"),
    [
        (5_999, "INVALID_SESSION_TIMEOUT"),
        (6_000, PARKED),
        (1_800_000, PARKED),
        (1_800_001, "INVALID_SESSION_TIMEOUT"),
    ],
)
def test_the_session_timeout_lies_within_the_bounds_ends_included(s: int, error: str) -> None:
    assert World().join("A", s=s).error == error


def test_only_an_empty_member_id_creates_a_group() -> None:
    world = World()
    assert world.join("A", "nobody").error == "UNKNOWN_MEMBER_ID"
    assert world.join("x", "nobody").error == "UNKNOWN_MEMBER_ID"
    assert not world.exists()
    assert world.describe()["groupState"] == "Dead"
    assert world.join("x").error == "MEMBER_ID_REQUIRED"
    assert world.state == "Empty"


@pytest.mark.parametrize("how", [{"protocols": ()}, {"kind": ""}])
def test_a_join_with_an_empty_id_creates_the_group_before_its_protocols_are_checked(
    how: dict[str, object],
) -> None:
    world = World()
    assert world.join("A", **how).error == "INCONSISTENT_GROUP_PROTOCOL"  # type: ignore[arg-type]
    assert world.describe()["groupState"] == "Empty"


def test_what_is_refused_before_the_group_is_looked_up_creates_none() -> None:
    world = World()
    world.join("A", s=1)
    assert not world.exists()


@pytest.mark.parametrize(
    ("protocols", "error"),
    [
        (offers("range"), PARKED),
        (offers("sticky", "range"), PARKED),
        (offers("sticky"), "INCONSISTENT_GROUP_PROTOCOL"),
        (offers("cooperative"), "INCONSISTENT_GROUP_PROTOCOL"),
        ((), "INCONSISTENT_GROUP_PROTOCOL"),
    ],
)
def test_some_offered_protocol_is_one_that_all_members_support(
    protocols: tuple[object, ...], error: str
) -> None:
    world = World()
    world.admit("A", protocols=offers("range", "sticky"))
    world.admit("B", protocols=offers("range", "cooperative"))
    assert world.join("C", protocols=protocols).error == error  # type: ignore[arg-type]


def test_an_empty_group_takes_any_type_and_a_later_one_has_to_agree() -> None:
    world = World()
    world.admit("A", kind="connect")
    assert world.join("B").error == "INCONSISTENT_GROUP_PROTOCOL"
    assert world.join("B", kind="connect").error == PARKED


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None), (9, None)])
def test_an_error_answer_has_no_generation_leader_members_or_protocol(
    version: int, name: str | None
) -> None:
    world = World()
    seat = world.stable("A")["A"]
    body = world.join("A", "old", version=version).body
    assert body["errorCode"] == 82
    assert body["generationId"] == -1
    assert body["leader"] == ""
    assert body["members"] == []
    assert body["protocolName"] == name
    assert body.get("skipAssignment", False) is False
    assert body["memberId"] == "old"
    assert world.group().holder("A") == seat.mid


def test_an_instance_of_the_empty_string_counts_as_an_instance() -> None:
    world = World()
    reply = world.join("x", inst="")
    assert reply.error == PARKED
    assert [instance for instance, _ in world.group().static] == [""]
