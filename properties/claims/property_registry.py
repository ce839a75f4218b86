"""Register every property, by id.

A property lists the engines that check it, and why the others don't; the matrix of both is made
from that.  FORMULAS are those that a proof can take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fencepost.model.classic.effects import Do
from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.suggestions import did_you_mean
from fencepost.model.table.table import Rule, Table
from fencepost.properties.claims.answer_properties import HISTORY_PROPERTIES
from fencepost.properties.claims.consumer_answer_checks import CONSUMER_ANSWERS
from fencepost.properties.claims.consumer_formulas import KEPT, MOVES
from fencepost.properties.claims.consumer_invariants import CONSUMER_INVARIANTS
from fencepost.properties.claims.consumer_steps import CONSUMER_STEPS
from fencepost.properties.claims.invariants import BOOKS, INVARIANTS, PROMISED, STORED
from fencepost.properties.claims.mixed_properties import MIXED_PROPERTIES, OF_MIXED_ALONE
from fencepost.properties.claims.step_answers import ANSWER_PROPERTIES, STEP_PROPERTIES
from fencepost.properties.claims.step_formulas import STEPS
from fencepost.properties.claims.world_properties import WORLD_PROPERTIES
from fencepost.properties.logic.classic_signature import SYNC_TIMER
from fencepost.properties.logic.logic import Property, PropertyClass, negate


def _by_id(*groups: tuple[Property, ...]) -> dict[str, Property]:
    by_id: dict[str, Property] = {}
    for each in (each for group in groups for each in group):
        if each.id in by_id:
            raise ValueError(f"two properties are called {each.id}; rename one")
        by_id[each.id] = each
    return by_id


PROPERTIES: Mapping[str, Property] = _by_id(
    PROMISED,
    STEPS,
    WORLD_PROPERTIES,
    STEP_PROPERTIES,
    ANSWER_PROPERTIES,
    HISTORY_PROPERTIES,
    BOOKS,
    STORED,
)
"""Those of the classic protocol."""
CONSUMER_PROPERTIES: Mapping[str, Property] = _by_id(
    KEPT, CONSUMER_INVARIANTS, MOVES, CONSUMER_STEPS, CONSUMER_ANSWERS
)
"""Those of the consumer protocol."""
PROPERTIES_OF_MIXED: Mapping[str, Property] = _by_id(MIXED_PROPERTIES)
"""Those of mixed groups; several are of the consumer protocol, too."""
_BY_PROTOCOL = {
    "classic": PROPERTIES,
    "consumer": CONSUMER_PROPERTIES,
    "mixed": PROPERTIES_OF_MIXED,
}
ALL_PROPERTIES: Mapping[str, Property] = {
    **PROPERTIES,
    **CONSUMER_PROPERTIES,
    **_by_id(OF_MIXED_ALONE),
}


def properties_of(revision: Revision) -> Mapping[str, Property]:
    """Return the properties of a revision's protocol, by id."""
    return _BY_PROTOCOL[revision.protocol.name]


def find_property(property_id: str) -> Property:
    """Return the property of this id.  Raises KeyError that names the value and what there is."""
    try:
        return ALL_PROPERTIES[property_id]
    except KeyError:
        known = ", ".join(sorted(ALL_PROPERTIES))
        near = did_you_mean(property_id, ALL_PROPERTIES)
        raise KeyError(f"no property {property_id!r}{near}; there are {known}") from None


FORMULAS: tuple[Property, ...] = (*INVARIANTS, *STORED, *STEPS)
"""State properties, then step properties, in the order in which proofs show them."""
CONSUMER_FORMULAS: tuple[Property, ...] = (*KEPT, *MOVES)
"""Those of the consumer protocol."""


FORMULAS_BY_PROTOCOL: Mapping[str, tuple[Property, ...]] = {
    "classic": FORMULAS,
    "consumer": CONSUMER_FORMULAS,
}
"""Name of a protocol → its properties that a proof can take."""


def formulas_of(revision: Revision) -> tuple[Property, ...]:
    """Return the properties of a revision's protocol that a proof can take."""
    return FORMULAS_BY_PROTOCOL[revision.protocol.name]


