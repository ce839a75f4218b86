"""The assignors by name: plain functions from what members want to who reads which partition.

Each has one signature: members, the partitions that topics have, and the racks of their replicas.
The result names every member.  Members are ordered by instance id where they have one, so that a
restart, which gives a static member another member id, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fencepost.model.assignors.assignor_input import NO_RACKS, Applicant, Assignment, Counts, Racks
from fencepost.model.assignors.ranges import assign_range
from fencepost.model.assignors.round_robin import assign_round_robin
from fencepost.model.assignors.sticky import assign_cooperatively, assign_sticky


class Assign(Protocol):
    """An assignor's function: who gets what.  It asks for nothing but its arguments."""

    def __call__(
        self, members: tuple[Applicant, ...], counts: Counts, racks: Racks = NO_RACKS
    ) -> Assignment:
        """Each member's partitions, by member id."""


@dataclass(frozen=True, slots=True)
class Assignor:
    """An assignor by its name in the protocol.

    `is_cooperative`: members keep what they own while they join again.  `is_sticky`: it looks at
    what members own, or owned last.  `knows_racks`: it looks at racks.
    """

    name: str
    assign: Assign
    is_cooperative: bool = False
    is_sticky: bool = False
    knows_racks: bool = True

    @property
    def needs_memory(self) -> bool:
        """Whether members must say what they had last, as they own nothing when they join."""
        return self.is_sticky and not self.is_cooperative


ASSIGNORS: Mapping[str, Assignor] = {
    assignor.name: assignor
    for assignor in (
        Assignor("range", assign_range),
        Assignor("roundrobin", assign_round_robin, knows_racks=False),
        Assignor("sticky", assign_sticky, is_sticky=True),
        Assignor("cooperative-sticky", assign_cooperatively, is_cooperative=True, is_sticky=True),
    )
}
"""The assignors by name."""
