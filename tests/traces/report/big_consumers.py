"""Consumers of real libraries on a real Kafka, and what an audit says of what happened to them.

Each scenario is a group of two consumers; the script writes down what it did to each, and each
process what it was told.  The audits of the request log and of server.log are held to that.  Three
minutes: `tox -e brokers`.
"""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.kafka.admin import open_admin
from support.logs.consumer_groups import Process, Stage
from support.logs.log_clients import Cluster, Pod, leave
from support.logs.real_consumer import LIBRARIES, SESSION_MS, TOPIC

from fencepost.conformance.targets.brokers.kafka import KafkaBroker
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.traces.audit.audit_results import EXPLAINED
from fencepost.traces.audit.audit_settings import AuditSettings
from fencepost.traces.audit.log_audit import AuditRun, audit_log
from fencepost.traces.audit.server_log_audit import ServerLogRun, audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_rows import Cause, End

VERSION = "4.3.0"
LONGEST_S = 900.0
ATTEMPTS = 2
"""A library that falls silent once is none of an audit's business; it is named all the same."""
AFTER_S = SESSION_MS / 1000 + 3.0
"""Longer than a session: who is gone for so long has expired."""


async def expired(first: Process) -> None:
    """Until the other one's session is over, and the first has all partitions."""
    before = first.count("assigned")
    await live(AFTER_S)
    await first.wait("assigned", before)


async def live(seconds: float) -> None:
    await asyncio.sleep(seconds)


async def in_time(stage: Stage) -> None:
    """A static member crashes, and is back within its session."""
    _, second = await stage.pair()
    second.send(signal.SIGKILL)
    await stage.start(2)
    await live(2)


async def too_late(stage: Stage) -> None:
    """A static member crashes, and is back after its session."""
    first, second = await stage.pair()
    second.send(signal.SIGKILL)
    await expired(first)
    await stage.start(2)
    await live(2)


async def overlapping(stage: Stage) -> None:
    """A second process takes the instance id of a living one."""
    await stage.pair()
    await stage.start(2, f"{stage.group}-rival")
    await live(AFTER_S)


async def closed(stage: Stage) -> None:
    """A static member is closed for good."""
    first, second = await stage.pair()
    second.send(signal.SIGTERM)
    await second.wait("closed")
    await expired(first)


async def by_administrator(stage: Stage) -> None:
    """An administrator removes a static member that was stopped."""
    first, second = await stage.pair()
    second.send(signal.SIGKILL)
    before = first.count("assigned")
    cluster = Cluster.of(stage.address, (9, 5, 4, 5, 9))
    await leave(cluster, Pod("admin", "127.0.0.9"), stage.group, "", stage.instance(2))
    await first.wait("assigned", before)
    await live(2)


async def crash(stage: Stage) -> None:
    """A static member crashes, and never comes back."""
    first, second = await stage.pair()
    second.send(signal.SIGKILL)
    await expired(first)


async def long_pause(stage: Stage) -> None:
    """A static member stands still for longer than its session, then goes on."""
    first, second = await stage.pair()
    second.send(signal.SIGSTOP)
    await expired(first)
    before = second.count("assigned")
    second.send(signal.SIGCONT)
    await second.wait("assigned", before)
    await live(2)


Scenario = Callable[[Stage], Coroutine[None, None, None]]
SCENARIOS: tuple[Scenario, ...] = (
    in_time,
    too_late,
    overlapping,
    closed,
    by_administrator,
    crash,
    long_pause,
)


@dataclass(frozen=True)
class Wanted:
    """What an audit must say of a scenario.

    `ends`: of the life lines of member 2; `causes`: of the rebalances after the group was formed;
    `kinds`: of problems; the last two for server.log of the new coordinator, where they differ.
    """

    ends: tuple[End, ...]
    causes: tuple[Cause, ...] = ()
    kinds: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


WANTED = {
    "in_time": Wanted((End.REPLACED, End.STILL_THERE)),
    "too_late": Wanted((End.EXPIRED, End.STILL_THERE), (Cause.EXPIRY, Cause.NEW_MEMBER)),
    "overlapping": Wanted((End.REPLACED, End.STILL_THERE), (), ("fenced",)),
    "closed": Wanted((End.EXPIRED,), (Cause.EXPIRY,)),
    "by_administrator": Wanted((End.REMOVED,), (Cause.LEAVE,)),
    "crash": Wanted((End.EXPIRED,), (Cause.EXPIRY,)),
    "long_pause": Wanted(
        (End.EXPIRED, End.STILL_THERE), (Cause.EXPIRY, Cause.NEW_MEMBER), ("short-session",)
    ),
}


@dataclass
class Played:
    """What was played, and the two audits."""

    stages: list[Stage]
    requests: AuditRun
    server: ServerLogRun

    def stage(self, library: str, scenario: str) -> Stage:
        """Return the last attempt of a scenario; it fails if that hung, too."""
        stage = [s for s in self.stages if (s.library, s.scenario) == (library, scenario)][-1]
        assert not stage.hung, f"{stage.group} hung in {ATTEMPTS} groups:\n{stage.story}"
        return stage


async def attempts(address: str, library: str, scenario: Scenario, stages: list[Stage]) -> None:
    """Play a scenario; once more, in another group, if a process of it hangs."""
    for attempt in range(1, ATTEMPTS + 1):
        stage = Stage(address, library, scenario.__name__, attempt)
        stages.append(stage)
        try:
            await scenario(stage)
        except TimeoutError:
            stage.hung = True
        else:
            return


