"""How long a restart takes, as options: seconds, or several of which each is equally likely."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from fencepost.conformance.simulate.deployment_scenario import RESUME_S

_F = TypeVar("_F", bound=Callable[..., Any])


def restart_options(command: _F) -> _F:
    """Add --restart-s and --restart-p95-s; `restart_duration` takes what they give."""
    last = click.option(
        "--restart-p95-s",
        type=float,
        metavar="S",
        help="One restart in twenty takes longer; --restart-s is then the median.",
    )
    first = click.option(
        "--restart-s",
        callback=_seconds,
        metavar="S[,S...]",
        help="How long a restart takes; of several, each is equally likely.",
    )
    return first(last(command))


resume_option = click.option(
    "--resume-s",
    type=float,
    metavar="S",
    help=f"A member reads a partition so long after it was given it.  [default: {RESUME_S:g}]",
)


def restart_duration(
    restart_s: tuple[float, ...] | None, p95_s: float | None
) -> float | dict[str, object] | None:
    """How long a restart takes, as a scenario has it.  Raises click.UsageError."""
    if p95_s is not None:
        if restart_s is None or len(restart_s) > 1:
            raise click.UsageError("--restart-p95-s needs one --restart-s, the median")
        if p95_s < restart_s[0]:
            raise click.UsageError(
                f"--restart-p95-s {p95_s:g} is less than --restart-s {restart_s[0]:g}, the median: "
                "give what one restart in twenty exceeds"
            )
        return {"median": restart_s[0], "p95": p95_s}
    if restart_s is None or len(restart_s) == 1:
        return None if restart_s is None else restart_s[0]
    return {"values": restart_s}


def _seconds(
    _context: click.Context, _option: click.Parameter, given: str | None
) -> tuple[float, ...] | None:
    if given is None:
        return None
    try:
        seconds = tuple(float(part) for part in given.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{given!r} is no number of seconds; give one, or several as 4,5,9"
        ) from None
    for each in seconds:
        if not 0 <= each < math.inf:
            raise click.BadParameter(f"{each:g} is no duration: give seconds, such as 5")
    return seconds
