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
"""Version of kafka-clients, the reference."""
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
        """Return the question in the form that the program reads."""
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
    """Java's results; a failure is the name of an exception.

    Several results depend on hash codes.  `took_ms`: time of the first, without input and output.
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
        questions_file, answers_file = Path(at) / "questions", Path(at) / "answers"
        with questions_file.open("wb") as file:
            for question in questions:
                file.write(msgspec.json.encode(question.as_json()) + b"\n")
        command = [java, *_JVM, "-cp", path, _MAIN, str(questions_file), str(answers_file)]
        await run_tool(command, within_s, Path(at))
        with answers_file.open("rb") as file:
            return [answer_of(msgspec.json.decode(line)) for line in file]


def answer_of(read: dict[str, Any]) -> JavaAnswer:
    """Read an answer of the program, or a kept answer."""
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


def gives_unwanted(group: AssignorInput, assignment: Assignment) -> bool:
    """Return True if a member gets a partition of a topic that it doesn't want."""
    return any(
        partition.topic not in member.subscription.topics
        for member in group.members
        for partition in assignment[member.member_id]
    )


def _gives_wrongly(group: AssignorInput, assignment: Assignment) -> bool:
    count = Counter(p for partitions in assignment.values() for p in partitions)
    return bool(count.keys() - set(group.partitions())) or any(n > 1 for n in count.values())


def _hands_over_early(group: AssignorInput, assignment: Assignment) -> bool:
    claims = claims_of(group.members, group.counts)
    owners = claims.owners()
    member = {m.member_id: m for m in group.members}
    return any(
        (partition not in owners or owners[partition] != member[member_id])
        and any(other != member[member_id] for other in claims.claimants.get(partition, ()))
        for member_id, partitions in assignment.items()
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
    rows = [
        (kind, Question(name, group.members, group.counts, group.racks))
        for kind, group in groups
        for name in ASSIGNORS
    ]
    answers = await ask_java([question for _, question in rows], WITHIN_S)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for (kind, question), answer in zip(rows, answers, strict=True):
        row = counts.setdefault((kind, question.assignor), Counter())
        row[parity_of(question, answer).value] += 1
    return [
        {"groups": kind, "assignor": name, "found": dict(sorted(row.items()))}
        for (kind, name), row in counts.items()
    ]


async def _quality(
    groups: Sequence[tuple[GroupKind, AssignorInput]],
) -> AsyncIterator[dict[str, Any]]:
    """Yield gaps and rounds of the sticky assignors, by kind of group: ours, and Java's.

    Both leave out groups on which Java fails or breaks a promise.
    """
    only = [group for _, group in groups]
    best = [quality_of(group, best_assignment(group)) for group in only]
    for name in STICKY:
        ours = [[assignment for _, assignment in rounds(ASSIGNORS[name], group)] for group in only]
        java = await _java_rounds(name, only)
        for by, passed in (("fencepost", ours), ("Java", java)):
            gaps = {str(kind): Counter[str]() for kind, _ in groups}
            needed = {str(kind): Counter[int]() for kind, _ in groups}
            for index, (kind, group) in enumerate(groups):
                if java[index]:
                    distance = gap(quality_of(group, passed[index][-1]), best[index])
                    gaps[str(kind)][distance] += 1
                    needed[str(kind)][len(passed[index])] += 1
            for kind_name, count in gaps.items():
                yield {
                    "groups": kind_name,
                    "assignor": name,
                    "by": by,
                    "gaps": {distance: count[distance] for distance in GAPS},
                    "rounds": {str(n): times for n, times in sorted(needed[kind_name].items())},
                }


def gap(quality: Quality, best: Quality) -> str:
    """Return the distance of an assignment to the best, one of GAPS."""
    if quality.unevenness > best.unevenness:
        return "less even"
    if quality.far > best.far:
        return "farther"
    more = quality.moves - best.moves
    return GAPS[min(more, _MORE_MOVES)]


async def _java_rounds(name: str, groups: Iterable[AssignorInput]) -> list[list[Assignment]]:
    """Return Java's assignments of each group by round; none where it fails or breaks a promise."""
    now = dict(enumerate(groups))
    by_group: list[list[Assignment]] = [[] for _ in now]
    for number in range(LONGEST):
        questions = {
            index: Question(name, group.members, group.counts, group.racks, namings=1)
            for index, group in now.items()
        }
        answers = await ask_java(questions.values(), WITHIN_S)
        after = {}
        for index, answer in zip(questions, answers, strict=True):
            [result] = answer.results
            if isinstance(result, str) or gives_unwanted(now[index], result):
                by_group[index] = []
            elif not by_group[index] or by_group[index][-1] != result:
                by_group[index].append(result)
                if ASSIGNORS[name].is_cooperative:
                    after[index] = now[index].owning(result, 10 + number)
        now = after
        if not now:
            break
    return by_group
