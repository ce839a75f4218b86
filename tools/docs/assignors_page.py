"""Make the page about assignors: their promises, Java's, and the distance of each to the best.

The figures are in the repository; `python -m tools.docs.assignors_page docs` makes page and picture
anew, and with `measure` behind it the figures, too, which needs a JDK and takes some minutes.  The
speed comes from the benchmark: `python -m benchmarks assignors --save
docs/clients/assignor-speed.json`.  The picture is an SVG: a bar of shares for each sticky assignor.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from fencepost.traces.files.bounded import read_json
from tools.assignors.assignor_figures import GAPS, Parity, measure

_COLOURS = ("#2a9d76", "#f2c14e", "#e08a1e", "#c4601d", "#3b7dd8", "#b3231b")
_INK = "#7a7a85"
_LEFT, _BAR, _RIGHT = 290, 400, 70
_ROW, _HEAD, _LEGEND = 22, 20, 46
_WIDTH = _LEFT + _BAR + _RIGHT
_LEGEND_STEP = _WIDTH // 3


def gap_plot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw the rows of `quality`, grouped by the kind of group.

    It loads nothing, and has the same bytes for the same figures.
    """
    kinds = list(dict.fromkeys(row["groups"] for row in rows))
    parts: list[str] = []
    top = 0
    for kind in kinds:
        parts.append(_text(0, top + 15, kind, weight="bold"))
        top += _HEAD
        for row in (row for row in rows if row["groups"] == kind):
            parts += _bar(top, row)
            top += _ROW
        top += _ROW // 2
    parts += _legend(top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top + _LEGEND}" '
        f'role="img" font-family="sans-serif" font-size="12" fill="{_INK}">'
        "<title>How far from the best assignment each sticky assignor is</title>\n"
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _bar(top: int, row: Mapping[str, Any]) -> Iterator[str]:
    """Yield a row: its name, a part for each gap that occurs, and the share that isn't best."""
    name = f"{row['assignor']}, {row['by']}"
    yield _text(12, top + 15, name)
    gaps: Mapping[str, int] = row["gaps"]
    total = sum(gaps.values())
    at = 0
    for gap, colour in zip(GAPS, _COLOURS, strict=True):
        left, width = (_BAR * part / total for part in (at, gaps[gap]))
        at += gaps[gap]
        if gaps[gap]:
            text = escape(f"{name}: {gap}, {gaps[gap]:,} of {total:,}")
            yield (
                f'<rect x="{_LEFT + left:.1f}" y="{top + 3}" width="{width:.1f}" '
                f'height="{_ROW - 6}" fill="{colour}"><title>{text}</title></rect>'
            )
    yield _text(_LEFT + _BAR + 8, top + 15, percent(total - gaps["best"], total))


def percent(part: int, whole: int) -> str:
    """Format a share in percent; a small share is not 0."""
    share = 100 * part / whole
    return f"{share:.0f} %" if not part or share >= 10 else f"{share:.2g} %"


def _legend(top: int) -> Iterator[str]:
    for number, (gap, colour) in enumerate(zip(GAPS, _COLOURS, strict=True)):
        left, line = number % 3 * _LEGEND_STEP, top + number // 3 * 20 + 4
        yield f'<rect x="{left}" y="{line}" width="12" height="12" fill="{colour}"/>'
        yield _text(left + 18, line + 11, gap)


def _text(left: int, line: int, text: str, weight: str = "normal") -> str:
    return f'<text x="{left}" y="{line}" font-weight="{weight}">{escape(text)}</text>'


FIGURES = "clients/assignors.json"
SPEED = "clients/assignor-speed.json"
PICTURE = "clients/assignors.svg"
PAGE = "clients/assignors.md"
EACH = 1250
"""Random groups of each kind: 10,000 of eight kinds."""
SEED = 1

