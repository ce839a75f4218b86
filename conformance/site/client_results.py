"""The part of the results site about client libraries: a matrix, and each certificate's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.certificate.client_certificate import (
    checked,
    is_client_certificate,
)
from fencepost.conformance.clients.certificate.client_folder import index_page
from fencepost.conformance.clients.client_registry import LIBRARIES
from fencepost.conformance.site.site_results import files_of, slug
from fencepost.properties.requirements.requirement import AREAS, Obligation
from fencepost.properties.requirements.requirements import in_area
from fencepost.traces.files.bounded import read_json
from fencepost.traces.report.certificate_file import CertificateFileError

PAGE = "clients.html"


@dataclass(frozen=True, slots=True)
class ClientResult:
    """A client's certificate in the site; `folder`: where its traces are looked for."""

    document: Mapping[str, Any]
    folder: Path

    @property
    def name(self) -> str:
        """The client, as `certify-client` takes it."""
        return str(self.document["target"])

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"clients/{slug(self.name)}.html"

    def cases_of(self, obligation: Obligation) -> list[Mapping[str, Any]]:
        """The cases of an obligation that say something: not those that it can't take part in."""
        own = [case for case in self.document["cases"] if case["rule"] == obligation.id]
        said = [case for case in own if case["outcome"] != "unsupported"]
        return said or own[:1]

    def html(self) -> str:
        """Its page, with the traces that lie beside it."""
        names = [case["trace"] for case in self.document["cases"] if case["trace"] is not None]
        there = {name: self.folder / name for name in names if (self.folder / name).is_file()}
        return index_page(self.document, {name: read_json(path) for name, path in there.items()})


def part_clients(paths: Sequence[Path]) -> tuple[list[ClientResult], list[Path]]:
    """The certificates of clients among files, folders of reports, or of certificates; the others.

    Raises CertificateFileError, DocumentError.
    """
    clients: list[ClientResult] = []
    others: list[Path] = []
    for file in files_of(paths):
        document = read_json(file)
        if not is_client_certificate(document):
            others.append(file)
            continue
        one = ClientResult(checked(document, file), file.parent)
        if any(other.page == one.page for other in clients):
            raise CertificateFileError(
                f"{file}: there is another certificate of {one.name}; give one"
            )
        clients.append(one)
    return sorted(clients, key=_order), others


def _order(one: ClientResult) -> tuple[int, str]:
    kind = one.name.partition(":")[0]
    return list(LIBRARIES).index(kind) if kind in LIBRARIES else len(LIBRARIES), one.name


def parts(clients: Sequence[ClientResult]) -> Iterator[tuple[str, list[Obligation]]]:
    """Areas with their obligations, those that a certificate has."""
    judged = {case["rule"] for one in clients for case in one.document["cases"]}
    for area, title in AREAS.items():
        rows = [row for row in in_area(area) if row.id in judged]
        if rows:
            yield title, rows
