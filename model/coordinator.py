"""Define the interface of a coordinator, which every target offers so that it can be checked.

These are the commands of adapter protocol 1 as Python calls.  The model itself, a program on stdio
and a broker over TCP all implement it.

Times are ms since `reset`.  A `virtual` clock moves only with `advance`; a `real` one runs. Bodies
are JSON objects as in `fencepost.model.messages.messages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from fencepost.model.plans.steps import OperatorStep

Body = Mapping[str, Any]
Config = Mapping[str, int | None]

METADATA_LIMIT, RECORD_LIMIT = "offset.metadata.max.bytes", "message.max.bytes"
CONFIG_DEFAULTS: dict[str, int | None] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": None,
    "offsets.retention.check.interval.ms": None,
    METADATA_LIMIT: None,
    RECORD_LIMIT: None,
}
"""Kafka's settings that the model knows, and their defaults; None: no limit, or never.

`offsets.retention.check.interval.ms` counts only for a coordinator that reports clean-ups.  The
last two have limits in Kafka, too (4,096 and 1,048,588); here they have none unless a coordinator
states it.
"""


TOPICS = "topics"
"""The feature that a reset takes the topics that there are."""
PARTITIONS = "num.partitions"
MIGRATION_POLICY = "group.consumer.migration.policy"
NAMED_VALUES: Mapping[str, tuple[str, ...]] = {
    MIGRATION_POLICY: ("disabled", "upgrade", "downgrade", "bidirectional"),
}
"""Settings whose values have names outside; a `Config` has the number of the name."""
MOVES = "move-coordinator"
"""The feature, and the command, that a coordinator moves to another broker that runs."""


class Topic(msgspec.Struct, frozen=True):
    """A topic: its id, as Kafka prints it, and the number of its partitions; 0: it was deleted."""

    id: str
    partitions: int


Topics = Mapping[str, Topic]
"""The topics that there are, by name."""


def named(config: Config) -> dict[str, int | str | None]:
    """Return a config with the names of values, as bodies and files have it."""
    return {
        key: NAMED_VALUES[key][value] if key in NAMED_VALUES and value is not None else value
        for key, value in config.items()
    }


def numbered(config: Mapping[str, int | str | None]) -> dict[str, int | None]:
    """Return a config with numbers in place of names, in whatever case they are.

    Raises ValueError for another name.
    """
    return {
        key: _number(key, value) if isinstance(value, str) else value
        for key, value in config.items()
    }


def _number(key: str, name: str) -> int:
    names = NAMED_VALUES.get(key, ())
    if name.lower() not in names:
        known = f"the values are {', '.join(names)}" if names else "give a whole number"
        raise ValueError(f"{key}={name}: {known}")
    return names.index(name.lower())


class UnsupportedError(Exception):
    """Raised for a request or feature that a coordinator doesn't offer; no failure of it.

    `str()` gives the reason.
    """


class CoordinatorFailure(Exception):
    """Raised when the coordinator (or its adapter) itself failed: hung, died, broke protocol."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a certificate's results: the target's name, implementation and version."""

    target: str
    implementation: str
    version: str
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Hello:
    """A coordinator's description of itself.

    `apis`: name → (lowest, highest version); `broken`: versions in between that don't work.
    """

    implementation: str
    version: str
    clock: Literal["virtual", "real"]
    apis: Mapping[str, tuple[int, int]]
    features: frozenset[str] = frozenset()
    broken: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def versions(self, api: str) -> tuple[int, ...]:
        """Return the versions of an API that work, in order; none of an API that it lacks."""
        low, high = self.apis.get(api, (0, -1))
        broken = self.broken.get(api, frozenset())
        return tuple(version for version in range(low, high + 1) if version not in broken)

    def within(self, apis: Mapping[str, tuple[int, int]]) -> Hello:
        """Return the description without newer versions of an API than a revision has."""
        known = {
            api: (low, min(high, apis[api][1]) if api in apis and low <= apis[api][1] else high)
            for api, (low, high) in self.apis.items()
        }
        return replace(self, apis=known)


def spans(versions: Iterable[int]) -> str:
    """Write versions in order as people write them: `version 3`, `versions 0, 4 and 7 to 9`."""
    runs: list[list[int]] = []
    for version in versions:
        if runs and version == runs[-1][-1] + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    parts: list[str] = []
    for run in runs:
        is_long = run[-1] - run[0] > 1
        parts += [f"{run[0]} to {run[-1]}"] if is_long else map(str, run)
    if len(parts) == 1:
        return f"versions {parts[0]}" if len(runs[0]) > 1 else f"version {parts[0]}"
    return f"versions {', '.join(parts[:-1])} and {parts[-1]}"


