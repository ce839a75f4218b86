"""Every answer in every version: the oldest clients read the same errors in another form.

`at_most` takes the highest version up to this one that the target has, so a target that lacks the
newest versions gets its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.offset_cases import commit_by_hand
from fencepost.conformance.cases.script import KIND, NOBODY, RANGE, STICKY, TOO_LONG_MS, Script
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = Registry()
case = CASES.case

_COMMITS = ("COMMIT-STABLE", "COMMIT-ILLEGAL-GENERATION", "COMMIT-UNKNOWN-MEMBER")

_JOINS = range(10)
_FORMS = (0, 2, 5, 6, 7, 9)
"""A version of each form that JoinGroup's answer has."""


def _versions(versions: Iterable[int]) -> Iterable[dict[str, Any]]:
    """Yield the fields that choose each version; 0 exactly, since its join has fewer fields."""
    for version in versions:
        yield {"at_most": version} if version else {"version": 0}


@case("JOIN-GROUP-ID-INVALID", "JOIN-SESSION-TIMEOUT-INVALID", "JOIN-UNKNOWN-MEMBER")
def refusals_in_every_version(s: Script) -> None:
    """A JoinGroup is refused in each version: the answer has the format of its version."""
    s.stable("a")
    for fields in _versions(_JOINS):
        s.join("x", group="", member_id=NOBODY, wait=True, **fields)
        s.join("x", member_id=NOBODY, session=TOO_LONG_MS, wait=True, **fields)
        s.join("x", member_id=NOBODY, wait=True, **fields)
    s.beat("a")


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", isolated=True)
def protocols_in_every_version(s: Script) -> None:
    """A process shares no protocol, in each version: the answer has the format of its version."""
    s.stable("a")
    for fields in _versions(_JOINS):
        s.join("x", member_id="", protocols=STICKY, wait=True, **fields)
    s.beat("a")


@case("JOIN-GROUP-FULL", "HEARTBEAT-STABLE", config={"group.max.size": 1})
def full_group_in_every_version(s: Script) -> None:
    """A full group refuses a process in each version: the answer has the format of its version."""
    s.stable("a")
    for fields in _versions(_JOINS):
        s.join("x", member_id="", wait=True, **fields)
    s.beat("a")


@case("JOIN-DYNAMIC-EMPTY", "HEARTBEAT-STABLE")
def ids_in_every_version(s: Script) -> None:
    """A dynamic process joins in each version from 4 on: it gets a pending id."""
    s.stable("a")
    for fields in _versions(_JOINS[4:]):
        s.join("x", member_id="", wait=True, **fields)
    s.beat("a")


@case("JOIN-PENDING-INSTANCE", "HEARTBEAT-STABLE")
def pending_id_with_an_instance_in_every_version(s: Script) -> None:
    """A pending id joins with an instance in each version that has them: it is refused."""
    s.stable("A1")
    s.join("n", member_id="", wait=True)
    for fields in _versions(_JOINS[5:]):
        s.join("n", instance="N", wait=True, **fields)
    s.beat("A1")


@case("JOIN-FOLLOWER-STABLE-SAME", "JOIN-MEMBER-COMPLETING-SAME")
def generations_in_every_version(s: Script) -> None:
    """Leader and follower rejoin in each version: the answer has the format of its version."""
    s.completing("a", "b")
    for fields in _versions(_JOINS):
        s.join("a", "b", wait=True, **fields)
    s.synced("a", "b")
    for fields in _versions(_JOINS):
        s.join("b", wait=True, **fields)


@case(
    "JOIN-PENDING",
    "JOIN-FOLLOWER-STABLE-CHANGED",
    "JOIN-MEMBER-COMPLETING-CHANGED",
    isolated=True,
)
def versions_before_ids_may_use_one(s: Script) -> None:
    """A pending id joins in version 3 or below: it becomes a member."""
    s.stable("a", "b")
    s.join("n", member_id="", wait=True)
    s.join("n", at_most=3, settle=True)
    s.join("a", "b", wait=("a", "b", "n"))
    s.join("b", at_most=3, protocols=(*RANGE, *STICKY), settle=True)
    s.beat("a")
    s.join("a", "n", wait=("a", "b", "n"))
    s.synced("a", "b", "n")
    s.join("b", at_most=3, settle=True)
    s.beat("a")
    s.join("a", "n", wait=("a", "b", "n"))


