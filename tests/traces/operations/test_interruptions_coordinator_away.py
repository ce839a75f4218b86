"""A coordinator that gives a group up, and reads it again: in the words of both coordinators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.logs.audits import headline
from support.logs.coordinator_lines import START_MS, CoordinatorLines, Line

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Failover, Remedy
from fencepost.traces.operations.operator_words import operator_json, operator_summary
from fencepost.traces.operations.rebalances import AWAY, STALE

IDS = [f"{name}-2623169f-271d-4e1f-ae23-2007b27b1{n:03}" for n, name in enumerate("abcabc")]
LAG_MS, AWAY_MS, SESSION_MS = 10_000, 35_000, 45_000


def unloading(*, is_new: bool) -> list[str]:
    if is_new:
        return [
            "Resigned as the group coordinator for partition 12 in epoch OptionalInt[8].",
            "Scheduling unloading of metadata for __consumer_offsets-12 with epoch 8",
            "Started unloading metadata for __consumer_offsets-12 with epoch OptionalInt[8].",
            "[GroupId=orders] Unloading group metadata for generation 30.",
            "Finished unloading metadata for __consumer_offsets-12 with epoch OptionalInt[8].",
        ]
    return [
        "Resigned as the group coordinator for partition 12 in epoch Some(8)",
        "Scheduling unloading of offsets and group metadata from __consumer_offsets-12",
        "Unloading group metadata for orders with generation 30",
        (
            "Finished unloading __consumer_offsets-12 for coordinator epoch OptionalInt[8]. "
            "Removed 24 cached offsets and 1 cached groups."
        ),
    ]


def loading(generation: int, *, is_new: bool) -> list[str]:
    if is_new:
        return [
            "Elected as the group coordinator for partition 12 in epoch 10.",
            "Scheduling loading of metadata from __consumer_offsets-12 with epoch 10",
            "Loaded classic group orders with 2 members.",
            (
                "Finished loading of metadata from __consumer_offsets-12 with epoch 10 in 12ms "
                "where 1ms was spent in the scheduler. Loaded 4 records which total to 400 bytes."
            ),
        ]
    return [
        "Elected as the group coordinator for partition 12 in epoch 10",
        "Scheduling loading of offsets and group metadata from __consumer_offsets-12 for epoch 10",
        f"Loaded member {IDS[0]} in group orders with generation {generation}.",
        f"Loading group metadata for orders with generation {generation}",
        (
            "Finished loading offsets and group metadata from __consumer_offsets-12 in 300 "
            "milliseconds for epoch 10, of which 1 milliseconds was spent in the scheduler."
        ),
    ]


class Away:
    """The parts of a log in which c expires, the group goes away, and a and b expire later."""

    def __init__(self, *, is_new: bool, generation: int = 32) -> None:
        self.words = CoordinatorLines("orders", is_new=is_new, partition=12)
        words, at_ms = self.words, START_MS + LAG_MS
        a, b, c = IDS[:3]
        self.before: list[Line] = [
            (START_MS, words.expiry(c)),
            (START_MS, words.preparation(30, words.expiry_reason(c))),
        ]
        self.unloads: list[Line] = [(at_ms, each) for each in unloading(is_new=is_new)]
        at_ms += AWAY_MS
        self.loads: list[Line] = [(at_ms, each) for each in loading(generation, is_new=is_new)]
        at_ms += SESSION_MS
        self.after: list[Line] = [
            (at_ms, words.expiry(a)),
            (at_ms, words.preparation(generation, words.expiry_reason(a))),
            (at_ms + 20, words.expiry(b)),
            (at_ms + 20, words.no_member(generation + 1)),
        ]
        at_ms += 2_000
        for place, member_id in enumerate(IDS[3:]):
            self.after.append((at_ms, words.dynamic_join(member_id)))
            if not place:
                joins = words.preparation(generation + 1, words.join_reason(member_id))
                self.after.append((at_ms, joins))
        self.after.append((at_ms + 3_000, words.generation(generation + 2, 3)))
        self.after.append((at_ms + 3_000, words.assignment(generation + 2, IDS[3], 3)))

    @property
    def whole(self) -> list[Line]:
        return [*self.before, *self.unloads, *self.loads, *self.after]


def report_of(folder: Path, words: CoordinatorLines, *brokers: Sequence[Line]) -> OperatorReport:
    """Return the report on the lines of brokers, one file for each."""
    paths = []
    for number, lines in enumerate(brokers, 1):
        paths.append(folder / f"b-{number}" / "server.log")
        paths[-1].parent.mkdir()
        paths[-1].write_text(words.text(lines).replace("Coordinator 1", f"Coordinator {number}"))
    return audit_server_log(ServerLog(paths)).report


def failover_of(report: OperatorReport) -> Failover:
    (row,) = report.failovers.rows
    return row


each_coordinator = pytest.mark.parametrize("is_new", [False, True], ids=["old", "new"])


@each_coordinator
def test_members_that_expire_a_session_after_the_load_are_its_consequence(
    tmp_path: Path, is_new: bool
) -> None:
    made = Away(is_new=is_new)
    report = report_of(tmp_path, made.words, made.whole)
    row = failover_of(report)
    assert (row.unloaded_ms, row.away_ms) == (START_MS + LAG_MS, AWAY_MS)
    assert (row.expired, (row.until_ms or 0) - row.at_ms) == (2, SESSION_MS + 20)
    assert (row.cut_off, row.missed) == (1, None if is_new else 2)
    loads = [each.loaded_ms for each in report.expirations.rows]
    assert loads == [None, row.at_ms, row.at_ms]
    assert all(each.back_ms is not None for each in report.expirations.rows)
    assert [each.at_latest for each in report.expirations.rows] == [True, False, False]
    assert not report.restarts.count
    assert not report.deployments.count
    assert {each.remedy for each in report.rebalances.rows} == {Remedy.UNKNOWN}
    assert {each.unclear for each in report.rebalances.rows} == {STALE}
    sentences = headline(report)
    assert sentences.startswith("The coordinator of 1 group was away for 35.0 s; 1 group read; ")
    assert "2 members expired after a change of the coordinator. 1 group had no" in sentences
    text = "\n".join(operator_summary(report))
    assert "The coordinator of 1 group ('orders') was away from 2025-03-11 14:00:10 UTC to" in text
    assert "It cut off 1 rebalance, which the counts above lack." in text
    assert (
        "2 members from before expired up to 45.0 s later, since the new coordinator got no" in text
    )
    assert "All came back with new member ids." in text
    assert "45.0 s after a coordinator loaded the group, back 2.0 s later" in text
    assert "back 92.0 s later at the latest" in text
    assert "unknown whether it came back" not in text
    assert ("2 generations began meanwhile at a broker whose log is not here" in text) != is_new


@each_coordinator
def test_the_reason_of_a_client_says_that_its_process_lived(tmp_path: Path, is_new: bool) -> None:
    made, words = Away(is_new=is_new), CoordinatorLines("orders", is_new=is_new, partition=12)
    reason = words.join_reason(IDS[3])
    said = f"{reason}; client reason: rebalance failed due to UnknownMemberIdException"
    lines = [(at_ms, message.replace(reason, said)) for at_ms, message in made.whole]
    report = report_of(tmp_path, made.words, lines)
    assert [row.lived for row in report.expirations.rows] == [None, True, None]
    text = "\n".join(operator_summary(report))
    assert "back 2.0 s later, its process was alive, by the reason of its next join" in text


@each_coordinator
def test_static_members_are_back_by_their_instance_id(tmp_path: Path, is_new: bool) -> None:
    made = Away(is_new=is_new)
    words, lines = made.words, made.whole
    for member_id, name in zip(IDS[3:], "abc", strict=True):
        dynamic, static = words.dynamic_join(member_id), words.static_join(member_id, name)
        lines = [(at_ms, static if message == dynamic else message) for at_ms, message in lines]
    reasons = words.join_reason(IDS[3]), words.join_reason(IDS[3], "a")
    lines = [(at_ms, message.replace(*reasons)) for at_ms, message in lines]
    report = report_of(tmp_path, words, lines)
    assert {row.instance_id for row in report.expirations.rows} == {"a", "b", "c"}
    assert all(row.back_ms is not None for row in report.expirations.rows)


def test_more_that_come_than_went_with_one_client_id_are_not_told_apart(tmp_path: Path) -> None:
    made = Away(is_new=False)
    lines = [(at_ms, message.replace("c-2623", "a-2623")) for at_ms, message in made.whole]
    report = report_of(tmp_path, made.words, lines)
    unclear = {row.process.client_id for row in report.expirations.rows if row.is_unclear}
    assert unclear == {"a"}


@each_coordinator
def test_a_coordinator_that_does_not_come_back(tmp_path: Path, is_new: bool) -> None:
    made = Away(is_new=is_new)
    report = report_of(tmp_path, made.words, [*made.before, *made.unloads])
    row = failover_of(report)
    assert (row.is_loaded, row.at_ms, row.away_ms) == (False, START_MS + LAG_MS, None)
    text = "\n".join(operator_summary(report))
    assert "14:00:10 UTC, and the log doesn't show which one came after" in text
    assert "not back before the log ends" not in text
    assert "Still rebalancing" not in text
    (end,) = operator_json(report)["at_end"]
    assert (end["static"], end["dynamic"], end["rebalancing_ms"]) == (None, None, None)


@each_coordinator
def test_another_broker_of_the_log_has_the_group_meanwhile(tmp_path: Path, is_new: bool) -> None:
    """The new one may load it before the old one says that it is gone: it was never away."""
    made = Away(is_new=is_new)
    early = [(START_MS + LAG_MS - 50, message) for _, message in made.loads]
    report = report_of(tmp_path, made.words, [*made.before, *made.unloads], early)
    row = failover_of(report)
    assert (row.is_loaded, row.unloaded_ms, row.at_ms) == (True, None, early[0][0])


def test_a_group_that_comes_back_unchanged_missed_nothing(tmp_path: Path) -> None:
    """No generation began elsewhere, so who comes after the load is the one that had left."""
    made = Away(is_new=False, generation=30)
    words, new_c = made.words, IDS[5]
    at_ms = made.loads[0][0] + 1_000
    after = [
        (at_ms, words.dynamic_join(new_c)),
        (at_ms, words.preparation(30, words.join_reason(new_c))),
        (at_ms + 3_000, words.generation(31, 3)),
    ]
    report = report_of(tmp_path, words, [*made.before, *made.unloads, *made.loads, *after])
    (gone,) = report.expirations.rows
    assert gone.back_ms == at_ms
    assert failover_of(report).missed == 0


def test_a_new_member_just_after_an_absence_may_have_left_elsewhere(tmp_path: Path) -> None:
    made = Away(is_new=False)
    words, at_ms = made.words, made.loads[0][0] + 1_000
    after = [
        (at_ms, words.dynamic_join(IDS[5])),
        (at_ms, words.preparation(32, words.join_reason(IDS[5]))),
        (at_ms + 3_000, words.generation(33, 3)),
    ]
    report = report_of(tmp_path, words, [*made.unloads, *made.loads, *after])
    assert [row.unclear for row in report.rebalances.rows] == [AWAY]


def test_members_that_joined_a_generation_after_the_load_went_on(tmp_path: Path) -> None:
    """They expire later for reasons of their own."""
    made = Away(is_new=False)
    words, at_ms = made.words, made.loads[0][0] + 1_000
    between = [
        (at_ms, words.preparation(32, f"Leader {IDS[0]} re-joining group during Stable")),
        (at_ms + 3_000, words.generation(33, 2)),
    ]
    gone = [
        (at_ms + 60_000, words.expiry(IDS[0])),
        (at_ms + 60_000, words.preparation(33, words.expiry_reason(IDS[0]))),
    ]
    lines = [*made.before, *made.unloads, *made.loads, *between, *gone]
    report = report_of(tmp_path, words, lines)
    assert failover_of(report).expired == 0
    assert [row.loaded_ms for row in report.expirations.rows] == [None, None]


def test_members_that_are_there_without_a_line_about_a_load(tmp_path: Path) -> None:
    """How long the group was away is unknown then, and nobody expired since a load."""
    made = Away(is_new=False)
    report = report_of(tmp_path, made.words, [*made.before, *made.unloads, *made.after])
    row = failover_of(report)
    assert (row.is_loaded, row.unloaded_ms, row.away_ms) == (False, START_MS + LAG_MS, None)
    assert row.expired == 0
    assert not headline(report).startswith("The coordinator")
