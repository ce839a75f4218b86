"""Joins of the consumer protocol: checks, newcomers, returns, retries, changes of the instance."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import (
    BOTH,
    FULL,
    ConsumerScript,
    owned,
)
from fencepost.model.plans.steps import EpochOf, IdOf

CASES = ConsumerScript.registry()
case = CASES.case


# Checks.


@case("CG-JOIN-ID-MISSING", "CG-DESCRIBE-ABSENT", isolated=True)
def join_without_id(s: ConsumerScript) -> None:
    """From version 1 on the client makes its id: a join without one is refused, and no group is."""
    s.join("A1", member_id="")
    s.join("m", member_id="")
    s.describe()


@case("CG-JOIN-GROUP-ID-INVALID", isolated=True)
def empty_group_id(s: ConsumerScript) -> None:
    """A join names no group."""
    s.join("A1", group="")


@case("CG-JOIN-ID-BLANK", "CG-DESCRIBE-ABSENT")
def blank_instance_or_rack(s: ConsumerScript) -> None:
    """An instance id, or a rack id, that is there and is empty is refused."""
    s.join("m", instance="")
    s.join("m", rack_id="")
    s.describe()


@case("CG-JOIN-FIELDS-MISSING", "CG-DESCRIBE-ABSENT")
def incomplete_join(s: ConsumerScript) -> None:
    """A join must have a rebalance timeout and a subscription, and own nothing."""
    s.join("A1", rebalance=-1)
    s.join("A1", owns=None)
    s.join("A1", owns=owned(0))
    s.describe()


@case("CG-JOIN-FIELDS-MISSING", isolated=True)
def no_subscription(s: ConsumerScript) -> None:
    """A join with neither topics nor an expression is refused."""
    s.join("A1", topics=None, regex=None)


@case("CG-JOIN-STATIC-NEW", isolated=True)
def null_expression(s: ConsumerScript) -> None:
    """A join with topics and a null expression, as Java sends it."""
    s.join("A1", regex=None)
    s.beat("A1")


@case("CG-JOIN-DYNAMIC-NEW-IDLE", "CG-JOIN-STATIC-NEW-IDLE", isolated=True)
def empty_subscription(s: ConsumerScript) -> None:
    """Members that subscribe to nothing join without a new epoch."""
    s.join("A1")
    s.join("m", topics=())
    s.join("B1", topics=())
    s.describe()
    s.join("B2")


@case("CG-JOIN-DYNAMIC-NEW-IDLE", "CG-LEAVE-FOR-GOOD", isolated=True)
def empty_subscription_after_a_leave(s: ConsumerScript) -> None:
    """A member that subscribes to nothing joins while a target is due, and may be counted in it."""
    s.join("m", "k")
    s.leave("k")
    s.join("n", topics=())
    s.describe()
    s.beat("m", "m", "n")
    s.describe()


@case("CG-JOIN-DYNAMIC-NEW", isolated=True)
def empty_subscription_and_another_assignor(s: ConsumerScript) -> None:
    """A member that subscribes to nothing asks for an assignor; since 4.4 that is a new epoch."""
    s.join("m")
    s.join("n", topics=(), server_assignor="range")
    s.describe()
    s.join("A1", topics=(), server_assignor="range")
    s.describe()


@case("CG-JOIN-ASSIGNOR-UNKNOWN", "CG-DESCRIBE-ABSENT")
def unknown_assignor(s: ConsumerScript) -> None:
    """A join asks for an assignor that the broker doesn't have."""
    s.join("A1", server_assignor="sticky")
    s.describe()


@case("CG-JOIN-GROUP-FULL", config=FULL)
def newcomer_in_a_full_group(s: ConsumerScript) -> None:
    """A newcomer joins a full group, dynamic or with an unmapped instance."""
    s.reconciled("A1", "B1")
    s.join("m")
    s.join("C1")
    s.beat("A1", "B1")


@case("CG-JOIN-GROUP-FULL", config=FULL)
def second_process_in_a_full_group(s: ConsumerScript) -> None:
    """A full group: a second process of a live member, and one of a released member."""
    s.reconciled("A1", "B1")
    s.join("m")
    s.join("A2")
    s.release("A1")
    s.join("A2")
    s.describe()


