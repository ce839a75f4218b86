"""Judge what lies behind a deviation: follow a history whose coordinator is wrong in another way.

A coordinator that answers every second join wrongly would end most cases there, and nothing would
be said of what they are about.  This oracle goes on.  A deviation that has nothing to do with the
rules that a case is about is noted (`excused`), the answer is adopted (`loosened.py`), and all that
follows is judged from the states that are possible then.

From the first deviation on the state of the group is known in part only.  So a later answer counts
as wrong only if the model gives it in none of the possible states, and if it differs in what
doesn't depend on the first deviation: an error code, or the member id.  All else is adopted, too,
and says nothing.  What has to do with the case's own rules is never excused: where it would have to
be, the verdict is unknown.  `used` counts from the first deviation on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from fencepost.model.classic.group import Group, Member
from fencepost.model.coordinator import Answer, Config, codes_in
from fencepost.model.history.events import Answered, Event, Takeover
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.messages.shapes import Message, ShapeError
from fencepost.model.revision import Revision
from fencepost.model.table.table import TableError
from fencepost.model.work import Incoming
from fencepost.properties.oracle.answer_match import ids_in
from fencepost.properties.oracle.candidate import Candidate, merged
from fencepost.properties.oracle.fingerprint import broken_rule, kind_of
from fencepost.properties.oracle.loosened import (
    UNTOLD,
    adopted,
    can_adopt,
    in_any_phase,
    loosened,
    named_by,
)
from fencepost.properties.oracle.matcher import FRESH
from fencepost.properties.oracle.oracle import Oracle
from fencepost.properties.oracle.oracle_search import TooManyError
from fencepost.properties.oracle.verdict import Allowed, Violation, Wrong, nearest

_LIMIT = 5_000
"""The most states for one event: fewer than the oracle's, since each answer is tried often."""

_MOST = 500
"""The most states to go on from behind a deviation."""

_REFUSE_ID = (Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_SERVER_ERROR)
"""Errors for an id that is no member's: nobody has it, or it is pending and brings an instance."""

_STRANGE = "behind the deviation the group would be in a state that the model doesn't have"
_LOST = "behind the deviation it isn't known what a failover finds"
_HIDDEN = "behind the deviation it isn't known what the rules of this case ask for"


