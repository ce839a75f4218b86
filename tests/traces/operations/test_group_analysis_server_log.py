"""One group of server.log, line by line, where the recorded logs have no such story."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.logs.coordinator_lines import CoordinatorLines

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import Cause, End, GroupKind, Remedy
from fencepost.traces.operations.operator_words import (
    operator_json,
    operator_summary,
    problem_texts,
)
from fencepost.traces.operations.rebalances import BEFORE_LOG, SAME_NAME, UNNAMED

OLD, NEW = CoordinatorLines("g"), CoordinatorLines("g", is_new=True)
old_preparing, preparing, stable = OLD.preparation, NEW.preparation, NEW.generation
UUID = "2623169f-271d-4e1f-ae23-2007b27b1{:03}"


def told(folder: Path, *lines: tuple[int, str]) -> OperatorReport:
    """The report on lines of the new coordinator, at seconds after noon."""
    path = folder / "server.log"
    path.write_text(
        "".join(
            f"[2026-11-23 12:{second // 60:02}:{second % 60:02},000] INFO [GroupCoordinator id=1] "
            f"{text} (org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
            for second, text in lines
        )
    )
    return audit_server_log(ServerLog([path])).report


def joins(name: str, number: int, generation: int) -> str:
    return preparing(generation, NEW.join_reason(f"{name}-{UUID.format(number)}"))


def left(name: str, number: int, reason: str) -> str:
    return NEW.leave(f"{name}-{UUID.format(number)}", reason)


def leaves(name: str, number: int, generation: int) -> str:
    return preparing(generation, NEW.leave_reason(f"{name}-{UUID.format(number)}"))


def restarted(first: str, second: str) -> list[tuple[int, str]]:
    """Two members; the second one leaves, and comes back."""
    return [
        (0, joins(first, 1, 0)),
        (1, stable(1, 1)),
        (2, joins(second, 2, 1)),
        (3, stable(2, 2)),
        (10, left(second, 2, "the consumer is being closed")),
        (10, leaves(second, 2, 2)),
        (11, stable(3, 1)),
        (18, joins(second, 3, 3)),
        (19, stable(4, 2)),
    ]


def test_a_dynamic_member_that_leaves_and_comes_back(tmp_path: Path) -> None:
    report = told(tmp_path, *restarted("a", "b"))
    rows = report.rebalances.rows
    assert [row.cause for row in rows] == [*2 * [Cause.NEW_MEMBER], Cause.LEAVE, Cause.NEW_MEMBER]
    assert [row.who for row in rows] == ["a", "b", "b", "b"]
    assert [(row.members_before, row.members_after) for row in rows[2:]] == [(2, 1), (1, 2)]
    assert [row.remedy for row in rows[2:]] == 2 * [Remedy.STATIC]
    assert (rows[2].away_ms, rows[2].session_ms) == (8_000, 15_000)
    assert (report.figures["g"].static, report.figures["g"].dynamic) == (0, 2)


def test_a_member_that_was_not_polled_is_a_problem(tmp_path: Path) -> None:
    report = told(
        tmp_path,
        (0, joins("a", 1, 0)),
        (1, stable(1, 1)),
        (9, left("a", 1, "consumer poll timeout has expired.")),
        (9, "Group g with generation 2 is now empty."),
    )
    (problem,) = report.problems
    assert problem.kind == "poll-timeout"
    assert [row.members_after for row in report.rebalances.rows] == [1, 0]
    text = "\n".join(operator_summary(report))
    assert "since the last one expired or" not in text
    assert "Without a member until the log ends, since the last one was not polled" in text


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    joined = "Static member with groupInstanceId=i-1 and unknown member id joins group g in Stable"
    replaced = "state. Replacing previously mapped member i-1-old with this groupInstanceId."
    report = told(
        tmp_path,
        (0, f"{joined} {replaced}"),
        (9, f"Member i-1-{UUID.format(7)} in group g has failed, removing it from the group."),
        (9, preparing(5, f"removing member i-1-{UUID.format(7)} on heartbeat expiration.")),
        (9, stable(6, 3)),
    )
    first, second = sorted(report.life_lines.rows, key=lambda line: line.begins)
    assert (first.member_id, first.begins, first.end) == ("i-1-old", False, End.REPLACED)
    assert (second.member_id, second.end) == (f"i-1-{UUID.format(7)}", End.EXPIRED)
    (row,) = report.rebalances.rows
    assert (row.cause, row.members_before, row.members_after) == (Cause.EXPIRY, None, 3)


def both(folder: Path, *lines: tuple[int, str]) -> list[tuple[Remedy, str]]:
    """What would have avoided each rebalance, and why that is unknown."""
    return [(row.remedy, row.unclear) for row in told(folder, *lines).rebalances.rows]


def test_an_administrator_who_removes_several_members_names_none_of_them(tmp_path: Path) -> None:
    given = "Static member with groupInstanceId=i-{} and unknown member id joins group g in Empty"
    made = "state. Created a new member id i-{}-{} for this member and add to the group."
    joined = [(n, f"{given} {made}".format(n, n, UUID.format(n))) for n in (1, 2)]
    removed = [(9, left(f"i-{n}", n, "not provided")) for n in (1, 2)]
    cause = (9, preparing(2, "explicit `LeaveGroup` request for (, ) members."))
    report = told(tmp_path, *joined, *removed, cause, (10, stable(3, 1)))
    assert [(r.instance_id, r.itself) for r in report.static_leaves.rows] == [
        ("i-1", False),
        ("i-2", False),
    ]


def test_of_processes_with_one_client_id_one_that_is_out_alone_comes_back(tmp_path: Path) -> None:
    found = both(tmp_path, *restarted("consumer-g-1", "consumer-g-1"))
    assert found == [*2 * [(Remedy.NOTHING, "")], *2 * [(Remedy.STATIC, "")]]


def test_of_two_processes_with_one_client_id_that_are_out_it_is_unknown_who_came_back(
    tmp_path: Path,
) -> None:
    name = "consumer-g-1"
    lines = [(0, joins(name, n, n - 1)) for n in (1, 2, 3)]
    lines += [(1, stable(3, 3))]
    for second, number in ((10, 2), (12, 3)):
        lines += [(second, left(name, number, "closed")), (second, leaves(name, number, 3))]
        lines += [(second + 1, stable(4, 2))]
    for second, number in ((20, 4), (90, 5)):
        lines += [(second, joins(name, number, 5)), (second + 1, stable(6, number - 2))]
    found = both(tmp_path, *lines)
    assert found[-4:] == 4 * [(Remedy.UNKNOWN, SAME_NAME)]


def test_processes_that_come_before_those_they_replace_go_are_no_restarts(tmp_path: Path) -> None:
    name = "consumer-g-1"
    lines = [(0, joins(name, 1, 3)), (1, stable(4, 2))]
    for n in (1, 2, 3):
        lines += [(10 * n, joins(name, 10 + n, 4)), (10 * n + 1, stable(5, 3))]
        gone = (left(name, n, "closed"), leaves(name, n, 5), stable(6, 2))
        lines += [(10 * n + 5, text) for text in gone]
    found = both(tmp_path, *lines)
    assert {remedy for remedy, _ in found[1:-1]} == {Remedy.UNKNOWN}


def test_who_never_comes_back_would_not_have_been_helped(tmp_path: Path) -> None:
    found = both(
        tmp_path,
        (0, joins("consumer-g-1", 1, 0)),
        (1, stable(1, 1)),
        (2, joins("consumer-g-1", 2, 1)),
        (3, stable(2, 2)),
        (10, left("consumer-g-1", 2, "the consumer is being closed")),
        (10, leaves("consumer-g-1", 2, 2)),
        (11, stable(3, 1)),
    )
    assert found[-1] == (Remedy.NOTHING, "")


def test_who_comes_when_the_log_begins_may_have_left_before(tmp_path: Path) -> None:
    lines = ((5, joins("a", 1, 7)), (6, stable(8, 3)), (700, joins("b", 2, 8)), (701, stable(9, 4)))
    assert both(tmp_path, *lines) == [(Remedy.UNKNOWN, BEFORE_LOG), (Remedy.NOTHING, "")]


def test_a_release_that_does_not_name_who_joins_leaves_it_unknown(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    member = f"pod-1-{UUID.format(1)}"
    left = f"Member[group.instance.id None, member.id {member}] in group g has left, removing it"
    state = "in state PreparingRebalance with old generation 4 (__consumer_offsets-0)"
    texts = (
        f"{left} from the group",
        f"Preparing to rebalance group g {state} (reason: removing member {member} on LeaveGroup)",
        "Stabilized group g generation 5 (__consumer_offsets-0) with 3 members",
    )
    path.write_text(
        "".join(
            f"[2026-11-23 12:00:0{n},000] INFO [GroupCoordinator 1]: {text} "
            "(kafka.coordinator.group.GroupCoordinator)\n"
            for n, text in enumerate(texts)
        )
    )
    report = audit_server_log(ServerLog([path])).report
    assert [row.unclear for row in report.rebalances.rows] == [UNNAMED]
    assert report.shows("g", "fenced")
    assert not report.shows("g", "short-session")


def old_words(folder: Path, *texts: str) -> OperatorReport:
    """Audit lines of the old coordinator, a second each."""
    path = folder / "server.log"
    path.write_text(
        "".join(
            f"[2026-11-23 12:00:{n:02},000] INFO [GroupCoordinator 1]: {text} "
            "(kafka.coordinator.group.GroupCoordinator)\n"
            for n, text in enumerate(texts)
        )
    )
    return audit_server_log(ServerLog([path])).report


def test_one_process_that_restarts_again_and_again_unnamed_is_no_deployment(tmp_path: Path) -> None:
    """A recording of Kafka 2.8.0, which doesn't log who joins while a rebalance runs."""
    said = "Adding new member {} with group instance id None"
    stabilized = "Stabilized group g generation {} (__consumer_offsets-0) with {} members"
    gone = "Member[group.instance.id None, member.id {}] in group g has left, removing it from the"
    texts = []
    for number, name in enumerate(("pod-1", "pod-2")):
        joined = said.format(f"{name}-{UUID.format(number)}")
        texts += [old_preparing(number, joined), stabilized.format(number + 1, number + 1)]
    for number in range(1, 7):
        member = f"pod-2-{UUID.format(number)}"
        leave = old_preparing(number + 1, f"removing member {member} on LeaveGroup")
        texts += [f"{gone.format(member)} group", leave, stabilized.format(number + 2, 2)]
    report = old_words(tmp_path, *texts)
    assert not report.deployments.rows
    (loop,) = report.loops.rows
    assert (loop.cause, loop.process.client_id) == (Cause.LEAVE, "pod-2")


