"""What can go wrong with a request on its way."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Fault(Enum):
    """What can happen to a request."""

    LOSE_REQUEST = "it never arrives"
    LOSE_ANSWER = "it is handled, and its answer never arrives"
    CUT = "it is handled, and its connection ends"
    REFUSE = "it is answered with an error"
    DELAY = "its answer takes longer"


class Interference(NamedTuple):
    """What happens to a request; `code` for REFUSE, `ms` for DELAY."""

    fault: Fault
    code: int = 0
    ms: int = 0
