"""Skipping heartbeats changes no result; where it would, these tests see it."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.conformance.simulate.quiet_simulation import QuietSimulation
from fencepost.conformance.simulate.simulation import SimulatedExchange, Simulation
from fencepost.model.client.behaviour import ClientSettings

LONG_MS = 10**12
RUNS = [(seed, static) for seed in (0, 1) for static in (True, False)]


def settings(name: str, *, static: bool, assignor: str) -> ClientSettings:
    return ClientSettings(
        group_id="g",
        topics=("t",),
        client_id=name,
        group_instance_id=name if static else None,
        assignors=(assignor,),
        auto_commit_ms=None,
        fetches=False,
        request_timeout_ms=LONG_MS,
        metadata_max_age_ms=LONG_MS,
    )


def eventful(kind: type[Simulation], seed: int, *, static: bool) -> Simulation:
    """Restarts, a death, brokers that fail, a second process on an id, a removal."""
    sim = kind({"t": 8}, seed=seed, nodes=2)
    assignor = "cooperative-sticky" if seed % 2 else "range"

    def start(name: str, process: int) -> None:
        sim.start(f"{name}#{process}", settings(name, static=static, assignor=assignor))

    for name in "abcd":
        start(name, 1)
    sim.run_for(30_000 + seed)
    for name in "ab":
        sim.close(f"{name}#1")
        sim.run_for(5000 + 7 * seed)
        start(name, 2)
        sim.run_for(20_011)
    sim.kill("d#1")
    sim.run_for(60_000)
    start("d", 2)
    sim.run_for(33_333)
    sim.is_down = True
    sim.cut_all()
    sim.run_for(777)
    sim.is_down = False
    sim.move_coordinator("g", 2)
    sim.run_for(20_000)
    start("b", 3)
    sim.run_for(20_000)
    sim.remove("g", "c")
    sim.run_for(20_000)
    sim.rest_no_more()
    return sim


def by_time(sim: Simulation, *, told: bool) -> list[Any]:
    """What was asked and answered; heartbeats only if they were `told` something."""
    return sorted(
        (each.at_ms, each.client_id, repr(each))
        for each in sim.history
        if each.api != "Heartbeat" or (told and _tells(each))
    )


def _tells(exchange: SimulatedExchange) -> bool:
    return exchange.answer is None or getattr(exchange.answer, "error_code", 0) != 0


@pytest.mark.parametrize(("seed", "static"), RUNS)
def test_what_is_skipped_changes_nothing(seed: int, static: bool) -> None:
    whole = eventful(Simulation, seed, static=static)
    quick = eventful(QuietSimulation, seed, static=static)

    assert quick.events == whole.events
    assert by_time(quick, told=True) == by_time(whole, told=True)
    assert quick.cluster.model.groups == whole.cluster.model.groups
    skipped = sum(row.times for row in quick.skipped)
    assert len(quick.history) + skipped == len(whole.history)
    assert skipped > len(whole.history) / 3
    assert whole.skipped == []


def forgets_sessions(*_: object) -> bool:
    return False


def counts_too_few(self: QuietSimulation, name: str, rest: Any, until: Any) -> int:
    return max(SENT(self, name, rest, until) - 1, 0)


SENT = QuietSimulation._sent


@pytest.mark.parametrize(
    ("part", "wrong"), [("_restart_sessions", forgets_sessions), ("_sent", counts_too_few)]
)
def test_a_simulation_that_skips_wrongly_is_caught(
    part: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuietSimulation, part, wrong)
    whole, quick = (eventful(kind, 0, static=True) for kind in (Simulation, QuietSimulation))
    assert quick.events != whole.events or quick.cluster.model.groups != whole.cluster.model.groups


def test_nothing_rests_where_requests_are_interfered_with() -> None:
    sim = QuietSimulation({"t": 2}, interfere=lambda _: None)
    sim.start("a", settings("a", static=True, assignor="range"))
    sim.run_for(60_000)
    sim.rest_no_more()
    assert sim.skipped == []
    assert len(sim.requests_of("a", "Heartbeat")) == 18


def test_a_quiet_hour_takes_no_steps() -> None:
    sim = QuietSimulation({"t": 2})
    sim.start("a", settings("a", static=True, assignor="range"))
    sim.run_for(20_000)
    asked = len(sim.history)
    sim.run_for(3_600_000)
    assert len(sim.history) == asked
    sim.rest_no_more()
    assert 1200 <= sum(row.times for row in sim.skipped) <= 1206
