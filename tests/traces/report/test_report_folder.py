from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import structs
from rich.console import Console
from support.runs import KAFKA_4, certificate, result_of

from fencepost.model.plans.spelling import read_plan
from fencepost.model.table.table import Level
from fencepost.properties.judging.known_failures import UNEXPLAINED, KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, CertificateCoverage, apply
from fencepost.properties.oracle.verdict import Noted
from fencepost.traces.files.text_files import ReportError
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.certificate_schema import SCHEMA
from fencepost.traces.report.junit import junit_xml
from fencepost.traces.report.report_folder import (
    certificate_document,
    checked_document,
)
from fencepost.traces.report.report_text import _excerpt, print_certificate
from fencepost.traces.report.report_writer import write_report

FAILS = result_of("JOIN-STATIC-EMPTY-STABLE/follower", "comment-table-1")
PASSES = result_of("JOIN-STATIC-EMPTY-STABLE/follower")
ZOMBIE = result_of("HEARTBEAT-INSTANCE-FENCED/zombie", "comment-table-1")
COMMITS = result_of("COMMIT-INSTANCE-FENCED/commits")
SKIPS = CaseResult(PASSES.case, Outcome.SKIPPED, Level.MUST, "skipped by the user")


def renamed(
    result: CaseResult, case_id: str, *, rules: tuple[str, ...] | None = None, **changes: object
) -> CaseResult:
    case = structs.replace(
        result.case, id=case_id, rules=result.case.rules if rules is None else rules
    )
    return replace(result, case=case, **changes)  # type: ignore[arg-type]


def known(result: CaseResult) -> CaseResult:
    entry = KnownFailure(
        "mock", "*", result.case.id, "R", result.observed, "an early draft", "https://example.org"
    )
    return apply([result], [entry], KAFKA_4)[0]


def listed(why: str, link: str) -> KnownFailure:
    return KnownFailure("mock", "*", "A/1", "R", "seen", why, link)


def stale(result: CaseResult) -> CaseResult:
    entry = KnownFailure("mock", "*", result.case.id, "R", "other", "why", "link")
    return apply([result], [entry], KAFKA_4)[0]


EACH = (
    renamed(PASSES, "JOIN-A/passes"),
    FAILS,
    known(ZOMBIE),
    stale(renamed(PASSES, "JOIN-A/stale")),
    renamed(
        COMMITS,
        "COMMIT-A/undecided",
        outcome=Outcome.UNKNOWN,
        level=Level.SHOULD,
        message="the history can also be explained without X",
    ),
    CaseResult(
        structs.replace(PASSES.case, id="SYNC-A/lacks"),
        Outcome.UNSUPPORTED,
        Level.SHOULD,
        "the target lacks restart",
    ),
    renamed(SKIPS, "SYNC-A/skipped"),
)
MADE = certificate(*EACH)


def printed(made: Certificate, *, reported: bool = False) -> str:
    out = io.StringIO()
    print_certificate(made, Console(file=out, width=80), reported=reported)
    return out.getvalue()


def test_each_outcome_is_represented() -> None:
    assert {result.outcome for result in EACH} == set(Outcome)


def test_the_schema_is_one_and_allows_what_is_written() -> None:
    schema = SCHEMA.schema()
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(checked_document(MADE))


