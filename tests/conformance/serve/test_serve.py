"""The oracle over TCP: a served model holds, served mutants don't, and a bad link changes nothing.

A few cases each; `big_serve.py` has all of them.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence

import pytest
from support.tcp.over_tcp import (
    AT_ONCE,
    Results,
    failed,
    in_process,
    over_tcp,
    served,
    serving,
    whatever_is_chosen,
)
from support.tcp.shaky import Link, Reached, linked

from fencepost.conformance.targets.target_registry import SIDE_BY_SIDE
from fencepost.properties.judging.outcome import Outcome

CASES = (
    "JOIN-INSTANCE-FENCED/zombie-joins",
    "SYNC-INSTANCE-FENCED/fenced-before-anything-else",
    "HEARTBEAT-STABLE/in-a-stable-group",
    "COMMIT-INSTANCE-FENCED/zombie-commits",
    "LEAVE-MEMBER-BY-INSTANCE/life-of-a-static-member",
    "LEAVE-MEMBER-NOBODY/same-instance-twice",
    "COMMIT-GROUP-ABSENT-GENERATION/generation-without-a-group",
)
MUTANTS = ("mutant:zombie-join-unknown", "mutant:zombie-commits", "mutant:leave-keeps-mapping")


@functools.cache
def here(name: str) -> dict[str, Outcome]:
    return in_process(name, AT_ONCE, CASES)


async def shaken(name: str, link: Link, cases: Sequence[str] = CASES) -> Results:
    """Over a link, which clients are told is the broker."""
    async with (
        linked(link),
        serving(name, AT_ONCE, "--advertise", str(link.port)) as address,
    ):
        link.upstream = int(address.rpartition(":")[2])
        target = Reached(f"tcp://127.0.0.1:{link.port}", capacity=SIDE_BY_SIDE)
        target.link = link
        return await over_tcp(target, cases)


def is_known(there: Results) -> bool:
    """Whether more came of a target than that nobody knows."""
    return any(result.outcome is not Outcome.UNKNOWN for result in there.values())


def test_nobody_can_say_how_a_case_ends_that_a_draw_decides() -> None:
    """Two votes for each protocol: the old subscription shows only if the other one is chosen."""
    drawn = "JOIN-MEMBER-COMPLETING-CHANGED/changed-order-between-join-and-sync"
    name = "mutant:rejoin-keeps-subscription"
    assert in_process(name, AT_ONCE, [drawn])[drawn] is Outcome.FAIL
    assert whatever_is_chosen(name, AT_ONCE, [drawn, *CASES]).keys() == set(CASES)


def test_verdicts_over_tcp_are_those_in_process() -> None:
    names = ("model", *MUTANTS)

    async def all_of_them() -> list[Results]:
        return await asyncio.gather(*(served(name, CASES) for name in names))

    for name, there in zip(names, asyncio.run(all_of_them()), strict=True):
        for case, result in there.items():  # on a busy machine, unknown is no wrong verdict
            assert result.outcome in {here(name)[case], Outcome.UNKNOWN}, (name, case)
        assert bool(failed(there)) is (name != "model")
        assert is_known(there)
    assert set(here("model").values()) == {Outcome.PASS}


@pytest.mark.slow
def test_a_bad_link_is_held_against_nobody() -> None:
    links = [Link(seed, jitter_ms=200, stalls=0.01, cuts=0.01) for seed in (1, 2, 3)]
    names = ("model", "model", "mutant:zombie-commits")

    async def all_of_them() -> list[Results]:
        return await asyncio.gather(*map(shaken, names, links))

    for name, there in zip(names, asyncio.run(all_of_them()), strict=True):
        assert set(failed(there)) <= {c for c, o in here(name).items() if o is Outcome.FAIL}
        assert is_known(there)
    assert any(link.cut for link in links)
    assert any(link.stalled for link in links)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["cuts", "stalls"])
async def test_the_link_does_what_it_says(way: str) -> None:
    link = Link(1, stall_ms=1, **{way: 1.0})  # type: ignore[arg-type]
    there = await shaken("model", link, CASES[-1:])
    assert link.stalled if way == "stalls" else link.cut
    assert (there[CASES[-1]].outcome is Outcome.PASS) is (way == "stalls")
