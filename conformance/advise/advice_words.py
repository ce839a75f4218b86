"""Tell an advice in words that an operator can act on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fencepost.conformance.advise.advice import FEW, SHORTEST_BEAT_S, Advice, CurvePoint
from fencepost.conformance.advise.arithmetic import outlives
from fencepost.conformance.advise.known_facts import HEARTBEAT_S, SAID, TODAY, KnownGroup
from fencepost.conformance.advise.longest_gap import (
    is_unbounded,
    longest_crash_s,
    longest_death_s,
    longest_restart_s,
    rollout_s,
)
from fencepost.conformance.advise.migration import assignors_of, stand_of
from fencepost.conformance.advise.sensitivity import Turn
from fencepost.conformance.advise.setting_cost import SettingCost
from fencepost.conformance.simulate.durations import Spread
from fencepost.model.history.words import plural


def setting_words(setting: SettingCost) -> str:
    """A form and its session."""
    return f"{setting.form}, {setting.session_s:g} s"


def shown(advice: Advice) -> list[SettingCost]:
    """The advised setting and today's, where they differ."""
    one, other = advice.advised, advice.today
    return [one] if one.is_set_as(other) else [one, other]


def before_words(given: Sequence[str]) -> str:
    """What stands beside the advice, in a table."""
    if not TODAY & set(given):
        return "Kafka's defaults"
    return "today" if "session_s" in given else "today, session not known"


def settings(advice: Advice) -> list[str]:
    """What to write into a consumer's configuration."""
    best = advice.advised
    lines = [f"session.timeout.ms={best.session_s * 1000:.0f}"]
    is_kept = advice.asked.keeps_heartbeat and best.heartbeat_s != HEARTBEAT_S
    if is_kept or best.heartbeat_s != advice.today.heartbeat_s:
        lines.append(f"heartbeat.interval.ms={best.heartbeat_s * 1000:.0f}")
    offers = stand_of(advice.asked, best).offers
    lines.append(f"partition.assignment.strategy={assignors_of(offers)}")
    if best.is_static:
        return [*lines, "group.instance.id=a name of its own for each process, kept over restarts"]
    return [*lines, "no group.instance.id"]


def head_words(advice: Advice) -> Iterator[str]:
    """What must be known before anything is set."""
    if advice.conflict:
        yield f"{advice.conflict[0].upper()}{advice.conflict[1:]}."
    if advice.known.only and advice.advised.lost_s > advice.today.lost_s:
        yield (
            f"It doesn't pay: of what --only allows it loses least, and more than what is "
            f"compared with, {setting_words(advice.today)}."
        )


def advice_words(advice: Advice, given: Sequence[str], seen: int | None = None) -> Iterator[str]:
    """What is won and why, in sentences; `seen`: how many restarts a log shows."""
    known, best = advice.known, advice.advised
    if len(shown(advice)) == 1:
        as_good = ""
        if known.forms != (best.form,):
            as_good = "; nothing loses less by more than a tenth, which is too close to call"
        yield (
            f"{_leave(given)}: {best.form}, session.timeout.ms={best.session_s * 1000:.0f}"
            f"{as_good}."
        )
    yield from _sum_words(advice, given)
    yield from _static_words(advice, seen)
    yield from _beat_words(advice)
    yield from _close_words(advice)
    yield from _wait_words(advice)
    if known.members > known.partitions:
        idle = known.members - known.partitions
        yield (
            f"{plural(idle, 'member')} of {known.members} will have nothing to do: there "
            f"{'is' if known.partitions == 1 else 'are'} {plural(known.partitions, 'partition')}."
        )
    for turn in advice.turns:
        yield _turn_words(known, turn, given)


