"""Read and make batches of records as a log keeps them.

A batch is passed through as it came, compressed or not.  Only its first offset and its leader epoch
are written into it, which its checksum doesn't cover; the checksum itself is left to consumers.

Source: Kafka's message format, "Record Batch" (magic 2, since 0.11).
"""

from __future__ import annotations

import struct
import time
from dataclasses import dataclass

from kafka.record.default_records import DefaultRecordBatchBuilder

from fencepost.conformance.wire.refusal import Code

LEADER_EPOCH = 0

_MAGIC = 2
_MAGIC_AT = 16
_BASE = struct.Struct(">qi")
_HEADER = struct.Struct(">qiibIhiqqqhii")
_BATCH_BYTES = 1 << 20


class RecordsError(ValueError):
    """Produced bytes can't be kept; `code` says why."""

    def __init__(self, code: Code) -> None:
        super().__init__(code.name)
        self.code = code


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch: its offsets, and the bytes as they are fetched.

    `next_offset`: after its last record.  `first_ms`, `last_ms`: its least and latest timestamps.
    `producer_id`, `base_sequence`: -1 without idempotence.
    """

    base_offset: int
    next_offset: int
    count: int
    first_ms: int
    last_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    data: bytes

    def at(self, offset: int) -> Batch:
        """Return the same batch, with another first offset."""
        data = bytearray(self.data)
        struct.pack_into(">q", data, 0, offset)
        struct.pack_into(">i", data, _BASE.size, LEADER_EPOCH)
        end = offset + self.next_offset - self.base_offset
        return Batch(
            offset,
            end,
            self.count,
            self.first_ms,
            self.last_ms,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            bytes(data),
        )


def batches_in(data: bytes) -> list[Batch]:
    """Return the batches that follow each other.  Raises RecordsError for bytes that are none."""
    batches, position = [], 0
    while position < len(data):
        batch = _batch_at(data, position)
        position += len(batch.data)
        batches.append(batch)
    return batches


def _batch_at(data: bytes, position: int) -> Batch:
    if len(data) - position <= _MAGIC_AT:
        raise RecordsError(Code.CORRUPT_MESSAGE)
    if data[position + _MAGIC_AT] < _MAGIC:
        raise RecordsError(Code.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    if len(data) - position < _HEADER.size:
        raise RecordsError(Code.CORRUPT_MESSAGE)
    base, length, _, magic, _, _, last, first_ms, last_ms, producer, epoch, sequence, count = (
        _HEADER.unpack_from(data, position)
    )
    size = _BASE.size + length
    if magic != _MAGIC or not _HEADER.size <= size <= len(data) - position or last + 1 < count:
        raise RecordsError(Code.CORRUPT_MESSAGE)
    inside = data[position : position + size]
    return Batch(base, base + last + 1, count, first_ms, last_ms, producer, epoch, sequence, inside)


def batch_of(values: list[bytes]) -> bytes:
    """Return a batch of records with these values and no keys, from now."""
    builder = DefaultRecordBatchBuilder(
        magic=_MAGIC,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=_BATCH_BYTES,
    )
    now_ms = time.time_ns() // 1_000_000
    for number, value in enumerate(values):
        builder.append(number, now_ms, None, value, [])
    return bytes(builder.build())


def summary(data: bytes) -> dict[str, int]:
    """Summarise records for a history: their number and bytes, the first and the last offset.

    A log may answer the beginning of a batch only; that is counted as bytes.
    """
    count, first, last, position = 0, -1, -1, 0
    while position < len(data):
        try:
            batch = _batch_at(data, position)
        except RecordsError:
            break
        position += len(batch.data)
        count += batch.count
        first = batch.base_offset if first < 0 else first
        last = batch.next_offset - 1
    return {"count": count, "bytes": len(data), "first": first, "last": last}