def test_the_certificate_says_it_all() -> None:
    document = certificate_document(MADE)
    assert document["verdict"] == "violated"
    assert document["exit_code"] == 1
    assert document["certified"] is False
    assert document["left_out"] == ["1 unsupported", "1 skipped"]
    assert document["apis"]["advertised_but_broken"] == {"JoinGroup": [10, 11]}
    assert document["counts"]["MUST"]["fail"] == 1
    assert document["counts"]["SHOULD"]["unsupported"] == 1
    assert document["rules"]["unreachable"] == {"JOIN-GROUP-DEAD": "never"}
    assert "seconds" not in document
    failed = document["cases"][1]
    assert failed["rule"] == "JOIN-STATIC-EMPTY-STABLE"
    assert failed["observed"] == "B2 JoinGroup: MEMBER_ID_REQUIRED, member id B1"
    assert failed["expected"] == ["NONE, generation 2, follows A1"]
    assert document["cases"][0]["expected"] == []
    assert failed["trace"] == "traces/JOIN-STATIC-EMPTY-STABLE__follower.json"
    assert [c["trace"] is not None for c in document["cases"]] == [
        False,
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_fault_of_ours_is_called_one() -> None:
    with pytest.raises(ReportError, match=r"\$\.seed.*report it"):
        checked_document(replace(MADE, seed="seven"))  # type: ignore[arg-type]


def test_a_report_is_the_same_bytes_twice(tmp_path: Path) -> None:
    slower = replace(
        certificate(
            *(replace(r, seconds=99.0) for r in EACH),
        ),
        seconds=1.0,
    )
    for name, made in (("a", MADE), ("b", slower)):
        write_report(made, tmp_path / name / "deep")
    files = [
        sorted(
            (p.relative_to(tmp_path / name), p.read_bytes()) for p in (tmp_path / name).rglob("*.*")
        )
        for name in ("a", "b")
    ]
    assert files[0] == files[1]
    assert [str(path) for path, _ in files[0]] == [
        "deep/certificate.json",
        "deep/index.html",
        "deep/junit.xml",
        "deep/traces/COMMIT-A__undecided.json",
        "deep/traces/HEARTBEAT-INSTANCE-FENCED__zombie.json",
        "deep/traces/JOIN-A__stale.json",
        "deep/traces/JOIN-STATIC-EMPTY-STABLE__follower.json",
    ]


def test_a_trace_of_a_report_can_be_judged_and_run_again(tmp_path: Path) -> None:
    write_report(MADE, tmp_path)
    trace = TraceFile.read(tmp_path / "traces" / "JOIN-STATIC-EMPTY-STABLE__follower.json")
    assert trace.judge() == FAILS.verdict
    assert trace.verdict.message == FAILS.message
    assert trace.verdict.because == KAFKA_4.rule("JOIN-STATIC-EMPTY-STABLE").because
    assert read_plan(trace.plan) == FAILS.case
    assert trace.provenance["seed"] == 7


def test_a_real_clock_tells_how_long_it_took() -> None:
    made = replace(MADE, clock="real")
    assert certificate_document(made)["seconds"] == 12.5
    assert certificate_document(made)["cases"][0]["seconds"] == 1.25
    assert ET.fromstring(junit_xml(made)).get("time") == "12.500"
    assert "time=" not in junit_xml(MADE)
    checked_document(made)


def test_where_it_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(ReportError, match="give --report another folder"):
        write_report(MADE, tmp_path / "file")


def test_junit_tells_outcomes_apart() -> None:
    root = ET.fromstring(junit_xml(MADE))
    assert (root.get("tests"), root.get("failures"), root.get("errors"), root.get("skipped")) == (
        "7",
        "2",
        "1",
        "3",
    )
    assert [suite.get("name") for suite in root] == [
        "COMMIT SHOULD",
        "HEARTBEAT MUST",
        "JOIN MUST",
        "SYNC MUST",
        "SYNC SHOULD",
    ]
    cases = {case.get("name"): case for case in root.iter("testcase")}
    failure = cases["JOIN-STATIC-EMPTY-STABLE/follower"].find("failure")
    assert failure is not None
    assert failure.get("message") == FAILS.message
    assert '\n9. B2 JoinGroup v9 (member "", instance B) → MEMBER_ID' in (failure.text or "")
    skipped = cases["HEARTBEAT-INSTANCE-FENCED/zombie"].find("skipped")
    assert skipped is not None
    assert (skipped.get("message") or "").startswith("known failure: an early draft (https:")
    assert cases["COMMIT-A/undecided"].find("error") is not None
    assert list(cases["JOIN-A/passes"]) == []


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.STALE_KNOWN_FAILURE, Outcome.UNKNOWN])
@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize("least", list(Level))
def test_junit_has_a_failure_exactly_if_the_exit_code_says_so(
    outcome: Outcome, level: Level, least: Level
) -> None:
    wrong = replace(FAILS, outcome=outcome, level=level)
    made = replace(certificate(wrong, renamed(PASSES, "JOIN-A/passes")), level=least)
    root = ET.fromstring(junit_xml(made))
    bad = [*root.iter("failure"), *root.iter("error")]
    assert bool(bad) is (made.exit_code() != 0)
    assert int(root.get("failures", "")) + int(root.get("errors", "")) == len(bad)
    for skipped in root.iter("skipped"):
        said = f"{outcome.value} at {level.value}, not counted at --level {least.value.lower()}: "
        assert skipped.get("message") == f"{said}{wrong.message}"
        assert "9. B2 JoinGroup v9" in (skipped.text or "")