async def play(folder: Path) -> list[Stage]:
    log = folder / "kafka-request.log"
    version = parse_kafka_version(VERSION)
    broker = KafkaBroker(version, folder, folder / "server.log", {}, request_log=log)
    stages: list[Stage] = []
    try:
        async with asyncio.timeout(LONGEST_S):
            await broker.start()
            admin = await open_admin(broker.address)
            topic = {"name": TOPIC, "numPartitions": 2, "replicationFactor": 1}
            await admin.call("CreateTopics", {"topics": [topic], "timeoutMs": 10_000})
            for library in LIBRARIES:
                async with asyncio.TaskGroup() as tasks:
                    for scenario in SCENARIOS:
                        tasks.create_task(attempts(broker.address, library, scenario, stages))
    finally:
        await broker.end()
        for stage in stages:
            for process in stage.processes.values():
                await process.end()
    return stages


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    folder = tmp_path_factory.mktemp("consumers")
    stages = asyncio.run(play(folder))
    requests = audit_log(RequestLog([folder / "kafka-request.log"]), AuditSettings())
    found = Played(stages, requests, audit_server_log(ServerLog([folder / "server.log"])))
    hung = (f"{s.group} hung:\n{s.story}" for s in stages if s.hung)
    sys.stdout.write("\n".join(("", *table(found), *hung, "")))
    return found


def table(found: Played) -> list[str]:
    """What happened to member 2 of each group, and what both audits say of it."""
    rows = [
        "| group | what its processes were told | request log | server.log |",
        "|---|---|---|---|",
    ]
    for stage in found.stages:
        told = ", ".join(
            f"{name.removeprefix(stage.group)[1:]}: {p.says}" for name, p in stage.processes.items()
        )
        said = (
            ", ".join(kinds(run, stage.group)) or "none" for run in (found.requests, found.server)
        )
        rows.append(f"| {stage.group} | {told} | {' | '.join(said)} |")
    return rows


def kinds(run: AuditRun | ServerLogRun, group: str) -> tuple[str, ...]:
    return tuple(p.kind for p in run.report.problems if p.first.group == group)


PAIRS = [(library, scenario.__name__) for library in LIBRARIES for scenario in SCENARIOS]


@pytest.mark.parametrize(("library", "scenario"), PAIRS)
def test_a_process_was_told_what_the_scenario_is_about(
    played: Played, library: str, scenario: str
) -> None:
    stage = played.stage(library, scenario)
    fenced = {n for n, p in stage.processes.items() if p.fenced_ms is not None}
    assert fenced == ({f"{stage.group}-pod-2"} if scenario == "overlapping" else set())


@pytest.mark.parametrize(("library", "scenario"), PAIRS)
def test_the_request_log_tells_what_happened(played: Played, library: str, scenario: str) -> None:
    stage, wanted = played.stage(library, scenario), WANTED[scenario]
    if scenario == "in_time" and stage.away_ms > SESSION_MS:
        pytest.skip("this machine was too slow to start a process within a session")
    report = played.requests.report
    assert played.requests.groups[stage.group].outcome == EXPLAINED
    lines = [r for r in report.life_lines.rows if r.instance_id == stage.instance(2)]
    assert len(lines) == len(wanted.ends)
    # The log may end before the last session does, or go on until it is over.
    open_ends = {End.STILL_THERE, End.SILENT, End.UNKNOWN}
    for line, end in zip(lines, wanted.ends, strict=True):
        assert line.end is end or {line.end, end} <= open_ends
    # A leader joins again by itself when it has learnt the topic's partitions.
    causes = [r.cause for r in report.rebalances.rows if r.group == stage.group]
    causes = [cause for cause in causes if cause is not Cause.LEADER_REJOIN]
    formed = len(causes) - len(wanted.causes)
    assert tuple(causes[formed:]) == wanted.causes
    assert set(causes[:formed]) == {Cause.NEW_MEMBER}
    assert kinds(played.requests, stage.group) == wanted.kinds
    assert not [d for d in report.deployments.rows if d.group == stage.group]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_fenced_process_is_named_with_who_took_its_id(played: Played, library: str) -> None:
    stage = played.stage(library, "overlapping")
    (found,) = [p for p in played.requests.report.problems if p.first.group == stage.group]
    assert {name.client_id for name in found.names} == set(stage.processes) - {
        f"{stage.group}-pod-1"
    }
    told_ms = stage.processes[f"{stage.group}-pod-2"].fenced_ms
    assert told_ms is not None
    (chain,) = [c for c in played.requests.report.chains.rows if c.group == stage.group]
    assert chain.handovers[0].told_ms is not None
    assert chain.handovers[0].told_ms <= told_ms + 1000


@pytest.mark.parametrize(("library", "scenario"), PAIRS)
def test_server_log_tells_it_as_far_as_it_can(played: Played, library: str, scenario: str) -> None:
    stage, wanted = played.stage(library, scenario), WANTED[scenario]
    report = played.server.report
    lines = [r for r in report.life_lines.rows if r.instance_id == stage.instance(2)]
    ends = [End.STILL_THERE if line.end is End.EXPIRED and line is lines[-1] and len(lines) > 1
            else line.end for line in lines]  # fmt: skip
    assert tuple(ends) == wanted.ends
    rebalances = [r.cause for r in report.rebalances.rows if r.group == stage.group]
    assert {*wanted.causes} <= {*rebalances}
    assert kinds(played.server, stage.group) == wanted.shown
