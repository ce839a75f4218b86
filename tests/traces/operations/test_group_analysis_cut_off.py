"""Rebalances that lead to no generation, and who else would have caused one."""

from __future__ import annotations

from fencepost.traces.operations.group_analysis import GroupAnalysis
from fencepost.traces.operations.group_events import (
    Begun,
    Emptied,
    GroupEvent,
    Joined,
    Loaded,
    Prepared,
    Removed,
    Sender,
)
from fencepost.traces.operations.operator_rows import Cause, End, Process, Row
from fencepost.traces.operations.rebalances import CutOffRebalance, JudgedRebalance


def process(number: int) -> Process:
    return Process(f"pod-{number}", "")


def joined(at_ms: int, number: int) -> Joined:
    return Joined(at_ms, at_ms, "", f"m{number}", None, Sender(process(number)))


def expired(at_ms: int, number: int) -> Removed:
    return Removed(at_ms, at_ms, "", f"m{number}", process(number), End.EXPIRED)


def prepared(at_ms: int, cause: Cause, number: int, generation: int) -> Prepared:
    who = (cause, f"m{number}", None, process(number))
    return Prepared(at_ms, at_ms, "", *who, "its words", "", generation)


def begun(at_ms: int, generation: int, members: int) -> Begun:
    return Begun(at_ms, at_ms, "", generation, members, names_all=True)


FORMED = (
    *(joined(number, number) for number in (1, 2, 3)),
    prepared(1, Cause.NEW_MEMBER, 1, 0),
    begun(10, 1, 3),
)


def analysed(*events: GroupEvent) -> list[JudgedRebalance | CutOffRebalance]:
    """Return the rebalances of these events, after the formation of a group of three."""
    rows: list[Row] = []
    made: list[JudgedRebalance | CutOffRebalance] = []
    analysis = GroupAnalysis("g", rows.append, hears=False, since_ms=None, on_rebalance=made.append)
    for event in (*FORMED, *events):
        analysis.take(event)
    analysis.end(100_000)
    return sorted(made, key=lambda each: each.start_ms)[1:]


BEGINS = (expired(1000, 1), prepared(1000, Cause.EXPIRY, 1, 1), expired(1500, 3), expired(1400, 2))


def test_who_else_went_is_named_in_the_order_of_time() -> None:
    (found,) = analysed(*BEGINS, joined(1600, 1), begun(2000, 2, 1))
    assert isinstance(found, JudgedRebalance)
    assert (found.row.cause, found.who) == (Cause.EXPIRY, process(1))
    assert found.others == (process(2), process(3))


def test_a_load_cuts_a_rebalance_off_and_the_end_of_the_log_cuts_one_that_counts() -> None:
    lost, last = analysed(
        *BEGINS, Loaded(1700, 1700, ""), joined(1800, 4), prepared(1800, Cause.NEW_MEMBER, 4, 1)
    )
    assert lost == CutOffRebalance(
        1000, Cause.EXPIRY, process(1), lost.gone, (process(2), process(3)), "its words"
    )
    assert lost.gone is not None
    assert lost.gone.end is End.EXPIRED
    assert isinstance(last, JudgedRebalance)
    assert (last.start_ms, last.who, last.others) == (1800, process(4), ())
    assert (last.row.is_cut, last.row.members_after) == (True, None)


def test_the_next_one_that_the_source_states_cuts_one_off() -> None:
    """A line may be missing between them."""
    lost, whole = analysed(*BEGINS, prepared(3000, Cause.MEMBER_REJOIN, 2, 1), begun(4000, 2, 1))
    assert isinstance(lost, CutOffRebalance)
    assert isinstance(whole, JudgedRebalance)


def test_a_rebalance_that_ends_in_an_empty_group_is_one() -> None:
    (lost,) = analysed(*BEGINS, Emptied(1500, 1500, ""))
    assert isinstance(lost, JudgedRebalance)
    assert (lost.row.members_after, lost.row.stable_ms, lost.row.is_cut) == (0, None, False)
