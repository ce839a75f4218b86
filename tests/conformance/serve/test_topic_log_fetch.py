"""Fetch: what is told at once, what waits, and what a session leaves out."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from fencepost.conformance.serve.topic_log import Fetches, Topics
from fencepost.conformance.wire.record_batches import batch_of, batches_in
from fencepost.conformance.wire.refusal import Code

TWO = batch_of([b"a", b"b"])
Json = dict[str, Any]


class Client:
    """Fetches from a topic `t` of three partitions; `answers` are those that came."""

    def __init__(self) -> None:
        self.topics = Topics()
        self.topic = self.topics.make("t", 3)
        self.fetches = Fetches(self.topics, lambda partition: partition < 2)
        self.answers: list[Json] = []

    def append(self, partition: int, times: int = 1) -> None:
        for _ in range(times):
            self.topic.partitions[partition].append(TWO)

    def fetch(
        self, wanted: dict[int, int], *, most_bytes: int = 1 << 20, by_id: bool = False, **more: Any
    ) -> Json | None:
        """What is answered at once, of offsets by partition; None if it waits."""
        rows = [
            {"partition": p, "fetchOffset": offset, "partitionMaxBytes": most_bytes}
            for p, offset in wanted.items()
        ]
        named = {"topicId": self.topic.id} if by_id else {"topic": "t"}
        topics = [{**named, "partitions": rows}] if rows else []
        body = {"maxWaitMs": 0, "minBytes": 1, "topics": topics, **more}
        before = len(self.answers)
        self.parked = self.fetches.begin(body, self.answers.append)
        return self.answers[-1] if len(self.answers) > before else None


def told(answer: Json | None) -> dict[int, tuple[int, int, list[int]]]:
    """By partition: the code, how far it reaches, and the offsets of the batches."""
    assert answer is not None
    return {
        row["partitionIndex"]: (
            row["errorCode"],
            row["highWatermark"],
            [b.base_offset for b in batches_in(base64.b64decode(row["records"]))],
        )
        for topic in answer["responses"]
        for row in topic["partitions"]
    }


@pytest.mark.parametrize("by_id", [False, True])
def test_records_and_what_is_refused_are_told_at_once(by_id: bool) -> None:
    one = Client()
    one.append(0, 2)
    answer = one.fetch({0: 2, 1: 0, 2: 0, 3: 0}, by_id=by_id)
    assert told(answer) == {
        0: (0, 4, [2]),
        1: (0, 0, []),
        2: (Code.NOT_LEADER_OR_FOLLOWER, -1, []),
        3: (Code.UNKNOWN_TOPIC_OR_PARTITION, -1, []),
    }
    assert told(one.fetch({0: 5}))[0][0] is Code.OFFSET_OUT_OF_RANGE


def test_a_topic_that_is_gone_is_unknown_by_id() -> None:
    one = Client()
    one.topics.remove("t")
    assert told(one.fetch({0: 0}, by_id=True))[0][0] is Code.UNKNOWN_TOPIC_ID
    assert told(one.fetch({0: 0}))[0][0] is Code.UNKNOWN_TOPIC_OR_PARTITION


def test_bytes_are_limited_but_for_the_first_batch() -> None:
    one = Client()
    one.append(0, 3)
    one.append(1, 3)
    assert told(one.fetch({0: 0, 1: 0}, maxBytes=1)) == {0: (0, 6, [0]), 1: (0, 6, [])}
    assert told(one.fetch({0: 0, 1: 0}, most_bytes=1)) == {0: (0, 6, [0]), 1: (0, 6, [0])}
    assert told(one.fetch({0: 0, 1: 0}, maxBytes=4 * len(TWO))) == {
        0: (0, 6, [0, 2, 4]),
        1: (0, 6, [0]),
    }


async def test_a_fetch_waits_until_there_is_enough() -> None:
    one = Client()
    assert one.fetch({0: 0, 1: 0}, maxWaitMs=60_000, minBytes=len(TWO) + 1) is None
    one.append(0)
    assert one.answers == []
    one.append(1)
    assert told(one.answers[0]) == {0: (0, 2, [0]), 1: (0, 2, [0])}
    one.append(1)
    assert len(one.answers) == 1


async def test_a_fetch_that_is_dropped_is_not_answered() -> None:
    one = Client()
    assert one.fetch({0: 0}, maxWaitMs=60_000) is None
    assert one.parked is not None
    one.parked.drop()
    one.append(0)
    assert one.answers == []
    assert one.topic.partitions[0].watchers == {}


async def test_a_fetch_of_nothing_does_not_wait() -> None:
    one = Client()
    assert one.fetch({}, maxWaitMs=60_000) is not None
    assert one.fetch({2: 0}, maxWaitMs=60_000) is not None  # refused


# Sessions.


def session(epoch: int, session_id: int = 0) -> Json:
    return {"sessionId": session_id, "sessionEpoch": epoch}


def test_a_session_tells_only_what_changed() -> None:
    one = Client()
    first = one.fetch({0: 0, 1: 0}, **session(0))
    assert first is not None
    assert told(first) == {0: (0, 0, []), 1: (0, 0, [])}
    known = first["sessionId"]
    assert known > 0
    assert told(one.fetch({}, **session(1, known))) == {}
    one.append(1)
    assert told(one.fetch({}, **session(2, known))) == {1: (0, 2, [0])}
    assert told(one.fetch({1: 2}, **session(3, known))) == {}
    one.append(0)
    forgotten = [{"topic": "t", "partitions": [0]}]
    assert told(one.fetch({}, forgottenTopicsData=forgotten, **session(4, known))) == {}


def test_a_session_tells_a_refusal_again_and_again() -> None:
    one = Client()
    first = one.fetch({2: 0}, **session(0))
    assert first is not None
    for epoch in (1, 2):
        answer = one.fetch({}, **session(epoch, first["sessionId"]))
        assert told(answer) == {2: (Code.NOT_LEADER_OR_FOLLOWER, -1, [])}


def test_a_session_has_its_epochs() -> None:
    one = Client()
    first = one.fetch({0: 0}, **session(0))
    assert first is not None
    known = first["sessionId"]

    def code(epoch: int, session_id: int) -> int:
        answer = one.fetch({}, **session(epoch, session_id))
        assert answer is not None
        return int(answer["errorCode"])

    assert code(2, known) == Code.INVALID_FETCH_SESSION_EPOCH
    assert code(1, known) == 0
    assert code(1, known) == Code.INVALID_FETCH_SESSION_EPOCH
    assert code(1, known + 1) == Code.FETCH_SESSION_ID_NOT_FOUND
    assert code(-1, known) == 0  # the end of it
    assert code(2, known) == Code.FETCH_SESSION_ID_NOT_FOUND


def refused(one: Client, partitions: dict[int, int], **more: Any) -> Json:
    """The answer to a fetch that is refused as a provocation says."""
    rows = [
        {"partition": p, "fetchOffset": offset, "partitionMaxBytes": 1 << 20}
        for p, offset in partitions.items()
    ]
    topics = [{"topic": "t", "partitions": rows}] if rows else []
    return one.fetches.refuse({"topics": topics, **more}, Code.NOT_LEADER_OR_FOLLOWER)


REFUSED: tuple[int, int, list[int]] = (Code.NOT_LEADER_OR_FOLLOWER, -1, [])


def test_a_refusal_is_of_each_partition_and_not_of_the_whole() -> None:
    answer = refused(Client(), {0: 0, 1: 4})
    assert (answer["errorCode"], answer["sessionId"]) == (0, 0)
    assert told(answer) == {0: REFUSED, 1: REFUSED}


def test_a_refusal_is_also_of_the_partitions_of_the_session_which_goes_on() -> None:
    one = Client()
    one.append(0)
    first = one.fetch({0: 2}, **session(0))
    assert first is not None
    known = first["sessionId"]
    answer = refused(one, {1: 0}, **session(1, known))
    assert (answer["errorCode"], answer["sessionId"]) == (0, known)
    assert told(answer) == {0: REFUSED, 1: REFUSED}
    one.append(0)
    one.append(1)
    assert told(one.fetch({}, **session(2, known))) == {0: (0, 4, [2]), 1: (0, 2, [0])}


def test_a_refusal_of_a_session_s_wrong_epoch_changes_nothing() -> None:
    one = Client()
    first = one.fetch({0: 0}, **session(0))
    assert first is not None
    known = first["sessionId"]
    assert told(refused(one, {1: 0}, **session(7, known))) == {1: REFUSED}
    one.append(1)
    assert told(one.fetch({}, **session(1, known))) == {}


def test_a_new_session_ends_the_one_that_it_names() -> None:
    one = Client()
    first = one.fetch({0: 0}, **session(0))
    assert first is not None
    again = one.fetch({0: 0}, **session(0, first["sessionId"]))
    assert again is not None
    assert again["sessionId"] != first["sessionId"]
    assert len(one.fetches._sessions) == 1


def test_sessions_are_bounded() -> None:
    one = Client()
    for _ in range(1500):
        one.fetch({0: 0}, **session(0))
    assert len(one.fetches._sessions) == 1000


def test_a_fetch_without_a_session_gets_none() -> None:
    one = Client()
    for more in ({}, session(-1)):
        answer = one.fetch({0: 0}, **more)
        assert answer is not None
        assert answer["sessionId"] == 0
    assert one.fetches._sessions == {}
