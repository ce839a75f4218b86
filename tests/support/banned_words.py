"""Words and patterns that no text of fencepost has, each with a better one.

`NAMES` and `OPENERS` are for the code, `PHRASES` for comments, docstrings and every text that users
see, `PATTERNS` for texts that users see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_VERB = "a verb in the imperative mood, such as Return, Find, Count"
_NOUN = "the thing itself, as a noun"
OPENERS = {
    "How": "Count, Measure, Describe; for a number its noun: Seconds until …",
    "Same": "Like `other`, and then the difference",
    "The same": "Like `other`, and then the difference",
    "What": f"{_VERB}; for a constant {_NOUN}",
    "When": f"{_VERB}; for a time its noun: Time of …",
    "Where": f"{_VERB}; for a place {_NOUN}",
    "Whether": "Return True if …; for a flag: True if …",
    "Which": f"{_VERB}; for a constant {_NOUN}",
    "Who": f"{_VERB}; for a constant {_NOUN}: Members that …",
    "Whom": f"{_VERB}; for a constant {_NOUN}",
    "Whose": f"{_VERB}; for a constant {_NOUN}",
    "Why": "Explain, Return the reason; for a constant: Reason for …",
}
"""First words of a docstring that answer a question, each with what to write instead."""

PHRASES = {
    "found out": "detected, determined",
    "hangs on": "depends on",
    "put down to": "attributed to",
    "so long": "the number: this many seconds",
    "so many": "the number: this many",
    "so much": "the number, with its unit",
}
"""Idioms that no text has, each with what to write instead."""

NAMES = {
    "acquitted": "excused",
    "asked": "request",
    "deed": "action",
    "deeds": "actions",
    "doing": "action",
    "doings": "actions",
    "found": "result, match, violation",
    "liar": "faulty_…",
    "liars": "faulty_…",
    "lives": "runs",
    "oddities": "variants",
    "oddity": "variant",
    "said": "text, message, statement",
    "seen": "visited, observed",
    "shown": "text, displayed",
    "sights": "repeats",
    "suspicion": "repeated failure",
    "suspicions": "repeated failures",
    "told": "message, report, answer",
    "wanted": "expected, required",
}
"""Words that no name contains, each with better ones."""

WHOLE_NAMES = {
    "cast": "processes",
    "given": "inputs, arguments",
    "life": "run",
    "one": "the noun of the thing",
    "ones": "the noun of the things",
    "what": "the noun of the thing",
}
"""Names that name nothing, each with better ones; as a part of a longer name they are fine."""

_PARTICIPLE = "(?:found|told|said|shown|given|asked|advised|seen|sent|done|met|wrong)"
PATTERNS = {
    r"(?:hang|hangs|hung|hanging) on": "depends on, rests on",
    r"put(?:s|ting)? down to": "attributed to",
    r"so (?:much|many|long)(?! (?:as|that)\b)": "the number, with its unit",
    r"by turns": "alternately, in turn",
    r"beside (?:it|them|that|this|these|those|each|an?)": "also, next to, in addition to",
    r"dear(?:er|est|ly)?": "expensive, costly",
    r"told": "reported, answered, got; `told apart`: distinguished",
    r"tells?(?! me\b)": "reports, shows, has; `tell apart`: distinguish",
    r"said": "the noun: text, message; or the agent and `says`",
    r"(?:find|finds|found) out": "detect, determine, check",
    r"what (?:is|are|was|were|has been|had been) (?:\w+ )?" + _PARTICIPLE: "the noun of the thing",
    r"(?:what|who) [^.,;:?()]{1,60} (?:is|are|was|were) (?:told|said|shown|asked)": "a noun",
    r"as (?:said|told|found)": "as requested, as described",
    r"nobody (?:asked|speaks)": "the agent and the action",
    r"speak(?:s|ing)? of|spoken of": "is about, covers, mentions",
    r"of one's own": "your own …, its own …",
    r"mend(?:s|ed|ing)?": "fix",
    r"held (?:to|against)": "checked against, counted as a failure",
    r"looked at|looks? at (?:what|how|why)": "checked, checks",
    r"in peace": "without faults",
    r"acquit\w*|suspicions?|liars?|lying|deeds?|oddit(?:y|ies)|forgiven": "plain words",
    r"whoever": "any client, any member, everybody that",
    r"nothing is (?:known|told|said) of": "… is not checked, … is unknown",
    r"is known of": "as expected, as known",
    r"rollouts?|bounces|(?<!rolling )(?<!\")bounce(?!\")": "deployment",
    r"c[ao]me(?:s)? out (?:differently|alike|as)": "has another outcome, has the same outcome",
    r"what (?:a|an|the|each|it|they) [^.,;:?()]{1,40}c[ao]mes? to": "the result",
    r"(?:the same|likewise), (?:but )?(?:in|with|for|of|without)": "like …, but",
}
"""Patterns that no text for users has, each with better words.  They match whole words."""

_CLAUSE = re.compile(
    r"(?:^|(?<=[.!?] ))(?:What|Who|Whoever|Whatever|Whom|That which) [^.?!:]*[.](?=\s|$)"
)
_BETTER_CLAUSE = "a noun as the subject, or a question that ends with a question mark"
_COMPILED = [
    (re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE), better)
    for pattern, better in PATTERNS.items()
]


def wrong_phrases(text: str) -> Iterator[str]:
    """Yield each phrase of a comment or a docstring, with what to write instead."""
    flat = " ".join(text.split())
    for phrase, better in PHRASES.items():
        if re.search(rf"\b{phrase}\b", flat, re.IGNORECASE):
            yield f"{phrase!r}: write {better}"


def wrong_patterns(text: str) -> Iterator[str]:
    """Yield each banned phrase of a text for users, with the text around it and better words."""
    flat = " ".join(text.split())
    for pattern, better in [*_COMPILED, (_CLAUSE, _BETTER_CLAUSE)]:
        for match in pattern.finditer(flat):
            start, end = max(0, match.start() - 40), match.end() + 40
            yield f"{match.group()!r} in “{flat[start:end]}”: write {better}"
