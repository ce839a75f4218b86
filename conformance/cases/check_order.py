"""The order of checks: refusals that come before group, sender and generation are checked.

Each is sent by every kind of sender in every state: empty, pending, unknown and others' ids, with
any instance.  The members are `b`, who leads, the static `A1`, and `c`; `X` is an instance that
nobody holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.script import (
    BOTH,
    KIND,
    NOBODY,
    RANGE,
    RENEWED,
    ROUNDROBIN,
    STICKY,
    TOO_LONG_MS,
    Script,
)
from fencepost.model.plans.steps import GenerationOf, IdOf

CASES = Registry()
case = CASES.case

Sender = tuple[Any, str | None]
"""A member id and an instance id."""


def strangers(pending: str, *, members: bool = True) -> Iterator[Sender]:
    """Yield the senders that are refused: all but a member under its own id and instance."""
    ids = ["", IdOf(pending), NOBODY, *([IdOf("b"), IdOf("c")] if members else [])]
    for member_id in ids:
        for instance in (None, "X", *(("A",) if members else ())):
            if instance is not None or member_id not in (IdOf("b"), IdOf("c")):
                yield member_id, instance


def in_every_state(s: Script, ask: Callable[[Sender], None]) -> None:
    """Bring a group into each state; in each, let every stranger ask.

    While a rebalance is prepared the id that is pending keeps it from being over.
    """
    s.stable("b", "A1", "c")
    s.join("m", member_id="", wait=True)
    for sender in strangers("m"):
        ask(sender)
    s.join("b", settle=True)
    for sender in strangers("m"):
        ask(sender)
    s.join("A1", "c", "m", wait=("b", "A1", "c", "m"))
    s.join("p", member_id="", wait=True)
    for sender in strangers("p"):
        ask(sender)
    s.beat("b", "A1", "c", "m")


def in_an_empty_group(s: Script, ask: Callable[[Sender], None]) -> None:
    """Let every stranger ask in a group that its members left, and that handed out an id since."""
    s.stable("b")
    s.leave("b")
    s.join("p", member_id="", wait=True)
    for sender in strangers("p", members=False):
        ask(sender)
    s.join("p", wait=True)


def beats(s: Script, who: str = "b", **fields: Any) -> Callable[[Sender], None]:
    """Return a function that sends a sender's heartbeat with the generation of `who`."""

    def ask(sender: Sender) -> None:
        member_id, instance = sender
        generation = fields.get("generation", GenerationOf(who))
        s.beat("x", member_id=member_id, instance=instance, generation=generation)

    return ask


def syncs(s: Script, who: str = "b", **fields: Any) -> Callable[[Sender], None]:
    """Return a function that sends a sender's sync with the generation of `who`."""

    def ask(sender: Sender) -> None:
        member_id, instance = sender
        sync = {"generation": GenerationOf(who), **KIND, **fields}
        s.sync("x", member_id=member_id, instance=instance, wait=True, **sync)

    return ask


def commits(
    s: Script, who: str = "b", send: Callable[..., None] | None = None, **fields: Any
) -> Callable[[Sender], None]:
    """Return a function that commits a sender's offset with the generation of `who`.

    `send`: the script's method that commits; None: `commit`.
    """

    def ask(sender: Sender) -> None:
        member_id, instance = sender
        commit = {"generation": GenerationOf(who), **fields}
        (send or s.commit)("x", offset=3, member_id=member_id, instance=instance, **commit)

    return ask


@case("HEARTBEAT-INSTANCE-FENCED", "HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-UNKNOWN-MEMBER")
def strangers_in_every_state(s: Script) -> None:
    """Strangers send Heartbeat in each state: they are refused, and no member is affected."""
    in_every_state(s, beats(s))


@case("HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-UNKNOWN-MEMBER")
def strangers_in_an_empty_group(s: Script) -> None:
    """Strangers send Heartbeat to an Empty group: they are unknown, a pending id, too."""
    in_an_empty_group(s, beats(s))


