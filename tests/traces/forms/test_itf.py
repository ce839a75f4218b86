"""ITF: what a TLA+ reader sees, what comes back, and what of others can be read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import itf_py
import pytest
from support.committed import committed
from support.worlds import NOBODY, follow, worlds_of

from fencepost.properties.worlds.scope import Scope
from fencepost.traces.files.run_trace import run_trace
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.itf import (
    ItfValueError,
    from_itf,
    from_itf_json,
    is_itf,
    to_itf,
    to_itf_json,
)

Document = dict[str, Any]


def lasso() -> TraceFile:
    """A member that heartbeats for ever."""
    worlds = worlds_of("kafka-4", Scope(clients=1, acts=("join", "sync", "heartbeat")))
    run = follow(worlds, ("join", 0), ("sync", 0), ("heartbeat", 0))
    return run_trace(worlds, run, repeated=1)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -(2**70),
        "",
        "#bigint",
        [],
        [1, [None]],
        {"a": 1, "b": {"c": []}},
        {"group.max.size": None},
        {"tag": "x", "value": 1},
        {"class": 1, "_x": 2},
        {},
    ],
)
def test_a_value_comes_back_also_through_itf_py(value: Any) -> None:
    said = to_itf(value)
    assert from_itf(said) == value
    theirs = itf_py.value_to_json(itf_py.value_from_json(said))
    assert from_itf(theirs) == value
    assert json.dumps(from_itf(theirs)) == json.dumps(value)


def test_values_of_others_are_read() -> None:
    assert from_itf({"#tup": [{"#bigint": "1"}, "x"]}) == [1, "x"]
    assert from_itf({"#set": [2]}) == [2]
    assert from_itf({"#map": [["k", {"#set": []}]]}) == {"k": []}
    assert from_itf({"tag": "None", "value": {"#tup": []}}) is None
    assert from_itf({"tag": "Some", "value": 3}) == 3


@pytest.mark.parametrize(
    "value",
    [1.5, None, {"#bigint": "x"}, {"#unserializable": "f"}, {"#map": [[1, 2]]}, {"#map": [1]}],
)
def test_what_is_no_value_is_refused(value: Any) -> None:
    with pytest.raises(ItfValueError):
        from_itf(value)
    with pytest.raises(ItfValueError):
        to_itf(1.5)


def test_a_state_shows_members_map_generation_and_state() -> None:
    document = to_itf_json(lasso())
    assert is_itf(document)
    assert document["vars"] == [key for key in document["states"][0] if key != "#meta"]
    trace = itf_py.trace_from_json(document)
    last = trace.states[-1].values
    group = last["groups"]["g"]
    assert (group.state, group.generation, group.leader) == ("Stable", 1, "A-1")
    assert group.static == {"A": "A-1"}
    assert group.members["A-1"].instance == "A"
    assert group.pending == frozenset()
    assert [timer[:2] for timer in group.timers] == [("session", "A-1")]
    assert trace.states[0].values["groups"] == {}
    assert [state.values["mbt::actionTaken"] for state in trace.states[:3]] == [
        "init",
        "JoinGroup",
        "handled",
    ]
    assert last["explained"] is True


def test_after_the_violation_no_state_explains() -> None:
    document = to_itf_json(committed("zombie-commits"))
    explained = [state["explained"] for state in document["states"]]
    assert explained[0]
    assert explained == sorted(explained, reverse=True)


def test_a_lasso_says_where_it_goes_round() -> None:
    trace = lasso()
    steps = trace.to_json()["steps"]
    assert trace.loop is not None
    assert steps[trace.loop - 1]["api"] == "Heartbeat"
    document = to_itf_json(trace)
    assert document["loop"] == trace.loop
    assert from_itf_json(document).text() == trace.text()
    assert TraceFile.from_json(json.loads(trace.text())) == replace(
        trace, events=TraceFile.from_json(json.loads(trace.text())).events
    )
    assert "loop" not in replace(trace, loop=None).to_json()


def test_the_canonical_groups_of_a_lasso_repeat_though_generations_and_times_grow() -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1, acts=("join", "sync", "tick")))
    acts = (("join", 0), ("sync", 0), ("tick", NOBODY), ("join", 0), ("sync", 0), ("tick", NOBODY))
    run = follow(worlds, *acts)
    document = to_itf_json(run_trace(worlds, run, repeated=3))
    before, last = document["states"][document["loop"] - 1], document["states"][-1]

    assert document["vars"][-1] == "canonical"
    assert before["canonical"] == last["canonical"]
    assert before["groups"] != last["groups"]
    assert len({json.dumps(state["canonical"]) for state in document["states"]}) > 3
    other = to_itf_json(run_trace(worlds, run))
    assert "canonical" not in other["vars"]
    assert "canonical" not in other["states"][0]


@pytest.mark.parametrize("loop", [0, 99, "x"])
def test_a_loop_to_nowhere_is_refused(loop: Any) -> None:
    trace = lasso()
    with pytest.raises(TraceFileError, match="loop"):
        from_itf_json({**to_itf_json(trace), "loop": loop})
    with pytest.raises(TraceFileError, match="loop"):
        TraceFile.from_json({**trace.to_json(), "loop": loop})


# Of others.


def of_others(*steps: Document) -> Document:
    """Steps as a hand would write them."""
    return {"vars": ["step"], "states": [{"step": {}}, *({"step": step} for step in steps)]}


BEAT = {
    "do": "send",
    "member": "a",
    "id": "r1",
    "api": "Heartbeat",
    "version": {"#bigint": "0"},
    "body": {"groupId": "g", "generationId": 1, "memberId": "nobody"},
}


@pytest.mark.parametrize(("code", "outcome"), [(25, "holds"), (0, "violated")])
def test_steps_of_others_are_judged(code: int, outcome: str) -> None:
    answer = {"do": "answer", "id": "r1", "body": {"errorCode": {"#bigint": str(code)}}}
    trace = from_itf_json(of_others(BEAT, answer))
    assert trace.verdict.outcome == outcome
    assert trace.revision == "kafka-4"
    assert trace.senders == {"r1": "a"}
    assert from_itf_json(to_itf_json(trace)).text() == trace.text()


def acts(*said: tuple[str, int]) -> Document:
    """A run of a specification, in the words of exploration."""
    states: list[Document] = [{"x": 0, "mbt::actionTaken": "init"}]
    for kind, client in said:
        picks = {"client": {"tag": "Some", "value": {"#bigint": str(client)}}} if client else {}
        states.append({"x": 0, "mbt::actionTaken": kind, "mbt::nondetPicks": picks})
    return {"#meta": {"format": "ITF"}, "vars": ["x"], "states": states}


def test_acts_of_a_specification_are_taken_through_the_model() -> None:
    document = acts(("join", 1), ("sync", 1), ("restart", 1), ("join", 1), ("tick", 0))
    trace = from_itf_json(document)
    asked = [step["api"] for step in trace.to_json()["steps"] if step["do"] == "send"]
    assert asked == ["JoinGroup", "SyncGroup", "JoinGroup"]
    assert trace.verdict.outcome == "holds"
    names = [*trace.names.values()]
    assert names == ["c1", "c1 (id 2)"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "is no list of states"),
        ({"states": [{}]}, "nothing happens"),
        ({"states": [{"x": 1}, {"x": 2}]}, r"\$.states\[1\]: has no `step`.*mbt::actionTaken"),
        (of_others({"do": "send"}), r"steps\[0\]"),
        (of_others({"do": {"#bigint": "x"}}), r"\$.states\[1\].step: #bigint 'x'"),
        ({"states": [{}, {"step": 5}]}, "is no record"),
        (acts(("sync", 1)), r"\$.states\[1\]: client 1 can't sync there"),
        (acts(("join", 0)), "has no `client`"),
        (acts(("join", -1)), "count from 1"),
    ],
)
def test_what_can_t_be_read_is_said_with_its_place(document: Document, said: str) -> None:
    with pytest.raises(TraceFileError, match=said):
        from_itf_json(document)
