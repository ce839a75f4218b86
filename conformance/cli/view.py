"""`view`: write an HTML page of traces, certificates or a fuzz run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.cli.options.common_options import (
    files_argument,
    output_option,
    own_revisions_option,
)
from fencepost.conformance.search.fuzz.earlier_run import FORMAT
from fencepost.conformance.search.fuzz.fuzz_report import fuzz_page, traces_of
from fencepost.model.history.words import plural
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.text_files import make_folder, write_text
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.pages.trace_page import PageTrace, trace_page
from fencepost.traces.report.certificate_data import checked_certificate, is_certificate
from fencepost.traces.report.certificate_page import certificate_page
from fencepost.traces.report.report_folder import certificate_from_folder

TRACE, CERTIFICATE, FUZZ = "trace", "certificate", "fuzz run"


@click.command("view")
@own_revisions_option
@files_argument("files", "FILE...")
@output_option("The page to write, such as page.html.", required=True)
def view_command(*, files: tuple[Path, ...], output: Path) -> None:
    """Write a page of traces, certificates or a fuzz run.

    The page is one file and loads nothing else. Several traces of one case
    can be given, the minimal one first.  With a certificate.json or a fuzz.json come the traces of
    its folder.
    """
    documents = [(path, _json(path)) for path in files]
    kinds = {_kind(document): path for path, document in documents}
    if len(kinds) > 1:
        names = " and ".join(f"{path} ({kind})" for kind, path in kinds.items())
        raise click.UsageError(f"{names} can't be on one page; view them one by one")
    (kind,) = kinds
    if kind == FUZZ and len(documents) > 1:
        raise click.UsageError("a page shows one run of fuzz; view them one by one")
    text = {CERTIFICATE: _certificates, FUZZ: _fuzz, TRACE: _traces}[kind](documents)
    make_folder(output.parent, "give -o another file")
    write_text(output, text, "give -o another file")
    click.echo(f"{output}: {plural(len(documents), kind)}")


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
