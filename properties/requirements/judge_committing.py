"""State the requirements of the areas COMMIT and SUBSCRIBE, and judge them.

They are about commits that meet an error, and about members whose user subscribes anew.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.errors import Error as Code
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupResponse
from fencepost.model.messages.subscription import decode_assignment
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import Lost
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    COMMIT,
    HEARTBEAT,
    JOIN,
    SYNC,
    Action,
    Call,
    ConsumerRun,
    Evidence,
)
from fencepost.properties.requirements.requirement import (
    HOLDS,
    Members,
    Requirement,
    Verdict,
    has_partitions,
    unknown,
    violated,
    wait_in_vain,
    with_instance,
    with_member,
)

_ASKS_FOR_JOIN = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.REBALANCE_IN_PROGRESS)
"""Errors of a commit after which a member has to join again."""

_SOON_MS = 3000
"""Time in which a member joins again after its commit was refused, as its user polls all the time.
It is half of the heartbeat interval of the scenarios: so it wasn't a heartbeat that asked."""

_EFFECT_MS = 1000
"""Time in which a loss that an answer causes is seen."""

_COMMIT, _SUBSCRIBE, _UNSUBSCRIBE = "commit", "subscribe", "unsubscribe"


def _of_member(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, COMMIT):
            if call.request is None or call.version < 1:
                continue
            yield HOLDS
            if not call.member_id or call.generation < 0:
                yield violated(
                    "commits as nobody's member",
                    f"{run.name} committed with {with_member(call.member_id)} and generation "
                    f"{call.generation}",
                    call.at_ms,
                )


def _join_after(evidence: Evidence, run: ConsumerRun, commit: Call) -> Call | None:
    """Return the join that ended a commit's generation before the commit was answered, if any."""
    for join in evidence.of(run, JOIN, until=commit.end_ms):
        answer = join.answer
        if join.answered_ms is None or join.answered_ms > commit.at_ms:
            return join
        if isinstance(answer, JoinGroupResponse) and answer.generation_id > commit.generation:
            return join
    return None


def _late(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, COMMIT):
            if call.request is None or not any(map(call.is_answered, _ASKS_FOR_JOIN)):
                continue
            if _join_after(evidence, run, call) is None or run.is_over(call.end_ms):
                continue
            yield HOLDS
            yield from _costs(evidence, run, call)
        if any(_held_commits_back(run, join) for join in evidence.of(run, JOIN)[1:]):
            yield HOLDS
    for run, act in evidence.actions_on_runs(_COMMIT):
        joins = evidence.of(run, JOIN, until=act.began_ms)
        if joins and joins[-1].end_ms > act.began_ms:
            yield HOLDS


def _held_commits_back(run: ConsumerRun, join: Call) -> bool:
    """Tell if commits of the library's own were due while a join waited for its answer."""
    every_ms = run.settings.auto_commit_ms
    return every_ms is not None and join.end_ms - join.at_ms > 2 * every_ms


def _costs(evidence: Evidence, run: ConsumerRun, call: Call) -> Iterator[Verdict]:
    """Yield violations of a member that loses something by a commit of a generation before."""
    until = evidence.later(call.end_ms, _EFFECT_MS)
    sent_before = evidence.of(run, SYNC, HEARTBEAT, JOIN, until=call.end_ms)
    others = [c.end_ms for c in sent_before if c.error not in {0, None} and c.end_ms >= call.at_ms]
    until = min(others, default=until)
    losses = evidence.events_of(run, Lost, since=call.end_ms - CLOCK_MS)
    detail = (
        f"the OffsetCommit of {run.name} was of generation {call.generation}, which its own "
        f"JoinGroup had ended; it was answered {call.error_name}"
    )
    for loss in losses:
        if loss.at_ms <= until:
            yield violated(
                "loses its partitions by a late commit",
                f"{detail}, and its user got the event that its partitions are lost",
                loss.at_ms,
            )
    again = evidence.first_after(run, call.end_ms, JOIN, until=until)
    if again is not None and not again.member_id:
        yield violated(
            "joins as a new member after a late commit",
            f"{detail}, and it joined with an empty member id",
            again.at_ms,
        )


def _refused(evidence: Evidence) -> Iterator[Verdict]:
    for run, act in evidence.actions_on_runs(_COMMIT):
        if act.outcome == "unsupported":
            continue
        calls = evidence.of(run, COMMIT, since=act.began_ms - CLOCK_MS, until=act.ended_ms)
        refused = [c for c in calls if c.error not in {0, None} and c.end_ms <= act.ended_ms]
        if act.is_refused_call or refused:
            yield HOLDS
        if not refused or act.outcome != "ok":
            continue
        last = refused[-1]
        is_done = any(c.went_well and c.end_ms > last.at_ms for c in calls)
        if not is_done and not _is_reported(evidence, run, last):
            yield violated(
                f"commit returns in spite of {last.error_name}",
                f"the user of {run.name} committed, and the call returned as if all was well; "
                f"its OffsetCommit was answered {last.error_name}",
                act.ended_ms,
            )


