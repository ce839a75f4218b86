"""What a reader is shown: the diagram, the rows, the transcript of one known trace."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.committed import committed
from support.worlds import follow, worlds_of

from fencepost.conformance.cli.explore import Failure, write_traces
from fencepost.model.history.events import Disconnected, Moved, Restarted, TopicsDeleted
from fencepost.model.history.history import History
from fencepost.model.history.step_lines import step_lines
from fencepost.properties.checking.checking import PropertyStatus
from fencepost.properties.checking.liveness import ANSWERED
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.worlds.scope import ActKind, Scope
from fencepost.traces.files.run_trace import run_trace
from fencepost.traces.files.trace_file import TraceFile, TraceFileError
from fencepost.traces.forms.formats import TRACE_FORMATS, read_trace

ACTS: tuple[ActKind, ...] = (
    "join",
    "sync",
    "heartbeat",
    "leave",
    "drop",
    "restart",
    "tick",
    "failover",
)


def story(*acts: tuple[str, int], repeated: int = 0, clients: int = 2) -> TraceFile:
    """A run of kafka-4 with two processes of one instance."""
    worlds = worlds_of("kafka-4", Scope(clients=clients, acts=ACTS, fold=False))
    return run_trace(worlds, follow(worlds, *acts), repeated=repeated)


def test_the_diagram_of_a_violation() -> None:
    lines = [
        line.strip() for line in TRACE_FORMATS["mermaid"](committed("kafka-8500")).splitlines()
    ]
    wrong = "VIOLATED: JOIN-STATIC-EMPTY-PREPARING, MUST<br/>expected FENCED_INSTANCE_ID, a new id"
    assert lines[3:] == [
        "participant K as coordinator",
        "participant M1 as A1",
        "participant M2 as A2",
        'M1->>K: 1. JoinGroup v5 (member "", instance A)',
        "Note over M1: JoinGroup waits",
        "Note left of K: PreparingRebalance, generation 0",
        'M2->>K: 2. JoinGroup v5 (member "", instance A)',
        "Note over M2: JoinGroup waits",
        "rect rgba(255, 60, 60, 0.25)",
        f"Note over K,M1: {wrong}",
        "end",
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("join-without-protocol-type", 'expected protocolType "consumer", not null'),
        ("refused-join-with-generation", "expected generationId -1, not 0"),
    ],
)
def test_the_diagram_shows_the_one_field_that_is_wrong(name: str, said: str) -> None:
    assert f"<br/>{said}\n" in TRACE_FORMATS["mermaid"](committed(name))


@pytest.mark.parametrize("name", ["kafka-8500", "zombie-commits"])
def test_the_diagram_counts_steps_as_the_sentence_does(name: str) -> None:
    trace = committed(name)
    told = History(trace.events, trace.senders, trace.names, trace.clock)
    steps = {line.number: line for line in step_lines(told)}
    drawn = re.findall(r"M\d+->>K: (\d+)\. (\w+)", TRACE_FORMATS["mermaid"](trace))
    asked = [(str(n), line.text.split()[1]) for n, line in steps.items() if line.asks]
    assert drawn == asked
    number = re.search(r"\(step (\d+)\)", trace.verdict.message)
    assert number is not None
    assert trace.verdict.request in {steps[int(number[1])].asks, steps[int(number[1])].answers}


def test_the_diagram_tells_what_no_arrow_shows() -> None:
    trace = story(
        ("join", 0), ("sync", 0), ("join", 1), ("heartbeat", 0), ("failover", -1), ("tick", -1),
        ("tick", -1),
    )  # fmt: skip
    text = TRACE_FORMATS["mermaid"](trace)
    for said in (
        "c2 holds instance A, c1 is fenced",
        "Note over M1: fenced",
        "the coordinator fails over",
        "3,000 ms pass",
        "the session of c2 ended",
        "Stable, generation 1",
        "Empty, generation",
    ):
        assert said in text, said
    assert "VIOLATED" not in text


def test_what_is_drawn_can_t_be_taken_for_mermaid() -> None:
    trace = committed("kafka-8500")
    odd = dict.fromkeys(trace.senders, "a;b#c<d>\nend")
    text = TRACE_FORMATS["mermaid"](replace(trace, senders=odd))
    assert "as a#59;b#35;c#lt;d#gt;<br/>end" in text


def test_a_run_that_never_ends_goes_round() -> None:
    trace = story(("join", 0), ("sync", 0), ("heartbeat", 0), repeated=1, clients=1)
    lines = [line.strip() for line in TRACE_FORMATS["mermaid"](trace).splitlines()]
    start = lines.index("loop again and again")
    assert "Heartbeat" in lines[start + 1]
    assert lines[-1] == "end"


def test_check_writes_where_it_goes_round(tmp_path: Path) -> None:
    worlds = worlds_of("kafka-4", Scope(clients=1, acts=ACTS))
    run = follow(worlds, ("join", 0), ("sync", 0), ("heartbeat", 0))
    property_ = next(iter(PROPERTIES.values()))
    told = [
        Failure(ANSWERED, PropertyStatus.BROKEN, "it isn't kept", (), (), run, worlds, 1),
        Failure(property_, PropertyStatus.BROKEN, "it isn't so", (), (), run, worlds),
    ]
    kept, broken = (TraceFile.read(path) for path in write_traces(told, tmp_path))
    assert kept.loop is not None
    assert kept.to_json()["steps"][kept.loop - 1]["api"] == "Heartbeat"
    assert broken.loop is None


def test_the_rows_say_what_the_model_knows() -> None:
    trace = story(("join", 0), ("sync", 0), ("join", 1))
    rows = list(csv.DictReader(io.StringIO(TRACE_FORMATS["csv"](trace))))
    last = rows[-1]
    assert (last["state"], last["generation"], last["leader"]) == ("Stable", "1", "c2")
    assert (last["members"], last["static"]) == ("c2", "A=c2")
    asked = [row for row in rows if row["do"] == "answer"]
    assert [row["error"] for row in asked] == ["NONE"] * 3
    assert {row["wrong"] for row in rows} == {"no"}


def test_states_end_where_nothing_explains() -> None:
    trace = committed("zombie-join-takes-over")
    states = trace.model_states()
    assert len(states) == len(trace.events) + 1
    assert states[0].groups == ()
    assert [state.explained for state in states].index(False) > 1
    assert states[-1].group("g") is not None
    assert states[-1].group("h") is None


@pytest.mark.parametrize("form", ["mermaid", "csv", "itf", "adapter", "pytest"])
def test_lost_connections_and_failovers_have_their_place(form: str) -> None:
    trace = story(("join", 0), ("sync", 0), ("restart", 0), ("failover", -1), ("join", 0))
    assert {type(event) for event in trace.events} >= {Disconnected, Restarted}
    text = TRACE_FORMATS[form](trace)
    words = {
        "mermaid": ("the connection drops", "fails over"),
        "csv": (",disconnect,", ",restart,"),
        "itf": ('"disconnect"', '"restart"'),
        "adapter": ('"cmd":"disconnect"', '"cmd":"restart"'),
        "pytest": ("broker.close(", "broker.restart()"),
    }
    assert all(word in text for word in words[form])


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("mermaid", "own deleted"),
        ("csv", ",delete-topics,"),
        ("itf", '"delete-topics"'),
        ("adapter", '{"cmd":"delete-topics","topics":["own"]}'),
        ("pytest", "broker.delete(['own'])"),
    ],
)
def test_deleted_topics_have_their_place(form: str, word: str) -> None:
    trace = story(("join", 0), ("sync", 0))
    gone = TopicsDeleted(trace.events[-1].at_ms, ("own",))
    assert word in TRACE_FORMATS[form](replace(trace, events=(*trace.events, gone)))


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("mermaid", "moves to another broker"),
        ("csv", ",move-coordinator,"),
        ("itf", '"move-coordinator"'),
        ("adapter", '{"cmd":"move-coordinator"}'),
        ("pytest", "broker.move()"),
    ],
)
def test_moved_coordinators_have_their_place(form: str, word: str) -> None:
    trace = story(("join", 0), ("sync", 0))
    at_ms = trace.events[-1].at_ms
    moved = Moved(at_ms, at_ms)
    assert word in TRACE_FORMATS[form](replace(trace, events=(*trace.events, moved)))


def test_a_revision_that_there_isn_t_is_said_so() -> None:
    trace = replace(committed("kafka-8500"), revision="kafka-99")
    for form in ("mermaid", "csv", "itf", "pytest"):
        with pytest.raises(TraceFileError, match="kafka-99"):
            TRACE_FORMATS[form](trace)


def test_only_traces_and_itf_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(TraceFileError, match="give a trace that fencepost wrote"):
        read_trace(path)
    with pytest.raises(TraceFileError, match="can't be read"):
        read_trace(tmp_path / "nothing.json")
