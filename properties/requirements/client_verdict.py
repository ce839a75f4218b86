"""What a judge says of one obligation, in the light of one run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from fencepost.properties.requirements.evidence import Evidence

_SLOW_MS = 250
"""Where the control had to wait longer than that, nothing is held against the client that rests on
how late something was."""


class Finding(Enum):
    """What came out."""

    HOLDS = "holds"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came out for an obligation.

    `sentence`: what was seen, with the names of this run.  `observed`: the same in words that are
    equal in every run, which known failures are matched by; "" unless it is violated.  `at_ms`:
    where on the timeline it shows.  `waited`: from when to when something was waited for in vain,
    where the verdict rests on that.
    """

    finding: Finding
    sentence: str = ""
    observed: str = ""
    at_ms: float | None = None
    waited: tuple[float, float] | None = None


HOLDS = Verdict(Finding.HOLDS)


def holds(sentence: str = "") -> Verdict:
    """The obligation is met."""
    return Verdict(Finding.HOLDS, sentence)


def violated(
    observed: str,
    sentence: str,
    at_ms: float | None = None,
    *,
    waited: tuple[float, float] | None = None,
) -> Verdict:
    """The obligation is broken."""
    return Verdict(Finding.VIOLATED, sentence, observed, at_ms, waited)


def unknown(sentence: str) -> Verdict:
    """The run doesn't show it."""
    return Verdict(Finding.UNKNOWN, sentence)


def unsupported(sentence: str) -> Verdict:
    """The library has no such thing."""
    return Verdict(Finding.UNSUPPORTED, sentence)


def weighed(verdict: Verdict, evidence: Evidence) -> Verdict:
    """The verdict; unknown where it rests on a wait during which the machine was slow.

    A run that broke off shows nothing but what is wrong.
    """
    if verdict.finding is Finding.VIOLATED and verdict.waited is not None:
        worst = evidence.worst_stall_ms(*verdict.waited)
        if worst > _SLOW_MS:
            said = f"{verdict.sentence}; but the control client had to wait {worst:.0f} ms then"
            return replace(verdict, finding=Finding.UNKNOWN, sentence=said, observed="")
    if verdict.finding is Finding.UNKNOWN and evidence.unsupported:
        return unsupported(evidence.unsupported)
    if evidence.broken and verdict.finding in {Finding.HOLDS, Finding.UNKNOWN}:
        return unknown(evidence.broken)
    return verdict
