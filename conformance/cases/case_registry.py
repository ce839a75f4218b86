"""Register cases: a function that writes a script, and the sentence that a certificate prints.

The id of a case is its first rule's id, a slash, and the function's words.  An id never changes
once published; a case about several rules is named after the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.conformance.cases.script import Script, SetUp
from fencepost.model.coordinator import Config
from fencepost.model.plans.steps import Needs, Plan
from fencepost.model.table.table import LEVELS, Level

Write = Callable[[Any], None]
"""Writes the steps of a case to a script, which is one of its registry's class."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered case, before it is written for a target.

    `about`: its sentence.  `delayed`: it makes sense only with (or only without) an initial delay;
    None: with either.  `kind`: the class of its script.  `settings`: those that a target which
    takes settings gets for it; others run it as they are.
    """

    id: str
    about: str
    rules: tuple[str, ...]
    needs: Needs
    isolated: bool
    level: Level | None
    delayed: bool | None
    write: Write
    kind: type[Script] = Script
    settings: Config = field(default_factory=dict)

    def case(self, levels: Mapping[str, Level], *, delayed: bool, way: SetUp | None = None) -> Plan:
        """Write the plan for a target with or without an initial delay, with this set-up.

        Its level is that of the rule that it is about, its first, unless it has its own.  A failure
        has the level of the rule that was broken, whichever case meets it.
        """
        script = self.script(delayed=delayed, way=way)
        level = self.level or next((levels[r] for r in self.rules if r in levels), LEVELS[0])
        return Plan(
            self.id,
            self.about,
            self.rules,
            level,
            tuple(script.steps),
            self.needs,
            self.isolated,
        )

    def script(self, *, delayed: bool, way: SetUp | None = None) -> Script:
        """Write the script of `case`, which knows the requests that set the group up."""
        script = self.kind(delayed=delayed, way=way)
        self.write(script)
        return script


def as_entry(case: Plan, settings: Config | None = None) -> Entry:
    """Return an entry for a plan: it is the same for any target; `settings`: as in `Entry`."""

    def write(script: Script) -> None:
        script.steps.extend(case.steps)

    return Entry(
        case.id,
        case.about,
        case.rules,
        case.needs,
        case.isolated,
        case.level,
        None,
        write,
        settings=settings or {},
    )


class Registry:
    """The cases of one module, in order; `kind` and `settings`: as in `Entry`."""

    def __init__(self, kind: type[Script] = Script, settings: Config | None = None) -> None:
        self.entries: list[Entry] = []
        self._kind = kind
        self._settings = settings or {}

    def case(
        self,
        *rules: str,
        apis: tuple[tuple[str, int], ...] = (),
        features: tuple[str, ...] = (),
        config: Mapping[str, int | None] | None = None,
        isolated: bool = False,
        level: Level | None = None,
        named: str | None = None,
        delayed: bool | None = None,
    ) -> Callable[[Write], Write]:
        """Register the decorated function; its docstring is the sentence that certificates print.

        `level`: of the case, if that is less grave than its first rule; `named`: the rule that its
        id begins with, if that is no longer the first.
        """

        def register(write: Write) -> Write:
            about = " ".join((write.__doc__ or "").split())
            words = write.__name__.replace("_", "-")
            needs = Needs(apis, frozenset(features), config or {})
            case_id = f"{named or rules[0]}/{words}"
            entry = Entry(
                case_id,
                about,
                rules,
                needs,
                isolated,
                level,
                delayed,
                write,
                self._kind,
                self._settings,
            )
            self.entries.append(entry)
            return write

        return register


AREAS: Mapping[str, tuple[str, ...]] = {
    "static joins": ("JOIN-STATIC-", "JOIN-INSTANCE-", "JOIN-PENDING-INSTANCE"),
    "rebalances": ("JOIN-PHASE-", "SYNC-PHASE-"),
    "size limits": ("JOIN-GROUP-FULL",),
    "other joins": ("JOIN-",),
    "joins": ("CG-JOIN-",),
    "syncs": ("SYNC-",),
    "heartbeats": ("HEARTBEAT-", "CG-BEAT-"),
    "leaves": ("LEAVE-", "CG-LEAVE-", "CG-REMOVE-"),
    "offsets": (
        *("COMMIT-", "TXN-COMMIT-", "FETCH-", "OFFSET-DELETE-"),
        *("CG-COMMIT-", "CG-TXN-COMMIT-", "CG-FETCH-", "CG-OFFSET-DELETE-"),
    ),
    "describe, list": (
        *("DESCRIBE-", "LIST-", "DELETE-"),
        *("CG-DESCRIBE-", "CG-LIST-", "CG-DELETE-"),
    ),
    "sessions": ("SESSION-",),
    "timers": ("CG-SESSION-", "CG-REBALANCE-", "CG-FAILOVER-", "CG-CLEANUP-"),
    "conversions": ("MG-UPGRADE", "MG-DOWNGRADE"),
    "classic members": ("MG-",),
    "failovers, cleanup": ("FAILOVER-", "TOPICS-DELETED", "CLEANUP-", "RETENTION-"),
}
"""Areas of a protocol, by which pages sum up cases, with the prefixes of their cases' ids.

The first that fits counts.  Protocols share names: a page or a part of it is about one protocol.
"""


def area(case_id: str) -> str:
    """Return the area of a case.  Raises KeyError for an id that fits none."""
    for name, beginnings in AREAS.items():
        if case_id.startswith(beginnings):
            return name
    raise KeyError(case_id)
