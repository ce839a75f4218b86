"""The matrix of rules of the accepted text, and of a release before each gate; `tox -e mutants`.

2.3 is left out: its LeaveGroup has no rows, so that cases which set up a group by them can't run.
"""

from __future__ import annotations

import pytest
from support.rule_gaps import WHY_NOT, gaps, unexplained

_OLD = "4.0 has no such commits, and the cases of the catalogue hold for kafka-4"
_NEWEST = (
    "in releases a pending id with an instance is such an error, in each version; the text has "
    "none, and what can't be stored is asked in the newest"
)
_KAFKA_9844 = "before 2.6 a full group refuses these, too, and the catalogue holds for kafka-4"
_KAFKA_13636 = "before 3.0.1 these offsets expire, and the catalogue holds for kafka-4"
_LOOSE = "before 3.0 what a commit leaves out is not held against it; the catalogue is for kafka-4"
REVISIONS = {
    "kip-345": {**WHY_NOT, "JoinGroup UNKNOWN_SERVER_ERROR · v[5-8]": _NEWEST},
    "kafka-2.5": {
        **WHY_NOT,
        "OffsetCommit * · v0": _OLD,
        "OffsetCommit * · v1": _OLD,
        "JOIN-GROUP-FULL · state *, mid *, inst *": _KAFKA_9844,
        "RETENTION-UNSUBSCRIBED · state CompletingRebalance": _KAFKA_13636,
        'TXN-COMMIT-ANONYMOUS · state *, mid "", inst unmapped': _LOOSE,
        'TXN-COMMIT-MEMBER · state Empty, mid "", inst *': _LOOSE,
        "TXN-COMMIT-METADATA · *": _LOOSE,
        "TXN-COMMIT-TOO-LARGE · *": _LOOSE,
    },
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_cell_is_shown_or_there_is_a_reason(revision: str) -> None:
    assert unexplained(gaps(revision), REVISIONS[revision]) == []
