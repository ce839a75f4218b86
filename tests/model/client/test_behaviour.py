from __future__ import annotations

from fencepost.model.client.behaviour import MEMBER_APIS, REACTIONS, RIGHT, Conduct, Reaction
from fencepost.model.messages.errors import Error


def test_each_row_of_the_table_is_there_once() -> None:
    keys = [(row.api, row.error) for row in REACTIONS]
    assert len(keys) == len(set(keys))


def test_a_fence_is_fatal_on_every_api_of_members() -> None:
    for api in MEMBER_APIS:
        assert RIGHT.reaction(api, Error.FENCED_INSTANCE_ID.value) is Reaction.FAIL


def test_of_an_error_that_nobody_knows_the_user_is_told() -> None:
    assert RIGHT.reaction("Heartbeat", 12_345) is Reaction.TELL
    assert RIGHT.reaction("JoinGroup", "MEMBER_ID_MISMATCH") is Reaction.TELL


def test_a_departure_changes_its_own_row_alone() -> None:
    error = Error.FENCED_INSTANCE_ID
    lying = Conduct(reactions=(("SyncGroup", error, Reaction.GO_ON),))
    assert lying.reaction("SyncGroup", error.value) is Reaction.GO_ON
    assert lying.reaction("JoinGroup", error.value) is Reaction.FAIL
