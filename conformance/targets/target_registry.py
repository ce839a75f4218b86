"""Find targets by name: the forms of a target's name, and the class behind each.

A target's module is imported on its first use: the model needs no Kafka client, for example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from fencepost.conformance.targets.brokers.kafka_version import (
    KafkaVersion,
    KafkaVersionError,
    parse_kafka_version,
)
from fencepost.conformance.targets.target import NO_LIMIT, Target
from fencepost.conformance.targets.tcp.security import PLAINTEXT, Address, Security
from fencepost.model.bad_input import BadInputError
from fencepost.model.bridge.mixed_protocol import MIXED
from fencepost.model.classic.classic_protocol import CLASSIC
from fencepost.model.consumer.consumer_protocol import CONSUMER
from fencepost.model.consumer.settings import BROKER_SETTINGS
from fencepost.model.consumer.streams import STREAMS
from fencepost.model.coordinator import Coordinator, named
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.revisions.mixed_releases import MIXED_REVISIONS
from fencepost.model.revisions.revisions import MUTANT
from fencepost.model.suggestions import nearest
from fencepost.properties.judging.known_failures import aliases_of
from fencepost.traces.files.bounded import own_version
from fencepost.traces.files.known_failure_lists import FOLDER, load, newest_version, read

FORMS = (
    "mock, model[:REVISION], mutant:NAME, kafka:VERSION[+old|+new][*NODES], kfake, "
    "tansu, seaweedfs, rivine, nafka, tcp://HOST:PORT, exec:COMMAND"
)
DEFAULT_REVISION = "kafka-4"
CONSUMER_REVISION = revisions.CONSUMER_NAMES[0]
"""The base of the consumer protocol."""
_BASES: Mapping[str, str] = {
    CONSUMER.name: CONSUMER_REVISION,
    MIXED.name: revisions.MIXED_NAMES[0],
    STREAMS.name: revisions.STREAMS_NAMES[0],
}
"""The base of each protocol but the classic one."""
_MODELS = ("model:", MUTANT)
_STARTED = ("kafka", "kfake")
_SET = (*_STARTED, "tcp")
"""Targets that take group settings; to others the cases give their own, or nobody can."""
SIDE_BY_SIDE = 1000
"""The number of cases on a broker over TCP at once: each needs a few connections, no more."""


class UnknownTargetError(BadInputError):
    """No target has such a name.  `str()` names it and the forms that there are."""


TestSubject = str | Target | Callable[[], Coordinator]
"""A target by name (`mock`, `exec:COMMAND`, `tcp://HOST:PORT`), a target, or a function that makes
a coordinator in this process."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Options to reach or start a target.

    `remote`: the broker may be on another machine.  `settings`: group settings that a broker does
    not report, or of one that is started here.  `properties`: other settings of one that is started
    here.  `jobs`: processes for `exec:`.  `logs`: a folder for the logs of what is started.
    `security`: TLS and SASL for a broker at an address.  `request_log`: an absolute path, to which
    a Kafka that is started here appends each request that it answers.  `grace_s`: what each command
    of an adapter may take, in s, beside the time that it lets pass; None: the usual.  `named_as`:
    the address that a broker at an address names as its own, wherever it listens.
    """

    remote: bool = False
    settings: Mapping[str, int | None] = field(default_factory=dict)
    jobs: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    logs: Path | None = None
    security: Security = PLAINTEXT
    request_log: Path | None = None
    grace_s: float | None = None
    named_as: Address | None = None

    def broker_properties(self) -> dict[str, str]:
        """All settings for a broker that is started here, as its configuration has them."""
        words = named(self.settings)
        group = {k: str(NO_LIMIT if v is None else v) for k, v in words.items()}
        return group | dict(self.properties)


@runtime_checkable
class _Openable(Protocol):
    """Distinguishes a target from a function."""

    def scope(self, label: str, *, isolated: bool = False, restarts: bool = False) -> Any:
        """As a target has it."""
        ...


def target_of(subject: TestSubject, options: TargetOptions | None = None) -> Target:
    """Return the target of what is to be tested.  Raises UnknownTargetError."""
    if isinstance(subject, str):
        return find_target(subject, options or TargetOptions())
    if isinstance(subject, _Openable):
        return subject
    from fencepost.conformance.targets.in_process import FactoryTarget

    return FactoryTarget(subject)


def find_target(name: str, options: TargetOptions) -> Target:
    """Return the target of this name, not yet started.  Raises UnknownTargetError."""
    kind, colon, rest = name.partition(":")
    if options.properties and kind not in _STARTED:
        key, value = next(iter(options.properties.items()))
        raise UnknownTargetError(
            f"'{key}={value}' is not a group setting; these are "
            f"{', '.join(BROKER_SETTINGS)}. Only a broker that is started here "
            f"({', '.join(_STARTED)}) takes others, and {name} is not one"
        )
    if options.settings and kind in _KINDS and kind not in _SET:
        key, number = next(iter(options.settings.items()))
        why = "each case chooses the settings that it needs"
        raise UnknownTargetError(
            f"'{key}={number}' would change nothing: {name} takes no settings from outside "
            f"({'nothing can set them' if kind in _FIXED else why}); only {', '.join(_SET)} do"
        )
    if options.request_log is not None and kind != "kafka":
        raise UnknownTargetError(
            f"{name} writes no request log: only kafka:VERSION takes --request-log"
        )
    match kind, bool(colon):
        case "mock", False:
            from fencepost.conformance.targets.brokers.mock import MockTarget

            return MockTarget(capacity=SIDE_BY_SIDE)
        case ("model", _) | ("mutant", True):
            from fencepost.conformance.targets.in_process import InProcessTarget

            return InProcessTarget(name, find_coordinator(name), own_version())
        case "tcp", True if rest.startswith("//"):
            from fencepost.conformance.targets.tcp.tcp import TcpTarget

            return TcpTarget(
                name,
                remote=options.remote,
                settings=options.settings,
                capacity=SIDE_BY_SIDE,
                security=options.security,
                named_as=options.named_as,
            )
        case "kafka", True:
            from fencepost.conformance.targets.brokers.kafka import KafkaTarget

            return KafkaTarget(
                kafka_version(name),
                properties=options.broker_properties(),
                logs=options.logs,
                capacity=SIDE_BY_SIDE,
                request_log=options.request_log,
            )
        case "kfake", False:
            from fencepost.conformance.targets.brokers.kfake import KfakeTarget

            properties = options.broker_properties()
            return KfakeTarget(properties=properties, logs=options.logs, capacity=SIDE_BY_SIDE)
        case "tansu", False:
            from fencepost.conformance.targets.brokers.tansu import TansuTarget

            return TansuTarget(logs=options.logs, capacity=SIDE_BY_SIDE)
        case (("seaweedfs" | "rivine" | "nafka"), False):
            from fencepost.conformance.targets.brokers.other_brokers import OTHERS

            return OTHERS[kind](logs=options.logs, capacity=SIDE_BY_SIDE)
        case "exec", True if rest.strip():
            from fencepost.conformance.targets.stdio.stdio import GRACE_S, ExecTarget

            return ExecTarget(rest, jobs=options.jobs, grace_s=options.grace_s or GRACE_S)
        case _:
            meant = _meant(name)
            near = f" (did you mean {meant}?)" if meant else ""
            raise UnknownTargetError(f"no target {name!r}{near}; a target is one of {FORMS}")


def find_both(first: str, second: str, options: TargetOptions) -> tuple[Target, Target]:
    """Return two targets to compare; each option is for those that take it.

    Raises UnknownTargetError, also where neither takes it.
    """
    takes = [name.partition(":")[0] in _SET for name in (first, second)]
    rest = replace(options, settings={}) if any(takes) else options
    each = [options if taken else rest for taken in takes]
    return find_target(first, each[0]), find_target(second, each[1])


_HOST_AND_PORT = re.compile(r"(?:tcp:/?|kafka://|PLAINTEXT://)?([\w.-]+|\[[0-9a-fA-F:]+\]):(\d+)")
_RELEASE = re.compile(r"(?:apache-)?(?:kafka)?[-_ ]?(\d+\.\d+\.\d+\S*)", re.IGNORECASE)
_FIXED = ("mock", "tansu", "seaweedfs", "rivine", "nafka")
_KINDS = (*_FIXED, "model", "mutant", "kafka", "kfake", "tcp", "exec")


def _meant(name: str) -> str:
    """Return the name that an unknown one may mean: an address, a release, a program, a kind."""
    if match := _HOST_AND_PORT.fullmatch(name):
        return f"tcp://{match[1]}:{match[2]}"
    if match := _RELEASE.fullmatch(name):
        return f"kafka:{match[1]}"
    kind, colon, rest = name.partition(":")
    if kind in {"kafka", "mutant", "exec", "tcp"}:
        examples = {"kafka": "4.3.0", "mutant": "zombie-heartbeats", "exec": "COMMAND"}
        return f"{kind}:{examples.get(kind, '//HOST:PORT')}"
    if "/" in kind or Path(name).is_file():
        return f"exec:{name}"
    near = nearest(kind, _KINDS)
    return f"{near[0]}{colon}{rest}" if near else ""


def kafka_version(name: str) -> KafkaVersion:
    """Return the Kafka version that a target's name means.  Raises UnknownTargetError."""
    try:
        return parse_kafka_version(name.partition(":")[2])
    except KafkaVersionError as error:
        raise UnknownTargetError(str(error)) from None


