"""Descriptions and deletions of groups of the consumer protocol."""

from __future__ import annotations

from fencepost.conformance.cases.consumer.consumer_script import ConsumerScript

CASES = ConsumerScript.registry()
case = CASES.case


@case("CG-DESCRIBE-GROUP")
def description_of_a_released_member(s: ConsumerScript) -> None:
    """A description shows a released member with epoch -2 and its partitions."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.describe()
    s.describe(version=0)


@case("CG-DESCRIBE-GROUP")
def description_while_partitions_move(s: ConsumerScript) -> None:
    """A description of a member that has partitions to give up."""
    s.join("A1", "B1")
    s.describe()
    s.beat("A1")
    s.describe()
    s.beat("A1")
    s.describe()
    s.beat("B1")
    s.describe()


@case("CG-DESCRIBE-GROUP")
def epochs_of_a_new_group(s: ConsumerScript) -> None:
    """A description shows the first epoch of a group, and the epoch after a second member."""
    s.join("A1")
    s.describe()
    s.join("B1")
    s.describe()


@case("CG-DESCRIBE-GROUP")
def epochs_of_an_empty_group(s: ConsumerScript) -> None:
    """A description of a group whose last member left, and of its next first member."""
    s.join("A1")
    s.leave("A1")
    s.describe()
    s.join("A2")
    s.describe()


@case("CG-DESCRIBE-ABSENT")
def description_of_an_absent_group(s: ConsumerScript) -> None:
    """A group that doesn't exist can't be described."""
    s.describe("other")


@case("CG-DESCRIBE-CLASSIC")
def description_as_a_classic_group(s: ConsumerScript) -> None:
    """For DescribeGroups version 6 there is no group of this protocol."""
    s.join("A1")
    s.describe_as_classic(version=6)


@case("CG-DESCRIBE-CLASSIC-LEGACY")
def description_as_a_classic_group_below_6(s: ConsumerScript) -> None:
    """For DescribeGroups below version 6 a group of this protocol is Dead."""
    s.join("A1")
    s.describe_as_classic(version=5)


@case("CG-DESCRIBE-CLASSIC-SIMPLE", "CG-DESCRIBE-ABSENT")
def descriptions_of_a_group_of_offsets(s: ConsumerScript) -> None:
    """A group that a commit made is of no protocol: DescribeGroups has it."""
    s.commit("x", member_id="", epoch=-1)
    s.describe_as_classic(version=6)
    s.describe()
    s.delete_groups()
    s.describe_as_classic(version=6)


@case("CG-DELETE-MEMBERS")
def deletion_of_a_group_with_a_released_member(s: ConsumerScript) -> None:
    """A group whose only member is released isn't empty."""
    s.join("A1")
    s.delete_groups()
    s.release("A1")
    s.delete_groups()
    s.join("A2")


@case("CG-DELETE-EMPTY", "CG-DESCRIBE-ABSENT")
def deletion_of_an_empty_group(s: ConsumerScript) -> None:
    """A group without members is deleted."""
    s.join("A1")
    s.leave("A1")
    s.delete_groups()
    s.describe()


@case("CG-DELETE-ABSENT")
def deletion_of_an_absent_group(s: ConsumerScript) -> None:
    """Only a group that exists can be deleted."""
    s.delete_groups()
