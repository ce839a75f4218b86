"""A folder of plans that reached something new, from which the next fuzz run starts.

Each plan is a case as JSON, named after its id, which is a digest of its steps; so the same plan is
the same file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from fencepost.model.plans.plan import Case
from fencepost.model.plans.plan_json import PlanError, case_from_json, case_json
from fencepost.traces.files.bounded import read_json
from fencepost.traces.report.report_folder import write_texts


def read_corpus(directory: Path) -> list[Case]:
    """The plans in a folder, in the order of their names; none if there is no such folder.

    Raises PlanError that names the file.
    """
    return [_read(path) for path in sorted(directory.glob("*.json"))]


def _read(path: Path) -> Case:
    try:
        return case_from_json(read_json(path))
    except ValueError as error:
        remedy = "a corpus holds plans that `fencepost fuzz --corpus` wrote; take the file away"
        raise PlanError(str(path), f"{error}; {remedy}") from error


def write_corpus(cases: Iterable[Case], directory: Path) -> None:
    """Write plans into a folder, made if missing.  Raises ReportError."""
    texts = {
        f"{case.id.replace('/', '__')}.json": json.dumps(case_json(case), indent=1) + "\n"
        for case in cases
    }
    write_texts(texts, directory, "--corpus")
