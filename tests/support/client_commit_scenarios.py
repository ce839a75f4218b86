"""Run the simulation for obligations of commits and subscriptions, which a lying client fails."""

from __future__ import annotations

from typing import Any

from support.client_scenarios import (
    GROUP,
    PARTITIONS,
    SESSION_MS,
    TOPIC,
    group_of,
    instance_of,
    joined_as_itself,
    joins,
    never_shared,
    nth,
    owned,
    produce,
    refused,
    run_until_joining,
    scenario,
    seen,
    settings,
    shared,
    simulation,
)

from fencepost.conformance.simulate.simulation import (
    Fault,
    Interference,
    SimulatedExchange,
    Simulation,
)
from fencepost.model.client.behaviour import RIGHT, Conduct
from fencepost.model.client.client_interface import (
    Committed,
    ErrorReported,
    Lost,
    Records,
)
from fencepost.model.messages.errors import Error
from fencepost.model.plans.steps import Commit, Subscribe, Unsubscribe

_SELDOM_MS = 5000
_COOPERATIVE = ("cooperative-sticky",)


@scenario("CLIENT-COMMIT-LATE")
def a_commit_in_a_rebalance_costs_nothing(conduct: Conduct) -> None:
    again = nth("Heartbeat", refused(Error.REBALANCE_IN_PROGRESS), 3)
    late = nth("JoinGroup", Interference(Fault.DELAY, ms=2000), 2)
    sim = simulation(lambda exchange: again(exchange) or late(exchange))
    sim.start("a", settings("a", conduct, assignors=_COOPERATIVE, auto_commit_ms=None))
    sim.run_for(4500)
    run_until_joining(sim, "a")
    sim.run_for(500)
    sim.give("a", Commit("a"))
    sim.run_for(5000)
    assert not seen(sim, "a", Lost)
    joined_as_itself(sim, "a", times=2)
    shared(sim, "a")


_ASK_FOR_JOIN = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.REBALANCE_IN_PROGRESS)


@scenario("CLIENT-COMMIT-REFUSED")
def a_refused_commit_is_no_success(conduct: Conduct) -> None:
    for error in _ASK_FOR_JOIN:
        sim = _refused_once(conduct, error)
        assert seen(sim, "a", Committed) == [Committed(error.name)]


@scenario("CLIENT-COMMIT-COMES-BACK")
def a_refused_commit_asks_for_a_join(conduct: Conduct) -> None:
    for error in _ASK_FOR_JOIN:
        joined_as_itself(_refused_once(conduct, error), "a", times=2)


def _refused_once(conduct: Conduct, error: Error) -> Simulation:
    sim = simulation(nth("OffsetCommit", refused(error), 1))
    _reader(sim, conduct)
    sim.give("a", Commit("a"))
    sim.run_for(1000)
    return sim


@scenario("CLIENT-COMMIT-RETRIED")
def a_commit_meets_what_passes(conduct: Conduct) -> None:
    for error in (Error.COORDINATOR_LOAD_IN_PROGRESS, Error.NOT_COORDINATOR):
        sim = simulation(nth("OffsetCommit", refused(error), 1, 2))
        _reader(sim, conduct)
        sim.give("a", Commit("a"))
        sim.run_for(5000)
        assert seen(sim, "a", Committed) == [Committed(Error.NONE.name)]
        assert len(joins(sim, "a")) == 1


@scenario("CLIENT-JOIN-ERROR-HIDDEN")
def a_commit_tells_nobody_what_passes(conduct: Conduct) -> None:
    sim = simulation(nth("OffsetCommit", refused(Error.COORDINATOR_LOAD_IN_PROGRESS), 1, 2))
    _reader(sim, conduct)
    sim.give("a", Commit("a"))
    sim.run_for(5000)
    errors = {row.error for row in seen(sim, "a", Committed)}
    assert errors == {Error.NONE.name}


def _reader(sim: Simulation, conduct: Conduct) -> None:
    """Start a member that has read records, and seldom sends heartbeats."""
    more: dict[str, Any] = {"auto_commit_ms": None, "heartbeat_interval_ms": _SELDOM_MS}
    sim.start("a", settings("a", conduct, **more))
    sim.run_for(4500)
    assert seen(sim, "a", Records)


