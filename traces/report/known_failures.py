"""Known failures: faults of a target that are listed with a reason, so that they don't fail a run.

A failure is the listed one if target, version, case and signature (`CaseResult.observed`) are the
same.  A case that is listed but passes, or fails in another way, is stale: the list is wrong, and
that counts as much as a failure.

An entry with a `cause` covers what that departure explains, in any case or random plan, and nothing
that merely looks like it.  An entry without one covers its own case alone.  Where a fault depends
on the target's timers and may be seen in any case, its entry says so (`anywhere`): it covers what
has its look and no known cause, in the cases of the catalogue.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

from fencepost.model.bad_input import BadInputError
from fencepost.model.history.words import plural
from fencepost.model.plans.times import LEAST_LAG_MS
from fencepost.model.revision import Revision
from fencepost.properties.departures.attribution import departures_in
from fencepost.properties.judging.answer_diff import TOO_LATE
from fencepost.properties.judging.outcome import CaseResult, Outcome
from fencepost.properties.oracle.fingerprint import broken_rule, without_names
from fencepost.properties.oracle.verdict import Violation
from fencepost.traces.files.bounded import DocumentError, read_json, schema_error

FORMAT = "fencepost-known-failures"
VERSION = 1
FOLDER = Path(__file__).with_name("known-failures")
SCHEMA_FILE = Path(__file__).with_name("known-failures-1.schema.json")

_SEE = "`fencepost schema known-failures` prints what is allowed"

KNOWN, STALE = "known failure: ", "stale: "
"""The beginning of a note that says why a failure is known, or what else was listed."""

ANY_NUMBER = " #*"
"""In a signature: any number of a request, where it depends on when timers fire."""

_UNLISTED = {Outcome.FAIL.value, Outcome.STALE_KNOWN_FAILURE.value}
_PLACES = {"tcp", "exec"}
"""Targets whose name is an address or a command, which may change: a list names the kind alone."""

UNEXPLAINED = "not explained yet"
"""What stands in a list that was just written, where somebody is to say why."""

_NAMED = 3
"""Of a list that is of no use so many targets are named."""

_NUMBER = r"(?: #\d+)?"
_GENERATION = re.compile(r"generation \d+")
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


class KnownFailuresError(BadInputError):
    """A list of known failures can't be read; `str()` names the file, the entry and the remedy."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """One entry of a list.

    `observed`: the signature as the certificate has it; ` #*` stands for any number of a request.
    `versions`: comparisons such as `>=2.16,<2.17`, or `*`.  `link`: may be "".  `intermittent`: the
    failure depends on something that no case can control (`why` says what), so a pass is not stale.
    `anywhere`: the failure depends on when the target's timers fire, so it may be seen in any case,
    in any generation, and is known in all.  `cause`: the known departure that explains it, in any
    case or plan, or "".
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

    def shows_as(self, observed: str) -> bool:
        """Whether an observed signature is that of this entry."""
        if ANY_NUMBER not in self.observed:
            return self.observed == observed
        parts = map(re.escape, self.observed.split(ANY_NUMBER))
        return re.fullmatch(_NUMBER.join(parts), observed) is not None


@dataclass(frozen=True, slots=True)
class KnownReasons:
    """The reasons of known failures by departure, for plans that are no cases of the catalogue."""

    by_cause: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[KnownFailure]) -> Self:
        """Make it from entries; entries without a cause say nothing of other plans."""
        by_cause: dict[str, str] = {}
        for entry in entries:
            if entry.cause:  # the shortest reason: others say more of their case than of the cause
                why = by_cause.get(entry.cause, entry.why)
                by_cause[entry.cause] = min(why, entry.why, key=len)
        return cls(by_cause)

    def of_cause(self, cause: str) -> str:
        """The reasons of all departures of a cause; "" where it has none, or one isn't listed."""
        return "; and ".join(self.each_of(cause))

    def each_of(self, cause: str) -> tuple[str, ...]:
        """The same, one by one."""
        found = [self.by_cause.get(name, "") for name in departures_in(cause)]
        return tuple(dict.fromkeys(found)) if all(found) else ()


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


