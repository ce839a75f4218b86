"""List all requirements of clients in the table's order, find them by id, and judge them."""

from __future__ import annotations

from fencepost.model.bad_input import BadInputError
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.requirements import (
    judge_bytes,
    judge_committing,
    judge_joining,
    judge_leading,
    judge_leaving,
    judge_reading,
    judge_recovering,
    judge_running,
    judge_transacting,
)
from fencepost.properties.requirements.evidence import Evidence
from fencepost.properties.requirements.requirement import AREAS, Requirement, Verdict

REQUIREMENTS = {
    row.id: row
    for row in sorted(
        (
            *judge_joining.REQUIREMENTS,
            *judge_recovering.REQUIREMENTS,
            *judge_committing.REQUIREMENTS,
            *judge_transacting.REQUIREMENTS,
            *judge_leaving.REQUIREMENTS,
            *judge_running.REQUIREMENTS,
            *judge_leading.REQUIREMENTS,
            *judge_bytes.REQUIREMENTS,
            *judge_reading.REQUIREMENTS,
        ),
        key=lambda row: list(AREAS).index(row.area),
    )
}
"""All requirements by id, in the order of their areas."""


class UnknownRequirementError(BadInputError):
    """No requirement has such an id.  `str()` names one that is near."""


def find_requirement(name: str) -> Requirement:
    """Return the requirement of this id.  Raises UnknownRequirementError."""
    if name in REQUIREMENTS:
        return REQUIREMENTS[name]
    near = did_you_mean(name, list(REQUIREMENTS))
    raise UnknownRequirementError(f"no obligation is called {name}{near}")


def in_area(area: str) -> tuple[Requirement, ...]:
    """Return the requirements of an area of `AREAS`, in order."""
    return tuple(row for row in REQUIREMENTS.values() if row.area == area)


def judge(name: str, evidence: Evidence) -> Verdict:
    """Judge the requirement of this id by the evidence of one run."""
    return REQUIREMENTS[name].verdict(evidence)
