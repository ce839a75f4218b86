"""Write the problems of clients and brokers as sentences: what happened, how often, and what to do.

Processes are named by client id and host; times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from fencepost.model.history.words import enumerated
from fencepost.traces.operations.client_libraries import BY_NAME, ClientLibrary, library_of
from fencepost.traces.operations.operator_report import OperatorReport, Recurring
from fencepost.traces.operations.operator_rows import (
    Cause,
    FencingChain,
    GroupKind,
    Loop,
    PendingId,
    PollTimeout,
    Process,
    RowPart,
    SelfFencing,
    StaticLeave,
    ThrownOut,
)
from fencepost.traces.operations.restarts import enough_poll_ms, long_enough_ms

AIMS = (
    "fencepost audit names the setting that avoids most rebalances. fencepost advise names the one "
    "that leaves partitions without a consumer for the shortest time: partitions of a static "
    "member wait for its restart, those of a dynamic member go to others in a rebalance."
)
"""The difference between the remedies of an audit and an advice, for both reports."""


class OperatorProblem(RowPart, frozen=True):
    """A problem of a client or of the brokers, with all its occurrences.

    `kind`: ping-pong (two processes take an instance id from each other), fenced (a live
    process lost its instance id), loop (one cause of rebalances, or takeovers of an instance
    id, again and again), pending-id (a member id was handed out and not used), self-fencing (a
    later join of the same process fenced it), static-leave (a static member sent LeaveGroup),
    short-session (the session of a live process expired), poll-timeout (a live process did not
    call poll()).  `group`, `instance_id`: where; `names`: the processes; `count`: number of
    occurrences, on `days` days; `first_ms`, `last_ms`: times of the first and the last; `says`:
    the problem, `remedy`: the remedy, each as sentences; `place`: the line that shows it, as
    FILE:LINE; `longest_ms`: the longest silence, time without poll(), wait, or time until a fenced
    process got the error, where the kind has one; `of_broker`: a broker caused it, so no client can
    repair it; `shared`: two or more consumers certainly share the instance id.
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
    longest_ms: int | None = None
    of_broker: bool = False
    shared: bool = False


def operator_problems(report: OperatorReport) -> list[OperatorProblem]:
    """Return the problems of a report, the worst first."""
    return [_problem(problem, report) for problem in report.problems]


def _problem(problem: Recurring, report: OperatorReport) -> OperatorProblem:
    figures = report.figures.get(problem.first.group)
    kind = None if figures is None else figures.kind
    library = None if figures is None else BY_NAME.get(figures.library)
    is_known = report.shows(problem.first.group, "fenced")
    is_shared = problem.kind == "ping-pong"
    says, remedy = _sentences(problem, kind, library, is_known=is_known)
    if problem.count > 1 and not report.shows(problem.first.group, "ping-pong"):
        if isinstance(problem.first, FencingChain) and _is_shared(problem.first):
            says, remedy = _shared(problem, problem.first)
            is_shared = True
        elif problem.kind == "fenced":
            says += _MAY_BE_SHARED
    return OperatorProblem(
        problem.kind,
        problem.first.group,
        problem.first.instance_id,
        tuple(map(str, sorted(problem.names))),
        problem.count,
        len(problem.days),
        problem.from_ms,
        problem.until_ms,
        says,
        remedy,
        problem.place,
        problem.longest_ms or None,
        problem.is_of_broker,
        is_shared,
    )


def _sentences(
    problem: Recurring, kind: GroupKind | None, library: ClientLibrary | None, *, is_known: bool
) -> tuple[str, str]:
    """Return the sentences of a problem: a description, and a remedy.

    `is_known`: the log shows if a process lived that lost its instance id.
    """
    match problem.first:
        case FencingChain() as first:
            return _ping_pong(problem, first) if first.ping_pong else _fenced(problem, first)
        case SelfFencing() as first:
            return _doubled(problem, first) if first.second else _self_fencing(problem, first)
        case StaticLeave() as first:
            return _static_leave(problem, first)
        case ThrownOut():
            return _short_session(problem, library)
        case PollTimeout() as first:
            return _poll_timeout(problem, first)
        case Loop(cause=None) as first:
            return _takeovers(first, is_known=is_known)
        case Loop() as first:
            return _loop(problem, first, kind, library)
        case PendingId() as first:
            return _pending_id(problem, first)


def at(ms: int) -> str:
    """Format a time (ms since 1970)."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(ms: int) -> str:
    """Format the time of a day (ms since 1970)."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S")


