"""The way from one setting to another: how many bounces, what they cost, and that they work."""

from __future__ import annotations

import json
import shlex

import pytest
from support.in_this_process import invoke

from fencepost.conformance.advise.advice import Bounce, Stand, bounces, lost_s
from fencepost.conformance.advise.known_facts import known_group

KNOWN = known_group({"members": 3, "topics": (12,), "restart_s": 5.0})
EAGER, BOTH, COOPERATIVE = (
    Stand(False, each, 45.0, 3.0) for each in ("eager", "both", "cooperative")
)
STATIC = Stand(True, "both", 45.0, 3.0)


def way(old: Stand, new: Stand) -> list[Bounce]:
    return bounces(KNOWN, old, new, 15.0)


def test_two_bounces_where_no_assignor_is_common_and_one_where_both_are_offered() -> None:
    assert [each.new.offers for each in way(EAGER, COOPERATIVE)] == ["both", "cooperative"]
    assert [each.new.offers for each in way(COOPERATIVE, EAGER)] == ["both", "eager"]
    assert [each.new.offers for each in way(BOTH, COOPERATIVE)] == ["cooperative"]
    assert [each.new.offers for each in way(COOPERATIVE, BOTH)] == ["both"]
    assert way(EAGER, EAGER) == []


def test_a_session_is_made_short_before_members_become_dynamic_where_that_pays() -> None:
    assert [each.new.session_s for each in way(STATIC, BOTH)] == [15.0, 45.0]
    short = Stand(True, "both", 15.0, 3.0)
    assert len(way(short, BOTH)) == 1
    assert lost_s(KNOWN, way(STATIC, BOTH)) < lost_s(KNOWN, bounces(KNOWN, STATIC, BOTH, 45.0))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (BOTH, COOPERATIVE),
        (EAGER, Stand(True, "cooperative", 60.0, 3.0)),
        (COOPERATIVE, BOTH),
        (STATIC, Stand(True, "cooperative", 45.0, 3.0)),
        (STATIC, BOTH),
        (STATIC, COOPERATIVE),
    ],
    ids=str,
)
def test_each_line_performs_the_bounce_and_costs_about_what_is_said(old: Stand, new: Stand) -> None:
    for bounce in way(old, new):
        program, *words = shlex.split(bounce.line)
        assert program == "fencepost"
        done = json.loads(invoke(*words[:-1], "4", "--jobs", "1", "--json").out)
        assert (done["halted"], done["failures"]) == ([], [])
        seen_s = done["percentiles"]["unavailable_partition_s"]["mean"]
        chance_s = 1.5 * KNOWN.partition_share * KNOWN.members
        assert abs(bounce.cost.unavailable_s - seen_s) <= 0.2 * seen_s + chance_s
        assert bounce.cost.rebalances == pytest.approx(
            done["percentiles"]["rebalances"]["mean"], abs=0.5 * KNOWN.members
        )


def test_one_bounce_from_range_alone_fails() -> None:
    line = "simulate rolling-bounce --members 3 --strategy eager --set strategy=cooperative --json"
    done = json.loads(invoke(*line.split()).out)
    assert "INCONSISTENT_GROUP_PROTOCOL" in done["halted"][0]
