"""Describe requests and answers in words: one line each, members by name.

Member ids are replaced by names ("A1"), readable bytes are decoded, and fields that a case never
varies (timeouts, host) are left out.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from fencepost.model.messages.errors import error_name
from fencepost.model.messages.subscription import (
    assignment_label,
    encode_assignment,
    is_later,
    readable_assignment,
    version_of,
)

Body = Mapping[str, Any]
Names = Mapping[str, str]

NEW_ID = "a new id"
CLOSED = "connection closed"
_MADE_UP = re.compile(r"(?:\x00|\\x00|\\u0000)[\w-]+")
_PARTITION = re.compile(r"(?<![\w-])(?P<topic>[\w-]{22})(?=-\d+(?![\w-]))")
"""The id of a topic before the number of a partition."""
_DEFAULT_GROUP = "g"
_TYPE, _PROTOCOL, _TOPICS = "consumer", "range", ["t"]
"""The usual values of members, which are left out."""
_LONGEST_SESSION_MS = 1_800_000
"""Kafka's default of group.max.session.timeout.ms."""
_MOST_TOPICS = 8
_LONGEST, _KEPT_LENGTH = 120, 40
LONGEST_VERDICT = 100
"""Characters of a verdict: it is one line, in the terminal and everywhere else."""
_LEAST_SUBJECT = 30

DEVIATES = re.compile(r"(?P<field>[\w.\[\]-]+) (?P<got>.*) instead of (?P<want>.*)", re.DOTALL)
"""The oracle's words for a deviation in one field of an answer."""
_SENDER = re.compile(r"^\S+ (?P<api>[A-Z][A-Za-z]+)(?: #(?:\d+|\*))?: ")
_ROW_LIST = re.compile(r"\[[^\[\]]*\]")
_NUMBER = re.compile(r"-?\b\d+\b")
_MEMBER = re.compile(r"\b(?:[A-Z]\d|[a-z])\b(?: \(id \d+\))?")
_HEARTBEATS = frozenset({"ConsumerGroupHeartbeat", "StreamsGroupHeartbeat"})
_BYTES = "bytes"
"""The field of an answer that is right, but not in the bytes of its version."""


class WrongField(NamedTuple):
    """The wrong field of an answer, in words: its name, its value and the right value."""

    field: str
    got: str
    want: str


def plural(number: int, word: str) -> str:
    """Return a count with its noun: `1 case`, `2,000 cases`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def enumerated(words: Sequence[str], last: str = "and") -> str:
    """Return words as a list in a sentence: `a`, `a and b`, `a, b and c`; `last`: the last link."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def at_most(length: int, text: str) -> str:
    """Return a text on one line of at most `length` characters, its middle left out if need be."""
    flat = one_line(text)
    if len(flat) <= length:
        return flat
    end = (length - 1) // 3
    return f"{flat[: length - 1 - end]}…{flat[-end:]}"


def verdict_line(subjects: Sequence[str], verdicts: Sequence[str]) -> str:
    """Return subject and verdict on one line of at most `LONGEST_VERDICT` characters.

    `subjects`, `verdicts`: forms of either, longest first.  The longest verdict that fits is taken,
    with the longest subject that does; where none fits, the subject is cut.
    """
    for verdict in verdicts:
        for subject in subjects:
            line = f"{subject}: {verdict}"
            if len(line) <= LONGEST_VERDICT:
                return line
    room = max(_LEAST_SUBJECT, LONGEST_VERDICT - len(verdicts[-1]) - 2)
    return at_most(LONGEST_VERDICT, f"{at_most(room, subjects[-1])}: {verdicts[-1]}")


def first_names(names: Sequence[str], most: int | None) -> str:
    """Return the first `most` names as a list, and the number of others; None: all names."""
    rest = 0 if most is None else len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def made_by(implementation: str, version: str) -> str:
    """Return an implementation with its version, e.g. `the broker at HOST, version unknown`."""
    if version == "unknown":
        return f"{implementation}, version unknown"
    return f"{implementation} {version}".strip()


