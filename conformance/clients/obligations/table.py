"""The table of obligations: all rows in order, and how one is found."""

from __future__ import annotations

from fencepost.conformance.clients.obligations.leading import LEADER
from fencepost.conformance.clients.obligations.membership import (
    CLOSE,
    IDENTITY,
    RESTART,
    SESSION,
    STREAMS,
)
from fencepost.conformance.clients.obligations.obligation import Obligation
from fencepost.conformance.clients.obligations.trouble import FENCED, JOIN, OLD_BROKER, REMOVED
from fencepost.model.revisions.near import did_you_mean
from fencepost.traces.files.bad_input import BadInputError

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
