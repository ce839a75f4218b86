"""Give each property its class, and the harm where it is violated.

A revision that changes a promise is another protocol, and no unsafe one: `check` ends with 1 only
where a *safety* property is violated.  A property that restates a rule of the table (which answer,
when) is a promise; its harm, if there is any, is in a safety property beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fencepost.model.history.words import first_names, plural
from fencepost.properties.logic.logic import PropertyClass

_TWO_CONSUMERS = "two clients may read the same partitions"
_TWO_ASSIGN = "two members may assign partitions, and these overlap"
_OTHERS_PARTITIONS = "two clients may read the same partitions, or no client reads them"
_LOST_PARTITIONS = "no client reads the partitions of a member"
_KEPT_AFTER_LEAVE = (
    "the coordinator keeps a member that has left; its partitions have no reader until its session "
    "ends"
)
_NOBODY_ASSIGNS = "no leader assigns, so no client reads any partition"
_LOST_ID = "a live client loses its id and its partitions"
_LOST_SEAT = "a member is removed without a cause, and it still reads"
_UNANSWERED = "a client waits for an answer for ever"
_OFFSETS = "records are read twice or never"
_NEXT_COORDINATOR = "the next coordinator restores another group, and live clients lose their ids"
_ANSWER = "clients get another answer"
_WHEN = "clients are answered or removed at another time"
_OPERATORS = "operators get wrong descriptions of a group"
_BOOKS = "the coordinator keeps other data than the model"
_SHUT_OUT = "a client that lost one answer is refused until its session ends, and may stop for good"
_OTHER_SEAT = "a consumer that starts again gets other partitions than it had"
_REBALANCE = "members stop and rejoin without need"

_SAFETY = {
    _TWO_CONSUMERS: (
        "a-partition-has-one-owner",
        "a-partition-is-handed-on-when-it-is-free",
        "a-partition-of-a-mixed-group-is-handed-on-when-it-is-free",
        "a-client-of-a-mixed-group-owns-what-is-its",
        "a-classic-answer-says-what-is",
        "a-replaced-classic-member-is-refused",
        "a-target-is-legal",
        "there-is-one-of-each",
        "nothing-is-a-strangers",
        "epoch-zero-is-nobodys",
        "a-client-owns-what-is-its",
        "a-stranger-is-never-heard",
        "an-answer-says-what-is",
        "one-live-member-per-instance",
        "retired-id-stays-invalid",
        "fresh-id-for-one",
        "generation-never-falls",
        "zombie-changes-nothing",
        "only-the-invited-come",
        "one-client-per-id",
        "no-two-consumers-on-one-id",
        "one-protocol-per-generation",
        "one-assignment-per-seat",
        "a-generation-is-told-alike",
        "the-generation-told-is-the-groups",
        "who-must-stop-is-told",
        "two-clients-are-never-told-one-id",
        "a-replaced-id-stays-out",
        "fenced-stays-fenced",
        "one-member-for-each-instance",
        "only-ids-that-were-given-count",
        "generations-never-fall",
        "one-generation-one-protocol",
        "one-generation-one-assignment",
    ),
    _TWO_ASSIGN: (
        "one-leading-seat",
        "one-generation-one-leader-seat",
        "exactly-one-leader-is-given-members",
    ),
    _LOST_PARTITIONS: (
        "a-target-is-complete",
        "a-target-is-taken-over",
        "epochs-are-in-order",
        "group-epochs-never-fall",
        "to-give-up-is-a-phase",
        "a-member-is-watched",
        "who-must-give-up-is-hurried",
        "who-must-join-again-is-called",
        "who-owes-a-request-has-a-time-for-it",
        "a-debtor-out-of-time-goes",
        "who-is-out-of-time-goes",
        "who-comes-or-goes-raises-the-epoch",
        "a-new-subscription-is-assigned",
        "every-partition-gets-an-owner",
        "settled-has-members",
        "session-end-takes-the-silent",
        "leader-assigns-to-the-members",
        "silence-is-noticed",
        "silence-has-an-end",
        "what-a-member-had-is-handed-on",
        "everybody-is-watched",
        "the-welcomed-know-the-group",
        "a-changed-subscription-is-assigned",
    ),
    _KEPT_AFTER_LEAVE: (
        "leave-takes-effect",
        "a-heartbeat-leave-takes-effect",
        "who-is-named-for-removal-goes",
    ),
    _OTHERS_PARTITIONS: (
        "the-leader-alone-assigns",
        "nobody-is-assigned-before-the-leader",
        "an-assignment-lasts-its-generation",
    ),
    _NOBODY_ASSIGNS: (
        "leader-is-member",
        "a-stable-group-is-assigned",
        "somebody-is-to-assign",
    ),
    _LOST_ID: (
        "an-entry-names-its-member",
        "a-static-member-is-found",
        "a-join-displaces-no-live-holder",
        "a-classic-join-displaces-no-live-member",
        "an-upgrade-keeps-the-members",
        "a-downgrade-keeps-the-members",
        "a-refused-classic-request-changes-nothing",
        "a-classic-member-that-is-heard-stays",
        "a-refused-heartbeat-changes-nothing",
        "a-member-that-is-heard-stays",
        "no-timer-of-the-removed",
        "an-instance-is-its-bringers",
        "mapped-instance-has-holder",
        "static-member-is-mapped",
        "pending-is-no-member",
        "pending-goes-only-by-its-own",
        "seats-stay",
        "a-heartbeat-keeps-alive",
        "a-rejoin-brings-its-timeouts",
        "who-waited-has-a-whole-session",
        "no-timer-takes-who-has-synced",
        "no-timer-of-the-gone",
        "session-is-of-somebody",
        "a-group-with-members-stays",
    ),
    _LOST_SEAT: (
        "a-member-goes-for-a-cause",
        "a-member-of-a-mixed-group-goes-for-a-cause",
        "who-owes-nothing-is-left-alone",
        "nobody-is-hurried-for-nothing",
        "only-the-named-go",
        "dynamic-spares-static",
        "static-spares-dynamic",
    ),
    _UNANSWERED: (
        "parked-only-while-preparing",
        "syncing-only-while-completing",
        "waiting-request-is-parked",
        "every-event-is-decided",
        "an-upgrade-answers-who-waits",
        "wait-for-syncs-has-an-end",
        "nobody-is-left-without-an-answer",
        "every-request-is-answered-in-bounded-time",
        "debt-is-of-this-generation",
        "join-phase-has-a-timer",
        "every-request-is-answered",
        "every-group-settles",
    ),
    _OFFSETS: (
        "only-owners-commit",
        "a-commit-does-what-it-says",
        "a-partition-is-no-newer-than-its-owner",
        "a-refused-commit-stores-nothing",
        "an-accepted-commit-is-read",
        "offsets-that-are-read-stay",
    ),
    _NEXT_COORDINATOR: (
        "a-failover-keeps-the-group",
        "failover-finds-what-was-stored",
        "absent-knows-nothing",
        "stored-is-consistent",
        "stored-generation-is-past",
        "stable-is-stored",
        "emptiness-is-stored",
    ),
}
_PROMISE = {
    _ANSWER: (
        "a-newcomer-hears-unreleased",
        "a-released-instance-is-free",
        "the-replaced-hears-fenced",
        "a-release-names-its-instance",
        "another-epoch-is-fenced",
        "another-generation-is-illegal",
        "a-group-of-classic-members-is-classic",
        "a-lost-answer-does-no-harm",
        "a-member-is-heard",
        "a-members-commit-is-stored",
        "zombie-is-told",
        "answers-have-the-shape-of-their-version",
        "the-leader-told-is-a-member",
        "lead-changes-only-for-the-absent",
        "a-restart-in-a-stable-group-is-quiet",
        "a-stranger-is-told-so",
        "another-generation-is-told-so",
        "a-newcomer-is-told-its-id-first",
        "a-session-timeout-is-within-bounds",
        "a-static-member-needs-no-id-first",
        "a-refused-join-learns-nothing",
        "the-replaced-is-fenced",
        "a-leader-that-rejoins-is-heard",
        "a-restarted-leader-assigns-nothing",
        "a-heartbeat-tells-of-a-rebalance",
        "another-protocol-is-told-so",
        "a-leave-has-a-row-for-each",
        "exactly-the-named-leave",
        "members-commit-and-nobody-else",
        "no-answer-has-a-forbidden-shape",
    ),
    _SHUT_OUT: (
        "a-join-can-be-sent-again",
        "a-repeated-join-comes-through",
    ),
    _OTHER_SEAT: (
        "a-release-keeps-the-assignment",
        "a-return-finds-its-place",
        "an-id-keeps-its-instance",
    ),
    _WHEN: (
        "a-session-has-its-length",
        "a-release-prolongs-nothing",
        "a-failover-hurries-nobody",
        "a-consumer-group-keeps-its-size",
        "static-goes-only-by-session-leave-replacement",
        "dynamic-goes-at-rebalance-timeout",
        "static-stays-at-rebalance-timeout",
        "session-within-its-timeout",
        "a-rebalance-waits-for-all",
        "the-wait-has-a-fixed-end",
        "a-commit-keeps-alive",
        "a-group-keeps-its-size",
    ),
    _OPERATORS: (
        "a-description-shows-the-group",
        "what-is-to-be-given-up-is-shown",
        "operators-see-the-group",
        "never-dead",
        "a-deletion-is-done-or-refused",
    ),
    _BOOKS: ("new-member-waits", "sync-timer-has-a-debtor"),
}
_COST = {
    _REBALANCE: (
        "a-restart-costs-no-epoch",
        "an-epoch-has-a-cause",
        "nobody-is-called-for-nothing",
        "restart-in-stable-causes-nothing",
        "rebalance-has-a-cause",
        "restart-in-a-stable-group-is-quiet",
        "rebalance-has-a-visible-cause",
    )
}
_CLASSES: Mapping[str, tuple[PropertyClass, str]] = {
    name: (property_class, harm)
    for property_class, by_harm in (
        (PropertyClass.SAFETY, _SAFETY),
        (PropertyClass.PROMISE, _PROMISE),
        (PropertyClass.COST, _COST),
    )
    for harm, names in by_harm.items()
    for name in names
}


def class_of(name: str) -> PropertyClass:
    """Return the class of a shipped property.  Raises KeyError for one that has none."""
    return _CLASSES[name][0]


def harm_of(name: str) -> str:
    """Return the harm of a shipped property's violation, in words.  Raises KeyError."""
    return _CLASSES[name][1]


