"""Record a request log of real groups on a Kafka: `python -m support.logs.record_request_log`.

Run in `tests/`.  Starts the broker with its request log on, plays the stories of log_stories.py in
as many groups as wanted, and writes the log and, beside it, what was staged; `--server-log`: what
the coordinator wrote to its own log meanwhile, too.

    python -m support.logs.record_request_log kafka:4.3.0 --groups 200 -o FILE.log

A name that ends with `.gz` is compressed, without a date in it.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

from support.kafka.admin import open_admin
from support.logs.log_clients import TOPIC, Cluster
from support.logs.log_stories import DYNAMIC, EVERYDAY, FAULTS, NAMES, Stage, Staged, Story

from fencepost.conformance.targets.brokers.kafka import KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version

LATEST = (9, 5, 4, 5, 9)
_RECENT = (LATEST, (5, 3, 3, 3, 7))
VERSIONS = {
    "4.4.0": _RECENT,
    "4.3.0": _RECENT,
    "3.9.1+new": _RECENT,
    "3.9.1+old": _RECENT,
    "3.6.2": ((9, 5, 4, 5, 8), (5, 3, 3, 3, 7)),
    "2.8.0": ((7, 5, 4, 4, 8), (6, 4, 4, 4, 8)),
    "2.4.1": ((6, 4, 4, 4, 8), (5, 3, 3, 3, 7)),
    "2.3.1": ((5, 3, 3, 2, 7), (5, 3, 3, 2, 7)),
}
"""Join, Sync, Heartbeat, Leave, OffsetCommit of the clients: the newest, and older ones."""
OLDEST = (3, 2, 2, 2, 6)
"""From before static members, and before a member id was asked for."""
AT_ONCE = 25
LONGEST_S = 900.0


async def record(
    version: str, groups: int, into: Path, server_log: Path | None = None
) -> list[Staged]:
    """Play the stories in so many groups; the logs, and what was staged."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "kafka-request.log"
        broker = KafkaBroker(
            parse_kafka_version(version), folder, folder / "out", {}, request_log=log
        )
        try:
            async with asyncio.timeout(LONGEST_S):
                await broker.start()
                staged = await _play(broker.address, version, groups)
        finally:
            await broker.end()
        _write(into, log.read_bytes())
        if server_log is not None:
            _write(server_log, (folder / "out").read_bytes())
    return sorted(staged, key=lambda row: (row["kind"], row["group"]))


async def _play(address: str, version: str, groups: int) -> list[Staged]:
    admin = await open_admin(address)
    topic = {"name": TOPIC, "numPartitions": 1, "replicationFactor": 1}
    await admin.call("CreateTopics", {"topics": [topic], "timeoutMs": 10_000})
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> list[Staged]:
        story, group = cast(number)
        old = story in DYNAMIC and number % 3 == 2
        spoken = OLDEST if old else VERSIONS[version][number % 2]
        async with room:
            return await story(Stage(Cluster.of(address, spoken), group, number))

    async with asyncio.TaskGroup() as tasks:
        played = [tasks.create_task(one(number)) for number in range(groups)]
    return [row for task in played for row in task.result()]


def cast(number: int) -> tuple[Story, str]:
    """Which story is played in the group of this number, and the group's name."""
    if number < len(FAULTS):
        return FAULTS[number], NAMES[number]
    story = EVERYDAY[number % len(EVERYDAY)]
    return story, NAMES[number] if number < len(NAMES) else f"{NAMES[number % 8]}-{number // 8}"


def _write(into: Path, log: bytes) -> None:
    if into.suffix == ".gz":
        log = gzip.compress(log, 9, mtime=0)
    into.write_bytes(log)


def main() -> None:
    """Record, as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("target", help="kafka:" + " or kafka:".join(VERSIONS))
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("-o", dest="into", type=Path, required=True)
    parser.add_argument("--server-log", type=Path)
    told = parser.parse_args()
    version = told.target.removeprefix("kafka:")
    if version not in VERSIONS:
        parser.error(f"no recording is planned for {told.target}: name one of {list(VERSIONS)}")
    staged = asyncio.run(record(version, told.groups, told.into, told.server_log))
    manifest: dict[str, Any] = {"target": told.target, "groups": told.groups, "staged": staged}
    beside = told.into.with_name(told.into.name.removesuffix(".gz") + ".staged.json")
    beside.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