def test_junit_stands_control_characters() -> None:
    result = replace(FAILS, message='a\x00b\x1b[31m\ud800 <&>"')
    root = ET.fromstring(junit_xml(certificate(result)))
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == 'a\\x00b\\x1b[31m\\xd800 <&>"'


def test_the_verdict_is_printed_first_then_counts_and_violations_with_their_steps() -> None:
    lines = printed(MADE).splitlines()
    assert lines[0] == (
        "model:comment-table-1 under kafka-4: "
        "violated by 1 case and 1 stale known failure, 1 undecided"
    )
    assert lines[2].split()[:2] == ["cases", "MUST"]
    detail = lines.index("  - 1 known failure")
    assert lines[detail - 1 : detail + 3] == [
        "  - model:comment-table-1 (fencepost-model:comment-table-1 0.1.0) under kafka-4",
        "  - 1 known failure",
        "  - 1 unsupported",
        "  - 1 skipped",
    ]
    lines = lines[lines.index("FAIL  MUST  JOIN-STATIC-EMPTY-STABLE/follower") :]
    assert lines[1] == "  A follower restarts."
    assert lines[2] == f"  {FAILS.message}"
    assert lines[3].strip().startswith("1. A1 JoinGroup v9")
    assert lines[11].endswith("← wrong")
    assert "STALE-KNOWN-FAILURE  MUST  JOIN-A/stale" in lines
    assert "advertised but broken: JoinGroup versions 10 and 11" in printed(MADE)
    assert "1 rule can't be reached on this target: JOIN-GROUP-DEAD" in lines


@pytest.mark.parametrize(
    ("wrong", "said", "after", "shown"),
    [
        (19, "NONE", 2, range(12, 20)),
        (2, "NONE", 2, range(3)),
        (19, "no answer", 2, range(14, 22)),  # what makes it due is seen, too
        (19, "no answer", 20, range(19, 27)),
        (0, "no answer", 3, range(4)),
    ],
)
def test_an_excerpt_ends_with_what_is_wrong(
    wrong: int, said: str, after: int, shown: range
) -> None:
    steps = [f"{n + 1}. a Heartbeat → NONE" for n in range(wrong + 1 + after)]
    steps[wrong] = f"{wrong + 1}. a JoinGroup → {said}   ← wrong"
    assert _excerpt(steps, 8) == shown
    assert _excerpt(steps, None) == range(len(steps))


def test_many_failures_of_few_causes_fit_on_two_screens() -> None:
    other = [renamed(ZOMBIE, f"LEAVE-A/{n}", rules=("LEAVE-A",)) for n in range(105)]
    own = [renamed(FAILS, f"JOIN-STATIC-EMPTY-STABLE/{n}") for n in range(8)]
    said = printed(certificate(*other, ZOMBIE, *own))
    lines = said.splitlines()
    assert len(lines) < 100
    first = next(line for line in lines if line.startswith("FAIL"))
    assert first == "FAIL  MUST  JOIN-STATIC-EMPTY-STABLE/0"
    assert "  the same violation in 106 more cases about other rules" in lines
    more = "  the same violation in 7 more cases: JOIN-STATIC-EMPTY-STABLE/1, "
    assert any(line.startswith(more) for line in lines)
    assert said.count(FAILS.message) == 1
    first_of_all = "Fix JOIN-STATIC-EMPTY-STABLE first: 106 cases about other rules show the same"
    fix = lines.index(f"{first_of_all} violation")
    assert fix < lines.index(first)
    assert "Fix " not in printed(certificate(*other[:9], *own))


def test_undecided_cases_can_be_run_again_with_one_command() -> None:
    def undecided(*names: str) -> list[str]:
        results = (renamed(PASSES, name, outcome=Outcome.UNKNOWN, message="late") for name in names)
        made = certificate(*results)
        provenance = replace(made.provenance, target=target)
        made = replace(made, provenance=provenance, clock=clock, suite=suite)
        return printed(made).splitlines()

    clock = "real"
    suite: dict[str, Any] = {}
    target = "tcp://localhost:9092"
    run = f"fencepost certify {target} --revision kafka-4"
    two = undecided("JOIN-A/x", "JOIN-A/y z")
    assert f"  Again: {run} --case JOIN-A/x --case 'JOIN-A/y z'" in two
    (many,) = (line for line in undecided(*(f"A/{n}" for n in range(30))) if run in line)
    assert many.startswith("  The first again: ")
    assert many.count("--case") == 20
    suite = {"name": "pairs"}
    assert f"  Again: {run} --suite pairs --case pairs/x" in undecided("pairs/x")
    clock = "virtual"  # all is the same again
    assert not any("gain: " in line for line in undecided("JOIN-A/x"))


