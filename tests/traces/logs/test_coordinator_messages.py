"""Each message about a group in the jars of Kafka 1.0 to 4.4: read as what, or passed over and why.

The fragments are those of the message strings in the classes of both coordinators, with values of
our own.  A release that is not named has the words of the one before it.
"""

from __future__ import annotations

import re

import pytest

from fencepost.traces.logs import coordinator_messages as words
from fencepost.traces.logs.coordinator_messages import (
    CONSUMER,
    DELETED,
    NO_GROUP,
    NOT_CHANGED,
    OFFSETS,
    REPEATS,
    SHARE,
    STREAMS,
    TOO_LATE,
    Message,
    MessageKind,
    is_about_group,
    is_of_coordinator,
    other_protocol,
    passed_over,
    read_message,
)

OLD, NEW = "[GroupCoordinator 1]: ", "[GroupCoordinator id=1 topic=__consumer_offsets partition=7] "
OLD_END = " (kafka.coordinator.group.GroupCoordinator)"
NEW_END = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
ON = "(__consumer_offsets-7)"
OF_MEMBER = (
    "MemberMetadata(memberId=m-1, groupInstanceId=Some(i), clientId=c, clientHost=/10.0.0.1, "
    "sessionTimeoutMs=6000, rebalanceTimeoutMs=9000, supportedProtocols=List(range, sticky))"
)
K = MessageKind
READ: tuple[tuple[str, MessageKind, str], ...] = (
    # Old coordinator
    ("1.0", K.PREPARING, f"Preparing to rebalance group g with old generation 4 {ON}"),
    (
        "2.1",
        K.PREPARING,
        (
            f"Preparing to rebalance group g in state PreparingRebalance with old "
            f"generation 4 {ON} (reason: Adding new member m-1)"
        ),
    ),
    ("1.0", K.STABILIZED, f"Stabilized group g generation 5 {ON}"),
    ("2.8", K.STABILIZED, f"Stabilized group g generation 5 {ON} with 2 members"),
    ("1.0", K.ASSIGNED, "Assignment received from leader for group g for generation 5"),
    (
        "2.8",
        K.ASSIGNED,
        (
            "Assignment received from leader for group g for generation 5. The group "
            "has 2 members, 1 of which are static."
        ),
    ),
    (
        "3.0",
        K.ASSIGNED,
        (
            "Assignment received from leader m-1 for group g for generation 5. The "
            "group has 2 members, 1 of which are static."
        ),
    ),
    ("1.0", K.EMPTY, f"Group g with generation 6 is now empty {ON}"),
    ("1.0", K.FAILED, "Member m-1 in group g has failed, removing it from the group"),
    ("1.0", K.LEFT, "Member m-1 in group g has left, removing it from the group"),
    (
        "2.4",
        K.LEFT,
        (
            "Member[group.instance.id Some(i), member.id m-1] in group g has left, "
            "removing it from the group"
        ),
    ),
    ("3.0", K.LEFT, f"Member {OF_MEMBER} has left group g through explicit `LeaveGroup` request"),
    (
        "3.2",
        K.LEFT,
        (
            f"Member {OF_MEMBER} has left group g through explicit `LeaveGroup`; client "
            "reason: not provided"
        ),
    ),
    ("1.0", K.LOADED, "Loading group metadata for g with generation 3"),
    ("1.0", K.UNLOADED, "Unloading group metadata for g with generation 3"),
    (
        "2.5",
        K.MEMBER_LOADED,
        (
            f"Static member {OF_MEMBER}.groupInstanceId of group g loaded with "
            "member id m-1 at generation 3."
        ),
    ),
    ("2.8", K.MEMBER_LOADED, "Loaded member m-1 in group g with generation 3."),
    (
        "1.0",
        K.PARTITION_LOADED,
        (
            "Finished loading offsets and group metadata from "
            "__consumer_offsets-7 in 12 milliseconds."
        ),
    ),
    ("1.0", K.ENDED, "Group g transitioned to Dead in generation 6"),
    (
        "1.1",
        K.DELETED,
        "The following groups were deleted: x, y. A total of 3 offsets were removed",
    ),
    (
        "1.0",
        K.PARTITION_UNLOADED,
        "Scheduling unloading of offsets and group metadata from __consumer_offsets-7",
    ),
    (
        "3.7+new",
        K.PARTITION_UNLOADED,
        "Finished unloading metadata for __consumer_offsets-7 with epoch OptionalInt[2].",
    ),
    ("2.8", K.PARTITION_UNLOADED, "Resigned as the group coordinator for partition 7 in epoch 2"),
    (
        "2.2",
        K.NAME_EXPIRED,
        ("Pending member m-1 in group g has been removed after session timeout expiration."),
    ),
    ("2.2", K.NAME_RETURNED, "Pending member m-1 is leaving group g."),
    (
        "3.0",
        K.NAME_RETURNED,
        ("Pending member with memberId=m-1 has left group g through explicit `LeaveGroup` request"),
    ),
    (
        "2.3",
        K.REPLACED,
        (
            "Static member Some(i) with unknown member id rejoins, assigning new "
            "member id m-1, while old member m-0 will be removed."
        ),
    ),
    (
        "2.5",
        K.REPLACED,
        (
            "Static member Some(i) of group g with unknown member id rejoins, "
            "assigning new member id m-1, while old member id m-0 will be removed."
        ),
    ),
    (
        "3.0",
        K.REPLACED,
        (
            "Static member with groupInstanceId=i and unknown member id joins group g "
            "in Stable state. Replacing previously mapped member m-0 with this "
            "groupInstanceId."
        ),
    ),
    (
        "2.3",
        K.FENCED,
        (
            "given member.id m-1 is identified as a known static member i,but not "
            "matching the expected member.id m-2"
        ),
    ),
    (
        "2.5",
        K.FENCED,
        (
            "given member.id m-1 is identified as a known static member i, but not "
            "matching the expected member.id m-2 during heartbeat, will respond with instance "
            "fenced "
            "error"
        ),
    ),
    (
        "3.0",
        K.FENCED,
        (
            "Request memberId=m-1 for static member with groupInstanceId=i is fenced by "
            "current memberId=m-2 during operation heartbeat"
        ),
    ),
    (
        "2.4",
        K.NAMED,
        (
            "Dynamic member with unknown member id rejoins group g in Stable state. "
            "Created a new member id m-1 and request the member to rejoin with this id."
        ),
    ),
    (
        "2.5",
        K.NAMED,
        (
            "Dynamic member with unknown member id joins group g in Stable state. "
            "Created a new member id m-1 and request the member to rejoin with this id."
        ),
    ),
    (
        "2.5",
        K.JOINED,
        (
            "Dynamic Member with unknown member id joins group g in Stable state. "
            "Created a new member id m-1 for this member and add to the group."
        ),
    ),
    ("2.5", K.JOINED, "Adding new static member Some(i) to group g with member id m-1."),
    (
        "3.0",
        K.JOINED,
        (
            "Static member with groupInstanceId=i and unknown member id joins group g "
            "in Empty state. Created a new member id m-1 for this member and add to the group."
        ),
    ),
    (
        "2.5",
        K.USED,
        (
            "Dynamic Member with specific member id m-1 joins group g in Stable state. "
            "Adding to the group now."
        ),
    ),
    (
        "3.0",
        K.USED,
        (
            "Pending dynamic member with id m-1 joins group g in Stable state. Adding to "
            "the group now."
        ),
    ),
    ("2.7", K.DROPPED, "Group g remove dynamic members who haven't joined: Set(m-1, m-2)"),
    ("2.8", K.DROPPED, "Group g removed dynamic members who haven't joined: HashSet(m-1, m-2)"),
    ("2.8", K.DROPPED, "Group g removed members who haven't sent their sync request: Set(m-1)"),
    # New coordinator, since 3.6
    (
        "3.6+new",
        K.PREPARING,
        (
            "Preparing to rebalance group g in state PreparingRebalance with old "
            "generation 4 (reason: removing member m-1 on heartbeat expiration.)."
        ),
    ),
    ("3.6+new", K.STABILIZED, "Stabilized group g generation 5 with 2 members."),
    (
        "3.6+new",
        K.ASSIGNED,
        (
            "Assignment received from leader m-1 for group g for generation 5. The "
            "group has 2 members, 0 of which are static."
        ),
    ),
    ("3.6+new", K.EMPTY, "Group g with generation 6 is now empty."),
    ("3.6+new", K.FAILED, "Member m-1 in group g has failed, removing it from the group."),
    (
        "3.6+new",
        K.NAMED,
        (
            "Dynamic member with unknown member id joins group g in Stable state. "
            "Created a new member id m-1 and requesting the member to rejoin with this id."
        ),
    ),
    (
        "3.6+new",
        K.JOINED,
        (
            "Dynamic member with unknown member id joins group g in state Stable. "
            "Created a new member id m-1 and added the member to the group."
        ),
    ),
    (
        "3.6+new",
        K.JOINED,
        (
            "Static member with groupInstanceId=i and unknown member id joins group "
            "g in Empty state. Created a new member id m-1 for this member and added to the group."
        ),
    ),
    (
        "3.6+new",
        K.REPLACED,
        (
            "Static member with groupInstanceId=i and unknown member id joins "
            "group g in Stable state. Replacing previously mapped member m-0 with this "
            "groupInstanceId."
        ),
    ),
    ("3.6+new", K.DROPPED, "Group g removed members who haven't sent their sync requests: [m-1]"),
    ("3.6+new", K.DROPPED, "Group g removed dynamic members who haven't joined: [m-1, m-2]"),
    ("3.6+new", K.LOADED, "Loaded generic group g with 2 members."),
    ("3.7+new", K.LOADED, "Loaded classic group g with 2 members."),
    ("3.7+new", K.MEMBER_LOADED, "Loaded member m-1 in classic group g."),
    ("3.8+new", K.UNLOADED, "[GroupId=g] Unloading group metadata for generation 5."),
    (
        "3.7+new",
        K.PARTITION_LOADED,
        (
            "Finished loading of metadata from __consumer_offsets-7 with "
            "epoch 2 in 5ms where 1ms was spent in the scheduler."
        ),
    ),
    (
        "3.7+new",
        K.LEFT,
        (
            "[Group g] Member m-1 has left group through explicit `LeaveGroup` "
            "request; client reason: not provided"
        ),
    ),
    (
        "3.7+new",
        K.NAME_RETURNED,
        (
            "[Group g] Pending member m-1 has left group through explicit "
            "`LeaveGroup` request; client reason: not provided"
        ),
    ),
    (
        "3.7+new",
        K.FENCED,
        (
            "Request memberId=m-1 for static member with groupInstanceId=i is fenced "
            "by existing memberId=m-2 during operation HEARTBEAT"
        ),
    ),
)

