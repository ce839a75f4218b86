"""An older Kafka's versions."""

from __future__ import annotations

import pytest

from fencepost.conformance.serve.broker_apis import (
    VERSIONS,
    ReleaseError,
    as_of,
    parse_release,
    tells_which,
)
from fencepost.model.messages.messages import APIS

SPOKEN = {**VERSIONS, **{name: (api.lowest, api.highest) for name, api in APIS.items()}}


@pytest.mark.parametrize(
    ("release", "join", "fetch", "versions"),
    [((2, 2), 4, 10, 2), ((2, 3), 5, 11, 2), ((2, 4), 6, 11, 3), ((4, 3), 9, 18, 4)],
)
def test_a_release_has_its_versions(
    release: tuple[int, int], join: int, fetch: int, versions: int
) -> None:
    told = as_of(release, SPOKEN)
    assert (told["JoinGroup"], told["Fetch"], told["ApiVersions"]) == (
        (0, join),
        (4, fetch),
        (0, versions),
    )


def test_every_release_can_be_spoken_in_part() -> None:
    for minor in range(4):
        told = as_of((2, minor), SPOKEN)
        assert "DescribeCluster" not in told
        assert all(low <= high for low, high in told.values())
        assert {"Produce", "Fetch", "Metadata", "JoinGroup"} <= told.keys()


def test_versions_too_high_are_named_since_2_4() -> None:
    assert [tells_which(r) for r in ((2, 3), (2, 4), None)] == [False, True, True]


@pytest.mark.parametrize(("text", "number"), [("2.2", (2, 2)), ("3.9.1", (3, 9))])
def test_a_release_is_named_with_or_without_its_patch(text: str, number: tuple[int, int]) -> None:
    assert parse_release(text) == number


@pytest.mark.parametrize("text", ["", "2", "2.17", "0.8", "two", "2.2.1.1", "9.9"])
def test_what_is_no_release_is_said_with_those_there_are(text: str) -> None:
    with pytest.raises(ReleaseError, match=r"give one of 1\.0, 1\.1, .*4\.3"):
        parse_release(text)
