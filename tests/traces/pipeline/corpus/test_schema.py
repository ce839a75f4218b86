from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.places import ROOT
from support.small_corpus import RECIPE, made

from fencepost.traces.pipeline.corpus.corpus import FORMAT
from fencepost.traces.pipeline.corpus.schema import ITEMS, STEP, TRACES, TURN, VERDICTS
from fencepost.traces.pipeline.logs.metrics import CAUSES, GROUP_DAYS, SUMS
from fencepost.traces.pipeline.storage.log_tables import TABLES

MEASURED = set(SUMS) - set(CAUSES.values())  # causes are told as such
PAGES = (ROOT / "docs/contributors/pipeline.md", ROOT / "docs/operators/many-logs.md")


LOGS = (*TABLES.values(), pa.schema(GROUP_DAYS.field(name) for name in MEASURED))


@pytest.mark.parametrize(
    "table", [TRACES, VERDICTS, ITEMS, pa.schema(STEP), pa.schema(TURN), *LOGS]
)
def test_every_column_is_documented(table: pa.Schema) -> None:
    page = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in table.names if f"`{name}`" not in page] == []


def test_every_file_says_its_version(tmp_path: Path) -> None:
    corpus = made(tmp_path, RECIPE)
    file = tmp_path / "traces" / corpus.shards[0].file
    assert pq.read_schema(file).metadata[FORMAT.encode()] == b"1"
    assert pq.read_schema(file).equals(TRACES)
