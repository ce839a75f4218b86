"""Cases of streams groups (KIP-1071) with static members: API 88, since Kafka 4.4.

A subtopology has a task for each of the four partitions of topic t.
"""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import FULL, NOBODY
from fencepost.conformance.cases.consumer.streams_script import (
    OTHER_PROCESS,
    StreamsScript,
    tags,
    tasks,
    topology,
)
from fencepost.model.plans.steps import EpochOf, Ms

CASES = StreamsScript.registry()
case = CASES.case


@case("CG-JOIN-STATIC-NEW")
def streams_first_thread(s: StreamsScript) -> None:
    """The first thread gets all tasks at once."""
    s.join("A1")
    s.beat("A1")
    s.beat("A1", owns=None)


@case("CG-JOIN-DYNAMIC-NEW")
def streams_second_thread(s: StreamsScript) -> None:
    """A second thread waits for tasks until the first has given them up."""
    s.reconciled("m", "n")
    s.beat("m", "n")


@case("CG-JOIN-DYNAMIC-NEW")
def streams_two_parts(s: StreamsScript) -> None:
    """A second thread names the subtopologies in another order, and may join."""
    s.join("m", topology=topology(s0="t", s1="u"))
    s.join("n", topology=topology(s1="u", s0="t"))
    s.beat("m", "n")


@case("CG-JOIN-DYNAMIC-NEW")
def streams_missing_topic(s: StreamsScript) -> None:
    """A topology has a missing source topic: its thread gets no tasks."""
    s.join("m", topology=topology(s0="t", s1="missing"))
    s.beat("m", owns=())


# Validation.


@case("CG-JOIN-ID-MISSING", "CG-BEAT-ID-MISSING", "CG-LEAVE-ID-MISSING", isolated=True)
def streams_requests_without_id(s: StreamsScript) -> None:
    """A thread joins, sends a heartbeat and leaves without a member id: it is refused."""
    s.join("m", member_id="")
    s.join("m")
    s.beat("m", member_id="")
    s.leave("m", member_id="")
    s.release("m", member_id="")


@case("CG-JOIN-GROUP-ID-INVALID", isolated=True)
def streams_empty_group_id(s: StreamsScript) -> None:
    """A join, a heartbeat and a leave name no group."""
    s.join("m", group="")
    s.beat("m", group="", epoch=1, owns=None)
    s.leave("m", group="")


@case("CG-JOIN-ID-BLANK")
def streams_blank_instance_or_rack(s: StreamsScript) -> None:
    """A join, a heartbeat and a leave have an empty instance or rack."""
    s.join("m", instance="")
    s.join("m", rack_id="")
    s.join("m")
    s.beat("m", instance="")
    s.beat("m", rack_id="")
    s.leave("m", instance="")


@case("CG-JOIN-FIELDS-MISSING")
def streams_incomplete_join(s: StreamsScript) -> None:
    """A join lacks a field that each join needs, or owns tasks."""
    s.join("m", rebalance=-1)
    s.join("m", topology=None)
    s.join("m", active_tasks=None)
    s.join("m", standby_tasks=None)
    s.join("m", warmup_tasks=None)
    s.join("m", active_tasks=tasks(0))
    s.join("m", standby_tasks=tasks(0))
    s.join("m", process=None)


@case("CG-JOIN-TOPOLOGY-CHANGED")
def streams_other_topology(s: StreamsScript) -> None:
    """A thread joins with another topology, or another epoch of it: it is refused."""
    s.join("m")
    s.join("n", topology=topology(1, s0="t"))
    s.join("n", topology=topology(s0="u"))
    s.join("n", topology=topology(s0="t", s1="u"))
    s.join("n")


@case("CG-JOIN-TOPOLOGY-CHANGED", "CG-JOIN-UNRELEASED")
def streams_restart_with_another_topology(s: StreamsScript) -> None:
    """A process restarts with another topology and is refused; live instances are checked first."""
    s.join("A1")
    s.join("A2", topology=topology(1, s0="t"))
    s.release("A1")
    s.join("A2", topology=topology(1, s0="t"))
    s.join("A1", topology=topology(1, s0="t"))
    s.join("A1", instance=None, topology=topology(1, s0="t"))
    s.join("A2")