def without_names(observed: str) -> str:
    """Return observed words without the names of members, lists of them, and numbers."""
    text = _SENDER.sub(lambda sender: f"{sender['api']}: ", observed)
    text = _ROW_LIST.sub("[…]", text)
    return _NUMBER.sub("…", _MEMBER.sub("…", text))


def with_article(word: str) -> str:
    """Return a word with its article: `a JoinGroup`, `an OffsetCommit`."""
    return f"{'an' if word[:1] in 'AEIOUaeiou' else 'a'} {word}"


def one_line(text: str) -> str:
    """Return the words of a text with single spaces between them."""
    return " ".join(text.split())


def sentence(text: str) -> str:
    """Return a text as a sentence: with a capital at its beginning and a full stop."""
    return f"{text[0].upper()}{text[1:]}."


def how_often(number: int) -> str:
    """Return a number of times: `once`, `2 times`."""
    return "once" if number == 1 else f"{number} times"


def member(member_id: Any, names: Names) -> str:
    """Return the name of a member id, `a new id` for one to be chosen, else the id in quotes."""
    if isinstance(member_id, str) and member_id.startswith("\x00"):
        return NEW_ID
    return names.get(member_id) or quoted(member_id)


def quoted(value: Any) -> str:
    """Return a string in quotes with control characters escaped, a long one cut; null for None."""
    if value is None:
        return "null"
    kept, rest = _cut(str(value))
    return '"' + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in kept) + f'"{rest}'


def _cut(text: str) -> tuple[str, str]:
    """Return a text and ""; of a long one its beginning, and a note of its length.

    An id may have thousands of characters.
    """
    if len(text) <= _LONGEST:
        return text, ""
    return f"{text[:_KEPT_LENGTH]}…", f" ({len(text):,} characters)"


def decoded(value: Any) -> str:
    """Decode base64 if it is text or an assignment that is readable; else return it as it is."""
    try:
        data = base64.b64decode(value, validate=True)
        label = assignment_label(data)
        if label is None and (partitions := _plain_assignment(data)) is not None:
            return f"of {partitions}"
        text = label or data.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, TypeError, ValueError):
        return f"base64 {value}"
    return f'"{text}"' if text.isprintable() else f"base64 {value}"


def _plain_assignment(data: bytes) -> str | None:
    """Return the partitions of an assignment without user data, e.g. `t-0, t-1`; None: it is none.

    The bytes must be those of this very assignment, in the version that they name.
    """
    partitions = readable_assignment(data)
    if data != encode_assignment(partitions, version_of(data)) or is_later(version_of(data)):
        return None
    return ", ".join(f"{topic}-{number}" for topic, number in partitions) or "nothing"


def with_names(text: str, names: Names) -> str:
    """Replace the ids of members and topics in a sentence by their names."""
    text = _MADE_UP.sub(NEW_ID, text)
    text = _PARTITION.sub(lambda match: names.get(match["topic"], match["topic"]), text)
    ids = sorted(filter(None, names), key=len, reverse=True)
    if not ids:
        return text
    anyone = rf"(?<![\w-])(?:{'|'.join(map(re.escape, ids))})(?![\w-])"
    return re.sub(anyone, lambda match: names[match.group()], text)


def wrong_field(difference: str, names: Names) -> WrongField | None:
    """Describe the wrong field; None where a difference names none.

    `difference`: in the words of the oracle, values as Python writes them.
    """
    deviation = DEVIATES.fullmatch(difference)
    if deviation is None or deviation["field"] == _BYTES:
        return None
    got, want = (_literal(with_names(deviation[key], names)) for key in ("got", "want"))
    return WrongField(deviation["field"], got, want)


def _literal(text: str) -> str:
    """Return a value that Python wrote, as JSON writes it; other text stays.

    An id that the model made up is no value.
    """
    try:
        value = ast.literal_eval(text)
        return NEW_ID if value == NEW_ID else json.dumps(value, ensure_ascii=False)
    except (ValueError, SyntaxError, TypeError):
        return text


