"""Read and draft lists of known failures, of brokers and of clients, as JSON files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from fencepost.model.bad_input import BadInputError
from fencepost.model.history.words import first_names, plural
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.judging.known_failures import (
    OF_PLANS,
    UNEXPLAINED,
    KnownFailure,
    matches,
    range_of,
)
from fencepost.properties.judging.outcome import NOT_LISTED, Outcome
from fencepost.traces.files.bounded import DocumentError, read_json
from fencepost.traces.files.document_schema import Document, DocumentSchema

FOLDER = Path(__file__).with_name("known-failures")
CLIENT_FOLDER = Path(__file__).with_name("known-client-failures")
"""The shipped lists: a file for each kind of broker, and for each client."""

_SEE = "`fencepost schema known-failures` prints what is allowed"
_UNLISTED = {outcome.value for outcome in NOT_LISTED}
_PLACES = {"tcp", "exec"}
"""Targets whose name is an address or a command, which may change: a list names the kind alone."""

_WHOLE = {"mutant"}
"""Clients that a list names whole; of all others the kind, beside their versions."""

_MOST_NAMED = 3
"""The number of targets that the message about an unused list names."""


class KnownFailureList(Document, frozen=True, kw_only=True):
    """A list of known failures, as a file."""

    format: Literal["fencepost-known-failures"] = "fencepost-known-failures"
    version: Literal[1] = 1
    entries: tuple[KnownFailure, ...]


SCHEMA = DocumentSchema(
    "known-failures-1",
    "fencepost known failures 1",
    "Faults of a target that are known: a case that fails exactly so doesn't decide the verdict.",
    KnownFailureList,
    {"KnownFailure": "entry"},
)


class KnownFailuresError(BadInputError):
    """A list of known failures can't be read; `str()` names the file, the entry and the remedy."""


def load(
    target_name: str,
    version: str,
    extra_files: Iterable[Path] = (),
    aliases: frozenset[str] = frozenset(),
    folder: Path = FOLDER,
) -> list[KnownFailure]:
    """Load the entries for a target at a version: from the shipped list, then from the files.

    `aliases`: other names of the target in the lists; `folder`: of the shipped lists.  Raises
    KnownFailuresError.
    """
    kind = target_name.partition(":")[0]
    shipped = folder / f"{kind}.json"
    files = [shipped] if re.fullmatch(r"[\w-]+", kind) and shipped.is_file() else []
    return [
        entry
        for path in (*files, *extra_files)
        for entry in read(path)
        if _is_for(entry, aliases | {kind, target_name}, version)
    ]


def newest_version(kind: str) -> str:
    """Return the first of the newest versions that a shipped list is for; "" where any is meant."""
    firsts = (re.match(r">=([0-9.]+)", entry.versions) for entry in read(FOLDER / f"{kind}.json"))
    versions = {first[1] for first in firsts if first is not None}
    return max(versions, key=lambda version: [int(n) for n in version.split(".")], default="")


def of_no_use(
    files: Iterable[Path],
    target_name: str,
    version: str,
    aliases: frozenset[str] = frozenset(),
    cases: Collection[str] = (),
) -> Iterator[str]:
    """Say which lists have no entry for the target at this version, and which name no case.

    `cases`: all that there are; where none are given, no entry is compared with them.
    """
    names = aliases | {target_name.partition(":")[0], target_name}
    for path in files:
        entries = read(path)
        own = [entry for entry in entries if _is_for(entry, names, version)]
        for case in dict.fromkeys(entry.case for entry in own):
            if cases and case not in cases and not case.endswith(OF_PLANS):
                near = did_you_mean(case, cases)
                yield f"{path} lists the case {case!r}, and there is none of that name{near}"
        if entries and not own:
            whom = list(dict.fromkeys(f"{e.target} {e.versions}" for e in entries))
            yield (
                f"{path} lists {plural(len(entries), 'known failure')}, none for {target_name} "
                f"(version {version}); it is for {first_names(whom, _MOST_NAMED)}"
            )


