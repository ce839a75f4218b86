"""Load a revision of the user's own from a Python file: `FILE.py:NAME`.

The file is run, so only the command line and Python programs load one; a trace or certificate that
names one does not.  What is loaded is checked, and refused with a list of all its faults.  A tuple
PROPERTIES in the same file holds the user's own properties, for `check`, `explore` and `explain`.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import inspect
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import EnumType
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from fencepost import model
from fencepost.model.bad_input import BadInputError
from fencepost.model.revision import Revision
from fencepost.model.revisions.revision_soundness import revision_faults
from fencepost.model.revisions.revisions import add_own, find, is_in_a_file, is_shipped, own_names
from fencepost.model.suggestions import did_you_mean, nearest
from fencepost.model.table.table import TableError, UnknownNameError
from fencepost.properties.checking.checking import promises_of
from fencepost.properties.checking.claim_digest import claim_digest
from fencepost.properties.checking.consumer_promises import ALL_PROMISES
from fencepost.properties.checking.liveness import PROMISES, Promise, PromiseError
from fencepost.properties.claims.property_registry import (
    ALL_PROPERTIES,
    PROPERTIES,
    properties_of,
)
from fencepost.properties.logic.logic import Property
from fencepost.properties.worlds.scope import NamedScope, ScopeError
from fencepost.properties.worlds.worlds_by_protocol import WORLDS
from fencepost.traces.files.bounded import FILE_LIMIT

_MODEL = "model:"
_COMMAND = "exec:"
_T = TypeVar("_T")
_MODULE = "fencepost_own_revision"
_DIGEST = "__fencepost_digest__"
_NO_ARGUMENT = re.compile(
    r"(?P<called>[\w.]+)\(\) got an unexpected keyword argument '(?P<name>\w+)'"
)
_NOT_THERE = re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'")


class OwnRevisionError(BadInputError):
    """A revision in a file can't be used.  `str()` says what is wrong, and where."""


@dataclass(frozen=True, slots=True)
class OwnParts:
    """Everything a file brings beside its revisions."""

    properties: tuple[Property, ...] = ()
    worlds: tuple[NamedScope, ...] = ()
    promises: tuple[Promise, ...] = ()
    digest: str = ""


_KINDS: dict[str, type] = {"PROPERTIES": Property, "WORLDS": NamedScope, "PROMISES": Promise}
"""The name of a tuple in a file, and what it holds."""
_OWN: dict[str, OwnParts] = {}


def load_named(name: str) -> None:
    """Load the revision if the name is `FILE.py:NAME`, or the target `model:FILE.py:NAME`.

    From then on `find` knows it by that name in this process.  Raises OwnRevisionError.
    """
    if is_in_a_file(name) and not name.startswith(_COMMAND):
        load_revision(name.removeprefix(_MODEL))


def load_revision(reference: str) -> Revision:
    """Load, check and return the revision `FILE.py:NAME`.

    The file is run.  Its tuples `PROPERTIES`, `WORLDS` and `PROMISES` belong to the revision.
    Raises OwnRevisionError.
    """
    file, _, name = reference.rpartition(":")
    module = _run(Path(file))
    loaded = getattr(module, name, None)
    if not isinstance(loaded, Revision):
        raise OwnRevisionError(_unnamed(file, name, module, loaded))
    if is_shipped(loaded) and find(loaded.name) is not loaded:
        raise OwnRevisionError(
            f"the revision {reference} has the name of a shipped revision, {loaded.name}, "
            "whose known violations are not yours: give derive() another name"
        )
    if faults := revision_faults(loaded):
        more = "".join(f"\n  {fault}" for fault in faults)
        raise OwnRevisionError(f"the revision {reference} can't be used:{more}")
    revision = replace(loaded, name=reference)
    _OWN[reference] = _parts(file, module)
    add_own(revision, loaded.name, f"{Path(file).resolve().as_posix()}:{name}")
    return revision


def properties_for(reference: str) -> tuple[Property, ...]:
    """Return all properties to check a revision with: the shipped ones, and those of its file."""
    shipped = properties_of(find(reference)).values()
    return (*shipped, *own_parts(reference).properties)


def promises_for(reference: str) -> dict[str, Promise]:
    """Return all promises over time by id: the shipped ones, and those of a revision's file."""
    shipped = promises_of(find(reference))
    return {promise.id: promise for promise in (*shipped, *own_parts(reference).promises)}


