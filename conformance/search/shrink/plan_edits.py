"""The ways in which a plan can be made smaller, in the order in which they are tried.

Whole groups, members and halves of the plan come first, since that is quickest where a run takes
seconds; then single steps and pairs of steps; then the same steps with fewer instances and members;
last simpler requests.  Whether a smaller plan still fails is for the caller to find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fencepost.conformance.search.shrink.simplify import (
    lower_versions,
    no_delay,
    plain_bodies,
    shorter_waits,
)
from fencepost.conformance.search.shrink.unify import (
    merged_groups,
    merged_instances,
    merged_members,
    own_connections,
    plain_names,
)
from fencepost.model.plans.normalise import overlaps, with_steps
from fencepost.model.plans.plan import Case, Disconnect, RequestStep, Step
from fencepost.model.plans.plan_order import (
    DELAY,
    Versions,
    connection_of,
    groups_of_plan,
    members_of_plan,
    steps_key,
    weight,
)
from fencepost.properties.checking.shrinking import without_pairs, without_runs

_PAIRED = 16
"""In longer plans no two steps are left out together: there are too many pairs."""

Edit = Callable[[Case, Versions], Iterator[Case]]


def single_steps(case: Case) -> Iterator[Case]:
    """The plan without each of its steps, and without what depends on it, where that can be run."""
    before = overlaps(case.steps)
    for smaller in _singles(case, {}):
        if overlaps(smaller.steps) <= before:
            yield smaller


def sensible(edit: Edit, case: Case, apis: Versions) -> Iterator[Case]:
    """The plans that one kind of change gives, if they are simpler and can be run.

    `apis`: the versions that the target has.
    """
    present, before = weight(case, apis), overlaps(case.steps)
    seen = set[tuple[str, bool]]()
    for candidate in edit(case, apis):
        key = steps_key(candidate.steps), bool(candidate.needs.config.get(DELAY))
        if key in seen or not candidate.steps:
            continue
        seen.add(key)
        if weight(candidate, apis) < present and overlaps(candidate.steps) <= before:
            yield candidate


# Leaving out.


def _one_group(case: Case, apis: Versions) -> Iterator[Case]:
    """Only what concerns one group, or all but one."""
    del apis
    groups = groups_of_plan(case.steps)
    for keep in groups if len(groups) > 1 else ():
        yield with_steps(case, tuple(s for s in case.steps if _is_about(s, keep)))
    for drop in groups if len(groups) > 1 else ():
        yield with_steps(case, tuple(s for s in case.steps if not _is_about_alone(s, drop)))


def _is_about(step: Step, group: str) -> bool:
    return not isinstance(step, RequestStep) or group in groups_of_plan((step,))


def _is_about_alone(step: Step, group: str) -> bool:
    return isinstance(step, RequestStep) and groups_of_plan((step,)) == [group]


def _without_members(case: Case, apis: Versions) -> Iterator[Case]:
    """Without all that one member does, or one connection."""
    del apis
    for name in reversed(members_of_plan(case.steps)):
        yield with_steps(case, tuple(step for step in case.steps if not _is_by(step, name)))


def _is_by(step: Step, name: str) -> bool:
    match step:
        case RequestStep():
            return name in {step.who, connection_of(step)}
        case Disconnect(who=who):
            return who == name
        case _:
            return False


def _chunks(case: Case, apis: Versions) -> Iterator[Case]:
    """Without halves, quarters and so on, the last first; down to pairs of neighbours."""
    del apis
    size = len(case.steps) // 2
    while size > 1:
        yield from (with_steps(case, kept) for kept in without_runs(case.steps, size))
        size //= 2


def _singles(case: Case, apis: Versions) -> Iterator[Case]:
    """Without each step, the last first."""
    del apis
    yield from (with_steps(case, kept) for kept in without_runs(case.steps, 1))


def _pairs(case: Case, apis: Versions) -> Iterator[Case]:
    """Without two steps."""
    del apis
    if len(case.steps) <= _PAIRED:
        yield from (with_steps(case, kept) for kept in without_pairs(case.steps))


EDITS: tuple[Edit, ...] = (
    _one_group,
    _without_members,
    _chunks,
    _singles,
    _pairs,
    merged_groups,
    merged_instances,
    merged_members,
    own_connections,
    shorter_waits,
    no_delay,
    lower_versions,
    plain_bodies,
    plain_names,
)
"""Every kind of change, in the order in which they are tried."""

LEAVING_OUT: tuple[Edit, ...] = (_one_group, _without_members, _singles)
"""The changes after which nothing can be left out."""
