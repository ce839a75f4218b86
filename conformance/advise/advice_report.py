"""Report an advice in words and tables for an operator.

Of a log the report says what it shows of the group, what it doesn't, and what the advice would have
saved in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from fencepost.conformance.advise.advice import (
    FEW,
    SHORTEST_BEAT_S,
    Advice,
    CurvePoint,
    SettingCost,
    Turn,
    assignors_of,
    deployment_s,
    is_unbounded,
    longest_crash_s,
    longest_death_s,
    longest_restart_s,
    migration,
    setting_cost,
    stand_of,
)
from fencepost.conformance.advise.arithmetic import EventCost, outlives
from fencepost.conformance.advise.known_facts import (
    FACTS,
    FORMS,
    HEARTBEAT_S,
    SESSIONS_S,
    TODAY,
    Form,
    KnownGroup,
    assumptions,
)
from fencepost.conformance.advise.log_facts import (
    A_DAY_S,
    LogFacts,
    expired_words,
    problem_words,
)
from fencepost.conformance.simulate.deployment_scenario import Spread
from fencepost.model.history.words import plural, sentence, verdict_line
from fencepost.traces.operations.client_libraries import JAVA, ClientLibrary, without_static
from fencepost.traces.operations.problem_words import AIMS


def setting_words(setting: SettingCost) -> str:
    """Name a form and its session."""
    return f"{setting.form}, {setting.session_s:g} s"


def advice_verdict(document: Mapping[str, Any]) -> str:
    """Return the advice of a document on one line: every setting that it changes, and the gain."""
    lost = "weekly_lost_partition_s"
    advised, today = document["advised"], document["today"]
    then, now = f"{advised[lost]:,.0f}", f"{today[lost]:,.0f}"
    more = "more than " if advised[lost] > today[lost] else ""
    than = "today" if document["compared_with"].startswith("today") else "by default"
    changes = changes_of(document)
    if not changes and not document["conflict"]:
        _, name = _names_of(advised, ("form", "session_timeout_ms"))
        return f"Nothing to change: {name}, loses {then} partition-seconds a week."
    verb = "Limits conflict; set" if document["conflict"] else "Set"
    names = _names_of(advised, changes or _CHANGES)
    return verdict_line(
        [f"{verb} {name}" for name in names],
        (
            f"{then} partition-seconds a week, {more}{now} {than}.",
            f"{then} instead of {now} partition-seconds a week.",
            f"{then} partition-seconds a week.",
            f"{'loses more' if more else 'loses least'}.",
        ),
    )


def changes_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """List the settings in which the advice of a document differs from today's.

    "form" for membership and strategy, and the names of the fields of timeouts.
    """
    advised, today = document["advised"], document["today"]
    return tuple(
        name for name, of in _CHANGES.items() if any(advised[each] != today[each] for each in of)
    )


_CHANGES = {
    "form": ("membership", "strategy"),
    "session_timeout_ms": ("session_timeout_ms",),
    "heartbeat_interval_ms": ("heartbeat_interval_ms",),
}
"""The settings that a verdict names, and their fields in a row."""


def _names_of(row: Mapping[str, Any], fields: Iterable[str]) -> tuple[str, str]:
    """Name some settings of a row, in a long and in a short form."""
    both = []
    for session, heartbeat in (("session timeout", "heartbeat interval"), ("session", "heartbeat")):
        says = {
            "form": f"{row['membership']}+{row['strategy']}",
            "session_timeout_ms": f"{session} {row['session_timeout_ms'] / 1000:g} s",
            "heartbeat_interval_ms": f"{heartbeat} {row['heartbeat_interval_ms'] / 1000:g} s",
        }
        both.append(", ".join(says[field] for field in fields))
    return both[0], both[1]


def both_settings(advice: Advice) -> list[SettingCost]:
    """List the advised setting, and today's where it differs."""
    advised, today = advice.advised, advice.today
    return [advised] if advised.is_set_as(today) else [advised, today]


