"""Read the file that describes a folder of the pipeline.

A file of another kind or version is refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fencepost.model.bad_input import BadInputError
from fencepost.traces.files.bounded import BadJsonError, parse_json


class CorpusError(BadInputError):
    """A folder holds no corpus, or another one.  `str()` names it and the remedy."""


class ManifestKind(NamedTuple):
    """`format` and `version` as the file says them, what it is of, and two remedies.

    `anew`: for a file that is damaged; `other`: for one that is of something else.
    """

    format: str
    version: int
    noun: str
    anew: str
    other: str


def manifest(text: str, where: str, kind: ManifestKind) -> dict[str, Any]:
    """Read such a file.  Raises CorpusError."""
    try:
        said = parse_json(text)
    except BadJsonError as error:
        raise CorpusError(f"{where}: {error}; {kind.anew}") from error
    if not isinstance(said, dict) or said.get("format") != kind.format:
        raise CorpusError(f"{where} is of no {kind.noun}; {kind.other}")
    if said.get("version") != kind.version:
        raise CorpusError(
            f"{where} has version {said.get('version')!r}, and this fencepost reads "
            f"{kind.version}; use the fencepost that made it"
        )
    return said
