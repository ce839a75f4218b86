"""Find the names that somebody may have meant by a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
_CUTOFF = 0.6


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names: the same but for case, else with that end, else alike."""
    names = {one.casefold(): one for one in known}
    asked = name.casefold()
    if asked in names:
        return [names[asked]]
    ending = [one for plain, one in names.items() if plain.endswith(f"/{asked}")]
    if ending:
        return ending[:_MOST]
    return [names[one] for one in get_close_matches(asked, names, n=_MOST, cutoff=_CUTOFF)]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean A or B?)`, or "" where nothing is near."""
    near = nearest(name, known)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
