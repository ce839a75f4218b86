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


@case("CG-LIST-GROUP")
def list_of_groups_in_each_state(s: ConsumerScript) -> None:
    """A list shows each group with its type and state: as a released member makes it, and Empty."""
    s.join("A1")
    s.join("b", group="other")
    s.list_groups()
    s.release("A1")
    s.leave("b", group="other")
    s.list_groups()


@case("CG-LIST-GROUP")
def list_while_partitions_move(s: ConsumerScript) -> None:
    """A list shows a group whose members have partitions to give up or to wait for."""
    s.join("A1", "B1")
    s.list_groups()
    s.beat("A1", "A1")
    s.list_groups()
    s.beat("B1")
    s.list_groups()


@case("CG-LIST-GROUP")
def list_by_state_and_type(s: ConsumerScript) -> None:
    """A list has only groups of the states and types that it asks for, in capitals or not."""
    s.join("A1")
    for states in (("Stable",), ("stable",), ("Empty",), ("Empty", "STABLE"), ("unheard of",)):
        s.list_groups(states=states)
    for types in (("consumer",), ("CONSUMER",), ("classic",), ("streams", "consumer")):
        s.list_groups(types=types)
    s.list_groups(states=("Stable",), types=("classic",))


@case("CG-LIST-GROUP")
def list_in_older_versions(s: ConsumerScript) -> None:
    """Up to version 3 a list shows neither state nor type, in version 4 no type."""
    s.join("A1")
    s.list_groups(version=3)
    s.list_groups(version=4, states=("Stable",))


@case("CG-LIST-SIMPLE")
def list_of_a_group_of_offsets(s: ConsumerScript) -> None:
    """A group that a commit made is listed as an Empty classic group of no protocol."""
    s.commit("x", member_id="", epoch=-1)
    s.list_groups()
    s.list_groups(types=("classic",))
    s.list_groups(types=("consumer",))


@case("CG-LIST-NO-GROUP")
def list_without_groups(s: ConsumerScript) -> None:
    """A list has no group that was deleted, nor one that only a refused request named."""
    s.beat("x", member_id="nobody", epoch=1)
    s.list_groups()
    s.join("A1")
    s.leave("A1")
    s.delete_groups()
    s.list_groups()


@case("CG-DESCRIBE-GROUP-ID-INVALID")
def description_without_a_group_name(s: ConsumerScript) -> None:
    """A description has the group id "", alone and beside another."""
    s.describe("")
    s.join("A1")
    s.describe("", "g")
