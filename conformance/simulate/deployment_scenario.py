"""Describe a scenario as data: a deployment, and the steps that change it.

A scenario is read from TOML. Settings of consumers have Kafka's names and are in ms; settings of
the deployment are in seconds: a number, or a distribution to draw from.  A missing setting has the
value of Kafka's Java client.

A step begins when the one before it has ended.  One with `at_s` begins this long after the first,
and the others don't wait for it.  `who` names hosts; without it the last `count` hosts are meant.
"""

from __future__ import annotations

import math
import random
import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Literal, get_args

import msgspec

from fencepost.conformance.targets.target_registry import check_classic, find_revision
from fencepost.model.assignors.assignor_input import Racks, partitions_of
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.bad_input import BadInputError
from fencepost.model.client.behaviour import RIGHT, ClientSettings, Conduct, Occasion
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Revision
from fencepost.model.revisions.experiments import with_target_size
from fencepost.model.suggestions import did_you_mean
from fencepost.traces.files.bounded import DocumentError, bounded_text

Ms = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
SessionMs = Annotated[int, msgspec.Meta(ge=6000, le=1_800_000)]
"""Bounds of brokers by default: group.min.session.timeout.ms, group.max.session.timeout.ms."""
BY_STRATEGY = {
    "eager": ("range",),
    "cooperative": ("cooperative-sticky",),
    "both": ("range", "cooperative-sticky"),
}
GROUP_ID = "group"
SESSION_MS, BEAT_MS, POLL_MS = 45_000, 3000, 300_000
"""Defaults of Kafka's Java client: KIP-735, KIP-62."""
METADATA_MS = 300_000
"""Kafka's metadata.max.age.ms: the longest time until a client knows of changed replicas."""
A_YEAR_MS = 365 * 24 * 3600 * 1000
"""For intervals that don't matter: no records are read, and a broker that is gone hangs up."""


class MemberSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Settings of consumers, by Kafka's names; None: as before.

    `strategy` chooses the assignor, unless `assignors` names them; `both` is the default of Java's
    client since 3.0, and rebalances eagerly.  `instance_id`: of a static member; `{member}` stands
    for its own name, so that without it all have the same.  `leaves_on_close`: a consumer that is
    closed leaves the group (KIP-1092); None: a dynamic one does.

    Raises ValueError (msgspec.ValidationError when read) for invalid values.
    """

    membership: Literal["dynamic", "static"] | None = None
    strategy: Literal["eager", "cooperative", "both"] | None = None
    assignors: tuple[str, ...] | None = None
    instance_id: str | None = None
    session_timeout_ms: SessionMs | None = None
    heartbeat_interval_ms: Ms | None = None
    max_poll_interval_ms: Ms | None = None
    leaves_on_close: bool | None = None

    def __post_init__(self) -> None:
        """Check names, and that a strategy and assignors agree."""
        for name in self.assignors or ():
            if name not in ASSIGNORS:
                near = did_you_mean(name, ASSIGNORS) or f"; there is {', '.join(ASSIGNORS)}"
                raise ValueError(f"no assignor is called {name!r}{near}")
        if self.assignors == ():
            raise ValueError(f"`assignors` is empty: name one of {', '.join(ASSIGNORS)}")
        if self.strategy and self.assignors and self.strategy != strategy_of(self.assignors):
            raise ValueError(
                f"`strategy` {self.strategy!r} doesn't go with `assignors` "
                f"{list(self.assignors)}, which are {strategy_of(self.assignors)}: leave one out"
            )
        if self.instance_id == "":
            raise ValueError("`instance_id` is empty: leave it out, or name the member in it")

    def over(self, before: MemberSettings) -> MemberSettings:
        """Return these settings, completed by those before."""
        values = {name: getattr(before, name) for name in self.__struct_fields__}
        own = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.strategy or self.assignors:
            values |= {"strategy": None, "assignors": None}
        return MemberSettings(
            **values | {name: value for name, value in own.items() if value is not None}
        )

    @property
    def offered(self) -> tuple[str, ...]:
        """The assignors, in the order in which they are offered."""
        return self.assignors or BY_STRATEGY[self.strategy or "eager"]

    def instance_of(self, member: str) -> str | None:
        """Return a member's instance id; None: it is dynamic."""
        if self.membership != "static":
            return None
        return (self.instance_id or "{member}").replace("{member}", member)

    def client(
        self, member: str, topics: tuple[str, ...], rack: str | None, metadata_max_age_ms: int
    ) -> ClientSettings:
        """Make the settings of a consumer."""
        return ClientSettings(
            group_id=GROUP_ID,
            topics=topics,
            client_id=member,
            group_instance_id=self.instance_of(member),
            assignors=self.offered,
            rack_id=rack,
            session_timeout_ms=self.session_timeout_ms or SESSION_MS,
            heartbeat_interval_ms=self.heartbeat_interval_ms or BEAT_MS,
            max_poll_interval_ms=self.max_poll_interval_ms or POLL_MS,
            auto_commit_ms=None,
            fetches=False,
            request_timeout_ms=A_YEAR_MS,
            metadata_max_age_ms=metadata_max_age_ms,
            conduct=self.conduct,
        )

    @property
    def conduct(self) -> Conduct:
        """The conduct of a consumer: right, but for what it does when it is closed."""
        if self.leaves_on_close is None:
            return RIGHT
        on_close = frozenset({Occasion.CLOSE} if self.leaves_on_close else ())
        return Conduct(
            leaves_when_dynamic=RIGHT.leaves_when_dynamic - {Occasion.CLOSE} | on_close,
            leaves_when_static=RIGHT.leaves_when_static | on_close,
            leaves_when_owing=self.leaves_on_close,
        )


