"""Find a property for each row of the table: it breaks if the row does less, or answers NONE.

A row is changed in one thing: a step is left out, or an error becomes NONE, or a waiting request is
answered at once, or a request for which nothing is done is refused.  A property speaks of the row
if it is broken then, and was not before.  Of a row by which a member goes, and a rebalance begins,
one must be broken, too, if the rebalance is left out while others remain: in a group of one its
absence shows by other things.  Of rows that no property speaks of, `check` can't decide whether
they are right.

`row_properties.json` holds the results for the shipped revisions, rule by rule; it is made anew by
`python tests/properties/checking/big_row_properties.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import cache, partial
from importlib.resources import files
from typing import NamedTuple

from fencepost.model.classic.cells import when
from fencepost.model.classic.effects import Do
from fencepost.model.classic.vocabulary import STATE, GroupState
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.consumer_releases import CONSUMER_4_3
from fencepost.model.revisions.revisions import rules_beyond
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.step_soundness import misplaced_steps
from fencepost.model.table.table import Rule, Table
from fencepost.model.table.table_soundness import decided
from fencepost.properties.checking.checking import (
    MACHINE_STOPS,
    excused,
    promises_of,
    used_rules,
)
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.checking.liveness import find_broken_promises
from fencepost.properties.claims.property_registry import properties_of
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.logic import Property
from fencepost.properties.workers.processes import Tell, run_forked
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.scope import (
    CHECK_SCOPES,
    ENDING_SCOPES,
    MUTANT_SCOPES,
    RARE_SCOPES,
    NamedScope,
    find_check_scope,
)
from fencepost.properties.worlds.world import Worlds

STATES = 400
"""The most worlds to visit in one scope."""

LASTING_STATES = 1000
"""The most worlds to visit for a promise: a cycle must fit in."""

DEEP = {
    "old versions": 1200,
    "protocols": 1200,
    "three members": 2000,
    "changes in the end": 6000,
}
"""Scopes whose violations lie deeper."""

OTHERS_SCOPES = tuple(
    replace(find_check_scope(name), name=f"{name}, and others remain")
    for name in ("removal", "side by side")
)
"""Scopes in which a member goes while another one stays; what is left lies deep."""


class Trial(NamedTuple):
    """Describe in which scopes the rows of a protocol are tried.

    `base`: its rows are known.  `scopes`: those in which some property may be broken, in their
    order; `ending`: those in which some promise may.
    """

    base: Revision
    scopes: tuple[NamedScope, ...]
    ending: tuple[NamedScope, ...]


TRIALS: Mapping[str, Trial] = {
    "classic": Trial(
        KAFKA_4,
        tuple(dict.fromkeys((*MUTANT_SCOPES, *CHECK_SCOPES, *RARE_SCOPES))),
        ENDING_SCOPES,
    ),
    "consumer": Trial(
        CONSUMER_4_3,
        (*CONSUMER_WORLDS.check_scopes, *CONSUMER_WORLDS.rare_scopes),
        CONSUMER_WORLDS.promise_scopes,
    ),
}
"""Name of a protocol → the trial of its rows."""

BREAKS_DOWN = "(no rule decides)"
"""In place of a property: the row leads to a group that is none, and the machine stops there."""
_AT_ONCE = {
    "JoinGroup": (Do.PARK_JOIN, (Do.ANSWER_CURRENT,)),
    "SyncGroup": (Do.PARK_SYNC, (Do.ANSWER_ASSIGNMENT,)),
}
"""Table → the step that lets a request wait, and the one that answers it NONE at once instead."""
_FILE = "row_properties.json"


def changed_rows(table: Table, rule: Rule) -> Iterator[tuple[str, Rule]]:
    """Yield each smaller version of a rule: in words, and the rule."""
    if rule.answer not in {None, Error.NONE}:
        yield "answered NONE", rule.but(answer=Error.NONE)
    if rule.answer is Error.NONE and not rule.effect:
        yield "refused", rule.but(answer=Error.UNKNOWN_SERVER_ERROR)
    waits, answered = _AT_ONCE.get(table.name, (None, ()))
    if waits in rule.effect:
        yield "answered NONE at once", rule.but(effect=answered)
    for place, do in enumerate(rule.effect):
        if not _is_answer(do):
            rest = (*rule.effect[:place], *rule.effect[place + 1 :])
            yield f"without: {do.value}", rule.but(effect=rest)


def _is_answer(do: Enum) -> bool:
    return do.name.startswith(("ANSWER_", "PARK_"))


def speaking_property(
    revision: Revision,
    table: Table,
    rule: Rule,
    broken: Collection[str] = (),
    *,
    properties: Sequence[Property] = (),
    worlds: Sequence[NamedScope] = (),
    is_over: Callable[[], bool] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str | None:
    """Return a property that speaks of a row; "" if none does, None if nothing can be left out.

    `broken`: properties that the revision itself breaks; they prove nothing about the row.
    `properties`, `worlds`: of a user's own, beside the shipped ones.  Raises TimeoutError if
    `is_over` returns True before the end.  `progress`: called with a line
    for each scope.
    """

    def spoken(tried: Revision, scopes: Iterable[NamedScope]) -> str:
        scopes = _announced(scopes, lambda name: progress(f"whether {rule.id} is covered: {name}"))
        return _spoken(tried, revision, rule, scopes, broken, properties, is_over)

    _in_time(is_over)
    if others := without_rebalance(revision, table, rule):
        return spoken(others, (*worlds, *OTHERS_SCOPES))
    is_changeable = False
    protocol = revision.protocol
    trial = TRIALS[protocol.name]
    for _, changed in changed_rows(table, rule):
        _in_time(is_over)
        without = derive(revision, revision.name, "", (SetRule(table.name, changed, "tried"),))
        there = without.tables[table.name]
        points = decided(there, protocol.columns)
        if any(True for _ in misplaced_steps(there, points, protocol.steps, senseless=False)):
            continue
        is_changeable = True
        tried = replace(without, ancestors=revision.ancestors)
        if name := spoken(tried, (*worlds, *trial.scopes, *trial.ending)):
            return name
    return "" if is_changeable else None


def _in_time(is_over: Callable[[], bool] | None) -> None:
    """Raise TimeoutError if no time is left."""
    if is_over is not None and is_over():
        raise TimeoutError("the time is over before the row was tried in all scopes")


def _announced(scopes: Iterable[NamedScope], say: Callable[[str], None]) -> Iterator[NamedScope]:
    """Yield scopes, and say the name of each."""
    for named in scopes:
        say(named.name)
        yield named


def without_rebalance(revision: Revision, table: Table, rule: Rule) -> Revision | None:
    """Return the revision in which the row begins no rebalance while others remain.

    None if it is no row by which a member of a stable group goes, and a rebalance begins.
    """
    removes = any(do.name.startswith("REMOVE_") for do in rule.effect)
    if not removes or Do.REBALANCE not in rule.effect or STATE not in table.features:
        return None
    if revision.target_size is not None:
        return None  # the size of the one is the size of the other
    stable = when(state=GroupState.STABLE)
    lazy = rule.but(
        id=f"{rule.id}-STABLE",
        guard=all_of(rule.guard, stable),
        effect=tuple(Do.REBALANCE_BELOW_TARGET if do is Do.REBALANCE else do for do in rule.effect),
    )
    rest = rule.but(guard=all_of(rule.guard, negate(stable)))
    differences = (SetRule(table.name, rest, "tried"), SetRule(table.name, lazy, "tried"))
    tried = derive(revision, revision.name, "", differences)
    return replace(tried, ancestors=revision.ancestors, target_size=1)


def _spoken(
    tried: Revision,
    revision: Revision,
    rule: Rule,
    scopes: Iterable[NamedScope],
    broken: Collection[str],
    own: Sequence[Property],
    is_over: Callable[[], bool] | None,
) -> str:
    """Return a property that a changed row breaks in one of these scopes; "" if none."""
    for named in scopes:
        _in_time(is_over)
        if rule.id not in used_rules(revision, named, _most(revision, named), is_over):
            continue
        try:
            name = _broken_by(tried, named, broken, own, is_over)
        except MACHINE_STOPS:
            name = "" if DECIDED.id in broken else BREAKS_DOWN
        if name:
            return name
    return ""


def _most(revision: Revision, named: NamedScope) -> int:
    if named in TRIALS[revision.protocol.name].scopes and named.name not in DEEP:
        return STATES
    return max(LASTING_STATES, DEEP.get(named.name, 0))


def _broken_by(
    revision: Revision,
    named: NamedScope,
    broken: Collection[str],
    own: Sequence[Property],
    is_over: Callable[[], bool] | None,
) -> str:
    """Return a property, or in the scopes for it a promise, that is broken; "" if none.

    What was broken until the time was over counts.
    """
    names: Iterable[str]
    most = _most(revision, named)
    if named in TRIALS[revision.protocol.name].ending:
        promises = promises_of(revision)
        kept = find_broken_promises(
            revision, named.scope, promises, max_states=most, is_over=is_over
        )
        names = (
            p.id for p in promises if p.id in kept.broken and not excused(p.expected, revision)
        )
    else:
        judging = Evaluator((*properties_of(revision).values(), *own), revision)
        worlds = Worlds(revision, named.scope, judging.judge)
        checks = [
            check
            for check in judging.checks(worlds)
            if not check.name.startswith(EXCUSED) and check.name not in broken
        ]
        names = explore(
            worlds,
            checks,
            max_states=most,
            stop_at_first=True,
            quiet=is_quiet,
            is_over=is_over,
        ).violations
    name = next((name for name in names if name not in broken), "")
    if not name:
        _in_time(is_over)
    return name


def tries_rows(revision: Revision) -> bool:
    """Return True if it is known how the rows of a revision's protocol are made smaller."""
    return revision.protocol.name in TRIALS


