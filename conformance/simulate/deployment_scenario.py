"""Scenarios as data: a deployment, and what is done to it.

A scenario is read from TOML.  Settings of consumers have Kafka's names and are in ms; what belongs
to the deployment is in seconds.  What a scenario leaves out is as in Kafka's Java client.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, get_args

import msgspec

from fencepost.conformance.simulate.deployment_steps import Step
from fencepost.conformance.simulate.durations import Duration, Spread, longest_s
from fencepost.conformance.simulate.member_settings import (
    BEAT_MS,
    POLL_MS,
    SESSION_MS,
    MemberSettings,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.assignors.assignor_input import Racks, partitions_of
from fencepost.model.bad_input import BadInputError
from fencepost.model.messages.subscription import TopicPartition
from fencepost.model.revision import Revision
from fencepost.model.revisions.experiments import with_target_size
from fencepost.model.suggestions import did_you_mean
from fencepost.traces.files.bounded import DocumentError, bounded_text

Positive = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
_PLACE = re.compile(r"(?P<said>.*) - at `\$\.?(?P<path>.*)`", re.DOTALL)
_PART = re.compile(r"[^.\[\]]+")
_BOUNDS = {">=": r"give \1 or more", "<=": r"give \1 or less", ">": r"give more than \1"}
"""How msgspec says what a number may be, and how we do."""
_ENDING = ".toml"
RESUME_S = 0.15
"""How long after it was given a partition its member reads it: what real bounces took longer than
messages do (docs/deployments/reality.md)."""


class ScenarioError(BadInputError):
    """A scenario can't be run.  `str()` names the value and the remedy."""


class DeploymentScenario(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """A deployment of a consumer group, and the steps that are taken once the group has formed.

    `members`: processes, each on a host of its own; `threads`: consumers in each, which have
    instance ids that end in `-thread-N`.  `partitions`: of one topic, or `topics`: of several, by
    name.  `racks`: of the hosts, in turn; `replicas`: in how many of them each partition is, in all
    if it isn't said.  `restart_s`: from the stop of a process until it polls again.
    `processing_s`: how long a user works on what one poll returned, before it polls again.
    `resume_s`: how long a member takes until it reads a partition that it is given.
    `target_size`: how many members the coordinator is told that there will be, as many as at the
    beginning if it isn't said; only experimental revisions ask.  `restart_failed`: a process that
    fails is started again, each time after a longer pause.  `settle_s`: how long, after the last
    step, the group may take to be balanced.

    Raises ValueError (msgspec.ValidationError when read) for what can't be.
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
        """Check what the types can't say."""
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
        """What the coordinator does."""
        revision = find_revision(self.revision)
        if revision.target_size is None:
            return revision
        return with_target_size(revision, self.target_size or self.members * self.threads)

    @property
    def counts(self) -> dict[str, int]:
        """How many partitions each topic has."""
        return dict(self.topics) or {"topic": self.partitions or 24}

    @property
    def all_partitions(self) -> list[TopicPartition]:
        """The partitions of all topics."""
        return partitions_of(self.counts, self.counts)

    def partition_racks(self, moved: int) -> Racks:
        """Where the replicas of partitions are, once they moved so often to the next racks."""
        names = list(dict.fromkeys(self.racks))
        near = range(moved, moved + (self.replicas or len(names)))
        return {
            partition: frozenset(names[(partition.partition + n) % len(names)] for n in near)
            for partition in self.all_partitions
            if names
        }


def scenario_names() -> list[str]:
    """The scenarios that come with fencepost."""
    return sorted(file.name.removesuffix(_ENDING) for file in _folder() if file.suffix == _ENDING)


def find_scenario(name: str) -> DeploymentScenario:
    """The scenario of this name, or in this file.  Raises ScenarioError."""
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
    """A scenario of plain values.  Raises ScenarioError, which names the place."""
    try:
        scenario = msgspec.convert(document, DeploymentScenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{place}: {_told(str(error), document)}") from None
    find_revision(scenario.revision)
    return scenario


def _told(problem: str, document: object) -> str:
    """What is wrong and where, with the value that it is about, and names that may be meant."""
    found = _PLACE.fullmatch(problem)
    said, path = (found["said"], found["path"]) if found else (problem, "")
    if path:
        value = _value_at(document, path)
        shown = "" if isinstance(value, dict | list) and "..." not in path else f" is {value!r}"
        said = f"`{path}`{shown}: {said}"
    for sign, remedy in _BOUNDS.items():
        said = re.sub(rf"Expected `(?:int|float)` {sign} (\S+)", remedy, said)
    names = re.findall(r"(?:unknown field `|Invalid (?:enum )?value ')([^`']*)", problem)
    return f"{said}{did_you_mean(names[0], _words()) if names else ''}"


def _value_at(document: object, path: str) -> object:
    """The value at msgspec's path; where the path names none, all that is above it."""
    for part in _PART.findall(path):
        if isinstance(document, dict) and part in document:
            document = document[part]
        elif isinstance(document, list) and part.isdecimal():
            document = document[int(part)]
    return document


def _words() -> set[str]:
    """All names of fields and steps, and what some of them may be."""
    structs = [DeploymentScenario, MemberSettings, Spread, *get_args(Step)]
    fields = {name for struct in structs for name in struct.__struct_fields__}
    steps = {kind.__struct_config__.tag for kind in get_args(Step)}
    words = {"dynamic", "static", "eager", "cooperative", "both", "balanced", "started"}
    return fields | steps | words


def _folder() -> list[Path]:
    return list(Path(str(files(__package__ or "").joinpath("scenarios"))).iterdir())
