"""Explain a segment of a group's log: the lines between two moments at which no request waits.

Cheap attempts come first: that nothing happened; the most likely order of the requests; more orders
and a slow broker; the previous segment again, because only its likely explanations were kept; then
requests that may be missing from the log.  A segment without explanation is not a violation yet:
`refutation` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fencepost.model.classic.machine import Machine
from fencepost.model.history.events import Sent
from fencepost.model.messages.messages import JoinGroupResponse, SyncGroupRequest, SyncGroupResponse
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.verdict import Violation, Wrong
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.ordered_search import EFFORTS, Effort, SegmentOracle
from fencepost.traces.audit.stable_fast_path import StableGroup, loosened, settled
from fencepost.traces.audit.unlogged_requests import UnloggedRequests, find_unlogged_requests
from fencepost.traces.logs.logged_exchange import LoggedExchange

Attempt = tuple[int, bool, frozenset[str]]
"""The number of an effort, whether the segment before is followed, too, and with which requests."""
_CALM = frozenset({"Heartbeat", "OffsetCommit", "DescribeGroups"})
"""What may be asked and change nothing of a stable group."""


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations that a join or sync was given; -1 for none."""

    joined: int
    synced: int

    @staticmethod
    def of(exchange: LoggedExchange) -> Generations | None:
        """Return the generations of a join or sync; None for other exchanges."""
        match exchange.request, exchange.response:
            case _, JoinGroupResponse(error_code=0) as joined:
                return Generations(joined.generation_id, -1)
            case SyncGroupRequest() as sync, SyncGroupResponse(error_code=0):
                return Generations(-1, sync.generation_id)
        return None


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The result of following some lines with the oracle.

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
    """A segment: exchanges, and the possible states at its beginning.

    `parked`: those whose requests wait in these states; `rest`: the rest that came before; `run`:
    the one that explains it; `assumed`: the requests that it takes for made; `endless`: what had to
    be given up when it had fewer lines, which isn't tried again.
    """

    group_id: str
    settings: AuditSettings
    before: Sequence[Candidate]
    exchanges: list[LoggedExchange]
    parked: Sequence[LoggedExchange] = ()
    rest: StableGroup | None = None
    run: SegmentResult = field(default_factory=SegmentResult)
    assumed: UnloggedRequests = field(default_factory=UnloggedRequests)
    endless: set[Attempt] = field(default_factory=set)

    @property
    def from_ms(self) -> int:
        """When it begins."""
        return min((c.now for c in self.before), default=0)

    @property
    def to_ms(self) -> int:
        """When its last line was written."""
        return max(e.answered_ms for e in self.exchanges)

    def at_rest(self) -> bool:
        """Explain it without the oracle, if no line changes a stable group; return whether."""
        rest = None
        if all(exchange.api in _CALM for exchange in self.exchanges):
            rest = settled(self.group_id, self.before)
        if rest is None:
            return False
        machine = Machine(self.settings.revision, self.settings.machine_config())
        groups = [g for c in self.before if (g := c.group(self.group_id)) is not None]
        for exchange in self.exchanges:
            if not (rest.takes(exchange) or rest.describes(exchange, machine, groups)):
                return False
        return self._explains(SegmentResult(tuple(rest.applied(c) for c in self.before)))

    def quick(self) -> bool:
        """Try the most likely order of requests; return whether it explains the segment."""
        return self._explains(self.followed(EFFORTS[0]))

    def harder(self) -> bool:
        """Try more orders of requests; return whether one explains the segment."""
        return any(self._tried(number) for number in range(1, len(EFFORTS)))

    def thorough(self, earlier: Segment | None, hidden: UnloggedRequests) -> bool:
        """Try everything; return whether it is explained.  `earlier`: the segment before."""
        if self.harder():
            return True
        if earlier is not None and any(self._tried(number, earlier) for number in (1, 3)):
            return True
        if hidden.requests and any(self._tried(n, None, hidden.requests) for n in range(3)):
            self.assumed = hidden
            return True
        return False

    def _tried(
        self, number: int, earlier: Segment | None = None, hidden: Sequence[Sent] = ()
    ) -> bool:
        """Try an effort, on this segment or also on the one before; return whether it explains."""
        lacks = frozenset(sent.request.id for sent in hidden)
        attempt = (number, earlier is not None, lacks)
        if attempt in self.endless:
            return False
        if earlier is None:
            run = self.followed(EFFORTS[number], hidden)
        else:
            chain = [earlier, self]
            run = followed_on(chain, EFFORTS[number], [earlier.assumed, UnloggedRequests()])
        if run.unknown is not None:
            self.endless.add(attempt)
        return self._explains(run)

    def hidden(self, *, at_end: bool) -> UnloggedRequests:
        """Return the requests that may have been made though the log does not show them."""
        group = next((g for c in self.before if (g := c.group(self.group_id))), None)
        if group is None:
            return UnloggedRequests()
        return find_unlogged_requests(self.exchanges, group, self.settings.gaps, at_end=at_end)

    def followed(self, effort: Effort, hidden: Sequence[Sent] = ()) -> SegmentResult:
        """Follow the segment with some effort."""
        return _followed(self, self.before, self.exchanges, effort, hidden)

    def _explains(self, run: SegmentResult) -> bool:
        if run.explained:
            self.run = run
        return run.explained


