"""`FILE.py:NAME`: a revision of one's own is run by the command line alone, and told its faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from support.places import ROOT

from fencepost.conformance.cli.cli import exit_code, fencepost
from fencepost.conformance.targets.own_revision import (
    OwnRevisionError,
    load_named,
    load_revision,
    own_fault,
    own_parts,
    properties_for,
    stops_reported,
)
from fencepost.conformance.targets.target_registry import UnknownTargetError, find_revision
from fencepost.model.revisions import revisions
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.table.table import TableError
from fencepost.model.work import Incoming
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.proofs import proofs
from fencepost.properties.worlds.classic_worlds import CLASSIC_WORLDS
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.views import StepView
from fencepost.properties.worlds.world import Worlds

EXAMPLES = ROOT / "examples" / "revisions"
FIRST_WINS = f"{EXAMPLES / 'first_wins.py'}:FIRST_WINS"
KEEPS_ID = f"{EXAMPLES / 'keeps_id.py'}:KEEPS_ID"
UPGRADE = f"{EXAMPLES / 'upgrade_in_place.py'}:UPGRADE"
USAGE = 64

BEGIN = "from fencepost.model import KAFKA_4, DropRule, derive\n"
HOLE = BEGIN + (
    "MINE = derive(KAFKA_4, 'mine', 'mine',\n"
    "              (DropRule('JoinGroup', 'JOIN-LEADER-STABLE', 'an idea'),))\n"
)
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def run(*arguments: str) -> int:
    return exit_code(fencepost, list(arguments), "fencepost")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MINE = 1\n", "MINE in {} is of type int, not a Revision"),
        (BEGIN + "MINES = KAFKA_4\n", "{} has no revision 'MINE'; did you mean {}:MINES?"),
        ("", "{} has no revision 'MINE'; its revisions are none"),
        ("import nonesuch\n", "{}, line 1: ModuleNotFoundError: No module named 'nonesuch'"),
        ("\n\n1 / 0\n", "{}, line 3: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", "{}, line 1: SystemExit: 3"),
        ("x = (\n", "{}, line 1: SyntaxError: '(' was never closed"),
        (
            BEGIN + "MINE = derive(KAFKA_4, 'm', 'm', (DropRule('JoinGroup', 'NO', 'x'),))",
            "{}, line 2: table JoinGroup has no rule NO to drop\n",
        ),
        (
            BEGIN
            + "MINE = derive(KAFKA_4, 'm', 'm', (DropRule('JoinGroup', 'JOIN-PENDNG', 'x'),))",
            "no rule JOIN-PENDNG to drop (did you mean JOIN-PENDING or ",
        ),
        (
            BEGIN + "RULE = KAFKA_4.rule('JOIN-PENDING').but(effects=())",
            "level, source, because, echo, defensive (did you mean effect?)",
        ),
        (
            BEGIN + "MINE = derive(KAFKA_4, 'm', 'm', (DropRule('JoinGruop', 'JOIN-X', 'x'),))",
            "{}, line 2: there is no table 'JoinGruop'; there are JoinGroup, SyncGroup, ",
        ),
        (
            BEGIN + "RULE = KAFKA_4.rule('JOIN-LEADER-STABEL')",
            "{}, line 2: kafka-4 has no rule JOIN-LEADER-STABEL (did you mean JOIN-LEADER-STABLE",
        ),
        (
            BEGIN + "RULE = KAFKA_4.rule('JOIN-PENDING').but(effects=())",
            "{}, line 2: a rule has no field 'effects'; its fields are id, guard, effect, answer, ",
        ),
        *(
            ("from fencepost.model import *; R = Rule('X', when(role=Role.LEADER))\n" + line, said)
            for line, said in (
                ("Error.NON", "{}, line 2: AttributeError: Error has no NON (did you mean NONE?)"),
                ("Do.REMOVE_MEMBR", "Do has no REMOVE_MEMBR (did you mean REMOVE_MEMBER or "),
                ("Inst.MINE", "Inst has no MINE; it has NONE, UNMAPPED, OWN, OTHER"),
                ("R.but(when=1)", "defensive; where it applies: but(guard=when(…))"),
                ("KAFKA_4.rul('X')", "KAFKA_4 has no rul (did you mean rule or rules?)"),
                ("SetRul", "name 'SetRul' is not defined (did you mean SetRule"),
                ("when(instance=Inst.OWN)", "membership (did you mean inst or state?)"),
                (
                    "when(inst=GroupState.STABLE)",
                    "inst is never GroupState.STABLE; it is one of",
                ),
                (
                    "derive('kafka-4', 'x', 'x', ())",
                    "derive('kafka-4', …): give a revision",
                ),
                ("derive(KAFKA_4, 1, 'x', ())", "derive(kafka-4, 1, …): give a name, a text"),
                ("derive(KAFKA_4, 'x', 'x', 1)", "the differences of x are a int; give a tuple"),
                ("derive(KAFKA_4, 'x', 'x', (1,))", "of x hold 1; each is a SetRule or a DropRule"),
                ("derive(KAFKA_4, 'x', 'x', difference=())", "(did you mean differences?)"),
                (
                    "derive(KAFKA_4, 'x', 'x', (SetRule('Heartbeat', 'Y', 'x'),))",
                    "SetRule('Heartbeat', 'Y', …): give a Rule, such as KAFKA_4.rule(ID).but(…)",
                ),
                (
                    "derive(KAFKA_4, 'x', 'x', (SetRule('Heartbeat', Rule('X', 1), 'x'),))",
                    "X: its guard is 1; write when(mid=Mid.MEMBER, …)",
                ),
                (
                    "derive(KAFKA_4, 'x', 'x', (SetRule('Heartbeat', R, 'x'),))",
                    "X: table Heartbeat has no column role; it has group_id, coordinator, ",
                ),
            )
        ),
        (
            "from fencepost.model import Role, when; when(caller=Role.LEADER)",
            "{}, line 1: there is no column 'caller' (caller is a heading, and its name is role); ",
        ),
        (
            BEGIN + "DROP = DropRule('JoinGroup', 'JOIN-PENDING', 'x')\n"
            "MINE = derive(KAFKA_4, 'm', 'm', (DROP, DROP))",
            "{}, line 3: two differences of m are about JOIN-PENDING in table JoinGroup, and the ",
        ),
        (
            BEGIN + "MINE = derive(KAFKA_4, 'kafka-4', 'm', ())",
            "{}:MINE has the name of a shipped revision, kafka-4",
        ),
        ("from fencepost.model import KAFKA_5", "'fencepost.model' (did you mean KAFKA_4?)"),
        (BEGIN + "MINE = KAFKA_4\nPROPERTIES = (1,)\n", "PROPERTIES in {} holds 1, which is no"),
        *(
            (BEGIN + "from fencepost.properties import *\nMINE = KAFKA_4\n" + line, said)
            for line, said in (
                ("WORLDS = (1,)", "WORLDS in {} holds 1, which is no NamedScope"),
                ("WORLDS = NamedScope('x', 'x', Scope())", "is of type NamedScope; give a tuple"),
                ("WORLD = (NamedScope('x', 'x', Scope()),)", "nothing reads WORLD in {}; did you "),
                (
                    "WORLDS = (NamedScope('zombie', 'x', Scope()),)",
                    "WORLDS in {}: zombie is a shipped question; give it another id",
                ),
                (
                    "WORLDS = (NamedScope('x', 'x', Scope()),) * 2",
                    "WORLDS in {}: two are called x; rename one",
                ),
                (
                    "Scope(client=3)",
                    "'client' (did you mean clients?); it takes clients, instances",
                ),
                (
                    "Scope(acts=('join', 'quitt'))",
                    "line 4: no act 'quitt' (did you mean quit?); there are join, change, stranger",
                ),
                ("PROMISES = (1,)", "PROMISES in {} holds 1, which is no Promise"),
                (
                    "PROMISE = (Promise('x', 'x', 'x', len),)",
                    "nothing reads PROMISE in {}; did you mean PROMISES?",
                ),
                (
                    "PROMISES = (Promise('seats-stay', 'x', 'x', len),)",
                    "PROMISES in {}: seats-stay is a shipped property; give it another id",
                ),
                (
                    "PROMISES = (Promise('x', 'x', 'x', when=1),)",
                    "line 4: x: when is 1; give a function of a WorldView",
                ),
                (
                    "PROMISES = (Promise('x', 'x', 'x', len, fair='time'),)",
                    "line 4: x: fair is 'time'; it is one of Fair.TIME, Fair.CONDUCT",
                ),
                ("Promise('x', 'x', 'x', untill=len)", "it takes id, meaning, source, when, until"),
                ("Scope(acts=('join'))", "line 4: acts are 'join'; give a tuple, also of one"),
            )
        ),
        (
            HOLE,
            "no rule decides: inst none or mapped to this member, state Stable, caller leader",
        ),
    ],
)
def test_what_is_wrong_is_told_without_a_traceback(
    write: Write, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = write(text)
    assert run("table", "--revision", f"{path}:MINE") == USAGE
    err = capsys.readouterr().err
    assert said.replace("{}", str(path)) in err
    assert "Traceback" not in err


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OwnRevisionError, match="can't be read"):
        load_revision(f"{tmp_path / 'gone.py'}:MINE")


def test_a_name_alone_runs_nothing(write: Write) -> None:
    path = write("raise SystemExit\n")
    with pytest.raises(UnknownTargetError, match="a file that was not loaded"):
        find_revision(f"{path}:MINE")
    load_named("kafka-4")
    load_named(f"exec:{path}:MINE")


def test_what_a_file_prints_is_no_output_of_ours(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(BEGIN + "print('hello')\nMINE = KAFKA_4\n")
    assert run("table", "--json", "--revision", f"{path}:MINE") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert told.err == "hello\n"
    assert not (path.parent / "__pycache__").exists()


def test_it_is_found_by_its_reference_with_its_own_properties() -> None:
    revision = load_revision(FIRST_WINS)
    assert find_revision(FIRST_WINS) is revision
    assert revision.name == FIRST_WINS
    own = [one.id for one in properties_for(FIRST_WINS)[len(PROPERTIES) :]]
    assert own == ["nobody-is-replaced"]
    assert properties_for("kafka-4") == tuple(PROPERTIES.values())


def test_ones_own_property_is_checked_and_catches_the_liar(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("--question", "operators", "--question", "zombie", "--property", "nobody-is-replaced")
    assert run("check", FIRST_WINS, *few) == 0
    liar = write((EXAMPLES / "first_wins.py").read_text(encoding="utf-8") + "LIAR = KAFKA_4\n")
    capsys.readouterr()
    assert run("check", f"{liar}:LIAR", *few) == 1
    assert "nobody-is-replaced: violated" in capsys.readouterr().out
    assert KAFKA_4.name == "kafka-4"


OWN_WORLD = """from fencepost.properties import *
WORLDS = (NamedScope("left", "one leaves", Scope(clients=1, acts=("join", "sync", "quit"))),)
"""


def test_ones_own_world_is_explored_with_its_acts(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    first_wins = (EXAMPLES / "first_wins.py").read_text(encoding="utf-8")
    mine = f"{write(first_wins + OWN_WORLD)}:FIRST_WINS"
    assert [named.name for named in own_parts(mine).worlds] == []
    assert run("check", mine, "--question", "left", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [world["name"] for world in told["worlds"]] == ["left"]
    assert {"heartbeat", "leave"} <= set(told["acts_of_none"])
    assert "quit" not in told["acts_of_none"]
    assert [named.name for named in own_parts(mine).worlds] == ["left"]
    assert run("check", mine, "--question", "lefd") == USAGE
    assert "no question 'lefd' (did you mean left?); there are zombie, " in capsys.readouterr().err
    assert run("check", FIRST_WINS, "--question", "left") == USAGE


ALONE = """from fencepost.model import KAFKA_4
from fencepost.properties import *
WORLDS = (NamedScope("one", "one", Scope(clients=1, acts=("join", "sync", "tick"))),)
PROMISES = (Promise("gone-in-the-end", "It goes.", "x", lambda w: bool(w.group), fair=Fair.TIME),)
MINE = KAFKA_4
"""


def test_ones_own_promise_is_checked_and_explained(
    write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CLASSIC_WORLDS, "promise_scopes", ())
    mine, few = f"{write(ALONE)}:MINE", ("--property", "gone-in-the-end")
    assert run("check", mine, *few) == 1
    told = capsys.readouterr().out
    assert "gone-in-the-end: violated\n  it does not happen that: It goes." in told
    assert "and from here on, again and again:" in told
    assert run("explain", "gone-in-the-end", "--revision", mine) == 0
    assert "endless runs in which time passes" in capsys.readouterr().out
    assert run("explore", "--revision", mine, *few) == USAGE
    assert "which `check` looks for" in capsys.readouterr().err
    assert run("check", "kafka-4", *few) == USAGE


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("w.group.state", "line 4: AttributeError: 'NoneType' object has no attribute 'state'"),
        ("w.client", "object has no attribute 'client' (did you mean clients?)"),
        ("w[0]", "line 4: TypeError: 'WorldView' object is not subscriptable"),
    ],
)
def test_what_a_function_of_ones_own_raises_is_told_with_its_line(
    write: Write,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    said: str,
) -> None:
    monkeypatch.setattr(CLASSIC_WORLDS, "promise_scopes", ())
    path = write(ALONE.replace("bool(w.group)", function))
    assert run("check", f"{path}:MINE", "--property", "gone-in-the-end") == USAGE
    told = capsys.readouterr().err
    assert f"{path}, " in told
    assert said in told
    assert "Traceback" not in told


STOPS = """from fencepost.model import KAFKA_4, Do, SetRule, derive
RULE = KAFKA_4.rule("SYNC-PHASE-EXPIRED").but(effect=(Do.BECOME_EMPTY,), because="nobody is left")
MINE = derive(KAFKA_4, "mine", "mine", (SetRule("sync phase", RULE, "an idea"),))
"""


def test_a_revision_that_stops_midway_says_where(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = f"{write(STOPS)}:MINE"
    stops = "leads to a group that can't be, and stops there"
    with pytest.raises(OwnRevisionError, match=stops), stops_reported(mine):
        raise TableError("Heartbeat: no rule")
    with pytest.raises(TableError), stops_reported("kafka-4"):
        raise TableError("ours")
    assert run("check", mine, "--question", "zombie") == 1
    told = capsys.readouterr()
    assert (
        "\nevery-event-is-decided: violated\n  the machine stops here: session timeout: no rule"
        in told.out
    )
    assert "safety: a client waits for an answer for ever" in told.out
    assert "[SYNC-PHASE-EXPIRED]" in told.out
    assert "Traceback" not in told.err
    one = ("--property", "seats-stay")
    assert run("check", mine, "--question", "zombie", *one) == 1
    assert "not safe: every-event-is-decided" in capsys.readouterr().out
    assert run("check", "kafka-4", "--question", "zombie", *one) == 0
    assert "every-event-is-decided" not in capsys.readouterr().out
    assert run("explore", "--revision", mine, "--json") == 1
    explored = json.loads(capsys.readouterr().out)
    assert explored["properties"]["every-event-is-decided"] == "violated"
    assert explored["stuck"] > 0


TWICE = """from fencepost.model import KAFKA_4, Do, DropRule, Echo, Error, Inst, Mid, Rule
from fencepost.model import SetRule, derive, when
STATES = ("PREPARING", "COMPLETING", "STABLE", "STABLE-SELECTION")
AGAIN = Rule(
    "JOIN-STATIC-EMPTY-MAPPED",
    when(mid=Mid.EMPTY, inst=Inst.OTHER),
    (Do.HAND_OUT_PENDING,),
    Error.MEMBER_ID_REQUIRED,
    echo=Echo.NEW,
    source="an idea",
    because="a process that restarts is told its id first",
)
OTHERS = KAFKA_4.rule("JOIN-PENDING-INSTANCE").but(guard=when(mid=Mid.PENDING, inst=Inst.UNMAPPED))
TAKES_OVER = Rule(
    "JOIN-PENDING-MAPPED",
    when(mid=Mid.PENDING, inst=Inst.OTHER),
    (Do.REPLACE_HOLDER_AS_SENT, Do.REBALANCE, Do.PARK_JOIN),
    source="an idea",
    because="it takes over, and its pending id is never used up",
)
RULES = (AGAIN, OTHERS, TAKES_OVER)
MINE = derive(
    KAFKA_4,
    "mine",
    "mine",
    (
        *(SetRule("JoinGroup", rule, "an idea") for rule in RULES),
        *(DropRule("JoinGroup", f"JOIN-STATIC-EMPTY-{state}", "an idea") for state in STATES),
    ),
)
"""


def test_a_bad_state_is_shown_with_its_run_though_the_machine_stops_there(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = f"{write(TWICE)}:MINE"
    assert run("check", mine, "--question", "two processes") == 1
    told = capsys.readouterr().out
    found = told.partition("\npending-is-no-member: violated\n")[2].partition("\n\n")[0]
    assert "[JOIN-PENDING" in found


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        ("prove", "--property", "one-live-member-per-instance", "--revision"),
        ("fuzz", "model", "--requests", "300", "--revision"),
    ],
    ids=lambda asked: asked[0],
)
def test_a_revision_that_stops_midway_is_no_fault_of_ours(
    write: Write, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...]
) -> None:
    assert run(*asked, f"{write(STOPS)}:MINE") in {0, 1, USAGE}
    told = capsys.readouterr().err
    assert "Traceback" not in told


def test_only_a_stop_in_ones_own_tables_is_ones_own_fault(write: Write) -> None:
    mine = f"{write(STOPS)}:MINE"
    load_revision(mine)
    stopped = own_fault(ExceptionGroup("two", [TableError("Heartbeat: no rule")]))
    assert stopped is not None
    assert mine in str(stopped)
    assert "(Heartbeat: no rule)" in str(stopped)
    assert own_fault(ValueError("ours")) is None


def test_a_trace_from_another_folder_names_the_same_file(
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write((EXAMPLES / "first_wins.py").read_text(encoding="utf-8"))
    (tmp_path / "folder").mkdir()
    few = ("--question", "zombie", "--property", "a-restart-in-a-stable-group-is-quiet")
    monkeypatch.chdir(tmp_path)
    assert run("check", "mine.py:FIRST_WINS", *few, "--strict", "--report", "runs") == 1
    (trace,) = (tmp_path / "runs").glob("*.trace.json")
    monkeypatch.setattr(revisions, "_OWN", {})
    monkeypatch.setattr(revisions, "_PLACES", {})
    monkeypatch.chdir(tmp_path / "folder")
    assert run("replay", str(trace), "--revision", "../mine.py:FIRST_WINS") == 0
    revisions._OWN.clear()
    revisions._PLACES.clear()
    (tmp_path / "mine.py").rename(tmp_path / "folder" / "other.py")
    capsys.readouterr()
    assert run("replay", str(trace), "--revision", "other.py:FIRST_WINS") == USAGE
    assert "a file that was not loaded" in capsys.readouterr().err


def test_each_folder_has_its_own_modules(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "said_of_it.py").write_text(f"WHY = 'about {name}'\n", encoding="utf-8")
        text = BEGIN + "from said_of_it import WHY\nMINE = derive(KAFKA_4, 'mine', WHY, ())\n"
        (tmp_path / name / "mine.py").write_text(text, encoding="utf-8")
    told = [load_revision(f"{tmp_path / name / 'mine.py'}:MINE").about for name in ("one", "two")]
    assert told == ["about one", "about two"]


ELSEWHERE = """from fencepost.model import *
COMPLETING, STABLE = GroupState.COMPLETING, GroupState.STABLE
OLD = KAFKA_4.rule("LEAVE-MEMBER")
MINE = derive(KAFKA_4, "mine", "mine", (
    SetRule("LeaveGroup member", OLD.but(
        guard=when(mid=Mid.MEMBER, inst=Inst.NONE, state=(COMPLETING, STABLE))), "an idea"),
    SetRule("LeaveGroup member", OLD.but(
        id="LEAVE-STATIC",
        guard=when(mid=Mid.MEMBER, inst=Inst.OWN, state=(COMPLETING, STABLE))), "an idea"),
))
"""


def test_a_case_about_a_rule_that_is_changed_may_not_apply(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = f"{write(ELSEWHERE)}:MINE"
    cases = ("--case", "LEAVE-MEMBER/static-member-leaves-by-both-ids")
    assert run("certify", f"model:{mine}", "--revision", mine, *cases) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert f"; {mine} changes or drops LEAVE-MEMBER, so the case may not apply to it" in told
    assert "The cases are written for kafka-4: with your rules one may not reach its rule." in told
    assert run("certify", "model:kafka-4", *cases) == 0


GRACE = f"{EXAMPLES / 'grace.py'}:GRACE"
NAMED_LEAVE = f"{EXAMPLES / 'named_leave.py'}:NAMED_LEAVE"


def test_a_column_tells_a_static_member_that_leaves_its_instance_out() -> None:
    scope = Scope(clients=2, dynamic=1, members=2, acts=("join", "sync", "quit"))
    used: set[tuple[str, bool]] = set()

    def note(view: StepView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if isinstance(view.event, Incoming) and view.event.api == "LeaveGroup" and view.before:
            (left,) = view.names()
            is_static = any(holder == left[0] for _, holder in view.before.static)
            used.update((rule.id, is_static) for rule in view.rules if "MEMBER" in rule.id)
            used.update((rule.id, is_static) for rule in view.rules if "NAMELESS" in rule.id)
        return (), ()

    explore(Worlds(load_revision(NAMED_LEAVE), scope, note), max_states=300)
    assert ("LEAVE-STATIC-NAMELESS", True) in used
    assert ("LEAVE-MEMBER", False) in used
    assert ("LEAVE-STATIC-NAMELESS", False) not in used
    assert ("LEAVE-MEMBER", True) not in used


def test_a_column_and_a_step_of_ones_own_are_functions_of_the_group() -> None:
    sessions: set[int] = set()

    def note(view: StepView) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if view.after is not None and any(rule.id == "LEAVE-GRACE" for rule in view.rules):
            sessions.update(t.earliest for t in view.after.timers if t.kind == "session")
        return (), ()

    scope = Scope(clients=1, members=1, acts=("join", "sync", "leave"))
    explore(Worlds(load_revision(GRACE), scope, note), max_states=100)
    assert sessions == {3000}


OWN_PARTS = """from fencepost.model import *
MINE = Column("mine", (1, 2), "mine", lambda *_: 3)
STEP = OwnStep("STEP", "nothing", lambda work: work.nothing)
def made(table, *parts, effect=()):
    rule = KAFKA_4.rule("HEARTBEAT-STABLE")
    return derive(KAFKA_4, "own", "own", (
        SetRule(table, rule.but(guard=all_of(rule.guard, *parts), because="x", effect=effect), "x"),
    ))
