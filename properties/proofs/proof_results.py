"""Define the results of proofs: obligations, and counterexamples in plain words.

An obligation that Z3 can't decide has not been proved, and fails; so does a violation that is
listed of a shipped revision and doesn't occur.  One that a user's own revision would have inherited
is reported.  A step whose effect has no abstract form is not covered, which is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.history.events import OPERATED
from fencepost.model.table.expr import word
from fencepost.properties.logic.classic_signature import (
    FAILOVER,
    JOIN_PHASE,
    LEAVE_ROW,
    RETENTION,
    SYNC_PHASE,
)
from fencepost.properties.worlds.abstraction import AbstractEvent, AbstractGroup, AbstractStep


class Result(Enum):
    """The result of an obligation."""

    PROVED = "proved"
    EXPECTED = "fails, as expected"
    FAILED = "fails"
    UNKNOWN = "undecided"
    STALE = "was expected to fail, and is proved"
    KEPT = "is proved here, and fails in what this is made from"
    UNCOVERED = "not covered"


FAILURES = frozenset({Result.FAILED, Result.UNKNOWN, Result.STALE})


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A step from a group that satisfies all invariants, which breaks the statement.

    A proof doesn't decide if such a group can be reached: exploration searches for it.
    """

    step: AbstractStep
    rules: tuple[str, ...]

    def words(self) -> tuple[str, ...]:
        """Return three sentences: before, the event, after."""
        event = self.step.event
        if event.the_fresh_id not in self.step.after.member | self.step.after.pending:
            event = replace(event, the_fresh_id="")
        return (
            f"before: {group_words(self.step.before)}",
            f"then: {event_words(event)}, by {' and '.join(self.rules)}",
            f"after: {group_words(self.step.after)}",
        )

    def to_json(self) -> dict[str, Any]:
        """Return before, event, rules and after, as JSON has them; empty fields left out."""
        return {
            "before": _plain(self.step.before),
            "event": _plain(self.step.event),
            "rules": list(self.rules),
            "after": _plain(self.step.after),
            "words": list(self.words()),
        }


@dataclass(frozen=True, slots=True)
class Obligation:
    """A statement to be proved, and the result.

    `kind`: table, state, step, reachable, defensive or premise.  `about`: the id of a property,
    rule or table.  `step`: the abstract step, if there is one.  `rule`: the rule that decides it.
    """

    kind: str
    about: str
    step: str
    result: Result
    detail: str = ""
    counterexample: Counterexample | None = None
    rule: str = ""

    @property
    def failed(self) -> bool:
        """True if it counts against the revision."""
        return self.result in FAILURES

    def to_json(self) -> dict[str, Any]:
        """Return its statement and its result."""
        document: dict[str, Any] = {
            "kind": self.kind,
            "about": self.about,
            "step": self.step,
            "result": self.result.value,
        }
        if self.detail:
            document["detail"] = self.detail
        if self.counterexample is not None:
            document["counterexample"] = self.counterexample.to_json()
        return document


@dataclass(frozen=True, slots=True)
class Proof:
    """All obligations of a revision, in the order in which they were proved."""

    revision: str
    obligations: tuple[Obligation, ...]

    @property
    def failures(self) -> tuple[Obligation, ...]:
        """Obligations that should have been proved and were not."""
        return tuple(obligation for obligation in self.obligations if obligation.failed)

    @property
    def expected(self) -> tuple[Obligation, ...]:
        """Obligations that fail as expected."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.EXPECTED
        )

    @property
    def kept(self) -> tuple[Obligation, ...]:
        """Obligations that fail in the revision that this one is made from, and hold here."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.KEPT
        )

    @property
    def uncovered(self) -> tuple[Obligation, ...]:
        """Steps that no proof covers."""
        return tuple(
            obligation for obligation in self.obligations if obligation.result is Result.UNCOVERED
        )

    def rows(self) -> Iterator[tuple[str, str, dict[Result, int]]]:
        """Yield (kind, about, count by result); rules and tables counted together."""
        counts: dict[tuple[str, str], dict[Result, int]] = {}
        for obligation in self.obligations:
            about = obligation.about if obligation.kind in {"state", "step"} else "all"
            row = counts.setdefault((obligation.kind, about), {})
            row[obligation.result] = row.get(obligation.result, 0) + 1
        for (kind, about), row in counts.items():
            yield kind, about, row

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and in full each obligation that is not simply proved."""
        notable = [
            obligation for obligation in self.obligations if obligation.result is not Result.PROVED
        ]
        return {
            "revision": self.revision,
            "obligations": len(self.obligations),
            "holds": not self.failures and not self.uncovered,
            "counts": [
                {"kind": kind, "about": about, **{r.value: n for r, n in row.items()}}
                for kind, about, row in self.rows()
            ],
            "notable": [obligation.to_json() for obligation in notable],
        }


def _plain(thing: AbstractGroup | AbstractEvent) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in fields(thing):
        value = getattr(thing, each.name)
        if isinstance(value, frozenset):
            value = sorted(list(v) if isinstance(v, tuple) else v for v in value)
        elif isinstance(value, Enum):
            value = word(value)
        if value not in ("", None, [], False):
            values[each.name] = value
    return values


def group_words(group: AbstractGroup) -> str:
    """Return the group in one sentence, without the usual values."""
    if group.state is GroupState.ABSENT:
        return "there is no group"
    parts = [f"{group.state.value}, generation {group.the_generation}"]
    seats: dict[str, list[str]] = {}
    for member, instance in sorted(group.seat):
        seats.setdefault(member, []).append(instance)
    for member in sorted(group.member):
        words = [f"carries {' and '.join(seats[member])}"] if member in seats else ["is dynamic"]
        for ids, says in (
            (group.leads, "leads"),
            (group.new, "is new"),
            (group.parked, "waits for its join"),
            (group.syncing, "waits for its sync"),
            (group.owes, "owes a sync"),
        ):
            words += [says] if member in ids else []
        parts.append(f"{member} {', '.join(words)}")
    if not group.member:
        parts.append("no members")
    parts += [f"{i} is mapped to {m}" for i, m in sorted(group.holds)]
    parts += [f"{m} is pending" for m in sorted(group.pending)]
    parts += [f"{m} leads but is no member" for m in sorted(group.leads - group.member)]
    idle = group.member - group.session - group.parked - group.syncing
    parts += [f"no timer watches {m}" for m in sorted(idle)]
    for flag, says in (
        (group.join_timer, "the join phase has a timer"),
        (group.sync_timer, "syncs are waited for"),
        (group.delayed, "the initial delay runs"),
        (group.deferred, "a batch has still to rebalance"),
    ):
        parts += [says] if flag else []
    if group.stored_state is not GroupState.ABSENT:
        stored = ", ".join(sorted(group.stored_member)) or "no members"
        parts.append(f"stored: {group.stored_state.value} with {stored}")
    return "; ".join(parts)


def event_words(event: AbstractEvent) -> str:
    """Return the event in one sentence."""
    says = [event.event]
    if event.the_timers_id:
        says.append(f"of {event.the_timers_id}")
    elif event.event not in {JOIN_PHASE, SYNC_PHASE, FAILOVER, RETENTION, *OPERATED}:
        if event.event == LEAVE_ROW:
            says = ["LeaveGroup, a row"]
        says.append(f'with member id "{event.the_id_sent}"')
        if event.the_instance_sent is not None:
            says.append(f"and instance {event.the_instance_sent}")
        if event.the_fresh_id:
            says.append(f"(the fresh id is {event.the_fresh_id})")
        if event.answer is not None:
            says.append(f"answered {event.answer.name}")
    return " ".join(says)
