"""What holds no certificate is refused alike by all that read one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.in_this_process import invoke
from support.kept import kept
from support.places import ROOT

from fencepost.traces.report.certificate_data import CertificateFileError, read_certificate_file

NO_CERTIFICATES: tuple[Any, ...] = ([], {"format": "fencepost-trace"})
"""What `view` takes for a trace."""


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "is no certificate; give a certificate"),
        ({"format": "fencepost-trace"}, "is no certificate; give a certificate"),
        ({"format": "fencepost-certificate"}, "is no certificate: Expected `array`, got `null`"),
        (kept("a:1", {}) | {"cases": {"A/b": 7}}, r"Expected `object`, got `int` - at `\$\.cases"),
        (kept("a:1", {}) | {"cases": {"A/b": {"outcome": "fine"}}}, "Invalid enum value 'fine'"),
        (kept("a:1", {}) | {"cases": None}, "Expected `array`, got `null`"),
        (kept("a:1", {}) | {"revision": "nope"}, "no revision 'nope'"),
        (kept("a:1", {}) | {"rules": {}}, "missing required field `missed`"),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path: Path, document: Any, said: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(CertificateFileError, match=said) as refused:
        read_certificate_file(path)
    assert str(refused.value).startswith(f"{path}: ")
    page, site, old = str(tmp_path / "page.html"), str(tmp_path / "site"), str(path)
    for command in (
        ("view", old, "-o", page),
        ("site", old, "--report", site),
        ("certify", "model", "--case", "HEARTBEAT-*", "--diff", old),
    ):
        ran = invoke(*command)
        assert ran.code == 64
        assert re.search(said, ran.err) or (command[0] == "view" and document in NO_CERTIFICATES)
        assert "Traceback" not in ran.err


def test_a_case_may_say_no_more_than_how_it_came_out(tmp_path: Path) -> None:
    cases = [{"id": "HEARTBEAT-STABLE/x", "outcome": "fail"}]
    path = tmp_path / "old.json"
    path.write_text(json.dumps(kept("a:1", {}) | {"cases": cases}), encoding="utf-8")
    for command in (
        ("view", str(path), "-o", str(tmp_path / "page.html")),
        ("site", str(path), "--report", str(tmp_path / "site")),
        ("certify", "model", "--case", "HEARTBEAT-INSTANCE-FENCED/*", "--diff", str(path)),
    ):
        assert invoke(*command).code == 0


@pytest.mark.parametrize("text", ["{", "[[", "\\xff"])
def test_what_is_no_json_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CertificateFileError, match=r"old\.json: .*certify TARGET --report"):
        read_certificate_file(path)


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "certificates").glob("*.json")), ids=str)
def test_each_certificate_of_this_repository_is_one(path: Path) -> None:
    assert read_certificate_file(path)["verdict"] == "holds"
