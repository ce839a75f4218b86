"""Audits of many logs: none of a sound coordinator is called wrong, and of wrong ones most are.

Something happens to each member every twenty seconds, half of it what no good client does, and
joins go unanswered; so some groups stay unknown.  A quarter of an hour: `tox -e audit`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.logs.audits import (
    Exchanges,
    audited,
    dated_late,
    made,
    of_exchanges,
    outcomes,
    wrong_answers,
)
from support.places import ROOT

from benchmarks.log_traffic import Plan
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.traces.audit.audit_results import EXPLAINED, UNKNOWN, VIOLATED
from fencepost.traces.logs.request_log import read_request_log

CALM = Plan(lines=100_000, groups=20, members=5)
MOST_S = 120
CAUGHT = 55
"""Of the mutants, how many a log of four thousand lines gives away at least."""


class _TooLongError(Exception):
    """An audit took too long."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def over(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def plan(seed: int, odd: float) -> Plan:
    return Plan(
        lines=5_000,
        groups=6,
        members=10,
        unrest_ms=20_000,
        rebalance_ms=5_000 if odd else 60_000,
        delay_ms=3_000 * (seed % 2),
        odd=odd,
        seed=seed,
    )


@pytest.mark.parametrize("odd", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(20))
def test_no_group_of_a_sound_log_is_violated(tmp_path: Path, seed: int, odd: float) -> None:
    assert VIOLATED not in outcomes(audited(tmp_path, made(plan(seed, odd))))


@pytest.mark.parametrize("by_ms", [25, 100, 400])
def test_no_line_that_is_dated_late_makes_a_violation(by_ms: int) -> None:
    every = read_request_log([ROOT / "examples" / "request-logs" / "kafka-request.log.gz"])
    groups: dict[tuple[str, ...], Exchanges] = {}
    for exchange in every:
        groups.setdefault(exchange.group_ids, []).append(exchange)
    for lines in groups.values():
        for late in lines:
            found = outcomes(of_exchanges(dated_late(lines, late.line, by_ms)))
            assert VIOLATED not in found, late.place


def test_one_wrong_answer_in_a_hundred_thousand_lines_is_found(tmp_path: Path) -> None:
    lines = made(CALM)
    violated = 0
    for seed in range(4):
        changed, line, group = wrong_answers(lines, seed)
        groups = audited(tmp_path, changed)
        assert [g.group_id for g in groups.values() if g.outcome != EXPLAINED] == [group]
        if groups[group].outcome == VIOLATED:
            violated += 1
            first = min(found.exchange.line for found in groups[group].first_violations)
            assert line <= first <= line + 1_000
    assert violated >= 2  # where a member's own join is not in the log, unknown is all that is left


def test_wrong_coordinators_give_themselves_away(tmp_path: Path) -> None:
    outcome = {name: _outcome_of(name, tmp_path) for name in sorted(MUTANTS)}
    for name, what in outcome.items():
        print(f"{name:36} {what}")  # noqa: T201 - the table is what this is run for
    assert sum(what == VIOLATED for what in outcome.values()) >= CAUGHT


def _outcome_of(name: str, folder: Path) -> str:
    plan = Plan(
        lines=4_000,
        groups=8,
        members=4,
        unrest_ms=12_000,
        rebalance_ms=5_000,
        odd=0.6,
        seed=1,
    )
    try:
        with limited(MOST_S):
            found = outcomes(audited(folder, made(plan, MUTANTS[name].revision)))
    except _TooLongError:
        return "too long"
    return next((o for o in (VIOLATED, UNKNOWN) if o in found), EXPLAINED)
