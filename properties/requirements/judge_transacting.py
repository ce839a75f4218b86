"""State the requirements of the area TRANSACTION, and judge them.

They are about offsets that a user sends to a transaction, with the consumer's group metadata.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.model.messages.errors import Error as Code
from fencepost.model.table.table import Level
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    END_TXN,
    TXN_COMMIT,
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
    unknown,
    unsupported,
    violated,
    with_instance,
    with_member,
)

_ACT = "commit-in-transaction"
_MEMBERS_SINCE = 3
"""The first version of TxnOffsetCommit that names the member."""

_KIP_447 = "KIP-447, Fence Zombie Requests"
_NOT_A_MEMBER = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION)


def _names_member(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        known = evidence.member_ids(run)
        for call in evidence.of(run, TXN_COMMIT):
            if call.request is None or call.version < _MEMBERS_SINCE:
                continue
            yield HOLDS
            text = (
                f"{run.name} sent offsets to a transaction (TxnOffsetCommit v{call.version}) with "
                f"{with_member(call.member_id)}, generation {call.generation} and "
                f"{with_instance(call.instance)}"
            )
            if call.member_id not in known or call.generation < 0:
                yield violated("TxnOffsetCommit names no member", text, call.at_ms)
            elif call.instance != run.instance:
                its = with_instance(run.instance)
                yield violated(
                    "TxnOffsetCommit without the instance id",
                    f"{text}; its user set {its}",
                    call.at_ms,
                )


def _no_member(evidence: Evidence) -> Verdict:
    """Make the verdict where no TxnOffsetCommit could name a member."""
    for run in evidence.runs:
        if calls := evidence.of(run, TXN_COMMIT):
            return unsupported(f"{TXN_COMMIT} v{calls[-1].version} has no member id")
    return unknown("no member sent offsets to a transaction")


def _newest(evidence: Evidence) -> Iterator[Verdict]:
    for run in evidence.runs:
        for call in evidence.of(run, TXN_COMMIT):
            versions = evidence.advertised(TXN_COMMIT, call.at_ms)
            if versions is None or versions[1] < _MEMBERS_SINCE:
                continue
            yield HOLDS
            if call.version < _MEMBERS_SINCE:
                yield violated(
                    "TxnOffsetCommit of a version without members",
                    f"{run.name} sent TxnOffsetCommit v{call.version}, which names no member; the "
                    f"broker has it up to v{versions[1]}",
                    call.at_ms,
                )


def _refusals(
    evidence: Evidence, *codes: Code
) -> Iterator[tuple[ConsumerRun, Action, Call, Call | None]]:
    """Yield each transaction whose offsets were refused so, with the commit that followed, if any.

    Offsets of which later ones were accepted are no refusal: the client tried again.
    """
    for run, act in evidence.actions_on_runs(_ACT):
        if act.outcome == "unsupported":
            continue
        since, until = act.began_ms - CLOCK_MS, act.ended_ms
        calls = evidence.of(run, TXN_COMMIT, since=since, until=until)
        if not calls or not any(map(calls[-1].is_answered, codes)):
            continue
        ends = evidence.of(run, END_TXN, since=calls[-1].end_ms)
        yield run, act, calls[-1], next((end for end in ends if end.commits), None)


def _is_committed(run: ConsumerRun, refused: Call, end: Call) -> Verdict:
    name = refused.error_name
    return violated(
        f"the transaction is committed after {name}",
        f"the offsets that {run.name} sent to its transaction were answered {name}, and an EndTxn "
        "committed it",
        end.at_ms,
    )


def _fenced(evidence: Evidence) -> Iterator[Verdict]:
    code = Code.FENCED_INSTANCE_ID
    for run, act, refused, end in _refusals(evidence, code):
        yield HOLDS
        errors = [error for _, error in evidence.errors_of(run, since=act.began_ms)]
        if not any(code.name in f"{e.code} {e.message}".upper() for e in errors):
            yield violated(
                f"{code.name} in {TXN_COMMIT} is not told",
                f"the offsets that {run.name} sent to its transaction were answered {code.name}; "
                f"the call ended with {act.outcome}, and its user got no such error",
                refused.end_ms,
            )
        if end is not None:
            yield _is_committed(run, refused, end)


def _none_refused(evidence: Evidence) -> Verdict:
    calls = [call for run in evidence.runs for call in evidence.of(run, TXN_COMMIT)]
    if any(call.version >= _MEMBERS_SINCE for call in calls):
        return unknown("no offsets of a transaction were refused so")
    return _no_member(evidence)


def _refused(evidence: Evidence) -> Iterator[Verdict]:
    for run, act, refused, end in _refusals(evidence, *_NOT_A_MEMBER):
        yield HOLDS
        name = refused.error_name
        if act.outcome == "ok":
            yield violated(
                f"{name} in {TXN_COMMIT} is not told",
                f"the offsets that {run.name} sent to its transaction were answered {name}, and "
                "the call returned as if all was well",
                refused.end_ms,
            )
        if end is not None:
            yield _is_committed(run, refused, end)


REQUIREMENTS = (
    Requirement(
        "CLIENT-TRANSACTION-MEMBER",
        Level.MUST,
        "A producer sends offsets to a transaction with the member id and the generation of the "
        "consumer, and with the instance id of a static member.",
        _KIP_447,
        provoked="a user sends its positions to a transaction of a producer, and commits it",
        judged="member id, generation and instance id of each TxnOffsetCommit: without them the "
        "coordinator takes the offsets of a process that was replaced",
        judge=_names_member,
        unseen=_no_member,
    ),
    Requirement(
        "CLIENT-TRANSACTION-FENCED",
        Level.MUST,
        "After FENCED_INSTANCE_ID in TxnOffsetCommit a client reports an error, and doesn't "
        "commit the transaction.",
        f"{_KIP_447}; KIP-345, Join Group Logic Change",
        provoked="another process takes the instance id; then the user of the first one sends its "
        "positions to a transaction",
        judged="the error of the call or another that the user gets, and that no EndTxn commits",
        judge=_fenced,
        unseen=_none_refused,
        members=Members.STATIC,
    ),
    Requirement(
        "CLIENT-TRANSACTION-REFUSED",
        Level.MUST,
        "After UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION in TxnOffsetCommit a client reports an "
        "error, and doesn't commit the transaction.",
        _KIP_447,
        provoked="a member is removed, or its TxnOffsetCommit is of a generation that is over, "
        "when its user sends its positions to a transaction",
        judged="that the call fails, and that no EndTxn commits: else the produced records count, "
        "and their sources are read again",
        judge=_refused,
        unseen=_none_refused,
    ),
    Requirement(
        "CLIENT-TRANSACTION-NEWEST",
        Level.SHOULD,
        "A client sends offsets to transactions with TxnOffsetCommit 3 or newer, if the broker "
        "has it.",
        _KIP_447,
        provoked="a user sends its positions to a transaction of a producer",
        judged="the versions of TxnOffsetCommit",
        judge=_newest,
        unseen="no member sent offsets to a transaction",
        dispute="A producer for each partition that is read needs no member id, as its epoch "
        "fences: not a MUST.  But a client can't know that its user has as many producers.",
    ),
)
