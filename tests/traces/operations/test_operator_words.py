"""What is said of problems: in which order, with which doubts, and as the pages quote it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from support.places import ROOT

from fencepost.traces.operations import interruption_words, operator_words, problem_words
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import FencingChain, Handover, Process, StaticLeave
from fencepost.traces.operations.problem_words import OperatorProblem, operator_problems
from fencepost.traces.operations.restarts import LADDER_MS

PAGE = (ROOT / "docs" / "operators" / "audit.md").read_text("utf-8")
SYMPTOMS = sorted((ROOT / "docs" / "operators" / "symptoms").glob("*.md"))
OLD, NEW = Process("i-1-old", ""), Process("i-1-new", "")
DOUBT = "This log doesn't show whether processes share the id, or restarts overlap"


def fenced(instance_id: str, times: int, at_ms: int) -> FencingChain:
    turn = Handover(at_ms, OLD, NEW, True, at_ms, f"l:{at_ms}")
    row = (at_ms, at_ms + times, times, times, False, (OLD, NEW), (turn,))
    return FencingChain("g", instance_id, *row)


def told(*times: int, unshown: bool) -> list[OperatorProblem]:
    """Problems of a log of ids that were taken over, each so many times, one after the other."""
    report = OperatorReport()
    for number, many in enumerate(times, 1):
        report.add(fenced(f"i-{number}", many, number * 1000))
    if unshown:
        report.cannot_show("g", frozenset({"ping-pong"}))
    return operator_problems(report)


def test_of_one_kind_what_came_most_often_is_first() -> None:
    assert [p.instance_id for p in told(1, 5, 2, 5, unshown=False)] == ["i-2", "i-4", "i-3", "i-1"]


def test_a_worse_kind_is_first_however_rare() -> None:
    report = OperatorReport()
    for at_ms in range(9):
        report.add(StaticLeave("g", "i-9", "m", OLD, OLD, True, at_ms, f"l:{at_ms}"))
    report.add(fenced("i-1", 1, 99))
    assert [p.kind for p in operator_problems(report)] == ["fenced", "static-leave"]


def test_takeovers_that_come_again_may_be_of_a_shared_id_where_the_log_tells_no_process() -> None:
    often, twice, once = told(5, 2, 1, unshown=True)
    assert often.says.startswith("Two or more consumers share group.instance.id i-1 in group 'g':")
    assert DOUBT not in often.says
    assert DOUBT in twice.says
    assert DOUBT not in once.says
    assert not any(DOUBT in p.says for p in told(5, 1, unshown=False))


def sentences() -> list[str]:
    """The texts of the modules that make sentences, with a blank for what is filled in."""
    found = []
    for module in (interruption_words, operator_words, problem_words):
        tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = (v.value if isinstance(v, ast.Constant) else " " for v in node.values)
                found.append("".join(map(str, parts)))
    return found


def are_said(quote: str) -> bool:
    """Whether the parts of a quote stand in one sentence, in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in quote.split("…"))
    return any(re.search(pattern, text) for text in sentences())


def test_the_pages_of_symptoms_quote_the_report() -> None:
    lines = [line for page in SYMPTOMS for line in page.read_text("utf-8").splitlines()]
    causes = [line.partition("`server.log`")[0] for line in lines if line.startswith("- Cause")]
    quotes = [quote for cause in causes for quote in re.findall(r'"([^"]+)"', cause)]
    assert len(quotes) >= 10
    assert [quote for quote in quotes if not are_said(quote)] == []
    assert not are_said("came near their session timeout")


def test_the_page_names_the_session_timeouts_that_may_be_named() -> None:
    said = PAGE.partition("The timeout in the report")[2].partition(" s that")[0]
    assert tuple(1000 * int(number) for number in re.findall(r"\d+", said)) == LADDER_MS
