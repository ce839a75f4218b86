"""LeaveGroup in the drafts: if one row of a batch is wrong, none is handled."""

from __future__ import annotations

from fencepost.model.messages.errors import Error
from fencepost.model.table.expr import ALWAYS, Feature
from fencepost.model.table.table import Rule, Table

_YES_NO = (False, True)
ALIGNED = Feature("lists aligned", _YES_NO, "whether the two lists have equal length")
NOBODY = Feature("nobody named", _YES_NO, "whether every row is empty")
NOT_FOUND = Feature("instance not found", _YES_NO, "whether some instance is not mapped")
MISMATCH = Feature("mismatch", _YES_NO, "whether some member id is not the instance's")
UNKNOWN = Feature("unknown id", _YES_NO, "whether some member id without instance is of no member")

PASSAGE = "KIP-345's drafts of LeaveGroup, processing rules"

BATCH = Table(
    "LeaveGroup batch",
    (ALIGNED, NOBODY, NOT_FOUND, MISMATCH, UNKNOWN),
    (
        Rule(
            "LEAVE-BATCH-LISTS-UNEQUAL",
            ALIGNED.among(False),
            answer=Error.MEMBER_ID_MISMATCH,
            source=PASSAGE,
            because="the two lists must be of the same length, each id beside its instance",
        ),
        Rule(
            "LEAVE-BATCH-NOBODY",
            NOBODY.among(True),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=PASSAGE,
            because="a batch that names nobody is refused",
        ),
        Rule(
            "LEAVE-BATCH-NOT-FOUND",
            NOT_FOUND.among(True),
            answer=Error.GROUP_INSTANCE_ID_NOT_FOUND,
            source=PASSAGE,
            because="some instance of the batch is not in the group",
        ),
        Rule(
            "LEAVE-BATCH-MISMATCH",
            MISMATCH.among(True),
            answer=Error.MEMBER_ID_MISMATCH,
            source=PASSAGE,
            because="a member id that is given must be the instance's",
        ),
        Rule(
            "LEAVE-BATCH-UNKNOWN",
            UNKNOWN.among(True),
            answer=Error.UNKNOWN_MEMBER_ID,
            source=PASSAGE,
            because="some dynamic member of the batch is not in the group",
        ),
    ),
    (
        Rule(
            "LEAVE-BATCH",
            ALWAYS,
            answer=Error.NONE,
            source=PASSAGE,
            because="every row of the batch is valid, so all are removed",
        ),
    ),
)
