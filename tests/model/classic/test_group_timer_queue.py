"""The timers of a large group are those of a small one, only quicker to ask which fires first."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fencepost.model.classic import group as module
from fencepost.model.classic.group import JOIN, SESSION, Group, ManyTimers, first_timer

_KINDS = st.sampled_from([SESSION, JOIN])
_CHANGES = st.lists(
    st.tuples(_KINDS, st.integers(0, 9), st.one_of(st.none(), st.integers(0, 5))), max_size=30
)
"""A kind, a subject, and when the timer fires at the latest; None: it is stopped."""


def _walked(changes: list[tuple[str, int, int | None]]) -> list[Group]:
    group = Group()
    groups = []
    for kind, number, at_ms in changes:
        subject = f"m-{number}"
        if at_ms is None:
            group = group.without_timer(kind, subject)
        else:
            group = group.with_timer(kind, subject, at_ms - 1, at_ms)
        if group.timers:
            first_timer(group.timers)  # so that the tuple knows it, and hands on what it knows
        groups.append(group)
    return groups


@given(_CHANGES)
def test_the_first_timer_of_many_is_that_of_a_plain_tuple(
    changes: list[tuple[str, int, int | None]],
) -> None:
    small = _walked(changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MANY", 1)
        patch.setattr(module, "_BLOCK", 3)
        large = _walked(changes)
        for one, other in zip(small, large, strict=True):
            assert other == one
            assert hash(other) == hash(one)
            if one.timers:
                plain = tuple(one.timers)
                assert first_timer(other.timers) == min(plain, key=lambda timer: timer.latest)


def test_what_is_known_of_many_timers_is_handed_on_and_copied_away() -> None:
    group = Group()
    for number in range(100):
        group = group.with_timer(SESSION, f"m-{number:03}", 0, 1000 + number)
    assert isinstance(group.timers, ManyTimers)
    assert first_timer(group.timers).subject == "m-000"
    later = group.with_timer(SESSION, "m-000", 0, 5000)
    assert "firsts" in vars(later.timers)
    assert first_timer(later.timers).subject == "m-001"
    assert pickle.loads(pickle.dumps(later)) == later
    with pytest.raises(ValueError, match="empty"):
        first_timer(())
