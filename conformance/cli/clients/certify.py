"""`certify-client`: hold a client library to its obligations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fencepost.conformance.certify.certificate_diff import diff_certificates
from fencepost.conformance.certify.report import write_texts
from fencepost.conformance.cli.certify import case_progress
from fencepost.conformance.cli.clients.options import (
    scenario_jobs_option,
    served_revision_option,
)
from fencepost.conformance.cli.exit_codes import exit_codes
from fencepost.conformance.cli.options.common import (
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target import known_failures_options, written_list_option
from fencepost.conformance.clients.certificate.certificate import (
    certificate_json,
    read_client_certificate,
)
from fencepost.conformance.clients.certificate.console import print_certificate
from fencepost.conformance.clients.certificate.known_failures import drafted_list
from fencepost.conformance.clients.certificate.report import INDEX, write_report
from fencepost.conformance.clients.certificate.run import certificate_of
from fencepost.conformance.clients.execution.stage import SERVE
from fencepost.conformance.clients.registry import find_client
from fencepost.conformance.clients.scenarios.catalogue import cases_of, chosen
from fencepost.conformance.runtime.signals import run
from fencepost.conformance.targets.registry import find_revision
from fencepost.model.table.table import Level


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
@click.option(
    "--level",
    type=click.Choice([level.value.lower() for level in Level]),
    default="should",
    show_default=True,
    help="The lowest level that counts for the exit code.",
)
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="GLOB",
    help="Run only these obligations, scenarios or cases (may be repeated).",
)
@known_failures_options
@written_list_option
@click.option(
    "--diff",
    "old",
    metavar="OLD.json",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare with an older certificate.json; --report then has diff.html, too.",
)
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
    kafkajs, platformatic (each with :VERSION, if you like), reference, mutant:NAME, or
    exec:COMMAND, a driver of your own.
    """
    before = None if old is None else read_client_certificate(old)
    held, judge = find_client(client), find_revision(revision)
    scenarios = chosen(cases)
    with case_progress(sum(len(cases_of(one)) for one in scenarios.values())) as show:
        certificate = run(
            certificate_of(
                held,
                broker,
                judge,
                patterns=cases,
                level=Level[level.upper()],
                jobs=jobs,
                known_failures=None if no_known_failures else lists,
                progress=show,
            )
        )
    diff = None if before is None else diff_certificates(before, certificate_json(certificate))
    if report is not None:
        write_report(certificate, report, diff)
    if written is not None:
        drafted = json.dumps(drafted_list(certificate), indent=2, ensure_ascii=False) + "\n"
        write_texts({written.name: drafted}, written.parent, "--write-known-failures")
    if as_json:
        compared = {} if diff is None else {"diff": diff.to_json()}
        echo_json({**certificate_json(certificate), **compared})
        return certificate.exit_code()
    print_certificate(certificate, console())
    said = [] if diff is None else list(diff.lines())
    if written is not None:
        said.append(f"Written: {written}; say in it why each failure is known")
    if report is not None:
        said.append(f"Read {report / INDEX}")
    for line in said:
        console().print(line, soft_wrap=True, highlight=False, markup=False)
    return certificate.exit_code()
