"""What properties say, as data: first-order formulas over a group before and after a step.

Decides how a property is written down that both exploration and Z3 must understand.  As with the
guards of the table, a formula is data: truth value and equality raise.
"""

from __future__ import annotations

from typing import NoReturn


class Formula:
    """A statement about an abstract group, or about one step of it."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a formula has no truth value; evaluate it over a group or a step")

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("formulas aren't compared; use `same`")

    __hash__ = None  # type: ignore[assignment]
