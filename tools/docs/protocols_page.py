"""Make `docs/protocols.md`: what a static member meets in the classic and the consumer protocol.

`python -m tools.docs.protocols_page docs/protocols.md` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fencepost.conformance.targets.target_registry import (
    CONSUMER_REVISION,
    DEFAULT_REVISION,
    find_revision,
)
from fencepost.model.revision import Revision
from tools.docs.table_page import CONSUMER_FILE, TABLE_FILE


class Side(NamedTuple):
    """The outcome in one protocol, and the id of the rule that decides it."""

    outcome: str
    rule_id: str


class Situation(NamedTuple):
    """A situation of a static member, and what comes of it in both protocols."""

    about: str
    classic: Side
    consumer: Side


SITUATIONS = (
    Situation(
        "a process closes and starts again inside its session",
        Side("it sends nothing, and is back at once", "JOIN-STATIC-EMPTY-STABLE"),
        Side("it sends -2 and gets its place back, with its partitions", "CG-JOIN-RETURN"),
    ),
    Situation(
        "a process is killed and starts again inside its session",
        Side("it is back at once", "JOIN-STATIC-EMPTY-STABLE"),
        Side("it is refused until the session of the killed one ends", "CG-JOIN-UNRELEASED"),
    ),
    Situation(
        "two processes have one instance id",
        Side("the newcomer wins, and the first one is fenced", "HEARTBEAT-INSTANCE-FENCED"),
        Side("the first one stays, and the newcomer is refused", "CG-JOIN-UNRELEASED"),
    ),
    Situation(
        "the answer to a join is lost, and the client sends it again",
        Side("the second join replaces the first one", "JOIN-STATIC-EMPTY-STABLE"),
        Side("the member is refused by itself until its session ends", "CG-JOIN-AGAIN-UNRELEASED"),
    ),
    Situation(
        "nobody returns",
        Side("removed one session after the last heartbeat", "SESSION-EXPIRED"),
        Side("the same, also after -2, which restarts no timer", "CG-SESSION-EXPIRED-RELEASED"),
    ),
    Situation(
        "a replaced process sends a heartbeat with its instance",
        Side("fenced", "HEARTBEAT-INSTANCE-FENCED"),
        Side("fenced", "CG-BEAT-INSTANCE-FENCED"),
    ),
    Situation(
        "a replaced process commits offsets",
        Side("fenced", "COMMIT-INSTANCE-FENCED"),
        Side("its id is unknown", "CG-COMMIT-UNKNOWN-MEMBER"),
    ),
    Situation(
        "a member has not given up its partitions, or not joined again, within its R",
        Side("a static member stays", "JOIN-PHASE-EXPIRED"),
        Side("it is removed, static or not", "CG-REBALANCE-EXPIRED"),
    ),
    Situation(
        "a member brings another, unmapped instance",
        Side("refused", "JOIN-INSTANCE-UNMAPPED"),
        Side("it has that instance from now on", "CG-JOIN-CHANGE-INSTANCE"),
    ),
    Situation(
        "an administrator removes an instance",
        Side("removed, and all others rebalance", "LEAVE-MEMBER-BY-INSTANCE"),
        Side("removed, live or released; only its partitions move", "CG-REMOVE-BY-INSTANCE"),
    ),
    Situation(
        "another broker becomes the coordinator",
        Side("sessions start anew, each with its own length", "FAILOVER-STABLE"),
        Side("sessions start anew, all with the group's length", "CG-FAILOVER-GROUP"),
    ),
)

_TITLE = f"""\
# Classic beside consumer: what a static member gains and loses

<!-- Made by `python -m tools.docs.protocols_page docs/protocols.md`; don't edit. -->

For operators and designers who move a group to the consumer protocol (KIP-848). Each row has a
situation of a static member, the outcome in both protocols, the answer, and the rule: of
`{DEFAULT_REVISION}` ([its table]({TABLE_FILE})) and of `{CONSUMER_REVISION}` ([its
table]({CONSUMER_FILE})).

| situation | classic | consumer |
|---|---|---|"""

_END = f"""
## Gains

- Nobody steals an instance: a second process with the same id is refused, and the first one
  continues to consume.
- A restart moves no partition and increases no epoch, and the other members hear nothing of it.
- A change moves only the partitions that must move. All others are consumed meanwhile.
- A rebalance has no leader, so a leader that restarts is no special case.

## Losses

- A crash is no restart. Only -2 frees the place, so a killed process is refused for the rest of its
  session. A process that closes without -2, or whose -2 is lost, is like a killed one.
- The coordinator refuses a join that its own member sends again. The text of the KIP (`kip-848`)
  accepts it, and so does a proposal to Apache Kafka (`pr-23542`).
- The session timeout is the group's, `group.consumer.session.timeout.ms`, not the client's.
- A member that is slow to give up its partitions is removed, also if it is static.

## What to do

- Start a crashed process again and again for at least one session, and raise an alarm for
  UNRELEASED_INSTANCE_ID.
- Give each process an instance id of its own. The protocol now refuses a double start that the
  classic one survived.
- Set the session timeout of the group to the time that a restart takes, not higher: after a crash
  nobody consumes the partitions of the process until this time has passed.

```console
$ fencepost explain CG-JOIN-UNRELEASED --revision {CONSUMER_REVISION}
CG-JOIN-UNRELEASED MUST, table ConsumerGroupHeartbeat join
when         inst is mapped to another and holder is live
...
$ fencepost table --revision pr-23542
...
```
"""


def page() -> str:
    """Make the page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    classic, consumer = find_revision(DEFAULT_REVISION), find_revision(CONSUMER_REVISION)
    yield _TITLE
    for row in SITUATIONS:
        cells = (
            _cell(row.classic, classic, TABLE_FILE),
            _cell(row.consumer, consumer, CONSUMER_FILE),
        )
        yield f"| {row.about} | {' | '.join(cells)} |"
    yield _END


def _cell(side: Side, revision: Revision, file: str) -> str:
    rule = revision.rule(side.rule_id)
    answer = "" if rule.answer is None else f", {rule.answer.name}"
    return f"{side.outcome}{answer}: [`{rule.id}`]({file}#{rule.id.lower()})"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
