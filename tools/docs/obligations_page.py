"""Make `docs/clients/obligations.md`: what a client owes, and the scenarios that show it.

`python -m tools.docs.obligations_page docs` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from fencepost.conformance.cases.clients.scenario_catalogue import SCENARIOS
from fencepost.model.history.words import plural
from fencepost.properties.requirements.requirement import AREAS, Requirement
from fencepost.properties.requirements.requirements import REQUIREMENTS, in_area

FILE = "clients/obligations.md"

_TITLE = """\
# Obligations of a client

<!-- Made by `python -m tools.docs.obligations_page docs`; don't edit. -->

For authors and users of client libraries. This page lists {count} of a client that is a member of
a group, most of them of static members (KIP-345). [`fencepost certify-client`](certify-client.md)
tests a library against them. It judges the requests that the broker received and what the library
reported to its user, never the library's logs.

- MUST: a safety promise of the KIP depends on the obligation. SHOULD: users rely on it, or the
  authors of a library may dispute it.
- Each obligation has the events that *provoke* it, the observation that is *judged*, its *source*,
  and the [scenarios](#scenarios) that test it.
- An obligation of all members is tested with static members, and with dynamic members by the
  scenario's twin, `...-dynamic`: the same actions without instance ids. So a library without static
  members is tested, too.
- The reference client fulfils all obligations: `fencepost certify-client reference`.
"""

_SCENARIOS = """\
## Scenarios

A scenario is a list of actions, and of conditions to wait for. *Provokes*: the scenario injects
faults, so it needs the served broker. All others also run against a real Kafka
(`--broker kafka:4.3.0`).

| scenario | actions | provokes |
|---|---|---|"""


def obligations_page() -> str:
    """Make the page."""
    parts = [_TITLE.format(count=plural(len(REQUIREMENTS), "obligation"))]
    for area, title in AREAS.items():
        rows = (line for requirement in in_area(area) for line in _row(requirement))
        parts += [f"## {title}\n", *rows]
    parts += [_SCENARIOS, *_scenarios(), ""]
    return "\n".join(parts)


def _row(row: Requirement) -> Iterator[str]:
    scenarios = ", ".join(
        f"[{name}](#{name})" for name, s in SCENARIOS.items() if row.id in s.obligations
    )
    yield f"### {row.id}\n"
    yield f"**{row.level.value}.** {_plain(row.sentence)}\n"
    yield f"*Provoked*: {_plain(row.provoked)}.  *Judged*: {_plain(row.judged)}.  "
    yield f"*Source*: {_plain(row.source)}.  *Holds for*: {row.members.value} members.  "
    yield f"*Tested by*: {scenarios}.\n"
    if row.dispute:
        yield f"*Why {row.level.value}*: {_plain(row.dispute)}\n"


def _scenarios() -> Iterator[str]:
    for name, scenario in SCENARIOS.items():
        mark = "yes" if scenario.is_provoking else ""
        yield f'| <span id="{name}">`{name}`</span> | {_plain(scenario.about)} | {mark} |'


def _plain(text: str) -> str:
    """Escape a text for Markdown that is read as HTML."""
    return escape(text, quote=False)


def main(folder: Path) -> None:
    """Write the page."""
    path = folder / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(obligations_page(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
