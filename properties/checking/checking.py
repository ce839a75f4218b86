"""Check a revision: its properties, in a few small scopes that are explored completely.

A property holds; or is violated (with the shortest run to the violation); or is violated as
expected, where that is known of a shipped revision; or as asked, where a draft's own text asks for
it; or was never tested, because its premise was never reached.  Only `holds` and a known violation
of a shipped revision pass: a property that was never tested is a failure.  Safe is what violates no
property of the class safety.  Scopes are listed from
the easiest to understand.  All are explored, breadth first; of the runs with a violation the
shortest is reported; of two that are equally short, the first.

A limit of states or time may end a check before all is explored.  Then a violation counts as
always, and nothing else is known: such a check doesn't hold.

The machine of a user's own revision may stop, in a group that no rule decides or where a step can't
be done.  That is a violation with its run, and the other worlds go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, partial
from typing import NamedTuple, TypeVar

from fencepost.model.classic.vocabulary import MEMBERSHIP
from fencepost.model.consumer.vocabulary import FIRST_EPOCH
from fencepost.model.history.words import first_names, plural
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_release, is_shipped, lineage, rows_of_its_own
from fencepost.model.table.expr import Column
from fencepost.model.table.table import Table, TableError
from fencepost.properties.checking.consumer_promises import PROMISES_BY_PROTOCOL
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.checking.liveness import Promise, find_broken_promises
from fencepost.properties.checking.world_cache import (
    CachedResult,
    Decisions,
    WorldCache,
    decisions_of,
    with_unasked_tables,
)
from fencepost.properties.claims.property_classes import headline
from fencepost.properties.claims.property_registry import (
    adapted,
    applies,
    inherited_rules,
    known_of_releases,
    properties_of,
)
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.explorer.exploration import Exploration, FailedCheck, Progress
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.logic import Engine, Property, PropertyClass, PropertyKind
from fencepost.properties.workers.processes import Tell, run_forked
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import (
    NamedScope,
    Scope,
)
from fencepost.properties.worlds.views import StepView
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

_Result = TypeVar("_Result")
_Values = Mapping[tuple[str, str], frozenset[Hashable]]


class PropertyStatus(Enum):
    """The result of checking one property."""

    HOLDS = "holds"
    EXPECTED = "expected violation"
    BY_DRAFT = "violated, as its text asks"
    BROKEN = "violated"
    UNTESTED = "never put to the test"


class RowStatus(Enum):
    """The knowledge of a check about a row."""

    COVERED = "covered"
    UNCOVERED = "not covered by any property"
    HIDDEN = "can't tell whether covered"
    UNEXERCISED = "not exercised by any world"
    UNTRIED = "not tried"


VIOLATED = frozenset({PropertyStatus.BROKEN, PropertyStatus.BY_DRAFT})
_FAILURES = VIOLATED | {PropertyStatus.UNTESTED}
_SHIPPED_COLUMNS = (MEMBERSHIP, FIRST_EPOCH)
RARE_STATES = 2000
"""The most worlds of a rare scope to look for a row in."""
MACHINE_STOPS = (TableError, AssertionError)
"""The exceptions by which a machine stops: no rule decides, or a step can't be done."""


_EXPLORING = 2 / 3
"""The part of a scope's time for its exploration; in the rest endless runs are looked for."""


