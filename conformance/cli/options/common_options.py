"""Options and arguments of several commands, and the console that they print to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION
from fencepost.model.revisions.revisions import is_in_a_file

_PLAIN_WIDTH = 160


class RevisionType(click.types.StringParamType):
    """The name of a revision, or of a target that is one.

    The revision in a file, `FILE.py:NAME` or `model:FILE.py:NAME`, is loaded here and then known by
    that name.  Raises OwnRevisionError.
    """

    name = "revision"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Load the revision if it is in a file, and return the name as it is."""
        del param, ctx
        if is_in_a_file(value):  # the loader takes a while to import
            from fencepost.conformance.targets.own_revision import load_named  # noqa: PLC0415

            load_named(value)
        return value


REVISION = RevisionType()
revision_option = click.option(
    "--revision",
    type=REVISION,
    default=DEFAULT_REVISION,
    show_default=True,
    metavar="R",
    help="The revision that judges, by name or as FILE.py:NAME.",
)

own_revisions_option = click.option(
    "--revision",
    type=REVISION,
    multiple=True,
    expose_value=False,
    metavar="FILE.py:NAME",
    help="Run this file of yours, whose revision a trace names (may be repeated).",
)


def report_option(help_text: str, *, required: bool = False) -> Callable[[Any], Any]:
    """Return the option `--report DIR`, with the files that the command writes there."""
    return click.option(
        "--report",
        required=required,
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help=help_text,
    )


def output_option(help_text: str, *, required: bool = False) -> Callable[[Any], Any]:
    """`-o`, `--output FILE`: the one file to write."""
    return click.option(
        "-o",
        "--output",
        required=required,
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
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


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON on stdout and nothing else."
)


def echo_json(value: Any) -> None:
    """Print a value as `--json` has it."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def console() -> Console:
    """Return a console for stdout, as wide as the terminal, or else wide enough for tables.

    Text is printed as it is: a name such as `mine.py:NEW` holds what rich takes for an emoji.
    """
    screen = Console(highlight=False, markup=False, emoji=False)
    if not screen.is_terminal:
        screen.width = _PLAIN_WIDTH
    return screen