def own_parts(reference: str) -> OwnParts:
    """Return what the file of a revision brings; nothing for a shipped one."""
    return _OWN.get(reference, OwnParts())


@contextlib.contextmanager
def stops_reported(reference: str) -> Iterator[None]:
    """Raise OwnRevisionError where a revision in a file stops: at a group that no rule covers.

    Or where a function of the file raises.  A shipped one does not stop, and its error is ours: it
    is raised as it is.
    """
    try:
        yield
    except Exception as error:
        if not is_in_a_file(reference):
            raise
        file = reference.removeprefix(_MODEL).rpartition(":")[0]
        if line := _line_in(file, error):
            raise OwnRevisionError(f"{file}, line {line}: {_called_wrongly(error)}") from None
        if not isinstance(error, TableError | AssertionError):
            raise
        raise _stops(reference, str(error)) from None


def _line_in(file: str, error: BaseException) -> int | None:
    """Return the line of a file at which an exception passed through it last; None: nowhere."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno for f in reversed(frames) if f.filename == file), None)


def _called_wrongly(error: Exception) -> str:
    """Return the exception of a function of the user's, with the nearest attribute."""
    message = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, AttributeError) and error.name:
        message += did_you_mean(error.name, [n for n in dir(error.obj) if n[0] != "_"])
    return message


def own_fault(error: BaseException) -> OwnRevisionError | None:
    """Return the fault of a revision in a file, where an engine stopped in its tables.

    None where no such revision was loaded, or the error is another: then the fault is ours.
    """
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    named = own_names()
    if not named or not isinstance(error, TableError):
        return None
    return _stops(" or ".join(named), str(error))


def _stops(reference: str, message: str) -> OwnRevisionError:
    why = message.partition("\n")[0] or "a step can't be done"
    return OwnRevisionError(
        f"{reference} leads to a group that can't be, and stops there ({why}); to see what goes "
        "wrong before, check it in fewer worlds: check --question, or explore --max-depth"
    )


