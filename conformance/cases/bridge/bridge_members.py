"""Requests of classic members in consumer groups, and of consumer members about classic ones."""

from __future__ import annotations

from fencepost.conformance.cases.bridge.bridge_script import (
    HOLDING_ALL,
    BridgeScript,
    owning,
    policy,
)
from fencepost.conformance.cases.consumer.consumer_offsets import BY_IDS
from fencepost.conformance.cases.consumer.consumer_script import BOTH, FULL
from fencepost.conformance.cases.script import NOBODY, RENEWED, STICKY
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = BridgeScript.registry()
case = CASES.case

_BROKEN = (("range", owning()[0][1][:5]),)
"""A subscription that ends in the middle of a field."""

# Joins of classic members.


@case("MG-JOIN-REPLACE", "MG-SYNC", "CG-BEAT-INSTANCE-FENCED")
def classic_process_replaces_a_live_member(s: BridgeScript) -> None:
    """A classic process takes the place of a live member of the consumer protocol at once."""
    s.mixed()
    s.classic.beat("A2")
    s.beat("A1", "B1")
    s.describe()


@case("MG-JOIN-REPLACE", "MG-SYNC", "CG-LEAVE-RELEASE")
def classic_process_replaces_a_released_member(s: BridgeScript) -> None:
    """A released member returns with the classic protocol: it has its place."""
    s.reconciled("A1", "B1")
    s.release("A1")
    s.classic.joined("A2")
    s.classic.beat("A2")
    s.beat("B1")
    s.describe()


@case("MG-JOIN-REPLACE", "MG-HEARTBEAT-INSTANCE-FENCED", "MG-SYNC-INSTANCE-FENCED")
def classic_process_replaces_another(s: BridgeScript) -> None:
    """A classic process replaces another: it gets a new id, and the generation stays."""
    s.mixed()
    s.classic.joined("A3")
    s.classic.beat("A2", "A3")
    s.classic.sync("A2", wait=True)
    s.beat("B1")
    s.describe()


@case("MG-HEARTBEAT-UNKNOWN-MEMBER", "MG-SYNC-UNKNOWN-MEMBER", "MG-JOIN-REPLACE")
def replaced_id_without_instance(s: BridgeScript) -> None:
    """A replaced id without its instance is unknown."""
    s.mixed()
    s.classic.joined("A3")
    s.classic.beat("A2", instance=None)
    s.classic.sync("A2", instance=None, wait=True)
    s.classic.beat("A3")


@case("MG-JOIN-REPLACE")
def replacement_with_another_subscription(s: BridgeScript) -> None:
    """A classic process replaces a member, and subscribes to another topic, too."""
    s.mixed()
    s.classic.join("A3", protocols=RENEWED, wait=True)
    s.describe()
    s.beat("B1")


@case("MG-JOIN-STATIC", "MG-SYNC")
def new_classic_instance(s: BridgeScript) -> None:
    """A new instance joins a consumer group by the classic protocol."""
    s.reconciled("A1")
    s.classic.join("B1", wait=True)
    s.describe()
    s.beat("A1", "A1")
    s.classic.sync("B1", wait=True)
    s.describe()


@case("MG-JOIN-ID-REQUIRED", "MG-JOIN-DYNAMIC", "MG-SYNC")
def new_dynamic_member(s: BridgeScript) -> None:
    """A dynamic member joins by the classic protocol: it gets an id, and then joins with it."""
    s.reconciled("A1")
    s.classic.join("m", wait=True)
    s.describe()
    s.classic.join("m", wait=True)
    s.classic.sync("m", wait=True)
    s.describe()


@case("MG-JOIN-DYNAMIC-LEGACY")
def new_dynamic_member_in_one_request(s: BridgeScript) -> None:
    """Up to version 3 of JoinGroup a dynamic member joins at once."""
    s.reconciled("A1")
    s.classic.join("m", version=3, wait=True)
    s.describe()


