"""`fencepost advise`: its lines give its figures, JSON keeps the schema, and what it refuses."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from support.in_this_process import invoke

from fencepost.conformance.cli.schema import schemas

LOG = "examples/request-logs/kafka-request.log.gz"
ROOT = Path(__file__).resolve().parents[3]
WAVES = ("advise", "--members", "4", "--partitions", "8,4", "--restart-s", "8", "--at-a-time", "2")
SMALL = ("advise", "--members", "3", "--partitions", "6", "--restart-s", "8")


@pytest.mark.parametrize(("asked", "share"), [(SMALL, 2), (WAVES, 3)])
def test_every_line_gives_its_figure(asked: tuple[str, ...], share: int) -> None:
    """Within a tenth, and half a heartbeat interval of one member's partitions for each event."""
    document = json.loads(invoke(*asked, "--warmup-s", "5", "--json").out)
    for setting in (document["advised"], document["today"]):
        for row in setting["events"]:
            program, *words = shlex.split(row["simulate"])
            assert program == "fencepost"
            done = invoke(*words[:-1], "20", "--jobs", "1", "--json")
            figures = json.loads(done.out)["percentiles"]
            events = document["known"]["members"] if row["event"] == "deployment" else 1
            chance_s = share * setting["heartbeat_interval_ms"] / 2000 * events
            seen_s = figures["unavailable_partition_s"]["mean"]
            assert abs(row["unavailable_partition_s"] - seen_s) <= 0.1 * seen_s + chance_s
            seen = figures["rebalances"]["mean"]
            assert row["rebalances"] == pytest.approx(seen, abs=0.3 * events)


def test_json_keeps_the_schema_and_is_the_same_each_time() -> None:
    schema = json.loads(schemas()["advice-1"]())
    for more in ((), (str(ROOT / LOG), "--group", "payments-1")):
        done = invoke(*SMALL, *more, "--json")
        document = json.loads(done.out)
        Draft202012Validator(schema).validate(document)
        assert (done.code, done.err) == (0, "")
        assert done.out == invoke(*SMALL, *more, "--json").out
        assert list(Draft202012Validator(schema).iter_errors({**document, "more": 1}))


def test_options_go_before_what_a_log_shows() -> None:
    log = ("advise", str(ROOT / LOG), "--group", "payments-1", "--warmup-s", "30", "--json")
    assert json.loads(invoke(*log).out)["known"]["members"] == 3
    own = json.loads(invoke(*log, "--members", "9", "--restart-s", "7").out)
    assert (own["known"]["members"], own["known"]["restart_s"]) == (9, 7)
    assert own["log"]["rebalances_avoided"] == 3


def test_a_session_of_the_log_is_compared_with_though_brokers_seldom_allow_it() -> None:
    document = json.loads(invoke("advise", str(ROOT / LOG), "--group", "payments-1", "--json").out)
    assert document["compared_with"] == "today"
    assert document["today"]["session_timeout_ms"] == document["log"]["session_s"] * 1000 == 3000
    assert (document["known"]["heartbeat_s"], document["log"]["unused_session_s"]) == (1, None)
    assert {row["simulate"] for row in document["today"]["events"]} == {""}
    assert document["advised"]["session_timeout_ms"] >= 6000


def test_alternatives_and_ways_are_numbers() -> None:
    document = json.loads(invoke(*SMALL, "--json").out)
    advised, other = document["advised"], document["heartbeat_alternative"]
    assert (advised["heartbeat_interval_ms"], other["heartbeat_interval_ms"]) == (1000, 3000)
    assert advised["weekly_lost_partition_s"] < other["weekly_lost_partition_s"]
    assert advised["longest_after_restart_s"] == 1.18
    assert document["static_alternative"]["membership"] == "static"
    assert [len(document[name]) for name in ("way", "way_back")] == [1, 1]
    assert "set strategy=cooperative" in document["way"][0]["simulate"]


def test_a_report_is_told(tmp_path: Path) -> None:
    done = invoke(*SMALL, "--report", str(tmp_path / "new"))
    assert done.out.splitlines()[-1] == f"Read {tmp_path / 'new' / 'index.html'}"
    document = json.loads((tmp_path / "new" / "advice.json").read_text())
    assert document == json.loads(invoke(*SMALL, "--json").out)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "how long does a restart take"),
        (("--restart-s", "soon"), "'soon' is no number of seconds"),
        (("--restart-s", "4,5", "--restart-p95-s", "9"), "--restart-p95-s needs one --restart-s"),
        (("--restart-s", "4", "--members", "1"), "--members 2"),
        (("--restart-s", "4", "--partitions", "6,x"), "'6,x' is no number of partitions"),
        (("--restart-s", "4", "--at-a-time", "9"), "--at-a-time 9 of 6 members"),
        (("--restart-s", "4", "--group", "g"), "--group g is for logs"),
        (("none.log",), "none.log"),
        (("--restart-s", "40", "--restart-p95-s", "20"), "--restart-p95-s 20 is less than"),
        (("--restart-s", "-4"), "-4 is no duration: give seconds"),
        (("--restart-s", "4,nan"), "nan is no duration"),
    ],
)
def test_what_can_not_be_is_one_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = invoke("advise", *arguments)
    assert done.code == 64
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_log_without_restarts_is_no_wrong_usage_and_its_advice_is_unknown() -> None:
    done = invoke("advise", str(ROOT / LOG), "--group", "orders")
    assert (done.code, done.err) == (2, "")
    assert "take orders-2 from each other" in done.out
    done = invoke("advise", str(ROOT / LOG), "--group", "orders", "--json")
    assert (done.code, done.out) == (2, "")
    assert "take orders-2 from each other" in done.err


def test_a_log_that_is_not_understood_whole_is_said_to_be(tmp_path: Path) -> None:
    log = str(ROOT / "tests" / "traces" / "field_logs" / "11-rdkafka-leave-and-come.log.gz")
    strange = "[2024-11-20 19:08:22,974] INFO [GroupCoordinator 1]: Group g dances for member m"
    (tmp_path / "server.log").write_text(strange)
    options = ("--members", "3", "--partitions", "6", "--group", "spans")
    assert invoke("advise", log, *options).err == ""
    assert (
        "1 line about groups could not be read"
        in invoke("advise", log, str(tmp_path), *options).err
    )
