"""Run programs against a target and judge them.

A program fails if no run of the model explains the answers, or if they break a property that needs
no model.  On a virtual clock programs run one after the other, and Hypothesis shrinks them.  On a
real clock each takes seconds, so programs run side by side, and so do smaller ones.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Self

from fencepost.conformance.run.certify import OpenTarget, Options, opened
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.search.programs.program_cases import entry_of
from fencepost.conformance.targets.target import Target
from fencepost.model.history.events import Sent
from fencepost.model.history.words import with_names
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.checking.rule_coverage import Coverage
from fencepost.properties.claims.answer_properties import broken_properties
from fencepost.properties.judging.answer_diff import names_of
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.judging.recording import Recording
from fencepost.properties.oracle.verdict import Wrong
from fencepost.properties.stateful.programs import Program
from fencepost.traces.files.trace_file import TraceFile

_SHAPE = "no-answer-has-a-forbidden-shape"
_REQUEST = re.compile(r"(?P<id>r\d+) \((?P<api>\S+) v\d+\)")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program that was run: its result, and the history properties that its answers break."""

    program: Program
    result: CaseResult
    broken: dict[str, str]
    fails: bool

    @property
    def gravity(self) -> int:
        """How grave, 0 most: breaks a property that needs no model; can't be explained; others.

        A closed connection may be another program's fault, where several run side by side.
        """
        violation = self.result.violation
        wrong = None if violation is None else violation.wrong
        if wrong in {Wrong.CLOSED, Wrong.DEVIATION}:
            return 3
        if set(self.broken) - {_SHAPE}:
            return 0
        return 1 if violation is not None and violation.level is Level.MUST else 2


class ProgramRunner:
    """Opens a target and runs programs on it; for `with`, in code that is not async.

    Raises TargetUnavailableError when it is entered.
    """

    def __init__(
        self,
        target: Target,
        revision: Revision,
        *,
        level: Level = Level.SHOULD,
        coverage: Coverage | None = None,
    ) -> None:
        self.target = target
        self.revision = revision
        self.level = level
        self.coverage = Coverage() if coverage is None else coverage
        self._numbers = itertools.count(1)
        self._suite: Future[OpenTarget] = Future()
        self._ended: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._live, name="fencepost runner", daemon=True)

    def __enter__(self) -> Self:
        """Open the target.  Its event loop runs in a thread, so that its lag is always measured."""
        self._thread.start()
        self._suite.result()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; nothing is left running."""
        if self._loop is not None and self._ended is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _live(self) -> None:
        try:
            asyncio.run(self._open())
        except BaseException as error:
            if self._suite.done():
                raise
            self._suite.set_exception(error)

    async def _open(self) -> None:
        options = Options(level=self.level, attempts=1)
        async with opened(self.target, self.revision, options) as suite:
            self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
            self._suite.set_result(suite)
            await self._ended.wait()

    @property
    def suite(self) -> OpenTarget:
        """The target, open."""
        self._running()
        return self._suite.result()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise RuntimeError("the target is not open: use ProgramRunner in `with`")
        return self._loop

    @property
    def is_quick(self) -> bool:
        """Whether the clock is virtual, so that a program takes no time."""
        return self.suite.hello.clock == "virtual"

    def run(self, programs: Sequence[Program]) -> list[ProgramRun]:
        """Run these, side by side where the target allows it; results in the same order."""
        hello = self.suite.hello
        entries = [entry_of(f"program {next(self._numbers)}", p, hello) for p in programs]
        running = asyncio.run_coroutine_threadsafe(self.suite.run(entries), self._running())
        results = running.result()
        return [self._ran(p, result) for p, result in zip(programs, results, strict=True)]

    def _ran(self, program: Program, result: CaseResult) -> ProgramRun:
        recording = result.recording
        broken: dict[str, str] = {}
        if recording is not None and not recording.moved:
            broken = dict(broken_properties(recording.history))
        if result.verdict is not None:
            self.coverage.add(result.verdict.used)
        grave = LEVELS.index(result.level) <= LEVELS.index(self.level)
        wrong = result.outcome is Outcome.FAIL and grave
        return ProgramRun(program, result, broken, wrong or bool(broken))

    def report(self, ran: ProgramRun) -> str:
        """What went wrong: what was sent, answered and due, and why; members by name."""
        lines = []
        result = ran.result
        if result.recording is not None:
            said = explain(result.verdict, result.recording, self.revision)
            lines += [*said.steps, "", said.sentence]
        else:
            lines.append(result.message)
        for name, what in ran.broken.items():
            said_so = what if result.recording is None else _for_people(what, result.recording)
            lines.append(f"By answers alone, {name} is broken: {said_so.rstrip('.')}.")
        return "\n".join(lines)

    def trace(self, ran: ProgramRun) -> TraceFile | None:
        """The trace of a run; None where the target itself failed."""
        return sound_trace(ran.result, self.revision, self.target.provenance())


def _for_people(sentence: str, recording: Recording) -> str:
    """Requests by who sent them, members by name."""

    def named(found: re.Match[str]) -> str:
        request_id, api = found.group("id", "api")
        who = recording.senders.get(request_id, request_id)
        own = [
            event.request.id
            for event in recording.history
            if isinstance(event, Sent)
            and event.request.api == api
            and recording.senders.get(event.request.id) == who
        ]
        number = f" (its no. {own.index(request_id) + 1})" if len(own) > 1 else ""
        return f"{who}'s {api}{number}"

    return with_names(_REQUEST.sub(named, sentence), names_of(recording))