@case("MG-JOIN-DYNAMIC")
def unknown_id_joins(s: BridgeScript) -> None:
    """An id that nobody made joins without an instance: it is a new member."""
    s.reconciled("A1")
    s.classic.join("m", member_id=NOBODY, wait=True)
    s.describe()


@case("MG-JOIN-AGAIN")
def member_joins_again(s: BridgeScript) -> None:
    """A classic member joins again, with its instance, and by its id alone."""
    s.mixed()
    s.classic.join("A2", wait=True)
    s.classic.join("A2", instance=None, wait=True)
    s.classic.sync("A2", wait=True)
    s.classic.beat("A2")
    s.describe()


@case("MG-JOIN-AGAIN", "MG-HEARTBEAT-REJOIN")
def member_joins_again_with_another_subscription(s: BridgeScript) -> None:
    """A classic member joins again with another topic, too: the epoch grows."""
    s.reconciled("A1", "B1", "C1")
    s.classic.joined("A2", "B2")
    s.classic.join("A2", protocols=RENEWED, wait=True)
    s.classic.beat("B2")
    s.describe()


@case("MG-JOIN-AGAIN", "CG-BEAT-INSTANCE-FENCED")
def consumer_member_becomes_classic(s: BridgeScript) -> None:
    """A member of the consumer protocol joins by the classic one under its own id."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", member_id="A1", wait=True)
    s.classic.sync("A2", wait=True)
    s.classic.beat("A2")
    s.describe()
    s.classic.joined("A3")
    s.beat("A1")


@case("MG-JOIN-INSTANCE-FENCED")
def unknown_id_brings_a_mapped_instance(s: BridgeScript) -> None:
    """An unknown id, a replaced one and another member bring a mapped instance."""
    s.mixed()
    s.classic.join("A2", member_id=NOBODY, wait=True)
    s.classic.join("A2", instance="B", wait=True)
    s.classic.joined("A3")
    s.classic.join("A2", wait=True)
    s.classic.beat("A3")


@case("MG-JOIN-INSTANCE-UNMAPPED")
def known_id_brings_an_unmapped_instance(s: BridgeScript) -> None:
    """A classic member, and an unknown id, join with an unmapped instance."""
    s.mixed()
    s.classic.join("A2", instance="C", wait=True)
    s.classic.join("C1", member_id=NOBODY, wait=True)
    s.classic.beat("A2")


@case("CG-JOIN-CHANGE-INSTANCE", named="MG-JOIN-INSTANCE-DANGLING")
def instance_of_an_id_that_is_gone(s: BridgeScript) -> None:
    """A member changed its instance and left; then a classic process brings the old one."""
    s.reconciled("A1", "m")
    s.join("A1", instance="B")
    s.leave("A1", instance="B")
    s.classic.join("A2", wait=True)
    s.describe()


@case("MG-JOIN-GROUP-FULL", config=FULL)
def newcomers_to_a_full_group(s: BridgeScript) -> None:
    """A new instance, a new dynamic member and an unknown id find a full group."""
    s.mixed()
    s.classic.join("C1", wait=True)
    s.classic.join("m", wait=True)
    s.classic.join("n", member_id=NOBODY, wait=True)
    s.classic.beat("A2")
    s.beat("B1")


@case("CG-JOIN-STATIC-NEW", named="MG-JOIN-GROUP-FULL", config=FULL)
def replacement_in_a_full_group(s: BridgeScript) -> None:
    """A classic process brings a mapped instance to a full group; since 4.4 it has its place."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", wait=True)
    s.describe()
    s.release("B1")
    s.classic.join("B2", wait=True)
    s.describe()


@case("CG-JOIN-STATIC-NEW", named="MG-JOIN-POLICY", config=policy("disabled"))
def classic_join_where_migration_is_disabled(s: BridgeScript) -> None:
    """The migration policy is disabled; since 4.3.1 a consumer group takes no classic member."""
    s.reconciled("A1", "B1")
    s.classic.join("C1", wait=True)
    s.classic.join("A2", wait=True)
    s.beat("B1")
    s.describe()


