"""What all logs share: how far they were read, and files that can't be."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import TESTS

from fencepost.traces.logs.log_files import LogFileError
from fencepost.traces.logs.server_log import ServerLog

SERVER = TESTS / "traces" / "server_logs" / "server-4.3.0.log.gz"


def test_all_bytes_are_told_once(tmp_path: Path) -> None:
    plain = tmp_path / "server.log"
    plain.write_text("nothing\n" * 12_000)
    for path, least in ((plain, 3), (SERVER, 1)):
        told: list[int] = []
        for _ in ServerLog([path], progress=told.append):
            pass
        assert sum(told) == path.stat().st_size
        assert len(told) == least


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(LogFileError, match=r"nowhere\.log can't be read"):
        ServerLog([Path("nowhere.log")])