def of_no_use(
    files: Iterable[Path],
    target_name: str,
    version: str,
    aliases: frozenset[str] = frozenset(),
) -> Iterator[str]:
    """Say of each list that has entries, but none for the target at this version, for which."""
    names = aliases | {target_name.partition(":")[0], target_name}
    for path in files:
        entries = read(path)
        if entries and not any(_is_for(entry, names, version) for entry in entries):
            whom = list(dict.fromkeys(f"{e.target} {e.versions}" for e in entries))
            more = f" and {len(whom) - _NAMED} more" if len(whom) > _NAMED else ""
            yield (
                f"{path} lists {plural(len(entries), 'known failure')}, none for {target_name} "
                f"(version {version}); it is for {', '.join(whom[:_NAMED])}{more}"
            )


def _is_for(entry: KnownFailure, names: Collection[str], version: str) -> bool:
    return entry.target in names and matches(entry.versions, version)


def aliases_of(target: object) -> frozenset[str]:
    """What else a target is called in the lists."""
    found: frozenset[str] = getattr(target, "aliases", frozenset())
    return found


def read(path: Path) -> list[KnownFailure]:
    """All entries of a file.  Raises KnownFailuresError."""
    try:
        document = read_json(path)
    except DocumentError as error:
        raise KnownFailuresError(f"{error}; a list is one JSON object: {_SEE}") from error
    wrong = schema_error(document, SCHEMA_FILE)
    if wrong is not None:
        raise KnownFailuresError(
            f"{path}: {_place(document, wrong.absolute_path)}: {wrong.message}; {_SEE}"
        )
    return [KnownFailure(**entry) for entry in document["entries"]]


def apply(
    results: Iterable[CaseResult], known: Sequence[KnownFailure], revision: Revision
) -> tuple[CaseResult, ...]:
    """Mark failures that are listed as known, and cases whose entry is wrong as stale.

    A result that is unknown, unsupported or skipped stays, since it says nothing about the list.
    There is one exception: a failure that its entry calls intermittent is known, too, where the
    case is unknown because it did not fail each time.
    """
    by_case: dict[str, list[KnownFailure]] = {}
    for entry in known:
        by_case.setdefault(entry.case, []).append(entry)
    # A steady failure says best what the cause is; an intermittent one may have more to it.
    steady_first = sorted(known, key=lambda entry: entry.intermittent)
    by_cause = {entry.cause: entry for entry in reversed(steady_first) if entry.cause}
    anywhere = {_look(e.rule, e.observed): e for e in reversed(known) if e.anywhere}

    def applied(result: CaseResult) -> CaseResult:
        entries = by_case.get(result.case.id, [])
        if result.outcome is Outcome.FAIL and result.violation is not None:
            names = departures_in(result.attribution(revision).cause)
            if names and all(name in by_cause for name in names):
                own = (e for e in entries if e.cause in names)
                return _as_known(result, next(own, by_cause[names[0]]))
            # What no listed departure explains is none of theirs, whatever it looks like.
            entries = [e for e in entries if not e.cause or not e.shows_as(result.observed)]
            looks = (_look(rule, result.observed) for rule in _rules(result.violation, revision))
            found = (anywhere[look] for look in looks if look in anywhere)
            general = next(found, None) if not names else None
            if general is not None and not any(e.shows_as(result.observed) for e in entries):
                return _as_known(result, general)
        return _applied(result, entries)

    return tuple(map(applied, results))


