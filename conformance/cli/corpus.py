"""`corpus`: the data pipeline over traces, in one process or on Spark.

The pipeline itself is `fencepost.traces.pipeline`; it does the same with both engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from fencepost.conformance.cli.cli import LazyGroup, Stub, exit_codes
from fencepost.conformance.cli.options.common_options import (
    SEED,
    Whole,
    console,
    echo_json,
    folder_option,
    json_option,
    place_option,
)
from fencepost.conformance.cli.options.log_options import (
    engine_of,
    engine_option,
    master_option,
    scope_options,
)
from fencepost.conformance.targets.target_registry import check_classic, find_revision
from fencepost.model.history.words import verdict_line
from fencepost.properties.judging.report import EXIT_CODES, Overall
from fencepost.properties.mutants.mutants import MUTANTS
from fencepost.properties.worlds.scope import Scope
from fencepost.traces.files.text_files import make_folder
from fencepost.traces.pipeline.corpus.corpus import SHARD_TRACES, Recipe, corpus_recipe

if TYPE_CHECKING:
    from fencepost.traces.pipeline.corpus.shard_jobs import Corpus

Option = Callable[[Any], Any]
_ALL = "all"
_LISTED = 8
folder_argument = click.argument("folder", metavar="DIR")
judge_option = click.option(
    "--revision", "judge", default="kafka-4", show_default=True, help="The revision that judges."
)
out_option = place_option("The folder to write, a path or URI.", "--out", "out")


_LOGS = (
    Stub(
        "audit",
        "corpus_logs:audit_logs_command",
        "Audit many logs of brokers and write the results as tables.",
    ),
    Stub("watch", "corpus_logs:watch_command", "Audit request logs while they grow, on Spark."),
    Stub("metrics", "corpus_logs:metrics_command", "Draw the figures of an audit: metrics.html."),
)


@click.group("corpus", cls=LazyGroup, sections={"Request logs": _LOGS})
def corpus_group() -> None:
    """Generate and check traces by the million.

    The work is done in one process (extra `corpus`), or on Spark (extra `spark`, Java 17); both
    give equal rows.  With Spark, executors get fencepost as an archive and need Python and pyarrow.
    DIR must have the same name on all machines: a shared folder, or a URI of Arrow (hdfs://, s3://,
    gs://).  A file is a task, so a hundred files for each core keep all cores busy.

    A file gets its name when it is complete.  After a crash, run the command again with the same
    options: it makes the missing files.  All tables are Parquet, version 1; columns may be added
    within a version.  `revision` and `mutant` (`none`: the revision itself) are folders.
    """


def _command(name: str, epilog: str | None = None) -> Option:
    """Return a command of the group that takes an engine."""

    def decorate(function: Option) -> Any:
        return corpus_group.command(name, epilog=epilog)(with_engine(function))

    return decorate


def with_engine(function: Callable[..., Any]) -> Any:
    """Return a command that takes an engine, and prints text or JSON."""
    return engine_option(master_option(json_option(function)))


@_command("generate")
@click.option("--traces", type=Whole(1), required=True, help="How many traces.")
@click.option("--seed", type=SEED, default=0, show_default=True)
@click.option(
    "--revision",
    "revisions",
    multiple=True,
    default=("kafka-4",),
    show_default=True,
    help="A revision (may be repeated).",
)
@click.option(
    "--mutants", multiple=True, metavar="NAME,…", help="Mutants, or `all` (may be repeated)."
)
@click.option(
    "--per-shard",
    type=Whole(1),
    default=SHARD_TRACES,
    show_default=True,
    help="The most traces in a file.",
)
@out_option
def generate_command(
    traces: int,
    seed: int,
    revisions: tuple[str, ...],
    mutants: tuple[str, ...],
    per_shard: int,
    out: str,
    engine: str,
    master: str | None,
    *,
    as_json: bool,
) -> None:
    """Generate traces from revisions and mutants.

    The same options always make the same traces.  A trace depends only on the seed, its number and
    its model, so a larger corpus contains the smaller one.

    \b
    Columns of traces/revision=R/mutant=M/shard-N.parquet, one row for each trace:
      `trace`          its number
      `scope`          number of the clients' scope, 0 to 2
      `config`         settings of the group, by Kafka's names
      `clock`          virtual
      `lag_ms`         0
      `steps`          the history, as in a trace file: `do`, `at_ms`,
                       `by_ms` (the latest time), `id`, `member`,
                       `connection`, `client_id`, `api`, `version`, `body`
                       (JSON; null if the connection was closed),
                       `findings`, `dropped`
      `turns`          the run of the model: `act`, `client` (-1: none),
                       `outcome` (the number of the allowed outcome),
                       `rules`, `state` (of the group after it)
    """  # noqa: D301  (click keeps the lines after it)
    names = [name for listed in mutants for name in listed.split(",") if name]
    chosen = list(MUTANTS) if _ALL in names else names
    recipe = _recipe(
        "generate",
        seed=seed,
        traces=traces,
        revisions=revisions,
        mutants=chosen,
        per_shard=per_shard,
    )
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

        ran = triage.generate_corpus(running, Place(out), recipe)
    say({"out": out, "models": list(recipe.models), **asdict(ran)}, as_json=as_json)


@_command("check", exit_codes("nothing is violated", "a trace is violated", "a trace is undecided"))
@folder_argument
@judge_option
@click.pass_context
def check_command(
    ctx: click.Context,
    folder: str,
    judge: str,
    engine: str,
    master: str | None,
    *,
    as_json: bool,
) -> None:
    """Check every trace in DIR against a revision.

    The oracle judges each trace, and the properties of histories and the invariants must hold.  A
    second run checks only new traces.

    \b
    Columns of verdicts/judge=R/revision=…/mutant=…/shard-N.parquet:
      `trace`          its number
      `turns`          its length
      `outcome`        holds, violated, unknown, or error (the check failed)
      `level`, `rule`  level and rule of the violation
      `api`            request with the wrong answer
      `wrong`          kind of the violation; PROPERTY if only a property
                       is violated
      `seen`           kind of the answer
      `request`        the request with the wrong answer
      `decided_by`     the rules that apply to it
      `broken`         ids of the violated properties
      `message`        one sentence; for an error its class and text
    """  # noqa: D301  (click keeps the lines after it)
    _check_known("check", judge)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415

        corpus = _open(folder)
        ran = triage.check_corpus(running, corpus, judge)
        counted = triage.count_outcomes(running, corpus, judge).to_pylist()
    outcomes: dict[str, int] = {}
    for row in counted:
        outcomes[row["outcome"]] = outcomes.get(row["outcome"], 0) + row["traces"]
    if as_json:
        say({"revision": judge, **asdict(ran), "models": counted}, as_json=True)
    else:
        results = ", ".join(f"{number:,} {outcome}" for outcome, number in outcomes.items())
        click.echo(verdict_line((judge,), (f"traces: {results or 'none'}",)))
        click.echo()
        say({"revision": judge, **asdict(ran), **outcomes}, as_json=False)
    violated = outcomes.get("violated", 0)
    undecided = outcomes.get("unknown", 0) + outcomes.get("error", 0)
    overall = Overall.UNKNOWN if undecided else Overall.HOLDS
    ctx.exit(EXIT_CODES[Overall.VIOLATED if violated else overall])


@_command("coverage")
@folder_argument
def coverage_command(folder: str, engine: str, master: str | None, *, as_json: bool) -> None:
    """Count the rules, pairs of rules and states in DIR.

    An item is missing if an exhaustive search of small worlds reaches it and no trace does.

    \b
    Columns of coverage.parquet:
      `revision`, `mutant`   the model
      `kind`                 rule, pair or state
      `item`                 its name
      `traces`               number of traces that have it
      `first`                number of the first one
    """  # noqa: D301  (click keeps the lines after it)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415
        from fencepost.traces.pipeline.corpus.corpus_coverage import KINDS, coverage_json  # noqa: PLC0415

        corpus = _open(folder)
        document = coverage_json(corpus, triage.cover_corpus(running, corpus))
    if as_json:
        say(document, as_json=True)
        return
    screen = console()
    for model in document["models"]:
        source = model["revision"] + (f"/{model['mutant']}" if model["mutant"] != "none" else "")
        for kind in KINDS:
            for line in _coverage_lines(source, kind, model[kind]):
                screen.print(Text(line))


def _coverage_lines(source: str, kind: str, document: dict[str, Any]) -> Iterator[str]:
    half = next((n for _, n in reversed(document["over_time"][:-1])), 0)
    covered = document["covered"]
    line = f"{source}: {covered:,} {kind}s, {covered - half:,} new in the second half"
    missing = document.get("missing", [])
    if "missing" in document:
        line += f"; {len(missing):,} of {document['reachable_in_small_worlds']:,} reachable missing"
    yield line
    yield from (f"  missing: {item}" for item in missing[:_LISTED])
    if missing[_LISTED:]:
        yield f"  and {len(missing) - _LISTED:,} more; --json names all"


@_command("minimise-corpus")
@folder_argument
@out_option
def minimise_command(
    folder: str, out: str, engine: str, master: str | None, *, as_json: bool
) -> None:
    """Write a smaller corpus that covers what DIR covers."""
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

        kept, of = triage.minimise_corpus(running, _open(folder), Place(out))
    say({"out": out, "kept": kept, "of": of}, as_json=as_json)


@_command("triage")
@folder_argument
@judge_option
@folder_option("Write a trace file for each group there.", "--out", "out")
def triage_command(
    folder: str, judge: str, out: Path | None, engine: str, master: str | None, *, as_json: bool
) -> None:
    """Group the violations in DIR and shrink one of each group.

    A group has one fingerprint: rule, request and kind of violation.  Its shortest trace is shrunk.
    """
    _check_known("triage", judge)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415

        result = triage.triage_corpus(running, _open(folder), judge)
    if out is not None:
        make_folder(out, "give --out another folder")
        for group in result:
            if group.file is not None:
                group.file.write(out / f"{group.name}.trace.json")
    if as_json:
        say([group.to_json() for group in result], as_json=True)
        return
    screen = console()
    for group in result:
        size = f"{group.turns[0]} turns, made smaller: {group.turns[1]}"
        screen.print(Text(f"{group.traces:,} of {group.fingerprint}"))
        screen.print(Text(f"  trace {group.trace} of {group.model}, {size}; {group.message}"))


@_command("explore", exit_codes("all properties hold", "a property is violated"))
@click.option("--revision", default="kafka-4", show_default=True)
@scope_options(Scope(clients=2, members=2))
@out_option
@click.pass_context
def explore_command(
    ctx: click.Context,
    revision: str,
    scope: Scope,
    max_depth: int | None,
    out: str,
    engine: str,
    master: str | None,
    *,
    as_json: bool,
) -> None:
    """Visit every world within bounds, level by level.

    Use it for bounds that are too large for `fencepost explore`.  It counts worlds and lists
    violated properties, without their runs.  Each level is a table in DIR.  A second run continues
    after the last complete level.
    """
    _check_known("explore", revision)
    with engine_of(engine, master) as running:
        from fencepost.traces.pipeline.corpus.exploring import ExplorationBounds, explore_levels  # noqa: PLC0415
        from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

        place = Place(out)
        bounds = ExplorationBounds(revision, scope)
        result = explore_levels(running.frontiers(place), place, bounds, max_depth)
    if not as_json:
        broken = len(result.broken())
        words = f"{broken} properties violated" if broken else "no property is violated"
        click.echo(verdict_line((revision,), (words,)))
        click.echo()
    say(result.to_json(), as_json=as_json)
    ctx.exit(EXIT_CODES[Overall.VIOLATED if result.broken() else Overall.HOLDS])


@corpus_group.command("entry-point")
def entry_point_command() -> None:
    """Print the file to give to spark-submit.

    The commands of this group follow it.
    """
    click.echo(str(Path(__file__).with_name("spark_entry.py")))


def _open(folder: str) -> Corpus:
    from fencepost.traces.pipeline.corpus import triage  # noqa: PLC0415
    from fencepost.traces.pipeline.storage.location import Place  # noqa: PLC0415

    return triage.open_corpus(Place(folder))


def _check_known(command: str, revision: str) -> None:
    """Raise UsageError for an unknown revision, OtherProtocolError for one of another protocol."""
    _recipe(command, seed=0, traces=1, revisions=[revision], mutants=[], per_shard=1)


def _recipe(command: str, **of: Any) -> Recipe:
    """Make a recipe.  Raises UsageError for an unknown model, OtherProtocolError."""
    try:
        recipe = corpus_recipe(**of)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    for model in recipe.models:
        check_classic(find_revision(model), f"corpus {command}")
    return recipe


def say(document: Any, *, as_json: bool) -> None:
    """Print the result of a command."""
    if as_json:
        echo_json(document)
        return
    for name, value in document.items():
        click.echo(f"{name.replace('_', ' ')}: {_value_text(value)}")


def _value_text(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name} ({of})" for name, of in value.items()) or "nothing"
        case _:
            return str(value)
