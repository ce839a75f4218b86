"""Heartbeats of the consumer protocol: checks, epochs, retries, revocation, other topics."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import (
    ALL,
    BOTH,
    FULL,
    NOBODY,
    ConsumerScript,
    owned,
)
from fencepost.model.plans.steps import EpochOf, OwnedOf

CASES = ConsumerScript.registry()
case = CASES.case


@case("CG-BEAT-ID-MISSING", isolated=True)
def heartbeat_without_id(s: ConsumerScript) -> None:
    """A heartbeat must have a member id, in each version."""
    s.reconciled("A1")
    s.beat("A1", member_id="")
    s.beat("A1", member_id="", version=0)
    s.beat("A1")


@case("CG-BEAT-GROUP-ID-INVALID", isolated=True)
def empty_group_id(s: ConsumerScript) -> None:
    """A heartbeat names no group."""
    s.beat("A1", epoch=1, group="")


@case("CG-BEAT-ID-BLANK")
def blank_instance_or_rack(s: ConsumerScript) -> None:
    """An instance id, or a rack id, that is there and is empty is refused."""
    s.reconciled("m")
    s.beat("m", instance="")
    s.beat("m", rack_id="")
    s.beat("m")


@case("CG-BEAT-ASSIGNOR-UNKNOWN")
def unknown_assignor(s: ConsumerScript) -> None:
    """An unknown assignor is refused before anybody looks at the group or the member."""
    s.beat("m", epoch=1, server_assignor="sticky")
    s.reconciled("m")
    s.beat("x", member_id=NOBODY, epoch=1, server_assignor="sticky")
    s.beat("m")


@case("CG-BEAT-GROUP-ABSENT", "CG-LEAVE-GROUP-ABSENT")
def absent_group(s: ConsumerScript) -> None:
    """Heartbeats and leaves don't make a group come to exist."""
    s.beat("A1", epoch=1)
    s.leave("A1")
    s.release("A1")
    s.describe()


@case("CG-BEAT-GROUP-FULL", config=FULL)
def unknown_member_of_a_full_group(s: ConsumerScript) -> None:
    """In a full group an unknown id hears that it is full, not that it is unknown."""
    s.reconciled("A1", "B1")
    s.beat("x", member_id=NOBODY, epoch=3)
    s.beat("x", member_id=NOBODY, instance="C", epoch=3)
    s.leave("x", member_id=NOBODY)
    s.beat("A1", "B1")


@case("CG-BEAT-GROUP-FULL", config=FULL)
def wrong_id_in_a_full_group(s: ConsumerScript) -> None:
    """A wrong id sends a heartbeat to a full group, with a member's instance and without."""
    s.reconciled("A1", "B1")
    s.beat("x", member_id=NOBODY, instance="A", epoch=EpochOf("A1"))
    s.beat("x", member_id=NOBODY, epoch=EpochOf("A1"))
    s.beat("A1", "B1")


@case("CG-BEAT-GROUP-FULL", config=FULL)
def zombie_of_a_full_group(s: ConsumerScript) -> None:
    """A full group: a replaced process sends a heartbeat with its instance."""
    s.returned("B1")
    s.beat("x", member_id=NOBODY, epoch=3)
    s.beat("A1")


@case("CG-BEAT-INSTANCE-FENCED")
def zombie_beats(s: ConsumerScript) -> None:
    """A replaced process is fenced, whatever its epoch."""
    s.returned("B1")
    s.beat("A1", epoch=EpochOf("A1", back=1))
    s.beat("A1", epoch=EpochOf("A1", plus=7))
    s.beat("A2", "B1")


@case("CG-BEAT-INSTANCE-FENCED")
def wrong_id_of_a_live_member(s: ConsumerScript) -> None:
    """An id brings the instance of a live member, and then of a released one; epochs come later."""
    s.reconciled("A1", "B1")
    s.beat("x", member_id=NOBODY, instance="A", epoch=EpochOf("A1"))
    s.beat("B1", instance="A", epoch=EpochOf("B1", plus=7))
    s.release("A1")
    s.beat("x", member_id=NOBODY, instance="A", epoch=EpochOf("A1", back=1))
    s.beat("B1")


@case("CG-BEAT-INSTANCE-UNMAPPED")
def unmapped_instance(s: ConsumerScript) -> None:
    """A heartbeat with an unmapped instance, from an unknown id and from a live static member."""
    s.reconciled("A1", "B1")
    s.beat("x", member_id=NOBODY, instance="C", epoch=3)
    s.beat("A1", instance="C")
    s.beat("A1", "B1")


