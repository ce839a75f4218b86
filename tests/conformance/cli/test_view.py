"""`fencepost view`, and the pages that reports leave."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.conformance.cli.cli import main

DOCS = ROOT / "docs"
FINDING = str(DOCS / "findings" / "parked-sync.json")


def ran(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def view(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert ran("view", *arguments) == 0
    return capsys.readouterr().out.splitlines()[-1]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert ran("view", *arguments) == 64
    return capsys.readouterr().err


def test_a_trace_becomes_a_page_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert view(capsys, FINDING, "-o", str(page)) == f"{page}: 1 trace"
    first = page.read_bytes()
    view(capsys, FINDING, "-o", str(page))
    assert page.read_bytes() == first
    assert b"should have been answered UNKNOWN_MEMBER_ID" in first


def test_two_traces_share_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = str(DOCS / "findings" / "full-group.json")
    page = tmp_path / "page.html"
    assert "2 traces" in view(capsys, FINDING, other, "-o", str(page))
    assert 'href="#trace-full-group"' in page.read_text("utf-8")


def test_certificates_of_a_repository_share_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(DOCS / "certificates" / f"{name}.json") for name in ("kafka-4.3.0", "kfake")]
    page = tmp_path / "page.html"
    assert "2 certificates" in view(capsys, *files, "-o", str(page))
    text = page.read_text("utf-8")
    assert "kafka:4.3.0" in text
    assert "kfake" in text


def test_a_report_has_its_page_and_view_makes_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report"
    target = "model:comment-table-1"
    assert ran("certify", target, "--case", "JOIN-STATIC-*", "--report", str(report)) == 1
    index = (report / "index.html").read_text("utf-8")
    certificate = json.loads((report / "certificate.json").read_text("utf-8"))
    failed = [case for case in certificate["cases"] if case["outcome"] == "fail"]
    assert failed
    assert all(case["trace"] in index and case["message"] for case in failed)
    assert index.count("<article") == len(failed)
    view(capsys, str(report / "certificate.json"), "-o", str(tmp_path / "again.html"))
    assert (tmp_path / "again.html").read_text("utf-8") == index


def test_a_fuzz_run_has_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"rule": None, "level": "MUST", "message": "Wrong.", "seen": 2, "failed": 3, "runs": 3}
    found = {
        "format": "fencepost-fuzz",
        "target": "kfake",
        "implementation": "kfake",
        "version": "1",
        "revision": "kafka-4",
        "seed": 0,
        "exit_code": 1,
        "plans": 10,
        "requests": 1234,
        "outcomes": {"pass": 9, "fail": 1},
        "gave_up": "",
        "coverage": {"rules": ["A"], "never": ["B"], "pairs": 1, "states": 1},
        "findings": [{**row, "shape": "a shape", "trace": "parked-sync.json"}],
        "flaky": [{**row, "shape": "another", "trace": "gone.json", "failed": 1}],
        "known_findings": [{**row, "shape": "old", "trace": None, "known": "a reason"}],
    }
    (tmp_path / "fuzz.json").write_text(json.dumps(found), encoding="utf-8")
    shutil.copy(FINDING, tmp_path)
    page = tmp_path / "page.html"
    assert view(capsys, str(tmp_path / "fuzz.json"), "-o", str(page)) == f"{page}: 1 fuzz run"
    text = page.read_text("utf-8")
    assert "1 violation, 1 flaky violation, 1 known failure" in text
    assert re.search(r'<a href="#trace-[^"]+">a shape</a>', text)
    assert "<h3>another</h3>" in text, "its trace isn't there"
    assert "failed in 1 of 3 more runs" in text
    assert "Known: a reason." in text
    assert text.count("<article") == 1


def test_bad_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = str(tmp_path / "page.html")
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    assert f"{bad}: line 1, column 2: isn't JSON" in refused(capsys, str(bad), "-o", page)
    bad.write_text("{}")
    assert "isn't 'fencepost-trace'" in refused(capsys, str(bad), "-o", page)
    kfake = str(DOCS / "certificates" / "kfake.json")
    assert "can't be on one page" in refused(capsys, FINDING, kfake, "-o", page)
    assert "Missing option" in refused(capsys, FINDING)
    trace = json.loads(Path(FINDING).read_text("utf-8"))
    bad.write_text(json.dumps({**trace, "revision": "kafka-9"}))
    assert "kafka-9" in refused(capsys, str(bad), "-o", page)
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert "can't be made" in refused(capsys, FINDING, "-o", str(blocked / "page.html"))
    assert not Path(page).exists()


def test_a_counterexample_is_no_green_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = f"{ROOT / 'examples' / 'revisions' / 'first_wins.py'}:FIRST_WINS"
    asked = ("--question", "zombie", "--property", "a-restart-in-a-stable-group-is-quiet")
    assert ran("check", own, *asked, "--strict", "--report", str(tmp_path)) == 1
    (trace,) = tmp_path.glob("*.trace.json")
    page = tmp_path / "page.html"
    view(capsys, "--revision", own, str(trace), "-o", str(page))
    text = page.read_text("utf-8")
    assert '<span class="badge is-violated">counterexample</span>' in text
    assert "the run is not what a-restart-in-a-stable-group-is-quiet asks for" in text
    assert '"shown": 3' in text or '"shown":3' in text

    known = ("--question", "zombie", "--report", str(tmp_path / "known"))
    assert ran("check", "kafka-4", *known) == 0
    view(capsys, *map(str, (tmp_path / "known").iterdir()), "-o", str(page))
    assert '<span class="badge is-excused">expected counterexample</span>' in page.read_text(
        "utf-8"
    )


def test_a_difference_says_what_each_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scope = ("--clients", "1", "--act", "join", "--act", "sync", "--act", "heartbeat")
    assert ran("diff", "kafka-2.4", "kafka-4", *scope, "--report", str(tmp_path)) == 1
    page = tmp_path / "page.html"
    view(capsys, *sorted(map(str, tmp_path.glob("01-*.json"))), "-o", str(page))
    text = page.read_text("utf-8")
    assert '<span class="badge is-index">difference</span>' in text
    assert "kafka-2.4: REBALANCE_IN_PROGRESS; kafka-4: NONE." in text


def test_an_exploration_becomes_a_page_to_step_through(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    small = ("--clients", "1", "--act", "join", "--act", "sync")
    assert view(capsys, "--explore", "kafka-4", *small, "-o", str(page)) == f"{page}: 4 states"
    assert "fencepost step --revision kafka-4 --clients 1 --act join --act sync" in page.read_text(
        "utf-8"
    )
    few = ("--question", "removal", "--max-states", "9")
    said = view(capsys, "--explore", "kafka-4", *few, "-o", str(page))
    assert said.endswith("states, cut off: --max-states 9")
    assert "The rest is cut off" in page.read_text("utf-8")


def test_worlds_of_the_consumer_protocol_have_a_page_but_those_of_old_clients(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    explored = ("--explore", "consumer-4.4", "--question", "one process", "-o", str(page))
    assert view(capsys, *explored) == f"{page}: 20 states"
    old = ("--explore", "consumer-4.4", "--question", "old versions", "-o", str(page))
    assert "leave out --old" in refused(capsys, *old)


def test_options_of_an_exploration_are_for_it_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ("-o", str(tmp_path / "page.html"))
    assert "--clients is for --explore alone" in refused(capsys, FINDING, "--clients", "2", *to)
    assert "leave out" in refused(capsys, "--explore", "kafka-4", FINDING, *to)
    assert "name a FILE to show, or a revision" in refused(capsys, *to)
    both = ("--question", "zombie", "--clients", "2")
    assert "has its own --clients" in refused(capsys, "--explore", "kafka-4", *both, *to)
    assert not (tmp_path / "page.html").exists()