def before_words(inputs: Sequence[str]) -> str:
    """Name the settings that a table compares with the advice."""
    if not TODAY & set(inputs):
        return "Kafka's defaults"
    return "today" if "session_s" in inputs else "today, session not known"


def settings(advice: Advice) -> list[str]:
    """Write the lines of a consumer's configuration."""
    best = advice.advised
    library = advice.request.client_library
    lines = [library.session.format(f"{best.session_s * 1000:.0f}")]
    is_kept = advice.request.keeps_heartbeat and best.heartbeat_s != HEARTBEAT_S
    if is_kept or best.heartbeat_s != advice.today.heartbeat_s:
        lines.append(library.heartbeat.format(f"{best.heartbeat_s * 1000:.0f}"))
    assignors = assignors_of(stand_of(advice.request, best).offers, library)
    lines += [assignors] if assignors else []
    name = library.instance
    if best.is_static:
        return [*lines, f"{name}=a name of its own for each process, kept over restarts"]
    return [*lines, f"no {name}"] if library.has_static else lines


def head_words(advice: Advice, log: LogFacts | None) -> Iterator[str]:
    """Write the sentences to read before anything is set: what a log shows goes first."""
    if log is not None and log.problems:
        yield "First solve the problems that fencepost audit reports for this group:"
        yield from problem_words(log)
    if advice.conflict:
        yield sentence(advice.conflict)
    yield from _choice(advice, log)
    today, advised = advice.today, advice.advised
    if advised.lost_s <= today.lost_s:
        return
    if why_not := _why_not(advice, today.session_s):
        yield (
            f"It loses more than {setting_words(today)}, which is not advised: {today.session_s:g} "
            f"s are {why_not}."
        )
    elif advice.known.only:
        yield (
            f"It loses more than {setting_words(today)}, but least of the settings that --only "
            "allows."
        )


def _choice(advice: Advice, log: LogFacts | None) -> Iterator[str]:
    """Write the choice of static or dynamic members, with the price of either in a week.

    Where nothing is to be changed, `advice_words` say so first.
    """
    best = advice.advised
    other = _alternative(advice, log)
    if other is None or len(both_settings(advice)) == 1:
        return
    word, against = ("static", "dynamic") if best.is_static else ("dynamic", "static")
    stays = not advice.request.is_new and best.is_static == advice.today.is_static
    price = f"{_sum(best.lost_s)} a week ({setting_words(best)})"
    instead = f"{_sum(other.lost_s)} with {against} ones ({setting_words(other)})"
    yield f"{'Keep' if stays else 'Choose'} {word} members: {price}, against {instead}."
    if not best.is_static and other.week.rebalances < best.week.rebalances:
        yield (
            "Choose static members only if rebalances cost you more than waiting partitions: "
            f"{best.week.rebalances:,.1f} rebalances a week with dynamic members, "
            f"{other.week.rebalances:,.1f} with static ones."
        )
    cheapest = advice.best_of(is_static=True)
    is_shorter = cheapest is not None and cheapest.session_s < other.session_s
    if other.is_static and cheapest is not None and is_shorter and cheapest.lost_s < other.lost_s:
        yield (
            f"Static members with a shorter session lose less ({_sum(cheapest.lost_s)} with "
            f"{setting_words(cheapest)}), but then sessions end before restarts do: "
            f"{cheapest.week.rebalances:,.1f} rebalances a week instead of "
            f"{other.week.rebalances:,.1f}."
        )


def _alternative(advice: Advice, log: LogFacts | None) -> SettingCost | None:
    """Return the best setting with the other membership, None where it may not be advised.

    Of static members one whose session is longer than a restart: shorter ones save no rebalance.
    """
    if advice.advised.is_static:
        return advice.best_of(is_static=False)
    of_audit = None if log is None else _of_audit(advice, advice.known.forms, log.needed_ms)
    return of_audit or advice.enough or advice.best_of(is_static=True)


