"""Each TxnOffsetCommit is a transaction of its own, which is committed whatever the answer was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.tcp.liars import HANG_UP, Broker, Script, answer, honest, serve
from support.tcp.tcp_scripts import SHORT, advertising, one, scoped, send, target

from fencepost.conformance.targets.target import HelperFailedError
from fencepost.conformance.wire.codec import RequestFrame
from fencepost.model.coordinator import Send, UnsupportedError

APIS = {"InitProducerId": (0, 4), "AddOffsetsToTxn": (0, 3), "EndTxn": (0, 3)}
CONCURRENT, UNSTABLE, FENCED = 51, 88, 82
HANGS_UP = -99
COORDINATOR_NOT_AVAILABLE = 15


def transactional(**codes: Iterator[int]) -> Script:
    """A broker with transactions; `codes`: API → the errors that it answers in turn, then NONE."""

    def script(_: Broker, request: RequestFrame) -> bytes | None:
        code = next(codes.get(request.api, iter(())), 0)
        match request.api:
            case "InitProducerId":
                body = {"errorCode": code, "producerId": 7, "producerEpoch": 3}
                return answer(request, body)
            case "TxnOffsetCommit" | "OffsetFetch":
                offset = {"committedOffset": -1} if request.api == "OffsetFetch" else {}
                row = {"partitionIndex": 0, "errorCode": code, **offset}
                topics = [
                    {"name": topic["name"], "partitions": [row]} for topic in request.body["topics"]
                ]
                return HANG_UP if code == HANGS_UP else answer(request, {"topics": topics})
            case "AddOffsetsToTxn" | "EndTxn":
                return answer(request, {"errorCode": code})
            case _:
                return None

    return advertising(script, **APIS)


def commit(rid: str = "r1") -> Send:
    part = {
        "partitionIndex": 0,
        "committedOffset": 5,
        "committedLeaderEpoch": -1,
        "committedMetadata": "",
    }
    body: dict[str, Any] = {
        "transactionalId": "A1",
        "groupId": "g",
        "producerId": 0,
        "producerEpoch": 0,
        "generationId": 1,
        "memberId": "m",
        "groupInstanceId": "A",
        "topics": [{"name": "t", "partitions": [part]}],
    }
    return send("TxnOffsetCommit", 3, body, rid)


def transaction_requests(broker: Broker) -> list[RequestFrame]:
    """Return the requests of the transaction, in order."""
    names = {*APIS, "TxnOffsetCommit", "OffsetFetch"}
    return [request for request in broker.requests if request.api in names]


@pytest.mark.parametrize("code", [0, FENCED])
async def test_a_transaction_is_begun_and_committed_whatever_the_answer(code: int) -> None:
    async with scoped(transactional(TxnOffsetCommit=iter([code]))) as (scope, broker):
        found = await one(scope, commit())
        assert found.body is not None
        (topic,) = found.body["topics"]
        assert (topic["name"], topic["partitions"][0]["errorCode"]) == ("t", code)
    begun, added, sent, ended, fetched = transaction_requests(broker)
    assert [r.api for r in (begun, added, sent, ended, fetched)] == [
        "InitProducerId",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
        "OffsetFetch",
    ]
    name = begun.body["transactionalId"]
    assert name.endswith("A1")
    for request in (added, sent, ended):
        fields = ("transactionalId", "producerId", "producerEpoch")
        assert [request.body[field] for field in fields] == [name, 7, 3]
    assert added.body["groupId"] == sent.body["groupId"] == fetched.body["groupId"]
    assert sent.body["groupInstanceId"] == "A"
    assert ended.body["committed"] is True
    assert fetched.body["requireStable"] is True
    assert fetched.body["topics"][0]["partitionIndexes"] == [0]


async def test_what_takes_time_is_waited_for() -> None:
    script = transactional(
        InitProducerId=iter([COORDINATOR_NOT_AVAILABLE, CONCURRENT]),
        AddOffsetsToTxn=iter([CONCURRENT]),
        OffsetFetch=iter([UNSTABLE, UNSTABLE]),
    )
    async with scoped(script) as (scope, broker):
        await one(scope, commit())
    apis = [request.api for request in transaction_requests(broker)]
    assert [apis.count(api) for api in ("InitProducerId", "AddOffsetsToTxn", "OffsetFetch")] == [
        3,
        2,
        3,
    ]


async def test_a_broker_that_begins_no_transaction_has_none() -> None:
    codes = iter([COORDINATOR_NOT_AVAILABLE] * 100)
    async with scoped(transactional(InitProducerId=codes), deadlines=SHORT) as (scope, broker):
        for number in ("r1", "r2"):
            with pytest.raises(UnsupportedError, match="transactions: InitProducerId was answered"):
                await scope.send(commit(number))
    assert "TxnOffsetCommit" not in [request.api for request in transaction_requests(broker)]


@pytest.mark.parametrize("api", ["InitProducerId", "AddOffsetsToTxn", "EndTxn"])
async def test_a_broker_that_is_busy_with_the_one_before_has_transactions(api: str) -> None:
    busy = [api]
    codes = iter(lambda: CONCURRENT if busy else 0, 0)
    async with scoped(transactional(**{api: codes}), deadlines=SHORT) as (scope, _):
        with pytest.raises(HelperFailedError, match=f"{api} was answered CONCURRENT_TRANSACTIONS"):
            await scope.send(commit())
        busy.clear()
        found = await one(scope, commit("r2"))
        assert found.body is not None


async def test_one_that_is_not_committed_is_no_failure_of_the_group_protocol() -> None:
    codes = iter([COORDINATOR_NOT_AVAILABLE] * 100)
    async with scoped(transactional(EndTxn=codes), deadlines=SHORT) as (scope, _):
        with pytest.raises(UnsupportedError, match="EndTxn was answered COORDINATOR_NOT_AVAILABLE"):
            await scope.send(commit())


async def test_offsets_that_stay_unstable_are_no_failure_of_the_group_protocol() -> None:
    async with scoped(transactional(OffsetFetch=iter([UNSTABLE] * 1000)), deadlines=SHORT) as (
        scope,
        _,
    ):
        with pytest.raises(HelperFailedError, match="shows no offsets of a transaction"):
            await scope.send(commit())


async def test_a_connection_that_ends_is_the_answer() -> None:
    async with scoped(transactional(TxnOffsetCommit=iter([HANGS_UP]))) as (scope, _):
        found = await one(scope, commit())
    assert found.body is None


@pytest.mark.parametrize("lacking", sorted(APIS))
async def test_without_the_apis_around_it_a_broker_has_no_transactions(lacking: str) -> None:
    rest = {api: bounds for api, bounds in APIS.items() if api != lacking}
    async with serve(advertising(honest, **rest)) as broker, target(broker) as opened:
        assert "TxnOffsetCommit" not in opened.describe().apis
        assert "OffsetCommit" in opened.describe().apis


async def test_where_nobody_can_see_that_a_transaction_is_over_there_are_none() -> None:
    """Before version 7 of OffsetFetch, an offset may be read or not yet (2.3.0, 2.4.1)."""
    old = {**APIS, "OffsetFetch": (0, 6)}
    async with serve(advertising(honest, **old)) as broker, target(broker) as opened:
        assert "TxnOffsetCommit" not in opened.describe().apis
