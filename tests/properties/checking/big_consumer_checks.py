"""Check every revision of the consumer protocol in all scopes: what fails is what is known to.

Each mutant is found by the property that `CONSUMER_BREAKS` names.  It takes minutes.
"""

from __future__ import annotations

import pytest
from support.consumer_mutants import first_broken

from fencepost.model.revisions import revisions
from fencepost.model.table.table_soundness import table_faults
from fencepost.properties.checking.checking import (
    PropertyStatus,
    check_promises,
    check_revision,
)
from fencepost.properties.mutants.consumer_mutants import CONSUMER_BREAKS, CONSUMER_MUTANTS

_HURRIED = {"a-failover-hurries-nobody"}
_OWNERLESS = _HURRIED | {
    "a-target-is-complete",
    "an-id-keeps-its-instance",
    "every-partition-gets-an-owner",
}
_OF_4_4 = _OWNERLESS | {
    "a-join-can-be-sent-again",
    "a-repeated-join-comes-through",
    "a-target-is-taken-over",
}
_OF_4_3 = _OF_4_4 | {"an-entry-names-its-member", "a-released-instance-is-free"}
_OF_4_0 = _OF_4_3 | {"what-is-to-be-given-up-is-shown"}
EXPECTED = {
    "kip-848": _OWNERLESS,
    "consumer-4.0": _OF_4_0,
    "consumer-4.1": _OF_4_0,
    "consumer-4.2": _OF_4_0,
    "consumer-4.3": _OF_4_3,
    "consumer-4.3.1": _OF_4_3,
    "consumer-4.4": _OF_4_4,
    "pr-23542": _HURRIED,
}


def test_every_revision_is_checked() -> None:
    assert EXPECTED.keys() == set(revisions.CONSUMER_NAMES)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_revision_fails_as_is_known_and_in_nothing_else(name: str) -> None:
    revision = revisions.find(name)

    checked = check_revision(revision, jobs=2)
    promises = check_promises(revision, jobs=2)

    findings = {r.property.id: r.finding for r in checked.results}
    findings |= {kept.promise.id: kept.finding for kept in promises}
    assert {i for i, f in findings.items() if f is PropertyStatus.EXPECTED} == EXPECTED[name]
    assert set(findings.values()) <= {PropertyStatus.EXPECTED, PropertyStatus.HOLDS}
    assert checked.is_finished


@pytest.mark.parametrize("name", CONSUMER_MUTANTS)
def test_a_mutant_is_found_by_the_property_that_is_listed(name: str) -> None:
    assert first_broken(CONSUMER_MUTANTS[name].revision) == CONSUMER_BREAKS.get(name, "")


@pytest.mark.parametrize("name", CONSUMER_MUTANTS)
def test_a_mutant_decides_every_event_once(name: str) -> None:
    """A mutant answers wrongly, and does not stop."""
    mutant = CONSUMER_MUTANTS[name]
    columns = mutant.revision.protocol.columns
    for table_name, table in mutant.revision.tables.items():
        if table is not mutant.base.tables[table_name]:
            assert table_faults(table, columns) == []
