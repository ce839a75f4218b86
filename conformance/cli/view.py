"""`view`: write an HTML page of traces, certificates or a fuzz run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fencepost.conformance.cli.options.common_options import (
    REVISION,
    Whole,
    files_argument,
    options_on_line,
    output_option,
    own_revisions_option,
)
from fencepost.conformance.cli.options.log_options import (
    chosen_scope,
    question_option,
    scope_options,
)
from fencepost.conformance.search.fuzz.earlier_run import FORMAT
from fencepost.conformance.search.fuzz.fuzz_report import fuzz_page, traces_of
from fencepost.conformance.targets.own_revision import properties_for, stops_reported
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.history.words import plural
from fencepost.properties.worlds.scope import Scope
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.text_files import write_file
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.pages.trace_page import PageTrace, trace_page
from fencepost.traces.report.certificate_data import checked_certificate, is_certificate
from fencepost.traces.report.certificate_page import certificate_page
from fencepost.traces.report.report_folder import certificate_from_folder

if TYPE_CHECKING:
    from fencepost.traces.pages.explorer_page import ExploredPage

TRACE, CERTIFICATE, FUZZ = "trace", "certificate", "fuzz run"
_MOST_STATES = 20_000
_REMEDY = "give -o another file"
_OF_THE_PAGE = frozenset({"files", "output", "explore", "max_states", "max_depth"})


@click.command("view")
@own_revisions_option
@files_argument("files", "FILE...", required=False)
@output_option("The page to write, such as page.html.", required=True)
@click.option(
    "--explore",
    type=REVISION,
    metavar="R",
    help="Explore this revision in place of files, and write a page to step through it.",
)
@question_option
@scope_options(Scope(clients=2, members=2))
@click.option(
    "--max-states",
    type=Whole(1, _MOST_STATES),
    default=1_000,
    show_default=True,
    metavar="N",
    help="The most states to explore.  The page has those nearest to the start.",
)
@click.pass_context
def view_command(
    ctx: click.Context,
    *,
    files: tuple[Path, ...],
    output: Path,
    explore: str | None,
    question: str | None,
    scope: Scope,
    max_depth: int | None,
    max_states: int,
) -> None:
    """Write a page of traces, certificates or a fuzz run.

    The page is one HTML file that loads nothing from elsewhere.  Its policy forbids all requests,
    and all scripts and styles but its own.  Without scripts the verdict and all steps are there as
    text.  The same files give the same page, byte for byte.

    FILE is a trace, a certificate.json or a fuzz.json.  Several traces can be on one page, the
    minimal one first; several certificates, too.  With a certificate or a fuzz run, the page has
    the traces of its folder.

    Keys on the page of a trace: left and right arrow go to the previous and next step, Home and End
    to the first and last, `d` to the wrong answer; `a` shows all fields.  A page's address names
    the step (#step-12; in an index #trace-CASE-step-12).

    With --explore, the page steps through a revision, as `step` does at the terminal.  The options
    of `explore` choose the world.
    """
    if explore is not None:
        if files:
            raise click.UsageError(f"--explore makes a page of its own: leave out {files[0]}")
        scope = chosen_scope(ctx, scope, question, explore)
        if scope.old and find_revision(explore).protocol is not CLASSIC:
            raise click.UsageError(
                f"a page of {explore} has no clients of old versions, for which the broker makes "
                f"ids: leave out --old, or use `fencepost step --revision {explore}`"
            )
        words = options_on_line(ctx, without=_OF_THE_PAGE)
        command = shlex.join(["fencepost", "step", "--revision", explore, *words])
        made = _explored(explore, scope, max_states, max_depth, command)
        write_file(output, made.text, _REMEDY)
        rest = "" if made.is_complete else f", cut off: --max-states {max_states}"
        click.echo(f"{output}: {plural(made.states, 'state')}{rest}")
        return
    if unused := options_on_line(ctx, without={"files", "output"}):
        raise click.UsageError(f"{unused[0]} is for --explore alone: leave it out")
    if not files:
        raise click.UsageError("name a FILE to show, or a revision to --explore")
    documents = [(path, _json(path)) for path in files]
    kinds = {_kind(document): path for path, document in documents}
    if len(kinds) > 1:
        names = " and ".join(f"{path} ({kind})" for kind, path in kinds.items())
        raise click.UsageError(f"{names} can't be on one page; view them one by one")
    (kind,) = kinds
    if kind == FUZZ and len(documents) > 1:
        raise click.UsageError("a page shows one run of fuzz; view them one by one")
    text = {CERTIFICATE: _certificates, FUZZ: _fuzz, TRACE: _traces}[kind](documents)
    write_file(output, text, _REMEDY)
    click.echo(f"{output}: {plural(len(documents), kind)}")


def _explored(
    revision: str, scope: Scope, max_states: int, max_depth: int | None, command: str
) -> ExploredPage:
    from fencepost.conformance.cli.explore import ProgressTeller  # noqa: PLC0415  (takes a while)
    from fencepost.traces.pages.explorer_page import page_of_exploration  # noqa: PLC0415

    teller = ProgressTeller()
    with stops_reported(revision):
        made = page_of_exploration(
            find_revision(revision),
            scope,
            properties_for(revision),
            max_states=max_states,
            max_depth=max_depth,
            command=command,
            tell=teller.say,
        )
    teller.end()
    return made


def _kind(document: Any) -> str:
    if is_certificate(document):
        return CERTIFICATE
    if isinstance(document, dict) and document.get("format") == FORMAT:
        return FUZZ
    return TRACE


def _json(path: Path) -> Any:
    try:
        return read_json(path)
    except DocumentError as error:
        remedy = "give a trace or a certificate"
        raise TraceFileError(str(path), error.place, error.problem, remedy) from error


def _traces(documents: Sequence[tuple[Path, Any]]) -> str:
    traces = [TraceFile.from_json(document, where=str(path)) for path, document in documents]
    return trace_page(
        [
            PageTrace(trace, trace.case or path.stem, str(path))
            if len(traces) == 1
            else PageTrace(trace, path.stem, str(path))
            for trace, (path, _) in zip(traces, documents, strict=True)
        ]
    )


def _certificates(documents: Sequence[tuple[Path, Any]]) -> str:
    held = [checked_certificate(document, path) for path, document in documents]
    folders = [path.parent for path, _ in documents]
    return certificate_page(held, list(map(certificate_from_folder, held, folders)))


def _fuzz(documents: Sequence[tuple[Path, Any]]) -> str:
    ((path, document),) = documents
    return fuzz_page(document, traces_of(document, path.parent)).html()
