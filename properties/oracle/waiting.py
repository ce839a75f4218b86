"""Say until when a request was to wait that was answered too early, and by which rule.

The rule that took the request in only says that it waits.  If the answer is one that the end of a
phase gives, what was broken is the phase: its timer was to run longer, or was begun anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.model.classic.features import join_phase_point
from fencepost.model.classic.group import JOIN, SYNC, Group, Timer
from fencepost.model.table.vocabulary import Trigger
from fencepost.properties.oracle.candidate import Candidate
from fencepost.properties.oracle.oracle_search import Search, TooManyError
from fencepost.properties.oracle.verdict import Wait

_SYNCS = "the leader's SyncGroup comes"
_JOIN = "all members join"


def wait_of(
    search: Search,
    candidates: list[Candidate],
    request_id: str,
    at_ms: int,
    body: Mapping[str, Any] | None,
) -> Wait | None:
    """Return until when a request waits that was answered with `body` at `at_ms`.

    None if no timer ends the wait, or if too many states would have to be looked at.  Of several
    waits the longest is taken: it is that of the candidate in which most has happened.
    """
    try:
        reached = search.explore(candidates, at_ms, lambda _: False, everything=True)
    except TooManyError:
        return None
    found = [
        (group_id, group, timer)
        for candidate in reached
        for group_id, group in candidate.groups
        if _has_parked(group, request_id) and (timer := phase_timer(group)) is not None
    ]
    if not found:
        return None
    group_id, group, timer = max(found, key=lambda each: each[2].earliest)
    if timer.kind == SYNC:
        return Wait("", timer.earliest, _SYNCS)
    rule = ""
    if body is not None and _begins_a_generation(body, group):
        again = (
            r for (g, t), r in search.renewed.items() if g == group_id and _is_within(t, timer)
        )
        point = join_phase_point(group, Trigger.CHECK)
        phases = search.machine.revision.tables["join phase"]
        rule = next(again, None) or phases.decide(point).id
    return Wait(rule, timer.earliest, _JOIN if group.delay is None else "")


def phase_timer(group: Group) -> Timer | None:
    """Return the timer of the phase that a group is in, if one runs."""
    return next((t for t in group.timers if t.kind in {JOIN, SYNC}), None)


def _has_parked(group: Group, request_id: str) -> bool:
    return any(
        parked is not None and parked.request_id == request_id
        for member in group.members
        for parked in (member.joining, member.syncing)
    )


def _begins_a_generation(body: Mapping[str, Any], group: Group) -> bool:
    return body.get("errorCode") == 0 and body.get("generationId", -1) > group.generation_id


def _is_within(timer: Timer, wider: Timer) -> bool:
    """Whether a timer is the other one, whose window may have become wider."""
    same = timer.kind == wider.kind
    return same and wider.earliest <= timer.earliest and timer.latest <= wider.latest
