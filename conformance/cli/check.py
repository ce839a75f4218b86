"""Check a revision in a few small worlds (`check`).

The result is text, JSON and trace files.  A property that fails is printed with its world and the
shortest run to the failure.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from fencepost.conformance.cli.cli import exit_codes
from fencepost.conformance.cli.explore import (
    EXIT_UNFINISHED,
    EXIT_VIOLATED,
    WRONG_ENDS,
    Failure,
    ProgressTeller,
    chosen,
    failure_json,
    failure_of,
    harm_line,
    max_states_option,
    print_failures,
    property_option,
    scope_json,
    traces_option,
    write_traces,
)
from fencepost.conformance.cli.options.common_options import (
    JOB_COUNT,
    MINUTES,
    REVISION,
    console,
    echo_json,
    json_option,
    strict_option,
)
from fencepost.conformance.cli.options.log_options import find_question
from fencepost.conformance.runtime.toolchain.found_tools import cache_folder
from fencepost.conformance.targets.own_revision import (
    own_parts,
    promises_for,
    stops_reported,
)
from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import plural, verdict_line
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_shipped, lineage, shipped_base
from fencepost.properties.checking.checking import (
    VIOLATED,
    CheckBudget,
    Checked,
    PropertyStatus,
    acts_of_none,
    check_promises,
    check_revision,
    is_explored,
    size_beyond_reach,
)
from fencepost.properties.checking.row_properties import tries_rows, uncovered_rows
from fencepost.properties.checking.world_cache import WorldCache
from fencepost.properties.claims.property_classes import SHORTER
from fencepost.properties.claims.property_registry import properties_of
from fencepost.properties.explorer.exploration import Exploration
from fencepost.properties.logic.logic import Engine, PropertyClass
from fencepost.properties.worlds.consumer_worlds import CONSUMER_WORLDS
from fencepost.properties.worlds.mixed_worlds import MIXED_WORLDS
from fencepost.properties.worlds.scope import (
    CHECK_SCOPES,
    ActKind,
    NamedScope,
    Scope,
)
from fencepost.properties.worlds.world import Act, World
from fencepost.properties.worlds.worlds_by_protocol import WORLDS, worlds_of
from fencepost.traces.files.run_trace import run_lines

jobs_option = click.option(
    "--jobs",
    type=JOB_COUNT,
    default=lambda: len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1,
    show_default="one for each processor",
    help="Processes in parallel; the results are the same for any number.",
)
minutes_option = click.option(
    "--minutes", type=MINUTES, help="Explore no longer, and say what was explored."
)


_UNDECIDED_ENDS = "a limit ended it, or no world exercises one of your rules"
_ACTS_TO: dict[str, dict[str, tuple[ActKind, ...]]] = {
    "classic": {
        "JoinGroup": ("stranger", "restart"),
        "SyncGroup": (),
        "Heartbeat": ("heartbeat",),
        "LeaveGroup": ("leave", "remove"),
        "LeaveGroup member": ("leave", "remove"),
        "OffsetCommit": ("commit", "save"),
        "TxnOffsetCommit": ("transact", "produce"),
        "OffsetFetch": ("commit", "fetch"),
        "OffsetDelete": ("commit", "erase"),
        "DeleteGroups": ("leave", "delete"),
        "DescribeGroups": ("describe",),
        "ListGroups": ("list",),
        "session timeout": ("heartbeat", "tick"),
        "join phase": ("leave", "tick"),
        "sync phase": ("tick",),
        "failover": ("commit", "failover"),
    },
    "consumer": {
        "ConsumerGroupHeartbeat join": ("bare-join", "swap", "release"),
        "ConsumerGroupHeartbeat": ("heartbeat", "lost-heartbeat"),
        "ConsumerGroupHeartbeat leave": ("release", "leave"),
        "LeaveGroup": ("remove",),
        "LeaveGroup member": ("remove",),
        "ConsumerGroupDescribe": ("describe",),
        "OffsetCommit": ("commit", "release"),
        "OffsetCommit partition": ("commit", "lost-heartbeat"),
        "session timeout": ("release", "tick"),
        "rebalance timeout": ("tick",),
        "failover": ("release", "failover"),
    },
    "mixed": {
        "JoinGroup": ("keep-join", "cross-join"),
        "SyncGroup": (),
        "Heartbeat": ("heartbeat",),
        "upgrade": (),
        "downgrade": ("leave", "switch"),
        "join timeout": ("heartbeat", "tick"),
        "sync timeout": ("tick",),
    },
}
"""Protocol → table → the acts that come to it, beside those of `_FIRST_ACTS`."""
_FIRST_ACTS = {
    "classic": ("join", "sync"),
    "consumer": ("join", "acknowledge"),
    "mixed": ("join", "sync", "acknowledge"),
}
"""Protocol → the acts without which no group has members."""


def failures_of_check(checked: Checked) -> tuple[Failure, ...]:
    """Return the failures of a check, violations first, then expected ones."""
    failures = []
    for result in checked.results:
        property_ = result.property
        if result.run is not None and result.worlds is not None and result.violation is not None:
            sentence = result.run.in_real_ids(result.violation.sentence)
            failures.append(
                failure_of(property_, result.finding, sentence, result.run, result.worlds)
            )
        elif result.finding is PropertyStatus.UNTESTED:
            sentence = "its premise is true in none of these worlds"
            failures.append(Failure(property_, result.finding, sentence, (f"  {sentence}",)))
    for kept in checked.promises:
        if kept.why:
            failures.append(Failure(kept.promise, kept.finding, kept.why, (f"  {kept.why}",)))
        if kept.run is not None and kept.worlds is not None:
            lines = list(run_lines(kept.worlds, kept.run))
            lines.insert(len(lines) - kept.round, "  and from here on, again and again:")
            sentence = f"it does not happen that: {kept.promise.meaning}"
            excuse = kept.promise.expected
            known = next((name for name in lineage(checked.revision) if name in excuse), None)
            why = () if known is None else (f"  here: {excuse[known]}",)
            run = (tuple(lines), kept.run, kept.worlds, kept.round)
            about = (f"  {sentence}", *harm_line(kept.promise), *why)
            failures.append(Failure(kept.promise, kept.finding, sentence, about, *run))
    order = [
        PropertyStatus.BROKEN,
        PropertyStatus.BY_DRAFT,
        PropertyStatus.UNTESTED,
        PropertyStatus.EXPECTED,
    ]
    classes = list(PropertyClass)

    def place(failure: Failure) -> tuple[int, int]:
        return order.index(failure.finding), classes.index(failure.claim.property_class)

    return tuple(sorted(failures, key=place))


def check_json(checked: Checked, failures: Iterable[Failure]) -> dict[str, Any]:
    """Return the worlds explored, a finding for each property, the violations with their runs."""
    scopes = [question.scope for question, _ in checked.explored]
    return {
        "revision": checked.revision.name,
        "finished": checked.is_finished,
        "states": checked.states,
        "holds": checked.holds,
        "is_safe": checked.is_safe,
        "verdict": checked.verdict(),
        "worlds": [
            {
                "name": question.name,
                "about": question.about,
                "scope": scope_json(question.scope),
                "states": exploration.states,
                "transitions": exploration.transitions,
                "complete": exploration.complete,
                "stuck": exploration.stuck,
            }
            for question, exploration in checked.explored
        ],
        "acts_of_none": list(acts_of_none(scopes)),
        "beyond_reach": size_beyond_reach(checked.revision, scopes) if scopes else "",
        "properties": {r.property.id: r.finding.value for r in checked.results},
        "not_tested": list(checked.untried),
        "columns_never": [
            {"table": table, "column": column, "value": value}
            for table, column, value in checked.unmet
        ],
        "own_rows": {row: status.value for row, status in checked.row_statuses().items()},
        "not_covered": [row for row, hidden in checked.uncovered.items() if not hidden],
        "rows_not_tried": list(checked.untried_rows),
        "not_told": {row: hidden for row, hidden in checked.uncovered.items() if hidden},
        "promises": {k.promise.id: k.finding.value for k in checked.promises},
        "classes": {name: weight.value for name, weight in checked.classes().items()},
        "only_elsewhere": only_elsewhere(checked.revision),
        "violations": [failure_json(failure) for failure in failures],
    }


@click.command(
    "check",
    epilog=exit_codes("no unexpected violation of a safety property", WRONG_ENDS, _UNDECIDED_ENDS),
)
@click.argument("revision", type=REVISION, metavar="REVISION")
@jobs_option
@property_option
@click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="NAME",
    help="Only this world (may be repeated).  Liveness is then not checked.  One of WORLDS in your "
    f"file, or: {', '.join(named.name for named in CHECK_SCOPES)}.  Of the consumer protocol: "
    f"{', '.join(named.name for named in CONSUMER_WORLDS.check_scopes)}.  Of mixed groups: "
    f"{', '.join(named.name for named in MIXED_WORLDS.check_scopes)}.",
)
@max_states_option
@minutes_option
@click.option(
    "--no-cache",
    is_flag=True,
    envvar="FENCEPOST_NO_CACHE",
    help="Explore each world again, and keep no result (also: FENCEPOST_NO_CACHE).",
)
@traces_option
@strict_option
@json_option
@click.pass_context
def check_command(
    ctx: click.Context,
    revision: str,
    jobs: int,
    ids: tuple[str, ...],
    questions: tuple[str, ...],
    max_states: int | None,
    minutes: float | None,
    report: Path | None,
    *,
    no_cache: bool,
    strict: bool,
    as_json: bool,
) -> None:
    """Check a revision in a few small worlds.

    REVISION is a name, or FILE.py:NAME.  `check` explores each world exhaustively, unless a limit
    ends it, and shows the shortest run to each violation.  It also checks the tuples PROPERTIES,
    WORLDS and PROMISES of the file.

    \b
    Results of a property:
      holds
      expected violation   The revision or its base breaks it by design;
                           --property shows the run.  For a safety property,
                           your own rule is excused only if a release has a
                           rule with equal guard, steps and answer.
      violated             A failure.
      violated, as its text asks
                           A failure, too: the text of a draft demands it.
      never put to the test
                           A failure: no case occurred.  With --question
                           alone it is only a note.

    \b
    Results of a rule of your own, if all worlds are explored:
      not exercised by any world
                           It decides nothing, not even in rarer worlds with
                           three members or old versions.  Exit code 2.
      not covered by any property
                           No property is violated if a step of the rule is
                           left out, or if it answers NONE where it refuses
                           or delays the answer, or if it refuses where it
                           answers NONE and changes nothing.  With --strict
                           exit code 2.  If the property is violated anyway,
                           check doesn't know.
      covered              One of these changes violates a shipped property
                           or one of yours, in a shipped world or one of yours.

    At the end, `check` lists the rules of the base that no property covers.

    After a limit the verdict is `not finished`, and the exit code is 2 unless something is
    violated.  With --minutes each world gets its part of the time.  Unused time goes to the next
    worlds, and then to your own rules.

    Results are kept in `check`, below the folder that FENCEPOST_CACHE names; delete it at any time.
    A world is explored again if its scope, a rule that decides in it, a property with the functions
    that it names, or fencepost has changed.  `check` can't notice that your function reads a file
    or the time: use --no-cache.  It keeps no results of limited checks and of mutants.

    In the JSON, `own_rows` has the result of each rule of your own, and `only_elsewhere` lists the
    properties that only other engines check.  `is_safe` and `holds` are false if a property was
    never tested or a rule of your own was not exercised.
    """  # noqa: D301  (click keeps the lines after it)
    teller = ProgressTeller()
    limits = (max_states, None if minutes is None else minutes * 60)
    with stops_reported(revision):
        scopes = tuple(find_question(name, revision) for name in questions)
        checked = _checked(revision, ids, scopes, jobs, limits, teller, is_cached=not no_cache)
    teller.end()
    failures = failures_of_check(checked)
    if report is not None:
        write_traces(failures, report)
    if as_json:
        echo_json(check_json(checked, failures))
    else:
        _print_check(console(), checked, failures, in_full=bool(ids or questions))
    unmet = ids and checked.is_finished and PropertyStatus.UNTESTED in checked.findings()
    if unmet or checked.fails(strict=strict):
        ctx.exit(EXIT_VIOLATED)
    if not checked.is_decided(strict=strict):
        ctx.exit(EXIT_UNFINISHED)


def _checked(
    name: str,
    ids: tuple[str, ...],
    questions: tuple[NamedScope, ...],
    jobs: int,
    limits: tuple[int | None, float | None],
    teller: ProgressTeller,
    *,
    is_cached: bool,
) -> Checked:
    """Check a revision.  `limits`: the most states of a world, and the seconds of all."""
    revision = find_revision(name)
    known = promises_for(name)
    promises = tuple(known[i] for i in ids if i in known)
    if promises and questions:
        raise click.UsageError(f"{promises[0].id} has worlds of its own: leave out --question")
    names = tuple(i for i in ids if i not in known)
    own = own_parts(name)
    cache = WorldCache(cache_folder() / "check", own.digest) if is_cached else None
    ours = worlds_of(revision)
    scopes = () if promises and not names else questions or (*ours.check_scopes, *own.worlds)
    endless = (*ours.promise_scopes, *(w for w in own.worlds if "tick" in w.scope.acts))
    later = 0 if questions or (ids and not promises) else len(endless)
    budget = CheckBudget(*limits, scopes=len(scopes) + later, jobs=jobs)
    checked = check_revision(
        revision,
        chosen(names, name) if scopes else (),
        questions=scopes,
        rare=() if ids or questions else ours.rare_scopes,
        jobs=jobs,
        progress=teller.tell_of,
        budget=budget,
        cache=cache,
    )
    if promises:
        kept = check_promises(revision, promises, endless, budget, jobs, cache, teller.say)
        return replace(checked, promises=kept)
    if ids:
        return checked
    if questions or not checked.is_finished:
        met = tuple(r for r in checked.results if r.finding is not PropertyStatus.UNTESTED)
        untried = tuple(r.property.id for r in checked.results if r not in met)
        checked = replace(checked, results=met, untried=untried)
    if questions:
        return checked
    teller.say("endless runs")
    every = tuple(known.values())
    kept = check_promises(revision, every, endless, budget, jobs, cache, teller.say)
    checked = replace(checked, promises=kept)
    fails = set(PropertyStatus) - {PropertyStatus.HOLDS, PropertyStatus.UNTESTED}
    broken = {r.property.id for r in checked.results if r.finding in fails}
    broken |= {kept.promise.id for kept in checked.promises if kept.finding in fails}
    if not tries_rows(revision):
        return checked
    rows = uncovered_rows(
        revision,
        broken,
        teller.say,
        properties=own.properties,
        worlds=own.worlds,
        is_over=budget.is_over if budget.is_limited else None,
        jobs=jobs,
    )
    return replace(checked, uncovered=rows.uncovered, untried_rows=rows.untried)


def _print_check(
    screen: Console, checked: Checked, failures: tuple[Failure, ...], *, in_full: bool
) -> None:
    """Print the results; `in_full`: with each world, and the runs of expected failures."""
    name, verdict = checked.revision.name, checked.verdict()
    line = verdict_line(
        (name, name.rpartition("/")[2]), [checked.verdict(most) for most in SHORTER]
    )
    screen.print(Text(line, style="bold"), soft_wrap=True)
    screen.print()
    counts = Counter(checked.findings())
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    grid.add_column()
    grid.add_column(justify="right")
    for finding in PropertyStatus:
        if finding in counts:
            grid.add_row(finding.value, str(counts[finding]))
    screen.print(grid)
    screen.print()
    if not line.endswith(verdict):
        screen.print(Text(verdict), soft_wrap=True)
    if in_full:
        for question, exploration in checked.explored:
            size = _size(exploration, "states", "all of them")
            screen.print(Text(f"{question.name}: {question.about}: {size}"))
    else:
        sizes = [f"{question.name} ({_size(explored)})" for question, explored in checked.explored]
        every = "all states" if checked.is_finished else "states"
        screen.print(Text(f"{every} of {len(sizes)} worlds: {', '.join(sizes)}"))
    scopes = [question.scope for question, _ in checked.explored]
    if scopes and (undone := acts_of_none(scopes)):
        line = f"acts in none of these worlds, so they are not checked: {', '.join(undone)}"
        screen.print(Text(line), soft_wrap=True)
        if checked.own_rows:
            first = '", "'.join(_FIRST_ACTS[checked.revision.protocol.name])
            some = f'{type(scopes[0]).__name__}(acts=("{first}", "{undone[0]}"))'
            screen.print(Text(f"a world of WORLDS in your file may have them, by {some}"))
    for table, column, value in checked.unmet:
        words = f"the column {column} of table {table} is {value} in none of these worlds"
        screen.print(Text(words), soft_wrap=True)
    if checked.untried:
        names = ", ".join(checked.untried)
        screen.print(Text(f"never put to the test here: {names}"), soft_wrap=True)
    if scopes and (blind := size_beyond_reach(checked.revision, scopes)):
        screen.print(Text(f"not tried: {blind}"))
    if checked.unexercised:
        _print_unexercised(screen, checked)
    if checked.uncovered:
        _print_uncovered(screen, checked)
    if rows := ", ".join(checked.untried_rows):
        screen.print(Text(f"no time was left to check whether a property covers: {rows}"))
    if not in_full:
        _print_elsewhere(screen, checked)
    print_failures(screen, failures, expected=in_full)
    if not in_full and any(finding.finding is PropertyStatus.EXPECTED for finding in failures):
        screen.print(Text("\nThe run of an expected violation is shown with --property ID."))


def _print_elsewhere(screen: Console, checked: Checked) -> None:
    """Print what other engines see, and this one doesn't."""
    elsewhere = only_elsewhere(checked.revision)
    name = checked.revision.name
    proved, answers = len(elsewhere["proof"]), len(elsewhere["answers"])
    any_size = f"it can prove {proved} of these properties, and that each event is decided once"
    if proved:
        screen.print(
            Text(f"only `fencepost prove --revision {name}` sees groups of any size: {any_size}"),
            soft_wrap=True,
        )
    if answers:
        screen.print(
            Text(
                f"{answers} properties about answers alone are checked only in runs with a target"
            ),
            soft_wrap=True,
        )


