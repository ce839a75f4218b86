"""Search for a program that fails, and shrink it.

Where a program takes time, several are drawn at once, short ones first, and run side by side.  The
shortest that fails is shrunk: all smaller programs run side by side, until none fails any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from hypothesis import HealthCheck, Phase, event, given, seed, settings, target

from fencepost.conformance.search.programs.program_runs import ProgramRun, ProgramRunner
from fencepost.properties.checking.shrinking import shrunk, without
from fencepost.properties.stateful.programs import DOINGS, Move, Program, plainer
from fencepost.properties.stateful.strategies import programs

ALL = tuple(DOINGS)
_ORDINARY = ("join", "sync", "await", "beat", "leave", "restart")
_AT_ONCE = 26
_FIRST = 8
_SMALLEST = tuple(
    Program((Move("join", one), Move("join", two))) for one, two in ((0, 1), (0, 2), (0, 3), (3, 4))
)
"""The simplest programs: two processes join, of one instance, of two, one dynamic, both."""
_LONG, _LONGEST = 10, 40
_PLAINER = 20
_PAIRED = 8


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of a search (`found` None: nothing failed), and how many programs it ran."""

    found: ProgramRun | None
    examples: int


class _FailureFoundError(AssertionError):
    """A program fails."""


def search_quickly(
    runner: ProgramRunner, chosen: settings, doings: Sequence[str] = ALL
) -> Searched:
    """Let Hypothesis search with long programs, one after the other, on a virtual clock."""
    failing: list[ProgramRun] = []
    tried = 0

    def run(program: Program) -> ProgramRun:
        nonlocal tried
        tried += 1
        return runner.run([program])[0]

    @settings(
        chosen,
        deadline=None,
        phases=[phase for phase in chosen.phases if phase is not Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(min_moves=_LONG, max_moves=_LONGEST, doings=doings))
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

    try:
        judged()
    except _FailureFoundError:
        return Searched(_shrunk(failing[0], run), tried)
    return Searched(None, tried)


def _shrunk(first: ProgramRun, run: Callable[[Program], ProgramRun]) -> ProgramRun:
    """Shrink a program, one attempt after the other."""
    best = first

    def shows(moves: Sequence[Move]) -> Sequence[Move] | None:
        nonlocal best
        ran = run(first.program._replace(moves=tuple(moves)))
        if not ran.fails or ran.gravity > first.gravity:
            return None
        best = ran
        return ran.program.moves

    shrunk(first.program.moves, shows, plainer)
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
    found: dict[Program, None] = {}

    @settings(
        chosen,
        max_examples=count,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(min_moves=min_moves, max_moves=max_moves, doings=doings))
    def drawn(program: Program) -> None:
        found.setdefault(program)

    if chosen.derandomize:
        drawn = seed(0)(drawn)
    drawn()
    return list(found)


def _shorter(runner: ProgramRunner, best: ProgramRun) -> tuple[ProgramRun, int]:
    """The shortest program that still fails, and how many were run."""
    tried = {best.program}
    while candidates := [p for p in dict.fromkeys(_below(best.program)) if p not in tried]:
        tried.update(candidates)
        ran = runner.run(candidates)
        failing = [r for r in ran if r.fails and r.gravity <= best.gravity]
        if not failing:
            break
        best = min(failing, key=_size)
    return best, len(tried) - 1


def _below(program: Program) -> Iterator[Program]:
    """Simpler programs: one or two moves, all but one or two, half, or one boundary value less."""
    moves = program.moves
    for one, two in combinations(moves[:_PAIRED], 2):
        yield program._replace(moves=(one, two))
    for one in moves[:_PAIRED]:
        yield program._replace(moves=(one,))
    for size in (len(moves) // 2, 2, 1):
        for at in range(len(moves) - size + 1) if 0 < size < len(moves) else ():
            yield program._replace(moves=without(moves, at, at + size))
    odd = [at for at, move in enumerate(moves) if move.odd]
    for at in odd[:_PLAINER]:
        yield program._replace(moves=(*moves[:at], moves[at]._replace(odd=""), *moves[at + 1 :]))


def _size(ran: ProgramRun) -> tuple[int, int, int, int]:
    """The order of failing programs: grave faults first, then usual, short, plain programs."""
    moves = ran.program.moves
    odd = sum(bool(move.odd) for move in moves)
    return (
        ran.gravity,
        len(moves),
        odd,
        sum(move.who + list(DOINGS).index(move.do) for move in moves),
    )
