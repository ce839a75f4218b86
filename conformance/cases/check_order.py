"""The order of checks: what is refused before group, sender and generation are looked at."""

from __future__ import annotations

from typing import Any

from fencepost.conformance.cases.case_registry import Registry
from fencepost.conformance.cases.joins import STICKY
from fencepost.conformance.cases.script import BOTH, NOBODY, RANGE, RENEWED, ROUNDROBIN, Script
from fencepost.conformance.cases.senders import (
    KIND,
    Sender,
    commits,
    in_an_empty_group,
    in_every_state,
    syncs,
)
from fencepost.model.plans.plan import GenerationOf, IdOf

CASES = Registry()
case = CASES.case

_TOO_LONG = 2**31 - 1


@case("COMMIT-TOPICS-UNKNOWN", "HEARTBEAT-STABLE", features=("missing-topics",))
def missing_topic_in_every_state(s: Script) -> None:
    """A topic that doesn't exist is refused before group, sender and generation are looked at."""
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
    """The same in an Empty group."""
    in_an_empty_group(s, commits(s, topic="missing-t"))


@case("JOIN-SESSION-TIMEOUT-INVALID", "HEARTBEAT-STABLE", "HEARTBEAT-COMPLETING", isolated=True)
def bad_session_timeout_in_every_state(s: Script) -> None:
    """A session timeout out of bounds is refused before anything else, whoever asks for it."""

    def ask(pending: str, *, members: bool = True) -> None:
        ids = ["", IdOf(pending), NOBODY]
        for member_id in ids:
            s.join("x", member_id=member_id, session=_TOO_LONG, instance=None, wait=True)
        s.join("x", member_id="", instance="X", session=_TOO_LONG, wait=True)
        if members:
            for protocols in (RANGE, RENEWED, ROUNDROBIN):
                s.join("x", member_id=IdOf("b"), **_bad(protocols))
                s.join("x", member_id=IdOf("c"), **_bad(protocols))
                s.join("x", member_id=IdOf("A1"), **{**_bad(protocols), "instance": "A"})
                s.join("x", member_id="", **{**_bad(protocols), "instance": "A"})

    s.stable("b", "A1", "c", protocols=BOTH)
    s.join("m", member_id="", wait=True)
    ask("m")
    s.join("x", member_id=IdOf("c"), **_bad(BOTH))
    s.join("x", member_id="", **_bad(STICKY))
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


def _bad(protocols: Any) -> dict[str, Any]:
    return {"session": _TOO_LONG, "protocols": protocols, "instance": None, "wait": True}


@case("JOIN-PROTOCOLS-INCONSISTENT", "HEARTBEAT-STABLE", "HEARTBEAT-COMPLETING", isolated=True)
def no_protocol_in_common_in_every_state(s: Script) -> None:
    """Who shares no protocol with the members is told so before its id is looked at."""

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
    """An Empty group needs a protocol type and a protocol from whoever joins it."""
    s.stable("b")
    s.leave("b")
    s.join("p", member_id="", wait=True)
    for member_id in ("", IdOf("p"), NOBODY):
        s.join("x", member_id=member_id, protocols=(), instance=None, wait=True)
        s.join("x", member_id=member_id, protocol_type="", instance=None, wait=True)
    s.join("p", wait=True)


@case("JOIN-GROUP-FULL", "HEARTBEAT-STABLE", config={"group.max.size": 2}, isolated=True)
def full_group_before_protocols_and_ids(s: Script) -> None:
    """Whether there is room is looked at before protocols and ids, after the session timeout."""
    s.stable("A1", "b")
    s.join("x", member_id=NOBODY, wait=True)
    s.join("X1", member_id=NOBODY, wait=True)
    s.join("x", member_id="", protocols=STICKY, wait=True)
    s.join("x", member_id="", session=_TOO_LONG, wait=True)
    s.beat("A1", "b")


@case("JOIN-GROUP-FULL", "HEARTBEAT-UNKNOWN-MEMBER", config={"group.max.size": 3})
def places_are_taken_from_a_follower_and_a_restart(s: Script) -> None:
    """Nobody has a place in a rebalance before it joins: no follower, and no restart of one."""
    s.stable("A1", "b")
    for name in ("C1", "D1", "E1"):
        s.join(name, settle=True)
    s.join("A2", wait=True)
    s.join("b", protocols=RENEWED, wait=True)
    s.beat("b")


@case("JOIN-GROUP-ID-INVALID", isolated=True)
def no_group_name_before_protocols(s: Script) -> None:
    """A group id of "" is refused before protocols are looked at."""
    s.join("x", group="", member_id="", protocols=(), wait=True)


@case("JOIN-GROUP-ABSENT", isolated=True)
def unknown_ids_without_a_group(s: Script) -> None:
    """An id that is given needs a group, whatever version and protocols come with it."""
    s.join("x", member_id=NOBODY, at_most=3, wait=True)
    s.join("x", member_id=NOBODY, protocols=(), wait=True)


@case("SYNC-PROTOCOL-NULL", "HEARTBEAT-STABLE", apis=(("SyncGroup", 5),))
def protocol_is_looked_at_before_the_sender(s: Script) -> None:
    """A sync without a protocol is refused in every state, whoever sends it."""

    def ask(pending: str, *senders: Sender) -> None:
        strangers = ((IdOf(pending), None), (NOBODY, None), ("", "X"), (IdOf("c"), "A"))
        for said in ({"protocol_name": None}, {"protocol_type": None, "protocol_name": "sticky"}):
            for sender in (*strangers, *senders):
                syncs(s, **said)(sender)

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
    """A sync of another protocol is refused, but its generation is looked at first."""
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
    """Without a group no protocol is another one."""
    s.sync(
        "x", member_id=NOBODY, generation=1, protocol_name="sticky", protocol_type="y", wait=True
    )


@case("SYNC-INSTANCE-FENCED", "SYNC-INSTANCE-UNMAPPED", "HEARTBEAT-STABLE")
def strangers_of_older_versions_sync(s: Script) -> None:
    """Versions 3 and 4 of a sync name an instance and no protocol; the sender is looked at too."""
    s.stable("b", "A1")
    for version in (3, 4):
        for instance in ("X", "A"):
            s.sync("b", instance=instance, at_most=version, wait=True)
    s.beat("b", "A1")


@case("SYNC-GROUP-ID-INVALID")
def no_group_name_is_looked_at_first(s: Script) -> None:
    """A group id of "" is refused before sender and generation are looked at."""
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
    """Versions 7 and 8 of a commit name an instance; who holds it is looked at, too."""
    s.stable("b", "A1")
    for version in (7, 8):
        s.commit("b", offset=version, instance="X", at_most=version)
        s.commit("b", offset=version, instance="A", at_most=version)
    s.fetch("b")


@case("COMMIT-GROUP-ABSENT", "FETCH-ANYBODY")
def offsets_without_a_group_for_a_stranger(s: Script) -> None:
    """Without a generation the sender is not looked at where there is no group."""
    s.commit("x", offset=2, member_id=NOBODY, instance="X", generation=-1)
    s.fetch("x")
