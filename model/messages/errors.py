"""Define the errors of the group protocol, by Kafka's names and numbers.

Numbers are those of the shipped protocol (`FENCED_INSTANCE_ID` is 82; the text of KIP-345, section
"Public Interfaces", says 78, which shipped as another error). Errors of drafts that never shipped
have no number: an adapter writes them by name.
"""

from __future__ import annotations

from enum import Enum


class Error(Enum):
    """An error code; `value` is the `errorCode`: a number, or a draft's name."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    GROUP_AUTHORIZATION_FAILED = 30
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    MEMBER_ID_MISMATCH = "MEMBER_ID_MISMATCH"
    GROUP_INSTANCE_ID_NOT_FOUND = "GROUP_INSTANCE_ID_NOT_FOUND"


MOVING = frozenset(
    {
        Error.COORDINATOR_LOAD_IN_PROGRESS.value,
        Error.COORDINATOR_NOT_AVAILABLE.value,
        Error.NOT_COORDINATOR.value,
    }
)
"""The codes of a coordinator that moved, or isn't ready yet: send the request again."""

CONCURRENT_TRANSACTIONS = 51
"""The code of a transaction whose predecessor is not over yet: send the request again."""

# All error codes of Kafka up to 4.4; another one in an answer is a finding about its bytes.
KNOWN_CODES = frozenset(range(-1, 137))


def error_name(code: int | str) -> str:
    """Return the protocol's name for a code; `error N` for an unknown one."""
    try:
        return Error(code).name
    except ValueError:
        return f"error {code}"
