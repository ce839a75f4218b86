"""The model on a real clock, and which node coordinates what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from support.served import QUICK

from fencepost.conformance.serve.group_coordinator import GroupCoordinator
from fencepost.conformance.wire.codec import decode_message, decode_request, encode_message
from fencepost.model.coordinator import Send, Topic, codes_in
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import APIS, HeartbeatRequest
from fencepost.model.messages.shapes import NO_UUID
from fencepost.model.revisions import revisions
from fencepost.model.table.shared_features import Availability

KAFKA_4 = revisions.find("kafka-4")
UNKNOWN = Error.UNKNOWN_MEMBER_ID.value
NAMES = [f"group {number}" for number in range(60)]


@pytest.fixture
async def groups() -> AsyncIterator[GroupCoordinator]:
    opened = GroupCoordinator(
        KAFKA_4,
        QUICK,
        seed=1,
        nodes=(1, 2, 3),
        topics={"t": Topic(NO_UUID, 1)},
        fail=lambda error: pytest.fail(str(error)),
    )
    opened.start(asyncio.get_running_loop().time())
    yield opened
    opened.close()


def requests() -> Iterator[tuple[str, int]]:
    """Every API and version of the revision."""
    for api, (low, high) in KAFKA_4.apis.items():
        yield from ((api, version) for version in range(low, high + 1))


def body_of(api: str, version: int) -> dict[str, Any]:
    """A body that names what it must, and a topic or a member where it can."""
    topic = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}
    asked = {"name": "t", "partitionIndexes": [0]}
    bodies: dict[str, dict[str, Any]] = {
        "JoinGroup": {"groupId": "g", "memberId": "m", "protocols": []},
        "OffsetCommit": {"groupId": "g", "topics": [topic]},
        "TxnOffsetCommit": {"groupId": "g", "transactionalId": "t", "topics": [topic]},
        "OffsetFetch": {"groups": [{"groupId": "g", "topics": [asked]}]}
        if version >= 8
        else {"groupId": "g", "topics": [asked]},
        "LeaveGroup": {"groupId": "g", "members": [{"memberId": "m"}]}
        if version >= 3
        else {"groupId": "g", "memberId": "m"},
        "DescribeGroups": {"groups": ["g"]},
        "ListGroups": {},
        "DeleteGroups": {"groupsNames": ["g"]},
        "OffsetDelete": {"groupId": "g", "topics": []},
    }
    return bodies.get(api, {"groupId": "g", "memberId": "m"})


@pytest.mark.parametrize(("api", "version"), list(requests()))
async def test_any_request_of_a_group_can_be_refused(
    api: str, version: int, groups: GroupCoordinator
) -> None:
    sent = encode_message(api, "Request", version, 1, body_of(api, version), client_id="c")
    body = decode_request(sent[4:]).body
    message = APIS[api].request.from_body(body, version)
    send = Send("r", "c", "c", api, version, body)
    told_version, refused = groups.refusal(send, message, UNKNOWN)
    frame = encode_message(api, "Response", told_version, 1, refused)
    decoded = decode_message(api, told_version, frame[4:])
    assert decoded.findings == ()
    assert decoded.body is not None
    assert UNKNOWN in set(codes_in(decoded.body))
    assert set(codes_in(decoded.body)) <= {UNKNOWN, 0}
    assert groups.running.groups == {}


async def test_groups_are_spread_and_stay_where_they_are(groups: GroupCoordinator) -> None:
    at = {name: groups.node_of(name) for name in NAMES}
    assert set(at.values()) == {1, 2, 3}
    assert at == {name: groups.node_of(name) for name in NAMES}
    for name, node in at.items():
        here = {n for n in (1, 2, 3) if groups.availability(name, n) is Availability.HERE}
        assert here == {node}
    assert groups.availability("", 2) is Availability.HERE


async def test_a_group_moves_from_node_to_node(groups: GroupCoordinator) -> None:
    first = groups.node_of("g")
    assert [groups.move("g", None) for _ in range(3)][-1] == first
    assert groups.move("g", 2) == groups.node_of("g") == groups.lookup("g") == 2


async def test_a_group_that_loads_is_here_but_not_yet(groups: GroupCoordinator) -> None:
    node = groups.node_of("g")
    with groups.loading("g"):
        assert groups.availability("g", node) is Availability.LOADING
        assert groups.availability("g", node % 3 + 1) is Availability.ELSEWHERE
        assert groups.availability("h", groups.node_of("h")) is Availability.HERE
    assert groups.availability("g", node) is Availability.HERE


async def test_a_group_without_a_coordinator_is_found_nowhere(groups: GroupCoordinator) -> None:
    answers: list[dict[str, Any]] = []
    message = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    send = Send("r", "c", "c", "Heartbeat", 4, message.to_body(4))
    with groups.absent("g"):
        assert groups.lookup("g") is None
        groups.ask(send, message, lambda _, body: answers.append(body), groups.node_of("g"))
    assert answers[0]["errorCode"] == Error.COORDINATOR_NOT_AVAILABLE.value
    assert groups.lookup("g") is not None
