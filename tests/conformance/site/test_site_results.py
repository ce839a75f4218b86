"""Certificates of both kinds are read, in order; what is none is refused by name."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.kept import kept, write_kept
from support.page.pages import certificate
from support.places import ROOT

from fencepost.conformance.site.site_results import read_results
from fencepost.traces.report.certificate_data import CertificateFileError

CASE = "LEAVE-MEMBER/one"


def test_versions_stand_in_lines_and_in_order(tmp_path: Path) -> None:
    targets = [
        "kafka:2.3.0",
        "kafka:3.10.0+none",
        "kafka:3.9.1+old",
        "kafka:3.9.1+new",
        "kafka:4.3.0",
        "kafka:4.3.0*3",
        "other:1.9",
        "other:1.10",
    ]
    mixed = random.Random(1).sample(targets, len(targets))
    paths = write_kept(tmp_path, *(kept(target, {CASE: "pass"}) for target in mixed))
    found = [(r.name, r.line, r.label) for r in read_results(paths)]
    assert found == [
        ("kafka:2.3.0", "old coordinator", "2.3.0"),
        ("kafka:3.9.1+old", "old coordinator", "3.9.1"),
        ("kafka:3.10.0+none", "Apache Kafka", "kafka:3.10.0+none"),
        ("kafka:3.9.1+new", "new coordinator", "3.9.1"),
        ("kafka:4.3.0", "new coordinator", "4.3.0"),
        ("kafka:4.3.0*3", "new coordinator, 3 nodes", "4.3.0"),
        ("other:1.9", "other", "1.9"),
        ("other:1.10", "other", "1.10"),
    ]


def test_a_folder_is_a_report_or_a_folder_of_certificates(tmp_path: Path) -> None:
    write_kept(tmp_path / "many", kept("a:1", {CASE: "pass"}), kept("b:1", {CASE: "pass"}))
    report = tmp_path / "report"
    report.mkdir()
    (report / "certificate.json").write_text(json.dumps(certificate()), encoding="utf-8")
    (report / "other.json").write_text("no certificate", encoding="utf-8")
    found = read_results([tmp_path / "many", report])
    assert [result.name for result in found] == ["a:1", "some:target", "b:1"]
    assert found[1].folder == report


def test_the_same_target_twice_is_told_apart_by_its_version(tmp_path: Path) -> None:
    one = kept("exec:./mine", {CASE: "pass"}, implementation="mine", version="1.0")
    paths = write_kept(tmp_path, one, one | {"version": "1.1"})
    assert [result.slug for result in read_results(paths)] == ["exec-.-mine-1.0", "exec-.-mine-1.1"]
    with pytest.raises(
        CertificateFileError, match=r"0\.json is a certificate of exec:\./mine mine 1"
    ):
        read_results([paths[0], paths[0]])


def test_it_holds_at_first_sight_only_without_failures_of_a_must(tmp_path: Path) -> None:
    failing = kept("b:1", {CASE: "a fault", "LEAVE-MEMBER/two": "pass"})
    may = json.loads(json.dumps(failing | {"target": "c:1"}))
    may["cases"][CASE]["level"] = "MAY"
    violated = kept("d:1", {CASE: "pass"}, verdict="violated")
    paths = write_kept(tmp_path, kept("a:1", {CASE: "pass"}), failing, may, violated)
    found = read_results(paths)
    assert [r.tone() for r in found] == ["holds", "known-failure", "holds", "violated"]
    assert [r.summary() for r in found] == [
        "passes 1 of 1",
        "passes 1 of 2; 1 known failure",
        "passes 1 of 2; 1 known failure",
        "passes 1 of 1",
    ]


def test_an_empty_folder_and_a_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CertificateFileError, match=r"holds no certificate\.json"):
        read_results([tmp_path])
    (tmp_path / "text.json").write_text("{", encoding="utf-8")
    with pytest.raises(CertificateFileError, match="isn't JSON"):
        read_results([tmp_path])


def test_the_certificates_of_this_repository_can_be_read() -> None:
    found = read_results([ROOT / "docs" / "certificates"])
    assert [r.name for r in found][:1] == ["kafka:2.3.0"]
    assert {r.name for r in found} >= {"kafka:4.3.0", "kfake"}
