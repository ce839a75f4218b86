"""Make `docs/revisions.md`: neighbours in the protocol's history, and differences of their answers.

`python -m tools.docs.revisions_page docs/revisions.md` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from fencepost.conformance.targets.target_registry import find_revision
from fencepost.model.history.words import sentence
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import CONSUMER_NAMES, MIXED_NAMES
from fencepost.properties.diff.revision_diff import Comparison, compare_revisions
from fencepost.properties.worlds.scope import DIFF_SCOPES
from fencepost.properties.worlds.worlds_by_protocol import worlds_of
from fencepost.traces.files.difference_trace import bounds_words, describe_difference, lost_words

ABOUT = {
    ("member-name-draft", "two-list-leave-draft"): """\
In the first draft only JoinGroup has the name of a static member, so the coordinator can't fence a
process. A leader that restarts still causes a rebalance. In the next draft an operator can remove
members by their instance.""",
    ("two-list-leave-draft", "tuple-list-leave-draft"): """\
Two lists of equal length became one list of pairs. Only the form changed: a request that has both
forms gets equal answers.""",
    ("tuple-list-leave-draft", "kip-345"): """\
The accepted text answers each row of a LeaveGroup separately; the draft rejects the whole batch for
one wrong row. (The drafts are differences to `kafka-4`, so this list also has the points where the
text is stricter than Kafka.)""",
    ("comment-table-1", "kip-345"): """\
In the first table in the comments under the KIP, a restarted member gets the stored id of its
instance. The old process has this id, too, so two consumers have one id, and the coordinator fences
neither.""",
    ("comment-table-2", "kip-345"): """\
In the second table, each process that names an instance gets it, with any member id. So a removed
consumer comes back as a new one and replaces its successor.""",
    ("kip-345", "kafka-4"): """\
Kafka has a few more causes of a rebalance than the text, and it removes each member that never
sends SyncGroup, also a static one.""",
    ("kafka-2.3", "kafka-2.4"): """\
LeaveGroup got instance ids one release after the other requests. Before that, a leave couldn't name
an instance, and the coordinator couldn't fence it.""",
    ("kafka-2.4", "kafka-2.8"): """\
Since 2.6.1 a heartbeat between join and sync gets the usual answer. Before that, it got
REBALANCE_IN_PROGRESS and did not restart the session timer (KAFKA-10134). With this change, a
leader that sends heartbeats and never SyncGroup blocks its group forever. So since 2.8.1 the
coordinator removes a member that has its generation and never sends SyncGroup (KAFKA-12890).""",
    ("kafka-3.9", "kafka-4"): """\
An offset commit of the newest version to an absent group gets a separate error.""",
}
"""Neighbours in the protocol's history, and the words that introduce each pair."""
_TITLE = """\
# Revisions and their differences

<!-- Made by `python -m tools.docs.revisions_page docs/revisions.md`; \
don't edit. -->

This reference shows how the protocol changed. It compares two neighbours in its history at a time:
both get equal requests from equal clients until their answers differ.

Each difference has the two rules that decided the different answers as its title. If neither rule
changed, the text names the rules by which the groups differed before. The run is the shortest one
for this pair of rules. A line has its number, the time, the client, the request, the answer, and
the rules of the answer. `c2 (A)` is the second client, with the instance id A, and `A-1` the first
member id of this instance. If the requests or the generations of the two sides differ, the line has
both. A run ends at the first difference, because clients with different answers do different
things.

`fencepost diff A B` compares any two revisions. With `--report DIR` it writes both runs of each
difference as trace files for `fencepost replay`. Exit code 1 means that they differ.

```console
$ fencepost diff kafka-3.9 kafka-4 --clients 1 --act join --act commit --act failover --max-depth 3
kafka-3.9 and kafka-4 differ in 1 way.
...
1. COMMIT-GROUP-NOT-FOUND
...
       kafka-3.9 → t-0 ILLEGAL_GENERATION  [COMMIT-GROUP-NOT-FOUND]
       kafka-4   → t-0 GROUP_ID_NOT_FOUND  [COMMIT-GROUP-NOT-FOUND]
...
$ echo $?
1
```

The comparison is exhaustive within these bounds:
"""

CONSUMER_ABOUT = """\
## The consumer protocol

These are the revisions of the consumer protocol (KIP-848): releases of Kafka, the text of the KIP,
and a proposal. Each has the rules of its neighbour but for the differences in its table.
`consumer-4.3` is [the base](consumer-table.md), and
[`mixed-4.4`](consumer-table.md#mixed-groups) that of groups with members of both protocols."""
WITH_RUNS = ("kip-848",)
"""Revisions of the consumer protocol whose differences have their shortest runs, too."""
_CUT = """\
Some answers of the two have different forms, and clients learn different facts from them. The
comparison ends at such an answer."""


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
    yield from (CONSUMER_ABOUT, "")
    for revision in map(find_revision, (*CONSUMER_NAMES[1:], *MIXED_NAMES[1:])):
        yield from (
            f"### {revision.base} → {revision.name}",
            "",
            sentence(revision.about),
            "",
        )
        yield from _differences(revision)
        if revision.name in WITH_RUNS:
            base = find_revision(revision.base or "")
            scopes = worlds_of(revision).diff_scopes
            yield from _pair(compare_revisions(base, revision, scopes))


def _differences(revision: Revision) -> Iterator[str]:
    """List the differences of a revision to its base: passage → rules."""
    rules: dict[str, list[str]] = {}
    for difference in revision.differences:
        rules.setdefault(difference.passage, []).append(f"`{difference.rule_id}`")
    if rules:
        yield from ("| source | rules |", "|---|---|")
        yield from (f"| {passage} | {', '.join(ids)} |" for passage, ids in rules.items())
        yield ""


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
        yield from ("Within the bounds, no client sees a difference.", "")
    if comparison.unsaid:
        yield from (*(f"- {lost_words(loss)}" for loss in comparison.unsaid), "")
    if any(explored.cut for explored in comparison.explored):
        yield from (_CUT, "")
    if comparison.alike:
        rules = ", ".join(f"`{rule}`" for rule in comparison.alike)
        yield from (f"These rules differ, but no answer differs within the bounds: {rules}.", "")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8", newline="\n")
