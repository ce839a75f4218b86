"""Make the pages of the decision tables of both protocols, and of the states of a classic group.

`python -m tools.docs.table_page docs` writes `table.md`, `consumer-table.md` and `states.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from fencepost.conformance.targets.target_registry import (
    CONSUMER_REVISION,
    DEFAULT_REVISION,
    find_revision,
)
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision
from fencepost.model.table.columns import Row, print_rows
from fencepost.model.table.table import Table
from fencepost.traces.pages.decisions import Edge, edges

TABLE_FILE = "table.md"
CONSUMER_FILE = "consumer-table.md"
MIXED_REVISION = "mixed-4.4"
STATES_FILE = "states.md"

_MADE = "<!-- Made by `python -m tools.docs.table_page docs`; don't edit. -->"

_TABLE_TITLE = f"""\
# The decision table

{_MADE}

This is the reference of all rules of `{DEFAULT_REVISION}`, the behaviour of a correct current
coordinator in the classic protocol. Each request and each timer has a table. The coordinator tries
the *checks* in order, and the first one that applies gives the answer. If no check applies, exactly
one *row* does. [The state diagram](states.md) shows the changes of state, and [the
model](designers/model.md) describes the machine. The consumer protocol has [tables of its
own]({CONSUMER_FILE}); [one page](protocols.md) compares what a static member meets in both.

- *mid* is the member id of the request, *inst* its instance id, *state* the state of the group. An
  empty cell means any value. *more* has further conditions.
- In the column *then*, *S* is the session timeout of the member, *R* its rebalance timeout, *D* the
  initial rebalance delay, *v* the version of the request.