def request_words(api: str, version: int, body: Body, names: Names) -> str:
    """Describe a request, e.g. `JoinGroup v5 (member "", instance A)`."""
    parts: list[str] = []
    group = body.get("groupId")
    if group not in {None, _DEFAULT_GROUP}:
        parts.append(f"group {quoted(group)}")
    parts += _caller(body, names)
    if "assignments" in body and (rows := body["assignments"]):
        parts.append("assigns to " + ", ".join(member(r.get("memberId"), names) for r in rows))
    parts += _offer(body)
    parts += [f"leaves: {_leaver(r, names)}" for r in body.get("members", ())]
    parts += [
        f"{at} offset {p['committedOffset']}" if "committedOffset" in p else at
        for at, p in _partitions(body, names)
    ]
    groups = [g.get("groupId") if isinstance(g, Mapping) else g for g in body.get("groups") or ()]
    if groups and groups != [_DEFAULT_GROUP]:
        parts.append("groups " + ", ".join(map(quoted, groups)))
    for key in ("groupsNames", "groupIds"):
        if (named := body.get(key)) and named != [_DEFAULT_GROUP]:
            parts.append("groups " + ", ".join(map(quoted, named)))
    parts += [f"leaves: {_leaver(r, names)}" for r in _draft_leavers(body)]
    return f"{api} v{version}" + (f" ({', '.join(parts)})" if parts else "")


def answer_words(api: str, body: Body | None, names: Names) -> str:
    """Describe an answer, e.g. `NONE, generation 1, leads`."""
    if body is None:
        return CLOSED
    parts = [error_name(body["errorCode"])] if "errorCode" in body else []
    if api.startswith("JoinGroup"):
        parts += _joined(body, names)
    elif api in _HEARTBEATS:
        parts += _beaten(body, names)
    elif api in {"ConsumerGroupDescribe", "StreamsGroupDescribe"}:
        parts += [_described(row, names) for row in body.get("groups", ())]
    elif "assignment" in body and body.get("errorCode") == 0:
        parts.append(f"assignment {decoded(body['assignment'])}")
    if api.startswith("LeaveGroup"):
        parts += [
            f"{_leaver(row, names)}: {error_name(row.get('errorCode', 0))}"
            for row in body.get("members", ())
        ]
    if api == "OffsetFetch":
        parts += fetched(body, names)
    elif "topics" in body:
        parts += [f"{at} {error_name(p.get('errorCode', 0))}" for at, p in _partitions(body, names)]
    if api in {"DescribeGroups", "ListGroups"}:
        parts += [_group(row, names) for row in body.get("groups", ())]
    parts += [
        f"{quoted(row.get('groupId'))} {error_name(row.get('errorCode', 0))}"
        for row in body.get("results", ())
    ]
    return ", ".join(parts) or "an empty answer"


def members_of(rows: Any, names: Names) -> str:
    """Return the members of a list, by name and in order of names."""
    return "[" + ", ".join(sorted(member(row.get("memberId"), names) for row in rows)) + "]"


def fetched(body: Body, names: Names) -> list[str]:
    """Describe the offsets of an answer, e.g. `t-0 at 5`, and the errors of groups."""
    rows = [*_partitions(body, names)]
    errors = []
    for group in body.get("groups", ()):
        rows += _partitions(group, names)
        if group.get("errorCode"):
            errors.append(error_name(group["errorCode"]))
    return errors + [
        f"{at} at {p.get('committedOffset')}"
        + (f" {error_name(p['errorCode'])}" if p.get("errorCode") else "")
        for at, p in rows
    ]


def _draft_leavers(body: Body) -> Iterator[Body]:
    """Return the rows of a draft's leave in the released form; lists may differ in length.

    In the drafts "" stands for no instance.
    """
    lists = (body.get("groupInstanceIdList", ()), body.get("memberIdList", ()))
    pairs = [
        (r.get("groupInstanceId"), r.get("memberId")) for r in body.get("memberIdentityList", ())
    ]
    for instance, member_id in (*pairs, *zip_longest(*lists)):
        yield {"memberId": member_id, "groupInstanceId": instance or None}


