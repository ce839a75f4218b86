"""`explore`, `check`, `properties`: figures, findings, runs in words, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest
from support.places import ROOT

from fencepost.conformance.cli import check, explore
from fencepost.conformance.cli.cli import main
from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.consumer_releases import CONSUMER_4_3
from fencepost.properties.checking import world_cache
from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.checking.row_properties import TriedRows
from fencepost.properties.claims.property_registry import ALL_PROPERTIES, PROPERTIES
from fencepost.properties.logic.logic import Engine
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS
from fencepost.properties.worlds.consumer_scope import ConsumerScope
from fencepost.properties.worlds.scope import CHECK_SCOPES, PROMISE_SCOPES, NamedScope, Scope
from fencepost.traces.files.trace_file import TraceFile


@dataclass(frozen=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `fencepost` with these arguments."""

    def running(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        code = ended.value.code
        return Ran(code if isinstance(code, int) else 0, said.out, said.err)

    return running


def test_an_exploration_that_holds_exits_0_and_says_how_much_it_saw(run: Run) -> None:
    result = run("explore", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["complete"] is True
    assert found["states"] == sum(found["levels"])
    assert found["properties"]["leader-is-member"] == "holds"
    assert found["properties"]["a-refused-commit-stores-nothing"] == "not reached"


def test_two_processes_see_the_same_as_one(run: Run) -> None:
    arguments = ("explore", "--dynamic", "1", "--max-depth", "9", "--json")
    one, two = (json.loads(run(*arguments, "--jobs", jobs).stdout) for jobs in ("1", "2"))

    for figure in ("jobs", "seconds", "states_per_second", "transitions_per_second", "peak_mib"):
        del one[figure], two[figure]
    assert one == two


def test_a_broken_model_exits_1_with_the_run_in_words(run: Run, tmp_path: Path) -> None:
    result = run("explore", "--revision", "mutant:kafka-8500", "--report", str(tmp_path / "report"))

    assert result.exit_code == 1
    assert "violated" in result.stdout
    assert 'JoinGroup v9 (member "", instance A)' in result.stdout
    assert list((tmp_path / "report").glob("*.trace.json"))


def test_the_trace_of_a_violation_is_a_run_of_its_revision(run: Run, tmp_path: Path) -> None:
    result = run("check", "comment-table-1", "--question", "zombie", "--report", str(tmp_path))

    trace = TraceFile.read(tmp_path / "no-two-consumers-on-one-id.trace.json")
    assert result.exit_code == 1
    assert trace.revision == "comment-table-1"
    assert trace.judge().violation is None
    assert "both consume under the id" in trace.verdict.message


@pytest.mark.parametrize("suffix", ["graphml", "dot"])
def test_the_graph_is_written_for_other_tools(run: Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph.{suffix}"

    result = run("explore", "--clients", "1", "--graph", str(path), "--json")

    assert result.exit_code == 0
    if suffix == "graphml":
        graph = nx.read_graphml(path)
        found = json.loads(result.stdout)
        assert graph.number_of_nodes() == found["states"]
        assert graph.number_of_edges() == found["transitions"]
    else:
        assert path.read_text(encoding="utf-8").startswith("digraph")


def test_a_graph_of_unknown_format_is_refused_before_anything_is_explored(
    run: Run, tmp_path: Path
) -> None:
    result = run("explore", "--graph", str(tmp_path / "graph.png"))

    assert result.exit_code == 64
    assert "graph.png" in result.stderr
    assert ".graphml" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        (("explore", "--property", "all-is-well"), "all-is-well"),
        (("explore", "--clients", "0"), "0 clients"),
        (("explore", "--revision", "kafka-9000x"), "kafka-9000x"),
        (("check", "kafka-nine"), "kafka-nine"),
        (("check", "kafka-4", "--question", "why"), "why"),
    ],
)
def test_bad_input_is_named_and_exits_64(run: Run, arguments: tuple[str, ...], value: str) -> None:
    result = run(*arguments)

    assert result.exit_code == 64
    assert value in result.stderr


def test_a_check_that_holds_exits_0(run: Run) -> None:
    result = run("check", "kafka-4", "--question", "zombie", "--json")

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["holds"] is True
    assert [violation["finding"] for violation in found["violations"]] == ["expected violation"]


def test_the_matrix_names_every_property_and_who_checks_it(run: Run) -> None:
    rows = json.loads(run("properties", "--json").stdout)

    promises = [promise.id for promise in ALL_PROMISES]
    assert [row["id"] for row in rows] == [*ALL_PROPERTIES, *promises]
    assert "✓" in run("properties").stdout


NOT_STORED = """from fencepost.model import KAFKA_4, Do, SetRule, derive
RULE = KAFKA_4.rule("JOIN-STATIC-EMPTY-STABLE")
STEPS = tuple(do for do in RULE.effect if do is not Do.PERSIST)
LAZY = RULE.but(effect=STEPS, because="KAFKA-10284")
FORGETS = derive(KAFKA_4, "forgets", "a restart isn't stored", (SetRule("JoinGroup", LAZY, "x"),))
"""


def test_what_is_not_stored_is_seen_where_the_coordinator_fails_over(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "forgets.py"
    path.write_text(NOT_STORED, encoding="utf-8")
    result = run("check", f"{path}:FORGETS", "--question", "failover", "--question", "zombie")
    assert result.exit_code == 1
    assert ": not safe: stable-is-stored\n" in result.stdout
    told = result.stdout.partition("\nstable-is-stored: violated\n")[2]
    lines = told.partition("\n\n")[0].splitlines()
    assert lines[1] == (
        "  safety: the next coordinator restores another group, and live clients lose their ids"
    )
    assert lines[-1].endswith("[JOIN-STATIC-EMPTY-STABLE]")
    alone = run(
        "check", f"{path}:FORGETS", "--question", "zombie", "--property", "stable-is-stored"
    )
    assert alone.exit_code == 1
    assert "never put to the test" in alone.stdout


def test_a_property_of_endless_runs_has_its_id_everywhere(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CLASSIC_WORLDS, "promise_scopes", PROMISE_SCOPES[:1])
    settles = ("--property", "every-group-settles")
    found = json.loads(run("check", "kafka-4", *settles, "--json").stdout)
    assert found["promises"] == {"every-group-settles": "holds"}
    assert (found["properties"], found["worlds"]) == ({}, [])
    explained = run("explain", "every-group-settles")
    assert explained.exit_code == 0
    assert "endless run property" in explained.stdout
    for refused in (("check", "kafka-4", "--question", "zombie"), ("explore",)):
        result = run(*refused, *settles)
        assert result.exit_code == 64
        assert "every-group-settles" in result.stderr


def test_a_property_is_explained(run: Run) -> None:
    result = run("explain", "retired-id-stays-invalid")

    assert result.exit_code == 0
    assert "as formula" in result.stdout
    assert "not by" in result.stdout
    assert "fails in" in result.stdout


STAYS = """from fencepost.model import KAFKA_4, Incoming
from fencepost.properties import Engine, Property, PropertyKind


def leavers(step):
    if step.before is None or not isinstance(step.event, Incoming):
        return set()
    if step.event.api != "LeaveGroup":
        return set()
    named = {member for member, instance in step.names() if instance is None}
    return {pair for pair in step.before.static if pair[1] in named}


def lost(step):
    for instance, member in leavers(step):
        if step.after is None or step.after.holder(instance) != member:
            return f"{member} left by its id alone"


PROPERTIES = (
    Property(
        id="stays",
        meaning="A static member that leaves by its id alone stays.",
        source="an idea",
        kind=PropertyKind.STEP,
        scope="leaves",
        engines=frozenset({Engine.EXPLORATION, Engine.HYPOTHESIS}),
        holds=lost,
        premise=lambda step: bool(step.before),
        not_by={Engine.PROOF: "a function", Engine.ANSWERS: "it looks into the group"},
    ),
)
"""


def test_a_check_names_the_acts_that_its_worlds_lack_and_one_world_leaves_nameless(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "stays.py"
    path.write_text(STAYS, encoding="utf-8")
    asked = (f"{path}:KAFKA_4", "--property", "stays", "--question")
    blind = run("check", *asked, "two processes")
    assert blind.exit_code == 0
    (lacks,) = (line for line in blind.stdout.splitlines() if line.startswith("acts in none"))
    assert {"quit", "stranger"} <= set(lacks.partition(": ")[2].split(", "))
    seen = run("check", *asked, "nameless leave")
    assert seen.exit_code == 1
    assert "A-1 left by its id alone" in seen.stdout
    whole = json.loads(run("check", *asked, "nameless leave", "--json").stdout)
    assert "quit" not in whole["acts_of_none"]


def test_a_size_that_no_group_outgrows_is_told(run: Run) -> None:
    told = "not tried: the target size is 3, and no group here has more than 2 members"
    small = ("--clients", "2", "--act", "join")
    for asked in (
        ("check", "experiment-preregistered", "--question", "no room", "--property", "seats-stay"),
        ("explore", "--revision", "experiment-preregistered", "--members", "2", *small),
    ):
        assert told in run(*asked).stdout
    few = ("check", "experiment-standby", "--question", "no room", "--property", "seats-stay")
    assert "not tried" not in run(*few).stdout
    assert "not tried" not in run("explore", "--members", "2", *small).stdout


NEVER = """from fencepost.model import KAFKA_4
from fencepost.properties import Engine, Property, PropertyKind

PROPERTIES = (
    Property(
        id="never-tested",
        meaning="Nothing.",
        source="an idea",
        kind=PropertyKind.STEP,
        scope="nothing",
        engines=frozenset({Engine.EXPLORATION}),
        holds=lambda step: None,
        premise=lambda step: False,
        not_by=dict.fromkeys(set(Engine) - {Engine.EXPLORATION}, "it says nothing"),
    ),
)
"""


def test_a_property_that_is_asked_for_and_never_put_to_the_test_fails(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "never.py"
    path.write_text(NEVER, encoding="utf-8")
    asked = ("--property", "never-tested", "--property", "leader-is-member")
    world = ("--question", "zombie")
    result = run("check", f"{path}:KAFKA_4", *world, *asked)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0].endswith(": not shown to be safe")
    assert "\nnever-tested: never put to the test\n" in result.stdout
    found = json.loads(run("check", f"{path}:KAFKA_4", *world, *asked, "--json").stdout)
    assert found["holds"] is False
    assert found["properties"]["never-tested"] == "never put to the test"
    explored = run("explore", "--revision", f"{path}:KAFKA_4", *asked, "--max-depth", "2")
    assert explored.exit_code == 1
    assert "not reached within these bounds: never-tested" in explored.stdout


ANY_SESSION = """from fencepost.model import KAFKA_4, DropRule, derive
DROPPED = DropRule("JoinGroup", "JOIN-SESSION-TIMEOUT-INVALID", "KIP-735")
FREE = derive(KAFKA_4, "free", "any session timeout is taken", (DROPPED,))
"""


def test_a_check_that_a_limit_ends_says_what_was_explored_and_exits_2(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "free.py"
    path.write_text(ANY_SESSION, encoding="utf-8")
    asked = ("check", f"{path}:FREE", "--question", "bad manners", "--property", "leader-is-member")
    for limit in (("--max-states", "1500"), ("--minutes", "0.0001")):
        result = run(*asked, *limit)
        assert result.exit_code == 2
        assert re.search(
            r": nothing violated in the [\d,]+ states explored; not finished\n",
            result.stdout,
        )
        assert "states, not finished" in result.stdout
    found = json.loads(run(*asked, "--max-states", "1500", "--json").stdout)
    assert (found["finished"], found["holds"], found["is_safe"]) == (False, False, False)
    assert found["states"] == 1500
    finished = run("check", "kafka-4", *asked[2:], "--max-states", "1000000", "--minutes", "90")
    assert finished.exit_code == 0


def test_an_exploration_that_a_limit_of_states_ends_exits_2(run: Run) -> None:
    asked = ("explore", "--clients", "2", "--members", "2", "--max-states", "50")
    result = run(*asked)
    assert result.exit_code == 2
    assert "nothing violated in the 50 states explored; not finished" in result.stdout
    assert json.loads(run(*asked, "--json").stdout)["is_safe"] is False
    deep = run(*asked[:-2], "--max-depth", "2")
    assert deep.exit_code == 0, "a depth is a bound that was asked for"


def test_a_check_without_time_for_its_rows_is_not_finished(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "free.py"
    path.write_text(ANY_SESSION, encoding="utf-8")
    monkeypatch.setattr(CLASSIC_WORLDS, "check_scopes", CHECK_SCOPES[:1])
    monkeypatch.setattr(CLASSIC_WORLDS, "promise_scopes", ())
    rows = TriedRows({}, ("JOIN-OURS",))
    monkeypatch.setattr(check, "uncovered_rows", lambda *_, **__: rows)
    result = run("check", f"{path}:FREE")
    assert result.exit_code in {1, 2}
    assert "no time was left to check whether a property covers: JOIN-OURS" in result.stdout
    assert "not finished" in result.stdout


UNKNOWN = """from fencepost.model import KAFKA_4, Do, Error, SetRule, derive
from fencepost.model import all_of, negate, when
from fencepost.model import Column, Inst, Mid, Rule
MANY = Column("many", (False, True), "whether there are many members",
    lambda group, *_: group is not None and len(group.members) > 3)
OLD = KAFKA_4.rule("LEAVE-MEMBER")
REST = OLD.but(guard=all_of(OLD.guard, MANY.among(False)))
QUIET = Rule("LEAVE-QUIET", all_of(OLD.guard, MANY.among(True)), (Do.REMOVE_MEMBER,), Error.NONE,
    source="x", because="x")
ROWS = derive(KAFKA_4, "rows", "rows",
    tuple(SetRule("LeaveGroup member", row, "x") for row in (REST, QUIET)))
"""


def test_a_check_says_first_which_rows_of_ones_own_nothing_is_known_of(
    monkeypatch: pytest.MonkeyPatch, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "unknown.py"
    path.write_text(UNKNOWN, encoding="utf-8")
    alone = Scope(clients=1, members=1, acts=("join", "sync", "leave"))
    monkeypatch.setattr(CLASSIC_WORLDS, "check_scopes", (NamedScope("alone", "", alone),))
    monkeypatch.setattr(CLASSIC_WORLDS, "promise_scopes", ())
    monkeypatch.setattr(CLASSIC_WORLDS, "rare_scopes", CHECK_SCOPES[:1])
    monkeypatch.setattr(check, "check_promises", lambda *_: ())
    monkeypatch.setattr(check, "chosen", lambda *_: [PROPERTIES["leader-is-member"]])
    rows = TriedRows({"LEAVE-QUIET": "", "LEAVE-MEMBER": ""})
    monkeypatch.setattr(check, "uncovered_rows", lambda *_, **__: rows)
    result = run("check", f"{path}:ROWS")
    assert result.exit_code == 2
    assert (
        "no world exercises 1 of its 2 own rules: LEAVE-QUIET; "
        "no property covers 1 of its 2 own rules: LEAVE-MEMBER"
    ) in result.stdout
    assert "safe" not in result.stdout.partition("LEAVE-QUIET")[0]
    assert "column many of table LeaveGroup member is True in none of these" in result.stdout
    assert f"so it is not checked; {check.world_to_add('LeaveGroup member')}" in result.stdout
    found = json.loads(run("check", f"{path}:ROWS", "--json").stdout)
    assert found["is_safe"] is found["holds"] is False
    assert found["columns_never"] == [
        {"table": "LeaveGroup member", "column": "many", "value": "True"}
    ]
    assert found["own_rows"] == {
        "LEAVE-MEMBER": "not covered by any property",
        "LEAVE-QUIET": "not exercised by any world",
    }


@pytest.mark.parametrize(
    ("revision", "table", "made_by"),
    [
        (KAFKA_4, "LeaveGroup member", Scope),
        (CONSUMER_4_3, "ConsumerGroupHeartbeat leave", ConsumerScope),
    ],
)
def test_a_world_that_a_check_tells_to_add_can_be_made(
    revision: Revision, table: str, made_by: type[Scope]
) -> None:
    protocol = revision.protocol.name
    told = {name: check.world_to_add(name, protocol) for name in revision.tables}
    assert "WORLDS" in told[table]
    for text in (each.partition("such as ")[2] for each in told.values() if "WORLDS" in each):
        made = eval(text, {"NamedScope": NamedScope, made_by.__name__: made_by})
        assert made.scope.members == 3


RAISES = """from dataclasses import replace
from fencepost.model import KAFKA_4, derive
from fencepost.properties.claims.property_registry import PROPERTIES as THEIRS
OURS = derive(KAFKA_4, 'ours', 'ours', ())
PROPERTIES = (replace(THEIRS['silence-is-noticed'], id='own',
    holds=lambda step: step.befor),)
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_function_that_raises_is_named_by_its_line_in_any_number_of_processes(
    run: Run, tmp_path: Path, jobs: str
) -> None:
    path = tmp_path / "raises.py"
    path.write_text(RAISES, encoding="utf-8")
    asked = ("--question", "zombie", "--question", "two processes", "--property", "own")
    result = run("check", f"{path}:OURS", "--jobs", jobs, *asked)
    assert result.exit_code == 64
    assert f"{path}, line 6: AttributeError" in result.stderr


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let checks keep their results in a folder, also where code was changed a moment ago."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("FENCEPOST_NO_CACHE")
    monkeypatch.setenv("FENCEPOST_CACHE", str(folder))
    monkeypatch.setattr(world_cache, "_RECENT_S", -1e12)
    return folder


def test_a_property_or_an_import_that_changes_is_never_answered_from_the_cache(
    run: Run, tmp_path: Path, cache: Path
) -> None:
    path, helper = tmp_path / "raises.py", tmp_path / "helper.py"
    text = RAISES.replace("lambda step: step.befor", "helper.holds")
    path.write_text(f"import helper\n{text}", encoding="utf-8")
    asked = ("check", f"{path}:OURS", "--question", "zombie", "--property", "own")
    for holds in ("None", "'no'", "None"):
        helper.write_text(f"holds = lambda step: {holds}\n", encoding="utf-8")
        codes = [run(*asked).exit_code for _ in range(2)]
        assert codes == [0, 0] if holds == "None" else [1, 1]
    files = [one for one in cache.rglob("*") if one.is_file()]
    assert len(files) == 2
    path.write_text(text.replace("helper.holds", "lambda step: 'no'"), encoding="utf-8")
    assert run(*asked).exit_code == 1


def test_a_changed_row_of_a_file_is_explored_where_it_decides_and_nowhere_else(
    run: Run, tmp_path: Path, cache: Path
) -> None:
    path = tmp_path / "row.py"
    text = RAISES.replace("step.befor", "None").replace("'ours', ())", "'ours', DIFFERENCES)")
    row = (
        "from fencepost.model import SetRule\n"
        "ROW = KAFKA_4.rule('HEARTBEAT-STABLE').but(because='{}')\n"
        "DIFFERENCES = (SetRule('Heartbeat', ROW, 'x'),)\nOURS ="
    )
    asked = ("check", f"{path}:OURS", "--question", "no room", "--question", "zombie", "--json")
    kept = []
    for because in ("one reason", "one reason", "another reason"):
        path.write_text(text.replace("OURS =", row.format(because)), encoding="utf-8")
        assert run(*asked).exit_code == 0
        kept.append(sum(one.is_file() for one in cache.rglob("*")))
    assert kept == [2, 2, 3], "without heartbeats there is no room for a difference"


def test_what_was_violated_when_a_limit_ended_it_counts(run: Run) -> None:
    asked = ("check", "comment-table-1", "--question", "two processes", "--max-states", "60")
    result = run(*asked, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["finished"] is False
    assert found["verdict"].startswith("not safe: ")
    assert found["verdict"].endswith("; not finished, 60 states explored")


def test_a_search_that_takes_long_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setattr(explore, "_TELL_S", 0.0)
    told = run("check", "kafka-4", "--question", "operators").stderr.splitlines()
    assert re.fullmatch(
        r"operators: level \d+, [\d,]+ states, [\d,]+ transitions, [\d,]+ to go, \d+ s", told[0]
    )
    assert len(told) > 3


def test_what_some_worlds_alone_never_test_is_named_and_is_no_failure(
    run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "never.py"
    path.write_text(NEVER, encoding="utf-8")
    result = run("check", f"{path}:KAFKA_4", "--question", "zombie")
    assert result.exit_code == 0
    (_, named) = result.stdout.split("never put to the test here: ")
    assert {"leave-takes-effect", "never-tested"} <= set(named.split("\n\n")[0].split(", "))
    found = json.loads(run("check", f"{path}:KAFKA_4", "--question", "zombie", "--json").stdout)
    assert "never-tested" in found["not_tested"]


@pytest.mark.parametrize("command", [("check", "kafka-4"), ("explore",)])
def test_a_property_that_exploration_does_not_check_is_refused_with_why(
    run: Run, command: tuple[str, ...]
) -> None:
    (name, *_) = (i for i, p in PROPERTIES.items() if Engine.EXPLORATION not in p.engines)
    result = run(*command, "--property", name)
    assert result.exit_code == 64
    assert f"{name} is not checked by exploration, but by hypothesis and an" in result.stderr
    assert PROPERTIES[name].not_by[Engine.EXPLORATION] in result.stderr


FIRST_WINS = f"{ROOT / 'examples' / 'revisions' / 'first_wins.py'}:FIRST_WINS"
TODAY = f"{ROOT / 'examples' / 'revisions' / 'open_ends.py'}:TODAY"


def test_what_is_only_different_is_safe_and_fails_with_strict_alone(run: Run) -> None:
    broken = "a-restart-in-a-stable-group-is-quiet"
    asked = ("check", FIRST_WINS, "--question", "zombie")
    result = run(*asked)
    assert result.exit_code == 0
    assert "FIRST_WINS: safe in these worlds; changes one promise\n" in result.stdout
    assert f"\nsafe in these worlds; changes one promise: {broken}\n" in result.stdout
    assert "\n  promise: clients get another answer\n" in result.stdout
    strict = run(*asked, "--strict", "--json")
    found = json.loads(strict.stdout)
    assert strict.exit_code == 1
    assert (found["is_safe"], found["holds"]) == (True, False)
    assert found["classes"][broken] == found["violations"][0]["class"] == "promise"


def test_a_rebalance_without_need_costs_and_is_not_called_safe_where_nothing_else_was_checked(
    run: Run,
) -> None:
    newcomer = ("--property", "a-newcomer-stops-nobody")
    result = run("check", TODAY, "--question", "bad manners", *newcomer)
    assert result.exit_code == 0
    assert f"{TODAY}: costs rebalances: a-newcomer-stops-nobody\n" in result.stdout
    small = ("--revision", TODAY, "--instances", "2", "--act", "join", "--act", "sync")
    assert run("explore", *small, *newcomer).exit_code == 0
    assert run("explore", *small, *newcomer, "--strict").exit_code == 1


def test_what_is_not_safe_says_so_and_why(run: Run) -> None:
    result = run("check", "comment-table-1", "--question", "zombie")
    assert result.exit_code == 1
    assert "comment-table-1: not safe: " in result.stdout
    assert "\n  safety: two clients may read the same partitions\n" in result.stdout
