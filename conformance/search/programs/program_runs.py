"""Run programs against a target and judge them.

A program fails if no run of the model explains the answers, or if they break a property that needs
no model.  On a virtual clock programs run one after the other, and Hypothesis shrinks them.  On a
real clock each takes seconds, so programs run side by side, and so do smaller ones.

Turn programs into cases, move by move.

A process waits for the answer to its join or sync before it sends anything else, as a client
library does, unless its connection drops or it ends.  An API, a version or a feature that a
coordinator lacks is left out.

Search for a program that fails, and shrink it.

Where a program takes time, several are drawn at once, short ones first, and run side by side.  The
shortest that fails is shrunk: all smaller programs run side by side, until none fails any more.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Self

from hypothesis import HealthCheck, Phase, event, given, seed, settings, target

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.script import (
    BOTH,
    INSTANCE_SINCE,
    RANGE,
    RENEWED,
    ROUNDROBIN,
    Script,
)
from fencepost.conformance.run.certify import OpenTarget, Options, open_target
from fencepost.conformance.run.replay import sound_trace
from fencepost.conformance.targets.target import Target
from fencepost.model.coordinator import Hello
from fencepost.model.history.words import with_names
from fencepost.model.messages.messages import LeavingMember
from fencepost.model.plans.steps import GenerationOf, IdOf, Ms, Needs, instance_of
from fencepost.model.revision import Revision
from fencepost.model.table.table import LEVELS, Level, Rule, Table
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.checking.shrinking import (
    EditStage,
    Reproducer,
    Shrinking,
    numbered,
    shrink_items,
    shrink_now,
    without,
)
from fencepost.properties.claims.answer_properties import broken_properties
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.explain import explain
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.verdict import Wrong
from fencepost.properties.stateful.strategies import (
    ACTIONS,
    PROCESSES,
    Move,
    Program,
    Weights,
    plainer,
    programs,
    weighted,
)
from fencepost.traces.files.trace_file import TraceFile

_OLDER = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "OffsetCommit": 7, "LeaveGroup": 2}
_OLDER_DYNAMIC = {"JoinGroup": 3, "SyncGroup": 2, "Heartbeat": 2, "OffsetCommit": 2}
_API = {
    "join": "JoinGroup",
    "change": "JoinGroup",
    "sync": "SyncGroup",
    "beat": "Heartbeat",
    "leave": "LeaveGroup",
    "remove": "LeaveGroup",
    "batch": "LeaveGroup",
    "commit": "OffsetCommit",
    "fetch": "OffsetFetch",
    "describe": "DescribeGroups",
    "list": "ListGroups",
}
_ONE_GROUP_BEFORE = 8
_OTHER_GROUP = "h"
_NOBODYS = "Z"
_TOO_SHORT_MS = 1
_FATAL = ("unlike", "later")
"""Joins that make some coordinators abort: two members whose first protocols differ."""


def entry_of(name: str, program: Program, hello: Hello) -> Entry:
    """Make a case of a program, for a coordinator with these features."""
    virtual = hello.clock == "virtual"

    def write(script: Script) -> None:
        writer = _CaseWriter(script, hello)
        for move in program.moves:
            writer.move(move)
        writer.wait_for(*writer.names)

    return Entry(
        name,
        "what Hypothesis made up",
        (),
        Needs(),
        isolated=any(
            move.do in {"join", "change"} and move.odd in _FATAL for move in program.moves
        ),
        level=Level.MUST,
        delayed=program.delayed if virtual else None,
        write=write,
    )


@dataclass(slots=True)
class _CaseWriter:
    """Writes moves; `names`: what the process in each seat is called now."""

    script: Script
    hello: Hello
    names: list[str] = field(default_factory=list)
    count: dict[str, int] = field(default_factory=dict)
    waits: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Start everybody's first process."""
        self.names = [self.new_name(seat) for seat in PROCESSES]

    def new_name(self, seat: str) -> str:
        """Name a process that is new."""
        number = self.count[seat] = self.count.get(seat, 0) + 1
        return f"{seat}{number}" if seat[0].isupper() or number > 1 else seat

    def move(self, move: Move) -> None:
        """Write one move, if the coordinator has the features for it."""
        who = self.names[move.who]
        match move.do:
            case "await":
                self.wait_for(who)
            case "restart":
                self.cut_off(who)
                self.names[move.who] = self.new_name(PROCESSES[move.who])
            case "drop":
                self.cut_off(who)
            case "form":
                self.form(self.names[0], self.names[2])
            case "pause":
                self.script.pause("short rebalance" if move.odd else "short session")
            case "failover":
                if "restart" in self.hello.features:
                    self.script.restart()
                    self.waits.clear()
            case _:
                self.request(move, who)

    def cut_off(self, who: str) -> None:
        self.script.disconnect(who)
        self.waits.discard(who)

    def wait_for(self, *who: str) -> None:
        waiting = [name for name in dict.fromkeys(who) if name in self.waits]
        if waiting:
            self.script.wait(*waiting)
            self.waits.difference_update(waiting)

    def form(self, *who: str) -> None:
        """Form a stable group of these; the first may be alone at first, so it joins again."""
        seats = [self.names.index(name) for name in who]
        for seat in (*seats, seats[0]):
            self.request(Move("join", seat), self.names[seat])
        self.wait_for(*who)
        for seat in reversed(seats):
            self.request(Move("sync", seat), self.names[seat])
        self.wait_for(*who)

    def request(self, move: Move, who: str) -> None:
        api = _API[move.do]
        versions = self.hello.versions(api)
        if not versions:
            return
        most = self.version(move, api, instance_of(who), (versions[0], versions[-1]))
        version = max(v for v in versions if v <= most)
        fields = self.fields(move, who, api, version)
        if fields is None:
            return
        asker = "admin" if move.do in {"describe", "list"} else who
        self.wait_for(asker)
        self.script.ask(asker, api, version=version, wait=False, **fields)
        if api in {"JoinGroup", "SyncGroup"}:
            self.waits.add(who)
        self.script.settle()

    @staticmethod
    def version(move: Move, api: str, instance: str | None, bounds: tuple[int, int]) -> int:
        low, high = bounds
        if api == "OffsetFetch":
            return max(low, min(high, _ONE_GROUP_BEFORE - 1))
        if move.odd != "older":
            return high
        older = _OLDER if instance is not None else {**_OLDER, **_OLDER_DYNAMIC}
        return max(low, min(high, older.get(api, high)))

    def fields(self, move: Move, who: str, api: str, version: int) -> dict[str, Any] | None:
        """Fill in the fields of a request; None where the version lacks one."""
        group = {"elsewhere": _OTHER_GROUP, "nowhere": ""}.get(move.odd, "g")
        if move.do == "describe":
            return {"groups": (group,)}
        if move.do == "list":
            return {}
        scratch = Script(delayed=False)
        if move.do == "fetch":
            scratch.fetch(who, version=version, group=group)
            return dict(_fields_in(scratch))
        if api == "LeaveGroup":
            return self.leaving(move, who, group, version)
        says: dict[str, Any] = {"member_id": self.member_id(move, who), "group": group}
        carries = version >= INSTANCE_SINCE[api] and move.odd != "dynamic"
        mine = _NOBODYS if move.odd == "claims" else instance_of(who)
        says["instance"] = mine if carries else None
        if api == "JoinGroup":
            scratch.join(who, version=version, **says, **_join(move))
        else:
            says["generation"] = _generation(move, who)
            if move.do == "sync":
                if move.odd == "unlike" and version >= 5:
                    says["protocol_name"] = ROUNDROBIN[0][0]
                scratch.sync(who, version=version, assign=self.names, **says)
            elif move.do == "beat":
                scratch.beat(who, version=version, **says)
            else:
                scratch.commit(who, version=version, **says)
        return dict(_fields_in(scratch))

    def leaving(self, move: Move, who: str, group: str, version: int) -> dict[str, Any] | None:
        if version < INSTANCE_SINCE["LeaveGroup"]:
            if move.do != "leave":
                return None
            return {"group_id": group, "member_id": self.member_id(move, who)}
        own = _NOBODYS if move.odd == "claims" else instance_of(who)
        instance = None if move.odd == "dynamic" else own
        rows: Iterable[tuple[Any, str | None]] = [(self.member_id(move, who), instance)]
        if move.do == "remove":
            rows = [("", instance)]
        elif move.do == "batch":
            rows = [(IdOf(name), instance_of(name)) for name in self.names]
        members = tuple(LeavingMember(member_id=m, group_instance_id=i) for m, i in rows)
        return {"group_id": group, "members": members}

    def member_id(self, move: Move, who: str) -> Any:
        match move.odd:
            case "stranger":
                return "stranger"
            case "nobody":
                return ""
            case "earlier":
                return IdOf(who, back=1)
            case "other":
                return IdOf(self.names[(move.who + 1) % len(self.names)])
            case _:
                return IdOf(who)


