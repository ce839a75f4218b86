"""The story of server.log, held to that of the request log of the same run, on real brokers.

Each broker plays the stories of `log_stories.py` and the catalogue of cases, with both logs on.  A
table says how often they agree; docs/operators/server-log.md has one.  Some ten minutes:
`tox -e brokers`, or `python tests/traces/report/big_server_log.py TARGET...` in `tests/`.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from support.logs.agreement import Agreement, agreement, table
from support.logs.record_request_log import record

from fencepost.conformance.cases.suites import find_suite
from fencepost.conformance.run.certify import Options, certify
from fencepost.conformance.targets.brokers.kafka import KafkaTarget
from fencepost.conformance.targets.brokers.kafka_version import parse_kafka_version
from fencepost.conformance.targets.brokers.started import FIRST, BrokerVariant
from fencepost.conformance.targets.target import ScopeNeeds
from fencepost.conformance.targets.target_registry import find_revision, revision_for
from fencepost.traces.audit.server_log_audit import audit_server_log
from fencepost.traces.logs.request_log import RequestLog
from fencepost.traces.logs.server_log import ServerLog
from fencepost.traces.operations.operator_report import OperatorAudit

VERSIONS = ("2.8.0", "3.9.1+old", "3.9.1+new", "4.3.0")
GROUPS = 44
LONGEST_S = 1200.0
_LEAST = {
    "stories": {
        "rebalances": 0.99,
        "causes": 0.97,
        "remedies": 0.9,
        "replacements": 0.97,
        "deployments": 0.9,
    },
    # Its clients name ids that nobody was given: a request log alone can't tell that.
    "catalogue": {"rebalances": 0.99, "causes": 0.95, "remedies": 0.9},
}
"""The part of what both logs show that must be the same, or coarser in server.log."""

Found = dict[str, Agreement]


def compared(requests: Path, server: Path) -> Found:
    """Compare the two logs of a run, all groups of it."""
    groups = frozenset(event.group for event in ServerLog([server]) if event.group)
    audit = OperatorAudit(groups)
    for exchange in RequestLog([requests]):
        audit.take(exchange)
    return agreement(audit.finish(), audit_server_log(ServerLog([server]), groups).report)


def of_stories(version: str, folder: Path) -> Found:
    requests, server = folder / "requests.log", folder / "server.log"
    asyncio.run(record(version, GROUPS, requests, server))
    return compared(requests, server)


class OneBroker(KafkaTarget):
    """A Kafka whose first broker runs all cases, since two logs of one broker are compared."""

    settable = frozenset()

    def _kind(self, needed: ScopeNeeds) -> BrokerVariant:
        del needed
        return FIRST


def of_catalogue(version: str, folder: Path) -> Found:
    """All cases of the catalogue that the first broker of a target takes."""
    requests = folder / "requests.log"
    target = OneBroker(parse_kafka_version(version), logs=folder, request_log=requests)
    judge = find_revision(revision_for(target.name))

    async def run() -> None:
        async with asyncio.timeout(LONGEST_S):
            await certify(
                target, judge, find_suite("catalogue", judge).entries, Options(attempts=1)
            )

    asyncio.run(run())
    (server,) = folder.glob("*-broker.log")
    return compared(requests, server)


PLAYED = {"stories": of_stories, "catalogue": of_catalogue}


@pytest.fixture(scope="module")
def tables() -> dict[str, Found]:
    return {}


@pytest.mark.parametrize("played", PLAYED)
@pytest.mark.parametrize("version", VERSIONS)
def test_both_logs_tell_the_same_story(
    version: str, played: str, tmp_path: Path, tables: dict[str, Found]
) -> None:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    found = tables[f"kafka:{version}, {played}"] = PLAYED[played](version, tmp_path)
    sys.stdout.write("\n".join(("", *table(tables), "")))
    for name, least in _LEAST[played].items():
        row = found[name]
        right = row.same + row.coarser
        assert right >= least * (right + len(row.different)), row.different


def main(targets: list[str]) -> None:
    """Print the table, and each difference before it."""
    found: dict[str, Found] = {}
    for target in targets or [f"kafka:{version}" for version in VERSIONS]:
        for played, play in PLAYED.items():
            with tempfile.TemporaryDirectory() as folder:
                row = play(target.removeprefix("kafka:"), Path(folder))
            found[f"{target}, {played}"] = row
            for name, agreed in row.items():
                for what in agreed.different:
                    sys.stdout.write(f"{target}, {played}: {name}: {what}\n")
    sys.stdout.write("\n".join((*table(found), "")))


if __name__ == "__main__":
    main(sys.argv[1:])
