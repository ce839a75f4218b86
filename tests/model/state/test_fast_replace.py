"""`replace` is `dataclasses.replace`, only quicker: the same objects, the same errors."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import pytest

from fencepost.model.state.fast_replace import replace
from fencepost.model.state.group import Group, Member


@dataclass(frozen=True, slots=True)
class Checked:
    """A class that checks itself."""

    count: int

    def __post_init__(self) -> None:
        if self.count < 0:
            raise ValueError("negative")


@dataclass(frozen=True)
class Roomy:
    """A class without slots."""

    count: int
    name: str = "x"


@dataclass(slots=True)
class Derived:
    """A class with a field that `__init__` doesn't take."""

    count: int
    double: int = field(init=False, default=7)


@pytest.mark.parametrize(
    ("thing", "changes"),
    [
        (Group(), {}),
        (Group(generation_id=3), {"leader": "a", "pending": ("b",)}),
        (Group(leader="a"), {"leader": None}),
        (Member("a", None, "c", 1, 2, ()), {"session_timeout_ms": 5}),
        (Checked(1), {"count": 2}),
        (Roomy(1), {"name": "y"}),
        (Derived(1), {"count": 2}),
    ],
)
def test_gives_what_dataclasses_gives(thing: Any, changes: dict[str, Any]) -> None:
    before = repr(thing)
    made = replace(thing, **changes)
    assert made == dataclasses.replace(thing, **changes)
    assert type(made) is type(thing)
    assert repr(thing) == before


def test_a_class_that_checks_itself_still_does() -> None:
    with pytest.raises(ValueError, match="negative"):
        replace(Checked(1), count=-1)


def test_a_field_that_is_not_there_is_an_error() -> None:
    with pytest.raises(TypeError, match="nothing"):
        replace(Group(), nothing=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="nothing"):
        replace(Roomy(1), nothing=1)  # type: ignore[call-arg]