- Below each row are its id, its level (MUST, SHOULD or MAY: [how binding it
  is](brokers/certify.md#levels)), the reason, and the *source*.

`fencepost explain ID` shows one rule with its cases. `fencepost table --revision R` prints the
tables of another revision.

Terms in the cells:

- *offer*: a join must offer the protocol type of the group, and a protocol that all members
  support. If a member joins again, its earlier offer counts, too.
- *parked*: without an answer yet. *Everybody is parked* if each member has a parked join and no id
  is pending. If a member is removed, its parked request is answered UNKNOWN_MEMBER_ID (JoinGroup:
  with memberId ""). If a new process takes over its instance, the answer is FENCED_INSTANCE_ID with
  the old id.
- *elect*: the leader stays the leader if its join is parked; otherwise any member with a parked
  join becomes the leader. *vote*: each member votes for its first protocol that all members
  support, and the protocol with most votes wins.
- *R* of a group is the largest rebalance timeout of its members at the start of the wait. A join of
  version 0 has no rebalance timeout; its session timeout is used.
- *room is full*: the group has `group.max.size` members, and the caller is not one of them. In
  PreparingRebalance only members with a parked join count. A restarted process takes the place of
  the member that it replaces; in PreparingRebalance only if that member counts. An Empty group has
  room.
- *generation + 1*: the group starts the next generation with all its members. The session timers of
  **all** members restart, also of an absent static member, whose join is not parked.
- *leader*, in the answer to a leader that restarts in a Stable group: below version 9 its old id,
  so that it becomes a follower and sends no assignment; from version 9 its new id, with
  skipAssignment.
- *initial delay is extendable*: a new member joined since the delay started or was last extended,
  and a part of R is left. *used up*: otherwise.
"""

_CONSUMER_TITLE = f"""\
# The decision table of the consumer protocol

{_MADE}

This is the reference of all rules of `{CONSUMER_REVISION}`, the consumer protocol (KIP-848) of
Apache Kafka 4.3.0. [The page of revisions](revisions.md#the-consumer-protocol) lists what other
releases, the text of the KIP and a proposal do otherwise. See also [the table of the
classic protocol]({TABLE_FILE}), and [what a static member meets in both](protocols.md).

A ConsumerGroupHeartbeat with epoch 0 is a join, with -1 or -2 a leave, and else a heartbeat proper:
each has a table. The coordinator tries the *checks* in order, and the first one that applies gives
the answer. If no check applies, exactly one *row* does.

- *mid* is the member id of the request, *inst* its instance id. The *holder* of an instance is the
  member id that it is mapped to. An empty cell means any value. *more* has further conditions.
- A holder that left with -2 is *released*, any other one is *live*.
- *R* is the rebalance timeout of the member, *v* the version of the request.
- Below each row are its id, its level (MUST, SHOULD or MAY: [how binding it
  is](brokers/certify.md#levels)), the reason, and the *source*.

Two things are not modelled: what a valid regular expression in a subscription means, and topics
that are made, grown or deleted while a group subscribes to them. The verdict on a run with such an
expression, or with a deleted topic, is *unknown*; over TCP, such an expression is not sent. No
event of a history says that a topic was made or grown: the verdict on such a run may be wrong.

`fencepost explain ID --revision {CONSUMER_REVISION}` shows one rule, and
`fencepost table --revision consumer-4.4` the tables of another release.

## States

A group is *Empty* without members, *Assigning* while its target is older than its epoch, *Stable*
if each member has its part of the target, and else *Reconciling*. A released member counts as
reconciling. Descriptions show this state; no rule depends on it.

A member has three phases.

```mermaid
stateDiagram-v2
    Stable --> Unrevoked: its target lacks partitions that it has
    Stable --> Unreleased: others have partitions of its target
    Unrevoked --> Stable: it gave them up, and all of its target is free
    Unrevoked --> Unreleased: it gave them up, and others have a part
    Unreleased --> Stable: the others gave them up
    Unreleased --> Unrevoked: a new target
```

The target itself is open: any assignment is correct that gives each partition of each subscribed
topic to one of its subscribers.

## Timers

| timer | it runs | at its end |
|---|---|---|
| session, for each member | from each successful join or heartbeat, and after a failover; not \
from a release. Its length is the group's | the member is removed, live or released |
| rebalance, for each member | while the member has partitions to give up; its length is *R* | the \
member is removed |
| assignment, for the group | from a new target, for `group.consumer.assignment.interval.ms` | a \
new target is not delayed any more |

"""

_MIXED_TITLE = f"""\
## Mixed groups

These tables of `{MIXED_REVISION}` decide about classic members in a consumer group, and about
conversions of groups. A join of the consumer protocol makes a classic group a consumer group
(*upgrade*). A group whose last member of the consumer protocol goes, or is replaced, becomes a
classic one (*downgrade*). All other requests have the rules above, or those of [the classic
protocol]({TABLE_FILE}).

A classic member hears REBALANCE_IN_PROGRESS and joins again, as it does in a classic group. But the
coordinator answers its join at once, nobody leads, and a member that does not join or sync within
its *R* is removed, also a static one.
"""

_STATES_TITLE = f"""\
# The states of a group

{_MADE}

Each arrow is a change of state by a rule of `{DEFAULT_REVISION}`, with its request or timer. A
failover has no arrow, because it restores the stored state from any state. A *Dead* group is being
unloaded, so no arrow leaves it.
"""

_STATES_TABLE = """\
## Rules that change the state

All other rules of [the table](table.md) keep the state: they reject, answer or park a request.

| from | to | rules |
|---|---|---|"""

_NAMES = {GroupState.ABSENT: "[*]"}


def table_page(revision: Revision, title: str = _TABLE_TITLE) -> str:
    """Make the page of rules."""
    return "\n".join([title, *_tables(revision)])


def consumer_page() -> str:
    """Make the page of rules of the consumer protocol, and of mixed groups."""
    own, mixed = find_revision(CONSUMER_REVISION), find_revision(MIXED_REVISION)
    return "\n".join([_CONSUMER_TITLE, *_tables(own), _MIXED_TITLE, *_tables(mixed, " (mixed)")])


def _tables(revision: Revision, suffix: str = "") -> Iterator[str]:
    names = revision.protocol.columns.headings
    for table in revision.tables.values():
        yield "\n".join(_table(table, names, suffix))


def _table(table: Table, names: Sequence[str], suffix: str) -> Iterator[str]:
    headings, rows = print_rows(table, names)
    yield from (f"## {_heading(table)}{suffix}", "", '<table class="rules">', "<thead><tr>")
    yield "".join(f"<th>{heading}</th>" for heading in headings)
    yield "</tr></thead>"
    for row in rows:
        yield from _row(row, headings)
    yield from ("</table>", "")


def _heading(table: Table) -> str:
    return table.name[0].upper() + table.name[1:]


def _row(row: Row, headings: tuple[str, ...]) -> Iterator[str]:
    """Make a table body of two rows: the cells, and under them the rule with its reason."""
    rule = row.rule
    cells = (*map(_plain, row.cells), "<br>".join(map(_plain, row.then)))
    pairs = zip(headings, cells, strict=True)
    yield f'<tbody id="{_anchor(rule.id)}"><tr>'
    yield "".join(f'<td data-column="{heading}">{cell}</td>' for heading, cell in pairs)
    unreachable = f" Can't be reached: {_plain(rule.defensive)}." if rule.defensive else ""
    yield f'</tr><tr><td colspan="{len(headings)}">'
    yield f"<code>{rule.id}</code> {rule.level.value}, {row.place}: {_plain(rule.because)}."
    yield f"{unreachable} <em>{_plain(rule.source)}</em></td></tr></tbody>".lstrip()


def _anchor(rule_id: str) -> str:
    return rule_id.lower()


def _plain(text: str) -> str:
    """Escape a text for HTML."""
    return escape(text, quote=False)


def states_page(revision: Revision) -> str:
    """Make the page of states, with its diagram."""
    moves = [edge for edge in edges(revision) if edge.start is not edge.end]
    tables = {rule.id: table.name for table, rule in revision.rules()}
    lines = [
        _STATES_TITLE,
        *_diagram(moves, tables),
        "",
        _STATES_TABLE,
        *(f"| {e.start.value} | {e.end.value} | {_links(e.rules)} |" for e in moves),
        "",
    ]
    return "\n".join(lines)


def _diagram(moves: list[Edge], tables: dict[str, str]) -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for edge in moves:
        triggers = [name for name, _ in groupby(tables[rule] for rule in edge.rules)]
        yield f"    {_name(edge.start)} --> {_name(edge.end)}: {', '.join(triggers)}"
    yield "```"


def _name(state: GroupState) -> str:
    return _NAMES.get(state, state.value)


def _links(rules: tuple[str, ...]) -> str:
    return ", ".join(f"[`{rule}`]({TABLE_FILE}#{_anchor(rule)})" for rule in rules)


def main(folder: Path) -> None:
    """Write all pages."""
    revision = find_revision(DEFAULT_REVISION)
    pages = {
        TABLE_FILE: table_page(revision),
        CONSUMER_FILE: consumer_page(),
        STATES_FILE: states_page(revision),
    }
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
