"""A property: something that must always hold, with its meaning, its source and who checks it.

A property is defined by a formula (see `fencepost.properties.logic.logic`), which exploration
evaluates and Z3 proves, or by a function; never by both, so that two engines can't disagree about
its meaning.  Where it fails on purpose is part of it: an expected violation is a result, not a
weaker property.

Kinds: a *state* property speaks of one group (or of one world: a group and what its clients were
told), a *step* property of a group before and after one event, a *history* property of answers
alone, which is all that can be seen of a real coordinator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from fencepost.properties.logic.logic import Formula


class PropertyKind(Enum):
    """What a property speaks of."""

    STATE = "state"
    STEP = "step"
    HISTORY = "history"


class Engine(Enum):
    """What can check a property."""

    EXPLORATION = "exploration"
    HYPOTHESIS = "hypothesis"
    PROOF = "proof"
    ANSWERS = "answers"


@dataclass(frozen=True, slots=True, eq=False)
class Property:
    """Something that must hold.

    `meaning`: one sentence.  `source`: KIP section or Kafka behaviour, in our words.  `scope`: of
    what it speaks and what it leaves out.  `formula` or `holds` defines it: `holds` takes the thing
    it speaks of (a `WorldView` or a `StepView` of `fencepost.properties.worlds.views`) and gives
    None, or what is wrong in one sentence. `premise`: whether a case that the property is about
    was reached (the witness against vacuity), over the same thing; a formula's premise is a
    formula. `engines`: who checks it. `not_by`: for each other engine why it can't. `expected`:
    revision → why the property fails there; `expected_rules`: revision → by which rules exactly,
    for a formula (a proof finds all of them).
    """

    id: str
    meaning: str
    source: str
    kind: PropertyKind
    scope: str
    engines: frozenset[Engine]
    formula: Formula | None = None
    holds: Callable[[Any], str | None] | None = None
    premise: Formula | Callable[[Any], bool] | None = None
    not_by: Mapping[Engine, str] = field(default_factory=dict)
    expected: Mapping[str, str] = field(default_factory=dict)
    expected_rules: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the fields.  Raises ValueError if something is missing."""
        if (self.formula is None) is (self.holds is None):
            raise ValueError(f"{self.id}: give a formula or a function, one of them")
        if self.premise is None:
            raise ValueError(f"{self.id}: without a premise nobody sees whether it is vacuous")
        silent = set(Engine) - self.engines - set(self.not_by)
        if silent:
            names = ", ".join(sorted(engine.value for engine in silent))
            raise ValueError(f"{self.id}: say why it is not checked by {names}")

    def why_not_by(self, engine: Engine) -> str:
        """Say in a sentence why an engine doesn't check it, and which do."""
        others = " and ".join(one.value for one in Engine if one in self.engines)
        return f"{self.id} is not checked by {engine.value}, but by {others}: {self.not_by[engine]}"
