"""Known failures as the fuzzer meets them: by rule and by what was seen, in whatever plan.

Decides when a failure is one of those listed.  Lists are about the catalogue's cases; a plan that
was drawn is none of them, and its members have other names, its group other generations.  So the
rule must be the same, and so must what was seen once names and numbers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fencepost.conformance.known_failures import KnownFailure
from fencepost.conformance.outcome import CaseResult
from fencepost.model.revision import Revision
from fencepost.properties.failing import broken_rule

Look = tuple[str, str]
"""A rule ("" for none) and what was seen; for a listed failure `LISTED` and the reason."""

LISTED = "listed"

_SENDER = re.compile(r"^\S+ (?P<api>[A-Z][A-Za-z]+)(?: #(?:\d+|\*))?: ")
_LIST = re.compile(r"\[[^\[\]]*\]")
_NUMBER = re.compile(r"-?\b\d+\b")
_MEMBER = re.compile(r"\b(?:[A-Z]\d|[a-z])\b(?: \(id \d+\))?")


def look_of(result: CaseResult, revision: Revision) -> Look:
    """What a failure looks like."""
    violation = result.verdict.violation if result.verdict is not None else None
    rule = None if violation is None else broken_rule(violation, revision)
    return ("" if rule is None else rule.id), seen_in(result.observed)


def seen_in(observed: str) -> str:
    """A signature without the names of members, lists of them, and numbers."""
    text = _SENDER.sub(lambda found: f"{found['api']}: ", observed)
    text = _LIST.sub("[…]", text)
    return _NUMBER.sub("…", _MEMBER.sub("…", text))


def known_looks(entries: Iterable[KnownFailure]) -> dict[Look, KnownFailure]:
    """What the listed failures look like, each with the first entry that is so."""
    looks: dict[Look, KnownFailure] = {}
    for entry in entries:
        looks.setdefault((entry.rule, seen_in(entry.observed)), entry)
    return looks