def drafted_list(
    certificate: Mapping[str, Any], target: str, old: Iterable[KnownFailure] = ()
) -> dict[str, Any]:
    """A list of all failures of a certificate (JSON), so that with it the target holds.

    `target`: what it is called, as in the command; `old`: entries to be kept unless the certificate
    shows that they are out of date.  A new entry's reason is the sentence of the failure, to be
    replaced by what was found out; the link is to be added.  Where the same failure is listed for
    another version, its reason and link are taken.
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
    told = {(e.case, e.observed): e for e in others if e.target in {kind, target}}
    new = []
    for case in certificate["cases"]:
        listed = any(e.case == case["id"] and e.shows_as(case["observed"]) for e in kept)
        if case["outcome"] in _UNLISTED and case["observed"] and not listed:
            before = told.get((case["id"], case["observed"]))
            new.append(
                KnownFailure(
                    target=kind if kind in _PLACES else target,
                    versions=_open_range(version) if kind in _PLACES else range_of(version),
                    case=case["id"],
                    rule=case["rule"] or case["id"].partition("/")[0],
                    observed=case["observed"],
                    why=before.why if before else f"{UNEXPLAINED}: {_reason_of(case)}",
                    link=before.link if before else "",
                )
            )
    entries = [_as_json(entry) for entry in (*others, *kept, *new)]
    return {"format": FORMAT, "version": VERSION, "entries": entries}


def _is_outdated(entry: KnownFailure, row: Mapping[str, Any]) -> bool:
    """Whether a case of a certificate shows that an entry is wrong."""
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


def _as_json(entry: KnownFailure) -> dict[str, Any]:
    """An entry as its file has it: without what is as usual."""
    usual = {"intermittent": False, "anywhere": False, "cause": ""}
    return {key: value for key, value in asdict(entry).items() if usual.get(key) != value}


def range_of(version: str) -> str:
    """The versions that differ from this one in the last number alone, or `*`."""
    numbers = _numbers(version)
    if not numbers:
        return "*"
    return f">={_dotted(numbers)},<{_dotted((*numbers[:-1], numbers[-1] + 1))}"


def _open_range(version: str) -> str:
    """This version and all later ones: of what is being made, a fixed failure shows as stale."""
    return range_of(version).partition(",")[0]


def matches(versions: str, version: str) -> bool:
    """Whether a version lies in a range; a version without numbers lies in `*` alone."""
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
        # An answer that is wrong as listed, and was waited for in vain at first, is the same.
        answer = result.observed.removesuffix(f", {TOO_LATE}")
        if seen and (entry.shows_as(result.observed) or entry.shows_as(answer)):
            return _as_known(result, entry)
    if not entries or result.outcome not in {Outcome.PASS, Outcome.FAIL}:
        return result
    listed = " or ".join(f'"{entry.observed}"' for entry in entries)
    if result.outcome is Outcome.PASS and any(entry.intermittent for entry in entries):
        why = next(entry.why for entry in entries if entry.intermittent)
        return replace(result, notes=(*result.notes, f"fails now and then: {why}"))
    lag_ms = 0 if result.recording is None else result.recording.lag_ms
    if result.outcome is Outcome.PASS and lag_ms > LEAST_LAG_MS and _is_of_lateness(entries):
        message = f"{listed} would not be seen with {lag_ms} ms of lag"
        return replace(result, outcome=Outcome.UNKNOWN, message=message)
    if result.outcome is Outcome.PASS:
        message = f"listed as a known failure ({listed}), but passes: take it off the list"
        return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, message=message)
    other = f'but fails in another way ("{result.observed}")'
    note = f"{STALE}listed as a known failure ({listed}), {other}"
    notes = (*result.notes, note)
    return replace(result, outcome=Outcome.STALE_KNOWN_FAILURE, notes=notes)


def _rules(violation: Violation, revision: Revision) -> tuple[str, ...]:
    """The broken rule; of an answer too early, or in wrong bytes, also what took the request in.

    Lists name one or the other.
    """
    rule = broken_rule(violation, revision)
    broken = rule.id if rule is not None else ""
    either = violation.wait is not None or violation.detail.startswith("bytes ")
    return (broken, *(violation.decided_by if either else ()))


def _look(rule: str, observed: str) -> tuple[str, str]:
    """What is the same in all cases: which generation it is depends on the timers, too."""
    return rule, _GENERATION.sub("generation …", without_names(observed))


def _is_of_lateness(entries: Iterable[KnownFailure]) -> bool:
    return any(entry.observed.endswith(TOO_LATE) for entry in entries)


def _as_known(result: CaseResult, entry: KnownFailure) -> CaseResult:
    note = f"{KNOWN}{entry.why}" + (f" ({entry.link})" if entry.link else "")
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