@case("CG-JOIN-RETURN-SELF", config=FULL)
def return_under_its_id_in_a_full_group(s: ConsumerScript) -> None:
    """A released member of a full group returns under its own id."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A1")
    s.beat("B1")


# Newcomers.


@case("CG-JOIN-DYNAMIC-NEW", "CG-BEAT-ALIVE")
def first_dynamic_member(s: ConsumerScript) -> None:
    """A dynamic member joins alone, and gets all partitions at once."""
    s.join("m")
    s.beat("m")
    s.keep("m")
    s.describe()


@case("CG-JOIN-DYNAMIC-NEW")
def dynamic_member_without_id(s: ConsumerScript) -> None:
    """In version 0 the coordinator makes the id of a member that has none."""
    s.reconciled("A1")
    s.join("m", member_id="", version=0)
    s.beat("A1", "A1")
    s.beat("m", member_id=IdOf("m"), version=0)


@case("CG-JOIN-DYNAMIC-NEW")
def dynamic_member_in_version_0(s: ConsumerScript) -> None:
    """In version 0 a member may bring an id, too."""
    s.join("m", version=0)
    s.beat("m", version=0)


@case("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE")
def first_static_member(s: ConsumerScript) -> None:
    """A static member joins alone, and gets all partitions at once."""
    s.join("A1")
    s.beat("A1")
    s.describe()


@case("CG-JOIN-STATIC-NEW")
def static_member_without_id(s: ConsumerScript) -> None:
    """In version 0 the coordinator makes the id of a static member that has none."""
    s.join("A1", member_id="", version=0)
    s.beat("A1", member_id=IdOf("A1"), version=0)
    s.join("A2")


@case("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE")
def second_static_member(s: ConsumerScript) -> None:
    """A second static member joins: the first gives partitions up, the second waits for them."""
    s.join("A1", "B1")
    s.beat("A1")
    s.beat("B1")
    s.beat("A1")
    s.beat("B1")
    s.describe()


@case("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE")
def third_static_member(s: ConsumerScript) -> None:
    """A third member joins: two members give partitions up, each at its own time."""
    s.reconciled("A1", "B1")
    s.join("C1")
    s.beat("A1", "A1")
    s.beat("C1")
    s.beat("B1", "B1")
    s.beat("C1")
    s.describe()


@case("CG-JOIN-STATIC-NEW", "CG-BEAT-ALIVE")
def member_of_another_topic(s: ConsumerScript) -> None:
    """A member that reads another topic takes nothing from the first one."""
    s.reconciled("A1")
    s.join("B1", topics=("u",))
    s.beat("A1", "B1")
    s.describe()


@case("CG-JOIN-STATIC-NEW")
def member_of_a_missing_topic(s: ConsumerScript) -> None:
    """A member subscribes to a topic that doesn't exist: it gets nothing of it."""
    s.join("A1", topics=("t", "missing"))
    s.beat("A1")


# Live holders.


@case("CG-JOIN-UNRELEASED")
def second_process_of_a_live_member(s: ConsumerScript) -> None:
    """A second process joins while the first is live: it is refused, and nothing changes."""
    s.reconciled("A1", "B1")
    s.join("A2")
    s.beat("A1", "B1")
    s.describe()


@case("CG-JOIN-UNRELEASED")
def second_process_without_id(s: ConsumerScript) -> None:
    """The same in version 0, without an id."""
    s.reconciled("A1")
    s.join("A2", member_id="", version=0)
    s.beat("A1")


@case("CG-JOIN-UNRELEASED")
def second_process_of_a_member_that_gives_up(s: ConsumerScript) -> None:
    """A second process joins while the first gives partitions up: that one keeps its place."""
    s.join("A1", "B1")
    s.beat("A1")
    s.join("A2")
    s.beat("A1", "B1")
    s.describe()


@case("CG-JOIN-UNRELEASED")
def second_process_of_a_member_that_waits(s: ConsumerScript) -> None:
    """A second process joins while the first waits for partitions: that one keeps its place."""
    s.join("A1", "B1")
    s.beat("A1")
    s.join("B2")
    s.beat("A1", "B1")
    s.describe()


@case("CG-JOIN-UNRELEASED")
def dynamic_member_brings_a_live_instance(s: ConsumerScript) -> None:
    """A dynamic member joins again with the instance of a live member."""
    s.reconciled("m", "B1")
    s.join("m", instance="B")
    s.beat("m", "B1")


@case("CG-JOIN-UNRELEASED")
def zombie_joins_again(s: ConsumerScript) -> None:
    """A replaced process joins again with its instance: it steals nothing back."""
    s.returned("B1")
    s.join("A1")
    s.beat("A2", "B1")


@case("CG-JOIN-UNRELEASED", "CG-JOIN-RETURN")
def two_newcomers_after_one_release(s: ConsumerScript) -> None:
    """Two processes start after one release: the first is in, the second is refused."""
    s.returned("B1")
    s.join("A3")
    s.beat("A2", "B1")


