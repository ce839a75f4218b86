"""The reasons of a rebalance in the words of each release: which cause, and whose."""

from __future__ import annotations

import pytest

from fencepost.traces.operations.operator_rows import Cause
from fencepost.traces.operations.server_events import stated_cause

ID = "app-1-0ec306e7-6649-465d-9598-675dd8eedaee"


@pytest.mark.parametrize(
    ("release", "reason", "cause", "who"),
    [
        ("1.0", "", Cause.UNKNOWN, ""),
        ("2.1", f"Adding new member {ID}", Cause.NEW_MEMBER, ID),
        ("2.3", f"Adding new member {ID} with group instanceid None", Cause.NEW_MEMBER, ID),
        ("2.5", f"Adding new member {ID} with group instance id Some(i)", Cause.NEW_MEMBER, ID),
        (
            "3.2",
            f"Adding new member {ID} with group instance id None; client reason: not provided",
            Cause.NEW_MEMBER,
            ID,
        ),
        (
            "4.0",
            f"Adding new member {ID} with group instance id null; client reason: not provided",
            Cause.NEW_MEMBER,
            ID,
        ),
        ("2.1", f"removing member {ID} on LeaveGroup", Cause.LEAVE, ID),
        (
            "3.2",
            f"Removing member {ID} on LeaveGroup; client reason: not provided",
            Cause.LEAVE,
            ID,
        ),
        ("4.0", f"explicit `LeaveGroup` request for ({ID}) members.", Cause.LEAVE, ID),
        ("2.1", f"removing member {ID} on heartbeat expiration", Cause.EXPIRY, ID),
        ("2.8", f"Removing Set({ID}) on pending sync request expiration", Cause.EXPIRY, ""),
        ("2.1", f"Updating metadata for member {ID}", Cause.MEMBER_REJOIN, ID),
        (
            "2.5",
            f"Updating metadata for static member {ID} with instance id i",
            Cause.MEMBER_REJOIN,
            ID,
        ),
        ("2.6", f"Updating metadata for member {ID} during Stable", Cause.MEMBER_REJOIN, ID),
        (
            "2.6",
            (
                f"Group's selectedProtocol will change because static member {ID} with instance id "
                "i joined with change of protocol"
            ),
            Cause.MEMBER_REJOIN,
            ID,
        ),
        ("2.6", f"Member {ID} joining group during Stable", Cause.MEMBER_REJOIN, ID),
        (
            "4.0",
            f"Member {ID} is joining group during Stable; client reason: not provided",
            Cause.MEMBER_REJOIN,
            ID,
        ),
        ("2.6", f"leader {ID} re-joining group during Stable", Cause.LEADER_REJOIN, ID),
        (
            "3.2",
            f"Leader {ID} re-joining group during Stable; client reason: not provided",
            Cause.LEADER_REJOIN,
            ID,
        ),
        (
            "2.2",
            (
                "Freshly-loaded group is over capacity (GroupConfig(1,2,2,0).groupMaxSize). "
                "Rebalacing in order to give a chance for consumers to commit offsets"
            ),
            Cause.FAILOVER,
            "",
        ),
        (
            "4.0",
            (
                "Freshly-loaded group g (size 3) is over capacity 2. Rebalancing in "
                "order to give a "
                "chance for consumers to commit offsets"
            ),
            Cause.FAILOVER,
            "",
        ),
        (
            "2.1",
            f"error when storing group assignment during SyncGroup (member: {ID})",
            Cause.NOT_STORED,
            ID,
        ),
        (
            "3.0",
            f"Error when storing group assignment during SyncGroup (member: {ID})",
            Cause.NOT_STORED,
            ID,
        ),
        (
            "3.4",
            (
                f"Error NOT_COORDINATOR when storing group assignment during SyncGroup (member: "
                f"{ID})"
            ),
            Cause.NOT_STORED,
            ID,
        ),
        (
            "4.0",
            (
                f"Error NOT_COORDINATOR when storing group assignmentduring SyncGroup (member: "
                f"{ID})."
            ),
            Cause.NOT_STORED,
            ID,
        ),
        ("later", "Nobody knows why", Cause.OTHER, ""),
    ],
)
def test_a_reason_names_its_cause(release: str, reason: str, cause: Cause, who: str) -> None:
    assert stated_cause(reason) == (cause, who), release