def _join(move: Move) -> dict[str, Any]:
    fields: dict[str, Any] = {"session": Ms("short session"), "rebalance": Ms("short rebalance")}
    if move.do == "change":
        fields["protocols"] = BOTH if move.odd == "later" else RENEWED
    elif move.odd == "unlike":
        fields["protocols"] = ROUNDROBIN
    else:
        fields["protocols"] = RANGE
    if move.odd == "short":
        fields["session"] = _TOO_SHORT_MS
    return fields


def _generation(move: Move, who: str) -> Any:
    match move.odd:
        case "later":
            return GenerationOf(who, plus=1)
        case "never":
            return -1
        case _:
            return GenerationOf(who)


def _fields_in(script: Script) -> Any:
    """Return the fields of the request in a scratch script."""
    return next(step.fields for step in script.steps if hasattr(step, "fields"))


_NO_MOVES = Program(())
_SHAPE = "no-answer-has-a-forbidden-shape"
_REQUEST = re.compile(r"(?P<id>r\d+) \((?P<api>\S+) v\d+\)")


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program that was run: its result, and the history properties that its answers break.

    `is_case`: it is a case of the catalogue, and has no program.
    """

    program: Program
    result: CaseResult
    broken: dict[str, str]
    fails: bool
    is_case: bool = False

    @property
    def gravity(self) -> int:
        """Grade the failure, 0 worst: breaks a property without a model; is unexplained; others.

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
        self.cases = 0
        """Number of cases of the catalogue that were run beside programs."""
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
        async with open_target(self.target, self.revision, options) as suite:
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
        """Tell if the clock is virtual, so that a program takes no time."""
        return self.suite.hello.clock == "virtual"

    def run(self, programs: Sequence[Program]) -> list[ProgramRun]:
        """Run these, side by side where the target allows it; results in the same order."""
        hello = self.suite.hello
        entries = [entry_of(f"program {next(self._numbers)}", p, hello) for p in programs]
        running = asyncio.run_coroutine_threadsafe(self.suite.run(entries), self._running())
        results = running.result()
        return [self._ran(p, result) for p, result in zip(programs, results, strict=True)]

    def run_cases(self, cases: Sequence[Entry]) -> list[ProgramRun]:
        """Run cases of the catalogue; those that the target can't run show nothing."""
        running = asyncio.run_coroutine_threadsafe(self.suite.run(cases), self._running())
        self.cases += len(cases)
        return [self._ran(_NO_MOVES, result, is_case=True) for result in running.result()]

    def missing(self) -> list[tuple[Table, Rule]]:
        """Return the rules that can be reached and that nothing has used, with their tables."""
        missing = set(self.coverage.unfired(self.revision))
        return [(table, rule) for table, rule in self.revision.rules() if rule.id in missing]

    def _ran(self, program: Program, result: CaseResult, *, is_case: bool = False) -> ProgramRun:
        recording = result.recording
        broken: dict[str, str] = {}
        # A case may remove the group, or let it expire, which properties of answers don't know.
        if not is_case and recording is not None and not recording.moved:
            broken = dict(broken_properties(recording.history))
        if result.verdict is not None:
            self.coverage.add(result.verdict.used, is_example=not is_case)
        grave = LEVELS.index(result.level) <= LEVELS.index(self.level)
        wrong = result.outcome is Outcome.FAIL and grave
        return ProgramRun(program, result, broken, wrong or bool(broken), is_case)

    def report(self, ran: ProgramRun) -> str:
        """Explain a failure: requests, answers, what was due and why; members by name."""
        lines = []
        result = ran.result
        if result.recording is not None:
            explained = explain(result.verdict, result.recording, self.revision)
            lines += [*explained.steps, "", explained.sentence]
        else:
            lines.append(result.message)
        for name, text in ran.broken.items():
            sentence = text if result.recording is None else _for_people(text, result.recording)
            lines.append(f"By answers alone, {name} is broken: {sentence.rstrip('.')}.")
        return "\n".join(lines)

    def trace(self, ran: ProgramRun) -> TraceFile | None:
        """Make the trace of a run; None where the target itself failed."""
        return sound_trace(ran.result, self.revision, self.target.provenance())


