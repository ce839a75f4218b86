from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.small_corpus import RECIPE, made, traces

from fencepost.properties.checking.random_walk import Walk
from fencepost.traces.pipeline.corpus.corpus import (
    Recipe,
    TraceSource,
    choices_of,
    corpus_recipe,
    ground,
    row_of,
    trace_row,
)
from fencepost.traces.pipeline.storage.location import CorpusError
from fencepost.traces.pipeline.storage.trace_rows import RowError, events_of, step_rows


def test_any_partitioning_yields_the_same_set(tmp_path: Path) -> None:
    whole = traces(made(tmp_path / "a"))
    assert traces(made(tmp_path / "b", replace(RECIPE, per_shard=7))) == whole
    assert [row["trace"] for row in whole] == list(range(RECIPE.traces))


def test_more_traces_begin_with_the_same(tmp_path: Path) -> None:
    more = traces(made(tmp_path / "more"))
    fewer = traces(made(tmp_path / "fewer", replace(RECIPE, traces=50)))
    assert more[:50] == fewer


def test_a_trace_depends_on_seed_number_and_model() -> None:
    one = trace_row("kafka-4", 1, 5)
    assert trace_row("kafka-4", 1, 5) == one
    assert trace_row("kafka-4", 2, 5) != one
    assert trace_row("kafka-4", 1, 6) != one


def test_the_acts_of_a_trace_make_it_again() -> None:
    for number in range(30):
        row = trace_row("mutant:kafka-8500", 3, number)
        walk = Walk(ground("mutant:kafka-8500", row["scope"]))
        for choice in choices_of(row["turns"]):
            assert walk.take(choice)
        assert row_of(walk, row["scope"], number) == row


def test_events_come_back_from_their_rows() -> None:
    for number in range(30):
        events = events_of(_filled(trace_row("kafka-4", 3, number)["steps"]))
        assert events_of(_filled(step_rows(events, {}))) == events


def test_a_row_that_says_no_event_is_refused() -> None:
    with pytest.raises(RowError, match="'sing'"):
        events_of([{"do": "sing"}])


def test_models_are_named_once_and_by_revision_and_mutant() -> None:
    recipe = corpus_recipe(
        seed=0, traces=9, revisions=["kafka-4"] * 2, mutants=["kafka-8500"], per_shard=2
    )
    assert recipe.models == ("kafka-4", "mutant:kafka-8500")
    assert TraceSource.of("mutant:kafka-8500").folder == "revision=kafka-4/mutant=kafka-8500"
    numbers = [number for shard in recipe.shards() for number in shard.traces]
    assert sorted(numbers) == list(range(9))


def test_another_corpus_is_not_written_over(tmp_path: Path) -> None:
    made(tmp_path)
    with pytest.raises(CorpusError, match="choose another folder"):
        made(tmp_path, replace(RECIPE, seed=2))


def test_a_manifest_of_another_version_is_refused() -> None:
    text = RECIPE.text().replace('"version": 1', '"version": 2')
    with pytest.raises(CorpusError, match="version 2"):
        Recipe.from_text(text, "corpus.json")


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("traces", -5, r"`int` >= 1 - at `\$\.traces`"),
        ("traces", 0, r"`int` >= 1 - at `\$\.traces`"),
        ("traces", "12", r"`int`, got `str` - at `\$\.traces`"),
        ("traces", 10**30, r"`\$\.traces`"),
        ("traces", 10**15, "need more shards than 1,000,000"),
        ("per_shard", 0, r"`\$\.per_shard`"),
        ("models", [], r"`\$\.models`"),
        ("models", ["kafka-9"], "kafka-9"),
        ("seed", None, r"`\$\.seed`"),
        ("part", 1, r"`\$\.part`"),
        ("more", 1, "unknown field `more`"),
    ],
)
def test_a_manifest_that_its_schema_refuses_is_no_corpus(
    field: str, value: object, problem: str
) -> None:
    document = {**json.loads(RECIPE.text()), field: value}
    with pytest.raises(CorpusError, match=problem):
        Recipe.from_text(json.dumps(document), "corpus.json")


def test_a_field_that_is_missing_is_named() -> None:
    document = json.loads(RECIPE.text())
    del document["per_shard"]
    with pytest.raises(CorpusError, match="missing required field `per_shard`"):
        Recipe.from_text(json.dumps(document), "corpus.json")


def _filled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """As a table gives them back: what an event doesn't have is None."""
    names = {name for row in rows for name in row} | {"findings", "dropped"}
    return [dict.fromkeys(names) | row for row in rows]