@case("CG-JOIN-TOPOLOGY-CHANGED")
def streams_topology_of_an_empty_group(s: StreamsScript) -> None:
    """A group without members keeps its topology."""
    s.join("m")
    s.leave("m")
    s.join("n", topology=topology(s0="u"))
    s.join("n")


@case("CG-BEAT-TASKS-PARTIAL")
def streams_tasks_of_one_kind(s: StreamsScript) -> None:
    """A heartbeat names tasks of some kinds alone, or brings a topology."""
    s.join("m")
    s.beat("m", standby_tasks=None)
    s.beat("m", owns=None, warmup_tasks=())
    s.beat("m", owns=None, topology=topology(s0="t"))
    s.beat("x", epoch=9, owns=None, warmup_tasks=())
    s.beat("m")


@case("CG-BEAT-TASKS-FOREIGN")
def streams_tasks_of_no_topology(s: StreamsScript) -> None:
    """A heartbeat names tasks that its topology doesn't have; its epoch is checked first."""
    s.join("m")
    s.beat("m", owns=tasks(0, part="9"))
    s.beat("m", owns=tasks(77))
    s.beat("m", owns=(), standby_tasks=tasks(0, part="9"))
    s.beat("m", epoch=EpochOf("m", plus=7), owns=tasks(77))
    s.beat("m")


@case("CG-LEAVE-EPOCH-INVALID", isolated=True)
def streams_epoch_below_minus_2(s: StreamsScript) -> None:
    """A heartbeat has an epoch below -2."""
    s.join("m")
    s.beat("m", epoch=-3, owns=None)


@case("CG-BEAT-GROUP-ABSENT", "CG-LEAVE-GROUP-ABSENT")
def streams_absent_group(s: StreamsScript) -> None:
    """A thread sends a heartbeat and a leave to a group that doesn't exist."""
    s.beat("m", epoch=1, owns=None)
    s.leave("m")


# Joins.


@case("CG-JOIN-UNRELEASED")
def streams_second_process(s: StreamsScript) -> None:
    """A second process with the instance of a live thread is refused, and disturbs nobody."""
    s.reconciled("A1", "B1")
    s.join("A2")
    s.join("B1", instance="A")
    s.beat("A1", "B1")


@case("CG-JOIN-AGAIN-UNRELEASED")
def streams_lost_answer_to_a_join(s: StreamsScript) -> None:
    """A thread that joins again is refused by its own instance."""
    s.join("A1")
    s.join("A1")
    s.beat("A1")


@case("CG-JOIN-RETURN", "CG-LEAVE-RELEASE")
def streams_restart(s: StreamsScript) -> None:
    """A thread that was released returns under a new id: it has its tasks, in the same epoch."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.beat("B1")
    s.join("A2")
    s.beat("A2", "B1")


@case("CG-JOIN-RETURN-CHANGED")
def streams_restart_with_another_process(s: StreamsScript) -> None:
    """A return with another process id makes a new epoch."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A2", process=OTHER_PROCESS)
    s.beat("A2", "B1")


@case("CG-JOIN-RETURN-CHANGED")
def streams_restart_with_another_rack(s: StreamsScript) -> None:
    """A return with another rack makes a new epoch; one without a rack keeps the old one."""
    s.join("A1", rack_id="r1")
    s.release("A1")
    s.join("A2", rack_id="r2")
    s.release("A2")
    s.join("A3")
    s.beat("A3")


@case("CG-JOIN-RETURN-CHANGED")
def streams_restart_with_other_tags(s: StreamsScript) -> None:
    """A return with other tags makes a new epoch; their order means nothing."""
    s.join("A1", client_tags=tags(zone="a", rack="b"))
    s.release("A1")
    s.join("A2", client_tags=tags(rack="b", zone="a"))
    s.release("A2")
    s.join("A3", client_tags=tags(zone="c"))
    s.beat("A3")


