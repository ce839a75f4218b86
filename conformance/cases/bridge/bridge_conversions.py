"""Conversions of groups: upgrades of classic groups, their refusals, and downgrades."""

from __future__ import annotations

from fencepost.conformance.cases.bridge.bridge_script import (
    BridgeScript,
    owning,
    policy,
)
from fencepost.conformance.cases.consumer.consumer_script import BOTH, FULL
from fencepost.conformance.cases.script import RENEWED
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = BridgeScript.registry()
case = CASES.case

# Upgrades.


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC", "MG-HEARTBEAT", "MG-HEARTBEAT-INSTANCE-FENCED")
def upgrade_by_a_restarted_member(s: BridgeScript) -> None:
    """A static member restarts with the consumer protocol: it has its place, others go on."""
    s.upgraded()
    s.describe()
    s.classic.beat("B1", "A1")
    s.beat("A2")


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC-CHANGED", "MG-HEARTBEAT-REJOIN")
def upgrade_with_another_subscription(s: BridgeScript) -> None:
    """A restarted member brings the consumer protocol and another topic: the epoch grows."""
    s.classic.stable("A1", "B1")
    s.join("A2", topics=BOTH)
    s.classic.beat("B1")
    s.describe()


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC")
def upgrade_under_the_same_id(s: BridgeScript) -> None:
    """A live static member joins by the consumer protocol under its own id."""
    s.classic.stable("A1", "B1")
    s.join("A1", member_id=IdOf("A1"))
    s.classic.beat("A1", "B1")
    s.describe()


@case("MG-UPGRADE", "CG-JOIN-DYNAMIC-NEW", "MG-HEARTBEAT-REJOIN")
def upgrade_by_a_newcomer(s: BridgeScript) -> None:
    """A new dynamic member of the consumer protocol joins a classic group: its members rejoin."""
    s.classic.stable("A1", "B1")
    s.join("m")
    s.classic.beat("A1")
    s.describe()
    s.classic.joined("A1", "B1")
    s.beat("m")
    s.describe()


@case("MG-UPGRADE", "CG-JOIN-STATIC-NEW")
def upgrade_by_a_new_instance(s: BridgeScript) -> None:
    """A new static member of the consumer protocol joins a classic group."""
    s.classic.stable("A1", "B1")
    s.join("C1")
    s.describe()
    s.classic.beat("A1", "B1")


@case("MG-UPGRADE", "MG-HEARTBEAT")
def upgrade_of_dynamic_members(s: BridgeScript) -> None:
    """A classic group with a dynamic member is upgraded: that member stays."""
    s.classic.stable("A1", "b")
    s.join("A2")
    s.classic.beat("b")
    s.describe()


@case("MG-UPGRADE")
def parked_join_during_an_upgrade(s: BridgeScript) -> None:
    """A classic group is upgraded while a join is parked: that hears REBALANCE_IN_PROGRESS."""
    s.classic.stable("A1", "B1")
    s.classic.join("C1", settle=True)
    s.join("A2")
    s.classic.wait("C1")
    s.describe()
    s.classic.beat("B1")


@case("MG-UPGRADE")
def parked_sync_during_an_upgrade(s: BridgeScript) -> None:
    """A classic group is upgraded while a sync is parked: that hears REBALANCE_IN_PROGRESS."""
    s.classic.completing("A1", "B1")
    s.classic.sync("B1", settle=True)
    s.join("A2")
    s.classic.wait("B1")
    s.describe()
    s.classic.beat("B1")


@case("MG-UPGRADE", "MG-COMMIT")
def offsets_after_an_upgrade(s: BridgeScript) -> None:
    """Offsets of a classic group are those of the consumer group; its classic members commit."""
    s.classic.stable("A1", "B1")
    s.classic.commit("B1", offset=4, version=8)
    s.join("A2")
    s.fetch("A2")
    s.classic.commit("B1", offset=5, version=8)
    s.fetch("A2")


@case("MG-UPGRADE-EMPTY", "CG-JOIN-STATIC-NEW")
def upgrade_of_an_empty_group(s: BridgeScript) -> None:
    """A classic group without members gives way to a consumer group, with its offsets."""
    s.classic.stable("A1")
    s.classic.commit("A1", offset=4, version=8)
    s.classic.leave("admin", ("", "A"))
    s.join("A2")
    s.describe()
    s.fetch("A2")


@case("MG-UPGRADE", "CG-JOIN-RETURN", "MG-DOWNGRADE-REPLACED")
def whole_roll_and_back(s: BridgeScript) -> None:
    """All members restart with the consumer protocol, and later with the classic one again."""
    s.upgraded()
    s.classic.beat("B1")
    s.join("B2")
    s.beat("A2", "B2")
    s.describe()
    s.release("A2")
    s.join("A3")
    s.release("A3")
    s.classic.joined("A4")
    s.beat("B2")
    s.release("B2")
    s.classic.joined("B3")
    s.classic.beat("A4", "B3")
    s.describe()


