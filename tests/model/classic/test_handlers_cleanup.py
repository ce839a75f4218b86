"""A coordinator may remove a group that nobody uses, where its settings say so; no other group."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fencepost.model.classic.group import Group, Offset
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.machine import Machine
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.work import CLEANUP, Span, Timer

CLEANS = Machine(KAFKA_4, {"offsets.retention.check.interval.ms": 50})
UNUSED = Group(generation_id=3, pending=("p",))


def test_an_empty_group_without_offsets_is_gone_with_its_pending_ids() -> None:
    assert CLEANS.cleaned(UNUSED) == (Timer(CLEANUP, "", 0, 0),)
    (outcome,) = CLEANS.expire(UNUSED, Timer(CLEANUP, "", 7, 7), Span(7, 7))
    assert (outcome.group, outcome.emissions) == (None, ())
    assert outcome.rules == ("CLEANUP-UNUSED",)


def test_nothing_is_removed_where_nothing_cleans() -> None:
    assert Machine(KAFKA_4).cleaned(UNUSED) == ()


@pytest.mark.parametrize("state", [s for s in GroupState if s is not GroupState.EMPTY])
def test_a_group_in_use_is_kept(state: GroupState) -> None:
    assert CLEANS.cleaned(replace(UNUSED, state=state)) == ()


def test_a_group_with_offsets_is_kept() -> None:
    assert CLEANS.cleaned(replace(UNUSED, offsets=(Offset("t", 0, 1, None),))) == ()
