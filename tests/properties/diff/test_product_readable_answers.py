"""Answers are the same if clients can't tell them apart, whatever things are called."""

from __future__ import annotations

import pytest

from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatResponse,
    JoinGroupResponse,
    JoinMember,
    LeaveGroupResponse,
    LeftMember,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.properties.diff.product import ANYTHING, WAITS, agree, meaning, observed
from fencepost.properties.worlds.world_client import STRANGE, Client

NOBODY = (Client(), Client())
UNKNOWN = Error.UNKNOWN_MEMBER_ID.value


def joined(
    member_id: str, generation: int = 1, leader: str = "", roster: tuple[str, ...] = ()
) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=0,
        generation_id=generation,
        member_id=member_id,
        leader=leader or member_id,
        protocol_name="range",
        members=tuple(JoinMember(member_id=m, metadata=b"a") for m in roster),
    )


def numbers(clients: tuple[Client, ...]) -> list[int]:
    return [client.generation for client in clients]


def see(
    message: Message | None, called: dict[str, str], clients: tuple[Client, ...] = NOBODY
) -> object:
    return observed([(0, meaning(message))], numbers(clients), called)[0]


def test_ids_that_nobody_was_told_are_alike_and_told_ones_are_not() -> None:
    assert see(joined("x"), {}) == see(joined("y"), {})
    assert see(joined("x"), {"x": "c1"}) == see(joined("y"), {"y": "c1"})
    assert see(joined("x"), {"x": "c1"}) != see(joined("x"), {"x": "c2"})
    assert see(joined("x"), {"x": "c1"}) != see(joined("y"), {})


def test_an_id_that_was_made_up_is_no_new_one() -> None:
    assert see(joined(STRANGE), {}) != see(joined("x"), {})


def test_new_ids_are_named_in_an_order_that_all_have_in_common() -> None:
    one = [(0, meaning(joined("x", roster=("x", "y")))), (1, meaning(joined("y", leader="x")))]
    other = [(0, meaning(joined("q", roster=("p", "q")))), (1, meaning(joined("p", leader="q")))]

    assert observed(one, numbers(NOBODY), {})[0] == observed(other, numbers(NOBODY), {})[0]
    assert observed(one, numbers(NOBODY), {})[1] == {"x": "new.1", "y": "new.2"}


def test_generations_are_compared_with_those_that_clients_know() -> None:
    early, late = (Client("x", 1), Client("y", 0)), (Client("x", 7), Client("y", 3))
    called = {"x": "c1", "y": "c2"}

    assert see(joined("x", 1), called, early) == see(joined("x", 7), called, late)
    assert see(joined("x", 1), called, early) != see(joined("x", 8), called, late)


def test_who_leads_whom_is_seen() -> None:
    called = {"x": "c1", "y": "c2"}
    assert see(joined("x"), called) != see(joined("x", leader="y"), called)
    assert see(joined("x", roster=("x",)), called) != see(joined("x", roster=("x", "y")), called)
    assert see(joined("x", roster=("y", "x")), called) == see(
        joined("x", roster=("x", "y")), called
    )


def test_assignments_and_errors_are_seen() -> None:
    def synced(assignment: bytes) -> SyncGroupResponse:
        return SyncGroupResponse(error_code=0, assignment=assignment)

    assert meaning(synced(b"a")) != meaning(synced(b"b"))
    assert meaning(HeartbeatResponse(error_code=0)) != meaning(HeartbeatResponse(error_code=27))


@pytest.mark.parametrize("code", [0, UNKNOWN])
def test_a_leave_means_its_error_in_every_form(code: int) -> None:
    row = LeftMember(member_id="x", error_code=code)
    rows = LeaveGroupResponse(error_code=0, members=(row,))

    assert meaning(rows) == meaning(LeaveGroupResponse(error_code=code))
    assert meaning(rows) == meaning(DraftLeaveGroupResponse(error_code=code))
    assert meaning(rows) != meaning(DraftLeaveGroupResponse(error_code=82))


def test_what_is_left_open_agrees_with_everything_and_waiting_does_not() -> None:
    answered, _ = observed([(0, meaning(joined("x")))], numbers(NOBODY), {})
    left_open, _ = observed([(0, ANYTHING)], numbers(NOBODY), {})
    waiting, _ = observed([(0, WAITS)], numbers(NOBODY), {})

    assert meaning(None) == ANYTHING
    assert agree(answered, left_open)
    assert agree((), left_open)
    assert not agree(answered, waiting)
    assert not agree(answered, ())