def _sum_words(advice: Advice, given: Sequence[str]) -> Iterator[str]:
    """What a week loses, and how that is counted."""
    best, today, partitions = advice.advised, advice.today, advice.known.partitions
    then, now = _sum(best.lost_s), _sum(today.lost_s)
    also = " or with one that warms up" if advice.known.warmup_s else ""
    unit = f"One partition without a consumer{also} for one second is one"
    if then == now:
        yield f"In a week {then} are lost. {unit}."
    else:
        yield (
            f"In a week {then} are lost instead of {now} {today_words(advice, given)}, "
            f"{_rebalances(best, today)}. {unit}; that is {best.lost_s / partitions:,.1f} s for "
            f"each partition, not {today.lost_s / partitions:,.1f} s."
        )
    if TODAY & set(given):
        part = outlives(today.known, today.session_s)
        yield f"Of all restarts {100 * part:.1f} % outlive a session of {today.session_s:g} s."


def _rebalances(best: SettingCost, today: SettingCost) -> str:
    one, other = f"{best.week.rebalances:,.1f}", f"{today.week.rebalances:,.1f}"
    if one == other:
        return f"with as many rebalances ({one})"
    return f"with {one} rebalances instead of {other}"


def today_words(advice: Advice, given: Sequence[str]) -> str:
    """What the advice is compared with: what is set today, or nothing, in a group that is new."""
    if "session_s" in given:
        return "today"
    if TODAY & set(given):
        return f"today, if the session is Kafka's {advice.asked.session_s:g} s"
    return f"with Kafka's defaults ({setting_words(advice.today)})"


def _leave(given: Sequence[str]) -> str:
    return "Leave it as it is" if TODAY & set(given) else "Kafka's defaults are right"


def _point_of(advice: Advice, setting: SettingCost) -> CurvePoint:
    return next(each for each in advice.curve if each.session_s == setting.session_s)


def _static_words(advice: Advice, seen: int | None) -> Iterator[str]:
    """What static members win or lose, which session they need, and what the gap forbids."""
    known, best, enough = advice.known, advice.advised, advice.enough
    static = next((each for each in advice.best if each.is_static), None)
    if static is None:
        return
    point = _point_of(advice, static)
    if best.is_static:
        yield (
            f"A restart that doesn't outlive the session causes no rebalance, "
            f"{_percent(known, 1 - point.outlives, seen)}. What the process had waits for it."
        )
    lost, now = _sum(static.lost_s), _sum(best.lost_s)
    if enough is not None and point.outlives > FEW:
        needed = _point_of(advice, enough)
        breaks = ""
        if known.gap_s is not None and needed.longest_detection_s > known.gap_s:
            breaks = f" That breaks the gap of {known.gap_s:g} s."
        yield (
            f"Static members whose restarts cause a rebalance once in twenty at most need a "
            f"session of {enough.session_s:g} s, which "
            f"{_percent(known, 1 - needed.outlives, seen)} don't outlive: {setting_words(enough)} "
            f"would lose {_sum(enough.lost_s)} in a week instead of {now}, with "
            f"{enough.week.rebalances:,.1f} rebalances instead of {best.week.rebalances:,.1f}, "
            f"since what a process had waits for its restart, "
            f"{longest_restart_s(known, enough.form, enough.session_s):.1f} s at most.{breaks}"
        )
    elif best.is_static or lost == now:
        return
    elif best.week.rebalances - static.week.rebalances >= 0.1:
        yield (
            f"Static members would save rebalances ({static.week.rebalances:,.1f} instead of "
            f"{best.week.rebalances:,.1f} in a week), but what a process had waits for its "
            f"restart: {setting_words(static)} would lose {lost} instead of {now}."
        )
    else:
        yield (
            f"Static members would save no rebalances: {setting_words(static)} would lose {lost} "
            f"instead of {now}."
        )


