"""What an answer means to the client that reads it, whatever names a coordinator uses.

Two answers are the same if they mean the same.  Member ids are compared as clients can: this id is
the one that c1 was told, that one was never told to anybody.  Generations are compared with those
that the clients know: the same, or a later one.  Only the fields on which a client acts count; what
only one of two versions or drafts can say does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from fencepost.model.messages.draft_messages import DraftLeaveGroupResponse
from fencepost.model.messages.errors import Error, error_name
from fencepost.model.messages.messages import (
    DescribedGroup,
    DescribeGroupsResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    SyncGroupResponse,
)
from fencepost.model.messages.shapes import Message
from fencepost.properties.worlds.world import STRANGE
from fencepost.properties.worlds.world_client import Client

_NONE = Error.NONE.value


class Meaning(NamedTuple):
    """What an answer says.

    `member_id`, `leader`: "" for none; `generation`: None for none; `roster`: each member's id with
    its metadata; `rest`: what else is said, in a fixed order.  Ids are the coordinator's.
    """

    error: str
    member_id: str = ""
    generation: int | None = None
    leader: str = ""
    roster: tuple[tuple[str, bytes], ...] = ()
    rest: tuple[object, ...] = ()


WAITS = Meaning("waits")
"""The request has no answer yet."""
ANYTHING = Meaning("anything")
"""The protocol leaves open whether and how this is answered."""

Seen = tuple[tuple[int, tuple[object, ...]], ...]
"""What the clients see of one step: (index of the client, what its answer means to it)."""


def meaning(message: Message | None) -> Meaning:
    """Return what an answer says; None: the model leaves it open."""
    match message:
        case None:
            return ANYTHING
        case JoinGroupResponse(error_code=code) if code == _NONE:
            return Meaning(
                error_name(code),
                message.member_id,
                message.generation_id,
                message.leader,
                tuple((m.member_id, m.metadata) for m in message.members),
                (message.protocol_name, message.skip_assignment),
            )
        case JoinGroupResponse():
            return Meaning(error_name(message.error_code), message.member_id)
        case SyncGroupResponse():
            return Meaning(error_name(message.error_code), rest=(message.assignment,))
        case LeaveGroupResponse():
            codes = (message.error_code, *(row.error_code for row in message.members))
            return Meaning(error_name(next((c for c in codes if c != _NONE), _NONE)))
        case DraftLeaveGroupResponse():
            return Meaning(error_name(message.error_code))
        case OffsetCommitResponse():
            codes = tuple(p.error_code for topic in message.topics for p in topic.partitions)
            return Meaning(error_name(next((c for c in codes if c != _NONE), _NONE)))
        case DescribeGroupsResponse():
            return Meaning(error_name(_NONE), rest=tuple(_described(g) for g in message.groups))
        case ListGroupsResponse():
            return Meaning(error_name(message.error_code), rest=(message.groups,))
        case OffsetFetchResponse():
            return Meaning(error_name(message.error_code), rest=(message.topics,))
        case _:
            return Meaning(error_name(getattr(message, "error_code", _NONE)))


def _described(group: DescribedGroup) -> tuple[object, ...]:
    """A group as an operator reads it, whatever the ids of its members."""
    members = sorted(repr(structs.replace(m, member_id="")) for m in group.members)
    return (group.error_code, group.group_state, group.protocol_data, *members)


def seen(
    answers: Sequence[tuple[int, Meaning]],
    clients: Sequence[Client],
    called: Mapping[str, str],
) -> tuple[Seen, dict[str, str]]:
    """Return what the clients see, and how the ids that are told for the first time are called.

    `clients`: before the step, in the names of the same world as the answers; `called`: an id that
    somebody was told → the name that all sides have for it.
    """
    new = _introduced(answers, called)
    names = {**called, **new, "": ""}
    step = []
    for index, said in answers:
        relation = None
        if said.generation is not None:
            known = (client.generation for client in clients)
            relation = tuple(said.generation > g if g >= 0 else None for g in known)
        words = (
            said.error,
            names[said.member_id],
            relation,
            names[said.leader],
            tuple(sorted((names[member_id], metadata) for member_id, metadata in said.roster)),
            said.rest,
        )
        step.append((index, words))
    return tuple(step), new


def _introduced(
    answers: Sequence[tuple[int, Meaning]], called: Mapping[str, str]
) -> dict[str, str]:
    """Names for ids that nobody was told before, in an order that all sides have in common."""
    new: dict[str, str] = {}
    for member_id in _told(answers):
        if member_id and member_id not in called and member_id not in new:
            new[member_id] = STRANGE if member_id == STRANGE else f"new.{len(new) + 1}"
    return new


def _told(answers: Sequence[tuple[int, Meaning]]) -> Iterator[str]:
    for _, said in answers:
        yield said.member_id
    for _, said in answers:
        yield said.leader
        yield from sorted(member_id for member_id, _ in said.roster)


def agree(one: Seen, other: Seen) -> bool:
    """Return whether two observations are the same, where neither leaves the answer open."""
    left, right = dict(one), dict(other)
    return all(
        left.get(i) == right.get(i) or _open(left.get(i)) or _open(right.get(i))
        for i in left | right
    )


def _open(words: tuple[object, ...] | None) -> bool:
    return words is not None and words[0] == ANYTHING.error


def is_open(step: Seen) -> bool:
    """Return whether some answer of a step is left open."""
    return any(_open(words) for _, words in step)
