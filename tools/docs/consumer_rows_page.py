"""Make `docs/consumer-rows.md`: each measured situation, its case, and what each target answers.

`python -m tools.docs.consumer_rows_page docs` writes it.  A release answers what the model of its
revision does, if its kept certificate has the case as passed; if not, what the certificate says.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.conformance.cases import entry
from fencepost.conformance.run.certify import Options, open_target
from fencepost.conformance.targets.target_registry import TargetOptions, find_revision, find_target
from fencepost.properties.judging.explain import steps_of
from fencepost.properties.judging.outcome import Outcome
from tools.docs import mixed_rows, streams_rows
from tools.docs.certificates_page import read_all
from tools.docs.consumer_findings import KAFKA
from tools.docs.consumer_rows import ROWS, Row

FILE = Path("consumer-rows.md")
_SAME = "the same"
_AREAS = {
    "C": "Checks",
    "J": "Joins",
    "H": "Heartbeats",
    "L": "Leaves",
    "O": "Offsets",
    "T": "Timers",
    "": "Epochs, failovers, administrators, batches",
}
_HEARTBEAT = re.compile(r"(?P<error>\w+)(?:, epoch -?\d+)?(?:, assigned (?P<parts>.+))?")
_GENERATION = re.compile(r'(, generation 0)?(?:, generation \d+)?, follows ""')
"""A join of a consumer group: only generation 0 means something."""
_GROUP = re.compile(r"g (?P<state>\w+), epoch (?P<epoch>\d+), target of epoch (?P<target>\d+)")
_MEMBER = re.compile(r"(\w+): epoch (-?\d+), assigned ([^;\]]*?), target ([^;\]]*)")

_TITLE = """\
# The consumer protocol, row by row

<!-- Made by `python -m tools.docs.consumer_rows_page docs`; don't edit. -->

