from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.groups import partitions

from fencepost.model.assignors.sticky import Memory, decode_memory, encode_memory, recalled
from fencepost.model.messages.subscription import Subscription

SOME = Memory(partitions("ta0 ta2 tb1"), 7)
WRITTEN = bytes.fromhex(
    "00000002 0002 7461 00000002 00000000 00000002 0002 7462 00000001 00000001 00000007"
)


def test_a_memory_is_written_as_kafka_writes_it() -> None:
    assert encode_memory(SOME) == WRITTEN
    assert decode_memory(WRITTEN) == SOME


def test_who_never_had_anything_says_nothing() -> None:
    assert encode_memory(Memory()) is None
    assert decode_memory(None) == Memory()


def test_who_was_assigned_nothing_says_that() -> None:
    assert decode_memory(encode_memory(Memory((), 3))) == Memory((), 3)


def test_an_older_memory_has_no_generation() -> None:
    assert decode_memory(WRITTEN[:-4]) == Memory(SOME.partitions)


@given(st.binary(max_size=30))
def test_other_bytes_are_some_memory_or_none(data: bytes) -> None:
    assert isinstance(decode_memory(data), Memory)


@pytest.mark.parametrize("data", [b"\0\0\0\1", b"\0\0\0\1\0\2t"])
def test_bytes_that_end_too_soon_are_none(data: bytes) -> None:
    assert decode_memory(data) == Memory()


def test_a_subscription_owns_what_it_remembers() -> None:
    told = Subscription(("ta",), partitions("ta9"), 9, "ra", WRITTEN)
    assert recalled(told) == Subscription(("ta",), SOME.partitions, 7, "ra", WRITTEN)
