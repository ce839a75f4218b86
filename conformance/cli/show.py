"""`table` and `revisions`: print the rules of a revision, and how revisions differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli.options.common import console, json_option, revision_option
from fencepost.conformance.targets.registry import find_revision
from fencepost.model.revision import Drop, Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.table import Rule, Table


def _rule_json(table: Table, rule: Rule, place: str) -> dict[str, Any]:
    return {
        "id": rule.id,
        "table": table.name,
        "kind": place,
        "guard": table.condition(rule),
        "effect": [do.value for do in rule.effect],
        "answer": None if rule.answer is None else rule.answer.name,
        "level": rule.level.value,
        "source": rule.source,
        "because": rule.because,
        "defensive": rule.defensive,
    }


def _rules(revision: Revision) -> Iterator[dict[str, Any]]:
    for table in revision.tables.values():
        for number, rule in enumerate(table.checks, start=1):
            yield _rule_json(table, rule, f"check {number}")
        for rule in table.rows:
            yield _rule_json(table, rule, "row")


def _echo_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _outcome(rule: dict[str, Any]) -> str:
    return "; ".join([*rule["effect"], *([rule["answer"]] if rule["answer"] else [])]) or "nothing"


@click.command("table")
@revision_option
@json_option
def table_command(revision: str, as_json: bool) -> None:
    """Print the decision table: checks in order, then rows."""
    rules = list(_rules(find_revision(revision)))
    if as_json:
        _echo_json(rules)
        return
    screen = console()
    for name in dict.fromkeys(rule["table"] for rule in rules):
        grid = Grid(title=f"{name} ({revision})", title_justify="left", show_lines=False)
        for column, ratio in (("rule", 3), ("", 1), ("when", 5), ("then", 5), ("level", 1)):
            grid.add_column(column, ratio=ratio, overflow="fold")
        for rule in rules:
            if rule["table"] == name:
                level = rule["level"] + (" (defensive)" if rule["defensive"] else "")
                grid.add_row(rule["id"], rule["kind"], rule["guard"], _outcome(rule), level)
        screen.print(grid)
        screen.print()


@click.command("revisions")
@click.argument("name", metavar="[R]", required=False)
@json_option
def revisions_command(name: str | None, as_json: bool) -> None:
    """List the revisions, or the differences of one to its base."""
    names = revisions.NAMES if name is None else (name,)
    found = [find_revision(n) for n in names]
    if as_json:
        _echo_json([_revision_json(r) for r in found])
        return
    screen = console()
    for revision in found:
        differences = len(revision.differences)
        base = f" (base {revision.base}, {differences} differences)" if revision.base else ""
        screen.print(Text.assemble((revision.name, "bold"), base))
        screen.print(Text(f"    {revision.about}"))
        if name is not None:
            for row in _revision_json(revision)["differences"]:
                screen.print(Text(f"    {row['change']} {row['rule']}: {row['passage']}"))


def _revision_json(revision: Revision) -> dict[str, Any]:
    if not revision.base:
        before: set[str] = set()
    else:
        before = {rule.id for _, rule in find_revision(revision.base).rules()}
    rows = []
    for difference in revision.differences:
        if isinstance(difference, Drop):
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
