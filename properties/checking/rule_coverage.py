"""Counts which rules of a table a search has used, and lists those that it never used.

A rule counts as never used if it can be reached, and no example used it.  A search that doesn't
report those claims more than it tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from fencepost.model.revision import Revision

_NEEDS_A_CLUSTER = ("-COORDINATOR-LOADING", "-COORDINATOR-ELSEWHERE")
_NAMED = 12


@dataclass(slots=True)
class Coverage:
    """Counts how many examples used each rule."""

    examples: int = 0
    fired: Counter[str] = field(default_factory=Counter)

    def add(self, rules: Iterable[str]) -> None:
        """Count one more example, and the rules that it used."""
        self.examples += 1
        self.fired.update(set(rules))

    def unfired(self, revision: Revision) -> tuple[str, ...]:
        """Return the rules that can be reached and never were, in the table's order.

        Rules that are proved unreachable don't count, nor those of a coordinator that is loading or
        elsewhere, which nothing that is sent brings about.
        """
        return tuple(
            rule.id
            for _, rule in revision.rules()
            if rule.defensive is None
            and not rule.id.endswith(_NEEDS_A_CLUSTER)
            and rule.id not in self.fired
        )

    def text(self, revision: Revision) -> str:
        """Return a sentence for the end of a run."""
        missing = self.unfired(revision)
        known = {rule.id for _, rule in revision.rules()}
        used = len(known & set(self.fired))
        said = f"{self.examples} examples used {used} rules of {revision.name}"
        if not missing:
            return f"{said}, all that can be reached."
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        return f"{said}; never: {', '.join(missing[:_NAMED])}{more}."
