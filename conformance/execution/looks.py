"""What a failure looks like: its rule and what was seen, without names and numbers.

Decides when failures of different plans are held for the same fault.  In another plan members have
other names, and the group has other generations; the rule and the kind of answer stay.
"""

from __future__ import annotations

import re

from fencepost.conformance.execution.outcome import CaseResult
from fencepost.model.revision import Revision
from fencepost.properties.oracle.fingerprint import broken_rule

Look = tuple[str, str]
"""A rule ("" for none) and what was seen."""

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
