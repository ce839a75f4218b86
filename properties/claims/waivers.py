"""List waivers: properties that fail on purpose, by revision, with the rules and the reason.

The proofs gave those of formulas, explorations the others.  Without rules, any may break it there,
and none in a revision that is made from that one.  A rule that is named here and doesn't
fail is an error, just as one that fails and isn't named.  Release profiles fail where `kafka-4`
does, except for rules that can't be reached in them; a patch (`kafka-2.8.0`) fails where the
release does whose tables it has (`fencepost.model.revisions.revisions.lineage`).
"""

from __future__ import annotations

from collections.abc import Mapping

Why = tuple[str, frozenset[str]]
"""The reason why a property fails, and the rules that break it."""

_BEFORE_2_6_1 = ("kafka-2.3", "kafka-2.4", "kafka-2.5")
_DRAFTS = ("member-name-draft", "two-list-leave-draft", "tuple-list-leave-draft")
_COMMENTS = ("comment-table-1", "comment-table-2")
_EXPERIMENTS = ("experiment-preregistered", "experiment-standby", "experiment-target-size")
_ALL_BUT_STRICT = ("kafka-4", *_DRAFTS, *_COMMENTS, *_EXPERIMENTS)

_BRINGS_ITS_ID = frozenset({"JOIN-UNKNOWN-MAPPED", "JOIN-UNKNOWN-MAPPED-PREPARING"})
_COMES_BACK = "JOIN-UNKNOWN-UNMAPPED"
_UPGRADES = frozenset({"JOIN-UPGRADE", "JOIN-UPGRADE-PREPARING"})
_TAKES_OVER = "row 5 lets any client with the instance take it over under its own id"
_UPGRADED = "row 4.2 makes a member static, also one that is static already: two instances, one id"
_COMES_AGAIN = "row 5 takes a removed consumer, under its old id, for a new member"


def _in(revisions: tuple[str, ...], why: str, *rules: str) -> dict[str, Why]:
    return dict.fromkeys(revisions, (why, frozenset(rules)))


def _also(base: Mapping[str, Why], revision: str, why: str, *rules: str) -> dict[str, Why]:
    """Copy a waiver to one more revision."""
    old = base.get(revision)
    first, known = old if old is not None else ("", frozenset())
    whole = f"{first}; {why}" if first else why
    return {**base, revision: (whole, known | frozenset(rules))}


