"""The pages that reports are: a certificate with its traces, the findings of a search.

Decides which traces go into a page, and how a reader's command names them: by their place in the
folder of the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.page.certificate_page import certificate_page
from fencepost.traces.page.trace_data import ShownTrace
from fencepost.traces.page.verdict_data import case_note

INDEX = "index.html"


def certificate_index(document: Mapping[str, Any], traces: Mapping[str, TraceFile]) -> str:
    """The page of one certificate, with the traces that were written beside it."""
    return certificate_page([document], [shown(document["cases"], traces)])


def certificate_from_folder(document: Mapping[str, Any], folder: Path) -> dict[str, ShownTrace]:
    """The traces of a certificate that lie in a folder.  Raises TraceFileError for a bad one."""
    cases = document["cases"]
    if isinstance(cases, Mapping):
        return {}  # the short form keeps no traces
    names = [case["trace"] for case in cases if case["trace"] is not None]
    found = {n: TraceFile.read(folder / n) for n in names if (folder / n).is_file()}
    return shown(cases, found)


def shown(cases: Any, traces: Mapping[str, TraceFile]) -> dict[str, ShownTrace]:
    """The traces of cases, by the names of their files."""
    return {
        case["trace"]: ShownTrace(
            traces[case["trace"]], case["id"], case["trace"], case=case_note(case)
        )
        for case in cases
        if case["trace"] in traces
    }
