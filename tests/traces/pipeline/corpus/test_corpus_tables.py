from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.small_corpus import RECIPE, made

from fencepost.conformance.cli.corpus import corpus_group
from fencepost.conformance.cli.corpus_logs import audit_logs_command, metrics_command
from fencepost.traces.audit import log_audit
from fencepost.traces.operations import operator_words
from fencepost.traces.pipeline.corpus.corpus import FORMAT, ITEMS, STEP, TRACES, TURN, VERDICTS
from fencepost.traces.pipeline.logs.metrics import CAUSES, GROUP_DAYS, SUMS
from fencepost.traces.pipeline.storage.log_tables import EXPIRED_TOGETHER, TABLES

MEASURED = set(SUMS) - set(CAUSES.values())  # causes are told as such


LOGS = (*TABLES.values(), EXPIRED_TOGETHER, pa.schema(GROUP_DAYS.field(name) for name in MEASURED))


@pytest.mark.parametrize(
    "table", [TRACES, VERDICTS, ITEMS, pa.schema(STEP), pa.schema(TURN), *LOGS]
)
def test_every_column_is_documented(table: pa.Schema) -> None:
    commands = (*corpus_group.commands.values(), audit_logs_command, metrics_command)
    schemas = (log_audit.SCHEMA, operator_words.SCHEMA)
    shown = "".join(command.help or "" for command in commands)
    shown += "".join(json.dumps(schema.schema()) for schema in schemas)
    assert [name for name in table.names if f"`{name}`" not in shown] == []


def test_every_file_says_its_version(tmp_path: Path) -> None:
    corpus = made(tmp_path, RECIPE)
    file = tmp_path / "traces" / corpus.shards[0].file
    assert pq.read_schema(file).metadata[FORMAT.encode()] == b"1"
    assert pq.read_schema(file).equals(TRACES)


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        (
            "life_lines",
            (
                "group:string instance_id:string member_id:string"
                " process:struct<client_id: string, host: string> from_ms:int64 begins:bool"
                " until_ms:int64 end:string by:struct<client_id: string, host: string>"
                " fenced_ms:int64 place:string away_ms:int64 session_ms:int64"
            ),
        ),
        (
            "rebalances",
            (
                "group:string generation:int64 start_ms:int64 completed_ms:int64 stable_ms:int64"
                " cause:string who:string also:list<item: string> members_before:int64"
                " members_after:int64 remedy:string away_ms:int64 session_ms:int64"
                " unclear:string place:string duration_ms:int64"
                " reason:string client_reason:string expired_ms:int64 is_cut:bool"
            ),
        ),
        (
            "deployments",
            (
                "group:string from_ms:int64 until_ms:int64 restarts:int64 processes:int64"
                " rebalances:int64 begins:bool ends:bool"
            ),
        ),
        (
            "thrown_out",
            (
                "group:string instance_id:string member_id:string"
                " process:struct<client_id: string, host: string> at_ms:int64 silent_ms:int64"
                " session_ms:int64 place:string"
            ),
        ),
        (
            "problems",
            (
                "kind:string group:string instance_id:string names:list<item: string> count:int64"
                " days:int64 first_ms:int64 last_ms:int64 says:string remedy:string place:string"
                " longest_ms:int64 of_broker:bool shared:bool"
            ),
        ),
    ],
)
def test_columns_made_from_records_are_those_of_version_1(name: str, columns: str) -> None:
    # A column that is added within the version stands last.
    assert " ".join(f"{field.name}:{field.type}" for field in TABLES[name]) == columns