def seconds(ms: int) -> str:
    """Format a duration (ms) in seconds, minutes or hours."""
    if ms < 120_000:
        return f"{ms / 1000:.1f} s"
    return f"{ms / 60_000:.0f} min" if ms < 7_200_000 else f"{ms / 3_600_000:.1f} h"


def short(ms: int) -> str:
    """Format a duration (ms) in ms, seconds, minutes or hours."""
    return f"{ms} ms" if ms < 1_000 else seconds(ms)


def quoted(group: str) -> str:
    """Return a group's name in quotes: it may have spaces, or be a word of the sentence."""
    return repr(group)


def times(count: int, word: str) -> str:
    """Format a count with its word: `1 restart`, `2 restarts`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def often(count: int) -> str:
    """Format a number of occurrences: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _names(processes: Sequence[Process]) -> str:
    return enumerated([str(process) for process in processes])


def rhythm(problem: Recurring) -> str:
    """Format times of a problem: `at …`, `3 times …`, `5 times a day, on 59 days, last on …`."""
    days = len(problem.days)
    if days > 1:
        a_day = problem.count / days
        rate = f"{often(round(a_day))} a day" if a_day >= 1.5 else often(problem.count)
        return f"{rate}, on {days:,} days, last on {at(problem.until_ms)}"
    if problem.from_ms == problem.until_ms and problem.count == 1:
        return f"at {at(problem.from_ms)}"
    until = f"between {at(problem.from_ms)} and {clock(problem.until_ms)}"
    return until if problem.count == 1 else f"{often(problem.count)} {until}"


def _ping_pong(problem: Recurring, row: FencingChain) -> tuple[str, str]:
    return (
        (
            f"{_names(sorted(problem.names))} share group.instance.id {row.instance_id} in group "
            f"{quoted(row.group)}: it was taken over {rhythm(problem)}, and each fenced the other."
            f"{_both(problem)}"
        ),
        "Give each process its own group.instance.id, for example the name of its pod.",
    )


_OWN_ID = (
    "Give each process its own group.instance.id. If the second process replaces the first, end "
    "the first before you start the second. FENCED_INSTANCE_ID is fatal: let the fenced consumer "
    "end, and don't start it again with this id."
)


_MAY_BE_SHARED = (
    " This log doesn't show whether processes share the id, or restarts overlap: count the "
    "processes."
)
_RESTARTS_MS = 60_000
"""Greatest mean time between takeovers from living processes that are no restarts."""
_FEWEST = 3


def _is_shared(row: FencingChain) -> bool:
    """Return True if living processes lost the id too often for restarts: they share it."""
    mean_ms = (row.until_ms - row.from_ms) / max(row.count - 1, 1)
    return row.fenced >= _FEWEST and mean_ms <= _RESTARTS_MS


def _shared(problem: Recurring, row: FencingChain) -> tuple[str, str]:
    """Describe takeovers from living processes, where the log doesn't name hosts."""
    turn = row.decisive
    return (
        (
            f"Two or more consumers share group.instance.id {row.instance_id} in group "
            f"{quoted(row.group)}: one took it from another, which was alive and was fenced, "
            f"{rhythm(problem)}{_every(row)}, too often for restarts. The first: "
            f"{turn.to_process} took it from {turn.from_process} at {at(turn.at_ms)}. For the "
            'others see "Who held each instance id" in the page, or chains in audit.json (--report '
            f"DIR).{_both(problem)}"
        ),
        (
            "Give each consumer its own group.instance.id, for example the name of its pod. This "
            "log doesn't show which of them should keep the id. FENCED_INSTANCE_ID is fatal: let "
            "the fenced consumer end, and don't start it again with this id."
        ),
    )


def _both(problem: Recurring) -> str:
    """Say for how long two consumers may read the same partitions; "" where it isn't known."""
    if not problem.longest_ms:
        return ""
    return (
        " Both may read the same partitions until the old consumer gets the error, here for up to "
        f"{short(problem.longest_ms)}."
    )


def _fenced(problem: Recurring, row: FencingChain) -> tuple[str, str]:
    """Describe a process that lost its instance id while alive, and the process that took it."""
    turn = row.decisive
    old, new = turn.from_process, turn.to_process
    notice = "" if turn.told_ms is None else f"; the first got the error at {at(turn.told_ms)}"
    more = "" if problem.count == 1 else f" Such takeovers: {rhythm(problem)}{_every(row)}."
    return (
        (
            f"{old} was fenced while it was alive: {new} took its group.instance.id "
            f"{row.instance_id} in group {quoted(row.group)} at {at(turn.at_ms)}{notice}.{more}"
        ),
        _OWN_ID,
    )


