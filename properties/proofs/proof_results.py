"""The results of proofs: obligations, each with its outcome, and counterexamples in plain words.

An obligation that Z3 can't decide has not been proved, and fails; so does a violation that is
listed of a shipped revision and doesn't show.  One that a user's own revision would have inherited
is told.  A step whose effect has no abstract form is not covered, which is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from fencepost.model.table.expr import word
from fencepost.model.table.vocabulary import GroupState
from fencepost.properties.logic.signature import LEAVE_ROW
from fencepost.properties.worlds.abstraction import AbstractEvent, AbstractGroup, AbstractStep


class Result(Enum):
    """How an obligation turned out."""

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
    """A step from a group that satisfies all invariants, which breaks what was to be proved.

    A proof doesn't say whether such a group can be reached: exploration looks for it.
    """

    step: AbstractStep
    rules: tuple[str, ...]

    def words(self) -> tuple[str, ...]:
        """Three sentences: before, what happens, after."""
        event = self.step.event
        if event.the_fresh_id not in self.step.after.member | self.step.after.pending:
            event = replace(event, the_fresh_id="")
        return (
            f"before: {group_words(self.step.before)}",
            f"then: {event_words(event)}, by {' and '.join(self.rules)}",
            f"after: {group_words(self.step.after)}",
        )

    def to_json(self) -> dict[str, Any]:
        """Before, event, rules and after, as JSON has them; empty fields left out."""
        return {
            "before": _plain(self.step.before),
            "event": _plain(self.step.event),
            "rules": list(self.rules),
            "after": _plain(self.step.after),
            "words": list(self.words()),
        }


@dataclass(frozen=True, slots=True)
class Obligation:
    """A statement that was to be proved, and the result.

    `kind`: table, state, step, reachable, defensive or premise.  `about`: the id of a property,
    rule or table.  `step`: the abstract step, if there is one.  `rule`: what decides it.
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
        """Whether it counts against the revision."""
        return self.result in FAILURES

    def to_json(self) -> dict[str, Any]:
        """Return what it is about and how it came out."""
        found: dict[str, Any] = {
            "kind": self.kind,
            "about": self.about,
            "step": self.step,
            "result": self.result.value,
        }
        if self.detail:
            found["detail"] = self.detail
        if self.counterexample is not None:
            found["counterexample"] = self.counterexample.to_json()
        return found


@dataclass(frozen=True, slots=True)
class Proof:
    """All obligations of a revision, in the order in which they were proved."""

    revision: str
    obligations: tuple[Obligation, ...]

    @property
    def failures(self) -> tuple[Obligation, ...]:
        """What should have been proved and was not."""
        return tuple(one for one in self.obligations if one.failed)

    @property
    def expected(self) -> tuple[Obligation, ...]:
        """What fails as expected."""
        return tuple(one for one in self.obligations if one.result is Result.EXPECTED)

    @property
    def kept(self) -> tuple[Obligation, ...]:
        """What fails in the revision that this one is made from, and does not here."""
        return tuple(one for one in self.obligations if one.result is Result.KEPT)

    @property
    def uncovered(self) -> tuple[Obligation, ...]:
        """What no proof speaks of."""
        return tuple(one for one in self.obligations if one.result is Result.UNCOVERED)

    def rows(self) -> Iterator[tuple[str, str, dict[Result, int]]]:
        """(kind, about, how many by result); rules and tables counted together."""
        counts: dict[tuple[str, str], dict[Result, int]] = {}
        for one in self.obligations:
            about = one.about if one.kind in {"state", "step"} else "all"
            row = counts.setdefault((one.kind, about), {})
            row[one.result] = row.get(one.result, 0) + 1
        for (kind, about), row in counts.items():
            yield kind, about, row

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and in full whatever is not simply proved."""
        notable = [one for one in self.obligations if one.result is not Result.PROVED]
        return {
            "revision": self.revision,
            "obligations": len(self.obligations),
            "holds": not self.failures and not self.uncovered,
            "counts": [
                {"kind": kind, "about": about, **{r.value: n for r, n in row.items()}}
                for kind, about, row in self.rows()
            ],
            "notable": [one.to_json() for one in notable],
        }


def _plain(thing: AbstractGroup | AbstractEvent) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in fields(thing):
        value = getattr(thing, one.name)
        if isinstance(value, frozenset):
            value = sorted(list(v) if isinstance(v, tuple) else v for v in value)
        elif isinstance(value, Enum):
            value = word(value)
        if value not in ("", None, [], False):
            found[one.name] = value
    return found


def group_words(group: AbstractGroup) -> str:
    """Return the group in one sentence, without what is as usual."""
    if group.state is GroupState.ABSENT:
        return "there is no group"
    parts = [f"{group.state.value}, generation {group.the_generation}"]
    seats: dict[str, list[str]] = {}
    for member, instance in sorted(group.seat):
        seats.setdefault(member, []).append(instance)
    for member in sorted(group.member):
        what = [f"carries {' and '.join(seats[member])}"] if member in seats else ["is dynamic"]
        for ids, says in (
            (group.leads, "leads"),
            (group.new, "is new"),
            (group.parked, "waits for its join"),
            (group.syncing, "waits for its sync"),
            (group.owes, "owes a sync"),
        ):
            what += [says] if member in ids else []
        parts.append(f"{member} {', '.join(what)}")
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
    """Return what happens, in one sentence."""
    says = [event.event]
    if event.the_timers_id:
        says.append(f"of {event.the_timers_id}")
    elif event.event not in {"join phase", "sync phase", "failover", "topics deleted"}:
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
