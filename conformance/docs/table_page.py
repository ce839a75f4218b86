"""The pages `docs/table.md` and `docs/states.md`: the decision table, and where its rules lead.

Decides how the rules of a revision are set out for a reader.  Both pages are made, not written:
`python -m fencepost.conformance.docs.table_page docs`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path

from fencepost.conformance.targets.registry import DEFAULT_REVISION, find_revision
from fencepost.model.revision import Revision
from fencepost.model.table.cells import Row, print_rows
from fencepost.model.table.table import Table
from fencepost.model.table.vocabulary import GroupState
from fencepost.traces.page.diagram import Edge, edges

TABLE_FILE = "table.md"
STATES_FILE = "states.md"

_MADE = "<!-- Made by `python -m fencepost.conformance.docs.table_page docs`; don't edit. -->"

_TABLE_TITLE = f"""\
# The decision table

{_MADE}

Every rule of `{DEFAULT_REVISION}`: what a correct current coordinator does.  A table has *checks*,
which are tried in their order, and the first that hits answers; behind them exactly one of the
*rows* applies.  [The state diagram](states.md) shows where they lead,
[the machine](designers/model.md) how they are performed.

A rule's level says how binding it is: MUST, SHOULD or MAY
([what that means](brokers/certify.md#levels)).
`fencepost explain ID` tells one rule with the cases that are about it, and
`fencepost table --revision R` prints the table of another revision.

*mid* is the member id that was sent, *inst* the instance id, *state* the group's; an empty cell
means any.  *more* is what else must hold.  In what is done *then*, *S* is the member's session
timeout, *R* its rebalance timeout, *D* the initial rebalance delay, *v* the version of the request.
"""

_STATES_TITLE = f"""\
# The states of a group

{_MADE}

Made from the rules of `{DEFAULT_REVISION}`: an arrow for each change of state that a rule can
cause, with what it answers to.  Behind a failover a group is what was stored, whatever it was
before, so that is no arrow.  A group that is *Dead* is being unloaded, and nothing leads out of it.
"""

_STATES_TABLE = """\
## Which rules

All others of [the table](table.md) leave the state as it is: they refuse, answer, or let a request
wait.

| from | to | rules |
|---|---|---|"""

_NAMES = {GroupState.ABSENT: "[*]"}


def table_page(revision: Revision) -> str:
    """The text of the page of rules."""
    tables = ("\n".join(_table(table)) for table in revision.tables.values())
    return "\n".join([_TABLE_TITLE, *tables])


def _table(table: Table) -> Iterator[str]:
    headings, rows = print_rows(table)
    yield from (f"## {_heading(table)}", "", '<table class="rules">', "<thead><tr>")
    yield "".join(f"<th>{heading}</th>" for heading in headings)
    yield "</tr></thead>"
    for row in rows:
        yield from _row(row, headings)
    yield from ("</table>", "")


def _heading(table: Table) -> str:
    return table.name[0].upper() + table.name[1:]


def _row(row: Row, headings: tuple[str, ...]) -> Iterator[str]:
    """A body of two rows: the cells, and under them which rule it is, and why."""
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
    """Text that is not read as HTML."""
    return escape(text, quote=False)


def states_page(revision: Revision) -> str:
    """The text of the page of states, with its diagram."""
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
        asked = [name for name, _ in groupby(tables[rule] for rule in edge.rules)]
        yield f"    {_name(edge.start)} --> {_name(edge.end)}: {', '.join(asked)}"
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
