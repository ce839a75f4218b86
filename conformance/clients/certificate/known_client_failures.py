"""Known failures of clients: what a library is known to do wrong, with the reason.

The form of a list, and how an entry is matched, are those of brokers.  A case that is listed but
passes, or fails in another way, is stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.certify_client import ClientResult
from fencepost.properties.judging.outcome import Outcome
from fencepost.traces.report.known_failures import KNOWN, STALE, KnownFailure, load
from fencepost.traces.report.known_failures import drafted_list as drafted

FOLDER = Path(__file__).with_name("known-failures")
"""The shipped lists: a file for each client."""

_WHOLE = {"mutant"}
"""Clients that a list names whole; of all others the kind, beside their versions."""


def load_known(client: str, version: str, files: Iterable[Path] = ()) -> list[KnownFailure]:
    """The entries for a client at a version.  Raises KnownFailuresError."""
    return load(client, version, files, folder=FOLDER)


def apply(
    results: Iterable[ClientResult], known: Sequence[KnownFailure]
) -> tuple[ClientResult, ...]:
    """Mark failures that are listed as known, and cases whose entry is wrong as stale."""
    by_case: dict[str, list[KnownFailure]] = {}
    for entry in known:
        by_case.setdefault(entry.case, []).append(entry)
    return tuple(_applied(result, by_case.get(result.id, ())) for result in results)


def _applied(result: ClientResult, entries: Sequence[KnownFailure]) -> ClientResult:
    if not entries or result.outcome not in {Outcome.PASS, Outcome.FAIL}:
        return _intermittent(result, entries)
    for entry in entries:
        if result.outcome is Outcome.FAIL and entry.shows_as(result.observed):
            return _known(result, entry)
    listed = " or ".join(f'"{entry.observed}"' for entry in entries)
    if result.outcome is Outcome.FAIL:
        other = f'but fails in another way ("{result.observed}")'
        notes = (*result.notes, f"{STALE}listed as a known failure ({listed}), {other}")
        return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, notes=notes)
    for entry in entries:
        if entry.intermittent:
            notes = (*result.notes, f"fails now and then: {entry.why}")
            return replace(result, notes=notes)
    message = f"listed as a known failure ({listed}), but passes: take it off the list"
    return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, message=message)


def _intermittent(result: ClientResult, entries: Sequence[KnownFailure]) -> ClientResult:
    """One that comes now and then may stay undecided."""
    entry = next((entry for entry in entries if entry.intermittent), None)
    if entry is None or result.outcome is not Outcome.UNKNOWN:
        return result
    return _known(result, entry)


def _known(result: ClientResult, entry: KnownFailure) -> ClientResult:
    notes = (*result.notes, f"{KNOWN}{entry.why} ({entry.link})")
    return replace(result, outcome=Outcome.KNOWN_FAILURE, notes=notes)


def drafted_list(
    certificate: Mapping[str, Any], old: Iterable[KnownFailure] = ()
) -> dict[str, Any]:
    """A list of all failures of a certificate (JSON); in it somebody is to say why each is known.

    `old`: entries to be kept unless the certificate shows that they are out of date.
    """
    client = certificate["target"]
    kind = client.partition(":")[0]
    return drafted(certificate, client if kind in _WHOLE else kind, old)
