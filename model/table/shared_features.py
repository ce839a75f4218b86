"""Name the features that the tables of every group protocol can use, and their values.

They compare a request with the facts of any coordinator: groups, instances, topics, limits.
"""

from __future__ import annotations

from enum import Enum

from fencepost.model.table.expr import Feature


class Word(Enum):
    """A value in words.  Hashed by identity, which is faster than Enum's hash of the name."""

    __hash__ = object.__hash__


class GroupId(Word):
    """The group that the request names."""

    NULL = "null"
    EMPTY = '""'
    GIVEN = "given"


class Availability(Word):
    """The availability of the group's coordinator at this broker."""

    HERE = "here"
    LOADING = "loading"
    ELSEWHERE = "elsewhere"


class Inst(Word):
    """The request's group.instance.id against the static map."""

    NONE = "none"
    UNMAPPED = "unmapped"
    OWN = "mapped to this member"
    OTHER = "mapped to another"


class Room(Word):
    """group.max.size against the group."""

    FREE = "free"
    FULL = "full"


class Record(Word):
    """The size of a record to write against message.max.bytes."""

    FITS = "fits"
    TOO_LARGE = "too large"


GROUP_ID = Feature("group id", tuple(GroupId), "the group that the request names")
COORDINATOR = Feature("coordinator", tuple(Availability), "whether this broker coordinates it")
INST = Feature("inst", tuple(Inst), "the group.instance.id of the request")
ROOM = Feature("room", tuple(Room), "group.max.size")
TOPICS = Feature("topics all missing", (False, True), "whether no topic of a commit exists")
RECORD = Feature("record", tuple(Record), "what is to be written, against message.max.bytes")
METADATA = Feature("long metadata", (False, True), "against offset.metadata.max.bytes")


def version_feature(highest: int) -> Feature:
    """Make a table's feature for the version of the request, from 0 to the highest."""
    return Feature("version", tuple(range(highest + 1)), "the version of the request")
