"""`fencepost simulate`: options, JSON by its schema, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.in_this_process import invoke
from support.places import ROOT

from fencepost.conformance.cli.schema import schemas
from fencepost.conformance.simulate.deployment_scenario import scenario_names

SMALL = ("simulate", "rolling-bounce", "--members", "2", "--partitions", "3")
OWN_RULES = """
from fencepost.model import KAFKA_4, SetRule, derive

BEAT = KAFKA_4.rule("HEARTBEAT-STABLE").but(effect=(), because="a session has a fixed end")
LEAVE = KAFKA_4.rule("LEAVE-MEMBER").but(source="our note")
DIFFERENCES = [SetRule("Heartbeat", BEAT, "our note"), SetRule("LeaveGroup member", LEAVE, "ours")]
OURS = derive(KAFKA_4, "ours", "a heartbeat doesn't extend the session", DIFFERENCES)
"""


def test_without_a_name_the_scenarios_are_listed() -> None:
    lines = invoke("simulate").out.splitlines()
    assert [line.split()[0] for line in lines] == scenario_names()


def test_json_keeps_the_schema_and_nothing_else_is_printed() -> None:
    done = invoke(*SMALL, "--dynamic", "--strategy", "eager", "--restart-s", "7", "--json")
    document = json.loads(done.out)
    schema = json.loads(schemas()["simulation-1"]())
    Draft202012Validator(schema).validate(document)
    assert (done.code, done.err) == (0, "")
    assert (document["rebalances"], document["members"], document["partitions"]) == (4, 2, 3)
    assert document["unavailable_partition_s"] > 0
    assert list(Draft202012Validator(schema).iter_errors({**document, "more": 1}))
    assert list(Draft202012Validator(schema).iter_errors({**document, "seeds": [1, 2]}))


def test_the_same_seed_prints_the_same_bytes_and_another_one_others() -> None:
    one, same, other = (invoke(*SMALL, "--seed", seed, "--json").out for seed in "112")
    assert one == same != other


def test_options_change_the_scenario() -> None:
    done = invoke(*SMALL, "--static", "--session-timeout-ms", "6000", "--json", "--restart-s", "9")
    assert json.loads(done.out)["causes"]["expiry"] == 2
    done = invoke(*SMALL, "--partitions", "5,2", "--json")
    assert {row["topic"] for row in json.loads(done.out)["each_partition"]} == {
        "topic-1",
        "topic-2",
    }
    done = invoke(*SMALL, "--static", "--at-a-time", "2", "--json")
    assert json.loads(done.out)["balanced_after_s"] < 6


@pytest.mark.parametrize(
    ("named", "strategy"),
    [
        ("range", "eager"),
        ("cooperative-sticky", "cooperative"),
        ("cooperative-sticky,range", "both"),
        ("org.apache.kafka.clients.consumer.CooperativeStickyAssignor", "cooperative"),
        ("RangeAssignor,CooperativeStickyAssignor", "both"),
    ],
)
def test_a_strategy_may_be_named_by_its_assignors(named: str, strategy: str) -> None:
    own, kafkas = (
        invoke("simulate", "crash", "--members", "2", "--strategy", each, "--json")
        for each in (strategy, named)
    )
    assert (kafkas.code, kafkas.out) == (0, own.out)


@pytest.mark.parametrize(
    ("named", "remedy"),
    [
        ("roundrobin", "(eager means range; a scenario file of `simulate` can name any"),
        ("StickyAssignor", "give eager, cooperative or both (eager means range"),
        ("best", "'best' is no strategy: give eager, cooperative or both"),
    ],
)
@pytest.mark.parametrize("command", ["simulate", "advise"])
def test_another_strategy_is_refused(command: str, named: str, remedy: str) -> None:
    refused = invoke(command, "--strategy", named)
    assert refused.code == 64
    assert remedy in refused.err


def test_a_bounce_starts_processes_with_other_settings() -> None:
    done = invoke(*SMALL, "--dynamic", "--set", "membership=static", "--restart-s", "7", "--json")
    assert json.loads(done.out)["causes"]["leave"] == 2
    alone = invoke(*SMALL, "--strategy", "eager", "--set", "strategy=cooperative", "--json")
    assert "INCONSISTENT_GROUP_PROTOCOL" in json.loads(alone.out)["halted"][0]
    both = invoke(*SMALL, "--strategy", "both", "--set", "strategy=cooperative", "--json")
    assert json.loads(both.out)["halted"] == []


def test_a_revision_in_a_file_is_one_of_the_forms() -> None:
    own = f"{ROOT}/examples/revisions/first_wins.py:FIRST_WINS"
    forms = invoke(*SMALL, "--compare", f"static+kafka-4,static+{own}", "--json")
    kafka, first_wins = (one["causes"] for one in json.loads(forms.out)["compared"])
    assert kafka != first_wins
    varied = invoke(*SMALL, "--static", "--vary", f"revision=kafka-4,{own}", "--json")
    assert [one["causes"] for one in json.loads(varied.out)["compared"]] == [kafka, first_wins]
    for named in (("--compare", f"static+{own}S"), ("--vary", f"revision={own}S")):
        done = invoke(*SMALL, *named)
        assert (done.code, "did you mean" in done.err) == (64, True)
    spark = invoke(*SMALL, "--vary", f"revision=kafka-4,{own}", "--engine", "spark")
    assert (spark.code, "which Spark's machines don't have" in spark.err) == (64, True)


def test_own_rules_that_never_applied_are_named(tmp_path: Path) -> None:
    """A rule for heartbeats applies, too, although those of shipped rules are skipped."""
    path = tmp_path / "own.py"
    path.write_text(OWN_RULES, encoding="utf-8")
    forms = f"static+kafka-4,static+{path}:OURS"
    small = (*SMALL, "--session-timeout-ms", "6000", "--restart-s", "3", "--compare", forms)
    done = invoke(*small, "--seeds", "2")
    assert f"static+{path}:OURS: LEAVE-MEMBER never applied in these runs." in done.out
    assert done.out.count("never applied") == 1
    compared = json.loads(invoke(*small, "--json").out)["compared"]
    assert [one.get("rules_never_applied") for one in compared] == [None, ["LEAVE-MEMBER"]]
    assert ["expiry" in one["causes"] for one in compared] == [False, True]


def test_who_leaves_on_close_is_a_setting() -> None:
    """KIP-1092: a static member may leave, and a dynamic one stay."""
    for membership in ("static", "dynamic"):
        one = (*SMALL, f"--{membership}", "--vary", "leaves_on_close=false,true", "--jobs", "1")
        stays, leaves = (r["causes"] for r in json.loads(invoke(*one, "--json").out)["compared"])
        assert "leave" not in stays
        assert leaves["leave"] > 0
    done = invoke(*SMALL, "--vary", "leaves_on_close=maybe")
    assert (done.code, "`settings.leaves_on_close` is 'maybe'" in done.err) == (64, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rolling",), "'rolling'"),
        (("rolling-bounce", "--members", "0"), "`members` is 0"),
        (("rolling-bounce", "--session-timeout-ms", "5"), "`settings.session_timeout_ms` is 5"),
        (("rolling-bounce", "--restart-s", "-1"), "'--restart-s': -1 is no duration"),
        (("rolling-bounce", "--compare", "eager,,"), "''"),
        (("none.toml",), "none.toml: file: can't be read"),
        (("crash", "--set", "strategy=both"), "--set: crash has no deployment, a step `do = "),
        (("rolling-bounce", "--set", "strategy=bth"), "`step[0].set.strategy` is 'bth'"),
    ],
)
def test_what_can_not_be_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = invoke("simulate", *arguments)
    assert done.code == 64
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_report_is_told(tmp_path: Path) -> None:
    done = invoke(*SMALL, "--static", "--report", str(tmp_path / "new"))
    assert done.out.splitlines()[-1] == f"Read {tmp_path / 'new' / 'index.html'}"
    assert (tmp_path / "new" / "simulation.json").is_file()
