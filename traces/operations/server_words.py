"""Read causes, names and member ids from the words of a coordinator in `server.log`."""

from __future__ import annotations

import re

from fencepost.traces.operations.operator_rows import Cause, Process

_UUID = re.compile(r"-[A-Za-z0-9_-]{22}$|-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_REASONS: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"^Adding new member (?P<who>.+?) with group instance id", Cause.NEW_MEMBER),
        (r"^[Rr]emoving member (?P<who>.*?) on LeaveGroup", Cause.LEAVE),
        (r"^explicit `LeaveGroup` request for \((?P<who>.*?)\) members", Cause.LEAVE),
        (r"^[Rr]emoving member (?P<who>.+?) on heartbeat expiration", Cause.EXPIRY),
        (r"^[Rr]emoving .* on pending sync request expiration", Cause.EXPIRY),
        (r"^[Ll]eader (?P<who>.+?) re-joining group during", Cause.LEADER_REJOIN),
        (r"^Updating metadata for (?:static )?member (?P<who>\S+)", Cause.MEMBER_REJOIN),
        (r"will change because static member (?P<who>\S+)", Cause.MEMBER_REJOIN),
        (r"^Freshly-loaded group", Cause.FAILOVER),
    )
)


def stated_cause(reason: str) -> tuple[Cause, str]:
    """Return the cause that a coordinator names, and the member id that it is about."""
    for pattern, cause in _REASONS:
        if found := pattern.search(reason):
            return cause, found.groupdict().get("who") or ""
    return Cause.UNKNOWN, ""


def process_of(member_id: str, instance_id: str | None) -> Process:
    """Return the process of a member: a client id if the member is dynamic, else its member id."""
    return Process(name_in(member_id) if instance_id is None else member_id, "")


def name_in(member_id: str) -> str:
    """Return the client id or instance id that a member id begins with."""
    return _UUID.sub("", member_id)


def ids_in(members: str) -> list[str]:
    """Return the member ids of a printed list."""
    return re.findall(r"memberId=([^,)]+)", members) or list(filter(None, members.split(", ")))
