"""Steps: what is done to a coordinator, to its clients and around them; plans of steps.

A plan names members ("A1", the first process of instance "A") instead of ids, and times by name
instead of in ms.  So the same plan runs on a model with a virtual clock and on a broker whose
settings nobody can change.  References are resolved from the answers as they come.

`describe` says in words what a step of a plan does.  `spelling` writes plans as JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from fencepost.model.history.events import EVENTS, Event
from fencepost.model.messages.consumer_messages import TopicPartitions
from fencepost.model.messages.messages import JoinProtocol, LeavingMember
from fencepost.model.table.table import Level


def instance_of(who: str) -> str | None:
    """Return the instance id that a member of this name has."""
    return who.rstrip("0123456789") if who[0].isupper() else None


class Ref(msgspec.Struct, frozen=True):
    """A value that is known only while a plan runs."""


class IdOf(Ref, frozen=True):
    """The member id that a member was told last; `back` 1: the one before, and so on.

    Resolves to "" for a member that was told none yet.
    """

    who: str
    back: int = 0


class GenerationOf(Ref, frozen=True):
    """The generation that a member was told last, plus `plus`; -1 before any."""

    who: str
    plus: int = 0


class EpochOf(Ref, frozen=True):
    """The member epoch that a member was told last; `back` 1: the one before, and so on.

    `plus` is added to it.  Resolves to 1 for a member that was told none yet: that joins nowhere.
    """

    who: str
    back: int = 0
    plus: int = 0


class OwnedOf(Ref, frozen=True):
    """The partitions that a member was told last that it may own, as a heartbeat says them.

    `back` 1: those that it was told before, and so on; none for a member that was told none.
    """

    who: str
    back: int = 0


class Ms(Ref, frozen=True):
    """A time by name: `session`, `short session`, `rebalance`, `short rebalance`, `formation`.

    `group session` is the session timeout of the consumer protocol, which is the broker's.

    Where time passes in ticks: `tick of time`, `two ticks`, `three ticks`, in the consumer protocol
    `group tick`, `three group ticks`, see `Times`.
    `formation` is the rebalance timeout of members that form a group.  On a real clock it is no
    longer than the initial delay, if that is long, so that a member that joins does not prolong the
    delay.
    """

    name: str


class AssignmentsIfLeader(Ref, frozen=True):
    """The assignments of a sync: bytes by member, if the sender was told that it is the leader."""

    who: str
    by_member: tuple[tuple[Any, bytes], ...]


class AssignmentsToAll(Ref, frozen=True):
    """One assignment for all members in the answer to the sender's last join; none without any."""

    who: str
    assignment: bytes


class ProtocolOf(Ref, frozen=True):
    """The protocol that a member was told last; `part` is `type` or `name`."""

    who: str
    part: str


def dashed(name: str) -> str:
    """Return the name of a class as it is written in JSON: `stop-polling`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


class Step(
    msgspec.Struct,
    frozen=True,
    tag=dashed,
    tag_field="act",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """Something that is done.

    Scenarios write the class as `act` and leave defaults out, which is msgspec's own form; plans
    write it as `do`, with all fields; see `spelling`.
    """


# What a plan does to a coordinator.


class Request(Step, tag="ask", frozen=True):
    """Send a request.

    `fields`: the message's attributes, values or references.  `version` None: the highest that the
    target has, but not above `at_most`.
    """

    label: str
    who: str
    api: str
    fields: Mapping[str, Any]
    version: int | None = None
    at_most: int | None = None
    connection: str | None = None
    group_ids: tuple[str, ...] = ("g",)


class Await(Step, frozen=True):
    """Wait until these requests are answered."""

    labels: tuple[str, ...]


class Pause(Step, frozen=True):
    """Let time pass: the sum of these times, and some margins that the clock can show.

    `minus`: the margins are subtracted; `parts`: only this part of the sum, e.g. a third.
    """

    times: tuple[Ms, ...] = ()
    margins: int = 1
    minus: bool = False
    parts: int = 1


class Settle(Step, frozen=True):
    """Give requests a moment to be handled, so that their order is certain."""


class Disconnect(Step, frozen=True):
    """A member's connection drops."""

    who: str


class Failover(Step, tag="move", frozen=True):
    """The coordinator fails over."""


class MoveCoordinator(Step, frozen=True):
    """The coordinator moves to another broker, or back; the one before unloads its groups."""