PASSED = (
    ("2.3", REPEATS, "Static member joins during Stable stage will not trigger rebalance."),
    (
        "2.6",
        REPEATS,
        (
            "Static member which joins during Stable stage and doesn't affect "
            "selectProtocol will not trigger rebalance."
        ),
    ),
    (
        "2.5",
        REPEATS,
        (
            "Static Member with unknown member id joins group g in Stable state. Created "
            "a new member id m-1 for this member and add to the group."
        ),
    ),
    (
        "2.3",
        REPEATS,
        (
            "Group leader [member.id: m-1, group.instance.id: Some(i)] failed to join "
            "before rebalance timeout, while new leader m-2 was elected."
        ),
    ),
    ("2.3", REPEATS, "Group g could not complete rebalance because no members rejoined"),
    ("2.5", REPEATS, "Setting empty assignments for members Set(m-1) of g for generation 5"),
    ("2.6", REPEATS, "Failed to persist metadata for group g: NOT_ENOUGH_REPLICAS"),
    ("1.0", REPEATS, "Failed to write empty metadata for group g: NOT_ENOUGH_REPLICAS"),
    (
        "1.0",
        REPEATS,
        (
            "Appending metadata message for group g generation 5 failed due to "
            "NOT_ENOUGH_REPLICAS, returning UNKNOWN error code to the client"
        ),
    ),
    (
        "2.4",
        REPEATS,
        (
            "Failed to parse Consumer Protocol consumer:range of group g. Consumer group "
            "coordinator is not aware of the subscribed topics."
        ),
    ),
    ("2.2", TOO_LATE, "Member m-1 has already been removed from the group."),
    ("2.2", TOO_LATE, "Member id m-1 was not found in g during heartbeat expiration."),
    (
        "2.2",
        TOO_LATE,
        (
            "Received notification of heartbeat expiration for member m-1 after group g "
            "had already been unloaded or deleted."
        ),
    ),
    (
        "2.8",
        TOO_LATE,
        (
            "Received unexpected notification of sync expiration for g with an old "
            "generation 4 while the group has 5."
        ),
    ),
    ("2.3", TOO_LATE, "Group g is dead, skipping rebalance stage"),
    (
        "2.2",
        TOO_LATE,
        ("Attempt to add rejoining member m-1 of group g in unexpected group state Dead"),
    ),
    (
        "1.0",
        DELETED,
        (
            "Group g removed from the metadata cache and marked for deletion in "
            "__consumer_offsets-7."
        ),
    ),
    ("1.0", OFFSETS, "TxnOffsetCommit for producer 7 and group g with offsets Map() is pending"),
    ("2.1", OFFSETS, "Expired offsets from group 'g': Set(t-0)"),
    (
        "1.0",
        OFFSETS,
        (
            "Offset commit Map() from group g, consumer m-1 with generation 5 failed when "
            "appending to log due to NOT_ENOUGH_REPLICAS"
        ),
    ),
    ("1.0", NO_GROUP, "Scheduling loading of offsets and group metadata from __consumer_offsets-7"),
    ("2.8", NO_GROUP, "Elected as the group coordinator for partition 7 in epoch 3"),
    ("1.0", NO_GROUP, "Startup complete."),
    (
        "3.8+new",
        NOT_CHANGED,
        (
            "Cannot upgrade classic group g to consumer group because the group does "
            "not use the consumer embedded protocol."
        ),
    ),
    (
        "3.6+new",
        OFFSETS,
        "[GroupId g] Committing offsets 7 for partition t-0 from member m-1 with leader epoch 3.",
    ),
    ("4.0", OFFSETS, "[GroupId g] Creating a simple consumer group via manual offset commit."),
    ("3.7+new", OFFSETS, "[GroupId g] Expired offset for partition=t-0"),
)

