"""Pack the installed fencepost into one archive, for machines that don't have it.

Only the floors that jobs need are packed.  They are those that this process runs, so driver and
executors can't disagree.  The archive is laid out like a wheel, with an entry for each folder: a
package without `__init__.py` is found in an archive by its entry alone.
"""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_FLOORS = ("model", "properties", "traces")
_SEALED = (1980, 1, 1, 0, 0, 0)
"""A fixed time for all files: the same content gives the same archive."""


def write_archive(path: Path, more_floors: Sequence[str] = ()) -> Path:
    """Write the archive.  `more_floors`: those above that are packed, too."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("fencepost/", _SEALED), b"")
        for name, file in sorted(_files((*_FLOORS, *more_floors)).items()):
            data = b"" if file.is_dir() else file.read_bytes()
            archive.writestr(zipfile.ZipInfo(name, _SEALED), data, zipfile.ZIP_DEFLATED)
    return path


def _files(floors: Iterable[str]) -> dict[str, Path]:
    """Return the archive's files by name; of a module that is installed twice, the one in use."""
    files_: dict[str, Path] = {}
    for floor in floors:
        package = importlib.import_module(f"fencepost.{floor}")
        for root in map(Path, package.__path__):
            for name, file in _within(root):
                files_.setdefault(f"fencepost/{floor}/{name}", file)
    return files_


def _within(root: Path) -> Iterator[tuple[str, Path]]:
    yield "", root
    for file in root.rglob("*"):
        name = file.relative_to(root).as_posix()
        if "__pycache__" in file.parts:
            continue
        if file.is_dir():
            yield f"{name}/", file
        elif file.suffix in {".py", ".json"}:
            yield name, file
