"""What a departure would not have changed it does not explain; what it would have is seen."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.findings import TRACES

from fencepost.conformance.cases import ENTRIES
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.departures.attribution import Footprint
from fencepost.properties.departures.known_departures import DEPARTURES, departed
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.judging.outcome import CaseResult
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.verdict import Verdict
from fencepost.traces.files.trace_file import TraceFile

ALONE = {
    name: departed(KAFKA_4, (departure,))
    for name, departure in DEPARTURES.items()
    if departure.protocol is CLASSIC
}
WRONG = {
    **{name: MUTANTS[name].revision for name in list(MUTANTS)[::15]},
    **dict(list(ALONE.items())[::2]),
}


def failures(revision: Revision) -> Iterator[Recording]:
    target = InProcessTarget("model:wrong", revision, "0")
    results: tuple[CaseResult, ...] = asyncio.run(
        certify(target, KAFKA_4, ENTRIES[::9], Options())
    ).results
    for result in results:
        if result.violation is not None and result.recording is not None:
            yield result.recording


def followed(revision: Revision, recording: Recording) -> tuple[int, Verdict]:
    oracle = Oracle(revision, recording.config, lag_ms=recording.lag_ms)
    for place, event in enumerate(recording.history):
        oracle.observe(event)
        if not oracle.open():
            return place, oracle.verdict()
    return len(recording.history), oracle.verdict()


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_untouched_explains_as_much_as_the_revision(wrong: str) -> None:
    for recording in failures(WRONG[wrong]):
        footprint = Footprint(KAFKA_4)
        plain = followed(footprint.revision, recording)
        assert plain == followed(KAFKA_4, recording)
        untouched = set(footprint.untouched(ALONE, recording.config))
        assert untouched
        for name in untouched:
            assert followed(ALONE[name], recording) == plain, name
        assert wrong not in untouched


@pytest.mark.parametrize("wrong", WRONG)
def test_what_no_longer_holds_never_does_again(wrong: str) -> None:
    for recording in failures(WRONG[wrong]):
        oracle = Oracle(KAFKA_4, recording.config, lag_ms=recording.lag_ms)
        held = True
        for event in recording.history:
            oracle.observe(event)
            verdict = oracle.verdict()
            assert oracle.holds() is (verdict.violation is None and verdict.unknown is None)
            assert held or not oracle.holds()
            held = oracle.holds()
        assert not held


def test_a_departure_whose_steps_do_what_the_model_does_is_untouched() -> None:
    (recording,) = itertools.islice(failures(MUTANTS["zombie-heartbeats"].revision), 1)
    footprint = Footprint(KAFKA_4)
    followed(footprint.revision, recording)
    performed = {do for rule in footprint.decided.values() for do in rule.effect}
    concerned = {d.name for d in DEPARTURES.values() if not performed.isdisjoint(d.twists)}
    assert "protocol-twice" in concerned & set(footprint.untouched(ALONE, recording.config))


@pytest.mark.parametrize("path", [p for p in TRACES if p.stem in ALONE], ids=lambda path: path.stem)
def test_a_departure_touches_what_was_found_of_it(path: Path) -> None:
    trace = TraceFile.read(path)
    footprint = Footprint(KAFKA_4)
    assert trace.judge(revision=footprint.revision).violation is not None
    assert path.stem not in footprint.untouched(ALONE, trace.config)
    assert Footprint(KAFKA_4).decided == {}
