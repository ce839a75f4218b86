"""List the situations of streams groups that were measured, each with its case.

The page about them is made by `consumer_rows_page`.
"""

from __future__ import annotations

from tools.docs.consumer_rows import Row

_LEAVES = "CG-LEAVE-INSTANCE-FENCED/streams-leaves-of-others"
_BEATS = "CG-BEAT-ALIVE/streams-other-instances"
_RACK = "CG-JOIN-RETURN-CHANGED/streams-restart-with-another-rack"
_TAGS = "CG-JOIN-RETURN-CHANGED/streams-restart-with-other-tags"
_ZOMBIE = "CG-BEAT-INSTANCE-FENCED/streams-zombie"
_TOPOLOGY = "CG-JOIN-TOPOLOGY-CHANGED/streams-restart-with-another-topology"
_EPOCHS = "CG-BEAT-EPOCH-NEWER/streams-other-epochs"
_REFUSED = "CG-JOIN-INSTANCE-REFUSED/streams-refused-instance"
_REFUSED_LONG = "CG-JOIN-UNRELEASED/streams-refused-until-the-session-ends"

ROWS = (
    Row("S-instance", "request with an instance before 4.4", _REFUSED, 2),
    Row("S-live", "join with a live instance", "CG-JOIN-UNRELEASED/streams-second-process", 6),
    Row(
        "S-own",
        "join of a live holder with its own instance",
        "CG-JOIN-AGAIN-UNRELEASED/streams-lost-answer-to-a-join",
        2,
    ),
    Row("S-release", "-2 of the holder", "CG-JOIN-RETURN/streams-restart", 6),
    Row("S-return", "return under a new id, same epoch", "CG-JOIN-RETURN/streams-restart", 8),
    Row(
        "S-process",
        "return from another process, new epoch",
        "CG-JOIN-RETURN-CHANGED/streams-restart-with-another-process",
        7,
    ),
    Row("S-rack", "return with another rack, new epoch", _RACK, 3),
    Row("S-no-rack", "return without a rack, same epoch", _RACK, 5),
    Row("S-tags", "return with other tags, new epoch", _TAGS, 5),
    Row("S-tags-order", "return with the same tags, same epoch", _TAGS, 3),
    Row("S-topology", "return with another topology epoch", _TOPOLOGY, 4),
    Row("S-topology-live", "the same while the holder is live", _TOPOLOGY, 2),
    Row("S-zombie", "heartbeat of a replaced id with its instance", _ZOMBIE, 4),
    Row("S-zombie-alone", "the same without instance", _ZOMBIE, 5),
    Row("S-leave-wrong", "-1 by a wrong id", _LEAVES, 2),
    Row("S-release-wrong", "-2 by a wrong id", _LEAVES, 3),
    Row("S-leave-unmapped", "-1 with an unmapped instance", _LEAVES, 4),
    Row("S-release-unmapped", "-2 with an unmapped instance", _LEAVES, 5),
    Row(
        "S-bare", "-2 without instance", "CG-LEAVE-RELEASE-BARE/streams-release-without-instance", 2
    ),
    Row("S-beat-alone", "heartbeat without instance", _BEATS, 2),
    Row("S-beat-unmapped", "heartbeat with an unmapped instance", _BEATS, 3),
    Row("S-newer", "heartbeat with a newer epoch", _EPOCHS, 2),
    Row("S-released-beat", "heartbeat of a released member", _EPOCHS, 5),
    Row(
        "S-other-instance",
        "join of a known id with another instance",
        "CG-JOIN-CHANGE-INSTANCE/streams-other-instance",
        2,
    ),
    Row(
        "S-old-instance",
        "join with the instance that it had",
        "CG-JOIN-CHANGE-INSTANCE/streams-other-instance",
        3,
    ),
    Row(
        "S-kept-target",
        "the same with tasks to give up",
        "CG-JOIN-TARGET-LOST/streams-other-instance-while-reconciling",
        4,
    ),
    Row(
        "S-alone",
        "join of a known id without its instance",
        "CG-JOIN-REJOIN/streams-join-without-instance",
        6,
    ),
    Row("S-silent", "silent holder, just before its session ends", _REFUSED_LONG, 3),
    Row("S-expired", "the same after that", _REFUSED_LONG, 5),
    Row(
        "S-expired-released",
        "return after the session of a released member",
        "CG-SESSION-EXPIRED-RELEASED/streams-released-thread-expires",
        12,
    ),
    Row(
        "S-given-up",
        "heartbeat of another after -2 with tasks to give up",
        "CG-LEAVE-RELEASE/streams-release-while-reconciling",
        5,
    ),
)