@dataclass(frozen=True, slots=True)
class KnownAs:
    """A target whose list of known failures is to apply, and its version; "" if that is unknown."""

    name: str
    version: str
    aliases: frozenset[str]


def find_known_as(name: str) -> KnownAs:
    """Return the target whose list applies: `kafka:VERSION`, or another `KIND[:VERSION]`.

    Without a version it is the first of the newest versions that the list is for.  Raises
    UnknownTargetError for a target without a list, for a Kafka without its release, and for a
    version that the list says nothing of.
    """
    kind, _, version = name.partition(":")
    kinds = sorted(path.stem for path in FOLDER.glob("*.json"))
    if kind not in kinds:
        raise UnknownTargetError(
            f"no list of known failures is for {name!r}: there are lists for {', '.join(kinds)}"
        )
    if kind != "kafka":
        version = version or newest_version(kind)
        if not load(kind, version):
            ranges = sorted({entry.versions for entry in read(FOLDER / f"{kind}.json")})
            raise UnknownTargetError(
                f"no failure of {kind} {version} is known: the list is for {' and '.join(ranges)}"
            )
        return KnownAs(kind, version, frozenset())
    if not version:
        raise UnknownTargetError(
            "each Kafka has failures of its own that are known: name its release, as in kafka:4.3.0"
        )
    return KnownAs(name, version.partition("+")[0], aliases_of(find_target(name, TargetOptions())))


