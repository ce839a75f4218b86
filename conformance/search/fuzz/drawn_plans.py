"""Make the plans of the fuzzer: draw new ones, or change those that reached something new.

Each plan is run on the model while it is drawn.  A plan that uses a rule, a pair of rules or a
state of a group for the first time is kept, and kept plans are extended, changed, spliced and cut
more often than new ones are drawn.  Nothing here looks at what a target answers, so the same seed
gives the same plans, however quick the target is.

A step in which a known departure of the target shows is rarely played, so that most requests are
sent in a state that has no known fault in it.  Where a protocol has no departures, that is a step
by a rule which the target is known to violate.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from fencepost.conformance.search.fuzz.dry_run import (
    DryRun,
    PlanCoverage,
    PlannedStep,
    acts_of,
)
from fencepost.conformance.search.fuzz.generator import (
    CLEANER,
    is_about_unnamed_group,
)
from fencepost.conformance.search.fuzz.plans_by_protocol import (
    ProtocolPlans,
    plans_of,
)
from fencepost.conformance.search.fuzz.step_drawer import Participants, StepDrawer, home_of
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import MOVES, Config, Hello
from fencepost.model.plans.spelling import written
from fencepost.model.plans.steps import Needs, Plan, PlanStep, Request
from fencepost.model.plans.times import Times, blurred, times_for
from fencepost.model.revision import Revision
from fencepost.model.table.table import Level

ABOUT = "what the fuzzer drew"
_LONGEST = 32
_PREFIX = 12
_FURTHER = (4, 24)
_FRESH = 0.5
_CHANGED = 0.4
_OFTEN = 3
_REDRAWS = 3
_DIGEST = 12
_MOST_KEPT, _MOST_COUNTED = 1_000, 20_000
"""Older plans, and what was seldom drawn, are forgotten, so that a search of days needs no more
memory than one of minutes."""

_FAILOVER_EACH = 12
"""Plans to each one with failovers on a real clock, where these take seconds."""
_DEPARTS = 0.04
"""Chance that a step is played in which a known departure shows."""
_NAMED = "fuzz"
_LIMITED = 0.05
"""Chance that a new plan has limits of what can be stored, if the target can have them."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """The conditions of plans: the revision that judges, the target's features, and its clock.

    `configs`: settings that a plan may ask for, each with all that is in force then; `departed`:
    the revision with the target's known departures, None if it has none; `avoided`: rules of which
    the target has a known failure without a departure.
    """

    revision: Revision
    hello: Hello
    hints: Hints
    lag_ms: int
    configs: Sequence[tuple[Mapping[str, int | None], Config]]
    departed: Revision | None = None
    avoided: frozenset[str] = frozenset()

    def times(self, config: Config) -> Times:
        """Return the named times under these settings."""
        hints = self.hints
        return times_for(
            config, lag_ms=self.lag_ms, session_ms=hints.session_ms, tick_ms=hints.tick_ms
        )


@dataclass(frozen=True, slots=True)
class DrawnPlan:
    """A plan, the kind of each of its requests, and what it covers in the model."""

    case: Plan
    words: tuple[str, ...]
    reached: PlanCoverage
    requests: int
    is_novel: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    """A plan that is kept: its steps and the settings that it asks for."""

    acts: tuple[PlannedStep, ...]
    settings: Mapping[str, int | None]


@dataclass(slots=True)
class Planner:
    """Makes plans, one after the other.  `known`: plans to start with."""

    context: PlanContext
    seed: int
    known: Iterable[Plan] = ()
    reached: PlanCoverage = field(default_factory=PlanCoverage)
    _plans: ProtocolPlans = field(init=False)
    _random: Random = field(init=False)
    _limits: Random = field(init=False)
    _corpus: deque[_Kept] = field(default_factory=lambda: deque(maxlen=_MOST_KEPT))
    _counts: Counter[object] = field(default_factory=Counter)
    _waiting: list[_Kept] = field(default_factory=list)
    _number: int = 0

    def __post_init__(self) -> None:
        """Put the known plans first, unchanged."""
        self._plans = plans_of(self.context.revision)
        self._random = Random(self.seed)  # noqa: S311  (to be repeated, not to be secret)
        self._limits = Random(f"limits {self.seed}")  # noqa: S311
        self._waiting = [_Kept(tuple(acts_of(c)), dict(c.needs.config)) for c in self.known]
        self._waiting.reverse()

    def next(self) -> DrawnPlan:
        """Make another plan."""
        while True:
            plan = self._made()
            if plan is not None and plan.requests:
                return plan

    def _made(self) -> DrawnPlan | None:
        random = self._random
        if self._waiting:
            kept = self._waiting.pop()
            return self._played(kept.acts, kept.settings, more=0)
        if not self._corpus or random.random() < _FRESH:
            settings = self._settings()
            return self._played((), settings, more=random.randint(3, _LONGEST))
        kept = self._parent()
        acts = self._mutated(list(kept.acts))
        return self._played(acts[:_PREFIX], kept.settings, more=random.randint(*_FURTHER))

    def _settings(self) -> Mapping[str, int | None]:
        """Draw the settings of a new plan.

        Those with limits have a source of chance of their own: without them, nothing changes.
        """
        known = [settings for settings, _ in self.context.configs]
        rare = [settings for settings in known if settings in self._plans.rare_settings]
        if rare and self._limits.random() < _LIMITED:
            return rare[0]
        return self._random.choice([settings for settings in known if settings not in rare])

    def _parent(self) -> _Kept:
        """One of the kept plans, more likely a recent one."""
        number = len(self._corpus)
        return self._corpus[int(number * max(self._random.random(), self._random.random()))]

    def _mutated(self, acts: list[PlannedStep]) -> list[PlannedStep]:
        random = self._random
        at = random.randrange(len(acts))
        match random.randrange(6):
            case 0:
                return acts[: at + 1]
            case 1:
                return acts[:at] + acts[at + random.randint(1, 3) :]
            case 2:
                there = random.randrange(at, min(at + 4, len(acts)))
                acts[at], acts[there] = acts[there], acts[at]
                return acts
            case 3:
                other = self._parent().acts
                return acts[: at + 1] + list(other[random.randrange(len(other)) :])
            case 4:
                acts[at] = replace(acts[at], hurry=not acts[at].hurry)
                return acts
            case _:
                return [*acts[: at + 1], acts[at], *acts[at + 1 :]]

    def _played(
        self, acts: Sequence[PlannedStep], settings: Mapping[str, int | None], *, more: int
    ) -> DrawnPlan | None:
        """Run these steps as far as they can be run, and `more` that are drawn; see `_finished`."""
        random = self._random
        config = self._config(settings)
        context = self.context
        dry_run = DryRun(
            context.revision,
            self._hello(settings),
            config,
            context.times(config),
            context.departed,
            self._plans.shape,
        )
        participants = self._plans.participants(random, config)
        known = [act.step.who for act in acts if isinstance(act.step, Request)]
        homes = {**{who: home_of(who) for who in known if who != "admin"}, **participants.homes}
        drawer = self._plans.drawer(random, dry_run, Participants(homes, config))
        place = random.randrange(len(acts)) if acts and more and random.random() < _CHANGED else -1
        for number, act in enumerate(acts[: 2 * _LONGEST]):
            changed = drawer.with_boundary_value(act) if number == place else None
            if not more or self._is_playable(dry_run, changed or act):
                self._play(dry_run, changed or act)
        for _ in range(more):
            drawn = self._unusual(drawer, dry_run)
            for _ in range(_REDRAWS):
                if self._is_playable(dry_run, drawn):
                    self._play(dry_run, drawn)
                    break
                drawn = self._unusual(drawer, dry_run)
        return self._finished(dry_run, settings, drawn=more > 0)

    def _is_playable(self, dry_run: DryRun, act: PlannedStep) -> bool:
        """Tell if to play a step: always, unless a known departure or failure shows in it."""
        avoided = self.context.avoided
        is_known = dry_run.departs(act) or (
            avoided and not avoided.isdisjoint(dry_run.rules_of(act))
        )
        return not is_known or self._random.random() < _DEPARTS

    def _play(self, dry_run: DryRun, act: PlannedStep) -> None:
        """Add a step, if it can be run, and its group is not one that all users share."""
        shared = self.context.hello.clock == "real"
        if not (shared and isinstance(act.step, Request) and is_about_unnamed_group(act.step)):
            dry_run.play(act)

    def _unusual(self, drawer: StepDrawer, dry_run: DryRun) -> PlannedStep:
        """Draw steps until one is rare for a group in such a state; the last one if none is."""
        act, count = self._drawn(drawer, dry_run)
        for _ in range(_REDRAWS):
            if count <= _OFTEN:
                break
            act, count = self._drawn(drawer, dry_run)
        return act

    def _drawn(self, drawer: StepDrawer, dry_run: DryRun) -> tuple[PlannedStep, int]:
        act = drawer.draw()
        home = home_of(act.step.who) if isinstance(act.step, Request) else "g"
        key = self._plans.shape(dry_run.group(home)), act.word
        if len(self._counts) >= _MOST_COUNTED and key not in self._counts:
            self._counts = Counter(dict(self._counts.most_common(_MOST_COUNTED // 2)))
        self._counts[key] += 1
        return act, self._counts[key]

    def _hello(self, settings: Mapping[str, int | None]) -> Hello:
        """Return the target's features; on a real clock mostly without failover.

        There topics are deleted only where unused groups may be removed, since an old coordinator
        then removes those of all plans.
        """
        hello = self.context.hello
        self._number += 1
        may_fail_over = settings in self._plans.real_settings[: self._plans.failing_over]
        fails_over = may_fail_over and self._number % _FAILOVER_EACH == 0
        if hello.clock == "virtual":
            return hello
        lacks = set() if fails_over else {"restart", MOVES}
        lacks |= set() if self._config(settings).get(CLEANER) else {"delete-topics"}
        return replace(hello, features=hello.features - lacks)

    def _config(self, settings: Mapping[str, int | None]) -> Config:
        """Return the settings in force; a plan can't have those that the target lacks."""
        for known, config in self.context.configs:
            if known == settings:
                return config
        return self.context.configs[0][1]

    def _finished(
        self, dry_run: DryRun, settings: Mapping[str, int | None], *, drawn: bool
    ) -> DrawnPlan | None:
        """Make the plan; None if it was drawn and proves nothing, however quick the target is."""
        context = self.context
        real = context.hello.clock == "real"
        steps = dry_run.end()
        known = any(settings == other for other, _ in context.configs)
        needs = Needs(config=dict(settings if known else context.configs[0][0]))
        last = dry_run.last_rules[-1] if dry_run.last_rules else "nothing-decided"
        case = Plan(
            f"{_NAMED}/{_digest(steps, needs)}-{last}",
            ABOUT,
            (),
            Level.MUST,
            steps,
            needs,
            isolated=real and self._plans.is_risky(steps),
        )
        if drawn and real and blurred(case, dry_run.times, context.lag_ms):
            return None
        is_novel = self.reached.add(dry_run.reached) > 0
        if is_novel and dry_run.acts:
            self._corpus.append(_Kept(tuple(dry_run.acts), needs.config))
        words = tuple(act.word for act in dry_run.acts if isinstance(act.step, Request))
        return DrawnPlan(case, words, dry_run.reached, dry_run.requests, is_novel)


def _digest(steps: Iterable[PlanStep], needs: Needs) -> str:
    steps_json = [written(step) for step in steps]
    text = json.dumps([steps_json, dict(sorted(needs.config.items()))])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
