"""Test a coordinator in your own pytest: does the model explain all that it answers?

A failing test reports the program in the protocol's words, what should have been answered and by
which rule, the same program as code, and a trace file for `fencepost replay`.

    from fencepost.conformance.search.programs.pytest_support import machine_against

    TestMyBroker = machine_against("tcp://localhost:9092")
"""

from __future__ import annotations

import contextlib
import re
import unittest
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from hypothesis import settings as hypothesis_settings

from fencepost.conformance.search.programs.program_runs import (
    ALL,
    ProgramRun,
    ProgramRunner,
    Searched,
    search_quickly,
    search_side_by_side,
)
from fencepost.conformance.targets.target_registry import TestSubject, find_revision, target_of
from fencepost.model.history.words import plural
from fencepost.model.table.table import Level
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.stateful.strategies import Program, refuse_unknown_moves

TRACES = Path("fencepost-traces")
"""Folder for traces of failures, below the current folder."""

_NO_SLASHES = re.compile(r"[^A-Za-z0-9.]+")


class RulesNotUsedWarning(UserWarning):
    """Rules were never used, so a test shows nothing of them."""


class ViolationError(AssertionError):
    """A coordinator did what the model doesn't; `str()` is the whole report."""


def machine_against(
    held: TestSubject,
    *,
    revision: str = "kafka-4",
    level: Level = Level.SHOULD,
    doings: Sequence[str] = ALL,
    settings: hypothesis_settings | None = None,
    traces: Path = TRACES,
) -> type[unittest.TestCase]:
    """Make a test case that looks for a program which the coordinator answers wrongly.

    `revision`: who judges.  `level`: from which level on a fault counts.  `doings`: what is done,
    of `fencepost.properties.stateful.strategies.DOINGS` (all, but for what the target lacks).
    `settings`: of Hypothesis, by default those in force when the test runs; `max_examples`: how
    many programs. `traces`: the folder that gets the evidence. With a real clock programs are run
    side by side.

    Raises UnknownTargetError for a name that no target has.  The test fails with ViolationError,
    and with TargetUnavailableError if the target can't be started or reached.
    """
    target = target_of(held)
    judge = find_revision(revision)

    class Machine(unittest.TestCase):
        """Programs that Hypothesis makes up, run against one coordinator."""

        coverage: ClassVar[Coverage] = Coverage()

        def test_every_answer_is_one_that_the_model_gives(self) -> None:
            """Fails with the shortest program that is answered wrongly."""
            __tracebackhide__ = True
            chosen = settings or hypothesis_settings()
            with ProgramRunner(target, judge, level=level, coverage=self.coverage) as runner:
                look = search_quickly if runner.is_quick else search_side_by_side
                searched: Searched = look(runner, chosen, doings)
                cases = plural(runner.cases, "case")
                beside = f" and {cases} of the catalogue" if runner.cases else ""
                coverage_text = self.coverage.text(judge, beside)
                report = _report(runner, searched.failing, traces) if searched.failing else ""
            print(coverage_text)  # noqa: T201  (pytest shows it: -rP, or where the test fails)
            if report:
                raise ViolationError(report)
            if self.coverage.unfired(judge):
                with contextlib.suppress(RulesNotUsedWarning):  # a user may make errors of warnings
                    warnings.warn(coverage_text, RulesNotUsedWarning, stacklevel=2)

    Machine.__qualname__ = Machine.__name__ = f"MachineAgainst_{_slug(target.name)}"
    return Machine


def check_programs(
    held: TestSubject,
    *programs: Program,
    revision: str = "kafka-4",
    level: Level = Level.SHOULD,
    traces: Path = TRACES,
) -> Sequence[ProgramRun]:
    """Run given programs, for example regressions.

    Raises ViolationError for the first that fails, MoveError for a move that isn't there.
    """
    __tracebackhide__ = True
    refuse_unknown_moves(programs)
    with ProgramRunner(target_of(held), find_revision(revision), level=level) as runner:
        results = runner.run(programs)
        failing = next((ran for ran in results if ran.fails), None)
        report = _report(runner, failing, traces) if failing is not None else ""
    if report:
        raise ViolationError(report)
    return results


def _report(runner: ProgramRunner, ran: ProgramRun, traces: Path) -> str:
    lines = ["this program was answered wrongly:", "", runner.report(ran), ""]
    if ran.is_case:
        id_ = ran.result.case.id
        lines += ["It is a case of the catalogue:", f"    run_certificate(…, cases=[{id_!r}])"]
    else:
        lines += ["As code:", f"    {ran.program.text}"]
    trace = runner.trace(ran)
    if trace is not None:
        traces.mkdir(parents=True, exist_ok=True)
        path = traces / f"{_slug(runner.target.name)}.json"
        trace.write(path)
        lines += ["Judge it again:", f"    fencepost replay {path}"]
    return "\n".join(lines)


def _slug(name: str) -> str:
    return _NO_SLASHES.sub("-", name).strip("-")
