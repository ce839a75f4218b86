"""What a client owes, as runs of the simulation that a lying client fails.

Each scenario takes the conduct of the client that is looked at, runs, and asserts what the
requirements that it names ask for.  The other clients are right ones, unless it says otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from fencepost.conformance.simulate.simulation import (
    Fault,
    Interfere,
    Interference,
    SimulatedExchange,
    Simulation,
)
from fencepost.model.client.behaviour import MEMBER_APIS, RIGHT, ClientSettings, Conduct
from fencepost.model.client.client import step
from fencepost.model.client.client_interface import (
    Assigned,
    Closed,
    Committed,
    ErrorReported,
    Lost,
    Records,
    Revoked,
)
from fencepost.model.client.client_state import ClientState, Phase
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitResponse,
    SyncGroupRequest,
)
from fencepost.model.messages.subscription import (
    TopicPartition,
    assignment_fault,
    decode_assignment,
    subscription_fault,
)
from fencepost.model.plans.steps import (
    Close,
    Commit,
    PausePartitions,
    ResumePartitions,
    ResumePolling,
    Start,
    StopPolling,
    Unsubscribe,
)

GROUP, TOPIC, PARTITIONS = "g", "t", 6
SESSION_MS, BEAT_MS, POLL_MS = 10_000, 1000, 20_000
FENCED = Error.FENCED_INSTANCE_ID

_INSTANCE_IDS = ("CLIENT-IDENTITY-AS-SET", "CLIENT-IDENTITY-DYNAMIC")
_VERSIONS = ("CLIENT-IDENTITY-VERSIONS", "CLIENT-IDENTITY-NEWEST", "CLIENT-OLD-BROKER-RESTARTED")
_NO_LEAVE = ("CLIENT-CLOSE-STATIC-STAYS", "CLIENT-CLOSE-UNSUBSCRIBED-STAYS", "CLIENT-CLOSE-FENCED")
_GOES_ON = (
    "CLIENT-COMMIT-COMES-BACK",
    "CLIENT-JOIN-COORDINATOR",
    "CLIENT-JOIN-CUT",
    "CLIENT-JOIN-ILLEGAL-GENERATION",
    "CLIENT-JOIN-LOADING",
    "CLIENT-JOIN-LOST-ANSWER",
    "CLIENT-JOIN-REBALANCE",
    "CLIENT-JOIN-UNKNOWN-MEMBER",
    "CLIENT-REMOVED-COMES-BACK",
    "CLIENT-REMOVED-EXPIRED",
    "CLIENT-SESSION-POLLS-ON",
    "CLIENT-STREAMS-OWN-IDS",
)
"""Requirements on a member that goes on as who it is, static or dynamic."""
_BACKOFF = ("CLIENT-JOIN-BACKOFF", "CLIENT-JOIN-SILENT")
_FENCED_APIS = (
    "CLIENT-FENCED-JOIN",
    "CLIENT-FENCED-SYNC",
    "CLIENT-FENCED-HEARTBEAT",
    "CLIENT-FENCED-COMMIT",
)
_NO_JOIN = ("CLIENT-FENCED-NO-JOIN", "CLIENT-FENCED-POLLED-ON", "CLIENT-FENCED-TAKEOVERS")
_NO_COMMITS = ("CLIENT-FENCED-QUIET", "CLIENT-FENCED-NO-COMMITS", "CLIENT-FENCED-LATE-COMMIT")
_COMES_BACK = (
    "CLIENT-REMOVED-COMES-BACK",
    "CLIENT-REMOVED-EXPIRED",
    "CLIENT-REMOVED-TOLD",
    "CLIENT-SESSION-POLLS-ON",
)
_SAME_PLACE = (
    "CLIENT-JOIN-EMPTY-FIRST",
    "CLIENT-RESTART-FOLLOWER",
    "CLIENT-RESTART-CRASHED",
    "CLIENT-RESTART-LEADER",
    "CLIENT-RESTART-SKIPPED",
    "CLIENT-RESTART-LEADER-OLD",
    "CLIENT-RESTART-ALL",
    "CLIENT-RESTART-COOPERATIVE",
    "CLIENT-STREAMS-ROLLED",
)
_MEMBERS = ("CLIENT-LEADER-MEMBERS", "CLIENT-LEADER-INSTANCES")

Scenario = Callable[[Conduct], None]
SCENARIOS: dict[str, list[Scenario]] = defaultdict(list)
"""The simulated scenarios of each requirement."""


def scenario(*broken: str) -> Callable[[Scenario], Scenario]:
    """Note that a run shows these requirements."""

    def note(run: Scenario) -> Scenario:
        for name in broken:
            SCENARIOS[name].append(run)
        return run

    return note


def instance_of(name: str) -> str:
    """The instance id of a process: all have a beginning in common, as those of one program do."""
    return f"i-{name}"


def settings(name: str | None, conduct: Conduct | None = None, **more: Any) -> ClientSettings:
    """A consumer with short timeouts that begins at the first record; without a name, dynamic."""
    return ClientSettings(
        **{
            "group_id": GROUP,
            "topics": (TOPIC,),
            "client_id": name or "dynamic",
            "group_instance_id": None if name is None else instance_of(name),
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": BEAT_MS,
            "max_poll_interval_ms": POLL_MS,
            "auto_offset_reset": "earliest",
            "auto_commit_ms": 1000,
            "conduct": conduct or Conduct(),
            **more,
        }
    )


def simulation(interfere: Interfere | None = None, **more: Any) -> Simulation:
    """A cluster with one topic, ten records in each partition."""
    sim = Simulation({TOPIC: PARTITIONS}, interfere=interfere, **more)
    produce(sim)
    return sim


def produce(sim: Simulation) -> None:
    for number in range(PARTITIONS):
        sim.cluster.produce(TopicPartition(TOPIC, number), 10)


def group_of(sim: Simulation, conduct: Conduct, *others: str, **more: Any) -> None:
    """Start `a`, which is looked at and leads, and right clients; wait until all have settled."""
    sim.start("a", settings("a", conduct, **more))
    sim.run_for(100)
    for name in others:
        sim.start(name, settings(name, **more))
    sim.run_for(12_000)


def joins(sim: Simulation, name: str) -> list[JoinGroupRequest]:
    asked = [each.request for each in sim.requests_of(name, "JoinGroup")]
    assert all(isinstance(request, JoinGroupRequest) for request in asked)
    return asked  # type: ignore[return-value]


def joined_as_itself(sim: Simulation, name: str, *, times: int) -> None:
    """Each join of a static member carries its instance id."""
    assert [join.group_instance_id for join in joins(sim, name)] == [instance_of(name)] * times


def says_who(exchange: SimulatedExchange) -> None:
    """A request of a static member carries its instance id."""
    instance = exchange.request.group_instance_id  # type: ignore[union-attr]
    assert instance == instance_of(exchange.client_id or ""), exchange.api


def start_again(sim: Simulation, name: str, settings_: ClientSettings) -> None:
    """A client that was closed starts; one whose close lingers is killed first."""
    if not isinstance(sim.events_of(name)[-1], Closed):
        sim.kill(name)
    sim.start(name, settings_)


def run_until_joining(sim: Simulation, name: str) -> None:
    """Until a join is under way or parked: twice the poll interval at most."""
    for _ in range(2 * POLL_MS):
        if sim.state_of(name).membership.phase is Phase.JOINING:
            return
        sim.run_for(1)
    raise AssertionError(f"{name} doesn't join")


def seen(sim: Simulation, name: str, kind: type) -> list[Any]:
    return [event for event in sim.events_of(name) if isinstance(event, kind)]


def owned(sim: Simulation, name: str) -> set[TopicPartition]:
    """What a user has, by the events it saw."""
    found: set[TopicPartition] = set()
    for event in sim.events_of(name):
        match event:
            case Assigned(partitions):
                found |= set(partitions)
            case Revoked(partitions) | Lost(partitions):
                found -= set(partitions)
            case _:
                pass
    return found


def never_shared(sim: Simulation) -> None:
    """Assert that no user was ever given a partition that another one still had."""
    owners: dict[TopicPartition, str] = {}
    for row in sim.events:
        match row.event:
            case Assigned(partitions):
                for partition in partitions:
                    assert partition not in owners, f"{owners[partition]} still has it"
                    owners[partition] = row.client
            case Revoked(partitions) | Lost(partitions):
                for partition in partitions:
                    del owners[partition]
            case _:
                pass


def all_partitions() -> set[TopicPartition]:
    return {TopicPartition(TOPIC, number) for number in range(PARTITIONS)}


def shared(sim: Simulation, *names: str) -> None:
    """Each partition is owned once."""
    sets = [owned(sim, name) for name in names]
    assert set().union(*sets) == all_partitions()
    assert sum(map(len, sets)) == PARTITIONS


def nth(api: str, fault: Interference, *numbers: int, client: str = "a") -> Interfere:
    """Interfere with a client's n-th requests of an API, from 1; with all, if none is named."""
    count = 0

    def interfere(exchange: SimulatedExchange) -> Interference | None:
        nonlocal count
        if (exchange.api, exchange.client_id) != (api, client):
            return None
        count += 1
        return fault if count in numbers or not numbers else None

    return interfere


