"""The nightly search: what is one, what is new, how the time is shared, and what is told of it."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conformance.test_cli import INTERRUPTIBLE
from jsonschema import Draft202012Validator
from traces.committed import committed

from fencepost.conformance.cli import main
from fencepost.conformance.nightly import (
    CUT,
    DONE,
    FAILED,
    SKIPPED,
    UNAVAILABLE,
    Looked,
    Night,
    Part,
    Wish,
    run_night,
)
from fencepost.conformance.nightly_plan import (
    FIRST_TARGETS,
    OTHER_TARGETS,
    TARGETS,
    WEIGHTS,
    Schedule,
    targets_of,
    weights_of,
)
from fencepost.conformance.nightly_report import SCHEMA_FILE, Before, NightReport
from fencepost.conformance.nightly_search import Bite, Covered, Hunt, Search, Seen, hunt, search
from fencepost.conformance.nightly_sightings import (
    ADOPTED,
    EACH_TIME,
    KNOWN,
    NEW,
    OPEN,
    SOMETIMES,
    UNTRIED,
    Sighting,
    entries_of,
    trace_texts,
    with_cause,
)
from fencepost.conformance.nightly_tests import failed_in, files_of, run_tests, why_no_tests
from fencepost.conformance.nightly_traces import Making, make_traces
from fencepost.conformance.report import ReportError
from fencepost.conformance.stop import Stop
from fencepost.traces.trace_file import TraceFile

TONIGHT, BEFORE = "2026-03-02", "2026-03-01"
LONG_S = 300.0
MUTANT = "mutant:empty-group-unlisted"


def sighting(shard: str = "mock", **fields: Any) -> Sighting:
    seen = Sighting(
        "mock", "HEARTBEAT-STABLE", "MUST", "a shape", "It is wrong.", 1, EACH_TIME, shard, 7
    )
    return replace(seen, **fields)


def finding(name: str) -> str:
    path = Path(__file__).parents[2] / "docs" / "findings" / f"{name}.json"
    return path.read_text(encoding="utf-8")


def wish(folder: Path, **fields: Any) -> Wish:
    began = datetime(2026, 3, 2, 23, tzinfo=UTC)
    made = Wish(began, 5, LONG_S, folder, folder, (TARGETS,), (MUTANT,), named=True)
    return replace(made, **fields)


def statuses(*sightings: Sighting, **fields: Any) -> list[str]:
    whole = {"tonight": TONIGHT, "corpus": {}, "before": ()} | fields
    return [entry.status for entry in entries_of(sightings, **whole)]


# What is one, and what is new.


def test_the_same_bug_found_by_eight_shards_is_one_entry() -> None:
    eight = [sighting(f"shard {n}", seed=n, seen=n) for n in range(1, 9)]
    (entry,) = entries_of(eight, tonight=TONIGHT, corpus={}, before=())
    assert entry.seen == sum(range(1, 9))
    assert len(entry.shards) == 8
    other = sighting("shard 9", shape="another shape")
    assert len(entries_of([*eight, other], tonight=TONIGHT, corpus={}, before=())) == 2


def test_all_versions_of_kafka_are_one_implementation_and_no_other_is() -> None:
    targets = ("kafka:4.3.0", "kafka:3.9.1+old", "kfake")
    found = [sighting(target, target=target) for target in targets]
    kafka, kfake = entries_of(found, tonight=TONIGHT, corpus={}, before=())
    assert kafka.targets == ("kafka:3.9.1+old", "kafka:4.3.0")
    assert kfake.targets == ("kfake",)


def test_the_surest_sighting_is_told() -> None:
    text = committed("zombie-commits").text()
    found = [
        sighting("a", sure=UNTRIED, sentence="untried"),
        sighting("b", sure=EACH_TIME, sentence="without a trace"),
        sighting("c", sure=EACH_TIME, sentence="this", trace=text),
        sighting("d", sure=SOMETIMES, trace=text),
    ]
    entries = entries_of(found, tonight=TONIGHT, corpus={}, before=())
    assert [(e.sentence, e.sure) for e in entries] == [("this", EACH_TIME)]
    assert trace_texts(entries, found) == {"traces/mock-a-shape.json": text}


def test_what_is_listed_adopted_or_open_is_not_new() -> None:
    assert statuses(sighting()) == [NEW]
    assert statuses(sighting(known="a reason")) == [KNOWN]
    assert statuses(sighting(), corpus={("mock", "a shape"): "its-name"}) == [ADOPTED]
    assert statuses(sighting(), corpus={("kfake", "a shape"): "its-name"}) == [NEW]
    before = entries_of([sighting()], tonight=BEFORE, corpus={}, before=())
    assert statuses(sighting(), before=before) == [OPEN]


def test_looks_of_one_known_cause_are_one_entry() -> None:
    text = finding("pending-leave")
    looks = [
        with_cause(sighting("a", shape="one look", target="kafka:4.3.0", trace=text)),
        with_cause(sighting("b", shape="another", target="kafka:4.1.1", trace=text)),
        sighting("c", shape="another", target="kafka:4.1.1", sure=UNTRIED),
        sighting("d", shape="a third", target="kafka:4.1.1", sure=UNTRIED),
    ]
    caused, other = entries_of(looks, tonight=TONIGHT, corpus={}, before=())
    assert (caused.cause, caused.shapes, caused.status) == (
        "pending-leave",
        ("another", "one look"),
        NEW,
    )
    assert (other.cause, other.shapes) == ("", ("a third",))
    assert trace_texts([caused, other], looks) == {"traces/kafka-pending-leave.json": text}
    corpus = {("kafka", "pending-leave"): "its-name"}
    assert statuses(*looks[:3], corpus=corpus) == [ADOPTED]
    # One that has no trace goes to where its look went on the night before.
    (again,) = entries_of(looks[2:3], tonight=TONIGHT, corpus={}, before=[caused])
    assert (again.cause, again.status, again.sure) == ("pending-leave", OPEN, EACH_TIME)
    # A trace of that look that the cause doesn't explain is something else, and so it may be.
    odd = with_cause(
        sighting("e", shape="another", target="kafka:4.1.1", trace=finding("full-group"))
    )
    whole = entries_of([*looks[:3], odd], tonight=TONIGHT, corpus={}, before=())
    assert {entry.cause: entry.seen for entry in whole} == {"pending-leave": 2, "": 2}


def test_what_was_open_without_its_cause_is_not_open_beside_it() -> None:
    unexplained = sighting("a", shape="one look", target="kafka:4.3.0")
    before = entries_of([unexplained], tonight=BEFORE, corpus={}, before=())
    seen = with_cause(replace(unexplained, trace=finding("pending-leave")))
    (entry,) = entries_of([seen], tonight=TONIGHT, corpus={}, before=before)
    assert (entry.cause, entry.status) == ("pending-leave", NEW)


def test_a_known_cause_is_a_known_failure_where_one_look_of_it_is_listed() -> None:
    text = finding("pending-leave")
    listed = sighting("a", shape="one look", target="kafka:4.3.0", known="a reason", trace=text)
    other = sighting("b", shape="another", target="kafka:4.3.0", trace=text)
    assert statuses(with_cause(listed), with_cause(other)) == [KNOWN]
    elsewhere = replace(other, target="kafka:3.9.1+new")
    assert statuses(with_cause(listed), with_cause(elsewhere)) == [NEW]


def test_a_bug_that_is_listed_for_one_release_is_new_in_another() -> None:
    listed = sighting("a", target="kafka:2.3.0", known="a reason")
    assert statuses(listed, sighting("b", target="kafka:4.3.0")) == [NEW]


def test_what_is_not_met_tonight_stays_open_until_it_is_adopted() -> None:
    entries = entries_of([sighting()], tonight="2026-02-27", corpus={}, before=())
    for night in ("2026-02-28", BEFORE):
        entries = entries_of([], tonight=night, corpus={}, before=entries)
        assert [(e.status, e.seen, e.last_night) for e in entries] == [(OPEN, 0, "2026-02-27")]
    (again,) = entries_of([sighting()], tonight=TONIGHT, corpus={}, before=entries)
    assert (again.status, again.first_night, again.last_night) == (OPEN, "2026-02-27", TONIGHT)
    assert entries_of([], tonight=TONIGHT, corpus={again.bug: "x"}, before=[again]) == []


def test_what_was_not_sure_is_new_once_it_is() -> None:
    before = entries_of([sighting(sure=UNTRIED)], tonight=BEFORE, corpus={}, before=())
    assert statuses(sighting(sure=SOMETIMES), before=before) == [OPEN]
    (sure,) = entries_of([sighting()], tonight=TONIGHT, corpus={}, before=before)
    assert (sure.status, sure.sure) == (NEW, EACH_TIME)
    (still,) = entries_of([sighting(sure=UNTRIED)], tonight=TONIGHT, corpus={}, before=[sure])
    assert (still.status, still.sure) == (OPEN, EACH_TIME)


def test_only_what_was_sure_is_remembered_for_ever() -> None:
    for sure, after_a_week in ((EACH_TIME, [OPEN]), (SOMETIMES, []), (UNTRIED, [])):
        before = entries_of([sighting(sure=sure)], tonight="2026-02-23", corpus={}, before=())
        assert statuses(tonight=BEFORE, before=before) == [OPEN]
        assert statuses(tonight=TONIGHT, before=before) == after_a_week


def test_what_was_only_counted_tonight_is_told_as_before() -> None:
    text = committed("zombie-commits").text()
    before = entries_of([sighting(trace=text)], tonight=BEFORE, corpus={}, before=())
    counted = sighting(sentence="", sure=UNTRIED, seen=9)
    (entry,) = entries_of([counted], tonight=TONIGHT, corpus={}, before=before)
    assert (entry.status, entry.seen, entry.sure) == (OPEN, 9, EACH_TIME)
    assert (entry.sentence, entry.trace) == (before[0].sentence, before[0].trace)


def test_a_reason_that_is_taken_off_the_list_makes_it_new() -> None:
    before = entries_of([sighting(known="a reason")], tonight=BEFORE, corpus={}, before=())
    assert statuses(sighting(), before=before) == [NEW]


# How the time is shared.


def test_what_one_leaves_over_is_for_the_others() -> None:
    schedule = Schedule({"a": 1, "b": 1, "c": 2}, until=400.0)
    assert schedule.begin("a", 0.0) == 100.0
    assert schedule.begin("b", 10.0) == 130.0  # a was quick
    assert schedule.begin("c", 140.0) == 260.0
    late = Schedule({"a": 1, "b": 1}, until=400.0)
    assert late.begin("a", 0.0) == 200.0
    assert late.begin("b", 500.0) == 0.0  # a took all, and more


def test_the_old_releases_take_turns() -> None:
    assert targets_of(1, 60.0) == FIRST_TARGETS
    nights = [targets_of(seed, 240.0 * 5) for seed in range(20260301, 20260301 + 9)]
    assert all(len(night) == 5 for night in nights)
    assert {t for night in nights for t in night} == {*FIRST_TARGETS, *OTHER_TARGETS}
    assert set(targets_of(3, 1e9)) == {*FIRST_TARGETS, *OTHER_TARGETS}


def test_targets_share_what_they_are_worth_together() -> None:
    weights = weights_of(tuple(WEIGHTS), ("mock", "kfake"))
    assert list(weights)[-2:] == ["mock", "kfake"]
    assert sum(weights.values()) == sum(WEIGHTS.values())


# What is told.


def report(
    folder: Path, *found: Sighting, before: Before | None = None, **parts: str
) -> NightReport:
    night = Night(wish(folder), sightings=list(found))
    night.parts = [Part(name, status) for name, status in (parts or {"mock": DONE}).items()]
    night.looked["mock"] = Looked(covered=Covered(frozenset({"A", "B"}), frozenset({"A B"})))
    return NightReport.of(night, before)


@pytest.mark.parametrize(
    ("found", "part", "code", "summary"),
    [
        ([], DONE, 0, "nothing new"),
        ([sighting(known="a reason")], DONE, 0, "nothing new"),
        ([sighting()], DONE, 1, "1 new finding"),
        ([sighting(), sighting(shape="other")], FAILED, 1, "2 new findings; mock failed"),
        ([sighting(sure=SOMETIMES)], DONE, 2, "1 new and not sure"),
        ([sighting(sure=UNTRIED)], DONE, 2, "1 new and not sure"),
        (
            [sighting(), sighting(shape="b", sure=UNTRIED)],
            DONE,
            1,
            "1 new finding; 1 new and not sure",
        ),
        ([], FAILED, 2, "nothing new; mock failed"),
        ([], UNAVAILABLE, 69, "nothing new; mock not to be had"),
        ([], SKIPPED, 0, "nothing new"),
    ],
)
def test_the_exit_code_says_what_is_new(
    tmp_path: Path, found: list[Sighting], part: str, code: int, summary: str
) -> None:
    told = report(tmp_path, *found, mock=part)
    assert (told.exit_code(), told.summary()) == (code, summary)


def test_the_next_night_is_compared_with_it(tmp_path: Path) -> None:
    text = committed("zombie-commits").text()
    first = report(tmp_path, sighting(trace=text))
    first.write(tmp_path)
    document = json.loads((tmp_path / "nightly.json").read_text("utf-8"))
    Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8"))).validate(document)
    before = Before.read(tmp_path / "nightly.json")
    second = report(tmp_path, before=before)
    second.night.looked["mock"].covered = Covered(frozenset({"B", "C"}), frozenset())
    assert second.exit_code() == 0
    assert second.summary() == "nothing new; 1 still open"
    (row,) = second.to_json()["coverage"]
    assert row["before"] == {"rules": 2, "pairs": 1, "states": 0, "gained": ["C"], "lost": ["A"]}
    second.write(tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "Still open" in page
    assert "not met tonight" in page
    assert 'href="#trace-' in page, "the trace of the first night still lies there"


def test_the_page_says_what_to_type_and_says_it_safely(tmp_path: Path) -> None:
    trace = committed("zombie-commits").text()
    wicked = sighting(trace=trace, sentence="<script>alert(1)</script>")
    failing = sighting("tests", target="tests", shape="tests/test_a.py::test_b", rule="")
    report(tmp_path, wicked, failing).write(tmp_path)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "fencepost adopt traces/mock-a-shape.json" in page
    assert "fencepost replay traces/mock-a-shape.json mock" in page
    assert "pytest &#39;tests/test_a.py::test_b&#39;" in page


@pytest.mark.parametrize("text", ["no JSON", "{}", '{"format": "fencepost-nightly"}'])
def test_a_night_before_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "nightly.json").write_text(text)
    with pytest.raises(ReportError, match=r"nightly\.json"):
        Before.read(tmp_path / "nightly.json")


# Its parts.


async def test_mutants_are_hunted_until_they_are_found() -> None:
    bites: list[Bite] = []
    names = ("generation-not-counted", "empty-group-unlisted")
    await hunt(Hunt(names, 5, LONG_S, 3000), Stop(), bites.append)
    assert [(bite.mutant, bite.found) for bite in bites] == [(name, True) for name in names]
    assert all(bite.requests < 3000 for bite in bites)


async def test_a_mutant_that_is_not_found_is_told() -> None:
    bites: list[Bite] = []
    await hunt(Hunt(("replace-loses-assignment",), 5, LONG_S, 20), Stop(), bites.append)
    assert [bite.found for bite in bites] == [False]


async def test_traces_of_the_model_hold_and_those_of_a_mutant_do_not() -> None:
    pytest.importorskip("pyarrow")
    for model, finds in (("kafka-4", False), ("mutant:zombie-heartbeats", True)):
        told: list[Seen] = []
        await make_traces(Making("traces", 3, model, traces=60), Stop(), told.append)
        (seen,) = told
        assert seen.plans == 60
        assert seen.covered.rules
        assert bool(seen.sightings) is finds
        for one in seen.sightings:
            assert one.target == "model"
            assert one.trace is not None
            assert TraceFile.from_json(json.loads(one.trace)).verdict.outcome == "violated"


FAILING = """
    from hypothesis import given, strategies

    @given(strategies.integers())
    def test_no_number_is_large(number):
        assert number < 1000

    @given(strategies.integers())
    def test_a_number_is_itself(number):
        assert number == number

    def test_without_hypothesis():
        assert False
