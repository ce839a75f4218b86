"""List known failures: faults of a target with a reason, so that they don't fail a run.

A failure is the listed one if target, version, case and signature (`CheckResult.observed`) are
equal.  A case that is listed but passes, or fails in another way, is stale: the list is wrong, and
that counts as much as a failure.

An entry with a `cause` covers the failures that this departure explains, in any case or random
plan, and no other that merely looks like it.  An entry without one covers its own case, and in a
search all failures of its kind.  An entry of `RULE/*` is of no case: only a search needs it.
Where a fault depends on the target's timers and may occur in any case, its entry has `anywhere`: it
covers failures of its look without a known cause, in the cases of the catalogue.

A certificate has a known failure as a note, which is written by `note_of` and read by `read_notes`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Annotated, NamedTuple, Self

import msgspec
from msgspec import Meta

from fencepost.model.history.words import without_names
from fencepost.properties.departures.attribution import departures_in
from fencepost.properties.departures.known_departures import DEPARTURES
from fencepost.properties.judging.answer_diff import SILENT, TOO_LATE
from fencepost.properties.oracle.fingerprint import kind_in_words

ANY_NUMBER = " #*"
"""In a signature: any number of a request, where it depends on when timers fire."""

OF_PLANS = "/*"
"""The end of an entry's case, behind a rule: random plans show the failure, and no case does."""

UNEXPLAINED = "not explained yet"
"""The reason in a list that was just written, until somebody explains it."""

_KNOWN, _STALE = "known failure: ", "stale: "
_NUMBER = r"(?: #\d+)?"
_NOTE = re.compile(r"(?P<why>.*?)(?: \((?P<link>https://[^\s()]+)\))?")
_COMPARISON = r"(==|!=|>=|<=|>|<)\s*[0-9]+(\.[0-9]+)*"
_COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


_GENERATION = re.compile(r"generation \d+")


