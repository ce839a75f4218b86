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


REASONS: dict[str, Reason] = {}


def reason(result: CaseResult, figure: str) -> str | None:
    """The name of the reason why a figure differs; None: nobody knows."""
    return next((name for name, one in REASONS.items() if one.fits(result, figure)), None)
