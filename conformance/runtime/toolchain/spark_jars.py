"""What Spark needs to read from Kafka: its connector, as Maven resolves it.

Decides which versions do.  Those of Spark itself are asked for first.  Where a registry lacks one
of the two artifacts, an older release of that one is taken: what passes between them and Spark has
stayed the same since 4.0, and a mirror often lags.
"""

from __future__ import annotations

import re
from pathlib import Path

from fencepost.conformance.runtime.errors import TargetUnavailableError
from fencepost.conformance.runtime.toolchain.cache import cached
from fencepost.conformance.runtime.toolchain.maven import copy_jars, jars_in, pom

_ARTIFACTS = ("spark-sql-kafka-0-10_2.13", "spark-token-provider-kafka-0-10_2.13")
"""The connector, and what it signs in with."""
_OLDER = ("4.2.0", "4.1.1", "4.1.0", "4.0.2", "4.0.1", "4.0.0")
"""Releases to fall back on, the newest first."""
_MISSING = re.compile(r"org\.apache\.spark:([\w.-]+):jar:\S+ (?:in|was not found in) ")


async def kafka_source(spark: str) -> list[Path]:
    """The jars for a version of Spark, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        versions = dict.fromkeys(_ARTIFACTS, spark)
        while True:
            wanted = [f"org.apache.spark:{name}:{version}" for name, version in versions.items()]
            try:
                return await copy_jars(folder, pom("spark-kafka", wanted))
            except TargetUnavailableError as error:
                named = _MISSING.search(str(error))
                missing = named[1] if named else ""
                older = _older_than(versions[missing]) if missing in versions else None
                if older is None:
                    raise
                versions[missing] = older

    return jars_in(await cached("spark-kafka", spark, resolve))


def _older_than(version: str) -> str | None:
    """The newest release to fall back on that is older."""
    return next((v for v in _OLDER if _numbers(v) < _numbers(version)), None)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