_STATIC_GOES = _in(
    _ALL_BUT_STRICT,
    "a static member that never syncs goes (KAFKA-12890); a full group removes a member that it "
    "refuses",
    "SYNC-PHASE-EXPIRED",
    "JOIN-GROUP-FULL",
)
_ZOMBIE_CHANGES = _in(
    _ALL_BUT_STRICT,
    "a full group removes a member that it refuses, before it checks the instance",
    "JOIN-GROUP-FULL",
)
_CAUSES = {
    **_in(
        ("kafka-4", *_DRAFTS, *_EXPERIMENTS),
        "a static member that changes what it subscribes to, or a replacement that changes the "
        "vote, has assignments remade",
        "JOIN-MEMBER-COMPLETING-CHANGED",
        "JOIN-FOLLOWER-STABLE-CHANGED",
        "JOIN-STATIC-EMPTY-STABLE-SELECTION",
    ),
    **_in(_COMMENTS, "row 1: any known member that joins again causes a rebalance", "JOIN-KNOWN"),
}
_MISMATCH = "an id that isn't the instance's is a mismatch, an error of its own"
_COMMENT_2 = "comment-table-2"
_CG_AT_ONCE = ("consumer-4.0", "consumer-4.1", "consumer-4.2")
"""Releases that make each target at once."""
_CG_4_3 = (*_CG_AT_ONCE, "consumer-4.3", "consumer-4.3.1")
_CG_RELEASES = (*_CG_4_3, "consumer-4.4")
_KIP_848 = "kip-848"
_CG_ALL = (*_CG_RELEASES, "pr-23542", _KIP_848)
_COPY = ("CG-JOIN-COPY", "CG-JOIN-COPY-CHANGED")
_LOST = ("CG-JOIN-TARGET-LOST", "CG-JOIN-TARGET-LOST-CHANGED")
_MOVES = tuple(
    f"CG-JOIN-{name}{twin}"
    for name in ("BECOME-STATIC", "CHANGE-INSTANCE", "COPY", "COPY-CLASSIC", "TARGET-LOST")
    for twin in ("", "-CHANGED")
)
_LEAVES_ENTRY = tuple(rule for rule in _MOVES if "BECOME" not in rule)
_TAKES_BACK = tuple(
    f"CG-JOIN-{name}{twin}" for name in ("RETURN-SELF", "TAKE-CLASSIC") for twin in ("", "-CHANGED")
)
_OWNERLESS = (
    "a member that takes the place of a released one leaves what it had to nobody, until the next "
    "epoch"
)
_HURRIED = (
    "the released member's record keeps that it had partitions to give up, so a coordinator that "
    "loads it begins its time to revoke (KAFKA-20641)"
)
_UNFOUND = (
    "the target of a member that brings an unmapped instance is looked up under that instance, "
    "where there is none"
)
_MIXED_4_3 = ("mixed-4.3", "mixed-4.3.1", "mixed-4.4")
_MIXED = ("mixed-4.0", "mixed-4.1", "mixed-4.2", *_MIXED_4_3)
_ANY_INSTANCE = "a member may bring any instance that no live member has"
_OF_CONSUMERS: dict[str, dict[str, Why]] = {
    "an-entry-names-its-member": _in(
        _CG_4_3,
        "a member that changes its instance leaves the entry of the old one (KAFKA-20747)",
        *_LEAVES_ENTRY,
    ),
    "a-target-is-complete": _in((*_CG_RELEASES, _KIP_848), _OWNERLESS, *_COPY),
    "a-target-is-taken-over": {
        **_in(_CG_RELEASES, _UNFOUND, *_LOST),
        **_in(_CG_AT_ONCE, _UNFOUND, _LOST[0]),
    },
    "every-partition-gets-an-owner": {
        **_in(
            _CG_RELEASES,
            "a member that brings another instance leaves partitions without an owner, and no "
            "epoch comes that would heal it",
        ),
        **_in(
            _MIXED_4_3,
            "where downgrades are not allowed, classic members are not called after the last other "
            "member is gone",
        ),
    },
    "a-join-can-be-sent-again": _in(
        _CG_RELEASES,
        "a live holder is never displaced, also where the newcomer is the holder itself",
        "CG-JOIN-AGAIN-UNRELEASED",
    ),
    "a-repeated-join-comes-through": _in(
        _CG_RELEASES,
        "the holder itself hears UNRELEASED_INSTANCE_ID, and Java's and librdkafka's consumers "
        "stop for good",
    ),
    "an-id-keeps-its-instance": {
        **_in((*_CG_RELEASES, _KIP_848), _ANY_INSTANCE, *_MOVES),
        **_in(
            _CG_4_3,
            f"{_ANY_INSTANCE}, or one that it had before (KAFKA-20747)",
            *_MOVES,
            *_TAKES_BACK,
        ),
    },
    "a-released-instance-is-free": _in(
        _CG_4_3,
        "in a full group the size is checked before the instance (KAFKA-20601)",
    ),
    "what-is-to-be-given-up-is-shown": _in(
        _CG_AT_ONCE,
        "partitions to give up are not counted (KAFKA-20431)",
    ),
    "a-failover-hurries-nobody": _in(_CG_ALL, _HURRIED, "CG-FAILOVER-GROUP"),
}

_OF_MIXED: dict[str, dict[str, Why]] = {
    "a-classic-join-displaces-no-live-member": _in(
        _MIXED,
        "a classic join by instance alone replaces any holder, also a live one of the consumer "
        "protocol",
        "MG-JOIN-REPLACE",
    ),
    "a-partition-of-a-mixed-group-is-handed-on-when-it-is-free": _in(
        _MIXED,
        "a downgrade by a replacement makes the target the assignment at once, also where a member "
        "has not given up what it had; that hears ILLEGAL_GENERATION with its next heartbeat",
        "MG-DOWNGRADE-REPLACED",
    ),
    "who-must-give-up-is-hurried": _in(
        _MIXED,
        "a classic member that has partitions to give up, and becomes one of the consumer protocol "
        "by a heartbeat, has no time to revoke",
        "CG-BEAT-ALIVE",
    ),
    "who-owes-nothing-is-left-alone": _in(
        _MIXED,
        "a heartbeat or join of the consumer protocol by a classic member, and a downgrade, leave "
        "the time to join again or to sync running",
        "CG-BEAT-ALIVE",
        "CG-JOIN-TAKE-CLASSIC",
        "MG-DOWNGRADE-LEFT",
        "MG-DOWNGRADE-REPLACED",
    ),
}


