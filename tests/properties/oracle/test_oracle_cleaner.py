"""The cleaner of unused groups strikes once an interval, and seldom just after a request."""

from __future__ import annotations

from typing import Any

from fencepost.model.coordinator import Answer, Send
from fencepost.model.history.events import Answered, Event, Passed, Sent
from fencepost.model.messages.errors import Error
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.oracle.oracle import Oracle, judge

LAG = 20
EVERY = 600_000
CONFIG = {"group.initial.rebalance.delay.ms": 0, "offsets.retention.check.interval.ms": EVERY}
JOIN = {
    "groupId": "g",
    "sessionTimeoutMs": 1_500_000,
    "rebalanceTimeoutMs": 10_000,
    "groupInstanceId": None,
    "protocolType": "consumer",
    "protocols": [{"name": "range", "metadata": ""}],
}
REFUSED = {"generationId": -1, "protocolName": "", "leader": "", "members": [], "throttleTimeMs": 0}


def refused_join(
    number: int, at_ms: int, member_id: str, error: Error, answered_id: str
) -> list[Event]:
    """A join as `member_id`, and its refusal one ms later."""
    body: dict[str, Any] = {**JOIN, "memberId": member_id}
    send = Send(f"r{number}", "c", "app", "JoinGroup", 5, body)
    answer = {**REFUSED, "errorCode": error.value, "memberId": answered_id}
    return [Sent(at_ms, send, at_ms), Answered(Answer(send.id, at_ms + 1, answer))]


def refused(*gaps_ms: int) -> list[Event]:
    """Ids are handed out, and each is unknown this many ms later."""
    history: list[Event] = []
    now = 1_000
    for number, gap_ms in enumerate(gaps_ms):
        name = f"app-{number}"
        history += refused_join(2 * number, now, "", Error.MEMBER_ID_REQUIRED, name)
        now += gap_ms
        history += refused_join(2 * number + 1, now, name, Error.UNKNOWN_MEMBER_ID, name)
        now += 10
    return [*history, Passed(now)]


def judged(*gaps_ms: int, **options: Any) -> Oracle:
    return judge(KAFKA_4, CONFIG, refused(*gaps_ms), lag_ms=LAG, **options)


def test_it_explains_no_refusal_of_an_id_that_was_just_handed_out() -> None:
    oracle = judged(5)
    assert oracle.violation is not None
    assert oracle.verdict().withheld


def test_the_right_answer_is_that_of_a_coordinator_that_nothing_was_cleaned_from() -> None:
    violation = judged(5).violation
    assert violation is not None
    assert {allowed.rule for allowed in violation.allowed} == {"JOIN-PHASE-DELAY-OVER"}
    assert "UNKNOWN_MEMBER_ID" not in {str(allowed.body) for allowed in violation.allowed}


def test_it_may_have_come_by_after_a_while() -> None:
    oracle = judged(EVERY // 100)
    assert oracle.violation is None
    assert "CLEANUP-UNUSED" in oracle.verdict().used


def test_it_comes_by_once_an_interval() -> None:
    assert judged(EVERY // 100, EVERY // 100).violation is not None
    assert judged(EVERY // 100, EVERY).violation is None


def test_a_pass_just_after_a_request_is_tried_on_demand() -> None:
    oracle = judged(5, cleans_young=True)
    assert oracle.violation is None
    assert judged(5, 5, cleans_young=True).violation is not None, "twice in an interval"


def test_where_nothing_is_cleaned_nothing_is_withheld() -> None:
    quiet = {**CONFIG, "offsets.retention.check.interval.ms": None}
    oracle = judge(KAFKA_4, quiet, refused(5), lag_ms=LAG)
    assert oracle.violation is not None
    assert not oracle.verdict().withheld
