"""Reasons of rebalances, as real coordinators word them, and the names in member ids."""

from __future__ import annotations

import pytest

from fencepost.traces.operations.operator_rows import Cause, Process
from fencepost.traces.operations.server_events import ids_in, name_in, process_of, stated_cause

ID = "pod-1-2623169f-271d-4e1f-ae23-2007b27b180e"


@pytest.mark.parametrize(
    ("reason", "cause", "who"),
    [
        (f"Adding new member {ID} with group instance id None", Cause.NEW_MEMBER, ID),
        (f"removing member {ID} on LeaveGroup", Cause.LEAVE, ID),
        ("removing member  on LeaveGroup", Cause.LEAVE, ""),
        (f"Removing member {ID} on LeaveGroup; client reason: closed", Cause.LEAVE, ID),
        (f"explicit `LeaveGroup` request for ({ID}) members.", Cause.LEAVE, ID),
        ("explicit `LeaveGroup` request for () members.", Cause.LEAVE, ""),
        (f"removing member {ID} on heartbeat expiration.", Cause.EXPIRY, ID),
        (f"leader {ID} re-joining group during Stable", Cause.LEADER_REJOIN, ID),
        (f"Updating metadata for member {ID} during Stable", Cause.MEMBER_REJOIN, ID),
        ("something else", Cause.OTHER, ""),
        (f"another thing about member {ID} that is new", Cause.OTHER, ID),
        (
            f"error when storing group assignment during SyncGroup (member: {ID})",
            Cause.NOT_STORED,
            ID,
        ),
        (f"Adding new member {ID}", Cause.NEW_MEMBER, ID),
        (f"Adding new member {ID} with group instanceid None", Cause.NEW_MEMBER, ID),
        ("", Cause.UNKNOWN, ""),
    ],
)
def test_a_reason_names_a_cause_and_whom_it_is_about(reason: str, cause: Cause, who: str) -> None:
    assert stated_cause(reason) == (cause, who)


def test_a_member_id_begins_with_a_name() -> None:
    assert name_in(ID) == "pod-1"
    assert process_of(ID, None) == Process("pod-1", "")
    assert process_of(ID, "pod-1") == Process(ID, "")


@pytest.mark.parametrize(
    "printed",
    [f"{ID}, b", f"MemberMetadata(memberId={ID}, x=1), MemberMetadata(memberId=b, x=2)"],
)
def test_member_ids_of_a_list(printed: str) -> None:
    assert ids_in(printed) == [ID, "b"]
