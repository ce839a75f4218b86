"""Deployments of real consumers on real Kafkas, held to what was simulated: `tox -e deployments`.

Twelve members, sixty partitions, each member a process that is really started and ended.  Each case
is done FENCEPOST_REPEATS times (2); what it came to is kept in `docs/deployments/reality.json`, and
the pages are made anew from it.  A run that the machine disturbed is done again.
FENCEPOST_MEMBERS: fewer members, five partitions each, for a short trial, of which nothing is kept.
FENCEPOST_DOCS: another folder to keep it in.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from fencepost.conformance.clients.driver import DriverPool
from fencepost.conformance.clients.driver_programs import find_client
from tools.deployments.real_deployment import (
    DeploymentError,
    RealFigures,
    RealKafka,
    perform_for_real,
    started_kafka,
)
from tools.deployments.simulated_and_real import (
    BROKERS,
    CASES,
    CASES_BY_NAME,
    CLIENTS,
    LEAST_JITTER_S,
    MEMBERS,
    PARTITIONS,
    CaseResult,
    DeploymentCase,
    differences,
    jitter_s,
    read_results,
    reason,
    write_results,
)
from tools.docs.deployments_page import DATA, main

pytestmark = [pytest.mark.needs("java", "javac"), pytest.mark.asyncio(loop_scope="module")]

DOCS = Path(os.environ.get("FENCEPOST_DOCS", Path(__file__).resolve().parents[3] / "docs"))
REPEATS = int(os.environ.get("FENCEPOST_REPEATS", "2"))
TRIAL = os.environ.get("FENCEPOST_MEMBERS")
ATTEMPTS = 3
NUMBERS = itertools.count(1)
FEW = 3
"""Members of a group that lies."""


@dataclass(frozen=True)
class Bench:
    """A broker and processes of a library, by their names."""

    broker: str
    client: str
    kafka: RealKafka
    pool: DriverPool


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=[(broker, client) for broker in BROKERS for client in CLIENTS],
    ids="-".join,
)
async def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Bench]:
    broker, client = request.param
    folder = tmp_path_factory.mktemp("kafka")
    delay_ms = CASES[0].at().initial_delay_ms
    async with (
        started_kafka(broker, folder, delay_ms) as kafka,
        DriverPool(find_client(client)) as pool,
    ):
        yield Bench(f"kafka:{broker}", client, kafka, pool)


async def once(case: DeploymentCase, members: int, partitions: int, bench: Bench) -> RealFigures:
    """Perform a case, again where the machine stood still or a process failed; the calmest run."""
    done: list[RealFigures] = []
    for attempt in range(1, ATTEMPTS + 1):
        name = f"orders-{next(NUMBERS)}"
        try:
            scenario = case.at(members, partitions)
            done.append(await perform_for_real(scenario, 0, bench.kafka, bench.pool, name))
        except DeploymentError:
            if attempt == ATTEMPTS and not done:
                raise
        if done and not done[-1].was_disturbed:
            break
    return min(done, key=lambda found: found.control_ms)


def result_of(
    case: DeploymentCase, bench: Bench, members: int, real: tuple[RealFigures, ...]
) -> CaseResult:
    """What was done, and what is simulated with the restart times that were."""
    return CaseResult(
        case=case.name,
        broker=bench.broker,
        client=bench.client,
        members=members,
        partitions=PARTITIONS // MEMBERS * members,
        real=real,
        simulated={},
    ).resimulated()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_it_is_as_simulated(case: DeploymentCase, bench: Bench) -> None:
    if why := case.lacks(bench.client):
        pytest.skip(why)
    members = int(TRIAL or MEMBERS)
    partitions = PARTITIONS // MEMBERS * members
    found = tuple([await once(case, members, partitions, bench) for _ in range(REPEATS)])
    result = result_of(case, bench, members, found)
    kept = [one for one in read_results(DOCS / DATA) if one.key != result.key]
    if not TRIAL:
        write_results(DOCS / DATA, [*kept, result])
        main(DOCS)
    differs = differences(result, jitter_s([*kept, result]))
    sys.stdout.write(
        f"\n{result.case} {result.broker} {result.client}: {differs or 'as simulated'}\n"
    )
    for one in found:
        sys.stdout.write(f"  real      {one}\n")
    sys.stdout.write(f"  simulated {result.simulated}\n")
    assert [figure for figure in differs if reason(result, figure) is None] == []


@pytest.mark.parametrize("client", ["reference", "mutant:leaves-on-close"])
async def test_a_client_that_lies_is_seen(client: str, tmp_path: Path) -> None:
    case = CASES_BY_NAME["bounce-static"]
    partitions = PARTITIONS // MEMBERS * FEW
    delay_ms = case.at().initial_delay_ms
    async with (
        started_kafka(BROKERS[0], tmp_path, delay_ms) as kafka,
        DriverPool(find_client(client)) as pool,
    ):
        found = await once(case, FEW, partitions, Bench(BROKERS[0], client, kafka, pool))
    result = result_of(case, Bench(BROKERS[0], client, kafka, pool), FEW, (found,))
    sys.stdout.write(f"\n{client}: {found}\n")
    assert ("rebalances" in differences(result, LEAST_JITTER_S)) is client.startswith("mutant")
