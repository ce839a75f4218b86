"""What is kept of certificates, how they are held against new ones, and their page."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import pytest
from support.places import ROOT

from tools.docs.certificates_page import differences, kept, page, read_all, write

DOCS = ROOT / "docs"
PASSED = "JOIN-STATIC-EMPTY-NEW/first"
MAKE = "python -m tools.docs.certificates_page docs/certificates docs/certificates.md"
FAILED = "LEAVE-MEMBER/leader-leaves"


def certificate(target: str = "kafka:4.3.0") -> dict[str, Any]:
    common: dict[str, Any] = {
        "message": "",
        "rule": None,
        "observed": "",
        "notes": [],
        "seconds": 1.2,
        "trace": None,
    }
    return {
        "target": target,
        "implementation": "Apache Kafka",
        "version": target.partition(":")[2],
        "revision": "kafka-4",
        "verdict": "holds",
        "address": "127.0.0.1:12345",
        "config": {},
        "apis": {},
        "seconds": 44.0,
        "rules": {"missed": ["A-RULE"], "unreachable": {}, "covered": []},
        "cases": [
            {"id": PASSED, "outcome": "pass", "level": "MUST", **common},
            {
                "id": FAILED,
                "outcome": "known-failure",
                "level": "MUST",
                **common,
                "rule": "LEAVE-MEMBER",
                "observed": "b Heartbeat: NONE",
                "notes": ["known failure: nobody is told (https://example.org/1)"],
            },
        ],
    }


def test_nothing_of_one_run_alone_is_kept() -> None:
    again = certificate() | {"address": "127.0.0.1:2", "seconds": 3.0}
    again["cases"][0]["seconds"] = 77
    assert kept(again) == kept(certificate())
    assert differences(kept(again), kept(certificate()), ()) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outcome": "pass"}, "was known-failure, is pass"),
        ({"outcome": "fail"}, "was known-failure, is fail: b Heartbeat: NONE"),
        ({"outcome": "unknown", "observed": ""}, "is unknown"),
        ({"id": "LEAVE-MEMBER/other"}, "is not there"),
    ],
)
def test_another_outcome_is_a_difference(change: dict[str, Any], said: str) -> None:
    new = certificate()
    new["cases"][1] |= change
    found = differences(kept(certificate()), kept(new), ())
    assert any(said in line for line in found)


def test_a_known_failure_may_show_itself_by_another_listed_word() -> None:
    new = certificate()
    new["cases"][1]["observed"] = "no answer"
    assert differences(kept(certificate()), kept(new), ()) == []


def test_what_comes_and_goes_may_pass_but_not_fail_otherwise() -> None:
    new = certificate()
    new["cases"][1]["outcome"] = "pass"
    assert differences(kept(certificate()), kept(new), (FAILED,)) == []
    new["cases"][1]["outcome"] = "fail"
    assert differences(kept(certificate()), kept(new), (FAILED,))


def test_versions_stand_in_order_and_the_page_gives_reasons(tmp_path: Path) -> None:
    for target in ("kfake", "kafka:3.9.1+new", "kafka:2.3.0"):
        write(tmp_path, certificate(target))
    certificates = read_all(tmp_path)
    assert [c["target"] for c in certificates] == ["kafka:2.3.0", "kafka:3.9.1+new", "kfake"]
    text = page(certificates)
    assert "| [kfake](#kfake) | holds, 1 known failure | 1 |" in text
    assert "- **Known, 1**: nobody is told (https://example.org/1)" in text
    assert "Rules that no passing case shows: A-RULE." in text


@pytest.mark.parametrize(
    ("folders", "name"),
    [
        (("certificates",), "certificates.md"),
        (
            ("certificates/consumer", "certificates/mixed", "certificates/streams"),
            "consumer-certificates.md",
        ),
    ],
)
def test_the_page_is_what_is_made_of_the_certificates(folders: tuple[str, ...], name: str) -> None:
    written = (DOCS / name).read_text("utf-8")
    made = page([each for folder in folders for each in read_all(DOCS / folder)])
    assert made == written, "\n".join(
        [
            f"make it anew: {MAKE} (here: docs/{' docs/'.join(folders)} docs/{name})",
            *difflib.unified_diff(written.splitlines(), made.splitlines(), "written", "made"),
        ]
    )


def test_a_certificate_that_stands_here_violates_nothing_and_knows_all() -> None:
    for found in read_all(DOCS / "certificates"):
        outcomes = {case["outcome"] for case in found["cases"].values()}
        assert outcomes <= {"pass", "known-failure", "unsupported"}, found["target"]
        assert found["verdict"] == "holds"
