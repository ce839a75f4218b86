from __future__ import annotations

import pytest
from support.places import ROOT

from fencepost.model.revisions import revisions
from fencepost.properties.mutants.departures import DEPARTURES, departed
from fencepost.traces.files.trace_file import TraceFile

FINDINGS = ROOT / "docs" / "findings"


def evidence(name: str) -> TraceFile:
    return TraceFile.read(FINDINGS / f"{name}.json")


@pytest.mark.parametrize("name", DEPARTURES)
def test_each_is_written_up_under_its_name_with_a_trace_that_it_alone_explains(name: str) -> None:
    title = (FINDINGS / f"{name}.md").read_text(encoding="utf-8").splitlines()[0]
    assert title.removeprefix("# ").lower() == DEPARTURES[name].about.lower()
    trace = evidence(name)
    base = revisions.find(trace.revision)
    assert trace.judge().violation is not None
    explaining = [
        other
        for other, departure in DEPARTURES.items()
        if trace.judge(revision=departed(base, [departure])).violation is None
    ]
    assert explaining == [name]


def test_several_can_be_built_in_at_once() -> None:
    base = revisions.find("kafka-4")
    every = departed(base, DEPARTURES.values())
    assert every.name == "kafka-4 + " + " + ".join(DEPARTURES)
    for name in DEPARTURES:
        assert evidence(name).judge(revision=every).violation is None
    # A step that two of them perform otherwise is performed otherwise by both.
    twice, absent = DEPARTURES["protocol-twice"], DEPARTURES["absent-static-member"]
    assert twice.twists.keys() & absent.twists.keys()
    both = departed(base, [twice, absent])
    for name in (twice.name, absent.name):
        assert evidence(name).judge(revision=both).violation is None
    assert evidence("parked-sync").judge(revision=both).violation is not None
