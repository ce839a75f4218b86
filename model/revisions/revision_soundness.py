"""Find the faults of a revision that somebody wrote, before any engine fails on it.

Tests check shipped revisions likewise.  The conditions for a user's own: its tables are total and
unambiguous, its ids are unique, each step can be done where its rule applies, each request is
answered once, and a rule with a changed effect has a new reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from fencepost.model.messages.errors import Error
from fencepost.model.protocol import Protocol
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import ALL_NAMES, find
from fencepost.model.table.expr import Column
from fencepost.model.table.step_soundness import misplaced_steps, step_faults
from fencepost.model.table.table import Echo, Level, OwnStep, Rule
from fencepost.model.table.table_soundness import decided, table_faults

_ID = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)*")
_SHIPPED = tuple(find(name) for name in ALL_NAMES)


def revision_faults(revision: Revision) -> list[str]:
    """Return the faults of a revision, in sentences; [] if every engine can take it.

    Tables of a shipped revision are taken for sound.
    """
    protocol = revision.protocol
    base = base_of(revision)
    faults = [*(_missing(revision, base) if base is not None else ()), *_twice(revision)]
    shipped = {id(table) for known in _SHIPPED for table in known.tables.values()}
    own = [table for table in revision.tables.values() if id(table) not in shipped]
    faults += [
        fault for table in own for rule in table.rules() for fault in _of_rule(rule, protocol)
    ]
    if faults:
        return faults  # what comes now takes tables and rules for well formed
    for table in own:
        points = decided(table, protocol.columns)
        steps = (step_faults(table, rule, protocol.steps) for rule in table.rules())
        faults += table_faults(table, protocol.columns, points)
        faults += chain.from_iterable(steps)
        faults += misplaced_steps(table, points, protocol.steps)
    if base is None:
        return faults
    known = {id(rule) for shipped_one in _SHIPPED for _, rule in shipped_one.rules()}
    faults += [
        f"{rule.id} does something else than in {base.name} and still says `because`: "
        f'"{rule.because}"; say why it does so now: but(because=…)'
        for table in own
        for rule in table.rules()
        if id(rule) not in known and has_stale_reason(rule, base)
    ]
    return faults


def base_of(revision: Revision) -> Revision | None:
    """Return the shipped revision from which all others of its protocol are made, as `kafka-4`."""
    return next((base for base in _SHIPPED if base.protocol is revision.protocol), None)


def has_stale_reason(rule: Rule, base: Revision | None) -> bool:
    """Return True if a rule is one of the base's with another effect or answer, and its reason."""
    rules = base.rules() if base is not None else ()
    before = next((shipped for _, shipped in rules if shipped.id == rule.id), None)
    if before is None or before is rule or before.because != rule.because:
        return False
    return (before.effect, before.answer) != (rule.effect, rule.answer)


def _missing(revision: Revision, base: Revision) -> Iterator[str]:
    for name, known in base.tables.items():
        table = revision.tables.get(name)
        if table is None:
            yield f"there is no table {name}; begin with derive(), which keeps it"
        elif [id(f) for f in table.features if not isinstance(f, Column)] != [
            id(f) for f in known.features if not isinstance(f, Column)
        ]:
            names = ", ".join(feature.name for feature in known.features)
            yield f"table {name} must ask for these features, in this order: {names}"


def _twice(revision: Revision) -> Iterator[str]:
    home: dict[str, str] = {}
    for table, rule in revision.rules():
        if rule.id in home:
            yield f"{rule.id} is in table {home[rule.id]} and in {table.name}; ids are unique"
        home[rule.id] = table.name


def _of_rule(rule: Any, protocol: Protocol[Any, Any]) -> Iterator[str]:
    """Yield fields that no engine could read; an untyped file may hold anything."""
    steps = protocol.steps.members
    example = protocol.steps.example
    name = rule.id
    if not isinstance(name, str) or not _ID.fullmatch(name):
        yield f"{name!r} is no id of a rule: capital letters and digits, joined by '-'"
    if not isinstance(rule.effect, tuple):
        effect = rule.effect if isinstance(rule.effect, steps) else repr(rule.effect)
        yield f"{name}: its effect is {effect}; give a tuple of steps, as in ({example},)"
    elif unknown := [step for step in rule.effect if not isinstance(step, (steps, OwnStep))]:
        listed = f"the steps are the members of {steps.__name__}, or an OwnStep"
        yield f"{name}: {unknown[0]!r} is no step; {listed}"
    if rule.answer is not None and not isinstance(rule.answer, Error):
        yield f"{name}: its answer is {rule.answer!r}; the answers are the members of Error"
    if not isinstance(rule.level, Level) or not isinstance(rule.echo, Echo):
        yield f"{name}: its level is a Level, and its echo an Echo"
    if not rule.because or not rule.source:
        yield f"{name}: say why it does so (`because`), and where that stands (`source`)"
