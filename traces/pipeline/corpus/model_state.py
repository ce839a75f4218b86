"""A group as far as rules can tell it apart, in words: what coverage calls a state of the model.

Decides which groups are one.  Names, generations, deadlines and bytes are left out; of members of
one kind, two or more are told as many.
"""

from __future__ import annotations

from collections import Counter

from fencepost.model.state.group import Group, Member

ABSENT = "no group"


def state_words(group: Group | None) -> str:
    """Such as `Stable: dynamic leading, many static owes; offsets`."""
    if group is None:
        return ABSENT
    kinds = Counter(_kind(member, group.leader) for member in group.members)
    members = ", ".join(f"many {k}" if n > 1 else k for k, n in sorted(kinds.items()))
    said = (
        f"{group.state.value}: {members or 'nobody'}",
        {0: "", 1: "pending"}.get(len(group.pending), "many pending"),
        "delay" if group.delay is not None else "",
        "offsets" if group.offsets else "",
    )
    return "; ".join(filter(None, said))


def _kind(member: Member, leader: str | None) -> str:
    said = (
        "static" if member.is_static else "dynamic",
        "leading" if member.member_id == leader else "",
        "joining" if member.joining is not None else "",
        "syncing" if member.syncing is not None else "",
        "new" if member.new else "",
        "owes" if member.owes_sync else "",
    )
    return " ".join(filter(None, said))