def _is_reported(evidence: Evidence, run: ConsumerRun, refused: Call) -> bool:
    """Tell if the user was told the error of a commit in another way: not all calls return one."""
    until = evidence.later(refused.end_ms, _EFFECT_MS)
    errors = evidence.errors_of(run, refused.end_ms - CLOCK_MS)
    return any(
        at_ms <= until and refused.error_name in f"{error.code} {error.message}"
        for at_ms, error in errors
    )


def _retried(evidence: Evidence) -> Iterator[Verdict]:
    for run, act in evidence.actions_on_runs(_COMMIT):
        calls = evidence.of(run, COMMIT, since=act.began_ms - CLOCK_MS)
        refused = next((c for c in calls if c.error in MOVING), None)
        if refused is None or refused.at_ms > act.ended_ms:
            continue
        yield HOLDS
        if not act.is_refused_call and act.outcome != "late":
            continue
        ended = "did not return" if act.outcome == "late" else f"failed with {act.outcome}"
        yield violated(
            f"a commit fails after {refused.error_name}",
            f"the user of {run.name} committed, the OffsetCommit was answered "
            f"{refused.error_name}, which passes, and the call {ended}",
            act.ended_ms,
            waited=(act.began_ms, act.ended_ms),
        )


def _refused_commits(evidence: Evidence) -> Iterator[tuple[ConsumerRun, Call]]:
    """Yield the commits of members in a stable generation that were refused."""
    for code in _ASKS_FOR_JOIN:
        for run, call in evidence.refusals(code, COMMIT):
            if call.request is None or not call.member_id or call.generation < 0:
                continue
            if _join_after(evidence, run, call) is None:
                yield run, call


def _comes_back(evidence: Evidence) -> Iterator[Verdict]:
    for run, call in _refused_commits(evidence):
        yield HOLDS
        since, after = call.end_ms, f"after {call.error_name} in {COMMIT}"
        join = evidence.first_after(run, since, JOIN)
        until = evidence.later(since, _SOON_MS)
        if join is None or join.at_ms > until:
            late = "sent no JoinGroup" if join is None else "sent its JoinGroup"
            end = evidence.ended_ms if join is None else join.at_ms
            yield violated(
                f"does not join at once {after}",
                f"{run.name} was answered {call.error_name} in {COMMIT}, and {late} "
                f"{'for' if join is None else 'after'} {(end - since) / 1000:.1f} s",
                since,
                waited=(since, end),
            )
            return
        if join.instance != run.instance and join.request is not None:
            yield violated(
                f"joins as somebody else {after}",
                f"{run.name} joined with {with_instance(join.instance)} {after}",
                join.at_ms,
            )


def _again(evidence: Evidence) -> Iterator[tuple[ConsumerRun, Action]]:
    """Yield the last subscription of each run that had unsubscribed before."""
    for run in evidence.runs:
        acts = [a for a in evidence.actions_of(_SUBSCRIBE, run) if a.outcome == "ok"]
        before = evidence.actions_of(_UNSUBSCRIBE, run)
        if acts and before and before[0].outcome == "ok":
            yield run, acts[-1]


def _subscribes_again(evidence: Evidence) -> Iterator[Verdict]:
    for run, act in _again(evidence):
        since = act.began_ms
        yield has_partitions(evidence, run, since, "after it subscribed again")
        produced = [a.ended_ms for a in evidence.actions_of("produce") if a.began_ms > since]
        if not produced or run.ended_ms is not None:
            continue
        if next(evidence.records_of(run, since), None) is None:
            yield violated(
                "no records after it subscribed again",
                f"{run.name} subscribed again, and its user got no records for "
                f"{(evidence.ended_ms - produced[0]) / 1000:.1f} s after they were appended",
                since,
                waited=(since, evidence.ended_ms),
            )
    refused = [a for a in evidence.actions_of(_SUBSCRIBE) if a.is_refused_call]
    if refused:
        yield unknown(f"subscribe failed: {refused[0].outcome}")


def _not_fenced(evidence: Evidence) -> Iterator[Verdict]:
    for run, _ in _again(evidence):
        rivals = [r for r in evidence.static_runs if r.instance == run.instance and r is not run]
        if run.instance is None or rivals:
            continue
        since = evidence.actions_of(_UNSUBSCRIBE, run)[0].began_ms
        yield HOLDS
        for at_ms, error in evidence.errors_of(run, since):
            if "fenced" in f"{error.code} {error.message}".lower():
                yield violated(
                    "is told that it is fenced, and nobody else has its place",
                    f"the user of {run.name} unsubscribed and subscribed again, and got "
                    f"{error.code} in {error.where}; no other process has its instance id",
                    at_ms,
                )