@case("JOIN-STATIC-EMPTY-PREPARING", "JOIN-PHASE-ALL-JOINED", apis=(("JoinGroup", 5),))
def fenced_joins_in_every_version(s: Script) -> None:
    """A parked join is fenced in each version: the answer has the format of its version."""
    s.stable("b", "c", "A1")
    for number, version in enumerate(_JOINS, start=1):
        old, new = f"A{number}", f"A{number + 1}"
        (fields,) = _versions((version,))
        s.join("b", settle=True)
        if version < 5:
            fields["instance"] = None
        s.join(old, settle=True, **fields)
        s.join(new, settle=True)
        s.wait(old)
        s.join("c", wait=("b", "c", new))
        s.synced("b", "c", new)


@case("LEAVE-MEMBER-PREPARING", "JOIN-PHASE-ALL-JOINED")
def removed_joins_in_every_version(s: Script) -> None:
    """The member of a parked join is removed: the answer has the format of its version."""
    s.stable("b", "c")
    for who, fields in zip("defghi", _versions(_FORMS), strict=True):
        s.enter(who, wait=False, settle=True)
        s.join("b", settle=True)
        s.join("c", wait=("b", "c", who))
        s.synced("b", "c", who)
        s.join("b", settle=True)
        s.join(who, settle=True, **fields)
        s.leave("admin", (IdOf(who), None))
        s.wait(who)
        s.join("c", wait=("b", "c"))
        s.synced("b", "c")


def _restart_while_joins_wait(s: Script, **joins: int) -> None:
    """Fail over while joins of these members wait, each of its version."""
    s.stable("a")
    for name, version in joins.items():
        (fields,) = _versions((version,))
        s.join(name, member_id="", settle=True, **fields)
    s.describe()
    s.restart()
    s.beat("a")


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=("restart",))
def waiting_joins_of_old_versions_are_sent_away(s: Script) -> None:
    """A failover ends parked joins of old versions: they are refused, and their members stay."""
    _restart_while_joins_wait(s, d=0, e=1, f=3)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=("restart",), apis=(("JoinGroup", 5),))
def waiting_joins_of_newer_versions_are_sent_away(s: Script) -> None:
    """A failover ends parked joins of versions with instances: they are refused."""
    _restart_while_joins_wait(s, D1=5, E1=6, F1=7)


@case("FAILOVER-STABLE", "HEARTBEAT-STABLE", features=("restart",), apis=(("JoinGroup", 8),))
def waiting_joins_of_the_newest_versions_are_sent_away(s: Script) -> None:
    """A failover ends parked joins of the newest versions: they are refused."""
    _restart_while_joins_wait(s, D1=8, E1=9)


@case("FAILOVER-STABLE", "JOIN-PHASE-ALL-JOINED", features=("restart",))
def waiting_syncs_of_every_version_are_sent_away(s: Script) -> None:
    """A failover ends parked syncs of each version: the stored generation counts."""
    members = ("a", "b", "c", "d", "e", "f")
    s.stable(*members)
    s.join("a", settle=True)
    s.join(*members[1:], wait=members)
    for name, version in zip(members[1:], (0, 1, 3, 4, 5), strict=True):
        s.sync(name, at_most=version, settle=True)
    s.describe()
    s.restart()
    s.beat("a")
    s.join("a", settle=True)
    s.join(*members[1:], wait=members)
    s.synced(*members)


@case("SYNC-UNKNOWN-MEMBER", "SYNC-ILLEGAL-GENERATION", "SYNC-GROUP-ID-INVALID")
def refused_syncs_in_every_version(s: Script) -> None:
    """A SyncGroup is refused in each version: the answer has the format of its version."""
    s.stable("a", "b")
    for version in range(6):
        s.sync("x", group="", member_id=NOBODY, generation=1, at_most=version, wait=True, **KIND)
        s.sync(
            "x",
            member_id=NOBODY,
            generation=GenerationOf("a"),
            at_most=version,
            wait=True,
            **KIND,
        )
        s.sync("b", generation=GenerationOf("b", plus=1), at_most=version, wait=True)
    s.beat("a", "b")