_TITLE = """\
# Assignors

<!-- Made by `python -m tools.docs.assignors_page docs`; don't edit. -->

For authors of client libraries. This page describes the assignors of fencepost's reference client,
and compares them with Java's and with the optimum.

The leader of a group assigns partitions to members. The reference client has Kafka's four assignors
as pure functions (`fencepost.model.assignors`). The input has for each member its topics, its
racks, its instance id, and its partitions with their generation; and for each partition the racks
of its replicas. The output is an assignment.

| assignor | what it does | racks (KIP-881) |
|---|---|---|
| `range` | cuts each topic into ranges; static members come first, by instance id | near \
partitions first, up to the share; topics with equal cuts keep equal cuts |
| `roundrobin` | deals all partitions in turn; static members come first | ignored |
| `sticky` | evens the loads and keeps partitions where it can. Eager: a member owns nothing when \
it joins, and reports the partitions that it had last | partitions far from their owner are dealt \
again |
| `cooperative-sticky` | like `sticky`, but a partition that another member still owns is handed \
over one round later | like `sticky` |

## Their promises

`fencepost.properties.assignors.assignor_promises` has each promise as a function that returns the
faults of an assignor for a group. Tests check the assignors on all small groups and on random ones.
Twelve faulty assignors show that each check finds faults.

| promise | meaning | not promised |
|---|---|---|
| `every-partition-once` | every partition goes to exactly one member, which subscribes to its \
topic | |
| `balance` | no partition could go to a member with two fewer: of its topic (`range`), or in all \
| `roundrobin` where subscriptions differ |
| `stickiness` | no more partitions move than necessary, by the optimum of a minimum-cost flow | \
where subscriptions differ, or racks matter |
| `restart` | static members that return with other member ids change nothing | |
| `calm` | a rebalance without a change moves nothing | sticky assignors, where racks matter |
| `handover` | a cooperative member gets no partition that another member still has; all are \
handed over after two rounds | the two rounds, where subscriptions differ or racks matter |
| `racks-cost-no-balance` | loads are as even with racks as without | where subscriptions differ |

In a stable group, a static restart causes no assignment. If a rebalance comes before the new
process knows its old partitions, `range` and `roundrobin` still assign the same ones. A sticky
assignor may assign one partition less: if the partitions don't divide evenly, a member that stayed
may get the larger share.
"""
_PARITY = """\
## Comparison with Java

A small Java program calls the assignors of kafka-clients {kafka}. fencepost compares their results
with its own, on {count:,} random groups and on all small groups (at most three members and four
partitions). Java gets each group with eight namings of members and topics, which change only the
order of its hash tables. If Java then has several results, its choice depends on hash codes, and
fencepost's result is one of them.

"""
_REASONS = {
    Parity.JAVA_FAILS: """\
[`NullPointerException` in the leader's `poll`]\
(../findings/clients/java-sticky-null-pointer.md). A member claims a partition of an earlier \
generation, of a topic that it no longer subscribes to, and none of its partitions can move. Java \
removes the member from the comparison of loads, and then compares with it. \
`IllegalStateException`: a topic was created again with fewer partitions, and members still claim \
the old ones.""",
    Parity.JAVA_GIVES_UNWANTED: """\
The same claim, and the member's partitions can move. Java assigns the partition to it again, \
although it doesn't subscribe to the topic. A consumer refuses such an assignment and joins again. \
Java also assigns partitions to a member without topics (its pattern matches none) if it comes \
first in the hash table.""",
    Parity.JAVA_GIVES_WRONGLY: """\
A topic was created again with fewer partitions: a member keeps the old ones that it claims.""",
    Parity.JAVA_HANDS_OVER_EARLY: """\
Two members claim a partition in different generations, and subscriptions differ. The cooperative \
assignor gives the partition to the earlier member at once, although the later one still has it. \
Where all subscriptions are equal, it waits for a round; fencepost always does.""",
}
_AS_GOOD = """
Several results of Java differ in the member that gets the larger share, in which of two equal
partitions moves, or in the order of members that claim the same partition. Java's sticky assignors
order members by member id, fencepost's by instance id. Brokers begin the member id of a static
member with its instance id, so the order differs only in groups of static and dynamic members.
"""
_GAPS = """\
## Distance to the optimum

The optimum is the evenest assignment (least sum of squares of loads); among these, where racks
matter, one with the fewest far partitions; among these, one with the fewest moves. A minimum-cost
flow computes it. For a cooperative assignor the last round counts. The number on the right is the
share of groups without the optimum.

![Bars of shares: best, 1 move more, 2, 3 or more, farther, less even](assignors.svg)

"""
_LIMITS = """\
- **Same topics, no racks**: always the optimum, in at most two rounds.
- **Different topics**: the assignor tries single moves, no chains. Loads of 3, 2 and 1 stay, where
  two moves at once would make them 2, 2 and 2.
- **Racks**: the assignor chooses near owners greedily, partition by partition. It deals partitions
  far from their owner again at each rebalance, so a cooperative group may need more than two
  rounds. Every group finished.

The figures leave out groups on which Java fails, or assigns a partition to a member that doesn't
subscribe to its topic.

| groups | by | 1 round | 2 rounds | 3 | 4 | 5 and more |
|---|---|---|---|---|---|---|
"""

