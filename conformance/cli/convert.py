"""`convert`, `shrink` and `adopt`: write a trace in another format, shrunk, or into the corpus.

The trace goes to stdout, or to the file that `-o` names.
"""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.conformance.cli.options.common_options import (
    WEEK_S,
    Real,
    output_option,
    own_revisions_option,
)
from fencepost.conformance.cli.options.target_options import target_options
from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.search.findings.promote import adopt, corpus_here
from fencepost.conformance.search.findings.shrink_trace import (
    SECONDS,
    shrink_property,
    shrink_trace,
)
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.properties.claims.property_registry import find_property
from fencepost.traces.files.text_files import write_text
from fencepost.traces.forms.formats import TRACE_FORMATS, read_trace

_PROPERTY = "property:"

_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_output = output_option("The file to write [default: stdout].")


@click.command("convert")
@own_revisions_option
@_file
@click.option(
    "--to", "form", type=click.Choice(list(TRACE_FORMATS)), required=True, help="The format."
)
@_output
def convert_command(file: Path, *, form: str, output: Path | None) -> None:
    """Write a trace in another format.

    FILE is a trace file, or an ITF file (of Apalache or Quint).

    itf: with the model's state at each step, and convertible back; mermaid: a sequence diagram;
    pytest: a test that needs no fencepost; adapter: the lines to send to a program on stdio; csv: a
    row for each step; trace: a trace file.
    """
    _write(TRACE_FORMATS[form](read_trace(file)), output)


@click.command("shrink")
@_file
@click.argument("target")
@click.option(
    "--examine",
    type=Real(0, WEEK_S),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="How long to shrink and confirm, on a real clock.",
)
@target_options
@_output
def shrink_command(
    file: Path, target: str, *, examine: float, target_settings: TargetOptions, output: Path | None
) -> None:
    """Make a trace as small as can be.

    It still fails on TARGET as the trace in FILE does.  With `property:ID` as TARGET it breaks that
    property, on the model that the trace was recorded from.  The trace must have a plan: those of
    `certify` and `fuzz` have one.
    """
    trace = read_trace(file)
    if target.startswith(_PROPERTY):
        try:
            property_ = find_property(target.removeprefix(_PROPERTY))
        except KeyError as error:
            raise click.UsageError(str(error.args[0])) from None
        smaller = run(shrink_property(trace, property_))
    else:
        smaller = run(shrink_trace(trace, find_target(target, target_settings), seconds=examine))
    click.echo(smaller.text(), err=True)
    _write(smaller.trace.text(), output)


@click.command("adopt")
@click.argument(
    "finding", metavar="FINDING", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--name", metavar="NAME", help="Its name there [default: from what is wrong].")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The corpus [default: traces/corpus/ of the current checkout].",
)
@click.option(
    "--today",
    is_flag=True,
    help="Expect today's verdict instead of the file's, because fencepost was fixed.",
)
def adopt_command(finding: Path, *, name: str | None, into: Path | None, today: bool) -> None:
    """Add a trace to the regression corpus.

    The tests of the checkout then expect its verdict.  FINDING is a trace file of `fuzz --report`,
    the nightly search or `shrink`, or an ITF file.  It is refused if the corpus has an equal trace
    or a trace of this name, or if its verdict differs today.
    """
    corpus = corpus_here(into, Path.cwd())
    click.echo(adopt(read_trace(finding), corpus, name=name, today=today).text())


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    write_text(output, text, "give -o another file")
