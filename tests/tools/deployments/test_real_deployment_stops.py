"""Full stops are counted."""

from __future__ import annotations

import pytest

from tools.deployments.real_deployment import Held, most_at_once

WHOLE: Held = [(0, 10, "a")]


@pytest.mark.parametrize(
    ("partitions", "most"),
    [
        ([WHOLE, WHOLE], 0),
        ([[(0, 4, "a"), (5, 10, "b")], WHOLE], 1),
        ([[(0, 4, "a"), (5, 10, "b")], [(0, 3, "a"), (7, 10, "b")]], 2),
        ([[(0, 4, "a"), (5, 10, "b")], [(0, 5, "a"), (6, 10, "b")]], 1),
        ([[(0, 4, "a"), (2, 10, "b")]], 0),
        ([[], [(0, 9, "a")]], 2),
    ],
)
def test_the_most_that_stopped_at_once(partitions: list[Held], most: int) -> None:
    assert most_at_once(partitions, 0, 10) == most
