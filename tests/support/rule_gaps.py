"""The cells of rules, triggers and versions that no case shows, and why not."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from fencepost.conformance.cases import ENTRIES
from fencepost.model.revisions import revisions
from tools.kill_matrix.rule_matrix import cells_of, covering_cases

_NO_NAME = "the group of no name is one for a whole cluster, so a case would meet what others left"
_DELAY = "during the initial delay each member has a join that waits, and leaves with it"
_MEMBER = "a static member that restarts in a stable group is a member, so it has its place"
_OVER = "with all members parked, or none left, and nothing pending the wait is over before"

_EARLIER = (
    "another check answers first, whatever the sizes; one case each for commits, joins and syncs"
)
_ALIKE = "who commits without being a member is not looked at; a case commits so in each version"
_SHORT = "metadata that are too long are left out first, and the rest is asked as if alone"
_NAMELESS = "before version 3 a commit in a transaction names nobody, so nobody is refused"


WHY_NOT = {
    "COMMIT-OUTSIDE-* · state *, mid *, inst *": _ALIKE,
    'COMMIT-OUTSIDE-* · group id ""': _NO_NAME,
    "COMMIT-*TOO-LARGE · long metadata True": _SHORT,
    "COMMIT-* · long metadata True": _EARLIER,
    "COMMIT-* · record too large": _EARLIER,
    "TXN-COMMIT-OUTSIDE-* · state *, mid *, inst *": _ALIKE,
    "TXN-COMMIT-*TOO-LARGE · long metadata True": _SHORT,
    "TXN-COMMIT-* · long metadata True": _EARLIER,
    "TXN-COMMIT-* · record too large": _EARLIER,
    "TxnOffsetCommit ILLEGAL_GENERATION · v*": _NAMELESS,
    "TxnOffsetCommit UNKNOWN_MEMBER_ID · v*": _NAMELESS,
    "JOIN-* · record too large": _EARLIER,
    "SYNC-* · record too large": _EARLIER,
    'COMMIT-GROUP-ABSENT* · group id ""': _NO_NAME,
    'COMMIT-GROUP-NOT-FOUND · group id ""': _NO_NAME,
    'FETCH-ANYBODY · group id ""': _NO_NAME,
    'DELETE-ABSENT · group id ""': _NO_NAME,
    "JOIN-GROUP-FULL · selected protocol *changed": _MEMBER,
    "JOIN-PHASE-* · trigger *, initial delay *, parked no member *, left a member is left": _DELAY,
    "JOIN-PHASE-* · trigger the timer expired, * not running, parked all members*": _OVER,
    "SESSION-WAITING · state Stable": "in a stable group no request waits",
}
"""Cells that no case shows, as globs, and why not."""


def gaps(revision: str) -> list[str]:
    chosen = revisions.find(revision)
    return sorted(cells_of(chosen) - covering_cases(chosen, ENTRIES).keys())


def unexplained(cells: list[str], reasons: Mapping[str, str]) -> list[str]:
    return [cell for cell in cells if not any(fnmatchcase(cell, glob) for glob in reasons)]
