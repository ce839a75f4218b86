"""Define a scenario: steps, conditions, and the requirements that its evidence is judged by.

Conditions and steps can be written as JSON.  Times are ms.  A consumer is named as in its `Start`;
`Start` of the same name again is a restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from fencepost.conformance.cases.clients.provocation import Provocation
from fencepost.model.plans.steps import (
    AddPartitions,
    ClearFaults,
    Close,
    Commit,
    Crash,
    ExpireSession,
    Failover,
    JoinGuest,
    Loading,
    Produce,
    ReleaseHeld,
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
    """Inject faults from now on."""

    provocations: tuple[Provocation, ...]


class Condition(msgspec.Struct, frozen=True, tag=dashed, tag_field="until", omit_defaults=True):
    """A condition of a wait."""


class Settled(Condition, frozen=True):
    """These consumers have all partitions among them, each some, in one generation.

    Each has been answered a heartbeat in it since the wait began.
    """

    consumers: tuple[str, ...]


class Assigned(Condition, frozen=True):
    """The consumer's user has partitions."""

    consumer: str


class Calls(Condition, frozen=True):
    """`count` requests of this API of the consumer's last run came, from the act before on."""

    consumer: str
    api: str
    count: int = 1


class Answered(Condition, frozen=True):
    """A request of this API of the consumer's last run is answered with this error."""

    consumer: str
    api: str
    error: str


class Parked(Condition, frozen=True):
    """A request of this API of the consumer's last run has no answer yet."""

    consumer: str
    api: str


class ErrorReported(Condition, tag="told", frozen=True):
    """The consumer's user received an error; `code`: a part of its name."""

    consumer: str
    code: str = ""


class Read(Condition, frozen=True):
    """The consumer's user has read records, from the act before on."""

    consumer: str


class Passed(Condition, frozen=True):
    """`ms` have passed since the wait began: time enough for an event that should not come."""

    ms: int


AnyCondition = Settled | Assigned | Calls | Answered | Parked | ErrorReported | Read | Passed


class Until(Step, tag="await", frozen=True):
    """Wait for a condition, at most `within_ms`.

    `needed`: without it the scenario proves nothing; else it goes on, and the judges decide.
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
    | JoinGuest
    | AddPartitions
    | InjectFaults
    | ClearFaults
    | ReleaseHeld
    | RemoveMember
    | ExpireSession
    | Failover
    | Loading
    | Unavailable
    | RestartBroker
    | Until
)
SERVED_ONLY = (
    AddPartitions,
    InjectFaults,
    ClearFaults,
    ReleaseHeld,
    ExpireSession,
    Failover,
    Loading,
    Unavailable,
    RestartBroker,
)
"""Steps that no real broker takes on demand."""


TOPIC = "orders"
PARTITIONS = 6


class Setting(msgspec.Struct, frozen=True, omit_defaults=True):
    """Settings of the broker.

    `as_of`: the release whose versions it has; None: the newest.  `nodes`: their number.
    `delay_ms`: group.initial.rebalance.delay.ms.  `partitions`: the topic's.
    """

    as_of: str | None = None
    nodes: int = 1
    delay_ms: int = 0
    partitions: int = PARTITIONS


class Scenario(msgspec.Struct, frozen=True, omit_defaults=True):
    """A list of steps, and the requirements that their evidence is judged by.

    `needs`: features of a driver (`static`, `manual-commit`, …).  `assignor`: of its consumers,
    None: the usual one.
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
        """Tell if it has steps or settings that need a served broker."""
        is_served_only = any(isinstance(act, SERVED_ONLY) for act in self.acts)
        return is_served_only or self.broker != Setting()

    def with_dynamic_members(self, obligations: tuple[str, ...]) -> Scenario:
        """Return its twin: the same steps without instance ids, for these obligations.

        A dynamic member joins twice where a static one joins once, since it needs a member id
        first.  So what befalls a first JoinGroup befalls the second one, too.
        """
        acts: list[ScenarioStep] = []
        has_begun = False
        for act in self.acts:
            has_begun = has_begun or isinstance(act, Start)
            if isinstance(act, Start):
                acts.append(replace(act, instance=None))
            elif isinstance(act, InjectFaults) and not has_begun:
                acts.append(InjectFaults(tuple(map(_on_both_joins, act.provocations))))
            else:
                acts.append(act)
        return replace(
            self,
            id=f"{self.id}-dynamic",
            about=_about_dynamic(self.about),
            obligations=obligations,
            acts=tuple(acts),
            needs=tuple(need for need in self.needs if need != "static"),
        )

    def processes(self) -> Mapping[str, tuple[str, ...]]:
        """List the consumers of each process, in the order of their first start."""
        processes: dict[str, dict[str, None]] = {}
        for act in self.acts:
            if isinstance(act, Start):
                processes.setdefault(process_of(act), {})[act.consumer] = None
        return {process: tuple(names) for process, names in processes.items()}

    def to_json(self) -> dict[str, Any]:
        """Write the scenario as a JSON object."""
        document: dict[str, Any] = msgspec.to_builtins(self)
        return document


def _on_both_joins(provocation: Provocation) -> Provocation:
    until = provocation.until
    if provocation.api != "JoinGroup" or until is None:
        return provocation
    return replace(provocation, last=until + 1)


def _about_dynamic(about: str) -> str:
    if "static" in about:
        return about.replace("static", "dynamic")
    return f"{about}  Members are dynamic."


def process_of(start: Start) -> str:
    """Return the process of a consumer: its own, where none is named."""
    return start.process or start.consumer


def client_id(consumer: str, number: int) -> str:
    """Return the client id of a consumer's run, from 1: provocations name it by that."""
    return f"{consumer}.{number}"


def read_scenario(document: Any) -> Scenario:
    """Read a scenario from its JSON object.  Raises msgspec.ValidationError."""
    return msgspec.convert(document, Scenario)
