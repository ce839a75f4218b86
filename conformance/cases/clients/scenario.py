"""Define a scenario: steps, conditions, and the requirements that its evidence is judged by.

Conditions and steps can be written as JSON.  Times are ms.  A consumer is named as in its `Start`;
`Start` of the same name again is a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fencepost.conformance.wire.provocation import Provocation, fault_words
from fencepost.model.history.words import enumerated, plural
from fencepost.model.plans.steps import (
    AddPartitions,
    ClearFaults,
    Close,
    Commit,
    CommitInTransaction,
    Crash,
    CreateTopic,
    DeleteTopic,
    ExpireSession,
    Failover,
    JoinGuest,
    Loading,
    PausePartitions,
    Produce,
    ReleaseHeld,
    RemoveMember,
    RestartBroker,
    ResumePartitions,
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


class Condition(
    msgspec.Struct,
    frozen=True,
    tag=dashed,
    tag_field="until",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """A condition of a wait."""


class Settled(Condition, frozen=True):
    """These consumers share all partitions in one generation, and each has some.

    Each got an answer to a heartbeat in this generation since the wait began.
    """

    consumers: tuple[str, ...]


class Assigned(Condition, frozen=True):
    """The consumer's user has partitions."""

    consumer: str


class Calls(Condition, frozen=True):
    """The consumer's last run sent `count` requests of this API since the previous act began."""

    consumer: str
    api: str
    count: int = 1


class Answered(Condition, frozen=True):
    """A request of this API of the consumer's last run got this error."""

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
    """The consumer's user has read records since the previous act began."""

    consumer: str


class CaughtUp(Condition, frozen=True):
    """The consumers' users have read all records of their partitions."""

    consumers: tuple[str, ...]


class Passed(Condition, frozen=True):
    """`ms` have passed since the wait began: time enough for an event that should not come."""

    ms: int


AnyCondition = (
    Settled | Assigned | Calls | Answered | Parked | ErrorReported | Read | CaughtUp | Passed
)

_JOINED = "all partitions in one generation"


def _phrases(condition: AnyCondition) -> tuple[str, str]:
    """Describe a condition that is met, in the present, and one that is not, in the past."""
    match condition:
        case Settled(consumers=(consumer,)):
            return f"{consumer} has {_JOINED}", f"{consumer} did not have {_JOINED}"
        case Settled(consumers=consumers):
            names = enumerated(consumers)
            return f"{names} share {_JOINED}", f"{names} did not share {_JOINED}"
        case Assigned(consumer=consumer):
            user = f"the user of {consumer}"
            return f"{user} has partitions", f"{user} had no partitions"
        case Calls(consumer=consumer, api=api, count=1):
            return f"{consumer} sends {api}", f"{consumer} sent no {api}"
        case Calls(consumer=consumer, api=api, count=count):
            requests = f"{count} requests {api}"
            return f"{consumer} has sent {requests}", f"{consumer} sent fewer than {requests}"
        case Answered(consumer=consumer, api=api, error=error):
            answer = f"answered {error} in {api}"
            return f"{consumer} is {answer}", f"{consumer} was not {answer}"
        case Parked(consumer=consumer, api=api):
            call = f"{api} of {consumer}"
            return f"a {call} waits for its answer", f"no {call} waited for its answer"
        case ErrorReported(consumer=consumer, code=code):
            user, of = f"the user of {consumer}", f" with {code} in it" if code else ""
            return f"{user} gets an error{of}", f"{user} got no error{of}"
        case Read(consumer=consumer):
            user = f"the user of {consumer}"
            return f"{user} has read records", f"{user} read no records"
        case CaughtUp(consumers=consumers):
            users = f"the users of {enumerated(consumers)}"
            return f"{users} have read all records", f"{users} had not read all records"
        case Passed(ms=ms):
            return f"{ms:,} ms have passed", f"{ms:,} ms had not passed"


def missing(condition: AnyCondition) -> str:
    """Say, in the past, that a condition was not met."""
    _, unmet = _phrases(condition)
    return unmet


class Until(Step, tag="await", frozen=True):
    """Wait for a condition, at most `within_ms`.

    `needed`: end the run undecided if the condition isn't met; otherwise the scenario goes on.
    """

    condition: AnyCondition = msgspec.field(name="until")
    within_ms: int = 15_000
    needed: bool = False


ServedStep = (
    AddPartitions
    | CreateTopic
    | DeleteTopic
    | InjectFaults
    | ClearFaults
    | ReleaseHeld
    | ExpireSession
    | Failover
    | Loading
    | Unavailable
    | RestartBroker
)
"""Steps that no real broker takes on demand."""

ScenarioStep = (
    Start
    | Close
    | Crash
    | StopPolling
    | ResumePolling
    | PausePartitions
    | ResumePartitions
    | Commit
    | CommitInTransaction
    | Unsubscribe
    | Subscribe
    | Produce
    | JoinGuest
    | ServedStep
    | RemoveMember
    | Until
)


TOPIC = "orders"
PARTITIONS = 6


