"""The page of what is stable names every exit code and every kind of file there is."""

from __future__ import annotations

import re

from support.places import ROOT

from fencepost.conformance.cli import cli
from fencepost.conformance.runtime import standard_streams, unavailable

PAGE = (ROOT / "docs" / "stability.md").read_text("utf-8")


def test_it_names_the_exit_codes() -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith("| exit codes"))
    named = {int(code) for code in re.findall(r"\d+", row.partition("([")[0])}
    used = {
        value
        for module in (cli, standard_streams, unavailable)
        for name, value in vars(module).items()
        if re.fullmatch(r"_?EXIT_[A-Z_]+", name)
    }
    assert named == {0, 1, 2} | used
