from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.small_corpus import RECIPE, made, traces, verdicts

from fencepost.model.revisions import revisions
from fencepost.properties.claims.invariants import PROMISED
from fencepost.traces.pipeline.corpus import triage
from fencepost.traces.pipeline.corpus.shard_jobs import (
    Checker,
    CheckJob,
    Corpus,
    Job,
    LocalEngine,
    checked,
    checker,
)
from fencepost.traces.pipeline.storage.location import CorpusError, Place


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    corpus = made(tmp_path_factory.mktemp("corpus"))
    triage.check_corpus(LocalEngine(), corpus, "kafka-4")
    return corpus


def test_what_the_judge_itself_drew_holds_and_a_mutant_is_caught(corpus: Corpus) -> None:
    said = verdicts(corpus)
    assert {row["outcome"] for row in said[::2]} == {"holds"}
    assert "violated" in {row["outcome"] for row in said[1::2]}
    counted = triage.count_outcomes(LocalEngine(), corpus, "kafka-4").to_pylist()
    assert sum(row["traces"] for row in counted) == RECIPE.traces


def test_each_trace_has_one_verdict(corpus: Corpus) -> None:
    assert [row["trace"] for row in verdicts(corpus)] == list(range(RECIPE.traces))


def test_a_trace_that_crashes_the_checker_is_a_row_with_its_error(tmp_path: Path) -> None:
    corpus = made(tmp_path)
    shard = corpus.shards[0]
    table = corpus.table(shard)
    rows = table.to_pylist()
    sent = next(step for step in rows[3]["steps"] if step["do"] == "send")
    sent["body"] = "{"
    corpus.place.write(f"traces/{shard.file}", pa.Table.from_pylist(rows, schema=table.schema))
    triage.check_corpus(LocalEngine(), corpus, "kafka-4")
    said = verdicts(corpus)
    assert len(said) == RECIPE.traces
    assert [row["trace"] for row in said if row["outcome"] == "error"] == [rows[3]["trace"]]
    assert said[rows[3]["trace"]]["message"].startswith("JSONDecodeError")


def test_a_checker_that_drops_a_row_is_seen(corpus: Corpus) -> None:
    table = corpus.table(corpus.shards[0])

    def forgetful(trace: dict[str, Any]) -> dict[str, Any]:
        return checker("kafka-4").row(trace) | {"trace": 0}

    with pytest.raises(ValueError, match="not those of the traces"):
        checked(table, forgetful)


def test_an_engine_that_drops_a_shard_is_seen(tmp_path: Path) -> None:
    class Lazy(LocalEngine):
        def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
            return super().each(job, shards[1:])

    with pytest.raises(ValueError, match="did 5 shards of 6"):
        triage.generate_corpus(Lazy(), Place(str(tmp_path)), RECIPE)


class Killed(Exception):
    """Stands for the end of the process."""


class Mortal(LocalEngine):
    """Is killed in the middle."""

    def each(self, job: Job, shards: Sequence[int]) -> pa.Table:
        super().each(job, shards[: len(shards) // 2])
        raise Killed


def test_killed_midway_nothing_is_lost_and_nothing_is_there_twice(
    tmp_path: Path, corpus: Corpus
) -> None:
    place = Place(str(tmp_path))
    with pytest.raises(Killed):
        triage.generate_corpus(Mortal(), place, RECIPE)
    half = triage.open_corpus(place)
    with pytest.raises(CorpusError, match="3 of 6 shards are missing"):
        triage.check_corpus(LocalEngine(), half, "kafka-4")
    unfinished = tmp_path / "traces" / f"{half.shards[5].source.folder}" / ".shard.tmp"
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    unfinished.write_bytes(b"half a table")
    ran = triage.generate_corpus(LocalEngine(), place, RECIPE)
    assert (ran.shards, ran.rows, ran.shards_before) == (3, 60, 3)
    assert not unfinished.exists()
    assert traces(half) == traces(corpus)

    with pytest.raises(Killed):
        triage.check_corpus(Mortal(), half, "kafka-4")
    with pytest.raises(CorpusError, match="3 of 6 shards are not judged by kafka-4"):
        triage.count_outcomes(LocalEngine(), half, "kafka-4")
    assert triage.check_corpus(LocalEngine(), half, "kafka-4").shards_before == 3
    assert verdicts(half) == verdicts(corpus)
    assert triage.check_corpus(LocalEngine(), half, "kafka-4").shards == 0


def test_invariants_are_held_to_what_explains_the_answers(corpus: Corpus) -> None:
    row = corpus.table(corpus.shards[0]).to_pylist()[0]
    liar = Checker(revisions.find("kafka-4"))
    liar._of_groups = [(PROMISED[0], lambda *_: False)]
    said = liar.row(dict(row))
    assert said["outcome"] == "violated"
    assert said["broken"] == [PROMISED[0].id]


def test_verdicts_of_two_judges_lie_side_by_side(corpus: Corpus) -> None:
    assert CheckJob(corpus, "kip-345").folder != CheckJob(corpus, "kafka-4").folder
