"""Define mutants from bugs that coordinators really had, in a release or on its way into one.

Each is the smallest difference to `kafka-4` that shows the same wrong answers.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.classic_work import ClassicWork
from fencepost.model.classic.effects import Do
from fencepost.model.classic.group import SESSION, Group
from fencepost.model.classic.vocabulary import MID, STATE, GroupState, Mid
from fencepost.model.messages.errors import Error
from fencepost.model.messages.shapes import Message
from fencepost.model.revisions.base import RULES
from fencepost.model.revisions.release_revisions import GATES
from fencepost.model.table.expr import Conjunction, Expr, In, all_of, negate
from fencepost.model.table.shared_features import INST, Inst
from fencepost.model.work import Emission, Incoming
from fencepost.properties.departures.known_departures import EVERYBODY_LEADS
from fencepost.properties.departures.mutation_operators import (
    afterwards,
    as_if,
    in_turn,
    retold,
    unless,
)
from fencepost.properties.mutants.mutant import Mutant, but, dropped, mutant, only, without

_MEMBER = MID.among(Mid.MEMBER)
_COMPLETING = STATE.among(GroupState.COMPLETING)
_ADD = (Do.ADD_STATIC, Do.REBALANCE, Do.PARK_JOIN)


def _stamped(request: Incoming, work: ClassicWork) -> Incoming:
    """Make an id of the instance and the moment of the last change of state."""
    stamp = f"{work.instance}-{work.group.state.value}-{work.group.generation_id}"
    return replace(request, fresh_id=stamp)


def _same_id(request: Incoming, work: ClassicWork) -> Incoming:
    holder = work.group.holder(work.instance or "")
    return replace(request, fresh_id=holder or request.fresh_id)


def _unfenced(_: ClassicWork, emission: Emission) -> Message | None:
    error = getattr(emission.message, "error_code", 0)
    return None if error == Error.FENCED_INSTANCE_ID.value else emission.message


def _no_first_timer(before: Group, work: ClassicWork) -> None:
    for member in before.members:
        if member.new:
            work.group = work.group.without_timer(SESSION, member.member_id)


def _before_version_9(request: Incoming, _: ClassicWork) -> Incoming:
    return replace(request, version=min(request.version, 8))


def _is_spared(work: ClassicWork) -> bool:
    member = work.group.member(work.caller)
    return work.rule.startswith("SESSION") and member is not None and member.is_static


def _old_timeouts(before: Group, work: ClassicWork) -> None:
    old = before.member(before.holder(work.instance or "") or "")
    new = work.group.member(work.caller)
    assert old is not None
    assert new is not None
    session, rebalance = old.session_timeout_ms, old.rebalance_timeout_ms
    work.group = work.group.with_member(
        replace(new, session_timeout_ms=session, rebalance_timeout_ms=rebalance)
    )
    work.set_timer(SESSION, new.member_id, session)


def _whoever(rule_id: str) -> Expr:
    """Make a guard for members, whichever instance they name."""
    guard = RULES[rule_id].guard
    assert isinstance(guard, Conjunction)
    return all_of(*(p for p in guard.parts if not (isinstance(p, In) and p.feature is INST)))


_NOT_MAPPED = all_of(MID.among(Mid.UNKNOWN), INST.among(Inst.UNMAPPED, Inst.OTHER))
_FOR_MEMBERS = (
    "JOIN-MEMBER-PREPARING",
    "JOIN-MEMBER-COMPLETING-SAME",
    "JOIN-MEMBER-COMPLETING-CHANGED",
    "JOIN-LEADER-STABLE",
    "JOIN-FOLLOWER-STABLE-CHANGED",
    "JOIN-FOLLOWER-STABLE-SAME",
    "LEAVE-MEMBER",
    "LEAVE-MEMBER-PREPARING",
)
_EMPTY_ID = (
    "JOIN-STATIC-EMPTY-PREPARING",
    "JOIN-STATIC-EMPTY-COMPLETING",
    "JOIN-STATIC-EMPTY-STABLE",
    "JOIN-STATIC-EMPTY-STABLE-SELECTION",
)

HISTORY: tuple[Mutant, ...] = (
    mutant(
        "kafka-8500",
        "the holder of an instance is replaced in Stable alone; else a second member is added",
        "KAFKA-8500",
        but("JOIN-STATIC-EMPTY-PREPARING", effect=_ADD),
        but("JOIN-STATIC-EMPTY-COMPLETING", effect=_ADD),
    ),
    mutant(
        "kafka-8715",
        "the id of a static member comes from the last change of state: two restarts, one id",
        "KAFKA-8715",
        twists={Do.ADD_STATIC: as_if(_stamped), Do.REPLACE_HOLDER: as_if(_stamped)},
    ),
    mutant(
        "kafka-8487",
        "a commit in CompletingRebalance is answered that it must wait, for members and others",
        "KAFKA-8487",
        only("COMMIT-UNKNOWN-MEMBER", negate(_COMPLETING)),
        only("COMMIT-ILLEGAL-GENERATION", negate(_COMPLETING)),
    ),
    mutant(
        "kafka-9752",
        "the first session timer after a join is lost: who falls silent at once is never missed",
        "KAFKA-9752",
        twists={Do.COMPLETE_JOIN: afterwards(_no_first_timer)},
    ),
    mutant(
        "kafka-9801",
        "a restart in CompletingRebalance is answered at once; the assignment goes to the old id",
        "KAFKA-9801",
        but("JOIN-STATIC-EMPTY-COMPLETING", effect=(Do.REPLACE_HOLDER, Do.ANSWER_RESTARTED)),
    ),
    mutant(
        "kafka-10284",
        "a restart in Stable is not stored: after a failover the old id holds the instance",
        "KAFKA-10284",
        without("JOIN-STATIC-EMPTY-STABLE", Do.PERSIST),
    ),
    mutant(
        "kafka-12890",
        "nobody waits for syncs: a leader that never sends one blocks the group for ever",
        "KAFKA-12890",
        *next(gate.before for gate in GATES if "KAFKA-12890" in gate.about),
    ),
    mutant(
        "pr-9958",
        "a member that names an instance which is mapped to nobody may heartbeat, sync and leave",
        "PR 9958",
        only("HEARTBEAT-INSTANCE-UNMAPPED", negate(_MEMBER)),
        only("SYNC-INSTANCE-UNMAPPED", negate(_MEMBER)),
        only("LEAVE-MEMBER-INSTANCE-UNMAPPED", negate(_MEMBER)),
        *(
            but(rule_id, guard=all_of(_whoever(rule_id), negate(INST.among(Inst.OTHER))))
            for rule_id in ("LEAVE-MEMBER", "LEAVE-MEMBER-PREPARING")
        ),
    ),
    mutant(
        "kafka-13435",
        "from Join version 9 on, too, a restarted leader gets the id of the leader that is gone",
        "KAFKA-13435",
        twists={Do.ANSWER_RESTARTED: as_if(_before_version_9)},
    ),
    mutant(
        "kfake-everybody-leads",
        "after the leader left, every survivor gets the leader's answer",
        "kfake",
        twists=EVERYBODY_LEADS,
    ),
    mutant(
        "kfake-leave-evicts-holder",
        "a leave with a wrong member id removes the holder of the instance",
        "kfake",
        but(
            "LEAVE-MEMBER-INSTANCE-FENCED",
            effect=(Do.REMOVE_HOLDER, Do.REBALANCE),
            answer=Error.NONE,
        ),
    ),
    mutant(
        "librdkafka-mock-never-fences",
        "an instance that joins again gets a second member, and nobody is ever fenced",
        "librdkafka mock",
        *(but(rule_id, effect=_ADD) for rule_id in _EMPTY_ID),
        *(but(rule_id, guard=_whoever(rule_id)) for rule_id in _FOR_MEMBERS),
        *(
            dropped(f"{prefix}-INSTANCE-{kind}")
            for prefix in ("SYNC", "HEARTBEAT", "COMMIT")
            for kind in ("UNMAPPED", "FENCED")
        ),
        but("JOIN-INSTANCE-UNMAPPED", guard=_NOT_MAPPED),
        dropped("JOIN-INSTANCE-FENCED"),
        but("LEAVE-MEMBER-INSTANCE-UNMAPPED", guard=_NOT_MAPPED),
        dropped("LEAVE-MEMBER-INSTANCE-FENCED"),
    ),
    mutant(
        "tansu-same-id",
        "an instance that joins again gets the same member id, so the old process is not fenced",
        "tansu / nisshi",
        twists={Do.REPLACE_HOLDER: in_turn(as_if(_same_id), retold(_unfenced))},
    ),
    mutant(
        "crabka-static-never-expires",
        "a static member is never removed, not even when its session times out",
        "crabka",
        twists={
            Do.REMOVE_MEMBER: unless(_is_spared),
            Do.REBALANCE: unless(_is_spared),
        },
    ),
    mutant(
        "redpanda-keeps-timeouts",
        "a restart takes the new protocols but keeps the old session and rebalance timeouts",
        "Redpanda",
        twists={Do.REPLACE_HOLDER: afterwards(_old_timeouts)},
    ),
)