def _resubscribed(conduct: Conduct) -> Simulation:
    sim = simulation()
    group_of(sim, conduct)
    produce(sim)
    sim.run_for(700)
    sim.give("a", Unsubscribe("a"))
    sim.run_for(500)
    sim.give("a", Subscribe("a", ("t",)))
    sim.run_for(5000)
    return sim


@scenario("CLIENT-COMMIT-OF-MEMBER")
def only_members_commit(conduct: Conduct) -> None:
    sim = _resubscribed(conduct)
    commits = sim.requests_of("a", "OffsetCommit")
    assert commits
    assert all(each.request.member_id for each in commits)  # type: ignore[union-attr]


@scenario("CLIENT-SUBSCRIBE-AGAIN")
def who_subscribes_again_reads_again(conduct: Conduct) -> None:
    sim = _resubscribed(conduct)
    before = len(seen(sim, "a", Records))
    produce(sim)
    sim.run_for(2000)
    shared(sim, "a")
    assert len(seen(sim, "a", Records)) > before


@scenario("CLIENT-SUBSCRIBE-NOT-FENCED")
def nobody_is_fenced_by_itself(conduct: Conduct) -> None:
    sim = _resubscribed(conduct)
    assert not seen(sim, "a", ErrorReported)
    shared(sim, "a")


@scenario("CLIENT-LEADER-MISSED-GENERATION")
def a_member_misses_a_generation(conduct: Conduct) -> None:
    again = nth("Heartbeat", refused(Error.REBALANCE_IN_PROGRESS), 20)
    missed = False

    def interfere(exchange: SimulatedExchange) -> Interference | None:
        nonlocal missed
        if exchange.api == "SyncGroup" and exchange.client_id == "b" and is_ready and not missed:
            missed = True
            return Interference(Fault.LOSE_REQUEST)
        return again(exchange)

    is_ready = False
    sim = simulation(interfere)
    group_of(sim, conduct, "b", assignors=_COOPERATIVE)
    is_ready = True
    for _ in range(20_000):
        if missed:
            break
        sim.run_for(1)
    assert missed
    sim.run_for(100)
    sim.start("c", settings("c", assignors=_COOPERATIVE))
    sim.run_for(300)
    sim.cut_all()
    sim.run_for(20_000)
    never_shared(sim)
    shared(sim, "a", "b", "c")
    assert {len(owned(sim, name)) for name in "abc"} == {2}
    assert sim.cluster.model.groups[GROUP].holder(instance_of("b"))


@scenario("CLIENT-COMMIT-ON-REVOKE")
def a_commit_on_revoke_is_refused(conduct: Conduct) -> None:
    for assignors in (("range",), _COOPERATIVE):
        sim = simulation(nth("OffsetCommit", refused(Error.ILLEGAL_GENERATION), 1))
        more: dict[str, Any] = {"auto_commit_ms": None, "assignors": assignors}
        sim.start("a", settings("a", conduct, commits_on_revoke=True, **more))
        sim.run_for(4500)
        sim.start("b", settings("b", **more))
        sim.run_for(15_000)
        assert len(sim.requests_of("a", "OffsetCommit")) >= 1
        shared(sim, "a", "b")
        assert owned(sim, "a")


@scenario("CLIENT-SUBSCRIBE-GROWS")
def a_topic_gets_more_partitions(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b", metadata_max_age_ms=1000)
    sim.cluster.topics = {**sim.cluster.topics, TOPIC: PARTITIONS + 2}
    sim.run_for(10_000)
    assert len(owned(sim, "a") | owned(sim, "b")) == PARTITIONS + 2


@scenario("CLIENT-SUBSCRIBE-IDLE")
def who_has_nothing_waits(conduct: Conduct) -> None:
    for others in (RIGHT, conduct):
        sim = Simulation({TOPIC: 1})
        sim.start("b", settings("b", others))
        sim.run_for(100)
        sim.start("z", settings("z", conduct))
        sim.run_for(15_000 + 2 * SESSION_MS)
        assert owned(sim, "b")
        assert len(joins(sim, "z")) == 1
        assert len(sim.requests_of("z", "Heartbeat")) > SESSION_MS // 1000
        sim.close("b")
        sim.run_for(2 * SESSION_MS)
        assert owned(sim, "z")
