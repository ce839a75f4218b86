"""The smallest groups for assignors that meet a condition."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import find, settings

from fencepost.properties.assignors.assignor_promises import AssignorInput, groups


def shrunk_group(condition: Callable[[AssignorInput], bool]) -> AssignorInput:
    """Return the smallest group that Hypothesis finds for which this is true.

    Raises hypothesis.errors.NoSuchExample.
    """
    return find(
        groups(),
        condition,
        settings=settings(max_examples=2000, derandomize=True, database=None),
    )