def strategy_of(assignors: tuple[str, ...]) -> str:
    """Return the strategy of these assignors: cooperative if all of them are."""
    return "cooperative" if all(ASSIGNORS[name].is_cooperative for name in assignors) else "eager"


DEFAULTS = MemberSettings(
    membership="dynamic",
    strategy="eager",
    session_timeout_ms=SESSION_MS,
    heartbeat_interval_ms=BEAT_MS,
    max_poll_interval_ms=POLL_MS,
)
"""Those of Kafka's Java client."""


_P95 = NormalDist().inv_cdf(0.95)


class Spread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A distribution of seconds, in one of three forms.

    `least`, `most`: anything between is equally likely.  `median`, `p95`: log-normal, of which one
    in twenty is longer than `p95`.  `values`: each is equally likely, such as those from a log.

    Raises ValueError (msgspec.ValidationError when read) for invalid values.
    """

    least: float | None = None
    most: float | None = None
    median: float | None = None
    p95: float | None = None
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Check that it has one form."""
        names = {name for name in self.__struct_fields__ if getattr(self, name) not in {None, ()}}
        if names not in ({"least", "most"}, {"median", "p95"}, {"values"}):
            raise ValueError(
                "a duration is a number of seconds, {least = 2, most = 8}, {median = 5, p95 = 20} "
                "or {values = [4, 5, 9]}"
            )
        numbers = [*_numbers(self)]
        if not all(0 <= number < math.inf for number in numbers):
            raise ValueError(f"seconds can't be {min(numbers)}: give 0 or more")
        if self.values == () and numbers != sorted(numbers):
            raise ValueError(f"{numbers[0]} is more than {numbers[1]}: give the smaller one first")
        if self.median == 0:
            raise ValueError("`median` can't be 0: give a little more")


Duration = Annotated[float, msgspec.Meta(ge=0, le=10_000_000)] | Spread
"""Seconds, or their distribution."""


def _numbers(spread: Spread) -> Iterator[float]:
    for number in (spread.least, spread.most, spread.median, spread.p95, *spread.values):
        if number is not None:
            yield number


def longest_s(duration: Duration) -> float:
    """Return the longest that is likely, in seconds: the upper end, or the 95th percentile."""
    return max(_numbers(duration)) if isinstance(duration, Spread) else duration


