"""Leaves of the consumer protocol, for good and for a while, and removals by administrators."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import (
    NOBODY,
    ConsumerScript,
)

CASES = ConsumerScript.registry()
case = CASES.case


@case("CG-LEAVE-ID-MISSING", isolated=True)
def leave_without_id(s: ConsumerScript) -> None:
    """From version 1 on a leave must have a member id, for good and for a while."""
    s.reconciled("A1")
    s.leave("A1", member_id="")
    s.release("A1", member_id="")
    s.beat("A1")


@case("CG-LEAVE-ID-MISSING-LEGACY")
def leave_for_good_without_id(s: ConsumerScript) -> None:
    """In version 0 only a leave for a while may come without a member id."""
    s.reconciled("A1")
    s.leave("A1", member_id="", version=0)
    s.beat("A1")


@case("CG-LEAVE-GROUP-ID-INVALID", isolated=True)
def empty_group_id(s: ConsumerScript) -> None:
    """A leave names no group."""
    s.leave("A1", group="")


@case("CG-LEAVE-ID-BLANK")
def blank_instance(s: ConsumerScript) -> None:
    """A leave with an empty instance id is refused, for good and for a while."""
    s.reconciled("A1")
    s.leave("A1", instance="")
    s.release("A1", instance="")
    s.beat("A1")


@case("CG-LEAVE-EPOCH-INVALID", isolated=True)
def epoch_below_minus_2(s: ConsumerScript) -> None:
    """A heartbeat has an epoch below -2."""
    s.reconciled("A1")
    s.release("A1", epoch=-3)
    s.beat("A1")


@case("CG-LEAVE-RELEASE-BARE", "CG-JOIN-UNRELEASED")
def release_without_instance(s: ConsumerScript) -> None:
    """A live static member sends -2 without its instance: it isn't released."""
    s.reconciled("A1", "B1")
    s.release("A1", instance=None)
    s.join("A2")
    s.beat("A1", "B1")


@case("CG-LEAVE-RELEASE-BARE")
def release_of_nobody(s: ConsumerScript) -> None:
    """An unknown id, and a dynamic member, send -2 without an instance."""
    s.reconciled("A1", "m")
    s.release("x", member_id=NOBODY)
    s.release("m")
    s.beat("A1", "m")


@case("CG-LEAVE-ASSIGNOR-UNKNOWN")
def unknown_assignor(s: ConsumerScript) -> None:
    """A leave asks for an assignor that the broker doesn't have."""
    s.reconciled("A1")
    s.leave("A1", server_assignor="sticky")
    s.beat("A1")


@case("CG-LEAVE-RELEASE")
def release(s: ConsumerScript) -> None:
    """A static member leaves for a while: it stays a member with its partitions."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.beat("B1")
    s.describe()


@case("CG-LEAVE-RELEASE")
def release_while_giving_up(s: ConsumerScript) -> None:
    """A member is released while it has partitions to give up: these are free at once."""
    s.join("A1", "B1")
    s.beat("A1")
    s.release("A1")
    s.beat("B1")
    s.describe()


@case("CG-LEAVE-RELEASE", "CG-JOIN-STATIC-NEW")
def others_wait_for_a_released_member(s: ConsumerScript) -> None:
    """While a member is away its partitions stay with it, though the target gives them away."""
    s.reconciled("A1", "B1")
    s.release("A1", "B1")
    s.join("C1")
    s.beat("C1")
    s.describe()


@case("CG-LEAVE-RELEASE-AGAIN")
def release_again(s: ConsumerScript) -> None:
    """A released member says -2 again, as after a lost answer."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.release("A1")
    s.join("A2")
    s.beat("B1")


@case("CG-LEAVE-INSTANCE-FENCED")
def zombie_leaves(s: ConsumerScript) -> None:
    """A replaced process leaves, for good and for a while: its successor stays."""
    s.returned("B1")
    s.leave("A1")
    s.release("A1")
    s.beat("A2", "B1")


@case("CG-LEAVE-INSTANCE-FENCED")
def another_member_leaves_for_it(s: ConsumerScript) -> None:
    """An unknown id, and another member, leave with the instance of a member."""
    s.reconciled("A1", "B1")
    s.leave("x", member_id=NOBODY, instance="A")
    s.release("x", member_id=NOBODY, instance="A")
    s.release("B1", instance="A")
    s.beat("A1", "B1")


@case("CG-LEAVE-INSTANCE-FENCED")
def release_without_id(s: ConsumerScript) -> None:
    """In version 0 a leave for a while comes without a member id."""
    s.reconciled("A1")
    s.release("A1", member_id="", version=0)
    s.beat("A1")


@case("CG-LEAVE-INSTANCE-UNMAPPED")
def unmapped_instance(s: ConsumerScript) -> None:
    """A leave with an unmapped instance, for good and for a while, also of a dynamic member."""
    s.reconciled("A1", "m")
    s.leave("A1", instance="C")
    s.release("A1", instance="C")
    s.release("m", instance="C")
    s.beat("A1", "m")


