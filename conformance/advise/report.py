"""Tells an advice: in words and tables for an operator, and as JSON (`advice-1.schema.json`)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from fencepost.conformance.advise.advice import (
    Advice,
    CurvePoint,
    SettingCost,
    restart_option,
)
from fencepost.conformance.advise.arithmetic import EventCost
from fencepost.conformance.advise.from_logs import LogFacts
from fencepost.conformance.advise.known import SAID, WEEK_S, KnownGroup
from fencepost.conformance.certify.report import write_texts
from fencepost.conformance.simulator.durations import Spread
from fencepost.traces.page.advice_page import advice_page
from fencepost.traces.text.words import plural

_ASSUMED = {
    "members": "{} members",
    "topics": "{} partitions, of one topic",
    "at_a_time": "a deployment restarts {} process at a time",
    "pause_s": "a process that lives is never silent for longer than {:g} s",
    "processing_s": "work on what one poll returned takes up to {:g} s",
    "warmup_s": "a member needs {:g} s until it keeps up with a partition that is new to it",
    "deployments": "{:g} deployments in a week",
    "crashes": "{:g} crashes in a week, after which the process is started again",
    "deaths": "{:g} hosts in a week that die and don't come back",
    "heartbeat_s": "a heartbeat interval of {:g} s",
    "session_s": "a session timeout of {:g} s today",
    "is_static": "members are {} today",
    "strategy": "members are {} today",
}
_ALWAYS = (
    "the next processes of a rollout are restarted when the group is balanced",
    "what fencepost simulate assumes: docs/deployments/simulate.md",
)
_EVENT_WORDS = {
    "deployment": "one deployment",
    "crash": "one crash, started again",
    "death": "one death for good",
}


def assumptions(known: KnownGroup, given: Sequence[str]) -> list[str]:
    """What nobody said and no log showed, with the option that says it."""
    said = []
    if not isinstance(known.restart_s, Spread):
        said.append(f"every restart takes {known.restart_s:g} s (--restart-p95-s)")
    for name, words in _ASSUMED.items():
        if name in given:
            continue
        value = getattr(known, name)
        if name == "is_static":
            value = "static" if value else "dynamic"
        elif name == "topics":
            value = known.partitions
        option = f" ({SAID[name]})" if name in SAID else ""
        said.append(words.format(value) + option)
    return [*said, *_ALWAYS]


def print_advice(
    advice: Advice, log: LogFacts | None, given: Sequence[str], console: Console
) -> None:
    """Print what to set, why, what it was taken from, what was assumed, and how to check it."""

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False, highlight=False)

    for line in _words(advice):
        say(line)
    if log is not None:
        say("")
        for line in log_words(advice, log):
            say(line)
    say("")
    say("In a week, in partition-seconds: one partition for one second without a consumer is one.")
    console.print(_forms(advice))
    say("")
    say(
        "The curve: the part of restarts that outlive a session, when a death is noticed, on "
        "average and at most, and what a week loses with the better strategy."
    )
    console.print(_curve(advice))
    say("")
    say("Assumed:")
    for line in assumptions(advice.known, given):
        say(f"  {line}")
    say("")
    say("These lines simulate one event of each kind, as advised and as today (--json: the mean):")
    for setting in _shown(advice):
        for row in setting.rows:
            say(f"  {_setting(setting)}, {_EVENT_WORDS[row.event]}: {_cost_words(row.cost)}")
            say(f"    {row.line}")


def _setting(setting: SettingCost) -> str:
    return f"{setting.form}, {setting.session_s:g} s"


def _shown(advice: Advice) -> list[SettingCost]:
    """The advised setting and today's, where they differ."""
    one, other = advice.advised, advice.today
    is_same = (one.form, one.session_s) == (other.form, other.session_s)
    return [one] if is_same else [one, other]


def _cost_words(cost: EventCost) -> str:
    return f"{cost.unavailable_s:,.1f} s not consumed, {cost.rebalances:.1f} rebalances"


def _words(advice: Advice) -> Iterator[str]:
    """What to set and why, in sentences."""
    known, best, today = advice.known, advice.advised, advice.today
    if advice.conflict:
        yield f"{advice.conflict[0].upper()}{advice.conflict[1:]}."
    if len(_shown(advice)) == 1:
        yield f"Leave it as it is: {best.form}, session.timeout.ms={best.session_s * 1000:.0f}."
    else:
        yield "Set"
        for line in settings(best):
            yield f"  {line}"
    point = next(each for each in advice.curve if each.session_s == best.session_s)
    if best.is_static:
        yield (
            f"A restart is then free of rebalances while it is shorter than the session: "
            f"{_percent(1 - point.outlives)} of yours are. What the member has waits for it."
        )
    else:
        static = next(each for each in advice.best if each.is_static)
        yield (
            f"Static members would save rebalances ({static.week.rebalances:.1f} instead of "
            f"{best.week.rebalances:.1f} in a week), but what a member has waits for its restart: "
            f"{_hours(static.lost_s)} would be lost instead of {_hours(best.lost_s)}."
        )
    if advice.turn_s is not None and best.is_static:
        yield (
            f"With a warm-up of less than {advice.turn_s:.1f} s (--warmup-s) dynamic members would "
            "lose less."
        )
    elif advice.turn_s is not None:
        yield (
            f"This turns at a warm-up of {advice.turn_s:.1f} s: if a member needs longer until it "
            "keeps up with a partition that is new to it (caches, state), static members lose "
            "less. Measure it, and give it as --warmup-s."
        )
    yield (
        f"What a host had that dies for good is consumed again after {point.detection_s:.1f} s on "
        f"average, {point.longest_detection_s:.1f} s at most."
    )
    if best.lost_s and len(_shown(advice)) > 1:
        yield (
            f"In a week {_hours(best.lost_s)} are lost instead of {_hours(today.lost_s)} today, "
            f"with {best.week.rebalances:.1f} rebalances instead of {today.week.rebalances:.1f}: "
            f"each partition is consumed {_share(known, best)} of the time, today "
            f"{_share(known, today)}."
        )


