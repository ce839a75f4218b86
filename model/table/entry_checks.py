"""Make the first checks of a request, of group id and coordinator, for the tables of any protocol.

Each function makes the rules of one API, with its prefix in their ids.
"""

from __future__ import annotations

from fencepost.model.messages.errors import Error
from fencepost.model.table.shared_features import COORDINATOR, GROUP_ID, Availability, GroupId
from fencepost.model.table.table import Level, Rule

SOURCE = "Kafka: order of checks before a request is handled"


def entry_checks(
    prefix: str,
    *,
    while_loading: Error = Error.COORDINATOR_LOAD_IN_PROGRESS,
    empty_group_id: bool = False,
) -> tuple[Rule, ...]:
    """Make the checks of group id and coordinator.  `empty_group_id`: True if "" is legal."""
    bad = (GroupId.NULL,) if empty_group_id else (GroupId.NULL, GroupId.EMPTY)
    return (
        Rule(
            f"{prefix}-GROUP-ID-INVALID",
            GROUP_ID.among(*bad),
            answer=Error.INVALID_GROUP_ID,
            level=Level.SHOULD,
            source=SOURCE,
            because="a request must name a group",
            defensive="no version can carry a null group id" if empty_group_id else None,
        ),
        *coordinator_checks(prefix, while_loading),
    )


def coordinator_checks(
    prefix: str, while_loading: Error = Error.COORDINATOR_LOAD_IN_PROGRESS
) -> tuple[Rule, ...]:
    """Make the checks of the coordinator: it has loaded the group, and lies at this broker."""
    return (
        Rule(
            f"{prefix}-COORDINATOR-LOADING",
            COORDINATOR.among(Availability.LOADING),
            answer=while_loading,
            level=Level.SHOULD,
            source=SOURCE,
            because="the coordinator has not loaded the group yet",
        ),
        Rule(
            f"{prefix}-COORDINATOR-ELSEWHERE",
            COORDINATOR.among(Availability.ELSEWHERE),
            answer=Error.NOT_COORDINATOR,
            level=Level.SHOULD,
            source=SOURCE,
            because="another broker is the group's coordinator, and the client must look it up",
        ),
    )
