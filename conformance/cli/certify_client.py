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
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.table.table import Level
from fencepost.traces.files.known_failure_lists import drafted_client_list
from fencepost.traces.report.client_certificate import read_client_certificate


@click.command(
    "certify-client",
    epilog=exit_codes(
        "the client holds, apart from known failures",
        "an obligation is violated, or a known failure is out of date",
        "a case that counts stayed unknown",
    ),
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--broker",
    default=SERVE,
    show_default=True,
    metavar="TARGET",
    help="What it runs against: serve, or kafka:VERSION or tcp://HOST:PORT, where nothing is "
    "provoked.",
)
@served_revision_option
@level_option
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="GLOB",
    help="Run only these obligations, scenarios or cases (may be repeated).",
)
@click.option(
    "--scenarios",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run the scenarios of this file instead of fencepost's own (may be repeated).",
)
@click.option(
    "--keep-traces",
    "keeps_traces",
    is_flag=True,
    help="Write the traces of cases that pass into --report DIR, too.",
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
    """Hold a client library to what it owes as a member of a group.

    The library runs in a driver, against a broker that is mean to it on purpose.  It is judged by
    the requests that it sends and by what its user sees, never by its logs.

    CLIENT is java:VERSION, confluent-kafka, kafka-python, aiokafka, franz-go, sarama, kafka-go,
    confluent-kafka-go, kafkajs, platformatic, confluent-kafka-javascript, rdkafka-rust (each with
    :VERSION, if you like), reference, mutant:NAME, or exec:COMMAND, a driver of your own.
    """
    if keeps_traces and report is None:
        raise click.UsageError("--keep-traces writes traces into a report: give --report DIR, too")
    before = None if old is None else read_client_certificate(old)
    kept = kept_entries(lists, written)
    held, judge = find_client(client), find_revision(revision)
    own = read_scenarios(files) if files else None
    scenarios = matching_scenarios(cases, SCENARIOS if own is None else own)
    total = count_cases(scenarios)
    with case_progress(total, is_quiet=as_json) as show:
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
        tell_of_no_use(lists, held.name, certificate.introduction.version)
    return give_out(
        certificate,
        before,
        lambda document: drafted_client_list(document, kept),
        written,
        report,
        as_json=as_json,
    )
