"""Write what would have avoided rebalances: which settings, how long a session, and the price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fencepost.traces.operations.client_libraries import BY_NAME
from fencepost.traces.operations.interruption_words import span
from fencepost.traces.operations.operator_report import OperatorReport
from fencepost.traces.operations.operator_rows import (
    AVOIDING,
    OF_SESSIONS,
    End,
    Rebalance,
    Remedy,
)
from fencepost.traces.operations.problem_words import AIMS, at, quoted, short, times
from fencepost.traces.operations.restarts import usual_session_ms


def remedy_lines(report: OperatorReport) -> Iterator[str]:
    """Yield lines about settings that would have avoided rebalances, and what they take."""
    yield from _helped(report)
    yield from _sessions(report)
    yield from _of_expired(report)


def _helped(report: OperatorReport) -> Iterator[str]:
    """Yield the remedies: static membership alone is none for members that outlive no session."""
    helped = [each for each in by_setting(report.remedies, report.late) if each[1]]
    if not helped:
        return
    is_all = report.avoidable == report.rebalances.count
    which = f"all {report.avoidable:,}" if is_all else "some"
    if is_all and len(helped) == 1:
        yield f"This setting would have avoided {which}: {helped[0][0]}."
    else:
        names = ", ".join(f"{name} {count:,}" for name, count in helped)
        of_all = f"{report.avoidable:,} of {report.rebalances.count:,}"
        together = f" (together {of_all})" if len(helped) > 1 and not is_all else ""
        settings = "This setting" if len(helped) == 1 else "These settings"
        yield f"{settings} would have avoided {which}: {names}{together}."


def by_setting(remedies: Counter[Remedy], late: Counter[Remedy]) -> Iterator[tuple[str, int]]:
    """Yield each setting with the number of rebalances that it would have avoided, each once."""
    for remedy in AVOIDING:
        needs_both = late[remedy] if remedy is Remedy.STATIC else 0
        yield remedy.value, remedies[remedy] - needs_both
    yield f"{Remedy.STATIC.value} with a longer session timeout", late[Remedy.STATIC]


def _sessions(report: OperatorReport) -> Iterator[str]:
    """Yield lines about the session timeout that would have avoided rebalances."""
    needed = [r.session_ms for r in report.rebalances.rows if r.session_ms is not None]
    if not needed:
        return
    others = sum(report.remedies[remedy] for remedy in OF_SESSIONS) - len(needed)
    groups = {row.group for row in report.rebalances.rows if row.session_ms is not None}
    name = _session_name(report, groups)
    which = "all of these"
    if others:
        names = " or ".join(r.value for r in AVOIDING if r in OF_SESSIONS and report.remedies[r])
        which = (
            f"{len(needed):,} of the {len(needed) + others:,} rebalances that {names} would have "
            "avoided; the log doesn't show how long members were away in the other "
            f"{others:,}"
        )
    enough_ms, today_ms = max(needed), _today_ms(report)
    if today_ms is not None and today_ms >= enough_ms:
        today = f" Today's {today_ms} is long enough, too."
    else:
        today = "" if today_ms is None else f" Today it is {today_ms}."
    yield f"A {name} of {enough_ms} would have been long enough for {which}.{today}"
    yield from _price(report)
    yield AIMS


def _price(report: OperatorReport) -> Iterator[str]:
    """Yield a line about what static membership would have cost where it avoids rebalances."""
    rows = [row for row in report.rebalances.rows if row.remedy is Remedy.STATIC]
    known = [row for row in rows if None not in {row.duration_ms, row.away_ms, row.session_ms}]
    if known:
        total_ms = sum(row.duration_ms or 0 for row in known)
        which, together = f"{len(known):,} rebalances", " together"
        if len(known) == 1:
            which, together = "rebalance", ""
        yield (
            f"The {which} that static membership alone would have avoided took "
            f"{short(total_ms)}{together}. The partitions of a static member would have waited for "
            f"its restart instead, {span([row.away_ms or 0 for row in known])} each time. Static "
            "membership needs a group.instance.id that stays the same after a restart, such as the "
            "name of a StatefulSet's pod (a Deployment's pod gets a new name)."
        )


def _today_ms(report: OperatorReport) -> int | None:
    """Return the shortest session timeout of members that were restarted, if the log shows it."""
    needed = {row.group for row in report.rebalances.rows if row.session_ms is not None}
    known = [row.session_ms for row in report.restarts.rows if row.group in needed]
    return min((each for each in known if each is not None), default=None)


def _of_expired(report: OperatorReport) -> Iterator[str]:
    """Yield lines about rebalances of members that expired, and what static membership needs."""
    rows = [
        row
        for row in report.rebalances.rows
        if row.remedy in OF_SESSIONS and row.expired_ms is not None
    ]
    late = [row.expired_ms or 0 for row in rows if row.is_late]
    if late:
        count = report.late.total()
        name = _session_name(report, {row.group for row in rows if row.is_late})
        is_dynamic = report.late[Remedy.STATIC] > 0
        alone = "; static membership alone is not enough" if is_dynamic else ""
        yield (
            f"In {count:,} of these a member expired and came back up to {short(max(late))} later. "
            f"To avoid this, the {name} must be longer than today's plus this absence{alone}."
            f"{_bound(report, rows)} This log doesn't show whether the process was alive. If it "
            f"was, a longer {name} alone is enough; check why the process was silent."
            f"{_CLOSE if is_dynamic else ''}"
        )
    waits = [row for row in rows if row.expired_ms == 0 and row.duration_ms is not None]
    if waits:
        worst = max(waits, key=lambda row: (row.duration_ms or 0, -row.start_ms))
        yield (
            f"{times(len(waits), 'new member')} waited for the session of "
            f"{'its' if len(waits) == 1 else 'their'} dead predecessor to end: {worst.who} in "
            f"group {quoted(worst.group)} for {short(worst.duration_ms or 0)} from "
            f"{at(worst.start_ms)} [{worst.place}]. A static member takes the place of its "
            "predecessor at once."
        )


_CLOSE = (
    " If it restarted, close the consumer when its process gets SIGTERM: then it leaves at once, "
    "and the group doesn't wait for the end of its session."
)


def _session_name(report: OperatorReport, groups: Iterable[str]) -> str:
    """Return the name of the setting, as the client library of all these groups has it."""
    names = {
        BY_NAME[library].session_name if library in BY_NAME else _SESSION
        for library in (report.figures[group].library for group in groups)
    }
    return names.pop() if len(names) == 1 else _SESSION


_SESSION = "session.timeout.ms"
_LONGEST_BOUND_MS = 120_000
"""Longest time from an assignment to the end of a session that says something of its timeout."""


def _bound(report: OperatorReport, rows: Sequence[Rebalance]) -> str:
    """Name a session timeout that outlasts silence and absence, where the log limits both.

    A session begins anew with an assignment, so it is no longer than from there to its end.
    """
    sessions: dict[str, int] = {}
    for gone in report.expirations.rows:
        if gone.assigned_ms is not None and gone.end is End.EXPIRED:
            since_ms = gone.at_ms - gone.assigned_ms
            sessions[gone.group] = min(since_ms, sessions.get(gone.group, since_ms))
    worst = (0, 0)
    for row in (row for row in rows if row.is_late):
        session_ms = sessions.get(row.group)
        if session_ms is None or session_ms > _LONGEST_BOUND_MS:
            return ""
        worst = max(worst, (session_ms + (row.expired_ms or 0), session_ms))
    enough_ms = usual_session_ms(worst[0])
    if enough_ms is None:
        return ""
    return (
        f" {enough_ms} is long enough here: a member expired {short(worst[1])} after an "
        "assignment, so its session is not longer than that."
    )