OTHERS = (
    ("4.2", CONSUMER, "Cannot downgrade consumer group g to classic group because it is disabled."),
    (
        "3.8+new",
        CONSUMER,
        (
            "[Group g] Dynamic Member m-1 has left group through explicit "
            "`LeaveGroup` request; client reason: not provided"
        ),
    ),
    (
        "4.0",
        CONSUMER,
        (
            "[GroupId g] Member m-1 fenced from the consumer group because the member "
            "session expired."
        ),
    ),
    ("3.6+new", CONSUMER, "[GroupId g] Member m-1 joins the consumer group."),
    ("3.6+new", CONSUMER, "Loaded consumer group g with 2 members."),
    ("3.6+new", words.ANY, "[GroupId g] Bumped group epoch to 5."),
    ("3.9+new", SHARE, "[GroupId g] Member m-1 joins the share group using the share protocol."),
    ("4.2", STREAMS, "[GroupId g][MemberId m-1] Member joins the streams group."),
    (
        "4.2",
        STREAMS,
        (
            "[GroupId g] Streams member m-1 fenced from the group because the member "
            "session expired."
        ),
    ),
    (
        "4.4",
        STREAMS,
        ("[GroupId g][MemberId m-1] Static member i with instance id i left the streams group."),
    ),
)