def _caller(body: Body, names: Names) -> list[str]:
    parts = [f"member {member(body['memberId'], names)}"] if "memberId" in body else []
    instance = body.get("groupInstanceId") or body.get("memberName")
    if "memberEpoch" in body:
        instance = body.get("instanceId")
    if instance is not None:
        parts.append(f"instance {''.join(_cut(str(instance)))}")
    keys = ("generationId", "generationIdOrMemberEpoch")
    parts += [f"generation {body[key]}" for key in keys if key in body]
    return [*parts, *_beats(body, names)] if "memberEpoch" in body else parts


def _beats(body: Body, names: Names) -> Iterator[str]:
    """Describe the fields of a heartbeat of the consumer protocol; null fields are left out."""
    epoch = body["memberEpoch"]
    yield {0: "joins", -1: "leaves for good", -2: "is released"}.get(epoch, f"epoch {epoch}")
    if (topics := body.get("subscribedTopicNames")) is not None:
        yield f"topics {', '.join(topics) or 'none'}"
    if regex := body.get("subscribedTopicRegex"):
        yield f"expression {quoted(regex)}"
    if (assignor := body.get("serverAssignor")) is not None:
        yield f"assignor {quoted(assignor)}"
    if (rack := body.get("rackId")) is not None:
        yield f"rack {quoted(rack)}"
    if (owned := body.get("topicPartitions")) is not None and (owned or epoch):
        yield f"owns {partitions(owned, names)}"
    if topology := body.get("topology"):
        yield f"topology {_topology(topology)}"
    if process := body.get("processId"):
        yield f"process {quoted(process)}"
    if tags := body.get("clientTags"):
        yield "tags " + ", ".join(f"{tag.get('key')}={tag.get('value')}" for tag in tags)
    if (tasks := body.get("activeTasks")) is not None and (tasks or epoch):
        yield f"owns {partitions(tasks, names)}"


def _topology(topology: Body) -> str:
    """Describe a topology: its epoch, and each subtopology with its source topics."""
    parts = (
        f"{part.get('subtopologyId')} of {', '.join(part.get('sourceTopics') or ())}"
        for part in topology.get("subtopologies") or ()
    )
    return f"{topology.get('epoch')} ({'; '.join(parts)})"


def _are_partitions(rows: Any) -> bool:
    """Return True for a list of objects, each of which has a list of partitions, or none."""
    return rows is None or (
        isinstance(rows, list | tuple)
        and all(
            isinstance(row, Mapping)
            and isinstance(row.get("partitions") or (), list | tuple)
            and isinstance(row.get("topicId"), str | None)
            for row in rows
        )
    )


def partitions(rows: Any, names: Names) -> str:
    """Return partitions by the names of their topics, e.g. `t-0, t-1`; `nothing` for none."""
    if not _are_partitions(rows):
        return quoted(rows)
    places = [
        f"{_topic_of(row, names)}-{number}"
        for row in rows or ()
        for number in row.get("partitions") or ()
    ]
    return ", ".join(sorted(places)) or "nothing"


def _topic_of(row: Body, names: Names) -> Any:
    """Return the name of a topic, else its id; of tasks the subtopology."""
    if "topicId" not in row and "name" in row:
        return row["name"]
    named = row.get("topicName") or row.get("subtopologyId")
    return named or names.get(row.get("topicId", ""), row.get("topicId"))


def _joined(body: Body, names: Names) -> list[str]:
    member_id = body.get("memberId")
    if body.get("errorCode") != 0:
        called = member(member_id, names)
        return [f"member id {called}" if called != NEW_ID else NEW_ID] if member_id else []
    leader, generation = body.get("leader"), body.get("generationId")
    parts = ["no generation" if generation is None else f"generation {generation}"]
    if leader is not None and leader == member_id:
        parts.append("leads")
        if rows := body.get("members"):
            parts[-1] += f" {members_of(rows, names)}"
        if body.get("skipAssignment"):
            parts.append("skips the assignment")
    else:
        parts.append("no leader" if leader is None else f"follows {member(leader, names)}")
        if rows := body.get("members"):
            parts.append(f"members {members_of(rows, names)}")
    return parts


def _beaten(body: Body, names: Names) -> Iterator[str]:
    if body.get("errorCode") != 0:
        return
    if (called := member(body.get("memberId"), names)) == NEW_ID:
        yield called
    yield f"epoch {body.get('memberEpoch')}"
    if (assignment := body.get("assignment")) is not None:
        yield f"assigned {assigned(assignment, names)}"
    if (tasks := body.get("activeTasks")) is not None:
        yield f"assigned {partitions(tasks, names)}"


