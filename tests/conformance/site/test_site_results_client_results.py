from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.client_results import FAILED, LACKS, certificate, result
from support.places import ROOT

from fencepost.conformance.site.site import write_site
from fencepost.conformance.site.site_results import part_clients, parts
from fencepost.traces.report.certificate_data import CertificateFileError
from fencepost.traces.report.client_certificate import kept
from fencepost.traces.report.report_folder import certificate_document
from fencepost.traces.report.report_writer import write_report

COORDINATOR = next(iter(sorted((ROOT / "docs" / "certificates").glob("kafka-*.json"))))
WHOLE = certificate(result(), FAILED, LACKS)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """A report, a kept certificate of another client, and a coordinator's certificate."""
    write_report(WHOLE, tmp_path / "report")
    other = certificate(result(), FAILED, client="java:4.3.0")
    short = tmp_path / "java.json"
    short.write_text(json.dumps(kept(certificate_document(other))), "utf-8")
    return [tmp_path / "report", short, COORDINATOR]


def test_certificates_are_parted_by_what_they_are_about(files: list[Path]) -> None:
    clients, others = part_clients(files)
    assert [one.name for one in clients] == ["java:4.3.0", "lib:1.2.3"]
    assert others == [COORDINATOR]
    assert [title for title, _ in parts(clients)] == ["How it goes", "It comes back"]


def test_a_client_has_a_page_with_its_traces(files: list[Path], tmp_path: Path) -> None:
    write_site(files, tmp_path / "site")
    site = {str(p.relative_to(tmp_path / "site")) for p in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "clients.html", "clients/java-4.3.0.html"} <= site
    assert "clients.html" in (tmp_path / "site" / "index.html").read_text("utf-8")
    matrix = (tmp_path / "site" / "clients.html").read_text("utf-8")
    assert "<code>CLOSE-STATIC-STAYS</code>" in matrix
    assert 'href="clients/lib-1.2.3.html"' in matrix
    whole = (tmp_path / "site" / "clients" / "lib-1.2.3.html").read_text("utf-8")
    assert "LeaveGroup v5" in whole


def test_a_site_may_be_of_clients_alone(files: list[Path], tmp_path: Path) -> None:
    write_site(files[:2], tmp_path / "site")
    assert "2 client libraries" in (tmp_path / "site" / "index.html").read_text("utf-8")


def test_a_certificate_that_lacks_something_is_refused(tmp_path: Path) -> None:
    short = {**kept(certificate_document(WHOLE)), "cases": {"CLOSE-STATIC-STAYS": {}}}
    path = tmp_path / "short.json"
    path.write_text(json.dumps(short), "utf-8")
    with pytest.raises(CertificateFileError, match=r"short\.json: is no certificate: .*`outcome`"):
        write_site([path], tmp_path / "site")


def test_two_certificates_of_one_client_are_refused(files: list[Path]) -> None:
    with pytest.raises(CertificateFileError, match=r"another certificate of java:4\.3\.0"):
        part_clients([*files, files[1]])


def test_a_kept_certificate_says_the_same_in_every_run() -> None:
    again = certificate(result(attempts=3), FAILED, LACKS, seconds=99.0)
    assert kept(certificate_document(again)) == kept(certificate_document(WHOLE))