def whole(release: str, text: str) -> str:
    is_new = "+new" in release or release.startswith("4")
    return f"{NEW}{text}{NEW_END}" if is_new else f"{OLD}{text}{OLD_END}"


def read(text: str) -> Message:
    message = read_message(text)
    assert message is not None
    return message


@pytest.mark.parametrize(("release", "kind", "text"), READ, ids=lambda part: str(part)[:50])
def test_each_message_of_each_release_is_read(release: str, kind: MessageKind, text: str) -> None:
    for form in (whole(release, text), text):
        message = read(form)
        assert message.kind is kind
        assert message.group == ("g" if re.search(r"\bg\b", text) else "")
        if "m-1" in text and kind not in {K.DROPPED, K.PREPARING}:
            assert message.member_id == "m-1"
        if "generation " in text:
            assert message.generation is not None
        assert form[message.start : message.start + 6] in {text[:6], f"[{text[1:6]}"}


@pytest.mark.parametrize(("release", "because", "text"), PASSED, ids=lambda part: str(part)[:50])
def test_other_messages_are_passed_over_for_a_reason(release: str, because: str, text: str) -> None:
    assert read_message(whole(release, text)) is None
    assert passed_over(whole(release, text)) == because


@pytest.mark.parametrize(("release", "protocol", "text"), OTHERS, ids=lambda part: str(part)[:50])
def test_groups_of_other_protocols_are_never_classic(
    release: str, protocol: str, text: str
) -> None:
    assert read_message(whole(release, text)) is None
    assert other_protocol(whole(release, text)) == ("g", protocol)


