"""The page of releases is that of the figures, and so are the ranges of known failures."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import structs
from support.places import ROOT

from fencepost.conformance.clients.driver_programs import LIBRARIES
from fencepost.properties.judging.known_failures import KnownFailure, matches
from fencepost.traces.files.known_failure_lists import KnownFailureList, read
from tools.docs import releases_page
from tools.docs.releases_page import (
    FIGURES,
    PAGE,
    PLAIN,
    RELEASES,
    TriedRelease,
    entries_of,
    main,
    page,
    range_for,
    read_figures,
)

DOCS = ROOT / "docs"
AGAIN = "make it anew: python -m tools.docs.releases_page docs"
FIGURES_KEPT = read_figures(DOCS)
ENTRY = KnownFailure("lib", "*", "OWED/life", "OWED", "it leaves", "it leaves", "")
RUNS = dict.fromkeys(PLAIN, "runs")


def test_the_page_is_that_of_the_figures(tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    (tmp_path / FIGURES).write_bytes((DOCS / FIGURES).read_bytes())
    main(tmp_path)
    for name in (PAGE, FIGURES):
        assert (tmp_path / name).read_bytes() == (DOCS / name).read_bytes(), AGAIN


def test_what_was_tried_are_the_last_releases_of_libraries() -> None:
    assert set(RELEASES) <= set(LIBRARIES)
    tried = [release.client for release in FIGURES_KEPT]
    expected = [f"{kind}:{version}" for kind in RELEASES for version in RELEASES[kind]]
    assert tried == [name for name in expected if name in tried]


@pytest.mark.parametrize("library", RELEASES)
def test_a_failure_is_listed_for_no_release_that_was_seen_without_it(library: str) -> None:
    for entry in entries_of(library):
        for release in FIGURES_KEPT:
            if release.library == library and matches(entry.versions, release.version):
                seen = release.listed.get(entry.case, "fail")
                assert seen in {"fail", "unknown"} or (seen == "pass" and entry.intermittent)


def release(version: str, outcome: str | None) -> TriedRelease:
    listed = {} if outcome is None else {ENTRY.case: outcome}
    return TriedRelease(f"lib:{version}", outcomes=RUNS, listed=listed)


@pytest.mark.parametrize(
    ("outcomes", "intermittent", "versions"),
    [
        (("fail", "fail", "fail"), False, ">=1.8,<2.1"),
        (("fail", "fail", "pass"), False, ">=1.9,<2.1"),
        (("fail", "otherwise", "fail"), False, ">=2.0,<2.1"),
        (("fail", "unknown", "fail"), False, ">=1.8,<2.1"),
        (("fail", "fail", "unknown"), False, ">=1.9,<2.1"),
        (("fail", "pass", "fail"), False, ">=2.0,<2.1"),
        (("fail", "pass", "fail"), True, ">=1.8,<2.1"),
        (("pass", "fail", "pass"), True, ">=1.9,<2.1"),
        (("fail", None, "fail"), False, ">=2.0,<2.1"),
        (("pass", "fail", "fail"), False, None),
        (("unsupported", "fail", "fail"), True, None),
    ],
)
def test_a_range_reaches_as_far_back_as_the_failure_was_seen(
    outcomes: tuple[str | None, ...], intermittent: bool, versions: str | None
) -> None:
    releases = list(map(release, ("2.0.3", "1.9.0", "1.8.2"), outcomes))
    entry = structs.replace(ENTRY, intermittent=intermittent)
    assert range_for(entry, releases) == versions


def test_a_library_of_patches_alone_has_ranges_of_them() -> None:
    releases = [release("0.4.51", "fail"), release("0.4.50", "fail")]
    assert range_for(ENTRY, releases) == ">=0.4.50,<0.4.52"


def test_ranges_are_written_where_some_releases_were_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases_page, "CLIENT_FOLDER", tmp_path)
    path = tmp_path / "sarama.json"
    old = structs.replace(ENTRY, versions=">=1.2.1,<1.2.2")
    entries = KnownFailureList(entries=(ENTRY, old))
    path.write_text(json.dumps(entries.plain()), "utf-8")
    newest = f"sarama:{RELEASES['sarama'][0]}"
    tried = TriedRelease(newest, outcomes=RUNS, listed={ENTRY.case: "fail"})
    (tmp_path / "clients").mkdir()
    (tmp_path / FIGURES).write_bytes(msgspec.json.encode([tried]))
    main(tmp_path, "ranges")
    assert [entry.versions for entry in read(path)] == [">=1.61,<1.62", old.versions]


def test_a_row_says_what_runs_and_what_lacks() -> None:
    rows = page(
        [
            TriedRelease("lib:2.0.3", outcomes=RUNS),
            TriedRelease(
                "lib:1.9.0",
                lacks=("static",),
                outcomes={PLAIN[0]: "unsupported", PLAIN[1]: "runs"},
                listed={"OWED/a": "fail", "OWED/b": "pass"},
            ),
            TriedRelease("lib:1.8.2", "a | b"),
        ]
    ).splitlines()
    assert "## lib" in rows
    assert "| `lib:2.0.3` | runs | runs |  |  |" in rows
    assert "| `lib:1.9.0` | no static members | runs | static | 1 of 2 |" in rows
    assert "| `lib:1.8.2` | doesn't run: a \\| b |  |  |  |" in rows
