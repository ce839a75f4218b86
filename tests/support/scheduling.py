"""How pytest-xdist shares the tests: by file, each document by itself, what takes longest first.

What the tests of a file share is made once then, the blocks of a document stay in their order, and
in the end no worker is left alone with what takes longest.
"""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

DOCUMENTS = "tests/test_docs.py::test_what_is_shown_is_so["

LONGEST = (
    "tests/properties/proofs/test_proofs.py",
    "tests/conformance/search/fuzz/test_fuzz.py",
    "tests/properties/judging/test_outcome.py",
    "tests/conformance/cases/test_cases.py",
    "tests/traces/pages/test_trace_page.py",
    "tests/conformance/cases/test_cover_suite.py",
    f"{DOCUMENTS}docs/brokers/certify.md:",
    "tests/traces/audit/test_log_audit.py",
    "tests/conformance/cli/test_cli.py",
    "tests/conformance/search/findings/test_trace_causes_corpus_index.py",
    "tests/conformance/advise/test_arithmetic.py",
    "tests/traces/pipeline/logs/test_part_audit.py",
)
"""What takes longest begins first, in this order."""


def scope(nodeid: str) -> str:
    """What is run by one worker, one test after the other: a file, or a document's blocks."""
    if nodeid.startswith(DOCUMENTS):
        return nodeid.rpartition(":")[0]
    return nodeid.partition("::")[0]


def rank(nodeid: str) -> int:
    """The place of what this test belongs to: lower begins earlier."""
    places = (place for place, start in enumerate(LONGEST) if nodeid.startswith(start))
    return next(places, len(LONGEST))


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # it has no types
    """Shares scopes in the order of `LONGEST`; tests that are collected earlier come first."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)
