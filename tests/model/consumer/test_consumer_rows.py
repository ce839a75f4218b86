"""Each measured row of the consumer protocol, over the machine, for every revision.

A row has the id of the measurement, a script whose last step is its request, and the answer, which
may differ by revision.  `bump`: how much the group's epoch grew by the last step.  `owns`: the
partitions that members may own then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import pytest
from support.consumer_world import ConsumerWorld, error_name
from support.places import ROOT

from fencepost.model.assignors.server_assignors import assign_at_broker
from fencepost.model.machine import Machine
from fencepost.model.messages.messages import (
    TxnCommitPartition,
    TxnCommitTopic,
    TxnOffsetCommitRequest,
)
from fencepost.model.revisions import revisions
from fencepost.model.work import Incoming, Outcome, Span
from tools.docs.consumer_findings import KAFKA
from tools.docs.consumer_rows_page import FILE

V = TypeVar("V", str, int)
ByRevision: TypeAlias = V | dict[str, V]

UP_TO_4_1 = ("consumer-4.0", "consumer-4.1")
UP_TO_4_2 = (*UP_TO_4_1, "consumer-4.2")
UP_TO_4_3_1 = (*UP_TO_4_2, "consumer-4.3", "consumer-4.3.1")
ALL = (*UP_TO_4_3_1, "consumer-4.4", "pr-23542", "kip-848")
FULL: Mapping[str, int] = {"group.consumer.max.size": 2}

OLD, PR, KIP = "up to 4.3.1", "pr-23542", "kip-848"


@dataclass(frozen=True)
class Row:
    id: str
    script: str
    answer: ByRevision[str]
    bump: ByRevision[int] | None = None
    owns: dict[str, set[int]] | None = None
    config: Mapping[str, int] = field(default_factory=dict)


def here(value: ByRevision[V], revision: str) -> V:
    """The value for a revision: its own, that of a range of releases, or that of all others."""
    if not isinstance(value, dict):
        return value
    if revision in value:
        return value[revision]
    if revision in UP_TO_4_3_1 and OLD in value:
        return value[OLD]
    return value[""]


INVALID, UNKNOWN, MAX = "INVALID_REQUEST", "UNKNOWN_MEMBER_ID", "GROUP_MAX_SIZE_REACHED"
UNRELEASED, FENCED = "UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"
EPOCH, NOT_FOUND, NONE = "FENCED_MEMBER_EPOCH", "GROUP_ID_NOT_FOUND", "NONE"

ONE = "join m1 A; "
TWO = "join m1 A; join m2 B; settle; "
AWAY = TWO + "release m1 A; "
RETURNED = AWAY + "join m3 A; "
LATER = "join m1; join m2 B; beat m1; "
"""m1 was told to give up two partitions, and has not said that it did."""
ADVANCED = LATER + "beat m1; "
"""m1 has, and is at epoch 3 after 2."""

CHECKS = (
    Row("C1-join", "join '' v=1", INVALID),
    Row("C1-beat", ONE + "beat '' - epoch=3 v=0", INVALID),
    Row("C1-leave", ONE + "leave '' v=0", INVALID),
    Row("C1-release", ONE + "release '' A v=1", INVALID),
    Row("C2-group", "join m1 group=", INVALID),
    Row("C2-instance", "join m1 ''", INVALID),
    Row("C2-rack", "join m1 rack=", INVALID),
    Row("C3-timeout", "join m1 r=-1", INVALID),
    Row("C3-owned-null", "join m1 owned=null", INVALID),
    Row("C3-owned", "join m1 owned=0", INVALID),
    Row("C3-topics", "join m1 topics=null", INVALID),
    Row("C4-bare", ONE + "release m1", INVALID),
    Row("C4-below", ONE + "release m1 A epoch=-3", INVALID),
    Row("C5-absent", "join m1 assignor=sticky", "UNSUPPORTED_ASSIGNOR"),
    Row("C5-unknown", ONE + "beat x - epoch=2 assignor=sticky", "UNSUPPORTED_ASSIGNOR"),
    Row("C6-beat", "beat m1 - epoch=1", {KIP: UNKNOWN, "": NOT_FOUND}),
    Row("C6-leave", "leave m1", {KIP: UNKNOWN, "": NOT_FOUND}),
    Row("C6-release", "release m1 A", {KIP: UNKNOWN, "": NOT_FOUND}),
)
_SIZES = (
    Row("C8-new", TWO + "join m3", MAX),
    Row("C8-unmapped", TWO + "join m3 C", MAX),
    Row("C8-live", TWO + "join m3 A", {OLD: MAX, "": UNRELEASED}),
    Row("C8-released", AWAY + "join m3 A", {OLD: MAX, "": NONE}),
    Row("C8-released-itself", AWAY + "join m1 A", NONE),
    Row("C8-known-new-instance", TWO + "join m1 C", {PR: INVALID, "": NONE}),
    Row("C8-zombie", AWAY + "beat x A epoch=3", {OLD: MAX, "": FENCED}),
    Row("C8-unknown", TWO + "beat x - epoch=3", {KIP: UNKNOWN, "": MAX}),
    Row("C8-unknown-unmapped", TWO + "beat x C epoch=3", {KIP: UNKNOWN, "": MAX}),
    Row("C8-leave", TWO + "leave x", UNKNOWN),
)
SIZES = tuple(Row(row.id, row.script, row.answer, config=FULL) for row in _SIZES)

JOINS = (
    Row("J1-empty", "join '' v=0", NONE, owns={"made": {0, 1, 2, 3}}),
    Row("J1-v0", ONE + "join m2 v=0", NONE, 1),
    Row("J1-v1", ONE + "join m2", NONE, 1),
    Row("J2-empty", ONE + "join '' B v=0", NONE, 1),
    Row("J2", ONE + "join m2 B", NONE, 1),
    Row("J3", ONE + "join m2 A", UNRELEASED, 0),
    Row("J3-empty", ONE + "join '' A v=0", UNRELEASED, 0),
    Row("J4", AWAY + "join m3 A", NONE, 0, {"m3": {0, 1}, "m2": {2, 3}}),
    Row("J4-empty", AWAY + "join '' A v=0", NONE, 0, {"made": {0, 1}}),
    Row("J4-subscription", AWAY + "join m3 A topics=t,u", NONE, 1),
    Row("J4-client-rack", AWAY + "join m3 A client=other rack=r2", NONE, 0),
    Row("J5", ONE + "join m1 A", {PR: NONE, KIP: NONE, "": UNRELEASED}, 0),
    Row("J5-lost", TWO + "join m1 A", {PR: NONE, KIP: NONE, "": UNRELEASED}, 0, {"m1": {0, 1}}),
    Row(
        "J5-subscription",
        TWO + "join m1 A topics=t,u",
        {PR: NONE, KIP: NONE, "": UNRELEASED},
        {PR: 1, KIP: 1, "": 0},
    ),
    Row("J6", AWAY + "join m1 A", NONE, 0, {"m1": {0, 1}}),
    Row("J7", TWO + "join m1", {**dict.fromkeys(UP_TO_4_1, EPOCH), "": NONE}, 0, {"m1": {0, 1}}),
    Row("J7-first", ONE + "join m1", NONE, 0, {"m1": {0, 1, 2, 3}}),
    Row("J8", AWAY + "join m1", {**dict.fromkeys(UP_TO_4_1, EPOCH), "": NONE}, 0, {"m1": {0, 1}}),
    Row("J9", "join m1; join m1 A", {PR: INVALID, "": NONE}, 0, {"m1": {0, 1, 2, 3}}),
    Row("J10", TWO + "join m1 C", {PR: INVALID, "": NONE}, 0, {"m1": {0, 1}}),
    Row(
        "J10-dead", ONE + "join m1 B; join m2 A", {"consumer-4.4": NONE, KIP: NONE, "": UNRELEASED}
    ),
    Row("J10-back", ONE + "join m1 B; join m1 A", {OLD: UNRELEASED, "": NONE}),
    Row(
        "J10-gone",
        ONE + "join m1 B; leave m1 B; join m2 A",
        {OLD: UNKNOWN, PR: UNRELEASED, "": NONE},
    ),
    Row("J10-gone-removal", ONE + "join m1 B; leave m1 B; remove '' A", {PR: NONE, "": UNKNOWN}),
    Row("J10-subscription", TWO + "join m1 C topics=t,u", {PR: INVALID, "": NONE}, 1),
    Row("J11-static", TWO + "release m2 B; join m1 B", {PR: INVALID, "": NONE}, 0),
    Row(
        "J11-subscription",
        TWO + "release m2 B; join m1 B topics=t,u",
        {PR: INVALID, "": NONE},
        1,
    ),
    Row(
        "J11-dynamic",
        "join m1; join m2 B; settle; release m2 B; join m1 B",
        {PR: INVALID, "": NONE},
        0,
    ),
    Row(
        "J11-swap",
        AWAY + "release m2 B; join m1 B; join m2 A",
        {OLD: UNRELEASED, PR: INVALID, "": NONE},
    ),
    Row("J13", ONE + "wait 6000; join m2 A", NONE, 1),
    Row("J14", RETURNED + "join m1 A", UNRELEASED, 0),
    Row("J15", RETURNED + "join m1", NONE, 1),
    Row("J16-retry", RETURNED + "join m3 A", {PR: NONE, KIP: NONE, "": UNRELEASED}, 0),
    Row("J16-second", RETURNED + "join m4 A", UNRELEASED, 0),
    Row("J17", LATER + "join m1 A", {PR: INVALID, "": NONE}, 0),
    Row("J17-subscription", LATER + "join m1 A topics=t,u", {PR: INVALID, "": NONE}, 1),
    Row("J18", "join m1; join m2 B; settle; join m1 B", UNRELEASED, 0),
)

BEATS = (
    Row("H1", TWO + "beat m1", NONE, 0),
    Row("H1-no-instance", TWO + "beat m1 -", NONE, 0),
    Row("H1-subscription", TWO + "beat m1 topics=u", NONE, 1),
    Row("H2", RETURNED + "beat m1 A", FENCED),
    Row("H2-newer", RETURNED + "beat m1 A epoch=99", FENCED),
    Row("H2-released", AWAY + "beat x A epoch=1", FENCED),
    Row("H3", TWO + "beat x C epoch=3", UNKNOWN),
    Row("H3-live", TWO + "beat m1 C", UNKNOWN),
    Row("H4", TWO + "beat x - epoch=3", UNKNOWN),
    Row("H5", TWO + "beat m1 epoch=newer", EPOCH),
    Row("H6", ADVANCED + "beat m1 epoch=previous", NONE),
    Row("H6-nothing", ADVANCED + "beat m1 epoch=previous owned=", NONE),
    Row("H7-null", ADVANCED + "beat m1 epoch=previous owned=null", EPOCH),
    Row("H7-more", ADVANCED + "beat m1 epoch=previous owned=0,1,2,3", EPOCH),
    Row("H8", TWO + "join m3; settle; beat m1 epoch=1", EPOCH),
    Row("H8-replaced", RETURNED + "beat m3 epoch=1", EPOCH),
    Row("H9", AWAY + "beat m1 A", EPOCH),
    Row("H9-no-instance", AWAY + "beat m1 - epoch=1", EPOCH),
    Row("H11", TWO + "remove '' A; beat m1 A", UNKNOWN),
    Row("H11-alone", TWO + "remove '' A; beat m1 -", UNKNOWN),
    Row("H12", TWO + "remove '' A; join m3 A; beat m1 A", FENCED),
    Row("H12-alone", TWO + "remove '' A; join m3 A; beat m1 -", UNKNOWN),
)

LEAVES = (
    Row("L1", TWO + "release m1 A", NONE, 0, {"m1": {0, 1}}),
    Row("L2", AWAY + "release m1 A", NONE, 0, {"m1": {0, 1}}),
    Row("L3-good", TWO + "leave x A", FENCED),
    Row("L3-while", TWO + "release x A", FENCED),
    Row("L3-member", TWO + "release m2 A", FENCED),
    Row("L3-empty", TWO + "release '' A v=0", FENCED),
    Row("L4-good", TWO + "leave m1 C", UNKNOWN),
    Row("L4-while", TWO + "release m1 C", UNKNOWN),
    Row("L4-dynamic", "join m1; release m1 A", UNKNOWN),
    Row("L4-alone", TWO + "leave x", UNKNOWN),
    Row("L5", TWO + "leave m1 A", NONE, 1),
    Row("L5-alone", TWO + "leave m1", NONE, 1),
    Row("L5-released", AWAY + "leave m1 A", NONE, 1),
    Row("L6", TWO + "join m3; leave m1 A", NONE, 1),
)

REMOVALS = (
    Row("A1-instance", TWO + "remove '' A", NONE, 1),
    Row("A1-released", AWAY + "remove '' A", NONE, 1),
    Row("A1-wrong-id", TWO + "remove x A", FENCED, 0),
    Row("A1-unmapped", TWO + "remove '' C", UNKNOWN, 0),
    Row("A1-id", TWO + "remove m1", NONE, 1),
    Row("A2", ONE + "release m1 A; delete", "NON_EMPTY_GROUP"),
    Row("A4", ONE + "classic_describe", NOT_FOUND),
)

STALE = "STALE_MEMBER_EPOCH"
_HELD = {**dict.fromkeys((*UP_TO_4_2, KIP), STALE), "": NONE}
OFFSETS = (
    Row("O1", TWO + "commit m1 A", NONE),
    Row("O1-no-instance", TWO + "commit m1", NONE),
    Row("O1-wrong-instance", TWO + "commit m1 B", {KIP: FENCED, "": NONE}),
    Row("O1-unmapped-instance", TWO + "commit m1 C", NONE),
    Row("O2", TWO + "commit m1 epoch=newer", STALE),
    Row("O3-held", ADVANCED + "commit m1 epoch=previous parts=0", _HELD),
    Row("O3-anothers", ADVANCED + "beat m2; commit m1 epoch=previous parts=2", STALE),
    Row("O3-before", ADVANCED + "commit m1 epoch=1 parts=0", STALE),
    Row("O3-returned", RETURNED + "commit m3 epoch=0 parts=0", _HELD),
    Row("O3-returned-negative", RETURNED + "commit m3 epoch=-1 parts=0", STALE),
    Row("O4", RETURNED + "commit m1 A epoch=3", UNKNOWN),
    Row("O4-released", RETURNED + "commit m1 A epoch=-2", UNKNOWN),
    Row("O5-old", AWAY + "commit m1 A epoch=3", STALE),
    Row("O5-none", AWAY + "commit m1 A epoch=-1", STALE),
    Row("O5", AWAY + "commit m1 A epoch=-2", {KIP: STALE, "": NONE}),
    Row("O5-fetch", AWAY + "fetch m1 epoch=-2", NONE),
    Row("O6", TWO + "commit m1 v=8", "UNSUPPORTED_VERSION"),
    Row("O7", ONE + "release m1 A; commit '' epoch=-1", UNKNOWN),
    Row("O7-empty", ONE + "leave m1 A; commit '' epoch=-1", NONE),
    Row("O8", TWO + "fetch m1", NONE),
    Row("O8-newer", TWO + "fetch m1 epoch=newer", STALE),
    Row("O8-older", ADVANCED + "fetch m1 epoch=previous", STALE),
    Row("O8-unknown", TWO + "fetch x epoch=3", UNKNOWN),
    Row("O8-anybody", TWO + "fetch - epoch=-1", NONE),
    Row("O9", TWO + "txn '' - epoch=-1", NONE),
    Row("O9-instance", TWO + "txn m1 B", {KIP: FENCED, "": NONE}),
    Row("O9-unmapped-instance", TWO + "txn m1 C", NONE),
    Row("O9-released", AWAY + "txn m1 A epoch=-2", {KIP: "ILLEGAL_GENERATION", "": NONE}),
    Row(
        "O9-older",
        ADVANCED + "txn m1 - epoch=previous",
        {**dict.fromkeys((*UP_TO_4_2, KIP), "ILLEGAL_GENERATION"), "": NONE},
    ),
    Row("O9-newer", TWO + "txn m1 - epoch=newer", "ILLEGAL_GENERATION"),
    Row("O9-unknown", TWO + "txn x - epoch=3", UNKNOWN),
)

ROWS = (*CHECKS, *SIZES, *JOINS, *BEATS, *LEAVES, *REMOVALS, *OFFSETS)


def test_the_revisions_are_those_of_the_rows() -> None:
    assert set(ALL) == set(revisions.CONSUMER_NAMES)
    assert len({row.id for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_row_has_its_answer_and_an_error_changes_nothing(row: Row, revision: str) -> None:
    world = ConsumerWorld(revision, row.config)
    *before, last = row.script.split(";")
    world.play(";".join(before))
    group = world.group
    reply = world.play(last)
    assert reply is not None
    assert reply.error == here(row.answer, revision)
    if reply.error != NONE:
        assert world.group == group
        return
    if row.bump is not None:
        assert group is not None
        assert world.there().epoch - group.epoch == here(row.bump, revision)
    if row.owns is not None:
        assert {member_id: world.numbers(member_id) for member_id in row.owns} == row.owns


def test_the_page_about_cases_on_real_brokers_has_these_answers() -> None:
    text = (ROOT / "docs" / FILE).read_text("utf-8")
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    there = {cells[0][2:]: cells[3] for cells in lines if len(cells) > 3}
    assert {row.id.partition("-")[0] for row in ROWS} <= {key.partition("-")[0] for key in there}
    compared = 0
    for row in ROWS:
        for revision, version in KAFKA.items():
            cell = _answer_in(there.get(row.id, "n/a"), version)
            if cell not in {"n/a", "not run"}:
                compared += 1
                answer = here(row.answer, revision)
                is_none = answer == NONE and "_" not in cell
                assert answer in cell or is_none, (row.id, version)
    assert compared > 600


def _answer_in(cell: str, version: str) -> str:
    """Return the answer of a release in a cell of the page."""
    runs = re.findall(r"(\d\.\d\.\d)(?: to (\d\.\d\.\d))?: (.*?)(?=; \d\.\d\.\d|$)", cell)
    answers = [answer for first, last, answer in runs if first <= version <= (last or first)]
    return answers[0] if answers else cell


# Answers and effects that a row says more of.


@pytest.mark.parametrize("revision", ALL)
def test_j3_leaves_the_timers_of_the_holder_alone(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(ONE + "wait 2000; join m2 A")
    assert world.left_ms("m1") == 4_000


@pytest.mark.parametrize("revision", ALL)
def test_j4_a_replacement_has_the_target_epoch_and_all_partitions_at_once(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(AWAY + "wait 1000")
    reply = world.join("m3", "A", r=7_000)
    group = world.there()
    assert (reply.epoch, len(reply.partitions or ())) == (group.target_epoch, 2)
    assert world.member("m3").rebalance_timeout_ms == 7_000
    assert world.left_ms("m3") == 6_000
    assert group.member("m1") is None
    assert group.holder("A") == "m3"
    assert [t for t in group.timers if t.subject == "m1"] == []
    assert group.state.value == "Stable"


@pytest.mark.parametrize("revision", ALL)
def test_j4_what_the_target_took_away_meanwhile_comes_free_without_acknowledgement(
    revision: str,
) -> None:
    world = ConsumerWorld(revision)
    world.play(TWO + "release m2 B; join m3; settle")
    assert world.numbers("m3") == set() or len(world.numbers("m3")) == 1
    world.play("join m4 B; settle")
    owned = [world.numbers(m) for m in ("m1", "m3", "m4")]
    assert sorted(n for part in owned for n in part) == [0, 1, 2, 3]
    assert world.there().state.value == "Stable"


@pytest.mark.parametrize("revision", ALL)
def test_another_assignor_bumps_since_4_4_if_the_preferred_one_changes(revision: str) -> None:
    grows = int(revision in {"consumer-4.4", PR})
    world = ConsumerWorld(revision)
    world.play("join m1 A assignor=uniform; release m1 A")
    epoch = world.there().epoch
    world.play("join m2 A assignor=range")
    assert world.there().epoch - epoch == grows
    world.play("beat m2 assignor=uniform")
    assert world.there().epoch - epoch == 2 * grows
    world.play("beat m2 assignor=uniform")
    assert world.there().epoch - epoch == 2 * grows


@pytest.mark.parametrize("revision", ALL)
def test_b1_within_the_interval_a_replacement_may_get_the_old_target_first(revision: str) -> None:
    world = ConsumerWorld(revision, {"group.consumer.assignment.interval.ms": 1_000})
    world.play(ONE + "release m1 A; join m2 A topics=t,u")
    group = world.there()
    if revision in UP_TO_4_2:
        assert group.target_epoch == group.epoch
        assert world.timer("assignment", "") is None
        return
    world = ConsumerWorld(revision, {"group.consumer.assignment.interval.ms": 1_000})
    first = world.play(ONE)
    assert first is not None
    assert first.outcomes == 1
    world.play("release m1 A")
    reply = world.join("m2", "A", topics="t,u")
    assert reply.outcomes == 2  # one member: one legal target, and not yet
    world.play("wait 1000")
    reply = world.beat("m2", topics="t")
    assert reply.outcomes == 1
    assert world.there().target_epoch == world.there().epoch


def later(revision: str) -> ConsumerWorld:
    """A coordinator that makes each target but the first when the interval is over."""
    world = ConsumerWorld(revision, {"group.consumer.assignment.interval.ms": 1_000})
    machine = world.machine
    world.machine = Machine(machine.revision, machine.config, assign=assign_at_broker)
    return world


@pytest.mark.parametrize("revision", ["consumer-4.3", "consumer-4.4"])
def test_b1_who_gives_a_topic_up_loses_it_before_there_is_a_new_target(revision: str) -> None:
    world = later(revision)
    world.play("join m1 topics=t,u")
    reply = world.beat("m1", topics="u")
    assert reply.epoch == 2
    assert {p.topic for p in reply.partitions or ()} == {"u"}
    assert {p.topic for p, _ in world.member("m1").revoking} == {"t"}
    assert world.there().target_epoch < world.there().epoch

    assert world.beat("m1").epoch == 2
    assert world.member("m1").revoking == ()
    world.play("wait 1000")
    assert world.beat("m1").epoch == 3


@pytest.mark.parametrize("revision", ["consumer-4.3", "consumer-4.4"])
def test_b1_who_subscribes_to_a_topic_again_has_it_from_the_old_target(revision: str) -> None:
    world = later(revision)
    world.play("join m1 topics=t,u; beat m1 topics=u")
    reply = world.beat("m1", topics="t,u")
    assert {p.topic for p in reply.partitions or ()} == {"t", "u"}
    assert world.there().target_epoch == 2


@pytest.mark.parametrize("revision", ALL)
def test_e1_an_idle_newcomer_with_another_assignor_is_a_new_epoch_since_4_4(revision: str) -> None:
    grows = revision in {"consumer-4.4", PR}
    world = ConsumerWorld(revision)
    world.play("join m1")
    before = world.there().epoch
    world.join("m2", topics="", assignor="range")
    assert world.there().epoch - before == grows
    world.join("m3", topics="", assignor="range")
    assert world.there().epoch - before == grows


@pytest.mark.parametrize("revision", ALL)
def test_while_two_assignors_tie_a_heartbeat_may_be_a_new_epoch_in_4_4(revision: str) -> None:
    may_grow = revision in {"consumer-4.4", PR}
    world = ConsumerWorld(revision)
    world.play("join m1 assignor=range; join m2 assignor=uniform; beat m1; beat m1; beat m2")
    assert (world.beat("m1").outcomes > 1) is may_grow
    world.join("m3", assignor="range")
    world.play("beat m1; beat m1; beat m2; beat m2; beat m3; beat m1; beat m2; beat m3")
    assert world.beat("m1").outcomes == 1


def test_a_commit_in_a_transaction_needs_a_group() -> None:
    machine = ConsumerWorld("consumer-4.3").machine
    row = TxnCommitPartition(partition_index=0, committed_offset=1)
    topics = (TxnCommitTopic(name="t", partitions=(row,)),)
    commit = TxnOffsetCommitRequest(
        transactional_id="x", group_id="", generation_id=-1, member_id="", topics=topics
    )
    incoming = Incoming("1", "c", commit.API, 3, commit, "fresh")
    (outcome,) = machine.handle(None, incoming, Span(0, 0), group_id="")
    assert outcome.rules == ("CG-TXN-COMMIT-GROUP-ID-INVALID",)
    assert outcome.group is None


@pytest.mark.parametrize("revision", ALL)
def test_e2_an_empty_group_has_its_next_target_at_once_since_4_4(revision: str) -> None:
    world = ConsumerWorld(revision, {"group.consumer.assignment.interval.ms": 1_000})
    world.play("join m1; leave m1")
    outcomes = world.join("m2").outcomes
    assert outcomes == (2 if revision in {"consumer-4.3", "consumer-4.3.1", KIP} else 1)


@pytest.mark.parametrize("revision", UP_TO_4_3_1)
def test_j10_a_heartbeat_with_the_old_instance_takes_it_back(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play("join m1 A; join m1 B; beat m1 A")
    assert world.member("m1").instance_id == "A"
    assert world.there().static == (("A", "m1"), ("B", "m1"))
    world.play("leave m1 A")
    assert world.there().static == (("B", "m1"),)


@pytest.mark.parametrize("revision", UP_TO_4_3_1)
def test_j10_both_entries_of_a_member_are_its_successors(revision: str) -> None:
    for joiner in ("m2", "m1"):
        world = ConsumerWorld(revision)
        world.play(f"join m1 A; join m1 B; release m1 A; join {joiner} A")
        assert world.member(joiner).instance_id == "A"
        assert world.there().static == (("A", joiner), ("B", joiner))


COPIES = {"CG-JOIN-COPY-CLASSIC", "CG-JOIN-COPY-CLASSIC-CHANGED"}
"""Rules of mixed groups."""

# 4.3.0 and the text of KIP-848 differ where the rules below say so; the rows above show each.


def test_each_difference_of_the_kip_is_seen_in_a_row() -> None:
    used: set[str] = set()
    for row in ROWS:
        for revision in (KIP, "consumer-4.3"):
            world = ConsumerWorld(revision, row.config)
            world.play(row.script)
            used |= world.rules
    differences = {d.rule_id for d in revisions.find(KIP).differences}
    unused = {rule.id for _, rule in revisions.find(KIP).rules() if rule.defensive}
    elsewhere = {"CG-REBALANCE-EXPIRED-RELEASED", *COPIES}
    assert differences - unused - elsewhere <= used


@pytest.mark.parametrize("revision", [r for r in ALL if r != PR])
def test_j11_the_partitions_of_a_copy_have_no_owner_until_the_next_epoch(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(TWO + "release m2 B; join m1 B; settle")
    assert world.numbers("m1") == {2, 3}
    assert world.there().state.value == "Stable"
    assert len(world.there().members) == 1
    assert set(world.there().static) == (
        {("B", "m1")} if revision in {"consumer-4.4", KIP} else {("A", "m1"), ("B", "m1")}
    )
    world.play("join m5; settle")
    assert sorted([*world.numbers("m1"), *world.numbers("m5")]) == [0, 1, 2, 3]


class _Recorder(ConsumerWorld):
    """A world that notes what each outcome of its last request gives to a member."""

    def __init__(self, revision: str, member_id: str = "m1") -> None:
        super().__init__(revision)
        self.member_id = member_id
        self.targets: set[tuple[str, ...]] = set()
        self.phases: set[tuple[tuple[str, ...], str]] = set()

    def _distance(self, outcome: Outcome) -> tuple[Any, ...]:
        assert outcome.group is not None
        partitions = outcome.group.target_of(self.member_id)
        target = tuple(f"{p.topic}-{p.partition}" for p in partitions)
        self.targets.add(target)
        member = outcome.group.member(self.member_id)
        self.phases.add((target, "" if member is None else member.phase.value))
        return super()._distance(outcome)


@pytest.mark.parametrize("revision", [r for r in ALL if r != PR])
def test_j11_a_new_target_may_leave_out_what_a_copy_had_or_keep_what_it_copied(
    revision: str,
) -> None:
    every = {f"{topic}-{number}" for topic in "tu" for number in range(4)}
    world = _Recorder(revision)
    world.play(TWO + "release m2 B")
    world.targets = set()
    world.play("join m1 B topics=t,u")
    assert world.targets == {tuple(sorted(every)), tuple(sorted(every - {"t-0", "t-1"}))}

    of_t = tuple(f"t-{number}" for number in range(4))
    for topics in ("u", ""):
        world = _Recorder(revision)
        world.play(f"join m1 A; join m2 B topics={topics}; settle; release m2 B")
        world.targets, world.phases = set(), set()
        world.play("join m1 B topics=t")
        assert world.targets == {of_t, ()}
        kept = ((), "unreleased")  # the new target was compared with the old one, and not stored
        assert (kept in world.phases) is (topics == "")


@pytest.mark.parametrize("revision", ALL)
def test_e1_a_due_target_may_count_a_newcomer_that_subscribes_to_nothing(revision: str) -> None:
    world = _Recorder(revision, "m2")
    reply = world.play("join m1; join k; leave k; join m2 topics=")
    assert reply is not None
    assert len(world.targets) == 1 + 15  # none, or any of four partitions
    assert reply.partitions == frozenset()


def test_j17_by_the_kip_the_target_is_the_members_whatever_its_instance() -> None:
    world = ConsumerWorld(KIP)
    world.play(LATER + "join m1 A; settle")
    assert len(world.numbers("m1")) == len(world.numbers("m2")) == 2


@pytest.mark.parametrize("revision", [r for r in ALL if r not in {PR, KIP}])
def test_j17_the_target_stays_with_nobody_until_the_next_epoch(revision: str) -> None:
    world = ConsumerWorld(revision)
    reply = world.play(LATER + "join m1 A")
    assert reply is not None
    assert reply.partitions == frozenset()
    world.settle()
    assert world.there().state.value == "Stable"
    assert world.numbers("m1") == set()
    assert len(world.there().target_of("m1")) == 2
    shown = {m.member_id: m for m in world.describe().members}["m1"]
    assert shown.assignment.topic_partitions == ()
    assert shown.target_assignment.topic_partitions != ()
    world.play("join m5; settle")
    assert sum(len(world.numbers(m)) for m in ("m1", "m2", "m5")) == 4


@pytest.mark.parametrize("revision", ALL)
def test_l1_a_release_gives_up_what_was_to_be_revoked_and_answers_without_interval(
    revision: str,
) -> None:
    world = ConsumerWorld(revision)
    world.play("join m1 A; join m2 B; beat m1; wait 1000")
    assert len(world.member("m1").revoking) == 2
    before = world.there()
    reply = world.play("release m1 A")
    assert reply is not None
    assert (reply.epoch, reply.interval_ms, reply.member_id) == (-2, 0, "m1")
    member = world.member("m1")
    assert (member.revoking, {epoch for _, epoch in member.assigned}) == ((), {0})
    assert (world.there().epoch, world.there().target) == (before.epoch, before.target)
    assert world.left_ms("m1") == 5_000
    world.play("beat m2")
    assert world.numbers("m2") == {2, 3}


@pytest.mark.parametrize("revision", ALL)
def test_what_a_member_gives_up_it_may_have_again_at_once_since_4_1(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play("join m1 A; join m2 B; beat m1; leave m2 B; beat m1")
    assert len(world.numbers("m1")) == (2 if revision == "consumer-4.0" else 4)
    world.play("beat m1")
    assert len(world.numbers("m1")) == 4


@pytest.mark.parametrize("revision", ALL)
def test_l5_a_leave_for_good_answers_its_epoch(revision: str) -> None:
    world = ConsumerWorld(revision)
    reply = world.play(TWO + "leave m1 A")
    assert reply is not None
    assert (reply.epoch, reply.interval_ms) == (-1, 0)


# Timers.


@pytest.mark.parametrize("revision", ALL)
def test_t1_newcomers_are_refused_until_the_session_of_a_silent_holder_ends(revision: str) -> None:
    world = ConsumerWorld(revision)
    reply = world.play(ONE + "wait 5999; join m2 A")
    assert reply is not None
    assert reply.error == UNRELEASED
    reply = world.play("wait 1; join m2 A")
    assert reply is not None
    assert reply.error == NONE


@pytest.mark.parametrize("revision", ALL)
def test_an_error_answer_restarts_no_timer(revision: str) -> None:
    world = ConsumerWorld(revision)
    reply = world.play(ONE + "wait 5000; beat m1 epoch=newer; wait 999; beat m1 epoch=newer")
    assert reply is not None
    assert reply.error == EPOCH
    reply = world.play("wait 1; beat m1")
    assert reply is not None
    assert reply.error == UNKNOWN


@pytest.mark.parametrize("revision", ALL)
def test_t2_t3_a_release_sets_no_timer_and_its_end_is_an_ordinary_removal(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(TWO)
    epoch = world.there().epoch
    world.play("wait 4000; beat m2; release m1 A; wait 1000; release m1 A; beat m2; wait 999")
    assert world.there().member("m1") is not None
    world.play("wait 1")
    assert world.there().member("m1") is None
    assert world.there().epoch == epoch + 1
    world.play("settle")
    assert world.numbers("m2") == {0, 1, 2, 3}


@pytest.mark.parametrize("revision", ALL)
def test_t4_while_a_member_is_away_its_partitions_stay_with_it(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.wants = {"m1": {0}, "m2": {2, 3}, "m3": {1}}
    world.play(AWAY + "join m3; settle")
    assert world.numbers("m1") == {0, 1}
    assert world.numbers("m3") == set()
    assert world.there().target_of("m1") != ()
    world.wants = {}
    world.play("join m4 A; settle")
    assert (world.numbers("m4"), world.numbers("m3")) == ({0}, {1})


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("instance", ["A", "-"])
def test_t5_who_doesnt_revoke_within_its_own_r_is_removed(revision: str, instance: str) -> None:
    world = ConsumerWorld(revision)
    world.play(f"join m1 {instance} r=2000; join m2 B; beat m1; wait 1500")
    assert world.left_ms("m1", "rebalance") == 500
    reply = world.play("beat m1 owned=stale; beat m2")
    assert reply is not None
    assert world.left_ms("m1", "rebalance") == 500
    world.play("wait 500")
    assert world.there().member("m1") is None
    world.play("beat m2")
    assert world.numbers("m2") == {0, 1, 2, 3}


@pytest.mark.parametrize("revision", ALL)
def test_r_ends_with_the_acknowledgement(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play("join m1 A r=2000; join m2 B; beat m1; beat m1")
    assert world.timer("rebalance", "m1") is None


# Epochs, failover, administration.


@pytest.mark.parametrize("revision", ALL)
def test_e1_the_first_epoch(revision: str) -> None:
    world = ConsumerWorld(revision)
    reply = world.join("m1")
    assert reply.epoch == (1 if revision in UP_TO_4_2 else 2)


@pytest.mark.parametrize("revision", ALL)
def test_e1_who_subscribes_to_nothing_joins_without_a_new_epoch(revision: str) -> None:
    world = ConsumerWorld(revision)
    assert world.join("m1", topics="").epoch == 1
    assert world.join("m2", "A", topics="").epoch == 1
    assert world.beat("m1", topics="t").epoch == 2
    assert world.join("m3", topics="").epoch == 2
    world.play("leave m3")
    assert world.there().epoch == 3


@pytest.mark.parametrize("revision", ALL)
def test_a_commit_makes_a_group_of_no_protocol(revision: str) -> None:
    world = ConsumerWorld(revision)
    assert world.classic_describe().error == "GROUP_ID_NOT_FOUND"
    assert world.commit("", epoch=-1).error == NONE
    described = world.classic_describe()
    assert (described.error, described.message.groups[0].group_state) == (NONE, "Empty")  # type: ignore[attr-defined]
    assert error_name(world.describe().error_code) == "GROUP_ID_NOT_FOUND"
    absent = UNKNOWN if revision == KIP else "GROUP_ID_NOT_FOUND"
    for step, answer in (
        ("beat m1 epoch=1", absent),
        ("leave m1", absent),
        ("release m1 A", absent),
        ("remove m1", UNKNOWN),
        ("commit m1 epoch=-1", NONE),
        ("commit m1 epoch=1", UNKNOWN),
        ("fetch m1 epoch=7", NONE),
    ):
        reply = world.play(step)
        assert reply is not None
        assert (step, reply.error) == (step, answer)
    joined = world.join("m1")
    assert joined.epoch == (1 if revision in UP_TO_4_2 else 2)
    assert world.there().offsets != ()
    world.play("leave m1")
    assert error_name(world.describe().error_code) == NONE
    assert world.delete().error == NONE
    world.commit("", epoch=-1)
    assert world.delete().error == NONE
    assert world.group is None


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize("end", ["leave m1", "wait 6000", "remove m1", "release m1 A; wait 6000"])
def test_e2_the_epochs_of_a_group_that_is_left_empty(revision: str, end: str) -> None:
    world = ConsumerWorld(revision)
    world.play(ONE + end)
    group = world.there()
    assert group.state.value == "Empty"
    assert group.epoch - group.target_epoch == int(revision in {*UP_TO_4_3_1, KIP})


@pytest.mark.parametrize("revision", ALL)
def test_f1_f2_a_failover_changes_nothing_but_timers(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(AWAY + "wait 4000; failover")
    assert (world.left_ms("m1"), world.left_ms("m2")) == (6_000, 6_000)
    reply = world.play("beat m2")
    assert reply is not None
    assert reply.error == NONE
    assert world.member("m1").is_released
    assert world.there().holder("A") == "m1"


@pytest.mark.parametrize("revision", ALL)
def test_f4_a_member_released_while_it_had_to_revoke_gets_a_timer_at_failover(
    revision: str,
) -> None:
    world = ConsumerWorld(revision, {"group.consumer.session.timeout.ms": 20_000})
    world.play("join m1 A r=8000; join m2 B; beat m1; release m1 A")
    assert world.timer("rebalance", "m1") is None
    world.play("failover; wait 7999")
    assert world.there().member("m1") is not None
    world.play("wait 1")
    assert (world.there().member("m1") is None) is (revision != KIP)
    world.play("wait 12000")
    assert world.there().member("m1") is None


@pytest.mark.parametrize("revision", ALL)
def test_f5_the_entry_of_an_old_instance_at_failover(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(ONE + "join m1 B; failover")
    alive = {revision: world.there().holder("A")}
    assert alive == {revision: None if revision in {"consumer-4.4", KIP} else "m1"}


@pytest.mark.parametrize("revision", ALL)
def test_a1_a_batch_bumps_once(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(TWO + "join m3; settle")
    epoch = world.there().epoch
    reply = world.remove(("", "A"), ("x", "B"), ("m3", None), ("", "A"), ("m3", None), ("x", None))
    assert reply.rows == (NONE, FENCED, NONE, NONE, NONE, UNKNOWN)
    assert world.there().epoch == epoch + 1
    assert [member.member_id for member in world.there().members] == ["m2"]


@pytest.mark.parametrize("revision", ALL)
def test_a3_a_released_member_in_a_description(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(ONE + "release m1 A")
    group = world.describe()
    (member,) = group.members
    assert (group.group_state, group.error_code) == ("Reconciling", 0)
    assert (member.instance_id, member.member_epoch, member.member_type) == ("A", -2, 1)
    (rows,) = member.assignment.topic_partitions
    assert (rows.topic_name, rows.partitions) == ("t", (0, 1, 2, 3))
    assert member.target_assignment == member.assignment


@pytest.mark.parametrize("revision", ALL)
def test_a5_partitions_to_revoke_in_a_description(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(LATER)
    members = {m.member_id: m for m in world.describe().members}
    (rows,) = members["m1"].assignment.topic_partitions
    assert len(rows.partitions) == (2 if revision in UP_TO_4_2 else 4)


@pytest.mark.parametrize("revision", ALL)
def test_o3_one_stale_partition_refuses_a_commit_but_not_one_that_is_missing(revision: str) -> None:
    missing = "UNKNOWN_TOPIC_OR_PARTITION"
    for in_transaction, stale in (("", STALE), ("txn", "ILLEGAL_GENERATION")):
        world = ConsumerWorld(revision)
        verb = in_transaction or "commit"
        reply = world.play(ADVANCED + f"beat m2; {verb} m1 epoch=previous parts=0,2,9,1")
        assert reply is not None
        assert reply.rows == (stale, stale, missing, stale)
        assert world.there().offsets == ()
        reply = world.play(f"{verb} m1 parts=0,9,-1")
        assert reply is not None
        assert reply.rows == (NONE, missing, missing)
        assert [offset.partition for offset in world.there().offsets] == [0]


@pytest.mark.parametrize("revision", ALL)
def test_offsets_survive_a_failover_and_keep_the_group(revision: str) -> None:
    world = ConsumerWorld(revision)
    world.play(ONE + "commit m1; leave m1; failover")
    assert world.fetch().message.groups[0].topics[0].partitions[0].committed_offset == 5  # type: ignore[attr-defined]
    assert world.machine.cleaned(world.there()) == ()
