"""What Spark needs to read from Kafka: its connector, at its own version, as Maven resolves it."""

from __future__ import annotations

from pathlib import Path

from fencepost.conformance.brokers.cache import cached
from fencepost.conformance.brokers.maven import copy_jars, jars_in, pom

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


async def kafka_source(spark: str) -> list[Path]:
    """The jars for a version of Spark, from the cache.  Raises TargetUnavailableError."""

    async def resolve(folder: Path) -> None:
        await copy_jars(folder, pom("spark-kafka", [f"{_CONNECTOR}:{spark}"]))

    return jars_in(await cached("spark-kafka", spark, resolve))