@case("CG-LEAVE-UNKNOWN-MEMBER")
def unknown_member(s: ConsumerScript) -> None:
    """An unknown id leaves for good."""
    s.reconciled("A1")
    s.leave("x", member_id=NOBODY)
    s.beat("A1")


@case("CG-LEAVE-FOR-GOOD", "CG-BEAT-ALIVE")
def leave_for_good(s: ConsumerScript) -> None:
    """A static member leaves for good: its instance is free, and others get its partitions."""
    s.reconciled("A1", "B1")
    s.leave("A1")
    s.beat("B1")
    s.join("A2")
    s.describe()


@case("CG-LEAVE-FOR-GOOD")
def leave_for_good_by_its_id(s: ConsumerScript) -> None:
    """A static member leaves for good by its id alone: its instance is free; a dynamic one, too."""
    s.reconciled("A1", "m")
    s.leave("A1", instance=None)
    s.leave("m")
    s.describe()
    s.join("A2")


@case("CG-LEAVE-FOR-GOOD", "CG-LEAVE-RELEASE")
def leave_for_good_after_a_release(s: ConsumerScript) -> None:
    """A released member leaves for good: its instance is free at once."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.leave("A1")
    s.beat("B1")
    s.join("A2")


@case("CG-LEAVE-FOR-GOOD")
def last_member_leaves(s: ConsumerScript) -> None:
    """The last member leaves for good: the group is empty, and its epoch has grown."""
    s.join("A1")
    s.leave("A1")
    s.describe()


@case("CG-LEAVE-FOR-GOOD")
def leave_while_others_reconcile(s: ConsumerScript) -> None:
    """A member leaves for good with an older epoch than the group's: that isn't checked."""
    s.reconciled("A1", "B1")
    s.join("C1")
    s.leave("A1")
    s.beat("B1", "B1", "C1")
    s.describe()


# Administrators.


@case("CG-REMOVE-GROUP-ID-INVALID")
def removal_without_group(s: ConsumerScript) -> None:
    """A removal names no group."""
    s.remove(("", "A"), group="")


@case("CG-REMOVE-GROUP-ABSENT")
def removal_from_an_absent_group(s: ConsumerScript) -> None:
    """Each row of a removal from an absent group fails on its own."""
    s.remove(("", "A"), (NOBODY, None))


@case("CG-REMOVE-GROUP-ABSENT-LEGACY")
def old_removal_from_an_absent_group(s: ConsumerScript) -> None:
    """Below version 3 a removal has one error."""
    s.leave_legacy("admin", member_id=NOBODY)


@case("CG-REMOVE-BY-INSTANCE")
def removal_by_instance(s: ConsumerScript) -> None:
    """An administrator removes a live member by its instance alone."""
    s.reconciled("A1", "B1")
    s.remove(("", "A"))
    s.beat("B1")
    s.join("A2")
    s.describe()


@case("CG-REMOVE-BY-INSTANCE")
def removal_of_a_released_member(s: ConsumerScript) -> None:
    """An administrator removes a released member: its instance is free at once."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.remove(("", "A"))
    s.beat("B1")
    s.describe()


@case("CG-REMOVE-INSTANCE-FENCED")
def removal_with_a_wrong_id(s: ConsumerScript) -> None:
    """A row of a removal names an instance and another member's id."""
    s.reconciled("A1", "B1")
    s.remove((NOBODY, "A"))
    s.remove(("B1", "A"))
    s.beat("A1", "B1")


@case("CG-REMOVE-INSTANCE-UNMAPPED")
def removal_of_an_unmapped_instance(s: ConsumerScript) -> None:
    """A row of a removal names an unmapped instance, with and without a member's id."""
    s.reconciled("A1")
    s.remove(("", "C"))
    s.remove(("A1", "C"))
    s.beat("A1")


@case("CG-REMOVE-UNKNOWN")
def removal_of_an_unknown_member(s: ConsumerScript) -> None:
    """A row of a removal names an unknown id."""
    s.reconciled("A1")
    s.remove((NOBODY, None))
    s.beat("A1")


@case("CG-REMOVE-NOBODY")
def removal_of_nobody(s: ConsumerScript) -> None:
    """A row of a removal names neither an id nor an instance."""
    s.reconciled("A1")
    s.remove(("", None))
    s.beat("A1")


@case("CG-REMOVE-MEMBER")
def removal_by_id(s: ConsumerScript) -> None:
    """An administrator removes a static member by its id, with and without the instance."""
    s.reconciled("A1", "B1")
    s.remove(("A1", None))
    s.remove(("B1", "B"))
    s.describe()


@case("CG-REMOVE-ROWS", "CG-REMOVE-BY-INSTANCE", "CG-REMOVE-MEMBER")
def removal_of_several(s: ConsumerScript) -> None:
    """Each row of a removal is handled on its own; the epoch grows once for all."""
    s.reconciled("A1", "B1", "m")
    s.remove(("", "A"), (NOBODY, "B"), ("", "C"), ("m", None))
    s.beat("B1")
    s.describe()
