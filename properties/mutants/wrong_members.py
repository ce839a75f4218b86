"""Define mutants with broken checks of members, joins and restarts.

Members: the rights of zombies, leaves, commits.  Joins: the ids of new members, and the disturbance
by them.  Restarts: the inheritance of the new process, and the answers to both.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.perform import join_answer
from fencepost.model.classic.vocabulary import MID, STATE, GroupState, Mid
from fencepost.model.messages.errors import Error
from fencepost.model.messages.messages import (
    JoinGroupResponse,
    SyncGroupResponse,
    TxnOffsetCommitResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.base import RULES
from fencepost.model.table.expr import all_of, negate
from fencepost.model.table.shared_features import INST, Inst
from fencepost.model.table.table import Echo, Rule
from fencepost.model.work import Emission
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    changed_member,
    retold,
    unanswered,
)
from fencepost.properties.mutants.mutant import (
    ADDED,
    ANSWER,
    ECHO,
    EFFECT,
    ELECTION,
    GUARD,
    ORDER,
    REPLACE,
    SHAPE,
    TIMER,
    Mutant,
    added,
    behind,
    but,
    dropped,
    mutant,
    only,
    without,
)

_STORED = (Do.STORE_OFFSETS,)
_OWN = INST.among(Inst.OWN)
_LEAVING = ("LEAVE-MEMBER", "LEAVE-MEMBER-PREPARING")
_BY_INSTANCE = ("LEAVE-MEMBER-BY-INSTANCE", "LEAVE-MEMBER-BY-INSTANCE-PREPARING")


HEARTBEATS: tuple[Mutant, ...] = (
    mutant(
        "unknown-before-fenced",
        "an id of no member is UNKNOWN_MEMBER_ID, also where its instance has a new holder: a "
        "zombie joins anew and evicts its successor",
        ORDER,
        *(
            behind(f"{api}-INSTANCE-FENCED", f"{api}-UNKNOWN-MEMBER")
            for api in ("HEARTBEAT", "SYNC", "COMMIT")
        ),
    ),
    mutant(
        "generation-before-identity",
        "a request of another generation is ILLEGAL_GENERATION, from a zombie, too",
        ORDER,
        *(
            behind(f"{api}-{check}", f"{api}-ILLEGAL-GENERATION")
            for api in ("HEARTBEAT", "SYNC", "COMMIT")
            for check in ("INSTANCE-UNMAPPED", "INSTANCE-FENCED", "UNKNOWN-MEMBER")
        ),
    ),
    mutant(
        "zombie-heartbeats",
        "a replaced process is answered NONE, and goes on",
        ANSWER,
        but("HEARTBEAT-INSTANCE-FENCED", answer=Error.NONE),
    ),
    mutant(
        "heartbeat-hides-rebalance",
        "a heartbeat doesn't announce that a rebalance is being prepared, so nobody joins again",
        ANSWER,
        but("HEARTBEAT-PREPARING", answer=Error.NONE),
    ),
    mutant(
        "heartbeat-completing-refused",
        "in CompletingRebalance a heartbeat is answered REBALANCE_IN_PROGRESS: members join again",
        ANSWER,
        but("HEARTBEAT-COMPLETING", answer=Error.REBALANCE_IN_PROGRESS),
    ),
    mutant(
        "heartbeat-keeps-nobody-alive",
        "heartbeats in Stable don't restart the session timer",
        TIMER,
        without("HEARTBEAT-STABLE", Do.RESTART_SESSION),
    ),
    mutant(
        "heartbeat-generation-unchecked",
        "a member may heartbeat in any generation, and never learns that it missed one",
        GUARD,
        dropped("HEARTBEAT-ILLEGAL-GENERATION"),
    ),
    mutant(
        "sync-generation-unchecked",
        "a sync of another generation is taken for one of this",
        GUARD,
        dropped("SYNC-ILLEGAL-GENERATION"),
    ),
    mutant(
        "sync-protocol-unchecked",
        "a sync may name another protocol than was selected",
        GUARD,
        dropped("SYNC-PROTOCOL-MISMATCH"),
    ),
)

LEAVES: tuple[Mutant, ...] = (
    mutant(
        "leave-by-instance-refused",
        "an administrator can't remove a static member by its instance alone",
        ANSWER,
        *(but(rule_id, effect=(), answer=Error.UNKNOWN_MEMBER_ID) for rule_id in _BY_INSTANCE),
    ),
    mutant(
        "leave-without-rebalance",
        "a member leaves and nobody is given its partitions",
        EFFECT,
        without("LEAVE-MEMBER", Do.REBALANCE),
    ),
    mutant(
        "static-leave-ignored",
        "a static member that leaves under its own id is answered NONE and stays",
        GUARD,
        *(only(rule_id, negate(_OWN)) for rule_id in _LEAVING),
        added(
            "LEAVE-MEMBER",
            Rule(
                "LEAVE-STATIC-IGNORED",
                all_of(MID.among(Mid.MEMBER), _OWN),
                answer=Error.NONE,
            ),
        ),
    ),
    mutant(
        "leave-keeps-pending",
        "an id that its client gives back stays pending",
        EFFECT,
        without("LEAVE-MEMBER-PENDING", Do.REMOVE_PENDING),
    ),
    mutant(
        "zombie-leave-unknown",
        "a leave with a replaced id is answered UNKNOWN_MEMBER_ID, not FENCED_INSTANCE_ID",
        ANSWER,
        but("LEAVE-MEMBER-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "leaver-waits-for-ever",
        "the waiting requests of a member that is removed are never answered",
        EFFECT,
        twists={
            Do.REMOVE_MEMBER: retold(unanswered),
            Do.REMOVE_HOLDER: retold(unanswered),
        },
    ),
    mutant(
        "leave-absent-refused",
        "a leave for a group that doesn't exist is refused as a whole, without an answer per row",
        ANSWER,
        but("LEAVE-GROUP-ABSENT", effect=(), answer=Error.UNKNOWN_MEMBER_ID),
    ),
)

COMMITS: tuple[Mutant, ...] = (
    mutant(
        "zombie-commits",
        "a replaced process may still commit: it overwrites what its successor reads",
        ANSWER,
        but("COMMIT-INSTANCE-FENCED", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "stranger-commits",
        "an id that is of no member may commit",
        ANSWER,
        but("COMMIT-UNKNOWN-MEMBER", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "anybody-commits",
        "offsets without member and generation are stored while the group has members",
        ANSWER,
        but("COMMIT-ANONYMOUS", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "commit-generation-unchecked",
        "a member may commit for a generation that is over",
        GUARD,
        dropped("COMMIT-ILLEGAL-GENERATION"),
    ),
    mutant(
        "commit-completing-accepted",
        "a commit is taken in CompletingRebalance, before the member knows its partitions",
        ANSWER,
        but(
            "COMMIT-COMPLETING",
            effect=RULES["COMMIT-STABLE"].effect,
            answer=Error.NONE,
        ),
    ),
    mutant(
        "commit-preparing-refused",
        "a member can't save its progress before it gives partitions away",
        ANSWER,
        but("COMMIT-PREPARING", effect=(), answer=Error.REBALANCE_IN_PROGRESS),
    ),
    mutant(
        "commit-forgotten",
        "a commit in Stable is answered NONE and not stored",
        EFFECT,
        without("COMMIT-STABLE", Do.STORE_OFFSETS),
    ),
    mutant(
        "commit-keeps-nobody-alive",
        "a commit doesn't restart the session timer",
        TIMER,
        without("COMMIT-STABLE", Do.RESTART_SESSION),
        without("COMMIT-PREPARING", Do.RESTART_SESSION),
    ),
    mutant(
        "empty-group-refuses-commits",
        "an administrator can't set the offsets of a group without members",
        GUARD,
        only("COMMIT-EMPTY-GROUP", negate(STATE.among(GroupState.EMPTY))),
    ),
)


def _knows_all_topics(message: Message) -> Message:
    if not isinstance(message, TxnOffsetCommitResponse):
        return message
    unknown, none = Error.UNKNOWN_TOPIC_OR_PARTITION.value, Error.NONE.value
    topics = tuple(
        replace(
            topic,
            partitions=tuple(
                replace(row, error_code=none if row.error_code == unknown else row.error_code)
                for row in topic.partitions
            ),
        )
        for topic in message.topics
    )
    return replace(message, topics=topics)


TRANSACTIONS: tuple[Mutant, ...] = (
    mutant(
        "zombie-transacts",
        "a replaced process may still commit in a transaction: fencing is not checked there",
        ANSWER,
        but("TXN-COMMIT-INSTANCE-FENCED", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "zombie-transacts-unknown",
        "a replaced process that commits in a transaction is unknown, not fenced",
        GUARD,
        dropped("TXN-COMMIT-INSTANCE-FENCED"),
    ),
    mutant(
        "stranger-transacts",
        "an id that is of no member may commit in a transaction",
        ANSWER,
        but("TXN-COMMIT-UNKNOWN-MEMBER", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "unmapped-instance-transacts",
        "an instance that nobody holds is not looked up where a member commits in a transaction",
        GUARD,
        dropped("TXN-COMMIT-INSTANCE-UNMAPPED"),
    ),
    mutant(
        "transaction-generation-unchecked",
        "a member may commit in a transaction for a generation that is over",
        GUARD,
        dropped("TXN-COMMIT-ILLEGAL-GENERATION"),
    ),
    mutant(
        "transaction-needs-member",
        "a commit in a transaction must name a member, as every other commit does",
        ANSWER,
        but("TXN-COMMIT-ANONYMOUS", effect=(), answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "empty-group-refuses-transactions",
        "a commit in a transaction is refused while nobody is a member",
        ANSWER,
        but("TXN-COMMIT-NO-MEMBERS", effect=(), answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "absent-group-transacts",
        "a commit in a transaction for a group that doesn't exist is taken in any generation",
        ANSWER,
        but("TXN-COMMIT-GROUP-ABSENT", effect=_STORED, answer=Error.NONE),
    ),
    mutant(
        "nameless-group-transacts",
        "a transaction may hold offsets of a group without a name",
        GUARD,
        dropped("TXN-COMMIT-GROUP-ID-INVALID"),
    ),
    mutant(
        "transaction-completing-refused",
        "a commit in a transaction is refused in CompletingRebalance, as every other commit is",
        GUARD,
        added(
            "TXN-COMMIT-MEMBER",
            RULES["TXN-COMMIT-MEMBER"].but(
                id="TXN-COMMIT-COMPLETING",
                guard=STATE.among(GroupState.COMPLETING),
                effect=(),
                answer=Error.REBALANCE_IN_PROGRESS,
            ),
        ),
        but("TXN-COMMIT-MEMBER", guard=STATE.among(GroupState.PREPARING, GroupState.STABLE)),
    ),
    mutant(
        "transaction-forgotten",
        "a commit of a member in a transaction is answered NONE and not stored",
        EFFECT,
        without("TXN-COMMIT-MEMBER", Do.STORE_OFFSETS),
    ),
    mutant(
        "transaction-keeps-alive",
        "a commit in a transaction restarts the session timer, as every other commit does",
        TIMER,
        but("TXN-COMMIT-MEMBER", effect=(Do.RESTART_SESSION, Do.STORE_OFFSETS)),
    ),
    mutant(
        "transaction-topics-unchecked",
        "a commit in a transaction for a topic that doesn't exist is answered NONE",
        ANSWER,
        distort=_knows_all_topics,
    ),
    mutant(
        "transaction-size-unchecked",
        "a transaction's offsets that are too large to be stored are answered NONE",
        ANSWER,
        but("TXN-COMMIT-TOO-LARGE", answer=Error.NONE),
        but("TXN-COMMIT-OUTSIDE-TOO-LARGE", answer=Error.NONE),
    ),
    mutant(
        "transaction-metadata-refuse-all",
        "metadata that are too long refuse all offsets of a transaction, and not their own alone",
        ANSWER,
        but("TXN-COMMIT-METADATA", effect=(), answer=Error.OFFSET_METADATA_TOO_LARGE),
        but("TXN-COMMIT-OUTSIDE-METADATA", effect=(), answer=Error.OFFSET_METADATA_TOO_LARGE),
    ),
)


_COME_IN = (Do.REBALANCE, Do.PARK_JOIN)
_REJOIN = (Do.UPDATE_MEMBER, *_COME_IN)
TAKE_OVER = (Do.REPLACE_HOLDER, *_COME_IN)
_AS_STATIC = (Do.REMOVE_PENDING, Do.ADD_STATIC_AS_SENT, *_COME_IN)
_ZOMBIE = all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.OTHER))
_UPGRADE = all_of(MID.among(Mid.MEMBER), INST.among(Inst.UNMAPPED))
_PENDING_STATIC = all_of(MID.among(Mid.PENDING), INST.among(Inst.UNMAPPED))


def starts_no_timer(_: Group, work: ClassicWork) -> None:
    """Start no session timer for the caller, for `afterwards`."""
    work.group = work.group.without_timer(SESSION, work.caller)


def _still_pending(before: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, pending=before.pending)


JOIN: tuple[Mutant, ...] = (
    mutant(
        "static-asked-for-id",
        "a new static member is sent back with MEMBER_ID_REQUIRED, as a dynamic one is",
        ANSWER,
        but(
            "JOIN-STATIC-EMPTY-NEW",
            effect=(Do.HAND_OUT_PENDING,),
            answer=Error.MEMBER_ID_REQUIRED,
            echo=Echo.NEW,
        ),
        only("JOIN-PENDING-INSTANCE", negate(_PENDING_STATIC)),
        added("JOIN-PENDING", Rule("JOIN-PENDING-STATIC", _PENDING_STATIC, _AS_STATIC)),
    ),
    mutant(
        "zombie-join-takes-over",
        "a join with a replaced id takes its instance back: two processes fence each other",
        GUARD,
        only("JOIN-INSTANCE-FENCED", negate(_ZOMBIE)),
        added("JOIN-STATIC-EMPTY-NEW", Rule("JOIN-ZOMBIE", _ZOMBIE, TAKE_OVER)),
    ),
    mutant(
        "zombie-join-unknown",
        "a join with a replaced id is answered UNKNOWN_MEMBER_ID, so that its client starts afresh",
        ANSWER,
        but("JOIN-INSTANCE-FENCED", answer=Error.UNKNOWN_MEMBER_ID),
    ),
    mutant(
        "dynamic-becomes-static",
        "a dynamic member that names an unmapped instance gets it",
        GUARD,
        only("JOIN-INSTANCE-UNMAPPED", negate(_UPGRADE)),
        added("JOIN-STATIC-EMPTY-NEW", Rule("JOIN-UPGRADE", _UPGRADE, (Do.MAP_CALLER, *_REJOIN))),
    ),
    mutant(
        "unknown-id-joins",
        "a dynamic member that was removed comes in again under its old id",
        GUARD,
        but("JOIN-UNKNOWN-MEMBER", effect=(Do.ADD_STATIC_AS_SENT, *_COME_IN), answer=None),
    ),
    mutant(
        "no-id-required",
        "a dynamic member is added at its first join, also from version 4 on",
        GUARD,
        but(
            "JOIN-DYNAMIC-EMPTY",
            effect=RULES["JOIN-DYNAMIC-EMPTY-LEGACY"].effect,
            answer=None,
        ),
    ),
    mutant(
        "id-required-of-old-clients",
        "MEMBER_ID_REQUIRED is answered below version 4, where clients don't know it",
        SHAPE,
        but(
            "JOIN-DYNAMIC-EMPTY-LEGACY",
            effect=(Do.HAND_OUT_PENDING,),
            answer=Error.MEMBER_ID_REQUIRED,
            echo=Echo.NEW,
        ),
    ),
    mutant(
        "id-required-without-id",
        "MEMBER_ID_REQUIRED doesn't carry the new id, so the client asks again for ever",
        ECHO,
        but("JOIN-DYNAMIC-EMPTY", echo=Echo.SENT),
    ),
    mutant(
        "refused-join-without-id",
        "a refused join doesn't echo the member id that was sent",
        ECHO,
        but("JOIN-INSTANCE-FENCED", echo=Echo.EMPTY),
        but("JOIN-INSTANCE-UNMAPPED", echo=Echo.EMPTY),
        but("JOIN-UNKNOWN-MEMBER", echo=Echo.EMPTY),
    ),
    mutant(
        "unchanged-follower-rebalances",
        "a follower that joins again with nothing changed disturbs the whole group",
        ADDED,
        but("JOIN-FOLLOWER-STABLE-SAME", effect=_REJOIN),
    ),
    mutant(
        "changed-follower-ignored",
        "a follower's changed subscription is taken, but nobody assigns anew",
        EFFECT,
        but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.UPDATE_MEMBER, Do.ANSWER_CURRENT)),
    ),
    mutant(
        "changed-follower-answered",
        "a follower with another subscription gets its old assignment, as if nothing had changed",
        EFFECT,
        but("JOIN-FOLLOWER-STABLE-CHANGED", effect=(Do.ANSWER_CURRENT,)),
    ),
    mutant(
        "leader-rejoin-ignored",
        "a leader that joins again in Stable, having seen new topics, starts no rebalance",
        EFFECT,
        but("JOIN-LEADER-STABLE", effect=(Do.UPDATE_MEMBER, Do.ANSWER_CURRENT)),
    ),
    mutant(
        "repeated-join-rebalances",
        "a join that is sent again in CompletingRebalance starts the rebalance over",
        ADDED,
        but("JOIN-MEMBER-COMPLETING-SAME", effect=_REJOIN),
    ),
    mutant(
        "rejoin-keeps-subscription",
        "a member that joins again in PreparingRebalance keeps its old protocols and timeouts",
        EFFECT,
        without("JOIN-MEMBER-PREPARING", Do.UPDATE_MEMBER),
    ),
    mutant(
        "session-bounds-unchecked",
        "any session timeout is taken, whatever the broker's bounds are",
        GUARD,
        dropped("JOIN-SESSION-TIMEOUT-INVALID"),
    ),
    mutant(
        "group-size-unchecked",
        "group.max.size is not checked",
        GUARD,
        dropped("JOIN-GROUP-FULL"),
        dropped("JOIN-GROUP-FULL-PENDING"),
    ),
    mutant(
        "refused-by-size-stays",
        "a member that is refused because the group is full stays a member",
        EFFECT,
        without("JOIN-GROUP-FULL", Do.REMOVE_CALLER),
    ),
    mutant(
        "refused-by-size-stays-pending",
        "an id that is refused because the group is full stays pending, and blocks the join phase",
        EFFECT,
        without("JOIN-GROUP-FULL-PENDING", Do.REMOVE_PENDING),
    ),
    mutant(
        "member-protocols-unchecked",
        "a member may change to protocols that nobody else supports: none can be selected",
        GUARD,
        only("JOIN-PROTOCOLS-INCONSISTENT", negate(MID.among(Mid.MEMBER))),
    ),
    mutant(
        "pending-not-used-up",
        "an id that became a member stays pending, too: it is refused and blocks the join phase",
        EFFECT,
        twists={Do.ADMIT_PENDING: afterwards(_still_pending)},
    ),
    mutant(
        "pending-without-timer",
        "an id that was handed out and never used is never taken back",
        TIMER,
        twists={Do.HAND_OUT_PENDING: afterwards(starts_no_timer)},
    ),
)


_RESTART = RULES["JOIN-STATIC-EMPTY-STABLE"].effect


def _replaced(before: Group, work: ClassicWork) -> str:
    """Return the id that the caller replaced."""
    old = before.holder(work.instance or "")
    assert old is not None
    return old


def _loses_assignment(_: Group, work: ClassicWork) -> None:
    changed_member(work, work.caller, lambda m: replace(m, assignment=b""))


def _keeps_timer(before: Group, work: ClassicWork) -> None:
    old = _replaced(before, work)
    for timer in before.timers:
        if timer.kind == SESSION and timer.subject == old:
            work.group = work.group.with_timer(SESSION, work.caller, timer.earliest, timer.latest)


def _keeps_protocols(before: Group, work: ClassicWork) -> None:
    old = before.member(_replaced(before, work))
    assert old is not None
    changed_member(work, work.caller, lambda m: replace(m, protocols=old.protocols))


def _still_votes(before: Group, work: ClassicWork) -> None:
    old = before.member(_replaced(before, work))
    assert old is not None
    offer = tuple(protocol.name for protocol in old.protocols)
    work.group = replace(work.group, replaced_offers=(*before.replaced_offers, offer))


def _forgets_leader(before: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, leader=before.leader)


def _counts_up(_: Group, work: ClassicWork) -> None:
    work.group = replace(work.group, generation_id=work.group.generation_id + 1)


def _as_unknown(_: ClassicWork, emission: Emission) -> Message | None:
    answer = emission.message
    assert isinstance(answer, JoinGroupResponse | SyncGroupResponse)
    return replace(answer, error_code=Error.UNKNOWN_MEMBER_ID.value)


def _with_new_id(work: ClassicWork, emission: Emission) -> Message | None:
    if isinstance(emission.message, JoinGroupResponse):
        return replace(emission.message, member_id=work.caller)
    return emission.message


def _never_skips(_: ClassicWork, emission: Emission) -> Message | None:
    assert isinstance(emission.message, JoinGroupResponse)
    return replace(emission.message, skip_assignment=False)


def _leads_below_9(work: ClassicWork, emission: Emission) -> Message | None:
    answer = emission.message
    assert work.request is not None
    assert isinstance(answer, JoinGroupResponse)
    return answer if work.request.version >= 9 else join_answer(work.group, answer.member_id)


REPLACED: tuple[Mutant, ...] = (
    mutant(
        "restart-rebalances",
        "a static member that restarts in a stable group starts a rebalance",
        ADDED,
        but("JOIN-STATIC-EMPTY-STABLE", effect=TAKE_OVER),
    ),
    mutant(
        "restart-ignores-selection",
        "a restart that changes the selected protocol is answered at once, with no rebalance",
        GUARD,
        but("JOIN-STATIC-EMPTY-STABLE-SELECTION", effect=_RESTART),
    ),
    mutant(
        "restart-counts-generation",
        "a restart in Stable begins a generation that nobody else knows of",
        ELECTION,
        twists={Do.REPLACE_HOLDER: afterwards(_counts_up, "JOIN-STATIC-EMPTY-STABLE")},
    ),
    mutant(
        "restart-never-skips-assignment",
        "a leader that restarts gets the members but not skipAssignment",
        SHAPE,
        twists={Do.ANSWER_RESTARTED: retold(_never_skips)},
    ),
    mutant(
        "restart-leads-below-9",
        "below Join version 9, too, a restarted leader gets the leader's answer, which can't have "
        "skip the assignment",
        SHAPE,
        twists={Do.ANSWER_RESTARTED: retold(_leads_below_9)},
    ),
    mutant(
        "replace-loses-assignment",
        "an instance that restarts finds its assignment empty",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_loses_assignment)},
    ),
    mutant(
        "replace-keeps-session-timer",
        "the new process inherits what was left of the old one's session",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_keeps_timer)},
    ),
    mutant(
        "replace-starts-no-timer",
        "a process that restarts and falls silent is never missed",
        TIMER,
        twists={Do.REPLACE_HOLDER: afterwards(starts_no_timer)},
    ),
    mutant(
        "replace-keeps-protocols",
        "the new process is taken to offer what the old one offered",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_keeps_protocols)},
    ),
    mutant(
        "replace-forgets-leader",
        "the leader's id doesn't follow its replacement: the group is led by somebody who is gone",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_forgets_leader)},
    ),
    mutant(
        "replaced-still-votes",
        "a process that was replaced still has a vote when the protocol is selected",
        REPLACE,
        twists={Do.REPLACE_HOLDER: afterwards(_still_votes)},
    ),
    mutant(
        "replaced-told-unknown",
        "the waiting requests of a replaced process get UNKNOWN_MEMBER_ID, so that it joins anew",
        ANSWER,
        twists={Do.REPLACE_HOLDER: retold(_as_unknown)},
    ),
    mutant(
        "replaced-told-nothing",
        "the waiting requests of a replaced process are never answered",
        EFFECT,
        twists={Do.REPLACE_HOLDER: retold(unanswered)},
    ),
    mutant(
        "replaced-told-new-id",
        "the waiting join of a replaced process gets the id of the new one",
        ECHO,
        twists={Do.REPLACE_HOLDER: retold(_with_new_id)},
    ),
    mutant(
        "unstored-replacement-stays",
        "a process whose replacement can't be stored is refused, and has replaced the old one",
        EFFECT,
        but("JOIN-STATIC-EMPTY-STABLE-TOO-LARGE", effect=(Do.KEEP_HOLDER, Do.REPLACE_HOLDER)),
    ),
)
