"""Keep certificates of clients in the repository, and make the page about them.

A kept certificate has only values that are equal in every run: no times, no names of a run.
`python -m tools.docs.clients_page docs` makes the page.  With a folder of `certify-client --report`
behind it, it keeps that certificate, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.driver_programs import LIBRARIES
from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirement import AREAS
from fencepost.properties.requirements.requirements import REQUIREMENTS
from fencepost.traces.files.bounded import read_json
from fencepost.traces.report.client_certificate import kept
from tools.docs.certificates_page import by_reason, matrix_lines, write_kept

FOLDER = "certificates/clients"
PAGE = "clients/results.md"

_TITLE = """\
# What client libraries do

<!-- Made by `python -m tools.docs.clients_page docs`; don't edit. -->

What each library does with [what a client owes](obligations.md), held to it by
[`fencepost certify-client`](certify-client.md) on a served broker.  `tox -e clients` runs all of
them again and compares case by case.  A plain number counts cases that pass; *known* ones fail, are
listed with their reason, and still run each time; *n/a* ones need what the library doesn't have.
*fail* ones are in no list: they failed on a served broker, and nobody has held them against a real
Kafka yet.
"""


def write(folder: Path, certificate: Mapping[str, Any]) -> Path:
    """Keep a certificate in the folder."""
    return write_kept(folder, certificate["target"], kept(certificate))


def read_all(folder: Path) -> list[dict[str, Any]]:
    """Return the certificates of a folder, in the order of the libraries."""
    order = [f"{name}:{version}" for name in LIBRARIES for version in LIBRARIES[name].versions]
    certificates = [read_json(path) for path in folder.glob("*.json")]
    return sorted(certificates, key=lambda c: (order.index(c["target"]), c["target"]))


def page(certificates: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole page, in Markdown."""
    matrix = matrix_lines("client", certificates, AREAS, _area_of)
    return "\n".join([_TITLE, *matrix, *_reasons(certificates)])


def _area_of(case_id: str) -> str:
    return REQUIREMENTS[case_id.partition("/")[0]].area


def _reasons(certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for certificate in certificates:
        yield f"## {certificate['target']}"
        yield ""
        yield (
            f"{certificate['implementation']} {certificate['version']} "
            f"({certificate['language']}), on a served `{certificate['revision']}`."
        )
        yield ""
        for outcome in (Outcome.KNOWN_FAILURE, Outcome.UNKNOWN, Outcome.UNSUPPORTED):
            yield from by_reason(certificate["cases"], outcome)


def main(docs: Path, *reports: Path) -> None:
    """Keep the certificates of these reports, and write the page of all."""
    for report in reports:
        write(docs / FOLDER, read_json(report / "certificate.json"))
    text = page(read_all(docs / FOLDER))
    (docs / PAGE).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