def _of_audit(advice: Advice, forms: Sequence[Form], needed_ms: int | None) -> SettingCost | None:
    """Cost the best static form with the session timeout that an audit names.

    None where it names none, or none that is longer than a heartbeat.
    """
    if needed_ms is None or needed_ms / 1000 <= advice.known.heartbeat_s:
        return None
    static = (form for form in forms if form.is_static)
    costs = (setting_cost(advice.known, form, needed_ms / 1000) for form in static)
    return min(costs, key=lambda cost: cost.lost_s, default=None)


def _why_not(advice: Advice, session_s: float) -> str:
    """Return the reason why a session timeout is not advised, "" where there is none."""
    return next((point.why_not for point in advice.curve if point.session_s == session_s), "")


def advice_words(
    advice: Advice,
    inputs: Sequence[str],
    restarts: int | None = None,
    *,
    is_compared: bool = False,
) -> Iterator[str]:
    """Explain the gain, in sentences.

    `restarts`: the number of restarts in a log; `is_compared`: `audit_words` are before it.
    """
    known, best = advice.known, advice.advised
    if len(both_settings(advice)) == 1:
        as_good = ""
        if known.forms != (best.form,):
            as_good = "; no other setting loses less by more than a tenth"
        yield (
            f"{_leave(inputs)}: {best.form}, session.timeout.ms={best.session_s * 1000:.0f}"
            f"{as_good}."
        )
    yield from _sum_words(advice, inputs)
    yield from _certainty_words(advice, inputs)
    yield from _shorter_words(advice, inputs)
    if best.is_static or not is_compared:
        yield from _static_words(advice, restarts)
    yield from _beat_words(advice)
    yield from _close_words(advice)
    yield from _wait_words(advice)
    if known.members > known.partitions:
        idle = known.members - known.partitions
        yield (
            f"{plural(idle, 'member')} of {known.members} will have no partition: there "
            f"{'is' if known.partitions == 1 else 'are'} {plural(known.partitions, 'partition')}."
        )
    for turn in advice.turns:
        yield _turn_words(known, turn, inputs)


def _sum_words(advice: Advice, inputs: Sequence[str]) -> Iterator[str]:
    """Explain the loss of a week, and how it is counted."""
    best, today, partitions = advice.advised, advice.today, advice.known.partitions
    then, now = _sum(best.lost_s), _sum(today.lost_s)
    also = " or with one that warms up" if advice.known.warmup_s else ""
    unit = f"A partition-second is one partition without a consumer{also} for one second"
    if then == now:
        yield f"In a week it loses {then}. {unit}."
    else:
        yield (
            f"In a week it loses {then} instead of {now} {today_words(advice, inputs)}, "
            f"{_rebalances(best, today)}. {unit}. That is {best.lost_s / partitions:,.1f} s for "
            f"each partition, instead of {today.lost_s / partitions:,.1f} s."
        )
    then, now = (_sum(each.of("deployment").lost_s(each.known.warmup_s)) for each in (best, today))
    takes, took = _takes(best), _takes(today)
    yield (
        f"One deployment loses {then}{_instead_of(now, then)}, and takes about "
        f"{takes}{_instead_of(took, takes)}."
    )
    if today.is_static and TODAY & set(inputs):
        part = outlives(today.known, today.session_s)
        yield f"{100 * part:.1f} % of the restarts exceed a session of {today.session_s:g} s."


def _rebalances(best: SettingCost, today: SettingCost) -> str:
    then, now = f"{best.week.rebalances:,.1f}", f"{today.week.rebalances:,.1f}"
    if then == now:
        return f"with as many rebalances ({then})"
    return f"with {then} rebalances{_instead_of(now, then)}"


def _instead_of(now: str, then: str) -> str:
    """Name the value of today where it differs."""
    return "" if now == then else f" instead of {now}"


