"""Why reality differs from the simulation, where it does: each reason was looked into."""

from __future__ import annotations

from dataclasses import dataclass

from tools.deployments.measured_deployments import BEAT_S, CASES_BY_NAME
from tools.deployments.simulated_and_real import CALM_S, CaseResult, beyond

_WAITS = 3
"""How often a rebalance waits for each member: until it hears of it, joins, and syncs."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Whose doing a difference is, and what is known of it.

    `cases`, `figures`: where it was seen; `client`: the library that does so, empty: all;
    `least_still_s`: only where the machine stood still for so long.  `beyond`: so far outside of
    the range that was simulated it may be, and `stalls` times as long as the machine stood still.
    """

    title: str
    text: str
    cases: tuple[str, ...]
    figures: tuple[str, ...]
    beyond: float
    stalls: int = 0
    client: str = ""
    least_still_s: float = 0.0

    def fits(self, result: CaseResult, figure: str) -> bool:
        """Whether it says why this figure differs."""
        still_s = max(one.stood_still_s for one in result.real)
        return (
            result.case in self.cases
            and figure in self.figures
            and result.client.startswith(self.client)
            and still_s >= self.least_still_s
            and beyond(result, figure) <= self.beyond + self.stalls * still_s
        )


REASONS = {
    "heartbeats-out-of-step": Reason(
        title="Heartbeats out of step (the simulator)",
        text="""\
In the simulator all members send their heartbeats at the same moment: the answers to a rebalance
start all their clocks together, and the first step comes within a heartbeat interval. So all hear
of the next rebalance at once, and an eager group stops for some ms. Real clocks drift: after a
minute in which nothing happened the heartbeats of six Java consumers came all over the second, and
two new members stopped all partitions for 1.2 s, not for 0.01 s as simulated (the machine took up
to 0.7 s of that). Who hears first gives its partitions back and waits for who hears last, so in a
group that has been stable for long expect a gap of up to a heartbeat interval (3 s in the Java
client).""",
        cases=("scale-up-eager",),
        figures=("longest_gap_s",),
        beyond=BEAT_S,
        stalls=1,
    ),
    "end-of-the-outage": Reason(
        title="When the outage ends (the measurement)",
        text="""\
The simulator is told how long the broker was away: until our own client finds that its coordinator
has read the group. A consumer may find that a little sooner.""",
        cases=("failover",),
        figures=("longest_gap_s",),
        beyond=1.0,
    ),
    "joins-again-later": Reason(
        title="Two seconds until it joins again (librdkafka)",
        text="""\
A broker that has just started answers NOT_COORDINATOR until it has read the group. After this
answer to its JoinGroup librdkafka looked for the coordinator at once, was told the same broker
within 3 ms, and joined again 2.1 to 2.8 s later (seen by our proxy; with `reconnect.backoff.max.ms`
at 500, too). By then the group had been there for long. The simulator's client is like Java's,
which asks again after a tenth of a second.""",
        cases=("failover",),
        figures=("longest_gap_s",),
        beyond=3.0,
        client="confluent-kafka",
    ),
    "rebalance-after-the-outage": Reason(
        title="A rebalance after the outage (the Java consumer)",
        text="""\
In two runs of three the Java consumers of kafka:4.3.0 rebalanced once after the broker was back;
all got what they had, and it took about a second. The member that leads had asked for it (the
reason was kept in the third run), since its cached metadata has changed: it compares the partitions
of the topic with those that it assigned, and what a broker tells of them while it starts can differ
for a moment. Whether a leader asks in that moment is chance. librdkafka's didn't in any run.""",
        cases=("failover",),
        figures=("rebalances",),
        beyond=1,
        client="java",
    ),
    "order-of-members": Reason(
        title="The order of members (librdkafka)",
        text="""\
Range deals partitions to members in an order. Java's has static members before dynamic ones, so in
a group that is half of each nearly all partitions move. librdkafka compares a static member with a
dynamic one by their member ids. These begin with the instance id, or else with the client id; both
were the same here, so each dynamic process got the partitions of the static one before it, and
nothing moved. With client ids that sort otherwise partitions can move here, too.""",
        cases=("to-dynamic",),
        figures=("partitions_moved",),
        beyond=80,
        client="confluent-kafka",
    ),
    "machine": Reason(
        title="The machine",
        text="""\
All of a rebalance waits for the slowest of twelve processes, three times: until it has heard of it,
joined, and synced. This machine had two cores and much else to do: where our own client waited for
more than half a second, a member may well have waited as long each time, without a heartbeat by
which it would be known. What is longer by more than a heartbeat interval is not excused.""",
        cases=tuple(CASES_BY_NAME),
        figures=("longest_gap_s",),
        beyond=BEAT_S,
        stalls=_WAITS,
        least_still_s=CALM_S,
    ),
}


def reason(result: CaseResult, figure: str) -> str | None:
    """The name of the reason why a figure differs; None: nobody knows."""
    return next((name for name, one in REASONS.items() if one.fits(result, figure)), None)
