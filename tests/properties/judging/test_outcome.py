"""One fault has one level: none is graver than the rule that was broken, or than its departure."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.places import ROOT
from support.runs import LEVELS as OF_RULES

from fencepost.conformance.cases import ENTRIES, entry
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.departures.known_departures import DEPARTURES, Departure, departed
from fencepost.properties.judging import outcome
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Overall
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.properties.oracle.fingerprint import broken_rule

_KILLS = ROOT / "tests/properties/mutants/mutant_kills.txt"
OF_CLASSIC = {name: d for name, d in DEPARTURES.items() if d.protocol is CLASSIC}
SESSION_OF_A_RESTART = "JOIN-STATIC-EMPTY-STABLE/session-of-a-restart-is-longer"
KILLS = dict(line.split(" ", 1) for line in _KILLS.read_text("utf-8").splitlines())


def failures(revision: Revision, entries: tuple[Entry, ...]) -> list[CaseResult]:
    """What fails of these cases against a revision, as `certify` judges it."""
    target = InProcessTarget("model:wrong", revision, "0")
    done = asyncio.run(certify(target, KAFKA_4, entries, Options()))
    return [result for result in done.results if result.outcome is Outcome.FAIL]


def too_grave(result: CaseResult) -> str:
    """What is wrong with the level of a failure; "" where it is right."""
    violation = result.violation
    if violation is None:  # the target itself failed
        return ""
    rule = broken_rule(violation, KAFKA_4)
    if rule is None:
        return f"{result.case.id}: no rule was broken"
    levels = {rule.id: rule.level}
    if violation.lost_timer:
        levels[violation.lost_timer] = OF_RULES[violation.lost_timer]
    if LEVELS.index(result.level) < min(map(LEVELS.index, levels.values())):
        return f"{result.case.id}: {result.level.value}, but {levels}"
    said = rule.level.value
    if result.level is not rule.level:
        said += f"; this failure counts as {result.level.value}"
        said += f", as {violation.lost_timer}" if violation.lost_timer else ""
    if result.level is not violation.level or f"(rule {rule.id}, {said})" not in result.message:
        return f"{result.case.id}: {result.level.value} is not what is said: {result.message}"
    return ""


@pytest.mark.parametrize("case", ENTRIES, ids=[case.id for case in ENTRIES])
def test_a_case_is_no_graver_than_the_rule_that_it_is_about(case: Entry) -> None:
    level = case.case(OF_RULES, delayed=case.delayed is True).level
    assert LEVELS.index(level) >= LEVELS.index(OF_RULES[case.rules[0]])


@pytest.mark.parametrize("name", MUTANTS)
def test_a_case_notices_a_mutant_that_is_no_graver_than_its_rule(name: str) -> None:
    target = find_target(f"mutant:{name}", TargetOptions())
    options = Options(level=Level.MAY)
    certificate = asyncio.run(certify(target, KAFKA_4, [entry(KILLS[name])], options))
    assert certificate.overall() is Overall.VIOLATED
    (result,) = certificate.results
    assert too_grave(result) == ""


@pytest.mark.parametrize("departure", OF_CLASSIC.values(), ids=OF_CLASSIC)
def test_a_departure_has_one_level_wherever_it_is_met(departure: Departure) -> None:
    """One of kfake may break several rows of the table: it is as grave as the gravest of them.

    Some of the cases; `big_outcome.py` has all of them.
    """
    found = failures(departed(KAFKA_4, (departure,)), ENTRIES[::24])
    levels = {result.level for result in found}
    assert levels <= {departure.level} or departure.of == {"kfake"}
    assert all(LEVELS.index(level) >= LEVELS.index(departure.level) for level in levels)
    assert [said for said in map(too_grave, found) if said] == []


def test_two_faults_at_once_are_as_grave_as_the_graver_one() -> None:
    twice, session = DEPARTURES["protocol-twice"], DEPARTURES["restart-session"]
    assert twice.level is session.level is Level.SHOULD
    both = departed(KAFKA_4, (twice, session))
    cases = ("JOIN-PHASE-ALL-JOINED/protocol-offered-twice", SESSION_OF_A_RESTART)
    found = failures(both, tuple(map(entry, cases)))
    assert [result.level for result in found] == [Level.SHOULD, Level.SHOULD]


def test_a_graver_fault_beside_a_lesser_one_is_as_grave_as_ever() -> None:
    """A departure lowers only what it explains wholly."""
    session = DEPARTURES["restart-session"]
    worse = departed(MUTANTS["crabka-static-never-expires"].revision, (session,))
    case = entry("SESSION-EXPIRED/silent-static-member")
    (result,) = failures(worse, (case,))
    assert result.level is Level.MUST


def test_a_level_is_lowered_by_departures_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With no departure to explain it the same failure has the level of its rule."""
    revision = departed(KAFKA_4, (DEPARTURES["restart-session"],))
    grave = {n: replace(d, level=Level.MUST) for n, d in DEPARTURES.items()}
    monkeypatch.setattr(outcome, "DEPARTURES", grave)
    (result,) = failures(revision, (entry(SESSION_OF_A_RESTART),))
    assert result.level is Level.MUST
