"""No shipped revision breaks a property that it isn't known to break: all of them, in all scopes.

Some minutes; part of `tox -e mutants`.  Releases with the same rules and versions are one.
"""

from __future__ import annotations

import pytest

from fencepost.model.revisions import revisions
from fencepost.properties.checking.checking import PropertyStatus, check_promises, check_revision

PATCHES = ("kafka-2.3.0", "kafka-2.6.0", "kafka-2.8.0", "kafka-4.1")
BROKEN: dict[str, set[str]] = {}
"""What is wrong with a text, and not known of a coordinator: this is what `check` is for."""


@pytest.mark.parametrize("name", [*revisions.NAMES, *PATCHES])
def test_what_is_broken_is_listed(name: str) -> None:
    revision = revisions.find(name)
    checked = check_revision(revision)
    found = {r.property.id: r.finding for r in checked.results}
    found |= {kept.promise.id: kept.finding for kept in check_promises(revision)}
    fine = {PropertyStatus.HOLDS, PropertyStatus.EXPECTED}
    assert {one for one, status in found.items() if status not in fine} == BROKEN.get(name, set())
