"""Make the page of one or more traces: the minimal one, the original, one of another target.

Without the script the page shows the verdict in one sentence, its reasons, and every step as a line
with an anchor.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.files.trace_file import UnknownRevisionError
from fencepost.traces.pages.decisions import Decisions
from fencepost.traces.pages.html import page
from fencepost.traces.pages.trace_data import PageTrace, trace_json


def trace_page(page_traces: Sequence[PageTrace]) -> str:
    """Make the page of these traces, the first one open.  Raises TraceFileError."""
    data = traces_data(page_traces)
    first = data["traces"][0]
    title = f"{first['verdict']['rule'] or first['title']}: {first['verdict']['badge']}"
    return page("trace.html", title, data, traces=data["traces"])


def traces_data(page_traces: Sequence[PageTrace]) -> dict[str, Any]:
    """Return traces, each with the key of its link, and the revisions that judge them.

    Raises TraceFileError.
    """
    revisions: dict[str, Decisions] = {}
    traces = []
    for each, key in zip(page_traces, _keys(page_traces), strict=True):
        name = each.trace.revision
        if name not in revisions:
            try:
                revisions[name] = Decisions(find_revision(name))
            except KeyError as error:
                raise UnknownRevisionError(each.file, name, error) from error
        traces.append({"key": key, **trace_json(each, revisions[name])})
    return {
        "traces": traces,
        "revisions": {name: explained.to_json() for name, explained in revisions.items()},
    }


def page_with_traces(
    template: str, heading: str, page_traces: Mapping[str, PageTrace], **values: Any
) -> str:
    """Make a page that links to traces by their names.  `values`: see `page`."""
    data = traces_data(list(page_traces.values()))
    more = {"links": _links(data, page_traces), "traces": data["traces"], **values}
    return page(template, heading, {**data, "index": True}, heading=heading, **more)


def _links(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """Return the links of traces in their page, by these names."""
    return {name: f"#{trace['key']}" for name, trace in zip(names, data["traces"], strict=True)}


def _keys(page_traces: Iterable[PageTrace]) -> list[str]:
    """Return the key of each trace in links, made from its case, so that it is stable."""
    counts: Counter[str] = Counter()
    keys = []
    for each in page_traces:
        key = "trace-" + re.sub(r"[^A-Za-z0-9]+", "-", each.title).strip("-")
        counts[key] += 1
        keys.append(key if counts[key] == 1 else f"{key}.{counts[key]}")
    return keys
