"""Cache explored worlds of a check, so that a change costs only the worlds that it reaches.

An exploration depends on the tables only by their decisions: at which points they were asked, and
which rules they answered.  These are kept beside its result.  The result counts for a revision if
its tables decide all of these points by equal rules, and if nothing else differs: the code of the
model and of the properties, the versions, the user's file, the scope, the properties, all other
fields of the revision.  The guard of a rule may differ, since its decisions are compared.

A file that is damaged counts as none, and is written anew.  What is not known in full is not
cached: a revision with functions of its own, an exploration that a limit ended or in which the
machine stopped, code that was changed a moment ago or while the check ran.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from fencepost import model, properties
from fencepost.model.revision import Revision
from fencepost.model.revisions.revisions import is_shipped, lineage, shipped_base
from fencepost.model.table.expr import Point
from fencepost.model.table.table import Rule, Table, TableError
from fencepost.properties.worlds.scope import Scope

Decisions = Mapping[str, Mapping[Point, str]]
"""Table → point → a digest of the rule that decided there."""

_FORMAT = 1
_KEPT = 8
"""Results of one world, and versions of the code, that are kept."""
_RECENT_S = 2.0
"""Seconds within which code that was changed may differ from the code that runs."""
_SUFFIXES = {".py", ".json"}


@dataclass(frozen=True, slots=True)
class CachedResult:
    """A result, and the decisions of the tables on which it depends."""

    result: Any
    decisions: Decisions


class WorldCache:
    """Finds and keeps results in a folder; `own`: a digest of the user's file, "" if there is none.

    An error of the file system is none of the check: then nothing is found or kept.
    """

    def __init__(self, folder: Path, own: str = "") -> None:
        self._own = own
        self._code = code_digest()
        self._folder = folder / (self._code or "none")

    def find(self, revision: Revision, scope: Scope, about: Iterable[str]) -> CachedResult | None:
        """Return the result of a scope that counts for a revision, or None.

        `about`: ids of the properties or promises, and all else on which the result depends.
        """
        folder = self._of(revision, scope, about)
        if folder is None:
            return None
        for path in _newest_first(folder):
            kept = _read(path)
            if kept is not None and _decides_alike(revision, kept.decisions):
                return kept
        return None

    def keep(
        self, revision: Revision, scope: Scope, about: Iterable[str], kept: CachedResult
    ) -> None:
        """Keep a result, unless the code was changed meanwhile."""
        folder = self._of(revision, scope, about)
        if folder is None or code_digest() != self._code:
            return
        payload = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
        name = _digest(repr(sorted(_flat(kept.decisions))).encode())
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            half = folder / f".{name}.{os.getpid()}"
            half.write_bytes(_digest(payload).encode() + payload)
            half.replace(folder / name)
            for old in _newest_first(folder)[_KEPT:]:
                old.unlink()
            for code in _newest_first(self._folder.parent)[_KEPT:]:
                shutil.rmtree(code, ignore_errors=True)

    def _of(self, revision: Revision, scope: Scope, about: Iterable[str]) -> Path | None:
        """Return the folder for results that differ in the tables alone; None: not to be cached."""
        functions = (
            revision.twists
            or revision.distort
            or revision.protocol is not shipped_base(revision).protocol
        )
        is_known = is_shipped(revision) or self._own
        if not self._code or functions or not is_known:
            return None
        key = (_FORMAT, self._own, scope, sorted(about), lineage(revision), _others(revision))
        return self._folder / _digest(repr(key).encode())


_KNOWN_OTHERWISE = {
    *("name", "about", "differences"),  # words
    *("tables", "ancestors"),  # by their decisions, and the lineage
    *("protocol", "twists", "distort"),  # a revision that has its own is not cached
}


def _others(revision: Revision) -> list[tuple[str, object]]:
    """Return the fields of a revision that nothing else compares."""
    names = (each.name for each in fields(revision))
    return [(n, _ordered(getattr(revision, n))) for n in names if n not in _KNOWN_OTHERWISE]


def _ordered(value: object) -> object:
    """Return a value whose representation is the same in each process."""
    if isinstance(value, Mapping):
        return sorted(value.items())
    return sorted(value) if isinstance(value, frozenset) else value


def with_unasked_tables(revision: Revision) -> Revision:
    """Return a revision with equal tables that nobody has asked yet, for `decisions_of`."""
    tables = {
        name: Table(table.name, table.features, table.checks, table.rows)
        for name, table in revision.tables.items()
    }
    return replace(revision, tables=tables)


def decisions_of(revision: Revision) -> Decisions:
    """Return all decisions of a revision's tables so far."""
    return {
        name: {point: rule_digest(rule) for point, rule in table.decisions().items()}
        for name, table in revision.tables.items()
    }


def rule_digest(rule: Rule) -> str:
    """Return a digest of all that a rule does and says; of its guard only the decisions count."""
    steps = [do.name for do in rule.effect]
    answer = None if rule.answer is None else rule.answer.name
    texts = (rule.level.name, rule.source, rule.because, rule.echo.name, rule.defensive)
    return _digest(repr((rule.id, steps, answer, texts)).encode())


def _decides_alike(revision: Revision, decisions: Decisions) -> bool:
    """Return True if a revision's tables decide these points by equal rules."""
    try:
        return all(
            rule_digest(revision.tables[name].decide(point)) == digest
            for name, points in decisions.items()
            for point, digest in points.items()
        )
    except (KeyError, TableError):
        return False


def _flat(decisions: Decisions) -> Iterable[tuple[str, str, str]]:
    for name, points in decisions.items():
        for point, digest in points.items():
            yield name, repr(point), digest


def code_digest() -> str:
    """Return a digest of the code of model and properties and of the versions.

    "" if a file was changed a moment ago: what runs may be the code before.
    """
    digest = hashlib.sha256(f"{sys.version} msgspec {msgspec.__version__}".encode())
    now = time.time()
    try:
        for package in (model, properties):
            root = Path(package.__path__[0]).resolve()
            for path in sorted(root.rglob("*")):
                if path.suffix in _SUFFIXES:
                    if path.stat().st_mtime > now - _RECENT_S:
                        return ""
                    digest.update(f"{path.relative_to(root)}\n".encode())
                    digest.update(path.read_bytes())
    except OSError:
        return ""
    return digest.hexdigest()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _newest_first(folder: Path) -> list[Path]:
    """Return the entries of a folder, the one that was written last first."""
    try:
        entries = [path for path in folder.iterdir() if not path.name.startswith(".")]
        return sorted(entries, key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return []


def _read(path: Path) -> CachedResult | None:
    """Return a result that was kept; None if its file is damaged."""
    size = hashlib.sha256().digest_size * 2
    try:
        content = path.read_bytes()
    except OSError:
        return None
    payload = content[size:]
    if _digest(payload).encode() != content[:size]:
        return None
    kept = pickle.loads(payload)  # noqa: S301  (our own file, and whole)
    return kept if isinstance(kept, CachedResult) else None
