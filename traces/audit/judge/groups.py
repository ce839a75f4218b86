"""One group of a log, from its first line to its last.

Decides when a line is held to what.  While the state is not known, answers are held to what some
state gives and to the facts so far; a rebalance that completes makes the state known; then lines
are gathered until the group is at rest again, put in order, and given to the oracle.  They can't be
given one by one: the line of a join that waited comes minutes after the join had its effect.

A stretch that nothing explains so far is put to `refutation`, with those before it as far back as
the last session.  After a violation, or a doubt, the state is unknown again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.oracle.candidate import Candidate
from fencepost.traces.audit.judge.anchor import find_anchor
from fencepost.traces.audit.judge.facts import Facts
from fencepost.traces.audit.judge.line_kind import LineKind, judged, kind
from fencepost.traces.audit.judge.possible_errors import Legal
from fencepost.traces.audit.judge.refutation import (
    Doubt,
    Flawed,
    Moved,
    Surroundings,
    by_fact,
    by_search,
    by_table,
)
from fencepost.traces.audit.judge.results import AuditViolation, GroupResult, Unjudged
from fencepost.traces.audit.judge.segment import Generations, Segment, SegmentResult
from fencepost.traces.audit.judge.settings import AuditSettings
from fencepost.traces.audit.judge.stable_fast_path import StableGroup, settled
from fencepost.traces.logs.exchange import LoggedExchange

IDLE_MS = 30 * 60_000
"""A group that was silent for longer, than which no session lasts, is not known any more."""
_MOST = 4_000
_LONGEST_CHAIN = 1_000
_BACK_MS = 1_000


Noted = Callable[[AuditViolation, Segment | None], None]


class GroupAudit:
    """The audit of one group.  `result`: what can be said so far."""

    def __init__(
        self,
        group_id: str,
        settings: AuditSettings,
        legal: Legal,
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
        self._broker = ""

    def take(self, exchange: LoggedExchange) -> None:
        """One line of this group, in order of answers."""
        result = self.result
        if not result.lines:
            result.first_ms = exchange.arrived_ms
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
        """The log ends, or the group has been silent for long: nothing is kept but the result."""
        self._close(at_end=True)
        self._forget()
        return self.result

    @property
    def held(self) -> int:
        """How many exchanges are held back at the moment."""
        return len(self._batch) + sum(len(s.exchanges) for s in self._chain)

    # A line that is not taken the short way.

    def _take(self, exchange: LoggedExchange) -> None:
        if exchange.broker != self._broker:
            if self._broker:
                self._moved(f"{exchange.broker} answers instead of {self._broker}")
            self._broker = exchange.broker
            self.result.brokers.add(exchange.broker)
        if (found := by_table(self._legal, exchange)) is not None:
            self._wrong(found, None)
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
            match by_fact(self._facts, exchange, self._around):
                case AuditViolation() as found:
                    self._wrong(found, None)
                    return
                case Moved():
                    self._facts = Facts()
            self._facts.learn(exchange)
        elif not self._batch:
            self._begin()
        confirmed = _confirmed(exchange)
        if confirmed is None:
            self._quiet_ms = max(self._quiet_ms, exchange.answered_ms)
            if (told := Generations.of(exchange)) is not None:
                self._joined = max(self._joined, told.joined)
                self._synced = max(self._synced, told.synced)
        if self._candidates is not None or (confirmed is None and exchange.api != "OffsetCommit"):
            self._batch.append(exchange)
        if self._is_at_rest(exchange, confirmed):
            self._close()
        elif len(self._batch) > _MOST:
            self._overflow()

    def _begin(self) -> None:
        """The first line of a stretch: the oracle is told of the heartbeats before."""
        if self._settled is not None and self._candidates is not None:
            self._candidates = [self._settled.applied(c) for c in self._candidates]
            self._rest = self._settled
        self._put_down()

    def _put_down(self) -> None:
        if self._settled is not None:
            self.result.judged += self._settled.taken
            self._settled = None

    def _is_at_rest(self, exchange: LoggedExchange, confirmed: int | None) -> bool:
        """Whether this line shows that nothing waits any more.

        A heartbeat answered NONE in a generation whose syncs are answered: whoever had asked for
        a rebalance before it arrived has his answer, and so his line.
        """
        if confirmed is None or exchange.arrived_ms < self._quiet_ms:
            return False
        if self._candidates is None and not (self._joined == self._synced == confirmed):
            return False
        return confirmed == self._synced and self._joined <= self._synced

    def _overflow(self) -> None:
        if self._candidates is None:
            self._batch = self._batch[_MOST // 2 :]
        else:
            self._lose("the group does not come to rest", self._batch)

    # The end of a stretch.

    def _close(self, *, at_end: bool = False) -> None:
        if not self._batch:
            return
        if self._candidates is None:
            if not at_end:
                self._anchor()
            return
        batch, self._batch = self._batch, []
        stretch = Segment(self.group_id, self._settings, self._candidates, batch, rest=self._rest)
        if not stretch.quick() and not stretch.thorough(
            self._chain[-1] if self._chain else None, stretch.hidden(at_end=at_end)
        ):
            self._weigh(stretch, at_end=at_end)
            return
        if stretch.run.deviation is not None:
            self._weigh(stretch, at_end=at_end)
            return
        self._explained(stretch)

    def _weigh(self, stretch: Segment, *, at_end: bool) -> None:
        """A stretch that is not explained, or not without fault."""
        chain = [*self._chain, stretch]
        match by_search(chain, self._around, whole=self._whole, at_end=at_end):
            case SegmentResult() as run:
                stretch.run = run
                self._explained(stretch)
            case Flawed(run, found):
                self.result.add_found(found)
                self._noted(found, stretch)
                stretch.run = run
                self._explained(stretch)
            case AuditViolation() as found:
                self._wrong(found, stretch)
            case Doubt(reason):
                if stretch.run.explained:
                    self._explained(stretch)
                else:
                    self._lose(reason, stretch.exchanges)
            case Moved(reason):
                self._moved(reason)

    def _anchor(self) -> None:
        batch, self._batch = self._batch, []
        anchor = find_anchor(self.group_id, batch, self._joined, self._settings)
        if anchor is None:
            return
        stretch = Segment(
            self.group_id, self._settings, [anchor.start], list(anchor.rest), anchor.parked
        )
        if stretch.quick() or stretch.harder():
            self.result.anchors += 1
            self._explained(stretch)
        elif not anchor.vague and not self.result.refused:
            self.result.refused = batch[-1].place

    def _explained(self, stretch: Segment) -> None:
        self.result.judged += len(stretch.exchanges)
        self.result.notes.update(stretch.run.notes)
        self.result.assumed.update(stretch.assumed.words)
        candidates = list(stretch.run.after)
        groups = [c.group(self.group_id) for c in candidates]
        if all(g is None or g.state is GroupState.EMPTY for g in groups):
            self._forget()
            return
        if not self._chain:
            self._whole = True
        self._chain.append(stretch)
        self._shorten()
        self._candidates = candidates
        self._settled = settled(self.group_id, candidates)
        self._rest = None
        self._joined = self._synced = max(
            (g.generation_id for g in groups if g is not None), default=-1
        )

    def _shorten(self) -> None:
        """Keep as many stretches as may still matter.

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

    # What is said of it.

    def _wrong(self, found: AuditViolation, stretch: Segment | None) -> None:
        self.result.add_found(found)
        self._noted(found, stretch)
        self._forget()

    def _lose(self, reason: str, batch: Sequence[LoggedExchange]) -> None:
        self.result.add_unjudged(Unjudged(reason, batch[0].place, batch[-1].place, len(batch)))
        self._forget()

    def _moved(self, why: str) -> None:
        self.result.notes[f"the state became unknown: {why}"] += 1
        self._forget()

    def _forget(self) -> None:
        """The state is unknown from here on."""
        self._put_down()
        self._candidates = None
        self._chain = []
        self._batch = []
        self._facts = Facts()
        self._joined = self._synced = -1


def _confirmed(exchange: LoggedExchange) -> int | None:
    """The generation that a heartbeat answered NONE confirms.

    A commit confirms nothing: it is accepted during a rebalance, too.
    """
    if exchange.api != "Heartbeat" or exchange.response_body.get("errorCode") != 0:
        return None
    generation_id: int = exchange.request_body["generationId"]
    return generation_id
