"""Behind a deviation the oracle goes on, and excuses nothing of what the case is about."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

from msgspec.structs import replace
from support.told import Told

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.in_process import InProcessTarget
from fencepost.model.coordinator import Answer
from fencepost.model.history.events import Answered, Event, Restarted
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.judging.answer_diff import Recording
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.properties.oracle.behind import OracleBehind, judge_behind
from fencepost.properties.oracle.oracle import judge
from fencepost.properties.oracle.verdict import Wrong
from fencepost.traces.forms.formats import read_trace

FIRST = "HEARTBEAT-STABLE/in-a-stable-group"
"""A case whose set-up meets a follower that assigns."""


def revision_of(name: str) -> Revision:
    return next(m.revision for m in MUTANTS.values() if m.name == name)


@cache
def recorded(name: str, case_id: str) -> Recording:
    """Return the whole run of a case on a mutant, beyond its first violation."""
    target = InProcessTarget(name, revision_of(name), "0")
    options = Options(persists=True)
    (result,) = asyncio.run(certify(target, KAFKA_4, [entry(case_id)], options)).results
    assert result.recording is not None
    return result.recording


def behind(
    recording: Recording, own: tuple[str, ...], only: tuple[str, ...] | None = None
) -> OracleBehind:
    history = recording.history
    return judge_behind(KAFKA_4, recording.config, history, lag_ms=0, own=own, only=only)


def test_goes_on_behind_what_is_not_the_subject() -> None:
    recording = recorded("follower-assigns", FIRST)
    plain = judge(KAFKA_4, recording.config, recording.history, lag_ms=0)
    assert plain.violation is not None
    oracle = behind(recording, ("HEARTBEAT-STABLE",))
    assert oracle.open()
    assert [each.request_id for each in oracle.excused] == [plain.violation.request_id]
    assert "HEARTBEAT-STABLE" in oracle.verdict().used


def test_rules_that_were_used_before_the_deviation_alone_do_not_count() -> None:
    oracle = behind(recorded("follower-assigns", FIRST), ("HEARTBEAT-STABLE",))
    assert "JOIN-PHASE-DELAY-OVER" not in oracle.verdict().used


def test_the_subject_itself_is_never_excused() -> None:
    recording = recorded("follower-assigns", FIRST)
    plain = judge(KAFKA_4, recording.config, recording.history, lag_ms=0)
    assert plain.violation is not None
    for own in plain.violation.decided_by:
        oracle = behind(recording, (own,))
        assert oracle.violation == plain.violation
        assert not oracle.excused


def test_only_the_named_answers_are_excused() -> None:
    recording = recorded("follower-assigns", FIRST)
    oracle = behind(recording, ("HEARTBEAT-STABLE",), only=())
    assert oracle.violation is not None
    assert not oracle.excused
    (first,) = behind(recording, ("HEARTBEAT-STABLE",)).excused
    assert behind(recording, ("HEARTBEAT-STABLE",), only=(first.request_id,)).open()


def test_nothing_is_said_of_what_a_failover_finds() -> None:
    recording = recorded("follower-assigns", FIRST)
    oracle = behind(recording, ("HEARTBEAT-STABLE",))
    now = recording.history[-1].at_ms
    oracle.observe(Restarted(now, now, ()))
    assert oracle.unknown is not None
    assert oracle.violation is None


def test_an_id_that_a_wrong_answer_handed_out_is_no_second_fault() -> None:
    """A trace of nafka 0.1, which gives an id first to a static member, too, and takes it then."""
    trace = read_trace(Path(__file__).with_name("nafka-second-process.json"))
    oracle = judge_behind(
        KAFKA_4,
        trace.config,
        trace.events,
        lag_ms=trace.lag_ms,
        own=("JOIN-STATIC-EMPTY-PREPARING",),
    )
    asked, *others = oracle.excused
    assert (asked.request_id, asked.decided_by[0]) == ("r1", "JOIN-STATIC-EMPTY-NEW")
    refused = ("UNKNOWN_MEMBER_ID", "UNKNOWN_SERVER_ERROR")
    assert not [o for o in others if all(a.difference.endswith(refused) for a in o.allowed)]


def test_a_generation_that_nobody_was_given_is_no_right_answer() -> None:
    """A trace of nafka 0.1, whose restarted leader is asked to come with an id."""
    trace = read_trace(Path(__file__).with_name("nafka-restarted-leader.json"))
    own = ("JOIN-STATIC-EMPTY-STABLE",)
    oracle = judge_behind(KAFKA_4, trace.config, trace.events, lag_ms=trace.lag_ms, own=own)
    assert oracle.violation is not None
    generations = {(each.body or {})["generationId"] for each in oracle.violation.allowed}
    assert generations == {1, 2}


def test_after_wrong_bytes_of_a_client_the_states_stay_known() -> None:
    """nafka writes subscriptions anew, and doesn't wait for the members: two faults are named."""
    config: dict[str, int | None] = {"group.initial.rebalance.delay.ms": 0}
    world = Told(config=config)
    world.stable("a")
    waits = world.admit("b")
    assert waits.error == "parked"
    body = {"errorCode": 0, "generationId": 2, "leader": "a-1", "memberId": "b-1", "members": []}
    body |= {"protocolType": "consumer", "protocolName": "range", "skipAssignment": False}
    at_once = Answered(Answer(waits._id, world.now, body))
    history: list[Event] = [*map(_with_other_metadata, world.history), at_once]
    oracle = judge_behind(KAFKA_4, config, history, lag_ms=0, own=("LEAVE-MEMBER",))
    other_bytes, early = oracle.excused
    assert other_bytes.allowed[0].difference.startswith("members.metadata is ")
    assert early.wrong is Wrong.EARLY


def _with_other_metadata(event: Event) -> Event:
    if not isinstance(event, Answered) or not (event.answer.body or {}).get("members"):
        return event
    body = event.answer.body or {}
    rows = [{**row, "metadata": "b3RoZXI="} for row in body["members"]]
    return Answered(replace(event.answer, body={**body, "members": rows}))
