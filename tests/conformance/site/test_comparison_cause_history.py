"""When a cause came and when it went, as far as the tested versions tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.kept import kept, write_kept

from fencepost.conformance.site.comparison import causes, excused, split_reason
from fencepost.conformance.site.site_results import read_results

OLD = ("kafka:2.3.0", "kafka:2.4.1", "kafka:2.6.0", "kafka:2.8.0")
BUG = "nobody is told (https://issues.apache.org/jira/browse/KAFKA-9801)"
CASE = "LEAVE-MEMBER/one"


def told(folder: Path, *said: str, targets: tuple[str, ...] = OLD) -> list[str]:
    """The story of the bug in these versions of a case."""
    certificates = (kept(t, {CASE: outcome}) for t, outcome in zip(targets, said, strict=True))
    (one,) = causes(read_results(write_kept(folder, *certificates)))
    assert one.why == "nobody is told"
    assert one.links == (("https://issues.apache.org/jira/browse/KAFKA-9801", "KAFKA-9801"),)
    return list(one.story)


@pytest.mark.parametrize(
    ("said", "story"),
    [
        ((BUG, BUG, "pass", "pass"), "seen in 2.3.0 to 2.4.1, gone by 2.6.0"),
        (
            ("pass", BUG, BUG, BUG),
            "seen in 2.4.1 to 2.8.0, came after 2.3.0, still there in the newest",
        ),
        (("pass", BUG, "unsupported", "pass"), "seen in 2.4.1, came after 2.3.0, gone by 2.8.0"),
        ((BUG, "unsupported", "unsupported", "unsupported"), "seen in 2.3.0"),
        (("unsupported", "unknown", BUG, "another fault"), "seen in 2.6.0"),
        ((BUG, "pass", BUG, "pass"), "seen in 2.3.0 to 2.6.0, gone by 2.8.0"),
    ],
)
def test_a_bug_comes_and_goes(tmp_path: Path, said: tuple[str, ...], story: str) -> None:
    if "another fault" in said:
        certificates = [kept(t, {CASE: s}) for t, s in zip(OLD, said, strict=True)]
        found = causes(read_results(write_kept(tmp_path, *certificates)))
        assert [one.why for one in found] == ["nobody is told", "another fault"]
        assert found[0].marks == ("untested", "unknown", "seen", "otherwise")
        assert list(found[0].story) == [f"old coordinator: {story}"]
    else:
        assert told(tmp_path, *said) == [f"old coordinator: {story}"]


def test_what_an_old_version_is_not_held_to_is_told(tmp_path: Path) -> None:
    """A bug of a version whose revision leaves out the rule was nowhere (KAFKA-12890)."""
    case = "SYNC-PHASE-EXPIRED/leader-never-syncs"
    lacks = "kafka-2.8.0 has no SYNC-PHASE-EXPIRED: no wait for syncs before 2.8.1"
    certificates = [kept(t, {case: "unsupported", CASE: "unsupported"}) for t in OLD]
    for one in certificates[:3]:
        one["cases"][case]["why"] = lacks
        one["cases"][CASE]["why"] = "kafka-2.8.0 has no LEAVE-MEMBER"  # nor has any other
    certificates[3]["cases"][case] = {"outcome": "pass"}
    (found,) = excused(read_results(write_kept(tmp_path, *certificates)))
    assert (found.rule, found.why) == ("SYNC-PHASE-EXPIRED", "no wait for syncs before 2.8.1")
    assert "KAFKA-12890" in found.source
    assert (found.cases, found.story) == (1, ("old coordinator: 2.3.0 to 2.6.0",))


def test_each_coordinator_has_its_own_story(tmp_path: Path) -> None:
    targets = ("kafka:3.3.1", "kafka:3.9.1+old", "kafka:3.9.1+new", "kafka:4.3.0", "kafka:4.3.0*3")
    assert told(tmp_path, BUG, "pass", BUG, BUG, BUG, targets=targets) == [
        "old coordinator: seen in 3.3.1, gone by 3.9.1",
        "new coordinator: seen in 3.9.1 to 4.3.0, still there in the newest",
        "new coordinator, 3 nodes: seen in 4.3.0",
    ]


def test_a_cause_is_one_whatever_source_its_entries_name(tmp_path: Path) -> None:
    certificates = [
        kept(target, {CASE: f"slow (https://example.org/{number})", "SESSION-WAITING/a": "pass"})
        for number, target in enumerate(OLD)
    ]
    results = read_results(write_kept(tmp_path, *certificates))
    (one,) = causes(results)
    assert [link for link, _ in one.links] == [f"https://example.org/{n}" for n in range(4)]
    assert causes(results, "LEAVE-MEMBER") == [one]
    assert causes(results, "SESSION-WAITING") == []


@pytest.mark.parametrize(
    ("reason", "parts"),
    [
        ("it is so", ("it is so", None, None)),
        ("so (x) and (https://a.test/b)", ("so (x) and", "https://a.test/b", None)),
        (BUG, ("nobody is told", BUG.partition("(")[2].rstrip(")"), "KAFKA-9801")),
        ("so (https://a.test/pull/9958)", ("so", "https://a.test/pull/9958", "#9958")),
    ],
)
def test_a_ticket_is_named_by_its_address(
    reason: str, parts: tuple[str, str | None, str | None]
) -> None:
    assert split_reason(reason) == parts
