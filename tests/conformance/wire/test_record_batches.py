"""Batches as they are appended: read by their headers, and changed in nothing else."""

from __future__ import annotations

import pytest
from kafka.record.memory_records import MemoryRecords

from fencepost.conformance.wire.record_batches import RecordsError, batch_of, batches_in, summary
from fencepost.conformance.wire.refusal import Code

TWO = batch_of([b"a", b"b"])
THREE = batch_of([b"c", b"d", b"e"])


def values(data: bytes) -> list[tuple[int, bytes]]:
    """What a consumer reads, checksums checked."""
    found, records = [], MemoryRecords(data)
    while (batch := records.next_batch()) is not None:
        assert batch.validate_crc()
        found += [(record.offset, record.value) for record in batch]
    return found


def test_batches_that_follow_each_other_are_told_apart() -> None:
    two, three = batches_in(TWO + THREE)
    assert (two.data, three.data) == (TWO, THREE)
    assert (two.count, two.base_offset, two.next_offset) == (2, 0, 2)
    assert batches_in(b"") == []


def test_a_batch_is_moved_without_breaking_its_checksum() -> None:
    (batch,) = batches_in(TWO)
    moved = batch.at(40)
    assert (moved.base_offset, moved.next_offset) == (40, 42)
    assert values(moved.data) == [(40, b"a"), (41, b"b")]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_refused_as_such(magic: int) -> None:
    with pytest.raises(RecordsError) as caught:
        batches_in(TWO[:16] + bytes([magic]) + TWO[17:])
    assert caught.value.code is Code.UNSUPPORTED_FOR_MESSAGE_FORMAT


@pytest.mark.parametrize(
    "data",
    [
        TWO[:-1],
        TWO[:16],
        TWO[:30],
        TWO + b"\0",
        TWO[:16] + b"\3" + TWO[17:],
        TWO[:8] + (1 << 30).to_bytes(4) + TWO[12:],
        TWO[:8] + b"\xff\xff\xff\xff" + TWO[12:],
        TWO[:57] + (9).to_bytes(4) + TWO[61:],
    ],
    ids=["cut", "no magic", "no header", "more", "magic 3", "too long", "negative", "count"],
)
def test_what_is_no_batch_is_corrupt(data: bytes) -> None:
    with pytest.raises(RecordsError) as caught:
        batches_in(data)
    assert caught.value.code is Code.CORRUPT_MESSAGE


def test_a_history_keeps_numbers_only() -> None:
    first, second = batches_in(TWO)[0].at(7), batches_in(THREE)[0].at(9)
    data = first.data + second.data
    assert summary(data) == {"count": 5, "bytes": len(data), "first": 7, "last": 11}
    cut = first.data + second.data[:-1]
    assert summary(cut) == {"count": 2, "bytes": len(cut), "first": 7, "last": 8}
    assert summary(b"") == {"count": 0, "bytes": 0, "first": -1, "last": -1}
