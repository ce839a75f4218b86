"""The state diagram holds every change of state that the model was seen to make."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.page.long import long_trace
from support.page.pages import FINDINGS, finding

from fencepost.model.classic.group import WRITE
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revisions.revisions import find as find_revision
from fencepost.traces.pages.decisions import edges
from fencepost.traces.pages.trace_with_model import match_model

REVISION = find_revision("kafka-4")
EDGES = edges(REVISION)


def ends(rules: tuple[str, ...], start: GroupState) -> set[GroupState]:
    """Where rules can lead, one after the other."""
    states = {start}
    for rule in rules:
        after = {e.end for e in EDGES if e.start in states and rule in e.rules}
        states = after or states
    return states


@pytest.mark.parametrize("name", [*sorted(p.stem for p in FINDINGS.glob("*.json")), "long"])
def test_what_happened_is_on_the_map(name: str) -> None:
    trace = long_trace(300) if name == "long" else finding(name).trace
    seen = 0
    for step in match_model(trace, REVISION).run.steps:
        before = GroupState.ABSENT if step.before is None else step.before.state
        after = GroupState.ABSENT if step.outcome.group is None else step.outcome.group.state
        if step.outcome.group and step.outcome.group.has_timer(WRITE):
            assert after is GroupState.COMPLETING, "what follows waits for the write"
        elif step.incoming is not None or step.timer is not None:
            assert after in ends(step.outcome.rules, before)
            seen += before is not after
    assert seen


def test_the_way_of_a_first_rebalance() -> None:
    found = {(e.start, e.end): e.rules for e in EDGES}
    way = [GroupState.ABSENT, GroupState.PREPARING, GroupState.COMPLETING, GroupState.STABLE]
    assert all(pair in found for pair in pairwise(way))
    assert found[GroupState.COMPLETING, GroupState.STABLE] == ("SYNC-COMPLETING-LEADER",)
    assert (GroupState.STABLE, GroupState.COMPLETING) not in found
    assert (GroupState.EMPTY, GroupState.STABLE) not in found


def test_no_rule_that_is_defensive_is_on_it() -> None:
    drawn = {rule for edge in EDGES for rule in edge.rules}
    assert drawn.isdisjoint(rule.id for _, rule in REVISION.rules() if rule.defensive)