def scaled(duration: Duration, factor: float) -> Duration:
    """Multiply a duration, or each number of its distribution."""
    if not isinstance(duration, Spread):
        return duration * factor
    values = {name: getattr(duration, name) for name in ("least", "most", "median", "p95")}
    return Spread(
        **{name: None if value is None else value * factor for name, value in values.items()},
        values=tuple(value * factor for value in duration.values),
    )


def draw_ms(duration: Duration, of: str) -> int:
    """Draw ms; the same text `of` gives the same ms."""
    if not isinstance(duration, Spread):
        return round(duration * 1000)
    source = random.Random(of)  # noqa: S311  (no secret)
    if duration.values:
        seconds = source.choice(duration.values)
    elif duration.median is not None and duration.p95 is not None:
        sigma = math.log(duration.p95 / duration.median) / _P95
        seconds = source.lognormvariate(math.log(duration.median), sigma)
    else:
        seconds = source.uniform(duration.least or 0.0, duration.most or 0.0)
    return round(seconds * 1000)


def quantiles_s(duration: Duration, count: int) -> list[float]:
    """Return `count` durations in seconds that stand for all, each for an equal part of them."""
    if not isinstance(duration, Spread):
        return [duration]
    if duration.values:
        return sorted(duration.values)
    parts = [(number + 0.5) / count for number in range(count)]
    if duration.median is not None and duration.p95 is not None:
        sigma = math.log(duration.p95 / duration.median) / _P95
        return [duration.median * math.exp(sigma * NormalDist().inv_cdf(part)) for part in parts]
    least, most = duration.least or 0.0, duration.most or 0.0
    return [least + (most - least) * part for part in parts]


_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Step(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag_field="do",
):
    at_s: _Seconds | None = None


class BounceStep(_Step, frozen=True, tag="bounce"):
    """Restart all processes, some at a time; `set`: with other settings.

    `health`: the next ones follow when the group is `balanced`, or as soon as these are `started`;
    `pause_s`: and this much later.  It stops where the group is not balanced within `limit_s`, or a
    process fails.  `overlap_s`: new processes are started first, and the old ones stopped this much
    later.  `at_most`: it ends after this many processes.
    """

    at_a_time: _Positive = 1
    health: Literal["balanced", "started"] = "balanced"
    pause_s: Duration = 0.0
    limit_s: _Seconds = 600.0
    overlap_s: Duration | None = None
    at_most: _Positive | None = None
    set: MemberSettings = MemberSettings()


class _About(_Step, frozen=True):
    count: _Positive = 1
    who: tuple[str, ...] = ()


class CrashStep(_About, frozen=True, tag="crash"):
    """Processes die at once, without a word; `restart`: they come back."""

    restart: bool = True


class CrashLoopStep(_About, frozen=True, tag="crash-loop"):
    """Let processes die, come back, run for `alive_s`, and die again, this many times."""

    times: _Positive = 5
    alive_s: Duration = 10.0


class ScaleStep(_Step, frozen=True, tag="scale"):
    """Add hosts, or stop the last ones, until there are this many.

    `remove`: an administrator removes those static members that are stopped.
    """

    to: _Positive
    remove: bool = False
    set: MemberSettings = MemberSettings()


class ReplaceStep(_About, frozen=True, tag="replace"):
    """Hosts die, and new ones with other names take their places after the restart time.

    `remove`: an administrator removes the members of the old hosts, `remove_after_s` later.
    """

    remove: bool = False
    remove_after_s: Duration = 0.0


class DuplicateStep(_About, frozen=True, tag="duplicate"):
    """A second process is started on a host's instance id, by mistake; it is stopped after `for_s`.

    Without `for_s` it stays.
    """

    for_s: Duration | None = None


class FailoverStep(_Step, frozen=True, tag="failover"):
    """Make another broker the group's coordinator.

    `down_s`: before that, no broker is reachable for this many seconds.
    """

    down_s: Duration = 0.0


class RemoveStep(_About, frozen=True, tag="remove"):
    """Remove static members, as an administrator does."""


