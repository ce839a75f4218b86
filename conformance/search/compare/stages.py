"""The stages of a comparison, in their order: written suites first, then random plans.

Within a suite short plans come first.  Plans that need another coordinator come last, since its
start takes long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fencepost.conformance.cases.case_registry import Entry
from fencepost.conformance.cases.suites import CATALOGUE, find_suite
from fencepost.conformance.search.compare.compare_search import CompareStage
from fencepost.conformance.search.compare.differential import TargetPair
from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.model.plans.plan import Case
from fencepost.model.plans.plan_order import weight
from fencepost.model.revision import Revision


def stage_of(name: str, entries: Sequence[Entry]) -> CompareStage:
    """The cases of a suite."""

    def write(pair: TargetPair) -> Iterator[Case | str]:
        cases = []
        for entry in entries:
            case, lacks = pair.written(entry)
            if case is None:
                yield lacks
            else:
                cases.append(case)
        yield from sorted(cases, key=lambda c: (not pair.is_near(c), weight(c, pair.apis)))

    return CompareStage(name, write)


def walks_stage(name: str, revision: Revision) -> CompareStage:
    """A suite that is generated when it is needed, the shortest walks first."""

    def write(pair: TargetPair) -> Iterator[Case | str]:
        entries = find_suite(name, revision).entries
        lengths = {entry.id: len(entry.case({}, delayed=False).steps) for entry in entries}
        for entry in sorted(entries, key=lambda entry: lengths[entry.id]):
            case, lacks = pair.written(entry)
            yield lacks if case is None else case

    return CompareStage(name, write)


def plans_stage(seed: int) -> CompareStage:
    """Random plans as `fuzz` draws them, without end."""

    def write(pair: TargetPair) -> Iterator[Case | str]:
        if "JoinGroup" not in pair.apis:  # such plans are of members that join
            yield "the target has no JoinGroup"
            return
        planner = Planner(plan_context_of_pair(pair), seed)
        while True:
            yield pair.fitted(planner.next().case)

    return CompareStage("made up", write)


def plan_context_of_pair(pair: TargetPair) -> PlanContext:
    """What plans can be made for: what both can do, under settings that both can have."""
    configs = [(wanted, {**pair.suites[0].config, **wanted}) for wanted in pair.choices()]
    lag_ms = max(suite.lag_ms for suite in pair.suites)
    hello = pair.suites[0].hello
    return PlanContext(pair.suites[0].revision, hello, pair.hints, lag_ms, configs)


def usual_stages(revision: Revision, seed: int) -> list[CompareStage]:
    """The catalogue, then every transition, then random plans."""
    catalogue = find_suite(CATALOGUE, revision).entries
    return [
        stage_of(CATALOGUE, catalogue),
        walks_stage("cover", revision),
        plans_stage(seed),
    ]
