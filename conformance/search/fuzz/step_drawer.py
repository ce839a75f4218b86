"""Draw steps as both protocols do: by whom, again, and with a boundary value in one field.

A plan has processes of some instances, dynamic members, and rarely a second group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, NamedTuple

from msgspec import structs

from fencepost.conformance.search.fuzz.dry_run import DryRun, PlannedStep
from fencepost.model.coordinator import MOVES, Config
from fencepost.model.plans.steps import (
    Failover,
    MoveCoordinator,
    Pause,
    Request,
)

_RARE = 12
"""Factor by which values are rarer that make much work for a target or for us."""


class About(NamedTuple):
    """The sender of a request, the other members, their groups, and the target's settings.

    `no_topic`: the name of a topic that doesn't exist, or of any, where a target has all of them.
    """

    who: str
    others: tuple[str, ...]
    home: str
    elsewhere: str
    config: Config
    no_topic: str


Draw = Callable[[Random, About], Any]


class BoundaryValue(NamedTuple):
    """A boundary value: its field, its name, how it is drawn, and whether it is rare."""

    field: str
    name: str
    draw: Draw
    rare: bool = False

    @property
    def id(self) -> str:
        """A name for counting."""
        return f"{self.field} {self.name}"


def same(value: Any) -> Draw:
    """Return the draw that gives this value each time."""

    def draw(random: Random, about: About) -> Any:
        del random, about
        return value

    return draw


ByField = Mapping[str, tuple[BoundaryValue, ...]]


def boundary_values_by_field(values: Iterable[BoundaryValue]) -> ByField:
    """Return boundary values by the field that they are for."""
    by_field: dict[str, tuple[BoundaryValue, ...]] = {}
    for boundary in values:
        by_field[boundary.field] = (*by_field.get(boundary.field, ()), boundary)
    return by_field


_ONLY = {"groups": "DescribeGroups", "topics": "OffsetCommit"}
"""Fields with the same name that mean something else in another API."""


def draw_boundary_value(
    random: Random, api: str, fields: Iterable[str], values: ByField
) -> BoundaryValue | None:
    """Draw a boundary value for one of these fields of a request; None where there is none."""
    known_fields = [f for f in fields if f in values and _ONLY.get(f, api) == api]
    if not known_fields:
        return None
    candidates = values[random.choice(known_fields)]
    boundary = random.choice(candidates)
    if boundary.rare and random.randrange(_RARE):
        return random.choice([e for e in candidates if not e.rare])
    return boundary


INSTANCES = ("A", "B")
_PROCESSES = ("A1", "A2", "B1", "B2", "A3")
_DYNAMIC = ("a", "b", "c")
_ELSEWHERE = ("C1", "d")
AGAIN = 0.05
"""Chance that a step repeats a request."""
_RESTART, _RESTART_REAL = 0.01, 0.08
"""Chance that a step is a failover; on a real clock only some plans may have one at all."""

_BY_MOVE = 0.5
"""Chance that another coordinator takes over by a move instead of a failover."""

SECOND = " again"
"""The end of the name of a second connection."""
WeightedPauses = tuple[tuple[float, Pause], ...]


@dataclass(frozen=True, slots=True)
class Participants:
    """The members of a plan, and the group that each belongs to."""

    homes: Mapping[str, str]
    config: Config

    def others(self, who: str) -> tuple[str, ...]:
        """Everybody else."""
        return tuple(name for name in self.homes if name != who)


def home_of(who: str) -> str:
    """Return the group that a member belongs to."""
    return "h" if who in _ELSEWHERE else "g"


def draw_participants(
    random: Random, config: Config, numbers: Sequence[int], most_dynamic: int, two_groups: float
) -> Participants:
    """Draw members: processes of one or two instances, some dynamic ones, rarely a second group.

    `numbers`: how many of a kind there may be, of dynamic ones no more than `most_dynamic`;
    `two_groups`: the chance of a second group.
    """
    few = random.choice(numbers)
    statics = random.sample(_PROCESSES, random.randint(0, few))
    dynamics = list(_DYNAMIC[: random.randint(0 if statics else 1, min(few, most_dynamic))])
    homes = dict.fromkeys([*statics, *dynamics], "g")
    if random.random() < two_groups:
        homes |= {who: home_of(who) for who in _ELSEWHERE}
    return Participants(homes, config)


class StepDrawer(ABC):
    """Draws steps for one dry run.

    `boundaries`: the boundary values of the protocol's fields; `any_topic`: the topic that is named
    where a target has all topics; `dutiful`: the chance that a step is of a member that is due.
    """

    boundaries: ClassVar[ByField]
    any_topic: ClassVar[str]
    dutiful: ClassVar[float]
    _pauses: WeightedPauses

    def __init__(
        self,
        random: Random,
        dry_run: DryRun,
        participants: Participants,
    ) -> None:
        self._random = random
        self._dry_run = dry_run
        self._participants = participants
        self._virtual = dry_run.hello.clock == "virtual"
        self._failover = 0.0
        if "restart" in dry_run.hello.features:
            self._failover = _RESTART if self._virtual else _RESTART_REAL

    @abstractmethod
    def draw(self) -> PlannedStep:
        """Draw a step; its word says what kind of request it is, and what is unusual about it."""

    @abstractmethod
    def _is_due(self, who: str) -> bool:
        """Return True if the group waits for a member."""

    def with_boundary_value(self, act: PlannedStep) -> PlannedStep | None:
        """Put a boundary value into a field of a request; None where there is none for it."""
        if not isinstance(act.step, Request):
            return None
        who = act.step.who
        boundary = draw_boundary_value(self._random, act.step.api, act.step.fields, self.boundaries)
        if boundary is None:
            return None
        fields = {**act.step.fields, boundary.field: boundary.draw(self._random, self._about(who))}
        return replace(
            act, step=structs.replace(act.step, fields=fields), word=f"{act.step.api} {boundary.id}"
        )

    def _about(self, who: str) -> About:
        home = self._participants.homes.get(who, "g")
        elsewhere = "h" if home == "g" else "g"
        no_topic = "missing" if "missing-topics" in self._dry_run.hello.features else self.any_topic
        return About(
            who,
            self._participants.others(who),
            home,
            elsewhere,
            self._participants.config,
            no_topic,
        )

    def _takeover(self) -> PlannedStep:
        """Let another coordinator take over; where it can, by a move as often as by a failover."""
        if MOVES in self._dry_run.hello.features and self._random.random() < _BY_MOVE:
            return PlannedStep(MoveCoordinator(), word=MOVES)
        return PlannedStep(Failover(), word="restart")

    def _somebody(self) -> str:
        """Choose a member; mostly one for which its group waits, so that the group goes on."""
        everybody = list(self._participants.homes)
        if self._random.random() < self.dutiful:
            everybody = [who for who in everybody if self._is_due(who)] or everybody
        return self._random.choice(everybody)

    def _pause(self) -> PlannedStep:
        pauses = [pause for _, pause in self._pauses]
        drawn = self._random.choices(pauses, [weight for weight, _ in self._pauses])[0]
        return PlannedStep(drawn, word="pause")

    def _again(self, who: str) -> PlannedStep | None:
        """Repeat a request of a member unchanged, sometimes on another connection."""
        earlier = [
            act.step
            for act in self._dry_run.acts
            if isinstance(act.step, Request) and act.step.who == who
        ]
        if not earlier:
            return None
        ask = self._random.choice(earlier)
        connection = self._random.choice([None, who + SECOND])
        return PlannedStep(structs.replace(ask, connection=connection), word=f"{ask.api} as before")