def _for_people(sentence: str, recording: Recording) -> str:
    """Name requests by their senders, and members by their names."""
    history = recording.read()

    def named(match: re.Match[str]) -> str:
        request_id, api = match.group("id", "api")
        who = history.senders.get(request_id, request_id)
        own = list(history.alike(request_id))
        number = f" (its no. {own.index(request_id) + 1})" if len(own) > 1 else ""
        return f"{who}'s {api}{number}"

    return with_names(_REQUEST.sub(named, sentence), history.names)


ALL = tuple(ACTIONS)
_ORDINARY = ("join", "sync", "await", "beat", "leave", "restart")
_AT_ONCE = 26
_FIRST = 8
_SMALLEST = tuple(
    Program((Move("join", first), Move("join", second)))
    for first, second in ((0, 1), (0, 2), (0, 3), (3, 4))
)
"""The simplest programs: two processes join, of one instance, of two, one dynamic, both."""
_LONG, _LONGEST = 10, 40
_PLAINER = 20
_PAIRED = 8


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of a search (`failing` None: nothing failed), and how many programs it ran."""

    failing: ProgramRun | None
    examples: int


class _FailureFoundError(AssertionError):
    """A program fails."""


_ROUNDS = 4


def search_quickly(
    runner: ProgramRunner, chosen: settings, doings: Sequence[str] = ALL
) -> Searched:
    """Let Hypothesis search with long programs, one after the other, on a virtual clock.

    It searches in rounds, and draws more of the moves that lead to rules not used yet.  Then, if
    nothing failed, the cases of the catalogue are run, and of those that fail the gravest counts,
    of several the shortest.
    """
    tried = 0

    def run(program: Program) -> ProgramRun:
        nonlocal tried
        tried += 1
        return runner.run([program])[0]

    for number in range(_ROUNDS):
        examples = chosen.max_examples * (number + 1) // _ROUNDS - tried
        if examples <= 0:
            continue
        tables = [table.name for table, _ in runner.missing()] if number else []
        shorter = settings(chosen, max_examples=examples)
        failing = _searched_round(run, shorter, doings, weighted(tables, number), number)
        if failing is not None:
            return Searched(_shrunk(failing, run), tried)
    if set(doings) < set(ALL):
        return Searched(None, tried)
    cases = runner.run_cases(shortest_first(runner.revision))
    failed = min((ran for ran in cases if ran.fails), key=lambda ran: ran.gravity, default=None)
    return Searched(failed, tried)


def _searched_round(
    run: Callable[[Program], ProgramRun],
    chosen: settings,
    doings: Sequence[str],
    weights: Weights,
    number: int,
) -> ProgramRun | None:
    """Return a program that fails, of one round, or None."""
    failing: list[ProgramRun] = []

    @settings(
        chosen,
        deadline=None,
        phases=[phase for phase in chosen.phases if phase is not Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(min_moves=_LONG, max_moves=_LONGEST, actions=doings, weights=weights))
    def judged(program: Program) -> None:
        if failing:
            raise _FailureFoundError  # Hypothesis runs a failing example again
        ran = run(program)
        event(ran.result.outcome.value)
        used = ran.result.verdict.used if ran.result.verdict is not None else frozenset()
        target(float(len(used)), label="rules used")
        if ran.fails:
            failing.append(ran)
            raise _FailureFoundError

    if chosen.derandomize:
        judged = seed(number)(judged)
    try:
        judged()
    except _FailureFoundError:
        return failing[0]
    return None


def shortest_first(revision: Revision) -> list[Entry]:
    """Return the cases of the catalogue, those with the fewest steps first."""
    levels = {rule.id: rule.level for _, rule in revision.rules()}

    def steps(entry: Entry) -> int:
        return len(entry.case(levels, delayed=bool(entry.delayed)).steps)

    return sorted(ENTRIES, key=steps)


def _shrunk(first: ProgramRun, run: Callable[[Program], ProgramRun]) -> ProgramRun:
    """Shrink a program, one attempt after the other."""

    def shows(moves: tuple[Move, ...]) -> Reproducer[tuple[Move, ...], ProgramRun] | None:
        ran = run(first.program._replace(moves=moves))
        fails = ran.fails and ran.gravity <= first.gravity
        return Reproducer(moves, ran) if fails else None

    smallest = shrink_items(first.program.moves, shows, plainer)
    best = first if smallest is None else smallest.run
    at_once = run(best.program._replace(delayed=False))
    return at_once if at_once.fails and at_once.gravity <= first.gravity else best


def search_side_by_side(
    runner: ProgramRunner, chosen: settings, doings: Sequence[str] = ALL
) -> Searched:
    """Search in batches, on a real clock, where a program takes seconds."""
    tried = 0
    for batch in _batches(chosen, doings):
        ran = runner.run(batch)
        tried += len(ran)
        if failing := [r for r in ran if r.fails]:
            best, more = _shorter(runner, min(failing, key=_size))
            return Searched(best, tried + more)
    return Searched(None, tried)


def _batches(chosen: settings, doings: Sequence[str]) -> Iterator[list[Program]]:
    quick = [do for do in doings if do in _ORDINARY] or list(doings)
    first = min(_AT_ONCE, chosen.max_examples)
    smallest = _SMALLEST if "join" in doings else ()
    yield [*smallest, *_drawn(chosen, first, max_moves=_FIRST, doings=quick)]
    left = chosen.max_examples - first
    rest = _drawn(chosen, left, min_moves=4, max_moves=20, doings=list(doings)) if left else []
    rest.sort(key=lambda program: len(program.moves))
    yield from (rest[at : at + _AT_ONCE] for at in range(0, len(rest), _AT_ONCE))


def _drawn(
    chosen: settings, count: int, *, max_moves: int, doings: list[str], min_moves: int = 1
) -> list[Program]:
    """Programs as Hypothesis draws them; the same each time in a profile that is derandomised."""
    distinct: dict[Program, None] = {}

    @settings(
        chosen,
        max_examples=count,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(min_moves=min_moves, max_moves=max_moves, actions=doings))
    def drawn(program: Program) -> None:
        distinct.setdefault(program)

    if chosen.derandomize:
        drawn = seed(0)(drawn)
    drawn()
    return list(distinct)


def _shorter(runner: ProgramRunner, best: ProgramRun) -> tuple[ProgramRun, int]:
    """Shrink a program by all smaller ones at once; return it, and how many were run."""

    def run(programs: Sequence[Program]) -> list[Reproducer[Program, ProgramRun] | None]:
        ran = runner.run(programs)
        failing = [r for r in ran if r.fails and r.gravity <= work.best.run.gravity]
        shortest = min(failing, key=_size, default=None)
        return [Reproducer(r.program, r) if r is shortest else None for r in ran]

    work = Shrinking(
        Reproducer(best.program, best),
        lambda _: [EditStage([numbered(_below)])],
        lambda program: program,
        tries=sys.maxsize,
        at_once=sys.maxsize,
    )
    minimal = shrink_now(work, run)
    return minimal.smallest.run, minimal.tried


def _below(program: Program) -> Iterator[Program]:
    """Simpler programs: one or two moves, all but one or two, half, or one boundary value less."""
    moves = program.moves
    for pair in combinations(moves[:_PAIRED], 2):
        yield program._replace(moves=pair)
    for move in moves[:_PAIRED]:
        yield program._replace(moves=(move,))
    for size in (len(moves) // 2, 2, 1):
        for at in range(len(moves) - size + 1) if 0 < size < len(moves) else ():
            yield program._replace(moves=without(moves, at, at + size))
    odd = [at for at, move in enumerate(moves) if move.odd]
    for at in odd[:_PLAINER]:
        yield program._replace(moves=(*moves[:at], moves[at]._replace(odd=""), *moves[at + 1 :]))


def _size(ran: ProgramRun) -> tuple[int, int, int, int]:
    """Order failing programs: grave faults first, then usual, short, plain programs."""
    moves = ran.program.moves
    odd = sum(bool(move.odd) for move in moves)
    return (
        ran.gravity,
        len(moves),
        odd,
        sum(move.who + list(ACTIONS).index(move.do) for move in moves),
    )