@case("CG-JOIN-RETURN-SELF")
def streams_return_under_its_id(s: StreamsScript) -> None:
    """A released thread returns under its own id."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A1")
    s.beat("A1", "B1")


@case("CG-JOIN-RETURN-SELF-CHANGED")
def streams_return_under_its_id_from_another_process(s: StreamsScript) -> None:
    """A released thread returns under its own id, with another process id."""
    s.join("A1")
    s.release("A1")
    s.join("A1", process=OTHER_PROCESS)
    s.beat("A1")


@case("CG-JOIN-REJOIN", "CG-JOIN-REJOIN-CHANGED", "CG-JOIN-UNRELEASED")
def streams_join_without_instance(s: StreamsScript) -> None:
    """A live thread that joins by its id alone keeps its place and its instance."""
    s.reconciled("A1", "B1")
    s.join("A1", instance=None)
    s.join("A1", instance=None, process=OTHER_PROCESS)
    s.join("A2")
    s.beat("A1", "B1")


@case("CG-JOIN-RESUME")
def streams_resumption(s: StreamsScript) -> None:
    """A released thread that joins by its id alone resumes, with its instance."""
    s.join("A1")
    s.release("A1")
    s.join("A1", instance=None)
    s.beat("A1")


@case("CG-JOIN-BECOME-STATIC")
def streams_new_instance(s: StreamsScript) -> None:
    """A thread without an instance brings one."""
    s.join("m")
    s.join("m", instance="A")
    s.join("A2")
    s.beat("m", instance="A")


@case("CG-JOIN-CHANGE-INSTANCE", "CG-JOIN-STATIC-NEW")
def streams_other_instance(s: StreamsScript) -> None:
    """A thread changes its instance: the old one is free."""
    s.join("A1")
    s.join("A1", instance="B")
    s.join("A2")
    s.beat("A1", instance="B")


@case("CG-JOIN-TARGET-LOST")
def streams_other_instance_while_reconciling(s: StreamsScript) -> None:
    """A thread that changes its instance while it has tasks to give up keeps its target."""
    s.join("m", "n")
    s.beat("m")
    s.join("m", instance="A")
    s.beat("n")
    s.beat("m", instance="A")


@case("CG-JOIN-COPY")
def streams_copy(s: StreamsScript) -> None:
    """A thread that brings a released instance takes its place, and loses its own tasks."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("B1", instance="A")
    s.beat("B1", instance="A")


@case("CG-JOIN-COPY-CHANGED")
def streams_copy_from_another_process(s: StreamsScript) -> None:
    """A thread of another process takes the place of a released one, in a new epoch."""
    s.join("A1")
    s.join("B1", process=OTHER_PROCESS)
    s.release("A1")
    s.join("B1", instance="A", process=OTHER_PROCESS)
    s.beat("B1", instance="A")


@case("CG-JOIN-DYNAMIC-NEW", "CG-JOIN-UNRELEASED")
def streams_replaced_id(s: StreamsScript) -> None:
    """A replaced id may join as a new thread, but not with its instance."""
    s.join("A1")
    s.release("A1")
    s.join("A2")
    s.join("A1")
    s.join("A1", instance=None)


@case("CG-JOIN-RESUME-CHANGED", "CG-JOIN-BECOME-STATIC-CHANGED", "CG-JOIN-CHANGE-INSTANCE-CHANGED")
def streams_joins_of_another_process(s: StreamsScript) -> None:
    """A thread that is there joins again, each time from another process, in a new epoch."""
    s.join("m", process="p1")
    s.join("m", instance="A", process="p2")
    s.join("m", instance="B", process="p3")
    s.release("m", instance="B")
    s.join("m", process="p4")
    s.beat("m")


@case("CG-JOIN-TARGET-LOST-CHANGED")
def streams_other_instance_and_process_while_reconciling(s: StreamsScript) -> None:
    """A thread with tasks to give up joins from another process, with another instance."""
    s.join("m", "n")
    s.beat("m")
    s.join("m", instance="A", process=OTHER_PROCESS)
    s.beat("n", "n")
    s.beat("m", instance="A")


@case("CG-JOIN-GROUP-FULL", "CG-JOIN-RETURN", config=FULL)
def streams_full_group(s: StreamsScript) -> None:
    """A full group takes no newcomer, but lets a mapped instance return."""
    s.join("A1", "B1")
    s.join("c")
    s.join("A2")
    s.beat("c", epoch=1, owns=None)
    s.release("A1")
    s.join("A2")
    s.beat("B1")