def test_one_process_whose_joins_are_named_sometimes_is_no_deployment(tmp_path: Path) -> None:
    """A recording of Kafka 2.4.1, which counts no members either."""
    said = "Adding new member {} with group instanceid None"
    stabilized = "Stabilized group g generation {} (__consumer_offsets-0)"
    gone = "Member[group.instance.id None, member.id {}] in group g has left, removing it from the"
    first, *others = (f"pod-{min(n, 2)}-{UUID.format(n)}" for n in range(1, 9))
    texts = [old_preparing(0, said.format(first)), stabilized.format(1)]
    texts += [old_preparing(1, said.format(others[0])), stabilized.format(2)]
    generation = 2
    for number, member in enumerate(others[:-1]):
        leave = old_preparing(generation, f"removing member {member} on LeaveGroup")
        texts += [f"{gone.format(member)} group", leave, stabilized.format(generation + 1)]
        generation += 1
        if number % 2:
            texts += [old_preparing(generation, said.format(others[number + 1]))]
            texts += [stabilized.format(generation + 1)]
            generation += 1
    assert not old_words(tmp_path, *texts).deployments.rows


@pytest.mark.parametrize(
    ("generation", "is_logged", "others", "most"),
    [
        (0, True, 2, 3),
        (0, True, 0, 1),
        (0, False, 2, None),  # who left without a line?
        (3, True, 2, None),  # who was there before?
    ],
)
def test_members_at_a_time_are_counted_where_the_log_shows_all_that_go(
    tmp_path: Path, generation: int, is_logged: bool, others: int, most: int | None
) -> None:
    """A recording of Kafka 2.4.1: three that join at once are one named member."""
    first, *unnamed = (f"pod-{n}-{UUID.format(n)}" for n in range(others + 1))
    said = f"Adding new member {first} with group instanceid None"
    gone = "Member[group.instance.id None, member.id {}] in group g has left, removing it from the"
    stabilized = f"Stabilized group g generation {generation + 1} (__consumer_offsets-0)"
    texts = [old_preparing(generation, said), stabilized]
    leave = old_preparing(generation + 1, f"removing member {first} on LeaveGroup")
    left_lines = [f"{gone.format(member)} group" for member in unnamed]
    texts += [f"{gone.format(first)} group", leave, *left_lines] if is_logged else [leave]
    texts.append(f"Group g with generation {generation + 2} is now empty (__consumer_offsets-0)")
    (end,) = operator_json(old_words(tmp_path, *texts))["at_end"]
    assert end["most_members"] == most