class MoveReplicasStep(_Step, frozen=True, tag="move-replicas"):
    """Move the replicas of each partition to the next racks; clients know it within 5 minutes."""


class WaitStep(_Step, frozen=True, tag="wait"):
    """Let time pass: this many seconds, or until the group is balanced."""

    s: Duration | None = None


Step = (
    BounceStep
    | CrashStep
    | CrashLoopStep
    | ScaleStep
    | ReplaceStep
    | DuplicateStep
    | FailoverStep
    | RemoveStep
    | MoveReplicasStep
    | WaitStep
)


Positive = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
_PLACE = re.compile(r"(?P<said>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_PART = re.compile(r"[^.\[\]]+")
_BOUNDS = {">=": r"give \1 or more", "<=": r"give \1 or less", ">": r"give more than \1"}
"""msgspec's words for the bounds of a number, and ours."""
_ENDING = ".toml"
RESUME_S = 0.15
"""Seconds from a partition's assignment until its member reads it: the extra time in deployments
(docs/deployments/reality.md)."""


class ScenarioError(BadInputError):
    """A scenario can't be run.  `str()` names the value and the remedy."""


class DeploymentScenario(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """A deployment of a consumer group, and the steps that follow once the group has formed.

    `members`: processes, each on a host of its own; `threads`: consumers in each, which have
    instance ids that end in `-thread-N`.  `partitions`: of one topic, or `topics`: of several, by
    name.  `racks`: of the hosts, in turn; `replicas`: the number of racks that hold each partition,
    all by default.  `restart_s`: from the stop of a process until it polls again.  `processing_s`:
    a user's work on the records of one poll, before the next poll.  `resume_s`: from an assignment
    until the member reads the partition.  `target_size`: the number of members that the coordinator
    expects, by default the first number; only experimental revisions use it.  `restart_failed`: a
    process that fails is started again, each time after a longer pause.  `settle_s`: seconds after
    the last step for the group to get balanced.

    Raises ValueError (msgspec.ValidationError when read) for invalid values.
    """

    name: str = ""
    about: str = ""
    members: Positive = 6
    threads: Positive = 1
    partitions: Positive | None = None
    topics: dict[str, Positive] = {}
    racks: tuple[str, ...] = ()
    replicas: Positive | None = None
    settings: MemberSettings = MemberSettings()
    restart_s: Duration = 5.0
    restart_failed: bool = False
    processing_s: Duration = 0.0
    resume_s: Annotated[float, msgspec.Meta(ge=0, le=3600)] = RESUME_S
    initial_delay_ms: Annotated[int, msgspec.Meta(ge=0)] = 3000
    latency_ms: tuple[Positive, Positive] = (1, 3)
    revision: str = "kafka-4"
    target_size: Positive | None = None
    settle_s: Annotated[float, msgspec.Meta(gt=0)] = 900.0
    step: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """Check what the types can't express."""
        if self.topics and self.partitions is not None:
            raise ValueError("give `partitions`, of one topic, or `topics`, by name; not both")
        if self.replicas is not None and self.replicas > len(set(self.racks)):
            raise ValueError(
                f"`replicas` is {self.replicas}, and `racks` names {len(set(self.racks))}: name as "
                "many racks or more"
            )
        if self.latency_ms[0] > self.latency_ms[1]:
            raise ValueError(f"`latency_ms` {list(self.latency_ms)}: give the shorter one first")
        poll_ms = self.settings.max_poll_interval_ms or POLL_MS
        beat_ms = self.settings.heartbeat_interval_ms or BEAT_MS
        session_ms = self.settings.session_timeout_ms or SESSION_MS
        if beat_ms >= session_ms:
            raise ValueError(
                f"`heartbeat_interval_ms` {beat_ms} is not less than `session_timeout_ms` "
                f"{session_ms}: every session would end; lower the one or raise the other"
            )
        if longest_s(self.processing_s) * 1000 >= poll_ms:
            raise ValueError(
                f"`processing_s` is longer than `max_poll_interval_ms` {poll_ms}: no member would "
                "stay in the group; raise the one or lower the other"
            )

    @property
    def coordinator(self) -> Revision:
        """The coordinator's revision."""
        revision = find_revision(self.revision)
        if revision.target_size is None:
            return revision
        return with_target_size(revision, self.target_size or self.members * self.threads)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of partitions, by topic."""
        return dict(self.topics) or {"topic": self.partitions or 24}

    @property
    def all_partitions(self) -> list[TopicPartition]:
        """Return the partitions of all topics."""
        return partitions_of(self.counts, self.counts)

    def partition_racks(self, moved: int) -> Racks:
        """Return the racks of the partitions' replicas, after this many moves to the next racks."""
        names = list(dict.fromkeys(self.racks))
        near = range(moved, moved + (self.replicas or len(names)))
        return {
            partition: frozenset(names[(partition.partition + n) % len(names)] for n in near)
            for partition in self.all_partitions
            if names
        }


def scenario_names() -> list[str]:
    """Return the scenarios that come with fencepost."""
    return sorted(file.name.removesuffix(_ENDING) for file in _folder() if file.suffix == _ENDING)


def find_scenario(name: str) -> DeploymentScenario:
    """Return the scenario of this name, or in this file.  Raises ScenarioError."""
    if name.endswith(_ENDING) or "/" in name:
        return read_scenario(Path(name))
    known = scenario_names()
    if name not in known:
        near = did_you_mean(name, known) or f"; there is {', '.join(known)}"
        raise ScenarioError(
            f"no scenario is called {name!r}{near}; a file's name ends in {_ENDING}"
        )
    return read_scenario(next(file for file in _folder() if file.name == f"{name}{_ENDING}"))


def read_scenario(path: Path) -> DeploymentScenario:
    """Read a scenario; its name is the file's, unless it has one.  Raises ScenarioError."""
    try:
        document = tomllib.loads(bounded_text(path))
    except DocumentError as error:
        raise ScenarioError(str(error)) from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is no TOML: {error}") from None
    return checked_scenario({"name": path.stem, **document}, str(path))


def checked_scenario(document: dict[str, object], place: str) -> DeploymentScenario:
    """Return a scenario of plain values.  Raises ScenarioError, which names the place."""
    try:
        scenario = msgspec.convert(document, DeploymentScenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{place}: {_explained(str(error), document)}") from None
    check_classic(find_revision(scenario.revision), "simulate")
    return scenario


def _explained(problem: str, document: object) -> str:
    """Return the problem and its place, with the value, and names that may be meant."""
    match = _PLACE.fullmatch(problem)
    text, path = (match["said"], match["path"]) if match else (problem, "")
    if path:
        value = _value_at(document, path)
        value_text = (
            "" if isinstance(value, dict | list) and "..." not in path else f" is {value!r}"
        )
        text = f"`{path}`{value_text}: {text}"
    for sign, remedy in _BOUNDS.items():
        text = re.sub(rf"Expected `(?:int|float)` {sign} (\S+)", remedy, text)
    names = re.findall(r"(?:unknown field `|Invalid (?:enum )?value ')([^`']*)", problem)
    return f"{text}{did_you_mean(names[0], _words()) if names else ''}"


def _value_at(document: object, path: str) -> object:
    """Return the value at msgspec's path.

    Where the path names none, the whole document above it.
    """
    for part in _PART.findall(path):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdecimal():
            document = document[int(part)]
    return document


def _words() -> set[str]:
    """Return all names of fields and steps, and the names that some of them may have as values."""
    structs = [DeploymentScenario, MemberSettings, Spread, *get_args(Step)]
    fields = {name for struct in structs for name in struct.__struct_fields__}
    steps = {kind.__struct_config__.tag for kind in get_args(Step)}
    words = {"dynamic", "static", "eager", "cooperative", "both", "balanced", "started"}
    return fields | steps | words


def _folder() -> list[Path]:
    return list(Path(str(files(__package__ or "").joinpath("scenarios"))).iterdir())
