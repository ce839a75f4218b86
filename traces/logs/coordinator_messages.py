"""Read what a group coordinator of Kafka says, whatever stands before and behind it in a line.

Both coordinators are read, of all releases since 1.0: the old one (Scala, to Kafka 4.0) and the new
one (Java, since 3.6).  Their words differ, also from release to release.  Other messages of a
coordinator are passed over where a fragment of `PASSED` shows why; a message about a group that is
neither read nor passed over is unread, and an audit says so.

Source: the message strings in the classes `GroupCoordinator`, `GroupMetadata`,
`GroupMetadataManager`, `ClassicGroup` and `CoordinatorRuntime` of the releases' jars.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from fencepost.traces.logs.log_files import ANY_PROTOCOL


class MessageKind(Enum):
    """The kind of a coordinator's message."""

    PREPARING = "a rebalance is prepared"
    STABILIZED = "all have joined"
    ASSIGNED = "the leader's assignment was received"
    EMPTY = "the group is empty"
    NAMED = "a dynamic member was given an id, to join with"
    USED = "a dynamic member joined with the id that it was given"
    NAME_EXPIRED = "an id that was given was not used in time"
    NAME_RETURNED = "an id that was given left unused"
    JOINED = "a member joined"
    REPLACED = "a static member was replaced"
    FENCED = "a request was answered FENCED_INSTANCE_ID"
    FAILED = "a member's session expired"
    LEFT = "a member left"
    DROPPED = "members that did not join or sync in time were removed"
    LOADED = "a group was read by a new coordinator"
    MEMBER_LOADED = "a member was read by a new coordinator"
    UNLOADED = "a group went to another coordinator"
    PARTITION_LOADED = "a coordinator read a partition of groups"
    DELETED = "groups were deleted"
    OFFSETS_DELETED = "offsets of a group were deleted"
    ENDED = "a group without members and offsets was removed"
    PARTITION_UNLOADED = "a coordinator resigned from a partition of groups"


@dataclass(slots=True)
class Message:
    """A coordinator's message; not frozen, since that takes a third of the time of reading it.

    `group` and `member_id` are empty where it doesn't name them.  `fields`: further words, by the
    names of the patterns.  `start`, `end`: its place in the text.
    """

    kind: MessageKind
    group: str
    member_id: str
    instance_id: str | None
    generation: int | None
    start: int
    end: int
    fields: dict[str, str] = field(default_factory=dict)


