"""Walk randomly through the worlds of the model with Hypothesis, and shrink to the shortest walk.

A walk is drawn as numbers that choose among the enabled acts, so none is wasted.  The choices are
kept as the acts themselves, each of which stays valid when another one is left out, so walks shrink
by leaving acts out.  The same seed leads to the same walk.

    walk = find_violation(find_revision("mutant:kafka-8500"), WORLD_PROPERTIES, seed=1)
    print(walk.finding.sentence, [act.kind for act in walk.acts])

A profile of Hypothesis is the length of a search, and its seed: `dev` searches little and at
random, `ci` always the same, so that a failure can be repeated, `nightly` long and at random.
HYPOTHESIS_PROFILE names the one to use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, event, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from fencepost.model.revision import Revision
from fencepost.properties.checking.evaluator import Coverage
from fencepost.properties.checking.random_walk import (
    Fault,
    Walk,
    WalkChoice,
    WalkContext,
    simpler,
    walked,
)
from fencepost.properties.checking.shrinking import Reproducer, shrink_items
from fencepost.properties.logic.logic import Property, PropertyKind
from fencepost.properties.worlds.concretise import Run
from fencepost.properties.worlds.protocol_worlds import Drawing
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World
from fencepost.properties.worlds.worlds_by_protocol import worlds_of

PROFILES: dict[str, dict[str, object]] = {
    "dev": {"max_examples": 50},
    "ci": {"max_examples": 200, "derandomize": True, "database": None},
    "nightly": {"max_examples": 5_000},
}


def register_profiles() -> None:
    """Make the profiles known to Hypothesis.  Nothing is timed: a slow machine is no failure."""
    for name, chosen in PROFILES.items():
        settings.register_profile(
            name,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            print_blob=False,
            **chosen,  # type: ignore[arg-type]
        )


def load_profile(default: str = "dev") -> str:
    """Register the profiles, load the one that HYPOTHESIS_PROFILE names, and return its name."""
    register_profiles()
    name = os.environ.get("HYPOTHESIS_PROFILE") or default
    settings.load_profile(name)
    return name


_STEPS = 40
_FEWEST = 12
_WAYS = 1 << 12


@dataclass(frozen=True, slots=True)
class FalsifyingWalk:
    """A fault, and the shortest walk to it that shrinking left.

    `acts`: its acts; `path`: the acts with their worlds; `run`: the concrete history; `examples`:
    number of walks until then; `drawn`: length of the first walk with the fault.
    """

    finding: Fault
    acts: tuple[Act, ...]
    path: tuple[tuple[Act | None, World], ...]
    run: Run
    scope: Scope
    examples: int
    drawn: int

    def __len__(self) -> int:
        """Return the number of acts."""
        return len(self.acts)


class _FaultError(Exception):
    """A walk that shows a fault; thrown to end the search."""


def find_violation(
    revision: Revision,
    properties: Iterable[Property] = (),
    *,
    reference: Revision | None = None,
    scopes: Sequence[Scope] | None = None,
    seed: int = 0,
    max_examples: int = 150,
    coverage: Coverage | None = None,
) -> FalsifyingWalk | None:
    """Search a revision for a walk that breaks a property, or that a reference can't explain.

    `properties`: those that have to hold, of any kind; a violation that the revision is expected to
    have is no finding.  `reference`: compare with it instead of, or beside, properties.
    `scopes`: searched in turn; by default its protocol's for walks.  `max_examples`: the most walks
    to try in each scope; `coverage`: counts rules.  Properties of steps and worlds are tried first,
    since whole histories take longer to read.  The result depends on the arguments alone.
    """
    listed = tuple(properties)
    quick = [p for p in listed if p.kind is not PropertyKind.HISTORY]
    slow = [p for p in listed if p.kind is PropertyKind.HISTORY]
    stages: list[tuple[list[Property], Revision | None]] = []
    if quick or reference is not None or not slow:
        stages.append((quick, reference))
    if slow:
        stages.append((slow, None))
    tried = 0
    for held_to, compared in stages:
        for scope in worlds_of(revision).drawing.scopes if scopes is None else scopes:
            context = WalkContext(revision, scope, held_to, compared)
            search = _WalkSearch(context, coverage)
            search.run(seed, max_examples)
            tried += search.examples
            if search.walk is not None:
                return _shrunk_walk(context, search.walk, tried)
    return None


class _WalkSearch:
    """Draws walks over the same worlds, until one shows a fault."""

    def __init__(self, context: WalkContext, coverage: Coverage | None) -> None:
        self.context = context
        self.coverage = coverage
        self.examples = 0
        self.walk: Walk | None = None

    def run(self, number: int, max_examples: int) -> None:
        @seed(number)
        @settings(
            max_examples=max_examples,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.target),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(numbers(self.context.drawing))
        def search(drawn: tuple[int, list[int]]) -> None:
            if self.walk is not None:
                raise _FaultError  # Hypothesis asks again for what it has been shown
            self.examples += 1
            walk = drawn_walk(self.context, drawn)
            if self.coverage is not None:
                self.coverage.add(walk.rules)
            if walk.finding is not None:
                self.walk = walk
                raise _FaultError
            target(float(len(walk.rules)), label="rules used")

        try:
            search()
        except _FaultError:
            return


def numbers(drawing: Drawing) -> st.SearchStrategy[tuple[int, list[int]]]:
    """Draw a walk as numbers: its kinds of disturbances (a bit each), and its steps."""
    return st.tuples(
        st.integers(0, (1 << len(drawing.disturbing)) - 1),
        st.lists(st.integers(0, _WAYS - 1), min_size=_FEWEST, max_size=_STEPS),
    )


def drawn_walk(context: WalkContext, drawn: tuple[int, Sequence[int]]) -> Walk:
    """Return the walk that some numbers choose, up to the first step that breaks a property."""
    walk = Walk(context)
    bits, steps = drawn
    without = context.drawing.without(bits)
    for number in steps:
        walk.choose(number, without)
        if walk.finding is not None:
            break
    walk.end()
    return walk


def _shrunk_walk(context: WalkContext, first: Walk, examples: int) -> FalsifyingWalk:
    def shows(choices: Sequence[WalkChoice]) -> Reproducer[tuple[WalkChoice, ...], Walk] | None:
        walk = walked(context, choices)
        return None if walk.finding is None else Reproducer(tuple(walk.choices), walk)

    plain = partial(simpler, kinds=context.drawing.kinds, clients=context.scope.clients)
    shortest = shrink_items(first.choices, shows, plain)
    assert shortest is not None
    walk = shortest.run
    assert walk.finding is not None
    acts = tuple(act for act, _ in walk.path if act is not None)
    return FalsifyingWalk(
        walk.finding,
        acts,
        tuple(walk.path),
        walk.run(),
        context.scope,
        examples,
        len(first.choices),
    )


def world_machine(
    revision: Revision,
    properties: Iterable[Property] = (),
    *,
    reference: Revision | None = None,
    scope: Scope | None = None,
    coverage: Coverage | None = None,
) -> type[RuleBasedStateMachine]:
    """Make a rule-based machine over the worlds of a revision; `.TestCase` is for pytest.

    It fails as soon as a property is broken, and at its end if the reference can't explain it.
    `scope`: by default the second of its protocol for walks.
    """
    scope = worlds_of(revision).drawing.scopes[1] if scope is None else scope
    context = WalkContext(revision, scope, properties, reference)
    counted = Coverage() if coverage is None else coverage

    def step(kind: str) -> Any:
        nobody = kind in {"tick", "failover"}
        clients = st.just(-1) if nobody else st.integers(0, scope.clients - 1)

        @precondition(lambda self: kind in self.walk.enabled())
        @rule(client=clients, outcome=st.integers(0, 3))
        def act(self: Any, client: int, outcome: int) -> None:
            self.walk.take(WalkChoice(kind, client, outcome))
            self.check()

        act.__name__ = act.__qualname__ = kind
        return act

    class ModelMachine(RuleBasedStateMachine):
        """A walk."""

        rules_used = counted

        def __init__(self) -> None:
            super().__init__()
            self.walk = Walk(context)

        def check(self) -> None:
            finding = self.walk.finding
            if finding is not None:
                raise AssertionError(f"{finding.property_id or 'oracle'}: {finding.sentence}")

        def teardown(self) -> None:
            """Check the whole history, and give Hypothesis the targets of its search."""
            counted.add(self.walk.rules)
            target(float(len(self.walk.rules)), label="rules used")
            group = self.walk.world.group
            event("no group" if group is None else f"ends in {group.state.value}")
            self.walk.end()
            self.check()

    rules: dict[str, Any] = {kind: step(kind) for kind in scope.acts}
    return type("WorldMachine", (ModelMachine,), rules)
