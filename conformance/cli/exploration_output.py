"""The results of `explore` and `check`: as text, as JSON and as trace files.

A property that fails is shown with its world and the shortest run to the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import lineage
from fencepost.properties.checking.checking import (
    Checked,
    PropertyStatus,
    acts_of_none,
    expected_finding,
    size_beyond_reach,
)
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator, is_quiet
from fencepost.properties.explorer.exploration import Exploration, Progress
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.explorer.graph import write_graph
from fencepost.properties.logic.property import Property
from fencepost.properties.worlds.concretise import Run, unfold
from fencepost.properties.worlds.scope import Scope
from fencepost.properties.worlds.world import Act, World, Worlds
from fencepost.traces.files.run_trace import COUNTEREXAMPLE, KNOWN, Shown, run_lines, run_trace
from fencepost.traces.report.report_folder import ReportError, make_folder


@dataclass(frozen=True, slots=True)
class Told:
    """A property or promise that does not hold: the finding, the run, and lines for people.

    `about`: what is wrong and why; `steps`: the run.  The last `repeated` turns of the run happen
    again and again.
    """

    id: str
    finding: PropertyStatus
    sentence: str
    about: tuple[str, ...]
    steps: tuple[str, ...] = ()
    run: Run | None = None
    worlds: Worlds | None = None
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Explored:
    """An exploration of a revision within a scope."""

    revision: Revision
    scope: Scope
    jobs: int
    worlds: Worlds
    exploration: Exploration[World, Act]
    properties: tuple[Property, ...]
    told: tuple[Told, ...]


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
    judging = Evaluator(properties, revision)
    worlds = Worlds(revision, scope, judging.judge)
    found = explore(
        worlds,
        judging.checks(worlds),
        jobs=jobs,
        max_states=max_states,
        max_depth=max_depth,
        keep_graph=keep_graph,
        progress=progress,
        quiet=is_quiet,
    )
    properties = (*judging.of_steps, *judging.of_groups, *judging.of_worlds)
    mine = {one.id: one for one in properties}
    told = []
    for name, violation in found.violations.items():
        one = mine[name.removeprefix(EXCUSED)]
        run = unfold(worlds, violation.trace)
        finding = PropertyStatus.BROKEN
        if name.startswith(EXCUSED):
            finding = expected_finding(one, revision, run)
        told.append(_told(one, finding, violation.sentence, run, worlds))
    return Explored(revision, scope, jobs, worlds, found, properties, tuple(told))


def _told(one: Property, finding: PropertyStatus, sentence: str, run: Run, worlds: Worlds) -> Told:
    why = [f"  because: {one.meaning}"] if one.formula is None else []
    names = lineage(worlds.revision)
    known = next((name for name in names if name in one.expected), None)
    if known is not None and finding is PropertyStatus.BROKEN:
        why.append(f"  {known}, which this is made from, fails: {one.expected[known]}")
    elif known is not None:
        why.append(f"  here: {one.expected[known]}")
    about = (f"  {sentence}", *why, f"  source: {one.source}")
    return Told(one.id, finding, sentence, about, tuple(run_lines(worlds, run)), run, worlds)


def told_of_check(checked: Checked) -> tuple[Told, ...]:
    """What does not hold, violations first, then what was expected."""
    told = []
    for result in checked.results:
        one = result.property
        if result.run is not None and result.worlds is not None and result.violation is not None:
            sentence = result.violation.sentence
            told.append(_told(one, result.finding, sentence, result.run, result.worlds))
        elif result.finding is PropertyStatus.UNTESTED:
            sentence = "in none of these worlds was there a case that it speaks of"
            told.append(Told(one.id, result.finding, sentence, (f"  {sentence}",)))
    for kept in checked.promises:
        if kept.why:
            told.append(Told(kept.promise.id, kept.finding, kept.why, (f"  {kept.why}",)))
        if kept.run is not None and kept.worlds is not None:
            lines = list(run_lines(kept.worlds, kept.run))
            lines.insert(len(lines) - kept.round, "  and from here on, again and again:")
            sentence = f"it does not happen that: {kept.promise.meaning}"
            excuse = kept.promise.expected
            known = next((name for name in lineage(checked.revision) if name in excuse), None)
            why = () if known is None else (f"  here: {excuse[known]}",)
            run = (tuple(lines), kept.run, kept.worlds, kept.round)
            about = (f"  {sentence}", *why)
            told.append(Told(kept.promise.id, kept.finding, sentence, about, *run))
    order = [
        PropertyStatus.BROKEN,
        PropertyStatus.ASKED,
        PropertyStatus.UNTESTED,
        PropertyStatus.EXPECTED,
    ]
    return tuple(sorted(told, key=lambda one: order.index(one.finding)))


def exploration_json(explored: Explored) -> dict[str, Any]:
    """The figures, a finding for each property, the violations with their runs."""
    found = explored.exploration
    seconds = max(found.seconds, 1e-9)
    broken = {told.id: told.finding.value for told in explored.told}
    findings = {
        one.id: broken.get(one.id)
        or ("holds" if {one.id, EXCUSED + one.id} & set(found.witnesses) else "not reached")
        for one in explored.properties
    }
    return {
        "revision": explored.revision.name,
        "scope": scope_json(explored.scope),
        "states": found.states,
        "transitions": found.transitions,
        "levels": list(found.levels),
        "complete": found.complete,
        "jobs": explored.jobs,
        "seconds": round(found.seconds, 3),
        "states_per_second": round(found.states / seconds),
        "transitions_per_second": round(found.transitions / seconds),
        "peak_mib": found.peak_bytes >> 20,
        "beyond_reach": size_beyond_reach(explored.revision, [explored.scope]),
        "properties": findings,
        "violations": [told_json(told) for told in explored.told],
    }


def check_json(checked: Checked, told: Iterable[Told]) -> dict[str, Any]:
    """The worlds explored, a finding for each property, the violations with their runs."""
    scopes = [question.scope for question, _ in checked.explored]
    return {
        "revision": checked.revision.name,
        "holds": checked.holds,
        "worlds": [
            {
                "name": question.name,
                "about": question.about,
                "scope": scope_json(question.scope),
                "states": found.states,
                "transitions": found.transitions,
                "complete": found.complete,
            }
            for question, found in checked.explored
        ],
        "acts_of_none": list(acts_of_none(scopes)),
        "beyond_reach": size_beyond_reach(checked.revision, scopes),
        "properties": {r.property.id: r.finding.value for r in checked.results},
        "not_tested": list(checked.untried),
        "not_covered": [row for row, hidden in checked.uncovered.items() if not hidden],
        "not_told": {row: hidden for row, hidden in checked.uncovered.items() if hidden},
        "promises": {k.promise.id: k.finding.value for k in checked.promises},
        "violations": [told_json(one) for one in told],
    }


def told_json(told: Told) -> dict[str, Any]:
    """A violation: what is wrong, and its run in words."""
    return {
        "property": told.id,
        "finding": told.finding.value,
        "sentence": told.sentence,
        "steps": 0 if told.run is None else len(told.run.turns),
        "told": [line.strip() for line in (*told.about, *told.steps)],
    }


def scope_json(scope: Scope) -> dict[str, Any]:
    """The bounds."""
    return {
        "clients": scope.clients,
        "instances": scope.instances,
        "dynamic": scope.dynamic,
        "old": scope.old,
        "zombies": scope.zombies,
        "members": scope.members,
        "offers": scope.offers,
        "delay_ticks": scope.delay_ticks,
        "acts": list(scope.acts),
    }


def write_traces(told: Iterable[Told], folder: Path) -> list[Path]:
    """A trace file for each violation, named after its property.  Raises ReportError."""
    written = []
    make_folder(folder)
    for one in told:
        if one.run is None or one.worlds is None:
            continue
        path = folder / f"{one.id}.trace.json"
        message = f"{one.id}: {one.sentence}"
        shows = Shown(
            KNOWN if one.finding is PropertyStatus.EXPECTED else COUNTEREXAMPLE,
            f"Each answer is one that {one.worlds.revision.name} gives; the run is not what "
            f"{one.id} asks for.",
        )
        trace = run_trace(one.worlds, one.run, message=message, repeated=one.repeated, shows=shows)
        trace.write(path)
        written.append(path)
    return written


def write_graph_file(explored: Explored, path: Path) -> None:
    """The graph of an exploration.  Raises ReportError, ValueError if it was not kept."""
    graph = explored.exploration.graph
    if graph is None:
        raise ValueError("the graph was not kept; explore with keep_graph=True")
    try:
        write_graph(graph, path, state_label=_state_label, action_label=_act_label)
    except (ValueError, OSError) as error:
        raise ReportError(f"{path}: {error}") from error


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
