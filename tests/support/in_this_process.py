"""The command line run in this process, where a process of its own isn't the point.

It saves a second of imports each time.  `support/command.py` starts a real one.
"""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import pytest
from support.command import Ran

from fencepost.conformance.cli.cli import main


def invoke(*arguments: str) -> Ran:
    """What `fencepost` with these arguments prints, and its exit code."""
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(to, "utf-8", write_through=True) for to in written)
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    code = ended.value.code
    said = [to.getvalue().decode() for to in written]
    return Ran(code if isinstance(code, int) else 0, *said)


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """`fencepost corpus`; what its workers print is seen, too."""
    with pytest.raises(SystemExit) as ended:
        main(["corpus", *arguments])
    said = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), said.out, said.err


def ran_json(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, Any]:
    code, out, _ = run(*arguments, "--json", capsys=capsys)
    return code, json.loads(out)
