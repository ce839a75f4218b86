"""The formats of a trace, by name.

All are text, and the same for the same trace.  Trace files and ITF can also be read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from fencepost.traces.files.trace_file import TraceFile, read_document
from fencepost.traces.forms.adapter_form import to_adapter
from fencepost.traces.forms.csv_form import to_csv
from fencepost.traces.forms.itf import from_itf_json, is_itf, to_itf_text
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.forms.pytest_form import to_pytest

TRACE_FORMATS: Mapping[str, Callable[[TraceFile], str]] = {
    "itf": to_itf_text,
    "mermaid": to_mermaid,
    "pytest": to_pytest,
    "adapter": to_adapter,
    "csv": to_csv,
    "trace": TraceFile.text,
}
"""How a trace is written, by the name of the form."""


def read_trace(path: Path) -> TraceFile:
    """Read a trace file or an ITF file.  Raises TraceFileError."""
    document = read_document(path)
    if is_itf(document):
        return from_itf_json(document, where=str(path))
    return TraceFile.from_json(document, where=str(path))
