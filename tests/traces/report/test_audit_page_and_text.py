"""The page of an audit and its text, held against each other: a line of the text is on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markupsafe import escape
from support.logs.audits import violated_run
from support.logs.busy_server_log import consumer_protocol_lines
from support.page.pages import page_text
from support.places import TESTS

from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import audit_log
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.problem_words import operator_problems
from fencepost.traces.report.audit_folder import LogRun, audit_lines, write_audit

HERE = TESTS / "traces"
SERVER_LOGS = sorted((HERE / "field_logs").glob("*.log.gz")) + sorted(
    (HERE / "server_logs").glob("server-*.log.gz")
)
REQUEST_LOGS = sorted((HERE / "request_logs").glob("*.log.gz"))
MORE = re.compile(r"[Aa]nd [\d,]+ more |[Aa]nd (?:restarts in )?[\d,]+ (?:more )?groups? ")
"""The text ends a list early; the page goes on."""
NOT_ALL = ", so this is not all:"


def even_text(page: str) -> str:
    """Return the text of a page, without spaces before its punctuation."""
    return _even(page_text(page))


def _even(text: str) -> str:
    return re.sub(r"\s+([.,;:)])", r"\1", re.sub(r"\s+", " ", text)).strip()


def parts(line: str) -> Iterator[str]:
    """Yield the parts of a line of the text that the page has in one piece each."""
    line = line.strip()
    if causes := re.fullmatch(r"Rebalances by cause: (.*)\.", line):
        yield from causes[1].split(", ")
    elif span := re.match(r"From (.* UTC) to (.* UTC): .*, ([\d,]+ rebalances?) in", line):
        yield from (f"from {span[1]}", f"to {span[2]}", f"rebalances {span[3].split()[0]}")
        if expired := re.search(r", ([\d,]+) members? expired\.$", line):
            yield f"members that expired {expired[1]}"
    elif group := re.fullmatch(r"('.*'): violated", line):
        yield f"violated {group[1][1:-1]}"
    elif group := re.match(r"('.*'): unknown\. (.*)", line):
        yield f"unknown {group[1][1:-1]} {group[2]}"
    else:
        line = re.sub(r"^\d+\. ", "", line).removesuffix(":")
        remedy, _, place = line.rpartition(" [")
        is_placed = place.endswith("]") and remedy
        yield from (remedy, place[:-1]) if is_placed else (line,)


def missing(text: str, page: str) -> list[str]:
    """Return the parts of the text that are not on the page."""
    on_page = even_text(page).lower()
    first, *lines = text.splitlines()
    lines = [first.rstrip("."), *(line for line in lines if not MORE.match(line.strip()))]
    expected = (part for line in lines for part in parts(line.removesuffix(NOT_ALL)))
    return [part for part in expected if _even(part).lower() not in on_page]


def written(run: LogRun, folder: Path) -> tuple[str, str]:
    """Write a report; return its text and its page."""
    write_audit(run, folder)
    text = (folder / "audit.txt").read_text("utf-8")
    assert text == "\n".join(audit_lines(run)) + "\n"
    return text, (folder / "index.html").read_text("utf-8")


def lacking(run: LogRun, folder: Path) -> list[str]:
    """Return the parts of a run's text that are not on its page."""
    return missing(*written(run, folder))


@pytest.mark.parametrize("path", SERVER_LOGS, ids=lambda path: path.name)
def test_each_line_about_a_server_log_is_on_its_page(path: Path, tmp_path: Path) -> None:
    assert lacking(audit_server_log(ServerLog([path])), tmp_path / "report") == []


@pytest.mark.parametrize("path", REQUEST_LOGS, ids=lambda path: path.name)
def test_each_line_about_a_request_log_is_on_its_page(path: Path, tmp_path: Path) -> None:
    assert lacking(audit_log(RequestLog([path]), AuditSettings()), tmp_path / "report") == []


def test_each_violation_is_on_the_page(tmp_path: Path) -> None:
    run = violated_run(tmp_path)
    assert run.outcome == "violated"
    assert lacking(run, tmp_path / "report") == []


UNREAD = (
    "[2026-11-21 10:00:0%d,000] INFO [GroupCoordinator 1]: %s (kafka.coordinator.group."
    "GroupCoordinator)\n"
)


def test_lines_that_were_not_read_are_on_the_page(tmp_path: Path) -> None:
    words = (
        "Preparing to rebalance group orders in state PreparingRebalance with old generation 0 "
        "(__consumer_offsets-1) (reason: Adding new member a-11111111-2222-3333-4444-555555555555)"
    )
    log = tmp_path / "server.log"
    lines = [UNREAD % (0, words), UNREAD % (1, "Group stock of nobody knows what happened to it")]
    log.write_text("".join([*lines, "[2026-11-21 10:00:02,000] INFO hello (kafka.log.Log)\n"]))
    run = audit_server_log(ServerLog([log]))
    assert run.unread_count == 1
    assert lacking(run, tmp_path / "report") == []


def test_a_log_without_a_group_says_so_on_both(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-21 10:00:02,000] INFO hello (kafka.log.Log)\n")
    assert lacking(audit_server_log(ServerLog([log])), tmp_path / "report") == []


def test_groups_of_another_protocol_are_in_the_heading(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(consumer_protocol_lines()))
    run = audit_server_log(ServerLog([log]))
    text, page = written(run, tmp_path / "report")
    assert missing(text, page) == []
    nothing = "Nothing judged: no group of the classic protocol; 3 groups not judged (consumer)"
    assert nothing in even_text(page)
    assert "no line about a group of the classic protocol" in text


def test_all_problems_are_on_the_page_where_the_text_has_some(tmp_path: Path) -> None:
    run = audit_server_log(ServerLog([HERE / "server_logs" / "server-3.9.1+old.log.gz"]))
    page = even_text(written(run, tmp_path / "report")[1])
    problems = operator_problems(run.report)
    assert problems
    assert all(_even(problem.says) in page for problem in problems)


def test_a_line_that_the_page_lacks_is_found(tmp_path: Path) -> None:
    run = audit_server_log(ServerLog([SERVER_LOGS[0]]))
    text, page = written(run, tmp_path / "report")
    (problem,) = operator_problems(run.report)
    assert missing(text, page.replace(str(escape(problem.remedy)), "")) == [problem.remedy]
    assert missing(f"{text}A finding.\n", page) == ["A finding."]