@case("CG-JOIN-REJOIN", "CG-JOIN-REJOIN-CHANGED")
def streams_thread_joins_again(s: StreamsScript) -> None:
    """A live thread without an instance joins again, also from another process."""
    s.reconciled("m", "n")
    s.join("m")
    s.join("m", process=OTHER_PROCESS)
    s.beat("m", "n")


@case("CG-JOIN-INSTANCE-REFUSED", "CG-BEAT-INSTANCE-REFUSED", "CG-LEAVE-INSTANCE-REFUSED")
def streams_refused_instance(s: StreamsScript) -> None:
    """Before 4.4 each request with an instance is refused, also where the group doesn't exist."""
    s.beat("A1", epoch=1, owns=None)
    s.join("A1")
    s.join("m")
    s.join("m", instance="A")
    s.beat("m", instance="A")
    s.leave("m", instance="A")
    s.release("m", instance="A")
    s.release("m", instance=None)
    s.beat("m")


# Heartbeats.


@case("CG-BEAT-INSTANCE-FENCED")
def streams_zombie(s: StreamsScript) -> None:
    """The old id of a replaced thread is fenced by its instance, and unknown without it."""
    s.join("A1")
    s.release("A1")
    s.join("A2")
    s.beat("A1", epoch=EpochOf("A2"))
    s.beat("A1", epoch=EpochOf("A2"), instance=None)
    s.beat("A2")


@case("CG-BEAT-ALIVE", "CG-BEAT-INSTANCE-UNMAPPED")
def streams_other_instances(s: StreamsScript) -> None:
    """A thread sends a heartbeat without its instance, and one with an unmapped instance."""
    s.join("A1")
    s.beat("A1", instance=None)
    s.beat("A1", instance="Z")
    s.beat("x", epoch=EpochOf("A1"))


@case("CG-BEAT-EPOCH-NEWER", "CG-BEAT-EPOCH-OLDER", "CG-LEAVE-RELEASE")
def streams_other_epochs(s: StreamsScript) -> None:
    """A thread sends heartbeats with a newer epoch, with an older one, and after its release."""
    s.join("A1")
    s.beat("A1", epoch=EpochOf("A1", plus=7))
    s.beat("A1", epoch=1)
    s.release("A1")
    s.beat("A1", epoch=2)


@case("CG-BEAT-REPEATED", "CG-BEAT-EPOCH-PREVIOUS")
def streams_lost_answer_to_a_heartbeat(s: StreamsScript) -> None:
    """A thread repeats a heartbeat with the epoch before, and names tasks that it still has."""
    s.join("m", "n")
    s.beat("m", "m")
    before = EpochOf("m", back=1)
    s.beat("m", epoch=before)
    s.beat("m", epoch=before, owns=None)
    s.beat("m", epoch=before, owns=tasks(0, 1, 2, 3))


@case("CG-BEAT-REPEATED-CHANGED")
def streams_lost_answer_to_a_change(s: StreamsScript) -> None:
    """A heartbeat with the epoch before brings another process: a new epoch."""
    s.join("m", "n")
    s.beat("m", "m")
    s.beat("m", epoch=EpochOf("m", back=1), process_id=OTHER_PROCESS)
    s.beat("n", "m")


@case("CG-BEAT-ALIVE-CHANGED")
def streams_changes_in_heartbeats(s: StreamsScript) -> None:
    """A heartbeat with another process, rack or tags makes a new epoch."""
    s.join("m")
    s.beat("m", process_id=OTHER_PROCESS)
    s.beat("m", rack_id="r1")
    s.beat("m", client_tags=tags(zone="a"))
    s.beat("m", process_id=OTHER_PROCESS, rack_id="r1", client_tags=tags(zone="a"))


@case("CG-BEAT-ALIVE")
def streams_full_heartbeat(s: StreamsScript) -> None:
    """A thread sends a heartbeat with all fields: the answer has only changed tasks."""
    s.join("m")
    s.beat("m", process_id="p1", rebalance_timeout_ms=Ms("rebalance"), client_tags=())