@case("MG-JOIN-STATIC", config=policy("downgrade"))
def classic_join_where_only_downgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows downgrades only: classic members may join."""
    s.reconciled("A1")
    s.classic.join("B1", wait=True)
    s.describe()


@case("MG-JOIN-STATIC", config=policy("upgrade"))
def classic_join_where_only_upgrades_are_allowed(s: BridgeScript) -> None:
    """The migration policy allows upgrades only: classic members may join."""
    s.reconciled("A1")
    s.classic.join("B1", wait=True)
    s.describe()


@case("MG-JOIN-SUBSCRIPTION-BROKEN")
def broken_subscription(s: BridgeScript) -> None:
    """A classic process has a subscription that nobody can read."""
    s.reconciled("A1", "B1")
    s.classic.join("C1", protocols=_BROKEN, wait=True)
    s.classic.join("A2", protocols=_BROKEN, wait=True)
    s.beat("A1", "B1")
    s.describe()


@case("MG-JOIN-PROTOCOLS-INCONSISTENT")
def other_protocols(s: BridgeScript) -> None:
    """A classic process shares no protocol with the other classic members, or is no consumer."""
    s.mixed()
    s.classic.join("C1", protocols=STICKY, wait=True)
    s.classic.join("C1", protocol_type="connect", wait=True)
    s.classic.beat("A2")
    s.describe()


# Syncs.


@case("MG-SYNC-REJOIN", "MG-JOIN-AGAIN")
def sync_in_a_newer_epoch(s: BridgeScript) -> None:
    """A member joins before a classic one syncs: that must join again."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", wait=True)
    s.join("C1")
    s.classic.sync("A2", wait=True)
    s.classic.joined("A2")
    s.describe()


@case("MG-SYNC-ILLEGAL-GENERATION", "MG-HEARTBEAT-ILLEGAL-GENERATION")
def other_generation(s: BridgeScript) -> None:
    """A sync and heartbeats have a generation that isn't the member's epoch."""
    s.mixed()
    s.classic.sync("A2", generation=99, wait=True)
    s.classic.beat("A2", generation=99)
    s.classic.beat("A2", generation=1)
    s.classic.beat("A2")


@case("MG-SYNC-INSTANCE-UNMAPPED", "MG-HEARTBEAT-INSTANCE-UNMAPPED")
def unmapped_instance(s: BridgeScript) -> None:
    """A sync and a heartbeat name an unmapped instance."""
    s.mixed()
    s.classic.sync("A2", instance="C", wait=True)
    s.classic.beat("A2", instance="C")
    s.classic.beat("A2")


@case("MG-SYNC-CONSUMER-MEMBER", "MG-HEARTBEAT-CONSUMER-MEMBER")
def requests_of_a_consumer_member(s: BridgeScript) -> None:
    """A member of the consumer protocol sends a sync and a heartbeat of the classic one."""
    s.mixed()
    s.classic.sync(
        "B1",
        member_id="B1",
        generation=3,
        protocol_type="consumer",
        protocol_name="range",
        wait=True,
    )
    s.classic.beat("B1", member_id="B1", generation=3)
    s.beat("B1")


@case("MG-SYNC-PROTOCOL", "MG-SYNC-PROTOCOL-NULL", "MG-SYNC")
def sync_of_another_protocol(s: BridgeScript) -> None:
    """A sync names another protocol, none, or is of a version without one."""
    s.mixed()
    s.classic.sync("A2", protocol_name="sticky", wait=True)
    s.classic.sync("A2", protocol_type="connect", wait=True)
    s.classic.sync("A2", protocol_name=None, wait=True)
    s.classic.sync("A2", member_id=NOBODY, protocol_type=None, wait=True)
    s.classic.sync("A2", at_most=4, wait=True)


