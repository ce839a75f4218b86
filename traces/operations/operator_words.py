"""The problems of the operator's report in sentences: each with who, since when, and the fix.

Processes are named by client id and host; times are UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fencepost.traces.operations.operator_report import OperatorReport, Recurring
from fencepost.traces.operations.operator_rows import (
    FencingChain,
    PollTimeout,
    Process,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.restarts import long_enough_ms


@dataclass(frozen=True, slots=True)
class OperatorProblem:
    """A problem with clients, however often it came.

    `kind`: a word for programs; `names`: the processes; `count`: how often, on how many `days`.
    """

    kind: str
    group: str
    instance_id: str | None
    names: tuple[str, ...]
    count: int
    days: int
    first_ms: int
    last_ms: int
    says: str
    remedy: str
    place: str


def operator_problems(report: OperatorReport) -> list[OperatorProblem]:
    """Return the problems of a report, the worst first."""
    return [_problem(found, report) for found in report.problems]


def _problem(found: Recurring, report: OperatorReport) -> OperatorProblem:
    says, remedy = _sentences(found)
    if (
        found.kind == "fenced"
        and found.count > 1
        and not report.shows(found.first.group, "ping-pong")
    ):
        says += _MAY_BE_SHARED
    return OperatorProblem(
        found.kind,
        found.first.group,
        found.first.instance_id,
        tuple(map(str, sorted(found.names))),
        found.count,
        len(found.days),
        found.from_ms,
        found.until_ms,
        says,
        remedy,
        found.place,
    )


def _sentences(found: Recurring) -> tuple[str, str]:
    """Return what is wrong, and what to do."""
    match found.first:
        case FencingChain() as first:
            return _ping_pong(found, first) if first.ping_pong else _fenced(found, first)
        case SelfFencing() as first:
            return _doubled(found, first) if first.second else _self_fencing(found, first)
        case StaticLeave() as first:
            return _static_leave(found, first)
        case ThrownOut():
            return _short_session(found)
        case PollTimeout() as first:
            return _poll_timeout(found, first)


def at(ms: int) -> str:
    """Format a time (ms since 1970)."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def problems_told(report: OperatorReport) -> str:
    """Format how many problems there are: shown, where the log can't show some kinds."""
    count = len(report.problems)
    told = times(count, "problem") if count else "no problem"
    if not report.unshown:
        return f"{times(count, 'problem')} with clients"
    return f"{told} with clients shown in this log"


def _clock(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S")


def seconds(ms: int) -> str:
    """Format a duration (ms) in seconds or minutes."""
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.0f} min"


def times(count: int, word: str) -> str:
    """Format a count with its word: `1 restart`, `2 restarts`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def often(count: int) -> str:
    """Format how often: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _names(processes: Sequence[Process]) -> str:
    texts = [str(process) for process in processes]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def rhythm(found: Recurring) -> str:
    """Format when a problem came: `at …`, `3 times …`, `5 times a day, on 59 days, last on …`."""
    days = len(found.days)
    if days > 1:
        a_day = found.count / days
        rate = f"{often(round(a_day))} a day" if a_day >= 1.5 else often(found.count)
        return f"{rate}, on {days:,} days, last on {at(found.until_ms)}"
    if found.from_ms == found.until_ms and found.count == 1:
        return f"at {at(found.from_ms)}"
    until = f"between {at(found.from_ms)} and {_clock(found.until_ms)}"
    return until if found.count == 1 else f"{often(found.count)} {until}"


def _ping_pong(found: Recurring, row: FencingChain) -> tuple[str, str]:
    return (
        (
            f"{_names(sorted(found.names))} share group.instance.id {row.instance_id} in group "
            f"{row.group}: it was taken over {rhythm(found)}, and each fenced the other."
        ),
        "Give each process its own group.instance.id, for example the name of its pod.",
    )


_OWN_ID = (
    "Give each process its own group.instance.id. If the second is to replace the first, end the "
    "first, and start the second when it is gone. FENCED_INSTANCE_ID is fatal: let the fenced "
    "consumer end."
)