@case("HEARTBEAT-INSTANCE-UNMAPPED", "HEARTBEAT-INSTANCE-FENCED")
def strangers_of_every_generation(s: Script) -> None:
    """A member sends Heartbeat for another instance: it is refused in any generation."""
    s.stable("b", "A1", "c")
    for generation in (-1, GenerationOf("b", plus=-1), GenerationOf("b", plus=4)):
        for sender in ((IdOf("c"), "X"), (IdOf("c"), "A")):
            beats(s, generation=generation)(sender)
    s.beat("b", "A1", "c")


@case("HEARTBEAT-GROUP-ABSENT")
def nobody_in_no_group(s: Script) -> None:
    """A Heartbeat names no existing group: its sender is unknown, whatever its fields."""
    for sender in (("", None), ("", "X"), (NOBODY, "X")):
        beats(s, generation=-1)(sender)


@case("SYNC-INSTANCE-FENCED", "SYNC-INSTANCE-UNMAPPED", "SYNC-UNKNOWN-MEMBER")
def strangers_in_every_state_sync(s: Script) -> None:
    """Strangers send SyncGroup in each state: they are refused, and no member is affected."""
    in_every_state(s, syncs(s))


@case("SYNC-INSTANCE-UNMAPPED", "SYNC-UNKNOWN-MEMBER")
def strangers_in_an_empty_group_sync(s: Script) -> None:
    """Strangers send SyncGroup to an Empty group: they are unknown, a pending id, too."""
    in_an_empty_group(s, syncs(s))


@case("SYNC-INSTANCE-UNMAPPED", "SYNC-INSTANCE-FENCED")
def strangers_of_every_generation_sync(s: Script) -> None:
    """Strangers send SyncGroup: the sender is checked before generation and protocol."""
    s.stable("b", "A1", "c")
    for fields in (
        {"generation": -1},
        {"generation": GenerationOf("b", plus=-1)},
        {"generation": GenerationOf("b", plus=4)},
        {"protocol_name": "sticky"},
    ):
        for sender in ((IdOf("c"), "X"), (IdOf("c"), "A"), (IdOf("b"), "X"), (IdOf("b"), "A")):
            syncs(s, **fields)(sender)
    syncs(s, generation=-1)((NOBODY, None))
    s.beat("b", "A1", "c")


@case("SYNC-GROUP-ABSENT")
def nobody_in_no_group_sync(s: Script) -> None:
    """A SyncGroup names no existing group: its sender is unknown, whatever its fields."""
    for sender in (("", None), ("", "X"), (NOBODY, "X")):
        syncs(s, generation=-1)(sender)


@case("COMMIT-INSTANCE-FENCED", "COMMIT-INSTANCE-UNMAPPED", "COMMIT-UNKNOWN-MEMBER")
def strangers_in_every_state_commit(s: Script) -> None:
    """Strangers commit in each state: they are refused, and nothing is stored."""
    in_every_state(s, commits(s))
    s.fetch("b")


@case("COMMIT-INSTANCE-UNMAPPED", "COMMIT-UNKNOWN-MEMBER")
def strangers_in_an_empty_group_commit(s: Script) -> None:
    """Strangers commit to an Empty group with a generation: they are refused."""
    in_an_empty_group(s, commits(s))
    s.fetch("b")


@case("COMMIT-INSTANCE-UNMAPPED", "COMMIT-ILLEGAL-GENERATION")
def strangers_of_every_generation_commit(s: Script) -> None:
    """Strangers commit in a stable group and a rebalance: the sender is checked first."""
    s.stable("b", "A1", "c")
    for generation in (GenerationOf("b", plus=-1), GenerationOf("b", plus=4)):
        commits(s, generation=generation)((IdOf("c"), "X"))
    s.join("b", settle=True)
    s.commit("c", generation=GenerationOf("c", plus=4))
    s.beat("c")


@case("COMMIT-EMPTY-GROUP", "FETCH-ANYBODY")
def anybody_without_a_generation(s: Script) -> None:
    """A commit without a generation names any id of an Empty group: the offsets are stored."""
    s.stable("b")
    s.leave("b")
    s.join("p", member_id="", wait=True)
    for sender in strangers("p", members=False):
        commits(s, generation=-1)(sender)
    s.fetch("b")


