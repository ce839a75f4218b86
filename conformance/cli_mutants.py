"""`mutants`: the models that are broken on purpose, to test what is meant to find it.

Decides how they are shown: one row each, those from the history of real bugs first.
"""

from __future__ import annotations

import json
from typing import Any

import click
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli_show import console, json_option
from fencepost.properties.mutant import PREFIX, Mutant
from fencepost.properties.mutants import MUTANTS, find_mutant


@click.command("mutants")
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--list", "_only_list", is_flag=True, help="Print what there is.")
@json_option
def mutants_command(name: str | None, *, _only_list: bool, as_json: bool) -> None:
    """List the models that are broken on purpose, or show the one of this NAME.

    Each is a target, `mutant:NAME`, and a revision of that name.
    """
    try:
        found = [*MUTANTS.values()] if name is None else [find_mutant(name)]
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    if as_json:
        click.echo(json.dumps([_mutant_json(m) for m in found], indent=2, ensure_ascii=False))
    elif name is None:
        _print_list(found)
    else:
        _print_one(found[0])


def _print_list(found: list[Mutant]) -> None:
    screen = console()
    grid = Grid(box=None, pad_edge=False)
    for column, ratio in (("mutant", 3), ("source", 3), ("what is broken", 8)):
        grid.add_column(column, ratio=ratio, overflow="fold")
    for mutant in found:
        grid.add_row(mutant.name, mutant.source, mutant.about)
    screen.print(grid)
    screen.print(Text(f"{len(found)} mutants"))


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