@case("CG-BEAT-UNKNOWN-MEMBER")
def unknown_member(s: ConsumerScript) -> None:
    """A heartbeat of an unknown id, without an instance."""
    s.reconciled("A1")
    s.beat("x", member_id=NOBODY, epoch=2)
    s.beat("A1")


@case("CG-BEAT-UNKNOWN-MEMBER", "CG-BEAT-INSTANCE-FENCED")
def zombie_without_instance(s: ConsumerScript) -> None:
    """A replaced process without its instance hears that it is unknown."""
    s.returned("B1")
    s.beat("A1", instance=None, epoch=EpochOf("A1", back=1))
    s.beat("A1", epoch=EpochOf("A1", back=1))


@case("CG-BEAT-INSTANCE-UNMAPPED", "CG-BEAT-UNKNOWN-MEMBER")
def removed_member_beats(s: ConsumerScript) -> None:
    """A member that an administrator removed sends heartbeats; nobody has its instance since."""
    s.reconciled("A1", "B1")
    s.remove(("", "A"))
    s.beat("A1")
    s.beat("A1", instance=None)
    s.beat("B1")


@case("CG-BEAT-INSTANCE-FENCED", "CG-BEAT-UNKNOWN-MEMBER")
def removed_and_replaced_member_beats(s: ConsumerScript) -> None:
    """A member that an administrator removed, whose instance another process has since."""
    s.reconciled("A1", "B1")
    s.remove(("", "A"))
    s.join("A2")
    s.beat("A1")
    s.beat("A1", instance=None)


@case("CG-BEAT-EPOCH-NEWER")
def newer_epoch(s: ConsumerScript) -> None:
    """A heartbeat has an epoch that nobody was given."""
    s.reconciled("A1", "B1")
    s.beat("A1", epoch=EpochOf("A1", plus=7))
    s.beat("A1", "B1")


@case("CG-BEAT-EPOCH-NEWER")
def heartbeat_of_a_released_member(s: ConsumerScript) -> None:
    """A released member sends a heartbeat with its old epoch, with and without its instance."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.beat("A1", epoch=EpochOf("A1", back=1))
    s.beat("A1", instance=None, epoch=EpochOf("A1", back=1))
    s.beat("B1")


@case("CG-BEAT-EPOCH-OLDER")
def older_epoch(s: ConsumerScript) -> None:
    """A heartbeat has an epoch before the previous one."""
    s.reconciled("A1", "B1", "C1")
    s.beat("A1", epoch=1)
    s.beat("A1", "B1")


@case("CG-BEAT-EPOCH-OLDER")
def older_epoch_after_a_return(s: ConsumerScript) -> None:
    """After a return there is no previous epoch: each older one is fenced, also the holder's."""
    s.returned("B1")
    s.beat("A2", epoch=1)
    s.beat("A2", epoch=EpochOf("A1", back=2))
    s.beat("A2", "B1")


@case("CG-BEAT-REPEATED")
def lost_answer_with_a_new_epoch(s: ConsumerScript) -> None:
    """The answer with a new epoch was lost: the member says the old one again, and what it owns."""
    s.advanced()
    s.beat("A1", epoch=EpochOf("A1", back=1))
    s.beat("A1", "B1")


@case("CG-BEAT-REPEATED")
def lost_answer_and_nothing_owned(s: ConsumerScript) -> None:
    """The same, from a member that owns nothing."""
    s.advanced()
    s.beat("A1", epoch=EpochOf("A1", back=1), owns=())
    s.beat("A1")


@case("CG-BEAT-REPEATED", "CG-LEAVE-FOR-GOOD")
def lost_answer_and_a_new_target(s: ConsumerScript) -> None:
    """The same, when another member has left meanwhile: the target is made anew, and taken over."""
    s.advanced()
    s.leave("B1")
    s.beat("A1", epoch=EpochOf("A1", back=1))
    s.describe()


@case("CG-BEAT-REPEATED-CHANGED")
def lost_answer_and_other_topics(s: ConsumerScript) -> None:
    """The same, from a member that subscribes to another topic, too."""
    s.advanced()
    s.beat("A1", epoch=EpochOf("A1", back=1), subscribed_topic_names=BOTH)
    s.describe()