# Leaves.


@case("CG-LEAVE-RELEASE-BARE")
def streams_release_without_instance(s: StreamsScript) -> None:
    """A release names no instance."""
    s.join("A1")
    s.release("A1", instance=None)
    s.join("A2")


@case("CG-LEAVE-INSTANCE-FENCED", "CG-LEAVE-INSTANCE-UNMAPPED", "CG-LEAVE-UNKNOWN-MEMBER")
def streams_leaves_of_others(s: StreamsScript) -> None:
    """Requests with a wrong id or instance don't release a thread, and don't remove it."""
    s.join("A1")
    for member_id, instance in ((NOBODY, "A"), ("A1", "Z")):
        s.leave("A1", member_id=member_id, instance=instance)
        s.release("A1", member_id=member_id, instance=instance)
    s.leave("A1", member_id=NOBODY, instance=None)
    s.beat("A1")


@case("CG-LEAVE-FOR-GOOD", "CG-JOIN-STATIC-NEW")
def streams_departure(s: StreamsScript) -> None:
    """A thread leaves for good: the other one gets its tasks."""
    s.reconciled("A1", "B1")
    s.leave("A1")
    s.beat("B1", "B1")
    s.leave("B1", instance=None)
    s.join("A1")


@case("CG-LEAVE-RELEASE-AGAIN")
def streams_second_release(s: StreamsScript) -> None:
    """A thread sends its release twice."""
    s.join("A1")
    s.release("A1", "A1")
    s.join("A2")


@case("CG-LEAVE-RELEASE", "CG-JOIN-RETURN")
def streams_release_while_reconciling(s: StreamsScript) -> None:
    """A released thread gives up the tasks that it had to revoke; the other one gets them."""
    s.join("A1", "B1")
    s.beat("A1")
    s.release("A1")
    s.beat("B1")
    s.join("A2")
    s.beat("A2", "B1")


# Descriptions and lists.


@case("CG-DESCRIBE-GROUP")
def streams_description(s: StreamsScript) -> None:
    """A description shows the threads with their processes and tags, and their tasks."""
    s.join("m", client_tags=tags(zone="a"))
    s.join("n", process=OTHER_PROCESS, rack_id="r1")
    s.describe()
    s.beat("m")
    s.describe()
    s.beat("m")
    s.beat("n")
    s.describe()


@case("CG-DESCRIBE-GROUP", "CG-LEAVE-RELEASE")
def streams_description_of_a_released_thread(s: StreamsScript) -> None:
    """A description shows a released thread with epoch -2 and its tasks."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.describe()
    s.list_groups()


@case("CG-DESCRIBE-GROUP", "CG-LIST-GROUP")
def streams_description_of_an_empty_group(s: StreamsScript) -> None:
    """A description and a list show a group whose threads have left."""
    s.join("m")
    s.leave("m")
    s.describe()
    s.list_groups()
    s.join("n")
    s.describe()


@case("CG-DESCRIBE-GROUP", "CG-LIST-GROUP", features=("missing-topics",))
def streams_group_that_is_not_ready(s: StreamsScript) -> None:
    """A group is NotReady while a source topic is missing; a list is asked for it as not_ready."""
    s.join("m", topology=topology(s0="t", s1="missing"))
    s.describe()
    s.list_groups()
    s.list_groups(states=("NotReady",))
    s.list_groups(states=("not_ready",))
    s.leave("m")
    s.describe()


@case("CG-DESCRIBE-ABSENT", "CG-DESCRIBE-GROUP-ID-INVALID")
def streams_description_of_an_absent_group(s: StreamsScript) -> None:
    """A group that doesn't exist can't be described, nor one without a name."""
    s.describe("other")
    s.describe("")


@case("CG-LIST-GROUP", "CG-LIST-NO-GROUP")
def streams_list(s: StreamsScript) -> None:
    """A list shows a streams group by its type; groups of other types are not asked for."""
    s.list_groups()
    s.join("m")
    s.list_groups()
    for types in (("streams",), ("STREAMS",), ("consumer",), ("classic",)):
        s.list_groups(types=types)
    s.list_groups(states=("Stable",))