def _is_for(entry: KnownFailure, names: Collection[str], version: str) -> bool:
    return entry.target in names and matches(entry.versions, version)


def read(path: Path) -> list[KnownFailure]:
    """Read all entries of a file.  Raises KnownFailuresError."""
    try:
        document = read_json(path)
    except DocumentError as error:
        raise KnownFailuresError(f"{error}; a list is one JSON object: {_SEE}") from error
    wrong = SCHEMA.error(document)
    if wrong is not None:
        raise KnownFailuresError(
            f"{path}: {_place(document, wrong.absolute_path)}: {wrong.message}; {_SEE}"
        )
    return [KnownFailure(**entry) for entry in document["entries"]]


def drafted_list(
    certificate: Mapping[str, Any], target: str, old: Iterable[KnownFailure] = ()
) -> dict[str, Any]:
    """Draft a list of all failures of a certificate (JSON), so that with it the target holds.

    `target`: its name in the command; `old`: entries to be kept unless the certificate shows that
    they are out of date.  A new entry's reason is the sentence of the failure, to be replaced by
    the cause; the link is to be added.  A failure that some runs did not show is intermittent.
    Where the same failure is listed for another version, its reason and link are taken.
    """
    kind = target.partition(":")[0]
    version = str(certificate["version"])
    own: list[KnownFailure] = []
    others: list[KnownFailure] = []
    for entry in dict.fromkeys(old):
        is_own = _is_for(entry, {kind, target}, version)
        (own if is_own else others).append(entry)
    rows = {case["id"]: case for case in certificate["cases"]}
    kept = [e for e in own if e.case not in rows or not _is_outdated(e, rows[e.case])]
    known = {(e.case, e.observed): e for e in others if e.target in {kind, target}}
    new = []
    for case in certificate["cases"]:
        listed = any(e.case == case["id"] and e.shows_as(case["observed"]) for e in kept)
        if case["outcome"] in _UNLISTED and case["observed"] and not listed:
            before = known.get((case["id"], case["observed"]))
            new.append(
                KnownFailure(
                    target=kind if kind in _PLACES else target,
                    versions=_open_range(version) if kind in _PLACES else range_of(version),
                    case=case["id"],
                    rule=case["rule"] or case["id"].partition("/")[0],
                    observed=case["observed"],
                    why=before.why if before else f"{UNEXPLAINED}: {_reason_of(case)}",
                    link=before.link if before else "",
                    intermittent=case.get("intermittent", False),
                )
            )
    return KnownFailureList(entries=(*others, *kept, *new)).plain()


def drafted_client_list(
    certificate: Mapping[str, Any], old: Iterable[KnownFailure] = ()
) -> dict[str, Any]:
    """Draft a list as `drafted_list`, for a client."""
    client = certificate["target"]
    kind = client.partition(":")[0]
    return drafted_list(certificate, client if kind in _WHOLE else kind, old)


def _is_outdated(entry: KnownFailure, row: Mapping[str, Any]) -> bool:
    """Tell if a case of a certificate shows that an entry is wrong."""
    match row["outcome"]:
        case Outcome.STALE_KNOWN_FAILURE.value:
            return True
        case Outcome.FAIL.value:  # without the list
            return not entry.shows_as(row["observed"])
        case Outcome.PASS.value:
            return not entry.intermittent
        case _:
            return False


def _reason_of(case: Mapping[str, Any]) -> str:
    return str(case["message"] or case["observed"])


def _open_range(version: str) -> str:
    """Return this version and all later ones.

    For a target that is being made, a fixed failure shows as stale.
    """
    return range_of(version).partition(",")[0]


def _place(document: Any, path: Iterable[str | int]) -> str:
    keys = list(path)
    match keys:
        case ["entries", int() as index, *rest]:
            entry = document["entries"][index]
            case_id = entry.get("case", "?") if isinstance(entry, dict) else "?"
            return " ".join([f"entry {index + 1} (case {case_id})", *map(str, rest)])
        case _:
            return ".".join(map(str, keys)) or "the whole"