class OperatorStep(Step, frozen=True):
    """Something that an operator does to the cluster while groups go on.

    Its name, `do`, is a command of adapter protocol 1, whose arguments are its fields, and the
    feature that a coordinator needs for it.
    """

    do: ClassVar[str]

    def arguments(self) -> dict[str, Any]:
        """Return its fields, as JSON has them."""
        return {name: msgspec.to_builtins(getattr(self, name)) for name in self.__struct_fields__}

    def happened(self, begun_ms: int, ended_ms: int) -> Event:
        """Return the event of this step, which began and had ended at these times."""
        return EVENTS[self.do].of_row((begun_ms, ended_ms), self.arguments())


class DeleteTopics(OperatorStep, frozen=True):
    """Topics are deleted, and are never made again."""

    do = "delete-topics"

    topics: tuple[str, ...]


OPERATIONS: Mapping[str, type[OperatorStep]] = {kind.do: kind for kind in (DeleteTopics,)}
"""The operations of an operator, by name."""

PlanStep = Request | Await | Pause | Settle | Disconnect | Failover | MoveCoordinator | DeleteTopics


class Needs(msgspec.Struct, frozen=True):
    """The needs of a plan: API versions, features, settings of the target."""

    apis: tuple[tuple[str, int], ...] = ()
    features: frozenset[str] = frozenset()
    config: Mapping[str, int | None] = {}


class Plan(msgspec.Struct, frozen=True):
    """The plan of one case of the catalogue, or of one that was drawn.

    `rules`: what it is about; it passes only if every explanation used all of them.  `isolated`: it
    may kill its target, so it gets a process of its own.
    """

    id: str
    about: str
    rules: tuple[str, ...]
    level: Level
    steps: tuple[PlanStep, ...]
    needs: Needs = Needs()
    isolated: bool = False

    @property
    def restarts(self) -> bool:
        """True if another coordinator takes over in it."""
        return any(isinstance(step, Failover | MoveCoordinator) for step in self.steps)


# What a consumer's user does, and what is done to its process.


