"""Tell if a subscription by a regular expression can be read, as Kafka's library reads it (RE2).

What an expression means is not modelled: Kafka finds its topics later, at a time of its own, and
again while the group runs.
"""

from __future__ import annotations

import re

from fencepost.model.work import TooManyOutcomesError

_OF_PYTHON_ALONE = re.compile(r"\(\?(?:[=!>#(]|<[=!])|\\[1-9Z]|[*+?}]\+")
"""Lookaround, atomic groups, comments, conditions, references, and possessive repetitions."""
_MOST_REPETITIONS = 1000
_REPETITION = re.compile(r"\{(\d+)(?:,(\d*))?\}")


class ExpressionFollowedError(TooManyOutcomesError):
    """Raised where a member subscribes by an expression: its topics are not modelled."""


def is_readable(expression: str) -> bool:
    """Return True if RE2 reads an expression: repetitions up to 1,000, nothing but its own syntax.

    Seen on 4.0.1 to 4.4.0.
    """
    if _OF_PYTHON_ALONE.search(expression):
        return False
    counts = (n for pair in _REPETITION.findall(expression) for n in pair if n)
    if any(int(count) > _MOST_REPETITIONS for count in counts):
        return False
    try:
        re.compile(re.sub(r"\(\?<(?=\w)", "(?P<", expression))
    except (re.error, OverflowError, RecursionError):
        return False
    return True