def _certainty_words(advice: Advice, inputs: Sequence[str]) -> Iterator[str]:
    """Tell how accurate the sums are, and what longer restarts would change."""
    sure = (
        "How sure: each sum is within about a tenth of a simulation with the same inputs. Real "
        "groups vary more."
    )
    slow = advice.with_slow_restarts
    if slow is None:
        yield sure
        return
    best, today, chosen = slow
    loses = _sum(best.lost_s)
    if not advice.advised.is_set_as(advice.today):
        before = "today" if TODAY & set(inputs) else "by default"
        loses += f" with this advice, and {today.lost_s:,.0f} {before}"
    if setting_words(chosen) != setting_words(best):
        loses += f". Then {setting_words(chosen)} would be advised"
    yield f"{sure} If restarts take twice as long, a week loses {loses}."


def today_words(advice: Advice, inputs: Sequence[str]) -> str:
    """Name what the advice is compared with: today's settings, or defaults in a new group."""
    if "session_s" in inputs:
        return "today"
    whose = advice.request.library or "Kafka"
    if TODAY & set(inputs):
        return f"today, if the session is {whose}'s {advice.request.session_s:g} s"
    return f"with {whose}'s defaults ({setting_words(advice.today)})"


def _leave(inputs: Sequence[str]) -> str:
    return "Keep today's settings" if TODAY & set(inputs) else "Keep Kafka's defaults"


def _point_of(advice: Advice, setting: SettingCost) -> CurvePoint:
    return next(each for each in advice.curve if each.session_s == setting.session_s)


def _shorter_words(advice: Advice, inputs: Sequence[str]) -> Iterator[str]:
    """Explain a session that is shorter than today's: it is not for the sake of restarts."""
    best, today = advice.advised, advice.today
    if "session_s" not in inputs or best.session_s >= today.session_s:
        return
    restarts = "Today's is long enough for the restarts, too."
    if outlives(today.known, today.session_s) > FEW:
        restarts = "Today's is not long enough for the restarts, either."
    if not best.is_static:
        restarts = "Restarts need no longer session, since a dynamic member leaves when it stops."
    yield (
        f"With a session of {best.session_s:g} s a dead host is noticed "
        f"{today.session_s - best.session_s:g} s sooner than with today's {today.session_s:g} s. "
        f"{restarts} Keep today's if a live process may be silent for longer than "
        f"{best.session_s - best.heartbeat_s:g} s."
    )


def _static_words(advice: Advice, restarts: int | None) -> Iterator[str]:
    """Explain the gain or loss of static members, the session they need, and the limit of a gap."""
    known, best, enough = advice.known, advice.advised, advice.enough
    static = advice.best_of(is_static=True)
    if static is None:
        return
    point = _point_of(advice, static)
    if best.is_static:
        yield (
            f"A restart that ends before the session causes no rebalance: "
            f"{_percent(known, 1 - point.outlives, restarts)}. Its partitions wait for it."
        )
    lost, now = _sum(static.lost_s), _sum(best.lost_s)
    if enough is not None and point.outlives > FEW:
        needed = _point_of(advice, enough)
        breaks = ""
        if known.gap_s is not None and needed.longest_detection_s > known.gap_s:
            breaks = f" That breaks the gap of {known.gap_s:g} s."
        yield (
            f"If at most one restart in twenty may cause a rebalance, static members need a "
            f"session of {enough.session_s:g} s. Then "
            f"{_percent(known, 1 - needed.outlives, restarts)} end in time: "
            f"{setting_words(enough)} would lose {_sum(enough.lost_s)} in a week instead of "
            f"{now}, with "
            f"{enough.week.rebalances:,.1f} rebalances instead of {best.week.rebalances:,.1f}, "
            f"since the partitions of a process wait for its restart, "
            f"{longest_restart_s(known, enough.form, enough.session_s):.1f} s at most.{breaks}"
        )
    elif best.is_static or lost == now:
        return
    elif best.week.rebalances - static.week.rebalances >= 0.1:
        if len(both_settings(advice)) > 1:  # `_choice` has both sums
            return
        yield (
            f"Static members would save rebalances ({static.week.rebalances:,.1f} instead of "
            f"{best.week.rebalances:,.1f} in a week), but the partitions of a process wait for its "
            f"restart: {setting_words(static)} would lose {lost} instead of {now}."
        )
    else:
        yield (
            f"Static members would save no rebalances: {setting_words(static)} would lose {lost} "
            f"instead of {now}."
        )


