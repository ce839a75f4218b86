"""What requests and answers tell of a group."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fencepost.conformance.serve.broker_history import History, KeptBody, RecordedExchange
from fencepost.conformance.wire.codec import API_KEYS, RequestHeader
from fencepost.model.messages.subscription import TopicPartition, encode_assignment
from tools.deployments.real_deployment import GroupOnWire, Synced

GROUP = "orders"
VERSIONS = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3}
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Recorded:
    """A history that is written by hand, and the group that is read from it."""

    def __init__(self) -> None:
        self.history = History()
        self.group = GroupOnWire(self.history, GROUP)

    def ask(
        self, consumer: str, api: str, generation: int = -1, group: str = GROUP
    ) -> RecordedExchange:
        connection = f"connection-{len(self.history.exchanges)}"
        self.history.opened(connection, 1)
        header = RequestHeader(API_KEYS[api], VERSIONS[api], 1, consumer, 0)
        exchange = self.history.receive(1, connection, api, header)
        assert exchange is not None
        body: dict[str, Any] = {"groupId": group, "memberId": "", "groupInstanceId": None}
        match api:
            case "JoinGroup":
                times = dict.fromkeys(("sessionTimeoutMs", "rebalanceTimeoutMs"), 1)
                body.update(protocolType="consumer", protocols=[], **times)
            case "SyncGroup":
                body.update(generationId=generation, assignments=[])
            case _:
                body.update(generationId=generation)
        exchange.request_body = KeptBody.of(body)
        return exchange

    def joined(self, exchange: RecordedExchange, generation: int, code: int = 0) -> None:
        body: dict[str, Any] = {"errorCode": code, "generationId": generation}
        body |= {"protocolName": "range", "leader": "m", "memberId": "m", "members": []}
        self.history.answer(exchange, body)

    def synced(self, exchange: RecordedExchange, *given: TopicPartition, code: int = 0) -> None:
        assignment = base64.b64encode(encode_assignment(given)).decode()
        body = {"errorCode": code, "assignment": assignment}
        self.history.answer(exchange, body)


@pytest.fixture
def told() -> Recorded:
    return Recorded()


def test_a_generation_is_known_when_a_join_is_answered(told: Recorded) -> None:
    join = told.ask("app-1#1", "JoinGroup")
    told.group.read()
    assert told.group.joining() == {"app-1#1"}
    assert told.group.generation_id == 0
    told.joined(join, 3)
    told.group.read()
    assert told.group.generation_id == 3
    assert told.group.joining() == set()
    assert told.group.first_join_ms == {"app-1#1": join.at_ms}


def test_a_join_that_is_refused_begins_no_generation(told: Recorded) -> None:
    told.joined(told.ask("app-1#1", "JoinGroup"), 7, code=79)
    told.group.read()
    assert told.group.generation_id == 0


def test_what_a_sync_gave_is_the_consumers(told: Recorded) -> None:
    told.synced(told.ask("app-1#1", "SyncGroup", 3), P0, P1)
    told.synced(told.ask("app-2#1", "SyncGroup", 3), P1, code=27)
    told.group.read()
    assert told.group.synced == {"app-1#1": Synced(3, frozenset({P0, P1}))}


def test_nobody_waits_on_a_connection_that_is_gone(told: Recorded) -> None:
    join = told.ask("app-1#1", "JoinGroup")
    told.history.closed(join.connection, by_client=True)
    told.group.read()
    assert told.group.joining() == set()


def test_other_groups_are_none_of_ours(told: Recorded) -> None:
    told.joined(told.ask("app-1#1", "JoinGroup", group="payments"), 3)
    told.group.read()
    assert told.group.generation_id == 0
    assert told.group.first_join_ms == {}


def test_why_a_consumer_joins_again_is_told_without_names(told: Recorded) -> None:
    for reason in ("need to re-join with the given member-id: app-1-ab", "rebalance failed (id 7)"):
        exchange = told.ask("app-1#1", "JoinGroup")
        assert exchange.request_body is not None
        exchange.request_body = KeptBody.of({**exchange.request_body, "reason": reason})
    told.ask("app-1#1", "JoinGroup")
    told.group.read()
    words = [why for _, why in told.group.reasons]
    assert words == ["need to re-join with the given member-id", "rebalance failed"]


def test_heartbeats_are_timed_where_nothing_is_between_them(told: Recorded) -> None:
    for api, at_ms in (
        ("Heartbeat", 1000.0),
        ("Heartbeat", 2003.0),
        ("JoinGroup", 2500.0),
        ("Heartbeat", 2600.0),
        ("Heartbeat", 3602.0),
    ):
        told.ask("app-1#1", api, 3).at_ms = at_ms
    told.ask("app-2#1", "Heartbeat", 3).at_ms = 3700.0
    told.group.read()
    assert told.group.beats_ms == [1003.0, 1002.0]