_NAME, _SOME, _MUCH = ".{1,400}?", ".{0,400}?", ".{0,2000}?"
_LIST = ".{0,30000}?"
"""Parts of a message; without bounds a long line of garbage takes hours."""
_GROUP = rf"(?P<group>{_NAME})"
_ANY_STATE = r"in (?:(?P<state>\w+) state|state (?P<state2>\w+))"
_PARTITION = r"(?: ?\(__consumer_offsets-(?P<partition>\d+)\))?"
_MEMBER = rf"(?P<member_id>{_NAME})"
_INSTANCE = rf"(?P<instance>{_NAME})"
_LEAVE = r"explicit `?LeaveGroup`?"
_OPEN = r"(?P<open>[(\[{])"
"""The bracket where a text begins that ends with the bracket that belongs to it."""
_STATEMENT = r"(?:; client reason: (?P<statement>.*))?"
"""A client's own reason, to the end of the message."""
_PATTERNS: tuple[tuple[MessageKind, str, str], ...] = (
    (
        MessageKind.PREPARING,
        "Preparing to rebalance group",
        (
            rf"Preparing to rebalance group {_GROUP}(?: in state (?P<state>\w+))? with old "
            rf"generation (?P<generation>-?\d+)(?![\d-]){_PARTITION}(?: ?{_OPEN}reason: )?"
        ),
    ),
    (
        MessageKind.STABILIZED,
        "Stabilized group",
        (
            rf"Stabilized group {_GROUP} generation (?P<generation>\d+)(?!\d){_PARTITION}"
            r"(?: with (?P<members>\d+) members)?"
        ),
    ),
    (
        MessageKind.ASSIGNED,
        "Assignment received from leader",
        (
            rf"Assignment received from leader (?:{_MEMBER} )??for group {_GROUP} for generation "
            r"(?P<generation>\d+)(?!\d)"
            r"(?:\. ?The group has (?P<everyone>\d+) members, (?P<static>\d+) of which are static)?"
        ),
    ),
    (
        MessageKind.EMPTY,
        "is now empty",
        rf"Group {_GROUP} with generation (?P<generation>\d+) is now empty{_PARTITION}",
    ),
    (
        MessageKind.REPLACED,
        "rejoins, assigning new member id",
        (
            rf"Static member (?:Some\({_INSTANCE}\)|(?P<instance2>\S+?))(?: of group {_GROUP})? "
            rf"with unknown member id rejoins, assigning new member id {_MEMBER}, while ?old "
            rf"member (?:id )?(?P<old>{_NAME}) will be removed"
        ),
    ),
    (
        MessageKind.REPLACED,
        "Replacing previously mapped",
        (
            rf"Static member with groupInstanceId={_INSTANCE} and unknown member id joins ?group "
            rf"{_GROUP} {_ANY_STATE}\. Replacing previously mapped ?member (?P<old>{_NAME}) "
            r"with this groupInstanceId"
        ),
    ),
    (
        MessageKind.JOINED,
        "Static member with groupInstanceId=",
        (
            rf"Static member with groupInstanceId={_INSTANCE} and unknown member id joins ?group "
            rf"{_GROUP} {_ANY_STATE}\. Created a new member id {_MEMBER} ?for this member "
            r"and add(?:ed)? to the group"
        ),
    ),
    (
        MessageKind.JOINED,
        "Adding new static member",
        (
            rf"Adding new static member (?:Some\({_INSTANCE}\)|(?P<instance2>\S+?)) to group "
            rf"{_GROUP} with member id (?P<member_id>[^\s]+?)(?=\.?(?:\s|$|[\"'`|]))"
        ),
    ),
    (
        MessageKind.JOINED,
        "ynamic ",
        (
            rf"Dynamic [Mm]ember with unknown member id (?:re)?joins group {_GROUP} {_ANY_STATE}\. "
            rf"Created a new member id {_MEMBER} (?:for this member ?and add to the group|"
            r"and added the member to the group)"
        ),
    ),
    (
        MessageKind.NAMED,
        "ynamic ",
        (
            rf"Dynamic [Mm]ember with unknown member id (?:re)?joins group {_GROUP} {_ANY_STATE}\. "
            rf"Created a new member id {_MEMBER} and request(?:ing)? the ?member to "
            r"rejoin with this id"
        ),
    ),
    (
        MessageKind.USED,
        "Pending dynamic member with id",
        (
            rf"Pending dynamic member with id {_MEMBER} joins group {_GROUP} {_ANY_STATE}\. "
            "Adding to the group now"
        ),
    ),
    (
        MessageKind.USED,
        "ember with specific member id",
        (
            rf"Dynamic [Mm]ember with specific member id {_MEMBER} joins group {_GROUP} "
            rf"{_ANY_STATE}\. Adding to the group now"
        ),
    ),
    (
        MessageKind.NAME_EXPIRED,
        "has been removed after session timeout",
        rf"Pending member {_MEMBER} in group {_GROUP} has been removed after session timeout",
    ),
    (
        MessageKind.NAME_RETURNED,
        "ending member ",
        (
            rf"Pending member (?:with memberId={_MEMBER} has left group {_GROUP} ?through "
            rf"{_LEAVE} request|(?P<member_id2>\S+) is leaving group (?P<group2>\S+?)"
            r"(?=\.?(?:\s|$|[\"'`|])))"
        ),
    ),
    (
        MessageKind.NAME_RETURNED,
        "ending member ",
        (
            rf"\[Group {_GROUP}\] Pending member {_MEMBER} has left group through {_LEAVE}"
            rf"(?: request)?{_STATEMENT}"
        ),
    ),
    (
        MessageKind.FENCED,
        "is fenced by",
        (
            rf"Request memberId={_MEMBER} for static member with groupInstanceId="
            rf"{_INSTANCE} ?is fenced by (?:current|existing) memberId=(?P<holder>{_NAME}) during "
            r"operation (?P<operation>[\w-]+)"
        ),
    ),
    (
        MessageKind.FENCED,
        "is identified as a known static member",
        (
            rf"given member\.id {_MEMBER} is identified as a known static member "
            rf"{_INSTANCE}, ?but not matching the expected member\.id (?P<holder>[^\s,]+)"
            r"(?: during (?P<operation>[\w-]+), will ?respond with instance fenced error)?"
        ),
    ),
    (
        MessageKind.FAILED,
        "has failed, removing it",
        rf"Member {_MEMBER} in group {_GROUP} has failed, removing it from the group",
    ),
    (
        MessageKind.LEFT,
        "has left, removing it",
        (
            rf"Member(?:\[group\.instance\.id (?:Some\({_INSTANCE}\)|None), ?member\.id "
            rf"{_MEMBER}\]| (?P<member_id2>{_NAME})) ?in group {_GROUP} has left, removing it from "
            "the group"
        ),
    ),
    (
        MessageKind.LEFT,
        "Member MemberMetadata(",
        (
            rf"Member MemberMetadata\(memberId={_MEMBER}, groupInstanceId=(?:Some\("
            rf"{_INSTANCE}\)|None), clientId=(?P<client_id>{_SOME}), clientHost=/?"
            rf"(?P<host>{_SOME}), "
            r"sessionTimeoutMs=(?P<session_ms>\d+), rebalanceTimeoutMs=(?P<rebalance_ms>\d+), "
            rf"supportedProtocols=(?P<protocols>{_MUCH})\) has left group {_GROUP} through "
            rf"{_LEAVE}"
            rf"(?: request)?{_STATEMENT}"
        ),
    ),
    (
        MessageKind.LEFT,
        "has left group through explicit",
        (
            rf"\[Group {_GROUP}\] Member {_MEMBER}(?: with instance id {_INSTANCE})? has left "
            rf"group through {_LEAVE} request{_STATEMENT}"
        ),
    ),
    (
        MessageKind.DROPPED,
        "members who haven",
        (
            rf"Group {_GROUP} removed? (?:dynamic )?members ?who haven.t (?:joined|sent their sync "
            rf"requests?): ?[A-Za-z.$]*{_OPEN}"
        ),
    ),
    (
        MessageKind.MEMBER_LOADED,
        "Loaded member ",
        (
            rf"Loaded member (?:MemberMetadata\(memberId={_MEMBER}, (?:groupInstanceId=(?:Some\("
            rf"{_INSTANCE}\)|None), )?{_SOME}\)|"
            rf"(?P<member_id2>{_NAME})) in "
            r"(?:classic |generic )?group (?P<group>\S+?)(?: with generation (?P<generation>\d+))?"
            r"(?=\.?(?:\s|$|[\"'`|]))"
        ),
    ),
    (
        MessageKind.MEMBER_LOADED,
        "loaded with member id",
        (
            rf"Static member (?:MemberMetadata\({_SOME}groupInstanceId="
            rf"Some\({_INSTANCE}\), {_MUCH}\)\."
            r"groupInstanceId|(?P<instance2>\S+)) of group "
            rf"{_GROUP} loaded with member id {_MEMBER} at generation (?P<generation>\d+)"
        ),
    ),
    (
        MessageKind.LOADED,
        "Loading group metadata for",
        rf"Loading group metadata for {_GROUP} with generation (?P<generation>-?\d+)",
    ),
    (
        MessageKind.LOADED,
        "Loaded ",
        rf"Loaded (?:classic|generic) group {_GROUP} with (?P<members>\d+) members",
    ),
    (
        MessageKind.UNLOADED,
        "Unloading group metadata for",
        rf"Unloading group metadata for {_GROUP} with generation (?P<generation>-?\d+)",
    ),
    (
        MessageKind.UNLOADED,
        "Unloading group metadata for generation",
        rf"\[GroupId={_GROUP}\] Unloading group metadata for generation (?P<generation>-?\d+)",
    ),
    (
        MessageKind.ENDED,
        "transitioned to Dead",
        rf"Group {_GROUP} transitioned to Dead in generation (?P<generation>-?\d+)",
    ),
    (
        MessageKind.DELETED,
        "The following groups were deleted",
        (
            rf"The following groups were deleted: (?P<groups>{_LIST})\. A total of "
            r"(?P<offsets>\d+) offsets were removed"
        ),
    ),
    (
        MessageKind.OFFSETS_DELETED,
        "The following offsets of the group",
        (
            rf"The following offsets of the group {_GROUP} were deleted: "
            rf"(?:{_LIST}A total of (?P<offsets>\d+) ?offsets were removed)?"
        ),
    ),
    (
        MessageKind.PARTITION_LOADED,
        "Finished loading ",
        (
            r"Finished loading (?:of metadata|offsets and group metadata) from "
            r"__consumer_offsets-(?P<partition>\d+)"
        ),
    ),
    (
        MessageKind.PARTITION_UNLOADED,
        "Resigned as the group coordinator",
        r"Resigned as the group coordinator for partition (?P<partition>\d+)",
    ),
    (
        MessageKind.PARTITION_UNLOADED,
        " unloading ",
        (
            r"(?:Scheduling|Started|Finished) unloading (?:of )?(?:offsets and group metadata from "
            r"|metadata (?:for|from) )?__consumer_offsets-(?P<partition>\d+)"
        ),
    ),
)
_OWN = frozenset({"group", "member_id", "instance", "generation", "open", "statement"})


