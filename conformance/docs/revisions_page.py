"""The page `docs/revisions.md`: the history of the protocol, told by what tells revisions apart.

Decides which revisions are set side by side, and what is said of each pair beside what comparing
them finds. The page is made, not written: `python -m fencepost.conformance.docs.revisions_page
FILE`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fencepost.conformance.targets.registry import find_revision
from fencepost.properties.diff.revisions import Comparison, compare_revisions
from fencepost.properties.worlds.scopes import DIFF_SCOPES
from fencepost.traces.files.difference_words import bounds_words, describe_difference, lost_words

ABOUT = {
    ("member-name-draft", "two-list-leave-draft"): """\
The first draft gives a static member a name in JoinGroup and nothing else.  Other requests can't
say whose they are, so nobody can be fenced; and a leader that restarts still causes a rebalance.
The next one lets an operator remove members by their instance.""",
    ("two-list-leave-draft", "tuple-list-leave-draft"): """\
Two lists that had to be of equal length became one list of pairs.  Only the form changed: whatever
can be said in both is answered the same.""",
    ("tuple-list-leave-draft", "kip-345"): """\
The accepted text answers each row of a LeaveGroup by itself, where the draft refuses the whole
batch for one wrong row.  (The drafts are made from what Kafka does, so what the text has more
strictly shows here, too.)""",
    ("comment-table-1", "kip-345"): """\
A table in the comments under the KIP's page: a restarted member is told the id that is stored for
its instance.  The reply asked what becomes of the process that had it: there are then two consumers
on one id, and nothing fences either.""",
    ("comment-table-2", "kip-345"): """\
The second table lets whoever names an instance have it, whatever id it comes with: a consumer that
was removed comes back as a new one and drives out its successor.""",
    ("kip-345", "kafka-4"): """\
What Kafka does beyond the text: a few more causes for a rebalance, and a member that never asks for
its assignment goes, static or not.""",
    ("kafka-2.3", "kafka-2.4"): """\
LeaveGroup learnt of instances one release after the rest: before that, a leave could neither name
an instance nor be fenced.""",
    ("kafka-2.4", "kafka-2.8"): """\
Since 2.6.1 a heartbeat between join and sync is answered as any other; before, it was told of a
rebalance and kept nobody alive (KAFKA-10134).  That let a leader that heartbeats and never syncs
hold up its group for ever, so since 2.8.1 a member that was told its generation and never sends
SyncGroup is removed (KAFKA-12890).""",
    ("kafka-3.9", "kafka-4"): """\
An offset commit in the newest version to a group that is gone has an error of its own.""",
}
"""Neighbours in the protocol's history, and what is to be said of them beforehand."""
_TITLE = """\
# Revisions, and what tells them apart

<!-- Made by `python -m fencepost.conformance.docs.revisions_page docs/revisions.md`; \
don't edit. -->

Each revision of the protocol is a table of rules.  Below, neighbours in its history are driven by
the same clients, step for step, and followed as long as they answer the same.  For each rule that
differs between the tables the shortest sequence is shown that ends in different answers.  Lines
read: number, time, who does it, what, the answer, and the rules that gave it (`c2 (A)` is the
second client, of instance A; `A-1` the first member id that was handed out, to instance A).

`fencepost diff A B` compares any two; with `--report DIR` it writes both runs of each difference as
trace files, which `fencepost replay` judges again.  Exit code 1 says that they differ.

```console
$ fencepost diff kafka-3.9 kafka-4 --clients 1 --act join --act commit --act failover --max-depth 3
1. COMMIT-GROUP-NOT-FOUND
...
       kafka-3.9 → t-0 ILLEGAL_GENERATION  [COMMIT-GROUP-NOT-FOUND]
       kafka-4   → t-0 GROUP_ID_NOT_FOUND  [COMMIT-GROUP-NOT-FOUND]
...
kafka-3.9 and kafka-4 differ in 1 way.
$ echo $?
1
```

What is said on this page holds within these bounds, each of which was tried:
"""

_CUT = """\
The two say some things in different forms, of which clients remember different things; what comes
after such an answer was not compared."""


def page() -> str:
    """The text of the page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _TITLE
    yield from (*(f"- {bounds_words(bounds)}" for bounds in DIFF_SCOPES), "")
    for (one, other), about in ABOUT.items():
        found = compare_revisions(find_revision(one), find_revision(other), DIFF_SCOPES)
        yield from (f"## {one} → {other}", "", about, "")
        yield from _pair(found)


def _pair(found: Comparison) -> Iterator[str]:
    for number, difference in enumerate(found.differences, start=1):
        told = describe_difference(found, difference)
        yield from (
            f"### {number}. {told.title}",
            "",
            *(f"- {why}" for why in told.why(mark="`")),
            "",
        )
        yield from ("```text", *told.lines(), "```", "")
    if not found.differences:
        yield from ("No client can tell them apart within the bounds.", "")
    if found.unsaid:
        yield from (*(f"- {lost_words(loss)}" for loss in found.unsaid), "")
    if any(explored.cut for explored in found.explored):
        yield from (_CUT, "")
    if found.alike:
        rules = ", ".join(f"`{rule}`" for rule in found.alike)
        yield from (f"Nothing shows these within the bounds, though they differ: {rules}.", "")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
