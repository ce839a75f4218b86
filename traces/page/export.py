"""What a reader can take away from the page: commands and texts to paste elsewhere.

Decides which forms of a trace a page carries.  One that would be longer than a page should be is
left to `fencepost convert`, which is named in its place.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.itf import to_itf_text
from fencepost.traces.forms.mermaid import to_mermaid
from fencepost.traces.forms.pytest_form import to_pytest

LONGEST = 400_000
"""In characters; what is longer is not for pasting."""
_MOST_EVENTS = 1_000
"""Of a longer trace no form is made: it would be too long."""

_MAKERS: Mapping[str, tuple[str, Callable[[TraceFile], str]]] = {
    "pytest": ("pytest", to_pytest),
    "mermaid": ("Mermaid", to_mermaid),
    "itf": ("ITF", to_itf_text),
}


def forms(trace: TraceFile, file: str, longest: int = LONGEST) -> list[dict[str, Any]]:
    """The forms of a trace, each with its name and text; `file`: as a command names it.

    `longest`: in characters; in place of a form that is longer stands the command that prints it.
    """
    said = shlex.quote(file)
    found = [{"name": "replay command", "text": f"fencepost replay {said}\n"}]
    for key, (name, make) in _MAKERS.items():
        try:
            text = make(trace) if len(trace.events) <= _MOST_EVENTS else None
        except TraceFileError:
            continue  # this form can't say what was sent; the others can
        if text is not None and len(text) <= longest:
            found.append({"name": name, "text": text})
        else:
            command = f"fencepost convert {said} --to {key}\n"
            found.append({"name": f"{name} (command)", "text": command})
    return found
