"""Read restart times, silences and rates from logs, and what would have been saved in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.conformance.advise.known_facts import FORMS, AdviceError
from fencepost.conformance.advise.log_facts import facts_of, log_facts, read_reports

ROOT = Path(__file__).resolve().parents[3]
REQUESTS = ROOT / "examples/request-logs/kafka-request.log.gz"
SERVER = ROOT / "examples/server-logs/server.log.gz"
DAY_MS = 24 * 3600 * 1000
DYNAMIC, STATIC = FORMS[0], FORMS[2]


def rebalance(at_ms: int, cause: str, remedy: str, away_ms: int | None) -> dict[str, Any]:
    return {
        "group": "g",
        "start_ms": at_ms,
        "duration_ms": 1000,
        "cause": cause,
        "remedy": remedy,
        "away_ms": away_ms,
        "members_after": 3,
        "place": f"log:{at_ms}",
    }


def table(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"count": len(rows), "rows": list(rows)}


def report(**tables: Any) -> dict[str, Any]:
    names = ("rebalances", "thrown_out", "near_timeouts", "life_lines", "deployments")
    return {"from_ms": 0, "until_ms": 14 * DAY_MS, **{n: tables.get(n, table()) for n in names}}


@pytest.mark.parametrize("log", [REQUESTS, SERVER], ids=["requests", "server"])
def test_a_log_of_dynamic_members_shows_restarts_that_static_ones_would_save(log: Path) -> None:
    found = log_facts(read_reports([log], "payments-1"), "payments-1")
    assert len(found.restarts_s) == 3
    assert len(found.avoided(STATIC, 45)) == 3
    assert not found.avoided(DYNAMIC, 45)
    assert found.facts["members"] == 3
    assert "deployments" not in found.facts  # it is a few seconds long


def test_rates_are_those_of_a_week() -> None:
    rows = [
        rebalance(1000, "leave", "static membership", 8000),
        rebalance(50_000, "expiry", "a longer session timeout", 70_000),
        rebalance(90_000, "expiry", "none", None),
        rebalance(190_000, "expiry", "a longer session timeout", 30_000),
    ]
    thrown = {"group": "g", "at_ms": 190_000, "silent_ms": 30_000, "session_ms": 20_000}
    found = log_facts(
        report(
            rebalances=table(*rows),
            thrown_out=table(thrown),
            deployments=table({"group": "g"}, {"group": "g"}, {"group": "other"}),
        ),
        None,
    )
    assert found.restarts_s == (8.0, 70.0)  # who was thrown out alive was not restarted
    assert found.facts == {
        "members": 3,
        "restart_s": {"values": [8.0, 70.0]},
        "pause_s": 30.0,
        "session_s": 20.0,
        "deployments": 1.0,
        "crashes": 0.5,
        "deaths": 0.5,
    }
    assert [row["away_ms"] for row in found.avoided(STATIC, 60)] == [8000, 30_000]
    assert len(found.avoided(STATIC, 90)) == 3


def test_many_restarts_are_thinned_evenly() -> None:
    rows = [rebalance(n, "leave", "static membership", 1000 * (n + 1)) for n in range(500)]
    values = log_facts(report(rebalances=table(*rows)), "g").facts["restart_s"]["values"]
    assert (len(values), values[0], values[-1]) == (20, 1.0, 500.0)
    assert values == sorted(values)


def test_json_of_an_audit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    document = {"format": "fencepost-audit", "operator": report(rebalances=table())}
    path.write_text(json.dumps(document))
    with pytest.raises(AdviceError, match="shows nothing of a group 'g'; it has none"):
        log_facts(read_reports([path], "g"), "g")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "isn't JSON"),
        ("a.json", "[]", "not the JSON of an audit"),
        ("a.log", "nothing\n", "neither a request log"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(AdviceError, match=said):
        read_reports([path], None)
    if path.suffix == ".json":
        with pytest.raises(AdviceError, match="give the JSON of one audit, and no other file"):
            read_reports([path, REQUESTS], None)
    with pytest.raises(AdviceError, match="Give --group; the log has billing, billing-1"):
        log_facts(read_reports([REQUESTS], None), None)


def test_what_members_are_set_to_is_taken_from_a_log_that_shows_it() -> None:
    def facts(**row: Any) -> Any:
        shown: dict[str, Any] = {
            "group": "g",
            "static": None,
            "dynamic": None,
            "session_ms": None,
            "assignors": [],
        }
        tables = report(rebalances=table(rebalance(1000, "leave", "none", None)))
        return log_facts({**tables, "at_end": [{**shown, **row}]}, "g").facts

    found = facts(static=3, dynamic=0, session_ms=60_000, assignors=["cooperative-sticky"])
    assert found["is_static"]
    assert (found["session_s"], found["strategy"]) == (60.0, "cooperative")
    both = facts(static=2, dynamic=1, assignors=["cooperative-sticky", "range"])
    assert "is_static" not in both
    assert both["strategy"] == "both"
    assert facts(assignors=["range"])["strategy"] == "eager"
    assert facts(session_ms=3000)["session_s"] == 3.0
    assert facts(dynamic=2, static=0)["is_static"] is False
    for row in ({}, {"assignors": ["one of our own"]}):
        assert not {"session_s", "strategy", "is_static"} & set(facts(**row))


def test_a_shared_instance_id_is_why_a_log_has_no_restart() -> None:
    log = log_facts(read_reports([REQUESTS], "orders"), "orders")
    assert log.shared == ("orders-2",)
    with pytest.raises(AdviceError, match="take orders-2 from each other"):
        facts_of(log, {})
    assert facts_of(log, {"restart_s": 4.0})["restart_s"] == 4.0
    assert facts_of(None, {}) == {}


def test_restarts_of_static_members_have_their_length_where_requests_show_it() -> None:
    log = log_facts(read_reports([REQUESTS], "orders-1"), "orders-1")
    assert (log.restarts_s, log.free) == ((), 3)
    assert log.free_s == (0.445, 0.455, 0.466)
    assert log.facts["restart_s"] == {"values": [0.445, 0.455, 0.466]}
    server = log_facts(read_reports([SERVER], "orders-1"), "orders-1")
    assert (server.free, server.free_s) == (3, ())  # it has no heartbeats
    assert "restart_s" not in server.facts


def test_a_process_that_was_fenced_alive_was_not_away() -> None:
    rows = read_reports([REQUESTS], "orders")["life_lines"]["rows"]
    fenced = [row["away_ms"] for row in rows if row["fenced_ms"] is not None]
    assert fenced
    assert set(fenced) == {None}
