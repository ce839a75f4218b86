"""Find revisions by name: the base, the KIP, its drafts and comments, experiments, the releases.

Those of the user's own, from files, are added as they are loaded.  `kafka-4` is the base: a correct
current coordinator.  Every other one is the base and a list of differences, each with the passage
that it comes from.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib import import_module

from fencepost.model.revision import Revision
from fencepost.model.revisions.base import KAFKA_4
from fencepost.model.revisions.consumer_releases import CONSUMER_REVISIONS
from fencepost.model.revisions.drafts import (
    COMMENT_TABLE_1,
    COMMENT_TABLE_2,
    MEMBER_NAME_DRAFT,
    TUPLE_LIST_LEAVE_DRAFT,
    TWO_LIST_LEAVE_DRAFT,
)
from fencepost.model.revisions.experiments import PREREGISTERED, STANDBY, TARGET_SIZE
from fencepost.model.revisions.kip import KIP_345
from fencepost.model.revisions.mixed_releases import MIXED_REVISIONS
from fencepost.model.revisions.release_revisions import RELEASES, gates_ahead, release, was_released
from fencepost.model.revisions.streams_releases import STREAMS_REVISIONS
from fencepost.model.suggestions import did_you_mean
from fencepost.model.table.table import Rule, Table

_NAMED = {
    revision.name: revision
    for revision in (
        KAFKA_4,
        KIP_345,
        MEMBER_NAME_DRAFT,
        TWO_LIST_LEAVE_DRAFT,
        TUPLE_LIST_LEAVE_DRAFT,
        COMMENT_TABLE_1,
        COMMENT_TABLE_2,
        PREREGISTERED,
        STANDBY,
        TARGET_SIZE,
    )
}
NAMES: tuple[str, ...] = (*_NAMED, *(f"kafka-{a}.{b}" for a, b in RELEASES))
"""The names of all shipped revisions of the classic protocol."""
CONSUMER_NAMES: tuple[str, ...] = tuple(revision.name for revision in CONSUMER_REVISIONS)
"""Those of the consumer protocol; the first is its base."""
MIXED_NAMES: tuple[str, ...] = tuple(revision.name for revision in MIXED_REVISIONS)
"""Those of mixed groups, with members of both protocols; the first is their base."""
STREAMS_NAMES: tuple[str, ...] = tuple(revision.name for revision in STREAMS_REVISIONS)
"""Those of streams groups; the first is their base."""
ALL_NAMES = (*NAMES, *CONSUMER_NAMES, *MIXED_NAMES, *STREAMS_NAMES)
_NAMED |= {
    revision.name: revision
    for revision in (*CONSUMER_REVISIONS, *MIXED_REVISIONS, *STREAMS_REVISIONS)
}
CONSUMER_RELEASES = frozenset(name for name in CONSUMER_NAMES if name.startswith("consumer-"))
"""Those of the consumer protocol that are a release's; the others are proposals."""
_OTHER_RELEASES = CONSUMER_RELEASES.union(MIXED_NAMES, STREAMS_NAMES)


_WITHOUT_OLD_JOINS = (4, 0, 0)
_NEWEST = 4
_NUMBERS = re.compile(r"kafka-((\d+)(?:\.\d+)?)(?:\.\d+)*")
_RELEASE = re.compile(r"kafka-(\d+)\.(\d+)(?:\.(\d+))?")


MUTANT = "mutant:"
"""The prefix of mutants' names."""
_FAMILIES: dict[str, str] = {}


def register(prefix: str, finder: str) -> None:
    """Let `find` look up the names that begin with a prefix elsewhere.

    `finder`: `module:function`; the function takes the whole name, and returns a revision or raises
    KeyError.  The module is imported when such a name is first looked up, in whichever process.
    """
    _FAMILIES[prefix] = finder


# Mutants lie above the model and are registered here, since nobody needs to import them by name:
# a worker that gets `mutant:NAME` has imported the model alone.
register(MUTANT, "fencepost.properties.mutants.mutants:mutant_revision")

_OWN: dict[str, Revision] = {}
_PLACES: dict[str, str] = {}
_NICKNAMES: dict[str, str] = {}


def add_own(revision: Revision, was: str, place: str = "") -> None:
    """Let `find` return a revision of the user's own by its name, from now on in this process.

    Its name is the `FILE.py:NAME` that it was loaded from; `was`: its name in the file.  A shipped
    one that was only named there counts as the shipped one.  `place`: the name with the whole path,
    with slashes.
    """
    _OWN[revision.name] = revision
    _PLACES[revision.name] = place or revision.name
    if _listed(was) in ALL_NAMES:
        _NICKNAMES[revision.name] = was


def own_names() -> tuple[str, ...]:
    """Return the names of the user's own revisions that were added in this process."""
    return tuple(_OWN)


