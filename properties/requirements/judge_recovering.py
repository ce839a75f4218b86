"""State the requirements of the area JOIN on how quietly a member recovers, and judge them.

They are about errors that a member deals with itself: neither its user nor the group's coordinator
need hear of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.model.messages.errors import MOVING
from fencepost.model.messages.errors import Error as Code
from fencepost.model.table.table import Level
from fencepost.properties.requirements.driver_messages import Error
from fencepost.properties.requirements.evidence import (
    CLOCK_MS,
    FIND,
    HEARTBEAT,
    JOIN,
    SYNC,
    Call,
    Evidence,
)
from fencepost.properties.requirements.requirement import HOLDS, Requirement, Verdict, violated

_REJOINED = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.REBALANCE_IN_PROGRESS)
"""Errors that are answered by a JoinGroup to the same coordinator."""

_OWN = {
    **{code.name: code for code in (*_REJOINED, Code.MEMBER_ID_REQUIRED)},
    **{code.name: code for code in Code if code.value in MOVING},
    "NOT_COORDINATOR_FOR_GROUP": Code.NOT_COORDINATOR,
    "GROUP_LOAD_IN_PROGRESS": Code.COORDINATOR_LOAD_IN_PROGRESS,
    "GROUP_COORDINATOR_NOT_AVAILABLE": Code.COORDINATOR_NOT_AVAILABLE,
}
"""Errors that a member deals with itself, by their names, the older ones of libraries too."""

_INFORMATIONAL = {"error_cb", "OnGroupManageError"}
"""Callbacks that are to inform, as their libraries say: librdkafka's, and a hook of franz-go's."""

_USER_CALLS = {"commit", "close", "subscribe", "unsubscribe"}


def _error_hidden(evidence: Evidence) -> Iterator[Verdict]:
    codes = {code.value for code in _OWN.values()}
    for run in evidence.runs:
        calls = [c for c in evidence.of(run, JOIN, SYNC, HEARTBEAT, FIND) if c.error in codes]
        if not calls:
            continue
        yield HOLDS
        for at_ms, error in evidence.errors_of(run, calls[0].end_ms - CLOCK_MS):
            if error.code.upper() in _OWN and _concerns(error) and not run.is_over(at_ms):
                cause = _cause(calls, at_ms, _OWN[error.code.upper()])
                yield violated(
                    f"told {error.code} in {error.where}",
                    f"{run.name} was answered {cause.error_name} in {cause.api}, and its "
                    f"user got {error.code} in {error.where}: {error.message}",
                    at_ms,
                )


def _cause(calls: Sequence[Call], at_ms: float, code: Code) -> Call:
    """Return the last call before an error that was answered its code, or the last call at all."""
    before = [call for call in calls if call.end_ms <= at_ms + CLOCK_MS]
    return next((c for c in reversed(before) if c.is_answered(code)), before[-1])


def _concerns(error: Error) -> bool:
    """Tell if an error is for the user, and not about a call, a commit or for information."""
    is_about_commit = "commit" in error.where.lower()
    return not (is_about_commit or error.where in _INFORMATIONAL | _USER_CALLS)


def _no_lookup(evidence: Evidence) -> Iterator[Verdict]:
    for code in _REJOINED:
        for run, call in evidence.refusals(code, JOIN, SYNC, HEARTBEAT):
            join = evidence.first_after(run, call.end_ms, JOIN)
            if join is None:
                continue
            between = evidence.of(run, since=call.end_ms, until=join.at_ms)
            open_before = [c for c in evidence.of(run) if c.at_ms < call.end_ms <= c.end_ms]
            if any(c.fault or c.error in MOVING for c in (*between, *open_before) if c is not call):
                continue  # something else happened, too
            yield HOLDS
            if any(c.api == FIND for c in between):
                yield violated(
                    f"FindCoordinator after {code.name}",
                    f"{run.name} was answered {code.name} in {call.api}, and looked up the "
                    "coordinator before it joined again",
                    join.at_ms,
                )


REQUIREMENTS = (
    Requirement(
        "CLIENT-JOIN-ERROR-HIDDEN",
        Level.SHOULD,
        "A client hides errors from its user that it handles itself.",
        "Kafka's own consumer, which joins again or looks up the coordinator, and raises nothing",
        provoked="a member gets errors after which it rejoins or retries",
        judged="no error of such a name is raised, returned or handed to a callback, but by a "
        "commit, a close, or a callback that is for information by its documentation",
        dispute="A library may call the error in a callback information.  If its "
        "documentation says so, this doesn't count as a failure.",
        judge=_error_hidden,
        unseen="no such error was answered",
    ),
    Requirement(
        "CLIENT-JOIN-NO-LOOKUP",
        Level.SHOULD,
        "After an error about the member, not about the coordinator, a member rejoins at the "
        "coordinator that it knows.",
        "Kafka's own consumer; Kafka's protocol guide, FindCoordinator",
        provoked="a member is answered UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION or "
        "REBALANCE_IN_PROGRESS",
        judged="no FindCoordinator comes before the next JoinGroup",
        dispute="It costs a request, and harms nobody: not a MUST.  But each rebalance takes "
        "longer by that, for all members.",
        judge=_no_lookup,
        unseen="no such error was answered",
        needs_calm=True,
    ),
)