def joined_up(
    chain: Sequence[Segment], hidden: Sequence[UnloggedRequests], late_ms: int
) -> tuple[list[Segment], list[UnloggedRequests]]:
    """Return a chain whose last segment reaches back for as long as a line may be dated late.

    A line that is dated after a rest may be about what was before it.
    """
    since_ms = chain[-1].from_ms - late_ms
    at = next(i for i, segment in enumerate(chain) if segment.to_ms >= since_ms)
    first, *others = chain[at:]
    before = list(first.before)
    for rest in (segment.rest for segment in others if segment.rest is not None):
        before = [rest.prolonged(candidate) for candidate in before]
    exchanges = [exchange for segment in chain[at:] for exchange in segment.exchanges]
    joined = replace(first, before=before, exchanges=exchanges)
    requests = tuple(sent for each in hidden[at:] for sent in each.requests)
    lacks = UnloggedRequests(requests, cut=any(each.cut for each in hidden[at:]))
    return [*chain[:at], joined], [*hidden[:at], lacks]


def followed_on(
    chain: Sequence[Segment], effort: Effort, hidden: Sequence[UnloggedRequests]
) -> SegmentResult:
    """Follow segments one after the other, keeping all explanations of each.

    `hidden`: what the log may lack in each.
    """
    late_ms = chain[0].settings.lag_ms if effort.late else 0
    before: Sequence[Candidate] = [loosened(c, late_ms) for c in chain[0].before]
    run = SegmentResult()
    was_empty = False
    for i, segment in enumerate(chain):
        if i and segment.rest is not None:
            before = [loosened(segment.rest.applied(c), late_ms) for c in before]
        begun = i > 0
        lines = [e for e in segment.exchanges if not (begun and _is_late(e, segment))]
        last = i + 1 == len(chain)
        if not last:  # what arrived before a rest is followed where it arrived
            lines += [e for e in chain[i + 1].exchanges if _is_late(e, chain[i + 1])]
        run = _followed(segment, before, lines, effort, hidden[i].requests)
        was_empty |= run.was_empty
        if not run.explained and not last:
            return SegmentResult(unknown="the lines before have another explanation")
        before = run.after
    return SegmentResult(run.after, run.violation, run.unknown, run.notes, run.deviation, was_empty)


def _is_late(exchange: LoggedExchange, segment: Segment) -> bool:
    return exchange.arrived_ms < segment.from_ms


def _followed(
    segment: Segment,
    before: Sequence[Candidate],
    exchanges: Sequence[LoggedExchange],
    effort: Effort,
    hidden: Sequence[Sent],
) -> SegmentResult:
    follower = SegmentOracle(segment.settings, before, effort=effort, parked=segment.parked)
    follower.follow(exchanges, hidden)
    was_empty = follower.search.was_empty
    if not follower.open():
        return SegmentResult((), follower.violation, follower.unknown, was_empty=was_empty)
    verdict = follower.verdict()
    notes = tuple(note.partition(": ")[2] for note in verdict.notes)
    wrong = verdict.violation
    deviation = wrong if wrong is not None and wrong.wrong is Wrong.DEVIATION else None
    return SegmentResult(tuple(follower.candidates), None, None, notes, deviation, was_empty)
