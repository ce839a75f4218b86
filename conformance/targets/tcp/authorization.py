"""What a user must be allowed to do on a cluster, and what it means when it isn't.

Decides that a refusal for lack of access says nothing about the protocol: a case that meets one is
unsupported, not failed.  It is so only where there may be rules of access, that is at a broker that
is not ours; from one that was started here such an answer is as wrong as any other.

Source: Kafka's documentation, "Authorization and ACLs"; KIP-290 (prefixed patterns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

PREFIX = "fencepost-"
"""Each group and topic of ours on a cluster has a name that begins so."""

_REFUSALS = {
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
}
NEEDED = (
    f"the user needs READ, DESCRIBE and DELETE on groups and CREATE, READ, DESCRIBE and DELETE on "
    f"topics with the prefix {PREFIX!r}, and DESCRIBE_CONFIGS on the cluster to learn its settings"
)


def refusal(body: Mapping[str, Any]) -> str | None:
    """The error by which an answer refuses access to something, if it does."""
    found = _REFUSALS.keys() & set(codes_in(body))
    return _REFUSALS[min(found)] if found else None


def codes_in(body: Mapping[str, Any]) -> Iterator[int]:
    """All error codes of an answer: at the top and in any row."""
    if isinstance(code := body.get("errorCode"), int):
        yield code
    for value in body.values():
        for row in value if isinstance(value, list) else ():
            if isinstance(row, dict):
                yield from codes_in(row)
