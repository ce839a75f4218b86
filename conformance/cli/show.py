"""`table` and `revisions`: print the rules of a revision, and how revisions differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import click
from rich.text import Text

from fencepost.conformance.cli.options.common_options import (
    REVISION,
    console,
    echo_json,
    json_option,
    revision_option,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import plural
from fencepost.model.revision import DropRule, Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.columns import print_rows
from fencepost.model.table.table import Rule, Table

_NARROWEST = {"mid": 9, "inst": 13, "state": 19, "more": 18, "then": 30}
"""Columns of the decision table in characters: as wide as the longest word in them, or wider."""


_MARKS = {"adds": "+", "changes": "~", "drops": "-"}
"""Marks of the table: for each thing that a revision does to a rule of its base."""


class _Changes:
    """The differences of a revision's rules to those of the shipped one that it is made from."""

    def __init__(self, revision: Revision) -> None:
        self.base = revisions.shipped_base(revision)
        self._before = {rule.id: rule for _, rule in self.base.rules()}
        self._after = {rule.id for _, rule in revision.rules()}

    def of(self, rule: Rule) -> str | None:
        """Return what the revision does to a rule; None if it is unchanged."""
        before = self._before.get(rule.id)
        if before is rule:
            return None
        return "adds" if before is None else "changes"

    def dropped(self, table: Table) -> list[Rule]:
        """Return the rules of a table that the revision drops."""
        there = self.base.tables.get(table.name)
        rules = () if there is None else there.rules()
        return [rule for rule in rules if rule.id not in self._after]

    def summary(self, revision: Revision) -> str:
        """Return how many rules differ, by what is done to them."""
        done = [self.of(rule) for _, rule in revision.rules()]
        done += ["drops" for table in revision.tables.values() for _ in self.dropped(table)]
        return ", ".join(f"{change} {done.count(change)}" for change in _MARKS if change in done)


def _rule_json(table: Table, rule: Rule, place: str, change: str | None) -> dict[str, Any]:
    return {
        "id": rule.id,
        "table": table.name,
        "kind": place,
        "change": change,
        "guard": table.condition(rule),
        "effect": [do.value for do in rule.effect],
        "answer": None if rule.answer is None else rule.answer.name,
        "level": rule.level.value,
        "source": rule.source,
        "because": rule.because,
        "defensive": rule.defensive,
    }


def _rules(revision: Revision) -> Iterator[dict[str, Any]]:
    changes = _Changes(revision)
    for table in revision.tables.values():
        for row in print_rows(table, revision.protocol.columns.headings)[1]:
            yield _rule_json(table, row.rule, row.place, changes.of(row.rule))


@click.command("table")
@revision_option
@json_option
def table_command(revision: str, as_json: bool) -> None:
    """Print the decision table: checks, then rows.

    If the revision is made from another one, its added (+), changed (~) and dropped (-) rules are
    marked.
    """
    chosen = find_revision(revision)
    if as_json:
        echo_json(list(_rules(chosen)))
        return
    screen = console()
    changes = _Changes(chosen)
    for table in chosen.tables.values():
        screen.print(Text(f"{table.name} ({revision})", style="italic"))
        headings = chosen.protocol.columns.headings
        for line, style in _table_lines(table, headings, screen.width, changes):
            screen.print(Text(line, style=style), soft_wrap=True)
        screen.print()
    if summary := changes.summary(chosen):
        screen.print(Text(f"{revision}, against {changes.base.name}: {summary}"), soft_wrap=True)


def _table_lines(
    table: Table, columns: Sequence[str], width: int, changes: _Changes
) -> Iterator[tuple[str, str]]:
    """Yield a table's lines, each with its style: a rule's cells, and under them its id."""
    headings, rows = print_rows(table, columns)
    widths = [max(_NARROWEST.get(name, width // 2 - 2), width // 9) for name in headings[:-1]]
    widths.append(max(width - sum(widths) - 2 * len(widths), _NARROWEST["then"]))
    for line in _beside(headings, widths):
        yield line, "bold"
    for row in rows:
        for line in _beside((*row.cells, "; ".join(row.then)), widths):
            yield line, ""
        unreachable = ", unreachable" if row.rule.defensive else ""
        about = (
            f"{row.rule.id}: {row.rule.level.value}, {row.place}{unreachable}; {row.rule.source}"
        )
        change = changes.of(row.rule)
        first = f"  {_MARKS[change]} " if change else "    "
        for line in wrap(about, width, initial_indent=first, subsequent_indent="    "):
            yield line, "bold" if change else "dim"
    for rule in changes.dropped(table):
        yield f"  {_MARKS['drops']} {rule.id}", "bold"


def _beside(cells: Iterable[str], widths: list[int]) -> Iterator[str]:
    """Yield the lines of one row: each cell is as wide as its column."""
    columns = (wrap(cell, room) for cell, room in zip(cells, widths, strict=True))
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(room) for part, room in zip(parts, widths, strict=True))
        yield "  ".join(padded).rstrip()


@click.command("revisions")
@click.argument("name", type=REVISION, metavar="[R]", required=False)
@json_option
def revisions_command(name: str | None, as_json: bool) -> None:
    """List the revisions, or explain one."""
    names = revisions.ALL_NAMES if name is None else (name,)
    listed = [find_revision(n) for n in names]
    if as_json:
        echo_json([_revision_json(r) for r in listed])
        return
    screen = console()
    for revision in listed:
        differences = plural(len(revision.differences), "difference")
        base = f" (base {revision.base}, {differences})" if revision.base else ""
        screen.print(Text.assemble((revision.name, "bold"), base))
        screen.print(Text(f"    {revision.about}"))
        if name is not None:
            for row in _revision_json(revision)["differences"]:
                screen.print(Text(f"    {row['change']} {row['rule']}: {row['passage']}"))


def _revision_json(revision: Revision) -> dict[str, Any]:
    if not revision.base:
        before: set[str] = set()
    else:
        before = {rule.id for _, rule in revisions.shipped_base(revision).rules()}
    rows = []
    for difference in revision.differences:
        if isinstance(difference, DropRule):
            change, rule_id = "drops", difference.rule_id
        else:
            rule_id = difference.rule.id
            change = "changes" if rule_id in before else "adds"
        rows.append({"change": change, "rule": rule_id, "passage": difference.passage})
    return {
        "name": revision.name,
        "about": revision.about,
        "base": revision.base,
        "apis": {api: list(bounds) for api, bounds in revision.apis.items()},
        "differences": rows,
    }