class KnownFailure(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of a list.

    A failure is known only if it is exactly as listed.  If the case passes, or fails in another
    way, the entry is stale.
    """

    target: Annotated[
        str,
        Meta(
            min_length=1,
            description="The name of the target, or its kind: the part before the first colon",
        ),
    ]
    versions: Annotated[
        str,
        Meta(
            pattern=rf"^(\*|{_COMPARISON}(\s*,\s*{_COMPARISON})*)$",
            description="Versions of the implementation: comparisons that must all hold, "
            "such as >=2.16,<2.17; * for any",
        ),
    ]
    case: Annotated[
        str,
        Meta(
            min_length=1,
            description="The id of the case; RULE/* for a failure that only random plans show",
        ),
    ]
    rule: Annotated[str, Meta(min_length=1, description="The violated rule")]
    observed: Annotated[
        str,
        Meta(
            min_length=1,
            description="The signature of the failure, as in the certificate.  Write #* for the "
            "number of a request if it differs from run to run, because timers decide which of "
            "several equal requests fails: 'a Heartbeat #*: UNKNOWN_MEMBER_ID'",
        ),
    ]
    why: Annotated[str, Meta(min_length=1, description="The reason, in your words")]
    link: Annotated[str, Meta(description="A page to read more, such as an issue; may be empty")]
    intermittent: Annotated[
        bool,
        Meta(
            description="The failure does not occur in each run, because it depends on something "
            "that no case can control.  A pass is then not stale"
        ),
    ] = False
    anywhere: Annotated[
        bool,
        Meta(
            description="The target's timers decide in which cases the failure occurs.  The entry "
            "then covers every case, by rule and observed answer, unless the failure has a known "
            "cause"
        ),
    ] = False
    cause: Annotated[
        str,
        Meta(
            description="The name of the finding that is the cause: a known fault of Kafka.  The "
            "entry then covers every failure that the cause explains, in any case or plan, and "
            "no other that looks like it.  Without a cause, fuzz takes failures of the same rule, "
            "request and errors as known",
            extra_json_schema={"enum": sorted(DEPARTURES)},
        ),
    ] = ""

    def shows_as(self, observed: str) -> bool:
        """Tell if an observed signature is that of this entry."""
        if ANY_NUMBER not in self.observed:
            return self.observed == observed
        parts = map(re.escape, self.observed.split(ANY_NUMBER))
        return re.fullmatch(_NUMBER.join(parts), observed) is not None

    def covers(self, observed: str) -> bool:
        """Tell if a failure with this signature is the one of this entry.

        An answer that is wrong as listed, and was waited for in vain at first, is the same.
        """
        return self.shows_as(observed) or self.shows_as(observed.removesuffix(f", {TOO_LATE}"))

    @property
    def reason(self) -> str:
        """Return the reason, with the link if there is one."""
        return f"{self.why} ({self.link})" if self.link else self.why


class ListedFailures:
    """The failures that are listed for a target.

    `late`: the cases that fail by lateness; True: each time.
    """

    def __init__(self, entries: Sequence[KnownFailure]) -> None:
        self._own: dict[str, list[KnownFailure]] = {}
        for entry in entries:
            self._own.setdefault(entry.case, []).append(entry)
        self._anywhere = {_look(e.rule, e.observed): e for e in reversed(entries) if e.anywhere}
        self.late = {
            case: not any(entry.intermittent for entry in own)
            for case, own in self._own.items()
            if any(entry.observed.endswith((TOO_LATE, SILENT)) for entry in own)
        }

    def own(self, case: str) -> list[KnownFailure]:
        """Return the entries of a case."""
        return self._own.get(case, [])

    def may_cover(self, case: str) -> bool:
        """Tell if a failure of a case can be listed: for the case, or for all."""
        return case in self._own or bool(self._anywhere)

    def general(self, rules: Iterable[str], observed: str) -> KnownFailure | None:
        """Return the entry for a failure that is known in all cases, or None.

        `rules`: those by which a list may name it; `observed`: its signature.
        """
        looks = (_look(rule, observed) for rule in rules)
        return next((self._anywhere[look] for look in looks if look in self._anywhere), None)

    def is_all_of(self, case: str, observed: str) -> bool:
        """Tell if a failure is all that is listed for a case, and is there each time."""
        own = self.own(case)
        return bool(own) and all(e.covers(observed) and not e.intermittent for e in own)


def _look(rule: str, observed: str) -> tuple[str, str]:
    """Return the part that is equal in all cases: the generation depends on the timers, too."""
    return rule, _GENERATION.sub("generation …", without_names(observed))


def note_of(reason: str) -> str:
    """Write the note of a known failure."""
    return f"{_KNOWN}{reason}"


def stale_note(failure: str) -> str:
    """Write the note of a case that fails in another way than is listed."""
    return f"{_STALE}{failure}"


class KnownNotes(NamedTuple):
    """The notes of a case in a certificate, as far as they are about known failures.

    `reason`: of a known failure, with its link; `why`, `link`: its parts; `stale`: the listed
    failure instead of the observed one.  Each is "" for none.
    """

    reason: str = ""
    why: str = ""
    link: str = ""
    stale: str = ""


def read_notes(notes: Iterable[str]) -> KnownNotes:
    """Read the notes of a case in a certificate's file, in which all notes are text."""
    notes = list(notes)
    reason = next((n.removeprefix(_KNOWN) for n in notes if n.startswith(_KNOWN)), "")
    stale = next((n.removeprefix(_STALE) for n in notes if n.startswith(_STALE)), "")
    parts = _NOTE.fullmatch(reason)
    why, link = (reason, "") if parts is None else (parts["why"], parts["link"] or "")
    return KnownNotes(reason, why, link, stale)


@dataclass(frozen=True, slots=True)
class KnownReasons:
    """The reasons of known failures, for plans that are no cases of the catalogue.

    `by_cause`: of entries with a cause, by departure; `by_kind`: of the others, by rule and kind
    (`kind_in_words`).
    """

    by_cause: Mapping[str, str] = field(default_factory=dict)
    by_kind: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[KnownFailure]) -> Self:
        """Make it from entries.  Of a cause or kind with several reasons the shortest is taken.

        The others say more of their case than of the fault.
        """
        by_cause: dict[str, str] = {}
        by_kind: dict[tuple[str, str], str] = {}
        for entry in entries:
            if entry.cause:
                why = by_cause.get(entry.cause, entry.why)
                by_cause[entry.cause] = min(why, entry.why, key=len)
            else:
                kind = entry.rule, kind_in_words(entry.observed.replace(ANY_NUMBER, ""))
                by_kind[kind] = min(by_kind.get(kind, entry.why), entry.why, key=len)
        return cls(by_cause, by_kind)

    def of_failure(self, cause: str, rule: str, observed: str) -> tuple[str, ...]:
        """Return the reasons why a failure is known: of its cause, else of its kind; or ()."""
        if causes := self.each_of(cause):
            return causes
        why = self.by_kind.get((rule, kind_in_words(observed)))
        return () if why is None else (why,)

    def of_cause(self, cause: str) -> str:
        """Return the reasons of all departures of a cause.

        "" where it has none, or one isn't listed.
        """
        return "; and ".join(self.each_of(cause))

    def each_of(self, cause: str) -> tuple[str, ...]:
        """Return the reasons of `of_cause` one by one."""
        reasons = [self.by_cause.get(name, "") for name in departures_in(cause)]
        return tuple(dict.fromkeys(reasons)) if all(reasons) else ()


def aliases_of(target: object) -> frozenset[str]:
    """Return further names of a target in the lists."""
    aliases: frozenset[str] = getattr(target, "aliases", frozenset())
    return aliases


def range_of(version: str) -> str:
    """Return the versions that differ from this one in the last number alone, or `*`."""
    numbers = _numbers(version)
    if not numbers:
        return "*"
    return f">={_dotted(numbers)},<{_dotted((*numbers[:-1], numbers[-1] + 1))}"


def matches(versions: str, version: str) -> bool:
    """Tell if a version lies in a range; a version without numbers lies in `*` alone."""
    if versions == "*":
        return True
    numbers = _numbers(version)
    if not numbers:
        return False
    return all(_holds(part.strip(), numbers) for part in versions.split(","))


def listed_as(entries: Sequence[KnownFailure]) -> str:
    """Return the signatures of entries in words, with the meaning of `#*`."""
    signatures = [entry.observed for entry in entries]
    words = " or ".join(f'"{signature}"' for signature in signatures)
    if any(ANY_NUMBER in signature for signature in signatures):
        return f"{words}; #* stands for the number of any such request"
    return words


def _holds(comparison: str, version: tuple[int, ...]) -> bool:
    sign = comparison[:2] if comparison[:2] in _COMPARE else comparison[:1]
    bound = _numbers(comparison[len(sign) :].strip())
    pairs = zip_longest(version, bound, fillvalue=0)
    first = next(((a, b) for a, b in pairs if a != b), (0, 0))
    return _COMPARE[sign](*first)


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else ()


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
