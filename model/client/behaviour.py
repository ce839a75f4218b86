"""Define the behaviour of the reference client as data, and the settings of a consumer.

`REACTIONS` is the table of error answers: (API, error) → reaction.  `Conduct` has the rest, a field
for each decision.  The fields' defaults are the client's duties; a faulty client is a `Conduct`
with one field changed.

Source: KIP-345, sections "Proposed Changes" and "Client behavior changes"; the protocol guide;
Kafka's ConsumerCoordinator and AbstractCoordinator, read, where those are silent.

Settings have Kafka's names where it has them, and its defaults; times in ms.  Source: Kafka's
consumer configuration.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import msgspec

from fencepost.model.messages.errors import Error


class Reaction(Enum):
    """The reaction of a client to an answer."""

    GO_ON = "goes on"
    TAKE_ID = "joins at once with the member id of the answer"
    REJOIN = "joins again, as the same member"
    REJOIN_WITHOUT_GENERATION = "has lost its partitions; joins again with its member id"
    BEGIN_ANEW = "has lost its partitions; joins with an empty member id"
    FIND_COORDINATOR = "looks up the coordinator, then retries"
    RETRY = "retries after a pause"
    TELL = "reports it to the user, and retries after a pause"
    FAIL = "reports it to the user, and stops"


REJOINING = {Reaction.REJOIN, Reaction.REJOIN_WITHOUT_GENERATION, Reaction.BEGIN_ANEW}
"""Reactions to errors that are about the member, and not about the coordinator's place."""


class ErrorReaction(NamedTuple):
    """A row of the table: the reaction of a client to an error of an API."""

    api: str
    error: Error
    reaction: Reaction


MEMBER_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit")
"""The APIs that carry an instance id (LeaveGroup does, too; a static member sends none)."""

_GROUP_APIS = (*MEMBER_APIS, "OffsetFetch", "FindCoordinator")


def _rows(
    apis: tuple[str, ...], errors: tuple[Error, ...], reaction: Reaction
) -> tuple[ErrorReaction, ...]:
    return tuple(ErrorReaction(api, error, reaction) for api in apis for error in errors)


REACTIONS: tuple[ErrorReaction, ...] = (
    *_rows(MEMBER_APIS, (Error.FENCED_INSTANCE_ID,), Reaction.FAIL),
    *_rows(MEMBER_APIS, (Error.UNKNOWN_MEMBER_ID,), Reaction.BEGIN_ANEW),
    *_rows(
        ("SyncGroup", "Heartbeat", "OffsetCommit"),
        (Error.ILLEGAL_GENERATION,),
        Reaction.REJOIN_WITHOUT_GENERATION,
    ),
    *_rows(MEMBER_APIS, (Error.REBALANCE_IN_PROGRESS,), Reaction.REJOIN),
    *_rows(("JoinGroup",), (Error.MEMBER_ID_REQUIRED,), Reaction.TAKE_ID),
    *_rows(
        _GROUP_APIS,
        (Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE),
        Reaction.FIND_COORDINATOR,
    ),
    *_rows(_GROUP_APIS, (Error.COORDINATOR_LOAD_IN_PROGRESS,), Reaction.RETRY),
    *_rows(
        ("JoinGroup",),
        (
            Error.INCONSISTENT_GROUP_PROTOCOL,
            Error.INVALID_SESSION_TIMEOUT,
            Error.GROUP_MAX_SIZE_REACHED,
            Error.UNSUPPORTED_VERSION,
        ),
        Reaction.FAIL,
    ),
    *_rows(("SyncGroup",), (Error.INCONSISTENT_GROUP_PROTOCOL,), Reaction.FAIL),
    *_rows(_GROUP_APIS, (Error.GROUP_AUTHORIZATION_FAILED, Error.INVALID_GROUP_ID), Reaction.FAIL),
    *_rows(("OffsetCommit",), (Error.UNKNOWN_TOPIC_OR_PARTITION,), Reaction.RETRY),
    *_rows(_GROUP_APIS, (Error.NONE,), Reaction.GO_ON),
)
"""Reactions to every error of the protocol; any other is reported to the user."""

_BY_ERROR: dict[tuple[str, int | str], Reaction] = {
    (row.api, row.error.value): row.reaction for row in REACTIONS
}


class Occasion(Enum):
    """Occasions on which a member might leave its group."""

    CLOSE = "close"
    UNSUBSCRIBE = "unsubscribe"
    POLL_INTERVAL = "poll interval exceeded"


