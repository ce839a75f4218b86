"""Every pasted test of the corpus that a served model can be asked, some minutes; see tox.ini.

What waits for long is left out, and so is what needs a coordinator that fails over.
"""

from __future__ import annotations

import pytest
from support.committed import ROWS, committed
from support.pasted import PASSED, SKIPPED, run_pasted

from fencepost.model.history.events import Sent, Takeover
from fencepost.traces.files.trace_file import TraceFileError

LONGEST_MS = 60_000
LOST_IN_TIME = {
    "join-timer-restarts": "the wrong answer comes a millisecond after the right one is due",
    "replace-keeps-protocols": "what a member said of its protocol is not compared",
    "syncs-not-noted": "two timers end at one instant, which a real clock takes in either order",
}
"""Faults that only a plan which adapts to the clock can show: `replay`, not the pasted test."""

MUTANTS = [row["name"] for row in ROWS if row["kind"] == "mutant"]


SEEDS = range(4)
"""A fault that the mutant's rules leave open shows with some of them."""


@pytest.mark.parametrize("name", MUTANTS)
def test_it_tells_the_model_from_the_mutant(name: str) -> None:
    trace = committed(name)
    if name in LOST_IN_TIME:
        pytest.skip(LOST_IN_TIME[name])
    if max(event.at_ms for event in trace.events) > LONGEST_MS:
        pytest.skip("waits for long")
    if any(isinstance(e, Sent) and e.request.api == "TxnOffsetCommit" for e in trace.events):
        with pytest.raises(TraceFileError, match="needs a transaction around it"):
            run_pasted(trace, "kafka-4")
        return
    right = run_pasted(trace, "kafka-4")
    said = (run_pasted(trace, f"mutant:{name}", seed) for seed in SEEDS)
    if any(isinstance(event, Takeover) for event in trace.events):
        assert (right, next(said)) == (SKIPPED, SKIPPED)
        return
    assert right == PASSED
    assert any(wrong not in {PASSED, SKIPPED} for wrong in said)