def settings(setting: SettingCost) -> list[str]:
    """What to write into a consumer's configuration."""
    assignor = "RangeAssignor" if setting.form.strategy == "eager" else "CooperativeStickyAssignor"
    lines = [
        f"session.timeout.ms={setting.session_s * 1000:.0f}",
        f"partition.assignment.strategy=org.apache.kafka.clients.consumer.{assignor}",
    ]
    if setting.form.is_static:
        return [*lines, "group.instance.id=a name of its own for each process, kept over restarts"]
    return [*lines, "no group.instance.id"]


def log_words(advice: Advice, log: LogFacts) -> Iterator[str]:
    """What the log shows, and what the advice would have saved in it."""
    rebalances = plural(len(log.rebalances), "rebalance")
    yield f"The log shows {log.lasted_s:,.0f} s of group {log.group}, with {rebalances}."
    if log.restarts_s:
        middle = log.restarts_s[len(log.restarts_s) // 2]
        yield (
            f"{plural(len(log.restarts_s), 'restart')} with a rebalance took "
            f"{log.restarts_s[0]:.1f} s to {log.restarts_s[-1]:.1f} s, half of them up to "
            f"{middle:.1f} s."
        )
    if log.free:
        yield (
            f"{plural(log.free, 'restart')} of static members caused no rebalance; how long they "
            "took the audit doesn't tell, and --restart-s can."
        )
    best = advice.advised
    avoided = log.avoided(best.form, best.session_s)
    stopped_s = sum(row["duration_ms"] or 0 for row in avoided) / 1000
    yield (
        f"With what is advised, {len(avoided)} of the {rebalances} "
        f"would not have been, which took {stopped_s:.1f} s."
    )
    if log.left_out:
        yield "The log has more rows than an audit keeps; only those are counted."


def _hours(seconds: float) -> str:
    if seconds < 600:
        return f"{seconds:,.0f} partition-seconds"
    return f"{seconds / 3600:,.1f} partition-hours"


def _share(known: KnownGroup, setting: SettingCost) -> str:
    lost = min(setting.lost_s / (known.partitions * WEEK_S), 1.0)
    return f"{100 * (1 - lost):.4f} %"


def _percent(part: float) -> str:
    return f"{math.floor(1000 * part) / 10:g} %"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _forms(advice: Advice) -> Table:
    table = _table("", "session", "rebalances", "moved", "not consumed", "and warming up")
    rows = [("advised", advice.advised), *(("", each) for each in advice.best[1:])]
    for name, each in [*rows, ("today", advice.today)]:
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


def _curve(advice: Advice) -> Table:
    table = _table("session", "outlived by", "noticed", "at most", "dynamic", "static", "")
    for point in advice.curve:
        table.add_row(
            f"{point.session_s:g} s",
            f"{100 * point.outlives:.1f} %",
            f"{point.detection_s:.1f} s",
            f"{point.longest_detection_s:.1f} s",
            *(f"{point.least_s(is_static):,.0f} s" for is_static in (False, True)),
            _note(advice, point),
        )
    return table


def _note(advice: Advice, point: CurvePoint) -> str:
    if point.session_s == advice.advised.session_s:
        return "advised"
    today = "today" if point.session_s == advice.known.session_s else ""
    return ": ".join(each for each in (today, point.why_not) if each)


# JSON


def advice_json(advice: Advice, log: LogFacts | None, given: Sequence[str]) -> dict[str, Any]:
    """The document, as `advice-1.schema.json` describes it."""
    known = msgspec.to_builtins(advice.known) | {"partitions": advice.known.partitions}
    return {
        "schema": "advice-1",
        "known": known,
        "given": sorted(given),
        "restart_option": restart_option(advice.known.restart_s),
        "assumed": assumptions(advice.known, given),
        "words": list(_words(advice)),
        "conflict": advice.conflict,
        "turns_at_warmup_s": advice.turn_s,
        "advised": _setting_json(advice.advised),
        "today": _setting_json(advice.today),
        "forms": [_setting_json(each) for each in advice.best],
        "curve": [_point_json(point) for point in advice.curve],
        "log": None if log is None else _log_json(advice, log),
    }


def _setting_json(setting: SettingCost) -> dict[str, Any]:
    week = setting.week
    return {
        "membership": "static" if setting.form.is_static else "dynamic",
        "strategy": setting.form.strategy,
        "session_timeout_ms": round(setting.session_s * 1000),
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


def _point_json(point: CurvePoint) -> dict[str, Any]:
    return {
        "session_timeout_ms": round(point.session_s * 1000),
        "restarts_that_outlive_it": round(point.outlives, 4),
        "detection_s": round(point.detection_s, 3),
        "longest_detection_s": round(point.longest_detection_s, 3),
        "why_not": point.why_not,
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
        "words": list(log_words(advice, log)),
    }


def write_advice(document: dict[str, Any], folder: Path) -> None:
    """Write `advice.json` and `index.html`.  Raises ReportError where that can't be."""
    texts = {
        "advice.json": json.dumps(document, indent=1, ensure_ascii=False) + "\n",
        "index.html": advice_page(document),
    }
    write_texts(texts, folder, "--report")
