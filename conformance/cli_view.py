"""`view`: traces or certificates as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.conformance.pages import certificate_from_folder
from fencepost.conformance.report import write_texts
from fencepost.traces.page.certificate_data import is_certificate
from fencepost.traces.page.certificate_page import certificate_page
from fencepost.traces.page.trace_data import Shown
from fencepost.traces.page.trace_page import trace_page
from fencepost.traces.trace_file import TraceFile, TraceFileError


@click.command("view")
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "-o",
    "output",
    required=True,
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page to write, such as page.html.",
)
def view_command(*, files: tuple[Path, ...], output: Path) -> None:
    """Write a page about traces, or about certificates: one file that asks nobody for anything.

    Traces of one case can be given together, the minimal one first.  A certificate takes the traces
    that lie beside it along.
    """
    documents = [(path, _json(path)) for path in files]
    certificates = [(path, d) for path, d in documents if is_certificate(d)]
    if certificates and len(certificates) < len(documents):
        other = next(path for path, d in documents if not is_certificate(d))
        raise click.UsageError(
            f"{other} is no certificate, but {certificates[0][0]} is; view them on two pages"
        )
    text = _certificates(certificates) if certificates else _traces(documents)
    write_texts({output.name: text}, output.parent, "-o")
    click.echo(f"{output}: {_what(documents, certificates=bool(certificates))}")


def _what(documents: Sequence[object], *, certificates: bool) -> str:
    word = "certificate" if certificates else "trace"
    return f"{len(documents)} {word}{'' if len(documents) == 1 else 's'}"


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TraceFileError(
            str(path), "the file", f"isn't JSON ({error})", "give a trace or a certificate"
        ) from error


def _traces(documents: Sequence[tuple[Path, Any]]) -> str:
    traces = [TraceFile.from_json(document, where=str(path)) for path, document in documents]
    return trace_page(
        [
            Shown(trace, trace.case or path.stem, str(path))
            if len(traces) == 1
            else Shown(trace, path.stem, str(path))
            for trace, (path, _) in zip(traces, documents, strict=True)
        ]
    )


def _certificates(documents: Sequence[tuple[Path, Any]]) -> str:
    return certificate_page(
        [document for _, document in documents],
        [certificate_from_folder(document, path.parent) for path, document in documents],
    )
