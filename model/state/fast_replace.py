"""`replace` for frozen slotted dataclasses, written out once for each class.

It does the same as `dataclasses.replace`, and is that for type checkers.  Every step of the model
and of the oracle makes new objects from old ones, and a third of a step's time went into the
general function, which looks up all fields by name each time.  As `dataclasses` does for
`__init__`, a function is compiled for each class when it is first used.  It fills a draft, an
object of a subclass that isn't frozen, and then makes it one of the class: plain assignments are
half as dear as `object.__setattr__`.

A class with `__post_init__`, or with fields that are no slots, gets `dataclasses.replace` itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace as replace  # noqa: PLC0414  (so that it is known by its name)
else:

    def replace(thing: Any, /, **changes: Any) -> Any:
        """Return a copy with these fields changed.  Raises TypeError for an unknown field."""
        kind = thing.__class__
        change = _COMPILED.get(kind)
        if change is None:
            change = _COMPILED[kind] = _compiled(kind)
        return change(thing, **changes)


_COMPILED: dict[type, Callable[..., Any]] = {}
_SLOT = MemberDescriptorType


def _compiled(kind: Any) -> Callable[..., Any]:
    """Compile a function that fills the slots of a draft from those of an old object."""
    fields = dataclasses.fields(kind)
    is_plain = all(f.init and isinstance(getattr(kind, f.name, None), _SLOT) for f in fields)
    if not is_plain or hasattr(kind, "__post_init__"):
        return dataclasses.replace
    names = [f.name for f in fields]
    given = ", ".join(f"{name}=_same" for name in names)
    lines = [f"    _new.{n} = _old.{n} if {n} is _same else {n}" for n in names]
    keywords = f", {given}" if names else ""
    source = "\n".join(
        [
            f"def replace(_old, /{keywords}):",
            "    _new = _make(_draft)",
            *lines,
            "    _new.__class__ = _kind",
            "    return _new",
        ]
    )
    thawed = {
        "__slots__": (),
        "__setattr__": object.__setattr__,
        "__delattr__": object.__delattr__,  # only both together are as quick as without them
    }
    known: dict[str, Any] = {
        "_same": object(),
        "_make": object.__new__,
        "_kind": kind,
        "_draft": type(f"_{kind.__name__}", (kind,), thawed),
    }
    exec(source, known)  # noqa: S102  (of field names alone, as dataclasses does)
    made: Callable[..., Any] = known["replace"]
    return made
