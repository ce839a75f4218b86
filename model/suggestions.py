"""Find the names that somebody may have meant by a wrong one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 3
_CUTOFF = 0.6


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names: the same but for case, else with that end, else alike."""
    names = {candidate.casefold(): candidate for candidate in known}
    folded = name.casefold()
    if folded in names:
        return [names[folded]]
    ending = [candidate for plain, candidate in names.items() if plain.endswith(f"/{folded}")]
    if ending:
        return ending[:_MOST]
    return [
        names[candidate] for candidate in get_close_matches(folded, names, n=_MOST, cutoff=_CUTOFF)
    ]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean A or B?)`, or "" where nothing is near."""
    near = nearest(name, known)
    return f" (did you mean {' or '.join(near)}?)" if near else ""