"""


async def test_property_tests_search_and_keep_their_examples(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "conftest.py").write_text(
        "from hypothesis import settings\n"
        "settings.register_profile('nightly', parent=settings.get_profile('default'))\n"
        "settings.load_profile('nightly')\n"
    )
    (tests / "test_bad.py").write_text(textwrap.dedent(FAILING))
    (tests / "test_other.py").write_text("def test_nothing():\n    assert False\n")
    (tests / "test_more.py").write_text(
        "import hypothesis\n\ndef test_nothing():\n    assert False\n"
    )
    assert why_no_tests(tmp_path) == ""
    tested = await run_tests(
        tmp_path, tmp_path / "report", seed=1, seconds=LONG_S, stop=Stop(), shard="tests"
    )
    assert (tested.ran, tested.files, tested.trouble) == (("tests/test_bad.py",), 1, "")
    assert [one.shape for one in tested.sightings] == ["tests/test_bad.py::test_no_number_is_large"]
    assert "assert 1000 < 1000" in tested.sightings[0].sentence
    assert list((tmp_path / "report" / "hypothesis" / "examples").iterdir())


async def test_without_time_no_test_is_run(tmp_path: Path) -> None:
    assert "no tests here" in why_no_tests(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("import hypothesis\n")
    tested = await run_tests(tmp_path, tmp_path, seed=1, seconds=0, stop=Stop(), shard="tests")
    assert (tested.ran, tested.files) == ((), 1)


def test_each_night_begins_with_another_file(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name in "abc":
        (tmp_path / "tests" / f"test_{name}.py").write_text("import hypothesis\n")
    firsts = {files_of(tmp_path, seed)[0] for seed in (7, 8, 9)}
    assert len(firsts) == 3
    assert sorted(files_of(tmp_path, 7)) == sorted(files_of(tmp_path, 8))


def test_what_failed_is_read_although_the_end_is_missing() -> None:
    text = (
        "tests/test_a.py::test_one PASSED  [ 50%]\n"
        "tests/test_a.py::TestMachine::runTest FAILED [100%]\n"
    )
    assert [name for name, _ in failed_in(text)] == ["tests/test_a.py::TestMachine::runTest"]
    whole = text + "FAILED tests/test_a.py::TestMachine::runTest - assert 1 == 2\n"
    assert failed_in(whole) == [("tests/test_a.py::TestMachine::runTest", "assert 1 == 2")]
    assert failed_in("tests/test_a.py::test_one PASSED [100%]\n") == []


async def searched(stop: Stop, seconds: float, requests: int) -> list[Seen]:
    told: list[Seen] = []
    await search(Search("s", MUTANT, 5, seconds, seconds, requests), stop, told.append)
    return told


async def test_a_search_tells_what_it_covered_and_each_finding_at_once() -> None:
    first, *found, last = await searched(Stop(), LONG_S, 150)
    assert first.requests >= 100
    assert first.covered.rules <= first.covered.can
    assert first.sightings == last.sightings == ()
    assert [len(seen.sightings) for seen in found] == [1] * len(found)
    assert {one.sure for seen in found for one in seen.sightings} == {EACH_TIME}
    assert all(one.trace for seen in found for one in seen.sightings)


async def test_what_was_met_is_told_although_there_is_no_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless(*_: object, **__: object) -> None:
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr("fencepost.conformance.fuzz.findings_from", endless)
    monkeypatch.setattr("fencepost.conformance.nightly_search._LAST_S", 0.01)
    stop = Stop()
    told: list[Seen] = []

    def tell(seen: Seen) -> None:
        told.append(seen)
        stop.ask()

    await search(Search("s", MUTANT, 5, LONG_S, LONG_S, 150), stop, tell)
    sightings = [one for seen in told for one in seen.sightings]
    assert sightings
    assert {(one.sure, one.trace) for one in sightings} == {(UNTRIED, None)}


# A whole night.


async def test_an_end_that_is_wished_for_leaves_a_report(tmp_path: Path) -> None:
    stop = Stop()
    stop.ask()
    night = await run_night(wish(tmp_path, parts=tuple(WEIGHTS)), stop)
    assert {part.status for part in night.parts} == {SKIPPED}
    told = NightReport.of(night, None)
    assert told.summary() == "nothing new; ended early"
    told.write(tmp_path)
    assert (tmp_path / "index.html").is_file()


async def test_a_part_that_is_ended_is_called_so(tmp_path: Path) -> None:
    stop = Stop()
    parts: list[Part] = []
    asked = wish(tmp_path, targets=("model", MUTANT), requests=50)

    def heard(part: Part) -> None:
        parts.append(part)
        stop.ask()

    await run_night(asked, stop, heard)
    assert [part.status for part in parts] == [DONE, SKIPPED]
    assert CUT not in {part.status for part in parts}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_night_with_a_report(tmp_path: Path, number: int) -> None:
    words = ("nightly", "--minutes", "60", "--jobs", "2", "--part", "model", "--part", "mutants")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *words, "--report", str(tmp_path / "night")],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as night:
        try:
            assert night.stdout is not None
            assert night.stdout.readline().startswith("night of")
            night.send_signal(number)
            said, _ = night.communicate(timeout=LONG_S)
        finally:
            night.kill()
    assert night.returncode == 0
    assert "nothing new; ended early" in said
    document = json.loads((tmp_path / "night" / "nightly.json").read_text("utf-8"))
    assert document["stopped"]
    assert [part["status"] for part in document["parts"]] == [CUT, SKIPPED]


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["nightly", *words])
    return ended.value.code if isinstance(ended.value.code, int) else -1


def test_a_mutant_planted_among_the_targets_is_new_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--part", "targets", "--target", MUTANT, "--requests", "400", "--jobs", "1")
    night = (*words, "--seed", "3", "--minutes", "30")
    assert run(*night, "--report", "one") == 1
    assert "new: " + MUTANT in capsys.readouterr().out
    document = json.loads(Path("one/nightly.json").read_text("utf-8"))
    assert {entry["status"] for entry in document["entries"]} == {NEW}
    # The next night, in the same folder.
    assert run(*night, "--report", "one", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert {entry["status"] for entry in document["entries"]} == {OPEN}
    # Adopted: not new in another folder either.
    for entry in document["entries"]:
        with pytest.raises(SystemExit) as ended:
            main(["adopt", f"one/{entry['trace']}", "--into", "mine"])
        assert ended.value.code == 0
    assert run(*night, "--report", "two", "--corpus", "mine") == 0
    assert capsys.readouterr().out.endswith("nothing new: two/index.html\n")


def test_a_target_that_is_named_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--part", "targets", "--minutes", "1", "--jobs", "1")
    assert run(*words, "--target", "tcp://127.0.0.1:1") == 69
    assert "tcp://127.0.0.1:1 not to be had" in capsys.readouterr().out
    assert run(*words, "--target", "nonesuch") == 64