def _run(path: Path) -> ModuleType:
    """Run the file as a module.  What it prints goes to stderr; beside it nothing is written."""
    try:
        with path.open("rb") as file:
            source = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise OwnRevisionError(f"{path} can't be read ({error.strerror})") from None
    if len(source) > FILE_LIMIT:
        raise OwnRevisionError(f"{path} has more than {FILE_LIMIT} bytes; name a Python file")
    digest = hashlib.sha256(source)
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    sys.modules[_MODULE] = module
    folder = path.parent.resolve()
    sys.path.append(str(folder))
    before = set(sys.modules)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102  (the user's own file)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001  (whatever it is, the file must be mended)
        raise OwnRevisionError(_raised(path, error, source, vars(module))) from None
    finally:
        sys.path.pop()
        for name in sorted(set(sys.modules) - before):
            digest.update(name.encode() + _source_of(sys.modules[name]))
        for name in set(sys.modules) - before:  # another folder has its own under this name
            if folder in Path(getattr(sys.modules[name], "__file__", None) or "/").parents:
                del sys.modules[name]
    setattr(module, _DIGEST, digest.hexdigest())
    return module


def _source_of(module: ModuleType) -> bytes:
    """Return the source of a module that a file imported, as far as it has one."""
    try:
        return Path(getattr(module, "__file__", None) or "").read_bytes()
    except OSError:
        return b""


def _raised(path: Path, error: BaseException, source: bytes, there: Mapping[str, object]) -> str:
    """Return what a file raised, and at which line; `there`: the names that it has so far."""
    line = error.lineno if isinstance(error, SyntaxError) else _line_in(str(path), error)
    where = f"{path}, line {line}" if line else str(path)
    if isinstance(error, UnknownNameError):
        return f"{where}: {error}{did_you_mean(error.name, error.known)}"
    message = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    if isinstance(error, TableError | ScopeError | PromiseError):
        return f"{where}: {message}"
    if isinstance(error, NameError) and error.name:
        message += did_you_mean(error.name, {*there, *vars(builtins), *model.__all__})
    if isinstance(error, ImportError) and (match := _NOT_THERE.match(message)):
        names = getattr(sys.modules.get(match["module"]), "__all__", ())
        message = f"{match[0]}{did_you_mean(match['name'], names)}"
    if match := _NO_ARGUMENT.search(message):
        called = there.get(match["called"].removesuffix(".__init__"))
        if callable(called):
            there_are = inspect.signature(called).parameters
            message += f"{did_you_mean(match['name'], there_are)}; it takes {', '.join(there_are)}"
    if isinstance(error, AttributeError) and line:
        text = source.decode(errors="replace").splitlines()[line - 1]
        message = _no_attribute(error, text, there) or message
    return f"{where}: {type(error).__name__}: {message}"


def _no_attribute(error: AttributeError, line: str, there: Mapping[str, object]) -> str:
    """Return the attribute that an object lacks, and the nearest; "" where the line hides it.

    An enumeration raises with the bare name: the line says whose it is.
    """
    name = error.name or str(error)
    if not name.isidentifier():
        return ""
    for owner in re.findall(rf"(\w+)\.{re.escape(name)}\b", line):
        object_ = there.get(owner)
        if object_ is None or hasattr(object_, name):
            continue
        words = list(object_.__members__) if isinstance(object_, EnumType) else []
        near = did_you_mean(name, words or [word for word in dir(object_) if word[0] != "_"])
        listed = f"; it has {', '.join(words)}" if words and not near else ""
        return f"{owner} has no {name}{near}{listed}"
    return ""


def _unnamed(file: str, name: str, module: ModuleType, value: object) -> str:
    there = [n for n, value in vars(module).items() if isinstance(value, Revision)]
    near = nearest(name, there)
    if value is not None:
        problem = f"{name} in {file} is of type {type(value).__name__}, not a Revision"
    else:
        problem = f"{file} has no revision {name!r}"
    if near:
        return f"{problem}; did you mean {file}:{near[0]}?"
    names = ", ".join(there) or "none: make one with fencepost.model.derive()"
    return f"{problem}; its revisions are {names}"


def _parts(file: str, module: ModuleType) -> OwnParts:
    """Return what a file brings beside its revisions.  Raises OwnRevisionError."""
    _refuse_misspelled(file, module)
    worlds_of_ours = [
        named for worlds in WORLDS.values() for named in (*worlds.check_scopes, *worlds.rare_scopes)
    ]
    questions = dict.fromkeys((named.name for named in worlds_of_ours), "a shipped question")
    promised = (promise.id for promise in ALL_PROMISES)
    claims = dict.fromkeys((*ALL_PROPERTIES, *promised), "a shipped property")
    properties = _own(file, module, Property, "PROPERTIES", claims)
    claims |= {claim.id: "a property, too" for claim in properties}
    worlds = _own(file, module, NamedScope, "WORLDS", questions)
    promises = _own(file, module, Promise, "PROMISES", claims)
    digest = claim_digest((*properties, *promises), _MODULE) or getattr(module, _DIGEST)
    return OwnParts(properties, worlds, promises, digest)


def _own(
    file: str, module: ModuleType, kind: type[_T], name: str, shipped: Mapping[str, str]
) -> tuple[_T, ...]:
    """Return what a tuple of a file holds; `shipped`: ids that are taken, and by what.

    A file may import the shipped ones under the same name.  Raises OwnRevisionError.
    """
    own = getattr(module, name, ())
    if own is PROPERTIES or own is PROMISES:
        return ()
    if not isinstance(own, tuple | list):
        raise OwnRevisionError(
            f"{name} in {file} is of type {type(own).__name__}; give a tuple, also of one: (…,)"
        )
    taken = dict(shipped)
    for item in own:
        if not isinstance(item, kind):
            raise OwnRevisionError(f"{name} in {file} holds {item!r}, which is no {kind.__name__}")
        its_id = _id_of(item)
        if its_id in shipped:
            raise OwnRevisionError(
                f"{name} in {file}: {its_id} is {shipped[its_id]}; give it another id"
            )
        if its_id in taken:
            raise OwnRevisionError(f"{name} in {file}: two are called {its_id}; rename one")
        taken[its_id] = name
    return tuple(own)


def _id_of(item: Any) -> str:
    return str(item.name if isinstance(item, NamedScope) else item.id)


def _refuse_misspelled(file: str, module: ModuleType) -> None:
    """Refuse a tuple that nothing would read, such as WORLD.  Raises OwnRevisionError."""
    for name, value in vars(module).items():
        items = value if isinstance(value, tuple | list) else ()
        for known, kind in _KINDS.items():
            is_meant = items and isinstance(items[0], kind) and not hasattr(module, known)
            if is_meant and name != known and name.isupper() and nearest(name, [known]):
                raise OwnRevisionError(f"nothing reads {name} in {file}; did you mean {known}?")
