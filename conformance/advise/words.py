"""Tell an advice in words that an operator can act on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from fencepost.conformance.advise.advice import FEW, Advice, CurvePoint, is_as_good
from fencepost.conformance.advise.arithmetic import longest_detection_s, longest_restart_s
from fencepost.conformance.advise.from_logs import A_DAY_S, LogFacts
from fencepost.conformance.advise.known import SAID, SESSIONS_S, WEEK_S, KnownGroup
from fencepost.conformance.advise.migration import ASSIGNORS, PACKAGE
from fencepost.conformance.advise.setting_cost import SettingCost, setting_cost
from fencepost.conformance.advise.turns import Turn
from fencepost.conformance.simulator.durations import Spread
from fencepost.traces.text.words import plural

FEW_RESTARTS = 20
"""So few tell nothing of what one in twenty takes."""
_ASSUMED = {
    "members": "{} members",
    "topics": "{} partitions, of one topic",
    "at_a_time": "a deployment restarts {} process at a time",
    "pause_s": "a process that lives is never silent for longer than {:g} s",
    "processing_s": "work on what one poll returned takes up to {:g} s",
    "resume_s": "a member reads a partition {:g} s after it was given it, as in real bounces",
    "warmup_s": "a member needs {:g} s until it keeps up with a partition that is new to it",
    "deployments": "a deployment {:g} times in a week",
    "crashes": "a process that dies and is started again, {:g} times in a week",
    "deaths": "a host that dies and doesn't come back, {:g} times in a week",
    "heartbeat_s": "a heartbeat interval of {:g} s (--heartbeat-interval-ms)",
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
    if not TODAY & set(given):
        return "Kafka's defaults"
    return "today" if "session_s" in given else "today, session not known"


def advice_words(advice: Advice, given: Sequence[str]) -> Iterator[str]:
    """What to set and why, in sentences."""
    known, best, today = advice.known, advice.advised, advice.today
    if advice.conflict:
        yield f"{advice.conflict[0].upper()}{advice.conflict[1:]}."
    if len(shown(advice)) == 1:
        as_good = ""
        if known.forms != (best.form,):
            as_good = "; nothing loses less by more than a tenth, which is too close to call"
        yield (
            f"{_leave(given)}: {best.form}, session.timeout.ms={best.session_s * 1000:.0f}"
            f"{as_good}."
        )
    yield from _static_words(advice)
    yield from _close_words(advice)
    for turn in advice.turns:
        yield _turn_words(known, turn, given)
    yield from _wait_words(advice)
    yield from _shorter_words(advice)
    if known.members > known.partitions:
        idle = known.members - known.partitions
        yield (
            f"{plural(idle, 'member')} of {known.members} will have nothing to do: there "
            f"{'is' if known.partitions == 1 else 'are'} {plural(known.partitions, 'partition')}."
        )
    if known.only and best.lost_s > today.lost_s:
        yield (
            f"It doesn't pay: of what --only allows it loses least, and more than what is "
            f"compared with, {setting_words(today)}."
        )
    then, now = _sum(best.lost_s), _sum(today.lost_s)
    if then != now:
        yield (
            f"In a week {then} are lost instead of {now} {today_words(advice, given)}, "
            f"{_rebalances(best, today)}: "
            f"each partition is consumed by a member that keeps up {_share(known, best)} of the "
            f"time instead of {_share(known, today)}."
        )


def _rebalances(best: SettingCost, today: SettingCost) -> str:
    one, other = f"{best.week.rebalances:.1f}", f"{today.week.rebalances:.1f}"
    if one == other:
        return f"with as many rebalances ({one})"
    return f"with {one} rebalances instead of {other}"


def today_words(advice: Advice, given: Sequence[str]) -> str:
    """What the advice is compared with: what is set today, or nothing, in a group that is new."""
    if "session_s" in given:
        return "today"
    if TODAY & set(given):
        return f"today, if the session is Kafka's {advice.known.session_s:g} s"
    return f"with Kafka's defaults ({setting_words(advice.today)})"


def _leave(given: Sequence[str]) -> str:
    return "Leave it as it is" if TODAY & set(given) else "Kafka's defaults are right"


def _point_of(advice: Advice, setting: SettingCost) -> CurvePoint:
    return next(each for each in advice.curve if each.session_s == setting.session_s)


def _static_words(advice: Advice) -> Iterator[str]:
    """What static members win or lose, which session they need, and what the gap forbids."""
    known, best, enough = advice.known, advice.advised, advice.enough
    static = next((each for each in advice.best if each.is_static), None)
    if static is None:
        return
    point = _point_of(advice, static)
    if best.is_static:
        yield (
            f"A restart is then free of rebalances while it is shorter than the session: "
            f"{_percent(known, 1 - point.outlives)} of yours are. What the member has waits for it."
        )
    lost, now = _sum(static.lost_s), _sum(best.lost_s)
    if enough is not None and point.outlives > FEW:
        needed = _point_of(advice, enough)
        breaks = ""
        if known.gap_s is not None and needed.longest_detection_s > known.gap_s:
            breaks = f"; that breaks the gap of {known.gap_s:g} s"
        yield (
            f"To save most rebalances static members need a session of about "
            f"{enough.session_s:g} s, which {_percent(known, 1 - needed.outlives)} of the restarts "
            f"keep within{breaks}. In a week {_sum(enough.lost_s)} would be lost instead of {now}, "
            f"with {enough.week.rebalances:.1f} rebalances instead of "
            f"{best.week.rebalances:.1f}, and a partition would wait for a restart for up to "
            f"{_restart_words(known, enough)}."
        )
    elif best.is_static or lost == now:
        return
    elif best.week.rebalances - static.week.rebalances >= 0.1:
        yield (
            f"Static members would save rebalances ({static.week.rebalances:.1f} instead of "
            f"{best.week.rebalances:.1f} in a week), but what a member has waits for its "
            f"restart: with {setting_words(static)}, {lost} would be lost instead of {now}."
        )
    else:
        yield (
            f"Static members would save no rebalances: with {setting_words(static)}, {lost} would "
            f"be lost instead of {now}."
        )


def _close_words(advice: Advice) -> Iterator[str]:
    """Other forms that are as good."""
    best = advice.advised
    rows = []
    for row in advice.as_good:
        part = abs(row.lost_s / best.lost_s - 1) if best.lost_s else 0.0
        more = "more" if row.lost_s > best.lost_s else "less"
        says = "the same" if part < 0.0005 else f"{100 * part:.1f} % {more}"
        rows.append(f"{setting_words(row)} loses {says}")
    if rows:
        yield (
            f"Too close to call: {'; '.join(rows)}. The arithmetic is no nearer than a tenth; what "
            "is advised is the least change."
        )


def _turn_words(known: KnownGroup, turn: Turn, given: Sequence[str]) -> str:
    """Where another form loses least, and what is assumed there."""
    digits = 1 - math.floor(math.log10(turn.value)) if turn.value else 0
    to = math.ceil if turn.is_upwards else math.floor
    value = to(round(turn.value * 10**digits, 6)) / 10**digits
    now = getattr(known, turn.name)
    said = "given" if turn.name in given else "assumed"
    return (
        f"It turns at {SAID[turn.name]} {value:g} ({said}: {now:g}): {turn.form} loses least from "
        f"there {'upwards' if turn.is_upwards else 'downwards'}, not {turn.instead_of}."
    )


def _wait_words(advice: Advice) -> Iterator[str]:
    """How long partitions wait when something happens to a member."""
    known, best = advice.known, advice.advised
    point = _point_of(advice, best)
    yield (
        f"What a host had that dies for good has a consumer again after {point.detection_s:.1f} s "
        f"on average, {point.longest_detection_s:.1f} s at most; what a process has that is "
        f"stopped and started again, after {_restart_words(known, best)} at most."
    )
    if not best.is_static:
        every = ", and all others of the group with it" if best.form.strategy == "eager" else ""
        yield (
            "What a process has that crashes waits until its session has ended, even if it is back "
            f"before: {point.longest_detection_s:.1f} s at most{every}."
        )


def _restart_words(known: KnownGroup, setting: SettingCost) -> str:
    longest_s = longest_restart_s(known, setting.form, setting.session_s)
    is_cut = setting.is_static and longest_s < longest_detection_s(known, setting.session_s)
    rare = " (for one restart in 500 longer)" if is_cut and _is_drawn(known) else ""
    return f"{longest_s:.1f} s{rare}"


def _is_drawn(known: KnownGroup) -> bool:
    """Whether no restart is the longest."""
    return isinstance(known.restart_s, Spread) and known.restart_s.median is not None


def _shorter_words(advice: Advice) -> Iterator[str]:
    """What keeps the session from being shorter, and what shorter heartbeats would save."""
    known, best = advice.known, advice.advised
    below = [point for point in advice.curve if point.session_s < best.session_s]
    if below and "silence" in below[-1].why_not and known.pause_s + known.heartbeat_s > 15:
        yield (
            f"No shorter session is advised since a process that lives may be silent for "
            f"{known.pause_s:g} s (--longest-pause-s)."
        )
    beat_s = max(round(known.heartbeat_s / 3, 1), 0.1)
    quick = msgspec.structs.replace(known, heartbeat_s=beat_s)
    lost_s = setting_cost(quick, best.form, best.session_s).lost_s
    if not is_as_good(lost_s, best.lost_s) and lost_s < best.lost_s:
        yield (
            f"With heartbeat.interval.ms={1000 * beat_s:.0f} {_sum(lost_s)} would be lost "
            f"instead of {_sum(best.lost_s)}; brokers would get {known.heartbeat_s / beat_s:.1f} "
            "times as many heartbeats."
        )


def settings(setting: SettingCost) -> list[str]:
    """What to write into a consumer's configuration."""
    lines = [
        f"session.timeout.ms={setting.session_s * 1000:.0f}",
        f"partition.assignment.strategy={PACKAGE}{ASSIGNORS[setting.form.strategy]}",
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
    if log.restarts_s and (log.lasted_s < A_DAY_S or len(log.restarts_s) < FEW_RESTARTS):
        yield (
            "That is little to go by: how long restarts take at worst it doesn't show. Give "
            "--restart-s and --restart-p95-s, or logs of a week."
        )
    if log.unused_session_s is not None:
        yield (
            f"session.timeout.ms is {1000 * log.unused_session_s:.0f} there, which isn't used: "
            f"brokers allow nothing below {1000 * SESSIONS_S[0]:.0f} unless they are told to."
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
        f"What is advised would have avoided {len(avoided)} of the {rebalances}"
        f"{f', which took {stopped_s:.1f} s' if avoided else ''}."
    )
    if log.left_out:
        yield "The log has more rows than an audit keeps; only those are counted."


def _sum(seconds: float) -> str:
    return f"{seconds:,.0f} partition-seconds"


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{round(seconds * 1000)} ms"


def _share(known: KnownGroup, setting: SettingCost) -> str:
    lost = min(setting.lost_s / (known.partitions * WEEK_S), 1.0)
    return f"{100 * (1 - lost):.4f} %"


def _percent(known: KnownGroup, part: float) -> str:
    if part == 1 and _is_drawn(known):
        return "more than 99.8 %"  # it is looked at 500 quantiles
    return f"{math.floor(1000 * part) / 10:g} %"