@case("CG-JOIN-AGAIN-UNRELEASED")
def lost_answer_to_the_first_join(s: ConsumerScript) -> None:
    """The answer to a first join was lost, and the member joins again with its id."""
    s.join("A1")
    s.join("A1")
    s.beat("A1")


@case("CG-JOIN-AGAIN-UNRELEASED")
def lost_answer_to_a_return(s: ConsumerScript) -> None:
    """The answer to the join of a restarted process was lost, and it joins again."""
    s.returned("B1")
    s.join("A2")
    s.beat("B1")


@case("CG-JOIN-AGAIN-UNRELEASED", "CG-BEAT-EPOCH-NEWER")
def fenced_member_joins_again(s: ConsumerScript) -> None:
    """A member with a wrong epoch is fenced, gives up all, and joins again with its id."""
    s.reconciled("A1", "B1")
    s.beat("A1", epoch=EpochOf("A1", plus=7))
    s.join("A1")


@case("CG-JOIN-AGAIN-UNRELEASED")
def lost_answer_and_other_topics_of_a_join(s: ConsumerScript) -> None:
    """A member joins again with its id and another subscription."""
    s.join("A1")
    s.join("A1", topics=BOTH)
    s.describe()


# Released holders.


@case("CG-JOIN-RETURN", "CG-LEAVE-RELEASE")
def restart(s: ConsumerScript) -> None:
    """A static member restarts: it gets its partitions at once, and nobody else notices."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.beat("B1")
    s.join("A2")
    s.beat("A2", "B1")
    s.describe()


@case("CG-JOIN-RETURN")
def restart_without_id(s: ConsumerScript) -> None:
    """The same in version 0: the coordinator makes the id of the new process."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A2", member_id="", version=0)
    s.beat("A2", member_id=IdOf("A2"))
    s.beat("B1")


@case("CG-JOIN-RETURN")
def restart_with_another_rack(s: ConsumerScript) -> None:
    """A restarted process is in another rack: that changes neither epoch nor partitions."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A2", rack_id="other")
    s.beat("A2", "B1")
    s.describe()


@case("CG-JOIN-RETURN")
def restart_of_a_lone_member(s: ConsumerScript) -> None:
    """The only member restarts: a group with a released member alone keeps its partitions."""
    s.join("A1")
    s.release("A1")
    s.join("A2")
    s.beat("A2")


@case("CG-JOIN-RETURN", "CG-JOIN-STATIC-NEW")
def return_after_a_rebalance(s: ConsumerScript) -> None:
    """A member joins while another is away: what the target took from it is free on its return."""
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("C1")
    s.beat("A1", "A1", "C1")
    s.join("B2")
    s.beat("C1", "A1", "B2")
    s.describe()


@case("CG-JOIN-RETURN-CHANGED")
def restart_with_another_subscription(s: ConsumerScript) -> None:
    """A restarted process subscribes to another topic, too: the target is made anew."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A2", topics=BOTH)
    s.beat("B1", "A2")
    s.describe()


@case("CG-JOIN-RETURN-SELF")
def return_under_its_id(s: ConsumerScript) -> None:
    """A released member returns under its own id, in the same process."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A1")
    s.beat("A1", "B1")


@case("CG-JOIN-RETURN-SELF-CHANGED")
def return_with_another_subscription(s: ConsumerScript) -> None:
    """A released member returns under its own id, and subscribes to another topic, too."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A1", topics=BOTH)
    s.beat("B1", "A1")
    s.describe()


@case("CG-JOIN-DYNAMIC-NEW", "CG-JOIN-RETURN")
def replaced_id_joins_without_instance(s: ConsumerScript) -> None:
    """A replaced id joins without its instance: it becomes a dynamic member."""
    s.returned("B1")
    s.join("A1", instance=None)
    s.beat("A2", "B1")
    s.describe()


# Known members.


@case("CG-JOIN-UNRELEASED", named="CG-JOIN-REJOIN")
def static_member_joins_without_instance(s: ConsumerScript) -> None:
    """A live static member joins again by its id alone: it keeps its place and its instance."""
    s.reconciled("A1", "B1")
    s.join("A1", instance=None)
    s.beat("A1", "B1")
    s.join("A2")


@case("CG-JOIN-REJOIN")
def dynamic_member_joins_again(s: ConsumerScript) -> None:
    """A dynamic member joins again by its id, as after a lost answer."""
    s.join("m")
    s.join("m")
    s.beat("m")


@case("CG-JOIN-REJOIN-CHANGED")
def dynamic_member_joins_with_other_topics(s: ConsumerScript) -> None:
    """A dynamic member joins again with another subscription: the target is made anew."""
    s.join("m")
    s.join("m", topics=BOTH)
    s.beat("m")
    s.describe()


