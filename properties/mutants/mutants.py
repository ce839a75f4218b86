"""All mutants by name: models that are broken on purpose, each in one thing.

They are the bugs that coordinators really had, and systematic ones, so that nearly every rule of
the table has a model that breaks it.  A suite that passes one of them would pass a coordinator with
the same bug.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fencepost.model.revision import Revision
from fencepost.model.revisions import revisions
from fencepost.model.suggestions import did_you_mean
from fencepost.properties.mutants.breaks import BREAKS
from fencepost.properties.mutants.ghosts import GHOSTS
from fencepost.properties.mutants.mutant import PREFIX, Mutant
from fencepost.properties.mutants.past_bugs import HISTORY
from fencepost.properties.mutants.wrong_answers import ANSWERS
from fencepost.properties.mutants.wrong_joins import JOIN
from fencepost.properties.mutants.wrong_members import COMMITS, HEARTBEATS, LEAVES
from fencepost.properties.mutants.wrong_rebalances import REBALANCES
from fencepost.properties.mutants.wrong_restarts import REPLACED
from fencepost.properties.mutants.wrong_syncs import SYNCS
from fencepost.properties.mutants.wrong_timers import TIMERS


def _collected(*families: tuple[Mutant, ...]) -> dict[str, Mutant]:
    found: dict[str, Mutant] = {}
    for family in families:
        for mutant in family:
            if mutant.name in found:
                raise ValueError(f"there are two mutants {mutant.name}; give one another name")
            found[mutant.name] = replace(mutant, breaks=BREAKS.get(mutant.name, ()))
    return found


MUTANTS: Mapping[str, Mutant] = _collected(
    HISTORY,
    GHOSTS,
    JOIN,
    REPLACED,
    REBALANCES,
    SYNCS,
    HEARTBEATS,
    LEAVES,
    COMMITS,
    TIMERS,
    ANSWERS,
)
"""The mutants, by name without `mutant:`; those from history first."""


def find_mutant(name: str) -> Mutant:
    """Return the mutant of this name, with or without `mutant:`.

    Raises KeyError that names the value, the nearest names, and where all are listed.
    """
    plain = name.removeprefix(PREFIX)
    if plain in MUTANTS:
        return MUTANTS[plain]
    near = did_you_mean(plain, MUTANTS)
    raise KeyError(f"no mutant {plain!r}{near} (`fencepost mutants` names all)")


def find_revision(name: str) -> Revision:
    """Return `mutant:NAME`, or a revision of the model by its name.

    Raises KeyError that names the value and what there is.
    """
    return find_mutant(name).revision if name.startswith(PREFIX) else revisions.find(name)