@case("MG-HEARTBEAT-UNKNOWN-MEMBER", "MG-SYNC-UNKNOWN-MEMBER")
def unknown_member(s: BridgeScript) -> None:
    """A sync and a heartbeat have an id that no member has."""
    s.reconciled("A1")
    s.classic.sync(
        "m", member_id=NOBODY, protocol_type="consumer", protocol_name="range", wait=True
    )
    s.classic.beat("m", member_id=NOBODY, generation=2)


# Heartbeats.


@case("CG-LEAVE-FOR-GOOD", "MG-HEARTBEAT-REJOIN", named="MG-HEARTBEAT-REJOIN")
def newer_epoch_without_a_target(s: BridgeScript) -> None:
    """A member leaves: since 4.3 a classic one must join again only once there is a new target."""
    s.reconciled("A1", "B1", "C1")
    s.classic.joined("A2")
    s.leave("C1")
    s.classic.beat("A2")
    s.beat("B1")
    s.classic.beat("A2")
    s.describe()


@case("CG-LEAVE-FOR-GOOD", named="MG-SYNC")
def sync_in_a_newer_epoch_without_a_target(s: BridgeScript) -> None:
    """A member leaves before a classic one syncs, and no target is made yet."""
    s.reconciled("A1", "B1", "C1")
    s.classic.join("A2", wait=True)
    s.leave("C1")
    s.classic.sync("A2", wait=True)
    s.describe()


@case("MG-HEARTBEAT-REJOIN", "MG-JOIN-AGAIN", "MG-SYNC")
def newer_epoch(s: BridgeScript) -> None:
    """A member joins: a classic one hears so with its heartbeat, and joins again."""
    s.mixed()
    s.join("C1")
    s.classic.beat("A2")
    s.classic.joined("A2")
    s.beat("B1", "C1")
    s.describe()


@case("MG-HEARTBEAT-REJOIN", "MG-JOIN-AGAIN", "MG-SYNC")
def partitions_to_give_up(s: BridgeScript) -> None:
    """A classic member is to give partitions up: it does so with a second join."""
    s.classic.stable("A1")
    s.join("B1")
    s.classic.beat("A1")
    s.classic.joined("A1", protocols=HOLDING_ALL)
    s.describe()
    s.classic.beat("A1")
    s.classic.joined("A1")
    s.classic.beat("A1")
    s.beat("B1")
    s.describe()


@case("MG-JOIN-AGAIN")
def partitions_of_a_topic_that_is_given_up(s: BridgeScript) -> None:
    """A classic join gives a topic up, and owns its partitions: the coordinator takes them."""
    s.reconciled("A1", "B1")
    s.classic.join("A2", member_id="A1", protocols=owning(0, 1, topics=("u",)), wait=True)
    s.classic.sync("A2", wait=True)
    s.describe()


@case("MG-HEARTBEAT-REJOIN", "MG-JOIN-AGAIN")
def partitions_that_became_free(s: BridgeScript) -> None:
    """A classic member waits for partitions, and hears with its heartbeat that they are free."""
    s.reconciled("A1")
    s.classic.joined("B1")
    s.classic.beat("B1")
    s.beat("A1")
    s.classic.beat("B1")
    s.beat("A1")
    s.classic.beat("B1")
    s.classic.joined("B1")
    s.classic.beat("B1")
    s.describe()


# Offsets.


@case("MG-COMMIT", "MG-COMMIT-ILLEGAL-GENERATION")
def commits_of_a_classic_member(s: BridgeScript) -> None:
    """A classic member commits with its generation, in versions with and without epochs."""
    s.mixed()
    s.classic.commit("A2", version=8)
    s.classic.commit("A2", version=9, offset=2)
    s.classic.commit("A2", version=8, generation=99, offset=3)
    s.classic.commit("A2", version=8, generation=1, offset=4)
    s.fetch("B1")


