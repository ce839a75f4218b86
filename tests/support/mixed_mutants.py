"""Rules of mixed groups that are wrong in one thing, and the property that catches each."""

from __future__ import annotations

from fencepost.model.bridge.effects import Do
from fencepost.model.bridge.vocabulary import Rejoin, when
from fencepost.model.consumer.cells import EMPTY, MEMBER, OTHER, UNKNOWN, UNMAPPED
from fencepost.model.consumer.effects import Do as Common
from fencepost.model.messages.errors import Error
from fencepost.model.revision import Difference, DropRule, Revision, SetRule, derive
from fencepost.model.revisions import revisions
from fencepost.model.table.expr import any_of
from fencepost.properties.checking.evaluator import EXCUSED, Evaluator
from fencepost.properties.claims.property_registry import properties_of
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.mixed_scope import CHECK_SCOPES
from fencepost.properties.worlds.scope import NamedScope
from fencepost.properties.worlds.world import Worlds

BASE = revisions.find("mixed-4.4")
TABLES = {rule.id: table.name for table, rule in BASE.own_rules()}
ONE, RIVALS, BESIDE, ROLL, CALLS, CHANGES = CHECK_SCOPES


def but(rule_id: str, **changes: object) -> SetRule:
    return SetRule(TABLES[rule_id], BASE.rule(rule_id).but(**changes), "wrong")


def without(rule_id: str, *steps: Do | Common) -> SetRule:
    effect = BASE.rule(rule_id).effect
    return but(rule_id, effect=tuple(do for do in effect if do not in steps))


def instead(rule_id: str, step: Do | Common, new: Do | Common) -> SetRule:
    effect = BASE.rule(rule_id).effect
    return but(rule_id, effect=tuple(new if do is step else do for do in effect))


def also(rule_id: str, **cells: object) -> SetRule:
    guard = any_of(BASE.rule(rule_id).guard, when(**cells))  # type: ignore[arg-type]
    return but(rule_id, guard=guard)


def dropped(rule_id: str) -> DropRule:
    return DropRule(TABLES[rule_id], rule_id, "wrong")


def broken(revision: Revision, question: NamedScope, states: int) -> set[str]:
    """Return the properties that a revision breaks in a world, but not those of its base."""
    judging = Evaluator(properties_of(revision).values(), revision)
    worlds = Worlds(revision, question.scope, judging.judge)
    done = explore(worlds, judging.checks(worlds), max_states=states)
    return {name for name in done.violations if not name.startswith(EXCUSED)}


ALL_REASONS = tuple(Rejoin)
MUTANTS: dict[str, tuple[tuple[Difference, ...], NamedScope, str]] = {
    "a heartbeat calls nobody": (
        (dropped("MG-HEARTBEAT-REJOIN"), but("MG-HEARTBEAT", guard=when(rejoin=ALL_REASONS))),
        CALLS,
        "who-must-join-again-is-called",
    ),
    "a heartbeat calls everybody": (
        (dropped("MG-HEARTBEAT"), but("MG-HEARTBEAT-REJOIN", guard=when(rejoin=ALL_REASONS))),
        CALLS,
        "nobody-is-called-for-nothing",
    ),
    "a sync calls nobody": (
        (dropped("MG-SYNC-REJOIN"), but("MG-SYNC", guard=when(rejoin=ALL_REASONS))),
        CALLS,
        "who-must-join-again-is-called",
    ),
    "a heartbeat prolongs no session": (
        (without("MG-HEARTBEAT", Common.RESTART_SESSION),),
        CALLS,
        "a-classic-member-that-is-heard-stays",
    ),
    "a call has no end": (
        (without("MG-HEARTBEAT-REJOIN", Do.START_JOIN_TIMER),),
        CALLS,
        "who-owes-a-request-has-a-time-for-it",
    ),
    "a new member has no time to sync": (
        (without("MG-JOIN-STATIC", Do.START_SYNC_TIMER),),
        CALLS,
        "who-owes-a-request-has-a-time-for-it",
    ),
    "a sync does not end its time": (
        (without("MG-SYNC", Do.STOP_SYNC_TIMER),),
        CALLS,
        "who-owes-nothing-is-left-alone",
    ),
    "who never syncs stays": (
        (but("MG-SYNC-EXPIRED", effect=()),),
        CALLS,
        "a-debtor-out-of-time-goes",
    ),
    "another generation is as good": (
        (dropped("MG-HEARTBEAT-ILLEGAL-GENERATION"),),
        BESIDE,
        "another-generation-is-illegal",
    ),
    "a zombie is heard": (
        (but("MG-HEARTBEAT-INSTANCE-FENCED", answer=Error.NONE),),
        RIVALS,
        "a-replaced-classic-member-is-refused",
    ),
    "a zombie takes its instance back": (
        (
            dropped("MG-JOIN-INSTANCE-FENCED"),
            also("MG-JOIN-REPLACE", mid=(EMPTY, MEMBER, UNKNOWN), inst=OTHER),
        ),
        RIVALS,
        "a-member-of-a-mixed-group-goes-for-a-cause",
    ),
    "a removed id joins as if it were new": (
        (
            dropped("MG-JOIN-INSTANCE-UNMAPPED"),
            also("MG-JOIN-STATIC", mid=(EMPTY, MEMBER, UNKNOWN), inst=UNMAPPED),
        ),
        BESIDE,
        "a-replaced-classic-member-is-refused",
    ),
    "a new static member is not mapped": (
        (instead("MG-JOIN-STATIC", Common.ADD_STATIC, Common.ADD_DYNAMIC),),
        CALLS,
        "a-static-member-is-found",
    ),
    "a second member has the instance": (
        (instead("MG-JOIN-REPLACE", Common.REPLACE_HOLDER, Common.ADD_STATIC),),
        RIVALS,
        "a-static-member-is-found",
    ),
    "an upgrade begins anew": (
        (but("MG-UPGRADE", effect=(Do.START_ANEW,)),),
        BESIDE,
        "an-upgrade-keeps-the-members",
    ),
    "classic members alone stay a consumer group": (
        (without("MG-DOWNGRADE-REPLACED", Do.DOWNGRADE),),
        RIVALS,
        "a-group-of-classic-members-is-classic",
    ),
    "a group that lost its last consumer is stable": (
        (without("MG-DOWNGRADE-LEFT", Do.REBALANCE),),
        BESIDE,
        "a-partition-of-a-mixed-group-is-handed-on-when-it-is-free",
    ),
}


def found_in(name: str, states: int) -> set[str]:
    """Return the properties that a wrong rule breaks in its world."""
    differences, question, _ = MUTANTS[name]
    return broken(derive(BASE, "wrong", "wrong", differences), question, states)