@pytest.mark.parametrize(
    "text",
    [
        "Member m-1 of group g dances in Stable state",
        "Preparing to rebalance group g in state PreparingRebalance with old gener",
        f"Preparing to rebalance group g in state PreparingRebalance with old generation 4 {ON}",
        "Preparing to rebalance group g in state S with old generation 4 (reason: removing mem",
        "Stabilized group g generation 5",
    ],
)
def test_new_words_and_lines_that_are_cut_are_neither_read_nor_passed_over(text: str) -> None:
    line = OLD + text
    assert read_message(line) is None
    assert passed_over(line) is None
    assert other_protocol(line) is None
    assert is_of_coordinator(line)
    assert is_about_group(line)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "(reason: explicit `LeaveGroup` request for (a, b) members.).",
            "explicit `LeaveGroup` request for (a, b) members.",
        ),
        (
            "(reason: Adding new member a(1-x with group instance id None)",
            "Adding new member a(1-x with group instance id None",
        ),
        (
            "(reason: error when storing group assignment during SyncGroup (member: a))",
            "error when storing group assignment during SyncGroup (member: a)",
        ),
    ],
)
def test_a_reason_is_read_as_it_stands(text: str, reason: str) -> None:
    line = f"{OLD}Preparing to rebalance group g in state P with old generation 1 {ON} {text}"
    for end in ("", OLD_END, f"{OLD_END} [thread-1]", '",'):
        assert read(line + end).fields["reason"] == reason


def test_what_a_client_says_ends_before_the_logger() -> None:
    line = "[Group g] Member m has left group through explicit `LeaveGroup` request; client reason:"
    for end in ("", NEW_END, f"{NEW_END} [thread-1]", '",INFO', " │", "\t(x)"):
        assert read(f"{NEW}{line} the app (v2) is closed{end}").fields["statement"] == (
            "the app (v2) is closed"
        )
