"""Store tables in a place: a folder, or a URI that Arrow's file systems know.

A file gets its name only when it is complete, so a process that is killed leaves nothing that could
be taken for a result.  Every machine of a cluster must see the place under the same name.  A
manifest describes a folder of the pipeline; one of another kind or version is refused.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from fencepost.model.bad_input import BadInputError
from fencepost.traces.files.bounded import BadJsonError, parse_json


class CorpusError(BadInputError):
    """A folder holds no corpus, or another one.  `str()` names it and the remedy."""


class ManifestKind(NamedTuple):
    """`format` and `version` as the file has them, its subject, and two remedies.

    `anew`: for a file that is damaged; `other`: for one about another subject.
    """

    format: str
    version: int
    noun: str
    anew: str
    other: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of every such file; each kind adds its own."""

    format: str
    version: int


_M = TypeVar("_M", bound=Manifest)


def manifest(text: str, where: str, kind: ManifestKind, shape: type[_M]) -> _M:
    """Read such a file, with no field missing, unknown or out of range.  Raises CorpusError."""
    try:
        document = parse_json(text)
    except BadJsonError as error:
        raise CorpusError(f"{where}: {error}; {kind.anew}") from error
    if not isinstance(document, dict) or document.get("format") != kind.format:
        raise CorpusError(f"{where} is of no {kind.noun}; {kind.other}")
    if document.get("version") != kind.version:
        raise CorpusError(
            f"{where} has version {document.get('version')!r}, and this fencepost reads "
            f"{kind.version}; use the fencepost that made it"
        )
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        raise CorpusError(f"{where}: {error}; {kind.anew}") from error


_UNFINISHED = ".tmp"


@dataclass(frozen=True)
class Place:
    """A folder by its path or URI (`s3://bucket/corpus`, `hdfs://…`, `file:///…`)."""

    uri: str

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        if "://" not in self.uri:
            return fs.LocalFileSystem(), str(Path(self.uri).absolute())
        try:
            system, path = fs.FileSystem.from_uri(self.uri)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorpusError(f"{self.uri}: {error}; give a folder that Arrow can open") from error
        return system, path

    def __getstate__(self) -> str:
        """Return its name only; each process opens it for itself."""
        return self.uri

    def __setstate__(self, uri: str) -> None:
        object.__setattr__(self, "uri", uri)

    def __str__(self) -> str:
        """Return its name."""
        return self.uri

    def full(self, name: str) -> str:
        """Return the full name of a file, as Spark reads it."""
        return posixpath.join(self.uri if "://" in self.uri else self._opened[1], name)

    def read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """Read a table.  Raises OSError if there is none, CorpusError for a damaged one."""
        system, root = self._opened
        with self._whole(name), system.open_input_file(posixpath.join(root, name)) as file:
            return pq.read_table(file, columns=columns)

    @contextmanager
    def _whole(self, name: str) -> Iterator[None]:
        """Raise CorpusError for a damaged file, with Arrow's message."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system's, not Arrow's
            raise CorpusError(
                f"{self.full(name)} is no whole Parquet file ({str(error).splitlines()[0]}); "
                "remove it, and run the command again"
            ) from error

    def write(self, name: str, table: pa.Table) -> None:
        """Write a table, whole or not at all.  Raises CorpusError."""
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        self._put(name, sink.getvalue())

    @contextmanager
    def opened(self, name: str) -> Iterator[pq.ParquetFile]:
        """Open a table, to read parts of it.

        Raises OSError if there is none, CorpusError for a damaged one.
        """
        system, root = self._opened
        with self._whole(name), system.open_input_file(posixpath.join(root, name)) as file:
            yield pq.ParquetFile(file)

    @contextmanager
    def writing(self, name: str, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
        """Write a table piece by piece; it appears when the block succeeds.  Raises CorpusError."""
        raised: BaseException | None = None
        try:
            with (
                self._unfinished(name) as (system, unfinished),
                system.open_output_stream(unfinished) as file,
                pq.ParquetWriter(file, schema, compression="zstd") as writer,
            ):
                try:
                    yield writer
                except BaseException as error:
                    raised = error
                    raise
        except OSError as error:
            if error is raised:
                raise
            raise self._unwritable(name, error) from error

    def read_text(self, name: str) -> str | None:
        """Read a text; None if there is none."""
        system, root = self._opened
        try:
            with system.open_input_stream(posixpath.join(root, name)) as file:
                return str(file.read(), "utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(
                f"{self.full(name)} can't be read ({error}); choose another folder"
            ) from error

    def write_text(self, name: str, text: str) -> None:
        """Write a text, whole or not at all.  Raises CorpusError."""
        self._put(name, text.encode())

    def names(self, under: str) -> set[str]:
        """List the complete files in a folder and its subfolders, by relative name."""
        start, paths = self._listed(under)
        return {path[len(start) + 1 :] for path in paths if not path.endswith(_UNFINISHED)}

    def tidy(self, under: str) -> None:
        """Remove the unfinished files of processes that were killed."""
        system, _ = self._opened
        for path in self._listed(under)[1]:
            if path.endswith(_UNFINISHED):
                system.delete_file(path)

    def _listed(self, under: str) -> tuple[str, list[str]]:
        system, root = self._opened
        start = posixpath.join(root, under) if under else root
        chosen = fs.FileSelector(start, allow_not_found=True, recursive=True)
        return start, [i.path for i in system.get_file_info(chosen) if i.type is fs.FileType.File]

    def _put(self, name: str, data: bytes | pa.Buffer) -> None:
        try:
            with (
                self._unfinished(name) as (system, unfinished),
                system.open_output_stream(unfinished) as file,
            ):
                file.write(data)
        except OSError as error:
            raise self._unwritable(name, error) from error

    @contextmanager
    def _unfinished(self, name: str) -> Iterator[tuple[fs.FileSystem, str]]:
        """Return a temporary name, which the file has until the block succeeds."""
        system, root = self._opened
        path = posixpath.join(root, name)
        folder, base = posixpath.split(path)
        unfinished = posixpath.join(folder, f".{base}.{uuid4().hex}{_UNFINISHED}")
        system.create_dir(folder, recursive=True)
        yield system, unfinished
        system.move(unfinished, path)

    def _unwritable(self, name: str, error: OSError) -> CorpusError:
        return CorpusError(f"{self.full(name)} can't be written ({error}); choose another folder")
