"""What is done in a scenario is written as it was published: `act`, and no defaults.

`scenario_digests.txt` holds the id of each published scenario and a digest of its acts and its
broker as JSON.  None of them may change or go; a scenario that is new is added at a release.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS

DIGESTS = dict(
    map(str.split, Path(__file__).with_name("scenario_digests.txt").read_text("utf-8").splitlines())
)


@pytest.mark.parametrize("name", DIGESTS)
def test_a_published_scenario_is_written_as_before(name: str) -> None:
    document = SCENARIOS[name].to_json()
    text = "\n".join((json.dumps(document["acts"]), json.dumps(document.get("broker"))))
    assert hashlib.sha256(text.encode()).hexdigest()[:12] == DIGESTS[name]