def refused(error: Error) -> Interference:
    code = error.value
    assert isinstance(code, int)
    return Interference(Fault.REFUSE, code)


# Identity.


@scenario(*_INSTANCE_IDS, "CLIENT-STREAMS-OWN-IDS")
def several_instances_of_one_process(conduct: Conduct) -> None:
    sim = simulation()
    names = ["app-1", "app-2", "app-3"]
    for name in names:
        sim.start(name, settings(name, conduct))
    sim.run_for(15_000)
    for name in names:
        assert {join.group_instance_id for join in joins(sim, name)} == {instance_of(name)}
        assert not seen(sim, name, ErrorReported)
    shared(sim, *names)


@scenario(*_INSTANCE_IDS)
def a_dynamic_member_names_no_instance(conduct: Conduct) -> None:
    sim = simulation()
    sim.start("a", settings(None, conduct))
    sim.run_for(5000)
    assert {join.group_instance_id for join in joins(sim, "a")} == {None}


@scenario(*_VERSIONS)
def a_broker_comes_back_as_an_older_release(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    lower = {"Heartbeat": 3, "OffsetCommit": 7}
    sim.cluster.highest |= lower
    sim.cut_all()
    produce(sim)
    sim.run_for(5000)
    assert {api: sim.requests_of("a", api)[-1].version for api in lower} == lower


@scenario("CLIENT-IDENTITY-EVERY-REQUEST", *_VERSIONS)
def every_request_says_who(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    produce(sim)
    sim.run_for(5000)
    for api in MEMBER_APIS:
        asked = sim.requests_of("a", api)
        assert asked, api
        for each in asked:
            says_who(each)
        highest = sim.cluster.model.machine.revision.apis[api][1]
        assert {each.version for each in asked} == {highest}, api


# The end.


@scenario(*_NO_LEAVE)
def a_static_member_says_nothing_at_the_end(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b")
    sim.close("a")
    sim.run_for(1000)
    assert isinstance(sim.events_of("a")[-1], Closed)
    assert not sim.requests_of("a", "LeaveGroup")


@scenario(*_NO_LEAVE)
def a_static_member_unsubscribes(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.give("a", Unsubscribe("a"))
    sim.run_for(1000)
    assert not sim.requests_of("a", "LeaveGroup")
    assert owned(sim, "a") == set()


@scenario(*_NO_LEAVE)
def a_fenced_member_is_closed(conduct: Conduct) -> None:
    sim = simulation()
    _fence(sim, conduct)
    sim.close("a")
    sim.run_for(1000)
    assert isinstance(sim.events_of("a")[-1], Closed)
    assert not sim.requests_of("a", "LeaveGroup")
    shared(sim, "thief")


@scenario("CLIENT-CLOSE-REVOKED")
def a_static_member_owes_a_join_when_it_is_closed(conduct: Conduct) -> None:
    for others in (RIGHT, conduct):
        cooperative = ("cooperative-sticky",)
        sim = simulation()
        group_of(sim, conduct, assignors=cooperative)
        sim.start("b", settings("b", others, assignors=cooperative))
        for _ in range(SESSION_MS):
            if sim.state_of("a").membership.owes_join:
                break
            sim.run_for(1)
        assert sim.state_of("a").membership.owes_join
        sim.close("a")
        sim.run_for(1000)
        assert len(sim.requests_of("a", "LeaveGroup")) == 1
        start_again(sim, "a", settings("a", conduct, assignors=cooperative))
        sim.run_for(3000)
        shared(sim, "a", "b")


@scenario("CLIENT-CLOSE-DYNAMIC-LEAVES")
def a_dynamic_member_leaves(conduct: Conduct) -> None:
    sim = simulation()
    sim.start("a", settings(None, conduct))
    sim.run_for(5000)
    sim.close("a")
    sim.run_for(1000)
    assert len(sim.requests_of("a", "LeaveGroup")) == 1
    assert isinstance(sim.events_of("a")[-1], Closed)


@scenario("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-REBALANCING", "CLIENT-CLOSE-BROKER-GONE")
def nobody_answers_the_end(conduct: Conduct) -> None:
    sim = simulation(nth("LeaveGroup", Interference(Fault.LOSE_ANSWER)))
    sim.start("a", settings(None, conduct))
    sim.run_for(5000)
    sim.close("a", timeout_ms=3000)
    sim.run_for(3000)
    assert isinstance(sim.events_of("a")[-1], Closed)


@scenario("CLIENT-CLOSE-REBALANCING")
def a_static_member_is_closed_while_its_join_is_parked(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b")
    sim.start("c", settings("c"))
    run_until_joining(sim, "a")
    sim.close("a", timeout_ms=3000)
    sim.run_for(3000)
    assert isinstance(sim.events_of("a")[-1], Closed)
    assert not sim.requests_of("a", "LeaveGroup")


# Joining.


@scenario("CLIENT-JOIN-ID-REQUIRED")
def a_member_id_is_required(conduct: Conduct) -> None:
    sim = simulation()
    sim.start("a", settings(None, conduct))
    sim.run_for(5000)
    asked = sim.requests_of("a", "JoinGroup")
    assert len(asked) == 2
    first, second = asked
    assert isinstance(first.answer, JoinGroupResponse)
    assert isinstance(second.request, JoinGroupRequest)
    assert first.answer.error_code == Error.MEMBER_ID_REQUIRED.value
    assert second.request.member_id == first.answer.member_id != ""


@scenario("CLIENT-JOIN-LOST-ANSWER", "CLIENT-JOIN-CUT")
def a_join_is_answered_to_nobody(conduct: Conduct) -> None:
    for fault, within_ms in ((Fault.LOSE_ANSWER, 2 * POLL_MS), (Fault.CUT, 10_000)):
        sim = simulation(nth("JoinGroup", Interference(fault), 1))
        sim.start("a", settings("a", conduct))
        sim.run_for(within_ms)
        joined_as_itself(sim, "a", times=2)
        assert not seen(sim, "a", ErrorReported)
        shared(sim, "a")


@scenario("CLIENT-JOIN-LOST-ANSWER")
def a_dynamic_join_is_answered_to_nobody(conduct: Conduct) -> None:
    for number in (1, 2):
        sim = simulation(nth("JoinGroup", Interference(Fault.LOSE_ANSWER), number))
        sim.start("a", settings(None, conduct))
        sim.run_for(2 * POLL_MS + 10_000)
        shared(sim, "a")


@scenario("CLIENT-JOIN-UNKNOWN-MEMBER", "CLIENT-JOIN-UNKNOWN-EMPTY")
def a_dynamic_member_is_unknown(conduct: Conduct) -> None:
    sim = simulation(nth("Heartbeat", refused(Error.UNKNOWN_MEMBER_ID), 2))
    sim.start("a", settings(None, conduct))
    sim.run_for(2000)
    before = len(joins(sim, "a"))
    sim.run_for(2 * SESSION_MS)
    again = joins(sim, "a")[before:]
    assert again
    assert again[0].member_id == ""
    shared(sim, "a")


@scenario("CLIENT-JOIN-UNKNOWN-MEMBER", "CLIENT-JOIN-UNKNOWN-EMPTY", *_COMES_BACK)
def an_administrator_removes_a_member(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b")
    before = len(joins(sim, "a"))
    sim.remove(GROUP, instance_of("a"))
    sim.run_for(10_000)
    again = joins(sim, "a")[before:]
    assert again
    assert again[0].member_id == ""
    assert {join.group_instance_id for join in again} == {instance_of("a")}
    assert len(again) <= 3
    assert seen(sim, "a", Lost)
    shared(sim, "a", "b")


@scenario("CLIENT-JOIN-ILLEGAL-GENERATION")
def a_generation_is_over(conduct: Conduct) -> None:
    sim = simulation(nth("Heartbeat", refused(Error.ILLEGAL_GENERATION), 3))
    group_of(sim, conduct)
    joined_as_itself(sim, "a", times=2)
    first, again = joins(sim, "a")
    assert first.member_id == ""
    assert again.member_id != ""
    assert seen(sim, "a", Lost)
    shared(sim, "a")


@scenario("CLIENT-JOIN-REBALANCE")
def another_member_comes(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.start("b", settings("b"))
    sim.run_for(3 * BEAT_MS)
    assert len(owned(sim, "b")) == PARTITIONS / 2
    shared(sim, "a", "b")
    joined_as_itself(sim, "a", times=2)
    assert not seen(sim, "a", Lost)


@scenario("CLIENT-JOIN-COORDINATOR", "CLIENT-JOIN-LOADING")
def the_coordinator_moves(conduct: Conduct) -> None:
    sim = simulation(nodes=2)
    group_of(sim, conduct)
    before = len(joins(sim, "a"))
    sim.move_coordinator(GROUP, 2)
    moved_ms = sim.now_ms
    sim.run_for(5000)
    last = sim.requests_of("a", "Heartbeat")[-1]
    assert last.connection.startswith("a/coordinator/2/")
    assert last.at_ms - moved_ms > 3000
    says_who(last)
    assert len(joins(sim, "a")) == before
    assert not seen(sim, "a", ErrorReported)
    shared(sim, "a")


@scenario("CLIENT-JOIN-LOADING")
def a_coordinator_loads_while_another_member_comes(conduct: Conduct) -> None:
    loads = refused(Error.COORDINATOR_LOAD_IN_PROGRESS)
    beat, join = nth("Heartbeat", loads, 15), nth("JoinGroup", loads, 1, client="b")
    sim = simulation(lambda exchange: beat(exchange) or join(exchange))
    group_of(sim, conduct)
    sim.start("b", settings("b"))
    sim.run_for(8000)
    assert len(sim.requests_of("a", "Heartbeat")) > 16
    for each in sim.requests_of("a", "Heartbeat"):
        says_who(each)
    assert not seen(sim, "a", ErrorReported)
    assert len(owned(sim, "b")) == PARTITIONS / 2
    shared(sim, "a", "b")


@scenario(*_BACKOFF)
def a_coordinator_loads_for_long(conduct: Conduct) -> None:
    for api in ("JoinGroup", "SyncGroup"):
        sim = simulation(nth(api, refused(Error.COORDINATOR_LOAD_IN_PROGRESS)))
        sim.start("a", settings("a", conduct))
        _few_in_ten_seconds(sim, api)


@scenario(*_BACKOFF)
def a_rebalance_without_end(conduct: Conduct) -> None:
    sim = simulation(nth("SyncGroup", refused(Error.REBALANCE_IN_PROGRESS)))
    sim.start("a", settings("a", conduct))
    _few_in_ten_seconds(sim, "JoinGroup")


def _few_in_ten_seconds(sim: Simulation, api: str) -> None:
    for _ in range(20):
        sim.run_for(500)
        assert len(sim.requests_of("a", api)) < 20
    assert len(sim.requests_of("a", api)) > 5


_REJOINED = (Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION, Error.REBALANCE_IN_PROGRESS)
_PASSING = (
    *_REJOINED,
    Error.NOT_COORDINATOR,
    Error.COORDINATOR_LOAD_IN_PROGRESS,
    Error.COORDINATOR_NOT_AVAILABLE,
)


NEW, OLD = "t-new", "t-old"


@scenario("CLIENT-READ-NEW-TOPIC")
def a_topic_is_made_that_matches(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, pattern=f"{TOPIC}.*", metadata_max_age_ms=1000)
    sim.cluster.topics[NEW] = 1
    sim.cluster.produce(TopicPartition(NEW, 0), 10)
    sim.run_for(10_000)
    assert NEW in {event.partition.topic for event in seen(sim, "a", Records)}


@scenario("CLIENT-READ-NEW-TOPIC", "CLIENT-READ-ASSIGNED")
def a_topic_is_made_and_its_assignment_comes_late(conduct: Conduct) -> None:
    sim = simulation(nth("SyncGroup", Interference(Fault.DELAY, ms=1500), 2))
    group_of(sim, conduct, pattern=f"{TOPIC}.*", metadata_max_age_ms=1000)
    sim.cluster.topics[NEW] = 1
    sim.cluster.produce(TopicPartition(NEW, 0), 10)
    sim.run_for(10_000)
    assert owned(sim, "a") == {*all_partitions(), TopicPartition(NEW, 0)}
    assert NEW in {event.partition.topic for event in seen(sim, "a", Records)}


@scenario("CLIENT-READ-DELETED-TOPIC")
def a_topic_is_deleted(conduct: Conduct) -> None:
    for pattern in (None, f"{TOPIC}.*"):
        sim = simulation()
        sim.cluster.topics[OLD] = 1
        group_of(sim, conduct, topics=(OLD, TOPIC), pattern=pattern)
        del sim.cluster.topics[OLD]
        sim.run_for(10_000)
        before = len(seen(sim, "a", Records))
        produce(sim)
        sim.run_for(10_000)
        read = {event.partition for event in seen(sim, "a", Records)[before:]}
        assert read == all_partitions()
        assert not seen(sim, "a", ErrorReported)


@scenario(*_GOES_ON)
def a_dynamic_member_joins_again_without_an_instance_id(conduct: Conduct) -> None:
    sim = simulation(nth("Heartbeat", refused(Error.REBALANCE_IN_PROGRESS), 2))
    sim.start("a", settings(None, conduct))
    sim.run_for(15_000)
    assert not any(join.group_instance_id for join in joins(sim, "a"))


_FIRST = TopicPartition(TOPIC, 0)


@scenario("CLIENT-READ-PAUSED")
def a_paused_partition_delivers_nothing(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.give("a", PausePartitions("a", (_FIRST,)))
    before = len(seen(sim, "a", Records))
    produce(sim)
    sim.run_for(5000)
    read = {event.partition for event in seen(sim, "a", Records)[before:]}
    assert read == all_partitions() - {_FIRST}


@scenario("CLIENT-READ-RESUMED")
def a_resumed_partition_is_read_on(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.give("a", PausePartitions("a", (_FIRST,)))
    produce(sim)
    sim.run_for(5000)
    sim.give("a", ResumePartitions("a", (_FIRST,)))
    sim.run_for(5000)
    rows = [event for event in seen(sim, "a", Records) if event.partition == _FIRST]
    assert [(row.first, row.count) for row in rows] == [(0, 10), (10, 10)]


@scenario("CLIENT-CLOSE-AGAIN")
def a_second_close_returns(conduct: Conduct) -> None:
    begun = step(settings("a", conduct), ClientState(), Start("a"), 0)
    closed = step(settings("a", conduct), begun.state, Close("a"), 10)
    assert any(isinstance(event, Closed) for event in closed.events)
    again = step(settings("a", conduct), closed.state, Close("a"), 20)
    assert again.events == (Closed(),)


@scenario("CLIENT-JOIN-ERROR-HIDDEN")
def passing_errors_are_hidden(conduct: Conduct) -> None:
    for api in ("JoinGroup", "SyncGroup", "Heartbeat"):
        for error in _PASSING:
            if (api, error) == ("JoinGroup", Error.ILLEGAL_GENERATION):
                continue  # no coordinator answers so
            sim = simulation(nth(api, refused(error), 1))
            group_of(sim, conduct)
            assert not seen(sim, "a", ErrorReported)


@scenario("CLIENT-JOIN-NO-LOOKUP")
def a_member_joins_again_where_it_was(conduct: Conduct) -> None:
    for api in ("SyncGroup", "Heartbeat"):
        for error in _REJOINED:
            sim = simulation(nth(api, refused(error), 1))
            group_of(sim, conduct)
            assert len(sim.requests_of("a", "FindCoordinator")) == 1


# Fenced.


def _fence(sim: Simulation, conduct: Conduct) -> int:
    """Let another process take `a`'s instance; returns when it was let in."""
    group_of(sim, conduct)
    sim.start("thief", settings("a"))
    sim.run_for(3000)
    return sim.now_ms


@scenario(*_FENCED_APIS)
def each_api_tells_of_the_fence(conduct: Conduct) -> None:
    for api in MEMBER_APIS:
        sim = simulation(nth(api, refused(FENCED)))
        sim.start("a", settings("a", conduct))
        sim.run_for(8000)
        told = ErrorReported(FENCED.name, fatal=True, where=api)
        assert seen(sim, "a", ErrorReported) == [told]
        assert len(sim.requests_of("a", api)) == 1


@scenario(*_FENCED_APIS)
def who_polls_on_is_told_again(conduct: Conduct) -> None:
    sim = simulation()
    _fence(sim, conduct)
    asked = len(sim.requests_of("a"))
    for count in (1, 2, 3):
        assert [told.code for told in seen(sim, "a", ErrorReported)] == [FENCED.name] * count
        sim.give("a", ResumePolling("a"))
        sim.run_for(1000)
    assert len(sim.requests_of("a")) == asked


@scenario(*_NO_JOIN)
def two_processes_on_one_instance(conduct: Conduct) -> None:
    sim = simulation()
    fenced_ms = _fence(sim, conduct)
    sim.run_for(60_000)
    assert not [each for each in sim.requests_of("a", "JoinGroup") if each.at_ms > fenced_ms]
    assert not seen(sim, "thief", ErrorReported)
    assert owned(sim, "a") == set()
    shared(sim, "thief")


def _both_commit(conduct: Conduct) -> tuple[Simulation, int]:
    """Let two processes with one instance commit; returns when the second one was let in."""
    sim = simulation()
    group_of(sim, conduct, heartbeat_interval_ms=SESSION_MS // 2, auto_commit_ms=500)
    sim.start("thief", settings("a", conduct, auto_commit_ms=500))
    sim.run_for(200)
    let_in_ms = sim.now_ms
    produce(sim)
    sim.run_for(SESSION_MS)
    return sim, let_in_ms


@scenario(*_NO_JOIN)
def two_processes_on_one_instance_commit(conduct: Conduct) -> None:
    sim, let_in_ms = _both_commit(conduct)
    assert not [each for each in sim.requests_of("a", "JoinGroup") if each.at_ms > let_in_ms]


@scenario("CLIENT-FENCED-NO-RECORDS")
def no_records_once_a_commit_was_fenced(conduct: Conduct) -> None:
    sim, let_in_ms = _both_commit(conduct)
    commits = [each for each in sim.requests_of("a", "OffsetCommit") if each.at_ms > let_in_ms]
    fenced_ms = min((each.at_ms for each in commits if _is_fenced(each)), default=sim.now_ms)
    read = [told for told in sim.events if told.client == "a" and isinstance(told.event, Records)]
    assert not [told for told in read if told.at_ms > fenced_ms + 10]


def _is_fenced(commit: SimulatedExchange) -> bool:
    answer = commit.answer
    assert isinstance(answer, OffsetCommitResponse)
    return any(p.error_code == FENCED.value for topic in answer.topics for p in topic.partitions)


@scenario("CLIENT-FENCED-NO-RECORDS")
def no_records_for_the_fenced(conduct: Conduct) -> None:
    sim = simulation()
    _fence(sim, conduct)
    before = len(seen(sim, "a", Records))
    produce(sim)
    sim.run_for(5000)
    assert len(seen(sim, "a", Records)) == before
    assert seen(sim, "thief", Records)


@scenario(*_NO_COMMITS)
def no_commits_of_the_fenced(conduct: Conduct) -> None:
    sim = simulation()
    fenced_ms = _fence(sim, conduct)
    sim.give("a", Commit("a"))
    sim.run_for(5000)
    assert not [each for each in sim.requests_of("a", "OffsetCommit") if each.at_ms > fenced_ms]
    assert seen(sim, "a", Committed) == [Committed(FENCED.name)]


@scenario(*_NO_COMMITS)
def a_replaced_member_that_commits(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, heartbeat_interval_ms=SESSION_MS // 2, auto_commit_ms=None)
    sim.start("thief", settings("a"))
    sim.run_for(500)
    sim.give("a", Commit("a"))
    sim.run_for(2000)
    assert seen(sim, "a", Committed) == [Committed(FENCED.name)]
    assert len(sim.requests_of("a", "OffsetCommit")) == 1


# Removed, restarted.


def _commits_when_removed(conduct: Conduct) -> list[SimulatedExchange]:
    """Collect the commits of a member without auto-commit that an administrator removes."""
    sim = simulation()
    group_of(sim, conduct, auto_commit_ms=None)
    produce(sim)
    sim.run_for(1000)
    sim.remove(GROUP, instance_of("a"))
    sim.run_for(5000)
    return sim.requests_of("a", "OffsetCommit")


@scenario("CLIENT-REMOVED-NO-COMMITS")
def nobody_commits_nothing(conduct: Conduct) -> None:
    assert not _commits_when_removed(conduct)


@scenario("CLIENT-COMMIT-OF-MEMBER")
def a_removed_member_commits_as_a_member(conduct: Conduct) -> None:
    commits = _commits_when_removed(conduct)
    assert all(each.request.member_id for each in commits)  # type: ignore[union-attr]


@scenario(*_SAME_PLACE)
def a_rolling_bounce(conduct: Conduct) -> None:
    for assignor in ("range", "roundrobin", "sticky", "cooperative-sticky"):
        for highest in (9, 8):
            sim = simulation()
            sim.cluster.highest["JoinGroup"] = highest
            names = ("a", "b", "c")
            group_of(sim, conduct, "b", "c", assignors=(assignor,))
            generation = sim.cluster.model.groups[GROUP].generation_id
            before = {name: owned(sim, name) for name in names}
            asked = {name: len(joins(sim, name)) for name in names}
            for name in names:
                sim.close(name)
                sim.run_for(2000)
                assert isinstance(sim.events_of(name)[-1], Closed)
                right = settings(name, assignors=(assignor,))
                lying = settings(name, conduct, assignors=(assignor,))
                sim.start(name, lying if name == "a" else right)
                sim.run_for(2000)
                assert {one: owned(sim, one) for one in names} == before
            assert sim.cluster.model.groups[GROUP].generation_id == generation
            assert {name: len(joins(sim, name)) for name in names} == {
                name: count + 1 for name, count in asked.items()
            }


@scenario(*_SAME_PLACE)
def a_leader_comes_back_and_skips_the_assignment(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b")
    sim.close("a")
    sim.run_for(2000)
    assert isinstance(sim.events_of("a")[-1], Closed)
    sim.start("a", settings("a", conduct))
    sim.run_for(2000)
    join = sim.requests_of("a", "JoinGroup")[-1].answer
    sync = sim.requests_of("a", "SyncGroup")[-1].request
    assert isinstance(join, JoinGroupResponse)
    assert isinstance(sync, SyncGroupRequest)
    assert (join.skip_assignment, sync.assignments) == (True, ())


@scenario(*_COMES_BACK)
def who_was_busy_for_too_long_comes_back(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.give("a", StopPolling("a"))
    sim.run_for(POLL_MS + 2 * SESSION_MS)
    sim.give("a", ResumePolling("a"))
    sim.run_for(5000)
    joined_as_itself(sim, "a", times=2)
    shared(sim, "a")


# The leader.


@scenario(*_MEMBERS)
def an_instance_keeps_its_partitions_after_a_restart(conduct: Conduct) -> None:
    _rebalanced_after_a_restart(conduct, settings("b"))


@scenario("CLIENT-LEADER-INSTANCES")
def an_instance_comes_back_to_keep_its_partitions(conduct: Conduct) -> None:
    _rebalanced_after_a_restart(conduct, settings("b", conduct))


def _rebalanced_after_a_restart(conduct: Conduct, restarted: ClientSettings) -> None:
    sim = simulation(nth("Heartbeat", refused(Error.REBALANCE_IN_PROGRESS), 20))
    group_of(sim, conduct, "b", "c")
    before = {name: owned(sim, name) for name in "abc"}
    sim.close("b")
    sim.run_for(2000)
    sim.start("b", restarted)
    sim.run_for(15_000)
    assert len(joins(sim, "a")) > 1
    assert {name: owned(sim, name) for name in "abc"} == before


@scenario(*_MEMBERS, "CLIENT-LEADER-ONCE", "CLIENT-LEADER-WHOLE")
def a_leader_assigns_to_all(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b", "c")
    told = [each for each in sim.requests_of("a", "JoinGroup") if _leads(each)]
    asked = [each.request for each in sim.requests_of("a", "SyncGroup")]
    assert told
    assert len(told) == len(asked)
    for join, sync in zip(told, asked, strict=True):
        assert isinstance(join.answer, JoinGroupResponse)
        assert isinstance(sync, SyncGroupRequest)
        given = {row.member_id: decode_assignment(row.assignment) for row in sync.assignments}
        assert set(given) == {member.member_id for member in join.answer.members}
        assert sorted(p for rows in given.values() for p in rows) == sorted(all_partitions())


def _leads(exchange: SimulatedExchange) -> bool:
    answer = exchange.answer
    return (
        isinstance(answer, JoinGroupResponse)
        and answer.error_code == Error.NONE.value
        and answer.leader == answer.member_id
    )


@scenario("CLIENT-LEADER-COOPERATIVE")
def a_partition_is_handed_over(conduct: Conduct) -> None:
    for seed in range(3):  # who reads its assignment first is chance
        for others in (RIGHT, conduct):
            _handed_over(simulation(seed=seed), conduct, others)


def _handed_over(sim: Simulation, conduct: Conduct, others: Conduct) -> None:
    group_of(sim, conduct, assignors=("cooperative-sticky",))
    kept = owned(sim, "a")
    _two_more(sim, others)
    never_shared(sim)
    shared(sim, "a", "b", "c")
    assert owned(sim, "a") < kept
    assert {len(owned(sim, name)) for name in "abc"} == {2}


def _two_more(sim: Simulation, conduct: Conduct) -> None:
    for name in ("b", "c"):
        sim.start(name, settings(name, conduct, assignors=("cooperative-sticky",)))
        sim.run_for(8000)


@scenario("CLIENT-LEADER-WHOLE")
def what_was_given_back_is_assigned(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, assignors=("cooperative-sticky",))
    _two_more(sim, RIGHT)
    asked = [each.request for each in sim.requests_of("a", "SyncGroup")]
    last = [request for request in asked if isinstance(request, SyncGroupRequest)][-1]
    given = [p for row in last.assignments for p in decode_assignment(row.assignment)]
    assert set(given) == all_partitions()


# The bytes.


@scenario("CLIENT-BYTES-SUBSCRIPTION", "CLIENT-BYTES-ASSIGNMENT")
def what_members_write_can_be_read(conduct: Conduct) -> None:
    for assignor in ("range", "sticky", "cooperative-sticky"):
        sim = simulation()
        group_of(sim, conduct, "b", assignors=(assignor,))
        for join in joins(sim, "a"):
            assert not any(subscription_fault(row.metadata) for row in join.protocols)
        for each in sim.requests_of("a", "SyncGroup"):
            assert isinstance(each.request, SyncGroupRequest)
            assert not any(assignment_fault(row.assignment) for row in each.request.assignments)


@scenario("CLIENT-BYTES-READS-MEMBERS")
def a_leader_reads_members_of_other_versions(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.start("old", settings("old", Conduct(writes_version=0)))
    sim.start("later", settings("later", Conduct(writes_version=9)))
    sim.run_for(12_000)
    shared(sim, "a", "old", "later")
    assert all(owned(sim, name) for name in ("a", "old", "later"))


@scenario("CLIENT-BYTES-READS-ASSIGNMENT")
def a_member_reads_assignments_of_other_versions(conduct: Conduct) -> None:
    for version in (0, 9):
        sim = simulation()
        sim.start("other", settings("other", Conduct(writes_version=version)))
        sim.run_for(4000)
        sim.start("a", settings("a", conduct))
        sim.run_for(12_000)
        shared(sim, "a", "other")


# The session.


@scenario("CLIENT-SESSION-HEARTBEATS")
def the_user_is_busy(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.give("a", StopPolling("a"))
    before = len(sim.requests_of("a", "Heartbeat"))
    sim.run_for(POLL_MS - 5 * BEAT_MS)
    assert len(sim.requests_of("a", "Heartbeat")) - before >= 14
    sim.give("a", ResumePolling("a"))
    sim.run_for(2000)
    assert len(joins(sim, "a")) == 1


@scenario("CLIENT-SESSION-POLL-INTERVAL", "CLIENT-SESSION-STATIC-SILENT")
def the_user_is_busy_for_too_long(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct, "b")
    sim.give("a", StopPolling("a"))
    sim.run_for(POLL_MS + 2 * BEAT_MS)
    beats = len(sim.requests_of("a", "Heartbeat"))
    assert len(owned(sim, "b")) == PARTITIONS / 2
    sim.run_for(SESSION_MS + 2 * BEAT_MS)
    assert len(sim.requests_of("a", "Heartbeat")) == beats
    assert not sim.requests_of("a", "LeaveGroup")
    assert owned(sim, "b") == all_partitions()
    sim.give("a", ResumePolling("a"))
    sim.run_for(5000)
    assert seen(sim, "a", Lost)
    shared(sim, "a", "b")


@scenario("CLIENT-CLOSE-DYNAMIC-LEAVES")
def a_dynamic_member_is_busy_for_too_long(conduct: Conduct) -> None:
    sim = simulation()
    sim.start("a", settings(None, conduct))
    sim.run_for(5000)
    sim.give("a", StopPolling("a"))
    sim.run_for(POLL_MS + BEAT_MS)
    assert len(sim.requests_of("a", "LeaveGroup")) == 1
    sim.give("a", ResumePolling("a"))
    sim.run_for(5000)
    shared(sim, "a")


@scenario("CLIENT-SESSION-TIMEOUT", "CLIENT-SESSION-REBALANCE-TIMEOUT")
def timeouts_as_they_were_set(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    assert {(j.session_timeout_ms, j.rebalance_timeout_ms) for j in joins(sim, "a")} == {
        (SESSION_MS, POLL_MS)
    }


@scenario("CLIENT-OLD-BROKER-NOT-TWICE", "CLIENT-OLD-BROKER-TOLD")
def an_old_broker(conduct: Conduct) -> None:
    sim = simulation()
    sim.cluster.highest |= {"JoinGroup": 4, "SyncGroup": 2, "Heartbeat": 2, "OffsetCommit": 6}
    sim.start("a", settings("a", conduct))
    sim.run_for(10_000)
    told = ErrorReported(Error.UNSUPPORTED_VERSION.name, fatal=True, where="JoinGroup")
    assert seen(sim, "a", ErrorReported) == [told]
    assert not joins(sim, "a")


# Reading.


def _read(sim: Simulation, *names: str, since: int = 0) -> dict[TopicPartition, list[int]]:
    """Collect the offsets of each partition that users received, in order."""
    found: dict[TopicPartition, list[int]] = defaultdict(list)
    for told in sim.events:
        event = told.event
        if isinstance(event, Records) and told.client in names and told.at_ms >= since:
            found[event.partition] += range(event.first, event.first + event.count)
    return found


def _joined_later(sim: Simulation, conduct: Conduct, assignor: str) -> int:
    """Let `b` join a member that reads, and produce; returns when it did."""
    group_of(sim, conduct, assignors=(assignor,))
    sim.start("b", settings("b", assignors=(assignor,)))
    sim.run_for(12_000)
    since = sim.now_ms
    produce(sim)
    sim.run_for(5000)
    return since


@scenario("CLIENT-READ-ASSIGNED")
def what_is_kept_is_read_on(conduct: Conduct) -> None:
    for assignor in ("range", "cooperative-sticky"):
        sim = simulation()
        since = _joined_later(sim, conduct, assignor)
        assert set(_read(sim, "a", since=since)) == owned(sim, "a")


@scenario("CLIENT-READ-NOTHING-ELSE")
def what_was_given_back_is_not_read(conduct: Conduct) -> None:
    sim = simulation()
    since = _joined_later(sim, conduct, "range")
    assert set(_read(sim, "a", since=since)) <= owned(sim, "a")


@scenario("CLIENT-READ-NO-GAP", "CLIENT-READ-NOT-TWICE")
def another_one_goes_on_where_one_committed(conduct: Conduct) -> None:
    sim = simulation()
    group_of(sim, conduct)
    sim.close("a")
    sim.run_for(1000)
    produce(sim)
    start_again(sim, "a", settings("a", conduct))
    sim.run_for(5000)
    produce(sim)
    sim.run_for(5000)
    assert dict(_read(sim, "a")) == {one: list(range(30)) for one in all_partitions()}


def broken_by(conduct: Conduct) -> set[str]:
    """What a client fails in the simulation: the requirements that it breaks, and what follows."""
    found = set()
    for name, runs in SCENARIOS.items():
        for run in runs:
            try:
                run(conduct)
            except AssertionError:
                found.add(name)
                break
    return found
