"""Which property speaks of each row, against the file that `check` reads: `tox -e mutants`.

The file is made anew by `python tests/properties/checking/big_row_properties.py`, some minutes;
with names of revisions, of these alone.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor

from support.places import ROOT

from fencepost.model.revisions import revisions
from fencepost.properties.checking.row_properties import known_rows, own_rules, speaking_property

FILE = ROOT / "properties" / "checking" / "row_properties.json"
SAFE = ("kafka-4", "kip-345", *revisions.CONSUMER_NAMES)
"""The revisions that break nothing but what they are known for."""
JOBS = 2


def found(name: str) -> dict[str, str]:
    """Rule of a revision's own → the property that speaks of it."""
    revision = revisions.find(name)
    asked = own_rules(revision)
    said = {rule.id: speaking_property(revision, table, rule) for table, rule in asked}
    return {rule_id: one for rule_id, one in said.items() if one is not None}


def _one(name: str, rule_id: str) -> str | None:
    revision = revisions.find(name)
    ((table, rule),) = [(t, r) for t, r in own_rules(revision) if r.id == rule_id]
    return speaking_property(revision, table, rule)


def test_a_property_speaks_of_each_row_that_one_is_said_to_speak_of() -> None:
    for name in SAFE:
        now = found(name)
        assert {r for r, one in known_rows()[name].items() if one} <= {r for r in now if now[r]}


def main() -> None:
    """Write the file."""
    made = {name: dict(rows) for name, rows in known_rows().items()}
    with ProcessPoolExecutor(JOBS) as pool:
        for name in sys.argv[1:] or SAFE:
            made[name] = {}
            ids = [rule.id for _, rule in own_rules(revisions.find(name))]
            for rule_id, one in zip(ids, pool.map(_one, [name] * len(ids), ids), strict=True):
                print(name, rule_id, one, flush=True)  # noqa: T201  (it takes minutes)
                if one is not None:
                    made[name][rule_id] = one
    FILE.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