@case("JOIN-INSTANCE-FENCED", "JOIN-INSTANCE-UNMAPPED", "JOIN-UNKNOWN-MEMBER", "HEARTBEAT-STABLE")
def strangers_in_every_state_join(s: Script) -> None:
    """Strangers join in each state: they are refused, and nothing changes."""

    def ask() -> None:
        for member_id in (IdOf("b"), IdOf("c"), NOBODY):
            for instance in ("X", "A"):
                s.join("x", member_id=member_id, instance=instance, wait=True)
        s.join("x", member_id=IdOf("c"), instance="A", protocols=RENEWED, wait=True)
        s.join("x", member_id=IdOf("c"), instance="X", protocols=RENEWED, wait=True)
        s.join("x", member_id=NOBODY, instance=None, wait=True)

    s.stable("b", "A1", "c")
    ask()
    s.beat("b", "A1", "c")
    s.join("b", settle=True)
    ask()
    s.join("A1", "c", wait=("b", "A1", "c"))
    ask()
    s.synced("b", "A1", "c")


@case("JOIN-INSTANCE-UNMAPPED", "JOIN-UNKNOWN-MEMBER")
def strangers_in_an_empty_group_join(s: Script) -> None:
    """An id that an Empty group didn't hand out joins: it is refused."""
    s.stable("b")
    s.leave("b")
    s.join("x", member_id=NOBODY, instance="X", wait=True)
    s.join("x", member_id=NOBODY, instance=None, wait=True)
    s.join("A1", wait=True)


@case("JOIN-PENDING-INSTANCE", "JOIN-PENDING")
def pending_id_with_an_instance_in_every_state(s: Script) -> None:
    """A pending id joins with an instance in each state: it is refused, and stays pending."""
    s.stable("A1")
    s.leave("A1")
    s.join("m", member_id="", wait=True)
    s.join("m", instance="X", wait=True)
    s.join("m", wait=True)
    s.join("p", member_id="", wait=True)
    s.join("p", instance="X", wait=True)
    s.synced("m")
    s.join("B1", settle=True)
    s.join("p", instance="X", wait=True)
    s.join("p", instance="B", wait=True)
    s.join("m", settle=True)
    s.join("p", wait=("m", "B1", "p"))
    s.join("q", member_id="", wait=True)
    s.join("q", instance="B", wait=True)
    s.synced("m", "B1", "p")


@case("LEAVE-MEMBER-INSTANCE-FENCED", "LEAVE-MEMBER-INSTANCE-UNMAPPED", "LEAVE-MEMBER-UNKNOWN")
def strangers_in_every_state_leave(s: Script) -> None:
    """A row has ids that aren't its member's, in each state: no member is removed."""
    rows: list[Sender] = [(mid, i) for mid in (IdOf("b"), NOBODY) for i in ("X", "A")]
    rows += [("", None), ("", "X"), (NOBODY, None)]
    s.stable("b", "A1", "c")
    s.leave("x", *rows)
    s.beat("b", "A1", "c")
    s.join("b", settle=True)
    s.leave("x", *rows)
    s.join("A1", "c", wait=("b", "A1", "c"))
    s.leave("x", *rows)
    s.synced("b", "A1", "c")


@case("LEAVE-MEMBER-INSTANCE-UNMAPPED", "LEAVE-MEMBER-NOBODY", "LEAVE-MEMBER-UNKNOWN")
def strangers_in_an_empty_group_leave(s: Script) -> None:
    """A row names a member of an Empty group: no member is removed."""
    s.stable("b")
    s.leave("b")
    s.leave("x", (NOBODY, "X"), ("", None), ("", "X"), (NOBODY, None))


@case("LEAVE-MEMBER-PENDING", "HEARTBEAT-STABLE")
def pending_id_is_given_back_with_an_instance(s: Script) -> None:
    """A pending id leaves with an instance in a stable group: no member is affected."""
    s.stable("A1")
    for instance in ("X", "A"):
        s.join("m", member_id="", wait=True)
        s.leave("x", (IdOf("m"), instance))
    s.beat("A1")


