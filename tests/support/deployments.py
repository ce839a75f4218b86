"""Any scenario of a small deployment, for Hypothesis."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fencepost.conformance.simulate.deployment_scenario import DeploymentScenario, checked_scenario

DURATIONS = st.sampled_from([0, 1, 7.3, {"least": 0, "most": 20}, {"values": [1, 9]}])
ASSIGNORS = [
    ["sticky"],
    ["range"],
    ["roundrobin"],
    ["cooperative-sticky"],
    ["cooperative-sticky", "range"],
]
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "membership": st.sampled_from(["static", "dynamic"]),
        "assignors": st.sampled_from(ASSIGNORS),
        "session_timeout_ms": st.sampled_from([6000, 20_000]),
        "heartbeat_interval_ms": st.sampled_from([700, 3000]),
    },
)
AT = {"at_s": st.sampled_from([0, 3, 11.5, 30])}
COUNT = {"count": st.integers(1, 2)}


def _step(do: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    needed = {"do": st.just(do), **({"to": fields.pop("to")} if "to" in fields else {})}
    return st.fixed_dictionaries(needed, optional=AT | fields)


STEPS = st.one_of(
    _step(
        "bounce",
        at_a_time=st.integers(1, 3),
        health=st.sampled_from(["balanced", "started"]),
        pause_s=DURATIONS,
        limit_s=st.sampled_from([1, 60]),
        overlap_s=DURATIONS,
        at_most=st.integers(1, 2),
        set=SETTINGS,
    ),
    _step("crash", restart=st.booleans(), **COUNT),
    _step("crash-loop", times=st.integers(1, 3), alive_s=DURATIONS, **COUNT),
    _step("scale", to=st.integers(1, 5), remove=st.booleans()),
    _step("replace", remove=st.booleans(), remove_after_s=DURATIONS, **COUNT),
    _step("duplicate", for_s=DURATIONS, **COUNT),
    _step("failover", down_s=DURATIONS),
    _step("remove", **COUNT),
    _step("move-replicas"),
    _step("wait", s=DURATIONS),
)
SCENARIOS: st.SearchStrategy[DeploymentScenario] = st.fixed_dictionaries(
    {"step": st.lists(STEPS, min_size=1, max_size=4)},
    optional={
        "members": st.integers(1, 4),
        "partitions": st.integers(1, 8),
        "threads": st.just(2),
        "racks": st.just(["x", "y"]),
        "settings": SETTINGS,
        "restart_s": DURATIONS,
        "restart_failed": st.booleans(),
        "processing_s": st.sampled_from([2, {"least": 0, "most": 9}]),
        "latency_ms": st.sampled_from([[1, 1], [5, 200]]),
        "settle_s": st.just(60),
    },
).map(
    lambda document: checked_scenario(
        {"settle_s": 120, "replicas": 1 if "racks" in document else None, **document}, "a test"
    )
)
"""Every kind of step, one after the other and side by side."""
