"""Write reports as files: certificates, and what searches, simulations and advice come to.

A `PlainReport` is a report without a certificate: its JSON, its page as data, and what lies beside
them.  What makes HTML is imported when a page is made, since it needs Jinja.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fencepost.traces.files.text_files import INDEX, trace_name, write_texts
from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.report.certificate_data import FindingSection
from fencepost.traces.report.certificate_diff import CertificateDiff
from fencepost.traces.report.client_certificate import ClientCertificate, client_trace
from fencepost.traces.report.report_folder import (
    Judged,
    certificate_document,
    certificate_from_folder,
    certificate_texts,
    client_index,
    client_text,
)


class Page(Protocol):
    """A page as data."""

    def html(self) -> str:
        """Make the file."""


@dataclass(frozen=True, slots=True)
class TemplatePage:
    """A page of one template.  `style`: of a page that stands alone; "" for a page of a site."""

    template: str
    title: str
    values: Mapping[str, Any]
    style: str = ""

    def html(self) -> str:
        """Make the file."""
        from fencepost.traces.pages.html import plain_page, site_page  # noqa: PLC0415  (Jinja)

        if self.style:
            return plain_page(self.template, self.title, self.style, **self.values)
        return site_page(self.template, self.title, **self.values)


@dataclass(frozen=True, slots=True)
class FindingsPage:
    """Findings in sections, with their traces by name.

    `outcome`: of all, `holds`, `violated` or `unknown`; `longest`: the longest other form of a
    trace in the page, in characters.
    """

    heading: str
    outcome: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[FindingSection]
    traces: Mapping[str, TraceFile]
    longest: int

    def html(self) -> str:
        """Make the file."""
        from fencepost.traces.pages.trace_page import PageTrace  # noqa: PLC0415  (Jinja)
        from fencepost.traces.report.certificate_page import findings_page  # noqa: PLC0415  (Jinja)

        pages = {
            name: PageTrace(trace, trace.case or name, name, self.longest)
            for name, trace in sorted(self.traces.items())
        }
        return findings_page(self.heading, self.outcome, self.facts, self.sections, pages)


@dataclass(frozen=True, slots=True)
class ClientPage:
    """The observed behaviour of a client; `traces`: by name; `title`: "" for a certificate's."""

    document: Mapping[str, Any]
    traces: Mapping[str, Mapping[str, Any]]
    title: str = ""

    def html(self) -> str:
        """Make the file."""
        return client_index(self.document, self.traces, self.title)


@dataclass(frozen=True, slots=True)
class PlainReport:
    """A report without a certificate: its JSON, named `name`, its page, and other texts by name.

    `is_escaped`: True if JSON is written in ASCII.
    """

    name: str
    content: Mapping[str, Any]
    page: Page
    others: Mapping[str, str] = field(default_factory=dict)
    is_escaped: bool = False

    def texts(self) -> Iterator[dict[str, str]]:
        """Yield the files by name, the page last."""
        text = json.dumps(self.content, indent=1, ensure_ascii=self.is_escaped) + "\n"
        yield {self.name: text, **self.others}
        yield {INDEX: self.page.html()}


def client_document(
    name: str, content: Mapping[str, Any], report: ClientCertificate, title: str, **changes: str
) -> PlainReport:
    """Make the report of a client's search.

    `report`: its findings; `changes`: what its page says in other words than a certificate's.
    """
    traces = {trace_name(each.case.id): client_trace(each).plain() for each in report.results}
    page = ClientPage({**certificate_document(report), **changes}, traces, title)
    return PlainReport(name, content, page, {name: client_text(t) for name, t in traces.items()})


def write_report(
    report: Judged | PlainReport, directory: Path, diff: CertificateDiff | None = None
) -> None:
    """Write a report into a folder, made if missing.

    A certificate has certificate.json, junit.xml, index.html and traces/.  `diff`: its comparison
    with an older one, for which diff.html is written.  Pages come last, so that a page that can't
    be made loses no data.  Raises ReportError.
    """
    files = report.texts() if isinstance(report, PlainReport) else certificate_texts(report, diff)
    for texts in files:
        write_texts(texts, directory, "--report")


def trace_page_texts(document: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Make the page of each trace of a certificate that lies in its folder, by the trace's name.

    Raises TraceFileError.
    """
    from fencepost.traces.pages.trace_page import trace_page  # noqa: PLC0415  (Jinja)

    traces = certificate_from_folder(document, folder)
    return {name: trace_page([trace]) for name, trace in traces.items()}