class _Pattern:
    """A pattern with the numbers of its groups, by what they are."""

    __slots__ = (
        *("bracket", "fields", "generation", "group", "instance", "kind", "mark", "member_id"),
        *("others", "regex", "statement"),
    )

    def __init__(self, kind: MessageKind, mark: str, pattern: str) -> None:
        self.kind, self.mark, self.regex = kind, mark, re.compile(pattern)
        numbers = self.regex.groupindex
        self.group = numbers.get("group", 0) - 1
        self.member_id = numbers.get("member_id", 0) - 1
        self.instance = numbers.get("instance", 0) - 1
        self.generation = numbers.get("generation", 0) - 1
        self.others = {
            name[:-1]: number - 1
            for name, number in numbers.items()
            if name.endswith("2") and name[:-1] in _OWN
        }
        self.bracket, self.statement = numbers.get("open", 0), numbers.get("statement", 0)
        self.fields = tuple(
            (number - 1, name.rstrip("2"))
            for name, number in numbers.items()
            if name.rstrip("2") not in _OWN
        )


_READ = tuple(_Pattern(*row) for row in _PATTERNS)
_LONGEST = 32_768
"""Characters of a text in which a message is searched for at any place."""
_BEFORE = 1_500
"""Characters of a message that may stand before its mark."""
_LEAST_MARK = 15
"""Characters of a mark that other messages don't have."""
_WORD = 6
"""Characters by which the patterns of a message are chosen."""
_BY_WORD: dict[str, tuple[_Pattern, ...]] = {
    word: tuple(each for each in _READ if each.regex.pattern.replace("\\", "").startswith(word))
    for word in {pattern.replace("\\", "")[:_WORD] for _, _, pattern in _PATTERNS}
}

