"""Counts and ids in words: plurals are right, and an id of thousands of characters is cut."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from fencepost.model.history.words import (
    WrongField,
    answer_words,
    decoded,
    made_by,
    plural,
    quoted,
    request_words,
    with_article,
    without_names,
    wrong_field,
)
from fencepost.model.messages.subscription import TopicPartition, encode_assignment


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (4000, "4,000 cases")]
)
def test_a_plural(number: int, said: str) -> None:
    assert plural(number, "case") == said


def test_a_version_that_nobody_knows_is_called_so() -> None:
    assert made_by("kfake", "1.2") == "kfake 1.2"
    assert made_by("kfake", "") == "kfake"
    assert made_by("the broker at here:1", "unknown") == "the broker at here:1, version unknown"


def test_a_long_id_is_cut_and_a_usual_one_is_not() -> None:
    usual = "consumer-orders-1-6b1f6e1c-0c0c-4b4e-8a6b-1f1e1d1c1b1a"
    assert quoted(usual) == f'"{usual}"'
    assert quoted("x" * 5000) == f'"{"x" * 40}…" (5,000 characters)'
    assert quoted("\n" * 200).startswith('"\\x0a\\x0a')


def test_no_field_of_a_request_or_an_answer_says_thousands_of_characters() -> None:
    long = "y" * 5000
    rows = [{"memberId": long, "groupInstanceId": long, "errorCode": 0}]
    body = {"groupId": long, "memberId": long, "groupInstanceId": long, "generationId": 1}
    told = [
        request_words("Heartbeat", 4, body, {}),
        request_words("LeaveGroup", 4, {"groupId": "g", "members": rows}, {}),
        answer_words("LeaveGroup", {"errorCode": 0, "members": rows}, {}),
        answer_words("JoinGroup", {"errorCode": 25, "memberId": long}, {}),
        answer_words("JoinGroup", {"errorCode": 0, "memberId": long, "leader": "z" * 5000}, {}),
    ]
    assert max(map(len, told)) < 400
    assert all("(5,000 characters)" in said for said in told)


def _subscription(*topics: str) -> str:
    listed = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return base64.b64encode(struct.pack(">hi", 0, len(topics)) + listed).decode()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"protocolType": "connect"}, ', protocol type "connect"'),
        ({"protocolType": ""}, ', protocol type ""'),
        ({"protocols": []}, ", no protocols"),
        ({"sessionTimeoutMs": 2**31 - 1}, ", session timeout 2147483647"),
        (
            {"protocols": [{"name": "range", "metadata": _subscription("t", "u")}]},
            ", protocols range of t, u",
        ),
        (
            {"protocols": [{"name": "range", "metadata": "AAE="}, {"name": "sticky"}]},
            ", protocols range, sticky",
        ),
    ],
)
def test_a_join_says_what_is_not_as_usual(changed: dict[str, Any], said: str) -> None:
    protocols = [{"name": "range", "metadata": _subscription("t")}]
    usual = {"memberId": "a", "protocolType": "consumer", "protocols": protocols}
    words = request_words("JoinGroup", 9, {**usual, **changed}, {"a": "a"})
    assert words == f"JoinGroup v9 (member a{said})"


def test_a_sync_says_which_protocol_it_names_if_it_is_not_the_usual_one() -> None:
    body = {"memberId": "a", "protocolType": None, "protocolName": "sticky"}
    words = request_words("SyncGroup", 5, body, {"a": "a"})
    assert words == 'SyncGroup v5 (member a, protocol type null, protocol "sticky")'


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        ("protocolType None instead of 'consumer'", ("protocolType", "null", '"consumer"')),
        ("generationId 2 instead of 1", ("generationId", "2", "1")),
        ("members[0].memberId 'a-1' instead of ''", ("members[0].memberId", '"A1"', '""')),
        (r"memberId '' instead of '\x00new-1'", ("memberId", '""', "a new id")),
        (
            "topics[t-0].errorCode UNKNOWN_MEMBER_ID instead of ILLEGAL_GENERATION",
            ("topics[t-0].errorCode", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"),
        ),
        ("bytes 'a null' instead of 'as the version says'", None),
        ("answered nearly what the model answers", None),
    ],
)
def test_the_field_that_is_wrong(difference: str, said: tuple[str, str, str] | None) -> None:
    assert wrong_field(difference, {"a-1": "A1"}) == (None if said is None else WrongField(*said))


@pytest.mark.parametrize(
    ("word", "said"),
    [("JoinGroup", "a JoinGroup"), ("OffsetCommit", "an OffsetCommit"), ("int", "an int")],
)
def test_a_word_has_its_article(word: str, said: str) -> None:
    assert with_article(word) == said


def test_what_a_malformed_join_lacks_is_said() -> None:
    lacks = {"errorCode": 0, "memberId": "A-1", "members": []}
    assert answer_words("JoinGroup", lacks, {}) == "NONE, no generation, no leader"


def test_the_error_of_a_fetched_group_is_said() -> None:
    groups = [{"groupId": "g", "errorCode": 113, "topics": []}]
    assert answer_words("OffsetFetch", {"groups": groups}, {}) == "STALE_MEMBER_EPOCH"


_ALONE = "JoinGroup: NONE, generation 3, follows"
_REFUSED = "JoinGroup: UNKNOWN_MEMBER_ID, member id"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (f"B2 {_ALONE}", "x JoinGroup #4: NONE, generation 17, follows", True),
        ("a JoinGroup: leads [A, B]", "A1 JoinGroup: leads [A]", True),
        ("a Heartbeat: NONE", "a Heartbeat: UNKNOWN_MEMBER_ID", False),
        ("a Heartbeat: NONE", "a SyncGroup: NONE", False),
        (f"b {_REFUSED} b", f"A2 {_REFUSED} A2 (id 2)", True),
    ],
)
def test_observed_words_without_names_and_numbers(one: str, other: str, same: bool) -> None:
    assert (without_names(one) == without_names(other)) is same


def test_an_assignment_that_a_coordinator_makes_is_in_words() -> None:
    def words(data: bytes) -> str:
        return decoded(base64.b64encode(data).decode())

    both = encode_assignment([TopicPartition("t", 0), TopicPartition("u", 1)], 0)
    assert words(both) == "of t-0, u-1"
    assert words(encode_assignment([])) == "of nothing"
    for other in (both + b"\0", both[:-1], encode_assignment([], user_data=b"")):
        assert words(other).startswith("base64 ")
