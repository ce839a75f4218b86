"""Lines of `server.log` of four real brokers: what each says, and what is passed over."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest
from support.places import TESTS

from fencepost.traces.logs.coordinator_messages import MessageKind
from fencepost.traces.logs.request_log import TOO_LONG
from fencepost.traces.logs.server_log import (
    OTHER_LINE,
    OTHER_PROTOCOL,
    UNDATED,
    CoordinatorEvent,
    ServerLog,
)

LOGS = sorted((TESTS / "traces" / "server_logs").glob("server-*.log.gz"))
DATE = "[2026-11-23 15:30:25,424] INFO "
OLD, NEW = "[GroupCoordinator 1]: ", "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
OLD_LOGGER = " (kafka.coordinator.group.GroupCoordinator)"
NEW_LOGGER = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"


def event(text: str) -> CoordinatorEvent:
    made = ServerLog([]).of_line("b", "server.log", 7, text.encode() + b"\n", 0)
    assert isinstance(made, CoordinatorEvent), made
    return made


def old(text: str) -> CoordinatorEvent:
    return event(DATE + OLD + text + OLD_LOGGER)


def new(text: str) -> CoordinatorEvent:
    return event(DATE + NEW + text + NEW_LOGGER)


def test_four_brokers_were_recorded() -> None:
    assert [log.name for log in LOGS] == [
        "server-2.8.0.log.gz",
        "server-3.9.1+new.log.gz",
        "server-3.9.1+old.log.gz",
        "server-4.3.0.log.gz",
    ]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_kind_of_line_is_read_in_every_release(path: Path) -> None:
    log = ServerLog([path])
    counts = Counter(found.kind for found in log)
    always = {
        MessageKind.PREPARING,
        MessageKind.STABILIZED,
        MessageKind.ASSIGNED,
        MessageKind.EMPTY,
        MessageKind.JOINED,
    }
    assert always | {MessageKind.REPLACED, MessageKind.FAILED, MessageKind.LEFT} <= set(counts)
    assert (MessageKind.FENCED in counts) == ("2.8.0" in path.name or "+old" in path.name)
    assert counts[MessageKind.STABILIZED] == counts[MessageKind.ASSIGNED]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_no_line_about_a_group_is_passed_over_but_known_ones(path: Path) -> None:
    reader = ServerLog([])
    left = [
        line
        for line in gzip.decompress(path.read_bytes()).splitlines()
        if b" group " in line and reader.of_line("b", "s", 1, line, 0) == OTHER_LINE
    ]
    # Each of these says what another line says, too.
    known = (b"will not trigger", b"Static Member with unknown member id", b"Pending dynamic")
    about_none = (b"offsets and group metadata", b"KIP-", b"Elected as the group coordinator")
    assert [line for line in left if not any(w in line for w in (*known, *about_none))] == []
    log = ServerLog([path])
    assert list(log)
    assert log.unread == ()


def test_a_rebalance_with_its_reason() -> None:
    found = old(
        "Preparing to rebalance group my (odd) group in state PreparingRebalance with old "
        "generation 2 (__consumer_offsets-0) (reason: Adding new member a-1 with group instance id "
        "Some(a); client reason: not provided)"
    )
    assert (found.kind, found.group, found.generation) == (
        MessageKind.PREPARING,
        "my (odd) group",
        2,
    )
    assert found.fields["reason"].startswith("Adding new member a-1")
    assert found.fields["reason"].endswith("not provided")
    assert found.place == "server.log:7"


@pytest.mark.parametrize(
    "found",
    [
        old(
            "Static member Some(i-2) of group g with unknown member id rejoins, assigning new "
            "member id i-2-b, while old member id i-2-a will be removed."
        ),
        new(
            "Static member with groupInstanceId=i-2 and unknown member id joins group g in Stable "
            "state. Replacing previously mapped member i-2-a with this groupInstanceId."
        ),
    ],
)
def test_a_replacement(found: CoordinatorEvent) -> None:
    assert (found.kind, found.group, found.instance_id) == (MessageKind.REPLACED, "g", "i-2")
    assert found.fields["old"] == "i-2-a"


@pytest.mark.parametrize(
    "found",
    [
        event(
            "[2026-11-23 15:30:27,424] ERROR given member.id i-2-a is identified as a known static "
            "member i-2, but not matching the expected member.id i-2-b during heartbeat, will "
            "respond with instance fenced error (kafka.coordinator.group.GroupMetadata)"
        ),
        old(
            "Request memberId=i-2-a for static member with groupInstanceId=i-2 is fenced by "
            "current memberId=i-2-b during operation heartbeat"
        ),
    ],
)
def test_a_fencing_names_no_group(found: CoordinatorEvent) -> None:
    assert (found.kind, found.group, found.member_id) == (MessageKind.FENCED, "", "i-2-a")
    assert (found.fields["holder"], found.fields["operation"]) == ("i-2-b", "heartbeat")


@pytest.mark.parametrize(
    ("found", "instance", "reason"),
    [
        (
            old(
                "Member[group.instance.id Some(i-2), member.id i-2-a] in group g has left, "
                "removing it from the group"
            ),
            "i-2",
            None,
        ),
        (
            old(
                "Member MemberMetadata(memberId=i-2-a, groupInstanceId=None, clientId=pod-2, "
                "clientHost=/10.0.0.2, sessionTimeoutMs=3000, rebalanceTimeoutMs=8000, "
                "supportedProtocols=List(range)) has left group g through explicit `LeaveGroup`; "
                "client reason: the consumer is being closed"
            ),
            None,
            "the consumer is being closed",
        ),
        (
            new(
                "[Group g] Member i-2-a has left group through explicit `LeaveGroup` request; "
                "client reason: not provided"
            ),
            None,
            "not provided",
        ),
    ],
)
def test_a_leave(found: CoordinatorEvent, instance: str | None, reason: str | None) -> None:
    assert (found.kind, found.group, found.member_id) == (MessageKind.LEFT, "g", "i-2-a")
    assert (found.instance_id, found.fields.get("reason")) == (instance, reason)


def test_lines_in_another_layout_are_read() -> None:
    found = event(f"{DATE}{OLD}Stabilized group g generation 3 with 2 members")
    assert (found.kind, found.generation, found.fields["members"]) == (
        MessageKind.STABILIZED,
        3,
        "2",
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{DATE}Started (kafka.server.KafkaServer)", OTHER_LINE),
        (f"{DATE}{NEW}[GroupId g] Member m joins the consumer group using the consumer protocol.",
         OTHER_PROTOCOL),
        (f"INFO {OLD}Group g with generation 3 is now empty (__consumer_offsets-0)", UNDATED),
        (DATE + "x" * 3000, TOO_LONG),
    ],
)  # fmt: skip
def test_other_lines_are_passed_over_for_a_reason(line: str, reason: str) -> None:
    assert ServerLog([], line_limit=2000).of_line("b", "s", 1, line.encode(), 0) == reason


def test_logs_of_several_brokers_are_merged_by_time_and_skew(tmp_path: Path) -> None:
    for broker, second in (("a", 5), ("b", 4)):
        date = f"[2026-11-23 15:30:0{second},000] INFO "
        text = f"{date}{OLD}Group {broker} with generation 1 is now empty\n"
        (tmp_path / f"{broker}.log").write_text(text)
    paths = [tmp_path / "a.log", tmp_path / "b.log"]
    assert [found.group for found in ServerLog(paths)] == ["b", "a"]
    assert [found.group for found in ServerLog(paths, skew={"a": 3000})] == ["a", "b"]
