"""What KIP-345 and an article promise of deployments, each held to what was simulated and measured.

Claims are told in our own words, with the section that they are from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from fencepost.conformance.deployments.cases import BEAT_S, MEMBERS, PARTITIONS, SESSION_S
from fencepost.conformance.deployments.comparison import CaseResult, Range, range_of

_KIP = "KIP-345, *{}*"
_ARTICLE = "article, *{}*"
_SLACK_S = 1.0
"""For what is promised at once or at a timeout, on machines that have much else to do."""


class Verdict(Enum):
    """What became of a claim."""

    HOLDS = "holds"
    FAILS = "not so"
    UNKNOWN = "not run"


@dataclass(frozen=True, slots=True)
class Pooled:
    """All results of a case, whatever the broker and the library."""

    results: tuple[CaseResult, ...]

    def simulated(self, figure: str) -> Range | None:
        """The least and the most that was simulated."""
        found = [end for one in self.results for end in one.simulated.get(figure, (None, None))]
        return range_of(found)

    def real(self, figure: str) -> Range | None:
        """The least and the most that happened."""
        found = [end for one in self.results for end in one.happened(figure) or (None, None)]
        return range_of(found)


def pooled(results: Sequence[CaseResult], case: str) -> Pooled:
    """The results of a case."""
    return Pooled(tuple(one for one in results if one.case == case))


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise about a figure of a case.

    `promised`: in words; `within`: what the figure may be for that; `at_most`: another figure of
    the same run that it may not exceed.  `why`: why it isn't so, or what there is to it, under a
    `title`.
    """

    says: str
    source: str
    case: str
    figure: str
    promised: str
    within: Range = (0, float("inf"))
    at_most: str | None = None
    title: str = ""
    why: str = ""

    def verdict(self, found: Pooled) -> Verdict:
        """Whether all that happened is as promised."""
        real = found.real(self.figure)
        if real is None:
            return Verdict.UNKNOWN
        is_within = self.within[0] <= real[0] and real[1] <= self.within[1]
        if self.at_most is not None:
            is_within &= all(
                getattr(one, self.figure) <= getattr(one, self.at_most)
                for result in found.results
                for one in result.real
            )
        return Verdict.HOLDS if is_within else Verdict.FAILS


