"""Failures by cause: the gravest first, names of members left out, nothing merged that differs."""

from __future__ import annotations

from fencepost.traces.report.certificate_data import CaseRow, causes_of

EXTENDED = "JOIN-PHASE-DELAY-EXTENDED"
LATE = (
    "A1's JoinGroup v9 (step 1) should have waited for its answer until 6000 ms after it was sent"
)


def failed(
    name: str, broken: str | None, observed: str, message: str = "", level: str = "MUST"
) -> CaseRow:
    rule = name.partition("/")[0]
    return CaseRow(name, "fail", level, rule, message, None, (rule,), broken, observed)


def test_one_cause_is_one_group_whoever_leads() -> None:
    seen = ["leads [A]", "leads [A, B]", "follows", "leads [A, B, dynamic]", "leads [dynamic]"]
    rows = [
        failed(f"SYNC-STABLE/{n}", EXTENDED, f"A1 JoinGroup: NONE, generation {n}, {place}", LATE)
        for n, place in enumerate(seen)
    ]
    own = failed(f"{EXTENDED}/own", EXTENDED, "b JoinGroup #2: NONE, generation 1, follows", LATE)
    (cause,) = causes_of([*rows, own])
    assert cause.rule == EXTENDED
    assert [case.id for case in cause.own] == [f"{EXTENDED}/own"]
    assert len(cause.others) == len(rows)
    assert cause.cases[0] is own


def test_what_is_graver_comes_first_then_what_fails_at_its_own_rule_then_what_is_commoner() -> None:
    common = [failed(f"LEAVE-X/{n}", "JOIN-A", "a JoinGroup: NONE") for n in range(9)]
    own = failed("HEARTBEAT-B/one", "HEARTBEAT-B", "a Heartbeat: NONE")
    light = failed("HEARTBEAT-C/one", "HEARTBEAT-C", "a Heartbeat: NONE", level="MAY")
    causes = causes_of([*common, light, own])
    assert [cause.rule for cause in causes] == ["HEARTBEAT-B", "JOIN-A", "HEARTBEAT-C"]
    assert [cause.level for cause in causes] == ["MUST", "MUST", "MAY"]


def test_a_cause_is_shown_by_its_gravest_case() -> None:
    own = failed("HEARTBEAT-B/one", "HEARTBEAT-B", "a Heartbeat: NONE", level="SHOULD")
    other = failed("LEAVE-X/one", "HEARTBEAT-B", "a Heartbeat: NONE")
    (cause,) = causes_of([own, other])
    assert cause.cases == (other, own)
    assert cause.level == "MUST"


def test_another_answer_is_another_cause() -> None:
    rows = [
        failed("HEARTBEAT-B/one", "HEARTBEAT-B", "a Heartbeat: NONE"),
        failed("HEARTBEAT-B/two", "HEARTBEAT-B", "a Heartbeat: UNKNOWN_MEMBER_ID"),
        failed("HEARTBEAT-B/three", "HEARTBEAT-B", "b2 Heartbeat: no answer"),
    ]
    assert len(causes_of(rows)) == len(rows)


def test_what_came_instead_of_an_error_is_one_cause_another_wrong_field_is_not() -> None:
    said = "it should have been answered X. Instead: NONE"
    fields = ("", "", " (generationId 3 instead of 2)", " (members [] instead of [A1])")
    rows = [
        failed(f"JOIN-A/{n}", "JOIN-A", f"a JoinGroup: NONE, generation {n}, {place}", said + field)
        for n, (place, field) in enumerate(zip(("leads [A]", "follows") * 2, fields, strict=True))
    ]
    assert [len(cause.cases) for cause in causes_of(rows)] == [2, 1, 1]
    late = failed("JOIN-A/late", "JOIN-A", "a JoinGroup: NONE, generation 1, follows, too late")
    assert len(causes_of([rows[0], late])) == 2


def test_where_the_target_failed_no_rule_is_named() -> None:
    (cause,) = causes_of([failed("HEARTBEAT-B/one", None, "", "the process ended")])
    assert cause.rule == ""
    assert cause.own


def test_a_member_too_many_and_one_that_is_missing_are_not_one_cause() -> None:
    said = "it should have been answered X. Instead: NONE"
    lists = (
        *("[a, b] instead of [a]", "[b, c] instead of [c]", "[a] instead of [a, b]"),
        *("[] instead of [a]", "[a] instead of []", "[a] instead of [b]"),
    )
    rows = [
        failed(
            f"JOIN-A/{n}", "JOIN-A", "a JoinGroup: NONE, generation 1", f"{said} (members {two})"
        )
        for n, two in enumerate(lists)
    ]
    assert [len(cause.cases) for cause in causes_of(rows)] == [2, 1, 1, 1, 1]


def test_a_case_that_is_named_after_the_rule_shows_the_cause() -> None:
    about = CaseRow(
        "JOIN-A/one", "fail", "MUST", "JOIN-A", "", None, ("JOIN-A", "LEAVE-B"), "LEAVE-B"
    )
    named = failed("LEAVE-B/one", "LEAVE-B", "")
    (cause,) = causes_of([about, named])
    assert cause.own == (about, named)
    assert cause.cases == (named, about)