@case("CG-COMMIT-VERSION")
def commit_of_a_consumer_member_below_9(s: BridgeScript) -> None:
    """A member of the consumer protocol can't commit below version 9, though a classic one can."""
    s.mixed()
    s.commit("B1", version=8)
    s.commit("B1")


@case("MG-COMMIT", "CG-COMMIT-TOPIC-IDS-UNKNOWN", apis=BY_IDS, features=("missing-topics",))
def commits_by_ids_in_a_mixed_group(s: BridgeScript) -> None:
    """Members of both protocols commit by ids of topics; a classic one with its generation."""
    s.mixed()
    for topics in ("t", ("t", "missing"), "missing"):
        s.commit("A2", member_id=IdOf("A2"), epoch=GenerationOf("A2"), topic=topics, version=10)
        s.commit("B1", topic=topics, version=10)
    s.fetch("B1", version=10)


@case("CG-OFFSET-DELETE-SUBSCRIBED", "CG-OFFSET-DELETE-UNSUBSCRIBED")
def deletion_of_offsets_in_a_mixed_group(s: BridgeScript) -> None:
    """The subscription of a classic member counts as any other."""
    s.mixed(protocols=RENEWED)
    s.commit("B1", topic=("t", "u"))
    s.delete_offsets("t", "u")
    s.remove(("", "A"))
    s.delete_offsets("t", "u")
    s.fetch("x", member_id=None, epoch=-1, topic=("t", "u"))


@case("CG-LIST-GROUP")
def list_of_a_mixed_group(s: BridgeScript) -> None:
    """A group with members of both protocols is listed as one of the consumer protocol."""
    s.mixed()
    s.list_groups()
    s.list_groups(types=("consumer",))
    s.list_groups(types=("classic",))


@case("MG-COMMIT")
def transaction_of_a_classic_member(s: BridgeScript) -> None:
    """A classic member commits in a transaction."""
    s.mixed()
    s.classic.transact("A2")
    s.fetch("B1")


@case("MG-FETCH", "MG-FETCH-ILLEGAL-GENERATION")
def fetches_of_a_classic_member(s: BridgeScript) -> None:
    """A classic member reads offsets in version 9 with its generation, and with another."""
    s.mixed()
    s.fetch("A2", member_id=IdOf("A2"), epoch=GenerationOf("A2"))
    s.fetch("A2", member_id=IdOf("A2"), epoch=99)
    s.classic.fetch("A2")


# Consumer members, and administrators.


@case("CG-JOIN-TAKE-CLASSIC", "MG-HEARTBEAT-INSTANCE-FENCED")
def consumer_process_replaces_a_classic_member(s: BridgeScript) -> None:
    """A process of the consumer protocol replaces a live classic member, without a release."""
    s.mixed()
    s.join("A3")
    s.classic.beat("A2")
    s.beat("A3", "B1")
    s.describe()


@case("CG-JOIN-TAKE-CLASSIC", "MG-HEARTBEAT-CONSUMER-MEMBER")
def classic_member_joins_under_its_id(s: BridgeScript) -> None:
    """A classic member joins by the consumer protocol under its own id."""
    s.mixed()
    s.join("A2", member_id=IdOf("A2"))
    s.classic.beat("A2")
    s.describe()


@case("CG-JOIN-TAKE-CLASSIC-CHANGED")
def replacement_of_a_classic_member_with_other_topics(s: BridgeScript) -> None:
    """A process of the consumer protocol replaces a classic member, and has other topics."""
    s.mixed()
    s.join("A3", topics=BOTH)
    s.describe()


@case("CG-JOIN-UNRELEASED", "MG-UPGRADE")
def consumer_process_after_an_upgrade(s: BridgeScript) -> None:
    """A process of the consumer protocol displaces no live member of the same protocol."""
    s.upgraded()
    s.join("A3")
    s.beat("A2")


