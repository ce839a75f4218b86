"""Hold the story of server.log to the request log of the same run, and to the deeds in it.

Each release plays, with both logs on: the stories of `log_stories.py`, those of real clients, and a
failover of two brokers (`driver_stories.py`).  Some play the catalogue of cases, too.  Two tables
show how often both logs agree, and which deeds they have; docs/operators/server-log.md has them.

Half an hour to an hour: `tox -e brokers -- tests/traces/report/big_server_log.py`, or, in `tests/`,
`PYTHONPATH=. python traces/report/big_server_log.py TARGET...`.  FENCEPOST_LOGS: a folder for the
logs; plays whose logs are there are only audited anew.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from support.logs.agreement import Agreement, agreement, table
from support.logs.deeds import Truth, truth_table, truths
from support.logs.driver_stories import (
    Deed,
    Played,
    clients_of,
    open_libraries,
    play_clients,
    play_failover,
)
from support.logs.old_request_log import as_json
from support.logs.record_request_log import VERSIONS, record
from support.logs.two_brokers import two_brokers

from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.brokers.kafka import KafkaBroker, KafkaTarget
from fencepost.conformance.targets.brokers.kafka_version import KafkaVersion, parse_kafka_version
from fencepost.conformance.targets.brokers.started import FIRST, BrokerVariant
from fencepost.conformance.targets.target import ScopeNeeds
from fencepost.conformance.targets.target_registry import find_revision, revision_for
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_report import OperatorAudit, OperatorReport

pytestmark = pytest.mark.needs("java", "javac", "mvn", "go")

GROUPS = 44
LONGEST_S = 1200.0
SPARE = 2
"""Processes of a library that may crash at the same time, without a wait for others."""
FAILING_OVER = ("java", "franz-go")
_LEAST = {"rebalances": 0.99, "causes": 0.97, "remedies": 0.9, "deployments": 0.9}
"""The part of what both logs show that must be the same, or coarser in server.log; else 0.97."""
_LEAST_OF_CATALOGUE = {"rebalances": 0.99, "causes": 0.95, "remedies": 0.9}
"""Its clients name ids that nobody was given: a request log alone can't tell that."""
CATALOGUE = ("2.8.0", "3.9.1+old", "3.9.1+new", "4.3.0")
_OLD_WORDS = (2, 5, 0)
_PLAYED = "played.json"

Found = dict[str, Agreement]
Reports = tuple[OperatorReport, OperatorReport]
"""Those of the request log and of server.log."""
Say = Callable[[str], None]


@dataclass
class Run:
    """All plays of a release."""

    found: Found = field(default_factory=dict)
    truth: dict[Deed, Truth] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    """Lines of server.log about groups that no pattern knows."""

    def add(self, folder: Path) -> None:
        """Add a play whose logs are in a folder, with its deeds."""
        requests, server = self.reports(folder)
        played = msgspec.json.decode((folder / _PLAYED).read_bytes(), type=list[Played])
        for name, row in agreement(requests, server).items():
            self.found[name] = self.found.get(name, Agreement()) + row
        for deed, truth in truths(played, requests, server).items():
            self.truth[deed] = self.truth.get(deed, Truth()) + truth

    def reports(self, folder: Path) -> Reports:
        """Audit both logs of a play, all groups of it."""
        servers = sorted(folder.glob("server*.log"))
        groups = frozenset(event.group for event in ServerLog(servers) if event.group)
        audit = OperatorAudit(groups)
        for exchange in RequestLog(
            [_as_json(path) for path in sorted(folder.glob("requests*.log"))]
        ):
            audit.take(exchange)
        run = audit_server_log(ServerLog(servers), groups)
        self.unread += [str(each) for each in run.unread]
        return audit.finish(), run.report


def _as_json(path: Path) -> Path:
    made = path.with_name(f"json-{path.name}")
    with path.open(encoding="utf-8") as lines, made.open("w", encoding="utf-8") as file:
        file.writelines(as_json(lines))
    return made


async def stories(version: KafkaVersion, folder: Path, say: Say) -> list[Played]:
    """Play our own clients in many groups; nobody counts the deeds."""
    await record(str(version), GROUPS, folder / "requests.log", folder / "server.log")
    say(f"{GROUPS} groups")
    return []


async def clients(version: KafkaVersion, folder: Path, say: Say) -> list[Played]:
    """Play real clients in the groups of their stories."""
    logs = folder / "server.log", folder / "requests.log"
    broker = KafkaBroker(version, folder, logs[0], {}, request_log=logs[1])
    try:
        await broker.start()
        async with open_libraries(clients_of(version), SPARE) as libraries:
            return await play_clients(version, broker.address, libraries, say)
    finally:
        await broker.end()


async def failover(version: KafkaVersion, folder: Path, say: Say) -> list[Played]:
    """Play real clients whose groups go to another broker."""
    names = {name: full for name, full in clients_of(version).items() if name in FAILING_OVER}
    async with (
        two_brokers(version, folder) as brokers,
        open_libraries(names, SPARE) as libraries,
    ):
        return await play_failover(brokers, libraries.values(), say)


