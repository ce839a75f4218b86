from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.member_bytes import STRANGE

from fencepost.model.messages.subscription import (
    Subscription,
    TopicPartition,
    assign_alike,
    assignment_fault,
    assignment_label,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    is_later,
    label_assignment,
    named_version,
    readable_subscription,
    subscription_fault,
    version_of,
)

NAMES = st.text("abc.", min_size=1, max_size=4)
PARTITIONS = st.builds(TopicPartition, NAMES, st.integers(0, 5))
OWNED = st.frozensets(PARTITIONS).map(lambda found: tuple(sorted(found)))


@settings(max_examples=40)
@given(
    st.frozensets(NAMES).map(lambda topics: tuple(sorted(topics))),
    OWNED,
    st.integers(-1, 99),
    st.none() | NAMES,
    st.none() | st.binary(max_size=4),
)
def test_a_subscription_is_read_as_it_was_written(
    topics: tuple[str, ...],
    owned: tuple[TopicPartition, ...],
    generation: int,
    rack: str | None,
    user_data: bytes | None,
) -> None:
    subscription = Subscription(topics, owned, generation, rack, user_data)
    assert decode_subscription(encode_subscription(subscription)) == subscription


@settings(max_examples=40)
@given(OWNED)
def test_an_assignment_is_read_as_it_was_written(partitions: tuple[TopicPartition, ...]) -> None:
    assert decode_assignment(encode_assignment(reversed(partitions))) == partitions


@given(STRANGE)
def test_bytes_that_are_neither_raise_one_kind_of_error(data: bytes) -> None:
    for decode in (decode_subscription, decode_assignment):
        with contextlib.suppress(ValueError):
            decode(data)


@settings(max_examples=300)
@given(STRANGE)
def test_what_has_no_fault_is_read(data: bytes) -> None:
    if not subscription_fault(data):
        assert readable_subscription(data) == decode_subscription(data)
    if not assignment_fault(data):
        decode_assignment(data)
    assert isinstance(readable_subscription(data), Subscription)
    assert version_of(data) >= -(2**15)


@pytest.mark.parametrize("version", range(10))
def test_each_version_is_written_whole(version: int) -> None:
    """A later version than there is has a field more, which nobody reads yet."""
    subscription = Subscription(("t",), (TopicPartition("t", 1),), 7, "r", b"x")
    written = encode_subscription(subscription, version)
    read = decode_subscription(written)
    assert (version_of(written), subscription_fault(written)) == (version, "")
    assert read.topics == ("t",)
    assert (read == subscription) == (version >= 3)
    assert is_later(version) == (version > 3)
    assigned = encode_assignment(subscription.owned, version)
    assert (assignment_fault(assigned), decode_assignment(assigned)) == ("", subscription.owned)
    assert len(written) > len(encode_subscription(subscription, 3)) or version <= 3


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("", "no version"),
        ("00", "no version"),
        ("ffff 00000000 ffffffff", "version -1"),
        ("0000", "version 0 without topics"),
        ("0000 ffffffff ffffffff", "version 0 with unreadable topics"),
        ("0000 00000001 ffff ffffffff", "version 0 with unreadable topics"),
        ("0000 00000001 0002 74ff ffffffff", "version 0 with unreadable topics"),
        ("0000 00000001 0001 74", "version 0 without user data"),
        ("0000 00000001 0001 74 00000009 00", "version 0 with unreadable user data"),
        ("0001 00000001 0001 74 00000000", "version 1 without owned partitions"),
        ("0001 00000001 0001 74 ffffffff ffffffff", "version 1 with unreadable owned partitions"),
        ("0002 00000001 0001 74 ffffffff 00000000", "version 2 without generation"),
        ("0003 00000001 0001 74 ffffffff 00000000 00000001", "version 3 without rack"),
        ("0009 00000001 0001 74 ffffffff 00000000 00000001", "version 9 without rack"),
        ("0000 00000001 0001 74 ffffffff 00", ""),
    ],
)
def test_what_no_leader_of_kafkas_can_read(data: str, fault: str) -> None:
    """The tenth is what kafka-go 0.4.51 sends (segmentio/kafka-go#1156)."""
    assert subscription_fault(bytes.fromhex(data)) == fault


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        ("", "no version"),
        ("0001 00000000", "version 1 without user data"),
        ("0001 ffffffff ffffffff", "version 1 with unreadable partitions"),
        ("0001 00000000 ffffffff", ""),
    ],
)
def test_what_no_member_of_kafkas_can_read(data: str, fault: str) -> None:
    assert assignment_fault(bytes.fromhex(data)) == fault


