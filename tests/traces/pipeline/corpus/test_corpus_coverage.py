from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.small_corpus import made, traces

from fencepost.traces.pipeline.corpus import triage
from fencepost.traces.pipeline.corpus.corpus_coverage import (
    KINDS,
    coverage_json,
    greedy,
    items_of,
    reachable,
)
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.storage.location import CorpusError, Place

NEEDED = st.dictionaries(st.integers(0, 99), st.frozensets(st.sampled_from("abcdefgh"), max_size=5))


def union(shown: Mapping[int, frozenset[str]]) -> set[str]:
    return set().union(*shown.values())


@given(NEEDED)
def test_a_cover_covers_all_and_has_nothing_to_spare(shown: dict[int, frozenset[str]]) -> None:
    kept = greedy(shown)
    assert union({trace: shown[trace] for trace in kept}) == union(shown)
    for trace in kept:
        assert union({t: shown[t] for t in kept if t != trace}) != union(shown)


@given(NEEDED)
def test_a_cover_does_not_depend_on_the_order(shown: dict[int, frozenset[str]]) -> None:
    assert greedy(dict(reversed(shown.items()))) == greedy(shown)


def test_coverage_is_counted_and_what_is_missing_is_named(tmp_path: Path) -> None:
    corpus = made(tmp_path)
    items = triage.cover_corpus(LocalEngine(), corpus)
    told = coverage_json(corpus, items)
    own, mutant = sorted(told["models"], key=lambda model: model["mutant"] != "none")
    rules = {
        item
        for row in traces(corpus)[::2]
        for kind, item in items_of(row["turns"])
        if kind == "rule"
    }
    assert own["rule"]["covered"] == len(rules)
    assert set(own["rule"]["missing"]) == reachable("kafka-4")["rule"] - rules
    assert own["rule"]["over_time"][-1] == [corpus.recipe.traces, len(rules)]
    assert "missing" not in mutant["rule"]
    assert (tmp_path / "coverage.parquet").exists()


def test_a_minimised_corpus_covers_the_same_with_fewer_traces(tmp_path: Path) -> None:
    corpus = made(tmp_path / "all")
    kept, of = triage.minimise_corpus(LocalEngine(), corpus, Place(str(tmp_path / "few")))
    few = triage.open_corpus(Place(str(tmp_path / "few")))
    assert kept < of
    names = ["revision", "mutant", "kind", "item"]
    before = triage.cover_corpus(LocalEngine(), corpus).select(names).to_pylist()
    assert triage.cover_corpus(LocalEngine(), few).select(names).to_pylist() == before
    assert triage.check_corpus(LocalEngine(), few, "kafka-4").rows == kept
    with pytest.raises(CorpusError, match="choose another folder"):
        triage.minimise_corpus(LocalEngine(), corpus, Place(str(tmp_path / "few")))


def test_small_worlds_reach_rules_pairs_and_states() -> None:
    found = reachable("kafka-4")
    assert set(found) == set(KINDS)
    rules = {rule for pair in found["pair"] for rule in pair.split(" → ")}
    assert rules <= found["rule"]
