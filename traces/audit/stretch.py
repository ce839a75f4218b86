"""A stretch of one group's log: from one rest to the next, held to the oracle.

Decides how much is tried before a stretch is called unexplained: first the likely order of its
requests; then more orders and a slow broker; then the stretch before once more, since of several
explanations of that one only the likely ones were kept; then requests that the log may lack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.model.history import Sent
from fencepost.model.messages import JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from fencepost.properties.candidate import Candidate
from fencepost.properties.verdict import Violation, Wrong
from fencepost.traces.audit.follow import EFFORTS, Effort, Follower
from fencepost.traces.audit.hidden import hidden_requests
from fencepost.traces.audit.results import Found
from fencepost.traces.audit.settings import Settings
from fencepost.traces.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Told:
    """The generations that a join or sync was given; -1 for none."""

    joined: int
    synced: int

    @staticmethod
    def of(exchange: Exchange) -> Told | None:
        """What an exchange tells; None if it is no join or sync."""
        match exchange.request, exchange.response:
            case _, JoinGroupResponse(error_code=0) as joined:
                return Told(joined.generation_id, -1)
            case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
                return Told(-1, sync.generation_id)
        return None


class Stretch:
    """Exchanges, and the states that they begin in.

    After `quick`, `harder` or `thorough` said yes: `after`, the states that explain them; `notes`
    and `deviations`; `assumed`.  After no: `violation` or `unknown`.
    """

    def __init__(
        self,
        group_id: str,
        settings: Settings,
        before: list[Candidate],
        exchanges: list[Exchange],
        parked: Sequence[Exchange] = (),
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.before = before
        self.exchanges = exchanges
        self.parked = parked
        self.after: list[Candidate] = []
        self.notes: Counter[str] = Counter()
        self.deviations: list[Violation] = []
        self.assumed: Counter[str] = Counter()
        self.violation: Violation | None = None
        self.unknown: str | None = None
        self.was_empty = False

    @property
    def from_ms(self) -> int:
        """When it begins."""
        return min((c.now for c in self.before), default=0)

    def quick(self) -> bool:
        """Whether the likely order of requests explains it."""
        return self._follow(self.before, self.exchanges, EFFORTS[0])

    def harder(self) -> bool:
        """Whether some order of its requests explains it."""
        return any(self._follow(self.before, self.exchanges, effort) for effort in EFFORTS[1:])

    def thorough(self, earlier: Stretch | None, *, at_end: bool) -> bool:
        """Whether anything explains it; `earlier`: the stretch before, if it is still known."""
        if self.harder():
            return True
        verdict = self.violation, self.unknown
        if earlier is not None and earlier.after:
            both = [*earlier.exchanges, *self.exchanges]
            if any(
                self._follow(earlier.before, both, effort, earlier.parked) for effort in EFFORTS[1:]
            ):
                return True
        hidden = self._hidden(at_end=at_end)
        sents = [sent for sent, _ in hidden]
        for effort in EFFORTS if sents else ():
            if self._follow(self.before, self.exchanges, effort, hidden=sents):
                self.assumed.update(words for _, words in hidden)
                return True
        self.violation, self.unknown = verdict
        return False

    def _hidden(self, *, at_end: bool) -> list[tuple[Sent, str]]:
        group = next((g for c in self.before if (g := c.group(self.group_id))), None)
        if group is None:
            return []
        return list(hidden_requests(self.exchanges, group, self.settings.gaps, at_end=at_end))

    def _follow(
        self,
        before: list[Candidate],
        exchanges: Sequence[Exchange],
        effort: Effort,
        parked: Sequence[Exchange] | None = None,
        hidden: Sequence[Sent] = (),
    ) -> bool:
        follower = Follower(
            self.settings, before, effort=effort, parked=self.parked if parked is None else parked
        )
        follower.follow(exchanges, hidden)
        self.was_empty |= follower.search.was_empty
        self.violation, self.unknown = follower.violation, follower.unknown
        if not follower.open():
            return False
        verdict = follower.verdict()
        self.after = follower.candidates
        self.notes.update(note.partition(": ")[2] for note in verdict.notes)
        if verdict.violation is not None and verdict.violation.wrong is Wrong.DEVIATION:
            self.deviations.append(verdict.violation)
        return True

    def found(self, violation: Violation) -> Found:
        """A violation with its line."""
        exchange = next(
            (e for e in (*self.exchanges, *self.parked) if e.place == violation.request_id),
            self.exchanges[-1],
        )
        allowed = sorted(
            violation.allowed,
            key=lambda a: (a.difference.startswith("errorCode"), a.difference, a.rule),
        )
        rule = allowed[0].rule if allowed else next(iter(violation.decided_by), None)
        says = allowed[0].difference if allowed else violation.detail
        return Found(
            exchange,
            f"wrongly: {says}",
            violation.level.value,
            violation.wrong.name,
            rule,
            tuple(allowed),
        )
