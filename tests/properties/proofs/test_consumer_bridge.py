"""The bridge finds each concrete step among the abstract steps, and reports one that differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from msgspec.structs import replace as change

from fencepost.model.revisions import revisions
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.proofs.consumer_bridge import abstract_consumer_step_of
from fencepost.properties.worlds.consumer_scope import CHECK_SCOPES
from fencepost.properties.worlds.views import StepView
from fencepost.properties.worlds.world import Worlds

_FEW = 12


def steps(name: str) -> Iterator[StepView]:
    """The first steps of a revision in the worlds of `check`."""
    views: list[StepView] = []

    def judge(view: StepView) -> tuple[Iterable[str], Iterable[str]]:
        views.append(view)
        return (), ()

    for named in CHECK_SCOPES:
        explore(Worlds(revisions.find(name), named.scope, judge), max_states=_FEW)
    yield from views


@pytest.mark.parametrize("name", ["consumer-4.0", "consumer-4.4", "pr-23542"])
def test_every_step_is_an_abstract_one(name: str) -> None:
    views = list(steps(name))

    assert len(views) > 300
    assert [difference for view in views if (difference := abstract_consumer_step_of(view))] == []


def by(rule: str) -> StepView:
    return next(view for view in steps("consumer-4.4") if view.rules and view.rules[0].id == rule)


def test_an_entry_that_is_forgotten_is_seen() -> None:
    view = by("CG-JOIN-STATIC-NEW")

    difference = abstract_consumer_step_of(replace(view, after=change(view.after, static=())))

    assert difference is not None
    assert "holds should be {('A', 'fresh')} and is {}" in difference


def test_a_target_that_two_share_is_seen() -> None:
    view = by("CG-JOIN-STATIC-NEW")
    ((_, partitions),) = view.after.target
    shared = (("fresh", partitions), ("other", partitions))

    difference = abstract_consumer_step_of(replace(view, after=change(view.after, target=shared)))

    assert difference is not None
    assert "target should be" in difference


def test_another_answer_and_another_rule_are_seen() -> None:
    view = by("CG-JOIN-UNRELEASED")
    other = revisions.find("consumer-4.4").rule("CG-JOIN-STATIC-NEW")

    silent = abstract_consumer_step_of(replace(view, emissions=()))
    wrong = abstract_consumer_step_of(replace(view, rules=(other,)))

    assert silent == "CG-JOIN-UNRELEASED should answer UNRELEASED_INSTANCE_ID and answered nothing"
    assert wrong is not None
    assert wrong.startswith("CG-JOIN-STATIC-NEW decided, and its guard does not hold")
