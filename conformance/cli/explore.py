"""Check properties exhaustively in small worlds (`explore` and `check`).

The results of `explore` and `check` are text, JSON and trace files.  A property that fails is
printed with its world and the shortest run to the failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.options.common_options import (
    JOB_COUNT,
    Whole,
    console,
    echo_json,
    json_option,
    output_option,
    report_option,
    revision_option,
    strict_option,
)
from fencepost.conformance.cli.options.log_options import scope_options
from fencepost.conformance.targets.own_revision import (
    promises_for,
    properties_for,
    stops_reported,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import verdict_line
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import lineage
from fencepost.properties.checking.checking import (
    VIOLATED,
    PropertyStatus,
    expected_finding,
    has_all_explored,
    is_explored,
    size_beyond_reach,
    stops_of,
    unfinished_verdict,
    with_stops,
)
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.checking.liveness import Promise
from fencepost.properties.claims.property_classes import SHORTER, headline
from fencepost.properties.claims.property_registry import find_property, known_of_releases
from fencepost.properties.claims.world_properties import DECIDED
from fencepost.properties.explorer.exploration import SUFFIXES, Exploration, Progress, graph_text
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.logic.logic import Engine, Property, PropertyClass
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import (
    NamedScope,
    Scope,
)
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.traces.files.run_trace import COUNTEREXAMPLE, KNOWN, Example, run_lines, run_trace
from fencepost.traces.files.text_files import ReportError, make_folder, write_text


@dataclass(frozen=True, slots=True)
class Failure:
    """A property or promise that does not hold: the finding, the run, and lines for people.

    `about`: the failure and its reason; `steps`: the run.  The last `repeated` turns of the run
    happen again and again.
    """

    claim: Property | Promise
    finding: PropertyStatus
    sentence: str
    about: tuple[str, ...]
    steps: tuple[str, ...] = ()
    run: Run | None = None
    worlds: Worlds | None = None
    repeated: int = 0

    @property
    def id(self) -> str:
        """The id of the property or promise."""
        return self.claim.id


@dataclass(frozen=True, slots=True)
class Explored:
    """An exploration of a revision within a scope."""

    revision: Revision
    scope: Scope
    jobs: int
    worlds: Worlds
    exploration: Exploration[World, Act]
    properties: tuple[Property, ...]
    failures: tuple[Failure, ...]


def explored_in(
    revision: Revision,
    scope: Scope,
    properties: Iterable[Property],
    *,
    jobs: int = 1,
    max_states: int | None = None,
    max_depth: int | None = None,
    keep_graph: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Explored:
    """Explore, and unfold the shortest run to each violation."""
    requested = tuple(properties)
    judging = Evaluator(with_stops(requested, revision), revision)
    worlds = Worlds(revision, scope, judging.judge)
    exploration = explore(
        worlds,
        judging.checks(worlds),
        jobs=jobs,
        max_states=max_states,
        max_depth=max_depth,
        keep_graph=keep_graph,
        progress=progress,
        quiet=is_quiet,
        stops=stops_of(revision),
    )
    properties = (*judging.of_steps, *judging.of_groups, *judging.of_worlds)
    mine = {property_.id: property_ for property_ in properties}
    if DECIDED not in requested and DECIDED.id not in exploration.violations:
        properties = tuple(property_ for property_ in properties if property_ is not DECIDED)
    failures = []
    for name, violation in exploration.violations.items():
        property_ = mine[name.removeprefix(EXCUSED)]
        run = unfold(worlds, violation.trace)
        finding = PropertyStatus.BROKEN
        if name.startswith(EXCUSED):
            finding = expected_finding(property_, revision, run)
        sentence = run.in_real_ids(violation.sentence)
        failures.append(failure_of(property_, finding, sentence, run, worlds))
    return Explored(revision, scope, jobs, worlds, exploration, properties, tuple(failures))


def failure_of(
    property_: Property, finding: PropertyStatus, sentence: str, run: Run, worlds: Worlds
) -> Failure:
    """Return the failure of a property with its run."""
    why = [f"  because: {property_.meaning}"] if property_.formula is None else []
    names = lineage(worlds.revision)
    known = next((name for name in names if name in property_.expected), None)
    theirs = known_of_releases(property_, worlds.revision)
    reasons = [theirs[rule] for rule in run.turns[-1].rules if rule in theirs] if run.turns else []
    if reasons and finding is PropertyStatus.EXPECTED:
        why.append(f"  here: {reasons[0]}")
    elif known is not None and finding is PropertyStatus.BROKEN:
        why.append(f"  {known}, which this is made from, fails: {property_.expected[known]}")
    elif known is not None:
        why.append(f"  here: {property_.expected[known]}")
    about = (f"  {sentence}", *harm_line(property_), *why, f"  source: {property_.source}")
    lines = tuple(run_lines(worlds, run))
    return Failure(property_, finding, sentence, about, lines, run, worlds)


def harm_line(claim: Property | Promise) -> tuple[str, ...]:
    """Return the line with the class of a property, and why its violation is bad."""
    return (f"  {claim.property_class.value}" + (f": {claim.harm}" if claim.harm else ""),)


def exploration_json(explored: Explored) -> dict[str, Any]:
    """Return the figures, a finding for each property, the violations with their runs."""
    exploration = explored.exploration
    seconds = max(exploration.seconds, 1e-9)
    broken = {failure.id: failure.finding.value for failure in explored.failures}
    findings = {
        property_.id: broken.get(property_.id)
        or (
            "holds"
            if {property_.id, EXCUSED + property_.id} & set(exploration.witnesses)
            else "not reached"
        )
        for property_ in explored.properties
    }
    return {
        "revision": explored.revision.name,
        "scope": scope_json(explored.scope),
        "states": exploration.states,
        "transitions": exploration.transitions,
        "levels": list(exploration.levels),
        "complete": exploration.complete,
        "stuck": exploration.stuck,
        "jobs": explored.jobs,
        "seconds": round(exploration.seconds, 3),
        "states_per_second": round(exploration.states / seconds),
        "transitions_per_second": round(exploration.transitions / seconds),
        "peak_mib": exploration.peak_bytes >> 20,
        "beyond_reach": size_beyond_reach(explored.revision, [explored.scope]),
        "verdict": _verdict(explored),
        "is_safe": not (exploration.full or any(map(_is_unsafe, explored.failures))),
        "properties": findings,
        "classes": {p.id: p.property_class.value for p in explored.properties},
        "violations": [failure_json(failure) for failure in explored.failures],
    }


def _is_unsafe(failure: Failure) -> bool:
    return failure.finding in VIOLATED and failure.claim.property_class is PropertyClass.SAFETY


def _verdict(explored: Explored, most: int | None = None) -> str:
    """Return the headline of an exploration, "" where it is finished and nothing is violated.

    `most`: the greatest number of names in a list, as for `headline`.
    """
    wrong = [(f.id, f.claim.property_class) for f in explored.failures if f.finding in VIOLATED]
    if explored.exploration.full:
        return unfinished_verdict(wrong, explored.exploration.states, most)
    is_whole = has_all_explored({p.id for p in explored.properties}, explored.revision)
    safe = "safe within these bounds" if is_whole else ""
    return headline(wrong, safe=safe, most=most) if wrong else ""


def failure_json(failure: Failure) -> dict[str, Any]:
    """Return a violation and its run, in words."""
    return {
        "property": failure.id,
        "finding": failure.finding.value,
        "class": failure.claim.property_class.value,
        "harm": failure.claim.harm,
        "sentence": failure.sentence,
        "steps": 0 if failure.run is None else len(failure.run.turns),
        "told": [line.strip() for line in (*failure.about, *failure.steps)],
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """Return the bounds."""
    return {
        "clients": scope.clients,
        "instances": scope.instances,
        "dynamic": scope.dynamic,
        "old": scope.old,
        "zombies": scope.zombies,
        "members": scope.members,
        "offers": scope.offers,
        "generations": scope.generations,
        "delay_ticks": scope.delay_ticks,
        "uneven": scope.uneven,
        "places": scope.places,
        "leaves_on_close": scope.leaves_on_close,
        "keeps_id": scope.keeps_id,
        **scope.more_bounds(),
        "acts": list(scope.acts),
    }


def write_traces(failures: Iterable[Failure], folder: Path) -> list[Path]:
    """Return a trace file for each violation, named after its property.  Raises ReportError."""
    written = []
    make_folder(folder)
    for failure in failures:
        if failure.run is None or failure.worlds is None:
            continue
        path = folder / f"{failure.id}.trace.json"
        message = f"{failure.id}: {failure.sentence}"
        shows = Example(
            KNOWN if failure.finding is PropertyStatus.EXPECTED else COUNTEREXAMPLE,
            f"Each answer is one that {failure.worlds.revision.name} gives; the run is not what "
            f"{failure.id} asks for.",
        )
        trace = run_trace(
            failure.worlds, failure.run, message=message, repeated=failure.repeated, shows=shows
        )
        trace.write(path)
        written.append(path)
    return written


def write_graph_file(explored: Explored, path: Path) -> None:
    """Write the graph of an exploration.  Raises ReportError, ValueError if it was not kept."""
    graph = explored.exploration.graph
    if graph is None:
        raise ValueError("the graph was not kept; explore with keep_graph=True")
    try:
        text = graph_text(graph, path.suffix, state_label=_state_label, action_label=_act_label)
    except ValueError as error:
        raise ReportError(f"{path}: {error}") from error
    write_text(path, text, "give --graph another file")


def _state_label(world: World) -> str:
    group = world.group
    if group is None:
        return "no group"
    members = ", ".join(m.member_id for m in group.members) or "nobody"
    clients = "; ".join(
        f"c{i} {c.member_id or 'new'}{' waits' if c.waits else ''}"
        for i, c in enumerate(world.clients, start=1)
    )
    return f"{group.state.value}: {members} | {clients}"


def _act_label(act: Act) -> str:
    who = f" c{act.client + 1}" if act.client >= 0 else ""
    return f"{act.kind}{who}" + (f" ({act.choice})" if act.choice else "")


EXIT_VIOLATED = 1
EXIT_UNFINISHED = 2
UNFINISHED_ENDS = "a limit ended it, and nothing was violated until then"
_TELL_S = 10.0
"""Seconds between two lines about the progress, where stderr is no terminal."""
WRONG_ENDS = "a safety property (--strict: any) is violated, or never put to the test"
jobs_option = click.option(
    "--jobs",
    type=JOB_COUNT,
    default=1,
    show_default=True,
    help="Processes in parallel.",
)
property_option = click.option(
    "--property", "ids", multiple=True, metavar="ID", help="Only this property (may be repeated)."
)
max_states_option = click.option(
    "--max-states", type=Whole(1), metavar="N", help="The most states of a world."
)
traces_option = report_option("Write the traces there.")


def chosen(ids: tuple[str, ...], revision: str) -> tuple[Property, ...]:
    """Return the properties of these ids, by default all.  Raises UsageError.

    For a revision in a file its own properties are among them.  Each must be one that exploration
    checks.
    """
    for name in ids:
        if name in promises_for(revision):
            raise click.UsageError(f"{name} is about endless runs, which `check` looks for")
    there = {property_.id: property_ for property_ in properties_for(revision)}
    try:
        properties = tuple(there.get(i) or find_property(i) for i in ids or there)
    except KeyError as error:
        raise click.UsageError(str(error.args[0])) from None
    for property_ in properties if ids else ():
        if not is_explored(property_):
            raise click.UsageError(property_.why_not_by(Engine.EXPLORATION))
    return properties


@click.command(
    "explore",
    epilog=exit_codes("it is safe: each safety property holds", WRONG_ENDS, UNFINISHED_ENDS),
)
@revision_option
@scope_options(Scope(clients=2, members=2))
@max_states_option
@jobs_option
@property_option
@output_option("Write the states and transitions: .graphml or .dot.", "--graph", "graph")
@traces_option
@strict_option
@json_option
@click.pass_context
def explore_command(
    ctx: click.Context,
    revision: str,
    scope: Scope,
    max_depth: int | None,
    max_states: int | None,
    jobs: int,
    ids: tuple[str, ...],
    graph: Path | None,
    report: Path | None,
    *,
    strict: bool,
    as_json: bool,
) -> None:
    """Visit every world within bounds.

    Each property is checked in each world.  Restarts, generations and member ids have no bound:
    worlds that differ only in names count as one.

    A property whose premise was never true is `not reached within these bounds`, which is a failure
    only with --property.  --max-depth is a bound like the others.  --max-states ends the search
    early: without a violation the exit code is 2.
    """
    if graph is not None and graph.suffix not in SUFFIXES:
        raise click.UsageError(f"can't write {graph}; name a file {' or '.join(SUFFIXES)}")
    teller = ProgressTeller()
    with stops_reported(revision):
        explored = explored_in(
            find_revision(revision),
            scope,
            chosen(ids, revision),
            jobs=jobs,
            max_states=max_states,
            max_depth=max_depth,
            keep_graph=graph is not None,
            progress=teller.tell,
        )
    teller.end()
    if graph is not None:
        write_graph_file(explored, graph)
    if report is not None:
        write_traces(explored.failures, report)
    if as_json:
        echo_json(exploration_json(explored))
    else:
        line = verdict_line(
            (explored.revision.name, explored.revision.name.rpartition("/")[2]),
            [_verdict(explored, most) or "no property is violated" for most in SHORTER],
        )
        _print_exploration(console(), line, exploration_json(explored), explored.failures)
    unmet = ids and "not reached" in exploration_json(explored)["properties"].values()
    wrong = [failure for failure in explored.failures if failure.finding in VIOLATED]
    is_full = explored.exploration.full
    if (unmet and not is_full) or any(strict or _is_unsafe(failure) for failure in wrong):
        ctx.exit(EXIT_VIOLATED)
    if is_full:
        ctx.exit(EXIT_UNFINISHED)


class ProgressTeller:
    """Says on stderr how far a search is: in place on a terminal, else a line now and then."""

    def __init__(self) -> None:
        self._screen = Console(stderr=True, highlight=False, emoji=False)
        self._last_line = time.monotonic()
        self._width = 0

    def tell(self, done: Progress) -> None:
        """Say how far an exploration is."""
        self.say(_progress_line(done))

    def tell_of(self, question: NamedScope, done: Progress) -> None:
        """Say how far the exploration of a world is."""
        self.say(f"{question.name}: {_progress_line(done)}")

    def say(self, line: str) -> None:
        """Say in a line what is done now."""
        if self._screen.is_terminal:
            self._screen.print(Text(line.ljust(self._width)), end="\r", soft_wrap=True)
            self._width = len(line)
        elif time.monotonic() - self._last_line >= _TELL_S:
            self._last_line = time.monotonic()
            self._screen.print(Text(line), soft_wrap=True)

    def end(self) -> None:
        """Take the line away that stands on a terminal."""
        if self._width:
            self._screen.print(" " * self._width, end="\r", soft_wrap=True)
            self._width = 0


def _progress_line(done: Progress) -> str:
    return (
        f"level {done.level}, {done.states:,} states, {done.transitions:,} transitions, "
        f"{done.frontier:,} to go, {done.seconds:.0f} s"
    )


def _print_exploration(
    screen: Console, line: str, document: dict[str, Any], failures: tuple[Failure, ...]
) -> None:
    """Print the verdict, which is `line`, the figures, and each failure."""
    screen.print(Text(line, style="bold"), soft_wrap=True)
    screen.print()
    end = "complete" if document["complete"] else "cut off by a limit"
    if document["stuck"]:
        end = f"the machine stops in {document['stuck']:,} of them"
    findings = list(document["properties"].values())
    speed = (
        f"{document['states_per_second']:,} states and {document['transitions_per_second']:,} "
        f"transitions per second in {document['jobs']} process(es), {document['peak_mib']:,} MiB"
    )
    rows = {
        "states": f"{document['states']:,}, {end}",
        "transitions": f"{document['transitions']:,}, in {len(document['levels'])} levels",
        "properties": f"{findings.count('holds')} hold, "
        f"{findings.count('not reached')} not reached within these bounds",
        "speed": speed,
    }
    for name, value in rows.items():
        screen.print(Text(f"{name:11}  {value}"), soft_wrap=True)
    screen.print()
    if document["verdict"] and not line.endswith(document["verdict"]):
        screen.print(Text(document["verdict"]), soft_wrap=True)
    unmet = [name for name, finding in document["properties"].items() if finding == "not reached"]
    if unmet:
        screen.print(Text(f"not reached within these bounds: {', '.join(unmet)}"))
    if blind := document["beyond_reach"]:
        screen.print(Text(f"not tried: {blind}"))
    print_failures(screen, failures)


def print_failures(
    screen: Console, failures: tuple[Failure, ...], *, expected: bool = True
) -> None:
    """Print the failures, each run once; `expected`: also the runs of expected failures."""
    printed: dict[tuple[str, ...], str] = {}
    for failure in failures:
        screen.print()
        screen.print(Text(f"{failure.id}: {failure.finding.value}", style="bold"))
        if failure.finding is PropertyStatus.EXPECTED and not expected:
            for line in (line for line in failure.about if line.startswith("  here: ")):
                screen.print(Text(line), soft_wrap=True)
            continue
        for line in failure.about:
            screen.print(Text(line), soft_wrap=True)
        if failure.steps and failure.steps in printed:
            screen.print(Text(f"  by the run shown for {printed[failure.steps]}"))
            continue
        printed.setdefault(failure.steps, failure.id)
        for line in failure.steps:
            screen.print(Text(line), soft_wrap=True)