@case("LEAVE-MEMBER-PENDING", "HEARTBEAT-COMPLETING")
def pending_id_is_given_back_between_join_and_sync(s: Script) -> None:
    """A pending id leaves in the sync phase: no member is affected."""
    s.completing("A1", "b")
    for instance in (None, "X", "A"):
        s.join("m", member_id="", wait=True)
        s.leave("x", (IdOf("m"), instance))
    s.beat("A1", "b")
    s.synced("A1", "b")


@case("LEAVE-MEMBER-PENDING", "JOIN-UNKNOWN-MEMBER", "JOIN-PHASE-ALL-JOINED")
def pending_id_is_given_back_while_a_rebalance_is_prepared(s: Script) -> None:
    """Pending ids leave with an instance in the join phase: the rebalance waits for the last."""
    s.stable("A1")
    s.join("B1", settle=True)
    s.join("m", "n", member_id="", wait=True)
    s.leave("x", (IdOf("m"), "X"))
    s.join("A1", settle=True)
    s.leave("x", (IdOf("n"), "A"))
    s.wait("A1", "B1")
    s.leave("A1")
    s.leave("B1")
    for instance in (None, "X"):
        s.join("m", member_id="", wait=True)
        s.leave("x", (IdOf("m"), instance))
    s.join("m", wait=True)


@case("LEAVE-MEMBER", "HEARTBEAT-INSTANCE-UNMAPPED")
def static_member_leaves_between_join_and_sync(s: Script) -> None:
    """A static member leaves by both ids in the sync phase: it is removed."""
    s.completing("b", "A1")
    s.leave("A1")
    s.beat("A1", "b")
    s.join("b", wait=True)


@case("COMMIT-TOPICS-UNKNOWN", "HEARTBEAT-STABLE", features=("missing-topics",))
def missing_topic_in_every_state(s: Script) -> None:
    """A commit names a missing topic in each state: the topic is checked first."""
    missing: dict[str, Any] = {"topic": "missing-t"}
    for group in ("", "g"):
        s.commit("x", group=group, member_id="", generation=-1, **missing)
    in_every_state(s, commits(s, **missing))
    for generation in (-1, GenerationOf("b", plus=-1), GenerationOf("b", plus=4)):
        commits(s, generation=generation, **missing)((IdOf("b"), None))
    s.synced("b", "A1", "c", "m")
    s.beat("b")


@case("COMMIT-TOPICS-UNKNOWN", "JOIN-PENDING", features=("missing-topics",))
def missing_topic_in_an_empty_group(s: Script) -> None:
    """A commit to an Empty group names a missing topic: the topic is checked first."""
    in_an_empty_group(s, commits(s, topic="missing-t"))


@case("JOIN-SESSION-TIMEOUT-INVALID", "HEARTBEAT-STABLE", "HEARTBEAT-COMPLETING", isolated=True)
def bad_session_timeout_in_every_state(s: Script) -> None:
    """A session timeout is out of bounds in each state: it is checked first, for any sender."""

    def ask(pending: str, *, members: bool = True) -> None:
        ids = ["", IdOf(pending), NOBODY]
        for member_id in ids:
            s.join("x", member_id=member_id, session=TOO_LONG_MS, instance=None, wait=True)
        s.join("x", member_id="", instance="X", session=TOO_LONG_MS, wait=True)
        if members:
            for protocols in (RANGE, RENEWED, ROUNDROBIN):
                s.join("x", member_id=IdOf("b"), **_invalid_join(protocols))
                s.join("x", member_id=IdOf("c"), **_invalid_join(protocols))
                s.join("x", member_id=IdOf("A1"), **{**_invalid_join(protocols), "instance": "A"})
                s.join("x", member_id="", **{**_invalid_join(protocols), "instance": "A"})

    s.stable("b", "A1", "c", protocols=BOTH)
    s.join("m", member_id="", wait=True)
    ask("m")
    s.join("x", member_id=IdOf("c"), **_invalid_join(BOTH))
    s.join("x", member_id="", **_invalid_join(STICKY))
    s.beat("b", "A1", "c")
    s.join("b", protocols=BOTH, settle=True)
    ask("m")
    s.join("A1", "c", "m", protocols=BOTH, wait=("b", "A1", "c", "m"))
    s.join("p", member_id="", wait=True)
    ask("p")
    s.beat("b", "A1", "c", "m")
    s.leave("p")
    for name in ("b", "A1", "c", "m"):
        s.leave(name)
    s.join("p", member_id="", wait=True)
    ask("p", members=False)


