"""`adopt`: make a finding a permanent regression.

Decides where it goes if nobody says: into the corpus of the checkout that one stands in.
"""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.conformance.findings.promote import adopt, corpus_here
from fencepost.traces.forms.formats import read_trace


@click.command("adopt")
@click.argument(
    "finding", metavar="FINDING", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--name", metavar="NAME", help="What it is called there [default: made of what is wrong]."
)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The corpus [default: traces/corpus/ of the checkout that you are in].",
)
@click.option(
    "--today",
    is_flag=True,
    help="Expect today's verdict, not the file's: the judge was wrong and has been mended.",
)
def adopt_command(finding: Path, *, name: str | None, into: Path | None, today: bool) -> None:
    """Write a trace into the corpus, whose verdict the tests then expect for ever.

    FINDING is a trace file, such as `fuzz --report`, `nightly` and `shrink` write, or an ITF file.
    Exit code 64: it is there already, its name is taken, or its verdict is another today.
    """
    corpus = corpus_here(into, Path.cwd())
    click.echo(adopt(read_trace(finding), corpus, name=name, today=today).text())