def find(name: str) -> Revision:
    """Return the revision of this name; `kafka-X.Y[.Z]` below 4 is the profile of that release.

    Names with a registered prefix, such as `mutant:NAME`, are looked up in their module.  A user's
    own revision is found once it was added, also by another path of the same file, as a trace that
    was written in another folder names it.  Raises KeyError that names the value and the existing
    names.
    """
    for prefix, finder in _FAMILIES.items():
        if name.startswith(prefix):
            module, _, function = finder.partition(":")
            revision: Revision = getattr(import_module(module), function)(name)
            return revision
    if name in _OWN:
        return _OWN[name]
    same = [own for own, place in _PLACES.items() if _is_same_place(place, name)]
    return _OWN[same[0]] if len(same) == 1 else _shipped(name)


def _is_same_place(place: str, name: str) -> bool:
    """Return True if a name is the place of a loaded revision, by a path from another folder."""
    if not is_in_a_file(name):
        return False
    there, parts = place.split("/"), [part for part in name.split("/") if part not in {".", ".."}]
    return there == parts if name.startswith("/") else there[-len(parts) :] == parts


def is_release(name: str) -> bool:
    """Return True if this is the name of `kafka-4` or of a release's profile, in any protocol."""
    is_profile = name == KAFKA_4.name or _RELEASE.fullmatch(name) is not None
    return is_profile or name in _OTHER_RELEASES


def lineage(revision: Revision) -> tuple[str, ...]:
    """Return the names under which facts about a revision are listed.

    Its own first, then those that it is made from.  A patch of a release has the name of the newest
    release whose last patch has the same rules: `kafka-2.7` for 2.8.0; where none has, the name of
    the release before: `kafka-2.5` for 2.6.0.  Releases after 4.0 are `kafka-4`.
    """
    return tuple(dict.fromkeys(map(_listed, (revision.name, *revision.ancestors))))


def _listed(name: str) -> str:
    name = _NICKNAMES.get(name, name)
    match = _RELEASE.fullmatch(name)
    if match is None or name in ALL_NAMES:
        return name
    version = tuple(int(part) for part in match.groups() if part is not None)
    if version[0] >= 4:
        return KAFKA_4.name
    gates = gates_ahead(version)
    alike = [r for r in RELEASES if r <= version and gates_ahead(r) == gates]
    before = [r for r in RELEASES if r < version[:2]]
    near = alike or before
    return "kafka-" + ".".join(map(str, near[-1])) if near else name


def is_shipped(revision: Revision) -> bool:
    """Return True if a revision is one of ours, or a patch of one: not a user's own, no mutant."""
    return lineage(revision)[0] in ALL_NAMES


def shipped_base(revision: Revision) -> Revision:
    """Return the nearest shipped revision that a revision is made from; at last itself.

    A user's own that is made from none is compared with `kafka-4`.
    """
    names = (*revision.ancestors, revision.name, KAFKA_4.name)
    return find(next(name for name in names if _listed(name) in ALL_NAMES))


def rows_of_its_own(revision: Revision) -> list[tuple[Table, Rule]]:
    """Return the rules that can be reached, and that no shipped revision has; each with its table.

    A shipped revision has none.
    """
    if is_shipped(revision):
        return []
    return rules_beyond(shipped_base(revision), revision)


def rules_beyond(base: Revision | None, revision: Revision) -> list[tuple[Table, Rule]]:
    """Return the rules that can be reached, and that `base` doesn't share; each with its table."""
    shared = set() if base is None else {id(rule) for _, rule in base.rules()}
    return [
        (table, rule)
        for table, rule in revision.rules()
        if rule.defensive is None and id(rule) not in shared
    ]


def is_in_a_file(name: str) -> bool:
    """Return True if this names a revision in a file, `FILE.py:NAME`."""
    return ".py:" in name


@cache
def _shipped(name: str) -> Revision:
    if name in _NAMED:
        return _NAMED[name]
    if is_in_a_file(name):
        raise KeyError(
            f"the revision {name!r} is in a file that was not loaded: what only names it doesn't "
            f"run it; run it yourself with --revision {name}"
        )
    if match := _RELEASE.fullmatch(name):
        version = tuple(int(part) for part in match.groups() if part is not None)
        if was_released(version):
            return release(version)
        if version == _WITHOUT_OLD_JOINS:
            return replace(KAFKA_4, name=name, apis={**KAFKA_4.apis, "JoinGroup": (2, 9)})
        if version[0] == _NEWEST:
            return replace(KAFKA_4, name=name)
    version_part = _NUMBERS.fullmatch(name)
    line = None if version_part is None else f"kafka-{version_part[1]}"
    if line in NAMES:
        near = f" (Kafka had no such patch; did you mean {line}, which is its last one?)"
    elif version_part is not None and int(version_part[2]) > _NEWEST:
        near = f" (did you mean {KAFKA_4.name}, the newest there is?)"
    elif name.endswith(".py"):
        near = f" (one in a file is named {name}:NAME)"
    else:
        near = did_you_mean(name, ALL_NAMES)
    raise KeyError(f"no revision {name!r}{near}; there are {', '.join(ALL_NAMES)}")
