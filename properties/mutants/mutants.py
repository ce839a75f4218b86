"""Collect all mutants by name: models that are broken on purpose, each in one thing.

They are the bugs that coordinators really had, and systematic ones, so that nearly every rule of
the table has a model that breaks it.  A suite that passes one of them would pass a coordinator with
the same bug.

BREAKS has the properties that each mutant violates, as measured: its name → the ids of the
properties that the shortest runs break; the engines must find the same again.  A mutant that isn't
listed breaks no property: only comparison tells it from the right model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import MUTANT
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.mutants.consumer_mutants import CONSUMER_MUTANTS
from fencepost.properties.mutants.mutant import Mutant
from fencepost.properties.mutants.past_bugs import HISTORY
from fencepost.properties.mutants.wrong_answers import ANSWERS, GHOSTS
from fencepost.properties.mutants.wrong_members import (
    COMMITS,
    HEARTBEATS,
    JOIN,
    LEAVES,
    REPLACED,
    TRANSACTIONS,
)
from fencepost.properties.mutants.wrong_rebalances import REBALANCES, SYNCS, TIMERS

BREAKS: Mapping[str, tuple[str, ...]] = {
    "kafka-8500": ("one-live-member-per-instance",),
    "kafka-8715": (
        "fresh-id-for-one",
        "retired-id-stays-invalid",
    ),
    "kafka-8487": ("a-stranger-is-told-so",),
    "kafka-9752": (
        "everybody-is-watched",
        "who-waited-has-a-whole-session",
    ),
    "kafka-9801": (
        "a-restarted-leader-assigns-nothing",
        "leader-assigns-to-the-members",
    ),
    "kafka-10284": ("stable-is-stored",),
    "kafka-12890": ("wait-for-syncs-has-an-end",),
    "pr-9958": ("zombie-is-told",),
    "kafka-13435": (
        "a-restarted-leader-assigns-nothing",
        "the-leader-told-is-a-member",
    ),
    "kfake-everybody-leads": ("leader-is-member",),
    "kfake-leave-evicts-holder": (
        "exactly-the-named-leave",
        "only-the-named-go",
        "static-goes-only-by-session-leave-replacement",
    ),
    "librdkafka-mock-never-fences": ("zombie-is-told",),
    "tansu-same-id": ("fresh-id-for-one",),
    "crabka-static-never-expires": (
        "everybody-is-watched",
        "session-end-takes-the-silent",
        "silence-is-noticed",
    ),
    "redpanda-keeps-timeouts": ("a-rejoin-brings-its-timeouts",),
    "seaweedfs-evicted-entry": (
        "mapped-instance-has-holder",
        "rebalance-has-a-cause",
    ),
    "leave-keeps-mapping": (
        "mapped-instance-has-holder",
        "rebalance-has-a-cause",
    ),
    "replace-keeps-old-mapping": (
        "mapped-instance-has-holder",
        "static-goes-only-by-session-leave-replacement",
    ),
    "static-asked-for-id": ("a-static-member-needs-no-id-first",),
    "zombie-join-takes-over": (
        "only-the-named-go",
        "static-goes-only-by-session-leave-replacement",
    ),
    "zombie-join-unknown": ("zombie-is-told",),
    "dynamic-becomes-static": (
        "seats-stay",
        "zombie-changes-nothing",
    ),
    "unknown-id-joins": (
        "only-the-invited-come",
        "retired-id-stays-invalid",
    ),
    "no-id-required": ("a-newcomer-is-told-its-id-first",),
    "id-required-of-old-clients": ("a-newcomer-is-told-its-id-first",),
    "id-required-without-id": ("a-newcomer-is-told-its-id-first",),
    "refused-join-without-id": ("a-refused-join-learns-nothing",),
    "unchanged-follower-rebalances": ("rebalance-has-a-cause",),
    "changed-follower-ignored": ("a-restart-in-a-stable-group-is-quiet",),
    "changed-follower-answered": ("a-changed-subscription-is-assigned",),
    "leader-rejoin-ignored": (
        "a-leader-that-rejoins-is-heard",
        "a-restart-in-a-stable-group-is-quiet",
    ),
    "repeated-join-rebalances": ("rebalance-has-a-cause",),
    "rejoin-keeps-subscription": ("a-rejoin-brings-its-timeouts",),
    "session-bounds-unchecked": ("a-session-timeout-is-within-bounds",),
    "group-size-unchecked": ("a-group-keeps-its-size",),
    "pending-not-used-up": ("pending-is-no-member",),
    "pending-without-timer": ("session-is-of-somebody",),
    "restart-rebalances": (
        "a-restart-in-a-stable-group-is-quiet",
        "restart-in-stable-causes-nothing",
    ),
    "restart-counts-generation": (
        "a-restart-in-a-stable-group-is-quiet",
        "restart-in-stable-causes-nothing",
    ),
    "restart-never-skips-assignment": ("a-restarted-leader-assigns-nothing",),
    "restart-leads-below-9": ("a-restarted-leader-assigns-nothing",),
    "replace-loses-assignment": ("a-restart-in-a-stable-group-is-quiet",),
    "replace-keeps-session-timer": ("a-rejoin-brings-its-timeouts",),
    "replace-starts-no-timer": ("everybody-is-watched",),
    "replace-keeps-protocols": ("a-rejoin-brings-its-timeouts",),
    "replace-forgets-leader": (
        "a-restarted-leader-assigns-nothing",
        "leader-is-member",
        "the-leader-told-is-a-member",
    ),
    "replaced-still-votes": ("a-restart-in-a-stable-group-is-quiet",),
    "replaced-told-unknown": ("the-replaced-is-fenced",),
    "replaced-told-nothing": ("nobody-is-left-without-an-answer",),
    "replaced-told-new-id": ("a-refused-join-learns-nothing",),
    "pending-does-not-block": ("a-rebalance-waits-for-all",),
    "absent-static-removed": ("static-goes-only-by-session-leave-replacement",),
    "absent-dynamic-stays": ("dynamic-goes-at-rebalance-timeout",),
    "nobody-joined-generation": ("sync-timer-has-a-debtor",),
    "join-timer-lost": (
        "join-phase-has-a-timer",
        "the-wait-has-a-fixed-end",
    ),
    "join-timer-restarts": ("the-wait-has-a-fixed-end",),
    "least-rebalance-timeout": ("the-wait-has-a-fixed-end",),
    "generation-not-counted": ("one-protocol-per-generation",),
    "leader-not-kept": ("lead-changes-only-for-the-absent",),
    "absent-leader-leads": ("every-request-is-answered",),
    "newcomer-leads": ("leader-is-member",),
    "leader-without-members": ("exactly-one-leader-is-given-members",),
    "members-told-to-all": ("a-generation-is-told-alike",),
    "vote-by-name": ("a-restart-in-a-stable-group-is-quiet",),
    "waiting-syncs-forgotten": ("nobody-is-left-without-an-answer",),
    "follower-assigns": ("the-leader-alone-assigns",),
    "left-out-keep-assignment": ("the-leader-alone-assigns",),
    "late-sync-empty": (
        "nobody-is-assigned-before-the-leader",
        "one-assignment-per-seat",
    ),
    "late-sync-assigns": ("one-assignment-per-seat",),
    "waiting-followers-forgotten": ("nobody-is-left-without-an-answer",),
    "sync-keeps-no-session": ("who-waited-has-a-whole-session",),
    "syncs-not-noted": ("no-timer-takes-who-has-synced",),
    "unknown-before-fenced": ("zombie-is-told",),
    "generation-before-identity": ("zombie-is-told",),
    "zombie-heartbeats": ("zombie-is-told",),
    "heartbeat-hides-rebalance": ("a-heartbeat-tells-of-a-rebalance",),
    "heartbeat-completing-refused": ("a-heartbeat-tells-of-a-rebalance",),
    "heartbeat-keeps-nobody-alive": ("a-heartbeat-keeps-alive",),
    "heartbeat-generation-unchecked": ("another-generation-is-told-so",),
    "sync-generation-unchecked": ("another-generation-is-told-so",),
    "sync-protocol-unchecked": ("another-protocol-is-told-so",),
    "leave-by-instance-refused": ("exactly-the-named-leave",),
    "leave-without-rebalance": ("settled-has-members",),
    "static-leave-ignored": (
        "exactly-the-named-leave",
        "leave-takes-effect",
    ),
    "leave-keeps-pending": ("leave-takes-effect",),
    "zombie-leave-unknown": (
        "exactly-the-named-leave",
        "zombie-is-told",
    ),
    "leaver-waits-for-ever": ("nobody-is-left-without-an-answer",),
    "leave-absent-refused": ("a-leave-has-a-row-for-each",),
    "zombie-commits": (
        "members-commit-and-nobody-else",
        "zombie-is-told",
    ),
    "stranger-commits": ("a-stranger-is-told-so",),
    "anybody-commits": ("members-commit-and-nobody-else",),
    "commit-generation-unchecked": ("another-generation-is-told-so",),
    "commit-completing-accepted": ("members-commit-and-nobody-else",),
    "commit-preparing-refused": ("members-commit-and-nobody-else",),
    "commit-forgotten": ("an-accepted-commit-is-read",),
    "commit-keeps-nobody-alive": ("a-commit-keeps-alive",),
    "empty-group-refuses-commits": ("members-commit-and-nobody-else",),
    "waiting-member-expires": ("session-end-takes-the-silent",),
    "expiry-without-rebalance": ("settled-has-members",),
    "assignment-not-stored": ("stable-is-stored",),
    "emptiness-not-stored": ("emptiness-is-stored",),
    "failover-forgets-sessions": ("everybody-is-watched",),
    "failover-forgets-map": (
        "stable-is-stored",
        "static-member-is-mapped",
    ),
    "failover-forgets-offsets": ("failover-finds-what-was-stored",),
    "failover-forgets-generation": ("generation-never-falls",),
    "unload-keeps-phases": (
        "rebalance-has-a-cause",
        "sync-timer-has-a-debtor",
    ),
    "members-without-instance": ("the-welcomed-know-the-group",),
    "refused-join-with-generation": ("a-refused-join-learns-nothing",),
    "join-without-protocol-type": ("the-welcomed-know-the-group",),
    "leave-without-instance": ("a-leave-has-a-row-for-each",),
    "leave-rows-alike": ("exactly-the-named-leave",),
    "leave-row-error-on-top": ("a-leave-has-a-row-for-each",),
    "described-without-instance": ("operators-see-the-group",),
    "empty-group-unlisted": ("operators-see-the-group",),
}


def _collected(*families: tuple[Mutant, ...]) -> dict[str, Mutant]:
    by_name: dict[str, Mutant] = {}
    for family in families:
        for mutant in family:
            if mutant.name in by_name:
                raise ValueError(f"there are two mutants {mutant.name}; give one another name")
            by_name[mutant.name] = replace(mutant, breaks=BREAKS.get(mutant.name, ()))
    return by_name


MUTANTS: Mapping[str, Mutant] = _collected(
    HISTORY,
    GHOSTS,
    JOIN,
    REPLACED,
    REBALANCES,
    SYNCS,
    HEARTBEATS,
    LEAVES,
    COMMITS,
    TRANSACTIONS,
    TIMERS,
    ANSWERS,
)
"""The mutants of the classic protocol, by name without `mutant:`; those from history first."""
ALL_MUTANTS: Mapping[str, Mutant] = {**MUTANTS, **CONSUMER_MUTANTS}
"""Those of all protocols."""


def find_mutant(name: str) -> Mutant:
    """Return the mutant of this name, with or without `mutant:`.

    Raises KeyError that names the value, the nearest names, and where all are listed.
    """
    plain = name.removeprefix(MUTANT)
    if plain in ALL_MUTANTS:
        return ALL_MUTANTS[plain]
    near = did_you_mean(plain, ALL_MUTANTS)
    raise KeyError(f"no mutant {plain!r}{near} (`fencepost mutants` names all)")


def mutant_revision(name: str) -> Revision:
    """Return the revision of a mutant, for `revisions.find`.  Raises KeyError as `find_mutant`."""
    return find_mutant(name).revision