def only_elsewhere(revision: Revision) -> dict[str, list[str]]:
    """Return by engine the properties of which it sees what exploration doesn't.

    Proofs hold for groups of any size; histories of answers are of a target.
    """
    known = properties_of(revision).values()
    return {
        Engine.PROOF.value: [p.id for p in known if Engine.PROOF in p.engines],
        Engine.ANSWERS.value: [p.id for p in known if not is_explored(p)],
    }


def _size(exploration: Exploration[World, Act], unit: str = "", whole: str = "") -> str:
    """Return the number of states, and how far the exploration came."""
    states = f"{exploration.states:,} {unit}".rstrip()
    stops = f"the machine stops in {exploration.stuck:,}" if exploration.stuck else ""
    end = "not finished" if exploration.cut else "" if stops else whole
    return ", ".join(filter(None, (states, end, stops)))


def _print_unexercised(screen: Console, checked: Checked) -> None:
    """Print the rows of a user's own that decide nothing in any world, and a world to add."""
    tables = {rule.id: table.name for table, rule in checked.revision.rules()}
    protocol = checked.revision.protocol.name
    for row in checked.unexercised:
        table = tables[row]
        line = f"{row}: no world exercises this rule of {table}, so it is not checked; "
        screen.print(Text(line + world_to_add(table, protocol)), soft_wrap=True)


