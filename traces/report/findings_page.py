"""Make the page of a search, or of a comparison: what was found, each finding with its trace.

Findings of each kind, such as new, intermittent and known ones, are in a section of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.traces.pages.trace_data import ShownTrace
from fencepost.traces.pages.trace_page import page_with_traces


@dataclass(frozen=True, slots=True)
class FindingEntry:
    """A finding: its name, its sentence, how often it was seen, the name of its trace."""

    name: str
    rule: str
    level: str
    sentence: str
    seen: str
    trace: str | None


@dataclass(frozen=True, slots=True)
class FindingSection:
    """Findings of one kind; `title`: what one of them is; `outcome`: the word that colours them."""

    title: str
    outcome: str
    findings: Sequence[FindingEntry]


def findings_page(
    heading: str,
    outcome: str,
    facts: Sequence[tuple[str, str]],
    groups: Sequence[FindingSection],
    traces: Mapping[str, ShownTrace],
    *,
    kind: str = "findings",
) -> str:
    """Make the page.

    `outcome`: of all, `holds`, `excused`, `violated` or `unknown`; `traces`: by name; `kind`: what
    the page shows, in a word.
    """
    return page_with_traces(
        "findings.html",
        heading,
        traces,
        kind=kind,
        outcome=outcome,
        facts=[(name, value) for name, value in facts if value],
        groups=[group for group in groups if group.findings],
    )
