"""One deviation masks nothing: what lies behind it is judged, and a liar is caught at both."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fencepost.conformance.cases import ENTRIES, entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.run.going_on import remark_of
from fencepost.conformance.run.replay import rejudge
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.revision import Revision, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.known_failures import KnownFailure
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.report import Certificate, apply
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.traces.files.run_trace import trace_of
from fencepost.traces.files.trace_file import TraceFile

BEHIND = Options(goes_on=True)
MASKS = "follower-assigns"
FENCING = "HEARTBEAT-INSTANCE-FENCED"
ZOMBIE = f"{FENCING}/zombie-beats"
FULL = "JOIN-GROUP-FULL/full-stable-group"


def liar(*names: str) -> Revision:
    """Return the model with the faults of several mutants."""
    mutants = [MUTANTS[name] for name in names]
    differences = [each for mutant in mutants for each in mutant.differences]
    twists = {do: twist for mutant in mutants for do, twist in mutant.twists.items()}
    base = derive(KAFKA_4, "liar", "several faults", tuple(differences))
    return replace(base, twists=twists)


def certified(
    revision: Revision, cases: Sequence[str] = (), options: Options = BEHIND
) -> Certificate:
    chosen = [entry(case_id) for case_id in cases] or list(ENTRIES)
    target = InProcessTarget("liar", revision, "0")
    return asyncio.run(certify(target, KAFKA_4, chosen, options))


def kinds(results: Sequence[CaseResult]) -> set[str]:
    """Return the kinds of the failures, those before which a case went on included."""
    failed = [r for r in results if r.outcome is Outcome.FAIL]
    return {str(f) for r in failed if (f := r.fingerprint(KAFKA_4)) is not None}


OWN = "SYNC-COMPLETING-FOLLOWER/followers-wait-for-the-leader"


def test_cases_pass_behind_a_deviation_that_another_case_reports() -> None:
    certificate = certified(liar(MASKS), (OWN, ZOMBIE))
    own, zombie = certificate.results
    assert own.outcome is Outcome.FAIL
    assert not own.behind
    assert zombie.outcome is Outcome.PASS
    assert own.fingerprint(KAFKA_4) in zombie.behind
    assert any(note.startswith("continued after a deviation: SYNC-") for note in zombie.notes)
    (remark,) = certificate.remarks
    assert remark.startswith("1 case passed although another rule was broken: ")


def test_a_deviation_that_no_case_reports_is_reported_by_the_first_that_met_it() -> None:
    (alone,) = certified(liar(MASKS), (ZOMBIE,)).results
    (before,) = certified(liar(MASKS), (ZOMBIE,), Options()).results
    assert alone.outcome is before.outcome is Outcome.FAIL
    assert (alone.message, alone.observed) == (before.message, before.observed)
    assert alone.recording is not None
    assert before.recording is not None
    assert alone.recording.history == before.recording.history
    assert not remark_of([alone])


@pytest.mark.parametrize("second", ["zombie-heartbeats", "zombie-commits"])
def test_a_second_fault_behind_the_first_is_reported_beside_it(second: str) -> None:
    api = "HEARTBEAT" if second == "zombie-heartbeats" else "COMMIT"
    zombie = f"{api}-INSTANCE-FENCED/zombie-{'beats' if api == 'HEARTBEAT' else 'commits'}"
    first, both = certified(liar(MASKS, second), (OWN, zombie)).results
    assert first.broken(KAFKA_4) != f"{api}-INSTANCE-FENCED"
    assert both.outcome is Outcome.FAIL
    assert both.broken(KAFKA_4) == f"{api}-INSTANCE-FENCED"
    assert first.fingerprint(KAFKA_4) in both.behind
    assert "Also wrong before that" in both.message


def test_a_failure_behind_a_deviation_is_judged_again_from_its_trace() -> None:
    certificate = certified(liar(MASKS, "zombie-heartbeats"), (OWN, ZOMBIE))
    _, both = certificate.results
    assert both.recording is not None
    trace = trace_of(
        both.recording, both.verdict, KAFKA_4, certificate.provenance, seed=0, tool_version="0"
    )
    assert trace.verdict.behind
    read = TraceFile.from_json(trace.to_json())
    assert read == trace
    assert rejudge(read).same


@pytest.mark.parametrize(
    "name", [MASKS, "static-asked-for-id", "unknown-before-fenced", "leader-without-members"]
)
def test_a_target_with_one_fault_is_accused_of_no_other(name: str) -> None:
    some = [each.id for each in ENTRIES[::6] if each.id != FULL]
    results = certified(liar(name), [*some, FULL]).results
    before = [result.without_going_on() for result in results]
    assert kinds(results) <= kinds(before)


def test_a_sound_target_goes_on_behind_nothing() -> None:
    results = certified(KAFKA_4, (OWN, ZOMBIE)).results
    assert [result.outcome for result in results] == [Outcome.PASS, Outcome.PASS]
    assert not any(result.behind or result.whole for result in results)


def test_a_case_that_is_listed_by_the_deviation_fails_as_listed() -> None:
    own, zombie = certified(liar(MASKS), (OWN, ZOMBIE)).results
    assert zombie.before is not None
    observed, rule = zombie.before.observed, zombie.before.broken(KAFKA_4) or ""
    listed = KnownFailure("liar", "*", ZOMBIE, rule, observed, "followers assign", "")
    _, known = apply([own, zombie], [listed], KAFKA_4)
    assert known.outcome is Outcome.KNOWN_FAILURE
    assert known.message == zombie.before.message
    _, unlisted = apply([own, zombie], [], KAFKA_4)
    assert unlisted.outcome is Outcome.PASS


@pytest.mark.parametrize("is_general", [False, True])
def test_a_case_does_not_go_on_behind_a_deviation_that_is_listed(*, is_general: bool) -> None:
    own, zombie = certified(liar(MASKS), (OWN, ZOMBIE)).results
    assert zombie.before is not None
    (rule,) = {zombie.before.broken(KAFKA_4), own.broken(KAFKA_4)}
    case = OWN if is_general else ZOMBIE
    entry = KnownFailure(
        "liar", "*", case, rule or "", zombie.before.observed, "a", "", False, is_general
    )
    (alone,) = certified(liar(MASKS), (ZOMBIE,), replace(BEHIND, listed=lambda _: [entry])).results
    assert alone.observed == zombie.before.observed
    assert alone.whole is None
    (known,) = apply([alone], [entry], KAFKA_4)
    assert known.outcome is Outcome.KNOWN_FAILURE


def listed_as(result: CaseResult, why: str, *, intermittent: bool = False) -> KnownFailure:
    rule = result.broken(KAFKA_4) or ""
    return KnownFailure("liar", "*", result.case.id, rule, result.observed, why, "", intermittent)


def test_a_case_goes_on_to_what_else_is_listed_for_it() -> None:
    own, both = certified(liar(MASKS, "zombie-heartbeats"), (OWN, ZOMBIE)).results
    assert both.before is not None
    entries = [
        listed_as(own, "followers assign"),
        listed_as(both.before, "busy", intermittent=True),
        listed_as(both, "zombies beat"),
    ]
    options = replace(BEHIND, listed=lambda _: entries)
    again = certified(liar(MASKS, "zombie-heartbeats"), (OWN, ZOMBIE), options).results
    _, known = apply(again, entries, KAFKA_4)
    assert (known.outcome, known.known) == (Outcome.KNOWN_FAILURE, entries[2])
    # Where a busy machine lets nothing be shown behind the deviation, that is known, too.
    fallen_back: list[CaseResult] = [own, both.before]
    _, known = apply(fallen_back, entries, KAFKA_4)
    assert (known.outcome, known.known) == (Outcome.KNOWN_FAILURE, entries[1])


def test_a_case_may_pass_behind_what_is_listed_as_there_now_and_then() -> None:
    own, zombie = certified(liar(MASKS), (OWN, ZOMBIE)).results
    assert zombie.before is not None
    entries = [
        listed_as(own, "followers assign"),
        listed_as(zombie.before, "busy", intermittent=True),
    ]
    options = replace(BEHIND, listed=lambda _: entries)
    again = certified(liar(MASKS), (OWN, ZOMBIE), options).results
    assert [r.outcome for r in apply(again, entries, KAFKA_4)] == [
        Outcome.KNOWN_FAILURE,
        Outcome.PASS,
    ]


def test_an_id_that_only_the_leader_was_told_of_is_that_of_its_own_join() -> None:
    case_id = "JOIN-STATIC-EMPTY-STABLE/restart-of-a-follower"
    (result,) = certified(liar("initial-delay-not-extended"), (case_id,)).results
    assert kinds([result]) <= kinds([result.without_going_on()])
