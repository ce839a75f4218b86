"""`mutants`: list the models that are broken on purpose, or explain some of them."""

from __future__ import annotations

from typing import Any

import click
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli.options.common_options import console, echo_json, json_option
from fencepost.model.history.words import plural
from fencepost.model.revisions.revisions import MUTANT
from fencepost.properties.mutants.mutant import Mutant
from fencepost.properties.mutants.mutants import ALL_MUTANTS, find_mutant


def named_mutants(names: tuple[str, ...]) -> list[Mutant]:
    """Find mutants by name; all of them for no names.  Raises click.UsageError."""
    try:
        return [find_mutant(name) for name in dict.fromkeys(names)] or [*ALL_MUTANTS.values()]
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None


@click.command("mutants")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--list", is_flag=True, hidden=True, expose_value=False)  # older callers say so
@json_option
def mutants_command(names: tuple[str, ...], as_json: bool) -> int:
    """List the models broken on purpose.

    With one NAME: its source, its changes, and the properties that it violates.

    A mutant is the model with one fault: a fault that a coordinator really had, named by its
    ticket, or a systematic one, such as a weaker condition, another answer, a missing step or a
    lost timer.  `mutant:NAME` is a target and a revision, and for mutants of clients a client.
    """
    mutants = named_mutants(names)
    if as_json:
        echo_json([_mutant_json(m) for m in mutants])
    elif len(names) == 1:
        _print_one(mutants[0])
    else:
        _print_list(mutants)
    return 0


def _print_list(mutants: list[Mutant]) -> None:
    screen = console()
    grid = Grid(box=None, pad_edge=False)
    for column, ratio in (("mutant", 3), ("source", 3), ("what is broken", 8)):
        grid.add_column(column, ratio=ratio, overflow="fold")
    for mutant in mutants:
        grid.add_row(mutant.name, mutant.source, mutant.about)
    screen.print(grid)
    screen.print(Text(plural(len(mutants), "mutant")))


def _print_one(mutant: Mutant) -> None:
    screen = console()
    row = _mutant_json(mutant)
    lines = [
        (MUTANT + mutant.name, mutant.about),
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
        "target": MUTANT + mutant.name,
        "about": mutant.about,
        "source": mutant.source,
        "visible": mutant.visible,
        "breaks": list(mutant.breaks),
        "differences": [
            {"change": change, "rule": rule_id} for change, rule_id in mutant.changed_rules()
        ],
        "steps": [do.value for do in mutant.twists],
    }
