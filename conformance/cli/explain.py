"""`cases`, `properties`, `explain`: list cases, scenarios, properties; explain what has an id."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cases import ALL_ENTRIES
from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import CATALOGUE, NAMES, find_suite
from fencepost.conformance.cli.options.common_options import (
    console,
    echo_json,
    json_option,
    print_lines,
    revision_option,
)
from fencepost.conformance.cli.options.target_options import suite_option
from fencepost.conformance.targets.own_revision import promises_for, properties_for
from fencepost.conformance.targets.target_registry import (
    CONSUMER_REVISION,
    DEFAULT_REVISION,
    find_revision,
)
from fencepost.model.consumer.settings import ALL_SETTINGS
from fencepost.model.history.words import first_names
from fencepost.model.plans.steps import describe
from fencepost.model.plans.times import times_for, times_in
from fencepost.model.revision import Revision
from fencepost.model.revisions.revision_soundness import base_of, has_stale_reason
from fencepost.model.revisions.revisions import ALL_NAMES, is_shipped, shipped_base
from fencepost.model.suggestions import did_you_mean
from fencepost.model.table.table import Level, Rule, Table
from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.checking.liveness import Promise
from fencepost.properties.claims.property_registry import ALL_PROPERTIES
from fencepost.properties.logic.logic import Engine, Property

_NO_ENDLESS_RUN = "it is about what comes in the end; `check` looks for a run that repeats for ever"
_MOST_NAMED = 3
_STALE = "(the reason is that of kafka-4's rule, which does something else)"


@click.command("cases")
@click.argument("pattern", metavar="[GLOB]", default="*")
@suite_option
@revision_option
@click.option(
    "--client",
    "of_clients",
    is_flag=True,
    help="List the scenarios of certify-client; GLOB is of an obligation, a scenario or a case.",
)
@json_option
def cases_command(pattern: str, suite: str, revision: str, of_clients: bool, as_json: bool) -> None:
    """List the test cases.

    With GLOB, list only the cases whose id matches.  The cases are those of the
    protocol of R.
    """
    if of_clients:
        if suite != CATALOGUE:
            raise click.UsageError(f"--client has one list of scenarios: leave out --suite {suite}")
        from fencepost.conformance.cli.explain_clients import list_scenarios  # noqa: PLC0415  (kafka)

        list_scenarios(pattern, as_json=as_json)
        return
    judge = find_revision(revision)
    chosen = find_suite(suite, judge)
    matching = chosen.matching(pattern)
    if not matching and (suite, revision) == (CATALOGUE, DEFAULT_REVISION):
        judge = find_revision(CONSUMER_REVISION)
        consumer = find_suite(suite, judge)
        if matching := consumer.matching(pattern):
            chosen = consumer
    if not matching:
        lister = "fencepost cases" + (f" --suite {suite}" if suite != CATALOGUE else "")
        near = did_you_mean(pattern, [entry.id for entry in chosen.entries])
        raise click.UsageError(f"no case matches {pattern!r}{near}; `{lister}` lists all")
    levels = _levels(judge)
    cases = [entry.case(levels, delayed=True) for entry in matching]
    if as_json:
        echo_json(
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
    """Explain a rule, a property or a case.

    ID can also be an obligation (CLIENT-...), a scenario or a case of certify-client; and, with
    --revision FILE.py:NAME, a rule or a property of your own.
    """
    chosen = find_revision(revision)
    screen = console()
    properties: dict[str, Property | Promise] = {**ALL_PROPERTIES}
    properties |= {p.id: p for p in ALL_PROMISES}
    properties |= {p.id: p for p in properties_for(revision)}
    properties |= promises_for(revision)
    if name in properties:
        explain_property(screen, properties[name])
        return
    consumer = find_revision(CONSUMER_REVISION)
    if explain_rule(screen, chosen, name):
        return
    if revision == DEFAULT_REVISION and explain_rule(screen, consumer, name):
        return
    suite = name.partition("/")[0]
    entries = find_suite(suite, chosen).entries if suite in NAMES else ALL_ENTRIES
    entry = next((e for e in entries if e.id == name), None)
    if entry is None:
        from fencepost.conformance.cases.clients.scenario_catalogue import (  # noqa: PLC0415  (kafka)
            SCENARIOS,
        )
        from fencepost.conformance.cli.explain_clients import explain_of_clients  # noqa: PLC0415

        if explain_of_clients(screen, name):
            return
        known = [
            *properties,
            *(rule.id for _, rule in chosen.rules()),
            *(e.id for e in entries),
            *SCENARIOS,
        ]
        if elsewhere := _revisions_with(name):
            raise click.UsageError(
                f"{revision} has no rule {name}; {first_names(elsewhere, _MOST_NAMED)} "
                f"{'has' if len(elsewhere) == 1 else 'have'} it: "
                f"`fencepost explain {name} --revision {elsewhere[0]}`"
            )
        raise click.UsageError(
            f"no rule of {revision}, no property and no case is called {name!r}"
            f"{did_you_mean(name, known)}; "
            "`fencepost table` lists the rules, `fencepost properties` the "
            "properties, `fencepost cases` the cases, `fencepost cases --client` the scenarios of "
            "certify-client; --revision FILE.py:NAME adds "
            "those in your file"
        )
    _explain_case(screen, entry, {**_levels(consumer), **_levels(chosen)})


def _revisions_with(name: str) -> list[str]:
    """Return the shipped revisions that have a rule of this id."""
    return [
        revision
        for revision in ALL_NAMES
        if any(rule.id == name for _, rule in find_revision(revision).rules())
    ]


def explain_rule(screen: Console, revision: Revision, name: str) -> bool:
    """Explain the rule of this id; return False where the revision has none."""
    for table, rule in revision.rules():
        if rule.id == name:
            stale = has_stale_reason(rule, base_of(revision))
            _explain_rule(screen, revision, table, rule, stale=stale)
            return True
    return False


def _base_of(revision: Revision, rule: Rule) -> str:
    """Return the shipped revision whose rule of this id differs from one's own.

    "" if it's the same.
    """
    if is_shipped(revision):
        return ""
    base = shipped_base(revision)
    there = {item.id: item for _, item in base.rules()}.get(rule.id, rule)
    return "" if there is rule else base.name


def _explain_rule(
    screen: Console, revision: Revision, table: Table, rule: Rule, *, stale: bool
) -> None:
    """Print a rule.  `stale`: it still gives the reason of the base's rule."""
    base = _base_of(revision, rule)
    lines = [
        (rule.id, f"{rule.level.value}, table {table.name}"),
        ("when", table.condition(rule)),
        ("then", "; ".join(do.value for do in rule.effect) or "nothing changes"),
        *((("answer", rule.answer.name),) if rule.answer is not None else ()),
        ("because", rule.because),
        *((("", _STALE),) if stale else ()),
        ("source", rule.source),
        *(("must", str(basis)) for basis in revision.basis_of(rule)),
    ]
    if rule.defensive:
        lines.append(("unreachable", rule.defensive))
    print_lines(screen, lines)
    if base:
        text = f"what must be, and the cases, are of {base}'s rule; yours may be about less"
        print_lines(screen, [("changed", text)])
    cases = [e.id for e in ALL_ENTRIES if rule.id in e.rules]
    print_lines(screen, [("cases", ", ".join(cases) or "none")])


