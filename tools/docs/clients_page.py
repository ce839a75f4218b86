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
# Results of client libraries

<!-- Made by `python -m tools.docs.clients_page docs`; don't edit. -->

For users who choose a client library, and for its authors. This page shows which
[obligations](obligations.md) each library fulfils, as
[`fencepost certify-client`](certify-client.md) tested it on the served broker. `tox -e clients`
repeats all runs and compares each case.

A plain number counts cases that pass. *Known* cases fail, and a list gives the reason; they still
run each time. *n/a* cases need a feature that the library lacks. *Fail* cases are in no list yet:
they failed on the served broker, and nobody has repeated them with a real Kafka.
"""


_REPEATED = """\
## Other brokers and machines

The scenarios that inject no faults also ran on kafka:4.3.0, with the same outcomes as on the served
broker but for one case. `tox -e clients` compares again.

| client | cases on both brokers | other outcome |
|---|---|---|
| java 4.3.0 | 62 | 0 |
| kafka-python 3.0.12 | 61 | 0 |
| franz-go 1.22.2 | 59 | 0 |
| confluent-kafka 2.16.1 | 56 | 1: `CLIENT-FENCED-NO-RECORDS/two-processes-commit` passes or \
fails, depending on which request is fenced first; the list of known failures says so |

All runs were also repeated on two cores with some twenty other programs. Every case had the same
outcome, apart from failures that are listed as intermittent. A run took between 20 s (`kafka-go`,
`kafkajs`) and 160 s (`platformatic`, which closes late).
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
    return "\n".join([_TITLE, *matrix, *_reasons(certificates), _REPEATED])


def _area_of(case_id: str) -> str:
    return REQUIREMENTS[case_id.partition("/")[0]].area


def _reasons(certificates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for certificate in certificates:
        yield f"## {certificate['target']}"
        yield ""
        yield (
            f"{certificate['implementation']} {certificate['version']} "
            f"({certificate['language']}), on the served `{certificate['revision']}`."
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
