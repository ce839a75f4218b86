"""`certify-client`: hold a client library to its obligations."""

from __future__ import annotations

from pathlib import Path

import click

from fencepost.conformance.cases.clients.scenario_catalogue import (
    SCENARIOS,
    count_cases,
    matching_scenarios,
)
from fencepost.conformance.cli.certify import case_progress, give_out
from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.client_options import (
    scenario_jobs_option,
    served_revision_option,
)
from fencepost.conformance.cli.options.common_options import (
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import (
    kept_entries,
    known_failures_options,
    level_option,
    older_option,
    tell_of_no_use,
    written_list_option,
)
from fencepost.conformance.clients.certify_client import certificate_of
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.scenario_file import read_scenarios
from fencepost.conformance.clients.stage import SERVE
from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.targets.target_registry import check_classic, find_revision
from fencepost.model.table.table import Level
from fencepost.traces.files.known_failure_lists import drafted_client_list
from fencepost.traces.report.client_certificate import read_client_certificate


@click.command(
    "certify-client",
    epilog=exit_codes(
        "no violation, apart from known failures",
        "an obligation is violated, or a known failure is out of date",
        "a case that counts is unknown",
    ),
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--broker",
    default=SERVE,
    show_default=True,
    metavar="TARGET",
    help="The broker: serve, the model; or kafka:VERSION or tcp://HOST:PORT, which get no faults: "
    "a proxy records the requests.",
)
@served_revision_option
@level_option
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="GLOB",
    help="Run only these obligations, scenarios or cases (may be repeated).  A pattern matches the "
    "whole id of one of them; * also matches a slash.",
)
@click.option(
    "--scenarios",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run the scenarios of this file instead of fencepost's own (may be repeated).  "
    "--case selects among them.",
)
@click.option(
    "--keep-traces",
    "keeps_traces",
    is_flag=True,
    help="Also write the traces of cases that pass into --report DIR.  A trace has the requests "
    "about the group.  Of other requests it has those that failed or met a fault, and the next "
    "one that succeeded.",
)
@known_failures_options
@written_list_option
@older_option
@scenario_jobs_option
@json_option
@report_option("Write certificate.json, junit.xml, index.html and the traces there.")
def certify_client_command(
    *,
    client: str,
    broker: str,
    revision: str,
    level: str,
    cases: tuple[str, ...],
    files: tuple[Path, ...],
    keeps_traces: bool,
    lists: tuple[Path, ...],
    no_known_failures: bool,
    written: Path | None,
    old: Path | None,
    jobs: int,
    as_json: bool,
    report: Path | None,
) -> int:
    """Test whether a client library fulfils its obligations.

    The library runs in a driver, against a broker that injects faults.  fencepost judges the
    requests that the library sends and what its user sees, never the library's logs.

    CLIENT is java, confluent-kafka, kafka-python, aiokafka, franz-go, sarama, kafka-go,
    confluent-kafka-go, kafkajs, platformatic, confluent-kafka-javascript or rdkafka-rust, each
    also with :VERSION; or reference, mutant:NAME, or exec:COMMAND, a driver of your own.

    A case is one obligation in one scenario.  It passes when a run shows that the obligation holds.
    It fails when two runs show a violation.  An undecided case runs up to three times.

    A case is unsupported if the library lacks what it needs.  It is also unsupported if
    no broker could send the answer that it needs: an OffsetCommit without an instance id never gets
    FENCED_INSTANCE_ID, and an OffsetFetch below version 7 never gets UNSTABLE_OFFSET_COMMIT.  The
    missing instance id is a failure of its own.  An option that the library accepts and ignores is
    a failure, too.

    A control client sends a request to the same broker ten times a second.  If it had to wait, a
    case that depends on time is unknown, and a state that may last for a moment may last longer
    by that wait.  There is one exception: with waits of 2 s in all, a close that is more than 4 s
    late fails.

    An error counts as reported to the user if any call returns it: start and commit as well as
    poll.  fencepost doesn't wait for a consumer whose start failed; the undecided cases say so.
    A member whose heartbeats lack the instance id can be fenced by chance: another process joins
    with its instance id before the member's SyncGroup.  fencepost doesn't count this as a pass.

    All 705 cases take two to five minutes once the driver is built; one scenario takes seconds, or
    up to a minute if it runs three times.  For static consumers, begin with --case static-life
    --case "*restart*" --case two-processes --case "closes*".

    For each case that did not pass, the report has up to 50 lines of each driver's stderr.
    """
    if keeps_traces and report is None:
        raise click.UsageError("--keep-traces writes traces into a report: give --report DIR, too")
    before = None if old is None else read_client_certificate(old)
    kept = kept_entries(lists, written)
    held, judge = find_client(client), find_revision(revision)
    check_classic(judge, "certify-client")
    own = read_scenarios(files) if files else None
    scenarios = matching_scenarios(cases, SCENARIOS if own is None else own)
    total = count_cases(scenarios)
    with case_progress(total, is_quiet=as_json, report=report) as show:
        certificate = run(
            certificate_of(
                held,
                broker,
                judge,
                patterns=cases,
                own=own,
                level=Level[level.upper()],
                jobs=jobs,
                known_failures=None if no_known_failures else lists,
                keeps_traces=keeps_traces,
                progress=show,
            )
        )
    if not no_known_failures:
        names = {
            f"{obligation}/{scenario.id}"
            for scenario in {**SCENARIOS, **scenarios}.values()
            for obligation in scenario.obligations
        }
        tell_of_no_use(lists, held.name, certificate.introduction.version, cases=names)
    return give_out(
        certificate,
        before,
        lambda document: drafted_client_list(document, kept),
        written,
        report,
        as_json=as_json,
    )
