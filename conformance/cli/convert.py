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

    FILE is a trace file, or an ITF file.

    \b
    Formats:
      mermaid  a sequence diagram, which GitHub draws in Markdown
      pytest   a test for the broker's own tests; it needs kafka-python 3
      itf      states for the tools of TLA+, Apalache and Quint
      adapter  the commands and replies of adapter protocol 1
      csv      a spreadsheet: a row for each step
      trace    a trace file, from ITF

    In a diagram the numbers are those of the steps.  Notes say which requests wait, who was fenced,
    how much time passed, and the group's state in the model.

    The pytest test runs on the broker in BROKER=HOST:PORT, else pytest skips it.  Its first lines
    name the settings that the broker needs.  It sends the recorded requests at the recorded times,
    and expects the recorded answers, up to the wrong one, in whose place it expects a right one.
    So it can miss a fault in the time of an answer or in its list of protocols.  BROKER_RESTART is
    a command that restarts the broker and waits for it, for traces with a failover; BROKER_MOVE
    moves the coordinator to another broker.  A trace with a TxnOffsetCommit, or of the consumer
    protocol, has no such test.

    In ITF, state 0 is before the first step.  The variables are `mbt::actionTaken` (the API of a
    request, else the kind of step; `init` in state 0), `mbt::nondetPicks` (member, connection and
    request), `at_ms` (the latest time), `groups` (of the model), `explanations` and `explained`
    (the number of model states that explain the steps so far; true if there is one) and `step` (as
    in the trace file).  After a violation `groups` stays as it was.  Whole numbers are #bigint, the
    static map and the members #map, pending ids and timers #set, times #tup; the variant Null
    stands for null.  A run that never ends has `loop`, and `canonical`: the groups without the
    parts that differ in each round.  `#meta.fencepost` has the rest of the trace file, so that ITF
    converts back without loss.

    fencepost reads ITF files of other tools if each state but the first has a `step`, or if
    `mbt::actionTaken` names an act of `explore` (join, sync, heartbeat, leave, restart, tick ...)
    and `mbt::nondetPicks` its `client`, from 1.  The model then performs these acts.  State 0 may
    have the numbers of `clients`, of `instances` that they share, and of `dynamic` clients.

    In csv, `at_ms` and `by_ms` are the earliest and the latest time; `dropped` lists requests whose
    connection was closed; `wrong` is yes at the wrong answer; from `state` on, columns have the
    group of the model after the step.
    """  # noqa: D301  (click reads the mark)
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
    help="Seconds to shrink and confirm the trace on a real clock.",
)
@target_options
@_output
def shrink_command(
    file: Path, target: str, *, examine: float, target_settings: TargetOptions, output: Path | None
) -> None:
    """Make a trace as small as can be.

    fencepost removes what TARGET doesn't need to fail with the same rule, request and kind of
    answer.  It runs the result again, and reports how often it fails.  The trace must have a plan:
    those of `certify` and `fuzz` have one.  The trace goes to stdout or -o, a summary to stderr.

    With `property:ID` as TARGET, the trace must go on to break that property.  It runs on the model
    that it was recorded from, else on the revision that it names.
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
@click.option("--name", metavar="NAME", help="Name in the corpus [default: from the violation].")
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