class Settings(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of a consumer; a setting without a value has the default of all scenarios.

    `assignor`: by default the one that the scenario names, or the library's usual one.
    `commit_on_revoke`: the user commits when its partitions are revoked.  `by_pattern`: it
    subscribes to all topics whose names begin with that of the scenario's topic.
    """

    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    max_poll_interval_ms: int | None = None
    auto_commit_ms: int | None = None
    assignor: str | None = None
    commit_on_revoke: bool = False
    metadata_max_age_ms: int | None = None
    by_pattern: bool = False


class Start(Step, frozen=True):
    """Start a consumer.

    `instance`: its group instance id.  `process`: its process, which starts if it isn't running.
    """

    consumer: str
    instance: str | None = None
    process: str = ""
    settings: Settings = Settings()


class StopPolling(Step, frozen=True):
    """The user stops polling."""

    consumer: str


class ResumePolling(Step, tag="poll-on", frozen=True):
    """The user polls again, also after an error that the library calls fatal."""

    consumer: str


class Commit(Step, frozen=True):
    """Commit the offsets of the records that were read, and wait for the answer."""

    consumer: str


class CommitInTransaction(Step, frozen=True):
    """Like `commit`, in a transaction of a producer; wait for the end of the transaction."""

    consumer: str


class Unsubscribe(Step, frozen=True):
    """Unsubscribe from all topics."""

    consumer: str


class Subscribe(Step, frozen=True):
    """Subscribe to other topics."""

    consumer: str
    topics: tuple[str, ...] = ()
    """Empty in a scenario, which has one topic."""


class PausePartitions(Step, frozen=True):
    """Pause partitions: the user wants no records of them until it resumes them."""

    consumer: str
    partitions: tuple[tuple[str, int], ...]


class ResumePartitions(Step, frozen=True):
    """Resume partitions that were paused."""

    consumer: str
    partitions: tuple[tuple[str, int], ...]


class Close(Step, frozen=True):
    """Close the consumer cleanly; `twice`: close it once more after that."""

    consumer: str
    timeout_ms: int = 5000
    twice: bool | msgspec.UnsetType = msgspec.UNSET


class Crash(Step, frozen=True):
    """Kill a process with all its consumers."""

    process: str


UserStep = (
    StopPolling
    | ResumePolling
    | PausePartitions
    | ResumePartitions
    | Commit
    | CommitInTransaction
    | Unsubscribe
    | Subscribe
    | Close
)

# What happens around them.


class Produce(Step, frozen=True):
    """Append this many records to each partition."""

    count: int = 5


class JoinGuest(Step, tag="guest", frozen=True):
    """A member of another client joins, and gets partitions.

    `version`: the version of the subscriptions and assignments that it writes, by default the
    newest.
    """

    version: int | None = None


class AddPartitions(Step, frozen=True):
    """Add partitions to the topic, so that it has `count`."""

    count: int


class CreateTopic(Step, frozen=True):
    """Create another topic; its name is that of the scenario's topic, `-` and `name`."""

    name: str
    partitions: int = 2


class DeleteTopic(Step, frozen=True):
    """Delete another topic; a request for it doesn't create it again."""

    name: str


class ClearFaults(Step, tag="relent", frozen=True):
    """Inject no more faults."""


class ReleaseHeld(Step, tag="release", frozen=True):
    """Handle the requests that are held back; other faults go on."""


class RemoveMember(Step, tag="remove", frozen=True):
    """Remove a consumer from its group, as an administrator does."""

    consumer: str


class ExpireSession(Step, tag="expire", frozen=True):
    """End the session of a consumer."""

    consumer: str


class Loading(Step, tag="load", frozen=True):
    """The coordinator loads its groups for `ms`."""

    ms: int


class Unavailable(Step, tag="not-available", frozen=True):
    """No coordinator is available for `ms`."""

    ms: int


class RestartBroker(Step, tag="restart", frozen=True):
    """Restart the broker after `down_ms`; `as_of`: with the API versions of another release."""

    as_of: str | None = None
    down_ms: int = 0


def step_name(step: Step) -> str:
    """Return the name of a step's class, as scenarios write it."""
    return str(step.__struct_config__.tag)


_FIELD_WORDS = {
    "member_id": "member",
    "group_instance_id": "instance",
    "instance_id": "instance",
    "member_epoch": "epoch",
    "subscribed_topic_names": "topics",
    "topic_partitions": "owns",
    "member_name": "name",
    "generation_id": "generation",
    "session_timeout_ms": "S",
    "rebalance_timeout_ms": "R",
    "protocols": "offers",
    "assignments": "assigns",
    "members": "rows",
    "groups": "groups",
    "group_ids": "groups",
    "group_id": "group",
}


def describe(step: PlanStep) -> str:
    """Return one step of a plan in words."""
    match step:
        case Request():
            version = f" v{step.version}" if step.version is not None else ""
            if step.at_most is not None:
                version = f" up to v{step.at_most}"
            fields = [
                f"{word} {describe_value(step.fields[name])}"
                for name, word in _FIELD_WORDS.items()
                if name in step.fields and step.fields[name] != "g"
            ]
            over = f" on connection {step.connection}" if step.connection else ""
            return f"{step.who} sends {step.api}{version}{over}: {', '.join(fields)}"
        case Await():
            return f"wait for {', '.join(step.labels)}"
        case Pause():
            times = " + ".join(t.name for t in step.times) or "a moment"
            share = f"1/{step.parts} of " if step.parts > 1 else ""
            return f"{share}{times} passes" + (", not quite" if step.minus else "")
        case Settle():
            return "a moment, so that all requests are handled"
        case Disconnect():
            return f"{step.who} drops its connection"
        case Failover():
            return "the coordinator fails over"
        case MoveCoordinator():
            return "the coordinator moves to another broker"
        case DeleteTopics():
            return f"the topic{'s' * (len(step.topics) > 1)} {', '.join(step.topics)} deleted"


def describe_value(value: Any) -> str:
    """Return a field's value or reference in words."""
    match value:
        case IdOf():
            return f"{value.who}'s id" + (f" ({value.back} before)" if value.back else "")
        case GenerationOf():
            plus = f" + {value.plus}" if value.plus else ""
            return f"{value.who}'s{plus}"
        case EpochOf():
            before = f" ({value.back} before)" if value.back else ""
            return f"{value.who}'s{f' + {value.plus}' if value.plus else ''}{before}"
        case OwnedOf():
            before = f" ({value.back} before)" if value.back else ""
            return f"what {value.who} was assigned{before}"
        case TopicPartitions():
            return f"{value.topic_id} {', '.join(map(str, value.partitions))}"
        case Ms() | JoinProtocol():
            return value.name
        case ProtocolOf():
            return f"{value.who}'s {value.part}"
        case AssignmentsIfLeader():
            names = ", ".join(assignment.decode() for _, assignment in value.by_member)
            return f"[{names}] if it leads"
        case AssignmentsToAll():
            return f"{value.assignment.decode()} to all"
        case LeavingMember():
            return f"({describe_value(value.member_id)}, {value.group_instance_id})"
        case tuple():
            return "[" + ", ".join(describe_value(item) for item in value) + "]"
        case str():
            return f'"{value}"'
        case _:
            return str(value)
