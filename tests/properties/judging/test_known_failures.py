from __future__ import annotations

import pytest

from fencepost.properties.judging.known_failures import matches


@pytest.mark.parametrize(
    ("versions", "version", "holds"),
    [
        (">=2.16,<2.17", "2.16.1", True),
        (">=2.16, <2.17", "v2.16.1", True),
        (">=2.16,<2.17", "2.17.0", False),
        (">=2.16,<2.17", "2.9", False),
        ("==2.16", "2.16.0", True),
        ("!=2.16.1", "2.16.1", False),
        (">2.16", "2.16.0", False),
        ("<=4.1", "4.1.0-rc1", True),
        ("*", "who knows", True),
        (">=0", "who knows", False),
    ],
)
def test_versions_are_compared_as_numbers(versions: str, version: str, holds: bool) -> None:
    assert matches(versions, version) is holds
