"""Every seed draws the plans that it drew before the searches were one: digests of 20 each.

The target deletes no groups and has no transactions, as all did then.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from support.message_samples import NEWER

from fencepost.conformance.search.fuzz.drawn_plans import PlanContext, Planner
from fencepost.conformance.search.fuzz.generator import SETTINGS
from fencepost.conformance.targets.in_process import ModelCoordinator
from fencepost.conformance.targets.target import Hints
from fencepost.model.coordinator import MOVES
from fencepost.model.machine import Machine
from fencepost.model.plans.spelling import plan_json
from fencepost.model.revisions.base import KAFKA_4

_MODEL = ModelCoordinator(KAFKA_4).hello()
HELLO = replace(
    _MODEL,
    apis={a: v for a, v in _MODEL.apis.items() if a not in NEWER},
    features=_MODEL.features - {MOVES},
)
"""As it was when these were drawn: with more abilities there are other plans, too."""
REAL = replace(HELLO, clock="real", features=HELLO.features - {"restart"})
# fmt: off
ON_A_VIRTUAL_CLOCK = (
    "ea08f47b2895", "bb07fc750008", "42fde67c32d2", "2873b184f8b2", "a4b6b03bf551",
    "028c6d347145", "9555fee330e9", "ad2058dfcb2b", "86d0a6dcd464", "e3f49b9cdd58",
    "153e98c97d5c", "24026b1f007f", "8990540d68e3", "60ad526d5384", "564389238468",
    "19a490dc24b2", "c0c2bf5a3919", "00f254da5c15", "8a711e5b4fa1", "d50ea9eba93f",
)
ON_A_REAL_CLOCK = (
    "ef05664169b2", "fab7b13bf090", "35c9a8646436", "21d542177bc9", "a4983cc4f6e5",
    "ec5afe895b15", "79bbf1fe3e71", "dd45d642c711", "1c0385e9b969", "c14624d0f0ee",
    "e2953799a479", "ae4fcec79180", "4dc1cc4e0e34", "c8be50e9a8df", "9bc8b8567ed1",
    "c4eb233c35c3", "22ca29c7b825", "9943ed2ba1c1", "4ffabb45cb70", "4a8d43e3a457",
)
# fmt: on


@pytest.mark.parametrize("seed", range(1, 21))
def test_a_seed_draws_the_plans_that_it_always_drew(seed: int) -> None:
    configs = [(wanted, Machine(KAFKA_4, wanted).config) for wanted in SETTINGS]
    virtual = PlanContext(KAFKA_4, HELLO, Hints(), 0, configs)
    real = PlanContext(KAFKA_4, REAL, Hints(), 300, configs)
    assert digest_of(Planner(virtual, seed)) == ON_A_VIRTUAL_CLOCK[seed - 1]
    assert digest_of(Planner(real, seed)) == ON_A_REAL_CLOCK[seed - 1]


def digest_of(planner: Planner) -> str:
    plans = [plan_json(planner.next().case) for _ in range(20)]
    return hashlib.sha256(json.dumps(plans, sort_keys=True).encode()).hexdigest()[:12]