_MAY_BE_SHARED = (
    " This log can't tell whether processes share the id, or restarts overlap: many takeovers in a "
    "short time mean that they share it."
)


def _fenced(found: Recurring, row: FencingChain) -> tuple[str, str]:
    """Tell of a process that lost its instance id while it lived, and who took it."""
    turn = row.decisive
    old, new = turn.from_process, turn.to_process
    told = "" if turn.told_ms is None else f"; the first was told at {at(turn.told_ms)}"
    more = "" if found.count == 1 else f" Such takeovers: {rhythm(found)}."
    return (
        (
            f"{old} was fenced while it was alive: {new} took its group.instance.id "
            f"{row.instance_id} in group {row.group} at {at(turn.at_ms)}{told}.{more}"
        ),
        _OWN_ID,
    )


def _doubled(found: Recurring, row: SelfFencing) -> tuple[str, str]:
    more = "" if found.count == 1 else f" It happened {rhythm(found)}."
    return (
        (
            f"{row.process} was fenced while it was alive: a second process with the same "
            f"client.id on that host{_ports(row)} took its group.instance.id {row.instance_id} in "
            f"group {row.group} at {at(row.taken_ms)}, and the first was told at "
            f"{at(row.at_ms)}.{more}"
        ),
        _OWN_ID,
    )


def _ports(row: SelfFencing) -> str:
    """Tell by which ports to know the two apart; they may be those of one process, too."""
    old, new = (each.rpartition(":")[2] for each in (row.address, row.by_address))
    return f" (from port {new}; the first was at port {old})" if old and new else ""


def _self_fencing(found: Recurring, row: SelfFencing) -> tuple[str, str]:
    return (
        (
            f"{row.process}, static member {row.instance_id} of group {row.group}, was fenced "
            f"{rhythm(found)} by a later join of its own{_ports(row)}, while it was alive."
        ),
        (
            "Either a join whose answer was lost was handled after a later one, or two processes "
            "with one client.id run on that host. Check that it is not the second. Then give the "
            "client a longer request timeout, and restart it when it ends with the fatal error."
        ),
    )


def _static_leave(found: Recurring, row: StaticLeave) -> tuple[str, str]:
    surely = "" if row.itself else " (probably: the log doesn't show who sent it)"
    return (
        (
            f"{_names(sorted(found.names))} left group {row.group} with a LeaveGroup "
            f"{rhythm(found)}, though it is static member {row.instance_id}{surely}. "
            "Its partitions moved at once."
        ),
        (
            "A static member should close without LeaveGroup: update the client library, or change "
            "the setting that makes it leave on close. Nothing to do if the group was made smaller."
        ),
    )


def _short_session(found: Recurring) -> tuple[str, str]:
    """Make one problem for each member that was removed while alive, however often."""
    last, longest = found.last, found.longest_ms
    assert isinstance(last, ThrownOut)  # noqa: S101  (for the type checker)
    known = f" as {last.instance_id}" if last.instance_id is not None else ""
    last_at = f", last at {at(last.at_ms)}" if len(found.days) == 1 else ""
    how = often(found.count) if len(found.days) == 1 else f"{rhythm(found)},"
    return (
        (
            f"{last.process} was removed from group {last.group}{known} "
            f"{how} while it was alive{last_at}: it was "
            f"silent for up to {seconds(longest)}, and its session timeout is "
            f"{seconds(last.session_ms)}."
        ),
        _longer_session(longest),
    )


def _poll_timeout(found: Recurring, row: PollTimeout) -> tuple[str, str]:
    return (
        (
            f"{_names(sorted(found.names))} left group {row.group} {rhythm(found)}, while it was "
            "alive: its poll() was not called for max.poll.interval.ms."
        ),
        (
            "Process fewer records for each poll (max.poll.records), or set a longer "
            "max.poll.interval.ms."
        ),
    )


def _longer_session(silent_ms: int) -> str:
    enough = long_enough_ms(silent_ms)
    why = (
        "find out why it is silent (garbage collection, no CPU time, a bad network, poll() not "
        "called)"
    )
    return f"Set session.timeout.ms to {enough} or more, or {why}." if enough else f"F{why[1:]}."
