"""Every property has a case in some world, and holds in all of them: `tox -e explore`."""

from __future__ import annotations

from fencepost.model.revisions import revisions
from fencepost.properties.checking.checking import PropertyStatus, check_revision


def test_every_property_has_a_case_in_some_world() -> None:
    result = check_revision(revisions.find("kafka-4"))

    assert [r.property.id for r in result.results if r.finding is PropertyStatus.UNTESTED] == []
    assert result.holds