class CheckBudget:
    """The limits of a check: the most states of each scope, and the seconds of all together.

    None: no limit.  `scopes`: the number of scopes, of which each gets its part of the time; `jobs`
    of them are explored at once.  `clock`: returns the time in seconds.
    """

    def __init__(
        self,
        max_states: int | None = None,
        seconds: float | None = None,
        scopes: int = 1,
        jobs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.max_states = max_states
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._scopes = scopes
        self._jobs = jobs

    def next_seconds(self) -> float | None:
        """Return the seconds of the next scope: an equal part of what is left."""
        if self._end is None:
            return None
        left = max(self._end - self._clock(), 0)
        part = left / max(self._scopes / self._jobs, 1)
        self._scopes -= 1
        return part

    @property
    def is_limited(self) -> bool:
        """True if it has any limit."""
        return self.max_states is not None or self._end is not None

    def is_over(self) -> bool:
        """Return True if no time is left."""
        return self._end is not None and self._clock() >= self._end

    def after(self, seconds: float | None, part: float = 1) -> Callable[[], bool] | None:
        """Return a function that says whether this part of the seconds is over; None: never."""
        if seconds is None:
            return None
        seconds *= part
        end = self._clock() + seconds
        return lambda: self._clock() >= end


@dataclass(frozen=True, slots=True)
class CheckedProperty:
    """A property checked on a revision; where it fails, the shortest run to the violation."""

    property: Property
    finding: PropertyStatus
    question: NamedScope | None = None
    violation: FailedCheck[World, Act] | None = None
    run: Run | None = None
    worlds: Worlds | None = None


@dataclass(frozen=True, slots=True)
class CheckedPromise:
    """A promise checked on a revision; where it is broken, a run that goes round for ever.

    The last `round` turns of the run are repeated again and again.  `why`: the reason if it was not
    tested.  `cut`: a limit ended the search.
    """

    promise: Promise
    finding: PropertyStatus
    run: Run | None = None
    worlds: Worlds | None = None
    round: int = 0
    why: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked revision: the explorations, and a result for each property and promise.

    `untried`: the properties that some worlds alone never test, and that nobody asked for by name.
    `uncovered`: the rows that no property speaks of, if that was asked; for each the violated
    property that hides the answer, or "".  `untried_rows`: those for which no time was left.
    `own_rows`: the rows of a user's own, if that was asked; `unexercised`: those that decided
    nothing in any world, so that nothing is known of them.  `unmet`: (table, column, value) of a
    user's own columns, where a column had that value in no world; if all worlds were explored.
    """

    revision: Revision
    explored: tuple[tuple[NamedScope, Exploration[World, Act]], ...]
    results: tuple[CheckedProperty, ...]
    promises: tuple[CheckedPromise, ...] = ()
    untried: tuple[str, ...] = ()
    uncovered: Mapping[str, str] = field(default_factory=dict)
    untried_rows: tuple[str, ...] = ()
    own_rows: tuple[str, ...] = ()
    unexercised: tuple[str, ...] = ()
    unmet: tuple[tuple[str, str, str], ...] = ()

    def findings(self) -> tuple[PropertyStatus, ...]:
        """Statuses of all properties, then of all promises."""
        return (*(r.finding for r in self.results), *(p.finding for p in self.promises))

    @property
    def is_finished(self) -> bool:
        """True if no limit ended it before everything in reach was explored."""
        whole = not any(exploration.cut for _, exploration in self.explored)
        return whole and not any(kept.cut for kept in self.promises) and not self.untried_rows

    @property
    def states(self) -> int:
        """Number of states explored for properties, in all scopes."""
        return sum(exploration.states for _, exploration in self.explored)

    @property
    def own_uncovered(self) -> tuple[str, ...]:
        """Rows of a user's own that some world exercises, and that no property speaks of.

        A row by which a property is violated is one that it speaks of.
        """
        runs = (r.run for r in self.results if r.run is not None and r.finding in VIOLATED)
        spoken = {rule for run in runs for turn in run.turns[-1:] for rule in turn.rules}
        spoken.update(self.unexercised)
        return tuple(r for r in self.own_rows if self.uncovered.get(r) == "" and r not in spoken)

    def row_statuses(self) -> dict[str, RowStatus]:
        """Return what is known of each row of a user's own."""
        by_status = {
            RowStatus.UNEXERCISED: self.unexercised,
            RowStatus.UNTRIED: self.untried_rows,
            RowStatus.UNCOVERED: self.own_uncovered,
        }
        named = {row: status for status, rows in by_status.items() for row in rows}
        hidden = {row for row, why in self.uncovered.items() if why}
        rest = {r: RowStatus.HIDDEN if r in hidden else RowStatus.COVERED for r in self.own_rows}
        return {row: named.get(row, status) for row, status in rest.items()}

    @property
    def holds(self) -> bool:
        """True if all holds, or fails as a shipped revision is known to, and all rows are known."""
        return self.is_decided(strict=True) and not self.fails(strict=True)

    @property
    def is_safe(self) -> bool:
        """True if each safety property holds, or fails as is known, and all rows are known."""
        return self.is_decided(strict=True) and not self.fails(strict=False)

    def is_decided(self, *, strict: bool) -> bool:
        """Return True if it was finished, and some world exercises each row of a user's own.

        `strict`: and some property speaks of each.
        """
        rows = (*self.unexercised, *(self.own_uncovered if strict else ()))
        return self.is_finished and not rows

    def fails(self, *, strict: bool) -> bool:
        """Return True if a safety property fails; `strict`: any.

        What was never tested fails, too, if everything was explored.
        """
        failing = self._failing(_FAILURES if self.is_finished else VIOLATED)
        return any(strict or weight is PropertyClass.SAFETY for _, weight in failing)

    def verdict(self, most: int | None = None) -> str:
        """Return the headline: safe or not, and what else the revision changes.

        It speaks of safety only where every property was checked, and of some worlds as such.
        `most`: the greatest number of names in a list, as for `headline`.
        """
        if not self.is_finished:
            return unfinished_verdict(self._failing(VIOLATED), self.states, most)
        if self.holds:
            expected = self._failing({PropertyStatus.EXPECTED})
            failing = [name for name, weight in expected if weight is PropertyClass.SAFETY]
            if not failing:
                return "every property holds, or fails as expected"
            count = "1 safety property fails"
            if len(failing) > 1:
                count = f"{len(failing)} safety properties fail"
            listed = "" if most == 0 else f": {first_names(failing, most)}"
            return f"{count}, as expected{listed}"
        untested = self._failing({PropertyStatus.UNTESTED})
        unknown = any(weight is PropertyClass.SAFETY for _, weight in untested)
        rows = self._unknown_rows(most)
        safe = "not shown to be safe" if unknown else rows or self._safe()
        parts = [headline(self._failing(VIOLATED), safe=safe, most=most), rows if unknown else ""]
        if untested and not unknown:
            names = first_names([name for name, _ in untested], most)
            parts.append(f"never put to the test: {names if most != 0 else len(untested)}")
        return "; ".join(filter(None, parts))

    def _unknown_rows(self, most: int | None) -> str:
        """Return the words for rows of which too little is known; "" if there are none.

        They stand where no safety property is violated.
        """
        own = plural(len(self.own_rows), "own rule")
        parts = [
            f"no {lack} {len(rows)} of its {own}" + f": {first_names(rows, most)}" * (most != 0)
            for lack, rows in (
                ("world exercises", self.unexercised),
                ("property covers", self.own_uncovered),
            )
            if rows
        ]
        if not parts:
            return ""
        which = "safety property" if self._failing(VIOLATED) else "property"
        return f"no {which} is violated, but {'; '.join(parts)}"

    def _safe(self) -> str:
        """Return the words for a check without a violation of safety."""
        checked = {result.property.id for result in self.results} | set(self.untried)
        if not has_all_explored(checked, self.revision):
            return ""
        return "safe" if self.promises else "safe in these worlds"

    def classes(self) -> dict[str, PropertyClass]:
        """Return the class of each property and promise that was checked."""
        return dict(self._failing(frozenset(PropertyStatus)))

    def _failing(self, findings: Collection[PropertyStatus]) -> list[tuple[str, PropertyClass]]:
        """Return the ids of what ended with one of these findings, each with its class."""
        both: list[tuple[Property | Promise, PropertyStatus]] = [
            *((result.property, result.finding) for result in self.results),
            *((kept.promise, kept.finding) for kept in self.promises),
        ]
        return [(claim.id, claim.property_class) for claim, finding in both if finding in findings]


def unfinished_verdict(
    wrong: Sequence[tuple[str, PropertyClass]], states: int, most: int | None = None
) -> str:
    """Return the headline where a limit ended the search; `wrong`: what was violated until then."""
    if wrong:
        return f"{headline(wrong, safe='', most=most)}; not finished, {states:,} states explored"
    return f"nothing violated in the {states:,} states explored; not finished"


def is_explored(claim: Property) -> bool:
    """Return True if exploration checks a property."""
    return Engine.EXPLORATION in claim.engines


def has_all_explored(ids: Collection[str], revision: Revision) -> bool:
    """Return True if these are at least all shipped properties that exploration checks.

    Those about requests that the revision lacks don't count.
    """
    return all(
        adapted(claim, revision).id in ids
        for claim in properties_of(revision).values()
        if is_explored(claim) and applies(claim, revision)
    )


def check_revision(
    revision: Revision,
    properties: Iterable[Property] | None = None,
    *,
    questions: Sequence[NamedScope] | None = None,
    rare: Sequence[NamedScope] = (),
    jobs: int = 1,
    progress: Callable[[NamedScope, Progress], None] | None = None,
    budget: CheckBudget | None = None,
    cache: WorldCache | None = None,
) -> Checked:
    """Check every property that exploration checks, in each scope.

    `properties`, `questions`: by default those of its protocol.  `rare`: scopes that are explored,
    too, if a row of the user's own decides something there, and nothing in any other; without any,
    rows are not asked for.  `budget`: the limits, by default none.
    `jobs`: processes; each explores a scope of its own, or all of them the only one, if there is no
    cache.  `cache`: of the results of earlier checks; a check with limits doesn't use it.
    """
    budget = CheckBudget() if budget is None else budget
    cache = None if budget.is_limited else cache
    if properties is None:
        properties = properties_of(revision).values()
    if questions is None:
        questions = worlds_of(revision).check_scopes
    claims = [claim for claim in properties if is_explored(claim)]
    if has_all_explored({adapted(claim, revision).id for claim in claims}, revision):
        claims = [claim for claim in claims if applies(claim, revision)]
    mine = [adapted(claim, revision) for claim in claims]
    is_included = DECIDED in mine
    judging = Evaluator(with_stops(mine, revision), revision)

    # Of worlds that several processes explore together nobody knows all decisions.
    # Nor do they know all rules that were used.
    processes = jobs if cache is None and len(questions) == 1 and not rare else 1

    def explored_within(
        seconds: float | None, question: NamedScope, tell: Tell
    ) -> tuple[_Explored, Decisions | None]:
        fresh = with_unasked_tables(revision)
        judging.used = set()
        worlds = Worlds(fresh, question.scope, judging.judge)
        exploration = explore(
            worlds,
            judging.checks(worlds),
            jobs=processes,
            quiet=is_quiet,
            progress=lambda done: tell((question, done)),
            max_states=budget.max_states,
            is_over=budget.after(seconds),
            stops=stops_of(revision),
        )
        is_whole = processes == 1 and not exploration.cut and not exploration.stuck
        values = _column_values(fresh) if is_whole else None
        done = _Explored(exploration, frozenset(judging.used), values)
        return done, decisions_of(fresh) if is_whole else None

    def report(message: tuple[NamedScope, Progress]) -> None:
        if progress is not None:
            progress(*message)

    about = [claim.id for claim in judging.all()]
    about += [rule for claim in judging.all() for rule in known_of_releases(claim, revision)]
    run = _ScopeRun(revision, tuple(about), jobs, budget, cache)
    explorations = run.of_scopes(explored_within, questions, report)
    own_rows = tuple(rule.id for _, rule in rows_of_its_own(revision)) if rare else ()
    unexercised = set(own_rows).difference(*(done.used for done in explorations))
    more = exercising(revision, unexercised, rare, budget.is_over)
    explorations += run.of_scopes(explored_within, more, report)
    unexercised = unexercised.difference(*(done.used for done in explorations))
    explored = []
    shortest: dict[str, tuple[NamedScope, Worlds, FailedCheck[World, Act]]] = {}
    reached: set[str] = set()
    for question, (exploration, *_) in zip((*questions, *more), explorations, strict=True):
        worlds = Worlds(revision, question.scope, judging.judge)
        explored.append((question, exploration))
        reached |= set(exploration.witnesses)
        for name, violation in exploration.violations.items():
            before = shortest.get(name)
            if before is None or len(violation.trace) < len(before[2].trace):
                shortest[name] = (question, worlds, violation)
    if not is_included and DECIDED.id in shortest:
        mine.append(DECIDED)
    results = tuple(_result(claim, shortest, reached) for claim in mine)
    return Checked(
        revision,
        tuple(explored),
        results,
        own_rows=own_rows,
        unexercised=tuple(row for row in own_rows if row in unexercised),
        unmet=_unmet(revision, [done.values for done in explorations]),
    )


class _Explored(NamedTuple):
    """An explored scope, and the rules that decided something in it.

    `values`: table and column of a user's own → its values there; None if that is not known.
    """

    exploration: Exploration[World, Act]
    used: frozenset[str]
    values: _Values | None


def _own_columns(revision: Revision) -> Iterator[tuple[Table, int, Column]]:
    """Yield the columns of a user's own, each with its table and its place there."""
    for table in revision.tables.values():
        for place, column in enumerate(table.features):
            if isinstance(column, Column) and column not in _SHIPPED_COLUMNS:
                yield table, place, column


def _column_values(revision: Revision) -> _Values:
    """Return the values of own columns at the points at which the tables were asked so far."""
    return {
        (table.name, column.name): frozenset(point[place] for point in table.decisions())
        for table, place, column in _own_columns(revision)
    }


def _unmet(
    revision: Revision, values: Sequence[_Values | None]
) -> tuple[tuple[str, str, str], ...]:
    """Return the values that own columns had nowhere; none if some worlds are not known."""
    if not all(known is not None for known in values):
        return ()
    return tuple(
        (table.name, column.name, str(value))
        for table, _, column in _own_columns(revision)
        for value in column.domain
        if not any(value in (known or {})[table.name, column.name] for known in values)
    )


def exercising(
    revision: Revision,
    rows: Collection[str],
    scopes: Iterable[NamedScope],
    is_over: Callable[[], bool],
) -> list[NamedScope]:
    """Return scopes in which these rows decide something: for each row the first one, if any.

    Where no time is left, those that were found until then.
    """
    missing = set(rows)
    chosen = []
    for named in scopes:
        if not missing or is_over():
            break
        with suppress(TimeoutError):
            if decide := missing & used_rules(revision, named, RARE_STATES, is_over):
                missing -= decide
                chosen.append(named)
    return chosen


@cache
def used_rules(
    revision: Revision, named: NamedScope, most: int, is_over: Callable[[], bool] | None = None
) -> frozenset[str]:
    """Return the rules that decide something in a scope, among its first worlds.

    Raises TimeoutError when `is_over` returns True before they are explored.
    """
    used: set[str] = set()

    def note(view: StepView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        used.update(rule.id for rule in view.rules)
        return (), ()

    worlds = Worlds(revision, named.scope, note)
    done = explore(worlds, max_states=most, is_over=is_over, stops=stops_of(revision))
    if done.cut and not done.full:
        raise TimeoutError(f"the time is over before {named.name} was explored")
    return frozenset(used)


@dataclass(frozen=True, slots=True)
class _ScopeRun:
    """The means of a run over scopes; `about`: the ids of what is looked for in them."""

    revision: Revision
    about: tuple[str, ...]
    jobs: int
    budget: CheckBudget
    cache: WorldCache | None

    def of_scopes(
        self,
        work: Callable[[float | None, NamedScope, Tell], tuple[_Result, Decisions | None]],
        scopes: Sequence[NamedScope],
        tell: Tell,
    ) -> list[_Result]:
        """Return the result of each scope, in their order: from the cache, or by `work`.

        `work` returns the decisions on which a result depends, too; None if it is not to be kept.
        With several processes those that take longest begin first, as far as a scope shows it.
        """
        cache = self.cache
        results: dict[int, _Result] = {}
        for place, named in enumerate(scopes):
            known = cache and cache.find(self.revision, named.scope, self.about)
            if known:
                results[place] = known.result
        order = [place for place in range(len(scopes)) if place not in results]
        jobs = min(self.jobs, len(order)) or 1
        if jobs > 1:
            order.sort(key=lambda place: -_size_guess(scopes[place].scope))
        tasks = (partial(work, self.budget.next_seconds(), scopes[place]) for place in order)
        for place, done in zip(order, run_forked(tasks, jobs, tell), strict=True):
            results[place], decisions = done
            if cache is not None and decisions is not None:
                kept = CachedResult(results[place], decisions)
                cache.keep(self.revision, scopes[place].scope, self.about, kept)
        return [results[place] for place in range(len(scopes))]


def _size_guess(scope: Scope) -> int:
    """Return a number that is greater for a scope that has more worlds, for most of them."""
    kinds = min(scope.instances, scope.clients - scope.dynamic) + min(scope.dynamic, 1)
    different: int = kinds**scope.clients
    return scope.offers * len(scope.acts) * scope.members * different


def stops_of(revision: Revision) -> tuple[type[Exception], ...]:
    """Return the exceptions by which a revision's machine may stop; a shipped one's may not."""
    return () if is_shipped(revision) else MACHINE_STOPS


def with_stops(properties: Sequence[Property], revision: Revision) -> tuple[Property, ...]:
    """Return properties with the one that a stop violates, where the machine may stop.

    Nobody has to ask for it: what isn't explored because of a stop must not count as safe.
    """
    others = tuple(claim for claim in properties if claim is not DECIDED)
    is_needed = len(others) < len(properties) or stops_of(revision)
    return (*others, DECIDED) if is_needed else others


class _EndlessRuns(NamedTuple):
    """The runs of a scope that break promises: id → the run, and the length of its last round."""

    tested: frozenset[str]
    cut: bool
    broken: dict[str, tuple[tuple[tuple[Act | None, World], ...], int]]


def check_promises(
    revision: Revision,
    promises: Sequence[Promise] | None = None,
    scopes: Sequence[NamedScope] | None = None,
    budget: CheckBudget | None = None,
    jobs: int = 1,
    cache: WorldCache | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[CheckedPromise, ...]:
    """Check every promise; each is reported from the first scope that breaks it.

    `promises`, `scopes`: by default those of its protocol.  `budget`, `cache`: as of
    `check_revision`.  `jobs`: processes; each searches a scope of its own.
    `progress`: called with a line about what is done.
    """
    budget = CheckBudget() if budget is None else budget
    cache = None if budget.is_limited else cache
    promises = promises_of(revision) if promises is None else promises
    scopes = worlds_of(revision).promise_scopes if scopes is None else scopes

    def find(
        seconds: float | None, scope: NamedScope, tell: Tell
    ) -> tuple[_EndlessRuns | TableError | AssertionError, Decisions | None]:
        fresh = with_unasked_tables(revision)
        try:
            looked = find_broken_promises(
                fresh,
                scope.scope,
                promises,
                max_states=budget.max_states,
                is_over=budget.after(seconds),
                ends=budget.after(seconds, _EXPLORING),
                progress=lambda line: tell(f"endless runs in {scope.name}: {line}"),
            )
        except (TableError, AssertionError) as error:
            return error, None
        lassos = looked.broken.items()
        paths = {name: ((*run.stem, *run.cycle), len(run.cycle)) for name, run in lassos}
        runs = _EndlessRuns(looked.tested, looked.cut, paths)
        return runs, None if runs.cut else decisions_of(fresh)

    cut = False
    broken: dict[str, CheckedPromise] = {}
    tested: frozenset[str] = frozenset()
    run_of = _ScopeRun(revision, tuple(p.id for p in promises), jobs, budget, cache)
    searches = run_of.of_scopes(find, scopes, progress)
    for scope, search in zip(scopes, searches, strict=True):
        if isinstance(search, Exception):
            return tuple(_stopped(promise, broken, search) for promise in promises)
        tested |= search.tested
        cut = cut or search.cut
        for promise in promises:
            if promise.id in search.broken and promise.id not in broken:
                worlds = Worlds(revision, replace(scope.scope, fold=False))
                path, length = search.broken[promise.id]
                run = unfold(worlds, path)
                expected = is_inherited(promise.expected, revision, run)
                finding = PropertyStatus.EXPECTED if expected else PropertyStatus.BROKEN
                broken[promise.id] = CheckedPromise(promise, finding, run, worlds, length)
    kept = dict.fromkeys(tested, PropertyStatus.HOLDS)
    return tuple(
        broken.get(p.id, CheckedPromise(p, kept.get(p.id, PropertyStatus.UNTESTED), cut=cut))
        for p in promises
    )


def promises_of(revision: Revision) -> tuple[Promise, ...]:
    """Return the promises of a revision's protocol."""
    return PROMISES_BY_PROTOCOL[revision.protocol.name]


def _stopped(
    promise: Promise, broken: Mapping[str, CheckedPromise], error: Exception
) -> CheckedPromise:
    """Return the result of a promise where the machine stopped, at an impossible group."""
    why = f"the machine stops at a group that can't be ({str(error).partition(chr(10))[0]})"
    return broken.get(promise.id, CheckedPromise(promise, PropertyStatus.UNTESTED, why=why))


def acts_of_none(scopes: Iterable[Scope]) -> tuple[str, ...]:
    """Return the kinds of acts that none of these scopes has: no property was tried with them."""
    scopes = tuple(scopes)
    had = {act for scope in scopes for act in scope.acts}
    there = dict.fromkeys(act for scope in scopes for act in scope.known_acts)
    return tuple(act for act in there if act not in had)


def size_beyond_reach(revision: Revision, scopes: Iterable[Scope]) -> str:
    """Return the warning that no group of these scopes outgrows the revision's target size, or "".

    A rule that uses the size then always does the same, and its faults can't be observed.
    """
    size, most = revision.target_size, max((scope.members for scope in scopes), default=0)
    if size is None or most > size:
        return ""
    return f"the target size is {size}, and no group here has more than {most} members"


def excused(expected: Mapping[str, str], revision: Revision) -> bool:
    """Return True if a revision, or the one that it is made from, is expected to fail."""
    return any(name in expected for name in lineage(revision))


def is_inherited(expected: Mapping[str, str], revision: Revision, run: Run) -> bool:
    """Return True if a run is one of a revision that is expected to fail: this one or its base.

    Each of its steps takes only rules that do the same there.
    """
    used = {rule for turn in run.turns for rule in turn.rules}
    return any(
        used <= inherited_rules(revision, name) for name in lineage(revision) if name in expected
    )


def _result(
    claim: Property,
    shortest: Mapping[str, tuple[NamedScope, Worlds, FailedCheck[World, Act]]],
    reached: set[str],
) -> CheckedProperty:
    failure = shortest.get(claim.id)
    finding = PropertyStatus.BROKEN
    if failure is None:
        failure = shortest.get(EXCUSED + claim.id)
        finding = PropertyStatus.EXPECTED
    if failure is None:
        held = {claim.id, EXCUSED + claim.id} & reached
        return CheckedProperty(claim, PropertyStatus.HOLDS if held else PropertyStatus.UNTESTED)
    question, worlds, violation = failure
    run = unfold(worlds, violation.trace)
    if finding is PropertyStatus.EXPECTED:
        finding = expected_finding(claim, worlds.revision, run)
    elif (
        claim.kind is PropertyKind.STATE
        and not is_shipped(worlds.revision)
        and is_inherited(claim.expected, worlds.revision, run)
    ):
        finding = PropertyStatus.EXPECTED
    return CheckedProperty(claim, finding, question, violation, run, worlds)


def expected_finding(claim: Property, revision: Revision, run: Run) -> PropertyStatus:
    """Return a violation's status: known of a shipped revision, asked for by a draft, or new."""
    names = lineage(revision)
    shipped = [name for name in names if name == "kip-345" or is_release(name)]
    if names[0] in shipped:
        return PropertyStatus.EXPECTED
    theirs = frozenset().union(*(claim.expected_rules.get(name, ()) for name in shipped))
    theirs |= known_of_releases(claim, revision).keys()
    by_theirs = theirs & set(run.turns[-1].rules)
    return PropertyStatus.EXPECTED if by_theirs else PropertyStatus.BY_DRAFT
