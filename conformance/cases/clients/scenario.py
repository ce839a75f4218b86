"""A scenario: what is done to a client, and which obligations its evidence is judged by.

What can be waited for: data that can be written as JSON, as all steps can.

Times are ms.  A consumer is named as in its `Start`; `Start` of the same name again is a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fencepost.conformance.cases.clients.provocation import Provocation
from fencepost.model.plans.steps import (
    ClearFaults,
    Close,
    Commit,
    Crash,
    ExpireSession,
    Failover,
    Loading,
    Produce,
    RemoveMember,
    RestartBroker,
    ResumePolling,
    Start,
    Step,
    StopPolling,
    Subscribe,
    Unavailable,
    Unsubscribe,
    dashed,
)


class InjectFaults(Step, tag="provoke", frozen=True):
    """Let something go wrong from now on."""

    provocations: tuple[Provocation, ...]


class Condition(msgspec.Struct, frozen=True, tag=dashed, tag_field="until", omit_defaults=True):
    """Something that is waited for."""


class Settled(Condition, frozen=True):
    """These consumers have all partitions among them, each some, in one generation.

    Each has been answered a heartbeat in it since the wait began.
    """

    consumers: tuple[str, ...]


class Assigned(Condition, frozen=True):
    """The consumer's user has partitions."""

    consumer: str


class Calls(Condition, frozen=True):
    """So many requests of this API of the consumer's last life, from the act before on."""

    consumer: str
    api: str
    count: int = 1


class Answered(Condition, frozen=True):
    """A request of this API of the consumer's last life is answered with this error."""

    consumer: str
    api: str
    error: str


class Parked(Condition, frozen=True):
    """A request of this API of the consumer's last life has no answer yet."""

    consumer: str
    api: str


class Told(Condition, frozen=True):
    """The consumer's user is told of an error; `code`: a part of its name."""

    consumer: str
    code: str = ""


class Read(Condition, frozen=True):
    """The consumer's user has read records, from the act before on."""

    consumer: str


class Passed(Condition, frozen=True):
    """So much time has passed since the wait began: what should not happen has had its time."""

    ms: int


AnyCondition = Settled | Assigned | Calls | Answered | Parked | Told | Read | Passed


class Until(Step, tag="await", frozen=True):
    """Wait for a condition, so long at most.

    `needed`: without it the scenario shows nothing; else it goes on, and the judges see.
    """

    condition: AnyCondition = msgspec.field(name="until")
    within_ms: int = 15_000
    needed: bool = False


ScenarioStep = (
    Start
    | Close
    | Crash
    | StopPolling
    | ResumePolling
    | Commit
    | Unsubscribe
    | Subscribe
    | Produce
    | InjectFaults
    | ClearFaults
    | RemoveMember
    | ExpireSession
    | Failover
    | Loading
    | Unavailable
    | RestartBroker
    | Until
)
SERVED_ONLY = (
    InjectFaults,
    ClearFaults,
    ExpireSession,
    Failover,
    Loading,
    Unavailable,
    RestartBroker,
)
"""What no real broker does when it is told to."""


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
    acts: tuple[ScenarioStep, ...]
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
