"""Kafka's jars, as Maven resolves them.

Decides what a version's class path is made of: the broker's jar with all that it needs, at the
versions that it was released with, and one binding for its log.
"""

from __future__ import annotations

from pathlib import Path

from fencepost.conformance.runtime.toolchain.cache import cached
from fencepost.conformance.runtime.toolchain.maven import copy_jars, jars_in, pom
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion

_LOGGING = "org.slf4j:slf4j-reload4j:1.7.36"


async def class_path(version: KafkaVersion) -> list[Path]:
    """The jars of a release, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        await copy_jars(folder, pom_of(version))

    return jars_in(await cached("kafka", version.release, resolve))


def pom_of(version: KafkaVersion) -> bytes:
    """A pom that asks for the broker, the log's binding and the pinned versions."""
    broker = f"org.apache.kafka:kafka_{version.scala}:{version.release}"
    pins = [f"{name}:{number}" for name, number in version.pins.items()]
    return pom("kafka", [broker, _LOGGING, *pins])
