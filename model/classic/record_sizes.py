"""Whether a record can be written, as far as the model can know how large it will be.

It holds the texts and bytes that were sent, which are counted here, and what a coordinator adds:
numbers, lengths, hosts, and longer names of groups and topics on a shared cluster.  That is taken
for no more than 1,024 bytes, and 128 for each member or offset: Kafka 4.3.0 adds 150 in all where
there is one member, and 175 to one offset.  Where that alone decides, both is allowed.
"""

from __future__ import annotations

from msgspec.structs import replace

from fencepost.model.classic.group import Group
from fencepost.model.messages.messages import CommitPartition, OffsetCommitRequest, SyncGroupRequest

_BESIDES = 1_024
_EACH = 128


def group_fits(group: Group, group_id: str | None, limit: int | None) -> tuple[bool, ...]:
    """Return whether a group of this id can be stored as it is; or both."""
    if limit is None:
        return (True,)
    name = group.protocol_name
    size = sum(map(_bytes, (group_id, group.protocol_type, name, group.leader)))
    for m in group.members:
        size += len(m.metadata(name)) + len(m.assignment)
        size += sum(map(_bytes, (m.member_id, m.group_instance_id, m.client_id)))
    return _fits(size, len(group.members), limit)


def assigned(group: Group, sync: SyncGroupRequest) -> Group:
    """Give the members what a sync assigns, nothing to those that it leaves out."""
    given = {a.member_id: a.assignment for a in sync.assignments}
    members = tuple(replace(m, assignment=given.get(m.member_id, b"")) for m in group.members)
    return replace(group, members=members)


def commit_fits(commit: OffsetCommitRequest, limit: int | None) -> tuple[bool, ...]:
    """Return whether these offsets fit into one batch; or both."""
    rows = [(t.name, p) for t in commit.topics for p in t.partitions]
    if limit is None or not rows:
        return (True,)
    texts = sum(_bytes(name) + _bytes(p.committed_metadata) for name, p in rows)
    return _fits(texts + len(rows) * _bytes(commit.group_id), len(rows), limit)


def is_long(row: CommitPartition, most: int | None) -> bool:
    """Tell whether the metadata of an offset are longer than that; Java counts UTF-16 units."""
    text = row.committed_metadata
    return text is not None and most is not None and len(text.encode("utf-16-le")) > 2 * most


def _bytes(text: str | None) -> int:
    return 0 if text is None else len(text.encode())


def _fits(size: int, rows: int, limit: int) -> tuple[bool, ...]:
    """Return whether so many bytes for so many members or offsets fit into a record; or both."""
    if size + _BESIDES + _EACH * rows <= limit:
        return (True,)
    return (False,) if size > limit else (True, False)