def find_formula(name: str, formulas: tuple[Property, ...] = FORMULAS) -> Property:
    """Return the formula property of this id.  Raises KeyError that names it and what there is."""
    for formula in formulas:
        if formula.id == name:
            return formula
    known = [formula.id for formula in formulas]
    near = did_you_mean(name, known)
    raise KeyError(f"no property {name!r}{near}; there are {', '.join(known)}")


def applies(claim: Property, revision: Revision) -> bool:
    """Return True if a revision has the requests that a property is about."""
    return not claim.api or revision.apis.get(claim.api, (0, -1))[1] >= claim.version


def adapted(claim: Property, revision: Revision) -> Property:
    """Return the property for a revision: without a wait for syncs, that there is none."""
    if claim.id != "sync-timer-has-a-debtor":
        return claim
    if any(Do.START_SYNC_TIMER in rule.effect for _, rule in revision.rules()):
        return claim
    no_timer = negate(SYNC_TIMER.now())
    meaning = "Nothing starts a wait for syncs, so none ever ends."
    return replace(
        claim, id="nobody-waits-for-syncs", meaning=meaning, formula=no_timer, premise=no_timer
    )


def listed_under(revision: Revision) -> Iterator[str]:
    """Yield the names under which violations by a revision are listed.

    A revision of the consumer protocol, or of mixed groups, has entries of its own, all other
    profiles those of a base.
    """
    for name in revisions.lineage(revision):
        yield name
        if name in (*revisions.CONSUMER_NAMES, *revisions.MIXED_NAMES):
            break


def expected_in(claim: Property, revision: Revision) -> tuple[str, frozenset[str] | None] | None:
    """Return why the property fails in this revision, and by which rules; None if it must hold.

    The rules are None where they aren't named.  A release profile, and a revision without a known
    name (a mutant, say), fail where their bases do; a draft has its own entry.
    """
    for name in listed_under(revision):
        if name in claim.expected:
            rules = claim.expected_rules.get(name)
            if rules is not None:
                rules -= {rule.id for _, rule in revision.rules() if rule.defensive is not None}
            return claim.expected[name], rules
        if name in revisions.NAMES and not revisions.is_release(name):
            break
    return None


def inherited_rules(revision: Revision, name: str) -> frozenset[str]:
    """Return the ids of a revision's rules that do the same in the one of this name.

    What is known of a shipped revision goes with its rules, so a user's own rule, or a mutant's, is
    no excuse although it has the id of one of theirs.  A shipped revision has all rules of its own.
    """
    rules = revision.rules()
    if revisions.is_shipped(revision):
        return frozenset(rule.id for _, rule in rules)
    theirs = {(rule.id, _does(table, rule)) for table, rule in revisions.find(name).rules()}
    return frozenset(rule.id for table, rule in rules if (rule.id, _does(table, rule)) in theirs)


def known_of_releases(claim: Property, revision: Revision) -> dict[str, str]:
    """Return the rules of a revision by which a safety property may fail, each with the reason.

    They are a release's that the revision isn't made from: the same guard, steps and answer in the
    same table, under any id.  What Kafka shipped is known, whoever writes it down.  A promise is
    another matter: it says what the revision changes of that which it is made from.
    """
    if claim.property_class is not PropertyClass.SAFETY or revisions.is_shipped(revision):
        return {}
    made_from = revisions.lineage(revision)
    known: dict[str, str] = {}
    for name, ids in claim.expected_rules.items():
        if name in made_from or not revisions.is_release(name):
            continue
        theirs = {_does(t, rule) for t, rule in revisions.find(name).rules() if rule.id in ids}
        for table, rule in revision.rules():
            if _does(table, rule) in theirs:
                known.setdefault(rule.id, f"{rule.id} is as in {name}: {claim.expected[name]}")
    return known


def _does(table: Table, rule: Rule) -> tuple[object, ...]:
    """Return all of a rule but its words."""
    return table.name, str(rule.guard), rule.effect, rule.answer, rule.echo