class Setting(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of the broker.

    `as_of`: the Kafka release whose API versions it has, by default the newest.  `nodes`: the
    number of brokers.  `delay_ms`: group.initial.rebalance.delay.ms.  `partitions`: the number of
    partitions of the topic.
    """

    as_of: str | None = None
    nodes: int = 1
    delay_ms: int = 0
    partitions: int = PARTITIONS


class Scenario(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A list of acts, and the obligations that fencepost judges.

    `needs`: features of the driver, such as `static` or `manual-commit`.  `assignor`: the assignor
    of its consumers, by default the usual one.  `reads`: append records to each partition before
    the first act and after each wait, and give running consumers time to read them at the end.
    """

    id: str
    about: str
    obligations: tuple[str, ...]
    acts: tuple[ScenarioStep, ...]
    needs: tuple[str, ...] = ("static",)
    assignor: str | None = None
    broker: Setting = Setting()
    reads: bool = False

    @property
    def is_provoking(self) -> bool:
        """Tell if it has steps or settings that need a served broker."""
        takes_served_steps = any(isinstance(act, ServedStep) for act in self.acts)
        return takes_served_steps or self.broker != Setting()

    def with_dynamic_members(self, obligations: tuple[str, ...]) -> Scenario:
        """Return its twin: the same steps without instance ids, for these obligations.

        A dynamic member joins twice where a static one joins once, since it needs a member id
        first.  So what befalls a first JoinGroup befalls the second one, too, and a user whose loop
        ended there polls on a second time.
        """
        acts: list[ScenarioStep] = []
        has_begun = is_doubled = False
        for act in self.acts:
            has_begun = has_begun or isinstance(act, Start)
            if isinstance(act, Start):
                acts.append(replace(act, instance=None))
            elif isinstance(act, InjectFaults) and not has_begun:
                acts.append(InjectFaults(tuple(map(_on_both_joins, act.provocations))))
                is_doubled = True
            elif isinstance(act, ResumePolling) and is_doubled:
                acts += [act, acts[-1], act]
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
    return f"{about} Members are dynamic."


def in_words(act: ScenarioStep) -> str:
    """Describe a step of a scenario for people, in the imperative mood."""
    match act:
        case Start():
            return _start_words(act)
        case InjectFaults(provocations=provocations):
            return "; ".join(map(fault_words, provocations))
        case Until(condition=condition, within_ms=within_ms, needed=needed):
            rest = ", or break off" if needed else ""
            if isinstance(condition, Passed):
                return f"wait {condition.ms:,} ms"
            met, _ = _phrases(condition)
            return f"wait until {met}, for {within_ms / 1000:g} s at most{rest}"
        case Produce(count=count):
            return f"append {plural(count, 'record')} to each partition"
        case JoinGuest(version=version):
            form = "" if version is None else f", which writes version {version}"
            return f"let a member of another client join{form}"
        case AddPartitions(count=count):
            return f"give the topic {count} partitions"
        case CreateTopic(name=name, partitions=partitions):
            return f"make another topic, ...-{name}, with {plural(partitions, 'partition')}"
        case DeleteTopic(name=name):
            return f"delete the other topic, ...-{name}"
        case Crash(process=process):
            return f"kill the process of {process}"
        case Close(consumer=consumer, timeout_ms=timeout_ms, twice=twice):
            times = " twice" if twice is True else ""
            return f"close {consumer}{times}, within {timeout_ms:,} ms"
        case PausePartitions(consumer=consumer, partitions=partitions):
            return f"let the user of {consumer} pause {_partition_words(partitions)}"
        case ResumePartitions(consumer=consumer, partitions=partitions):
            return f"let the user of {consumer} resume {_partition_words(partitions)}"
        case Loading(ms=ms):
            return f"let the coordinator load for {ms:,} ms"
        case Unavailable(ms=ms):
            return f"let no coordinator be available for {ms:,} ms"
        case RestartBroker(as_of=as_of, down_ms=down_ms):
            kind = "" if as_of is None else f" as Kafka {as_of}"
            return f"restart the broker{kind}, down for {down_ms:,} ms"
    words = _WORDS[type(act)]
    return words.format(consumer=getattr(act, "consumer", ""))


_WORDS: Mapping[type[Step], str] = {
    StopPolling: "let the user of {consumer} stop polling",
    ResumePolling: "let the user of {consumer} poll on",
    Commit: "let the user of {consumer} commit what was read",
    CommitInTransaction: "let the user of {consumer} commit what was read in a transaction",
    Unsubscribe: "let the user of {consumer} unsubscribe",
    Subscribe: "let the user of {consumer} subscribe again",
    ClearFaults: "let nothing go wrong any more",
    ReleaseHeld: "handle the requests that are held back",
    RemoveMember: "remove {consumer} from the group, as an administrator",
    ExpireSession: "end the session of {consumer}",
    Failover: "move the coordinator to another broker",
}


def _partition_words(partitions: Sequence[tuple[str, int]]) -> str:
    return enumerated([f"{topic}-{number}" for topic, number in partitions])


def _start_words(act: Start) -> str:
    parts = [f"start {act.consumer}"]
    parts.append("as a dynamic member" if act.instance is None else f"as '{act.instance}'")
    if act.process:
        parts.append(f"in the process {act.process}")
    settings = msgspec.to_builtins(act.settings)
    if settings:
        parts.append(
            "with " + enumerated([_setting_words(key, value) for key, value in settings.items()])
        )
    return " ".join(parts)


def _setting_words(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"no {key}"
    return f"{key} {value}"


def process_of(start: Start) -> str:
    """Return the process of a consumer: its own, where none is named."""
    return start.process or start.consumer


def client_id(consumer: str, number: int) -> str:
    """Return the client id of a consumer's run, from 1: provocations name it by that."""
    return f"{consumer}.{number}"


def read_scenario(document: Any) -> Scenario:
    """Read a scenario from its JSON object.  Raises msgspec.ValidationError."""
    return msgspec.convert(document, Scenario)
