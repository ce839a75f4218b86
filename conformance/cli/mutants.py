"""`mutants`: list the models that are broken on purpose, or run every engine on them.

The result is the kill matrix: what each engine finds, and at what cost.  A mutant that survives is
a failure.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.certify.report import make_folder
from fencepost.conformance.cli.exit_codes import exit_codes
from fencepost.conformance.cli.options.common import console, echo_json, json_option, report_option
from fencepost.conformance.kill_matrix.render import matrix_json, print_matrix, print_one
from fencepost.conformance.kill_matrix.suites import ENGINES
from fencepost.conformance.kill_matrix.workers import rows
from fencepost.properties.kill_matrix.matrix import Row
from fencepost.properties.mutants.catalogue import MUTANTS, find_mutant
from fencepost.properties.mutants.mutant import PREFIX, Mutant
from fencepost.traces.text.words import plural

_EXIT_SURVIVOR = 1


@click.command(
    "mutants",
    epilog=exit_codes(
        "every mutant is found", "a mutant survives, or an engine misses what it should see"
    ),
)
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="List the mutants, and run nothing.")
@click.option(
    "--engine",
    "engines",
    type=click.Choice(list(ENGINES)),
    multiple=True,
    help="Only this engine (may be repeated).",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes in parallel.",
)
@report_option("Write the matrix and a trace for each run that shows a mutant there.")
@json_option
def mutants_command(
    names: tuple[str, ...],
    only_list: bool,
    engines: tuple[str, ...],
    jobs: int,
    report: Path | None,
    as_json: bool,
) -> int:
    """Run every engine on models broken on purpose.

    The result is the kill matrix: which engine finds which mutant.  `mutant:NAME` is also a target
    and a revision.  For one NAME the output explains what shows it.
    """
    try:
        found = [find_mutant(name) for name in dict.fromkeys(names)] or [*MUTANTS.values()]
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    if only_list:
        _list(found, alone=len(names) == 1, as_json=as_json)
        return 0
    chosen = [engine for engine in ENGINES if engine in (engines or ENGINES)]
    if report is not None:
        make_folder(report)
    made, seconds = rows(
        [mutant.name for mutant in found],
        chosen,
        jobs=jobs,
        report=report,
        told=None if len(found) == 1 else _progress,
    )
    matrix = json.dumps(matrix_json(made, chosen), indent=2, ensure_ascii=False)
    if report is not None:
        (report / "mutants.json").write_text(matrix + "\n", encoding="utf-8")
    if as_json:
        click.echo(matrix)
    elif len(found) == 1:
        print_one(made[0], chosen, console())
    else:
        print_matrix(made, chosen, console())
    spent = ", ".join(f"{engine} {seconds[engine]:.0f}" for engine in chosen)
    click.echo(f"(processor seconds: {spent})", err=True)
    return _EXIT_SURVIVOR if any(row.survives or row.missed for row in made) else 0


def _progress(row: Row) -> None:
    by = sum(bool(result.killed) for result in row.results.values())
    click.echo(f"{row.mutant.name}: {'killed by ' + str(by) if by else 'SURVIVES'}", err=True)


def _list(found: list[Mutant], *, alone: bool, as_json: bool) -> None:
    if as_json:
        echo_json([_mutant_json(m) for m in found])
    elif alone:
        _print_one(found[0])
    else:
        _print_list(found)


def _print_list(found: list[Mutant]) -> None:
    screen = console()
    grid = Grid(box=None, pad_edge=False)
    for column, ratio in (("mutant", 3), ("source", 3), ("what is broken", 8)):
        grid.add_column(column, ratio=ratio, overflow="fold")
    for mutant in found:
        grid.add_row(mutant.name, mutant.source, mutant.about)
    screen.print(grid)
    screen.print(Text(plural(len(found), "mutant")))


def _print_one(mutant: Mutant) -> None:
    screen = console()
    row = _mutant_json(mutant)
    lines = [
        (PREFIX + mutant.name, mutant.about),
        ("source", mutant.source),
        ("seen", "in answers" if mutant.visible else "in the state alone"),
        ("breaks", ", ".join(mutant.breaks) or "not measured"),
        *((change["change"], change["rule"]) for change in row["differences"]),
        *(("performs wrongly", step) for step in row["steps"]),
    ]
    for word, value in lines:
        screen.print(Text.assemble((f"{word:<16}", "bold"), " ", value))


def _mutant_json(mutant: Mutant) -> dict[str, Any]:
    return {
        "name": mutant.name,
        "target": PREFIX + mutant.name,
        "about": mutant.about,
        "source": mutant.source,
        "visible": mutant.visible,
        "breaks": list(mutant.breaks),
        "differences": [
            {"change": change, "rule": rule_id} for change, rule_id in mutant.changed_rules()
        ],
        "steps": [do.value for do in mutant.twists],
    }