def _beat_words(advice: Advice) -> Iterator[str]:
    """Explain the gain, the cost and the limit of shorter heartbeats."""
    best, other, members = advice.advised, advice.other_beat, advice.known.members
    if other is None:
        return
    rates = [f"{members / each.heartbeat_s:,.1f}" for each in (best, other)]
    short_ms = 1000 * SHORTEST_BEAT_S
    if advice.request.keeps_heartbeat:
        yield (
            f"heartbeat.interval.ms={short_ms:.0f} would lose {_sum(other.lost_s)} instead of "
            f"{_sum(best.lost_s)} ({setting_words(other)}), for {rates[1]} heartbeats a second at "
            f"the coordinator instead of {rates[0]}, if you give no --heartbeat-interval-ms."
        )
        return
    slow = f"the best would lose {_sum(other.lost_s)} ({setting_words(other)})"
    gap_s = advice.known.gap_s
    if gap_s is not None and longest_death_s(other.known, other.session_s) > gap_s + 1e-9:
        slow = f"no session that is safe keeps a gap of {gap_s:g} s"
    yield (
        f"With heartbeat.interval.ms={short_ms:.0f} all members notice a rebalance earlier; with "
        f"{1000 * other.heartbeat_s:.0f} {slow}. The price: the coordinator gets {rates[0]} "
        f"heartbeats a second from this group instead of {rates[1]}. A shorter interval is not "
        "advised, since it was not tried on a real Kafka. Use --heartbeat-interval-ms to keep "
        "another interval."
    )


def _close_words(advice: Advice) -> Iterator[str]:
    """Name other forms that are as good."""
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
        why = "is today's"
    elif any(row.lost_s < best.lost_s for row in advice.as_good):
        why = "needs no other assignor"
    yield (
        f"Equally good: {'; '.join(rows)}. The difference is less than a tenth, and the advised "
        f"setting {why}."
    )


def _turn_words(known: KnownGroup, turn: Turn, inputs: Sequence[str]) -> str:
    """Name the value with which another form is advised, and the assumed one."""
    digits = 1 - math.floor(math.log10(turn.value)) if turn.value else 0
    to = math.ceil if turn.is_upwards else math.floor
    value = to(round(turn.value * 10**digits, 6)) / 10**digits
    now = getattr(known, turn.name)
    origin = "given" if turn.name in inputs else "assumed"
    return (
        f"With {FACTS[turn.name].option} {value:g} or {'more' if turn.is_upwards else 'less'} "
        f"({origin}: {now:g}) {turn.form} would be advised instead of {turn.instead_of}."
    )


def _wait_words(advice: Advice) -> Iterator[str]:
    """Explain how long partitions wait after an event."""
    known, best = advice.known, advice.advised
    point = _point_of(advice, best)
    crash_s = longest_crash_s(known, best.form, best.session_s)
    every = ", and so do the partitions of all others" if best.form.strategy == "eager" else ""
    crashed = "" if best.is_static else f", even if it is back earlier{every}"
    yield (
        f"A partition waits for a consumer for {point.detection_s:.1f} s on average and "
        f"{point.longest_detection_s:.1f} s at most when its host dies for good, for "
        f"{longest_restart_s(known, best.form, best.session_s):.1f} s at most when its process "
        f"restarts, and for {crash_s:.1f} s at most when its process crashes{crashed}. A rebalance "
        "during another one adds to that."
    )
    below = [point for point in advice.curve if point.session_s < best.session_s]
    silent_s = known.pause_s + known.heartbeat_s
    if below and below[-1].session_s < silent_s and silent_s > 15:
        yield (
            f"No shorter session is advised, since a live process may be silent for "
            f"{known.pause_s:g} s (--longest-pause-s)."
        )


