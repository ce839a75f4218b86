"""Logs as operators have them: each layout tells the same, and nothing in them is unread.

The logs were made from public reports; 50 to 53 are of real brokers.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.places import TESTS

from fencepost.traces.logs.coordinator_messages import MessageKind
from fencepost.traces.logs.server_log import CoordinatorEvent, LogKind, ServerLog, log_kind

FOLDER = TESTS / "traces" / "field_logs"
LOGS = sorted(FOLDER.glob("*.log.gz"))
LAYOUTS = ("28-logger", "29-debezium", "31-iso", "32-strimzi", "33-cfk", "36-newest", "38-swarm")
Content = tuple[object, ...]


def log_of(beginning: str) -> Path:
    (path,) = FOLDER.glob(f"{beginning}*.log.gz")
    return path


def content(event: CoordinatorEvent) -> Content:
    """Return the fields of an event, without its place."""
    fields = tuple(sorted(event.fields.items()))
    ids = event.group, event.member_id, event.instance_id, event.generation
    return event.at_ms, event.kind, *ids, event.is_new, fields


def contents(path: Path) -> list[Content]:
    return [content(event) for event in ServerLog([path])]


def kinds(beginning: str) -> Counter[MessageKind]:
    return Counter(event.kind for event in ServerLog([log_of(beginning)]))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_no_line_about_a_group_is_unread(path: Path) -> None:
    assert log_kind(path) is LogKind.SERVER
    log = ServerLog([path])
    assert list(log)
    assert log.unread == ()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_another_layout_tells_the_same(layout: str) -> None:
    assert contents(log_of(layout)) == contents(log_of("11-"))


def test_a_real_log_in_the_layout_of_strimzi_tells_the_same() -> None:
    assert contents(log_of("53-")) == contents(log_of("51-"))


def test_rebalances_in_the_layout_of_strimzi() -> None:
    assert kinds("01-")[MessageKind.STABILIZED] == 12
    assert kinds("03-")[MessageKind.FAILED] == 12
    assert {MessageKind.LEFT, MessageKind.STABILIZED} <= set(kinds("m1-"))


def test_an_id_that_was_never_used_is_read() -> None:
    log = list(ServerLog([log_of("15-")]))
    unused = {event.member_id for event in log if event.kind is MessageKind.NAME_EXPIRED}
    named = {event.member_id for event in log if event.kind is MessageKind.NAMED}
    used = {event.member_id for event in log if event.kind is MessageKind.USED}
    assert len(unused) == 3
    assert unused | used == named
    assert not unused & used


def test_the_group_of_a_fenced_member_is_known_from_a_later_line() -> None:
    """Kafka 2.4 names no group in the lines of a replacement and of a fencing."""
    events = list(ServerLog([log_of("50-")]))
    fenced = [event for event in events if event.kind is MessageKind.FENCED]
    assert [(event.group, event.instance_id) for event in fenced] == [("orders", "orders-2")] * 2
    replaced = [event for event in events if event.kind is MessageKind.REPLACED]
    assert {event.group for event in replaced} == {"orders"}
    assert [event.fields["old"] for event in replaced] == [event.member_id for event in fenced]


def test_the_protocols_of_a_member_that_left_are_read() -> None:
    left = next(e for e in ServerLog([log_of("42-")]) if e.kind is MessageKind.LEFT)
    assert left.fields["protocols"] == "List(sessioned, compatible, default)"
    assert (left.fields["session_ms"], left.fields["rebalance_ms"]) == ("10000", "60000")
    assert left.fields["statement"] == "the consumer is being closed"
