from __future__ import annotations

from pathlib import Path

import pytest
from support.small_corpus import made, verdicts

from fencepost.traces.files.trace_file import TraceFile
from fencepost.traces.pipeline.corpus import triage
from fencepost.traces.pipeline.corpus.shard_jobs import LocalEngine
from fencepost.traces.pipeline.storage.location import CorpusError


def test_each_shape_has_its_smallest_trace_made_smaller(tmp_path: Path) -> None:
    corpus = made(tmp_path)
    with pytest.raises(CorpusError, match="with --revision kafka-4 first"):
        triage.triage_corpus(LocalEngine(), corpus, "kafka-4")
    triage.check_corpus(LocalEngine(), corpus, "kafka-4")
    found = triage.triage_corpus(LocalEngine(), corpus, "kafka-4")
    bad = [row for row in verdicts(corpus) if row["outcome"] == "violated"]
    assert sum(one.traces for one in found) == len(bad)
    assert len({one.name for one in found}) == len(found)
    for one in found:
        alike = [
            r
            for r in bad
            if (r["rule"], r["wrong"]) == (one.fingerprint.rule, one.fingerprint.wrong)
        ]
        assert one.turns[0] == min(
            row["turns"] for row in alike if row["seen"] == one.fingerprint.answer_kind
        )
        assert one.turns[1] <= one.turns[0]
        assert one.file is not None
        one.file.write(tmp_path / "one.json")
        read = TraceFile.read(tmp_path / "one.json")
        violation = read.judge().violation
        assert violation is not None
        assert (read.verdict.rule, violation.wrong.name) == (
            one.fingerprint.rule,
            one.fingerprint.wrong,
        )
    assert min(one.turns[1] for one in found) < 5