@case("CG-JOIN-RESUME")
def released_member_joins_without_instance(s: ConsumerScript) -> None:
    """A released member joins by its id alone: it resumes, and keeps its instance."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.join("A1", instance=None)
    s.beat("A1", "B1")
    s.join("A2")


@case("CG-JOIN-RESUME-CHANGED")
def released_member_resumes_with_other_topics(s: ConsumerScript) -> None:
    """A released member resumes by its id alone, with another subscription."""
    s.reconciled("A1")
    s.release("A1")
    s.join("A1", instance=None, topics=BOTH)
    s.beat("A1", instance=None)
    s.describe()


# Members that change their instance.


@case("CG-JOIN-BECOME-STATIC")
def dynamic_member_becomes_static(s: ConsumerScript) -> None:
    """A dynamic member joins again with an unmapped instance."""
    s.reconciled("m", "B1")
    s.join("m", instance="A")
    s.beat("m", instance="A")
    s.beat("B1")
    s.join("A1")
    s.describe()


@case("CG-JOIN-BECOME-STATIC-CHANGED")
def dynamic_member_becomes_static_with_other_topics(s: ConsumerScript) -> None:
    """A dynamic member joins again with an unmapped instance and another subscription."""
    s.join("m")
    s.join("m", instance="A", topics=BOTH)
    s.beat("m", instance="A")
    s.describe()


@case("CG-JOIN-CHANGE-INSTANCE")
def static_member_changes_its_instance(s: ConsumerScript) -> None:
    """A static member joins again with another instance; then somebody brings the old one."""
    s.reconciled("A1", "B1")
    s.join("A1", instance="C")
    s.beat("A1", instance="C")
    s.join("A2")
    s.describe()


@case("CG-JOIN-CHANGE-INSTANCE")
def way_back_to_the_old_instance(s: ConsumerScript) -> None:
    """A member changes its instance, and then wants the old one back."""
    s.join("A1")
    s.join("A1", instance="B")
    s.join("A1")
    s.beat("A1", instance="B")


@case("CG-JOIN-CHANGE-INSTANCE", config=FULL)
def new_instance_in_a_full_group(s: ConsumerScript) -> None:
    """A member of a full group joins again with an unmapped instance: it is no newcomer."""
    s.reconciled("A1", "B1")
    s.join("A1", instance="C")
    s.beat("B1")


@case("CG-JOIN-CHANGE-INSTANCE")
def old_instance_of_a_member_that_left(s: ConsumerScript) -> None:
    """A member changed its instance and left; then somebody brings the old one."""
    s.join("A1")
    s.join("A1", instance="B")
    s.leave("A1", instance="B")
    s.join("A2")


@case("CG-JOIN-CHANGE-INSTANCE-CHANGED")
def other_instance_and_other_topics(s: ConsumerScript) -> None:
    """A static member joins again with another instance and another subscription."""
    s.join("A1")
    s.join("A1", instance="B", topics=BOTH)
    s.beat("A1", instance="B")
    s.describe()


@case("CG-JOIN-INSTANCE-DANGLING", "CG-BEAT-INSTANCE-DANGLING", "CG-LEAVE-INSTANCE-DANGLING")
def instance_of_an_id_that_is_gone(s: ConsumerScript) -> None:
    """A member changed its instance and left: its old instance can't be had any more."""
    s.reconciled("A1", "m")
    s.join("A1", instance="B")
    s.leave("A1", instance="B")
    s.join("A2")
    s.beat("m", instance="A")
    s.leave("m", instance="A")
    s.beat("m")


@case("CG-REMOVE-INSTANCE-DANGLING")
def removal_of_an_instance_that_is_gone(s: ConsumerScript) -> None:
    """An administrator removes the old instance of a member that changed it and left."""
    s.reconciled("A1", "m")
    s.join("A1", instance="B")
    s.leave("A1", instance="B")
    s.remove(("", "A"))
    s.beat("m")


@case("CG-JOIN-COPY")
def member_brings_a_released_instance(s: ConsumerScript) -> None:
    """A static member joins with the instance of a released one, and becomes a copy of it."""
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("A1", instance="B")
    s.beat("A1", instance="B")
    s.describe()


@case("CG-JOIN-COPY")
def dynamic_member_brings_a_released_instance(s: ConsumerScript) -> None:
    """A dynamic member joins with the instance of a released one, and becomes a copy of it."""
    s.reconciled("m", "B1")
    s.release("B1")
    s.join("m", instance="B")
    s.describe()


