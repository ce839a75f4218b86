"""The assignors of Java's kafka-clients, asked by a program that is built when it is first needed.

A group is asked about under several namings, which change the order of hash tables and nothing
else.  So it is seen where an assignor's choice depends on that order: it has several results then.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.clients.driver_programs import java_classes
from fencepost.conformance.runtime.toolchain.found_tools import find_tool, run_tool
from fencepost.model.assignors.assignor_input import Applicant, Assignment, Counts, Racks
from fencepost.model.messages.subscription import TopicPartition

VERSION = "4.3.0"
"""Of kafka-clients, the reference."""
_JVM = ("-Xmx1g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off")
_MAIN = "AssignorProgram"


@dataclass(frozen=True, slots=True)
class Question:
    """What an assignor is asked: its name, and a group.

    Names of members and topics are letters and digits, those of one kind equally long.  `namings`:
    under how many namings, of at most 8.
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
    """An answer to each question.  Raises TargetUnavailableError."""
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
    """An answer as the program wrote it, or as it is kept."""
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