def headline(
    violated: Iterable[tuple[str, PropertyClass]], *, safe: str = "safe", most: int | None = None
) -> str:
    """Return the verdict of a run by what it violates: "not safe: …", or "safe; changes …".

    `safe`: the first words where no safety property is violated; "" where none was checked.
    `most`: the greatest number of names of each class, 0: counts alone, None: all names.
    """
    by_class: dict[PropertyClass, list[str]] = {each: [] for each in PropertyClass}
    for name, property_class in violated:
        if name not in by_class[property_class]:
            by_class[property_class].append(name)
    names = {each: f": {first_names(by_class[each], most)}" * (most != 0) for each in by_class}
    unsafe = len(by_class[PropertyClass.SAFETY])
    promises = len(by_class[PropertyClass.PROMISE])
    parts = [safe] if safe and not unsafe else []
    if unsafe:
        parts = [f"not safe{names[PropertyClass.SAFETY] or f': {unsafe} violated'}"]
    if promises:
        many = "one promise" if promises == 1 else plural(promises, "promise")
        parts.append(f"changes {many}{names[PropertyClass.PROMISE]}")
    if by_class[PropertyClass.COST]:
        parts.append(f"costs rebalances{names[PropertyClass.COST]}")
    return "; ".join(parts)


SHORTER = (None, 1, 0)
"""Values of `most` for forms of a verdict, the longest first."""