@pytest.mark.parametrize("shared", [False, True])
def test_a_process_that_goes_and_is_not_known_came_back_without_its_name(
    tmp_path: Path, shared: bool
) -> None:
    """A recording of Kafka 2.3.1: a restart is sure where the client id is its own."""
    said = "Adding new member {} with group instanceid None"
    stabilized = "Stabilized group g generation {} (__consumer_offsets-0)"
    name = "pod-1" if shared else "pod-2"
    first, *seconds = f"pod-1-{UUID.format(1)}", *(f"{name}-{UUID.format(n)}" for n in (2, 3))
    texts = [old_preparing(0, said.format(first)), stabilized.format(1)]
    texts += [old_preparing(1, said.format(seconds[0])), stabilized.format(2)]
    for number, member in enumerate(seconds, start=2):
        leave = old_preparing(number, f"removing member {member} on LeaveGroup")
        gone = f"Member {member} in group g has left, removing it from the group"
        texts += [gone, leave, stabilized.format(number + 1)]
    report = old_words(tmp_path, *texts)
    rows = [row for row in report.rebalances.rows if row.cause is Cause.LEAVE]
    assert [row.remedy for row in rows][:1] == [Remedy.UNKNOWN if shared else Remedy.STATIC]
    assert [row.away_ms for row in report.restarts.rows] == ([] if shared else [2000])


