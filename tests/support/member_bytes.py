"""Bytes that some client could write for other members: valid, nearly valid, and any."""

from __future__ import annotations

from hypothesis import strategies as st

from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)

_INT32 = st.integers(-(2**31), 2**31 - 1)
_PARTITIONS = st.lists(st.builds(TopicPartition, st.sampled_from(["t", "u", "", "\0"]), _INT32))
_VALID = st.one_of(
    st.builds(
        encode_subscription,
        st.builds(
            Subscription,
            st.lists(st.sampled_from(["t", "u", ""]), max_size=3).map(tuple),
            _PARTITIONS.map(tuple),
            _INT32,
            st.none() | st.sampled_from(["", "r"]),
            st.none() | st.binary(max_size=30),
        ),
        st.integers(0, 9),
    ),
    st.builds(encode_assignment, _PARTITIONS, st.integers(0, 9)),
)
_LENGTHS = (b"", b"\xff", b"\x7f\xff\xff\xff")
"""Bytes that stand for no length, for null, and for a length without end."""


@st.composite
def _nearly_valid(draw: st.DrawFn) -> bytes:
    """Draw valid bytes, and replace or cut up to three parts: lengths, versions, the end."""
    data = bytearray(draw(_VALID))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        end = draw(st.integers(at, min(at + 4, len(data))))
        data[at:end] = draw(st.sampled_from(_LENGTHS) | st.binary(max_size=4))
    return bytes(data)


STRANGE = st.one_of(_VALID, _nearly_valid(), st.binary(max_size=60))
"""Any bytes that a member may read as those of another one."""
