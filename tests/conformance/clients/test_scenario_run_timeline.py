from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
import pytest
from support.client_story import TOPIC, heartbeat, run

from fencepost.conformance.clients.driver import Driver, DriverEvent
from fencepost.conformance.clients.scenario_run import Timeline
from fencepost.conformance.runtime.lag_meter import LagMeter, Samples
from fencepost.conformance.serve.broker_history import History, KeptBody, RecordedExchange
from fencepost.conformance.wire.provocation import Action, Provocation
from fencepost.model.messages.messages import HeartbeatResponse, OffsetCommitRequest
from fencepost.properties.requirements.driver_messages import Assigned

A = run()
REQUEST = heartbeat(A, 0).request


@dataclass
class _Driver:
    events: list[DriverEvent] = field(default_factory=list)
    fault: str | None = None


def exchange(client_id: str = "a.1", at: float = 10, api: str = "Heartbeat") -> RecordedExchange:
    assert REQUEST is not None
    body = msgspec.json.encode(REQUEST.to_body(4))
    return RecordedExchange(
        api,
        4,
        at,
        request_body=KeptBody(body),
        client_id=client_id,
        connection="connection-1",
        node=1,
        correlation_id=1,
    )


def answered(one: RecordedExchange, code: int = 0) -> RecordedExchange:
    one.answered_ms = one.at_ms + 5
    one.answer_body = KeptBody.of(HeartbeatResponse(error_code=code).to_body(4))
    return one


def timeline(*exchanges: RecordedExchange) -> Timeline:
    history = History(began_s=1000.0)
    history.exchanges += exchanges
    found = Timeline(history, {TOPIC: 2})
    found.begin(A, "run/a.1", cast("Driver", _Driver()))
    return found


def test_an_answer_may_come_later() -> None:
    one = exchange()
    found = timeline(one)
    assert found.evidence().calls[0].error is None
    answered(one, 82)
    call = found.evidence().calls[0]
    assert (call.error, call.answered_ms, call.instance) == (82, 15, "i-1")


def test_a_request_belongs_to_the_life_whose_client_id_it_bears() -> None:
    calls = (
        timeline(exchange("stranger"), exchange("a.1-consumer"), exchange("a.10")).evidence().calls
    )
    assert [call.client_id for call in calls] == ["a.1"]


def test_what_was_provoked_is_said() -> None:
    one = exchange()
    one.provocation = Provocation("Heartbeat", Action.LOSE)
    assert timeline(one).evidence().calls[0].fault == "lose"


def test_an_answer_that_cant_be_read_is_none() -> None:
    one = answered(exchange())
    one.answer_body = KeptBody(b"{}")
    assert timeline(one).evidence().calls[0].error is None


def test_the_error_of_a_look_up_is_read() -> None:
    one = exchange(api="FindCoordinator")
    one.answered_ms = 11
    one.answer_body = KeptBody.of({"coordinators": [{"key": "g", "errorCode": 15}]})
    assert timeline(one).evidence().calls[0].error == 15


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("OffsetFetch", {"groups": [{"groupId": "g", "topics": [], "errorCode": 14}]}),
        ("ListOffsets", {"topics": [{"partitions": [{"errorCode": 0}, {"errorCode": 14}]}]}),
        ("Fetch", {"errorCode": 0, "responses": [{"partitions": [{"errorCode": 14}]}]}),
    ],
)
def test_the_error_of_a_reader_is_read(api: str, body: dict[str, Any]) -> None:
    one = exchange(api=api)
    one.answered_ms = 11
    one.answer_body = KeptBody.of(body)
    assert timeline(one).evidence().calls[0].error == 14


def test_who_commits_in_a_later_version_is_read() -> None:
    one = exchange(api="OffsetCommit")
    one.version = 10
    one.request_body = KeptBody.of(
        {
            "groupId": "g",
            "generationIdOrMemberEpoch": 3,
            "memberId": "m1",
            "groupInstanceId": "i-1",
            "topics": [{"partitions": [{"partitionIndex": 1, "committedOffset": 7}]}],
        }
    )
    one.answered_ms = 11
    partitions = [{"partitionIndex": 0, "errorCode": 0}, {"partitionIndex": 1, "errorCode": 82}]
    one.answer_body = KeptBody.of({"topics": [{"partitions": partitions}]})
    call = timeline(one).evidence().calls[0]
    assert (call.member_id, call.instance, call.generation, call.error) == ("m1", "i-1", 3, 82)
    assert isinstance(call.request, OffsetCommitRequest)
    (topic,) = call.request.topics
    assert topic.name == TOPIC
    assert [(p.partition_index, p.committed_offset) for p in topic.partitions] == [(1, 7)]


def test_the_drivers_clock_is_mapped_by_what_came_quickest() -> None:
    found = timeline()
    slow = DriverEvent(Assigned("run/a.1", 500.0, ()), 1_000_000 + 90.0)
    quick = DriverEvent(Assigned("run/a.1", 600.0, ()), 1_000_000 + 150.0)
    other = DriverEvent(Assigned("another", 600.0, ()), 1_000_000 + 150.0)
    found.drivers[0].events += [slow, quick, other]
    assert [(one.run, one.at_ms) for one in found.evidence().user_events] == [
        ("a.1", 50),
        ("a.1", 150),
    ]


def test_a_control_that_waits_is_a_stall() -> None:
    found = timeline()
    meter = found.history.meters[1] = LagMeter()
    meter.samples = Samples([(1000.5, 0.01), (1001.0, 0.4)])
    (stall,) = found.evidence().stalls
    assert stall == pytest.approx((600, 400))
    assert found.evidence().worst_stall_ms(900, 2000) == pytest.approx(400)
    assert found.evidence().worst_stall_ms(1100, 2000) == 0


def test_the_end_of_a_life_is_noted() -> None:
    found = timeline()
    found.end(A, "closed")
    ended = found.evidence().runs[0]
    assert ended.how == "closed"
    assert ended.ended_ms is not None


def test_what_clients_are_told_of_versions_is_learnt() -> None:
    one = exchange(api="ApiVersions")
    one.answered_ms = 11
    rows = [{"apiKey": 11, "minVersion": 0, "maxVersion": 7}]
    one.answer_body = KeptBody.of({"errorCode": 0, "apiKeys": rows})
    assert timeline(one).evidence().advertised("JoinGroup", 5) == (0, 7)
