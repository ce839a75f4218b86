"""Compare our assignors with Java's on random groups, and measure the distance of each to the best.

The groups are the same for the same seed.  A cooperative assignor is judged by its end, round by
round, each of which is a question to Java.

Java's kafka-clients is called by a program that is built on first use.  A group is passed under
several namings, which change the order of hash tables and nothing else.  An assignor whose choice
depends on that order has several results then.

Java's result may depend on hash codes; then ours must be one of its results, or as good.  Where
Java's breaks a promise that ours keeps, that is the reason for a difference.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.clients.driver_programs import java_classes
from fencepost.conformance.runtime.toolchain.found_tools import find_tool, run_tool
from fencepost.model.assignors.assignor_input import Applicant, Assignment, Counts, Racks
from fencepost.model.assignors.assignors import ASSIGNORS
from fencepost.model.assignors.sticky import claims_of
from fencepost.model.messages.subscription import TopicPartition
from fencepost.properties.assignors.assignor_promises import (
    KINDS,
    LONGEST,
    AssignorInput,
    GroupKind,
    Quality,
    best_assignment,
    quality_of,
    random_group,
    rounds,
    small_groups,
    small_racked_groups,
)

VERSION = "4.3.0"
"""Of kafka-clients, the reference."""
_JVM = ("-Xmx1g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
_MAIN = "AssignorProgram"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to an assignor: its name, and a group.

    Names of members and topics are letters and digits, those of one kind equally long.  `namings`:
    the number of namings, at most 8.
    """

    assignor: str
    members: tuple[Applicant, ...]
    counts: Counts
    racks: Racks
    namings: int = 8

    def as_json(self) -> dict[str, Any]:
        """As the program reads it."""
        return {
            "assignor": self.assignor,
            "namings": self.namings,
            "topics": {
                topic: [sorted(self.racks.get(TopicPartition(topic, n), ())) for n in range(count)]
                for topic, count in sorted(self.counts.items())
            },
            "members": [
                {
                    "id": member.member_id,
                    "instance": member.group_instance_id,
                    "topics": member.subscription.topics,
                    "owned": member.subscription.owned,
                    "generation": member.subscription.generation_id,
                    "rack": member.subscription.rack_id,
                }
                for member in self.members
            ],
        }


@dataclass(frozen=True, slots=True)
class JavaAnswer:
    """Each result that Java has; a failure is the name of an exception.

    More than one: which, depends on hash codes.  `took_ms`: the first, without reading and writing.
    """

    results: tuple[Assignment | str, ...]
    took_ms: float


async def ask_java(
    questions: Iterable[Question], within_s: float, version: str = VERSION
) -> list[JavaAnswer]:
    """Return an answer to each question.  Raises TargetUnavailableError."""
    path = await java_classes(version, _MAIN)
    java = find_tool("java", "install Java 17 or later (Debian: openjdk-17-jre-headless)")
    with tempfile.TemporaryDirectory(prefix="fencepost-") as at:
        asked, answered = Path(at) / "questions", Path(at) / "answers"
        with asked.open("wb") as file:
            for question in questions:
                file.write(msgspec.json.encode(question.as_json()) + b"\n")
        command = [java, *_JVM, "-cp", path, _MAIN, str(asked), str(answered)]
        await run_tool(command, within_s, Path(at))
        with answered.open("rb") as file:
            return [answer_of(msgspec.json.decode(line)) for line in file]


def answer_of(read: dict[str, Any]) -> JavaAnswer:
    """Return an answer as the program wrote it, or as it is kept."""
    results = tuple(_result(result) for result in read["results"])
    return JavaAnswer(results, read.get("took_us", 0) / 1000)


def _result(read: dict[str, Any]) -> Assignment | str:
    failed = read.get("failed")
    if isinstance(failed, str):
        return failed
    return {
        member: tuple(TopicPartition(topic, number) for topic, number in partitions)
        for member, partitions in read.items()
    }


class Parity(Enum):
    """The relation of our result to Java's."""

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
    """Return True if a member gets a partition of a topic that it doesn't want."""
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


WITHIN_S = 900.0
STICKY = tuple(name for name, assignor in ASSIGNORS.items() if assignor.is_sticky)
SMALL = "all small"
GAPS = ("best", "1 move more", "2 moves more", "3 or more", "farther", "less even")
"""The distance of an assignment to the best, by the first difference: balance, racks, moves."""
_MORE_MOVES = 3