OFFSETS = "about offsets"
REPEATS = "another line says it, too"
TOO_LATE = "a timer or request that came too late, and changed nothing"
NO_GROUP = "about no group in particular"
NOT_CHANGED = "a change of the protocol that did not take place"
DELETED = "about groups that have no member and are deleted"
PASSED: tuple[tuple[str, str], ...] = (
    # Static members
    ("Static member which joins during Stable stage", REPEATS),
    ("Static member joins during", REPEATS),
    ("Static Member with unknown member id joins group", REPEATS),
    ("was not supposed to be", REPEATS),
    ("Reverting to old member id", REPEATS),
    # Rebalances
    ("Group leader [", REPEATS),
    ("could not complete rebalance because no members rejoined", REPEATS),
    ("Cannot complete join phase of group", REPEATS),
    ("empty assignment", REPEATS),
    ("Attempted to write member", REPEATS),
    ("Failed to persist metadata for group", REPEATS),
    ("Failed to write empty metadata for group", REPEATS),
    ("Appending metadata message for group", REPEATS),
    ("Metadata from group", REPEATS),
    ("Failed to parse Consumer Protocol", REPEATS),
    ("Failed to invoke", REPEATS),
    ("Received unexpected JoinGroup with groupInstanceId=", REPEATS),
    # Timers
    ("has already been removed from the group", TOO_LATE),
    ("was not found in", TOO_LATE),
    ("Received notification of heartbeat expiration", TOO_LATE),
    ("Received notification of sync expiration", TOO_LATE),
    ("Received unexpected notification of sync expiration", TOO_LATE),
    ("is dead, skipping rebalance stage", TOO_LATE),
    ("Cannot find the group, skipping", TOO_LATE),
    ("Attempt to add rejoining member", TOO_LATE),
    ("unexpected condition for Dead group", TOO_LATE),
    # Deletion
    ("marked for deletion", DELETED),
    # Offsets, and their partitions
    ("ffset commit", OFFSETS),
    ("OffsetCommit", OFFSETS),
    ("ransactional offset", OFFSETS),
    ("offsets associated with deleted partitions", OFFSETS),
    ("expired offsets", OFFSETS),
    ("expired/deleted", OFFSETS),
    ("xpired offset", OFFSETS),
    ("Getting offsets", OFFSETS),
    ("Could not fetch offsets for group", OFFSETS),
    ("Initialized offsets", OFFSETS),
    ("offset commits from consumers as well", OFFSETS),
    ("has moved away from", OFFSETS),
    ("Committing offsets", OFFSETS),
    ("Committing transactional offsets", OFFSETS),
    ("manual offset commit", OFFSETS),
    ("offsets and group metadata", NO_GROUP),
    ("Error loading offsets", NO_GROUP),
    ("Finished unloading", NO_GROUP),
    ("Unexpected unload of active group", REPEATS),
    ("Attempt to load group", REPEATS),
    ("is no longer a coordinator for the group", REPEATS),
    ("Loaded group metadata", REPEATS),
    ("Elected as the group coordinator", NO_GROUP),
    ("tombstone", DELETED),
    ("Cannot upgrade classic group", NOT_CHANGED),
    # The coordinator itself
    ("Starting up", NO_GROUP),
    ("Startup complete", NO_GROUP),
    ("Shutting down", NO_GROUP),
    ("Shutdown complete", NO_GROUP),
    ("hit an unexpected exception", NO_GROUP),
    ("an unknown group type", NO_GROUP),
    ("UNCERTAIN barrier", NO_GROUP),
    ("StoredDescriptionTopologyEpoch", NO_GROUP),
    ("Unknown group metadata", NO_GROUP),
    ("does not support", NO_GROUP),
)
"""Fragments of messages that say nothing new about a group's members, each with the reason."""