def _united(*parts: dict[str, dict[str, Why]]) -> dict[str, dict[str, Why]]:
    """Return the waivers of several protocols; a property of two of them has those of both."""
    united: dict[str, dict[str, Why]] = {}
    for part in parts:
        for name, waivers in part.items():
            united[name] = {**united.get(name, {}), **waivers}
    return united


EXPECTED: Mapping[str, Mapping[str, Why]] = {
    **_united(_OF_CONSUMERS, _OF_MIXED),
    "a-heartbeat-tells-of-a-rebalance": _in(
        _BEFORE_2_6_1,
        "before 2.6.1 a heartbeat between join and sync is refused",
        "HEARTBEAT-COMPLETING",
    ),
    "a-heartbeat-keeps-alive": _in(
        _BEFORE_2_6_1,
        "before 2.6.1 a heartbeat between join and sync is refused and does not restart the "
        "session timer (KAFKA-10134)",
        "HEARTBEAT-COMPLETING",
    ),
    "mapped-instance-has-holder": _in((_COMMENT_2,), _UPGRADED, *_UPGRADES),
    "static-goes-only-by-session-leave-replacement": _also(
        _STATIC_GOES, _COMMENT_2, _TAKES_OVER, *_BRINGS_ITS_ID
    ),
    "zombie-changes-nothing": _also(
        _ZOMBIE_CHANGES,
        _COMMENT_2,
        f"{_TAKES_OVER}; {_UPGRADED}",
        *_BRINGS_ITS_ID,
        *_UPGRADES,
        _COMES_BACK,
    ),
    "zombie-is-told": _also(
        _in(
            (_COMMENT_2,),
            f"{_MISMATCH}; {_TAKES_OVER}; {_UPGRADED}",
            "JOIN-INSTANCE-FENCED",
            *_BRINGS_ITS_ID,
            *_UPGRADES,
            _COMES_BACK,
        ),
        "comment-table-1",
        _MISMATCH,
        "JOIN-INSTANCE-FENCED",
        "JOIN-INSTANCE-UNMAPPED",
        "JOIN-UNKNOWN-INSTANCE",
    ),
    "rebalance-has-a-cause": _also(
        _CAUSES,
        "member-name-draft",
        "a leader that restarts causes one",
        "JOIN-STATIC-EMPTY-STABLE-LEADER",
    ),
    "restart-in-stable-causes-nothing": _in(
        ("member-name-draft",),
        "a leader that restarts causes a rebalance",
        "JOIN-STATIC-EMPTY-STABLE-LEADER",
    ),
    "fresh-id-for-one": _in(
        ("comment-table-1",),
        "row 6 returns the holder's id to any client with its instance: two clients, one id",
        "JOIN-STATIC-EMPTY-MAPPED",
    ),
    "a-static-member-needs-no-id-first": _in(
        ("comment-table-1",),
        "row 6 returns the holder's id to any client with its instance",
        "JOIN-STATIC-EMPTY-MAPPED",
    ),
    "stable-is-stored": _in(
        (_COMMENT_2,),
        "rows 4.2 and 5 change a stable group and do not say that it is stored",
        "JOIN-UPGRADE",
        "JOIN-UNKNOWN-MAPPED",
    ),
    "seats-stay": _in((_COMMENT_2,), _UPGRADED, *_UPGRADES),
    "retired-id-stays-invalid": _in(
        (_COMMENT_2,), f"{_COMES_AGAIN}; {_TAKES_OVER}", *_BRINGS_ITS_ID, _COMES_BACK
    ),
    "only-the-named-go": _in((_COMMENT_2,), _TAKES_OVER, *_BRINGS_ITS_ID),
    "only-the-invited-come": _in(
        (_COMMENT_2,), f"{_COMES_AGAIN}; {_TAKES_OVER}", *_BRINGS_ITS_ID, _COMES_BACK
    ),
}
"""Property → revision → the reason for its failure there, and the rules."""


def reasons(name: str) -> dict[str, str]:
    """Return revision → the reason for a property's failure there."""
    return {revision: why for revision, (why, _) in EXPECTED.get(name, {}).items()}


def rules(name: str) -> dict[str, frozenset[str]]:
    """Return revision → the rules that break a property there."""
    there = EXPECTED.get(name, {})
    return {revision: ids for revision, (_, ids) in there.items() if ids}