@case("SYNC-PREPARING", "SYNC-STABLE")
def syncs_in_every_version(s: Script) -> None:
    """A member syncs when stable and in the join phase: the answer has its version's format."""
    s.stable("a", "b")
    for version in range(6):
        s.sync("b", at_most=version, wait=True)
    s.join("a", settle=True)
    for version in range(6):
        s.sync("b", at_most=version, wait=True)
    s.join("b", wait=("a", "b"))


@case("SYNC-COMPLETING-FOLLOWER", "SYNC-COMPLETING-LEADER")
def waiting_syncs_of_every_version(s: Script) -> None:
    """Followers sync in each version: each answer has the format of its version."""
    members = ("a", "b", "c", "d", "e", "f")
    s.completing(*members)
    for name, version in zip(members[1:], (0, 1, 3, 4, 5), strict=True):
        s.sync(name, at_most=version, settle=True)
    s.pause()
    s.sync("a", assign=members, wait=members)


def _leave_while_syncs_wait(s: Script, *versions: int) -> None:
    """Let a member leave while syncs of these versions wait."""
    members = "abcd"[: len(versions) + 1]
    s.completing(*members, "z")
    for name, version in zip(members[1:], versions, strict=True):
        s.sync(name, at_most=version, settle=True)
    s.leave("z")
    s.wait(*members[1:])
    s.join(*members, wait=tuple(members))


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED")
def overtaken_syncs_of_old_versions(s: Script) -> None:
    """A member leaves while syncs of old versions are parked: each must rejoin."""
    _leave_while_syncs_wait(s, 0, 1, 3)


@case("LEAVE-MEMBER", "JOIN-PHASE-ALL-JOINED")
def overtaken_syncs_of_newer_versions(s: Script) -> None:
    """A member leaves while syncs of flexible versions are parked: each must rejoin."""
    _leave_while_syncs_wait(s, 4, 5)


@case("JOIN-STATIC-EMPTY-COMPLETING", "JOIN-PHASE-ALL-JOINED", apis=(("JoinGroup", 5),))
def fenced_syncs_in_every_version(s: Script) -> None:
    """A parked sync is fenced in each version: the answer has the format of its version."""
    s.completing("b", "A1")
    for number, version in enumerate(range(6), start=1):
        old, new = f"A{number}", f"A{number + 1}"
        fields: dict[str, Any] = {"instance": None} if version < 3 else {}
        s.sync(old, at_most=version, settle=True, **fields)
        s.join(new, settle=True)
        s.wait(old)
        s.join("b", wait=("b", new))


@case("HEARTBEAT-STABLE", "HEARTBEAT-PREPARING", "HEARTBEAT-ILLEGAL-GENERATION")
def heartbeats_in_every_version(s: Script) -> None:
    """Heartbeats get each answer in each version: it has the format of its version."""
    s.stable("A1", "b")
    for version in range(5):
        s.beat("b", at_most=version)
        s.beat("x", group="", member_id=NOBODY, generation=1, at_most=version)
        s.beat("x", member_id=NOBODY, generation=1, at_most=version)
        s.beat("b", generation=GenerationOf("b", plus=1), at_most=version)
        if version >= 3:
            s.beat("b", instance="A", at_most=version)
    s.join("A1", settle=True)
    for version in range(5):
        s.beat("b", at_most=version)


@case("LEAVE-MEMBER", "LEAVE-MEMBER-INSTANCE-FENCED", "LEAVE-MEMBER-UNKNOWN")
def leaves_in_every_version(s: Script) -> None:
    """Leaves with rows get each answer in each version: it has the format of its version."""
    s.stable("a", "B1", "c", "d", "e")
    for name, version in zip("cde", (3, 4, 5), strict=True):
        s.leave("x", (IdOf(name), None), (IdOf("a"), "B"), (NOBODY, None), at_most=version)
        s.leave("x", (NOBODY, None), group="", at_most=version)
    s.beat("a", "B1")


@case("LEAVE-GROUP-ID-INVALID", "LEAVE-MEMBER-UNKNOWN")
def legacy_leaves_in_every_version(s: Script) -> None:
    """Leaves without rows get each answer in each version: it has the format of its version."""
    s.stable("a", "b", "c", "d")
    for name, version in zip("bcd", (0, 1, 2), strict=True):
        s.leave_legacy(name, version=version)
        s.leave_legacy("x", member_id=NOBODY, version=version)
        s.leave_legacy("x", member_id=NOBODY, version=version, group="")
    s.beat("a")


