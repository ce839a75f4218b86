"""Why reality differs from the simulation, where it does: each reason was looked into."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.conformance.deployments.comparison import CaseResult


@dataclass(frozen=True, slots=True)
class Reason:
    """Whose doing a difference is, and what is known of it.

    `cases`, `figures`: where it was seen; `client`: the library that does so, empty: all.
    """

    title: str
    text: str
    cases: tuple[str, ...]
    figures: tuple[str, ...]
    client: str = ""

    def fits(self, result: CaseResult, figure: str) -> bool:
        """Whether it says why this figure differs."""
        return (
            result.case in self.cases
            and figure in self.figures
            and result.client.startswith(self.client)
        )


REASONS = {
    "heartbeats-out-of-step": Reason(
        title="Heartbeats out of step (the simulator)",
        text="""\
In the simulator all members send their heartbeats at the same moment: the answers to a rebalance
start all their clocks together, and the first step comes within a heartbeat interval. So all hear
of the next rebalance at once, and an eager group stops for some ms. Real clocks drift: after a
minute in which nothing happened the heartbeats of six Java consumers came all over the second, and
two new members stopped all partitions for 1.2 s, not for 0.01 s as simulated. Who hears first gives
its partitions back and waits for who hears last, so in a group that has been stable for long expect
a gap of up to a heartbeat interval (3 s in the Java client).""",
        cases=("scale-up-eager",),
        figures=("longest_gap_s",),
    ),
}


def reason(result: CaseResult, figure: str) -> str | None:
    """The name of the reason why a figure differs; None: nobody knows."""
    return next((name for name, one in REASONS.items() if one.fits(result, figure)), None)
