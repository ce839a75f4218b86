"""Collect the mutants of the consumer protocol by name: each is wrong in one thing.

They are `consumer-4.4` with a difference: bugs of earlier releases, and systematic changes of
guards, answers and effects.  `CONSUMER_BREAKS` has the property that each violates first, as
measured; a mutant that isn't listed breaks none, and only comparison tells it from the right model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as with_fields

from fencepost.properties.mutants.consumer_wrong_effects import ASSIGNMENTS, OFFSETS, TIMERS
from fencepost.properties.mutants.consumer_wrong_requests import HEARTBEATS, JOINS, LEAVES
from fencepost.properties.mutants.mutant import (
    Mutant,
)

_ALL = (*JOINS, *HEARTBEATS, *LEAVES, *TIMERS, *ASSIGNMENTS, *OFFSETS)

CONSUMER_BREAKS: Mapping[str, str] = {
    "cg-join-takes-over": "a-member-goes-for-a-cause",
    "cg-unreleased-told-fenced": "a-newcomer-hears-unreleased",
    "cg-unreleased-told-unknown": "a-newcomer-hears-unreleased",
    "cg-return-refused": "a-released-instance-is-free",
    "cg-return-bumps": "a-restart-costs-no-epoch",
    "cg-return-self-bumps": "a-restart-costs-no-epoch",
    "cg-return-self-refused": "a-join-can-be-sent-again",
    "cg-return-without-session": "a-member-is-watched",
    "cg-return-stays-behind": "a-return-finds-its-place",
    "cg-static-join-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-dynamic-join-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-join-without-instance": "a-static-member-is-found",
    "cg-join-without-session": "a-member-is-watched",
    "cg-dynamic-join-without-session": "a-member-is-watched",
    "cg-rejoin-bumps": "an-epoch-has-a-cause",
    "cg-rejoin-without-session": "a-member-that-is-heard-stays",
    "cg-resume-bumps": "a-restart-costs-no-epoch",
    "cg-resume-without-session": "a-member-that-is-heard-stays",
    "cg-old-entry-stays": "an-entry-names-its-member",
    "cg-copy-leaves-entry": "an-entry-names-its-member",
    "cg-new-instance-ignored": "a-static-member-is-found",
    "cg-size-before-instance": "a-released-instance-is-free",
    "cg-size-unchecked": "a-consumer-group-keeps-its-size",
    "cg-heartbeat-keeps-nobody-alive": "a-member-that-is-heard-stays",
    "cg-heartbeat-bumps": "an-epoch-has-a-cause",
    "cg-subscription-ignored": "a-new-subscription-is-assigned",
    "cg-subscription-without-epoch": "a-target-is-complete",
    "cg-previous-epoch-unchecked": "another-epoch-is-fenced",
    "cg-repeated-heartbeat-fenced": "a-lost-answer-does-no-harm",
    "cg-replaced-told-unknown": "the-replaced-hears-fenced",
    "cg-id-before-instance": "the-replaced-hears-fenced",
    "cg-member-fenced": "a-lost-answer-does-no-harm",
    "cg-bare-release": "a-release-names-its-instance",
    "cg-release-removes": "a-member-goes-for-a-cause",
    "cg-release-bumps": "a-restart-costs-no-epoch",
    "cg-release-ignored": "a-heartbeat-leave-takes-effect",
    "cg-release-prolongs": "a-release-prolongs-nothing",
    "cg-leave-ignored": "a-heartbeat-leave-takes-effect",
    "cg-leave-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-zombie-leave-told-unknown": "the-replaced-hears-fenced",
    "cg-zombie-leave-evicts": "a-member-goes-for-a-cause",
    "cg-removal-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-removal-ignored": "who-is-named-for-removal-goes",
    "cg-silent-member-stays": "a-member-is-watched",
    "cg-expiry-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-released-member-stays": "a-member-is-watched",
    "cg-released-expiry-no-epoch": "who-comes-or-goes-raises-the-epoch",
    "cg-failover-forgets-group": "a-member-goes-for-a-cause",
    "cg-failover-forgets-released": "a-member-goes-for-a-cause",
    "cg-failover-forgets-map": "a-static-member-is-found",
    "cg-failover-forgets-sessions": "a-member-is-watched",
    "cg-long-session": "a-session-has-its-length",
    "cg-target-incomplete": "a-target-is-complete",
    "cg-target-shared": "a-target-is-legal",
    "cg-takes-what-others-have": "a-partition-has-one-owner",
    "cg-gives-up-at-once": "a-partition-is-handed-on-when-it-is-free",
    "cg-nobody-is-hurried": "who-must-give-up-is-hurried",
    "cg-reconciled-at-the-old-epoch": "a-partition-is-no-newer-than-its-owner",
    "cg-epoch-beyond-the-target": "epochs-are-in-order",
    "cg-epoch-falls": "epoch-zero-is-nobodys",
    "cg-assignment-not-told": "an-answer-says-what-is",
    "cg-join-told-nothing": "an-answer-says-what-is",
    "cg-another-epoch-told": "an-answer-says-what-is",
    "cg-release-frees-partitions": "a-release-keeps-the-assignment",
    "cg-release-keeps-pending": "to-give-up-is-a-phase",
    "cg-release-keeps-time-to-revoke": "nobody-is-hurried-for-nothing",
    "cg-replace-loses-assignment": "a-return-finds-its-place",
    "cg-replace-keeps-the-old": "a-partition-has-one-owner",
    "cg-replace-loses-target": "a-target-is-complete",
    "cg-replace-unmaps": "a-static-member-is-found",
    "cg-removal-keeps-mapping": "an-entry-names-its-member",
    "cg-removal-keeps-target": "a-target-is-legal",
    "cg-removal-keeps-timers": "no-timer-of-the-removed",
    "cg-stranger-commits": "only-owners-commit",
    "cg-commit-forgotten": "a-commit-does-what-it-says",
    "cg-commit-refused": "a-members-commit-is-stored",
    "cg-description-hides-revocations": "what-is-to-be-given-up-is-shown",
}
CONSUMER_MUTANTS: Mapping[str, Mutant] = {
    each.name: with_fields(
        each,
        breaks=(CONSUMER_BREAKS[each.name],) if each.name in CONSUMER_BREAKS else (),
    )
    for each in _ALL
}
"""The mutants of the consumer protocol, by name without `mutant:`."""