@case("CG-JOIN-TAKE-CLASSIC", "CG-LEAVE-FOR-GOOD")
def replacement_of_a_classic_member_while_a_target_is_due(s: BridgeScript) -> None:
    """A process of the consumer protocol replaces a classic one, and a new target is made."""
    s.mixed()
    s.join("C1")
    s.leave("C1")
    s.join("A3")
    s.describe()


@case("CG-JOIN-COPY-CLASSIC")
def member_brings_the_instance_of_a_classic_one(s: BridgeScript) -> None:
    """A member of the consumer protocol joins with the instance of a classic one: it is a copy."""
    s.mixed()
    s.join("B1", instance="A")
    s.describe()
    s.join("B2")
    s.describe()


@case("CG-JOIN-COPY-CLASSIC-CHANGED")
def member_brings_the_instance_of_a_classic_one_and_other_topics(s: BridgeScript) -> None:
    """A member brings a classic one's instance and another topic: the target is made anew."""
    s.mixed()
    s.join("B1", instance="A", topics=BOTH)
    s.describe()
    s.join("B2")
    s.describe()


@case("CG-BEAT-ALIVE", "MG-HEARTBEAT-CONSUMER-MEMBER")
def heartbeat_of_the_other_protocol(s: BridgeScript) -> None:
    """A classic member sends a heartbeat of the consumer protocol: it is of that from then on."""
    s.upgraded()
    s.beat("B1", member_id=IdOf("B1"), epoch=GenerationOf("B1"))
    s.describe()
    s.classic.beat("B1")


@case("CG-LEAVE-RELEASE", "MG-HEARTBEAT-ILLEGAL-GENERATION")
def release_of_a_classic_member(s: BridgeScript) -> None:
    """A leave for a while names a classic member: its next heartbeat has a wrong generation."""
    s.mixed()
    s.release("A2", member_id=IdOf("A2"))
    s.classic.beat("A2")
    s.describe()
    s.classic.joined("A3")
    s.classic.beat("A3")


@case("CG-LEAVE-FOR-GOOD", "MG-HEARTBEAT-INSTANCE-UNMAPPED")
def leave_of_a_classic_member(s: BridgeScript) -> None:
    """A leave for good of the consumer protocol names a classic member."""
    s.mixed()
    s.leave("A2", member_id=IdOf("A2"))
    s.classic.beat("A2")
    s.describe()


@case("CG-REMOVE-BY-INSTANCE", "MG-HEARTBEAT-INSTANCE-UNMAPPED")
def removal_of_a_classic_member(s: BridgeScript) -> None:
    """An administrator removes a classic member by its instance."""
    s.mixed()
    s.remove(("", "A"))
    s.classic.beat("A2")
    s.beat("B1")
    s.describe()


@case("CG-REMOVE-INSTANCE-FENCED", "CG-REMOVE-INSTANCE-UNMAPPED")
def wrong_removals_of_a_classic_member(s: BridgeScript) -> None:
    """An administrator names a classic member's instance with a wrong id, and an unmapped one."""
    s.mixed()
    s.remove((NOBODY, "A"))
    s.remove(("", "C"))
    s.classic.beat("A2")


@case("CG-REMOVE-MEMBER", "MG-HEARTBEAT-INSTANCE-UNMAPPED")
def classic_member_leaves(s: BridgeScript) -> None:
    """A classic member leaves by its id alone."""
    s.mixed()
    s.classic.leave("A2", (IdOf("A2"), None))
    s.classic.beat("A2")
    s.describe()


@case("CG-REMOVE-BY-INSTANCE")
def all_members_are_removed_at_once(s: BridgeScript) -> None:
    """An administrator removes members of both protocols in one request."""
    s.mixed()
    s.join("C1")
    s.remove(("", "A"), ("", "B"))
    s.describe()
    s.beat("C1")