# Refusals of upgrades.


@case("MG-UPGRADE-POLICY", config=policy("disabled"))
def upgrade_that_is_disabled(s: BridgeScript) -> None:
    """The migration policy is disabled: the group isn't there for the consumer protocol."""
    s.upgraded()
    s.classic.beat("A1", "B1")


@case("MG-UPGRADE-POLICY", config=policy("downgrade"))
def upgrade_where_only_downgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows downgrades only."""
    s.upgraded()
    s.classic.beat("A1", "B1")


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC", config=policy("upgrade"))
def upgrade_where_only_upgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows upgrades only."""
    s.upgraded()
    s.classic.beat("B1")
    s.describe()


@case("MG-UPGRADE-PROTOCOL-TYPE")
def upgrade_of_other_workers(s: BridgeScript) -> None:
    """The members of a classic group are no consumers."""
    s.classic.stable("A1", protocol_type="connect")
    s.join("A2")
    s.classic.beat("A1")


@case("MG-UPGRADE-SIZE", config=FULL)
def upgrade_of_a_group_that_is_too_large(s: BridgeScript) -> None:
    """A classic group has more members than consumer groups may have."""
    s.classic.stable("A1", "B1", "C1")
    s.join("A2")
    s.classic.beat("A1", "B1", "C1")


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC", config=FULL)
def upgrade_of_a_full_group(s: BridgeScript) -> None:
    """A classic group of the largest size is upgraded by a member under its own id."""
    s.classic.stable("A1", "B1")
    s.join("A1", member_id=IdOf("A1"))
    s.classic.beat("B1")
    s.describe()


@case("SYNC-COMPLETING-LEADER", named="MG-UPGRADE", config=FULL)
def restart_in_a_full_group(s: BridgeScript) -> None:
    """A member of a full classic group restarts with the consumer protocol; since 4.4 it may."""
    s.upgraded()
    s.classic.beat("B1")
    s.describe()


@case("CG-JOIN-GROUP-FULL", config=FULL)
def newcomer_to_a_full_classic_group(s: BridgeScript) -> None:
    """A newcomer of the consumer protocol finds a classic group full, which stays classic."""
    s.classic.stable("A1", "B1")
    s.join("C1")
    s.classic.beat("A1", "B1")


@case("MG-UPGRADE-ASSIGNOR")
def upgrade_of_a_group_whose_assignor_has_data(s: BridgeScript) -> None:
    """An assignment has user data, which nobody but its assignor can read."""
    s.classic.user_data = b"sticky"
    s.upgraded()
    s.classic.beat("A1", "B1")


@case("MG-UPGRADE", "CG-JOIN-TAKE-CLASSIC")
def upgrade_of_a_group_whose_subscriptions_have_data(s: BridgeScript) -> None:
    """Only a subscription has user data: that is no obstacle."""
    s.upgraded(protocols=owning(user_data=b"sticky"))
    s.classic.beat("B1")


@case("CG-BEAT-GROUP-ABSENT", "CG-LEAVE-GROUP-ABSENT", "CG-DESCRIBE-ABSENT")
def heartbeats_in_a_classic_group(s: BridgeScript) -> None:
    """For heartbeats, leaves and descriptions of the consumer protocol there is no such group."""
    s.classic.stable("A1")
    s.beat("A1", member_id=IdOf("A1"), epoch=GenerationOf("A1"))
    s.leave("A1", member_id=IdOf("A1"))
    s.release("A1", member_id=IdOf("A1"))
    s.describe()
    s.classic.beat("A1")


@case("CG-JOIN-FIELDS-MISSING", "CG-JOIN-ASSIGNOR-UNKNOWN", "CG-DESCRIBE-ABSENT")
def wrong_joins_of_a_classic_group(s: BridgeScript) -> None:
    """A join that is refused by itself doesn't upgrade the group."""
    s.classic.stable("A1")
    s.join("A2", rebalance=-1)
    s.join("A2", server_assignor="sticky")
    s.describe()
    s.classic.beat("A1")


# Downgrades.


@case("MG-DOWNGRADE-REPLACED", "MG-JOIN-REPLACE", "CG-BEAT-GROUP-ABSENT")
def downgrade_by_a_return(s: BridgeScript) -> None:
    """The only member is released and returns with the classic protocol: the group is classic."""
    s.join("A1")
    s.release("A1")
    s.classic.join("A2", wait=True)
    s.classic.sync("A2", wait=True)
    s.classic.beat("A2")
    s.beat("A1", epoch=2)
    s.describe()


@case("MG-DOWNGRADE-REPLACED", "MG-JOIN-REPLACE")
def downgrade_by_a_second_process(s: BridgeScript) -> None:
    """A classic process takes the place of the only member, which is live."""
    s.join("A1")
    s.classic.joined("A2")
    s.classic.beat("A2")
    s.describe()