def test_a_last_member_that_leaves_is_named_after_the_group_is_empty(tmp_path: Path) -> None:
    """A recording of Kafka 3.6.2: the member that expired before was not the last one."""
    first, second = (f"{name}-{UUID.format(number)}" for number, name in enumerate(("a", "b")))
    report = old_words(
        tmp_path,
        old_preparing(0, f"Adding new member {first} with group instance id None"),
        "Stabilized group g generation 1 (__consumer_offsets-0) with 1 members",
        old_preparing(1, f"Adding new member {second} with group instance id None"),
        "Stabilized group g generation 2 (__consumer_offsets-0) with 2 members",
        f"Member {second} in group g has failed, removing it from the group",
        old_preparing(2, f"removing member {second} on heartbeat expiration"),
        "Stabilized group g generation 3 (__consumer_offsets-0) with 1 members",
        old_preparing(
            3, f"Removing member {first} on LeaveGroup; client reason: the consumer is being closed"
        ),
        "Group g with generation 4 is now empty (__consumer_offsets-0)",
        f"Member MemberMetadata(memberId={first}, groupInstanceId=None, clientId=a, "
        "clientHost=/127.0.0.1, sessionTimeoutMs=6000, rebalanceTimeoutMs=8000, "
        "supportedProtocols=List(range)) has left group g through explicit LeaveGroup; "
        "client reason: the consumer is being closed",
    )
    assert report.expirations.count == 1
    assert report.figures["g"].is_empty
    assert report.figures["g"].lost is None


