"""One abstract step as Z3's constraints: the group before it, what happens, the group after it.

A step assumes the invariants before it, that the fresh id is nobody's, and that a timer that fires
was running.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, replace

import z3

from fencepost.model.table.expr import Feature
from fencepost.model.table.vocabulary import STATE, TRIGGER, GroupState
from fencepost.properties.claims.invariants import WITHIN_A_BATCH
from fencepost.properties.logic import signature as sig
from fencepost.properties.logic.logic import (
    AllOf,
    AnyOf,
    AtMost,
    Exists,
    ForAll,
    Formula,
    Holds,
    Implies,
    Is,
    Not,
    Sort,
    all_of,
    any_of,
    for_all,
    implies,
    is_now,
    negate,
    same,
)
from fencepost.properties.logic.property import Property, PropertyKind
from fencepost.properties.logic.signature import X
from fencepost.properties.proofs.abstract_steps import Path
from fencepost.properties.proofs.terms import (
    SORTS,
    Predicate,
    Scene,
    Symbols,
    Universe,
    Z,
    domains,
    first_group,
    perform,
    translate,
)

_SETTLED = is_now(STATE, GroupState.COMPLETING, GroupState.STABLE)
FRESH_IS_NOBODYS = for_all(
    X,
    implies(
        same(X, sig.FRESH),
        negate(
            any_of(
                sig.MEMBER.now(X),
                sig.PENDING.now(X),
                sig.STORED_MEMBER.now(X),
                sig.is_mid(X),
            )
        ),
    ),
)
"""The assumption on fresh ids: nobody has one, stored or live, and no client can send one."""


@dataclass(slots=True)
class Encoded:
    """A step: what is assumed of it, and the scene in which its properties are read."""

    constraints: list[Z]
    scene: Scene
    picked: list[Z] = field(default_factory=list)


def event_scene(
    group: Symbols,
    answers: dict[Feature, Hashable],
    *,
    of_session: bool,
    universe: Universe | None = None,
) -> Scene:
    """Return a scene of one group and an event of which only `answers` is known."""
    terms = {term.name: z3.Const(term.name, SORTS[term.sort]) for term in sig.EVENT_TERMS}
    hole = z3.Const("hole!0", SORTS[Sort.ID])
    mid_given, inst_given = z3.Bool(sig.MID_GIVEN.name), z3.Bool(sig.INST_GIVEN.name)
    if of_session:
        named = hole == terms[sig.SUBJECT.name]
    else:
        holder = group.relations[sig.HOLDS.name].of(terms[sig.INST.name], hole)
        named = z3.If(mid_given, hole == terms[sig.MID.name], z3.And(inst_given, holder))
    event = {
        sig.NAMED.name: Predicate((hole,), named),
        sig.MID_GIVEN.name: Predicate((), mid_given),
        sig.INST_GIVEN.name: Predicate((), inst_given),
    }
    return Scene(group, group, event, terms, answers, {}, universe=universe)


def assumed(
    invariants: Iterable[Property], *, batch: bool, universe: Universe | None = None
) -> list[Z]:
    """Return the invariants before a step: the same for every step."""
    scene = event_scene(first_group(), {}, of_session=False, universe=universe)
    return [before(one, scene, batch=batch) for one in invariants]


def encode(path: Path, invariants: Iterable[Z], universe: Universe | None = None) -> Encoded:
    """Return the step as constraints: what is `assumed` before it, guard, effects, choices."""
    event = "LeaveGroup" if path.at_the_end else path.table
    answers: dict[Feature, Hashable] = {
        sig.EVENT: event,
        sig.RULE: path.rule.id,
        sig.ANSWER: path.answer,
    }
    of_session = path.table == sig.SESSION_END
    scene = event_scene(first_group(), answers, of_session=of_session, universe=universe)
    batch = path.put_off or path.at_the_end
    found = [
        *invariants,
        translate(FRESH_IS_NOBODYS, scene),
    ]
    if not path.naming or path.at_the_end:
        given = (sig.MID_GIVEN.name, sig.INST_GIVEN.name)
        found += [z3.Not(scene.event[name].body) for name in given]
    hole = z3.Const("hole!0", SORTS[Sort.ID])
    relations = dict(scene.now.relations)
    relations[sig.CALLER.name] = Predicate((hole,), translate(path.caller(), scene, {X.name: hole}))
    if not batch:
        relations[sig.DEFERRED.name] = Predicate((), z3.BoolVal(False))
    begin = replace(scene.now, relations=relations)
    scene = replace(scene, now=begin, then=begin)
    here = scene
    picked: list[Z] = []
    for number, stage in enumerate(path.stages):
        known = dict(answers) if stage.trigger is None else {**answers, TRIGGER: stage.trigger}
        here = replace(here, stage=number, answers=known)
        found += [translate(condition, here) for condition in stage.conditions]
        for place, effect in enumerate(stage.effects):
            here, met, choices = perform(effect, here, f"{number}.{place}")
            found += met
            picked += choices
    found.append(domains(scene))
    return Encoded(found, replace(scene, then=here.now), picked)


def before(one: Property, scene: Scene, *, batch: bool) -> Z:
    """Return an invariant as it holds before the step; in a batch some hold only at its start."""
    assert one.formula is not None
    return _weak(one, scene, batch=batch)


def after(one: Property, encoded: Encoded, path: Path) -> Z:
    """Return what the step must establish: the invariant after it, or the step property."""
    assert one.formula is not None
    if one.kind is PropertyKind.STEP:
        return translate(one.formula, encoded.scene)
    then = replace(encoded.scene, now=encoded.scene.then)
    return _weak(one, then, batch=path.put_off)


def _weak(one: Property, scene: Scene, *, batch: bool) -> Z:
    assert one.formula is not None
    formula: Formula = one.formula
    if batch and one.id in WITHIN_A_BATCH:
        formula = any_of(all_of(sig.DEFERRED.now(), _SETTLED), formula)
    return translate(formula, scene)


def is_untouched(one: Property, path: Path) -> bool:
    """Return whether the step changes nothing that an invariant speaks of: it still holds."""
    batch = path.put_off or path.at_the_end
    if one.kind is not PropertyKind.STATE or batch or one.formula is None:
        return False
    return not (_mentioned(one.formula) & path.touched())


def _mentioned(formula: Formula) -> frozenset[str]:
    """The names of the relations, numbers and questions that a formula speaks of."""
    match formula:
        case Holds(relation, _, _):
            return frozenset({relation.name})
        case Is(feature, _, _):
            return frozenset({feature.name})
        case AtMost(left, _, _, right, _):
            return frozenset(number.name for number in (left, right) if number is not None)
        case AllOf(parts) | AnyOf(parts):
            return frozenset().union(*map(_mentioned, parts))
        case Not(part) | ForAll(_, part) | Exists(_, part):
            return _mentioned(part)
        case Implies(left_part, right_part):
            return _mentioned(left_part) | _mentioned(right_part)
        case _:
            return frozenset()


def premise(one: Property, scene: Scene) -> Z:
    """Return the case that the property is about."""
    assert isinstance(one.premise, Formula)
    return translate(one.premise, scene)


def small_universe(ids: int, instances: int) -> Universe:
    """Return names for this many ids and instances; two names may stand for one thing."""
    return {
        sort: [z3.Const(f"{sort.value}{i}", SORTS[sort]) for i in range(size)]
        for sort, size in ((Sort.ID, ids), (Sort.INSTANCE, instances))
    }


def within(encoded: Encoded, universe: Universe) -> list[Z]:
    """Return that nothing but the universe is spoken of."""
    terms = [*encoded.scene.terms.values(), *encoded.picked]
    return [z3.Or(*(term == one for one in universe[_sort(term)])) for term in terms]


def _sort(term: Z) -> Sort:
    return next(sort for sort, z in SORTS.items() if z == term.sort())