def _on_revoke(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        if run.settings.commit_on_revoke is not True or run.ended_ms is not None:
            continue
        refused = [c for c in evidence.of(run, COMMIT) if any(map(c.is_answered, _ASKS_FOR_JOIN))]
        for call in refused:
            after = f"after {call.error_name} in a commit of the revoke callback"
            if evidence.first_after(run, call.at_ms, JOIN, SYNC) is None:
                yield violated(
                    f"no JoinGroup {after}",
                    f"{run.name} sent no JoinGroup {after}, for "
                    f"{(evidence.ended_ms - call.end_ms) / 1000:.1f} s",
                    call.end_ms,
                    waited=(call.end_ms, evidence.ended_ms),
                )
            yield has_partitions(evidence, run, call.end_ms, after)


def _grows(evidence: Evidence) -> Iterator[Verdict]:
    for act in evidence.actions_of("add-partitions"):
        since = act.ended_ms
        every = {(t, n) for t, count in evidence.partitions.items() for n in range(count)}
        owned = {p for run in evidence.runs for p in evidence.owned(run)}
        yield HOLDS
        if missing := sorted(every - owned):
            topic, number = missing[0]
            yield violated(
                "a new partition is assigned to nobody",
                f"{topic} got more partitions, and nobody had {topic}-{number} "
                f"{(evidence.ended_ms - since) / 1000:.1f} s later",
                since,
                waited=(since, evidence.ended_ms),
            )


def _is_empty(assignment: bytes) -> bool:
    """Tell if an assignment has no partitions; one that can't be read is none."""
    try:
        return not decode_assignment(assignment)
    except ValueError:
        return False


def _idle_spans(evidence: Evidence) -> Iterator[tuple[ConsumerRun, float, Call | None]]:
    """Yield each time without partitions: the run, its begin, and the JoinGroup that ends it."""
    for run in evidence.runs:
        for call in evidence.syncs_of(run):
            answer = call.answer
            if not isinstance(answer, SyncGroupResponse) or not _is_empty(answer.assignment):
                continue
            if _is_shared_out(evidence, call.generation):
                yield run, call.end_ms, evidence.first_after(run, call.end_ms, JOIN)


def _is_shared_out(evidence: Evidence, generation: int) -> bool:
    """Tell if somebody was assigned a partition in a generation.

    A leader that does not know the partitions yet assigns none, and has to join again for them.
    """
    calls = (call for run in evidence.runs for call in evidence.syncs_of(run))
    return any(call.assigned for call in calls if call.generation == generation)


def _idles(evidence: Evidence) -> Iterator[Verdict]:
    for run, since, join in _idle_spans(evidence):
        yield HOLDS
        until = evidence.ended_ms if join is None else join.at_ms
        until = until if run.ended_ms is None else min(until, run.ended_ms)
        beats = evidence.of(run, HEARTBEAT, since=since, until=until)
        is_called = any(call.error not in {0, None} for call in beats)
        if join is not None and not is_called and until == join.at_ms:
            yield violated(
                "joins again without partitions",
                f"{run.name} was assigned no partitions, and joined again "
                f"{(until - since) / 1000:.1f} s later without a cause",
                join.at_ms,
            )
        times = [since, *(call.at_ms for call in beats), until]
        gap, at_ms = max((b - a, a) for a, b in pairwise(times))
        if gap >= run.settings.session_timeout_ms:
            yield violated(
                "no heartbeats without partitions",
                f"{run.name} was assigned no partitions, and sent no heartbeat for "
                f"{gap / 1000:.1f} s",
                at_ms,
                waited=wait_in_vain(evidence, at_ms, at_ms + gap, run.settings.session_timeout_ms),
            )
        for at_ms, error in evidence.errors_of(run, since):
            if at_ms < until and error.fatal:
                yield violated(
                    "a fatal error without partitions",
                    f"the user of {run.name}, which has no partitions, got {error.code}",
                    at_ms,
                )
        others = [r for r in evidence.runs if r is not run and r.ended_ms is None]
        gone = [r.ended_ms for r in evidence.runs if r.ended_ms is not None and r is not run]
        if gone and not others and run.ended_ms is None:
            yield has_partitions(evidence, run, max(gone), "after the others had gone")


_OWN_CLIENT = "Kafka's own client"
_KIP_447 = "KIP-447, a commit's generation fences zombies"

REQUIREMENTS = (
    Requirement(
        "CLIENT-COMMIT-OF-MEMBER",
        Level.MUST,
        "A consumer commits only as a member: each OffsetCommit has the member id and the "
        "generation that the coordinator gave it.",
        _KIP_447,
        provoked="the user unsubscribes and subscribes again, or an administrator removes the "
        "member, while records are read and committed",
        judged="member id and generation of each OffsetCommit",
        judge=_of_member,
        unseen="nothing was committed",
        dispute="Kafka accepts a commit of nobody's member where the group has no members, so it "
        "is right for tools that take partitions by themselves.  A consumer that subscribes is "
        "none: the commit of one that has lost its place counts then, and goes back behind what "
        "another member committed.",
    ),
    Requirement(
        "CLIENT-COMMIT-LATE",
        Level.MUST,
        "A member whose commit is refused because its own JoinGroup ended the generation keeps "
        "its partitions and its member id.",
        "KIP-429; Kafka's own client, which compares the generation first",
        provoked="a commit is sent while a JoinGroup waits for its answer, so it comes too late",
        judged="no loss and no JoinGroup without a member id follows the answer",
        judge=_late,
        unseen="no commit was sent while a JoinGroup was parked",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-COMMIT-REFUSED",
        Level.MUST,
        "A client reports a refused commit as an error, unless a retry succeeded.",
        "KIP-62, CommitFailedException",
        provoked="an OffsetCommit of the user is answered with an error",
        judged="what the call returns, or the user gets the error within a second, and if a later "
        "OffsetCommit was accepted",
        judge=_refused,
        unseen="no commit of a user was refused",
    ),
    Requirement(
        "CLIENT-COMMIT-RETRIED",
        Level.SHOULD,
        "A client retries a commit after a temporary error until it succeeds.",
        f"{_OWN_CLIENT}, whose commitSync repeats what can be tried again",
        provoked="an OffsetCommit is answered COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR or "
        "COORDINATOR_NOT_AVAILABLE for a moment",
        judged="the result of the call",
        judge=_retried,
        unseen="no commit met such an error",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-COMMIT-COMES-BACK",
        Level.SHOULD,
        "After UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS in OffsetCommit a "
        "member rejoins at once, before its next heartbeat.",
        f"{_OWN_CLIENT}, which asks for a rejoin when such an answer comes",
        provoked="a commit of a member with a long heartbeat interval gets such an error",
        judged="the time until its JoinGroup, and the instance id in it",
        judge=_comes_back,
        unseen="no commit in a stable generation was refused",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-COMMIT-ON-REVOKE",
        Level.SHOULD,
        "A member whose commit in the revocation callback is refused still joins, and gets "
        "partitions.",
        f"{_OWN_CLIENT}, whose documentation recommends such commits",
        provoked="such a commit is answered ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS while "
        "another member joins",
        judged="a JoinGroup follows, and the user has partitions at the end",
        judge=_on_revoke,
        unseen="no commit in that callback was refused",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-SUBSCRIBE-AGAIN",
        Level.SHOULD,
        "A consumer whose user unsubscribes and subscribes again gets partitions and records.",
        f"{_OWN_CLIENT}, unsubscribe and subscribe",
        provoked="the user unsubscribes and subscribes again, at once or later",
        judged="the partitions and the records that the user gets",
        judge=_subscribes_again,
        unseen="no member subscribed again",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-SUBSCRIBE-NOT-FENCED",
        Level.MUST,
        "A static member whose user unsubscribes and subscribes again doesn't fence itself.",
        "KIP-345, Join Group Logic Change: only a taken instance id is an error",
        provoked="the user of a static member unsubscribes and subscribes again",
        judged="no error FENCED_INSTANCE_ID reaches the user",
        judge=_not_fenced,
        unseen="no static member subscribed again",
        needs_calm=True,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-SUBSCRIBE-GROWS",
        Level.SHOULD,
        "After a topic got more partitions, the group reads them once it has refreshed its "
        "metadata.",
        f"{_OWN_CLIENT}, metadata.max.age.ms",
        provoked="a topic gets more partitions, and metadata are requested each second",
        judged="the partitions that users have at the end",
        judge=_grows,
        unseen="no topic got more partitions",
        needs_calm=True,
    ),
    Requirement(
        "CLIENT-SUBSCRIBE-IDLE",
        Level.SHOULD,
        "A member without partitions stays a member: it sends heartbeats, joins rebalances, and "
        "takes over partitions.",
        f"{_OWN_CLIENT}, more consumers than partitions",
        provoked="there are more members than partitions, and the one that has them closes",
        judged="its heartbeats and joins, errors that its user gets, and its partitions at the end",
        judge=_idles,
        unseen="no member was without partitions",
        needs_calm=True,
    ),
)
