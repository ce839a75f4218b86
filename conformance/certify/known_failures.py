"""Known failures: faults of a target that are listed, with their reason, and so don't decide.

Decides when a failure is the listed one.  It must be of the same target and version, in the same
case, and with the same signature (`CaseResult.observed`).  A case that is listed but passes, or
fails otherwise, is stale: the list is wrong, and that counts as much as a failure.  A fault of the
target's timers may come to light in any case; one that is listed as such is known by its look.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fencepost.conformance.execution.looks import Look, look_of, seen_in
from fencepost.conformance.execution.outcome import CaseResult, Outcome
from fencepost.model.revision import Revision
from fencepost.traces.files.schema import schema_error

FORMAT = "fencepost-known-failures"
VERSION = 1
FOLDER = Path(__file__).with_name("known-failures")
SCHEMA_FILE = Path(__file__).with_name("known-failures-1.schema.json")

KNOWN, STALE = "known failure: ", "stale: "
"""How a note begins that says why a failure is known, or what else was listed."""

ANY_NUMBER = " #*"
"""In a signature: whichever of these requests it was, where that depends on when timers fired."""

_NUMBER = r"(?: #\d+)?"
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class KnownFailuresError(ValueError):
    """A list can't be read.  `str()` names the file, the entry and the remedy."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One entry.

    `observed`: what the certificate says, where ` #*` stands for any number of a request.
    `versions`: comparisons such as `>=2.16,<2.17`, or `*`.  `intermittent`: the fault depends on
    something that no case can steer (`why` says what), so a pass is not stale.  `anywhere`: in
    which cases the fault shows itself depends on when the target's timers fire, so it is known in
    all of them.  `cause`: the known departure that it is, if it is one.
    """

    target: str
    versions: str
    case: str
    rule: str
    observed: str
    why: str
    link: str
    intermittent: bool = False
    anywhere: bool = False
    cause: str = ""

    @property
    def look(self) -> Look:
        """What it looks like in any case: the rule, and what is seen but for names and numbers."""
        return self.rule, seen_in(self.observed)

    def shows_as(self, observed: str) -> bool:
        """Whether what was observed is this fault."""
        if ANY_NUMBER not in self.observed:
            return self.observed == observed
        parts = map(re.escape, self.observed.split(ANY_NUMBER))
        return re.fullmatch(_NUMBER.join(parts), observed) is not None


def load(
    target_name: str,
    version: str,
    extra_files: Iterable[Path] = (),
    aliases: frozenset[str] = frozenset(),
) -> list[KnownFailure]:
    """The entries for a target at a version: the shipped list, then those of the files.

    `aliases`: what else it is called in the lists.  Raises KnownFailuresError.
    """
    kind = target_name.partition(":")[0]
    names = aliases | {kind, target_name}
    shipped = FOLDER / f"{kind}.json"
    files = [shipped] if re.fullmatch(r"[\w-]+", kind) and shipped.is_file() else []
    return [
        entry
        for path in (*files, *extra_files)
        for entry in read(path)
        if entry.target in names and matches(entry.versions, version)
    ]


def aliases_of(target: object) -> frozenset[str]:
    """What else a target is called in the lists."""
    found: frozenset[str] = getattr(target, "aliases", frozenset())
    return found


def read(path: Path) -> list[KnownFailure]:
    """All entries of a file.  Raises KnownFailuresError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise KnownFailuresError(f"{path}: can't be read ({error}); check its name") from error
    except json.JSONDecodeError as error:
        raise KnownFailuresError(
            f"{path}: line {error.lineno}, column {error.colno}: isn't JSON ({error.msg}); "
            "a list is one JSON object, see known-failures-1.schema.json"
        ) from error
    wrong = schema_error(document, SCHEMA_FILE)
    if wrong is not None:
        raise KnownFailuresError(
            f"{path}: {_place(document, wrong.absolute_path)}: {wrong.message}; "
            "see known-failures-1.schema.json"
        )
    return [KnownFailure(**entry) for entry in document["entries"]]


