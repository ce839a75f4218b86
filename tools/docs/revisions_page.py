"""Make `docs/revisions.md`: neighbours in the protocol's history, and differences of their answers.

`python -m tools.docs.revisions_page docs/revisions.md` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fencepost.conformance.targets.target_registry import find_revision
from fencepost.properties.diff.revision_diff import Comparison, compare_revisions
from fencepost.properties.worlds.scope import DIFF_SCOPES
from fencepost.traces.files.difference_trace import bounds_words, describe_difference, lost_words

ABOUT = {
    ("member-name-draft", "two-list-leave-draft"): """\
The first draft gives a static member a name in JoinGroup and in no other request, so nobody can be
fenced.  A leader that restarts still causes a rebalance.  The next draft lets an operator remove
members by their instance.""",
    ("two-list-leave-draft", "tuple-list-leave-draft"): """\
Two lists that had to be of equal length became one list of pairs.  Only the form changed: what can
be asked in both forms is answered the same.""",
    ("tuple-list-leave-draft", "kip-345"): """\
The accepted text answers each row of a LeaveGroup on its own; the draft refuses the whole batch for
one wrong row.  (The drafts are differences to `kafka-4`, so the points where the text is stricter
than Kafka show here, too.)""",
    ("comment-table-1", "kip-345"): """\
A table in the comments under the KIP's page: a restarted member gets the id that is stored for its
instance.  The old process has the same id, so there are two consumers with one id, and neither is
fenced.""",
    ("comment-table-2", "kip-345"): """\
The second table gives an instance to whoever names it, with any member id: a consumer that was
removed comes back as a new one and replaces its successor.""",
    ("kip-345", "kafka-4"): """\
What Kafka does beyond the text: it has a few more causes for a rebalance, and it removes a member
that never sends SyncGroup, static or not.""",
    ("kafka-2.3", "kafka-2.4"): """\
LeaveGroup got instance ids one release after the other requests: before that, a leave could neither
name an instance nor be fenced.""",
    ("kafka-2.4", "kafka-2.8"): """\
Since 2.6.1 a heartbeat between join and sync is answered like any other; before, it got
REBALANCE_IN_PROGRESS and did not restart the session timer (KAFKA-10134).  That let a leader that
sends heartbeats and never SyncGroup block its group forever.  So since 2.8.1 a member that got its
generation and never sends SyncGroup is removed (KAFKA-12890).""",
    ("kafka-3.9", "kafka-4"): """\
An offset commit of the newest version to a group that doesn't exist gets an error of its own.""",
}
"""Neighbours in the protocol's history, and the words that introduce each pair."""
_TITLE = """\
# Revisions, and what tells them apart

<!-- Made by `python -m tools.docs.revisions_page docs/revisions.md`; \
don't edit. -->

Each revision of the protocol is a table of rules.  Below, two neighbours in its history at a time
get the same requests from the same clients, for as long as they answer the same.  Where one of the
two can't say what the other can, each gets the same act in its own form, and the line has both
requests; so it has where the generations differ.  A difference is named after the rules that
decided where the answers differ, one on each side.  If neither is another rule than before, the
groups differed already, and it is named which rules did that.  For each pair of rules, the page
shows the shortest sequence that ends in different answers.  A line has a number, the time, the
client, the request, the answer, and the rules that gave it.  `c2 (A)` is the second client, with
instance id A; `A-1` is the first member id that instance A got.  What comes after the first
different answer is not compared: clients that were told different things do different things.

`fencepost diff A B` compares any two; with `--report DIR` it writes both runs of each difference
as trace files, which `fencepost replay` judges again.  Exit code 1 says that they differ.

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

The comparison is exhaustive within each of these bounds:
"""

_CUT = """\
Some answers of the two have different forms, and clients learn different things from them.  What
comes after such an answer was not compared."""


def page() -> str:
    """Make the page."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield _TITLE
    yield from (*(f"- {bounds_words(bounds)}" for bounds in DIFF_SCOPES), "")
    for (first, other), about in ABOUT.items():
        comparison = compare_revisions(find_revision(first), find_revision(other), DIFF_SCOPES)
        yield from (f"## {first} → {other}", "", about, "")
        yield from _pair(comparison)


def _pair(comparison: Comparison) -> Iterator[str]:
    for number, difference in enumerate(comparison.differences, start=1):
        words = describe_difference(comparison, difference)
        yield from (
            f"### {number}. {words.title}",
            "",
            *(f"- {why}" for why in words.why(mark="`")),
            "",
        )
        yield from ("```text", *words.lines(), "```", "")
    if not comparison.differences:
        yield from ("Within the bounds no client sees a difference.", "")
    if comparison.unsaid:
        yield from (*(f"- {lost_words(loss)}" for loss in comparison.unsaid), "")
    if any(explored.cut for explored in comparison.explored):
        yield from (_CUT, "")
    if comparison.alike:
        rules = ", ".join(f"`{rule}`" for rule in comparison.alike)
        yield from (f"These rules differ, but no answer shows it within the bounds: {rules}.", "")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
