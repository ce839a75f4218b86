from __future__ import annotations

from support.client_story import evidence, heartbeat, join, run, settled

from fencepost.properties.judging.outcome import Outcome
from fencepost.properties.requirements.requirements import judge

ONE = run("one", instance="s-1", process="p")
TWO = run("two", instance="s-2", process="p")
APART = [ONE, TWO, *settled(ONE, 10, 0), *settled(TWO, 20, 1, member="m2")]


def test_members_of_one_process_are_apart() -> None:
    name = "CLIENT-STREAMS-OWN-IDS"
    assert judge(name, evidence(APART)).outcome is Outcome.PASS
    mixed = evidence(APART, heartbeat(TWO, 100, "m2", instance="s-1"))
    assert "mixed up" in judge(name, mixed).observed
    shared = evidence(ONE, TWO, join(ONE, 10), join(TWO, 20))
    assert "mixed up" in judge(name, shared).observed
    assert judge(name, evidence(ONE, settled(ONE, 10, 0))).outcome is Outcome.UNKNOWN


def test_a_process_is_rolled() -> None:
    name = "CLIENT-STREAMS-ROLLED"
    old = [run(n, instance=i, process="p", ended=1000) for n, i in (("one", "1"), ("two", "2"))]
    new = [run(n, 2, instance=i, process="p", began=1100) for n, i in (("one", "1"), ("two", "2"))]
    begun = [*old, *settled(old[0], 10, 0), *settled(old[1], 20, 1, member="m2")]
    back = [*new, *settled(new[0], 1200, 0, member="m3"), *settled(new[1], 1300, 1, member="m4")]
    assert judge(name, evidence(begun, back)).outcome is Outcome.PASS
    moved = [*new, *settled(new[0], 1200, 1, member="m3"), *settled(new[1], 1300, 0, member="m4")]
    assert "other partitions" in judge(name, evidence(begun, moved)).observed
    assert judge(name, evidence(APART)).outcome is Outcome.UNKNOWN


def test_dynamic_members_of_one_process_are_apart() -> None:
    one, two = (run(name, instance=None, process="p") for name in ("one", "two"))
    apart = evidence(one, two, join(one, 10), join(two, 20, gives="m2"))
    assert judge("CLIENT-STREAMS-OWN-IDS", apart).outcome is Outcome.PASS
    shared = judge("CLIENT-STREAMS-OWN-IDS", evidence(one, two, join(one, 10), join(two, 20)))
    assert "mixed up" in shared.observed
    assert "no instance id" in shared.sentence