class OracleBehind(Oracle):
    """An oracle that goes on behind deviations.

    `own`: the rules that the case is about; none of what has to do with them is excused.  `only`:
    the requests whose answers may be excused; None: any.  `excused`: the deviations behind which it
    went on, in order.
    """

    def __init__(
        self,
        revision: Revision,
        config: Config,
        *,
        lag_ms: int,
        own: Iterable[str],
        only: Iterable[str] | None = None,
        limit: int = _LIMIT,
    ) -> None:
        super().__init__(revision, config, lag_ms=lag_ms, limit=limit)
        self.excused: list[Violation] = []
        self._own = frozenset(own)
        self._only = None if only is None else frozenset(only)
        self._loose: set[str] = set()
        self._generations: dict[str, set[int]] = {}
        self._former: dict[str, dict[str, Member | None]] = {}
        self._reached: list[Candidate] = []
        self._likely_is_one = True
        self._own_ids: set[str] = set()
        self._excused_bytes = False

    def observe(self, event: Event) -> None:
        """Take the next event of the history, in order of time."""
        if not self.open():
            return
        if self._loose and isinstance(event, Takeover):
            self.unknown = _LOST
            return
        before = self._candidates
        try:
            super().observe(event)
            if isinstance(event, Answered) and self.unknown is None:
                self._go_on(before, event)
                self._own_ids.add((event.answer.body or {}).get("memberId", ""))
        except TableError:
            if not self._loose:
                raise
            self.unknown = _STRANGE  # a state that no run of the model leads to
        except TooManyError:
            self.unknown = f"more than {self._search.limit} states would have to be followed"

    def _go_on(self, before: list[Candidate], event: Answered) -> None:
        answer = event.answer
        if answer.body is None or answer.id in self._search.dropped:
            return
        request = self._search.requests[answer.id].incoming
        try:
            observed = self._read(request, dict(answer.body))
        except ShapeError:
            return
        self._note_members(answer.id)
        if isinstance(observed, JoinGroupResponse) and observed.error_code == 0:
            self._generations.setdefault(self._group_of(answer.id), set()).add(
                observed.generation_id
            )
        differs = self._difference(answer.id)
        if differs is None or _is_late(differs):
            return
        self.violation = None
        group_id = self._group_of(answer.id)
        is_own = self._is_own(differs)
        known = differs.allowed
        if group_id not in self._loose and (
            states := self._with_right_bytes(before, differs, event)
        ):
            is_counted = not self._excused_bytes
            if is_counted and (is_own or not self._may_excuse(answer.id)):
                self._candidates, self.violation = before, differs
                return
            self._go_on_from(states, observed)
            self.excused += [differs] * is_counted
            self._excused_bytes = True
            return
        is_counted = not self._is_repeated(differs, request.api)
        # The coordinator may have departed from the model once more, in a state that is known.
        states = self._forgiven(differs) or self._adopted(before, group_id, event, observed)
        if group_id in self._loose:
            again = self._tried_loosely(before, group_id, event)
            is_counted &= again is not None and self._is_sure(again, request, observed)
            if again is None:
                states += self._candidates
            else:
                states += self._forgiven(again)
                is_own = is_own or self._is_own(again)
            if again is not None and is_counted:
                likely = self._tried_loosely(before, group_id, event, is_likely=True)
                differs = again if likely is None or likely.wrong is not again.wrong else likely
                # Of a field that is wrong one right value is named, so it must be the only one.
                is_counted = differs.wrong is not Wrong.DEVIATION or self._likely_is_one
                differs = _nearest_known(differs, known)
        if is_own and not is_counted:
            self.unknown = _HIDDEN
        elif is_counted and (is_own or not self._may_excuse(answer.id)):
            self._candidates, self.violation = before, differs
        else:
            self._go_on_from(states, observed)
            self._loose.add(group_id)
            if is_counted:
                self.excused.append(differs)

    def _may_excuse(self, request_id: str) -> bool:
        return self._only is None or request_id in self._only

    def _with_right_bytes(
        self, before: list[Candidate], violation: Violation, event: Answered
    ) -> list[Candidate]:
        """Return the states after the answer with other bytes of clients, if it is right so."""
        for allowed in violation.allowed:
            body = _mended(event.answer.body or {}, allowed)
            if body is None:
                continue
            self._candidates = before
            self._answered(replace(event, answer=replace(event.answer, body=body)))
            differs = self._difference(event.answer.id)
            self.violation = None
            if differs is None:
                return self._candidates
        return []

    def _is_repeated(self, violation: Violation, api: str) -> bool:
        """Return True if an answer is wrong as an earlier one: to such a request, in such a way."""
        kind = kind_of(violation.observed)
        return violation.observed is not None and any(
            self._search.requests[each.request_id].incoming.api == api
            and kind_of(each.observed) == kind
            and not set(each.decided_by).isdisjoint(violation.decided_by)
            for each in self.excused
            if each.observed is not None
        )

    def _note_members(self, request_id: str) -> None:
        """Note the ids that were handed out in a group, and the members that have them."""
        group_id = self._group_of(request_id)
        former = self._former.setdefault(group_id, {})
        for candidate in self._candidates:
            group = candidate.group(group_id)
            if isinstance(group, Group):
                former |= {m.member_id: m for m in group.members if m.member_id[:1] != FRESH}
                former |= {i: None for i in group.pending if i not in former and i[:1] != FRESH}

    def _difference(self, request_id: str) -> Violation | None:
        """Return the fault of the answer that was just read, or None."""
        if self.violation is not None:
            return self.violation
        best = min(self._candidates, key=Candidate.gravity)
        wrong = (beside for beside in best.wrong() if beside.request_id == request_id)
        first = next(wrong, None)
        return None if first is None else self._deviation(best, first)

    def _is_own(self, violation: Violation) -> bool:
        """Return True if a fault has to do with the rules that the case is about."""
        broken = broken_rule(violation, self.revision)
        rules = {a.rule for a in violation.allowed} | set(violation.decided_by)
        rules |= self._search.performed.get(violation.request_id, set())
        return not self._own.isdisjoint(rules if broken is None else rules | {broken.id})

    def _is_sure(self, violation: Violation, request: Incoming, observed: Message) -> bool:
        """Return True if an answer differs in what no phase and no generation decides."""
        if self._was_handed_out(request) and all(map(_refuses_id, violation.allowed)):
            return False
        if violation.wrong is Wrong.DEVIATION:
            fields = [allowed.difference.split(" ")[0] for allowed in violation.allowed]
            return bool(fields) and all(f == "memberId" or f.endswith("errorCode") for f in fields)
        if violation.wrong is not Wrong.ANSWER:
            return False
        own_id = getattr(observed, "member_id", "")
        if own_id in self._known_ids and own_id not in self._own_ids:
            return False  # the leader was told of it, so this join took effect before
        answers = (candidate.emission(request.id) for candidate in self._reached)
        messages = [
            each.message for each in answers if each is not None and each.message is not None
        ]
        return bool(messages) and all(
            _codes(message, request.version) != _codes(observed, request.version)
            or self._has_another_id(message, observed)
            for message in messages
        )

    def _was_handed_out(self, request: Incoming) -> bool:
        """Return True if a request has an id that the coordinator handed out in the group.

        Whoever was given an id by a wrong answer is a member by that, not by a second fault.
        """
        former = self._former.get(self._group_of(request.id), {})
        return any(member_id in former for member_id, _ in named_by(request))

    def _has_another_id(self, expected: Message, observed: Message) -> bool:
        """Return True if a join is answered with the id of somebody else."""
        if not isinstance(expected, JoinGroupResponse):
            return False
        if not isinstance(observed, JoinGroupResponse):
            return False
        if expected.member_id.startswith(FRESH):
            return observed.member_id in self._own_ids
        return expected.member_id != observed.member_id

    def _violate(
        self,
        wrong: Wrong,
        request_id: str,
        at_ms: int,
        body: dict[str, Any] | None,
        reached: list[Candidate],
        detail: str,
    ) -> None:
        self._reached = reached
        super()._violate(wrong, request_id, at_ms, body, reached, detail)

    def _tried_loosely(
        self,
        before: list[Candidate],
        group_id: str,
        event: Answered,
        *,
        is_likely: bool = False,
    ) -> Violation | None:
        """Judge the answer from all states that are possible; return its fault in all, or None.

        `is_likely`: from those that are likely, too.
        """
        answer = event.answer
        sent = self._search.requests[answer.id]
        self._search.requests[answer.id] = replace(sent, written_ms=answer.at_ms)
        handed_out = self._generations.get(group_id, ())
        states = (
            state
            for candidate in before
            for state in loosened(
                candidate,
                group_id,
                sent.incoming,
                handed_out,
                self._former.get(group_id, {}),
                answer.at_ms,
                is_likely=is_likely,
            )
        )
        self._candidates = self._few(states)
        if is_likely:
            self._likely_is_one = self._has_one_answer(answer)
        self._answered(event)
        differs = self._difference(answer.id)
        self.violation = None
        return differs

    def _has_one_answer(self, answer: Answer) -> bool:
        """Return True if all states answer a request with the same errors."""
        reached = self._search.explore(
            self._candidates, answer.at_ms, lambda c: c.emission(answer.id) is not None
        )
        version = self._search.requests[answer.id].incoming.version
        emitted = (candidate.emission(answer.id) for candidate in reached)
        messages = (
            each.message for each in emitted if each is not None and each.message is not None
        )
        return len({tuple(_codes(message, version)) for message in messages}) == 1

    def _adopted(
        self, before: list[Candidate], group_id: str, event: Answered, observed: Message
    ) -> list[Candidate]:
        """Return the states that an answer leaves."""
        answer = event.answer
        if not can_adopt(observed):
            return [
                replace(
                    c.without_emission(answer.id),
                    unapplied=tuple(r for r in c.unapplied if r != answer.id),
                )
                for c in before
            ]
        request = self._search.requests[answer.id].incoming
        return [
            state
            for candidate in before
            for after in adopted(candidate, group_id, request, observed, answer.at_ms)
            for state in in_any_phase(after, group_id, answer.at_ms)
        ]

    def _forgiven(self, violation: Violation) -> list[Candidate]:
        """Return the states in which an answer is nearly right, as if it were; else none."""
        if violation.wrong is not Wrong.DEVIATION:
            return []
        own = violation.request_id
        return [
            replace(c, deviations=tuple(d for d in c.deviations if d[0] != own))
            for c in self._candidates
        ]

    def _go_on_from(self, states: list[Candidate], observed: Message) -> None:
        """Follow these states; count the rules that are used from the first deviation on."""
        self._candidates = self._few(states)
        if not self.excused:
            self._candidates = [replace(c, used=frozenset()) for c in self._candidates]
        if isinstance(observed, JoinGroupResponse):
            self._known_ids.update(ids_in(observed))

    def _few(self, states: Iterable[Candidate]) -> list[Candidate]:
        few = merged(list(dict.fromkeys(states)))
        if len(few) > _MOST:
            raise TooManyError
        return few


