"""The program that drives a client: its command line, and the cache that it is built in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Program:
    """A driver that can be started; `env`: variables beside those of this process."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Client:
    """A client library at a version, with its driver, under the name that users give.

    `program`: builds the driver where the cache lacks it; raises TargetUnavailableError.
    """

    name: str
    program: Callable[[], Awaitable[Program]]
