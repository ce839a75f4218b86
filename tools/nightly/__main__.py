"""Run every search in a given time, and write one report: `python -m tools.nightly`.

By default the seed is the date, the corpus is that of the checkout, and the last run is the one
whose report is in the same folder.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import click

from fencepost.conformance.cli.cli import exit_code, exit_codes
from fencepost.conformance.cli.options.common_options import echo_json, json_option
from fencepost.conformance.runtime.event_loop import run_until_signal
from fencepost.conformance.search.findings.trace_causes import CorpusFolder, cause_sentence
from fencepost.conformance.search.findings.tracked_bugs import TrackedBug
from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.model.history.words import how_often
from fencepost.properties.workers.processes import Stop
from fencepost.traces.files.text_files import write_texts
from tools.nightly.nightly import Night, NightOptions, NightPart, run_night
from tools.nightly.nightly_report import NAME, SURE_WORDS, Before, NightReport
from tools.nightly.schedule import TARGETS, WEIGHTS, targets_of, weights_of

_MINUTES = 60.0
_SOME = 20
"""The most entries on the screen; the report has all."""


@click.command(
    "python -m tools.nightly",
    epilog=exit_codes(
        "nothing new",
        "a new bug",
        "a new intermittent bug, a failed part, or half of the mutants missed",
    ),
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=_MINUTES,
    show_default=True,
    help="Duration in minutes.",
)
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("nightly"),
    show_default=True,
    metavar="DIR",
    help=f"Write {NAME}, index.html, traces, logs and Hypothesis's examples there.",
)
@click.option("--seed", type=click.IntRange(min=0), help="The seed [default: the date].")
@click.option(
    "--before",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"The {NAME} of the last run [default: the one in --report].",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(list(WEIGHTS)),
    help="Only this part (may be repeated) [default: all].",
)
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="Search this target (may be repeated) [default: those that can be started here, the old "
    "releases of Kafka in turn].",
)
@click.option(
    "--requests",
    type=click.IntRange(min=1),
    help="The most requests to send in each search.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: os.cpu_count() or 1,
    show_default="processors",
    help="Processes in parallel, each with its own seeds.",
)
@click.option(
    "--corpus",
    "corpus_folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Traces whose bugs are known [default: traces/corpus/ of the checkout].",
)
@json_option
def nightly_command(
    *,
    minutes: float,
    report: Path,
    seed: int | None,
    before: Path | None,
    parts: tuple[str, ...],
    targets: tuple[str, ...],
    requests: int | None,
    jobs: int,
    corpus_folder: Path | None,
    as_json: bool,
) -> int:
    """Run every search and report what is new.

    \b
    Parts, with their share of the time (unused time goes to the others):
      model    10 %  fuzz the model; no violation may occur
      mutants  18 %  search each mutant; the rate measures the search
      traces   10 %  generate and check traces (extra `corpus`)
      tests    17 %  run the property tests with new seeds; Hypothesis
                     keeps its examples in the report
      targets  45 %  fuzz all targets that can be started here

    A part that doesn't end in time is asked to stop, and killed 45 seconds later; its results are
    kept.  The first Ctrl-C ends the run with a report, the second without.  A target whose tools
    are missing is skipped.

    A failure is one entry for each known cause, or for each fingerprint (rule, request, kind of
    error).  It is adopted if a trace of the corpus shows it, known if the list of the target has
    it, open if an earlier night reported it, and else new.  Intermittent failures are separate
    entries, and are forgotten after a week.

    The summary names a newer Kafka than the newest that was tried.

    nightly.json has a schema, tools/nightly/nightly-1.schema.json.
    """  # noqa: D301  (click keeps the lines after it)
    for target in targets:
        find_target(target, TargetOptions())
    began = datetime.now(UTC)
    chosen = parts or tuple(WEIGHTS)
    number = int(began.strftime("%Y%m%d")) if seed is None else seed
    folder = corpus_folder or CorpusFolder.around(Path.cwd())
    earlier = _before(before, report)
    write_texts({}, report, "--report")
    options = NightOptions(
        began=began,
        seed=number,
        seconds=minutes * 60,
        report=report.absolute(),
        root=Path.cwd(),
        parts=chosen,
        targets=targets or targets_of(number, minutes * 60 * _share_of_targets(chosen)),
        named=bool(targets),
        jobs=jobs,
        requests=requests,
        corpus=None if folder is None else CorpusFolder.read(folder).same_bugs(),
        open_bugs=frozenset() if earlier is None else earlier.confirmed_open(),
    )

    def say(line: str) -> None:
        if not as_json:
            click.echo(line)
            sys.stdout.flush()

    def heard(part: NightPart) -> None:
        say(f"{part.name}: {part.status} after {part.seconds:.0f} s: {part.result_text}")

    async def searched(stop: Stop) -> Night:
        compared = "no earlier one" if earlier is None else f"that of {earlier.night}"
        say(f"night of {options.tonight}, seed {number}, {minutes:g} minutes, after {compared}")
        return await run_night(options, stop, heard)

    night_report = NightReport.of(run_until_signal(searched), earlier)
    night_report.write(report)
    if as_json:
        echo_json(night_report.to_json())
    else:
        _echo(night_report, report)
    return night_report.exit_code()


def _share_of_targets(parts: tuple[str, ...]) -> float:
    weights = weights_of(parts, ("one",))
    return weights.get("one", 0.0) / sum(weights.values()) if TARGETS in parts else 0.0


def _before(named: Path | None, report: Path) -> Before | None:
    """Return the night before; None if there was none yet."""
    path = report / NAME if named is None else named
    if not path.exists():
        return None
    return Before.read(path)


def _echo(night_report: NightReport, report: Path) -> None:
    click.echo(f"\n{night_report.summary()}")
    urgent = [entry for entry in night_report.entries if entry.is_pending]
    for entry in urgent[:_SOME]:
        click.echo()
        name = entry.cause or entry.shape
        click.echo(f"{entry.status}: {', '.join(entry.targets)}: {name} ({_how(entry)})")
        click.echo(f"  {entry.sentence}")
        if entry.cause:
            click.echo(f"  {cause_sentence(entry.cause)}")
        if entry.trace is not None:
            click.echo(f"  fencepost adopt {report / entry.trace}")
    if urgent[_SOME:]:
        click.echo(f"\nand {len(urgent) - _SOME} more")
    click.echo(f"\nRead {report / 'index.html'}")


def _how(entry: TrackedBug) -> str:
    if not entry.seen:
        return f"not seen tonight, last on {date.fromordinal(entry.last_run)}"
    return f"seen {how_often(entry.seen)}; {SURE_WORDS[entry.sure]}"


if __name__ == "__main__":
    sys.exit(exit_code(nightly_command, None, "python -m tools.nightly"))
