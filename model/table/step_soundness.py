"""Find the faults in the steps of a rule: wrong table, wrong place, two answers.

A protocol defines its steps and their needs once (`Steps`); they are checked for every rule at
every point when a user's own revision is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, Self

from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import Feature, Point
from fencepost.model.table.table import OwnStep, Rule, Table


class Where(Protocol):
    """The place of a step: the group and the request after the steps before."""

    def after(self, do: Any) -> Self:
        """Return the place of the next step."""
        ...


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a step needs.

    `says`: a clause; `lacks`: the clause for where it isn't so; `remedy`: the advice then; `met`:
    returns True if it is so at a `Where` of its protocol; `possible`: true if the machine does the
    step all the same, though it makes no sense.
    """

    says: str
    lacks: str
    remedy: str
    met: Callable[[Any], bool]
    possible: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The steps of a protocol's rules, and the places where each can be done.

    `members`: the closed list.  `tables`: table → steps that can be done there, and in no table
    that doesn't list them.  `needs`: conditions at the place of a step; a step that isn't there can
    be done anywhere.
    `where`: makes the place of the first step from the value of each feature at a point (None for a
    feature that the table doesn't have).  `answers`: steps that answer the request or let it wait,
    so that the rule has no `answer`.  `example`: a step to name in remedies.  `without_request`:
    tables of events without a request. `only_answer`: tables whose rules answer and change nothing.
    `welcomes`: table → the steps that answer NONE there, since that answer has more fields than the
    error.  `rule_faults`: yields further faults of a rule, in sentences.
    """

    members: type[Enum]
    tables: Mapping[str, frozenset[Enum]]
    needs: Mapping[Enum, tuple[Need, ...]]
    where: Callable[[Callable[[Feature], Hashable]], Where]
    answers: frozenset[Enum]
    example: Enum
    without_request: frozenset[str] = frozenset()
    only_answer: frozenset[str] = frozenset()
    welcomes: Mapping[str, str] = field(default_factory=dict)
    rule_faults: Callable[[Table, Rule], Iterator[str]] = lambda _table, _rule: iter(())

    def homes(self, do: Enum) -> tuple[str, ...]:
        """Return the tables that a step belongs to; none if it can be done in any."""
        return tuple(table for table, steps in self.tables.items() if do in steps)


def step_faults(table: Table, rule: Rule, steps: Steps) -> Iterator[str]:
    """Yield steps that are another table's, and fields of the rule that don't go with its steps."""
    for do in rule.effect:
        homes = steps.homes(do)
        if homes and table.name not in homes:
            belongs = " or ".join(homes)
            yield (
                f'{rule.id}: the step "{do.value}" belongs to table {belongs}, not to {table.name}'
            )
        elif not homes and table.name in steps.only_answer:
            yield (
                f'{rule.id}: the step "{do.value}" would not be done: a rule of table {table.name} '
                "answers and changes nothing; leave it out"
            )
    answering = [
        do for do in rule.effect if do in steps.answers or (isinstance(do, OwnStep) and do.answers)
    ]
    if table.name in steps.without_request:
        if rule.answer is not None:
            yield f"{rule.id}: nobody asks in table {table.name}, so there is nobody to answer"
    elif rule.answer is None and not answering:
        yield f"{rule.id}: it neither answers nor parks the request; give it an answer"
    elif answering and (rule.answer is not None or len(answering) > 1):
        yield f'{rule.id}: it answers twice: "{answering[0].value}", and more'
    elif rule.answer is Error.NONE and table.name in steps.welcomes:
        step = steps.welcomes[table.name]
        yield (
            f"{rule.id}: answer=Error.NONE would be a welcome without what belongs to one; leave "
            f"`answer` out and add the step {step}"
        )
    yield from steps.rule_faults(table, rule)


def misplaced_steps(
    table: Table, points: dict[Point, tuple[Rule, ...]], steps: Steps, *, senseless: bool = True
) -> Iterator[str]:
    """Yield the steps that can't be done at a point where their rule applies, each once.

    `points`: the result of `table_soundness.decided`.  `senseless`: also those that the machine
    would do, though it makes no sense.
    """
    places = {id(feature): i for i, feature in enumerate(table.features)}
    reported: set[tuple[str, Enum]] = set()
    for point, rules in points.items():
        for rule in rules:
            for do, need, undone in unmet_needs(rule.effect, point, places, steps):
                if need.possible and not senseless:
                    continue
                if rule.defensive is None and (rule.id, do) not in reported:
                    reported.add((rule.id, do))
                    lacks, remedy = f"where {need.lacks}", need.remedy
                    if undone is not None:
                        lacks = f'after the step "{undone.value}", when {need.lacks}'
                        remedy = "put it before that step, or leave one of the two out"
                    yield (
                        f'{rule.id}: the step "{do.value}" can\'t be done {lacks}: '
                        f"{table.describe(point)}; {remedy}"
                    )


def unmet_needs(
    effect: tuple[Enum, ...], point: Point, places: Mapping[int, int], steps: Steps
) -> Iterator[tuple[Enum, Need, Enum | None]]:
    """Yield the unmet needs of steps at a point: the step, the need, the step that undid it.

    `places`: the identity of each feature → its place in the point.
    """

    def at(feature: Feature) -> Hashable:
        place = places.get(id(feature))
        return None if place is None else point[place]

    before = [steps.where(at)]
    for number, do in enumerate(effect):
        for need in steps.needs.get(do, ()):
            if not need.met(before[-1]):
                met = [place for place, value in enumerate(before) if need.met(value)]
                yield do, need, effect[met[-1]] if met and met[-1] < number else None
        before.append(before[-1].after(do))