def _every(row: FencingChain) -> str:
    """Format how often an instance id was taken over."""
    return (
        f", one every {short((row.until_ms - row.from_ms) // (row.count - 1))}"
        if row.count > 2
        else ""
    )


def _doubled(problem: Recurring, row: SelfFencing) -> tuple[str, str]:
    more = "" if problem.count == 1 else f" It happened {rhythm(problem)}."
    return (
        (
            f"{row.process} was fenced while it was alive: a second process with the same "
            f"client.id on that host{_ports(row)} took its group.instance.id {row.instance_id} in "
            f"group {quoted(row.group)} at {at(row.taken_ms)}, and the first got the error at "
            f"{at(row.at_ms)}.{more}"
        ),
        _OWN_ID,
    )


def _ports(row: SelfFencing) -> str:
    """Name the ports of both processes, where the log has them; they may be one process's."""
    old, new = (each.rpartition(":")[2] for each in (row.address, row.by_address))
    return f" (from port {new}; the first was at port {old})" if old and new else ""


def _self_fencing(problem: Recurring, row: SelfFencing) -> tuple[str, str]:
    return (
        (
            f"{row.process}, static member {row.instance_id} of group "
            f"{quoted(row.group)}, was fenced {rhythm(problem)} by a later join of its own"
            f"{_ports(row)}, while it was alive."
        ),
        (
            "Either the broker handled a join whose answer was lost after a later one, or two "
            "processes with one client.id run on that host. Check for two processes first. If "
            "there is one, give the client a longer request timeout, and restart it after the "
            "fatal error."
        ),
    )


def _static_leave(problem: Recurring, row: StaticLeave) -> tuple[str, str]:
    surely = "" if row.itself else " (probably: the log doesn't show who sent it)"
    return (
        (
            f"{_names(sorted(problem.names))} left group {quoted(row.group)} with a LeaveGroup "
            f"{rhythm(problem)}, though it is static member {row.instance_id}{surely}. "
            "Its partitions moved at once."
        ),
        (
            "A static member should close without LeaveGroup: update the client library, or change "
            "the setting that makes it leave on close. Ignore this if you made the group smaller."
        ),
    )


def _short_session(problem: Recurring, library: ClientLibrary | None) -> tuple[str, str]:
    """Describe all removals of a member whose process was alive."""
    last, longest = problem.last, problem.longest_ms
    assert isinstance(last, ThrownOut)  # noqa: S101  (for the type checker)
    known = f" as {last.instance_id}" if last.instance_id is not None else ""
    last_at = f", last at {at(last.at_ms)}" if len(problem.days) == 1 else ""
    how = often(problem.count) if len(problem.days) == 1 else f"{rhythm(problem)},"
    return (
        (
            f"{last.process} was removed from group {quoted(last.group)}{known} "
            f"{how} while it was alive{last_at}: it was "
            f"silent for up to {seconds(longest)}, and its session timeout is "
            f"{seconds(last.session_ms)}."
        ),
        _longer_session(longest, library),
    )


def _poll_timeout(problem: Recurring, row: PollTimeout) -> tuple[str, str]:
    interval_ms, longest_ms = row.interval_ms, problem.longest_ms
    limit = "" if interval_ms is None else f", {seconds(interval_ms)}"
    longest = ""
    enough = "set a longer max.poll.interval.ms"
    if longest_ms:
        longest = (
            f" It joined again when it called poll(), up to {longest_ms / 1000:.1f} s after the "
            "previous call."
        )
        enough = longer_poll(longest_ms)
    return (
        (
            f"{_names(sorted(problem.names))} left group {quoted(row.group)} {rhythm(problem)}"
            f"{_average(problem)}, while it was alive: its poll() was not called for "
            f"max.poll.interval.ms{limit}.{longest}"
        ),
        (
            f"Process fewer records for each poll (max.poll.records), or {enough}. Static "
            "membership and a longer session don't help, because it sends heartbeats all the time."
        ),
    )


def longer_poll(longest_ms: int) -> str:
    """Return the setting that lets a poll take longer than the longest time seen."""
    return (
        f"set max.poll.interval.ms above {-(-longest_ms // 1000) * 1000}, for example to "
        f"{enough_poll_ms(longest_ms)}, half as much again, since the next poll may take longer"
    )


def _average(problem: Recurring) -> str:
    """Format the mean time between the occurrences of a day."""
    if problem.count < 3 or len(problem.days) > 1:
        return ""
    mean_ms = (problem.until_ms - problem.from_ms) // (problem.count - 1)
    return f", one every {short(mean_ms)} on average"