def test_the_new_coordinator_cannot_show_who_was_fenced(tmp_path: Path) -> None:
    joined = "Static member with groupInstanceId=i-1 and unknown member id joins group g in Stable"
    replaced = "state. Replacing previously mapped member i-1-old with this groupInstanceId."
    report = told(tmp_path, (0, f"{joined} {replaced}"))
    assert not report.shows("g", "fenced")
    text = "\n".join(operator_summary(report))
    assert ", ".join(problem_texts(report)) == "no problem with clients shown in this log"
    assert "whether a process was alive when another took its group.instance.id (once)" in text
    assert operator_json(report)["unshown"] == {
        "ping-pong": 1, "fenced": 1, "self-fencing": 1, "short-session": 1,
    }  # fmt: skip


def test_how_a_group_is_at_the_end_of_the_log_is_told(tmp_path: Path) -> None:
    formed = [(0, joins("a", 1, 0)), (1, stable(1, 1)), (2, joins("b", 2, 1)), (3, stable(2, 2))]
    leaving = [(10, left("b", 2, "the consumer is being closed")), (10, leaves("b", 2, 2))]
    going_on = told(tmp_path, *formed, *leaving)
    assert operator_json(going_on)["at_end"][0]["rebalancing_ms"] is not None
    text = "\n".join(operator_summary(going_on))
    assert "Still rebalancing at the end of the log: 'g' (since 2026-11-23 12:00:10 UTC)." in text
    over = told(tmp_path, *formed, *leaving, (11, stable(3, 1)))
    assert "at the end of the log" not in "\n".join(operator_summary(over))
    last = [(12, left("a", 1, "the consumer is being closed")), (12, leaves("a", 1, 3))]
    gone = (13, "Group g with generation 4 is now empty.")
    empty = told(tmp_path, *formed, *leaving, (11, stable(3, 1)), *last, gone)
    assert operator_json(empty)["at_end"] == [
        {
            "group": "g",
            "static": 0,
            "dynamic": 0,
            "rebalancing_ms": None,
            "session_ms": None,
            "assignors": [],
            "kind": "consumers",
            "last_expired_ms": None,
            "library": "",
            "began_rebalancing": False,
            "most_members": 2,
        }
    ]
    assert "Without a member at the end of the log: 'g'." in "\n".join(operator_summary(empty))


def test_members_are_counted_only_where_the_log_shows_all_of_them(tmp_path: Path) -> None:
    def counted(*lines: tuple[int, str]) -> tuple[int | None, int | None]:
        figures = told(tmp_path, *lines).figures["g"]
        return figures.static, figures.dynamic

    begun = [(10, leaves("b", 2, 7)), (11, stable(8, 3))]
    given = "Assignment received from leader a for group g for generation 8. "
    tells = (12, given + "The group has 3 members, 1 of which are static.")
    assert counted(*begun) == (None, None)
    assert counted(*begun, tells) == (1, 2)
    assert counted(*begun, tells, (20, leaves("c", 3, 8))) == (None, None)


def line(second: int, text: str, broker: int = 1) -> str:
    """A line of the new coordinator, of partition 3."""
    where = f"[GroupCoordinator id={broker} topic=__consumer_offsets partition=3]"
    logger = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"
    return f"[2026-11-23 12:{second // 60:02}:{second % 60:02},000] INFO {where} {text} {logger}\n"


def test_members_from_before_a_failover_that_expire_after_it(tmp_path: Path) -> None:
    member = f"a-{UUID.format(1)}"
    before = [line(0, joins("a", 1, 0)), line(1, stable(1, 1))]
    loaded = (
        "[2026-11-23 12:00:10,000] INFO [GroupCoordinator id=2] Finished loading of metadata from "
        "__consumer_offsets-3 with epoch 4 in 12ms where 1ms was spent in the scheduler. Loaded 4 "
        "records which total to 400 bytes. "
        "(org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)\n"
    )
    after = [
        line(55, f"Member {member} in group g has failed, removing it from the group.", 2),
        line(55, preparing(1, f"removing member {member} on heartbeat expiration."), 2),
        line(55, "Group g with generation 2 is now empty.", 2),
    ]
    for broker, lines in (("b-1", before), ("b-2", [loaded, *after])):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "server.log").write_text("".join(lines))
    report = audit_server_log(ServerLog([tmp_path / b / "server.log" for b in ("b-1", "b-2")]))
    (row,) = report.report.failovers.rows
    assert (row.group, row.expired, (row.until_ms or 0) - row.at_ms) == ("g", 1, 45_000)
    text = "\n".join(operator_summary(report.report))
    assert "The coordinator of 1 group ('g') changed or started again at" in text
    assert "1 member from before expired up to 45.0 s later" in text


