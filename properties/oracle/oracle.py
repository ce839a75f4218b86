"""Decide whether a run of the model can explain a history: the oracle.

A broker may handle two requests that overlap in either order, and fire a timer a little late; some
choices (the leader, the ids it makes up) are its own.  So one cannot run the model beside it and
compare each answer.  Instead the oracle keeps *all* states in which the model can be, after all
events so far.  When an answer leaves none, no run of the model gives these answers, and the broker
is wrong.

The terms, each used in this sense only:

- **History**: the events with times in ms: requests sent, answers read, lost connections, restarts
  and moves of the coordinator, topics deleted, time without an answer (see
  `fencepost.model.history.events`).
- **Step**: an event inside the coordinator: a request *takes effect*, or a timer *fires*. If the
  settings allow it, an unused group may be removed at any time; that counts as a timer, too.  Steps
  can't be observed, only answers.
- **Window**: the times at which a step may happen.  A request takes effect at its sending at the
  earliest, and before its answer is read; a timer fires at its deadline at the earliest.
- **Lag** (`lag_ms`): the longest delay of an event.  A request takes effect at most this long after
  it was sent, a timer fires at most this long after its deadline, and an answer is read at most
  this long after it was given.  With lag 0 the clock is virtual: everything happens exactly on
  time. Otherwise a leader's assignments are written first, which takes at most this long.
- **Candidate**: one state of the model that agrees with the history so far: its groups, with an
  interval for each timer; the requests that haven't taken effect yet; the answers that were given
  and not read yet (`candidate.py`).
- **Explanation**: the run of the model that leads to a candidate.  Candidates remember it only on
  demand (`verdict.Past`).
- **Deviation**: an answer that differs from the model's in a way that changes nothing for the
  group, such as another error code.  It is noted, and the history is followed further.

For example: two processes of the instance A join, one just after the other.  Either may take effect
first.  Then the second reads FENCED_INSTANCE_ID.  Only the run in which the first came later gives
that answer, so its state is the one candidate that is kept.

The oracle searches only when an answer was read, or when silence is evidence: then it tries all
orders of the steps whose windows allow it, until the model gives that answer (`oracle_search.py`).
Candidates that agree in all but times are merged into one with wider intervals, so they stay few.
There a wrong history may be accepted; a right one is never rejected.

A verdict is *violated*: no candidate is left; or *unknown*: there were too many to follow.
Otherwise it holds, and lists the rules that every explanation used.

For an answer that came too early, the verdict names the end of the wait and the rule.  The rule
that accepted the request only parks it.  If the answer is one that the end of a phase gives, the
phase is broken: its timer was to run longer, or was begun anew.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic.features import join_phase_point
from fencepost.model.classic.group import JOIN, SYNC, Group
from fencepost.model.classic.vocabulary import Trigger
from fencepost.model.consumer.topics import TopicIds
from fencepost.model.coordinator import Answer, Config, Send
from fencepost.model.history.events import (
    Answered,
    Disconnected,
    Disturbance,
    Event,
    Handled,
    Passed,
    Sent,
    Takeover,
)
from fencepost.model.machine import Machine
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level
from fencepost.model.work import Incoming, NotFollowedError, Timer
from fencepost.properties.oracle.answer_match import (
    first_difference,
    has_too_many_new,
    ids_in,
    matches,
)
from fencepost.properties.oracle.candidate import CLEANED, NOTED, Candidate, Emitted, merged
from fencepost.properties.oracle.consumer_answers import (
    epochs_in,
    receiver_of,
    taken_from,
)
from fencepost.properties.oracle.fingerprint import broken_rule, rule_levels
from fencepost.properties.oracle.matcher import FRESH, Match
from fencepost.properties.oracle.oracle_search import Search, TooManyError
from fencepost.properties.oracle.verdict import (
    Allowed,
    Beside,
    Noted,
    Verdict,
    Violation,
    Wait,
    Wrong,
)

_YOUNG = 100
"""The part of the cleaner's interval for which a group counts as young after each request.

