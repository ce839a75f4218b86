from __future__ import annotations

from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.model.revisions import revisions
from fencepost.properties.departures.attribution import departures_of
from fencepost.properties.departures.known_departures import (
    DEPARTURES,
    KFAKE,
    coordinator_of,
    departed,
    families,
)
from fencepost.traces.files.trace_file import TraceFile

FINDINGS = ROOT / "docs" / "findings"
HERE = Path(__file__).parent


def evidence(name: str) -> TraceFile:
    return TraceFile.read(FINDINGS / f"{name}.json")


def explaining(trace: TraceFile) -> list[str]:
    """The departures that explain a trace, each alone."""
    base = revisions.find(trace.revision)
    return [
        name
        for name, departure in departures_of(base).items()
        if trace.judge(revision=departed(base, [departure])).violation is None
    ]


OF_KAFKA = [name for name, one in DEPARTURES.items() if one.of != {KFAKE}]


@pytest.mark.parametrize("name", OF_KAFKA)
def test_each_is_written_up_under_its_name_with_a_trace_that_it_alone_explains(name: str) -> None:
    title = (FINDINGS / f"{name}.md").read_text(encoding="utf-8").splitlines()[0]
    assert title.removeprefix("# ").lower() == DEPARTURES[name].about.lower()
    trace = evidence(name)
    assert trace.judge().violation is not None
    assert explaining(trace) == [name]


@pytest.mark.parametrize("name", ["everybody-leads", "pending-not-awaited"])
def test_what_kfake_answers_in_turns_has_one_cause(name: str) -> None:
    trace = TraceFile.read(HERE / "kfake" / f"{name}.json")
    assert trace.judge().violation is not None
    assert explaining(trace) == [name]


def test_several_can_be_built_in_at_once() -> None:
    base = revisions.find("kafka-4")
    every = departed(base, [DEPARTURES[name] for name in OF_KAFKA])
    assert every.name == "kafka-4 + " + " + ".join(OF_KAFKA)
    for name in OF_KAFKA:
        assert evidence(name).judge(revision=every).violation is None
    # A step that two of them perform otherwise is performed otherwise by both.
    twice, absent = DEPARTURES["protocol-twice"], DEPARTURES["absent-static-member"]
    assert twice.twists.keys() & absent.twists.keys()
    both = departed(base, [twice, absent])
    for name in (twice.name, absent.name):
        assert evidence(name).judge(revision=both).violation is None
    assert evidence("parked-sync").judge(revision=both).violation is not None


def test_a_coordinator_has_all_of_its_departures_at_once() -> None:
    base = revisions.find("kafka-4")
    assert {one.name for family in families() for one in family} == departures_of(base).keys()
    for family in families():
        whole = departed(base, family)
        for one in family:
            if one.name in OF_KAFKA:
                assert evidence(one.name).judge(revision=whole).violation is None


@pytest.mark.parametrize(
    ("target", "coordinator"),
    [
        ("kafka:2.3.0", "kafka+old"),
        ("kafka:3.9.1", "kafka+old"),
        ("kafka:3.9.1+old*3", "kafka+old"),
        ("kafka:3.8.0+new", "kafka+new"),
        ("kafka:4.3.0", "kafka+new"),
        ("kafka:4.3.0*3", "kafka+new"),
        ("kafka:10.0.0", "kafka+new"),
        ("kfake", "kfake"),
        ("tcp://localhost:9092", ""),
        ("", ""),
    ],
)
def test_the_coordinator_of_a_target(target: str, coordinator: str) -> None:
    assert coordinator_of(target) == coordinator