def _invalid_join(protocols: Any) -> dict[str, Any]:
    """Return the fields of a join with an invalid session timeout, too."""
    return {"session": TOO_LONG_MS, "protocols": protocols, "instance": None, "wait": True}


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", "HEARTBEAT-COMPLETING", isolated=True)
def no_protocol_in_common_in_every_state(s: Script) -> None:
    """A process shares no protocol in each state: that is checked before its id."""

    def ask(pending: str) -> None:
        for member_id in ("", IdOf(pending), NOBODY, IdOf("c")):
            s.join("x", member_id=member_id, protocols=STICKY, instance=None, wait=True)
        s.join("x", member_id="", instance="A", protocols=STICKY, wait=True)

    s.stable("b", "A1", "c")
    s.join("m", member_id="", wait=True)
    ask("m")
    s.join("c", protocol_type="connect", wait=True)
    s.beat("b", "A1", "c")
    s.join("b", settle=True)
    ask("m")
    s.join("A1", "c", "m", wait=("b", "A1", "c", "m"))
    s.join("p", member_id="", wait=True)
    ask("p")
    s.beat("b", "A1", "c", "m")


@case("JOIN-PROTOCOLS-INCONSISTENT", "JOIN-PENDING", isolated=True)
def no_protocol_in_an_empty_group(s: Script) -> None:
    """A process joins an Empty group without protocol type or protocol: it is refused."""
    s.stable("b")
    s.leave("b")
    s.join("p", member_id="", wait=True)
    for member_id in ("", IdOf("p"), NOBODY):
        s.join("x", member_id=member_id, protocols=(), instance=None, wait=True)
        s.join("x", member_id=member_id, protocol_type="", instance=None, wait=True)
    s.join("p", wait=True)