_BRIEF_MS = 1_000
_LOOPS = {
    Cause.NEW_MEMBER: "joined group {} as a new member",
    Cause.LEADER_REJOIN: "joined group {} again as its leader",
    Cause.MEMBER_REJOIN: "joined group {} again with other metadata",
    Cause.CHANGED_SUBSCRIPTION: "joined group {} again with another subscription",
    Cause.LEAVE: "left group {}",
    Cause.EXPIRY: "expired in group {}",
    Cause.FAILOVER: "was in group {} when its coordinator changed",
    Cause.NOT_STORED: "got no assignment in group {}, because the coordinator could not store it",
    Cause.OTHER: "caused a rebalance of group {} for a reason that fencepost doesn't know",
    Cause.UNKNOWN: "group {} rebalanced, for a cause that the log doesn't show",
}


def _loop(
    problem: Recurring, row: Loop, kind: GroupKind | None, library: ClientLibrary | None
) -> tuple[str, str]:
    """Describe rebalances of one cause that come again and again, with their rhythm."""
    assert row.cause is not None  # noqa: S101  (for the type checker)
    names = [process for process in sorted(problem.names) if str(process) and process.client_id]
    who = _names(names) if names else "Somebody"
    if row.cause in _OF_ONE_ID and len(names) == 1 and (row.ids or 0) > 1:
        who += f" ({row.ids:,} member ids)"
    event = _LOOPS[row.cause] if len(problem.causes) == 1 else "joined group {} again"
    if row.cause is Cause.UNKNOWN:
        who = "Each time"
    turn = " in turn" if len(names) > 1 else ""
    each = "one" if len(names) < 2 else "each"
    when = f"{rhythm(problem)}, {each} every {short(row.every_ms)}"
    sentences = [f"A loop: {who}{turn} {event.format(quoted(row.group))} {when}."]
    # Several processes may have the client id that a library has by default.
    may_share = len(names) == 1 and library_of(names[0].client_id) is not None
    probably = "probably " if may_share else ""
    if row.stayed_ms is not None:
        ended = "expired" if row.cause is Cause.EXPIRY else "left"
        lacks = "; the log lacks the other joins"
        which = _of_turns(row.stays, row.count, lacks)
        sentences.append(f"It {ended} {short(row.stayed_ms)} after its join{which}.")
    if row.away_ms is not None:
        which = _of_turns(row.absences, row.count, "")
        sentences.append(f"It was {probably}back {short(row.away_ms)} later{which}.")
    others = row.members or 0
    if row.cause in {Cause.EXPIRY, Cause.LEAVE} and others > 0 and len(names) == 1:
        # A loop has no member that was there before it: see `loops`.
        whose = "the other member" if others == 1 else f"each of the other {others:,} members"
        size = f"a group of {others + 1:,}"
        sentences.append(f"It is {probably}one process in {size}: {whose} stayed.")
    lasted_ms = problem.shortest_ms
    if lasted_ms is not None and lasted_ms < _BRIEF_MS and row.stayed_ms is None:
        sentences.append(f"A generation ended {short(lasted_ms)} after its assignment.")
    if row.cause is Cause.NEW_MEMBER:
        sentences.append("No line shows that it left, and the group never had a second member.")
    if row.client_reason and row.client_reason != "not provided":
        sentences.append(f'The client\'s reason: "{row.client_reason}".')
    if row.cause in {Cause.OTHER, Cause.NOT_STORED}:
        sentences.append(f'The broker\'s reason: "{row.reason}".')
    sentences += _generations(row)
    return " ".join(sentences), _against_loop(row, kind, library)


def _of_turns(known: int | None, count: int, lacks: str) -> str:
    """Say of how many turns something is known; "" if of all, or if their number isn't."""
    return "" if known is None or known >= count else f" ({often(known)}{lacks})"


_OF_ONE_ID = frozenset({Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN, Cause.NOT_STORED})
"""Causes that one member may be again and again, with its id."""
_DAY_MS = 24 * 3_600_000
_REJOINS = frozenset({Cause.LEADER_REJOIN, Cause.MEMBER_REJOIN, Cause.CHANGED_SUBSCRIPTION})


def _generations(row: Loop) -> Iterator[str]:
    """Yield what is known of the group in a loop, which may be much older than the log."""
    if row.members == 1 and row.cause in _REJOINS:
        yield "The group has no other member."
    days = round((row.generation or 0) * row.every_ms / _DAY_MS)
    if days and row.generation is not None:
        yield (
            f"The group is at generation {row.generation:,}: at this rhythm that takes about "
            f"{times(days, 'day')}."
        )