def in_protocol_of(name: str, revision: Revision) -> str:
    """Return the target's name; `model` is the base of the protocol of the revision that judges."""
    base = _BASES.get(revision.protocol.name)
    return f"model:{base}" if base and name == "model" else name


def revision_for(target_name: str) -> str:
    """Return the revision that judges a target by default: for a Kafka that of its release.

    A model of another protocol than the classic one has that protocol's base, and a mutant of one
    its own base.
    """
    if target_name.startswith(_MODELS):
        model = find_model(target_name)
        base = _BASES.get(model.protocol.name, DEFAULT_REVISION)
        is_other = base != DEFAULT_REVISION and target_name.startswith(MUTANT)
        return revisions.shipped_base(model).name if is_other else base
    if not target_name.startswith("kafka:"):
        return DEFAULT_REVISION
    version = kafka_version(target_name)
    return DEFAULT_REVISION if version.has_new_coordinator else f"kafka-{version.release}"


_RELEASES = (
    ((4, 4, 0), "4.4"),
    ((4, 3, 1), "4.3.1"),
    ((4, 3, 0), "4.3"),
    ((4, 2, 0), "4.2"),
    ((4, 1, 0), "4.1"),
)
"""Releases of Kafka, the newest first, from which on a revision of the consumer protocol judges,
or one of mixed groups."""


