"""Remember facts about a group whose state is not known, and find answers that contradict them.

A member id that was fenced or that left is never a member again, since ids are never reused.  A
member is never in an older generation than the last one that it was told.  A lower generation alone
is no contradiction: an Empty group is deleted in time, and the next group begins at 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    SyncGroupRequest,
    SyncGroupResponse,
)
from fencepost.traces.audit.line_kind import commit_error
from fencepost.traces.logs.logged_exchange import LoggedExchange

K = TypeVar("K")
V = TypeVar("V")
_MOST = 10_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact: since when it holds, and the line that shows it, with its connection."""

    at_ms: int
    place: str
    what: str
    connection: str

    def precedes(self, exchange: LoggedExchange, late_ms: int) -> bool:
        """Return whether a request surely arrived after it.

        Its line may have been dated late; but after a line of the same connection it is later.
        """
        spare_ms = 0 if exchange.connection == self.connection else late_ms
        return exchange.arrived_ms - spare_ms > self.at_ms


@dataclass(slots=True)
class Facts:
    """Facts about one group.

    `gone`: member ids that are no members any more, alone or under an instance id; `seen`: members,
    and the generation that they were last seen in; `generation_id`: the last that was told.
    """

    gone: dict[tuple[str, str | None], Fact] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)
    generation_id: int = -1
    told: Fact | None = None

    def contradicted(self, exchange: LoggedExchange, late_ms: int) -> tuple[str, Fact] | None:
        """Return what is wrong with an answer, in a sentence, and the fact that it contradicts.

        `late_ms`: how late its line may have been dated.
        """
        mine = _success(exchange)
        if mine is None:
            return None
        member_id, generation_id = mine
        instance = getattr(exchange.request, "group_instance_id", None)
        fact = self.gone.get((member_id, None)) or self.gone.get((member_id, instance))
        if fact is not None and fact.precedes(exchange, late_ms):
            return f"NONE to the member id {member_id}, which {fact.what} ({fact.place})", fact
        told = self.told
        if (
            told is not None
            and told.precedes(exchange, late_ms)
            and 0 <= generation_id < self.generation_id
            and self.seen.get(member_id) == generation_id
        ):
            return (
                f"NONE in generation {generation_id}, and generation {self.generation_id} "
                f"had been told before ({told.place})"
            ), told
        return None

    def learn(self, exchange: LoggedExchange) -> None:
        """Learn the facts that an answer shows."""
        at_ms, place, of = exchange.answered_ms, exchange.place, exchange.connection
        match exchange.request, exchange.response:
            case LeaveGroupRequest() as leave, LeaveGroupResponse() as left:
                rows = leave.rows(exchange.version)
                codes = [m.error_code for m in left.members] or [left.error_code] * len(rows)
                for row, code in zip(rows, codes, strict=False):
                    if row.member_id and code == 0:
                        self._gone((row.member_id, None), Fact(at_ms, place, "had left", of))
            case request, _:
                fenced = Error.FENCED_INSTANCE_ID.value
                member_id = getattr(request, "member_id", "")
                if member_id and _error(exchange) == fenced:
                    instance = getattr(request, "group_instance_id", None)
                    self._gone((member_id, instance), Fact(at_ms, place, "had been fenced", of))
        mine = _success(exchange)
        if mine is None:
            return
        _remember(self.seen, mine[0], mine[1])
        if mine[1] > self.generation_id:
            self.generation_id = mine[1]
            self.told = Fact(at_ms, place, "was told", of)

    def _gone(self, who: tuple[str, str | None], fact: Fact) -> None:
        _remember(self.gone, who, fact)


def _remember(of: dict[K, V], key: K, value: V) -> None:
    """Keep it, and of too many the oldest not."""
    if len(of) >= _MOST and key not in of:
        del of[next(iter(of))]
    of[key] = value


def _error(exchange: LoggedExchange) -> int | str | None:
    if exchange.api == "OffsetCommit":
        code: int | str | None = commit_error(exchange)
    else:
        code = getattr(exchange.response, "error_code", None)
    return code


def _success(exchange: LoggedExchange) -> tuple[str, int] | None:
    """Return the member id and generation that an answer confirms, if it does."""
    match exchange.request, exchange.response:
        case _, JoinGroupResponse(error_code=0) as joined:
            return joined.member_id, joined.generation_id
        case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
            return sync.member_id, sync.generation_id
        case HeartbeatRequest() as beat, HeartbeatResponse(error_code=0):
            return beat.member_id, beat.generation_id
        case OffsetCommitRequest() as commit, _ if (
            commit.member_id and commit.topics and commit_error(exchange) == 0
        ):
            return commit.member_id, commit.generation_id
    return None