def own_rules(revision: Revision) -> list[tuple[Table, Rule]]:
    """Return the rules that a revision doesn't share with its protocol's base; all of the base.

    Those that can't be reached are left out.
    """
    base = TRIALS[revision.protocol.name].base
    return rules_beyond(None if revision.name == base.name else base, revision)


@cache
def known_rows() -> Mapping[str, Mapping[str, str]]:
    """Return the results so far: shipped revision → rule of its own → a property, "" for none."""
    text = files("fencepost.properties.checking").joinpath(_FILE).read_text(encoding="utf-8")
    known: dict[str, dict[str, str]] = json.loads(text)
    return known


class TriedRows(NamedTuple):
    """The rows that no property speaks of, with the reason; and those that time left untried."""

    uncovered: dict[str, str]
    untried: tuple[str, ...] = ()


def uncovered_rows(
    revision: Revision,
    broken: Collection[str] = (),
    progress: Callable[[str], None] | None = None,
    *,
    properties: Sequence[Property] = (),
    worlds: Sequence[NamedScope] = (),
    is_over: Callable[[], bool] | None = None,
    jobs: int = 1,
) -> TriedRows:
    """Return the rows that no property speaks of, in the order of the table, and the reason.

    The reason is "" or, if it is unknown, the property that speaks of the row of this id in the
    base of the protocol, and which the revision breaks anyway (`broken`).  Known results of a
    shipped revision are not tried again; an unchanged row counts as in the base.  `progress`:
    called with a line for each rule and scope in which it is tried.  `properties`, `worlds`: of a
    user's own, beside the shipped ones.  `is_over`: returns True when no time is left.  `jobs`:
    processes, each of which tries a row.
    """
    known = known_rows()
    base = known[TRIALS[revision.protocol.name].base.name]
    by_rule = dict(base)
    untried: list[str] = []

    def speaking(table: Table, rule: Rule, tell: Tell) -> str | TimeoutError | None:
        try:
            return speaking_property(
                revision,
                table,
                rule,
                broken,
                properties=properties,
                worlds=worlds,
                is_over=is_over,
                progress=tell,
            )
        except TimeoutError as error:
            return error

    if revision.name in known:
        by_rule |= known[revision.name]
    else:
        rows = own_rules(revision)
        tasks = (partial(speaking, *row) for row in rows)
        jobs = min(jobs, len(rows)) or 1
        results = run_forked(tasks, jobs, progress or (lambda _: None))
        for (_, rule), result in zip(rows, results, strict=True):
            by_rule.pop(rule.id, None)
            if isinstance(result, TimeoutError):
                untried.append(rule.id)
            elif result is not None:
                by_rule[rule.id] = result
    uncovered = {
        rule.id: base[rule.id] if base.get(rule.id) in broken else ""
        for _, rule in revision.rules()
        if rule.defensive is None and by_rule.get(rule.id) == ""
    }
    return TriedRows(uncovered, tuple(untried))
