"""The outcomes of what happens to a group: each judged, and in canonical form.

All timers that are due in a tick fire, each at its deadline, in every order that their deadlines
allow; one that is due at once fires before anything else happens.  Two outcomes are one if they
have the same group, names and answers, and no different notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from fencepost.model.classic.group import Group, Timer
from fencepost.model.classic.machine import Machine
from fencepost.model.classic.work import Emission, Incoming, Outcome, Span
from fencepost.model.revision import Revision
from fencepost.properties.worlds.canonical import Naming, named, unchanged
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.views import Event, Failover, StepView
from fencepost.properties.worlds.world_client import GROUP, TICK_MS

_INSTANT = Span(0, 0)


class Transition(NamedTuple):
    """One outcome for the group: its steps, whom they answer, and the names afterwards."""

    naming: Naming
    emissions: tuple[Emission, ...]
    views: tuple[StepView, ...]
    faults: tuple[str, ...]
    about: tuple[str, ...]


_Found = tuple[Group | None, tuple[Emission, ...], tuple[StepView, ...]]
Judge = Callable[[StepView], tuple[Iterable[str], Iterable[str]]]


class Outcomes:
    """Computes the outcomes for one group at a time; `judge` makes the notes."""

    def __init__(self, revision: Revision, scope: Scope, judge: Judge | None) -> None:
        self.machine = Machine(revision, scope.config())
        self._rules = {rule.id: rule for _, rule in revision.rules()}
        self._judge = judge
        self._same: Naming | None = None
        self._keeps_generations = scope.fails_over

    def request(self, group: Group | None, incoming: Incoming) -> tuple[Transition, ...]:
        """Return the outcomes of a request."""
        outcomes = self.machine.handle(group, incoming, _INSTANT, group_id=GROUP)
        return self._made(
            group,
            (
                after
                for outcome in outcomes
                for after in self._fired(
                    outcome.group, outcome.emissions, (self.view(group, incoming, outcome),), 0
                )
            ),
        )

    def failover(self, group: Group | None) -> tuple[Transition, ...]:
        """Return the outcomes of another coordinator taking over."""
        outcomes = self.machine.failover(group, _INSTANT)
        return self._made(
            group,
            (
                (outcome.group, outcome.emissions, (self.view(group, Failover(), outcome),))
                for outcome in outcomes
            ),
        )

    def tick(self, group: Group | None) -> tuple[Transition, ...]:
        """Return the outcomes of a tick of time."""
        return self._made(
            group,
            (
                (_earlier(after), emissions, views)
                for after, emissions, views in self._fired(group, (), (), TICK_MS)
            ),
        )

    def _fired(
        self,
        group: Group | None,
        emissions: tuple[Emission, ...],
        views: tuple[StepView, ...],
        until: int,
    ) -> Iterator[_Found]:
        """Timers that are due fire, each at its deadline, those due together in every order."""
        timers = () if group is None else group.timers
        first = min((t.earliest for t in timers), default=until + 1)
        if first > until:
            yield group, emissions, views
            return
        assert group is not None
        for timer in timers:
            if timer.earliest == first:
                for outcome in self.machine.expire(group, timer, Span(first, first)):
                    view = self.view(group, timer, outcome)
                    answers = (*emissions, *outcome.emissions)
                    yield from self._fired(outcome.group, answers, (*views, view), until)

    def view(self, group: Group | None, event: Event, outcome: Outcome) -> StepView:
        """Return a step as properties see it."""
        rules = tuple(self._rules[r] for r in outcome.rules)
        return StepView(group, event, outcome.group, outcome.emissions, rules)

    def _made(self, before: Group | None, found: Iterable[_Found]) -> tuple[Transition, ...]:
        """What was found, judged, in canonical form, each once.  `before` is in canonical form."""
        every = tuple(self._judged(before, *one) for one in found)
        if len(every) == 1:
            return every
        made: dict[tuple[object, ...], Transition] = {}
        for one in every:
            ids = tuple(sorted(one.naming.ids.items()))
            key = (one.naming.group, ids, one.emissions, one.faults, one.about)
            made.setdefault(key, one)
        return tuple(made.values())

    def _judged(
        self,
        before: Group | None,
        group: Group | None,
        emissions: tuple[Emission, ...],
        views: tuple[StepView, ...],
    ) -> Transition:
        if group is before:
            naming = self.unchanged(group)
        else:
            naming = named(group, keep_generations=self._keeps_generations)
        if self._judge is None:
            return Transition(naming, emissions, views, (), ())
        faults: set[str] = set()
        about: set[str] = set()
        for view in views:
            against, reached = self._judge(view)
            faults.update(against)
            about.update(reached)
        return Transition(naming, emissions, views, tuple(sorted(faults)), tuple(sorted(about)))

    def unchanged(self, group: Group | None) -> Naming:
        """Return the names of a group that stays as it is."""
        if self._same is None or self._same.group is not group:
            self._same = unchanged(group)
        return self._same


def _earlier(group: Group | None) -> Group | None:
    """A group whose deadlines have come nearer by a tick."""
    if group is None:
        return None
    timers = tuple(Timer(t[0], t[1], t[2] - TICK_MS, t[3] - TICK_MS) for t in group.timers)
    return replace(group, timers=timers)
