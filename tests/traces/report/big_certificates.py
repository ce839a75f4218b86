"""The certificates of real brokers, made again and held against those that stand in the docs.

Two hours on two processors: `tox -e brokers`.  They are made anew by
`python tests/traces/report/big_certificates.py TARGET...`, of another protocol than the classic one
by `PROTOCOL/TARGET...`, as in `mixed/kafka:4.4.0`; that also writes the pages.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import RUN
from support.places import ROOT

from fencepost.conformance.targets.target_registry import TargetOptions, find_target
from fencepost.properties.judging.known_failures import aliases_of
from fencepost.traces.files.known_failure_lists import load
from tools.docs.certificates_page import differences, file_of, kept, page, read_all, write

DOCS = ROOT / "docs"
FOLDER = DOCS / "certificates"
TARGETS = (
    *(f"kafka:{v}" for v in ("2.3.0", "2.4.1", "2.5.1", "2.6.0", "2.7.2", "2.8.0")),
    *(f"kafka:{v}" for v in ("3.0.2", "3.1.2", "3.2.3", "3.3.1", "3.4.1", "3.5.2", "3.6.2")),
    *(f"kafka:{v}+{which}" for v in ("3.7.2", "3.8.1", "3.9.1") for which in ("old", "new")),
    *(f"kafka:{v}" for v in ("4.0.2", "4.1.1", "4.2.2", "4.3.0", "4.4.0")),
    "kafka:4.3.0*3",
    "kfake",
    "tansu",
    "seaweedfs",
    "rivine",
    "nafka",
)
PROTOCOLS = ("consumer", "mixed", "streams")
"""Protocols beside the classic one: a folder of certificates, and the revision that judges."""
EVERY = (
    *TARGETS,
    *(
        f"{protocol}/{json.loads(file.read_text('utf-8'))['target']}"
        for protocol in PROTOCOLS
        for file in sorted((FOLDER / protocol).glob("*.json"))
    ),
)
"""Each certificate by its target, after the name of its protocol."""
TOOLS = {
    "kafka": ("java", "mvn"),
    "kfake": ("go",),
    "mock": (),
    "tansu": (),
    "seaweedfs": ("go",),
    "rivine": ("cargo",),
    "nafka": (),
}
MOST_S = 1800
"""tansu answers each sync of a stranger after 5 s, and one case has dozens of them."""
MOST_CASES = 3
"""So many cases of a target may be undecided on a machine that is busy with something else."""


TIMES = 3
"""So often at most what is undecided is run again, alone, as `certify` proposes."""


def parted(name: str) -> tuple[str, str]:
    """Return the protocol, "" for the classic one, and the target of a certificate."""
    protocol, _, target = name.rpartition("/")
    return protocol, target


def certified(name: str, report: Path, *cases: str) -> dict[str, Any]:
    protocol, target = parted(name)
    chosen = [f"--case={case}" for case in cases]
    chosen += ["--revision", protocol] if protocol else []
    ended = subprocess.run(
        [sys.executable, "-c", RUN, "certify", target, "--json", "--report", str(report), *chosen],
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )
    assert ended.returncode in {0, 1, 2}, ended.stderr
    assert ended.stdout, ended.stderr
    certificate: dict[str, Any] = json.loads(ended.stdout)
    return certificate


def decided(name: str, report: Path) -> dict[str, Any]:
    """Certify it, and run what is undecided again; what is undecided each time stays so."""
    whole = certified(name, report)
    for time in range(1, TIMES + 1):
        missing = [case["id"] for case in whole["cases"] if case["outcome"] == "unknown"]
        if not missing:
            break
        again = certified(name, report / f"again-{time}", *missing)
        fresh = {case["id"]: case for case in again["cases"] if case["id"] in missing}
        whole["cases"] = [fresh.get(case["id"], case) for case in whole["cases"]]
        if whole["verdict"] == "unknown":
            whole["verdict"] = again["verdict"]
    return whole


@pytest.mark.parametrize("name", EVERY)
def test_the_certificate_is_what_it_was(name: str, tmp_path: Path) -> None:
    protocol, target = parted(name)
    for tool in TOOLS[target.partition(":")[0]]:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on this machine")
    stands = json.loads(file_of(FOLDER / protocol, target).read_text("utf-8"))
    new = certified(name, tmp_path)
    held = find_target(target, TargetOptions())
    known = load(target, new["version"], aliases=aliases_of(held))
    shaky = [entry.case for entry in known if entry.intermittent]
    if any(entry.anywhere for entry in known):  # what no case can control may be seen in any
        shaky += stands["cases"].keys() - {entry.case for entry in known}
    found = differences(stands, kept(new), shaky)
    undecided = [line for line in found if line.endswith("is unknown")]
    assert found == undecided, "\n".join(found)
    assert len(undecided) <= MOST_CASES, "\n".join(undecided)
    sys.stdout.write(f"{new['summary']}; {new['seconds']:.0f} s; {len(undecided)} undecided\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        made = decided(name, Path("certificate") / name.replace(":", "-"))
        sys.stderr.write(f"{made['summary']}\n")
        write(FOLDER / parted(name)[0], made)
    others = [document for protocol in PROTOCOLS for document in read_all(FOLDER / protocol)]
    (DOCS / "certificates.md").write_text(page(read_all(FOLDER)), encoding="utf-8")
    (DOCS / "consumer-certificates.md").write_text(page(others), encoding="utf-8")