@case(*_COMMITS, "FETCH-ANYBODY", features=("missing-topics",))
def commits_in_every_version(s: Script) -> None:
    """Commits get each answer in each version, and each version can fetch what is stored."""
    s.stable("A1", "b")
    for version in range(2, 10):
        s.commit("b", offset=version, at_most=version)
        s.commit("b", offset=70, topic="missing-t", at_most=version)
        s.commit("b", offset=71, generation=GenerationOf("b", plus=1), at_most=version)
        s.commit("b", offset=72, member_id=NOBODY, at_most=version)
        if version >= 7:
            s.commit("b", offset=73, instance="A", at_most=version)
    for version in range(1, 8):
        s.fetch("b", at_most=version)


@case("FETCH-ANYBODY", "COMMIT-STABLE", apis=(("OffsetFetch", 9),))
def fetches_of_the_newest_versions(s: Script) -> None:
    """Offsets are fetched in the newest versions, with several groups and with a member id."""
    s.stable("a")
    s.commit("a", offset=7)
    for version in (8, 9):
        s.fetch("a", version=version)


@case("COMMIT-COMPLETING", "COMMIT-PREPARING", "COMMIT-ANONYMOUS")
def commits_during_a_rebalance_in_every_version(s: Script) -> None:
    """Members commit in each version during a rebalance: the answer depends on the phase."""
    s.completing("a", "b")
    for version in range(2, 10):
        s.commit("b", offset=version, at_most=version)
        s.commit("x", member_id="", generation=-1, at_most=version)
    s.synced("a", "b")
    s.join("a", settle=True)
    s.beat("b")  # a rebalance is prepared by now
    for version in range(2, 10):
        s.commit("b", offset=version, at_most=version)
        s.commit("x", member_id="", generation=-1, at_most=version)
    s.fetch("b")


@case("COMMIT-EMPTY-GROUP", "COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def commits_without_members_in_every_version(s: Script) -> None:
    """A group without members gets commits in each version and for any id: they are stored."""
    s.commit("x", offset=3, member_id=NOBODY, generation=-1, at_most=6)
    for version in range(2, 10):
        s.commit("x", offset=version, member_id="", generation=-1, at_most=version)
    s.fetch("x")


@case("COMMIT-GROUP-ABSENT-GENERATION")
def generation_without_a_group_or_an_id(s: Script) -> None:
    """A commit names a generation and no existing group: refused, with or without an id."""
    s.commit("x", member_id="", generation=0, version=7)
    s.commit("x", member_id="", instance="X", generation=3, version=7)
    s.fetch("x")


@case("COMMIT-GROUP-NOT-FOUND", apis=(("OffsetCommit", 9),))
def group_that_is_not_found_without_an_id(s: Script) -> None:
    """A commit of version 9 names a generation and no existing group: GROUP_ID_NOT_FOUND."""
    s.commit("x", member_id="", generation=0, version=9)
    s.commit("x", member_id="", instance="X", generation=3, version=9)


@case("COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def offsets_without_a_group_for_an_instance(s: Script) -> None:
    """A commit without a generation names an instance and no existing group: it is stored."""
    s.commit("x", offset=2, member_id="", instance="X", generation=-1)
    s.fetch("x")


@case("DESCRIBE-STABLE", "DESCRIBE-UNSTABLE")
def descriptions_in_every_version(s: Script) -> None:
    """A group is described in each version, stable or not: the answer has its format."""
    s.stable("A1", "b")
    for version in range(6):
        s.describe(at_most=version)
    s.join("A1", settle=True)
    for version in range(6):
        s.describe(at_most=version)


@case("LIST-GROUP")
def lists_in_every_version(s: Script) -> None:
    """A group is listed in each version, in the sync phase, too: the answer has its format."""
    commit_by_hand(s)
    s.completing("a", "b")
    for version in range(5):
        s.list_groups(at_most=version)
    s.synced("a", "b")
    s.join("a", settle=True)
    s.list_groups(at_most=3)