def test_a_member_that_both_coordinators_find_gone_expired_once(tmp_path: Path) -> None:
    """A recording of Kafka 3.9.1: a failover began just when the old one had removed it."""
    gone = f"Member b-{UUID.format(2)} in group g has failed, removing it from the group."
    expiry = f"removing member b-{UUID.format(2)} on heartbeat expiration."
    rejoin = f"Leader a-{UUID.format(1)} re-joining group during Stable."
    old = [
        *(line(0, joins("a", 1, 0)), line(1, stable(1, 1))),
        *(line(2, joins("b", 2, 1)), line(3, stable(2, 2))),
        *(line(20, gone), line(20, preparing(2, expiry))),
    ]
    new = [
        line(21, "Loaded classic group g with 2 members.", 2),
        *(line(22, preparing(2, rejoin), 2), line(27, gone, 2), line(27, stable(3, 1), 2)),
    ]
    for broker, lines in (("b-1", old), ("b-2", new)):
        (tmp_path / broker).mkdir()
        (tmp_path / broker / "server.log").write_text("".join(lines))
    logs = ServerLog([tmp_path / b / "server.log" for b in ("b-1", "b-2")])
    report = audit_server_log(logs).report
    assert [row.process.client_id for row in report.expirations.rows] == ["b"]
    assert [row.expired for row in report.failovers.rows] == [1]


def test_a_reason_that_is_not_known_is_shown_as_it_stands(tmp_path: Path) -> None:
    member = f"a-{UUID.format(1)}"
    reason = f"the moon is full for member {member}; client reason: tired"
    report = told(tmp_path, (0, preparing(4, reason)), (1, stable(5, 2)))
    (row,) = report.rebalances.rows
    assert (row.cause, row.who, row.reason) == (Cause.OTHER, "a", reason)
    text = "\n".join(operator_summary(report))
    assert 'Reasons that the broker gave (quoted): "the moon is full for member a-…" once (' in text
    assert 'Reasons that clients gave (quoted): "tired" once (' in text


def test_takeovers_that_come_too_often_for_restarts_are_a_loop(tmp_path: Path) -> None:
    joined = "Static member with groupInstanceId=i-1 and unknown member id joins group g in Stable"
    replaced = "state. Replacing previously mapped member i-1-{} with this groupInstanceId."
    lines = [(11 * n, f"{joined} {replaced.format(UUID.format(n))}") for n in range(9)]
    report = told(tmp_path, *lines)
    (problem,) = report.problems
    assert (problem.kind, problem.first.instance_id, problem.count) == ("loop", "i-1", 9)
    assert "one every 11.0 s. This is no deployment" in "\n".join(operator_summary(report))
    assert told(tmp_path, *lines[:4]).problems == []
    uneven, rare = (
        [(second, text) for second, (_, text) in zip(times, lines[:6], strict=True)]
        for times in ((0, 3, 40, 45, 90, 93), (0, 90, 460, 470, 900, 1450))
    )
    assert [problem.kind for problem in told(tmp_path, *uneven).problems] == ["loop"]
    assert told(tmp_path, *rare).problems == []


def test_streams_threads_that_probe_are_told_apart(tmp_path: Path) -> None:
    member = f"app-StreamThread-1-consumer-{UUID.format(1)}"
    lines = []
    for n in range(6):
        reason = f"Updating metadata for member {member} during Stable; client reason: not provided"
        lines += [(600 * n, preparing(n + 4, reason)), (600 * n + 1, stable(n + 5, 2))]
    report = told(tmp_path, *[(second % 3600, text) for second, text in lines])
    assert report.figures["g"].kind is GroupKind.STREAMS
    text = "\n".join(operator_summary(report))
    assert "one every 10 min" in text
    assert "probing.rebalance.interval.ms" in text