CONSUMER, SHARE, STREAMS, ANY = "consumer", "share", "streams", ANY_PROTOCOL
"""The protocols of groups that are not classic."""
_OTHER: tuple[tuple[re.Pattern[str], str | None], ...] = tuple(
    (re.compile(pattern), protocol)
    for pattern, protocol in (
        (r"\[GroupId (?P<group>[^\]]+)\]\[MemberId ", STREAMS),
        (r"\[GroupId (?P<group>[^\]]+)\] .*\b[Ss]treams\b", STREAMS),
        (r"\[GroupId (?P<group>[^\]]+)\] .*\bshare (?:group|protocol)\b", SHARE),
        (r"\[GroupId (?P<group>[^\]]+)\] .*\bconsumer group\b", CONSUMER),
        (r"\[GroupId[ =](?P<group>[^\]]+)\] .*\bfor group epoch\b", ANY),
        (r"\[Group (?P<group>[^\]]+)\] (?:Dynamic|Static) Member ", CONSUMER),
        ((r"Loaded (?:member \S+ in )?(?P<protocol>consumer|share|streams) group "
         r"(?P<group>\S+?)(?=\.?(?:\s|$|[\"'`|]))"), None),
        (r"(?P<protocol>share|streams) group (?:id )?(?P<group>[^\s{]+)", None),
        (r"\bdowngrade (?:the )?consumer group (?P<group>\S+)", CONSUMER),
        (r"\bconsumer group (?P<group>\S+) (?:to|with the) classic", CONSUMER),
        (r"\[GroupId (?P<group>[^\]]+)\]", ANY),
    )
)  # fmt: skip

