"""Scenarios as data: a deployment, and what is done to it.

A scenario is read from TOML.  Settings of consumers have Kafka's names and are in ms; what belongs
to the deployment is in seconds.  What a scenario leaves out is as in Kafka's Java client.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import msgspec

from fencepost.conformance.simulator.durations import Duration, longest_s
from fencepost.conformance.simulator.member_settings import POLL_MS, Settings
from fencepost.conformance.simulator.steps import Step
from fencepost.conformance.targets.registry import find_revision
from fencepost.model.revisions.near import did_you_mean
from fencepost.traces.files.bad_input import BadInputError

Positive = Annotated[int, msgspec.Meta(ge=1)]
_ENDING = ".toml"


class ScenarioError(BadInputError):
    """A scenario can't be run.  `str()` names the value and the remedy."""


class Scenario(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """A deployment of a consumer group, and the steps that are taken once the group has formed.

    `members`: processes, each on a host of its own; `threads`: consumers in each, which have
    instance ids that end in `-thread-N`.  `partitions`: of one topic, or `topics`: of several, by
    name.  `racks`: of the hosts, in turn.  `restart_s`: from the stop of a process until it polls
    again.  `processing_s`: how long a user works on what one poll returned, before it polls again.
    `restart_failed`: a process that fails for good is started again.  `settle_s`: how long, after
    the last step, the group may take to be balanced.

    Raises ValueError (msgspec.ValidationError when read) for what can't be.
    """

    name: str = ""
    about: str = ""
    members: Positive = 6
    threads: Positive = 1
    partitions: Positive | None = None
    topics: dict[str, Positive] = {}
    racks: tuple[str, ...] = ()
    settings: Settings = Settings()
    restart_s: Duration = 5.0
    restart_failed: bool = False
    processing_s: Duration = 0.0
    initial_delay_ms: Annotated[int, msgspec.Meta(ge=0)] = 3000
    latency_ms: tuple[Positive, Positive] = (1, 3)
    revision: str = "kafka-4"
    settle_s: Annotated[float, msgspec.Meta(gt=0)] = 900.0
    step: tuple[Step, ...] = ()

    def __post_init__(self) -> None:
        """Check what the types can't say."""
        if self.topics and self.partitions is not None:
            raise ValueError("give `partitions`, of one topic, or `topics`, by name; not both")
        if self.latency_ms[0] > self.latency_ms[1]:
            raise ValueError(f"`latency_ms` {list(self.latency_ms)}: give the shorter one first")
        poll_ms = self.settings.max_poll_interval_ms or POLL_MS
        if longest_s(self.processing_s) * 1000 >= poll_ms:
            raise ValueError(
                f"`processing_s` is longer than `max_poll_interval_ms` {poll_ms}: no member would "
                "stay in the group; raise the one or lower the other"
            )

    @property
    def counts(self) -> dict[str, int]:
        """How many partitions each topic has."""
        return dict(self.topics) or {"topic": self.partitions or 24}


def scenario_names() -> list[str]:
    """The scenarios that come with fencepost."""
    return sorted(file.name.removesuffix(_ENDING) for file in _folder() if file.suffix == _ENDING)


def find_scenario(name: str) -> Scenario:
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


def read_scenario(path: Path) -> Scenario:
    """Read a scenario; its name is the file's, unless it has one.  Raises ScenarioError."""
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ScenarioError(f"{path} can't be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path} is no TOML: {error}") from None
    return checked_scenario({"name": path.stem, **document}, str(path))


def checked_scenario(document: dict[str, object], place: str) -> Scenario:
    """A scenario of plain values.  Raises ScenarioError, which names the place."""
    try:
        scenario = msgspec.convert(document, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{place}: {_told(str(error))}") from None
    find_revision(scenario.revision)
    return scenario


def _told(problem: str) -> str:
    """What is wrong, with the names that may be meant."""
    if "unknown field" not in problem:
        return problem
    unknown = problem.split("`")[1]
    known = {*Scenario.__struct_fields__, *Settings.__struct_fields__}
    for kind in Step.__args__:
        known |= {*kind.__struct_fields__}
    return f"{problem}{did_you_mean(unknown, known)}"


def _folder() -> list[Path]:
    return list(Path(str(files(__package__ or "").joinpath("scenarios"))).iterdir())