def _beat_words(advice: Advice) -> Iterator[str]:
    """What shorter heartbeats save, what they cost, and where that ends."""
    best, other, members = advice.advised, advice.other_beat, advice.known.members
    if other is None:
        return
    rates = [f"{members / each.heartbeat_s:,.1f}" for each in (best, other)]
    short_ms = 1000 * SHORTEST_BEAT_S
    if advice.asked.keeps_heartbeat:
        yield (
            f"heartbeat.interval.ms={short_ms:.0f} would lose {_sum(other.lost_s)} instead of "
            f"{_sum(best.lost_s)} ({setting_words(other)}), for {rates[1]} heartbeats a second at "
            f"the coordinator instead of {rates[0]}; --heartbeat-interval-ms keeps what it says."
        )
        return
    slow = f"the best would lose {_sum(other.lost_s)} ({setting_words(other)})"
    gap_s = advice.known.gap_s
    if gap_s is not None and longest_death_s(other.known, other.session_s) > gap_s + 1e-9:
        slow = f"no session that is safe keeps a gap of {gap_s:g} s"
    yield (
        f"With heartbeat.interval.ms={short_ms:.0f} all hear sooner of a rebalance; with "
        f"{1000 * other.heartbeat_s:.0f} {slow}. Its price: the coordinator gets {rates[0]} "
        f"heartbeats a second of this group instead of {rates[1]}. Less than {short_ms:.0f} isn't "
        "advised: it was never tried on a real Kafka. --heartbeat-interval-ms keeps another one."
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
    if not rows:
        return
    why = "loses least of them"
    if best.is_set_as(advice.today):
        why = "is what is set today"
    elif any(row.lost_s < best.lost_s for row in advice.as_good):
        why = "needs no other assignor"
    yield (
        f"Too close to call: {'; '.join(rows)}. The arithmetic is no nearer than a tenth, and what "
        f"is advised {why}."
    )


def _turn_words(known: KnownGroup, turn: Turn, given: Sequence[str]) -> str:
    """With which value another form is advised, and what is assumed there."""
    digits = 1 - math.floor(math.log10(turn.value)) if turn.value else 0
    to = math.ceil if turn.is_upwards else math.floor
    value = to(round(turn.value * 10**digits, 6)) / 10**digits
    now = getattr(known, turn.name)
    said = "given" if turn.name in given else "assumed"
    return (
        f"With {SAID[turn.name]} {value:g} or {'more' if turn.is_upwards else 'less'} "
        f"({said}: {now:g}) {turn.form} would be advised, not {turn.instead_of}."
    )


def _wait_words(advice: Advice) -> Iterator[str]:
    """How long partitions wait when something happens to a member, and how long a rollout takes."""
    known, best, today = advice.known, advice.advised, advice.today
    point = _point_of(advice, best)
    crash_s = longest_crash_s(known, best.form, best.session_s)
    every = ", and so do all others of the group" if best.form.strategy == "eager" else ""
    crashed = "" if best.is_static else f", even if it is back before{every}"
    yield (
        f"A partition is without a consumer, after a host died for good, for "
        f"{point.detection_s:.1f} s on average and {point.longest_detection_s:.1f} s at most; "
        f"when its process is stopped and started again, for "
        f"{longest_restart_s(known, best.form, best.session_s):.1f} s at most; and when it "
        f"crashes, for {crash_s:.1f} s at most{crashed}. A rebalance that begins during another "
        "one adds to that."
    )
    then, now = (
        _length(rollout_s(each.known, each.form, each.session_s)) for each in (best, today)
    )
    yield f"One deployment takes about {then}{'' if then == now else f' instead of {now}'}."
    below = [point for point in advice.curve if point.session_s < best.session_s]
    if below and "silence" in below[-1].why_not and known.pause_s + known.heartbeat_s > 15:
        yield (
            f"No shorter session is advised since a process that lives may be silent for "
            f"{known.pause_s:g} s (--longest-pause-s)."
        )


def _length(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _sum(seconds: float) -> str:
    return f"{seconds:,.0f} partition-seconds"


def _percent(known: KnownGroup, part: float, seen: int | None) -> str:
    """The part of restarts, and of how many, where they are some that were seen."""
    says = f"{math.floor(1000 * part) / 10:g} %"
    if part == 1 and is_unbounded(known):
        says = "more than 99.8 %"  # it is looked at 500 quantiles
    if isinstance(known.restart_s, Spread) and known.restart_s.values:
        return f"{says} of {seen or len(known.restart_s.values)} seen"
    return f"{says} of them"