@case("CG-BEAT-EPOCH-PREVIOUS")
def previous_epoch_without_partitions(s: ConsumerScript) -> None:
    """The previous epoch, from a member that doesn't say what it owns."""
    s.advanced()
    s.keep("A1", epoch=EpochOf("A1", back=1))
    s.beat("A1")


@case("CG-BEAT-EPOCH-PREVIOUS")
def previous_epoch_with_more_partitions(s: ConsumerScript) -> None:
    """The previous epoch, from a member that owns more than it is assigned."""
    s.advanced()
    s.beat("A1", epoch=EpochOf("A1", back=1), owns=owned(*ALL))
    s.beat("A1", "B1")


@case("CG-BEAT-ALIVE")
def without_instance(s: ConsumerScript) -> None:
    """A static member's heartbeat needs no instance."""
    s.reconciled("A1", "B1")
    s.beat("A1", instance=None)
    s.keep("A1", "B1")
    s.describe()


@case("CG-BEAT-ALIVE")
def full_heartbeat(s: ConsumerScript) -> None:
    """A heartbeat that gives all fields is answered with the assignment."""
    s.reconciled("A1")
    s.beat("A1", subscribed_topic_names=("t",), rebalance_timeout_ms=9000)
    s.keep("A1")


@case("CG-BEAT-ALIVE")
def partitions_are_handed_on_after_acknowledgement(s: ConsumerScript) -> None:
    """A partition gets its new owner only after the old owner acknowledges that it gave all up."""
    s.join("A1", "B1")
    s.beat("A1")
    s.beat("A1", owns=OwnedOf("A1", back=1))
    for given_up in ALL:
        s.beat("A1", owns=owned(*(number for number in ALL if number != given_up)))
    s.keep("A1")
    s.beat("B1")
    s.beat("A1")
    s.beat("B1")
    s.describe()


@case("CG-BEAT-ALIVE", "CG-LEAVE-FOR-GOOD")
def target_comes_back(s: ConsumerScript) -> None:
    """A member is to give partitions up; the one that was to get them leaves before it did."""
    s.join("A1", "B1")
    s.beat("A1")
    s.leave("B1")
    s.beat("A1", "A1")
    s.describe()


@case("CG-BEAT-ALIVE-CHANGED")
def another_topic(s: ConsumerScript) -> None:
    """A member subscribes to another topic, too: it gets its partitions at once."""
    s.reconciled("A1", "B1")
    s.beat("A1", subscribed_topic_names=BOTH)
    s.beat("B1", "A1")
    s.describe()


@case("CG-BEAT-ALIVE-CHANGED")
def topic_given_up(s: ConsumerScript) -> None:
    """A member subscribes to another topic instead: it gives up the partitions of the first."""
    s.reconciled("A1", "B1")
    s.beat("A1", subscribed_topic_names=("u",))
    s.beat("A1", "B1")
    s.beat("B1", "A1")
    s.describe()


@case("CG-BEAT-ALIVE")
def another_assignor(s: ConsumerScript) -> None:
    """A member asks for another assignor; since 4.4 the target is made anew by that."""
    s.join("A1", server_assignor="uniform")
    s.beat("A1", server_assignor="range")
    s.beat("A1", server_assignor="range")
    s.keep("A1")
    s.describe()


@case("CG-BEAT-ALIVE")
def two_assignors(s: ConsumerScript) -> None:
    """Two members ask for two assignors: in 4.4 each heartbeat of one of them is a new epoch."""
    s.join("A1", server_assignor="range")
    s.join("B1", server_assignor="uniform")
    s.beat("A1", "A1", "A1")
    s.beat("B1", "B1", "B1")
    s.describe()


@case(
    "CG-BEAT-EXPRESSION-INVALID",
    "CG-BEAT-EPOCH-NEWER",
    "CG-BEAT-UNKNOWN-MEMBER",
    isolated=True,
)
def heartbeat_with_an_invalid_expression(s: ConsumerScript) -> None:
    """A heartbeat with an invalid expression is refused after all other checks."""
    s.reconciled("A1")
    s.beat("A1", subscribed_topic_regex="t[")
    s.beat("A1", subscribed_topic_regex="t[", epoch=EpochOf("A1", plus=7))
    s.beat("x", member_id=NOBODY, epoch=1, instance=None, owns=None, subscribed_topic_regex="t[")
    s.describe()
    s.beat("A1")
    s.leave("A1", subscribed_topic_regex="t[")