def test_two_that_join_again_in_turn_are_one_loop(tmp_path: Path) -> None:
    one, other = (f"{name}-{UUID.format(n)}" for n, name in enumerate("ab"))
    lines = []
    for n in range(12):
        reason = f"Updating metadata for member {other} during Stable"
        if n % 2:
            reason = f"leader {one} re-joining group during Stable"
        lines += [(4 * n, preparing(n + 4, reason)), (4 * n + 1, stable(n + 5, 2))]
    report = told(tmp_path, *lines)
    (problem,) = report.problems
    assert (problem.kind, problem.count, len(problem.names)) == ("loop", 12, 2)
    text = "\n".join(operator_summary(report))
    assert "A loop: a and b in turn joined group 'g' again 12 times" in text


def test_a_release_that_gives_no_reason_shows_who_went_before(tmp_path: Path) -> None:
    """Up to Kafka 2.0 a rebalance is prepared without a reason."""
    path = tmp_path / "server.log"
    texts = [
        "Preparing to rebalance group web with old generation 4 (__consumer_offsets-40)",
        "Stabilized group web generation 5 (__consumer_offsets-40)",
        f"Member a-{UUID.format(1)} in group web has failed, removing it from the group",
        "Preparing to rebalance group web with old generation 5 (__consumer_offsets-40)",
        "Stabilized group web generation 6 (__consumer_offsets-40)",
        f"Member b-{UUID.format(2)} in group web has left, removing it from the group",
        "Preparing to rebalance group web with old generation 6 (__consumer_offsets-40)",
        "Stabilized group web generation 7 (__consumer_offsets-40)",
    ]
    path.write_text(
        "".join(
            f"[2018-02-01 12:00:0{n},000] INFO [GroupCoordinator 1]: {text} "
            "(kafka.coordinator.group.GroupCoordinator)\n"
            for n, text in enumerate(texts)
        )
    )
    rows = audit_server_log(ServerLog([path])).report.rebalances.rows
    assert [(row.cause, row.who) for row in rows] == [
        (Cause.UNKNOWN, ""),
        (Cause.EXPIRY, "a"),
        (Cause.LEAVE, "b"),
    ]


@pytest.mark.parametrize(
    ("name", "protocols", "kind"),
    [
        ("connect-1", "", GroupKind.CONNECT),
        ("connect-10.0.0.1:8083", "", GroupKind.CONNECT),
        ("connect-orders", "", GroupKind.CONSUMER),
        ("connect-1", "List(range, cooperative-sticky)", GroupKind.CONSUMER),
        ("etl", "List(sessioned, compatible, default)", GroupKind.CONNECT),
        ("etl", "List(default)", GroupKind.CONNECT),
        ("app-StreamThread-1-consumer", "List(stream)", GroupKind.STREAMS),
    ],
)
def test_protocols_tell_the_kind_of_a_group_and_else_the_client_ids(
    tmp_path: Path, name: str, protocols: str, kind: GroupKind
) -> None:
    member = f"{name}-{UUID.format(1)}"
    prepared = (
        "Preparing to rebalance group g in state PreparingRebalance with old generation 3 "
        f"(__consumer_offsets-0) (reason: removing member {member} on heartbeat expiration)"
    )
    left = (
        f"Member MemberMetadata(memberId={member}, groupInstanceId=None, clientId={name}, "
        "clientHost=/10.0.0.1, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
        f"supportedProtocols={protocols}) has left group g through explicit `LeaveGroup`; "
        "client reason: not provided"
    )
    failed = f"Member {member} in group g has failed, removing it from the group"
    texts = [left] if protocols else [failed, prepared]
    path = tmp_path / "server.log"
    path.write_text(
        "".join(
            f"[2026-11-23 12:00:0{n},000] INFO [GroupCoordinator 1]: {text} "
            "(kafka.coordinator.group.GroupCoordinator)\n"
            for n, text in enumerate(texts)
        )
    )
    assert audit_server_log(ServerLog([path])).report.figures["g"].kind is kind
