"""Test a coordinator in your own pytest: does the model explain all that it answers?

A failing test reports the program in the protocol's words, what should have been answered and by
which rule, the same program as code, and a trace file for `fencepost replay`.

    from fencepost.conformance.search.programs.pytest_support import machine_against

    TestMyBroker = machine_against("tcp://localhost:9092")
"""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from hypothesis import settings as hypothesis_settings

from fencepost.conformance.search.programs.program_runs import (
    ALL,
    ProgramRun,
    ProgramRunner,
    Searched,
    search_quickly,
    search_side_by_side,
)
from fencepost.conformance.targets.in_process import InProcessCoordinator
from fencepost.conformance.targets.target import Hints, Target
from fencepost.conformance.targets.target_registry import TargetOptions, find_revision, find_target
from fencepost.model.coordinator import Coordinator, Provenance
from fencepost.model.table.table import Level
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.stateful.strategies import Program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fencepost.model.coordinator import AsyncCoordinator

TRACES = Path("fencepost-traces")
"""Folder for traces of failures, below the current folder."""

Held = str | Target | Callable[[], Coordinator]
"""Test subjects: a target by name (`mock`, `exec:COMMAND`, `tcp://HOST:PORT`), a target, or a
function that makes a coordinator in this process.
"""

_NO_SLASHES = re.compile(r"[^A-Za-z0-9.]+")


@runtime_checkable
class _Openable(Protocol):
    """Distinguishes a target from a function."""

    def scope(self, label: str, *, isolated: bool = False, restarts: bool = False) -> Any:
        """As a target has it."""
        ...


class ViolationError(AssertionError):
    """A coordinator did what the model doesn't; `str()` is the whole report."""


class FactoryTarget:
    """A coordinator in this process, made anew for each program."""

    capacity = 1
    hints = Hints()

    def __init__(self, make: Callable[[], Coordinator]) -> None:
        self.name = getattr(make, "__name__", type(make).__name__)
        self._make = make
        self._hello = ("unknown", "unknown")

    async def __aenter__(self) -> Self:
        """Nothing to start."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to end."""

    def provenance(self) -> Provenance:
        """Return the names in the introduction of the coordinator."""
        return Provenance(self.name, *self._hello)

    @asynccontextmanager
    async def scope(
        self, label: str, *, isolated: bool = False, restarts: bool = False
    ) -> AsyncIterator[AsyncCoordinator]:
        """Yield an unused coordinator."""
        del label, isolated, restarts
        inner = self._make()
        try:
            hello = inner.hello()
            self._hello = (hello.implementation, hello.version)
            yield InProcessCoordinator(inner)
        finally:
            inner.close()


def machine_against(
    held: Held,
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
                coverage_text = self.coverage.text(judge)
                report = _report(runner, searched.failing, traces) if searched.failing else ""
            print(coverage_text)  # noqa: T201  (pytest shows it: -rP, or where the test fails)
            if report:
                raise ViolationError(report)

    Machine.__qualname__ = Machine.__name__ = f"MachineAgainst_{_slug(target.name)}"
    return Machine


def check_programs(
    held: Held,
    *programs: Program,
    revision: str = "kafka-4",
    level: Level = Level.SHOULD,
    traces: Path = TRACES,
) -> Sequence[ProgramRun]:
    """Run given programs, for example regressions.

    Raises ViolationError for the first that fails.
    """
    __tracebackhide__ = True
    with ProgramRunner(target_of(held), find_revision(revision), level=level) as runner:
        results = runner.run(programs)
        failing = next((ran for ran in results if ran.fails), None)
        report = _report(runner, failing, traces) if failing is not None else ""
    if report:
        raise ViolationError(report)
    return results


def target_of(held: Held) -> Target:
    """Make a target of the coordinator to test.  Raises UnknownTargetError."""
    if isinstance(held, str):
        return find_target(held, TargetOptions())
    if isinstance(held, _Openable):
        return held
    return FactoryTarget(held)


def _report(runner: ProgramRunner, ran: ProgramRun, traces: Path) -> str:
    lines = ["this program was answered wrongly:", "", runner.report(ran), ""]
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