_WHO = re.compile(
    r"\[Group(?:Coordinator|MetadataManager|Id)? [^\]]+\]|\bGroup(?:Coordinator|Metadata)"
    r"(?:Manager|Service|Shard)?\b|coordinator\.group\.|\bClassicGroup\b"
)
_ABOUT = re.compile(
    r"(?<![\w.-])[Gg]roups? (?!coordinator\b)[^\s(]|\[Group(?:Id)?[ =]|\bgeneration \d"
    r"|(?<![\w.-])[Mm]ember(?:s|Metadata)?\b(?![.-])"
)
_LOGGER = re.compile(
    r"[\s\"'`,;|]*\((?:[\w$]+\.)*(?:Group|Classic|Delayed|Coordinator)\w*(?::\d+)?\)"
)
_BEHIND = re.compile(
    r"[\"`|│║\t\r\n\x1b]|\\[nrt]|</?\w+>| - \w+=| \[[\w-]+[\w:.-]*\]\s*$"
    r"|\s+\((?:[\w$]+\.)+\w+(?::\d+)?\)"
)
"""Ends of a message that has none of its own: a quote, a border, a suffix of the layout."""
_ESCAPE = re.compile("\x1b\\[[0-9;]*[A-Za-z]")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\S(?:[^*]*\S)?)\*(?![\w*])")
_SPACES = re.compile(r"\s+")
_TAG = re.compile(r"</?(?:b|i|em|strong|code|span|mark|br)\b[^>]*>")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_MARKS = frozenset("`*_")


def read_message(text: str, at: int = 0) -> Message | None:
    """Return the first message in a text that is read, at or after a place; None if none is."""
    prefix = text.find("[GroupCoordinator ", at)
    if prefix >= 0:
        begin = text.find("]", prefix) + 1
        begin += text.startswith(":", begin)
        begin += text.startswith(" ", begin)
        for pattern in _BY_WORD.get(text[begin : begin + _WORD], ()):
            match = pattern.regex.match(text, begin)
            if match is not None:
                return _message(pattern, match, text)
    best: Message | None = None
    if len(text) - at > _LONGEST:
        return None
    for pattern in _READ:
        marked = text.find(pattern.mark, at)
        if marked < 0:
            continue
        match = pattern.regex.search(text, max(at, marked - _BEFORE))
        if match is not None and (best is None or match.start() < best.start):
            best = _message(pattern, match, text) or best
    return best


