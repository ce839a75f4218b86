"""How far the arithmetic of `advise` agrees with the simulator, over settings that are drawn.

Some minutes: `tox -e advice`.  `PYTHONPATH=tests python tests/conformance/advise/big_arithmetic.py`
writes docs/deployments/advise-agreement.json; then make the pages: tools/docs/deployments_page.py.
"""

from __future__ import annotations

import random
from concurrent.futures import ProcessPoolExecutor
from statistics import mean
from typing import Any

import msgspec
from support.arithmetic_runs import (
    AGREEMENT,
    EVENTS,
    is_near,
    known,
    simulated,
)

from fencepost.conformance.advise.known_facts import FORMS, AdviceError
from tools.deployments.arithmetic_agreement import Agreement, Compared

SETTINGS = 120
RUNS = 6
SEED = 0
LONG = {"members": 24, "topics": (96,), "restart_s": {"median": 40, "p95": 90}}
MANY = {"members": 100, "topics": (1000,), "restart_s": 5.0}
SLOW = {
    "members": 3,
    "topics": (300,),
    "restart_s": {"median": 4, "p95": 9},
    "processing_s": 20.0,
}
SHOWN = (
    (LONG, 0, 15.0, 4),
    (LONG, 2, 45.0, 4),
    (MANY, 0, 45.0, 1),
    (MANY, 2, 45.0, 1),
    (SLOW, 0, 10.0, 10),
    (SLOW, 3, 20.0, 10),
)
"""The rollouts of the page's table: facts, form, session, runs."""


def drawn(chance: random.Random) -> tuple[dict[str, Any], int, float, str]:
    """A group, a form, a session and an event."""
    members = chance.choice((3, 4, 6, 8, 12, 24))
    median = chance.choice((1.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0))
    fixed = chance.random() < 0.5
    facts = {
        "members": members,
        "topics": tuple(members * chance.randint(1, 5) for _ in range(chance.choice((1, 1, 2)))),
        "restart_s": median if fixed else {"median": median, "p95": 2 * median},
        "processing_s": chance.choice((0.0, 0.0, 2.0, 20.0)),
        "at_a_time": chance.choice((1, 1, chance.randint(2, members - 1))),
    }
    session_s = chance.choice((10.0, 20.0, 30.0, 45.0, 90.0))
    return facts, chance.randrange(len(FORMS)), session_s, chance.choice(tuple(EVENTS))


def compared(setting: tuple[dict[str, Any], int, float, str], runs: int = RUNS) -> Compared:
    facts, place, session_s, name = setting
    own, form = known(facts), FORMS[place]
    costs = simulated(own, form, session_s, name, runs)
    found = EVENTS[name][0](own, form, session_s)
    events = own.waves if name == "rolling-bounce" else 1
    return Compared(
        facts=facts,
        form=str(form),
        session_s=session_s,
        scenario=name,
        runs=runs,
        by_arithmetic_s=round(found.unavailable_s, 1),
        simulated_s=round(mean(cost.unavailable_partition_s for cost in costs), 1),
        is_near=is_near(own, found, costs, events),
    )


def agreement() -> Agreement:
    chance = random.Random(SEED)
    settings: list[tuple[dict[str, Any], int, float, str]] = []
    while len(settings) < SETTINGS:
        setting = drawn(chance)
        try:
            known(setting[0])
        except AdviceError:
            continue
        settings.append(setting)
    with ProcessPoolExecutor(2) as pool:
        shown = [
            pool.submit(compared, (facts, place, session_s, "rolling-bounce"), runs)
            for facts, place, session_s, runs in SHOWN
        ]
        found = list(pool.map(compared, settings))
        return Agreement(table=[each.result() for each in shown], drawn=found)


def test_the_agreement_is_what_the_page_tells() -> None:
    made = msgspec.json.encode(agreement())
    assert msgspec.json.decode(made) == msgspec.json.decode(AGREEMENT.read_bytes())


if __name__ == "__main__":
    made = agreement()
    AGREEMENT.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
