"""The page of an audit: what it says, in which order, and that it is one harmless file."""

from __future__ import annotations

import re
from itertools import pairwise

from support.logs.audit_reports import reported
from support.logs.model_log import Consumer, ModelLog
from support.page.pages import page_text
from support.places import TESTS

from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import read_request_log
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_words import cut
from fencepost.traces.operations.ownership_picture import life_picture
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.operations.rebalances import BEFORE_LOG
from fencepost.traces.report.audit_page import Judged, audit_page

LOG = TESTS / "traces" / "request_logs" / "kafka-4.3.0.log.gz"


def test_it_says_what_is_wrong_first_and_all_of_it() -> None:
    report = reported(read_request_log([LOG]))
    text = page_text(audit_page(report))
    assert text.startswith(" 4 problems with clients; ")
    assert "23 groups without a member" in text
    places = [text.index(problem.says) for problem in operator_problems(report)]
    assert places == sorted(places)
    assert places[-1] < text.index("Who held each instance id") < text.index("Each rebalance")
    for problem in operator_problems(report):
        assert problem.remedy in text


def test_answers_that_nothing_explains_come_before_anything_else() -> None:
    report = reported(read_request_log([LOG]))
    judged = [
        Judged("orders", "explained", "some run gives every answer"),
        Judged("billing", "violated", "log:7: Heartbeat was answered wrongly"),
        Judged("stock", "unknown", "requests are missing"),
    ]
    page = audit_page(report, judged)
    text = page_text(page)
    assert "; 3 groups: 1 explained, 1 unknown, 1 violated" in text
    assert text.index("log:7: Heartbeat was answered wrongly") < text.index("ping-pong")
    assert "some run gives every answer" not in text
    assert 'class="verdict is-violated"' in page
    assert 'class="verdict is-known-failure"' in audit_page(report), "no green over problems"
    fine = [Judged("orders", "explained", "some run gives every answer")]
    assert 'class="verdict is-known-failure"' in audit_page(report, fine)
    assert 'class="verdict is-holds"' in audit_page(OperatorReport(), fine)
    assert 'class="verdict is-index"' in audit_page(OperatorReport())


def test_life_lines_tell_who_and_when_without_being_pointed_at() -> None:
    picture = life_picture(reported(read_request_log([LOG])))
    assert picture is not None
    first = picture.lanes[0]
    assert first.name == "orders-2 in orders"
    assert [bar.name for bar in first.bars] == ["pod-3", "pod-7"] * 3
    assert [tick.x for tick in picture.ticks] == sorted(tick.x for tick in picture.ticks)
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3}", tick.says) for tick in picture.ticks)
    for lane in picture.lanes:
        for bar, after in pairwise(lane.bars):
            end = bar.x + (bar.width if bar.beside else 0) + 5 + 6 * len(bar.name)
            assert end <= after.x + 1, "no name runs into the next bar"


def test_what_a_log_cannot_show_is_said_where_problems_are() -> None:
    log = ServerLog([TESTS / "traces" / "server_logs" / "server-4.3.0.log.gz"])
    text = page_text(audit_page(audit_server_log(log).report))
    assert text.startswith(" 2 problems with clients shown in this log; ")
    assert "3 groups without a member" in text
    assert "whether a process was alive when another took its group.instance.id" in text
    assert "a red end" not in text
    assert "'payments-1': 6 (" in text
    assert "(new member 3, leave 3)" in text


def test_why_a_remedy_is_unknown_and_a_deployment_is_cut_is_said() -> None:
    log = ModelLog()
    log.form(*(pods := [log.pod(number) for number in (1, 2, 3)]))
    log.run(90)
    start = len(log.exchanges)
    log.bounce(*pods)
    log.run(60)
    report = reported(log.exchanges[start + 1 :])  # after the first leave
    text = page_text(audit_page(report))
    assert f"The remedy of 1 is unknown: {BEFORE_LOG}." in text
    (told,) = map(cut, report.deployments.rows)
    assert "the log begins less than a minute before it" in told
    assert told in text


def test_the_day_of_all_rebalances_is_told_once() -> None:
    page = audit_page(reported(read_request_log([LOG])))
    rows = re.findall(r'<li id="rebalance-\d+".*?</summary>', page, re.DOTALL)
    assert len(rows) > 100
    assert "All on 2026-11-21, UTC." in page
    assert not any("2026-" in re.sub("<[^>]*>", "", row) for row in rows)


def test_the_same_log_is_the_same_bytes() -> None:
    assert audit_page(reported(read_request_log([LOG]))) == audit_page(
        reported(read_request_log([LOG]))
    )


def test_nothing_is_loaded_from_anywhere() -> None:
    page = audit_page(reported(read_request_log([LOG])))
    written = page.partition("<script")[0]
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", written)
    assert " style=" not in written


def test_what_a_client_calls_itself_is_text() -> None:
    log = ModelLog()
    evil = Consumer(log, "<img src=x onerror=alert(1)>", "10.0.0.1", instance="</script><b>")
    log.form(evil, log.pod(2))
    evil.leave()
    page = audit_page(reported(log.exchanges))
    assert "<img" not in page
    assert "</script><b>" not in page
    assert "&lt;img src=x" in page


def test_each_instance_id_has_a_lane_and_each_holder_a_bar() -> None:
    log = ModelLog()
    log.form(first := log.static(1), log.static(2))
    first.restart()
    log.run(2)
    page = audit_page(reported(log.exchanges))
    picture = page.partition('<svg class="lives"')[2].partition("</svg>")[0]
    assert picture.count("<g><text") == 2
    assert picture.count('class="life-a"') == 2
    assert picture.count('class="life-b"') == 1
    assert 'class="cut"' not in page


def test_a_log_without_groups_has_a_page() -> None:
    text = page_text(audit_page(reported([])))
    assert "0 problems with clients; 0 groups" in text
    assert text.count("The log has no line about a group of the classic protocol.") == 2
    assert "Nothing was found" not in text
