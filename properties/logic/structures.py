"""Define a protocol's abstraction: the finite structures on which its formulas are evaluated.

A formula is compiled once; a group is abstracted each time, which takes some microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.properties.logic.formula_closure import (
    Closure,
    SetClosure,
    compile_closure,
    compile_set,
    everything,
)
from fencepost.properties.logic.logic import (
    AllOf,
    ForAll,
    Formula,
    Implies,
    Signature,
    Sort,
    negate,
)


@dataclass(frozen=True, slots=True)
class AbstractStep:
    """A step as formulas see it."""

    before: Any
    event: Any
    after: Any


def _nobody(_: Any) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Abstraction:
    """The abstraction of one protocol.

    `nothing`: the structure of a group that doesn't exist.  `group`: makes the structure of a group
    or of None; `event`: that of a step's event, from its `StepView`; `answered`: returns the ids
    that the answer of a step is about, which its group afterwards has as `caller`.
    """

    signature: Signature
    nothing: Any
    group: Callable[[Any], Any]
    event: Callable[[Any], Any]
    answered: Callable[[Any], frozenset[str]] = _nobody
    _compiled: dict[int, tuple[Formula, Closure]] = field(default_factory=dict)
    _denied: dict[int, tuple[Formula, SetClosure]] = field(default_factory=dict)

    def step(self, view: Any) -> AbstractStep:
        """Return the structure of a step."""
        after = answered_about(self.group(view.after), self.answered(view))
        return AbstractStep(self.group(view.before), self.event(view), after)

    def compiled(self, formula: Formula) -> Closure:
        """Return the formula as a function of (group now, group then, event), compiled once."""
        entry = self._compiled.get(id(formula))
        if entry is None:
            closure = compile_closure(formula, self.signature)
            entry = self._compiled[id(formula)] = (formula, closure)
        return entry[1]

    def counterexample(self, formula: Formula, now: Any, then: Any, event: Any) -> tuple[str, ...]:
        """Return the things for which a formula does not hold, each with its sort; () for none.

        Only those that its first quantifiers are about.
        """
        match formula:
            case AllOf(parts):
                failing = (p for p in parts if not self.compiled(p)(now, then, event))
                return self.counterexample(next(failing), now, then, event)
            case Implies(_, conclusion):
                return self.counterexample(conclusion, now, then, event)
            case ForAll(terms, body):
                things = tuple(
                    everything(self.signature, place, now, then, event)
                    for place in range(len(Sort))
                )
                known = self._denied.get(id(body))
                if known is None:
                    denied = compile_set(terms, negate(body), self.signature)
                    known = self._denied[id(body)] = (body, denied)
                least = min(known[1](now, then, event, things), key=str)
                values = least if len(terms) > 1 else (least,)
                return tuple(
                    f"{t.sort.value} {_word(v)}" for t, v in zip(terms, values, strict=True)
                )
            case _:
                return ()

    def evaluate(self, formula: Formula, thing: Any) -> bool:
        """Return True if a formula holds of a step, or of a group; None: there is none."""
        closure = self.compiled(formula)
        if isinstance(thing, AbstractStep):
            return closure(thing.before, thing.after, thing.event)
        group = thing if isinstance(thing, type(self.nothing)) else self.group(thing)
        return closure(group, group, None)


def _word(value: Any) -> str:
    """Return a thing as it is written: a partition is `topic-0`."""
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value)


def answered_about(group: Any, ids: frozenset[str]) -> Any:
    """Return the structure of a group after a step whose answer is about these ids."""
    return replace(group, caller=ids) if ids else group