def world_to_add(table: str, protocol: str = Scope.protocol) -> str:
    """Return the sentence that tells a user how a world of their own comes to a table."""
    more = _ACTS_TO[protocol].get(table)
    if more is None:
        return "no act of a world comes to this table: hold a coordinator to it with `certify`"
    acts = ", ".join(f'"{act}"' for act in (*_FIRST_ACTS[protocol], *more))
    name = type(WORLDS[protocol].default_scope).__name__
    scope = f"{name}(clients=3, instances=3, members=3, acts=({acts}))"
    return (
        "add a world that comes to it to WORLDS in your file, such as "
        f'NamedScope("larger", "three members", {scope})'
    )


def _print_uncovered(screen: Console, checked: Checked) -> None:
    """Print the rules that no property covers; of a user's own revision those that are its own."""
    of_base = ""
    rules = [row for row, hidden in checked.uncovered.items() if not hidden]
    that = " that holds here" if VIOLATED.intersection(checked.findings()) else ""
    if not is_shipped(checked.revision):
        rest = [rule for rule in rules if rule not in checked.own_rows]
        rules = [*checked.own_uncovered]
        if rest:
            base = shipped_base(checked.revision).name
            of_base = f"{plural(len(rest), 'rule')} of {base} (list: --json)"
    if rules:
        count = plural(len(rules), "rule")
        screen.print(Text(f"not covered by any property{that} ({count}): {', '.join(rules)}"))
    if of_base:
        screen.print(Text(f"not covered by any property{that}: {of_base}"), soft_wrap=True)
    for broken in dict.fromkeys(filter(None, checked.uncovered.values())):
        there = ", ".join(row for row, hidden in checked.uncovered.items() if hidden == broken)
        screen.print(Text(f"unknown whether covered, because {broken} is violated: {there}"))