def _nearest_known(violation: Violation, known: Sequence[Allowed]) -> Violation:
    """Return the violation with the right answers of the states that are known, if it has any.

    `known`: the right answers in the states that were followed.  A generation that was never handed
    out is no answer to name, unless there is no other.
    """
    handed_out = [a for a in violation.allowed if (a.body or {}).get("generationId", 0) < UNTOLD]
    allowed = [each for each in handed_out if each in known] or handed_out or violation.allowed
    return dataclasses.replace(violation, allowed=tuple(allowed))


def _is_late(violation: Violation) -> bool:
    """Return True if nothing but the time of an answer is wrong."""
    chosen = nearest(violation.allowed)
    is_answer = violation.wrong is Wrong.ANSWER
    return violation.wrong in {Wrong.SHAPE, Wrong.CLOSED, Wrong.SILENCE} or (
        is_answer and (chosen is None or " instead of " not in chosen.difference)
    )


def _mended(body: Mapping[str, Any], allowed: Allowed) -> dict[str, Any] | None:
    """Return an answer with the bytes of clients of the right one; None if other fields differ."""
    right = allowed.body or {}
    if allowed.difference.startswith("assignment "):
        return {**body, "assignment": right["assignment"]}
    if not allowed.difference.startswith("members.metadata "):
        return None
    rows, expected = body["members"], right["members"]
    if len(rows) != len(expected):
        return None
    by_id = {row["memberId"]: row["metadata"] for row in expected}
    others = [row["metadata"] for row in expected if row["memberId"].startswith(FRESH)]
    if any(row["memberId"] not in by_id for row in rows) and len(set(others)) > 1:
        return None  # whose bytes they are isn't known
    return {
        **body,
        "members": [{**row, "metadata": by_id.get(row["memberId"], *others[:1])} for row in rows],
    }


def _refuses_id(right: Allowed) -> bool:
    """Return True if the right answer would refuse the member id of the request."""
    code = (right.body or {}).get("errorCode")
    name = right.difference.rpartition(" instead of ")[2]
    return any(code == error.value or name == error.name for error in _REFUSE_ID)


def _codes(message: Message, version: int) -> list[str]:
    """Return the error codes in an answer, in any order."""
    return sorted(map(str, codes_in(message.to_body(version))))


def judge_behind(
    revision: Revision,
    config: Config,
    history: Iterable[Event],
    *,
    lag_ms: int,
    own: Iterable[str],
    only: Iterable[str] | None = None,
    limit: int = _LIMIT,
) -> OracleBehind:
    """Judge a recorded history behind its deviations, and return the oracle after it."""
    oracle = OracleBehind(revision, config, lag_ms=lag_ms, own=own, only=only, limit=limit)
    for event in history:
        oracle.observe(event)
    return oracle
