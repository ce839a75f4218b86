"""The table of obligations: all rows in order, and how one is found."""

from __future__ import annotations

from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.requirements.error_requirements import FENCED, JOIN, OLD_BROKER, REMOVED
from fencepost.properties.requirements.leader_requirements import LEADER
from fencepost.properties.requirements.membership_requirements import (
    CLOSE,
    IDENTITY,
    RESTART,
    SESSION,
    STREAMS,
)
from fencepost.properties.requirements.requirement import Obligation

_ROWS = (
    *IDENTITY,
    *JOIN,
    *CLOSE,
    *FENCED,
    *REMOVED,
    *RESTART,
    *LEADER,
    *SESSION,
    *OLD_BROKER,
    *STREAMS,
)

OBLIGATIONS = {row.id: row for row in _ROWS}
"""All obligations by id, in the table's order."""


class UnknownObligationError(BadInputError):
    """No obligation has such an id.  `str()` names one that is near."""


def find_obligation(name: str) -> Obligation:
    """The obligation of this id.  Raises UnknownObligationError."""
    found = OBLIGATIONS.get(name)
    if found is None:
        raise UnknownObligationError(
            f"no obligation is called {name}{did_you_mean(name, list(OBLIGATIONS))}"
        )
    return found


def in_area(area: str) -> tuple[Obligation, ...]:
    """The obligations of an area of `AREAS`, in order."""
    return tuple(row for row in _ROWS if row.area == area)
