"""The page of one trace, or of a few: the minimal one, the original, one of another target.

Decides what stands there without the script: the verdict first, in one sentence, then what it
rests on, then every step as a line that can be linked to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.properties.mutants.catalogue import find_revision
from fencepost.traces.files.trace_file import TraceFileError
from fencepost.traces.page.decisions import Decisions
from fencepost.traces.page.render import page
from fencepost.traces.page.trace_data import ShownTrace, trace_json


def trace_page(shown: Sequence[ShownTrace]) -> str:
    """The page of these traces, the first one open.  Raises TraceFileError."""
    data = traces_data(shown)
    first = data["traces"][0]
    title = f"{first['verdict']['rule'] or first['title']}: {first['verdict']['outcome']}"
    return page("trace.html", title, data, traces=data["traces"])


def traces_data(shown: Sequence[ShownTrace]) -> dict[str, Any]:
    """Traces, each with the key of its address, and the revisions that judge them.

    Raises TraceFileError.
    """
    revisions: dict[str, Decisions] = {}
    traces = []
    for each, key in zip(shown, _keys(shown), strict=True):
        name = each.trace.revision
        if name not in revisions:
            try:
                revisions[name] = Decisions(find_revision(name))
            except KeyError as error:
                raise TraceFileError(
                    each.file, "$.revision", str(error.args[0]), "name one of these"
                ) from error
        traces.append({"key": key, **trace_json(each, revisions[name])})
    return {
        "traces": traces,
        "revisions": {name: told.to_json() for name, told in revisions.items()},
    }


def links(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """The addresses of traces in their page, by these names."""
    return {name: f"#{trace['key']}" for name, trace in zip(names, data["traces"], strict=True)}


def _keys(shown: Iterable[ShownTrace]) -> list[str]:
    """What a trace is called in an address: by its case, so that it stays when others come."""
    seen: Counter[str] = Counter()
    found = []
    for each in shown:
        key = "trace-" + re.sub(r"[^A-Za-z0-9]+", "-", each.title).strip("-")
        seen[key] += 1
        found.append(key if seen[key] == 1 else f"{key}.{seen[key]}")
    return found
