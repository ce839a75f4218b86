"""Write texts as files of a folder, and refuse documents that their schemas refuse."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.model.bad_input import BadInputError

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

INDEX = "index.html"
"""The page of a report."""


class ReportError(BadInputError):
    """A report can't be written.  `str()` names the file, the problem and the remedy."""


def write_texts(texts: Mapping[str, str], directory: Path, option: str) -> None:
    """Write files into a folder, made if missing.  Raises ReportError that names the option."""
    for name, text in texts.items():
        path = directory / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            reason = error.strerror or str(error)
            raise ReportError(
                f"{path}: can't be written ({reason}); give {option} another folder"
            ) from error


def make_folder(folder: Path) -> None:
    """Make a folder, if it is missing.  Raises ReportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"can't be made ({error.strerror})"
        raise ReportError(f"{folder} {problem}; choose another folder") from error


def refuse_wrong(error: ValidationError | None, name: str) -> None:
    """Raise ReportError for a document that its schema refuses; `name`: of the file."""
    if error is not None:
        raise ReportError(
            f"{name}: {error.json_path}: {error.message}; "
            "this is a fault of fencepost: please report it"
        )


def trace_name(case_id: str) -> str:
    """Return the file of a case's trace, relative to the folder of a report."""
    return f"traces/{case_id.replace('/', '__')}.json"
