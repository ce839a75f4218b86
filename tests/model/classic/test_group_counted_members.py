"""A large group is the same group as a small one, only quicker: nobody can tell how it is kept."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fencepost.model.classic import group as module
from fencepost.model.classic.group import (
    CountedMembers,
    Group,
    Member,
    ParkedRequest,
    kind_counts,
    kinds,
)
from fencepost.model.messages.messages import JoinProtocol

_NAMES = st.lists(st.sampled_from("abc"), max_size=3, unique=True)
_MEMBERS = st.builds(
    lambda number, names, ms, static, joins, owes: Member(
        member_id=f"m-{number}",
        group_instance_id=f"i-{number}" if static else None,
        client_id="c",
        session_timeout_ms=1,
        rebalance_timeout_ms=ms,
        protocols=tuple(JoinProtocol(name=name, metadata=b"") for name in names),
        joining=ParkedRequest("r", 0) if joins else None,
        owes_sync=owes,
    ),
    st.integers(0, 7),
    _NAMES,
    st.integers(1, 2),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
_CHANGES = st.lists(st.tuples(st.booleans(), _MEMBERS), max_size=20)


def _walked(changes: list[tuple[bool, Member]]) -> list[Group]:
    group = Group()
    groups = [group]
    for adds, member in changes:
        group = group.with_member(member) if adds else group.without_member(member.member_id)
        group.waiting()  # so that members are counted, and what comes next is not
        groups.append(group)
    return groups


def _asked(group: Group) -> tuple[object, ...]:
    some = kinds(group.members)
    return (
        group.waiting(),
        group.rebalance_timeout_ms(),
        group.candidates(),
        group.votes(),
        any(m.owes_sync for m in some),
        any(m.is_static and m.owes_sync for m in some),
        [all(m.supports(name) for m in some) for name in "abc"],
        [group.member(f"m-{number}") for number in range(8)],
    )


@given(_CHANGES)
def test_large_groups_answer_and_compare_as_small_ones(changes: list[tuple[bool, Member]]) -> None:
    small = _walked(changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MANY", 1)
        large = _walked(changes)
    for one, other in zip(small, large, strict=True):
        assert other == one
        assert hash(other) == hash(one)
        assert repr(other) == repr(one)
        assert _asked(other) == _asked(one)


def test_members_are_counted_by_what_is_asked() -> None:
    group = Group()
    for number in range(2 * module.MANY):
        joins = ParkedRequest("r", 0) if number % 2 else None
        group = group.with_member(Member(f"m-{number}", None, "c", 1, 2, (), joining=joins))
    assert sorted(number for _, number in kind_counts(group.members)) == [module.MANY] * 2
    assert group.waiting() == module.MANY
    assert len(list(kinds(group.members))) == 2


@pytest.mark.parametrize(
    "made", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_of_large_groups_are_equal(made: object) -> None:
    group = Group()
    for number in range(module.MANY + 2):
        group = group.with_member(Member(f"m-{number}", None, "c", 1, 2, ()))
    assert isinstance(group.members, CountedMembers)
    assert callable(made)
    assert made(group) == group
    assert replace(group) == group
