"""Make `docs/table.md` and `docs/states.md`: the decision table, and the states of a group.

`python -m tools.docs.table_page docs` writes both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from fencepost.conformance.targets.target_registry import DEFAULT_REVISION, find_revision
from fencepost.model.classic.cells import COLUMNS
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision
from fencepost.model.table.columns import Row, print_rows
from fencepost.model.table.table import Table
from fencepost.traces.pages.decisions import Edge, edges

TABLE_FILE = "table.md"
STATES_FILE = "states.md"

_MADE = "<!-- Made by `python -m tools.docs.table_page docs`; don't edit. -->"

_TABLE_TITLE = f"""\
# The decision table

{_MADE}

Every rule of `{DEFAULT_REVISION}`: what a correct current coordinator does.  Each API has a table.
Its *checks* are tried in order, and the first that holds gives the answer.  If no check holds,
exactly one of the *rows* does.  [The state diagram](states.md) shows which states they lead to,
[the machine](designers/model.md) how they are performed.

- *mid* is the member id in the request, *inst* the instance id, *state* the group's state.  An
  empty cell means any value.  *more* says what else must hold.
- In the column *then*, *S* is the member's session timeout, *R* its rebalance timeout, *D* the
  initial rebalance delay, *v* the version of the request.
- Under each row: the rule's id, its level (MUST, SHOULD or MAY: [how binding it
  is](brokers/certify.md#levels)), the reason, and the *source*.

`fencepost explain ID` shows one rule with its cases.  `fencepost table --revision R` prints the
tables of another revision.

What words in the cells mean:

- *offer*: a join must offer a protocol that all members support, and their protocol type.  A member
  that joins again is one of them: its own offer of before counts, too.
- *parked*: without an answer yet; *everybody* is parked where no id is pending either.  If the
  member is removed meanwhile, its request is answered UNKNOWN_MEMBER_ID, a join with memberId "".
  If a new process takes its instance over, FENCED_INSTANCE_ID with the old id.
- *elect*: the leader stays, if its join is parked; else some member whose join is parked leads.
  *vote*: each member votes for the first of its protocols that all support; most votes win.
- *R* of a group is the largest rebalance timeout of its members as the wait begins.  A join of
  version 0 names none: its session timeout stands for it.
- *room is full*: the group has as many members as `group.max.size` says; while a rebalance is
  prepared, as many whose join is parked.  Who is counted already has room.  A restart has the place
  of the member that it replaces: outside of a rebalance it always has room; while one is prepared,
  only if the join of that member is parked, or a place is free.  An Empty group always has room.
- *generation + 1*: the group begins the next generation with all its members.  The session timers
  of **all** restart then, also of a static member that is absent, whose join is not parked.
- *leader*, told to a leader that restarts in a Stable group: below version 9 its old id, so that it
  follows, and assigns nothing that nobody would get; from version 9 on its new one, with
  skipAssignment.
- *initial delay is extendable*: since the delay began, or was extended, a new member came, and some
  of R is left; *used up*: one of these is not so.
"""

_STATES_TITLE = f"""\
# The states of a group

{_MADE}

An arrow for each change of state that a rule of `{DEFAULT_REVISION}` can cause, with the request
or timer that causes it.  A failover has no arrow: it puts a group into the state that was stored,
whatever its state was.  A *Dead* group is being unloaded, so no arrow leaves it.
"""

_STATES_TABLE = """\
## Which rules

All other rules of [the table](table.md) leave the state as it is: they refuse or answer a request,
or park it.

| from | to | rules |
|---|---|---|"""

_NAMES = {GroupState.ABSENT: "[*]"}


def table_page(revision: Revision) -> str:
    """Make the page of rules."""
    tables = ("\n".join(_table(table)) for table in revision.tables.values())
    return "\n".join([_TABLE_TITLE, *tables])


def _table(table: Table) -> Iterator[str]:
    headings, rows = print_rows(table, COLUMNS.headings)
    yield from (f"## {_heading(table)}", "", '<table class="rules">', "<thead><tr>")
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
    """Write both pages."""
    revision = find_revision(DEFAULT_REVISION)
    for name, text in ((TABLE_FILE, table_page(revision)), (STATES_FILE, states_page(revision))):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
