"""The command line run in this process, where a process of its own isn't the point.

It saves a second of imports each time.  `support/command.py` starts a real one.
"""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import click
import pytest
from support.command import Ran

from fencepost.conformance.cli.cli import exit_code, fencepost, main


def invoke(*arguments: str) -> Ran:
    """Run `fencepost` with these arguments; return what it prints, and its exit code."""
    return invoke_command(fencepost, "fencepost", *arguments)


def invoke_command(command: click.Command, name: str, *arguments: str) -> Ran:
    """Run a command of click, such as one of `tools/`, as `fencepost` runs its own."""
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(to, "utf-8", write_through=True) for to in written)
    with redirect_stdout(out), redirect_stderr(err):
        code = exit_code(command, list(arguments), name)
    return Ran(code, *(to.getvalue().decode() for to in written))


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
