"""A stretch of one group's log: from one rest to the next, held to the oracle.

Decides how an explanation is looked for, cheap ways first: the likely order of its requests; more
orders and a slow broker; the stretch before once more, since of several explanations of that one
only the likely ones were kept; then requests that the log may lack.  That none is found says
nothing yet: what is wrong is decided by `refutation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fencepost.model.history import Sent
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.verdict import Violation, Wrong
from fencepost.traces.audit.judge.ordered_search import EFFORTS, Effort, Follower
from fencepost.traces.audit.judge.settings import AuditSettings
from fencepost.traces.audit.judge.stable_fast_path import StableGroup
from fencepost.traces.audit.judge.unlogged_requests import Hidden, hidden_requests
from fencepost.traces.logs.exchange import LoggedExchange


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations that a join or sync was given; -1 for none."""

    joined: int
    synced: int

    @staticmethod
    def of(exchange: LoggedExchange) -> Generations | None:
        """What an exchange tells; None if it is no join or sync."""
        match exchange.request, exchange.response:
            case _, JoinGroupResponse(error_code=0) as joined:
                return Generations(joined.generation_id, -1)
            case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
                return Generations(-1, sync.generation_id)
        return None


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """What following some lines came to.

    `after`: the states that explain them, none where `violation` or `unknown` is set; `notes`: what
    is allowed and odd; `deviation`: what even the best explanation leaves wrong; `was_empty`:
    whether the group was Empty on some path.
    """

    after: tuple[Candidate, ...] = ()
    violation: Violation | None = None
    unknown: str | None = None
    notes: tuple[str, ...] = ()
    deviation: Violation | None = None
    was_empty: bool = False

    @property
    def explained(self) -> bool:
        """Whether some state explains the lines."""
        return bool(self.after)


@dataclass(slots=True)
class Segment:
    """Exchanges, and the states that they begin in.

    `parked`: those whose requests wait in these states; `rest`: the rest that came before; `run`:
    the one that explains it; `assumed`: the requests that it takes for made.
    """

    group_id: str
    settings: AuditSettings
    before: Sequence[Candidate]
    exchanges: list[LoggedExchange]
    parked: Sequence[LoggedExchange] = ()
    rest: StableGroup | None = None
    run: SegmentResult = field(default_factory=SegmentResult)
    assumed: Hidden = field(default_factory=Hidden)

    @property
    def from_ms(self) -> int:
        """When it begins."""
        return min((c.now for c in self.before), default=0)

    @property
    def to_ms(self) -> int:
        """When its last line was written."""
        return max(e.answered_ms for e in self.exchanges)

    def quick(self) -> bool:
        """Whether the likely order of requests explains it."""
        return self._explains(self.followed(EFFORTS[0]))

    def harder(self) -> bool:
        """Whether some order of its requests explains it."""
        return any(self._explains(self.followed(effort)) for effort in EFFORTS[1:])

    def thorough(self, earlier: Segment | None, hidden: Hidden) -> bool:
        """Whether anything explains it; `earlier`: the stretch before, if it is still known."""
        if self.harder():
            return True
        if earlier is not None and any(
            self._explains(followed_on([earlier, self], effort, [earlier.assumed, Hidden()]))
            for effort in (EFFORTS[1], EFFORTS[3])
        ):
            return True
        for effort in EFFORTS[:3] if hidden.requests else ():
            if self._explains(self.followed(effort, hidden.requests)):
                self.assumed = hidden
                return True
        return False

    def hidden(self, *, at_end: bool) -> Hidden:
        """The requests that may have been made though the log does not show them."""
        group = next((g for c in self.before if (g := c.group(self.group_id))), None)
        if group is None:
            return Hidden()
        return hidden_requests(self.exchanges, group, self.settings.gaps, at_end=at_end)

    def followed(self, effort: Effort, hidden: Sequence[Sent] = ()) -> SegmentResult:
        """What following it comes to."""
        return _followed(self, self.before, self.exchanges, effort, hidden)

    def _explains(self, run: SegmentResult) -> bool:
        if run.explained:
            self.run = run
        return run.explained


def followed_on(
    chain: Sequence[Segment], effort: Effort, hidden: Sequence[Hidden]
) -> SegmentResult:
    """What following stretches one after the other comes to, all explanations of each kept.

    `hidden`: what the log may lack in each.
    """
    before = chain[0].before
    run = SegmentResult()
    was_empty = False
    for i, stretch in enumerate(chain):
        if i and stretch.rest is not None:
            before = [stretch.rest.applied(c) for c in before]
        begun = i > 0
        lines = [e for e in stretch.exchanges if not (begun and _is_late(e, stretch))]
        last = i + 1 == len(chain)
        if not last:  # what arrived before a rest is followed where it arrived
            lines += [e for e in chain[i + 1].exchanges if _is_late(e, chain[i + 1])]
        run = _followed(stretch, before, lines, effort, hidden[i].requests)
        was_empty |= run.was_empty
        if not run.explained and not last:
            return SegmentResult(unknown="what came before was explained in another way")
        before = run.after
    return SegmentResult(run.after, run.violation, run.unknown, run.notes, run.deviation, was_empty)


def _is_late(exchange: LoggedExchange, stretch: Segment) -> bool:
    return exchange.arrived_ms < stretch.from_ms


def _followed(
    stretch: Segment,
    before: Sequence[Candidate],
    exchanges: Sequence[LoggedExchange],
    effort: Effort,
    hidden: Sequence[Sent],
) -> SegmentResult:
    follower = Follower(stretch.settings, before, effort=effort, parked=stretch.parked)
    follower.follow(exchanges, hidden)
    was_empty = follower.search.was_empty
    if not follower.open():
        return SegmentResult((), follower.violation, follower.unknown, was_empty=was_empty)
    verdict = follower.verdict()
    notes = tuple(note.partition(": ")[2] for note in verdict.notes)
    wrong = verdict.violation
    deviation = wrong if wrong is not None and wrong.wrong is Wrong.DEVIATION else None
    return SegmentResult(tuple(follower.candidates), None, None, notes, deviation, was_empty)
