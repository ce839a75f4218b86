"""Define mutation operators: ways to change a table, or to perform an effect wrongly.

A twist takes the model's own effect and returns another; all forks of the effect are twisted alike.
Nothing here knows the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.group import Group, Member
from fencepost.model.messages.shapes import Message
from fencepost.model.revision import Twist
from fencepost.model.table.expr import Column
from fencepost.model.table.table import Rule, Table
from fencepost.model.work import Effect, Emission, Incoming, Work

_W = TypeVar("_W", bound=Work[Any])
After = Callable[[Any, _W], None]
"""A function to run after the step: it takes the group before it, and the work after it."""
Change = Callable[[Table], Table]


def afterwards(after: After[_W], *rules: str) -> Twist:
    """Do the effect, and then something more; where rules are named, for these alone."""

    def twist(own: Effect) -> Effect:
        def effect(work: _W) -> list[_W]:
            before = work.group
            works = own(work) or [work]
            for done in works:
                if not rules or done.rule in rules:
                    after(before, done)
            return works

        return effect

    return twist


def beforehand(first: Callable[[_W], None]) -> Twist:
    """Do something else first, then the effect."""

    def twist(own: Effect) -> Effect:
        def effect(work: _W) -> list[_W] | None:
            first(work)
            return own(work)

        return effect

    return twist


def unless(condition: Callable[[_W], bool]) -> Twist:
    """Leave the effect out where this holds."""

    def twist(own: Effect) -> Effect:
        def effect(work: _W) -> list[_W] | None:
            return None if condition(work) else own(work)

        return effect

    return twist


def as_if(pretend: Callable[[Incoming, ClassicWork], Incoming]) -> Twist:
    """Do the effect as if the request were another one."""

    def twist(own: Effect) -> Effect:
        def effect(work: ClassicWork) -> list[ClassicWork]:
            real = work.request
            assert real is not None
            work.request = pretend(real, work)
            works = own(work) or [work]
            for done in works:
                done.request = real
            return works

        return effect

    return twist


def retold(change: Callable[[ClassicWork, Emission], Message | None]) -> Twist:
    """Do the effect, with its answers changed; None: that answer never comes."""

    def twist(own: Effect) -> Effect:
        def effect(work: ClassicWork) -> list[ClassicWork]:
            before = len(work.emissions)
            works = own(work) or [work]
            for done in works:
                fresh = done.emissions[before:]
                changed = [(e, e.message if e.message is None else change(done, e)) for e in fresh]
                done.emissions[before:] = [
                    replace(e, message=message)
                    for e, message in changed
                    if message is not None or e.message is None
                ]
            return works

        return effect

    return twist


def changed_member(work: ClassicWork, member_id: str, change: Callable[[Member], Member]) -> None:
    """Change one member of the group."""
    member = work.group.member(member_id)
    if member is not None:
        work.group = work.group.with_member(change(member))


def changed_members(work: ClassicWork, change: Callable[[Member], Member]) -> None:
    """Change all members of the group."""
    work.group = replace(work.group, members=tuple(change(m) for m in work.group.members))


def unanswered(_: ClassicWork, __: Emission) -> Message | None:
    """Answer nothing, for `retold`."""
    return None


def vacant(before: Group, work: ClassicWork) -> None:
    """Leave the group without a leader once the leader is gone, for `afterwards`."""
    if before.leader is not None and work.group.member(before.leader) is None:
        work.group = replace(work.group, leader=None)


def in_turn(*twists: Twist) -> Twist:
    """Apply several twists to one effect, the first innermost."""

    def twist(own: Effect) -> Effect:
        for change in twists:
            own = change(own)
        return own

    return twist


def one_only(own: Effect) -> Effect:
    """Keep only the first outcome of the effect."""

    def effect(work: ClassicWork) -> list[ClassicWork]:
        return (own(work) or [work])[:1]

    return effect


def first(*rules: Rule) -> Change:
    """Decide these rules before all others of a table, in place of those with their ids."""

    def change(table: Table) -> Table:
        ids = {rule.id for rule in rules}
        checks = tuple(rule for rule in table.checks if rule.id not in ids)
        rows = tuple(rule for rule in table.rows if rule.id not in ids)
        return Table(table.name, table.features, (*rules, *checks), rows)

    return change


def otherwise(rule_id: str, **changes: object) -> Change:
    """Change a rule in its place; without changes, leave it out."""

    def change(table: Table) -> Table:
        checks, rows = (
            tuple(
                rule.but(**changes) if rule.id == rule_id else rule
                for rule in rules
                if changes or rule.id != rule_id
            )
            for rules in (table.checks, table.rows)
        )
        return Table(table.name, table.features, checks, rows)

    return change


def chained(*changes: Change) -> Change:
    """Change a table in turn."""

    def change(table: Table) -> Table:
        for each in changes:
            table = each(table)
        return table

    return change


def last(*rules: Rule) -> Change:
    """Decide these rules after all checks of a table, before its rows."""

    def change(table: Table) -> Table:
        return Table(table.name, table.features, (*table.checks, *rules), table.rows)

    return change


def after(rule_id: str, *rules: Rule) -> Change:
    """Check these rules right after another check, in place of those with their ids."""

    def change(table: Table) -> Table:
        ids = {rule.id for rule in rules}
        checks: list[Rule] = []
        for rule in table.checks:
            checks += [] if rule.id in ids else [rule]
            checks += rules if rule.id == rule_id else []
        return Table(table.name, table.features, tuple(checks), table.rows)

    return change


def with_column(column: Column) -> Change:
    """Let the rules of a table use a column."""

    def change(table: Table) -> Table:
        return Table(table.name, (*table.features, column), table.checks, table.rows)

    return change