@case("MG-DOWNGRADE-REPLACED", "SYNC-STABLE")
def downgrade_of_a_group_with_classic_members(s: BridgeScript) -> None:
    """The last member of the consumer protocol is replaced by a classic one."""
    s.mixed()
    s.release("B1")
    s.classic.joined("B2")
    s.classic.sync("A2", wait=True)
    s.classic.beat("A2", "B2")


@case("MG-DOWNGRADE-CHANGED")
def downgrade_with_another_subscription(s: BridgeScript) -> None:
    """The only member returns with the classic protocol and another topic: it must join again."""
    s.join("A1")
    s.release("A1")
    s.classic.join("A2", protocols=RENEWED, wait=True)
    s.classic.beat("A2")
    s.classic.beat("A2", generation=2)
    s.classic.beat("A2", generation=1)
    s.classic.joined("A2", protocols=RENEWED)
    s.classic.beat("A2")


@case("MG-DOWNGRADE-LEFT")
def downgrade_by_a_leave(s: BridgeScript) -> None:
    """The last member of the consumer protocol leaves: the group is classic, and rebalances."""
    s.mixed()
    s.leave("B1")
    s.classic.beat("A2")
    s.classic.join("A2", wait=True)
    s.classic.synced("A2")
    s.classic.beat("A2")


@case("MG-DOWNGRADE-LEFT", "CG-JOIN-STATIC-NEW")
def downgrade_with_an_older_generation(s: BridgeScript) -> None:
    """The last member leaves while a classic one has an older generation."""
    s.reconciled("A1")
    s.join("B1")
    s.classic.joined("A2")
    s.join("C1")
    s.leave("C1")
    s.leave("B1")
    s.classic.beat("A2")


@case("MG-DOWNGRADE-LEFT", "MG-SYNC")
def downgrade_after_a_rejoin(s: BridgeScript) -> None:
    """A classic member has joined the newest generation when the last other one leaves."""
    s.mixed()
    s.join("C1")
    s.classic.joined("A2")
    s.leave("C1")
    s.describe()
    s.leave("B1")
    s.classic.beat("A2")


@case("MG-DOWNGRADE-LEFT", "CG-REMOVE-BY-INSTANCE")
def downgrade_by_an_administrator(s: BridgeScript) -> None:
    """An administrator removes the last member of the consumer protocol."""
    s.mixed()
    s.remove(("", "B"))
    s.classic.beat("A2")
    s.describe()


@case("MG-DOWNGRADE-POLICY", config=policy("upgrade"))
def downgrade_where_only_upgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows upgrades only: a group of classic members stays as it is."""
    s.mixed()
    s.leave("B1")
    s.describe()
    s.classic.beat("A2")
    s.classic.joined("A2")
    s.classic.beat("A2")


@case("MG-DOWNGRADE-POLICY", "MG-JOIN-REPLACE", config=policy("upgrade"))
def replacement_where_only_upgrades_are_allowed(s: BridgeScript) -> None:
    """A classic process replaces the last other member, and the group stays as it is."""
    s.join("A1")
    s.classic.joined("A2")
    s.describe()
    s.classic.beat("A2")


@case("MG-DOWNGRADE-REPLACED", config=policy("downgrade"))
def downgrade_where_only_downgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows downgrades only."""
    s.join("A1")
    s.classic.joined("A2")
    s.describe()
    s.classic.beat("A2")


@case("MG-DOWNGRADE-SIZE", config={"group.max.size": 1})
def downgrade_of_a_group_that_is_too_large(s: BridgeScript) -> None:
    """The remaining members are more than classic groups may have: the group stays as it is."""
    s.reconciled("A1", "B1", "C1")
    s.classic.joined("A2", "B2")
    s.leave("C1")
    s.describe()
    s.classic.beat("A2")


@case("JOIN-STATIC-EMPTY-NEW", "CG-LEAVE-FOR-GOOD")
def empty_group_becomes_classic(s: BridgeScript) -> None:
    """A consumer group without members is classic for a classic newcomer, with its offsets."""
    s.join("A1")
    s.commit("A1")
    s.leave("A1")
    s.classic.stable("A2")
    s.classic.beat("A2")
    s.classic.fetch("A2")
    s.describe()


@case("MG-DOWNGRADE-REPLACED", "SYNC-STABLE")
def downgrade_while_partitions_move(s: BridgeScript) -> None:
    """A classic process replaces the last other member, and another has not given up yet."""
    s.classic.stable("A1")
    s.join("B1")
    s.classic.join("B2", wait=True)
    s.classic.sync("B2", wait=True)
    s.classic.beat("B2")
    s.classic.beat("A1")


@case("MG-UPGRADE", "CG-LIST-GROUP")
def list_before_and_after_an_upgrade(s: BridgeScript) -> None:
    """A list shows a classic group, and after its upgrade one of the consumer protocol."""
    s.classic.stable("A1", "B1")
    s.list_groups()
    s.join("A2")
    s.list_groups()
    s.list_groups(types=("classic",))