def test_a_leader_reads_the_topics_of_one_who_names_a_version_too_high() -> None:
    older = encode_subscription(Subscription(("t",)), 0)
    assert readable_subscription(named_version(1, older)) == Subscription(("t",))
    assert readable_subscription(b"\0") == Subscription(())


@pytest.mark.parametrize("version", [0, 1, 2])
def test_older_subscriptions_have_less(version: int) -> None:
    """Version 0: topics and user data; 1: what is owned; 2: its generation."""
    newest = encode_subscription(Subscription(("t",), (TopicPartition("t", 1),), 7))
    ends = {0: 2 + 4 + 3 + 4, 1: len(newest) - 6, 2: len(newest) - 2}
    older = version.to_bytes(2) + newest[2 : ends[version]]
    expected = {
        0: Subscription(("t",)),
        1: Subscription(("t",), (TopicPartition("t", 1),)),
        2: Subscription(("t",), (TopicPartition("t", 1),), 7),
    }
    assert decode_subscription(older) == expected[version]


def test_kafkas_own_bytes_are_read() -> None:
    """From the request log of a broker 4.3.0: what its Java consumer sent, owning nothing."""
    sent = bytes.fromhex("0003 00000001 0002 7631 ffffffff 00000000 ffffffff ffff")
    assert decode_subscription(sent) == Subscription(("v1",))
    assert encode_subscription(Subscription(("v1",))) == sent


def test_user_data_is_kept_as_it_is() -> None:
    """The same consumer with its cooperative assignor, which keeps a generation there, too."""
    sent = bytes.fromhex(
        "0003 00000001 0002 7632 00000004 00000002"
        "00000001 0002 7632 00000003 00000000 00000001 00000002 00000002 ffff"
    )
    owned = tuple(TopicPartition("v2", number) for number in range(3))
    subscription = Subscription(("v2",), owned, 2, user_data=b"\0\0\0\2")
    assert decode_subscription(sent) == subscription
    assert encode_subscription(subscription) == sent


def test_no_bytes_are_no_partitions() -> None:
    assert decode_assignment(b"") == ()


@pytest.mark.parametrize("label", [b"A1", b"a", b"x" * 249])
def test_a_label_is_an_assignment_of_the_consumer_protocol(label: bytes) -> None:
    assignment = label_assignment(label)
    assert decode_assignment(assignment) == (TopicPartition(label.decode(), 0),)
    assert assignment_label(assignment) == label.decode()


@pytest.mark.parametrize("label", ["ä".encode(), b"x" * 250, b"x" * 1_100_000])
def test_a_label_that_can_name_no_topic_is_user_data(label: bytes) -> None:
    assignment = label_assignment(label)
    assert decode_assignment(assignment) == ()
    assert assignment_label(assignment) == label.decode()


def test_no_label_is_no_assignment_and_bytes_are_no_text() -> None:
    assert label_assignment(b"") == b""
    assert decode_assignment(label_assignment(b"\xff")) == ()
    assert assignment_label(label_assignment(b"\xff")) is None


@pytest.mark.parametrize(
    "assignment",
    [
        b"",
        b"A1",
        label_assignment(b"A1")[:-1],
        label_assignment(b"A1") + b"\0",
        encode_assignment([TopicPartition("A1", 0)]),
        encode_assignment([TopicPartition("A1", 0), TopicPartition("A1", 1)]),
        label_assignment(b"A1").replace(b"A1", b"\xff\xfe"),
    ],
)
def test_other_assignments_have_no_label(assignment: bytes) -> None:
    assert assignment_label(assignment) is None


def test_a_label_that_is_an_assignment_already_stays() -> None:
    assignment = encode_assignment([TopicPartition("t", 0)], user_data=b"sticky")
    assert label_assignment(assignment) == assignment


def test_the_order_of_an_assignment_means_nothing_and_all_else_does() -> None:
    one, other = (encode_assignment([TopicPartition("t", n)]) for n in (1, 2))
    both = encode_assignment([TopicPartition("t", 1), TopicPartition("t", 2)])
    ends = [number.to_bytes(4) for number in (1, 2)]
    turned = both.replace(b"".join(ends), b"".join(reversed(ends)))
    assert decode_assignment(turned) == decode_assignment(both)
    assert turned != both
    assert assign_alike(both, turned)
    for wrong in (one, other, both[:-1], named_version(0, both)):
        assert not assign_alike(both, wrong)
    data = encode_assignment([TopicPartition("t", 1)], user_data=b"")
    assert not assign_alike(one, data)
