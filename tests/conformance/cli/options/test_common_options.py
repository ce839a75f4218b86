"""Options of what is written: no input is overwritten, and no page of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.in_this_process import invoke

from fencepost.conformance.runtime.unavailable import EXIT_USAGE

FINDING = Path(__file__).parents[4] / "docs" / "findings" / "parked-sync.json"
_READ = "is read by this command and would be overwritten"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.json"
    path.write_bytes(FINDING.read_bytes())
    return path


@pytest.mark.parametrize("by", ["its name", "a link", "another name"])
@pytest.mark.parametrize("command", ["convert", "view"])
def test_an_input_is_no_output(command: str, by: str, trace: Path) -> None:
    output = trace
    if by == "a link":
        output = trace.with_name("link")
        output.symlink_to(trace)
    elif by == "another name":
        output = trace.with_name("hard")
        output.hardlink_to(trace)
    form = ("--to", "csv") if command == "convert" else ()
    ran = invoke(command, str(trace), *form, "-o", str(output))
    assert ran.code == EXIT_USAGE
    assert f"{output} {_READ}" in ran.err
    assert trace.read_bytes() == FINDING.read_bytes()


def test_an_input_is_no_file_of_metrics(trace: Path) -> None:
    ran = invoke("audit", str(trace), "--prometheus", str(trace))
    assert (ran.code, _READ in ran.err) == (EXIT_USAGE, True)
    assert trace.read_bytes() == FINDING.read_bytes()


def test_the_folder_of_certificates_is_no_folder_of_their_site(trace: Path) -> None:
    folder = str(trace.parent)
    ran = invoke("site", folder, "--report", f"{folder}/.")
    assert (ran.code, _READ in ran.err) == (EXIT_USAGE, True)


def test_a_corpus_is_not_minimised_into_itself(tmp_path: Path) -> None:
    folder = str(tmp_path)
    ran = invoke("corpus", "minimise-corpus", folder, "--out", folder)
    assert (ran.code, _READ in ran.err) == (EXIT_USAGE, True)


def test_a_page_of_somebody_else_stays_unless_forced(trace: Path) -> None:
    page = trace.parent / "report" / "index.html"
    page.parent.mkdir()
    page.write_text("<title>My shop</title>")
    arguments = ("audit", str(trace), "--report", str(page.parent))
    ran = invoke(*arguments)
    assert (ran.code, f"{page} is no page of fencepost" in ran.err) == (EXIT_USAGE, True)
    assert page.read_text() == "<title>My shop</title>"
    assert list(page.parent.iterdir()) == [page]
    forced = invoke(*arguments, "--force").code
    again = invoke(*arguments).code
    assert forced == again != EXIT_USAGE
    assert "fencepost</title>" in page.read_text()