def _takes(setting: SettingCost) -> str:
    """Format how long a deployment takes."""
    seconds = deployment_s(setting.known, setting.form, setting.session_s)
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _sum(seconds: float) -> str:
    return f"{seconds:,.0f} partition-seconds"


def _percent(known: KnownGroup, part: float, restarts: int | None) -> str:
    """Write the part of restarts, and their number if they are from a log."""
    says = f"{math.floor(1000 * part) / 10:g} %"
    if part == 1 and is_unbounded(known):
        says = "more than 99.8 %"  # it is looked at 500 quantiles
    if isinstance(known.restart_s, Spread) and known.restart_s.values:
        return f"{says} of {restarts or len(known.restart_s.values)} seen"
    return f"{says} of them"


FEW_RESTARTS = 20
"""The number of restarts below which the time of one in twenty is unknown."""


def log_words(advice: Advice, log: LogFacts) -> Iterator[str]:
    """Describe the group in the log, and what the advice would have saved."""
    rebalances = plural(len(log.rebalances), "rebalance")
    yield f"The log shows {log.lasted_s:,.0f} s of group {log.group}, with {rebalances}."
    if log.restarts_s:
        middle = log.restarts_s[len(log.restarts_s) // 2]
        is_one = _short(log.restarts_s[0]) == _short(log.restarts_s[-1])
        half = "" if is_one else f", half of them up to {_short(middle)}"
        yield (
            f"{plural(len(log.restarts_s), 'restart')} with a rebalance took "
            f"{_span(log.restarts_s)}{half}."
        )
    if log.shared:
        yield (
            f"Several processes take {', '.join(log.shared)} from each other, as fencepost audit "
            "reports. Solve this first: it may look like restarts."
        )
    if log.library is not None and log.library.name != JAVA.name:
        yield from _library_words(log.library)
    count = len(log.restarts_s) + len(log.free_s)
    if count and (log.lasted_s < A_DAY_S or count < FEW_RESTARTS):
        yield (
            "This is too little to know the longest restarts. Give --restart-s and "
            "--restart-p95-s, or logs of a week."
        )
    yield from _setting_words(advice, log)
    yield from _free_words(log)
    best = advice.advised
    avoided = log.avoided(best.form, best.session_s)
    stopped_s = avoided_s(avoided) if avoided else None
    took = "" if stopped_s is None else f", which took {_short(stopped_s)}"
    yield f"The advised setting would have avoided {len(avoided)} of the {rebalances}{took}."
    yield from _unlike_restarts(log)
    if log.left_out:
        yield "The log has more rows than an audit keeps; the rest are not counted."


def _library_words(library: ClientLibrary) -> Iterator[str]:
    """Name the client library, and tell why its strategy is kept."""
    yield f"Its clients use {library.name}, as their client ids or assignors show."
    if not library.has_static:
        yield without_static(library)
    if library.keeps:
        yield f"The strategy is kept: {library.name} {library.keeps} (--only)."


def _free_words(log: LogFacts) -> Iterator[str]:
    """Describe restarts of static members without a rebalance, and their session timeout."""
    session = "" if log.session_s is None else f", {log.session_s:g} s"
    if log.free_s:
        yield (
            f"{plural(len(log.free_s), 'restart')} of static members without a rebalance took "
            f"{_span(log.free_s)}, less than the session timeout{session}."
        )
    if hidden := log.free - len(log.free_s):
        yield (
            f"{plural(hidden, 'restart')} of static members caused no rebalance. The log doesn't "
            f"show {'its' if hidden == 1 else 'their'} length, which is less than the session "
            f"timeout{session}. Give it with --restart-s."
        )


def audit_words(advice: Advice, log: LogFacts | None) -> Iterator[str]:
    """Explain how this advice and the remedies of an audit of the same log differ, if they do."""
    if log is None or not log.saved:
        return
    best, needed_ms = advice.advised, log.needed_ms
    avoided, rebalances = len(log.avoided(best.form, best.session_s)), len(log.rebalances)
    if avoided < log.saved and not best.is_static:
        yield AIMS
        yield (
            f"Here static membership would have avoided {log.saved} of {rebalances} rebalances"
            f"{_cost_of_audit(advice, needed_ms)}; the advised setting avoids {avoided}, and loses "
            f"{_sum(best.lost_s)}."
        )
    elif avoided < log.saved:
        yield (
            f"By fencepost audit static membership would have avoided {log.saved} of "
            f"{rebalances} rebalances. A session of {best.session_s:g} s surely avoids {avoided}: "
            "the log doesn't show how long the other members were silent, or a session that few "
            "restarts exceed loses more."
        )
    elif needed_ms is not None and needed_ms != best.session_s * 1000:
        why_not = _why_not(advice, needed_ms / 1000)
        why = f"{needed_ms / 1000:g} s are {why_not}" if why_not else "it loses less in a week"
        yield (
            f"fencepost audit names session.timeout.ms={needed_ms}, enough for the absences in "
            f"this log. {best.session_s * 1000:.0f} is advised because {why}."
        )


def reasons(advice: Advice, inputs: Sequence[str], log: LogFacts | None) -> Iterator[str]:
    """Explain the advice, and first how it differs from an audit of the log, if there is one."""
    compared = list(audit_words(advice, log))
    yield from compared
    count = observed_restarts(log)
    yield from advice_words(advice, inputs, count, is_compared=bool(compared))


def _cost_of_audit(advice: Advice, needed_ms: int | None) -> str:
    """Format what the settings of an audit would lose in a week."""
    cost = _of_audit(advice, FORMS, needed_ms)
    if cost is None:
        return ""
    return (
        f" with session.timeout.ms={needed_ms}, half as much again as the longest absence, and "
        f"would lose {_sum(cost.lost_s)} in a week"
    )


def _unlike_restarts(log: LogFacts) -> Iterator[str]:
    """Explain rebalances that are no restarts."""
    if log.not_polled:
        yield (
            f"Live processes that did not call poll() caused {log.not_polled} of the rebalances: "
            "no session timeout avoids them."
        )
    yield from expired_words(log)


def avoided_s(avoided: Sequence[Mapping[str, Any]]) -> float | None:
    """Return how long rebalances took, in s; None where it is known of none of them."""
    known = [row["duration_ms"] for row in avoided if row["duration_ms"] is not None]
    return round(sum(known) / 1000, 3) if known or not avoided else None


def _setting_words(advice: Advice, log: LogFacts) -> Iterator[str]:
    """Describe the session in the log, and how long a process is silent."""
    if log.session_s is not None:
        if log.session_s != advice.request.session_s:
            yield (
                f"session.timeout.ms is {1000 * log.session_s:.0f} in the log, but the comparison "
                "uses --session-timeout-ms."
            )
        elif log.session_s < SESSIONS_S[0]:
            yield (
                f"session.timeout.ms is {1000 * log.session_s:.0f} there. By default brokers allow "
                f"{1000 * SESSIONS_S[0]:.0f} or more (group.min.session.timeout.ms), and fencepost "
                "neither advises nor simulates less."
            )
    if "pause_s" not in log.facts:
        yield (
            "The log shows no live process with a long silence, so the longest silence is assumed "
            "(--longest-pause-s)."
        )


def _span(durations_s: Sequence[float]) -> str:
    """Format the least and the greatest of sorted durations, or both as one."""
    low, high = _short(durations_s[0]), _short(durations_s[-1])
    return low if low == high else f"{low} to {high}"


def _short(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{round(seconds * 1000)} ms"


_EVENT_WORDS = {
    "deployment": "one deployment",
    "crash": "one crash, started again",
    "death": "one death for good",
}


def print_advice(
    verdict: str, advice: Advice, log: LogFacts | None, inputs: Sequence[str], console: Console
) -> None:
    """Print the verdict, the week, the settings with reasons, the assumptions, and how to check."""

    def say(line: str) -> None:
        console.print(line, soft_wrap=True, markup=False, highlight=False)

    say(verdict)
    say("")
    say("In a week, in partition-seconds:")
    console.print(_forms(advice, inputs, log))
    say("")
    for line in head_words(advice, log):
        say(line)
    if len(both_settings(advice)) > 1:
        say("Set")
        for line in settings(advice):
            say(f"  {line}")
    for line in reasons(advice, inputs, log):
        say(line)
    if steps := migration(advice):
        say("")
        say(f"How to get there {_from(inputs)}:")
        for line in steps:
            say(f"  {line}")
    if log is not None:
        say("")
        for line in log_words(advice, log):
            say(line)
    say("")
    say(
        "The curve shows for each session timeout: the part of restarts that exceed it (the "
        "session begins up to a heartbeat interval before the restart); the time until a dead "
        "host's partitions are read again, on average and at most; and the loss of a week with the "
        "better strategy."
    )
    console.print(_curve(advice, inputs))
    say("")
    say("Assumed:")
    for line in assumptions(advice.request, inputs):
        say(f"  {line}")
    say("")
    say(
        "These commands simulate one event of each kind, with the advised and the other setting. "
        "The figures are expected means: the mean of the seeds may differ by a tenth, plus half a "
        "heartbeat interval of one member's partitions for each restart. In a large group each "
        "takes minutes:"
    )
    for setting in both_settings(advice):
        for row in (each for each in setting.rows if each.per_week):
            say(f"  {setting_words(setting)}, {_EVENT_WORDS[row.event]}: {_cost_words(row.cost)}")
            say(f"    {row.line or 'not simulated: brokers allow no such session by default'}")


def _from(inputs: Sequence[str]) -> str:
    """Name the start of the migration."""
    is_new = before_words(inputs) == "Kafka's defaults"
    return "from Kafka's defaults, if the group runs already" if is_new else "from today"


def observed_restarts(log: LogFacts | None) -> int | None:
    """Count the restarts in a log, if their times are from it."""
    if log is None or "restart_s" not in log.facts:
        return None
    return len(log.restarts_s) + len(log.free_s)


def _cost_words(cost: EventCost) -> str:
    return f"{cost.unavailable_s:,.1f} s not consumed, {cost.rebalances:.1f} rebalances"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place else "left")
    return table


def _forms(advice: Advice, inputs: Sequence[str], log: LogFacts | None) -> Table:
    names = ("session", "heartbeat", "rebalances", "new owners", "not consumed", "and warming up")
    table = _table("", *names)
    rows = [("advised", advice.advised), *(("", each) for each in advice.best[1:])]
    other = _alternative(advice, log)
    if other is not None and all(setting_words(other) != setting_words(each) for _, each in rows):
        rows.append(("the other choice", other))
    for name, each in [*rows, (before_words(inputs), advice.today)]:
        week = each.week
        table.add_row(
            f"{each.form} {f'({name})' if name else ''}",
            f"{each.session_s:g} s",
            f"{each.heartbeat_s:.4g} s",
            f"{week.rebalances:,.1f}",
            f"{week.moved:,.0f}",
            f"{week.unavailable_s:,.0f} s",
            f"{each.lost_s:,.0f} s",
        )
    return table


def _curve(advice: Advice, inputs: Sequence[str]) -> Table:
    table = _table("session", "exceeded by", "read again", "at most", "dynamic", "static", "")
    for point in advice.curve:
        table.add_row(
            f"{point.session_s:g} s",
            f"{100 * point.outlives:.1f} %",
            f"{point.detection_s:.1f} s",
            f"{point.longest_detection_s:.1f} s",
            *(f"{point.least_s(is_static):,.0f} s" for is_static in (False, True)),
            point_note(advice, point, inputs),
        )
    return table


def point_note(advice: Advice, point: CurvePoint, inputs: Sequence[str]) -> str:
    """Write the note of a session in the table."""
    which = before_words(inputs) if point.session_s == advice.known.session_s else ""
    if point.session_s == advice.advised.session_s:
        which = "advised"
    return ": ".join(each for each in (which, point.why_not) if each)