"""


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "derive(KAFKA_4, 'x', 'x', (SetRule('sync phase', Rule('X', MINE.among(1)), 'x'),))",
            "X: table sync phase is not of requests about one member, so it has no column mine; ",
        ),
        ("MINE.among(3)", "mine is never 3; it is one of 1, 2"),
        ("made('Heartbeat', MINE.among(1))", "table Heartbeat: no rule decides: "),
        (
            "made('Heartbeat', effect=(STEP, 'x'))",
            "'x' is no step; the steps are the members of Do",
        ),
        ("when(membership=Mid.MEMBER)", "membership is never Mid.MEMBER; it is one of Membership"),
    ],
)
def test_a_column_or_step_that_can_not_be_is_refused(
    write: Write, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    path = write(f"{OWN_PARTS}OWN = {line}\n")
    assert run("table", "--revision", f"{path}:OWN") == USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("made('Heartbeat', MINE.among(1, 2))", "mine is 3; it is one of 1, 2"),
        (
            "made('Heartbeat', effect=(STEP,))",
            "line 3: AttributeError: 'ClassicWork' object has no",
        ),
    ],
)
def test_what_a_column_or_step_does_wrong_is_told(
    write: Write, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    path = write(f"{OWN_PARTS}OWN = {line}\n")
    few = ("--question", "zombie", "--property", "seats-stay")
    assert run("check", f"{path}:OWN", *few) in {1, USAGE}
    told = capsys.readouterr()
    assert said in told.out + told.err
    assert "Traceback" not in told.err


def test_proofs_say_what_they_leave_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("z3")
    monkeypatch.setattr(proofs, "prove", partial(proofs.prove, rules=["LEAVE-GRACE"]))
    assert run("prove", "--revision", GRACE, "--property", "fresh-id-for-one") == 2
    told = capsys.readouterr().out
    assert "HALVE_SESSION: a step of the user's own, of which proofs know nothing" in told
    assert "column short session of table LeaveGroup member: its function is not in the" in told


@pytest.mark.parametrize(("name", "code"), [("NAMED_LEAVE", 0), ("KAFKA_4", 1)])
def test_ones_own_formula_is_proved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    pytest.importorskip("z3")
    whole = proofs.prove
    few = ["LEAVE-MEMBER", "LEAVE-STATIC-NAMELESS"]
    monkeypatch.setattr(proofs, "prove", partial(whole, rules=few, with_traces=False))
    asked = ("--property", "nobody-static-leaves-by-id")
    mine = f"{EXAMPLES / 'named_leave.py'}:{name}"
    assert run("prove", "--revision", mine, *asked) == code
    told = capsys.readouterr().out
    assert ("not safe: nobody-static-leaves-by-id" in told) is bool(code)
    assert run("prove", "--revision", FIRST_WINS, "--property", "nobody-is-replaced") == USAGE


def test_every_command_takes_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("explain", "JOIN-STATIC-EMPTY-TAKEN", "--revision", FIRST_WINS) == 0
    assert "which may still be alive" in capsys.readouterr().out
    assert run("revisions", UPGRADE) == 0
    assert run("diff", "kafka-4", FIRST_WINS, "--max-depth", "3", "--report", str(tmp_path)) == 1
    assert len(list(tmp_path.iterdir())) == 4
    assert run("explore", "--revision", UPGRADE, "--max-depth", "2") == 0
    cases = ("--case", "JOIN-PHASE-DELAY-OVER/restart-does-not-*", "--report", str(tmp_path / "c"))
    assert run("certify", "model", "--revision", FIRST_WINS, *cases) == 1
    assert run("certify", f"model:{FIRST_WINS}", "--case", "HEARTBEAT-STABLE/*") == 1
    capsys.readouterr()
    assert run("fuzz", f"model:{FIRST_WINS}", "--requests", "60", "--json") in {0, 1}


def test_a_trace_that_names_it_runs_it_only_where_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, write: Write
) -> None:
    copy = f"{write((EXAMPLES / 'first_wins.py').read_text(encoding='utf-8'))}:FIRST_WINS"
    few = ("--question", "zombie", "--property", "a-restart-in-a-stable-group-is-quiet")
    assert run("check", copy, *few, "--strict", "--report", str(tmp_path)) == 1
    (trace,) = tmp_path.glob("*.trace.json")
    elsewhere = trace.read_text(encoding="utf-8").replace("mine.py", "theirs.py")
    (tmp_path / "mine.py").rename(tmp_path / "theirs.py")
    trace.write_text(elsewhere, encoding="utf-8")
    capsys.readouterr()
    assert run("replay", str(trace)) == USAGE
    assert "what only names it doesn't run it" in capsys.readouterr().err
    assert run("replay", str(trace), "--revision", copy.replace("mine.py", "theirs.py")) == 0


def test_ones_own_property_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "nobody-is-replaced", "--revision", FIRST_WINS) == 0
    assert "gets another member only after its member is gone" in capsys.readouterr().out
    assert run("explain", "nobody-is-replaced") == USAGE
    assert "--revision FILE.py:NAME adds those in your file" in capsys.readouterr().err


def test_ones_own_property_is_asked_of_a_shipped_revision(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file names the revision: what that is known to break is known of it there, too."""
    few = ("--question", "two processes")
    path = write((EXAMPLES / "first_wins.py").read_text(encoding="utf-8"))
    assert run("check", f"{path}:KAFKA_4", *few) == 1
    told = capsys.readouterr().out
    assert "nobody-is-replaced: violated" in told
    assert "static-goes-only-by-session-leave-replacement: expected violation" in told
    assert "violated             1" in told


