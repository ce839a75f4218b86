"""Options about lists of known failures, and what commands do with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from fencepost.traces.report.known_failures import KnownFailure, of_no_use, read
from fencepost.traces.report.report_folder import write_texts

Command = TypeVar("Command", bound=Callable[..., Any])


def known_failures_options(command: Command) -> Command:
    """Adds `--known-failures` (as `lists`) and `--no-known-failures`."""
    beside = click.option(
        "--known-failures",
        "lists",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Use this list of known failures, too (may be repeated).",
    )
    none = click.option(
        "--no-known-failures",
        is_flag=True,
        help="Use no list of known failures, not even the shipped one.",
    )
    return beside(none(command))


def tell_of_no_use(
    lists: Iterable[Path], target: str, version: str, aliases: frozenset[str] = frozenset()
) -> None:
    """Say on stderr which of the given lists have nothing for the target at this version."""
    for said in of_no_use(lists, target, version, aliases):
        click.echo(said, err=True)


def kept_entries(lists: Iterable[Path], written: Path | None) -> list[KnownFailure]:
    """The entries that `--write-known-failures` keeps.  Raises KnownFailuresError."""
    if written is None:
        return []
    files = [*lists, *([written] if written.exists() else [])]
    return [entry for path in files for entry in read(path)]


def write_list(drafted: Mapping[str, Any], written: Path) -> None:
    """Write a list of known failures.  Raises ReportError."""
    text = json.dumps(drafted, indent=2, ensure_ascii=False) + "\n"
    write_texts({written.name: text}, written.parent, "--write-known-failures")


written_list_option = click.option(
    "--write-known-failures",
    "written",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a list of all failures: what the given lists and FILE say is kept, apart from what "
    "is out of date; what no list has yet is added.",
)
