"""Revisions: each difference names its passage, and what differs behaves as its text says."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.world import PARKED, R, World, offers

from fencepost.model.messages.messages import HeartbeatRequest
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.table import TableError

BASE = revisions.find("kafka-4")
DIFFERENCES = [
    pytest.param(d, id=f"{name}-{d.rule_id}")
    for name in revisions.NAMES
    for d in revisions.find(name).differences
]


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_each_difference_names_a_passage(difference: Difference) -> None:
    assert difference.passage.startswith(("KIP-", "KAFKA-"))


@pytest.mark.parametrize("name", revisions.NAMES)
def test_a_revision_is_its_base_and_its_differences(name: str) -> None:
    revision = revisions.find(name)
    assert revision.name == name
    assert revision.about
    if revision.base is None:
        assert revision.differences == ()
        return
    changed = {d.rule_id for d in revision.differences}
    ours = {rule.id: rule for _, rule in revision.rules()}
    theirs = {rule.id: rule for _, rule in revisions.find(revision.base).rules()}
    differ = {i for i in ours.keys() | theirs.keys() if ours.get(i) is not theirs.get(i)}
    assert differ == changed


@pytest.mark.parametrize(
    "name", ["", "kafka", "kafka-2.2", "kafka-3.10", "kafka-3", "kafka-x.1", "KIP-345"]
)
def test_an_unknown_name_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(KeyError, match=f"no revision '{name}'.*; there are kafka-4, kip-345"):
        revisions.find(name)


def test_an_unknown_rule_is_refused_by_name() -> None:
    with pytest.raises(KeyError, match="kafka-4 has no rule JOIN-NOTHING"):
        BASE.rule("JOIN-NOTHING")
    with pytest.raises(TableError, match="JoinGroup has no rule JOIN-NOTHING to drop"):
        derive(BASE, "x", "x", (DropRule("JoinGroup", "JOIN-NOTHING", "nowhere"),))
    change = SetRule("Heartbeat", BASE.rule("HEARTBEAT-STABLE").but(because="x"), "nowhere")
    assert derive(BASE, "x", "x", (change,)).rule("HEARTBEAT-STABLE").because == "x"


# Release profiles.


@pytest.mark.parametrize(
    ("name", "removes"),
    [
        ("kafka-2.3", False),
        ("kafka-2.7", False),
        ("kafka-2.8.0", False),
        ("kafka-2.8.1", True),
        ("kafka-2.8", True),
        ("kafka-3.0.0", True),
        ("kafka-3.9", True),
        ("kafka-4.0.0", True),
    ],
)
def test_since_2_8_1_a_member_that_never_syncs_is_removed(name: str, removes: bool) -> None:
    world = World(name)
    whos = ("x", "y")
    replies = [world.join(who, inst=None, version=3, s=5 * R) for who in whos]
    world.wait(6_000)
    assert replies[0].error == "NONE"
    world.wait(R)
    assert bool(world.group().members) is not removes
    assert world.state == ("Empty" if removes else "CompletingRebalance")


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("kafka-2.3", False),
        ("kafka-2.5", False),
        ("kafka-2.6.0", False),
        ("kafka-2.6.1", True),
        ("kafka-2.7.0", True),
        ("kafka-4", True),
    ],
)
def test_since_2_6_1_a_heartbeat_between_join_and_sync_counts(name: str, counts: bool) -> None:
    world = World(name)
    reply = world.join("A", s=6_000, r=60_000, version=5)
    world.wait(3_000)
    assert world.state == "CompletingRebalance"
    world.wait(4_000)
    told = "NONE" if counts else "REBALANCE_IN_PROGRESS"
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=reply.mid)
    assert world.ask("A", beat, 3).error == told
    world.wait(4_000)
    assert world.state == ("CompletingRebalance" if counts else "Empty")


@pytest.mark.parametrize(
    ("name", "highest"),
    [
        ("kafka-2.3", (5, 3, 3, 2, 7, 3)),
        ("kafka-2.4", (6, 4, 4, 4, 8, 5)),
        ("kafka-2.5", (7, 5, 4, 4, 8, 5)),
        ("kafka-3.1", (7, 5, 4, 4, 8, 5)),
        ("kafka-3.2", (9, 5, 4, 5, 8, 5)),
        ("kafka-3.5.1", (9, 5, 4, 5, 8, 5)),
        ("kafka-3.6", (9, 5, 4, 5, 8, 5)),
        ("kafka-3.7", (9, 5, 4, 5, 9, 5)),
        ("kafka-3.9", (9, 5, 4, 5, 9, 5)),
        ("kafka-4", (9, 5, 4, 5, 9, 6)),
    ],
)
def test_the_versions_that_a_release_knows(name: str, highest: tuple[int, ...]) -> None:
    apis = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit", "DescribeGroups")
    known = revisions.find(name).apis
    assert tuple(known[api][1] for api in apis) == highest
    assert known["OffsetCommit"][0] == (2 if name == "kafka-4" else 0)


def test_later_releases_are_the_base_under_their_own_name() -> None:
    later = revisions.find("kafka-4.3")
    assert later.name == "kafka-4.3"
    assert later.tables is BASE.tables


# kip-345, the accepted text.


def test_kip_a_restart_in_stable_causes_no_rebalance_whatever_is_offered() -> None:
    world = World("kip-345")
    world.stable("A", "B", protocols=offers("range", "sticky"))
    assert world.join("B", protocols=offers("sticky")).error == "NONE"
    assert world.state == "Stable"


@pytest.mark.parametrize("state", ["completing", "stable"])
def test_kip_a_known_static_follower_that_changed_causes_no_rebalance(state: str) -> None:
    world = World("kip-345")
    seats = getattr(world, state)("A", "B", "x")
    changed = offers("range", metadata=b"changed")
    reply = world.join("B", seats["B"].mid, protocols=changed)
    assert (reply.error, reply.gen) == ("NONE", 1)
    member = world.group().member(seats["B"].mid)
    assert member is not None
    assert member.metadata("range") == b"changed"
    assert world.join("x", seats["x"].mid, protocols=changed).error == PARKED


def test_kip_a_static_leader_that_rejoins_under_its_id_causes_a_rebalance() -> None:
    world = World("kip-345")
    seats = world.stable("A", "B")
    assert world.join("A", seats["A"].mid).error == PARKED


@pytest.mark.parametrize(
    ("instance", "error"), [("A", "FENCED_INSTANCE_ID"), ("C", "UNKNOWN_MEMBER_ID")]
)
def test_kip_a_pending_id_with_an_instance_is_validated(instance: str, error: str) -> None:
    world = World("kip-345")
    world.stable("A")
    mid = world.join("x").mid
    assert world.join("x", mid, inst=instance).error == error


def test_kip_a_leave_of_an_absent_group_is_of_an_invalid_group() -> None:
    reply = World("kip-345").leave(("", "A"))
    assert (reply.error, reply.rows) == ("INVALID_GROUP_ID", [])


def test_kip_a_member_is_removed_by_its_session_alone() -> None:
    world = World("kip-345", {"group.max.size": 2})
    seats = world.stable("A", "B")
    world.join("A", seats["A"].mid)
    world.join("C")
    assert world.join("B", seats["B"].mid).error == "GROUP_MAX_SIZE_REACHED"
    assert world.group().holder("B") == seats["B"].mid


def test_kip_only_dynamic_members_go_for_a_missing_sync() -> None:
    world = World("kip-345")
    seats = world.completing("A", "B", "x", s=5 * R)
    world.wait(R)
    assert {m.member_id for m in world.group().members} == {seats["A"].mid, seats["B"].mid}


# The two comment tables.

COMMENTS = pytest.mark.parametrize("revision", ["comment-table-1", "comment-table-2"])


@COMMENTS
def test_row_1_a_known_member_without_instance_always_causes_a_rebalance(revision: str) -> None:
    world = World(revision)
    seats = world.stable("A", "x")
    assert world.join("x", seats["x"].mid).error == PARKED


@COMMENTS
def test_row_2_an_unknown_id_without_instance_is_refused(revision: str) -> None:
    world = World(revision)
    world.stable("A")
    assert world.join("x", "stranger").error == "UNKNOWN_MEMBER_ID"


@COMMENTS
@pytest.mark.parametrize("version", [0, 3, 4, 9])
def test_row_3_an_empty_id_without_instance_gets_one_in_any_version(
    revision: str, version: int
) -> None:
    assert World(revision).join("x", version=version).error == "MEMBER_ID_REQUIRED"


@COMMENTS
@pytest.mark.parametrize("who", ["A", "B"])
def test_row_4_a_match_is_given_what_it_has_also_if_it_leads(revision: str, who: str) -> None:
    world = World(revision)
    seats = world.stable("A", "B")
    assert world.join(who, seats[who].mid).error == "NONE"
    assert world.join(who, seats[who].mid, protocols=offers("range", "other")).error == "NONE"
    assert world.state == "Stable"


@COMMENTS
def test_row_4_a_mismatch_is_refused_by_the_drafts_error(revision: str) -> None:
    world = World(revision)
    seats = world.stable("A", "B")
    assert world.join("A", seats["A"].mid, inst="B").error == "MEMBER_ID_MISMATCH"


def test_first_comment_an_unmapped_instance_is_no_match() -> None:
    world = World("comment-table-1")
    seats = world.stable("A", "x")
    assert world.join("x", seats["x"].mid, inst="C").error == "MEMBER_ID_MISMATCH"


@pytest.mark.parametrize("instance", ["A", "C"])
def test_first_comment_row_5_an_unknown_id_is_refused_with_an_instance_too(instance: str) -> None:
    world = World("comment-table-1")
    world.stable("A")
    assert world.join("q", "stranger", inst=instance).error == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_first_comment_row_6_tells_the_holders_id_and_fences_nobody(state: str) -> None:
    world = World("comment-table-1")
    seats = getattr(world, state)("A", "B")
    before = world.group()
    reply = world.join("B")
    assert (reply.error, reply.mid) == ("MEMBER_ID_REQUIRED", seats["B"].mid)
    assert world.group() == before


@pytest.mark.parametrize("state", ["completing", "stable"])
def test_second_comment_row_4_2_a_known_member_becomes_static(state: str) -> None:
    world = World("comment-table-2")
    seats = getattr(world, state)("A", "x")
    assert world.join("x", seats["x"].mid, inst="X").error == "NONE"
    assert world.group().holder("X") == seats["x"].mid
    member = world.group().member(seats["x"].mid)
    assert member is not None
    assert member.is_static


@pytest.mark.parametrize("state", ["completing", "stable"])
def test_second_comment_row_5_1_an_unknown_id_takes_the_instance_over(state: str) -> None:
    world = World("comment-table-2")
    seats = getattr(world, state)("A", "B")
    reply = world.join("B", "stranger")
    assert (reply.error, reply.mid, reply.gen) == ("NONE", "stranger", 1)
    assert world.group().holder("B") == "stranger"
    assert world.group().state.value != "PreparingRebalance"
    assert world.beat("B", seats["B"].mid, 1) == "FENCED_INSTANCE_ID"


def test_second_comment_row_5_2_a_removed_consumer_comes_back_as_a_new_member() -> None:
    world = World("comment-table-2")
    seats = world.stable("A", "B")
    world.leave(("", "B"))
    world.join("A", seats["A"].mid)
    reply = world.join("B", seats["B"].mid)
    assert reply.error == PARKED
    assert world.group().holder("B") == seats["B"].mid


@pytest.mark.parametrize("state", ["completing", "stable"])
@pytest.mark.parametrize("who", ["A", "B"])
def test_second_comment_row_6_1_a_mapped_instance_is_given_the_old_assignment(
    state: str, who: str
) -> None:
    world = World("comment-table-2")
    seats = getattr(world, state)("A", "B", protocols=offers("range", "sticky"))
    reply = world.join(who, protocols=offers("sticky", "range"))
    assert (reply.error, reply.gen) == ("NONE", 1)
    assert reply.mid != seats[who].mid
    assert world.group().holder(who) == reply.mid
    assert world.group().state.value != "PreparingRebalance"


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("kafka-2.3.0", ("kafka-2.3", "kafka-4")),
        ("kafka-2.6.0", ("kafka-2.5", "kafka-4")),
        ("kafka-2.6.2", ("kafka-2.6", "kafka-4")),
        ("kafka-2.8.0", ("kafka-2.7", "kafka-4")),
        ("kafka-2.8.1", ("kafka-2.8", "kafka-4")),
        ("kafka-3.9", ("kafka-3.9", "kafka-4")),
        ("kafka-4", ("kafka-4",)),
        ("kafka-4.1.1", ("kafka-4",)),
        ("kip-345", ("kip-345", "kafka-4")),
    ],
)
def test_a_patch_is_known_for_what_the_release_with_its_rules_is(
    name: str, listed: tuple[str, ...]
) -> None:
    revision = revisions.find(name)
    assert revisions.lineage(revision) == listed
    assert revisions.is_shipped(revision)
    own = derive(derive(revision, "own", "", ()), "again", "", ())
    assert revisions.lineage(own) == ("again", "own", *listed)
    assert not revisions.is_shipped(own)
    assert revisions.shipped_base(own) is revision


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafka-2.5.9", "Kafka had no such patch; did you mean kafka-2.5, which is its last one?"),
        ("kafka-5", "did you mean kafka-4, the newest there is?"),
        ("kafka-5.0.1", "did you mean kafka-4, the newest there is?"),
        ("kip-346", "did you mean kip-345 or kip-848?"),
    ],
)
def test_a_release_that_never_was_is_refused_with_the_nearest(name: str, said: str) -> None:
    with pytest.raises(KeyError) as caught:
        revisions.find(name)
    assert said in str(caught.value.args[0])


def test_patches_that_were_and_releases_that_may_come_are_found() -> None:
    for name in ("kafka-2.6.3", "kafka-3.9.2", "kafka-4.9"):
        assert revisions.find(name).name == name


@pytest.mark.parametrize("imported", ["model", "traces", "properties.worlds.world"])
def test_a_mutant_is_known_wherever_its_name_arrives(imported: str) -> None:
    """A worker or a notebook has imported something else, and nothing registers in it by hand."""
    code = (
        f"import sys, fencepost.{imported}\n"
        "from fencepost.model import find_revision\n"
        "assert 'fencepost.properties.mutants.mutants' not in sys.modules\n"
        "print(find_revision('mutant:kafka-8500').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "mutant:kafka-8500\n"


def test_a_prefix_is_looked_up_where_it_was_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revisions, "_FAMILIES", {})
    with pytest.raises(KeyError, match="no revision 'mutant:kafka-8500'"):
        revisions.find("mutant:kafka-8500")
    revisions.register("copy:", f"{__name__}:copied")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    assert revisions.find("copy:kafka-4").name == "copy:kafka-4"


def copied(name: str) -> Revision:
    return derive(BASE, name, "a copy", ())


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mixed-4.4", True), ("streams-4.2", True), ("consumer-4.0", True), ("pr-23542", False)],
)
def test_releases_of_all_protocols_are_releases(name: str, expected: bool) -> None:
    assert revisions.is_release(name) is expected
