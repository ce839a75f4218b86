"""Commands that print what there is: the table, the cases, an explanation, the revisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from fencepost.conformance.catalogue import ENTRIES
from fencepost.conformance.catalogue.registry import Entry
from fencepost.conformance.catalogue.suites import CATALOGUE, NAMES, find_suite
from fencepost.conformance.cli.property_words import explain_property
from fencepost.conformance.plans.describe import step_text
from fencepost.conformance.targets.registry import DEFAULT_REVISION, find_revision
from fencepost.model.revision import DropRule, Revision
from fencepost.model.revisions import revisions
from fencepost.model.table.cells import print_rows
from fencepost.model.table.table import Level, Rule, Table
from fencepost.properties.claims.registry import PROPERTIES

_PLAIN_WIDTH = 160
_NARROWEST = {"mid": 9, "inst": 13, "state": 19, "more": 18, "then": 30}
"""Columns of the decision table in characters: as wide as the longest word in them, or wider."""

revision_option = click.option(
    "--revision",
    default=DEFAULT_REVISION,
    show_default=True,
    metavar="R",
    help="The revision that judges.",
)
suite_option = click.option(
    "--suite",
    type=click.Choice(NAMES),
    default=CATALOGUE,
    show_default=True,
    help="Which cases.",
)


def report_option(help_text: str) -> Callable[[Any], Any]:
    """`--report DIR`, with what the command writes there."""
    return click.option(
        "--report",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help=help_text,
    )


def files_argument(name: str, metavar: str) -> Callable[[Any], Any]:
    """One file or more, that exist."""
    return click.argument(
        name,
        nargs=-1,
        required=True,
        metavar=metavar,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
    )


json_option = click.option("--json", "as_json", is_flag=True, help="JSON on stdout, nothing else.")


def console() -> Console:
    """A console for stdout: as wide as the terminal; wide enough for tables where there is none."""
    screen = Console(highlight=False)
    return screen if screen.is_terminal else Console(highlight=False, width=_PLAIN_WIDTH)


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
        for row in print_rows(table)[1]:
            yield _rule_json(table, row.rule, row.place)


def _echo_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


@click.command("table")
@revision_option
@json_option
def table_command(revision: str, as_json: bool) -> None:
    """Print the decision table: checks in order, then rows."""
    chosen = find_revision(revision)
    if as_json:
        _echo_json(list(_rules(chosen)))
        return
    screen = console()
    for table in chosen.tables.values():
        screen.print(Text(f"{table.name} ({revision})", style="italic"))
        for line, style in _table_lines(table, screen.width):
            screen.print(Text(line, style=style), soft_wrap=True)
        screen.print()


def _table_lines(table: Table, width: int) -> Iterator[tuple[str, str]]:
    """A table's lines, each with its style: a rule's cells, and under them which rule it is."""
    headings, rows = print_rows(table)
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
        for line in wrap(about, width, initial_indent="    ", subsequent_indent="    "):
            yield line, "dim"


def _beside(cells: Iterable[str], widths: list[int]) -> Iterator[str]:
    """The lines of one row: each cell is as wide as its column."""
    columns = (wrap(cell, room) for cell, room in zip(cells, widths, strict=True))
    for parts in zip_longest(*columns, fillvalue=""):
        padded = (part.ljust(room) for part, room in zip(parts, widths, strict=True))
        yield "  ".join(padded).rstrip()


@click.command("cases")
@click.argument("pattern", metavar="[GLOB]", default="*")
@suite_option
@json_option
def cases_command(pattern: str, suite: str, as_json: bool) -> None:
    """List the cases of the catalogue, or of another suite, whose ids match."""
    revision = find_revision(DEFAULT_REVISION)
    chosen = find_suite(suite, revision)
    found = chosen.matching(pattern)
    if not found:
        lister = "fencepost cases" + (f" --suite {suite}" if suite != CATALOGUE else "")
        raise click.UsageError(f"no case matches {pattern!r}; `{lister}` lists all")
    levels = _levels(revision)
    cases = [entry.case(levels, delayed=True) for entry in found]
    if as_json:
        _echo_json(
            [
                {"id": c.id, "level": c.level.value, "rules": list(c.rules), "about": c.about}
                for c in cases
            ]
        )
        return
    screen = console()
    for case in cases:
        screen.print(Text(f"{case.id}  [{case.level.value}]", style="bold"))
        screen.print(Text(f"    {case.about}"))
    screen.print(Text(f"{len(cases)} of {len(chosen.entries)} cases"))
    for line in chosen.heading:
        screen.print(Text(line), soft_wrap=True)


def _levels(revision: Revision) -> dict[str, Level]:
    return {rule.id: rule.level for _, rule in revision.rules()}


@click.command("explain")
@click.argument("name", metavar="ID")
@revision_option
def explain_command(name: str, revision: str) -> None:
    """Explain a rule, a property or a case by its id."""
    chosen = find_revision(revision)
    screen = console()
    if name in PROPERTIES:
        explain_property(screen, PROPERTIES[name])
        return
    for table, rule in chosen.rules():
        if rule.id == name:
            _explain_rule(screen, table, rule)
            return
    suite = name.partition("/")[0]
    entries = find_suite(suite if suite in NAMES else CATALOGUE, chosen).entries
    entry = next((e for e in entries if e.id == name), None)
    if entry is None:
        raise click.UsageError(
            f"no rule of {revision}, no property and no case is called {name!r}; "
            "`fencepost table` lists the rules, `fencepost properties` the "
            "properties, `fencepost cases` the cases"
        )
    _explain_case(screen, entry, _levels(chosen))


def _explain_rule(screen: Console, table: Table, rule: Rule) -> None:
    lines = [
        (rule.id, f"{rule.level.value}, table {table.name}"),
        ("when", table.condition(rule)),
        ("then", "; ".join(do.value for do in rule.effect) or "nothing changes"),
        ("answer", rule.answer.name if rule.answer else "as the effect says"),
        ("because", rule.because),
        ("source", rule.source),
    ]
    if rule.defensive:
        lines.append(("unreachable", rule.defensive))
    for name, value in lines:
        screen.print(Text.assemble((f"{name:<12}", "bold"), " ", value))
    cases = [e.id for e in ENTRIES if rule.id in e.rules]
    screen.print(Text.assemble((f"{'cases':<12}", "bold"), " ", ", ".join(cases) or "none"))


def _explain_case(screen: Console, entry: Entry, levels: dict[str, Level]) -> None:
    case = entry.case(levels, delayed=True)
    screen.print(Text(f"{case.id}  [{case.level.value}]", style="bold"))
    screen.print(Text(case.about))
    screen.print(Text(f"about: {', '.join(case.rules)}"))
    for number, step in enumerate(case.steps, start=1):
        screen.print(Text(f"{number:>3}. {step_text(step)}"))


@click.command("revisions")
@click.argument("name", metavar="[R]", required=False)
@json_option
def revisions_command(name: str | None, as_json: bool) -> None:
    """List the revisions; or the differences of one to the revision it is made from."""
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
