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
from fencepost.properties.verdict import Allowed, Violation, Wrong
from fencepost.traces.audit.follow import EFFORTS, Effort, Follower
from fencepost.traces.audit.hidden import hidden_requests
from fencepost.traces.audit.results import Found
from fencepost.traces.audit.settings import Settings
from fencepost.traces.audit.settled import Settled
from fencepost.traces.exchange import Exchange

_SUSPECTS = 12
_MISSING = Effort(6, None, strict=False, part=2)
"""The last that is tried with requests that the log lacks."""


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
    """Exchanges, and the states that they begin in; `rest`: the rest that came before.

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
        rest: Settled | None = None,
    ) -> None:
        self.group_id = group_id
        self.settings = settings
        self.before = before
        self.exchanges = exchanges
        self.parked = parked
        self.rest = rest
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
        if earlier is not None and any(
            self._with_earlier(earlier, effort) for effort in (EFFORTS[1], EFFORTS[3])
        ):
            return True
        hidden = self._hidden(at_end=at_end)
        sents = [sent for sent, _ in hidden]
        for effort in (*EFFORTS[:3], _MISSING) if sents else ():
            if self._follow(self.before, self.exchanges, effort, hidden=sents):
                self.assumed.update(words for _, words in hidden)
                return True
        if sents and self.unknown is not None:  # not all that may be missing was tried
            self.violation, self.unknown = None, f"requests seem to be missing, and {self.unknown}"
        else:
            self.violation, self.unknown = verdict
        return False

    def _with_earlier(self, earlier: Stretch, effort: Effort) -> bool:
        """Whether something explains it, if the stretch before went another way."""
        late = [e for e in self.exchanges if e.arrived_ms < self.from_ms]
        follower = Follower(self.settings, earlier.before, effort=effort, parked=earlier.parked)
        follower.follow([*earlier.exchanges, *late])
        if not follower.open():
            return False
        before = follower.candidates
        if self.rest is not None:
            before = [self.rest.applied(c) for c in before]
        return self._follow(before, [e for e in self.exchanges if e not in late], effort)

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

    def named(self, violation: Violation) -> Found:
        """The line that is wrong: the one but for which the rest is explained, if there is one."""
        at = self._at(violation)
        near = sorted(
            self.exchanges,
            key=lambda e: abs(e.answered_ms - at.answered_ms) + (e.place != at.place),
        )
        for exchange in near[:_SUSPECTS]:
            follower = Follower(self.settings, self.before, effort=EFFORTS[1], parked=self.parked)
            follower.follow(self.exchanges, ignored=frozenset({exchange.place}))
            if follower.open() and (right := follower.right(exchange)):
                return _found(exchange, violation, right)
        return _found(at, violation, violation.allowed)

    def found(self, violation: Violation) -> Found:
        """A violation with its line."""
        return _found(self._at(violation), violation, violation.allowed)

    def _at(self, violation: Violation) -> Exchange:
        return next(
            (e for e in (*self.exchanges, *self.parked) if e.place == violation.request_id),
            self.exchanges[-1],
        )


def _found(exchange: Exchange, violation: Violation, right: Sequence[Allowed]) -> Found:
    allowed = sorted(
        right, key=lambda a: (a.difference.startswith("errorCode"), a.difference, a.rule)
    )
    rule = allowed[0].rule if allowed else next(iter(violation.decided_by), None)
    says = f"wrongly: {allowed[0].difference}" if allowed else "what no run of the model answers"
    wrong, level = violation.wrong.name, violation.level.value
    return Found(exchange, says, level, wrong, rule, tuple(allowed))