async def measure(each: int, seed: int) -> dict[str, Any]:
    """Compute all figures, of `each` random groups of each kind.  Raises TargetUnavailableError."""
    rng = random.Random(seed)  # noqa: S311  (to choose groups)
    groups = [(kind, random_group(kind, rng)) for kind in KINDS for _ in range(each)]
    parity = await _parity([*((str(kind), group) for kind, group in groups), *_small()])
    fair = [(kind, group) for kind, group in groups if not kind.has_conflicts]
    return {
        "kafka": VERSION,
        "seed": seed,
        "parity": parity,
        "quality": [row async for row in _quality(fair)],
    }


def _small() -> Iterator[tuple[str, AssignorInput]]:
    yield from ((SMALL, group) for group in small_groups(3, 4))
    for members in (2, 3):
        yield from ((f"{SMALL}, racks", group) for group in small_racked_groups(members, 3))


async def _parity(groups: Sequence[tuple[str, AssignorInput]]) -> list[dict[str, Any]]:
    """Count each kind of parity, by kind of group and assignor."""
    asked = [
        (kind, Question(name, group.members, group.counts, group.racks))
        for kind, group in groups
        for name in ASSIGNORS
    ]
    answers = await ask_java([question for _, question in asked], WITHIN_S)
    found: dict[tuple[str, str], Counter[str]] = {}
    for (kind, question), answer in zip(asked, answers, strict=True):
        row = found.setdefault((kind, question.assignor), Counter())
        row[parity_of(question, answer).value] += 1
    return [
        {"groups": kind, "assignor": name, "found": dict(sorted(row.items()))}
        for (kind, name), row in found.items()
    ]


async def _quality(
    groups: Sequence[tuple[GroupKind, AssignorInput]],
) -> AsyncIterator[dict[str, Any]]:
    """Gaps and rounds of the sticky assignors, by kind of group: ours, and Java's.

    Groups on which Java fails or breaks a promise are left out of both.
    """
    only = [group for _, group in groups]
    best = [quality_of(group, best_assignment(group)) for group in only]
    for name in STICKY:
        ours = [[found for _, found in rounds(ASSIGNORS[name], group)] for group in only]
        java = await _java_rounds(name, only)
        for by, passed in (("fencepost", ours), ("Java", java)):
            gaps = {str(kind): Counter[str]() for kind, _ in groups}
            needed = {str(kind): Counter[int]() for kind, _ in groups}
            for index, (kind, group) in enumerate(groups):
                if java[index]:
                    found = gap(quality_of(group, passed[index][-1]), best[index])
                    gaps[str(kind)][found] += 1
                    needed[str(kind)][len(passed[index])] += 1
            for said, count in gaps.items():
                yield {
                    "groups": said,
                    "assignor": name,
                    "by": by,
                    "gaps": {one: count[one] for one in GAPS},
                    "rounds": {
                        str(number): needed[said][number] for number in sorted(needed[said])
                    },
                }


def gap(found: Quality, best: Quality) -> str:
    """Return the distance of an assignment to the best, one of GAPS."""
    if found.unevenness > best.unevenness:
        return "less even"
    if found.far > best.far:
        return "farther"
    more = found.moves - best.moves
    return GAPS[min(more, _MORE_MOVES)]


async def _java_rounds(name: str, groups: Iterable[AssignorInput]) -> list[list[Assignment]]:
    """Return Java's assignments of each group by round; none where it fails or breaks a promise."""
    now = dict(enumerate(groups))
    found: list[list[Assignment]] = [[] for _ in now]
    for number in range(LONGEST):
        asked = {
            index: Question(name, group.members, group.counts, group.racks, namings=1)
            for index, group in now.items()
        }
        answers = await ask_java(asked.values(), WITHIN_S)
        after = {}
        for index, answer in zip(asked, answers, strict=True):
            [result] = answer.results
            if isinstance(result, str) or gives_unwanted(now[index], result):
                found[index] = []
            elif not found[index] or found[index][-1] != result:
                found[index].append(result)
                if ASSIGNORS[name].is_cooperative:
                    after[index] = now[index].owning(result, 10 + number)
        now = after
        if not now:
            break
    return found
