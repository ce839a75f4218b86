"""State the requirements of the areas RESTART, SESSION and STREAMS, and judge them.

They are about members that come back, that show that they live, and that share a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupRequest, JoinGroupResponse, SyncGroupRequest
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import Assigned, Lost, Partition, Revoked
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    FIRST_WITH_INSTANCE,
    HEARTBEAT,
    JOIN,
    MEMBER_APIS,
    SYNC,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import (
    BEHAVIOUR,
    HOLDS,
    Members,
    Requirement,
    Verdict,
    has_partitions,
    no_leave,
    unknown,
    unsupported,
    violated,
    with_instance,
    with_member,
)

_OF_SESSION = 0.9
"""Part of its session after which a member that is away may have been removed."""

_SKIPS = 9
"""The first version of JoinGroup with skipAssignment."""

_ALL = 3
"""Restarts that are all members, one after the other."""

_NO_POLL_INTERVAL = "no-poll-interval"
"""The feature of a driver whose library has no such setting.  A driver that doesn't list it is
judged."""

_STOP, _RESUME = "stop-polling", "poll-on"
_SLACK_MS = 1500
"""Delay after which heartbeats have to end: a library looks at its poll interval now and then."""

Restart = tuple[ConsumerRun, ConsumerRun]
"""A run, and the next one of the same static consumer."""


def restarts(evidence: Evidence) -> Iterator[Restart]:
    """Yield each restart of a static member within its session, as the coordinator saw it."""
    for run in evidence.static_runs:
        before = evidence.run_of(run.consumer, run.number - 1)
        if before is None or not evidence.joins_of(before):
            continue
        last, first = evidence.of(before, *MEMBER_APIS)[-1], evidence.first_after(run, 0.0, JOIN)
        back_ms = evidence.ended_ms if first is None else first.at_ms
        if back_ms - last.at_ms < _OF_SESSION * run.settings.session_timeout_ms:
            yield before, run


def _moves_nothing(
    evidence: Evidence,
    who: str,
    is_judged: Callable[[ConsumerRun], bool] = lambda _: True,
    at_least: int = 1,
) -> Iterator[Verdict]:
    """Judge restarts of a kind: equal generation and partitions, no other member disturbed."""
    pairs = [pair for pair in restarts(evidence) if is_judged(pair[0])]
    if len(pairs) < at_least:
        yield unknown(f"{who} did not restart within its session")
    for pair in pairs:
        yield _undisturbed(evidence, *pair)


def _undisturbed(evidence: Evidence, before: ConsumerRun, run: ConsumerRun) -> Verdict:
    """Judge that a restart moved nothing.

    On a machine that is slow a session may end meanwhile: so all of it rests on lateness.
    """
    wrong = _moved(evidence, before, run)
    if wrong is HOLDS or wrong.waited is not None:
        return wrong
    return replace(wrong, waited=(before.began_ms, evidence.ended_ms))


def _moved(evidence: Evidence, before: ConsumerRun, run: ConsumerRun) -> Verdict:
    own = evidence.first_after(run, 0.0, JOIN)
    if own is not None and own.version < FIRST_WITH_INSTANCE[JOIN]:
        return violated(
            "comes back in a version without instance ids",
            f"{run.name} came back with JoinGroup v{own.version}",
            own.at_ms,
        )
    until = None if run.ended_ms is None else run.ended_ms - CLOCK_MS
    wrong = has_partitions(evidence, run, run.began_ms, "after a restart", until=until)
    if wrong is not HOLDS:
        return wrong
    old, new = evidence.syncs_of(before), evidence.syncs_of(run)
    if old and new and new[0].generation != old[-1].generation:
        return violated(
            "a rebalance at a restart",
            f"{run.name} came back in generation {new[0].generation}; it had been in "
            f"{old[-1].generation}",
            new[0].at_ms,
        )
    ended = (before.ended_ms or 0.0) - CLOCK_MS
    had, has = evidence.owned(before, ended), _first_owned(evidence, run)
    if had != has:
        return violated(
            "other partitions after a restart",
            f"{run.name} had {_listed(had)} before its restart, and {_listed(has)} after it",
            run.began_ms,
        )
    return _others_stay(evidence, before, run)


def _first_owned(evidence: Evidence, run: ConsumerRun) -> frozenset[Partition]:
    first = next(iter(evidence.events_of(run, Assigned)), None)
    return frozenset() if first is None else evidence.owned(run, first.at_ms)


def _others_stay(evidence: Evidence, before: ConsumerRun, run: ConsumerRun) -> Verdict:
    since = before.ended_ms or 0.0
    done = next(iter(evidence.events_of(run, Assigned)), None)
    until = evidence.ended_ms if done is None else done.at_ms
    for other in evidence.runs:
        if other.began_ms >= since or (other.ended_ms is not None and other.ended_ms <= until):
            continue
        call = evidence.first_after(other, since, JOIN, until=until)
        moves = [
            event.at_ms
            for event in evidence.events_of(other, Assigned, Revoked, Lost, since=since)
            if event.at_ms < until
        ]
        if call is not None or moves:
            how = "had to join again" if call is not None else "got an event about other partitions"
            return violated(
                "another member is disturbed by a restart",
                f"{other.name} {how} when {run.name} came back",
                call.at_ms if call is not None else moves[0],
            )
    return HOLDS


def _listed(partitions: frozenset[Partition]) -> str:
    return ", ".join(f"{t}-{p}" for t, p in sorted(partitions)) or "no partitions"


def _leader_restarts(evidence: Evidence) -> Iterator[Verdict]:
    return _moves_nothing(evidence, "a leader", evidence.is_led_by)


def _skips(evidence: Evidence) -> Iterator[Verdict]:
    is_judged = False
    for run in evidence.runs:
        for call in evidence.joins_of(run):
            answer = call.answer
            if isinstance(answer, JoinGroupResponse) and answer.skip_assignment:
                is_judged = True
                yield _assigns_nothing(evidence, run, call.end_ms)
    if not is_judged:
        yield _nothing_to_skip(evidence)


def _nothing_to_skip(evidence: Evidence) -> Verdict:
    """Make the verdict where no leader got skipAssignment, with the reason."""
    for before, run in restarts(evidence):
        calls, old = evidence.joins_of(run), evidence.syncs_of(before)
        if not evidence.is_led_by(before) or not calls:
            continue
        version = calls[0].version
        if version < _SKIPS:
            return unsupported(f"it joins with JoinGroup v{version}, without skipAssignment")
        new = evidence.syncs_of(run)
        if old and new and new[0].generation != old[-1].generation:
            return unsupported("the leader's return is a rebalance, so there is nothing to skip")
    return unknown("no leader was told to skip the assignment")


def _old_leader_restarts(evidence: Evidence) -> Iterator[Verdict]:
    yield from _leader_restarts(evidence)
    for before, run in restarts(evidence):
        calls = evidence.joins_of(run)
        if evidence.is_led_by(before) and calls and calls[0].version < _SKIPS:
            yield _assigns_nothing(evidence, run, calls[0].end_ms)
            return
    yield unknown("no leader came back below JoinGroup v9")


def _assigns_nothing(evidence: Evidence, run: ConsumerRun, since: float) -> Verdict:
    """Judge that the next sync of a run has no assignments."""
    sync = evidence.first_after(run, since, SYNC)
    if sync is None or not isinstance(sync.request, SyncGroupRequest):
        return HOLDS
    if not sync.request.assignments:
        return HOLDS
    return violated(
        "assigns although it shall not",
        f"{run.name} came back and is not to assign anything; its SyncGroup has "
        f"{len(sync.request.assignments)} assignments",
        sync.at_ms,
    )


def _session_timeout(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, JOIN):
            if not isinstance(call.request, JoinGroupRequest):
                continue
            yield HOLDS
            expected, sent = run.settings.session_timeout_ms, call.request.session_timeout_ms
            if sent != expected:
                yield violated(
                    "another session timeout",
                    f"the user of {run.name} set a session timeout of {expected} ms; JoinGroup "
                    f"v{call.version} has {sent} ms",
                    call.at_ms,
                )


def _rebalance_timeout(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, JOIN):
            if not isinstance(call.request, JoinGroupRequest) or call.version < 1:
                continue
            yield HOLDS
            expected, sent = run.settings.max_poll_interval_ms, call.request.rebalance_timeout_ms
            if sent != expected:
                yield violated(
                    "another rebalance timeout",
                    f"the user of {run.name} set a poll interval of {expected} ms; JoinGroup "
                    f"v{call.version} has a rebalance timeout of {sent} ms",
                    call.at_ms,
                )


def _no_rebalance_timeout(evidence: Evidence) -> Verdict:
    """Make the verdict where no JoinGroup had room for a rebalance timeout."""
    if any(evidence.of(run, JOIN) for run in evidence.runs):
        return unsupported("it joins with JoinGroup v0, without a rebalance timeout")
    return unknown("no member joined")


def _pauses(evidence: Evidence) -> Iterator[tuple[ConsumerRun, float, float]]:
    """Yield each time in which a user did not poll, with its begin and end."""
    for run, stop in evidence.actions_on_runs(_STOP):
        if stop.outcome == "ok":
            acts = evidence.actions_of(_RESUME, run)
            resumed = (act.began_ms for act in acts if act.began_ms > stop.began_ms)
            yield run, stop.ended_ms, next(resumed, run.ended_ms or evidence.ended_ms)


def _heartbeats(evidence: Evidence) -> Iterator[Verdict]:
    for run, began, ended in _pauses(evidence):
        session = run.settings.session_timeout_ms
        if ended - began <= session or ended - began >= run.settings.max_poll_interval_ms:
            continue
        yield HOLDS
        beats = [call.at_ms for call in evidence.of(run, HEARTBEAT, since=began, until=ended)]
        gap, since = max((b - a, a) for a, b in pairwise((began, *beats, ended)))
        refusals = evidence.refusals(Code.UNKNOWN_MEMBER_ID)
        lost = [call for other, call in refusals if other is run]
        if gap >= session or any(began < call.at_ms < ended for call in lost):
            yield violated(
                "heartbeats stop while the user works",
                f"the user of {run.name} did not poll for {(ended - began) / 1000:.1f} s, and no "
                f"heartbeat came for {gap / 1000:.1f} s; its session is {session} ms",
                since,
                waited=(began, ended),
            )


def _exceeded(evidence: Evidence) -> Iterator[tuple[ConsumerRun, float, float]]:
    """Yield each time without polls that is too long: when that was certain, and its end."""
    for run, began, ended in _pauses(evidence):
        settings = run.settings
        over = began + settings.max_poll_interval_ms + 2 * settings.heartbeat_interval_ms
        if ended > over + _SLACK_MS:
            yield run, over + _SLACK_MS, ended


def _poll_interval(evidence: Evidence) -> Iterator[Verdict]:
    for run, over, ended in _exceeded(evidence):
        if _NO_POLL_INTERVAL in evidence.features:
            yield unsupported("its driver says that the library has no poll interval")
        yield HOLDS
        beat = evidence.first_after(run, over, HEARTBEAT, until=ended)
        if beat is not None:
            yield violated(
                "heartbeats go on though the user doesn't poll",
                f"the user of {run.name} did not poll for longer than its poll interval of "
                f"{run.settings.max_poll_interval_ms} ms, and heartbeats went on",
                beat.at_ms,
                waited=(over - _SLACK_MS, over),
            )


def _static_silent(evidence: Evidence) -> Iterator[Verdict]:
    for run, _, ended in _exceeded(evidence):
        if run.instance is None:
            continue
        wrong = no_leave(evidence, run)
        yield wrong if wrong.at_ms is not None and wrong.at_ms < ended else HOLDS


def _polls_on(evidence: Evidence) -> Iterator[Verdict]:
    for run, _, ended in _exceeded(evidence):
        if not evidence.actions_of(_RESUME, run):
            continue
        session = run.settings.session_timeout_ms
        beats = evidence.of(run, HEARTBEAT, since=ended - session, until=ended)
        if any(call.went_well for call in beats):
            yield unsupported(f"{run.name} never lost its place: its heartbeats went on")
        join = evidence.first_after(run, ended, JOIN)
        if join is None:
            yield violated(
                "does not come back when its user polls on",
                f"{run.name} sent no JoinGroup when its user polled on, for "
                f"{(evidence.ended_ms - ended) / 1000:.1f} s",
                ended,
                waited=(ended, evidence.ended_ms),
            )
            return
        if join.instance != run.instance:
            yield violated(
                "comes back as somebody else when its user polls on",
                f"{run.name} came back with {with_instance(join.instance)}",
                join.at_ms,
            )
        yield has_partitions(evidence, run, ended, "after its user polled on")


def _together(runs: Iterable[ConsumerRun]) -> list[Sequence[ConsumerRun]]:
    """List the runs of each process that has several."""
    runs = sorted(runs, key=lambda run: run.process)
    groups = [list(group) for _, group in groupby(runs, lambda run: run.process)]
    return [group for group in groups if len({run.consumer for run in group}) > 1]


def _own_ids(evidence: Evidence) -> Iterator[Verdict]:
    for runs in _together(evidence.runs):
        yield HOLDS
        holders: dict[str, ConsumerRun] = {}
        for run in runs:
            for call in evidence.joins_of(run):
                answer = call.answer
                member_id = answer.member_id if isinstance(answer, JoinGroupResponse) else ""
                other = holders.setdefault(member_id, run)
                if other.consumer != run.consumer:
                    yield _mixed(run, f"{with_member(member_id)} of {other.name}", call.at_ms)
            for call in evidence.of(run, *MEMBER_APIS):
                if call.instance not in {None, run.instance}:
                    yield _mixed(run, with_instance(call.instance), call.at_ms)


def _mixed(run: ConsumerRun, detail: str, at_ms: float) -> Verdict:
    return violated(
        "members of one process are mixed up",
        f"{run.name} has {with_instance(run.instance)}, and appears with {detail}",
        at_ms,
    )


def _rolled(evidence: Evidence) -> Iterator[Verdict]:
    several = {run.consumer for runs in _together(evidence.static_runs) for run in runs}
    for before, run in restarts(evidence):
        if run.consumer in several:
            yield _undisturbed(evidence, before, run)


_OF_RESTARTS = "KIP-345, Join Group Logic Change and the update on leaders that restart"


REQUIREMENTS = (
    Requirement(
        "CLIENT-RESTART-FOLLOWER",
        Level.MUST,
        "A follower that closes and restarts within its session causes no rebalance, and gets "
        "its old partitions.",
        _OF_RESTARTS,
        provoked="a static follower closes and restarts",
        judged="generations, the partitions of users' events, and that no other member joined",
        judge=lambda evidence: _moves_nothing(
            evidence, "a follower", lambda before: not evidence.is_led_by(before)
        ),
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-CRASHED",
        Level.MUST,
        "A follower that is killed and restarts within its session causes no rebalance, and "
        "gets its old partitions.",
        _OF_RESTARTS,
        provoked="the process of a static member is killed and restarts",
        judged="generations, the partitions of users' events, and that no other member joined",
        judge=lambda evidence: _moves_nothing(
            evidence, "a member that crashed", lambda before: before.how == "crashed"
        ),
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-LEADER",
        Level.MUST,
        "A leader that closes and restarts within its session causes no rebalance, and gets its "
        "old partitions.",
        _OF_RESTARTS,
        provoked="the leader closes and restarts, with the newest versions",
        judged="generations, the partitions of users' events, and that no other member joined",
        judge=_leader_restarts,
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-SKIPPED",
        Level.SHOULD,
        "A leader that gets skipAssignment sends SyncGroup without one, and takes "
        "the partitions of the answer.",
        "KIP-814, skipAssignment in JoinGroup 9",
        provoked="the leader closes and restarts, with the newest versions",
        judged="its SyncGroup after the answer with skipAssignment has no assignments",
        judge=_skips,
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-LEADER-OLD",
        Level.MUST,
        "Below JoinGroup 9 a restarted leader syncs as a follower, and gets its old partitions.",
        "KIP-814, Motivation",
        provoked="the leader closes and restarts, at a broker without JoinGroup 9",
        judged="generations, the partitions of users' events, and that its SyncGroup has no "
        "assignments",
        judge=_old_leader_restarts,
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-ALL",
        Level.MUST,
        "When all members restart one after the other, no partition moves.",
        "KIP-345, Motivation and Rolling Bounce",
        provoked="three static members close and restart, one after the other",
        judged="generations, and the partitions of users' events",
        judge=lambda evidence: _moves_nothing(evidence, "each of three members", at_least=_ALL),
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-RESTART-COOPERATIVE",
        Level.MUST,
        "A member with the cooperative assignor restarts, and no partition moves.",
        "KIP-429, with static members",
        provoked="a follower with the cooperative assignor closes and restarts",
        judged="generations, the partitions of users' events, and that no other member joined",
        judge=lambda evidence: _moves_nothing(
            evidence, "a cooperative member", lambda before: before.is_cooperative
        ),
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-SESSION-TIMEOUT",
        Level.MUST,
        "A member sends the session timeout that its user set in JoinGroup.",
        "KIP-345, Upgrade Process, step 3",
        provoked="a member joins with a session timeout of its own",
        judged="the session timeout of each JoinGroup",
        judge=_session_timeout,
        unseen="no member joined",
    ),
    Requirement(
        "CLIENT-SESSION-REBALANCE-TIMEOUT",
        Level.SHOULD,
        "A member sends the poll interval that its user set as the rebalance timeout in JoinGroup.",
        "KIP-62, max.poll.interval.ms",
        provoked="a member joins with a poll interval of its own",
        judged="the rebalance timeout of each JoinGroup",
        judge=_rebalance_timeout,
        unseen=_no_rebalance_timeout,
    ),
    Requirement(
        "CLIENT-SESSION-HEARTBEATS",
        Level.SHOULD,
        "A member sends heartbeats while its user works for longer than the session timeout, up "
        "to the poll interval.",
        "KIP-62, heartbeats beside processing",
        provoked="the user doesn't poll for longer than the session timeout",
        judged="the gaps between heartbeats stay below the session timeout, and the member isn't "
        "removed",
        judge=_heartbeats,
        unseen="no user worked for longer than the session timeout",
    ),
    Requirement(
        "CLIENT-SESSION-POLL-INTERVAL",
        Level.SHOULD,
        "A member stops its heartbeats when its user works for longer than the poll interval.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll for longer than the poll interval",
        judged="no heartbeat comes once the poll interval is over, with room for one interval",
        judge=_poll_interval,
        unseen="no user worked for longer than the poll interval",
    ),
    Requirement(
        "CLIENT-SESSION-STATIC-SILENT",
        Level.MUST,
        "A static member whose user works for longer than the poll interval sends no LeaveGroup.",
        BEHAVIOUR,
        provoked="the user of a static member doesn't poll for longer than the poll interval",
        judged="no LeaveGroup names it",
        judge=_static_silent,
        unseen="no user of a static member worked for longer than the poll interval",
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-SESSION-POLLS-ON",
        Level.SHOULD,
        "A member whose user polls again after the poll interval rejoins, a static one with its "
        "instance id.",
        "KIP-62, max.poll.interval.ms",
        provoked="the user doesn't poll until the session is over, then goes on",
        judged="the instance id of the next JoinGroup, and that the user has partitions again",
        judge=_polls_on,
        unseen="no user polled again after the poll interval",
    ),
    Requirement(
        "CLIENT-STREAMS-OWN-IDS",
        Level.MUST,
        "Several members of one process each have a member id of their own; static ones each "
        "use an instance id, with -1, -2 and so on at its end, in every request.",
        "KIP-345, Kafka Streams Change",
        provoked="one process starts three members of one group",
        judged="the pairs of instance id and member id in all requests",
        judge=_own_ids,
        unseen="no process had several members",
    ),
    Requirement(
        "CLIENT-STREAMS-ROLLED",
        Level.MUST,
        "When a process with several static members restarts, no partition moves.",
        "KIP-345, Kafka Streams Change",
        provoked="a process with three static members restarts while another member runs",
        judged="generations, and the partitions of users' events",
        judge=_rolled,
        unseen="no process with several static members restarted",
        needs_calm=True,
        members=Members.STATIC,
    ),
)
