"""Make the page of a search: what it found, each finding with its trace.

New findings, intermittent ones and known ones are in sections of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fencepost.traces.page.trace_data import ShownTrace
from fencepost.traces.page.trace_page import page_with_traces


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
) -> str:
    """Make the page.  `outcome`: of all, `holds`, `violated` or `unknown`; `traces`: by name."""
    return page_with_traces(
        "findings.html",
        heading,
        traces,
        outcome=outcome,
        facts=facts,
        groups=[group for group in groups if group.findings],
    )
