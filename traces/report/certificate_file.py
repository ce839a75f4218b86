"""Read a certificate that a file holds, in either form, and check what its readers need.

The full form is the report of `certify --report`.  A repository keeps the short one: its cases are
an object, by id, and say less.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from fencepost.model.bad_input import BadInputError
from fencepost.properties.mutants.mutants import find_revision
from fencepost.traces.files.bounded import DocumentError, read_json

FORMAT = "fencepost-certificate"
_SHORT = {"target", "revision", "verdict", "rules", "cases"}
"""The keys by which the short form is known."""

_REMEDY = "give a certificate.json, as `fencepost certify TARGET --report DIR` writes one"


class CertificateFileError(BadInputError):
    """A file holds no certificate; `str()` names it, the problem and the remedy."""


class _Case(msgspec.Struct):
    id: str
    outcome: Literal[
        "pass", "fail", "known-failure", "stale-known-failure", "unsupported", "unknown", "skipped"
    ]
    level: Literal["MUST", "SHOULD", "MAY"] | None = None
    about: str = ""
    rule: str | None = None
    message: str = ""
    observed: str = ""
    why: str = ""
    trace: str | None = None
    rules: list[str] = []
    notes: list[str] = []


class _Rules(msgspec.Struct):
    missed: list[str]
    unreachable: dict[str, str]
    covered: list[str] | None = None


class _Certificate(msgspec.Struct):
    target: str
    implementation: str
    version: str
    revision: str
    verdict: Literal["holds", "violated", "unknown"]
    rules: _Rules
    cases: list[_Case]
    summary: str = ""


def is_certificate(document: Any) -> bool:
    """Return whether a JSON document is meant as a certificate, of either form."""
    return isinstance(document, dict) and (
        document.get("format") == FORMAT or document.keys() >= _SHORT
    )


def read_certificate_file(path: Path) -> dict[str, Any]:
    """Read a certificate.  Raises CertificateFileError."""
    try:
        document = read_json(path)
    except DocumentError as error:
        raise CertificateFileError(f"{error}; {_REMEDY}") from None
    return checked_certificate(document, path)


def checked_certificate(document: Any, path: Path) -> dict[str, Any]:
    """Return the document, if all that its readers need is there and has the right form.

    `path`: of its file.  Raises CertificateFileError.
    """
    if not is_certificate(document):
        raise CertificateFileError(f"{path}: is no certificate; {_REMEDY}")
    cases = document.get("cases")
    if isinstance(cases, Mapping):
        rows = [{**row, "id": i} if isinstance(row, Mapping) else row for i, row in cases.items()]
    else:
        rows = cases
    try:
        msgspec.convert({**document, "cases": rows}, _Certificate)
        find_revision(document["revision"])
    except msgspec.ValidationError as error:
        raise CertificateFileError(f"{path}: is no certificate: {error}; {_REMEDY}") from None
    except KeyError as error:
        raise CertificateFileError(f"{path}: $.revision: {error.args[0]}") from None
    return dict(document)