def test_what_keeps_its_id_lets_two_consume(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", KEEPS_ID, "--question", "two processes") == 1
    told = capsys.readouterr().out
    assert "no-two-consumers-on-one-id: violated" in told
    assert "c1 and c2 both consume under the id A-1" in told


def test_a_revision_of_ones_own_that_is_made_from_another_is_shown(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HOLE.replace("MINE", "FIRST").replace("'mine'", "'first'")
    text += (
        "from fencepost.model import SetRule\n"
        "BACK = SetRule('JoinGroup', KAFKA_4.rule('JOIN-LEADER-STABLE'), 'back')\n"
        "MINE = derive(FIRST, 'mine', 'again', (BACK,))\n"
    )
    assert run("revisions", f"{write(text)}:MINE") == 0
    assert "(base first, 1 difference)" in capsys.readouterr().out


def test_the_upgrade_makes_members_static_and_check_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    few = ("--question", "borrowed instances", "--property", "seats-stay")
    assert run("check", UPGRADE, *few) == 1
    assert "JOIN-UPGRADE" in capsys.readouterr().out


def test_what_is_listed_of_a_changed_rule_is_said_to_be_the_old_ones(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = f"{write(ELSEWHERE)}:MINE"
    old = "must be, and the cases, are of kafka-4's rule; yours may be about less"
    assert run("explain", "LEAVE-MEMBER", "--revision", mine) == 0
    assert old in capsys.readouterr().out
    assert run("explain", "LEAVE-MEMBER-PREPARING", "--revision", mine) == 0
    assert old not in capsys.readouterr().out


def test_a_file_without_a_name_is_told_how_to_name_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("table", "--revision", "mine.py") == USAGE
    assert "one in a file is named mine.py:NAME" in capsys.readouterr().err
