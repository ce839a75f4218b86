"""A departure has its level in each case of the catalogue that meets it; `tox -e mutants`."""

from __future__ import annotations

import asyncio

import pytest

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import LEVELS
from fencepost.properties.departures.attribution import departures_of
from fencepost.properties.departures.known_departures import Departure, departed
from fencepost.properties.judging.outcome import Outcome

OF_CLASSIC = departures_of(KAFKA_4)
HIDING = {"undone-group"}
"""What isn't written isn't shown either; that alone is SHOULD, as for `unseen-at-first`."""


@pytest.mark.parametrize("departure", OF_CLASSIC.values(), ids=OF_CLASSIC)
def test_a_departure_is_as_grave_as_the_gravest_of_its_cases(departure: Departure) -> None:
    target = InProcessTarget("model:departed", departed(KAFKA_4, (departure,)), "0")
    done = asyncio.run(certify(target, KAFKA_4, ENTRIES, Options()))
    levels = {result.level for result in done.results if result.outcome is Outcome.FAIL}
    assert min(levels, key=LEVELS.index) is departure.level
    assert levels == {departure.level} or departure.of == {"kfake"} or departure.name in HIDING
