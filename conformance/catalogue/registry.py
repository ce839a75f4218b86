"""Register cases: a function that writes a script, and what the case is about.

The id of a case is its first rule's id, a slash, and the function's words.  An id never changes
once published; a case about several rules is named after the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.conformance.catalogue.script import Script
from fencepost.conformance.catalogue.set_up import SetUp
from fencepost.conformance.plans.plan import Case, Needs
from fencepost.model.table.table import LEVELS, Level
from fencepost.properties.oracle.candidate import worst

Write = Callable[[Script], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered case, before it is written for a target.

    `delayed`: it makes sense only with (or only without) an initial delay; None: with either.
    """

    id: str
    about: str
    rules: tuple[str, ...]
    needs: Needs
    isolated: bool
    level: Level | None
    delayed: bool | None
    write: Write

    def case(self, levels: Mapping[str, Level], *, delayed: bool, way: SetUp | None = None) -> Case:
        """The case, for a target with or without an initial delay, its group set up in this way.

        Its level is that of its most binding rule, unless it names its own.
        """
        script = self.script(delayed=delayed, way=way)
        level = self.level or worst([levels.get(rule, LEVELS[0]) for rule in self.rules])
        return Case(
            self.id,
            self.about,
            self.rules,
            level,
            tuple(script.steps),
            self.needs,
            self.isolated,
        )

    def script(self, *, delayed: bool, way: SetUp | None = None) -> Script:
        """What `case` is made of; it knows which requests set the group up."""
        script = Script(delayed=delayed, way=way)
        self.write(script)
        return script


def as_entry(case: Case) -> Entry:
    """A case that is written already, the same for any target."""

    def write(script: Script) -> None:
        script.steps.extend(case.steps)

    return Entry(
        case.id, case.about, case.rules, case.needs, case.isolated, case.level, None, write
    )


class Registry:
    """The cases of one module, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def case(
        self,
        *rules: str,
        apis: tuple[tuple[str, int], ...] = (),
        features: tuple[str, ...] = (),
        config: Mapping[str, int | None] | None = None,
        isolated: bool = False,
        level: Level | None = None,
        delayed: bool | None = None,
    ) -> Callable[[Write], Write]:
        """Register the decorated function; its docstring says what the case is about."""

        def register(write: Write) -> Write:
            about = " ".join((write.__doc__ or "").split())
            words = write.__name__.replace("_", "-")
            needs = Needs(apis, frozenset(features), config or {})
            self.entries.append(
                Entry(f"{rules[0]}/{words}", about, rules, needs, isolated, level, delayed, write)
            )
            return write

        return register
