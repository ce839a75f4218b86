"""Define a candidate: one state of the model that explains all events so far.

Two candidates that agree in all but times are merged into one with the wider intervals.  That may
allow more than the model does, never less.  `oracle.py` defines the terms.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fencepost.model.coordinator import Answer
from fencepost.model.messages.shapes import Message
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.oracle.answer_match import renamed
from fencepost.properties.oracle.matcher import Deviation
from fencepost.properties.oracle.verdict import Beside, Happened, Learned, Past

Groups = tuple[tuple[str, Any], ...]
_COUNTS = frozenset({"generation_id", "member_epoch", "group_epoch", "assignment_epoch"})
"""Fields of answers with a generation or an epoch, which a target counts."""
_ROWS = frozenset({"groups", "members"})
"""Fields of answers with rows that may have such a field."""

CLEANED = "CLEANUP-UNUSED"
"""The rule of the cleaner, which may strike, and leaves no trace."""

NOTED = Level.MAY
"""A deviation of this level is only noted."""


class Emitted(NamedTuple):
    """An answer of the model that is not read yet, given in [earliest, latest] ms."""

    request_id: str
    message: Message | None
    rule: str
    earliest: int
    latest: int


class Candidate(msgspec.Struct, frozen=True):
    """One state of the model that explains the history so far.

    `unapplied`: requests that haven't taken effect; `emitted`: answers that are not read yet;
    `now`: ms, the earliest time at which all this can have happened; `used`: the rules that every
    run to this candidate used; `generations`: the last generation in an answer, by group;
    `cleanable`: earliest time, ms, at which the cleaner may remove a group next, by group (only
    where it runs at all); `past`: one run that led here, if that is remembered.
    """

    groups: Groups = ()
    unapplied: tuple[str, ...] = ()
    emitted: tuple[Emitted, ...] = ()
    now: int = 0
    used: frozenset[str] = frozenset()
    deviations: tuple[tuple[str, Deviation], ...] = ()
    generations: tuple[tuple[str, int], ...] = ()
    cleanable: tuple[tuple[str, int], ...] = ()
    past: Past | None = None

    def __eq__(self, other: object) -> bool:
        """Return True if two are equal; their pasts don't count."""
        if not isinstance(other, Candidate):
            return NotImplemented
        return self is other or self._compared() == other._compared()

    def _compared(self) -> tuple[object, ...]:
        return (
            self.now,
            self.unapplied,
            self.groups,
            self.emitted,
            self.used,
            self.deviations,
            self.generations,
            self.cleanable,
        )

    def __hash__(self) -> int:
        """Return a hash of the parts that mostly differ: searches hash each state they visit."""
        groups = [g.outline() for _, g in self.groups]
        answers = [(e.request_id, e.rule) for e in self.emitted]
        return hash((self.now, self.unapplied, *groups, *answers))

    def last_generation(self, group_id: str) -> int:
        """Return the last generation of this group in an answer; -1 if there is none."""
        return dict(self.generations).get(group_id, -1)

    def with_generation(self, group_id: str, generation_id: int) -> Candidate:
        """Return the candidate after an answer with this generation of the group."""
        generations = {**dict(self.generations), group_id: generation_id}
        return replace(self, generations=tuple(sorted(generations.items())))

    def without_generation(self, group_id: str) -> Candidate:
        """Return the candidate of which no answer told a generation of this group."""
        if not any(name == group_id for name, _ in self.generations):
            return self
        rest = tuple(pair for pair in self.generations if pair[0] != group_id)
        return replace(self, generations=rest)

    def cleanable_ms(self, group_id: str) -> int:
        """Return the earliest time, ms, at which the cleaner may remove this group next."""
        return dict(self.cleanable).get(group_id, 0)

    def not_cleaned_before(self, group_id: str, at_ms: int) -> Candidate:
        """Return the candidate whose group the cleaner leaves alone until then, at least."""
        times = dict(self.cleanable)
        times[group_id] = max(at_ms, times.get(group_id, 0))
        return replace(self, cleanable=tuple(sorted(times.items())))

    def shifted(
        self, group_id: str, shift: tuple[int, int] | None, request_ids: Container[str]
    ) -> Candidate:
        """Return the candidate with generations from one on counted as the target counts them."""
        group = self.group(group_id)
        if shift is None or group is None:
            return self
        since, by = shift
        emitted = tuple(
            e._replace(message=counted(e.message, since, by))
            if e.request_id in request_ids and e.message is not None
            else e
            for e in self.emitted
        )
        groups = self.with_group(group_id, group.recounted(since, by))
        return replace(self, groups=groups, emitted=emitted)

    def group(self, group_id: str) -> Any:
        """Return the group of this id, if it exists."""
        for name, group in self.groups:
            if name == group_id:
                return group
        return None

    def with_group(self, group_id: str, group: Any) -> Groups:
        """Return the groups with this one put in, or (None) taken away."""
        if group is not None and len(self.groups) == 1 and self.groups[0][0] == group_id:
            return ((group_id, group),)
        rest = [pair for pair in self.groups if pair[0] != group_id]
        if group is not None:
            rest.append((group_id, group))
        return tuple(sorted(rest, key=_first))

    def emission(self, request_id: str) -> Emitted | None:
        """Return the model's answer to this request, if it gave one."""
        for emitted in self.emitted:
            if emitted.request_id == request_id:
                return emitted
        return None

    def without_emission(self, request_id: str) -> Candidate:
        """Return the candidate after the answer was read."""
        return replace(self, emitted=tuple(e for e in self.emitted if e.request_id != request_id))

    def gravity(self) -> int:
        """Return the gravity of the worst deviation: 0 for none, then MAY, SHOULD, MUST."""
        return max((len(LEVELS) - LEVELS.index(d.level) for _, d in self.deviations), default=0)

    def wrong(self) -> tuple[Beside, ...]:
        """Return the deviations that are more than notes, the gravest first, each once."""
        wrong = (Beside(r, d.level, d.rule, str(d)) for r, d in self.deviations)
        graver = dict.fromkeys(each for each in wrong if each.level is not NOTED)
        return tuple(sorted(graver, key=lambda each: LEVELS.index(each.level)))

    def malformed(self, answer: Answer, rule: str) -> Candidate:
        """Return the candidate with the errors in the bytes of an answer that a rule gives."""
        if not answer.findings:
            return self
        deviations = (
            (answer.id, Deviation(Level.SHOULD, "bytes", "as the version says", finding, rule))
            for finding in answer.findings
        )
        return replace(self, deviations=(*self.deviations, *deviations))

    def strain(self) -> tuple[int, bool]:
        """Return how implausible it is: its gravity, and whether an unused group was removed."""
        return self.gravity(), CLEANED in self.used

    def bound(self, names: Mapping[str, str]) -> Candidate:
        """Return the candidate with made-up ids replaced by the real ones."""
        if not names:
            return self
        groups = tuple((name, group.renamed(names)) for name, group in self.groups)
        emitted = tuple(
            e if e.message is None else e._replace(message=bound_message(e.message, names))
            for e in self.emitted
        )
        return replace(self, groups=groups, emitted=emitted)

    def after(self, event: Happened | Learned) -> Candidate:
        """Return this candidate with one more event in its past."""
        return replace(self, past=Past(self.past, event))

    def timeless(self) -> Candidate:
        """Return the candidate without times: two that agree in it are merged."""
        groups = tuple((name, group.timeless()) for name, group in self.groups)
        emitted = tuple(Emitted(*e[:3], 0, 0) for e in self.emitted)
        return replace(self, groups=groups, emitted=emitted, now=0, used=frozenset(), cleanable=())

    def joined(self, other: Candidate) -> Candidate:
        """Merge two candidates that agree in all but times."""
        groups = tuple(
            (name, group.widened(twin))
            for (name, group), (_, twin) in zip(self.groups, other.groups, strict=True)
        )
        emitted = tuple(
            a._replace(earliest=min(a.earliest, b.earliest), latest=max(a.latest, b.latest))
            for a, b in zip(self.emitted, other.emitted, strict=True)
        )
        return replace(
            self,
            groups=groups,
            emitted=emitted,
            now=min(self.now, other.now),
            used=self.used & other.used,
            cleanable=tuple(
                (name, min(at_ms, other.cleanable_ms(name))) for name, at_ms in self.cleanable
            ),
        )


def merged(candidates: list[Candidate]) -> list[Candidate]:
    """Merge candidates that agree in all but times, in order of first appearance."""
    if len(candidates) < 2:
        return candidates
    kept: dict[Candidate, Candidate] = {}
    for candidate in candidates:
        key = candidate.timeless()
        twin = kept.get(key)
        kept[key] = candidate if twin is None else twin.joined(candidate)
    return list(kept.values())


def counted(message: Message, since: int, by: int) -> Any:
    """Return an answer with `by` added to generations, or epochs, from `since` on."""
    changes: dict[str, Any] = {}
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if name in _COUNTS and value >= since:
            changes[name] = value + by
        elif name in _ROWS and value:
            changes[name] = tuple(counted(row, since, by) for row in value)
    return replace(message, **changes) if changes else message


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def bound_message(message: Message, names: Mapping[str, str]) -> Message:
    """Return an answer with made-up ids replaced by the real ones."""
    named: Message = renamed(message, names)
    return named
