"""The command line run in this process: its exit code and what it prints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fencepost.conformance.cli.cli import main


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["corpus", *arguments])
    said = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), said.out, said.err


def ran_json(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code, out, _ = run(*arguments, "--json", capsys=capsys)
    return code, json.loads(out)
