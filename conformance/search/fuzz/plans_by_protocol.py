"""Find what the fuzzer needs of a revision's protocol to draw plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from fencepost.conformance.search.fuzz import consumer_generator, generator
from fencepost.conformance.search.fuzz.dry_run import (
    DryRun,
    GroupShape,
    group_shape,
)
from fencepost.conformance.search.fuzz.step_drawer import Participants, StepDrawer
from fencepost.model.coordinator import Config
from fencepost.model.plans.steps import PlanStep
from fencepost.model.revision import Revision

Settings = Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class ProtocolPlans:
    """Drawing of plans of one protocol.

    `joins_by`: the API without which no plan can be drawn.  `settings`: those that are tried on a
    virtual clock; `real_settings`: on a real one, of which the first `failing_over` have one broker
    more, for failovers; `rare_settings`: on both, for few plans.  `pair_settings`,
    `real_pair_settings`: those under which targets are compared.  `participants`: draws the members
    of a plan; `shape`: describes a group without names and numbers; `is_risky`: True if steps may
    kill some coordinators.
    """

    joins_by: str
    settings: tuple[Settings, ...]
    real_settings: tuple[Settings, ...]
    failing_over: int
    rare_settings: tuple[Settings, ...]
    pair_settings: tuple[Settings, ...]
    real_pair_settings: tuple[Settings, ...]
    participants: Callable[[Random, Config], Participants]
    drawer: Callable[[Random, DryRun, Participants], StepDrawer]
    shape: Callable[[Any], GroupShape]
    is_risky: Callable[[Iterable[PlanStep]], bool]


PLANS: Mapping[str, ProtocolPlans] = {
    "classic": ProtocolPlans(
        "JoinGroup",
        generator.SETTINGS,
        generator.REAL_SETTINGS,
        generator.FAILING_OVER,
        (generator.LIMITED,),
        generator.PAIR_SETTINGS,
        generator.PAIR_SETTINGS,
        generator.draw_participants,
        generator.Drawer,
        group_shape,
        generator.is_risky,
    ),
    "consumer": ProtocolPlans(
        "ConsumerGroupHeartbeat",
        consumer_generator.SETTINGS,
        consumer_generator.REAL_SETTINGS,
        consumer_generator.FAILING_OVER,
        (),
        consumer_generator.SETTINGS,
        consumer_generator.REAL_SETTINGS,
        consumer_generator.draw_participants,
        consumer_generator.ConsumerDrawer,
        consumer_generator.group_shape,
        consumer_generator.is_risky,
    ),
}
"""Name of a protocol → its part."""


def plans_of(revision: Revision) -> ProtocolPlans:
    """Return what the fuzzer needs of a revision's protocol."""
    return PLANS[revision.protocol.name]
