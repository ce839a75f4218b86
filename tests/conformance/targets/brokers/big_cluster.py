"""A real Kafka of three nodes: groups have their coordinators here and there, and nothing stays.

A minute or two: `tox -e brokers`.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.command import PATIENCE_S, run
from support.kafka.admin import open_admin
from support.kafka.real_kafka import kafka_cluster
from support.tcp.left_behind import IGNORING, MINE, certify, end, on

from fencepost.conformance.targets.tcp.security import Address

pytestmark = [pytest.mark.needs("java"), pytest.mark.asyncio(loop_scope="module")]

CASES = ("COMMIT-*", "HEARTBEAT-*", "LIST-*", "DESCRIBE-STABLE/*", "DESCRIBE-ABSENT*")
FAILED = ("*/group-of-a-refused-commit", "*/restart-before-the-sync")
"""What Kafka is known to fail, of these."""
MOST_S = 600
"""38 cases, many one after the other, since each moves a leadership."""
MOVES = 12
"""So many cases with a failover pass at least, on a machine that is busy."""
BUSY = 20
"""So many groups, and the run is in its midst."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[list[str]]:
    async with kafka_cluster(tmp_path_factory.mktemp("cluster")) as brokers:
        addresses = [broker.address for broker in brokers]
        async with asyncio.timeout(PATIENCE_S):
            while len(await coordinators(addresses[0], 40)) < len(addresses):  # noqa: ASYNC110  (the cluster tells nobody)
                await asyncio.sleep(0.2)
        yield addresses


async def coordinators(address: str, groups: int) -> set[Address]:
    admin = await open_admin(address)
    return {await admin.find_coordinator(f"somebody-{number}") for number in range(groups)}


async def test_groups_are_found_wherever_they_are(cluster: list[str]) -> None:
    globs = [word for glob in CASES for word in ("--case", glob)]
    globs += [word for glob in FAILED for word in ("--skip", glob)]
    ran = await asyncio.to_thread(run, "certify", f"tcp://{cluster[0]}", *globs, "--json")
    document = json.loads(ran.out)
    found = {case["id"]: (case["outcome"], case["message"]) for case in document["cases"]}
    assert len(found) > 50
    others = {
        case: said for case, (outcome, said) in found.items() if outcome not in {"pass", "skipped"}
    }
    lacking = {case for case, said in others.items() if said.startswith("the target lacks ")}
    assert others.keys() == lacking, others
    assert any("several brokers coordinate" in said for said in others.values())
    assert ran.code == 0
    assert await on(cluster) == []


async def test_leadership_moves_while_requests_are_parked(tmp_path: Path) -> None:
    """No process ends: the old coordinator sends away who waits, the new one loads."""
    report = str(tmp_path)
    words = ("--case", "FAILOVER-*", "--json", "--report", report)
    ran = await asyncio.to_thread(run, "certify", "kafka:4.3.0*3", *words, within_s=MOST_S)
    document = json.loads(ran.out)
    outcomes = Counter(case["outcome"] for case in document["cases"])
    assert outcomes["pass"] >= MOVES
    assert outcomes.keys() <= {"pass", "known-failure", "unsupported", "unknown"}
    assert ran.code in {0, 2}


@pytest.mark.parametrize(
    ("number", "how"),
    [(signal.SIGINT, MINE), (signal.SIGTERM, MINE), (signal.SIGTERM, IGNORING)],
    ids=["ctrl-c", "sigterm", "sigterm-in-the-background"],
)
async def test_an_interrupted_run_leaves_nothing(cluster: list[str], number: int, how: str) -> None:
    process = certify(cluster[1], how=how)
    async with asyncio.timeout(PATIENCE_S):
        while len(await on(cluster)) < BUSY:
            assert process.poll() is None, process.communicate()
            await asyncio.sleep(0.05)
    code, err = await asyncio.to_thread(end, process, number)
    assert (code, err.strip()) == (130, "interrupted")
    assert await on(cluster) == []
