"""What a file is, by its first lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import ROOT, TESTS

from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.server_log import LogKind, common_kind, log_kind

REQUESTS = ROOT / "examples" / "request-logs" / "kafka-request.log.gz"
SERVER = TESTS / "traces" / "server_logs" / "server-4.3.0.log.gz"
TRACE = ROOT / "traces" / "corpus" / "mutants" / "zombie-heartbeats.json"
OLD = "[2021-01-01 00:00:00,000] DEBUG Completed request:RequestHeader(apiKey=HEARTBEAT) -- {}\n"


def test_each_kind_is_known() -> None:
    kinds = [log_kind(path) for path in (REQUESTS, SERVER, TRACE)]
    assert kinds == [LogKind.REQUESTS, LogKind.SERVER, LogKind.TRACE]


def test_a_request_log_from_before_kafka_2_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kafka-request.log"
    path.write_text(OLD)
    assert log_kind(path) is LogKind.OLD_REQUESTS


@pytest.mark.parametrize(("text", "says"), [("a,b\n1,2\n", "'a,b'"), ("", "is empty")])
def test_a_file_that_is_none_is_named_with_its_beginning(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "some.csv"
    path.write_text(text)
    with pytest.raises(LogFileError, match="neither a request log") as error:
        log_kind(path)
    assert says in str(error.value)


def test_two_kinds_at_once_are_refused() -> None:
    with pytest.raises(LogFileError, match=r"kafka-request-log, and .* of the kind server-log"):
        common_kind([REQUESTS, SERVER])
    assert common_kind([SERVER, SERVER]) is LogKind.SERVER
