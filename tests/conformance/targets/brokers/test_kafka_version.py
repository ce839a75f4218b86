"""Every release of Kafka that a registry has: who judges it, and what is known of it."""

from __future__ import annotations

import pytest

from fencepost.conformance.targets.brokers.kafka import server_properties
from fencepost.conformance.targets.brokers.kafka_version import (
    NEWEST,
    KafkaVersion,
    parse_kafka_version,
)
from fencepost.conformance.targets.target_registry import find_revision, revision_for
from fencepost.model.revisions.release_revisions import was_released
from fencepost.properties.judging.known_failures import KnownFailure, matches
from fencepost.traces.files.known_failure_lists import FOLDER, read

PATCHES = {
    "2.3": 1,
    "2.4": 1,
    "2.5": 1,
    "2.6": 3,
    "2.7": 2,
    "2.8": 2,
    "3.0": 2,
    "3.1": 2,
    "3.2": 3,
    "3.3": 2,
    "3.4": 1,
    "3.5": 2,
    "3.6": 2,
    "3.7": 2,
    "3.8": 1,
    "3.9": 2,
    "4.0": 2,
    "4.1": 2,
    "4.2": 2,
    "4.3": 1,
    "4.4": 0,
}
"""The last patch of each release, as Maven Central had them in November 2026."""
RELEASES = tuple(f"{line}.{patch}" for line, last in PATCHES.items() for patch in range(last + 1))
FIRST_NEW = (4, 0, 0)


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_judged_by_its_own_profile(release: str) -> None:
    version = parse_kafka_version(release)
    old = version.number < FIRST_NEW
    assert revision_for(f"kafka:{release}") == (f"kafka-{release}" if old else "kafka-4")
    assert find_revision(f"kafka-{release}").name == f"kafka-{release}"
    assert was_released(version.number) is old
    assert not version.is_untried


def test_no_patch_is_judged_that_was_never_released() -> None:
    last = {line: last for line, last in PATCHES.items() if line not in {"3.9", "4.4"}}
    for line, patch in last.items():
        numbers = tuple(map(int, f"{line}.{patch + 1}".split(".")))
        assert not was_released(numbers)


def test_the_newest_line_is_the_newest_that_was_tried() -> None:
    assert max(parse_kafka_version(release).number for release in RELEASES)[:2] == NEWEST


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("3.7.0+new", "group.coordinator.new.enable", "true"),
        ("3.7.2+old", "group.coordinator.new.enable", "false"),
        ("3.8.0+new", "group.coordinator.rebalance.protocols", "classic,consumer"),
        ("3.9.2+old", "group.coordinator.rebalance.protocols", "classic"),
    ],
)
def test_a_coordinator_is_chosen_by_the_setting_of_its_release(
    text: str, key: str, value: str
) -> None:
    version = parse_kafka_version(text)
    assert version.choice == {key: value}
    assert server_properties(version, FOLDER, 11, 12, {})[key] == value


@pytest.mark.parametrize("text", ["3.6.2", "3.7.1", "3.9.1", "4.4.0"])
def test_without_a_choice_no_setting_chooses(text: str) -> None:
    assert parse_kafka_version(text).choice == {}


def coordinators(version: KafkaVersion) -> set[str]:
    """The coordinators that a release is started with."""
    if (3, 7) <= version.number[:2] < FIRST_NEW[:2]:
        return {"kafka+old", "kafka+new"}
    return {"kafka+new" if version.has_new_coordinator else "kafka+old"}


def test_what_is_known_of_a_case_has_no_hole_between_two_releases() -> None:
    """What fails each time in a release and in a later one fails in those between, too.

    2.7.2 was called violated: the list had one cause up to 2.6.0, and the next from 2.8.0 on.
    """
    entries: dict[tuple[str, str], list[KnownFailure]] = {}
    for entry in read(FOLDER / "kafka.json"):
        if not entry.intermittent:
            entries.setdefault((entry.target, entry.case), []).append(entry)
    for (target, case), listed in entries.items():
        there = [r for r in RELEASES if target in coordinators(parse_kafka_version(r))]
        known = [any(matches(e.versions, release) for e in listed) for release in there]
        assert any(known), f"{target}, {case}: no release has it"
        first, last = known.index(True), len(known) - known[::-1].index(True)
        pairs = zip(there[first:last], known[first:last], strict=True)
        hole = [release for release, has in pairs if not has]
        assert not hole, f"{target}, {case}: {', '.join(hole)}"
