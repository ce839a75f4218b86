"""What can be done to a deployment, as data: the steps of a scenario.

A step begins when the one before it has ended.  One with `at_s` begins so long after the first, and
the others don't wait for it.  `who` names hosts; without it the last `count` hosts are meant.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from fencepost.conformance.simulate.durations import Duration
from fencepost.conformance.simulate.member_settings import MemberSettings

_Positive = Annotated[int, msgspec.Meta(ge=1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0)]


class _Step(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
    tag_field="do",
):
    at_s: _Seconds | None = None


class BounceStep(_Step, frozen=True, tag="bounce"):
    """Restart all processes, some at a time; `set`: with other settings.

    `health`: the next ones follow when the group is `balanced`, or as soon as these are `started`;
    `pause_s`: and so much later.  It stops where the group is not balanced within `limit_s`, or a
    process fails.  `overlap_s`: new processes are started first, and the old ones stopped so much
    later.  `at_most`: so many processes, then it ends.
    """

    at_a_time: _Positive = 1
    health: Literal["balanced", "started"] = "balanced"
    pause_s: Duration = 0.0
    limit_s: _Seconds = 600.0
    overlap_s: Duration | None = None
    at_most: _Positive | None = None
    set: MemberSettings = MemberSettings()


class _About(_Step, frozen=True):
    count: _Positive = 1
    who: tuple[str, ...] = ()


class CrashStep(_About, frozen=True, tag="crash"):
    """Processes die at once, without a word; `restart`: they come back."""

    restart: bool = True


class CrashLoopStep(_About, frozen=True, tag="crash-loop"):
    """Processes die, come back, live for `alive_s`, and die again, so many times."""

    times: _Positive = 5
    alive_s: Duration = 10.0


class ScaleStep(_Step, frozen=True, tag="scale"):
    """Add hosts, or stop the last ones, until there are so many.

    `remove`: an administrator removes those static members that are stopped.
    """

    to: _Positive
    remove: bool = False
    set: MemberSettings = MemberSettings()


class ReplaceStep(_About, frozen=True, tag="replace"):
    """Hosts die, and new ones with other names take their places after the restart time.

    `remove`: an administrator removes the members of the old hosts, `remove_after_s` later.
    """

    remove: bool = False
    remove_after_s: Duration = 0.0


class DuplicateStep(_About, frozen=True, tag="duplicate"):
    """A second process is started on a host's instance id, by mistake; it is stopped after `for_s`.

    Without `for_s` it stays.
    """

    for_s: Duration | None = None


class FailoverStep(_Step, frozen=True, tag="failover"):
    """Another broker becomes the group's coordinator.

    `down_s`: for so long before that nobody reaches a broker.
    """

    down_s: Duration = 0.0


class RemoveStep(_About, frozen=True, tag="remove"):
    """An administrator removes static members."""


class MoveReplicasStep(_Step, frozen=True, tag="move-replicas"):
    """The replicas of each partition move to the next racks; clients are told within 5 minutes."""


class WaitStep(_Step, frozen=True, tag="wait"):
    """Let time pass: so many seconds, or until the group is balanced."""

    s: Duration | None = None


Step = (
    BounceStep
    | CrashStep
    | CrashLoopStep
    | ScaleStep
    | ReplaceStep
    | DuplicateStep
    | FailoverStep
    | RemoveStep
    | MoveReplicasStep
    | WaitStep
)
