"""Define a mutant: a model that is broken on purpose, in one thing, to test the checkers.

It is a revision, `kafka-4` or one of the consumer protocol with one difference, so every engine
accepts it as a revision.  Rules express what a table can express; the rest is a twist of an effect,
a distortion of answers, or a body in another version's shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache

from fencepost.model.classic.effects import Do
from fencepost.model.revision import (
    Difference,
    Distortion,
    DropRule,
    Revision,
    SetRule,
    Twist,
    derive,
)
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.revisions import MUTANT
from fencepost.model.table.expr import Expr, all_of, any_of, negate
from fencepost.model.table.table import Rule

GUARD = "systematic: guard weakened"
ANSWER = "systematic: answer changed"
EFFECT = "systematic: effect dropped"
ADDED = "systematic: effect added"
ORDER = "systematic: check order"
TIMER = "systematic: timer lost"
ECHO = "systematic: wrong echo"
REPLACE = "systematic: what a replacement takes over"
ELECTION = "systematic: election and generation"
SHAPE = "systematic: version shape"

_BROKEN = "broken on purpose"
_TABLES = {rule.id: table.name for table, rule in KAFKA_4.rules()}


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A model with one thing wrong.

    `about`: the fault in one sentence.  `source`: an id of the history of real bugs, or the
    systematic change.  `breaks`: the ids of the properties that it violates.  `visible`: true if
    answers alone can show it.  The other fields are its difference to its `base`, as those of a
    revision.
    """

    name: str
    about: str
    source: str
    breaks: tuple[str, ...] = ()
    visible: bool = True
    differences: tuple[Difference, ...] = ()
    twists: Mapping[Enum, Twist] = field(default_factory=dict)
    distort: Distortion | None = None
    answer_versions: Mapping[tuple[str, int], int] = field(default_factory=dict)
    base: Revision = KAFKA_4

    @property
    def revision(self) -> Revision:
        """The broken model, called `mutant:NAME`; made when it is first asked for."""
        return _revision(self)

    def changed_rules(self) -> list[tuple[str, str]]:
        """Return (`drops`, `changes` or `adds`, rule id) for each change of the table."""
        known = {rule.id for _, rule in self.base.rules()}
        return [
            ("drops", d.rule_id)
            if isinstance(d, DropRule)
            else ("changes" if d.rule.id in known else "adds", d.rule.id)
            for d in self.differences
        ]


@cache
def _revision(broken: Mutant) -> Revision:
    return replace(
        derive(broken.base, MUTANT + broken.name, broken.about, broken.differences),
        twists=broken.twists,
        distort=broken.distort,
        answer_versions=broken.answer_versions,
    )


def mutant(
    name: str,
    about: str,
    source: str,
    *differences: Difference,
    twists: Mapping[Enum, Twist] | None = None,
    distort: Distortion | None = None,
    answer_versions: Mapping[tuple[str, int], int] | None = None,
    visible: bool = True,
) -> Mutant:
    """Make a mutant of `kafka-4` with these differences."""
    return Mutant(
        name,
        about,
        source,
        visible=visible,
        differences=differences,
        twists=twists or {},
        distort=distort,
        answer_versions=answer_versions or {},
    )


def but(rule_id: str, **changes: object) -> SetRule:
    """Return a rule of the base, with these of its fields changed."""
    return SetRule(_TABLES[rule_id], RULES[rule_id].but(**changes), _BROKEN)


def only(rule_id: str, *conditions: Expr) -> SetRule:
    """Return a rule of the base that applies only where all these hold, too."""
    return but(rule_id, guard=all_of(RULES[rule_id].guard, *conditions))


def also(rule_id: str, condition: Expr) -> SetRule:
    """Return a rule of the base that applies here, too."""
    return but(rule_id, guard=any_of(RULES[rule_id].guard, condition))


def behind(rule_id: str, *others: str) -> SetRule:
    """Return a check of the base that comes after these others, instead of before them."""
    return only(rule_id, *(negate(RULES[other].guard) for other in others))


def without(rule_id: str, *steps: Do) -> SetRule:
    """Return a rule of the base without these effects."""
    return but(rule_id, effect=tuple(do for do in RULES[rule_id].effect if do not in steps))


def dropped(rule_id: str) -> DropRule:
    """Leave out a check of the base."""
    return DropRule(_TABLES[rule_id], rule_id, _BROKEN)


def added(like: str, rule: Rule) -> SetRule:
    """Add a row to the table of a rule of the base."""
    return SetRule(_TABLES[like], rule, _BROKEN)