_STATIC_STREAMS = (4, 4, 0)
"""The release from which on streams groups have static members."""


def judge_for(revision: str | None, target_name: str) -> Revision:
    """Return the revision that judges a target: the one of this name, or that for the target.

    `consumer` is the revision of the consumer protocol for the target, `mixed` that of mixed
    groups, `streams` that of streams groups.  Raises UnknownTargetError.
    """
    if revision is None or revision not in _BASES:
        return find_revision(revision or revision_for(target_name))
    if not target_name.startswith("kafka:"):
        return find_revision(_BASES[revision])
    number = kafka_version(target_name).number
    if revision == STREAMS.name:
        return find_revision(revisions.STREAMS_NAMES[number < _STATIC_STREAMS])
    names = (name for since, name in _RELEASES if number >= since)
    return find_revision(f"{revision}-{next(names, '4.0')}")


class OtherProtocolError(BadInputError):
    """A command can't take a revision of this protocol.  `str()` names both, and the remedy."""


def check_classic(revision: Revision, command: str) -> None:
    """Raise OtherProtocolError for a revision of another protocol than the classic one."""
    check_known(revision, command, (CLASSIC.name,))


def check_known(revision: Revision, command: str, known: Collection[str]) -> None:
    """Raise OtherProtocolError for a revision of a protocol that a command doesn't know."""
    name = revision.protocol.name
    if name not in known:
        from fencepost.properties.worlds.worlds_by_protocol import WORLDS

        those = " and ".join(f"the {each}" for each in known)
        checked = ", `check` for revisions" if name in WORLDS else ""
        raise OtherProtocolError(
            f"{revision.name} has groups of the {name} protocol, and `fencepost {command}` knows "
            f"{those} protocol only; use `certify` with its catalogue for targets{checked}"
        )


def revision_for_both(first: str, second: str) -> str:
    """Return the revision that judges two targets by default: for two old Kafkas the newer one's.

    What both do because neither has a later change is then no fault.  Else it is the base.
    """
    profiles = {revision_for(name) for name in (first, second)}
    if others := profiles & ({*revisions.ALL_NAMES} - {*revisions.NAMES}):
        return max(others)
    if DEFAULT_REVISION in profiles:
        return DEFAULT_REVISION
    newest = max(kafka_version(name).number for name in (first, second))
    return "kafka-" + ".".join(map(str, newest))


def judge_for_both(revision: str | None, first: str, second: str) -> Revision:
    """Return the revision that judges two targets: the one of this name, or that for the targets.

    `consumer` and `mixed` are the newer of their revisions of it.  Raises UnknownTargetError.
    """
    if revision is None or revision not in _BASES:
        return find_revision(revision or revision_for_both(first, second))
    return max((judge_for(revision, name) for name in (first, second)), key=lambda r: r.name)


def find_revision(name: str) -> Revision:
    """Return the revision of this name, or `mutant:NAME`.

    Raises UnknownTargetError that says which.
    """
    try:
        return revisions.find(name)
    except KeyError as error:
        raise UnknownTargetError(str(error.args[0])) from None


_COORDINATORS: Mapping[str, Revision] = {
    mixed.parts[-1].name: replace(mixed, name=mixed.parts[-1].name) for mixed in MIXED_REVISIONS
}
"""Release of the consumer protocol → its revision of mixed groups, under the release's name."""


def find_coordinator(name: str) -> Revision:
    """Return the revision that the model of this name runs.  Raises UnknownTargetError.

    A release of the consumer protocol runs its revision of mixed groups: as in Kafka, its
    coordinator also has classic groups, and changes one kind into the other.
    """
    revision = find_model(name)
    return _COORDINATORS.get(revision.name, revision)


def find_model(name: str) -> Revision:
    """Return the revision of `model[:REVISION]` or `mutant:NAME`.  Raises UnknownTargetError."""
    kind, _, revision = name.partition(":")
    match kind:
        case "model":
            return find_revision(revision or DEFAULT_REVISION)
        case "mutant":
            return find_revision(name)
        case _:
            raise UnknownTargetError(f"no model {name!r}; there is model[:REVISION], mutant:NAME")
