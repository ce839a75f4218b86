"""Our assignors beside Java's: is the result equal, and if not, why?

Java's result may depend on hash codes; then ours must be one of its results, or as good.  Where
Java's breaks a promise that ours keeps, that is the reason.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum

from fencepost.model.assignors.assignor_input import Assignment
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.assignors.ownership_claims import claims_of
from fencepost.properties.assignors.assignor_groups import AssignorInput
from fencepost.properties.assignors.optimum import quality_of
from tools.assignors.java_assignors import JavaAnswer, Question


class Parity(Enum):
    """How our result compares with Java's."""

    EQUAL = "equal"
    ONE_OF_SEVERAL = "one of several that Java has"
    AS_GOOD = "as good as each of several that Java has"
    JAVA_FAILS = "Java raises an exception"
    JAVA_GIVES_UNWANTED = "Java gives a partition to a member that doesn't want it"
    JAVA_GIVES_WRONGLY = "Java gives a partition twice, or one that doesn't exist"
    JAVA_HANDS_OVER_EARLY = "Java gives away what a later owner still has"
    DIFFERENT = "different, for no known reason"


def parity_of(question: Question, answer: JavaAnswer) -> Parity:
    """Compare our result with Java's."""
    group = AssignorInput(question.members, question.counts, question.racks)
    ours = group.assigned(ASSIGNORS[question.assignor])
    results = [result for result in answer.results if not isinstance(result, str)]
    if len(results) < len(answer.results):
        return Parity.JAVA_FAILS
    if ours in results:
        return Parity.EQUAL if len(results) == 1 else Parity.ONE_OF_SEVERAL
    if any(_gives_wrongly(group, result) for result in results):
        return Parity.JAVA_GIVES_WRONGLY
    if any(gives_unwanted(group, result) for result in results):
        return Parity.JAVA_GIVES_UNWANTED
    if ASSIGNORS[question.assignor].is_cooperative:
        if any(_hands_over_early(group, result) for result in results):
            return Parity.JAVA_HANDS_OVER_EARLY
    elif len(results) > 1 and quality_of(group, ours) <= min(quality_of(group, r) for r in results):
        return Parity.AS_GOOD
    return Parity.DIFFERENT


def gives_unwanted(group: AssignorInput, found: Assignment) -> bool:
    """Whether a member gets a partition of a topic that it doesn't want."""
    return any(
        partition.topic not in member.subscription.topics
        for member in group.members
        for partition in found[member.member_id]
    )


def _gives_wrongly(group: AssignorInput, found: Assignment) -> bool:
    count = Counter(p for partitions in found.values() for p in partitions)
    return bool(count.keys() - set(group.partitions())) or any(n > 1 for n in count.values())


def _hands_over_early(group: AssignorInput, found: Assignment) -> bool:
    claims = claims_of(group.members, group.counts)
    owners = claims.owners()
    member = {m.member_id: m for m in group.members}
    return any(
        (partition not in owners or owners[partition] != member[member_id])
        and any(other != member[member_id] for other in claims.claimants.get(partition, ()))
        for member_id, partitions in found.items()
        for partition in partitions
    )