class Leading(Enum):
    """Departures of a leader's assignment from the assignor's result."""

    RIGHT = "as the assignor says"
    FORGETS_MEMBER = "a member is left out"
    NAMES_STRANGER = "somebody who is no member is named"
    ASSIGNS_TWICE = "a partition is given to two members"
    LEAVES_OUT = "a partition is given to nobody"
    ROTATES = "each generation gives the partitions to others"
    HANDS_OVER_EARLY = "a partition that another member still owns is given away at once"
    PASSES_OVER = "a partition of a member that missed a generation is given away at once"


Changed = tuple[tuple[str, Error, Reaction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """The decisions of a client; the defaults are right.

    `reactions`: those that differ from `REACTIONS`.  `highest`: the highest version that it uses of
    an API, where it knows a higher one.
    """

    reactions: Changed = ()
    highest: tuple[tuple[str, int], ...] = ()

    # Identity.
    identified: frozenset[str] = frozenset(MEMBER_APIS)
    instance_suffix: str = ""
    cuts_instance: bool = False
    names_dynamic: bool = False
    keeps_versions: bool = False
    steps_down_too_far: bool = False
    downgrades_silently: bool = False
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None

    # Transactions.
    names_member_in_transaction: bool = True
    ignored_in_transaction: frozenset[Error] = frozenset()

    # Membership.
    leaves_when_dynamic: frozenset[Occasion] = frozenset(Occasion)
    leaves_when_static: frozenset[Occasion] = frozenset()
    leaves_when_owing: bool = True
    forgets_unknown_id: bool = True
    keeps_instance: bool = True
    repeats_lost_join: bool = True
    backs_off: bool = True
    looks_up_to_rejoin: bool = False
    takes_late_assignment: bool = True
    first_member_id: str = ""
    rejoins_after_start: bool = False
    heeds_skip: bool = True
    leading: Leading = Leading.RIGHT
    writes_version: int | None = None
    """Of what other members read; None: the usual one."""
    omits_owned: bool = False
    omits_user_data: bool = False
    reads_later_versions: bool = True
    rejoins_after_revoking: bool = True

    # Reading.
    reads_kept: bool = True
    reads_given_back: bool = False
    reads_after_commit: bool = True
    heeds_committed: bool = True
    heeds_pause: bool = True
    heeds_resume: bool = True

    # The user.
    tells_fence: bool = True
    tells_loss: bool = True
    tells_passing_errors: bool = False
    reads_when_fenced: bool = False
    commits_when_fenced: bool = False
    commits_as_nobody: bool = False
    commits_again: bool = False
    commits_late: bool = False
    commits_unsubscribed: bool = False
    commits_as_before: bool = False
    heeds_new_topics: bool = True
    ends_when_deleted: bool = False
    tells_refusal: bool = True
    heeds_changed_topics: bool = True
    beats_when_idle: bool = True
    goes_on_when_refused: bool = True
    subscribes_again: bool = True
    beats_while_busy: bool = True
    ends_at_poll_interval: bool = True
    returns_after_poll_interval: bool = True
    close_has_deadline: bool = True
    close_lingers_ms: int = 0
    closes_again: bool = True
    evicts_when_fenced: bool = False

    def reaction(self, api: str, code: int | str) -> Reaction:
        """Return the client's reaction to an answer of this API with this error code."""
        for changed, error, reaction in self.reactions:
            if changed == api and error.value == code:
                return reaction
        return _BY_ERROR.get((api, code), Reaction.TELL)


RIGHT = Conduct()
"""The duties of a client."""


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a consumer.

    `group_instance_id` None: a dynamic member.  `assignors`: offered in this order; the group is
    cooperative if all of them are.  `max_poll_interval_ms` is the rebalance timeout, too.
    `auto_commit_ms` None: only the user commits.  `commits_on_revoke`: it does when its partitions
    are taken away.  `fetches` False: the user wants no records, and
    only the membership matters.  `pattern`: a regular expression; it subscribes to all topics whose
    whole name matches, and `topics` don't count.  `conduct`: its behaviour, right or not.
    """

    group_id: str
    topics: tuple[str, ...]
    client_id: str = ""
    group_instance_id: str | None = None
    assignors: tuple[str, ...] = ("range",)
    rack_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3000
    max_poll_interval_ms: int = 300_000
    auto_offset_reset: str = "latest"
    auto_commit_ms: int | None = 5000
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1000
    request_timeout_ms: int = 30_000
    join_slack_ms: int = 5000
    """Extra wait for a join's and a sync's answer, beyond the rebalance timeout."""
    commit_timeout_ms: int = 60_000
    commits_on_revoke: bool = False
    fetches: bool = True
    fetch_max_wait_ms: int = 500
    metadata_max_age_ms: int = 300_000
    pattern: str | None = None
    conduct: Conduct = RIGHT