For everybody who compares coordinators of the consumer protocol (KIP-848). Each row is a situation
that was measured by raw requests: the case that asks it with the step of the answer, and the
answers of Apache Kafka and of other coordinators by their [certificates](consumer-certificates.md).
`fencepost explain CASE` shows the steps. *4 partitions*: the answer assigns as many; *A1 4 of 2*:
A1 has four, and two in the target; *the same*: as Kafka 4.3.0; *differs*: the first answer of the
case that is another one.
"""


class Part(NamedTuple):
    """The measured rows of one kind of groups.

    `title`: of their table; "": each area has a table.  `certificates`: the folder of those kept.
    `releases`: revision → release of Kafka.
    """

    title: str
    rows: tuple[Row, ...]
    certificates: Path
    releases: Mapping[str, str]

    def table_of(self, row: Row) -> str:
        """Return the title of the table that has a row."""
        return self.title or _AREAS.get(row.id[0], _AREAS[""])


PARTS = (
    Part("", ROWS, Path("certificates", "consumer"), KAFKA),
    Part(
        "Groups with classic members",
        mixed_rows.ROWS,
        Path("certificates", "mixed"),
        {name.replace("consumer", "mixed"): version for name, version in KAFKA.items()},
    ),
    Part(
        "Streams groups",
        streams_rows.ROWS,
        Path("certificates", "streams"),
        {"streams-4.2": "4.3.1", "streams-4.4": "4.4.0"},
    ),
)


class Answers(NamedTuple):
    """The answers in the cases of rows: case → its steps in words."""

    steps: Mapping[str, Sequence[str]]

    def of(self, row: Row) -> str:
        """Return the answer of a row, shortened; "" where the case could not be run."""
        if row.case not in self.steps:
            return ""
        line = self.steps[row.case][row.step - 1]
        return short(line.partition(" → ")[2])


def answers_of(revision: str, rows: Sequence[Row]) -> Answers:
    """Run the cases of these rows on the model of a revision."""
    return asyncio.run(_answers_of(revision, rows))


async def _answers_of(revision: str, rows: Sequence[Row]) -> Answers:
    judge = find_revision(revision)
    target = find_target(f"model:{revision}", TargetOptions())
    entries = [entry(case) for case in dict.fromkeys(row.case for row in rows)]
    async with open_target(target, judge, Options()) as suite:
        results = await suite.run(entries)
    return Answers(
        {
            result.case.id: steps_of(result.recording)
            for result in results
            if result.recording is not None and result.outcome is Outcome.PASS
        }
    )


def short(answer: str) -> str:
    """Return an answer without the names of partitions, which depend on the assignor.

    Generations are left out, too, since the first epoch depends on the release.
    """
    answer = _GENERATION.sub(r"\1", answer)
    if group := _GROUP.match(answer):
        parts = [f"{group['state']}, epoch {group['epoch']}, target of {group['target']}"]
        for name, _, has, target in _MEMBER.findall(answer):
            parts.append(f"{name} {_count(has)} of {_count(target)}")
        return "; ".join(parts)
    if (beat := _HEARTBEAT.fullmatch(answer)) is None:
        return answer
    assigned: str | None = beat["parts"]
    return beat["error"] + ("" if assigned is None else f", {_count(assigned)} partitions")


def _count(partitions: str) -> int:
    return 0 if partitions == "nothing" else len(partitions.split(", "))


def page(docs: Path) -> str:
    """Make the page of the kept certificates."""
    return "\n".join(_lines(docs))


def _lines(docs: Path) -> Iterator[str]:
    yield _TITLE
    for part in PARTS:
        certificates = {c["target"]: c for c in read_all(docs / part.certificates)}
        others = others_of(certificates)
        answers = {name: answers_of(name, part.rows) for name in part.releases}
        for title, rows in groupby(part.rows, key=part.table_of):
            lines = [line(row, answers, certificates, others, part.releases) for row in rows]
            yield from _table(title, others, lines)


def _table(title: str, others: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
    columns = ("row", "situation", "case, step", "Kafka", *others)
    yield f"## {title}"
    yield ""
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    yield from lines
    yield ""


def others_of(targets: Iterable[str]) -> list[str]:
    """Return the targets that are no release of Kafka."""
    return [target for target in targets if not target.startswith("kafka:")]


def line(
    row: Row,
    answers: Mapping[str, Answers],
    certificates: Mapping[str, Mapping[str, Any]],
    others: Sequence[str],
    releases: Mapping[str, str],
) -> str:
    """Return the line of a row.

    `answers` by revision, `certificates` by target; `others`: the targets that are not Kafka;
    `releases`: revision → release of Kafka.
    """
    kafka = [
        (version, _cell(row, certificates[f"kafka:{version}"], answers[name].of(row)))
        for name, version in releases.items()
    ]
    cells = [_cell(row, certificates[other], _SAME) for other in others]
    case = f"`{row.case}`, {row.step}"
    return f"| {' | '.join((row.id, row.about, case, by_release(kafka), *cells))} |"


def _cell(row: Row, certificate: Mapping[str, Any], answer: str) -> str:
    case = certificate["cases"].get(row.case)
    if case is None:
        return "not run"
    if case["outcome"] == Outcome.PASS.value:
        return answer
    if case["outcome"] == Outcome.UNSUPPORTED.value:
        return "n/a"
    where, _, observed = str(case.get("observed") or case["outcome"]).partition(": ")
    return f"differs: {where}: {short(observed)}" if observed else f"differs: {where}"


def by_release(cells: Sequence[tuple[str, str]]) -> str:
    """Return the answers of releases, each run of equal ones once; a cell: release and answer."""
    runs: list[tuple[str, list[str]]] = [
        (answer, [v for v, _ in run]) for answer, run in groupby(cells, itemgetter(1))
    ]
    if len(runs) == 1:
        return runs[0][0]
    return "; ".join(
        f"{versions[0] if len(versions) == 1 else f'{versions[0]} to {versions[-1]}'}: {answer}"
        for answer, versions in runs
    )


if __name__ == "__main__":
    docs = Path(sys.argv[1])
    (docs / FILE).write_text(page(docs), encoding="utf-8", newline="\n")
