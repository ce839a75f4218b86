"""The shape of a failed case: what stays the same while its plan is made smaller.

Decides what of a result `fencepost.properties.oracle.fingerprint` is asked about; a target that
failed, rather than answer wrong, has a shape of its own.
"""

from __future__ import annotations

from fencepost.conformance.execution.answer_diff import request_of
from fencepost.conformance.execution.outcome import CaseResult, Outcome
from fencepost.model.revision import Revision
from fencepost.properties.oracle.fingerprint import Shape, kind_of, shape_of_violation

__all__ = ["FAILED", "Shape", "kind_of", "shape_of"]

FAILED = "TARGET-FAILED"


def shape_of(result: CaseResult, revision: Revision) -> Shape | None:
    """The shape of a failure; None where nothing failed, known or not."""
    if result.outcome not in {Outcome.FAIL, Outcome.KNOWN_FAILURE, Outcome.STALE_KNOWN_FAILURE}:
        return None
    violation = result.verdict.violation if result.verdict is not None else None
    if result.recording is None:
        return Shape("", "", FAILED, "")
    if violation is None:
        return None
    request = request_of(result.recording, violation.request_id)
    return shape_of_violation(violation, revision, request.api if request is not None else "")
