"""A scenario: what is done to a client, and which obligations its evidence is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.scenario_steps import SERVED_ONLY, AnyAct, Start

TOPIC = "orders"
PARTITIONS = 6


class Setting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the broker is like.

    `as_of`: the release whose versions it has; None: the newest.  `nodes`: how many.  `delay_ms`:
    group.initial.rebalance.delay.ms.
    """

    as_of: str | None = None
    nodes: int = 1
    delay_ms: int = 0


class Scenario(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is done, in order, and what is judged then.

    `needs`: features of a driver (`static`, `manual-commit`, …).  `assignor`: what its consumers
    use, None: what is usual.
    """

    id: str
    about: str
    obligations: tuple[str, ...]
    acts: tuple[AnyAct, ...]
    needs: tuple[str, ...] = ("static",)
    assignor: str | None = None
    broker: Setting = Setting()

    @property
    def is_provoking(self) -> bool:
        """Whether it asks for what only a served broker does."""
        told = any(isinstance(act, SERVED_ONLY) for act in self.acts)
        return told or self.broker != Setting()

    def processes(self) -> Mapping[str, tuple[str, ...]]:
        """The consumers of each process, in the order of their first start."""
        found: dict[str, dict[str, None]] = {}
        for act in self.acts:
            if isinstance(act, Start):
                found.setdefault(process_of(act), {})[act.consumer] = None
        return {process: tuple(names) for process, names in found.items()}

    def to_json(self) -> dict[str, Any]:
        """The scenario as a JSON object."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


def process_of(start: Start) -> str:
    """The process of a consumer: its own, where none is named."""
    return start.process or start.consumer


def client_id(consumer: str, number: int) -> str:
    """The client id of a consumer in its how many-th life: what provocations name it by."""
    return f"{consumer}.{number}"


def read_scenario(document: Any) -> Scenario:
    """Read a scenario from its JSON object.  Raises msgspec.ValidationError."""
    return msgspec.convert(document, Scenario)
