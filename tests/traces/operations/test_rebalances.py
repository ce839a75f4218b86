"""Every rebalance with its cause, and what would have avoided it, on logs of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from support.logs.audit_reports import reported
from support.logs.model_log import START_MS, Consumer, ModelLog

from fencepost.traces.operations.operator_rows import Cause, End, Rebalance, Remedy
from fencepost.traces.operations.operator_words import operator_summary
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.operations.restarts import long_enough_ms


def rebalances(log: ModelLog, first: int = 0) -> list[Rebalance]:
    return reported(log.exchanges[first:]).rebalances.rows


def of_two(*, static: bool = False, session_ms: int = 10_000) -> tuple[ModelLog, list[Consumer]]:
    """A log with a leader and a follower at rest."""
    log = ModelLog()
    make = log.static if static else log.pod
    pods = [make(n, session_ms=session_ms) for n in (1, 2)]
    log.form(*pods)
    log.run(2)
    return log, pods


def the_next(log: ModelLog, after: int = 2) -> Rebalance:
    (found,) = rebalances(log)[after:]
    return found


def test_members_that_nobody_knew() -> None:
    log, _ = of_two()
    first, second = rebalances(log)
    assert (first.cause, first.who) == (Cause.NEW_MEMBER, "pod-1 (10.0.0.1)")
    assert (first.members_before, first.members_after) == (0, 1)
    assert (second.cause, second.who) == (Cause.NEW_MEMBER, "pod-2 (10.0.0.2)")
    assert (second.members_before, second.members_after) == (1, 2)
    assert second.remedy is Remedy.NOTHING
    # From the join of the second until the first has heartbeat, joined again and synced.
    assert 0 < (second.duration_ms or 0) <= 1100
    assert second.also == ()


def test_a_leader_that_joins_again() -> None:
    log, (leader, _) = of_two()
    leader.join()
    log.run(3)
    found = the_next(log)
    assert (found.cause, found.who) == (Cause.LEADER_REJOIN, "pod-1 (10.0.0.1)")
    assert found.also == ()


def test_a_leader_whose_follower_is_told_in_the_same_millisecond() -> None:
    log, (leader, follower) = of_two()
    leader.join()
    follower.beat()
    log.run(3)
    assert (the_next(log).cause, the_next(log).who) == (Cause.LEADER_REJOIN, "pod-1 (10.0.0.1)")


def test_a_leader_whose_join_seems_to_come_after_the_notice_to_others() -> None:
    log, (leader, follower) = of_two()
    leader.join()
    follower.beat()
    log.run(3)
    joins = [x for x in log.exchanges if x.answer_body.get("generationId") == 3]
    for join in joins:
        join.answered_ms += 60
    (late,) = (x for x in joins if x.client_id == "pod-1")
    late.at_ms += 20  # its line was written that much later than the answer was sent
    assert (the_next(log).cause, the_next(log).who) == (Cause.LEADER_REJOIN, "pod-1 (10.0.0.1)")


def test_a_notice_whose_answer_is_late_is_about_the_rebalance_before() -> None:
    log, (leader, follower) = of_two()
    log.pod(3).start()
    log.run(3)
    told = (x for x in log.exchanges if x.answer_body.get("errorCode") == 27)
    notice = max(told, key=lambda x: x.at_ms)
    log.exchanges.remove(notice)
    joined = next(x for x in log.exchanges if x.answer_body.get("generationId") == 3)
    notice.answered_ms = joined.answered_ms + 1
    place = next(n for n, x in enumerate(log.exchanges) if x.answered_ms > joined.answered_ms)
    log.exchanges.insert(place, notice)
    log.leave(follower, follower.member_id, None)
    follower.die()
    log.run(3)
    assert (the_next(log, 3).cause, the_next(log, 3).who) == (Cause.LEAVE, "pod-2 (10.0.0.2)")
    assert leader.state == "stable"


def test_a_session_begins_before_the_answer_to_its_last_heartbeat() -> None:
    log, (leader, follower) = of_two()
    follower.beat()
    leader.beat()
    last = next(x for x in reversed(log.exchanges) if x.client_id == "pod-2")
    follower.die()
    last.answered_ms += 50
    log.run(13)
    (gone,) = reported(log.exchanges).expirations.rows
    assert (gone.end, gone.at_ms - last.at_ms) == (End.EXPIRED, 10_000)


def test_a_follower_with_another_subscription() -> None:
    log, (_, follower) = of_two()
    follower.topics = ("orders", "refunds")
    follower.join()
    log.run(3)
    assert the_next(log).cause is Cause.CHANGED_SUBSCRIPTION


def test_a_follower_with_other_data_of_its_assignor() -> None:
    log, (_, follower) = of_two()
    follower.userdata = b"owned partitions"
    follower.join()
    log.run(3)
    assert the_next(log).cause is Cause.MEMBER_REJOIN


def test_a_static_member_restarted_within_a_rebalance_repeats_it() -> None:
    log, (first, second) = of_two(static=True)

    def slow(told: Mapping[str, Any]) -> None:
        del told
        first.state, first.beat_at = "stable", log.now + 500

    first.sync = slow  # type: ignore[method-assign]
    first.join()
    log.run(1.1)
    del first.sync
    second.restart()
    log.run(4)
    unfinished, again = rebalances(log)[2:]
    assert (unfinished.cause, unfinished.stable_ms) == (Cause.LEADER_REJOIN, None)
    assert unfinished.duration_ms is None
    assert again.cause is Cause.MEMBER_REJOIN


def test_a_leave_and_whether_the_process_came_back() -> None:
    log, (_, follower) = of_two()
    follower.leave()
    log.run(3)
    stayed_away = the_next(log)
    assert (stayed_away.cause, stayed_away.remedy) == (Cause.LEAVE, Remedy.NOTHING)
    assert (stayed_away.members_before, stayed_away.members_after) == (2, 1)
    follower.again().start()
    log.run(3)
    leave, join = rebalances(log)[2:]
    assert (leave.cause, leave.remedy) == (Cause.LEAVE, Remedy.STATIC)
    assert (join.cause, join.remedy) == (Cause.NEW_MEMBER, Remedy.STATIC)
    assert 3000 <= (join.away_ms or 0) <= 4500
    assert join.session_ms == 6000


def test_a_leave_whose_line_is_written_late_is_no_expiration() -> None:
    log, (_, follower) = of_two()
    follower.leave()
    left = log.exchanges.pop()
    log.run(3)
    joined = next(x for x in log.exchanges if x.answer_body.get("generationId") == 3)
    left.answered_ms = joined.answered_ms + 1
    place = next(n for n, x in enumerate(log.exchanges) if x.answered_ms > joined.answered_ms)
    log.exchanges.insert(place, left)
    assert (the_next(log).cause, the_next(log).who) == (Cause.LEAVE, "pod-2 (10.0.0.2)")
    assert not reported(log.exchanges).expirations.rows


def test_a_new_pod_in_place_of_one_that_left_is_nobody_who_came_back() -> None:
    log, (_, follower) = of_two()
    follower.leave()
    log.run(3)
    log.pod(3).start()
    log.run(3)
    assert [r.remedy for r in rebalances(log)[2:]] == [Remedy.NOTHING, Remedy.NOTHING]


def test_an_expiry_of_a_static_member_that_was_slow_to_restart() -> None:
    log, (_, follower) = of_two(static=True)
    follower.die()
    log.run(14)
    follower.again().start()
    log.run(3)
    expiry, join = rebalances(log)[2:]
    assert (expiry.cause, expiry.who) == (Cause.EXPIRY, "pod-2 (10.0.0.2)")
    assert (expiry.members_before, expiry.members_after) == (2, 1)
    assert expiry.remedy is join.remedy is Remedy.LONGER_SESSION
    assert 14_000 <= (expiry.away_ms or 0) <= 15_000
    assert expiry.session_ms == 30_000
    assert not reported(log.exchanges).thrown_out.count


def joins_anew(consumer: Consumer) -> None:
    """Join as librdkafka does when it sees by itself that its session is over."""
    consumer.member_id = ""
    consumer.join()


@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_a_process_that_joins_anew_over_its_connection_was_alive(static: bool, alone: bool) -> None:
    log, (other, paused) = of_two(static=static)
    if alone:
        other.leave()
        log.run(3)
    old_id, before = paused.member_id, len(rebalances(log))
    paused.state = "frozen"
    log.run(14)
    joins_anew(paused)
    log.run(3)
    report = reported(log.exchanges)
    (thrown,) = report.thrown_out.rows
    assert (thrown.member_id, thrown.session_ms) == (old_id, 10_000)
    assert 14_000 <= thrown.silent_ms <= 15_000
    assert [problem.kind for problem in report.problems if problem.kind != "static-leave"] == [
        "short-session"
    ]
    expiry = report.rebalances.rows[before]
    assert (expiry.cause, expiry.remedy) == (Cause.EXPIRY, Remedy.LONGER_SESSION)


def test_whoever_else_joins_over_the_connection_is_not_the_one_that_expired() -> None:
    log, (_, paused) = of_two(static=True)
    paused.state = "frozen"
    log.run(14)
    paused.instance = "orders-3"
    joins_anew(paused)
    log.run(3)
    assert not reported(log.exchanges).thrown_out.count


def test_a_process_is_heard_over_the_connection_that_it_has_now() -> None:
    log, (_, paused) = of_two(static=True)
    paused.connection = log.new_connection()
    log.run(3)
    paused.state = "frozen"
    log.run(14)
    joins_anew(paused)
    log.run(3)
    assert reported(log.exchanges).thrown_out.count == 1


@pytest.mark.parametrize("told_first", [True, False])
def test_an_expiry_is_told_once_whatever_shows_that_the_process_lived(told_first: bool) -> None:
    log, (_, paused) = of_two(static=True)
    for _ in range(2):
        old_id, paused.state = paused.member_id, "frozen"
        log.run(14)
        stale = paused.me()
        if told_first:
            log.send(paused, "Heartbeat", stale)
        joins_anew(paused)
        log.run(3)
        if not told_first:
            log.send(paused, "Heartbeat", {**stale, "groupInstanceId": None, "memberId": old_id})
            paused.state = "stable"
            log.run(3)
    assert reported(log.exchanges).thrown_out.count == 2


def test_a_process_that_left_and_joins_anew_was_not_thrown_out() -> None:
    log, (_, follower) = of_two()
    log.leave(follower, follower.member_id, None)
    follower.state = "out"
    log.run(14)
    joins_anew(follower)
    log.run(3)
    assert not reported(log.exchanges).thrown_out.count


def test_an_expiry_of_a_process_that_was_alive_is_named_so() -> None:
    log, (_, follower) = of_two()
    follower.state = "frozen"
    log.run(14)
    follower.state = "stable"
    log.run(3)
    report = reported(log.exchanges)
    (thrown,) = report.thrown_out.rows
    assert (str(thrown.process), thrown.session_ms) == ("pod-2 (10.0.0.2)", 10_000)
    assert 14_000 <= thrown.silent_ms <= 15_000
    expiry = report.rebalances.rows[2]
    assert (expiry.cause, expiry.remedy) == (Cause.EXPIRY, Remedy.LONGER_SESSION)


@pytest.mark.parametrize("static", [True, False])
def test_an_expired_member_that_is_back_before_the_rebalance_is_over(static: bool) -> None:
    log, (_, follower) = of_two(static=static)
    slow = log.pod(3, session_ms=60_000)
    log.form(slow)
    slow.state = "frozen"
    if static:
        follower.die()
    else:
        follower.state = "frozen"
    log.run(12)
    if static:  # the next process, which is nobody's successor any more
        follower.again().start()
    else:  # the same one, which is told that it is no member
        follower.state = "stable"
    log.run(2)
    slow.state = "stable"
    log.run(3)
    found = the_next(log, after=3)
    assert (found.cause, found.remedy) == (Cause.EXPIRY, Remedy.LONGER_SESSION)
    assert found.also == (Cause.NEW_MEMBER,)
    assert (found.members_before, found.members_after) == (3, 3)
    assert reported(log.exchanges).thrown_out.count == (not static)


def test_a_dynamic_member_that_crashed_and_came_back_would_rather_be_static() -> None:
    log, (_, follower) = of_two()
    follower.die()
    log.run(14)
    follower.again().start()
    log.run(3)
    expiry, join = rebalances(log)[2:]
    assert (expiry.cause, expiry.remedy) == (Cause.EXPIRY, Remedy.STATIC)
    assert (join.cause, join.remedy) == (Cause.NEW_MEMBER, Remedy.STATIC)


def test_a_static_member_that_leaves() -> None:
    log, (_, follower) = of_two(static=True)
    follower.leave()
    log.run(3)
    assert (the_next(log).cause, the_next(log).remedy) == (Cause.LEAVE, Remedy.NO_LEAVE)


def test_a_static_member_that_is_restarted_costs_nothing() -> None:
    log, (_, follower) = of_two(static=True)
    follower.restart()
    log.run(3)
    assert len(rebalances(log)) == 2


def test_a_failover_in_a_rebalance() -> None:
    log, (leader, follower) = of_two()
    follower.state = "frozen"
    leader.join()
    log.fail_over()
    follower.state = "stable"
    log.run(6)
    assert Cause.FAILOVER in {r.cause for r in rebalances(log)[2:]}


def test_who_expires_after_a_failover_is_the_cause_and_not_the_failover() -> None:
    log, (_, follower) = of_two()
    follower.die()
    log.fail_over()
    log.run(1)
    moved = log.exchanges[-1]
    assert moved.client_id == "pod-1"
    moved.answer_body = {**moved.answer_body, "errorCode": 16}
    log.run(14)
    assert (the_next(log).cause, the_next(log).who) == (Cause.EXPIRY, "pod-2 (10.0.0.2)")


@pytest.mark.parametrize("is_told", [True, False], ids=["by an error", "by the other broker"])
def test_a_session_begins_anew_where_the_group_is_loaded(is_told: bool) -> None:
    """A client that lost its broker joins again before the session of the dead member ends."""
    log, (leader, follower) = of_two()
    follower.die()
    log.run(7)
    moved = log.exchanges[-1]
    log.fail_over()
    log.run(5)
    leader.join()
    log.run(13)
    if is_told:
        moved.answer_body = {**moved.answer_body, "errorCode": 14}
    else:
        for exchange in log.exchanges[log.exchanges.index(moved) :]:
            exchange.broker = "another"
    assert the_next(log).cause is Cause.FAILOVER
    assert the_next(log).also == (Cause.EXPIRY, Cause.LEADER_REJOIN)
    (gone,) = reported(log.exchanges).expirations.rows
    assert gone.at_ms == moved.answered_ms + 10_000


def test_what_happens_meanwhile_is_named_beside_the_cause() -> None:
    log, (leader, follower) = of_two()
    leader.beat_at = log.now + 900
    follower.leave()
    log.run(0.3)
    log.pod(3).start()
    log.run(3)
    found = the_next(log)
    assert (found.cause, found.also) == (Cause.LEAVE, (Cause.NEW_MEMBER,))


def test_a_rebalance_in_which_the_log_begins_is_not_counted() -> None:
    log, (_, follower) = of_two(static=True)
    gone = log.static(3)
    log.form(gone)
    gone.die()
    log.run(8.5)
    start = len(log.exchanges)  # of the third one, nothing is in what follows
    log.run(4)
    report = reported(log.exchanges[start:])
    assert (report.rebalances.count, report.figures["orders"].began_rebalancing) == (0, True)
    text = "\n".join(operator_summary(report))
    assert "Not counted: the rebalance of 'orders' in which the log begins." in text
    follower.leave()
    log.run(3)
    (found,) = rebalances(log, start)
    assert (found.cause, found.members_before) == (Cause.LEAVE, 2)  # by now, all are known


def test_a_new_group_late_in_a_log_is_known_all_the_same() -> None:
    log, pods = of_two()
    for pod in pods:
        pod.leave()
    log.run(1)
    start = len(log.exchanges)
    log.form(log.pod(5))
    (found,) = rebalances(log, start)
    assert (found.generation, found.cause) == (4, Cause.NEW_MEMBER)


def test_times_are_those_of_the_log() -> None:
    log, (leader, _) = of_two()
    began = log.now
    leader.join()
    log.run(3)
    found = the_next(log)
    assert found.start_ms == START_MS + began
    assert found.start_ms < found.completed_ms <= (found.stable_ms or 0)
    assert found.place.startswith("model.log:")


@pytest.mark.parametrize(
    ("away_ms", "enough_ms"), [(100, 6000), (4001, 10_000), (15_000, 30_000), (10**7, None)]
)
def test_a_session_timeout_is_one_that_people_use_and_has_some_to_spare(
    away_ms: int, enough_ms: int | None
) -> None:
    assert long_enough_ms(away_ms) == enough_ms


def test_an_id_that_is_not_used_holds_a_rebalance_as_in_server_log() -> None:
    log, _ = of_two()
    lost = log.pod(3, session_ms=10_000)
    lost.told = lambda *_: None  # type: ignore[method-assign]
    lost.start()
    log.run(1)
    log.pod(4).start()
    log.run(12)
    report = reported(log.exchanges)
    (row,) = report.pending_ids.rows
    assert (row.process.client_id, row.at_ms - (row.named_ms or 0)) == ("pod-3", 10_000)
    assert 9_900 <= row.held_ms <= 10_600
    assert [problem.kind for problem in report.problems] == ["pending-id"]


def test_an_id_whose_join_is_parked_for_longer_than_its_session_is_used() -> None:
    log, (leader, follower) = of_two()
    for member in (leader, follower):
        member.state = "frozen"  # they don't join again, and hold the rebalance
    log.pod(3, session_ms=6_000).start()
    log.run(70)
    report = reported(log.exchanges)
    assert report.pending_ids.count == 0


def test_a_successor_on_another_host_that_waits_for_a_dead_member_is_the_same_process() -> None:
    log, (_, follower) = of_two()
    follower.die()
    log.run(2)
    Consumer(log, follower.client_id, "10.0.0.9", session_ms=10_000).start()
    log.run(15)
    found = the_next(log)
    assert (found.cause, found.who) == (Cause.NEW_MEMBER, "pod-2 (10.0.0.9)")
    assert found.remedy is Remedy.STATIC
    assert found.expired_ms == 0


def test_a_static_member_that_crashes_again_and_again_on_new_hosts_is_a_loop() -> None:
    log, (_, follower) = of_two(static=True, session_ms=45_000)
    for n in range(7):
        follower.die()
        log.run(3)
        instance = follower.instance
        follower = Consumer(log, f"pod-2-{n}", f"10.0.1.{n}", instance=instance, session_ms=45_000)
        follower.start()
        log.run(5 + n)
    (problem,) = operator_problems(reported(log.exchanges))
    assert (problem.kind, problem.count) == ("loop", 7)
    assert "no process was fenced, so each ended before the next one joined" in problem.says