def apply(
    results: Iterable[CaseResult], known: Sequence[KnownFailure], revision: Revision
) -> tuple[CaseResult, ...]:
    """The results with failures that are listed marked as known, and lists that are wrong as stale.

    What is unknown, unsupported or skipped stays so: it says nothing about the list.  But a fault
    that comes now and then, and is unknown because it did not come each time, is the listed one.
    """
    by_case: dict[str, list[KnownFailure]] = {}
    for entry in known:
        by_case.setdefault(entry.case, []).append(entry)
    anywhere = {e.look: e for e in reversed(known) if e.anywhere}

    def applied(result: CaseResult) -> CaseResult:
        entries = by_case.get(result.case.id, [])
        if result.outcome is Outcome.FAIL and not any(e.shows_as(result.observed) for e in entries):
            general = anywhere.get(look_of(result, revision))
            if general is not None:
                return _as_known(result, general)
        return _applied(result, entries)

    return tuple(map(applied, results))


def entries_from(certificate: Mapping[str, Any]) -> list[dict[str, str]]:
    """Drafts of entries for all that failed in a certificate (JSON), without `why` and `link`.

    A list with empty ones can't be read, so that nobody forgets to say them.
    """
    version = _numbers(str(certificate["version"]))
    versions = "*"
    if version:
        upper = (*version[:-1], version[-1] + 1)
        versions = f">={_dotted(version)},<{_dotted(upper)}"
    return [
        {
            "target": str(certificate["target"]),
            "versions": versions,
            "case": case["id"],
            "rule": case["rule"] or case["rules"][0],
            "observed": case["observed"],
            "why": "",
            "link": "",
        }
        for case in certificate["cases"]
        if case["outcome"] == Outcome.FAIL.value
    ]


def matches(versions: str, version: str) -> bool:
    """Whether a version lies in a range; one without numbers lies in `*` alone."""
    if versions == "*":
        return True
    numbers = _numbers(version)
    if not numbers:
        return False
    return all(_holds(part.strip(), numbers) for part in versions.split(","))


def _applied(result: CaseResult, entries: Sequence[KnownFailure]) -> CaseResult:
    for entry in entries:
        # One that comes now and then is unknown if it didn't come each time.
        seen = result.outcome is Outcome.FAIL or (
            result.outcome is Outcome.UNKNOWN and entry.intermittent
        )
        if seen and entry.shows_as(result.observed):
            return _as_known(result, entry)
    if not entries or result.outcome not in {Outcome.PASS, Outcome.FAIL}:
        return result
    listed = " or ".join(f'"{entry.observed}"' for entry in entries)
    if result.outcome is Outcome.PASS and any(entry.intermittent for entry in entries):
        why = next(entry.why for entry in entries if entry.intermittent)
        return replace(result, notes=(*result.notes, f"fails now and then: {why}"))
    if result.outcome is Outcome.PASS:
        message = f"listed as a known failure ({listed}), but passes: take it off the list"
        return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, message=message)
    note = f'{STALE}listed as a known failure ({listed}), but fails otherwise ("{result.observed}")'
    notes = (*result.notes, note)
    return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, notes=notes)


def _as_known(result: CaseResult, entry: KnownFailure) -> CaseResult:
    note = f"{KNOWN}{entry.why} ({entry.link})"
    return replace(result, outcome=Outcome.KNOWN_FAILURE, notes=(*result.notes, note))


def _holds(comparison: str, version: tuple[int, ...]) -> bool:
    sign = comparison[:2] if comparison[:2] in _COMPARE else comparison[:1]
    bound = _numbers(comparison[len(sign) :].strip())
    pairs = zip_longest(version, bound, fillvalue=0)
    first = next(((a, b) for a, b in pairs if a != b), (0, 0))
    return _COMPARE[sign](*first)


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, found[1].split("."))) if found else ()


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _place(document: Any, path: Iterable[str | int]) -> str:
    keys = list(path)
    match keys:
        case ["entries", int() as index, *rest]:
            entry = document["entries"][index]
            case_id = entry.get("case", "?") if isinstance(entry, dict) else "?"
            return " ".join([f"entry {index + 1} (case {case_id})", *map(str, rest)])
        case _:
            return ".".join(map(str, keys)) or "the whole"
