"""The kill matrix: its figures, what they must come to, and a sample of them found again.

`mutant_figures.json` holds what the whole matrix gave when it was last made, and is compared with a
new one by `tox -e mutants`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fencepost.model.revisions.base import KAFKA_4
from fencepost.properties.checking.liveness import PROMISES, find_broken_promises
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.mutants.consumer_mutants import CONSUMER_BREAKS, CONSUMER_MUTANTS
from fencepost.properties.mutants.mutants import MUTANTS, find_mutant
from fencepost.properties.worlds.scope import ENDING_SCOPES, MUTANT_SCOPES
from tools.kill_matrix import kill_matrix
from tools.kill_matrix.kill_matrix import (
    BY_COMPARISON,
    BY_PROPERTIES,
    EXPLORE,
    MODEL_ENGINES,
    SEARCH,
    EngineResult,
    Row,
)

FIGURES: dict[str, Any] = json.loads(
    Path(__file__).with_name("mutant_figures.json").read_text(encoding="utf-8")
)
LENGTHS: dict[str, dict[str, int]] = FIGURES["lengths"]
"""Mutant → engine → how long what shows it is; no entry where the engine doesn't kill it."""
CONSUMER: dict[str, Any] = json.loads(
    Path(__file__).with_name("consumer_mutant_figures.json").read_text(encoding="utf-8")
)
CONSUMER_LENGTHS: dict[str, dict[str, int]] = CONSUMER["lengths"]

FROM_HISTORY = [m.name for m in MUTANTS.values() if not m.source.startswith("systematic")]
SLACK = 2
SAMPLE = (
    "kafka-8500",
    "kafka-9752",
    "kfake-leave-evicts-holder",
    "librdkafka-mock-never-fences",
    "tansu-same-id",
    "crabka-static-never-expires",
    "replace-keeps-old-mapping",
    "static-asked-for-id",
    "zombie-heartbeats",
)
"""Those whose figures are quickly found again, by exploration and by Hypothesis."""


def _killed(*engines: str, lengths: dict[str, dict[str, int]] = LENGTHS) -> set[str]:
    return {name for name, found in lengths.items() if any(e in found for e in engines)}


def test_there_are_figures_of_every_mutant_and_none_survives() -> None:
    assert LENGTHS.keys() == MUTANTS.keys()
    assert all(LENGTHS.values())


def test_every_bug_of_history_is_seen_by_properties_alone() -> None:
    assert set(FROM_HISTORY) <= _killed(*BY_PROPERTIES)


def test_enough_are_seen_by_properties_alone() -> None:
    assert len(_killed(*BY_PROPERTIES)) >= FIGURES["least"]["by properties alone"]


def test_what_can_be_seen_from_outside_is_seen_by_comparison_and_by_the_catalogue() -> None:
    visible = {m.name for m in MUTANTS.values() if m.visible}
    assert visible - _killed(*BY_COMPARISON) == set(FIGURES["not by comparison"])
    assert visible <= _killed("catalogue")


def test_the_catalogue_finds_every_mutant_of_the_consumer_protocol_that_can_be_seen() -> None:
    assert CONSUMER_LENGTHS.keys() == CONSUMER_MUTANTS.keys()
    visible = {name for name, mutant in CONSUMER_MUTANTS.items() if mutant.visible}
    assert _killed("catalogue", lengths=CONSUMER_LENGTHS) == visible


def test_a_property_finds_each_mutant_of_the_consumer_protocol_that_is_said_to_break_one() -> None:
    assert CONSUMER_BREAKS.keys() <= _killed(*BY_PROPERTIES, lengths=CONSUMER_LENGTHS)


def test_comparison_finds_nearly_every_mutant_of_the_consumer_protocol() -> None:
    compared = _killed(*BY_COMPARISON, lengths=CONSUMER_LENGTHS)
    visible = {name for name, mutant in CONSUMER_MUTANTS.items() if mutant.visible}
    assert visible - compared == set(CONSUMER["not by comparison"])


def test_shrunk_walks_are_nearly_as_short_as_can_be() -> None:
    for name, found in LENGTHS.items():
        if EXPLORE in found and SEARCH in found:
            assert found[SEARCH] <= found[EXPLORE] + SLACK, name


def test_what_mutants_break_are_properties_and_some_engine_sees_it() -> None:
    for mutant in MUTANTS.values():
        assert set(mutant.breaks) <= PROPERTIES.keys() | {one.id for one in PROMISES}
        assert bool(mutant.breaks) is (mutant.name in _killed(*BY_PROPERTIES)), mutant.name


@pytest.mark.parametrize("engine", BY_PROPERTIES)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_figure_is_found_again(name: str, engine: str) -> None:
    result = MODEL_ENGINES[engine](find_mutant(name).revision)
    assert result.killed
    assert result.length == LENGTHS[name][engine]
    assert result.evidence is not None
    assert len(result.evidence.run.turns) == result.length


@pytest.mark.parametrize("engine", BY_COMPARISON)
@pytest.mark.parametrize("name", SAMPLE[:2])
def test_a_difference_is_found_again(name: str, engine: str) -> None:
    result = MODEL_ENGINES[engine](find_mutant(name).revision)
    assert (result.killed, result.length) == (True, LENGTHS[name][engine])
    assert result.by


@pytest.mark.slow
def test_the_right_model_is_killed_by_nobody() -> None:
    assert not kill_matrix.by_exploration(KAFKA_4, states=60).killed
    assert not kill_matrix.by_walks(KAFKA_4, examples=2).killed
    assert not kill_matrix.by_lockstep(KAFKA_4, states=20).killed
    assert not kill_matrix.by_different_walks(KAFKA_4, examples=2).killed


def test_the_promises_are_kept_in_the_end() -> None:
    for question in ENDING_SCOPES:
        assert not find_broken_promises(KAFKA_4, question.scope, max_states=300).broken


def test_questions_have_names_of_their_own() -> None:
    assert len({question.name for question in MUTANT_SCOPES}) == len(MUTANT_SCOPES)


def test_a_row_knows_who_missed_what_it_claims_to_see() -> None:
    mutant = find_mutant("kafka-8500")
    blind = {e: EngineResult(e, killed=False) for e in (EXPLORE, SEARCH)}
    row = Row(mutant, blind)
    assert row.survives
    assert row.missed == (EXPLORE,)
    seen = Row(mutant, {**blind, EXPLORE: EngineResult(EXPLORE, killed=True)})
    assert not seen.survives
    assert not seen.missed
