"""Logs in memory: offsets, what is read, what goes, and what is appended once."""

from __future__ import annotations

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from fencepost.conformance.serve.topic_log import BATCH_BYTES, PartitionLog, Topics
from fencepost.conformance.wire.record_batches import RecordsError, batch_of, batches_in, summary
from fencepost.conformance.wire.refusal import Code
from fencepost.model.messages.shapes import NO_UUID

TWO = batch_of([b"a", b"b"])


def sequenced(producer: int, sequence: int, at_ms: int = 1, epoch: int = 0) -> bytes:
    """A batch of one record, from an idempotent producer."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        batch_size=1 << 20,
    )
    builder.append(0, at_ms, None, b"x", [])
    return bytes(builder.build())


def held(retention_bytes: int = 1 << 20) -> PartitionLog:
    return PartitionLog(lambda: retention_bytes)


def offsets(data: bytes) -> list[int]:
    return [offset for b in batches_in(data) for offset in range(b.base_offset, b.next_offset)]


def test_records_have_the_offsets_of_their_order() -> None:
    log = held()
    assert [log.append(TWO), log.append(TWO + TWO)] == [0, 2]
    assert log.end_offset == 6
    assert offsets(log.read(0, 1 << 20)) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("offset", "first"), [(0, 0), (1, 0), (2, 2), (3, 2), (4, 4)])
def test_a_fetch_gets_whole_batches_from_the_one_with_its_offset_on(
    offset: int, first: int
) -> None:
    log = held()
    log.append(TWO + TWO + TWO)
    assert offsets(log.read(offset, 1 << 20))[0] == first
    assert len(offsets(log.read(offset, 1))) == 2
    assert len(offsets(log.read(0, 2 * len(TWO)))) == 4


def test_there_is_nothing_at_the_end() -> None:
    log = held()
    assert log.read(0, 100) == b""
    log.append(TWO)
    assert log.read(2, 100) == b""


def test_old_batches_go_and_the_last_one_stays() -> None:
    log = held(2 * (len(TWO) + BATCH_BYTES))
    for _ in range(5):
        log.append(TWO)
    assert (log.start_offset, log.end_offset) == (6, 10)
    assert offsets(log.read(6, 1 << 20)) == [6, 7, 8, 9]
    tiny = held(1)
    tiny.append(TWO)
    tiny.append(TWO)
    assert (tiny.start_offset, tiny.end_offset) == (2, 4)


def test_logs_share_what_all_may_take() -> None:
    topics = Topics(retention_bytes=8 * (len(TWO) + BATCH_BYTES))
    first, second = topics.make("t", 1).partitions[0], topics.make("u", 1).partitions[0]
    for _ in range(9):
        first.append(TWO)
        second.append(TWO)
    assert first.end_offset - first.start_offset == 8
    topics.remove("u")
    for _ in range(9):
        first.append(TWO)
    assert first.end_offset - first.start_offset == 16


def test_what_a_producer_sends_twice_is_appended_once() -> None:
    log = held()
    assert [log.append(sequenced(7, n)) for n in (0, 1, 1, 0)] == [0, 1, 1, 0]
    assert log.append(sequenced(8, 0)) == 2
    assert log.append(sequenced(7, 0, epoch=1)) == 3
    assert [log.append(TWO), log.append(TWO)] == [4, 6]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (-1, (3, -1)),
        (-2, (0, -1)),
        (-3, (1, 30)),
        (-4, (0, -1)),
        (-5, (-1, -1)),
        (5, (0, 10)),
        (20, (1, 30)),
        (31, (-1, -1)),
    ],
)
def test_offsets_by_time(asked: int, found: tuple[int, int]) -> None:
    log = held()
    for sequence, at_ms in enumerate((10, 30, 20)):
        log.append(sequenced(1, sequence, at_ms))
    assert log.offset_at(asked) == found


def test_the_end_of_an_empty_log() -> None:
    assert held().offset_at(-3) == (-1, -1)


def test_who_watches_is_told_of_each_append() -> None:
    log, told = held(), []
    log.watchers["me"] = lambda: told.append(log.end_offset)
    log.append(TWO)
    with pytest.raises(RecordsError):
        log.append(b"")
    log.append(TWO)
    assert told == [2, 4]


def test_a_topic_that_is_made_again_is_another_one() -> None:
    topics = Topics()
    first = topics.make("t", 1)
    assert topics.by_id(first.id) is first
    assert topics.remove("t")
    assert not topics.remove("t")
    assert topics.by_id(first.id) is None
    assert topics.make("t", 1).id not in {first.id, NO_UUID}
    assert Topics().make("t", 1).id == first.id  # the same in each run


def test_a_partition_is_found_by_name_or_id() -> None:
    topics = Topics()
    topic = topics.make("t", 2)

    def found(row: dict[str, str], partition: int, *, leads: bool = True) -> object:
        return topics.log_of(row, partition, lambda _: leads)

    assert found({"name": "t"}, 1) is topic.partitions[1]
    assert found({"topicId": topic.id}, 0) is topic.partitions[0]
    assert found({"name": "t"}, 2) is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert found({"name": "t"}, -1) is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert found({"name": "u"}, 0) is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert found({"topicId": NO_UUID}, 0) is Code.UNKNOWN_TOPIC_ID
    assert found({"name": "t"}, 0, leads=False) is Code.NOT_LEADER_OR_FOLLOWER


def test_what_is_kept_is_bounded() -> None:
    log = held(1000)
    for number in range(3000):
        log.append(sequenced(number, 0))
    assert len(log._sequences) == 1000
    assert summary(log.read(log.start_offset, 1 << 20))["bytes"] <= 1000
