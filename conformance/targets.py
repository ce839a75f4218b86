"""Targets by name: what stands on the command line, and what it starts.

Decides the forms of a target's name.  An unknown one is a usage error that lists the forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.conformance.in_process import InProcessTarget
from fencepost.conformance.mock import MockTarget
from fencepost.conformance.stdio import ExecTarget
from fencepost.conformance.target import Target
from fencepost.conformance.tcp import TcpTarget
from fencepost.conformance.versions import own_version
from fencepost.model.revision import Revision
from fencepost.properties import mutants

FORMS = "mock, model[:REVISION], mutant:NAME, tcp://HOST:PORT, exec:COMMAND"
DEFAULT_REVISION = "kafka-4"
SIDE_BY_SIDE = 1000
"""How many cases a broker over TCP takes at once: each needs a few connections, no more."""


class UnknownTargetError(ValueError):
    """No target has such a name.  `str()` names it and the forms that there are."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What a target may be told: that it may be remote, settings, and processes for `exec:`."""

    remote: bool = False
    settings: Mapping[str, int | None] = field(default_factory=dict)
    jobs: int = 2


def find_target(name: str, options: TargetOptions) -> Target:
    """The target of this name, not yet started.  Raises UnknownTargetError."""
    kind, colon, rest = name.partition(":")
    match kind, bool(colon):
        case "mock", False:
            return MockTarget(capacity=SIDE_BY_SIDE)
        case "model", _:
            return InProcessTarget(name, find_revision(rest or DEFAULT_REVISION), own_version())
        case "mutant", True:
            return InProcessTarget(name, find_revision(name), own_version())
        case "tcp", True:
            return TcpTarget(
                name,
                remote=options.remote,
                settings=options.settings,
                capacity=SIDE_BY_SIDE,
            )
        case "exec", True if rest.strip():
            return ExecTarget(rest, jobs=options.jobs)
        case _:
            raise UnknownTargetError(f"no target {name!r}; a target is one of {FORMS}")


def find_revision(name: str) -> Revision:
    """The revision of this name, or `mutant:NAME`.  Raises UnknownTargetError that says which."""
    try:
        return mutants.find_revision(name)
    except KeyError as error:
        raise UnknownTargetError(str(error.args[0])) from None
