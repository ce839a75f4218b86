"""Tell what would have avoided a rebalance of `server.log`, or why that log can't tell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.traces.operations.operator_rows import Cause, Rebalance, Remedy
from fencepost.traces.operations.ownership import PATIENCE_MS
from fencepost.traces.operations.rebalances import BEFORE_LOG, CAUSE_UNSEEN, remedy_of
from fencepost.traces.operations.restarts import Arrival, Departed, RestartMatcher, long_enough_ms

EXPIRED = -1
"""The session timeout of a member that expired: the log doesn't tell it."""
SAME_NAME = "several processes have its client id, and server.log names no hosts"
UNNAMED = "this coordinator doesn't log a dynamic member that joins while a rebalance runs"
GOER_UNSEEN = "the log doesn't show who went"
SENDER_UNSEEN = "the log doesn't show whether the static member or an administrator sent LeaveGroup"
"""Why it may be unknown what would have avoided a rebalance."""


@dataclass(slots=True)
class ServerRound:
    """A rebalance in server.log, from the line that prepares it on.

    `also`: what else happened before it was over; `gone`, `came`: whose going or coming caused it.
    """

    start_ms: int
    place: str
    cause: Cause
    who: str
    before: int | None
    also: set[Cause] = field(default_factory=set)
    gone: Departed | None = None
    came: Arrival | None = None
    static_leave: bool = False
    is_sender_unseen: bool = False
    named: tuple[str, ...] = ()
    """The member ids that its LeaveGroup named, or (old coordinator since 3.2) that it removed."""
    generation: int = 0
    completed_ms: int = 0
    after: int | None = None
    stable_ms: int | None = None


def rebalance_row(
    group: str, round_: ServerRound, comings: RestartMatcher, unnamed: Iterable[int]
) -> Rebalance:
    """Return the row of a rebalance of which no later line says more.

    `unnamed`: when dynamic members may have joined whom the log doesn't name (ms).
    """
    gone, came = round_.gone, round_.came
    if came is None and gone is not None:
        came = comings.back(gone)
    remedy, away_ms = remedy_of(gone, came, is_static_leave=round_.static_leave)
    unclear = ""
    if remedy is Remedy.NOTHING:
        unclear = _unclear(round_, comings, unnamed)
    elif remedy is Remedy.NO_LEAVE and round_.is_sender_unseen:
        unclear = SENDER_UNSEEN
    left = gone is not None and gone.member.session_ms != EXPIRED
    helps = remedy in {Remedy.STATIC, Remedy.LONGER_SESSION} and left
    return Rebalance(
        group,
        round_.generation,
        round_.start_ms,
        round_.completed_ms,
        round_.stable_ms,
        round_.cause,
        round_.who,
        tuple(sorted(round_.also - {round_.cause}, key=lambda cause: cause.value)),
        round_.before,
        round_.after,
        Remedy.UNKNOWN if unclear else remedy,
        away_ms if left else None,
        long_enough_ms(away_ms) if helps and away_ms is not None else None,
        unclear,
        round_.place,
    )


def _unclear(round_: ServerRound, comings: RestartMatcher, unnamed: Iterable[int]) -> str:
    """Return why the log can't tell what would have avoided a rebalance, or ""."""
    gone, came = round_.gone, round_.came
    if round_.cause is Cause.UNKNOWN:
        return CAUSE_UNSEEN
    if gone is None and round_.cause in {Cause.LEAVE, Cause.EXPIRY}:
        return GOER_UNSEEN
    if comings.is_unclear(gone, came):
        return SAME_NAME
    if came is not None and comings.start.is_near(came.at_ms, PATIENCE_MS):
        return BEFORE_LOG
    if gone is None or gone.member.instance_id is not None:
        return ""
    return UNNAMED if any(0 <= ms - gone.at_ms <= PATIENCE_MS for ms in unnamed) else ""
