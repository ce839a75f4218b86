"""Known failures as the fuzzer meets them: by rule and by what was seen, or by their cause.

Decides when a failure is one of those listed.  Lists are about the catalogue's cases; a plan that
was drawn is none of them.  So the rule must be the same, and so must what was seen once names and
numbers are left out.  Or the failure, whatever it looks like, has a known cause, and the list says
of an entry that it has the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fencepost.conformance.certify.known_failures import KnownFailure
from fencepost.conformance.execution.looks import Look
from fencepost.traces.files.causes import departures_in

LISTED = "listed"
"""Instead of a rule, where what follows is the reason of a listed failure."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The reasons of listed failures, by what they look like and by their cause."""

    looks: Mapping[Look, str] = field(default_factory=dict)
    causes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[KnownFailure]) -> Listed:
        """Of these entries; where several look alike, any of their reasons may be the right one."""
        looks: dict[Look, list[str]] = {}
        causes: dict[str, str] = {}
        for entry in entries:
            reasons = looks.setdefault(entry.look, [])
            if entry.why not in reasons:
                reasons.append(entry.why)
            if entry.cause:  # the plainest reason: others say more of their case than of it
                causes[entry.cause] = min(causes.get(entry.cause, entry.why), entry.why, key=len)
        return cls({look: "; or ".join(reasons) for look, reasons in looks.items()}, causes)

    def reason(self, cause: str) -> str:
        """The reasons of all departures of a cause; "" where it has none, or one isn't listed."""
        found = [self.causes.get(name) for name in departures_in(cause)]
        return "; and ".join(why for why in found if why) if all(found) else ""


def known_looks(entries: Iterable[KnownFailure]) -> dict[Look, KnownFailure]:
    """What the listed failures look like, each with the first entry that is so."""
    looks: dict[Look, KnownFailure] = {}
    for entry in entries:
        looks.setdefault(entry.look, entry)
    return looks
