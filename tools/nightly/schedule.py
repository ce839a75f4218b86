"""The parts of a nightly run, and the time of each part.

A part gets its share of the time that is left when it begins.  So a part that ends early leaves
time to the others, and a part that takes too long takes time from all that follow.  A target needs
some minutes; if there is no time for all, the old releases take turns, night by night.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Mapping, Sequence

from fencepost.conformance.runtime.toolchain.doctor import missing_extra
from fencepost.conformance.runtime.toolchain.found_tools import cache_folder, newest_version

MODEL, MUTANTS, TRACES, TESTS, TARGETS = "model", "mutants", "traces", "tests", "targets"
WEIGHTS: Mapping[str, float] = {MODEL: 10, MUTANTS: 18, TRACES: 10, TESTS: 17, TARGETS: 45}
"""The parts in their order, and the weight of each."""

NEWEST_KAFKA = "4.4.0"
FIRST_TARGETS = ("mock", "kfake", f"kafka:{NEWEST_KAFKA}")
"""Targets of every night."""
OTHER_TARGETS = tuple(
    f"kafka:{version}"
    for version in (
        *("4.3.0", "4.1.1", "3.9.1+new", "3.9.1+old", "3.3.1", "3.1.2"),
        *("2.8.0", "2.6.0", "2.4.1", "2.3.0"),
    )
)
"""Targets that take turns: the releases that have a certificate."""

_LEAST_TARGET_S = 240.0


class Schedule:
    """The time of a night, shared out as parts begin; `until`: its end, on the caller's clock."""

    def __init__(self, weights: Mapping[str, float], until: float) -> None:
        self._weights = dict(weights)
        self._until = until

    def begin(self, part: str, now: float) -> float:
        """Return the seconds that a part may take that begins now; 0 if none are left."""
        waiting = sum(self._weights.values())
        mine = self._weights.pop(part)
        left = max(0.0, self._until - now)
        return left * mine / waiting if waiting else 0.0


def weights_of(parts: Sequence[str], targets: Sequence[str]) -> dict[str, float]:
    """Return the weight of each part, targets one by one, in their order."""
    weights = {part: WEIGHTS[part] for part in WEIGHTS if part in parts and part != TARGETS}
    if TARGETS in parts:
        weights |= {target: WEIGHTS[TARGETS] / len(targets) for target in targets}
    return weights


def targets_of(seed: int, seconds: float) -> tuple[str, ...]:
    """Return the targets of a night that has `seconds` for them."""
    room = max(0, int(seconds // _LEAST_TARGET_S) - len(FIRST_TARGETS))
    first = seed * max(room, 1) % len(OTHER_TARGETS)
    turned = OTHER_TARGETS[first:] + OTHER_TARGETS[:first]
    return FIRST_TARGETS + turned[:room]


async def newer_kafka() -> str:
    """Return the newest release of Kafka in the registry, "" where it is the one of every night.

    Raises TargetUnavailableError where the registry can't be asked.
    """
    newest = await newest_version("org.apache.kafka:kafka_2.13", NEWEST_KAFKA)
    return "" if newest == NEWEST_KAFKA else newest


def why_not(target: str) -> str:
    """Return the tool that is missing to start a target here, with the remedy, or ""."""
    if target == "mock" and importlib.util.find_spec("confluent_kafka") is None:
        return missing_extra("confluent_kafka") or ""
    if target == "kfake" and not _has("go") and not (cache_folder() / "kfake").is_dir():
        return "go is not on the PATH: install Go 1.22 or later"
    if target.startswith("kafka:"):
        if not _has("java") and not os.environ.get("JAVA_HOME"):
            return "java is not on the PATH: install Java 17 or later"
        if not _has("mvn") and not (cache_folder() / "kafka").is_dir():
            return "mvn is not on the PATH: install Maven 3.6 or later"
    return ""


def _has(program: str) -> bool:
    return shutil.which(program) is not None