CLAIMS = (
    Claim(
        "A restart of a dynamic member costs two rebalances: one as it goes, one as it comes. A rolling bounce of N members costs 2N.",
        _ARTICLE.format("Static Membership: Eliminating Restart-Triggered Rebalances"),
        "bounce-eager",
        "rebalances",
        f"2N = {2 * MEMBERS}",
        (2 * MEMBERS, 2 * MEMBERS),
    ),
    Claim(
        "One restart of a process costs one rebalance, so that a rolling bounce of N costs N.",
        _KIP.format("Motivation"),
        "bounce-eager",
        "rebalances",
        f"N = {MEMBERS}",
        (MEMBERS, MEMBERS),
        title="one rebalance or two",
        why="The KIP counts the rebalance of the return. A process that is closed in good order leaves, which is a rebalance of its own, unless it\n"
        "is back before all others have heard of it: within a heartbeat interval. With a restart of 2 s and a heartbeat each second it never is.",
    ),
    Claim(
        "A rolling bounce of static members costs a constant number of rebalances, such as one for the leader.",
        _KIP.format("Motivation"),
        "bounce-static",
        "rebalances",
        "0 or 1",
        (0, 1),
    ),
    Claim(
        "Not even the restart of the leader costs one: it comes without a member id, so nothing else can have brought it.",
        _KIP.format("Non Goal") + ", update",
        "bounce-static",
        "rebalances",
        "0",
        (0, 0),
    ),
    Claim(
        "Static members with a cooperative assignor are rolled out without any rebalance.",
        _ARTICLE.format("Zero-Rebalance Rolling Deployment"),
        "bounce-static-cooperative",
        "rebalances",
        "0",
        (0, 0),
        title="cooperative adds nothing to a restart",
        why="True, and it is true of static members with `range` alike: where there is no rebalance, the assignor isn't asked. What cooperative\n"
        "rebalancing adds is seen when members are added, or a session ends.",
    ),
    Claim(
        "During that rollout nothing moves: a member gets back what it had.",
        _KIP.format("Server Behavior Changes"),
        "bounce-static",
        "partitions_moved",
        "0",
        (0, 0),
    ),
    Claim(
        "A rollout of static members leaves no more than a minimal gap.",
        _ARTICLE.format("Zero-Rebalance Rolling Deployment"),
        "bounce-static",
        "longest_gap_s",
        "the restart, 2 s, and little more",
        (0, 2 + 2 * _SLACK_S),
        title="the gap is the restart",
        why="A static member's partitions wait for its restart, however long it takes; those of a dynamic one go to the others within a heartbeat\n"
        "interval. Where a restart takes longer than a rebalance, static membership means fewer rebalances and fewer moves, not less waiting: compare\n"
        "`bounce-eager` and `bounce-static` in the [table](reality.md). [`advise`](advise.md) weighs both.",
    ),
    Claim(
        "A static member that dies and is back within its session costs no rebalance.",
        _KIP.format("Background of Consumer Rebalance"),
        "crash-static",
        "rebalances",
        "0",
        (0, 0),
    ),
    Claim(
        "One that is back after its session has ended costs two: at the end of the session, and as it returns.",
        _ARTICLE.format("The Timeout Boundary"),
        "crash-static-late",
        "rebalances",
        "2",
        (2, 2),
    ),
    Claim(
        "A dynamic member that dies and comes back costs two rebalances as well: at its timeout, and as it returns.",
        _ARTICLE.format("group.instance.id: Stable Member Identity"),
        "crash-eager",
        "rebalances",
        "2",
        (2, 2),
        title="one rebalance that is as long as a session",
        why="The new process is there before the dead one's session has ended. Its join begins a rebalance, and that can't be completed while the\n"
        "dead member is waited for. So there is one, and it lasts until the session ends. An eager group reads nothing meanwhile: see the next line.",
    ),
    Claim(
        "Rebalances of dynamic members take seconds.",
        _ARTICLE.format("group.instance.id: Stable Member Identity"),
        "crash-eager",
        "longest_gap_s",
        "some seconds",
        (1, SESSION_S + _SLACK_S),
        title="a crash stops all for a session",
        why=f"Nearly the whole session of {SESSION_S:g} s, for all {PARTITIONS} partitions. With the Java client's default of 45 s it is most of a minute, for a\n"
        "restart of 2 s. This is the costliest of all that was done here, and static membership takes it away.",
    ),
    Claim(
        "In an eager rebalance all partitions stop.",
        _ARTICLE.format("Why It's Called Stop-the-World"),
        "scale-up-eager",
        "partitions_stopped",
        f"{PARTITIONS}",
        (PARTITIONS, PARTITIONS),
    ),
    Claim(
        "In a cooperative one only those stop that move.",
        _ARTICLE.format("Design Philosophy: Only Move What Must Move"),
        "scale-up-cooperative",
        "partitions_stopped",
        "those that move",
        at_most="partitions_moved",
    ),
    Claim(
        "And no more move than must: each member gives about its part of what the new ones get.",
        _ARTICLE.format("Design Philosophy: Only Move What Must Move"),
        "scale-up-cooperative",
        "partitions_moved",
        "8, two new members' least shares",
        (8, 8),
    ),
    Claim(
        "Cooperative rebalancing shrinks the time in which a partition isn't read from seconds to milliseconds.",
        _ARTICLE.format("Cooperative Rebalance and Static Membership") + ", introduction",
        "scale-up-cooperative",
        "longest_gap_s",
        "milliseconds",
        (0, 0.1),
        title="a handover takes a heartbeat interval",
        why="For partitions that stay, to nothing. Those that move are given back after the first rebalance and handed over in a second one, which\n"
        f"all members must join; they hear of it at their next heartbeat, so up to {BEAT_S:g} s pass here and up to 3 s with the Java client's default. An eager\n"
        "group of the same members waits for the same heartbeats once.",
    ),
    Claim(
        "A group of static members that is made smaller waits for the sessions of those that went.",
        _KIP.format("Scale Down"),
        "scale-down-static",
        "balanced_after_s",
        f"the session, {SESSION_S:g} s",
        (SESSION_S - 2 * BEAT_S, SESSION_S + BEAT_S + _SLACK_S),
    ),
    Claim(
        "Unless an administrator removes them: then the rebalance begins at once.",
        _KIP.format("Leave Group Logic Change"),
        "scale-down-removed",
        "balanced_after_s",
        "at once",
        (0, BEAT_S + _SLACK_S),
        title="at once is the next heartbeat",
        why="The rebalance begins at once, and is completed when the last member has heard of it: a heartbeat interval later.",
    ),
    Claim(
        "A second process on an instance id fences the first, which is told and fails.",
        _KIP.format("Join Group Logic Change"),
        "second-process",
        "failed",
        "1",
        (1, 1),
    ),
    Claim(
        "That costs no rebalance.",
        _KIP.format("Join Group Logic Change"),
        "second-process",
        "rebalances",
        "0",
        (0, 0),
    ),
    Claim(
        "Static membership survives the coordinator: another one reads it from the log. A rollout in which the broker fails costs no rebalance.",
        _KIP.format("Fault-tolerance of Static Membership"),
        "failover",
        "rebalances",
        "0",
        (0, 0),
    ),
    Claim(
        "Dynamic members become static by one rolling bounce, and live side by side meanwhile; the next bounce is free.",
        _KIP.format("Upgrade Process"),
        "to-static",
        "rebalances",
        f"2N = {2 * MEMBERS // 3} in both bounces",
        (2 * MEMBERS // 3, 2 * MEMBERS // 3),
    ),
    Claim(
        "From eager to cooperative the group goes on reading through both bounces, without a full stop.",
        _ARTICLE.format("Rolling Migration from Eager to Cooperative"),
        "to-cooperative",
        "partitions_stopped",
        "not all",
        (0, PARTITIONS // 3 - 1),
        title="the first bounce is still eager",
        why="While one member offers an eager assignor alone, the group uses it, and each restart stops all. Only the second bounce is\n"
        "cooperative, as far as both are offered by all. No step stops the group for long, but there is no rollout without full stops.",
    ),
)
