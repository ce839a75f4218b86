"""Each command that gives a verdict begins with it, on one line of at most 100 characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.in_this_process import invoke

from fencepost.model.history.words import LONGEST_VERDICT, at_most, verdict_line
from fencepost.properties.claims.property_classes import SHORTER, headline
from fencepost.properties.logic.logic import PropertyClass

ROOT = Path(__file__).resolve().parents[3]
REQUEST_LOG = str(ROOT / "examples/request-logs/kafka-request.log.gz")
SERVER_LOG = str(ROOT / "examples/server-logs/server.log.gz")
ZOMBIE = "HEARTBEAT-INSTANCE-FENCED/zombie-beats"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a certificate with one failure."""
    folder = tmp_path_factory.mktemp("certificate")
    invoke("certify", "mutant:zombie-heartbeats", "--case", ZOMBIE, "--report", str(folder))
    return folder


@pytest.fixture(scope="module")
def trace(report: Path) -> str:
    return str(next(report.glob("traces/*.json")))


@pytest.mark.parametrize(
    ("verdict", "arguments"),
    [
        (": violated by 1 case", ["certify", "mutant:zombie-heartbeats", "--case", ZOMBIE]),
        (
            ": holds; selected cases only",
            ["certify-client", "reference", "--case", "*/static-life"],
        ),
        (": no violation found", ["fuzz", "model", "--requests", "20"]),
        ("1 scenario; 0 findings", ["fuzz-client", "reference", "--scenarios", "1"]),
        ("differ in 1 way.", ["compare", "model", "mutant:zombie-heartbeats", "--case", ZOMBIE]),
        ("the same verdict: violated", ["replay", "TRACE"]),
        ("4 problems with clients; 11 groups: 11 explained", ["audit", REQUEST_LOG]),
        ("2 problems with clients shown", ["audit", SERVER_LOG]),
        (": not safe: ", ["check", "comment-table-1", "--question", "zombie"]),
        (": no property is violated", ["explore", "--clients", "1"]),
        ("kafka-3.9 and kafka-4 differ in 1 way.", ["diff", "kafka-3.9", "kafka-4"]),
        ("1 certificate: 1 violated", ["site", "FOLDER", "--report", "OUT"]),
        ("rolling-bounce: 6 reb", ["simulate", "rolling-bounce", "--members", "3"]),
        ("Set static+", ["advise", "--members", "9", "--restart-s", "8", "--warmup-s", "20"]),
        ("11 groups in 1 file: 11 unjudged", ["corpus", "audit", SERVER_LOG, "--out", "OUT"]),
        ("Everything needed is there.", ["doctor", "python"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_the_verdict_is_the_first_line(
    verdict: str, arguments: list[str], report: Path, trace: str, tmp_path: Path
) -> None:
    places = {"TRACE": trace, "FOLDER": str(report), "OUT": str(tmp_path)}
    ran = invoke(*(places.get(word, word) for word in arguments))
    first, *rest = ran.out.splitlines()
    assert verdict in first, ran.out + ran.err
    assert len(first) <= LONGEST_VERDICT
    assert sum(first == line for line in rest) == 0


def test_a_shrunk_trace_has_its_verdict_on_stderr(trace: str) -> None:
    ran = invoke("shrink", trace, "mutant:zombie-heartbeats")
    (line,) = ran.err.splitlines()
    assert "minimal" in line
    assert len(line) <= LONGEST_VERDICT


def test_a_page_and_junit_begin_with_the_verdict(report: Path) -> None:
    summary = json.loads((report / "certificate.json").read_text("utf-8"))["summary"]
    assert f"<h1>{summary}</h1>" in (report / "index.html").read_text("utf-8")
    assert f'<testsuites name="{summary}"' in (report / "junit.xml").read_text("utf-8")


@pytest.mark.parametrize(
    ("subjects", "verdicts", "line"),
    [
        (("a (b 1)", "a"), ("holds",), "a (b 1): holds"),
        (("a" * 96, "a"), ("holds",), "a: holds"),
        (("a",), ("b" * 98, "c"), "a: c"),
        (("a" * 120,), ("holds",), f"{'a' * 62}…{'a' * 30}: holds"),
        (("a",), ("b" * 200,), f"a: {'b' * 63}…{'b' * 33}"),
    ],
)
def test_a_verdict_is_made_to_fit(
    subjects: tuple[str, ...], verdicts: tuple[str, ...], line: str
) -> None:
    assert verdict_line(subjects, verdicts) == line
    assert len(line) <= LONGEST_VERDICT


def test_a_text_is_one_line() -> None:
    assert at_most(9, "a\n  b") == "a b"
    assert at_most(9, "abcdefghijkl") == "abcdef…kl"


def test_the_names_of_many_properties_are_counted() -> None:
    classes = [*PropertyClass] * 4
    violated = [(f"{each.value}-{n}-{'x' * 20}", each) for n, each in enumerate(classes)]
    forms = [headline(violated, most=most) for most in SHORTER]
    assert forms[2] == "not safe: 4 violated; changes 4 promises; costs rebalances"
    assert [len(form) for form in forms] == sorted(map(len, forms), reverse=True)
