"""Find the timer that a coordinator never lets strike, where that explains a wrong history.

A member that is never removed shows in later answers, to itself or to others.  Each of them breaks
a rule of its own, but the fault is that of the timer.  So the history is judged anew, as if the
timers of one kind removed nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from fencepost.model.coordinator import Config
from fencepost.model.history.events import Event
from fencepost.model.revision import Revision
from fencepost.model.table.table import Table
from fencepost.properties.departures.mutation_operators import chained, otherwise
from fencepost.properties.oracle.oracle import explained_by

_TIMEOUTS = ("session timeout", "rebalance timeout", "join timeout", "sync timeout")
"""The tables of timers that remove a member."""


def lost_timer(judge: Revision, config: Config, history: Sequence[Event], *, lag_ms: int) -> str:
    """Return the rule of a timer that explains a wrong history if it removes nobody, or ""."""
    for revision, rules in _without_timers(judge):
        oracle = explained_by(revision, config, history, lag_ms=lag_ms)
        if oracle is not None:
            struck = oracle.verdict().used
            return next((rule for rule in rules if rule in struck), "")
    return ""


@lru_cache
def _without_timers(judge: Revision) -> tuple[tuple[Revision, tuple[str, ...]], ...]:
    """Return the revision without the timers of each kind, and the rules that it lacks."""
    kinds = ((name, tuple(_removals(judge, name))) for name in _TIMEOUTS)
    return tuple((_without(judge, name, rules), rules) for name, rules in kinds if rules)


def _removals(revision: Revision, name: str) -> Iterator[str]:
    """Yield the rules of a table that do something, in all parts of a revision."""
    for table, rule in revision.rules():
        if table.name == name and rule.effect:
            yield rule.id


def _without(revision: Revision, name: str, rules: Sequence[str]) -> Revision:
    """Return the revision with these rules of a table doing nothing, in all of its parts."""
    idle = chained(*(otherwise(rule, effect=()) for rule in rules))

    def changed(table: Table) -> Table:
        return idle(table) if table.name == name else table

    return replace(
        revision,
        tables={key: changed(table) for key, table in revision.tables.items()},
        parts=tuple(_without(part, name, rules) for part in revision.parts),
    )