Play = Callable[[KafkaVersion, Path, Say], Awaitable[list[Played]]]
PLAYS: tuple[Play, ...] = (stories, clients, failover)


class OneBroker(KafkaTarget):
    """A Kafka whose first broker runs all cases, since two logs of one broker are compared."""

    settable = frozenset()

    def _kind(self, needed: ScopeNeeds) -> BrokerVariant:
        del needed
        return FIRST


async def catalogue(version: KafkaVersion, folder: Path, say: Say) -> list[Played]:
    """Play all cases of the catalogue that the first broker of a target takes."""
    logs = folder / "logs"
    logs.mkdir()
    target = OneBroker(version, logs=logs, request_log=folder / "requests.log")
    judge = find_revision(revision_for(target.name))
    await certify(target, judge, find_suite("catalogue", judge).entries, Options(attempts=1))
    (server,) = logs.glob("*-broker.log")
    server.rename(folder / "server.log")
    say("all cases")
    return []


def run_of(version: str, plays: Sequence[Play], folder: Path) -> Run:
    """Play with a release, one broker after the other, and say so."""
    run = Run()
    folder = Path(os.environ.get("FENCEPOST_LOGS", folder)).resolve() / version
    for play in plays:
        own, began_s = folder / play.__name__, time.monotonic()
        if (own / _PLAYED).exists():
            run.add(own)
            continue
        shutil.rmtree(own, ignore_errors=True)  # of a run that was broken off
        own.mkdir(parents=True)

        def say(what: str, play: Play = play, began_s: float = began_s) -> None:
            seconds = time.monotonic() - began_s
            sys.stdout.write(f"kafka:{version}, {play.__name__}, {seconds:.0f} s: {what}\n")
            sys.stdout.flush()

        played = asyncio.run(_in_time(play, parse_kafka_version(version), own, say))
        (own / _PLAYED).write_bytes(msgspec.json.encode(played))
        run.add(own)
    return run


async def _in_time(play: Play, version: KafkaVersion, folder: Path, say: Say) -> list[Played]:
    async with asyncio.timeout(LONGEST_S):
        return await play(version, folder, say)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Return runs by release; the first call for a release plays it."""
    known: dict[str, Run] = {}

    def get(version: str) -> Run:
        if version not in known:
            folder = tmp_path_factory.mktemp(version)
            known[version] = run_of(version, PLAYS, folder)
            sys.stdout.write("\n".join(("", *tables(known), "")))
        return known[version]

    return get


def tables(found: Mapping[str, Run]) -> list[str]:
    named = {f"kafka:{version}": run for version, run in found.items()}
    return [
        *table({name: run.found for name, run in named.items()}),
        "",
        *truth_table({name: run.truth for name, run in named.items()}),
    ]


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_both_logs_tell_the_same_story(version: str, runs: Callable[[str], Run]) -> None:
    run = runs(version)
    assert not run.unread
    for name, row in run.found.items():
        right = row.same + row.coarser
        assert right >= _LEAST.get(name, 0.97) * (right + len(row.different)), row.different


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_both_logs_have_what_was_done(version: str, runs: Callable[[str], Run]) -> None:
    release = parse_kafka_version(version)
    missing = {Deed.FENCED} if release.has_new_coordinator else set()
    if release.number < _OLD_WORDS:  # who joins while a rebalance runs isn't named, nor counted
        missing |= {Deed.RESTARTED}
    for deed, truth in runs(version).truth.items():
        assert not truth.wrong
        assert truth.requests == (0 if deed is Deed.LOADED else truth.done), deed
        assert deed in missing or truth.server == truth.done, deed


@pytest.mark.parametrize("version", CATALOGUE)
def test_both_logs_tell_the_same_of_what_no_library_would_send(
    version: str, tmp_path: Path
) -> None:
    found = run_of(version, (catalogue,), tmp_path).found
    for name, least in _LEAST_OF_CATALOGUE.items():
        row = found[name]
        right = row.same + row.coarser
        assert right >= least * (right + len(row.different)), row.different


def main(targets: list[str]) -> None:
    """Print the tables, and each difference before them."""
    found: dict[str, Run] = {}
    for target in targets or [f"kafka:{version}" for version in sorted(VERSIONS)]:
        version = target.removeprefix("kafka:")
        with tempfile.TemporaryDirectory() as folder:
            run = found[version] = run_of(version, PLAYS, Path(folder))
        different = [f"{n}: {what}" for n, row in run.found.items() for what in row.different]
        wrong = [what for truth in run.truth.values() for what in truth.wrong]
        sys.stdout.writelines(f"{target}, {what}\n" for what in (*different, *wrong, *run.unread))
    sys.stdout.write("\n".join((*tables(found), "")))


if __name__ == "__main__":
    main(sys.argv[1:])