def _message(pattern: _Pattern, match: re.Match[str], text: str) -> Message | None:
    """Make the message of a match; None where it is cut off."""
    kind, groups, end = pattern.kind, match.groups(), match.end()
    fields: dict[str, str] = {}
    for number, name in pattern.fields:
        if groups[number] is not None:
            fields[name] = groups[number]
    if pattern.bracket and groups[pattern.bracket - 1]:
        inner = _bracketed(text, match.start(pattern.bracket), end)
        if inner is None:
            return None
        end += len(inner) + 1
        fields["reason" if kind is MessageKind.PREPARING else "members"] = inner
        if "; client reason: " in inner:
            fields["statement"] = inner.partition("; client reason: ")[2]
    elif kind is MessageKind.PREPARING:
        if "state" in fields:
            return None
        fields["reason"] = ""  # Kafka before 2.1 names neither state nor reason
    elif kind is MessageKind.STABILIZED and "partition" not in fields and "members" not in fields:
        return None
    elif pattern.statement and groups[pattern.statement - 1] is not None:
        fields["reason"] = fields["statement"] = statement = _freed(groups[pattern.statement - 1])
        end = match.start(pattern.statement) + len(statement)
    group = groups[pattern.group] if pattern.group >= 0 else ""
    member_id = groups[pattern.member_id] if pattern.member_id >= 0 else ""
    instance_id = groups[pattern.instance] if pattern.instance >= 0 else None
    if pattern.others:  # the same in other places of the pattern
        others = {name: groups[number] for name, number in pattern.others.items()}
        group, member_id = group or others.get("group"), member_id or others.get("member_id")
        instance_id = instance_id or others.get("instance")
    generation = groups[pattern.generation] if pattern.generation >= 0 else None
    return Message(
        kind,
        _plain(group) if group else "",
        _plain(member_id) if member_id else "",
        instance_id,
        None if generation is None else int(generation),
        match.start(),
        end,
        fields,
    )


def _plain(name: str) -> str:
    """Return a name without the marks of emphasis around it."""
    if name[0] not in _MARKS:
        return name
    for mark in ("`", "**", "__"):
        if len(name) > 2 * len(mark) and name.startswith(mark) and name.endswith(mark):
            return name[len(mark) : -len(mark)]
    return name


def _bracketed(text: str, opened: int, begin: int) -> str | None:
    """Return the text from `begin` to the bracket that closes the one at `opened`.

    Clients choose their ids and reasons, which may have brackets without their pair: then the last
    one before the logger counts.
    """
    opening = text[opened]
    closing = _CLOSING[opening]
    depth, at = 0, opened
    while (close := text.find(closing, at)) >= 0:
        depth += text.count(opening, at, close) - 1
        if not depth:
            break
        at = close + 1
    is_plain = close >= 0 and (at == opened or not _LOGGER.search(text, begin, close + 1))
    if is_plain:
        return text[begin:close]
    logger = _LOGGER.search(text, begin)
    last = text.rfind(closing, begin, len(text) if logger is None else logger.start())
    return None if last < 0 else text[begin:last]


def _freed(statement: str) -> str:
    """Return a text that ends the message without what the layout has behind it."""
    logger = _LOGGER.search(statement)
    statement = statement if logger is None else statement[: logger.start()]
    behind = _BEHIND.search(statement)
    return (statement if behind is None else statement[: behind.start()]).rstrip()


def mended(text: str) -> str:
    """Return a text without what copying added: colours, entities, emphasis, other spaces."""
    text = _ESCAPE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    text = _TAG.sub("", text.replace("\\u003c", "<").replace("\\u003e", ">").replace('\\"', '"'))
    text = _EMPHASIS.sub(r"\1", text.replace("**", ""))
    return _SPACES.sub(" ", text)


def passed_over(text: str) -> str | None:
    """Return the reason why a coordinator's message says nothing of members; None if it may."""
    return next((because for fragment, because in PASSED if fragment in text), None)


def other_protocol(text: str) -> tuple[str, str] | None:
    """Return the group, and the protocol, of a message about a group that is not classic."""
    for pattern, protocol in _OTHER:
        match = pattern.search(text)
        if match is not None:
            words: Mapping[str, str | None] = match.groupdict()
            return match["group"], protocol or words.get("protocol") or ANY
    return None


def is_of_coordinator(text: str) -> bool:
    """Return True if a line is of a group coordinator, by its prefix or its logger."""
    return _WHO.search(text) is not None


def is_about_group(text: str) -> bool:
    """Return True if a coordinator's line is about a group or its members, also if it is cut."""
    if _ABOUT.search(_WHO.sub("", text)) is not None:
        return True
    return any(len(pattern.mark) > _LEAST_MARK and pattern.mark in text for pattern in _READ)