class Send(msgspec.Struct, frozen=True):
    """A request: its id, its connection and client, its API and version, and its body.

    A connection has at most one request without an answer.
    """

    id: str
    connection: str
    client_id: str
    api: str
    version: int
    body: Body


class Answer(msgspec.Struct, frozen=True):
    """An answer, or (`body` None) the end of the connection without one.

    `at_ms`: time of the answer on the coordinator's clock; it never goes back. `findings`: errors
    in its bytes, a sentence each; empty if there are none.
    """

    id: str
    at_ms: int
    body: Body | None
    findings: tuple[str, ...] = ()


def codes_in(body: Body) -> Iterator[int]:
    """Yield all error codes of an answer: at the top and in any row."""
    if isinstance(code := body.get("errorCode"), int):
        yield code
    for value in body.values():
        for row in value if isinstance(value, list) else ():
            if isinstance(row, dict):
                yield from codes_in(row)


@dataclass(frozen=True, slots=True)
class Reset:
    """The configuration in force after a reset, and the ids of the requests that it dropped.

    `topics`: those that there are, where a reset named them.
    """

    config: Config
    dropped: tuple[str, ...] = ()
    topics: Topics = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The effects of a disconnect or restart: answers, and the ids of requests that get none.

    `outage`: for a restart that did not begin at once (several runs may share one restart, and wait
    for each other): its start, and the end of the old coordinator, in seconds of the monotonic
    clock.  The answers came before that; `read` gives their times, by the same clock.  `late`:
    answers that came after its start, where the old coordinator goes on.
    """

    answers: tuple[Answer, ...]
    dropped: tuple[str, ...]
    outage: tuple[float, float] | None = None
    late: tuple[Answer, ...] = ()
    read: tuple[float, ...] = ()


class Coordinator(Protocol):
    """A coordinator with plain calls.  They raise UnsupportedError or CoordinatorFailure."""

    def hello(self) -> Hello:
        """Return the coordinator's description of itself."""
        ...

    def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Forget all groups and take these settings; those left out have their defaults.

        `topics`: those that there are from now on (feature `topics`); None: the coordinator's own.
        """
        ...

    def send(self, request: Send) -> Sequence[Answer]:
        """Handle a request.  Returned answers may belong to earlier, parked requests."""
        ...

    def advance(self, ms: int) -> Sequence[Answer]:
        """Let this much time pass; a timer that is due exactly at the end fires."""
        ...

    def disconnect(self, connection: str) -> Dropped:
        """Drop a connection, as its client would (feature `disconnect`)."""
        ...

    def restart(self) -> Dropped:
        """Fail over: load the stored groups, and nothing else (feature `restart`)."""
        ...

    def move(self) -> Dropped:
        """Move to another broker, or back; this one goes on (feature `move-coordinator`).

        All connections stay, and whoever waits is answered.
        """
        raise UnsupportedError(MOVES)

    def operate(self, step: OperatorStep) -> Sequence[Answer]:
        """Do what an operator does (feature: the step's name); answers as in `send`."""
        raise UnsupportedError(step.do)

    def close(self) -> None:
        """Stop; nothing is left running."""
        ...


class AsyncCoordinator(Protocol):
    """The calls as coroutines.  They raise UnsupportedError or CoordinatorFailure."""

    async def hello(self) -> Hello:
        """Return the coordinator's description of itself."""
        ...

    async def reset(self, config: Config, topics: Topics | None = None) -> Reset:
        """Forget all groups and take these settings; return those in force.

        `topics`: those that there are from now on (feature `topics`); None: the coordinator's own.
        """
        ...

    async def send(self, request: Send) -> Sequence[Answer]:
        """Send a request; return the answers that have come so far."""
        ...

    async def advance(self, ms: int) -> Sequence[Answer]:
        """Let time pass (virtual clock), or wait for it (real clock) until answers come."""
        ...

    async def disconnect(self, connection: str) -> Dropped:
        """Drop a connection, as its client would (feature `disconnect`)."""
        ...

    async def restart(self) -> Dropped:
        """Fail over: load the stored groups, and nothing else (feature `restart`)."""
        ...

    async def move(self) -> Dropped:
        """Move to another broker, or back; this one goes on (feature `move-coordinator`)."""
        raise UnsupportedError(MOVES)

    async def operate(self, step: OperatorStep) -> Sequence[Answer]:
        """Do what an operator does (feature: the step's name); return when it is done."""
        raise UnsupportedError(step.do)

    async def close(self) -> None:
        """Stop; nothing is left running."""
        ...
