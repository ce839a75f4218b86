"""Tells an advice: in words and tables for an operator, and as JSON (`advice-1.schema.json`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from fencepost.conformance.advise.advice import Advice, CurvePoint
from fencepost.conformance.advise.advice_page import advice_page
from fencepost.conformance.advise.advice_words import (
    advice_words,
    before_words,
    head_words,
    setting_words,
    settings,
    shown,
)
from fencepost.conformance.advise.arithmetic import EventCost
from fencepost.conformance.advise.assumptions import assumptions
from fencepost.conformance.advise.from_logs import LogFacts
from fencepost.conformance.advise.known_facts import SAID
from fencepost.conformance.advise.log_words import log_words
from fencepost.conformance.advise.longest_gap import (
    longest_crash_s,
    longest_death_s,
    longest_restart_s,
    rollout_s,
)
from fencepost.conformance.advise.migration import (
    Bounce,
    bounce_words,
    migration,
    way_back,
    way_there,
)
from fencepost.conformance.advise.sensitivity import Turn
from fencepost.conformance.advise.setting_cost import SettingCost, restart_option
from fencepost.traces.report.report_folder import write_texts

_EVENT_WORDS = {
    "deployment": "one deployment",
    "crash": "one crash, started again",
    "death": "one death for good",
}


def print_advice(
    advice: Advice, log: LogFacts | None, given: Sequence[str], console: Console
) -> None:
    """Print what to set, why, what it was taken from, what was assumed, and how to check it."""

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False, highlight=False)

    for line in head_words(advice):
        say(line)
    if len(shown(advice)) > 1:
        say("Set")
        for line in settings(advice):
            say(f"  {line}")
    for line in advice_words(advice, given, _seen(log)):
        say(line)
    if steps := migration(advice):
        say("")
        say(f"How to get there {_from(given)}:")
        for line in steps:
            say(f"  {line}")
    if log is not None:
        say("")
        for line in log_words(advice, log):
            say(line)
    say("")
    say("In a week, in partition-seconds:")
    console.print(_forms(advice, given))
    say("")
    say(
        "The curve: the part of restarts that outlive a session, which begins up to a heartbeat "
        "interval before the restart does; after how long a dead host's partitions are read again, "
        "on average and at most; and what a week loses with the better strategy."
    )
    console.print(_curve(advice, given))
    say("")
    say("Assumed:")
    for line in assumptions(advice.asked, given):
        say(f"  {line}")
    say("")
    say(
        "These lines simulate one event of each kind, as advised and otherwise. The figures are "
        "expected means: what the seeds come to may differ by a tenth, and by half a heartbeat "
        "interval of one member's partitions for each restart. Of a group of many members each "
        "takes minutes:"
    )
    for setting in shown(advice):
        for row in (each for each in setting.rows if each.per_week):
            say(f"  {setting_words(setting)}, {_EVENT_WORDS[row.event]}: {_cost_words(row.cost)}")
            say(f"    {row.line or 'not simulated: brokers allow no such session by default'}")


def _from(given: Sequence[str]) -> str:
    """Where one is now."""
    is_new = before_words(given) == "Kafka's defaults"
    return "from Kafka's defaults, if the group runs already" if is_new else "from today"


def _seen(log: LogFacts | None) -> int | None:
    return len(log.restarts_s) if log is not None and "restart_s" in log.facts else None


def _cost_words(cost: EventCost) -> str:
    return f"{cost.unavailable_s:,.1f} s not consumed, {cost.rebalances:.1f} rebalances"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _forms(advice: Advice, given: Sequence[str]) -> Table:
    table = _table("", "session", "rebalances", "new owners", "not consumed", "and warming up")
    rows = [("advised", advice.advised), *(("", each) for each in advice.best[1:])]
    for name, each in [*rows, (before_words(given), advice.today)]:
        week = each.week
        table.add_row(
            f"{each.form} {f'({name})' if name else ''}",
            f"{each.session_s:g} s",
            f"{week.rebalances:,.1f}",
            f"{week.moved:,.0f}",
            f"{week.unavailable_s:,.0f} s",
            f"{each.lost_s:,.0f} s",
        )
    return table


def _curve(advice: Advice, given: Sequence[str]) -> Table:
    table = _table("session", "outlived by", "read again", "at most", "dynamic", "static", "")
    for point in advice.curve:
        table.add_row(
            f"{point.session_s:g} s",
            f"{100 * point.outlives:.1f} %",
            f"{point.detection_s:.1f} s",
            f"{point.longest_detection_s:.1f} s",
            *(f"{point.least_s(is_static):,.0f} s" for is_static in (False, True)),
            _note(advice, point, given),
        )
    return table


def _note(advice: Advice, point: CurvePoint, given: Sequence[str]) -> str:
    which = before_words(given) if point.session_s == advice.known.session_s else ""
    if point.session_s == advice.advised.session_s:
        which = "advised"
    return ": ".join(each for each in (which, point.why_not) if each)


# JSON


def advice_json(advice: Advice, log: LogFacts | None, given: Sequence[str]) -> dict[str, Any]:
    """The document, as `advice-1.schema.json` describes it."""
    known = msgspec.to_builtins(advice.asked) | {"partitions": advice.asked.partitions}
    return {
        "schema": "advice-1",
        "known": known,
        "given": sorted(given),
        "restart_option": restart_option(advice.asked.restart_s),
        "assumed": assumptions(advice.asked, given),
        "settings": settings(advice),
        "words": [*head_words(advice), *advice_words(advice, given, _seen(log))],
        "compared_with": before_words(given),
        "conflict": advice.conflict,
        "migration": migration(advice),
        "way": [_bounce_json(advice, bounce) for bounce in way_there(advice)],
        "way_back": [_bounce_json(advice, bounce) for bounce in way_back(advice)],
        "turns": [_turn_json(turn) for turn in advice.turns],
        "as_good": [str(row.form) for row in advice.as_good],
        "advised": _setting_json(advice.advised),
        "today": _setting_json(advice.today),
        "forms": [_setting_json(each) for each in advice.best],
        "static_alternative": advice.enough and _setting_json(advice.enough),
        "heartbeat_alternative": advice.other_beat and _setting_json(advice.other_beat),
        "curve": [_point_json(advice, point, given) for point in advice.curve],
        "log": None if log is None else _log_json(advice, log),
    }


def _bounce_json(advice: Advice, bounce: Bounce) -> dict[str, Any]:
    return {
        "words": bounce_words(bounce),
        "rebalances": round(bounce.cost.rebalances, 3),
        "lost_partition_s": round(bounce.cost.lost_s(advice.asked.warmup_s), 3),
        "simulate": bounce.line,
    }


def _turn_json(turn: Turn) -> dict[str, Any]:
    return {
        "option": SAID[turn.name],
        "value": round(turn.value, 3),
        "direction": "upwards" if turn.is_upwards else "downwards",
        "form": str(turn.form),
        "instead_of": str(turn.instead_of),
    }


def _setting_json(setting: SettingCost) -> dict[str, Any]:
    week, where = setting.week, (setting.known, setting.form, setting.session_s)
    return {
        "membership": "static" if setting.form.is_static else "dynamic",
        "strategy": setting.form.strategy,
        "session_timeout_ms": round(setting.session_s * 1000),
        "heartbeat_interval_ms": round(setting.heartbeat_s * 1000),
        "longest_after_death_s": round(longest_death_s(setting.known, setting.session_s), 3),
        "longest_after_restart_s": round(longest_restart_s(*where), 3),
        "longest_after_crash_s": round(longest_crash_s(*where), 3),
        "deployment_lasts_s": round(rollout_s(*where), 3),
        "weekly_rebalances": round(week.rebalances, 3),
        "weekly_partitions_moved": round(week.moved, 3),
        "weekly_unavailable_partition_s": round(week.unavailable_s, 3),
        "weekly_lost_partition_s": round(setting.lost_s, 3),
        "events": [
            {
                "event": row.event,
                "per_week": row.per_week,
                "rebalances": round(row.cost.rebalances, 3),
                "partitions_moved": round(row.cost.moved, 3),
                "unavailable_partition_s": round(row.cost.unavailable_s, 3),
                "simulate": row.line,
            }
            for row in setting.rows
        ],
    }


def _point_json(advice: Advice, point: CurvePoint, given: Sequence[str]) -> dict[str, Any]:
    return {
        "session_timeout_ms": round(point.session_s * 1000),
        "restarts_that_outlive_it": round(point.outlives, 6),
        "detection_s": round(point.detection_s, 3),
        "longest_detection_s": round(point.longest_detection_s, 3),
        "why_not": point.why_not,
        "note": _note(advice, point, given),
        "weekly_lost_partition_s": {
            str(form): round(lost, 3) for form, lost in point.weekly.items()
        },
    }


def _log_json(advice: Advice, log: LogFacts) -> dict[str, Any]:
    avoided = log.avoided(advice.advised.form, advice.advised.session_s)
    return {
        "group": log.group,
        "lasted_s": round(log.lasted_s, 3),
        "restarts_s": list(log.restarts_s),
        "restarts_without_rebalance": log.free,
        "rebalances": len(log.rebalances),
        "rebalances_avoided": len(avoided),
        "avoided_s": round(sum(row["duration_ms"] or 0 for row in avoided) / 1000, 3),
        "places": [row["place"] for row in avoided],
        "is_cut": log.left_out,
        "session_s": log.session_s,
        "unused_session_s": None if log.session_s == advice.asked.session_s else log.session_s,
        "shared_instance_ids": list(log.shared),
        "words": list(log_words(advice, log)),
    }


def write_advice(document: dict[str, Any], folder: Path) -> None:
    """Write `advice.json` and `index.html`.  Raises ReportError where that can't be."""
    texts = {
        "advice.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        "index.html": advice_page(document),
    }
    write_texts(texts, folder, "--report")
