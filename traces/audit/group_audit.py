"""Judge one group of a log, from its first line to its last.

While the state is unknown, each answer is checked against the answers of all states, and against
the facts so far.  A rebalance that completes makes the state known.  Then lines are collected until
no request waits; they are put in order and passed to the oracle.  They can't be passed one by one,
because the line of a join that waited is written minutes after the join took effect.

A segment that nothing explains is continued for as long as a line may be dated late.  Then it goes
to `refutation`, with the segments before it, as far back as one session timeout.  After a violation
or a doubt the state is unknown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.model.classic.vocabulary import GroupState
from fencepost.properties.oracle.candidate import Candidate
from fencepost.traces.audit.audit_results import AuditViolation, GroupResult, UnjudgedSegment
from fencepost.traces.audit.audit_settings import AuditSettings, LineKind, judged, kind
from fencepost.traces.audit.possible_errors import Facts, PossibleAnswers
from fencepost.traces.audit.refutation import (
    DeviatingExplanation,
    StateLost,
    Surroundings,
    Undecided,
    by_fact,
    by_search,
    by_table,
)
from fencepost.traces.audit.segment import Attempt, Generations, Segment, SegmentResult
from fencepost.traces.audit.stable_fast_path import StableGroup, find_anchor, settled
from fencepost.traces.logs.request_log import LoggedExchange

IDLE_MS = 30 * 60_000
"""A group that was silent for longer, than which no session lasts, is not known any more."""
_MOST = 4_000
_LONGEST_CHAIN = 1_000
_BACK_MS = 1_000


Noted = Callable[[AuditViolation, Segment | None], None]


class GroupAudit:
    """The audit of one group.  `result`: its result so far."""

    def __init__(
        self,
        group_id: str,
        settings: AuditSettings,
        legal: PossibleAnswers,
        around: Surroundings,
        noted: Noted,
    ) -> None:
        self.result = GroupResult(group_id)
        self.group_id = group_id
        self._settings = settings
        self._legal = legal
        self._around = around
        self._noted = noted
        self._facts = Facts()
        self._candidates: list[Candidate] | None = None
        self._settled: StableGroup | None = None
        self._rest: StableGroup | None = None
        self._batch: list[LoggedExchange] = []
        self._chain: list[Segment] = []
        self._whole = False
        self._joined = -1
        self._synced = -1
        self._quiet_ms = 0
        self._doubt_ms = 0
        """End of the time in which a line that is dated late may still explain the segment."""
        self._endless: set[Attempt] = set()
        self._broker = ""

    def take(self, exchange: LoggedExchange) -> None:
        """Take one line of this group, in the order of the answers."""
        result = self.result
        if not result.lines:
            result.first_ms = exchange.at_ms
        elif result.last_ms < exchange.answered_ms - IDLE_MS:
            self.finish()
        elif result.last_ms > exchange.answered_ms + _BACK_MS:
            self._moved("the clock of the log went back")
        result.lines += 1
        result.last_ms = exchange.answered_ms
        rest = self._settled
        if rest is not None and exchange.broker == self._broker and rest.takes(exchange):
            return
        self._take(exchange)

    def finish(self) -> GroupResult:
        """End the group, as its log ends or it was silent for long; keep the result."""
        self._close(at_end=True)
        self._forget()
        return self.result

    @property
    def held(self) -> int:
        """The number of exchanges that are held back at the moment."""
        return len(self._batch) + sum(len(s.exchanges) for s in self._chain)

    # A line that is not taken the short way.

    def _take(self, exchange: LoggedExchange) -> None:
        if exchange.broker != self._broker:
            if self._broker:
                self._moved(f"{exchange.broker} answers instead of {self._broker}")
            self._broker = exchange.broker
            self.result.brokers.add(exchange.broker)
        if (violation := by_table(self._legal, exchange)) is not None:
            self._wrong(violation, None)
            return
        match kind(exchange, self._settings):
            case LineKind.NEUTRAL:
                return
            case LineKind.MOVED:
                self._moved("the coordinator was not there")
                return
            case LineKind.JUDGED:
                self._judge(judged(exchange))

    def _judge(self, exchange: LoggedExchange) -> None:
        if self._candidates is None:
            match by_fact(self._facts, exchange, self._around, self._settings.lag_ms):
                case AuditViolation() as violation:
                    self._wrong(violation, None)
                    return
                case StateLost():
                    self._facts = Facts()
            self._facts.learn(exchange)
        elif not self._batch:
            self._begin()
        confirmed = _confirmed(exchange)
        if confirmed is None:
            self._quiet_ms = max(self._quiet_ms, exchange.answered_ms)
            if (generations := Generations.of(exchange)) is not None:
                self._joined = max(self._joined, generations.joined)
                self._synced = max(self._synced, generations.synced)
        if self._candidates is not None or (confirmed is None and exchange.api != "OffsetCommit"):
            self._batch.append(exchange)
        if self._is_at_rest(exchange, confirmed):
            self._close()
        elif len(self._batch) > _MOST:
            self._overflow()

    def _begin(self) -> None:
        """Begin a segment: apply the heartbeats before it to the state."""
        if self._settled is not None and self._candidates is not None:
            self._candidates = [self._settled.applied(c) for c in self._candidates]
            self._rest = self._settled
        self._put_down()

    def _put_down(self) -> None:
        if self._settled is not None:
            self.result.judged += self._settled.taken
            self._settled = None

    def _is_at_rest(self, exchange: LoggedExchange, confirmed: int | None) -> bool:
        """Return True if this line shows that no request waits any more.

        A heartbeat answered NONE in a generation whose syncs are answered: a request for a
        rebalance that arrived before it has its answer, and so its line.
        """
        if confirmed is None or exchange.at_ms < max(self._quiet_ms, self._doubt_ms):
            return False
        if self._candidates is None and not (self._joined == self._synced == confirmed):
            return False
        return confirmed == self._synced and self._joined <= self._synced

    def _overflow(self) -> None:
        if self._candidates is None:
            self._batch = self._batch[_MOST // 2 :]
        else:
            self._lose("too many lines without a moment at which no request waits", self._batch)

    # The end of a segment.

    def _close(self, *, at_end: bool = False) -> None:
        if not self._batch:
            return
        if self._candidates is None:
            if not at_end:
                self._anchor()
            return
        batch, self._batch = self._batch, []
        segment = Segment(
            self.group_id,
            self._settings,
            self._candidates,
            batch,
            rest=self._rest,
            endless=self._endless,
        )
        explained = (
            segment.at_rest()
            or segment.quick()
            or segment.thorough(
                self._chain[-1] if self._chain else None, segment.hidden(at_end=at_end)
            )
        )
        if not explained and not at_end and not self._doubt_ms:
            self._batch = batch
            self._doubt_ms = batch[-1].answered_ms + self._settings.lag_ms
            return
        self._doubt_ms = 0
        self._endless = set()
        if not explained or segment.run.deviation is not None:
            self._weigh(segment, at_end=at_end)
            return
        self._explained(segment)

    def _weigh(self, segment: Segment, *, at_end: bool) -> None:
        """Decide about a segment that is not explained, or not without a deviation."""
        chain = [*self._chain, segment]
        match by_search(chain, self._around, whole=self._whole, at_end=at_end):
            case SegmentResult() as run:
                segment.run = run
                self._explained(segment)
            case DeviatingExplanation(run, violation):
                self.result.add_violation(violation)
                self._noted(violation, segment)
                segment.run = run
                self._explained(segment)
            case AuditViolation() as violation:
                self._wrong(violation, segment)
            case Undecided(reason):
                if segment.run.explained:
                    self._explained(segment)
                else:
                    self._lose(reason, segment.exchanges)
            case StateLost(reason):
                self._moved(reason)

    def _anchor(self) -> None:
        batch, self._batch = self._batch, []
        anchor = find_anchor(self.group_id, batch, self._joined, self._settings)
        if anchor is None:
            return
        segment = Segment(
            self.group_id, self._settings, [anchor.start], list(anchor.rest), anchor.parked
        )
        if segment.quick() or segment.harder():
            self.result.anchors += 1
            self._explained(segment)
        elif not anchor.vague and not self.result.refused:
            self.result.refused = batch[-1].place

    def _explained(self, segment: Segment) -> None:
        self.result.judged += len(segment.exchanges)
        self.result.notes.update(segment.run.notes)
        self.result.assumed.update(segment.assumed.words)
        candidates = list(segment.run.after)
        groups = [c.group(self.group_id) for c in candidates]
        if all(g is None or g.state is GroupState.EMPTY for g in groups):
            self._forget()
            return
        if not self._chain:
            self._whole = True
        self._chain.append(segment)
        self._shorten()
        self._candidates = candidates
        self._settled = settled(self.group_id, candidates)
        self._rest = None
        self._joined = self._synced = max(
            (g.generation_id for g in groups if g is not None), default=-1
        )

    def _shorten(self) -> None:
        """Keep as many segments as may still matter.

        Whoever is a member has been heard within its session, so a rest that is older than that
        leaves nothing open.
        """
        chain = self._chain
        longest = max(
            (
                member.session_timeout_ms
                for candidate in chain[-1].before
                if (group := candidate.group(self.group_id)) is not None
                for member in group.members
            ),
            default=0,
        )
        since_ms = chain[-1].from_ms - longest
        while len(chain) > 1 and chain[1].from_ms < since_ms:
            chain.pop(0)
            self._whole = True
        while len(chain) > 1 and sum(len(s.exchanges) for s in chain) > _LONGEST_CHAIN:
            chain.pop(0)
            self._whole = False

    # Results.

    def _wrong(self, violation: AuditViolation, segment: Segment | None) -> None:
        self.result.add_violation(violation)
        self._noted(violation, segment)
        self._forget()

    def _lose(self, reason: str, batch: Sequence[LoggedExchange]) -> None:
        self.result.add_unjudged(
            UnjudgedSegment(
                reason=reason, first=batch[0].place, last=batch[-1].place, lines=len(batch)
            )
        )
        self._forget()

    def _moved(self, why: str) -> None:
        self.result.notes[f"the state became unknown: {why}"] += 1
        self._forget()

    def _forget(self) -> None:
        """Forget the state: it is unknown from here on."""
        self._put_down()
        self._candidates = None
        self._chain = []
        self._batch = []
        self._facts = Facts()
        self._doubt_ms = 0
        self._endless = set()
        self._joined = self._synced = -1


def _confirmed(exchange: LoggedExchange) -> int | None:
    """Return the generation that a heartbeat answered NONE confirms.

    A commit confirms nothing: it is accepted during a rebalance, too.
    """
    if exchange.api != "Heartbeat" or exchange.answer_body.get("errorCode") != 0:
        return None
    generation_id: int = exchange.request_body["generationId"]
    return generation_id
