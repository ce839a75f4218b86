"""`explore`, `check` and `properties`: check properties exhaustively in small worlds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli.exit_codes import exit_codes
from fencepost.conformance.cli.explain import property_json
from fencepost.conformance.cli.exploration import (
    Told,
    check_json,
    exploration_json,
    explored_in,
    told_of_check,
    write_graph_file,
    write_traces,
)
from fencepost.conformance.cli.options.common import (
    REVISION,
    console,
    echo_json,
    json_option,
    report_option,
    revision_option,
)
from fencepost.conformance.cli.options.scope import scope_options
from fencepost.conformance.targets.own_revision import properties_for, told_where_it_stops
from fencepost.conformance.targets.registry import find_revision
from fencepost.properties.checking.checking import (
    Checked,
    PropertyStatus,
    check_promises,
    check_revision,
)
from fencepost.properties.claims.registry import PROPERTIES, find_property
from fencepost.properties.explorer.exploration import Progress
from fencepost.properties.explorer.graph import SUFFIXES
from fencepost.properties.kill_matrix.rows import uncovered_rows
from fencepost.properties.logic.property import Engine, Property
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.scopes import CHECK_SCOPES, NamedScope, find_check_scope
from fencepost.traces.text.words import plural

EXIT_VIOLATED = 1
_WRONG = {PropertyStatus.BROKEN, PropertyStatus.ASKED}
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes in parallel.",
)
property_option = click.option(
    "--property", "ids", multiple=True, metavar="ID", help="Only this property (may be repeated)."
)
traces_option = report_option("Write the traces there.")


def chosen(ids: tuple[str, ...], revision: str) -> tuple[Property, ...]:
    """The properties of these ids, all of them if there are none.  Raises UsageError.

    For a revision in a file its own properties are among them.
    """
    there = {one.id: one for one in properties_for(revision)}
    try:
        return tuple(there.get(i) or find_property(i) for i in ids or there)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


@click.command("explore", epilog=exit_codes("all properties hold", "a property is violated"))
@revision_option
@scope_options(Scope(clients=2, members=2))
@click.option("--max-states", type=click.IntRange(min=1), metavar="N", help="The most states.")
@jobs_option
@property_option
@click.option(
    "--graph",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the states and transitions: .graphml or .dot.",
)
@traces_option
@json_option
@click.pass_context
def explore_command(
    ctx: click.Context,
    revision: str,
    scope: Scope,
    max_depth: int | None,
    max_states: int | None,
    jobs: int,
    ids: tuple[str, ...],
    graph: Path | None,
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    """Visit every world within bounds.

    Each property is checked in each.  Restarts, generations and member ids have no bound: worlds
    that differ only in names are one.
    """
    if graph is not None and graph.suffix not in SUFFIXES:
        raise click.UsageError(f"can't write {graph}; name a file {' or '.join(SUFFIXES)}")
    errors = Console(stderr=True, highlight=False)

    def progress(done: Progress) -> None:
        if errors.is_terminal:
            errors.print(_progress_line(done), end="\r")

    with told_where_it_stops(revision):
        explored = explored_in(
            find_revision(revision),
            scope,
            chosen(ids, revision),
            jobs=jobs,
            max_states=max_states,
            max_depth=max_depth,
            keep_graph=graph is not None,
            progress=progress,
        )
    if graph is not None:
        write_graph_file(explored, graph)
    if report is not None:
        write_traces(explored.told, report)
    if as_json:
        echo_json(exploration_json(explored))
    else:
        _print_exploration(console(), exploration_json(explored), explored.told)
    if any(told.finding in _WRONG for told in explored.told):
        ctx.exit(EXIT_VIOLATED)


def _progress_line(done: Progress) -> str:
    return (
        f"level {done.level}, {done.states:,} states, {done.transitions:,} transitions, "
        f"{done.frontier:,} to go, {done.seconds:.0f} s"
    )


def _print_exploration(screen: Console, found: dict[str, Any], told: tuple[Told, ...]) -> None:
    end = "complete" if found["complete"] else "cut off by a limit"
    screen.print(
        Text(
            f"{found['revision']}: {found['states']:,} states, {found['transitions']:,} "
            f"transitions, {len(found['levels'])} levels, {end}"
        )
    )
    screen.print(
        Text(
            f"{found['states_per_second']:,} states and {found['transitions_per_second']:,} "
            f"transitions per second in {found['jobs']} process(es), "
            f"{found['peak_mib']:,} MiB"
        )
    )
    held = [name for name, finding in found["properties"].items() if finding == "holds"]
    unmet = [name for name, finding in found["properties"].items() if finding == "not reached"]
    screen.print(Text(f"{len(held)} {'property holds' if len(held) == 1 else 'properties hold'}"))
    if unmet:
        screen.print(Text(f"not reached within these bounds: {', '.join(unmet)}"))
    _print_told(screen, told)


def _print_told(screen: Console, told: tuple[Told, ...]) -> None:
    for one in told:
        screen.print()
        screen.print(Text(f"{one.id}: {one.finding.value}", style="bold"))
        for line in one.lines:
            screen.print(Text(line))


@click.command("check", epilog=exit_codes("all properties hold", "a property is violated"))
@click.argument("revision", type=REVISION, metavar="REVISION")
@jobs_option
@property_option
@click.option(
    "--question",
    "questions",
    multiple=True,
    type=click.Choice([question.name for question in CHECK_SCOPES]),
    help="Only this world (may be repeated).  Liveness is then not checked.",
)
@traces_option
@json_option
@click.pass_context
def check_command(
    ctx: click.Context,
    revision: str,
    jobs: int,
    ids: tuple[str, ...],
    questions: tuple[str, ...],
    report: Path | None,
    *,
    as_json: bool,
) -> None:
    """Check a revision in a few small worlds.

    REVISION is a name, or FILE.py:NAME.  Each world is explored exhaustively.  Rows of the table
    that no property speaks of are listed: nothing is known of them.
    """
    with told_where_it_stops(revision):
        checked = _checked(revision, ids, tuple(map(find_check_scope, questions)), jobs)
    told = told_of_check(checked)
    if report is not None:
        write_traces(told, report)
    if as_json:
        echo_json(check_json(checked, told))
    else:
        _print_check(console(), checked, told)
    if not checked.holds:
        ctx.exit(EXIT_VIOLATED)


def _checked(
    name: str, ids: tuple[str, ...], questions: tuple[NamedScope, ...], jobs: int
) -> Checked:
    revision = find_revision(name)
    checked = check_revision(
        revision, chosen(ids, name), questions=questions or CHECK_SCOPES, jobs=jobs
    )
    if questions:
        met = tuple(r for r in checked.results if r.finding is not PropertyStatus.UNTESTED)
        return Checked(revision, checked.explored, met)
    if ids:
        return checked
    whole = Checked(revision, checked.explored, checked.results, check_promises(revision))
    fails = set(PropertyStatus) - {PropertyStatus.HOLDS, PropertyStatus.UNTESTED}
    broken = {r.property.id for r in whole.results if r.finding in fails}
    broken |= {kept.promise.id for kept in whole.promises if kept.finding in fails}
    return replace(whole, uncovered=tuple(uncovered_rows(revision, broken)))


def _print_check(screen: Console, checked: Checked, told: tuple[Told, ...]) -> None:
    for question, found in checked.explored:
        screen.print(
            Text(f"{question.name}: {question.about}: {found.states:,} states, all of them")
        )
    counts = dict.fromkeys(PropertyStatus, 0)
    for finding in checked.findings():
        counts[finding] += 1
    said = ", ".join(f"{n} {finding.value}" for finding, n in counts.items() if n)
    verdict = "every property holds, or fails as is known of it" if checked.holds else "not safe"
    screen.print(Text(f"{checked.revision.name}: {verdict} ({said})", style="bold"))
    if checked.uncovered:
        count = plural(len(checked.uncovered), "row")
        screen.print(Text(f"not covered by any property ({count}): {', '.join(checked.uncovered)}"))
    _print_told(screen, told)


@click.command("properties")
@json_option
def properties_command(*, as_json: bool) -> None:
    """List the properties."""
    rows = [property_json(one) for one in PROPERTIES.values()]
    if as_json:
        echo_json(rows)
        return
    screen = console()
    grid = Grid(box=None, pad_edge=False)
    for column, ratio in (("property", 4), ("kind", 1), ("meaning", 8)):
        grid.add_column(column, ratio=ratio, overflow="fold")
    for engine in Engine:
        grid.add_column(engine.value, justify="center")
    for one, row in zip(PROPERTIES.values(), rows, strict=True):
        marks = ["✓" if engine in one.engines else "-" for engine in Engine]
        grid.add_row(row["id"], row["kind"], row["meaning"], *marks)
    screen.print(grid)
    screen.print(Text("`fencepost explain ID` says more, also why an engine doesn't check it."))