@case("JOIN-GROUP-FULL", "HEARTBEAT-STABLE", config={"group.max.size": 2}, isolated=True)
def full_group_before_protocols_and_ids(s: Script) -> None:
    """A full group checks its size after the session timeout and before protocols and ids."""
    s.stable("A1", "b")
    s.join("x", member_id=NOBODY, wait=True)
    s.join("X1", member_id=NOBODY, wait=True)
    s.join("x", member_id="", protocols=STICKY, wait=True)
    s.join("x", member_id="", session=TOO_LONG_MS, wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-FULL", "HEARTBEAT-UNKNOWN-MEMBER", config={"group.max.size": 3})
def places_are_taken_from_a_follower_and_a_restart(s: Script) -> None:
    """A full group rebalances: an absent follower and its restart have no reserved place."""
    s.stable("A1", "b")
    for name in ("C1", "D1", "E1"):
        s.join(name, settle=True)
    s.join("A2", wait=True)
    s.join("b", protocols=RENEWED, wait=True)
    s.beat("b")


@case("JOIN-GROUP-ID-INVALID", isolated=True)
def no_group_name_before_protocols(s: Script) -> None:
    """A JoinGroup has the group id "": it is checked before protocols."""
    s.join("x", group="", member_id="", protocols=(), wait=True)


@case("JOIN-GROUP-ABSENT", isolated=True)
def unknown_ids_without_a_group(s: Script) -> None:
    """A member id joins a group that doesn't exist: it is unknown in each version."""
    s.join("x", member_id=NOBODY, at_most=3, wait=True)
    s.join("x", member_id=NOBODY, protocols=(), wait=True)


@case("SYNC-PROTOCOL-NULL", "HEARTBEAT-STABLE", apis=(("SyncGroup", 5),))
def protocol_is_looked_at_before_the_sender(s: Script) -> None:
    """A SyncGroup names no protocol, in each state: it is refused, for any sender."""

    def ask(pending: str, *senders: Sender) -> None:
        strangers = ((IdOf(pending), None), (NOBODY, None), ("", "X"), (IdOf("c"), "A"))
        for fields in ({"protocol_name": None}, {"protocol_type": None, "protocol_name": "sticky"}):
            for sender in (*strangers, *senders):
                syncs(s, **fields)(sender)

    s.stable("b", "A1", "c")
    s.join("m", member_id="", wait=True)
    ask("m", (IdOf("b"), None), (IdOf("c"), None), (IdOf("A1"), "A"))
    for generation in (-1, GenerationOf("b", plus=-1), GenerationOf("b", plus=4)):
        syncs(s, generation=generation, protocol_name=None)((IdOf("c"), None))
    s.beat("b", "A1", "c")
    s.join("b", settle=True)
    ask("m", (IdOf("c"), None))
    s.leave("m")
    for name in ("b", "A1", "c"):
        s.leave(name, connection=f"{name} again")
    s.join("p", member_id="", wait=True)
    syncs(s, protocol_name=None)((IdOf("p"), None))


@case("SYNC-PROTOCOL-MISMATCH", "SYNC-ILLEGAL-GENERATION", apis=(("SyncGroup", 5),))
def another_protocol_in_every_state(s: Script) -> None:
    """A SyncGroup names another protocol in each state: the generation is checked first."""
    other: dict[str, Any] = {"protocol_name": "sticky"}
    s.stable("b", "A1")
    s.sync("A1", wait=True, **other)
    s.sync("A1", generation=GenerationOf("A1", plus=1), wait=True, **other)
    s.join("b", settle=True)
    s.sync("A1", wait=True, **other)
    s.sync("A1", generation=GenerationOf("A1", plus=1), wait=True)
    s.join("A1", wait=("b", "A1"))
    s.sync("A1", "b", wait=True, **other)
    s.synced("b", "A1")


@case("SYNC-GROUP-ABSENT", apis=(("SyncGroup", 5),))
def nobody_in_no_group_syncs_a_protocol(s: Script) -> None:
    """A SyncGroup names a protocol and no existing group: its sender is unknown."""
    s.sync(
        "x", member_id=NOBODY, generation=1, protocol_name="sticky", protocol_type="y", wait=True
    )


@case("SYNC-INSTANCE-FENCED", "SYNC-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def strangers_of_older_versions_sync(s: Script) -> None:
    """Strangers send SyncGroup v3 and v4: the sender is checked."""
    s.stable("b", "A1")
    for version in (3, 4):
        for instance in ("X", "A"):
            s.sync("b", instance=instance, at_most=version, wait=True)
    s.beat("b", "A1")


@case("SYNC-GROUP-ID-INVALID")
def no_group_name_is_looked_at_first(s: Script) -> None:
    """A SyncGroup has the group id "": it is checked before sender and generation."""
    for member_id, instance, generation in (("", None, -1), (NOBODY, "X", 1)):
        s.sync(
            "x",
            group="",
            member_id=member_id,
            instance=instance,
            generation=generation,
            wait=True,
            **KIND,
        )
        s.beat("x", group="", member_id=member_id, instance=instance, generation=generation)


@case("COMMIT-INSTANCE-UNMAPPED", "FETCH-ANYBODY")
def strangers_of_older_versions_commit(s: Script) -> None:
    """Strangers commit in versions 7 and 8: the holder of the instance is checked."""
    s.stable("b", "A1")
    for version in (7, 8):
        s.commit("b", offset=version, instance="X", at_most=version)
        s.commit("b", offset=version, instance="A", at_most=version)
    s.fetch("b")


@case("COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def offsets_without_a_group_for_a_stranger(s: Script) -> None:
    """A commit without a generation names no existing group: its sender isn't checked."""
    s.commit("x", offset=2, member_id=NOBODY, instance="X", generation=-1)
    s.fetch("x")