def test_undecided_cases_of_one_reason_share_it() -> None:
    gone = [renamed(PASSES, f"A/{n}", outcome=Outcome.UNKNOWN, message="gone") for n in range(30)]
    lines = printed(certificate(*gone)).splitlines()
    assert lines.count("      gone") == 1
    named = sum(line.startswith("  MUST  A/") for line in lines)
    assert f"  and {30 - named} more cases" in lines
    assert named < 30


def test_reasons_that_nobody_wrote_yet_are_one_line() -> None:
    entries = (listed(f"{UNEXPLAINED}: it was answered {n}", "") for n in range(5))
    results = (
        renamed(FAILS, f"A/{n}", outcome=Outcome.KNOWN_FAILURE, known=entry)
        for n, entry in enumerate(entries)
    )
    assert f"  5  {UNEXPLAINED}: say in the list why" in printed(certificate(*results)).splitlines()


def test_of_many_causes_the_first_are_told() -> None:
    causes = [
        renamed(FAILS, f"JOIN-STATIC-EMPTY-STABLE/{n}", observed=f"A1 JoinGroup: {chr(97 + n) * 3}")
        for n in range(20)
    ]
    lines = printed(certificate(*causes)).splitlines()
    assert sum(line.startswith("FAIL  ") for line in lines) == 12
    assert "8 more causes of 8 failures: --report DIR has them all" in lines
    reported = printed(certificate(*causes), reported=True)
    assert "8 more causes of 8 failures: the report has them all" in reported
    assert len(lines) < 100


def test_why_cases_are_unsupported_is_said_and_which_rules_nothing_shows() -> None:
    reasons = ["JoinGroup v5", "JoinGroup v0", "JoinGroup v1"] + [
        f"feature {letter}" for letter in "abcde"
    ]
    lacks = [
        CaseResult(
            structs.replace(PASSES.case, id=f"SYNC-A/{number}"),
            Outcome.UNSUPPORTED,
            Level.SHOULD,
            f"the target lacks {reason}",
        )
        for number, reason in enumerate(reasons)
    ]
    coverage = CertificateCoverage((), tuple("ABC"), dict.fromkeys("KLMNOP", "never"))
    lines = printed(replace(certificate(PASSES, *lacks), coverage=coverage)).splitlines()
    start = lines.index("Unsupported (8):")
    assert lines[start + 1 : start + 3] == [
        "  3  the target lacks JoinGroup versions 0, 1 and 5",
        "  1  the target lacks feature a",
    ]
    assert lines[start + 5] == "  2  for 2 more reasons, which --report DIR has"
    assert "6 rules can't be reached on this target: K, L, M, N and 2 more" in lines
    assert "3 rules covered by no case that passed: A, B, C" in lines


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (certificate(PASSES), True),
        (certificate(PASSES, not_selected=281), False),
        (certificate(PASSES, suite={"name": "cover"}), False),
        (certificate(PASSES, SKIPS), False),
    ],
    ids=["whole", "one chosen", "another suite", "one skipped"],
)
def test_rules_that_no_case_covers_are_counted_where_the_whole_catalogue_ran(
    made: Certificate, said: bool
) -> None:
    assert ("1 rule covered by no case that passed" in printed(made)) is said


def test_known_failures_are_a_line_for_each_reason() -> None:
    def known_by(name: str, entry: KnownFailure) -> CaseResult:
        return replace(
            known(FAILS), case=structs.replace(FAILS.case, id=name), notes=("r1",), known=entry
        )

    late = listed("B is late", "https://example.org/b")
    lost = listed("A is lost", "https://example.org/a")
    some = (known_by("A/1", late), *(known_by(f"A/{n}", lost) for n in range(10)))
    lines = printed(certificate(*some)).splitlines()
    at = lines.index("Known failures (11) by reason; --report DIR names the cases:")
    assert lines[at + 1 : at + 3] == [
        "  10  A is lost (https://example.org/a)",
        "   1  B is late (https://example.org/b)",
    ]
    assert not any("A/1" in line for line in lines)