def _explain_case(screen: Console, entry: Entry, levels: dict[str, Level]) -> None:
    case = entry.case(levels, delayed=True)
    screen.print(Text(f"{case.id}  [{case.level.value}]", style="bold"))
    screen.print(Text(case.about))
    screen.print(Text(f"about: {', '.join(case.rules)}"))
    for number, step in enumerate(case.steps, start=1):
        screen.print(Text(f"{number:>3}. {describe(step)}"))
    times = times_for({**ALL_SETTINGS, **entry.settings, **case.needs.config}, lag_ms=0)
    if named := ", ".join(f"{time.name} {times.of(time)} ms" for time in times_in(case)):
        screen.print(Text(f"times with a virtual clock and default settings: {named}"))


def property_json(property_: Property | Promise) -> dict[str, Any]:
    """Return all facts about a property, also about one of endless runs."""
    if isinstance(property_, Promise):
        return {
            "id": property_.id,
            "kind": "endless run",
            "class": property_.property_class.value,
            "meaning": property_.meaning,
            "harm": property_.harm,
            "scope": f"endless runs in which {property_.fair.value}",
            "source": property_.source,
            "checked_by": [Engine.EXPLORATION.value],
            "not_by": {
                engine.value: _NO_ENDLESS_RUN
                for engine in Engine
                if engine is not Engine.EXPLORATION
            },
            "expected_violations": dict(property_.expected),
        }
    return {
        "id": property_.id,
        "kind": property_.kind.value,
        "class": property_.property_class.value,
        "meaning": property_.meaning,
        "harm": property_.harm,
        "scope": property_.scope,
        "source": property_.source,
        "checked_by": [engine.value for engine in Engine if engine in property_.engines],
        "not_by": {engine.value: why for engine, why in property_.not_by.items()},
        "expected_violations": dict(property_.expected),
    }


def explain_property(screen: Console, property_: Property | Promise) -> None:
    """Print all facts about a property, line by line."""
    row = property_json(property_)
    lines = [
        (property_.id, f"{row['kind']} property"),
        ("holds", property_.meaning),
        ("class", row["class"] + (f": {property_.harm}" if property_.harm else "")),
        ("of", row["scope"]),
        ("source", property_.source),
        ("checked by", ", ".join(row["checked_by"])),
        *(("not by", f"{engine}: {why}") for engine, why in row["not_by"].items()),
        *(("fails in", f"{name}: {why}") for name, why in property_.expected.items()),
    ]
    if isinstance(property_, Property) and property_.formula is not None:
        lines.insert(2, ("as formula", str(property_.formula)))
    print_lines(screen, lines)


@click.command("properties")
@json_option
def properties_command(*, as_json: bool) -> None:
    """List the properties."""
    rows = [property_json(property_) for property_ in ALL_PROPERTIES.values()]
    rows += [property_json(promise) for promise in ALL_PROMISES]
    if as_json:
        echo_json(rows)
        return
    screen = console()
    grid = Grid(box=None, pad_edge=False)
    for column, ratio in (("property", 4), ("class", 1), ("kind", 1), ("meaning", 8)):
        grid.add_column(column, ratio=ratio, overflow="fold")
    for engine in Engine:
        grid.add_column(engine.value, justify="center")
    for row in rows:
        marks = ["✓" if engine.value in row["checked_by"] else "-" for engine in Engine]
        grid.add_row(row["id"], row["class"], row["kind"], row["meaning"], *marks)
    screen.print(grid)
    screen.print(Text("`fencepost explain ID` says more, also why an engine doesn't check it."))