A pass falls into it in one of a hundred runs; a failure that this could explain counts when it came
three times at the same request."""

_SYNCS = "the leader's SyncGroup comes"
_JOIN = "all members join"
_PENDING = " and no id is pending"


def wait_of(
    search: Search,
    candidates: list[Candidate],
    request_id: str,
    at_ms: int,
    body: Mapping[str, Any] | None,
) -> Wait | None:
    """Return the end of the wait of a request that was answered with `body` at `at_ms`.

    None if no timer ends the wait, or if there are too many states.  Of several waits the longest
    is taken: it is that of the candidate in which most has happened.
    """
    try:
        reached = search.explore(candidates, at_ms, lambda _: False, everything=True)
    except TooManyError:
        return None
    waits = [
        (group_id, group, timer)
        for candidate in reached
        for group_id, group in candidate.groups
        if _has_parked(group, request_id) and (timer := phase_timer(group)) is not None
    ]
    if not waits:
        return None
    group_id, group, timer = max(waits, key=lambda each: each[2].earliest)
    if timer.kind == SYNC:
        return Wait("", timer.earliest, _SYNCS)
    rule = ""
    if body is not None and _begins_a_generation(body, group):
        again = (
            r for (g, t), r in search.renewed.items() if g == group_id and _is_within(t, timer)
        )
        point = join_phase_point(group, Trigger.CHECK)
        phases = search.machine.revision.table("join phase")
        rule = next(again, None) or phases.decide(point).id
    unless = _JOIN + (_PENDING if group.pending else "")
    return Wait(rule, timer.earliest, unless if group.delay is None else "")


def phase_timer(group: Group) -> Timer | None:
    """Return the timer of the phase that a group is in, if one runs."""
    return next((t for t in group.timers if t.kind in {JOIN, SYNC}), None)


def _has_parked(group: Any, request_id: str) -> bool:
    return isinstance(group, Group) and any(
        parked is not None and parked.request_id == request_id
        for member in group.members
        for parked in (member.joining, member.syncing)
    )


def _begins_a_generation(body: Mapping[str, Any], group: Group) -> bool:
    return body.get("errorCode") == 0 and body.get("generationId", -1) > group.generation_id


def _is_within(timer: Timer, wider: Timer) -> bool:
    """Return True if a timer is the other one, whose window may have become wider."""
    same = timer.kind == wider.kind
    return same and wider.earliest <= timer.earliest and timer.latest <= wider.latest


class Oracle:
    """Follows one history of the groups of one case, event by event (`observe`).

    `lag_ms` 0 means a virtual clock.  `limit`: the most states for one event; beyond, the verdict
    is unknown.  `cleans_young`: let the cleaner remove an unused group however shortly after a
    request.  On a real clock that is possible, but so seldom that it explains no answer which comes
    again and again: `Verdict.withheld` says that it was not tried.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config,
        *,
        lag_ms: int,
        limit: int = 20_000,
        cleans_young: bool = False,
    ) -> None:
        self.revision = revision
        self.machine = Machine(revision, config, in_two_steps=lag_ms > 0, leaves_open=True)
        self.lag_ms = lag_ms
        self._unordered = revision.protocol.takes_topics  # then the coordinator assigns
        self._exact = lag_ms == 0
        self.violation: Violation | None = None
        self.unknown: str | None = None
        self._search = Search(self.machine, lag_ms, limit)
        interval_ms = self.machine.config["offsets.retention.check.interval.ms"]
        if lag_ms and interval_ms is not None and not cleans_young:
            self._search.young_ms = interval_ms // _YOUNG
        self._candidates = [Candidate()]
        self._known_ids: set[str] = set()
        self._last_answers: dict[tuple[str, str], Message] = {}
        self._levels = rule_levels(revision)

    # What the judge asks.

    def open(self) -> bool:
        """Return True if the history so far is explained."""
        return self.violation is None and self.unknown is None

    def holds(self) -> bool:
        """Return True if it is explained without a deviation that is more than a note.

        Once it isn't, it never is again.
        """
        return self.open() and any(not c.wrong() for c in self._candidates)

    def explanations(self) -> tuple[Candidate, ...]:
        """Return the remaining candidates; after a violation, those before it."""
        return tuple(self._candidates)

    def next_deadline_ms(self, after_ms: int = -1) -> int | None:
        """Return the earliest time after `after_ms` at which a timer may, or must, fire."""
        timers = {t for c in self._candidates for _, g in c.groups for t in g.timers}
        times = (time for t in timers for time in (t.earliest, t.latest) if time > after_ms)
        return min(times, default=None)

    def verdict(self) -> Verdict:
        """Return the verdict now; the best explanations are those with the least strain."""
        least = min(c.strain() for c in self._candidates)
        best = [c for c in self._candidates if c.strain() == least]
        chosen = best[0]
        worse = chosen.wrong()
        if not self.open():
            few = len(self._candidates)
            withheld = self.violation is not None and self._search.withheld
            return Verdict(
                self.violation, self.unknown, frozenset(), (), few, worse, withheld=withheld
            )
        used = frozenset.intersection(*(c.used for c in best))
        notes = tuple(Noted(r, str(d)) for r, d in chosen.deviations if d.level is NOTED)
        if not worse:
            return Verdict(None, None, used, notes, len(best))
        violation = self._deviation(chosen, worse[0])
        withheld = self._search.withheld
        return Verdict(violation, None, used, notes, len(best), worse[1:], withheld=withheld)

    def _deviation(self, chosen: Candidate, first: Beside) -> Violation:
        """Return the violation by an answer that is nearly right."""
        return Violation(
            Wrong.DEVIATION,
            first.level,
            first.request_id,
            chosen.now,
            None,
            (Allowed(None, first.rule, first.difference),) if first.rule else (),
            tuple(sorted(self._search.decided.get(first.request_id, ()))),
            first.difference,
        )

    # What the judge saw.

    def observe(self, event: Event) -> None:
        """Take the next event of the history, in order of time."""
        if not self.open():
            return
        try:
            match event:
                case Sent():
                    self._sent(event)
                case Answered():
                    self._answered(event)
                case Handled() if self._exact:
                    self._passed(event.at_ms, timers=False)
                    self._search.still = False
                case Handled():
                    self._candidates = self._explore(event.at_ms, lambda c: not c.unapplied)
                case Passed():
                    self._passed(event.at_ms, timers=True)
                case Disconnected():
                    self._search.dropped |= dict.fromkeys(event.dropped, event.at_ms)
                case Takeover():
                    self._taken_over(event)
                case Disturbance():
                    self._operated(event)
        except TooManyError:
            self.unknown = f"more than {self._search.limit} states would have to be followed"
        except NotFollowedError as error:
            self.unknown = str(error)

    def _sent(self, event: Sent) -> None:
        if self._exact:
            self._let_timers_fire(event.at_ms)
        self._search.still = self._exact
        request = event.request
        revision = self.machine.revision
        if request.api not in revision.apis:
            self.unknown = f"{revision.name} knows no {request.api}"
            return
        row = (request.id, request.client_id, request.api, request.version)
        incoming = Incoming(*row, self._message_of(request), FRESH + request.id)
        self._search.sent(incoming, event.at_ms, event.ended_ms)
        self._candidates = [
            replace(c, unapplied=(*c.unapplied, request.id)) for c in self._candidates
        ]

    def _message_of(self, request: Send) -> Message:
        """Return the message of a request."""
        return ALL_APIS[request.api].request.from_body(dict(request.body), request.version)

    def _read(self, request: Incoming, body: dict[str, Any]) -> Message:
        """Return the message of an answer.  Raises ShapeError."""
        return ALL_APIS[request.api].response.from_body(body, request.version)

    def _let_timers_fire(self, at_ms: int) -> None:
        """Fire timers that may have fired before a request, or let them wait (virtual clock).

        Only where its deadline is open (a session that may have been restarted) is there a choice.
        """
        if any(self._search.may_fire(c, at_ms) for c in self._candidates):
            self._candidates = merged(self._explore(at_ms, lambda _: False, everything=True))

    def _answered(self, event: Answered) -> None:
        answer = event.answer
        if answer.id in self._search.dropped:
            return
        sent = self._search.requests[answer.id]
        observed, flaw = None, ""
        if answer.body is not None:
            try:
                observed = self._read(sent.incoming, dict(answer.body))
            except ShapeError as error:
                flaw = str(error)
        incoming = replace(sent.incoming, observed=observed)
        self._search.requests[answer.id] = replace(sent, incoming=incoming)
        reached = self._search.explore(
            self._candidates, answer.at_ms, lambda c: c.emission(answer.id) is not None
        )
        if answer.body is None:
            detail = "; ".join(answer.findings) or Wrong.CLOSED.value
            self._violate(Wrong.CLOSED, answer.id, answer.at_ms, None, reached, detail)
            return
        body = dict(answer.body)
        if observed is None:
            self._violate(Wrong.SHAPE, answer.id, answer.at_ms, body, reached, flaw)
            return
        if any(self._is_too_much(c, answer.id) for c in reached):
            raise TooManyError
        kept = [m for c in reached for m in self._matching(c, answer, observed)]
        if not kept:
            wrong = Wrong.ANSWER if reached else Wrong.EARLY
            self._violate(wrong, answer.id, answer.at_ms, body, reached, wrong.value)
            return
        self._learn(answer.id, observed)
        least = min(c.gravity() for c in kept)
        bearable = max(least, 2)  # what is graver than SHOULD is followed only if nothing better is
        self._candidates = merged([c for c in kept if c.gravity() <= bearable])

    def _learn(self, request_id: str, observed: Message) -> None:
        """Keep what the clients know from now on: ids, and the last assignment of each member."""
        self._known_ids.update(ids_in(observed))
        if member_id := receiver_of(observed):
            self._last_answers[self._group_of(request_id), member_id] = observed

    def _last_answer(self, request_id: str) -> Message | None:
        """Return the last answer with an assignment for the sender of a heartbeat."""
        sent = self._search.requests[request_id].incoming.message
        if getattr(sent, "member_epoch", 0) <= 0:
            return None
        return self._last_answers.get((self._group_of(request_id), getattr(sent, "member_id", "")))

    @staticmethod
    def _is_too_much(candidate: Candidate, request_id: str) -> bool:
        emitted = candidate.emission(request_id)
        return (
            emitted is not None
            and emitted.message is not None
            and has_too_many_new(emitted.message)
        )

    def _matching(self, candidate: Candidate, answer: Answer, observed: Message) -> list[Candidate]:
        request_id = answer.id
        emitted = candidate.emission(request_id)
        assert emitted is not None
        if emitted.message is None:
            # Whenever it comes, and whatever the group would say later.
            return [candidate.malformed(answer, emitted.rule)]
        if answer.at_ms > emitted.latest + self.lag_ms:
            return []
        rest = candidate.without_emission(request_id)
        level = self._levels.get(emitted.rule, Level.MUST)
        expected = emitted.message.as_carried(self._search.requests[request_id].incoming.version)
        last_generation = candidate.last_generation(self._group_of(request_id))
        ways = matches(
            expected,
            observed,
            level,
            frozenset(self._known_ids),
            last_generation,
            unordered=self._unordered,
            last=self._last_answer(request_id),
        )
        agreed = (self._agreed(rest, emitted, observed, match) for match in ways)
        return [each.malformed(answer, emitted.rule) for each in agreed]

    def _group_of(self, request_id: str) -> str:
        return next(iter(self._search.requests[request_id].group_ids), "")

    def _agreed(
        self, candidate: Candidate, emitted: Emitted, observed: Message, match: Match
    ) -> Candidate:
        """Return the candidate after one of its answers was matched with an observed one."""
        request_id = emitted.request_id
        group_id = self._group_of(request_id)
        agreed = candidate.bound(match.bindings)
        if match.shift is not None:
            same_group = [r for r in self._search.requests if self._group_of(r) == group_id]
            agreed = agreed.shifted(group_id, match.shift, same_group)
        if isinstance(observed, JoinGroupResponse) and observed.error_code == 0:
            agreed = agreed.with_generation(group_id, observed.generation_id)
        for epoch in epochs_in(observed):
            if epoch > agreed.last_generation(group_id):
                agreed = agreed.with_generation(group_id, epoch)
        deviations = ((request_id, replace(d, rule=emitted.rule)) for d in match.deviations)
        return replace(agreed, deviations=(*agreed.deviations, *deviations))

    def _passed(self, at_ms: int, *, timers: bool) -> None:
        """Drop the candidates in which a step that must have happened by now has not."""
        limit = at_ms + 1 if self._exact else at_ms

        def overdue(candidate: Candidate) -> bool:
            return self._search.is_overdue(candidate, limit, timers=timers)

        if any(map(overdue, self._candidates)):
            reached = merged(self._explore(at_ms, lambda c: not overdue(c)))
        else:
            reached = self._candidates
        kept = [c for c in reached if not self._unread(c, limit)]
        if kept:
            self._candidates = kept
            return
        silent = [(c, self._unread(c, limit)) for c in reached]
        requests = self._search.requests
        unread = ((requests[r].sent_ms, r) for _, rs in silent for r in rs)
        if (request_id := min(unread, default=(0, None))[1]) is None:
            self.unknown = "no explanation is left, and no request to name for it"
            return
        those = [c for c, _ in silent if c.emission(request_id) is not None]
        self._violate(Wrong.SILENCE, request_id, at_ms, None, those, Wrong.SILENCE.value)

    def _unread(self, candidate: Candidate, limit: int) -> list[str]:
        return [
            e.request_id
            for e in candidate.emitted
            if e.message is not None and e.latest + self.lag_ms < limit
        ]

    def _taken_over(self, event: Takeover) -> None:
        self._search.dropped |= dict.fromkeys(event.dropped, event.begun_ms)
        if not self._exact:
            self._passed(event.begun_ms, timers=True)
            if not self.open():
                return
        down = event.at_ms if event.down_ms is None else event.down_ms
        before = self._search.explore(self._candidates, down, lambda _: False, everything=True)
        self._candidates = merged(self._search.failed_over(event, before))

    def _operated(self, event: Disturbance) -> None:
        if self._exact:
            self._let_timers_fire(event.span[0])
        self._candidates = self._search.operate(event, self._candidates)
        if self._exact:
            self._passed(event.span[0], timers=False)

    def _explore(
        self, horizon: int, goal: Callable[[Candidate], bool], *, everything: bool = False
    ) -> list[Candidate]:
        return self._search.explore(self._candidates, horizon, goal, everything=everything)

    def _violate(
        self,
        wrong: Wrong,
        request_id: str,
        at_ms: int,
        body: dict[str, Any] | None,
        reached: list[Candidate],
        detail: str,
    ) -> None:
        allowed = self._allowed(wrong, request_id, body, reached, detail)
        # Where a refusal was due, the caller may have been let in in the owner's place.
        refuses = any((each.body or {}).get("errorCode") for each in allowed)
        gives = wrong is Wrong.ANSWER and not refuses
        violation = Violation(
            wrong,
            Level.MUST,
            request_id,
            at_ms,
            body,
            allowed,
            tuple(sorted(self._search.decided.get(request_id, ()))),
            detail,
            wait=self._wait(request_id, at_ms, body) if wrong is Wrong.EARLY else None,
            taken=self._taken(request_id, body or {}, reached) if gives else (),
        )
        rule = broken_rule(violation, self.machine.revision)
        if rule is not None and not violation.taken:
            violation = dataclasses.replace(violation, level=rule.level)
        self.violation = violation

    def _taken(
        self, request_id: str, body: dict[str, Any], reached: list[Candidate]
    ) -> tuple[tuple[str, str], ...]:
        """Return the partitions that an answer gives although they are another member's."""
        sent = self._search.requests[request_id].incoming
        groups = [candidate.group(self._group_of(request_id)) for candidate in reached]
        ids = TopicIds(self.machine.topics)
        return taken_from(sent.message, self._read(sent, body), groups, ids)

    def _allowed(
        self,
        wrong: Wrong,
        request_id: str,
        body: dict[str, Any] | None,
        reached: list[Candidate],
        detail: str,
    ) -> tuple[Allowed, ...]:
        """Return the answers of these candidates, each with its difference to the observed one."""
        request = self._search.requests[request_id].incoming
        known_ids = frozenset(self._known_ids)
        observed = None
        if body is not None and wrong is not Wrong.SHAPE:
            observed = self._read(request, body)
        allowed: dict[str, Allowed] = {}
        # What the cleaner may do is no expectation: nobody must answer as if it had just passed.
        sure = [candidate for candidate in reached if CLEANED not in candidate.used]
        for candidate in sure or reached:
            emitted = candidate.emission(request_id)
            if emitted is None or emitted.message is None:
                continue
            difference = detail
            if observed is not None:
                level = self._levels.get(emitted.rule, Level.MUST)
                shaped = emitted.message.as_carried(request.version)
                last_generation = candidate.last_generation(self._group_of(request_id))
                difference = (
                    first_difference(
                        shaped,
                        observed,
                        level,
                        known_ids,
                        last_generation,
                        unordered=self._unordered,
                    )
                    or detail
                )
            expected = emitted.message.to_body(request.version)
            name = f"{emitted.rule} {expected}"
            first = allowed.setdefault(name, Allowed(expected, emitted.rule, difference))
            by_ms = max(emitted.latest, first.by_ms or 0)
            allowed[name] = dataclasses.replace(first, by_ms=by_ms)
        return tuple(allowed.values())

    def _wait(self, request_id: str, at_ms: int, body: dict[str, Any] | None) -> Wait | None:
        """Return the end of a request's wait; where it is now, with the answers that are due."""
        wait = wait_of(self._search, self._candidates, request_id, at_ms, body)
        if wait is None or wait.until_ms > at_ms:
            return wait
        self._search.still = False
        try:
            reached = self._explore(at_ms, lambda c: c.emission(request_id) is not None)
        except TooManyError:
            return wait
        due = self._allowed(Wrong.ANSWER, request_id, body, reached, Wrong.EARLY.value)
        return dataclasses.replace(wait, due=due)


def judge(
    revision: Revision,
    config: Config,
    history: list[Event],
    *,
    lag_ms: int,
    limit: int = 20_000,
    cleans_young: bool = False,
) -> Oracle:
    """Judge a recorded history, and return the oracle after it."""
    oracle = Oracle(revision, config, lag_ms=lag_ms, limit=limit, cleans_young=cleans_young)
    for event in history:
        oracle.observe(event)
    return oracle


def explained_by(
    revision: Revision, config: Config, history: Iterable[Event], *, lag_ms: int
) -> Oracle | None:
    """Return the oracle after a history, or None if the revision doesn't explain all of it.

    A history that needs more states than an oracle follows is not explained.
    """
    oracle = Oracle(revision, config, lag_ms=lag_ms)
    for event in history:
        if not oracle.holds():
            return None
        oracle.observe(event)
    return oracle if oracle.holds() else None