def test_of_a_stale_known_failure_the_violation_comes_first() -> None:
    note = 'stale: listed as a known failure ("x"), but fails in another way ("y")'
    said = note.removeprefix("stale: ")
    stale = replace(FAILS, outcome=Outcome.STALE_KNOWN_FAILURE, notes=("lag",), stale=said)
    lines = printed(certificate(stale)).splitlines()
    sentence = lines.index(f"  {FAILS.message}")
    assert lines[sentence + 1] == f"  {note}"
    assert "    note: lag" in lines
    assert sum("stale: " in line for line in lines) == 1


@pytest.mark.parametrize(
    ("level", "colour"), [(Level.MUST, "33"), (Level.SHOULD, "32")], ids=["amber", "green"]
)
def test_a_verdict_that_rests_on_known_failures_at_must_is_amber(level: Level, colour: str) -> None:
    made = certificate(PASSES, replace(known(FAILS), level=level))
    out = io.StringIO()
    print_certificate(made, Console(file=out, width=300, force_terminal=True))
    assert out.getvalue().splitlines()[0].startswith(f"\x1b[1;{colour}m")
    assert made.exit_code() == 0


def test_plain_where_there_is_no_terminal() -> None:
    assert "\x1b" not in printed(MADE)
    assert not set(printed(MADE)) & set("─━│┃")


def test_markup_in_a_message_is_no_markup() -> None:
    assert "[bold]x[/bold] [/]" in printed(
        certificate(replace(FAILS, message="[bold]x[/bold] [/]"))
    )


@pytest.mark.parametrize(
    ("made", "said", "beside", "is_certified"),
    [
        (certificate(PASSES), "holds; certified", (), True),
        (certificate(PASSES, SKIPS), "holds; not certified", ("1 skipped",), False),
        (
            certificate(known(FAILS)),
            "passes 0 of 1, holds apart from 1 known failure",
            (),
            False,
        ),
        (
            certificate(PASSES, replace(known(FAILS), level=Level.SHOULD)),
            "holds apart from 1 known failure",
            (),
            False,
        ),
        (
            certificate(known(FAILS), not_selected=1),
            "passes 0 of 1 selected, holds apart from 1 known failure",
            ("1 case not selected",),
            False,
        ),
        (
            certificate(PASSES, SKIPS, not_selected=3),
            "holds; selected cases only",
            ("1 skipped", "3 cases not selected"),
            False,
        ),
        (
            certificate(PASSES, SKIPS, remarks=("no join was accepted",)),
            "holds; not certified",
            ("no join was accepted", "1 skipped"),
            False,
        ),
        (certificate(), "unknown: no case was run", (), False),
        (certificate(SKIPS), "unknown: no case could be tested", ("1 skipped",), False),
        (certificate(EACH[4]), "unknown: 1 case could not be decided", (), False),
        (
            certificate(PASSES, replace(FAILS, level=Level.MAY)),
            "holds; certified",
            ("1 failure below SHOULD (not counted)",),
            True,
        ),
        (
            certificate(FAILS, known(FAILS), SKIPS),
            "violated by 1 case",
            ("1 known failure", "1 skipped"),
            False,
        ),
    ],
)
def test_the_verdict_in_one_line_and_the_rest_in_a_list(
    made: Certificate, said: str, beside: tuple[str, ...], is_certified: bool
) -> None:
    assert made.summary().partition(" under kafka-4: ")[2] == said
    assert made.details()[-len(beside) :] == beside if beside else not made.left_out()
    assert made.certified() is is_certified


def test_who_has_nothing_that_could_be_tested_holds_nothing() -> None:
    lacks = replace(PASSES, outcome=Outcome.UNSUPPORTED)
    assert certificate(lacks, lacks).exit_code() == 2
    assert certificate(lacks, PASSES).exit_code() == 0


def test_an_answer_that_is_tolerated_is_no_other_note() -> None:
    other = replace(PASSES, notes=("not seen again: a late answer",))
    assert "with a note" not in printed(certificate(other))
    assert PASSES.verdict is not None
    noted = replace(PASSES.verdict, notes=(Noted("r2", "memberId 'x' instead of 'y'"),))
    lines = printed(certificate(other, replace(other, verdict=noted))).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("Passed with a note (1)"))
    assert lines[begin + 1].split(maxsplit=1) == ["1", "memberId 'x' instead of 'y'"]