_SPEED = """
## Speed

In a checkout, `python -m benchmarks assignors` prints the time that each assignor needs for 1,000
members and 10,000 partitions, with Java's first and a later call. Both have equal results. On two
idle cores, in ms:

| assignor | group | fencepost | Java, first | Java, later |
|---|---|---|---|---|
"""
_SPEED_ROWS = (
    ("range", "same topics: forms"),
    ("roundrobin", "same topics: forms"),
    ("sticky", "same topics: forms"),
    ("sticky", "same topics, racks: one is gone"),
    ("sticky", "different topics: one is gone"),
    ("sticky", "different topics, racks: forms"),
    ("cooperative-sticky", "different topics, racks: one is gone"),
)
"""Rows of the benchmark on the page: the quickest, and the slowest."""


def page(figures: Mapping[str, Any], speed: Sequence[Mapping[str, Any]]) -> str:
    """Return the whole page, in Markdown."""
    kinds = {row["groups"] for row in figures["parity"] if not row["groups"].startswith("all ")}
    parity = _PARITY.format(kafka=figures["kafka"], count=EACH * len(kinds))
    return "\n".join(
        [
            _TITLE,
            parity + "\n".join(_parity_lines(figures["parity"])),
            _AS_GOOD,
            _GAPS + _LIMITS.rstrip("\n"),
            *_round_lines(figures["quality"]),
            _SPEED + "\n".join(_speed_lines(speed)) + "\n",
        ]
    )


def _speed_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line for each row of the page.

    Raises KeyError where the benchmark lacks it.
    """
    by_group = {(row["assignor"], row["group"]): row for row in rows}
    for assignor, group in _SPEED_ROWS:
        row = by_group[assignor, group]
        cells = " | ".join(f"{row[name]:,}" for name in ("ms", "java_ms", "java_again_ms"))
        yield f"| `{assignor}` | {group} | {cells} |"


def _parity_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = {name for row in rows for name in row["found"]}
    kinds = [kind for kind in Parity if kind.value in names]
    yield "| groups | assignor | " + " | ".join(kind.value for kind in kinds) + " |"
    yield "|---|---" + "|---" * len(kinds) + "|"
    for row in rows:
        counts = (f"{row['found'].get(kind.value, 0):,}" for kind in kinds)
        yield f"| {row['groups']} | `{row['assignor']}` | " + " | ".join(counts) + " |"
    yield ""
    for kind, why in _REASONS.items():
        yield f"- **{kind.value}.** {why}"


def _round_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        rounds = {int(number): count for number, count in row["rounds"].items()}
        if row["assignor"] == "sticky":
            continue
        total = sum(rounds.values())
        cells = [rounds.get(number, 0) for number in range(1, 5)]
        cells.append(total - sum(cells))
        shares = " | ".join(percent(cell, total) for cell in cells)
        yield f"| {row['groups']} | {row['by']} | {shares} |"


def main(docs: Path, *parts: Path) -> None:
    """Write the page and its picture; with `measure`, the figures before."""
    if parts == (Path("measure"),):
        figures = asyncio.run(measure(EACH, SEED))
        (docs / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    figures = read_json(docs / FIGURES)
    speed = read_json(docs / SPEED)
    for name, text in ((PICTURE, gap_plot(figures["quality"])), (PAGE, page(figures, speed))):
        (docs / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