def assigned(assignment: Any, names: Names) -> str:
    """Describe the assignment in the answer to a heartbeat, e.g. `t-0, t-1`; or `null`."""
    if assignment is None:
        return "null"
    rows = assignment.get("topicPartitions") if isinstance(assignment, Mapping) else assignment
    return partitions(rows, names)


def _described(row: Body, names: Names) -> str:
    """Describe a group of the consumer protocol: its state and epochs, and each member."""
    if row.get("errorCode"):
        return f"{quoted(row.get('groupId'))} {error_name(row['errorCode'])}"
    members = [
        f"{member(m.get('memberId'), names)}: epoch {m.get('memberEpoch')}, "
        + ", ".join(f"{word} {_of_member(m, key, names)}" for word, key in _ASSIGNMENTS.items())
        for m in row.get("members", ())
    ]
    epochs = f"epoch {row.get('groupEpoch')}, target of epoch {row.get('assignmentEpoch')}"
    state = f"{row.get('groupId')} {row.get('groupState')}, {epochs}"
    return state + (f" [{'; '.join(sorted(members))}]" if members else "")


_ASSIGNMENTS = {"assigned": "assignment", "target": "targetAssignment"}


def _of_member(row: Body, key: str, names: Names) -> str:
    parts = row.get(key) or {}
    return partitions(parts.get("topicPartitions", parts.get("activeTasks")), names)


def _leaver(row: Body, names: Names) -> str:
    who = member(row.get("memberId"), names)
    instance = row.get("groupInstanceId")
    if instance is None:
        return f"member {who}"
    return f"member {who} of instance {''.join(_cut(str(instance)))}"


def _offer(body: Body) -> list[str]:
    """Describe the unusual fields of a join or sync, which a case may be about."""
    parts = []
    session = body.get("sessionTimeoutMs", 0)
    if session > _LONGEST_SESSION_MS:
        parts.append(f"session timeout {session}")
    if body.get("protocolType", _TYPE) != _TYPE:
        parts.append(f"protocol type {quoted(body['protocolType'])}")
    if body.get("protocolName", _PROTOCOL) != _PROTOCOL:
        parts.append(f"protocol {quoted(body['protocolName'])}")
    if "protocols" in body:
        offered = [_offered(row) for row in body["protocols"]]
        if offered != [_PROTOCOL]:
            parts.append("protocols " + ", ".join(offered) if offered else "no protocols")
    return parts


def _offered(row: Body) -> str:
    """Return a protocol, with the topics of its subscription if they are not the usual one."""
    topics = _topics(row.get("metadata"))
    name = str(row.get("name"))
    return name if topics is None or topics == _TOPICS else f"{name} of {', '.join(topics)}"


def _topics(metadata: Any) -> list[str] | None:
    """Return the topics of a consumer's subscription; None for other bytes."""
    try:
        data = base64.b64decode(metadata, validate=True)
        (count,) = struct.unpack_from(">i", data, 2)
        topics, at = [], 6
        for _ in range(min(count, _MOST_TOPICS)):
            (size,) = struct.unpack_from(">h", data, at)
            topics.append(data[at + 2 : at + 2 + size].decode())
            at += 2 + size
    except (binascii.Error, struct.error, TypeError, ValueError):
        return None
    return topics if all(topic.isprintable() for topic in topics) else None


def _partitions(body: Body, names: Names) -> list[tuple[str, Body]]:
    return [
        (f"{_topic_of(topic, names)}-{partition.get('partitionIndex')}", partition)
        for topic in body.get("topics") or ()
        for partition in topic.get("partitions", ())
    ]


def _group(row: Body, names: Names) -> str:
    parts = [f"{row.get('groupId')} {row.get('groupState') or ''}".rstrip()]
    if row.get("errorCode"):
        parts.append(error_name(row["errorCode"]))
    if "members" in row:
        parts.append(members_of(row["members"], names))
    return " ".join(parts)
