"""Each measured row of mixed groups, over the machine, for every revision.

A row has the id of the measurement, a script whose last step is its request, and the answer, which
may differ by revision.  `bump`: how much the group's epoch grew by the last step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

import pytest
from support.mixed_world import MixedWorld

from fencepost.model.classic.group import Group
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.consumer.group import ConsumerGroup
from fencepost.model.messages.messages import JoinGroupResponse
from fencepost.model.revisions import revisions

ALL = revisions.MIXED_NAMES
UP_TO_4_3_1 = ALL[1:]
UP_TO_4_3 = ALL[2:]
UP_TO_4_2 = ALL[3:]
UP_TO_4_0 = ALL[5:]
OLD, OLDER, FIRST, ANCIENT = "up to 4.3.1", "up to 4.3", "up to 4.2", "up to 4.0"
FULL = {"group.consumer.max.size": 2}
DISABLED, UPGRADE, DOWNGRADE = ({"group.consumer.migration.policy": number} for number in range(3))

UNKNOWN, FENCED, NONE = "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "NONE"
UNRELEASED, NOT_FOUND = "UNRELEASED_INSTANCE_ID", "GROUP_ID_NOT_FOUND"
INCONSISTENT, MAX = "INCONSISTENT_GROUP_PROTOCOL", "GROUP_MAX_SIZE_REACHED"
REBALANCE, GENERATION = "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"

TWO = "join m1 A; join m2 B; settle; "
CLASSIC = "form A B; "
UPGRADED = CLASSIC + "join m1 A; "
"""m1 of the consumer protocol has A, c2 of the classic one has B."""
SHARED = (
    "join m1 A; cjoin c1 C; csync c1; beat m1; beat m1; cjoin c1 C; csync c1; join m3; join m4; "
)
"""c1 of the classic protocol has two partitions, and must give one up."""
MIXED = TWO + "cjoin c1 A; csync c1; "
"""c1 of the classic protocol has A, m2 of the consumer one has B."""
WAITING = MIXED + "join m3; cjoin c1 A; csync c1; leave m3; "
"""The group has a newer epoch than c1 and the target."""


@dataclass(frozen=True)
class Row:
    id: str
    script: str
    answer: str | dict[str, str]
    bump: int | None = None
    config: Mapping[str, int] = field(default_factory=dict)


K5_CHANGED = "join m1 A; release m1 A; cjoin c1 A topics=t,u; "
_DANGLING = {OLD: UNKNOWN, "": NONE}
ROWS = (
    Row("K1", CLASSIC + "join m1 A", NONE, 0),
    Row("K1-subscription", CLASSIC + "join m1 A topics=t,u", NONE, 1),
    Row("K1-others", UPGRADED + "cbeat c2", NONE),
    Row("K1-new", CLASSIC + "join m1", NONE, 1),
    Row("K1-zombie", UPGRADED + "cbeat c1", FENCED),
    Row("K2", CLASSIC + "join c1 A", NONE, 0),
    Row("K3", TWO + "cjoin c1 A", NONE, 0),
    Row("K3-holder", MIXED + "beat m1 A", FENCED),
    Row("K4", TWO + "release m1 A; cjoin c1 A", NONE, 0),
    Row("K5", "join m1 A; release m1 A; cjoin c1 A; beat m1 A epoch=2", NOT_FOUND),
    Row("K5-subscription", "join m1 A; release m1 A; cjoin c1 A topics=t,u", NONE, 0),
    Row("K5-subscription-again", K5_CHANGED + "cbeat c1 gen=2", {FIRST: GENERATION, "": REBALANCE}),
    Row(
        "K5-subscription-first",
        K5_CHANGED + "cbeat c1 gen=1",
        {ANCIENT: NONE, FIRST: REBALANCE, "": GENERATION},
    ),
    Row("K5-subscription-zero", K5_CHANGED + "cbeat c1 gen=0", GENERATION),
    Row("K6", MIXED + "cjoin c3 A", NONE, 0),
    Row("K6-subscription", MIXED + "cjoin c3 A topics=u", NONE, 1),
    Row("K7", MIXED + "cjoin x A mid=x", FENCED),
    Row("K8", MIXED + "cjoin c1 C", UNKNOWN),
    Row("K8-unknown", MIXED + "cjoin x C mid=x", UNKNOWN),
    Row("K8-alone", MIXED + "cjoin c1", NONE, 0),
    Row("K8-dangling", "join m1 A; join m1 B; join m2; leave m1 B; cjoin c1 A", _DANGLING),
    Row("K9-heartbeat", MIXED + "cjoin c3 A; cbeat c1 A", FENCED),
    Row("K9-sync", MIXED + "cjoin c3 A; csync c1 A", FENCED),
    Row("K9-heartbeat-alone", MIXED + "cjoin c3 A; cbeat c1 -", UNKNOWN),
    Row("K9-sync-alone", MIXED + "cjoin c3 A; csync c1 -", UNKNOWN),
    Row("K10-generation", MIXED + "cbeat c1 gen=99", GENERATION),
    Row("K10-sync-generation", MIXED + "csync c1 gen=99", GENERATION),
    Row("K10-consumer", MIXED + "cbeat m2 B", UNKNOWN),
    Row("K10-unmapped", MIXED + "cbeat c1 C", UNKNOWN),
    Row("K10-sync-unmapped", MIXED + "csync c1 C", UNKNOWN),
    Row("K10-sync-consumer", MIXED + "csync m2 B", UNKNOWN),
    Row("K10", MIXED + "cbeat c1", NONE),
    Row("K11-target", MIXED + "join m3; cbeat c1", REBALANCE),
    Row("K11-sync-revoke", SHARED + "cjoin c1 C owned=0,1,2,3; csync c1", NONE),
    Row("K11-sync", TWO + "cjoin c1 A; join m3; csync c1", REBALANCE),
    Row("K11-epoch", WAITING + "cbeat c1", {FIRST: REBALANCE, "": NONE}),
    Row("K11-epoch-target", WAITING + "beat m2; cbeat c1", REBALANCE),
    Row("K11-sync-epoch", WAITING + "csync c1", {FIRST: REBALANCE, "": NONE}),
    Row("K12-new", TWO + "cjoin c1 C", MAX, config=FULL),
    Row("K12-live", TWO + "cjoin c1 A", {OLD: MAX, "": NONE}, config=FULL),
    Row("K12-released", TWO + "release m1 A; cjoin c1 A", {OLD: MAX, "": NONE}, config=FULL),
    Row("K13", TWO + "cjoin c1 C", {OLDER: NONE, "": INCONSISTENT}, config=DISABLED),
    Row("K14", TWO + "cjoin c1 C broken=1", {OLD: "UNKNOWN_SERVER_ERROR", "": INCONSISTENT}),
    Row("K-other-protocol", MIXED + "cjoin c3 C protocol=sticky", INCONSISTENT),
    Row("K-other-type", MIXED + "cjoin c3 C kind=connect", INCONSISTENT),
    Row("K-sync-protocol", MIXED + "csync c1 protocol=sticky", INCONSISTENT),
    Row("K-sync-null", MIXED + "csync c1 protocol=null", INCONSISTENT),
    Row("K-sync-null-unknown", MIXED + "csync x protocol=null", INCONSISTENT),
    Row("K-sync-legacy", MIXED + "csync c1 v=4", NONE),
    Row("K-dynamic", MIXED + "cjoin c3", "MEMBER_ID_REQUIRED"),
    Row("K-dynamic-id", MIXED + "cjoin c3 mid=c3", NONE, 1),
    Row("K-dynamic-legacy", MIXED + "cjoin c3 v=3", NONE, 1),
    Row("K-new-instance", MIXED + "cjoin c3 C", NONE, 1),
    Row("J12", MIXED + "join m3 A", NONE, 0),
    Row("J12-self", MIXED + "join c1 A", NONE, 0),
    Row("J12-consumer", UPGRADED + "join m3 A", UNRELEASED, 0),
    Row("J12-subscription", MIXED + "join m3 A topics=t,u", NONE, 1),
    Row("J11-classic", MIXED + "join m2 A", NONE, 0),
    Row("H10", UPGRADED + "beat c2 B epoch=1", NONE, 0),
    Row("L7", MIXED + "release c1 A", NONE, 0),
    Row("L7-heartbeat", MIXED + "release c1 A; cbeat c1", GENERATION),
    Row("L8-older", MIXED + "join m3; leave m3; leave m2 B; cbeat c1", GENERATION),
    Row("L8-same", MIXED + "leave m2 B; cbeat c1", REBALANCE),
    Row("L8-current", MIXED + "join m3 C; cjoin c1 A; csync c1; leave m3 C", NONE, 1),
    Row("L8-epoch", MIXED + "leave m2 B", NONE, 0),
    Row("O6-classic", MIXED + "ccommit c1", NONE),
    Row("O6-classic-generation", MIXED + "ccommit c1 gen=99", GENERATION),
    Row("O8-classic", MIXED + "fetch c1 epoch=3", {FIRST: GENERATION, "": NONE}),
    Row("O8-classic-generation", MIXED + "fetch c1 epoch=99", GENERATION),
    Row("O6-consumer", MIXED + "commit m2 v=8", "UNSUPPORTED_VERSION"),
    Row("A1-classic", MIXED + "remove '' A", NONE, 1),
    Row("A4-classic", CLASSIC + "describe_error", NOT_FOUND),
    Row("C6-classic", CLASSIC + "beat c1 A epoch=1", NOT_FOUND),
    Row("C6-classic-leave", CLASSIC + "release c1 A", NOT_FOUND),
    Row("C7-policy", CLASSIC + "join m1 A", NOT_FOUND, config=DISABLED),
    Row("C7-policy-downgrade", CLASSIC + "join m1 A", NOT_FOUND, config=DOWNGRADE),
    Row("C7-type", "form A B kind=connect; join m1 A", NOT_FOUND),
    Row("C7-size", "form A B; join m1 A", NOT_FOUND, config={"group.consumer.max.size": 1}),
    Row("C3-classic", CLASSIC + "join m1 A r=-1", "INVALID_REQUEST"),
    Row("C5-classic", CLASSIC + "join m1 A assignor=sticky", "UNSUPPORTED_ASSIGNOR"),
)


def here(answer: str | dict[str, str], revision: str) -> str:
    """The answer of a revision."""
    if isinstance(answer, str):
        return answer
    ranges = {ANCIENT: UP_TO_4_0, FIRST: UP_TO_4_2, OLDER: UP_TO_4_3, OLD: UP_TO_4_3_1}
    for known, names in ranges.items():
        if known in answer and revision in names:
            return answer[known]
    return answer[""]


def epoch(group: Group | ConsumerGroup | None) -> int:
    assert group is not None
    return group.generation_id if isinstance(group, Group) else group.epoch


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_has_its_answer(row: Row, revision: str) -> None:
    world = MixedWorld(revision, dict(row.config))
    *before, last = row.script.split(";")
    world.play(";".join(before))
    group = world.group
    reply = world.play(last)
    assert reply is not None
    assert reply.error == here(row.answer, revision)
    if isinstance(reply.message, JoinGroupResponse) and reply.message.error_code:
        assert bool(reply.member_id) is (reply.error == "MEMBER_ID_REQUIRED")
    if row.bump is not None:
        assert epoch(world.group) - epoch(group) == row.bump


def test_each_rule_decides_some_row() -> None:
    used: set[str] = set()
    for row in ROWS:
        for revision in ("mixed-4.4", "mixed-4.3"):
            world = MixedWorld(revision, dict(row.config))
            world.play(row.script)
            used |= world.rules
    own = {
        rule.id for table in revisions.find("mixed-4.4").tables.values() for rule in table.rules()
    }
    assert {rule_id for rule_id in own - used if "COORDINATOR" not in rule_id} == UNUSED


UNUSED = {
    "MG-DOWNGRADE-POLICY",
    "MG-DOWNGRADE-SIZE",
    "MG-JOIN-EXPIRED",
    "MG-SYNC-EXPIRED",
    "MG-UPGRADE-ASSIGNOR",
    "MG-UPGRADE-EMPTY",
}
"""Rules of timers and conversions that their own tests show."""


@pytest.mark.parametrize("revision", ALL)
def test_k1_an_upgrade_keeps_assignments_and_the_generation_is_the_epoch(revision: str) -> None:
    world = MixedWorld(revision)
    world.play(CLASSIC)
    generation = world.classic.generation_id
    reply = world.join("m1", "A")
    assert reply.epoch == generation
    assert world.numbers("m1") == {0, 1}
    assert world.numbers("c2") == {2, 3}
    shown = {m.member_id: m.member_type for m in world.describe().members}
    assert shown == {"m1": 1, "c2": 0}
    assert world.there().member("c1") is None
    assert world.left_ms("c2") == 6_000


def test_an_upgrade_answers_what_is_parked() -> None:
    world = MixedWorld("mixed-4.4")
    world.play(CLASSIC)
    assert world.cjoin("c3", "C").error == "parked"
    parked = str(world.sent)
    world.play("join m1 A")
    answer = world.answers[parked]
    assert isinstance(answer, JoinGroupResponse)
    assert answer.error_code == 27


def test_a_refused_upgrade_and_a_wrong_join_leave_the_classic_group_alone() -> None:
    for config, script in ((DISABLED, "join m1 A"), ({}, "join m1 A r=-1"), (FULL, "join m1 C")):
        world = MixedWorld("mixed-4.4", dict(config))
        world.play(CLASSIC)
        group = world.group
        world.play(script)
        assert world.group is group


def test_an_empty_classic_group_becomes_a_consumer_group_with_its_offsets_and_back() -> None:
    world = MixedWorld("mixed-4.4")
    world.play("form A; ccommit c1; wait 6000; join m1 A")
    assert [o.offset for o in world.there().offsets] == [5]
    world.play("leave m1 A; cjoin c2 B")
    assert [o.offset for o in world.classic.offsets] == [5]
    assert world.classic.state is GroupState.PREPARING


@pytest.mark.parametrize("revision", ALL)
def test_k5_a_group_of_classic_members_alone_is_classic_and_stable(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; release m1 A")
    before = world.there().epoch
    reply = world.play("cjoin c1 A")
    assert reply is not None
    assert reply.epoch == before
    group = world.classic
    assert (group.state, group.generation_id, group.leader) == (GroupState.STABLE, before, "c1")
    synced = world.csync("c1")
    assert len(synced.partitions or ()) == 4
    assert world.cbeat("c1").error == NONE


@pytest.mark.parametrize("revision", ALL)
def test_k5_with_another_subscription_the_join_gets_generation_0(revision: str) -> None:
    world = MixedWorld(revision)
    reply = world.play(K5_CHANGED)
    assert reply is not None
    if revision in UP_TO_4_0:
        assert (reply.epoch, world.classic.generation_id) == (2, 1)
        assert world.classic.state is GroupState.STABLE
        return
    assert (reply.epoch, reply.outcomes) == (0, 1)
    assert world.classic.state is GroupState.PREPARING


@pytest.mark.parametrize("revision", ALL)
def test_k6_an_answer_has_no_leader_and_no_members(revision: str) -> None:
    world = MixedWorld(revision)
    reply = world.play(MIXED + "cjoin c3 A")
    assert reply is not None
    assert isinstance(reply.message, JoinGroupResponse)
    assert (reply.message.leader, reply.message.members) == ("", ())
    assert reply.epoch == world.there().epoch


@pytest.mark.parametrize("revision", ALL)
def test_a_classic_member_gives_up_partitions_with_its_second_join(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C; csync c1; beat m1; beat m1")
    assert world.numbers("m1") != {0, 1, 2, 3}
    assert world.cbeat("c1").error == REBALANCE
    world.play("cjoin c1 C")
    assert len(world.csync("c1").partitions or ()) == 2
    world.play("join m3; settle")
    assert world.cbeat("c1").error == REBALANCE
    mine = ",".join(str(n) for n in sorted(world.numbers("c1")))
    world.play(f"cjoin c1 C owned={mine}; csync c1; settle")
    lost = {"revoke": len(world.member("c1").revoking)}
    if lost["revoke"]:
        assert world.cbeat("c1").error == REBALANCE
        assert world.timer("rebalance", "c1") is None


@pytest.mark.parametrize("revision", ALL)
def test_h10_a_heartbeat_of_the_other_protocol_changes_a_classic_member(revision: str) -> None:
    world = MixedWorld(revision)
    world.play(UPGRADED + "beat c2 B epoch=1")
    assert world.member("c2").classic is None
    assert world.cbeat("c2").error == UNKNOWN


@pytest.mark.parametrize("revision", ALL)
def test_l8_the_group_is_classic_once_the_last_consumer_member_leaves(revision: str) -> None:
    world = MixedWorld(revision)
    world.play(MIXED + "leave m2 B")
    assert world.classic.state is GroupState.PREPARING
    current = str(world.classic.generation_id)
    assert world.cbeat("c1", gen=current).error == REBALANCE


@pytest.mark.parametrize(
    ("config", "rule_id"),
    [(UPGRADE, "MG-DOWNGRADE-POLICY"), ({"group.max.size": 0}, "MG-DOWNGRADE-SIZE")],
)
def test_a_downgrade_needs_the_policy_and_room(config: dict[str, int], rule_id: str) -> None:
    world = MixedWorld("mixed-4.4", dict(config))
    world.play(MIXED + "leave m2 B")
    assert isinstance(world.group, ConsumerGroup)
    assert rule_id in world.rules


@pytest.mark.parametrize("data", [None, b"sticky"])
def test_c7_an_assignor_with_data_of_its_own_is_no_obstacle_but_in_assignments(
    data: bytes | None,
) -> None:
    world = MixedWorld("mixed-4.4")
    world.form("A", "B", user_data=data)
    reply = world.join("m1", "A")
    assert reply.error == (NOT_FOUND if data else NONE)


@pytest.mark.parametrize("revision", ALL)
def test_t6_a_classic_member_has_its_own_session(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C s=9000; csync c1; wait 5000; beat m1; wait 3999; beat m1")
    assert world.there().member("c1") is not None
    world.play("wait 1")
    assert world.there().member("c1") is None


@pytest.mark.parametrize("revision", ALL)
def test_t7_a_member_that_does_not_join_again_within_r_is_removed(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C r=4000 s=60000; csync c1; join m3; cbeat c1")
    world.play("wait 2000; cbeat c1; beat m1; beat m3; wait 1999")
    assert world.there().member("c1") is not None
    world.play("wait 1")
    assert world.there().member("c1") is None


@pytest.mark.parametrize("revision", ALL)
def test_t8_a_member_that_does_not_sync_within_r_is_removed(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C r=4000 s=60000; wait 3999; beat m1")
    assert world.there().member("c1") is not None
    world.play("wait 1")
    assert world.there().member("c1") is None


@pytest.mark.parametrize("revision", ALL)
def test_a_sync_ends_the_time_for_it(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C r=4000 s=60000; csync c1; wait 3999; beat m1; wait 1")
    assert world.there().member("c1") is not None


@pytest.mark.parametrize("revision", ALL)
def test_f3_after_a_failover_a_classic_member_has_the_session_of_the_group(revision: str) -> None:
    world = MixedWorld(revision)
    world.play("join m1 A; cjoin c1 C s=60000; csync c1; failover")
    assert world.left_ms("c1") == 6_000


_CONSUMER = ("join {m} {i}", "beat {m}", "release {m} {i}", "leave {m} {i}", "remove '' {i}")
_OF_CLASSIC = (
    "cjoin {c} {i} r=4000",
    "cjoin {c} {i} owned=0,1",
    "cjoin {c} {i} topics=t,u",
    "csync {c}",
    "cbeat {c}",
    "ccommit {c}",
    "release {c} {i}",
    "leave {c} {i}",
)
_TIME = ("wait 500", "wait 2500", "wait 4000", "failover")


@pytest.mark.parametrize("revision", ["mixed-4.0", "mixed-4.3", "mixed-4.4"])
@pytest.mark.parametrize("seed", range(8))
def test_on_random_walks_partitions_have_one_owner_and_members_a_session(
    revision: str, seed: int
) -> None:
    world, random = MixedWorld(revision, {"num.partitions": 2}), Random(seed)
    world.play("join m1 A")
    mixed = 0
    for _ in range(150):
        step = random.choice(random.choices((_CONSUMER, _OF_CLASSIC, _TIME), (5, 5, 1))[0])
        words = {"m": random.choice("123"), "c": random.choice("123"), "i": random.choice("ABC-")}
        world.play(step.format(m=f"m{words['m']}", c=f"c{words['c']}", i=words["i"]))
        group: Group | ConsumerGroup | None = world.group
        if not isinstance(group, ConsumerGroup):
            continue
        owned = list(group.owned())
        assert len(owned) == len(set(owned))
        assert all(m.epoch <= group.target_epoch <= group.epoch for m in group.members)
        mixed += len({m.classic is None for m in group.members}) == 2
        ids = {m.member_id for m in group.members}
        assert {t.subject for t in group.timers if t.kind == "session"} == ids
        assert {t.subject for t in group.timers if t.subject} <= ids
    assert mixed > 10
