"""No shipped revision breaks a property unlisted: all of them, with patches, in all scopes.

Some minutes; part of `tox -e mutants`.
"""

from __future__ import annotations

import pytest

from fencepost.model.revisions import revisions
from fencepost.properties.checking.checking import PropertyStatus, check_promises, check_revision

PATCHES = ("kafka-2.3.0", "kafka-2.6.0", "kafka-2.8.0", "kafka-4.1")
FOUND: dict[str, set[str]] = {
    "comment-table-1": {
        "no-two-consumers-on-one-id",
        "one-client-per-id",
        "the-replaced-is-fenced",  # nobody is replaced
    },
    "comment-table-2": {
        "every-request-is-answered",
        "leader-assigns-to-the-members",
        "stable-is-stored",  # rows 4.2 and 5 change a stable group, and don't store it
    },
    "experiment-target-size": {  # a member, the leader say, ends without a rebalance
        "one-leading-seat",
        "what-a-member-had-is-handed-on",
    },
    "member-name-draft": {  # its joins are of another form, which these don't look at
        "a-restart-in-a-stable-group-is-quiet",
        "a-session-timeout-is-within-bounds",
        "pending-goes-only-by-its-own",
        "pending-is-no-member",
        "restart-in-stable-causes-nothing",
    },
    "tuple-list-leave-draft": {"zombie-is-told"},
    "two-list-leave-draft": {"zombie-is-told"},
}
"""What `check` is for: what is wrong with a text that never shipped, and what is never tested."""


@pytest.mark.parametrize("name", [*revisions.NAMES, *PATCHES])
def test_what_is_broken_is_listed(name: str) -> None:
    revision = revisions.find(name)
    found = {r.property.id: r.finding for r in check_revision(revision).results}
    found |= {kept.promise.id: kept.finding for kept in check_promises(revision)}
    unlisted = {PropertyStatus.BROKEN, PropertyStatus.UNTESTED}
    assert {one for one, status in found.items() if status in unlisted} == FOUND.get(name, set())
