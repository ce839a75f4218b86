"""Search a client library for violations outside the catalogue's scenarios (`fuzz-client`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from fencepost.conformance.cases.clients.scenario import Scenario
from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.client_options import (
    scenario_jobs_option,
    served_revision_option,
)
from fencepost.conformance.cli.options.common_options import (
    SEED,
    Whole,
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import known_failures_options, tell_of_no_use
from fencepost.conformance.clients.driver_programs import Client, find_client
from fencepost.conformance.clients.stage import ServedStage
from fencepost.conformance.runtime.event_loop import run
from fencepost.conformance.search.clients.client_fuzz_report import (
    exit_code,
    finding_lines,
    read_trace,
    search_json,
    summary,
    write_search,
)
from fencepost.conformance.search.clients.client_search import ClientFuzzer, ClientSearch
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.revision import Revision
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, load

_SCENARIOS = 50
_TRIES = 40


@click.command(
    "fuzz-client",
    epilog=exit_codes(
        "nothing was found, apart from known failures",
        "an obligation is violated in each run",
        "a violation was seen, and not in each run",
    ),
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--scenarios",
    "count",
    type=Whole(1),
    default=_SCENARIOS,
    show_default=True,
    help="How many scenarios to draw.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The seed of the scenarios.")
@click.option(
    "--tries",
    type=Whole(0),
    default=_TRIES,
    show_default=True,
    help="The most runs to shrink one finding.",
)
@click.option(
    "--replay",
    "trace",
    metavar="TRACE.json",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Draw nothing: run the scenario of this trace three times.",
)
@served_revision_option
@scenario_jobs_option
@known_failures_options
@json_option
@report_option("Write fuzz-client.json, index.html and a trace of each finding there.")
def fuzz_client_command(
    *,
    client: str,
    count: int,
    seed: int,
    tries: int,
    trace: Path | None,
    revision: str,
    jobs: int,
    lists: tuple[Path, ...],
    no_known_failures: bool,
    as_json: bool,
    report: Path | None,
) -> int:
    """Search a client library with scenarios drawn at random.

    Consumers start, close, crash, are removed and replaced, and the broker errs; then all is left
    in peace.  What is violated is shrunk to the shortest scenario and run three times.  The
    reference client runs it, too: what it does as well is held against nobody.  The same seed gives
    the same scenarios.

    CLIENT is named as for certify-client.
    """
    held, judge = find_client(client), find_revision(revision)
    replayed = None if trace is None else read_trace(trace)

    def say(line: str) -> None:
        if not as_json:
            console().print(line, soft_wrap=True, highlight=False, markup=False)

    known = None if no_known_failures else lists
    search = run(
        _searched(
            held, judge, known, jobs=jobs, tries=tries, seed=seed, count=count, replayed=replayed
        )
    )
    if report is not None:
        write_search(search, held.name, seed, judge.name, report)
    if as_json:
        echo_json(search_json(search, held.name, seed, judge.name))
        return exit_code(search)
    for finding in search.findings:
        for line in finding_lines(finding):
            say(line)
    say(summary(search))
    if report is not None:
        say(f"Read {report / 'index.html'}")
    return exit_code(search)


async def _searched(
    client: Client,
    revision: Revision,
    lists: Sequence[Path] | None,
    *,
    jobs: int,
    tries: int,
    seed: int,
    count: int,
    replayed: tuple[str, Scenario] | None,
) -> ClientSearch:
    async with ClientFuzzer(client, ServedStage(revision), jobs=jobs, tries=tries) as fuzzer:
        if replayed is not None:
            return await fuzzer.replayed(*replayed)
        if lists is not None:
            version = (await fuzzer.introduction()).version
            tell_of_no_use(lists, client.name, version)
            fuzzer.known = load(client.name, version, lists, folder=CLIENT_FOLDER)
        return await fuzzer.search(seed, range(count))