@case("CG-JOIN-COPY", "CG-JOIN-DYNAMIC-NEW")
def next_epoch_after_a_copy(s: ConsumerScript) -> None:
    """The partitions that a copy left without an owner get one with the next epoch."""
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("A1", instance="B")
    s.join("m")
    s.beat("A1", instance="B")
    s.beat("A1", instance="B")
    s.beat("m")
    s.describe()


@case("CG-JOIN-COPY", "CG-LEAVE-FOR-GOOD")
def copy_after_a_leave(s: ConsumerScript) -> None:
    """A member becomes a copy while a target is due: its own partitions may be lost."""
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("k")
    s.leave("k")
    s.join("A1", instance="B")
    s.beat("A1", instance="B")
    s.describe()


@case("CG-JOIN-COPY")
def two_released_members_swap_instances(s: ConsumerScript) -> None:
    """Two released members join, each with the instance of the other."""
    s.reconciled("A1", "B1")
    s.release("A1", "B1")
    s.join("A1", instance="B")
    s.join("B1", instance="A")
    s.describe()


@case("CG-JOIN-COPY-CHANGED")
def copy_with_other_topics(s: ConsumerScript) -> None:
    """A member joins with a released instance and another subscription."""
    s.reconciled("A1", "B1")
    s.release("B1")
    s.join("A1", instance="B", topics=BOTH)
    s.describe()


@case("CG-JOIN-TARGET-LOST")
def other_instance_while_reconciling(s: ConsumerScript) -> None:
    """A member with partitions to give up joins again with an unmapped instance."""
    s.join("m", "n")
    s.beat("m")
    s.describe()
    s.join("m", instance="A")
    s.describe()


@case("CG-JOIN-TARGET-LOST", "CG-JOIN-DYNAMIC-NEW")
def next_epoch_after_a_lost_target(s: ConsumerScript) -> None:
    """The target that a member lost by changing its instance is made anew with the next epoch."""
    s.join("m", "n")
    s.beat("m")
    s.join("m", instance="A")
    s.join("k")
    s.beat("m", instance="A")
    s.beat("n", "k")
    s.describe()


@case("CG-JOIN-TARGET-LOST", "CG-LEAVE-FOR-GOOD")
def new_target_in_place_of_a_lost_one(s: ConsumerScript) -> None:
    """A target is due when a member brings an unmapped instance: it has a part of the new one."""
    s.join("m", "n")
    s.beat("m")
    s.leave("n")
    s.join("m", instance="A")
    s.describe()


@case("CG-JOIN-TARGET-LOST-CHANGED")
def other_instance_and_topics_while_reconciling(s: ConsumerScript) -> None:
    """A member with partitions to give up brings an unmapped instance and another topic."""
    s.join("m", "n")
    s.beat("m")
    s.join("m", instance="A", topics=BOTH)
    s.describe()


@case("CG-LEAVE-RELEASE", named="CG-JOIN-RETURN")
def restart_with_another_assignor(s: ConsumerScript) -> None:
    """A restarted process asks for another assignor; since 4.4 the target is made anew by that."""
    s.join("A1", server_assignor="uniform")
    s.release("A1")
    s.join("A2", server_assignor="range")
    s.beat("A2")
    s.describe()


INVALID = "t["
"""An expression without its end."""


@case("CG-JOIN-EXPRESSION-INVALID", isolated=True)
def join_with_an_invalid_expression(s: ConsumerScript) -> None:
    """A join with an invalid expression makes no group, and adds no member to one."""
    s.join("a", topics=None, regex=INVALID)
    s.describe()
    s.join("B1")
    s.join("a", regex="*")
    s.join("C1", topics=None, regex="(?=t)")
    s.describe()


@case("CG-JOIN-EXPRESSION-INVALID", "CG-JOIN-UNRELEASED", isolated=True)
def return_with_an_invalid_expression(s: ConsumerScript) -> None:
    """An invalid expression is found after a live holder; a released one stays in its place."""
    s.reconciled("A1")
    s.join("A2", topics=None, regex=INVALID)
    s.release("A1")
    s.join("A2", topics=None, regex=INVALID)
    s.describe()
    s.join("A2")


@case("CG-JOIN-ASSIGNOR-UNKNOWN", "CG-JOIN-FIELDS-MISSING", isolated=True)
def checks_before_an_invalid_expression(s: ConsumerScript) -> None:
    """Missing fields and an unknown assignor are refused before an invalid expression."""
    s.join("a", topics=None, regex=INVALID, rebalance=-1)
    s.join("a", topics=None, regex=INVALID, server_assignor="sticky")
