"""Search a client library for violations outside the catalogue's scenarios (`fuzz-client`)."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import click

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.client_options import (
    scenario_jobs_option,
    served_revision_option,
)
from fencepost.conformance.cli.options.common_options import (
    MINUTES,
    SEED,
    Whole,
    console,
    echo_json,
    json_option,
    report_option,
)
from fencepost.conformance.cli.options.target_options import known_failures_options, tell_of_no_use
from fencepost.conformance.clients.driver_programs import find_client
from fencepost.conformance.clients.stage import ServedStage
from fencepost.conformance.runtime.event_loop import run, run_until_signal
from fencepost.conformance.search.clients.client_fuzz_report import (
    exit_code,
    finding_lines,
    read_trace,
    search_json,
    summary,
    violation_line,
    write_search,
)
from fencepost.conformance.search.clients.client_search import (
    ClientFinding,
    ClientFuzzer,
    ClientSearch,
    SearchListener,
)
from fencepost.conformance.targets.target_registry import check_classic, find_revision
from fencepost.properties.workers.processes import Stop
from fencepost.traces.files.known_failure_lists import CLIENT_FOLDER, load

_SCENARIOS = 50
_TRIES = 40


@click.command(
    "fuzz-client",
    epilog=exit_codes(
        "no violation, apart from known failures",
        "an obligation is violated in all three runs",
        "only violations that are not in all three runs",
    ),
)
@click.argument("client", metavar="CLIENT")
@click.option(
    "--scenarios",
    "count",
    type=Whole(1),
    help=f"Number of scenarios to draw [default: {_SCENARIOS}; no limit with --minutes].",
)
@click.option(
    "--minutes",
    type=MINUTES,
    help="Minutes to draw scenarios.  Shrinking and confirming may go on after that.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The seed of the scenarios.")
@click.option(
    "--tries",
    type=Whole(0),
    default=_TRIES,
    show_default=True,
    help="Most runs to shrink one finding.",
)
@click.option(
    "--replay",
    "trace",
    metavar="TRACE.json",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Draw nothing; run the scenario of this trace three times.  It may be a trace of "
    "certify-client, too.",
)
@served_revision_option
@scenario_jobs_option
@known_failures_options
@json_option
@report_option("Write fuzz-client.json, index.html and a trace of each finding there.")
def fuzz_client_command(
    *,
    client: str,
    count: int | None,
    minutes: float | None,
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
    """Search a client library for violations, in random scenarios.

    Consumers start, close, crash, are removed and replaced, and the broker injects faults.  Records
    are written, read and committed all the time.  Then the faults end, and the group must recover.

    CLIENT is named as for certify-client.

    fencepost judges each run by the obligations that hold at any time.  It leaves out waits during
    which something else happened.  Many scenarios with static members do one restart or rebalance
    at a time; these are also judged by the obligations on restarts and leaders.

    When a run violates an obligation, fencepost prints a line "seen ...".  It takes away consumers,
    acts and settings as long as the violation remains, and runs the shortest scenario three times.
    A violation that isn't in all three runs is not confirmed.  The reference client runs the same
    scenario: what it violates, too, doesn't count as a finding.

    A list of known failures names a violation by its obligation and by what was observed;
    another API in the observation is no other failure.  fencepost prints a known failure with its
    reason, and doesn't shrink it.

    The same seed gives the same scenarios, for libraries with the same features.  Ctrl-C or SIGTERM
    ends the search: fencepost reports all findings, writes --report, and exits with the code
    of the verdict.  A second one ends it at once, with exit code 130.
    """
    held, judge = find_client(client), find_revision(revision)
    check_classic(judge, "fuzz-client")
    replayed = None if trace is None else read_trace(trace)

    if count is None and minutes is None:
        count = _SCENARIOS
    news = _News(is_printed=not as_json)

    async def searched(stop: Stop) -> ClientSearch:
        async with ClientFuzzer(held, ServedStage(judge), jobs=jobs, tries=tries) as fuzzer:
            if replayed is not None:
                return await fuzzer.replayed(*replayed)
            if not no_known_failures:
                version = (await fuzzer.introduction()).version
                tell_of_no_use(lists, held.name, version)
                fuzzer.known = load(held.name, version, lists, folder=CLIENT_FOLDER)
            return await fuzzer.search(
                seed,
                itertools.count() if count is None else range(count),
                stop=stop,
                seconds=None if minutes is None else minutes * 60,
                listener=news,
            )

    search = run(searched(Stop())) if replayed is not None else run_until_signal(searched)
    if report is not None:
        write_search(search, held.name, seed, judge.name, report)
    if as_json:
        echo_json(search_json(search, held.name, seed, judge.name))
        return exit_code(search)
    news.say(summary(search))
    if search.excused:
        excused = ", ".join(search.excused)
        news.say(f"excused, since the reference client violates them, too: {excused}")
    for finding in search.findings:
        news.say("")
        for line in finding_lines(finding):
            news.say(line)
    if report is not None:
        news.say(f"Read {report / 'index.html'}")
    return exit_code(search)


class _News(SearchListener):
    """Prints a line for each finding as it comes."""

    def __init__(self, *, is_printed: bool) -> None:
        self._is_printed = is_printed

    def say(self, line: str) -> None:
        """Print a line at once."""
        if self._is_printed:
            console().print(line, soft_wrap=True, highlight=False, markup=False)
            sys.stdout.flush()

    def violated(self, finding: ClientFinding) -> None:
        """Print a line."""
        self.say(violation_line(finding))
