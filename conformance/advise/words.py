"""Tell an advice in words that an operator can act on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fencepost.conformance.advise.advice import FEW, Advice, CurvePoint, SettingCost
from fencepost.conformance.advise.arithmetic import longest_restart_s
from fencepost.conformance.advise.from_logs import LogFacts
from fencepost.conformance.advise.known import SAID, WEEK_S, KnownGroup
from fencepost.conformance.simulator.durations import Spread
from fencepost.traces.text.words import plural

_ASSUMED = {
    "members": "{} members",
    "topics": "{} partitions, of one topic",
    "at_a_time": "a deployment restarts {} process at a time",
    "pause_s": "a process that lives is never silent for longer than {:g} s",
    "processing_s": "work on what one poll returned takes up to {:g} s",
    "warmup_s": "a member needs {:g} s until it keeps up with a partition that is new to it",
    "deployments": "a deployment {:g} times in a week",
    "crashes": "a process that dies and is started again, {:g} times in a week",
    "deaths": "a host that dies and doesn't come back, {:g} times in a week",
    "heartbeat_s": "a heartbeat interval of {:g} s",
    "session_s": "to compare with, a session timeout of {:g} s (--session-timeout-ms)",
    "is_static": "to compare with, {} members (--static, --dynamic)",
    "strategy": "to compare with, {} members (--strategy)",
}
_ALWAYS = (
    "the next processes of a rollout are restarted when the group is balanced",
    "what fencepost simulate assumes: messages of 2 ms, a broker that never fails",
)
TODAY = frozenset({"session_s", "is_static", "strategy"})
"""Facts that say what is set today; where none is given, the group is new."""


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


def setting_words(setting: SettingCost) -> str:
    """A form and its session."""
    return f"{setting.form}, {setting.session_s:g} s"


def shown(advice: Advice) -> list[SettingCost]:
    """The advised setting and today's, where they differ."""
    one, other = advice.advised, advice.today
    is_same = (one.form, one.session_s) == (other.form, other.session_s)
    return [one] if is_same else [one, other]


def before_words(given: Sequence[str]) -> str:
    """What stands beside the advice, in a table."""
    return "today" if TODAY & set(given) else "Kafka's defaults"


def advice_words(advice: Advice, given: Sequence[str]) -> Iterator[str]:
    """What to set and why, in sentences."""
    known, best, today = advice.known, advice.advised, advice.today
    before = today_words(advice, given)
    if advice.conflict:
        yield f"{advice.conflict[0].upper()}{advice.conflict[1:]}."
    if len(shown(advice)) == 1:
        yield f"{_leave(given)}: {best.form}, session.timeout.ms={best.session_s * 1000:.0f}."
    yield from _static_words(advice)
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
    point = _point_of(advice, best)
    yield (
        f"What a host had that dies for good is consumed again after {point.detection_s:.1f} s on "
        f"average, {point.longest_detection_s:.1f} s at most; what a process has that is "
        f"restarted, after {longest_restart_s(known, best.form, best.session_s):.1f} s at most."
    )
    if known.members > known.partitions:
        idle = known.members - known.partitions
        yield (
            f"{plural(idle, 'member')} of {known.members} will have nothing to do: there "
            f"{'is' if known.partitions == 1 else 'are'} {plural(known.partitions, 'partition')}."
        )
    then, now = _hours(best.lost_s, today.lost_s), _hours(today.lost_s, best.lost_s)
    if then != now:
        yield (
            f"In a week {then} are lost instead of {now} {before}, "
            f"with {best.week.rebalances:.1f} rebalances instead of {today.week.rebalances:.1f}: "
            f"each partition is consumed {_share(known, best)} of the time instead of "
            f"{_share(known, today)}."
        )


def today_words(advice: Advice, given: Sequence[str]) -> str:
    """What the advice is compared with: what is set today, or nothing, in a group that is new."""
    if TODAY & set(given):
        return "today"
    return f"with Kafka's defaults ({setting_words(advice.today)})"


def _leave(given: Sequence[str]) -> str:
    return "Leave it as it is" if TODAY & set(given) else "Kafka's defaults are right"


def _point_of(advice: Advice, setting: SettingCost) -> CurvePoint:
    return next(each for each in advice.curve if each.session_s == setting.session_s)


def _static_words(advice: Advice) -> Iterator[str]:
    """What static members win or lose, which session they need, and what the gap forbids."""
    known, best = advice.known, advice.advised
    static = next((each for each in advice.best if each.is_static), None)
    if static is None:
        return
    point = _point_of(advice, static)
    if best.is_static:
        yield (
            f"A restart is then free of rebalances while it is shorter than the session: "
            f"{_percent(1 - point.outlives)} of yours are. What the member has waits for it."
        )
    else:
        saved = best.week.rebalances - static.week.rebalances
        one_s, other_s = static.lost_s, best.lost_s
        lost = f"{_hours(one_s, other_s)} would be lost instead of {_hours(other_s, one_s)}"
        if saved >= 0.1:
            yield (
                f"Static members would save rebalances ({static.week.rebalances:.1f} instead of "
                f"{best.week.rebalances:.1f} in a week), but what a member has waits for its "
                f"restart: with {setting_words(static)}, {lost}."
            )
        else:
            yield f"Static members would save no rebalances: with {setting_words(static)}, {lost}."
    enough = advice.enough
    if enough is not None and point.outlives > FEW:
        needed = _point_of(advice, enough)
        breaks = ""
        if known.gap_s is not None and needed.longest_detection_s > known.gap_s:
            breaks = f"; that breaks the gap of {known.gap_s:g} s"
        longest_s = longest_restart_s(known, enough.form, enough.session_s)
        yield (
            f"To save most rebalances static members need a session of about "
            f"{enough.session_s:g} s, which {_percent(1 - needed.outlives)} of the restarts keep "
            f"within{breaks}. In a week {_hours(enough.lost_s)} would be lost, with "
            f"{enough.week.rebalances:.1f} rebalances, and a restart would take up to "
            f"{longest_s:.1f} s."
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
            f"{_short(log.restarts_s[0])} to {_short(log.restarts_s[-1])}, half of them up to "
            f"{_short(middle)}."
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


def _hours(seconds: float, other_s: float | None = None) -> str:
    """In hours, unless it or what it stands beside is too little for them."""
    if min(seconds, seconds if other_s is None else other_s) < 600:
        return f"{seconds:,.0f} partition-seconds"
    return f"{seconds / 3600:,.1f} partition-hours"


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{round(seconds * 1000)} ms"


def _share(known: KnownGroup, setting: SettingCost) -> str:
    lost = min(setting.lost_s / (known.partitions * WEEK_S), 1.0)
    return f"{100 * (1 - lost):.4f} %"


def _percent(part: float) -> str:
    return f"{math.floor(1000 * part) / 10:g} %"
