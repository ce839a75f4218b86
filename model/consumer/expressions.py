"""Tell if a subscription has an expression that Kafka's library, RE2, surely refuses.

What an expression means is not modelled: Kafka finds its topics later, at a time of its own, and
again while the group runs.
"""

from __future__ import annotations

import re

from fencepost.model.work import NotFollowedError

_OF_RE2_ALONE = re.compile(r"\\[pPCQEz]|\\x\{|\[\[|--|&&|~~|\|\||\(\?[a-zA-Z-]*[U-]")
"""Classes, escapes and flags that Python lacks, and what it may read as operations on sets."""
_OF_PYTHON_ALONE = re.compile(r"\(\?(?:[=!>#(]|<[=!])|\\[1-9Z]|[*+?}]\+")
"""Lookaround, atomic groups, comments, conditions, references, and possessive repetitions."""
_MOST_REPETITIONS = 1000
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")


class ExpressionFollowedError(NotFollowedError):
    """Raised where a member subscribes by an expression: its topics are not modelled."""


def is_refused(expression: str) -> bool:
    """Return True if RE2 surely can't read an expression; False where that isn't sure.

    It is not sure of syntax that RE2 has and Python hasn't, nor of a set of characters.  Seen on
    4.1.2 and 4.4.0.
    """
    if _OF_RE2_ALONE.search(expression):
        return False
    counts = (int(n) for pair in _REPETITION.findall(expression) for n in pair if n)
    is_foreign = _OF_PYTHON_ALONE.search(expression) or max(counts, default=0) > _MOST_REPETITIONS
    if is_foreign and "[" not in expression:
        return True
    try:
        re.compile(re.sub(r"\(\?<(?=\w)", "(?P<", expression))
    except (re.error, OverflowError, RecursionError):
        return True
    return False
