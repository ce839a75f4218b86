"""Break the reference client on purpose, one departure each, to test the judges of clients.

Each is a `Conduct` with one decision changed, and names the requirements that it breaks.  Most are
bugs that some client library really had once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.model.client.behaviour import (
    MEMBER_APIS,
    Changed,
    Conduct,
    Leading,
    Occasion,
    Reaction,
)
from fencepost.model.messages.errors import MOVING, Error
from fencepost.model.suggestions import did_you_mean

_PREFIX = "mutant:"
_ALL = frozenset(MEMBER_APIS)


@dataclass(frozen=True, slots=True)
class ClientMutant:
    """A client that does one thing wrong.

    `sentence`: the fault, for a reader; `breaks`: ids of requirements that it surely fails.
    """

    name: str
    sentence: str
    breaks: tuple[str, ...]
    conduct: Conduct


def _reacts(reaction: Reaction, *errors: Error, to: tuple[str, ...] = MEMBER_APIS) -> Changed:
    return tuple((api, error, reaction) for api in to for error in errors)


_MOVING = tuple(error for error in Error if error.value in MOVING)
_FENCED = Error.FENCED_INSTANCE_ID

_MUTANTS = (
    # Identity.
    ClientMutant(
        "ignores-instance-id",
        "the option of the instance id is set, and nothing comes of it: a dynamic member",
        ("CLIENT-IDENTITY-AS-SET", "CLIENT-RESTART-CRASHED"),
        Conduct(identified=frozenset()),
    ),
    ClientMutant(
        "adds-to-instance-id",
        "the instance id has something added to it",
        ("CLIENT-IDENTITY-AS-SET",),
        Conduct(instance_suffix="-0"),
    ),
    *(
        ClientMutant(
            f"no-instance-in-{api.lower()}",
            f"{api} is sent without the instance id: a zombie isn't fenced there",
            ("CLIENT-IDENTITY-EVERY-REQUEST",),
            Conduct(identified=_ALL - {api}),
        )
        for api in ("SyncGroup", "Heartbeat", "OffsetCommit")
    ),
    ClientMutant(
        "old-heartbeat",
        "heartbeats are of version 2, which has no room for the instance id",
        ("CLIENT-IDENTITY-VERSIONS",),
        Conduct(highest=(("Heartbeat", 2),)),
    ),
    ClientMutant(
        "old-commit",
        "commits are of version 6, which has no room for the instance id",
        ("CLIENT-IDENTITY-VERSIONS",),
        Conduct(highest=(("OffsetCommit", 6),)),
    ),
    ClientMutant(
        "names-itself",
        "a dynamic member sends its client id as an instance id that its user didn't set",
        ("CLIENT-IDENTITY-DYNAMIC",),
        Conduct(names_dynamic=True),
    ),
    ClientMutant(
        "keeps-versions",
        "a coordinator's versions are requested once, though an older broker may come in its place",
        ("CLIENT-OLD-BROKER-RESTARTED",),
        Conduct(keeps_versions=True),
    ),
    ClientMutant(
        "steps-down-too-far",
        "at an older broker it uses a version below the newest that both know",
        ("CLIENT-IDENTITY-NEWEST",),
        Conduct(steps_down_too_far=True),
    ),
    ClientMutant(
        "forgets-instance-id",
        "after it was removed, the member comes back without its instance id",
        ("CLIENT-JOIN-UNKNOWN-MEMBER",),
        Conduct(keeps_instance=False),
    ),
    ClientMutant(
        "one-instance-id-for-all",
        "all members of a process have one instance id: the number at its end is cut off",
        ("CLIENT-STREAMS-OWN-IDS",),
        Conduct(cuts_instance=True),
    ),
    # The end.
    ClientMutant(
        "leaves-on-close",
        "a static member leaves when it is closed, so each restart is a rebalance",
        (
            "CLIENT-CLOSE-STATIC-STAYS",
            "CLIENT-RESTART-FOLLOWER",
            "CLIENT-RESTART-LEADER-OLD",
            "CLIENT-RESTART-ALL",
            "CLIENT-RESTART-COOPERATIVE",
            "CLIENT-STREAMS-ROLLED",
        ),
        Conduct(leaves_when_static=frozenset({Occasion.CLOSE})),
    ),
    ClientMutant(
        "leaves-on-unsubscribe",
        "a static member leaves when its user unsubscribes",
        ("CLIENT-CLOSE-UNSUBSCRIBED-STAYS",),
        Conduct(leaves_when_static=frozenset({Occasion.UNSUBSCRIBE})),
    ),
    ClientMutant(
        "closes-before-its-join",
        "a static member gives partitions back and is closed before it joins again: nobody gets "
        "them",
        ("CLIENT-CLOSE-REVOKED",),
        Conduct(leaves_when_owing=False),
    ),
    ClientMutant(
        "never-leaves",
        "a dynamic member that is closed doesn't leave: the others wait for its session's end",
        ("CLIENT-CLOSE-DYNAMIC-LEAVES",),
        Conduct(leaves_when_dynamic=frozenset({Occasion.POLL_INTERVAL})),
    ),
    ClientMutant(
        "close-waits",
        "close waits for its last answer as long as that takes",
        ("CLIENT-CLOSE-BROKER-GONE",),
        Conduct(close_has_deadline=False),
    ),
    ClientMutant(
        "close-lingers",
        "close returns a second after the time that its user gave",
        ("CLIENT-CLOSE-IN-TIME", "CLIENT-CLOSE-REBALANCING"),
        Conduct(close_lingers_ms=1000),
    ),
    ClientMutant(
        "evicts-successor",
        "a fenced member that is closed removes the one who has its instance id now",
        ("CLIENT-CLOSE-FENCED",),
        Conduct(evicts_when_fenced=True),
    ),
    # Joining.
    ClientMutant(
        "joins-without-given-id",
        "after MEMBER_ID_REQUIRED it joins with an empty member id again",
        ("CLIENT-JOIN-ID-REQUIRED",),
        Conduct(reactions=_reacts(Reaction.REJOIN, Error.MEMBER_ID_REQUIRED, to=("JoinGroup",))),
    ),
    ClientMutant(
        "waits-for-lost-join",
        "a join whose answer is lost is never sent again",
        ("CLIENT-JOIN-LOST-ANSWER", "CLIENT-JOIN-CUT"),
        Conduct(repeats_lost_join=False),
    ),
    ClientMutant(
        "keeps-unknown-id",
        "after UNKNOWN_MEMBER_ID it joins with the same member id, for ever",
        ("CLIENT-JOIN-UNKNOWN-EMPTY",),
        Conduct(forgets_unknown_id=False),
    ),
    ClientMutant(
        "ignores-illegal-generation",
        "ILLEGAL_GENERATION changes nothing: it goes on as a member of a generation that is over",
        ("CLIENT-JOIN-ILLEGAL-GENERATION",),
        Conduct(reactions=_reacts(Reaction.GO_ON, Error.ILLEGAL_GENERATION)),
    ),
    ClientMutant(
        "ignores-rebalance",
        "a heartbeat's REBALANCE_IN_PROGRESS changes nothing: the others wait for it",
        ("CLIENT-JOIN-REBALANCE",),
        Conduct(reactions=_reacts(Reaction.GO_ON, Error.REBALANCE_IN_PROGRESS, to=("Heartbeat",))),
    ),
    ClientMutant(
        "stays-at-old-coordinator",
        "after NOT_COORDINATOR it asks the same broker again",
        ("CLIENT-JOIN-COORDINATOR",),
        Conduct(reactions=_reacts(Reaction.RETRY, *_MOVING)),
    ),
    ClientMutant(
        "fails-when-coordinator-moves",
        "NOT_COORDINATOR and its like are fatal, though they pass",
        ("CLIENT-JOIN-LOADING", "CLIENT-JOIN-SILENT"),
        Conduct(reactions=_reacts(Reaction.FAIL, *_MOVING)),
    ),
    ClientMutant(
        "hot-loop",
        "a failed request is repeated without a pause",
        ("CLIENT-JOIN-BACKOFF",),
        Conduct(backs_off=False),
    ),
    # Commits, and subscriptions.
    ClientMutant(
        "commits-late",
        "a commit that the user asks for in a rebalance is sent after it, of the generation "
        "before, and its refusal costs the partitions",
        ("CLIENT-COMMIT-LATE",),
        Conduct(commits_late=True),
    ),
    ClientMutant(
        "hides-refused-commit",
        "a commit that was refused returns as if all was well",
        ("CLIENT-COMMIT-REFUSED",),
        Conduct(tells_refusal=False),
    ),
    ClientMutant(
        "commits-once",
        "a commit that meets an error which passes is not made again",
        ("CLIENT-COMMIT-RETRIED",),
        Conduct(reactions=_reacts(Reaction.TELL, *_MOVING, to=("OffsetCommit",))),
    ),
    ClientMutant(
        "ignores-refused-commit",
        "that a commit was refused changes nothing: only a heartbeat makes the member join again",
        ("CLIENT-COMMIT-COMES-BACK",),
        Conduct(
            reactions=_reacts(
                Reaction.GO_ON,
                Error.UNKNOWN_MEMBER_ID,
                Error.ILLEGAL_GENERATION,
                Error.REBALANCE_IN_PROGRESS,
                to=("OffsetCommit",),
            )
        ),
    ),
    ClientMutant(
        "commits-unsubscribed",
        "a consumer that has unsubscribed commits without a member id and generation",
        ("CLIENT-COMMIT-OF-MEMBER",),
        Conduct(commits_unsubscribed=True),
    ),
    ClientMutant(
        "commits-as-before",
        "a consumer that subscribed again commits as the member that it was, and is fenced",
        ("CLIENT-SUBSCRIBE-NOT-FENCED",),
        Conduct(commits_as_before=True),
    ),
    ClientMutant(
        "subscribes-once",
        "a consumer that unsubscribed and subscribes again joins no group",
        ("CLIENT-SUBSCRIBE-AGAIN",),
        Conduct(subscribes_again=False),
    ),
    ClientMutant(
        "stops-when-refused",
        "when a commit in the callback that takes partitions away is refused, it joins no more",
        ("CLIENT-COMMIT-ON-REVOKE",),
        Conduct(goes_on_when_refused=False),
    ),
    ClientMutant(
        "ignores-new-partitions",
        "a leader doesn't heed that a topic got more partitions",
        ("CLIENT-SUBSCRIBE-GROWS",),
        Conduct(heeds_changed_topics=False),
    ),
    ClientMutant(
        "silent-when-idle",
        "a member without partitions sends no heartbeats",
        ("CLIENT-SUBSCRIBE-IDLE",),
        Conduct(beats_when_idle=False),
    ),
    ClientMutant(
        "misses-new-topics",
        "a consumer that subscribes by a pattern heeds no topic that is made later",
        ("CLIENT-READ-NEW-TOPIC",),
        Conduct(heeds_new_topics=False),
    ),
    ClientMutant(
        "forgets-late-sync",
        "an assignment that comes later than a second after the SyncGroup is taken for none",
        ("CLIENT-READ-ASSIGNED", "CLIENT-READ-NEW-TOPIC"),
        Conduct(takes_late_assignment=False),
    ),
    ClientMutant(
        "ends-when-deleted",
        "a consumer gives up when one of its topics is deleted",
        ("CLIENT-READ-DELETED-TOPIC",),
        Conduct(ends_when_deleted=True),
    ),
    ClientMutant(
        "reads-when-paused",
        "records of a partition that the user has paused reach it",
        ("CLIENT-READ-PAUSED",),
        Conduct(heeds_pause=False),
    ),
    ClientMutant(
        "stays-paused",
        "a partition that was paused is never read again",
        ("CLIENT-READ-RESUMED",),
        Conduct(heeds_resume=False),
    ),
    ClientMutant(
        "hangs-when-closed-twice",
        "closing a consumer that is closed never returns",
        ("CLIENT-CLOSE-AGAIN",),
        Conduct(closes_again=False),
    ),
    ClientMutant(
        "tells-passing-errors",
        "the client reports to the user each error that it deals with itself",
        ("CLIENT-JOIN-ERROR-HIDDEN",),
        Conduct(tells_passing_errors=True),
    ),
    ClientMutant(
        "looks-up-to-rejoin",
        "before each join the coordinator is looked up, though it hasn't moved",
        ("CLIENT-JOIN-NO-LOOKUP",),
        Conduct(looks_up_to_rejoin=True),
    ),
    # Fenced.
    ClientMutant(
        "fenced-in-silence",
        "a fenced client doesn't report it to its user",
        ("CLIENT-FENCED-HEARTBEAT",),
        Conduct(tells_fence=False),
    ),
    *(
        ClientMutant(
            f"ignores-fence-of-{api.lower()}",
            f"FENCED_INSTANCE_ID in the answer to {api} is taken for something that passes",
            breaks,
            Conduct(reactions=_reacts(Reaction.RETRY, _FENCED, to=(api,))),
        )
        for api, breaks in (
            ("JoinGroup", ("CLIENT-FENCED-JOIN",)),
            ("SyncGroup", ("CLIENT-FENCED-SYNC",)),
            ("Heartbeat", ("CLIENT-FENCED-HEARTBEAT", "CLIENT-FENCED-QUIET")),
            ("OffsetCommit", ("CLIENT-FENCED-COMMIT",)),
        )
    ),
    ClientMutant(
        "takes-instance-back",
        "a fenced client joins anew: two processes take the instance from each other for ever",
        ("CLIENT-FENCED-NO-JOIN", "CLIENT-FENCED-POLLED-ON", "CLIENT-FENCED-TAKEOVERS"),
        Conduct(reactions=_reacts(Reaction.BEGIN_ANEW, _FENCED)),
    ),
    ClientMutant(
        "reads-when-fenced",
        "a fenced client still delivers records",
        ("CLIENT-FENCED-NO-RECORDS",),
        Conduct(reads_when_fenced=True),
    ),
    ClientMutant(
        "commits-when-fenced",
        "a fenced client still commits, as nobody's member",
        ("CLIENT-FENCED-NO-COMMITS",),
        Conduct(commits_when_fenced=True),
    ),
    ClientMutant(
        "commits-again",
        "a commit that was fenced is made again, after the member joined anew",
        ("CLIENT-FENCED-LATE-COMMIT",),
        Conduct(
            commits_again=True,
            reactions=_reacts(Reaction.BEGIN_ANEW, _FENCED, to=("OffsetCommit",)),
        ),
    ),
    # Removed.
    ClientMutant(
        "stays-away",
        "a member that was removed doesn't come back: UNKNOWN_MEMBER_ID is fatal",
        ("CLIENT-REMOVED-COMES-BACK", "CLIENT-REMOVED-EXPIRED"),
        Conduct(reactions=_reacts(Reaction.FAIL, Error.UNKNOWN_MEMBER_ID)),
    ),
    ClientMutant(
        "commits-as-nobody",
        "a member that was removed commits without a member id and generation",
        ("CLIENT-REMOVED-NO-COMMITS",),
        Conduct(commits_as_nobody=True),
    ),
    ClientMutant(
        "loses-in-silence",
        "a removed member doesn't report to its user that its partitions are lost",
        ("CLIENT-REMOVED-TOLD",),
        Conduct(tells_loss=False),
    ),
    ClientMutant(
        "joins-with-own-id",
        "a member that was just started joins with a member id that nobody gave it",
        ("CLIENT-JOIN-EMPTY-FIRST",),
        Conduct(first_member_id="mine"),
    ),
    ClientMutant(
        "assigns-all-the-same",
        "a leader that gets skipAssignment sends an assignment",
        ("CLIENT-RESTART-SKIPPED",),
        Conduct(heeds_skip=False),
    ),
    ClientMutant(
        "rebalances-at-restart",
        "a restarted member joins once more at once, which is a rebalance for all if it leads",
        ("CLIENT-RESTART-LEADER",),
        Conduct(rejoins_after_start=True),
    ),
    # The leader.
    ClientMutant(
        "leader-forgets-member",
        "a leader's assignment leaves a member out",
        ("CLIENT-LEADER-MEMBERS",),
        Conduct(leading=Leading.FORGETS_MEMBER),
    ),
    ClientMutant(
        "leader-names-stranger",
        "a leader's assignment names somebody who is no member",
        ("CLIENT-LEADER-MEMBERS",),
        Conduct(leading=Leading.NAMES_STRANGER),
    ),
    ClientMutant(
        "leader-assigns-twice",
        "a leader gives a partition to two members",
        ("CLIENT-LEADER-ONCE",),
        Conduct(leading=Leading.ASSIGNS_TWICE),
    ),
    ClientMutant(
        "leader-leaves-out",
        "a leader gives a partition to nobody",
        ("CLIENT-LEADER-WHOLE",),
        Conduct(leading=Leading.LEAVES_OUT),
    ),
    ClientMutant(
        "leader-rotates",
        "a leader gives what an instance had to another one, in each generation",
        ("CLIENT-LEADER-INSTANCES",),
        Conduct(leading=Leading.ROTATES),
    ),
    ClientMutant(
        "hands-over-early",
        "a cooperative leader gives away at once what another member still owns",
        ("CLIENT-LEADER-COOPERATIVE",),
        Conduct(leading=Leading.HANDS_OVER_EARLY),
    ),
    ClientMutant(
        "passes-over-older-claims",
        "a cooperative leader gives away at once what a member owns that missed a generation",
        ("CLIENT-LEADER-MISSED-GENERATION",),
        Conduct(leading=Leading.PASSES_OVER),
    ),
    ClientMutant(
        "keeps-quiet-after-revoking",
        "a cooperative member gives partitions back, and doesn't join again: nobody gets them",
        ("CLIENT-LEADER-COOPERATIVE",),
        Conduct(rejoins_after_revoking=False),
    ),
    # The bytes.
    ClientMutant(
        "omits-owned-partitions",
        "a subscription names version 1 and ends before the owned partitions",
        ("CLIENT-BYTES-SUBSCRIPTION",),
        Conduct(omits_owned=True),
    ),
    ClientMutant(
        "omits-user-data",
        "an assignment ends before its user data",
        ("CLIENT-BYTES-ASSIGNMENT",),
        Conduct(omits_user_data=True),
    ),
    ClientMutant(
        "reads-no-later-version",
        "a subscription or assignment of a version that it doesn't know is nothing to it",
        ("CLIENT-BYTES-READS-MEMBERS", "CLIENT-BYTES-READS-ASSIGNMENT"),
        Conduct(reads_later_versions=False),
    ),
    # Reading.
    ClientMutant(
        "forgets-what-it-keeps",
        "a partition that a member keeps over a rebalance is never fetched again",
        ("CLIENT-READ-ASSIGNED",),
        Conduct(reads_kept=False),
    ),
    ClientMutant(
        "reads-what-it-gave-back",
        "an eager member goes on to deliver records of the partitions that it gave back",
        ("CLIENT-READ-NOTHING-ELSE",),
        Conduct(reads_given_back=True),
    ),
    ClientMutant(
        "skips-after-commit",
        "the record behind a committed position is never delivered",
        ("CLIENT-READ-NO-GAP",),
        Conduct(reads_after_commit=False),
    ),
    ClientMutant(
        "begins-at-the-first-record",
        "a partition is read from its first record on, whatever was committed",
        ("CLIENT-READ-NOT-TWICE",),
        Conduct(heeds_committed=False),
    ),
    # Transactions.
    ClientMutant(
        "transacts-as-nobody",
        "offsets are sent to a transaction without member id, generation and instance id",
        ("CLIENT-TRANSACTION-MEMBER",),
        Conduct(names_member_in_transaction=False),
    ),
    ClientMutant(
        "transacts-when-fenced",
        "a transaction is committed, and reported as such, though its offsets were fenced",
        ("CLIENT-TRANSACTION-FENCED",),
        Conduct(ignored_in_transaction=frozenset({_FENCED})),
    ),
    ClientMutant(
        "transacts-when-refused",
        "a transaction is committed, and reported as such, though its offsets were refused",
        ("CLIENT-TRANSACTION-REFUSED",),
        Conduct(
            ignored_in_transaction=frozenset({Error.UNKNOWN_MEMBER_ID, Error.ILLEGAL_GENERATION})
        ),
    ),
    ClientMutant(
        "old-transaction-commit",
        "offsets are sent to transactions with version 2, which names no member",
        ("CLIENT-TRANSACTION-NEWEST",),
        Conduct(highest=(("TxnOffsetCommit", 2),)),
    ),
    # The session.
    ClientMutant(
        "silent-while-busy",
        "no heartbeats while the user is busy",
        ("CLIENT-SESSION-HEARTBEATS",),
        Conduct(beats_while_busy=False),
    ),
    ClientMutant(
        "beats-for-ever",
        "heartbeats go on though the user exceeded the poll interval",
        ("CLIENT-SESSION-POLL-INTERVAL",),
        Conduct(ends_at_poll_interval=False),
    ),
    ClientMutant(
        "leaves-at-poll-interval",
        "a static member leaves when its user exceeds the poll interval",
        ("CLIENT-SESSION-STATIC-SILENT",),
        Conduct(leaves_when_static=frozenset({Occasion.POLL_INTERVAL})),
    ),
    ClientMutant(
        "stays-out",
        "a member whose user worked for too long doesn't come back when it polls again",
        ("CLIENT-SESSION-POLLS-ON",),
        Conduct(returns_after_poll_interval=False),
    ),
    ClientMutant(
        "own-rebalance-timeout",
        "the rebalance timeout is not the poll interval that the user set",
        ("CLIENT-SESSION-REBALANCE-TIMEOUT",),
        Conduct(rebalance_timeout_ms=60_000),
    ),
    ClientMutant(
        "own-session-timeout",
        "the session timeout is one that the user didn't set",
        ("CLIENT-SESSION-TIMEOUT",),
        Conduct(session_timeout_ms=30_000),
    ),
    # Old brokers.
    ClientMutant(
        "downgrades-silently",
        "at a broker too old for static members it joins as a dynamic one, and says nothing",
        ("CLIENT-OLD-BROKER-NOT-TWICE", "CLIENT-OLD-BROKER-TOLD"),
        Conduct(downgrades_silently=True),
    ),
)

CLIENT_MUTANTS: Mapping[str, ClientMutant] = {mutant.name: mutant for mutant in _MUTANTS}
"""The faulty clients, by name without `mutant:`."""


def find_client_mutant(name: str) -> ClientMutant:
    """Return the faulty client of this name, with or without `mutant:`.

    Raises KeyError that names the value and the nearest names.
    """
    plain = name.removeprefix(_PREFIX)
    if plain in CLIENT_MUTANTS:
        return CLIENT_MUTANTS[plain]
    near = did_you_mean(plain, CLIENT_MUTANTS)
    raise KeyError(f"no mutant of a client is called {plain!r}{near}")