_AGAINST = {
    Cause.LEADER_REJOIN: (
        "A leader joins again when the partitions of its topics change, or seem to change. Look in "
        "its log for changed metadata, a changed subscription, or a topic pattern that matches "
        "topics that come and go."
    ),
    Cause.MEMBER_REJOIN: (
        "Each join has other metadata, and begins a rebalance. Look in its log for the reason, and "
        "update its client library."
    ),
    Cause.LEAVE: (
        "Check why it closes its consumer each time: a crash, a restart, a health check, a job "
        "that ends, or code that creates a consumer for each poll."
    ),
    Cause.EXPIRY: (
        "Check why it sends no heartbeat: a crash, a garbage collection, no CPU time, a client "
        "that blocks. A longer {} helps only if it is longer than each silence. The log doesn't "
        "show whether its process was alive."
    ),
    Cause.NOT_STORED: (
        "The brokers could not write the assignment to __consumer_offsets; the clients need no "
        "change. The brokers' logs show why: usually too few in-sync replicas "
        "(min.insync.replicas; bring the brokers back), or an assignment larger than "
        "max.message.bytes of that topic."
    ),
}


_PROBING = frozenset({Cause.MEMBER_REJOIN, Cause.LEADER_REJOIN})


def _against_loop(row: Loop, kind: GroupKind | None, library: ClientLibrary | None) -> str:
    """Return what to do against a loop."""
    if row.cause is Cause.EXPIRY:
        name = "session.timeout.ms" if library is None else library.session_name
        beats = "" if library is None or not library.beats else f" {library.beats}"
        return _AGAINST[row.cause].format(name) + beats
    if row.cause is Cause.NEW_MEMBER:
        known = ""
        if "instanceid" in row.reason:
            known = (
                " Kafka 2.3.0 has a bug that does this (KAFKA-8653): it gives a member that joins "
                "with JoinGroup v0 no rebalance timeout, and drops it at once. Update the broker "
                "to 2.3.1 or later, or the client library to one that sends a later version."
            )
        return f"The coordinator dropped each member when the next one joined.{known}"
    if row.cause in _PROBING and kind is GroupKind.STREAMS:
        return (
            "Streams begins a probing rebalance every probing.rebalance.interval.ms (10 minutes by "
            "default) while a task warms up on another instance. They end when the task has caught "
            "up (acceptable.recovery.lag). If they don't, check why its state is never restored."
        )
    if row.cause is Cause.MEMBER_REJOIN and kind is GroupKind.CONNECT:
        return (
            "A Connect worker joins again while it reads the configuration topic differently from "
            "the leader. Look in its log for the offset that it waits for, check that the "
            "configuration topic is compacted and has one partition, restart this worker, and "
            "update Connect."
        )
    return _AGAINST.get(row.cause or Cause.UNKNOWN, "Look in the log of the client at these times.")


def _takeovers(row: Loop, *, is_known: bool) -> tuple[str, str]:
    until = f"between {at(row.from_ms)} and {clock(row.until_ms)}"
    says = (
        f"group.instance.id {row.instance_id} of group {quoted(row.group)} went to a new member "
        f"{often(row.count)} {until}, one every {short(row.every_ms)}. This is no deployment: "
    )
    if is_known:
        why = (
            "no process was fenced, so each ended before the next one joined: one process crashes "
        )
        why += "again and again."
        return says + why, "Check its log for the reason."
    return (
        (
            f"{says}two processes share the id, or one crashes again and again. This log doesn't "
            "show which, since it doesn't show whether the old process was alive."
        ),
        (
            "Count the processes that have this group.instance.id. If there are two, give each its "
            "own, for example the name of its pod. If there is one, check its log for the reason."
        ),
    )


def _pending_id(problem: Recurring, row: PendingId) -> tuple[str, str]:
    held = ""
    if problem.longest_ms:
        held = f" A rebalance waited for it for up to {seconds(problem.longest_ms)}."
    return (
        (
            f"{row.process} got a member id of group {quoted(row.group)} {rhythm(problem)} and "
            "never joined with it: the broker removed the id at the end of the session timeout."
            f"{held}"
        ),
        (
            "Find the client that asks for a member id and doesn't join: it gives up before the "
            "answer (a short request timeout), is closed while it starts, or asks twice. A "
            "rebalance waits for the id for that client's session.timeout.ms."
        ),
    )


def _longer_session(silent_ms: int, library: ClientLibrary | None) -> str:
    enough = long_enough_ms(silent_ms)
    name = "session.timeout.ms" if library is None else library.session_name
    why = (
        "check why it is silent (garbage collection, no CPU time, a bad network, poll() not called)"
    )
    return f"Set {name} to {enough} or more, or {why}." if enough else f"C{why[1:]}."
