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

The leader of a group decides who reads what.  The reference client has Kafka's four assignors as
pure functions (`fencepost.model.assignors`): members with what they want, what they own since which
generation, their racks and instance ids, and partitions with the racks of their replicas go in, an
assignment comes out.

| assignor | what it does | racks (KIP-881) |
|---|---|---|
| `range` | cuts each topic into ranges, static members first, by instance id | near partitions \
first, up to the share; topics that are cut alike stay so |
| `roundrobin` | deals all partitions in turn, static members first | none |
| `sticky` | levels the loads; what can stay, stays. Eager: a member owns nothing when it joins, \
and tells what it had last | far partitions are dealt anew |
| `cooperative-sticky` | the same, but what another still has is handed over a round later | the \
same |

## What they promise

`fencepost.properties.assignors.assignor_promises` holds each promise as a function from an
assignor and a group to its faults. Tests hold the assignors to them on all small groups and on
random ones, and twelve lying assignors show that each promise is really checked.

| promise | says | not promised |
|---|---|---|
| `every-partition-once` | every partition goes to one member, which wants it | |
| `balance` | none could go to a member with two fewer: of its topic (`range`), or in all | \
`roundrobin` where wishes differ |
| `stickiness` | no more partitions move than must, by the optimum of a minimum-cost flow | where \
wishes differ, or racks matter |
| `restart` | static members that come back under other member ids change nothing | |
| `calm` | where nothing changed, a rebalance moves nothing | for sticky ones, where racks matter |
| `handover` | a cooperative member gets nothing that another still has; all is handed over after \
two rounds | the two rounds, where wishes differ or racks matter |
| `racks-cost-no-balance` | loads are as even with racks as without | where wishes differ |

While a group is stable, a static restart leads to no assignment at all. Where a rebalance comes
before the new process knows what the old one had, `range` and `roundrobin` still give it the same.
The sticky assignors leave it one partition less at most: where the partitions don't divide evenly,
the share that is one more may go to a member that was there all the time.
"""
_PARITY = """\
## Beside Java's

The assignors of kafka-clients {kafka}, called by a small Java program, and ours, on {count:,}
random groups and all small ones (up to three members and four partitions). Each group is given
to Java under eight namings of members and topics, which change the order of its hash tables and
nothing else: where it has several results then, its choice depends on hash codes, and ours is one
of them.

"""
_REASONS = {
    Parity.JAVA_FAILS: """\
[`NullPointerException` in the leader's `poll`]\
(../findings/clients/java-sticky-null-pointer.md). A member claims, of an earlier generation, a \
partition of a topic that it doesn't want any more, and is one whose partitions can't move; Java \
compares loads with it after it took it out of the comparison. `IllegalStateException`, where a \
topic was made anew with fewer partitions while members still claim the old ones.""",
    Parity.JAVA_GIVES_UNWANTED: """\
The same claim, and the member takes part: Java gives the partition back to it without looking at \
what it wants. A consumer that gets such an assignment refuses it and joins again. A member that \
wants nothing (a pattern that matches no topic) is given partitions, too, if it comes first in the \
hash table.""",
    Parity.JAVA_GIVES_WRONGLY: """\
A topic was made anew with fewer partitions: what a member claims of the old ones stays its own.""",
    Parity.JAVA_HANDS_OVER_EARLY: """\
Where wishes differ and two members claim a partition, in different generations, the cooperative \
assignor gives it to the earlier one at once, though the later one has it still. Where all want \
the same, it waits for a round, as ours does always.""",
}
_AS_GOOD = """
Where Java has several results they differ in which member gets the share that is one more, or which
of two equal partitions moves, or in the order in which members that claim the same were looked at.
Unlike ours, Java's sticky assignors order members by member id, not by instance id; the ids that
brokers give to static members begin with their instance ids, so that comes to the same, but in
groups of static and dynamic members.
"""
_GAPS = """\
## How far from the best

Best is the evenest assignment (the least sum of squares of loads); of these, where racks matter,
one with the fewest far partitions; of these, one with the fewest moves. A minimum-cost flow finds
it. Cooperative assignors are judged by their end. The share that is not the best stands at the
right.

![Bars of shares: best, 1 move more, 2, 3 or more, farther, less even](assignors.svg)

"""
_LIMITS = """\
- **Same topics, no racks**: always the best, in two rounds at most.
- **Different topics**: single moves are tried, no chains of them. Loads of 3, 2 and 1 stay, where
  two moves at once would make them 2, 2 and 2.
- **Racks**: who is near is chosen greedily, partition by partition. What is far from its owner is
  dealt anew at each rebalance, so a cooperative group may need more than two rounds; it came to an
  end each time.

Groups on which Java fails, or gives a member what it doesn't want, are left out, of ours too.

| groups | by | 1 round | 2 rounds | 3 | 4 | 5 and more |
|---|---|---|---|---|---|---|
"""

_SPEED = """
## Speed

`python -m benchmarks assignors`, in a checkout, prints how long each assignor takes for 1,000
members and 10,000 partitions, beside Java's first call and a later one. Both results are equal. On
two cores that had nothing else to do, in ms:

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
