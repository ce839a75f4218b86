"""A property's digest changes with all that decides what it says, and with nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from fencepost.properties.checking.claim_digest import claim_digest
from fencepost.properties.claims.property_registry import PROPERTIES

HOME = "fencepost_own_revision"
TEXT = """
from dataclasses import replace
from fencepost.model import GroupState
from fencepost.properties.claims.property_registry import PROPERTIES as THEIRS
LIMIT = 3
STATES = frozenset({GroupState.STABLE, GroupState.EMPTY})
def helper(group):
    return len(group.members) > LIMIT
def holds(step, most=1):
    if step.after is None or step.after.state in STATES:
        return None
    return "too many" if helper(step.after) else None
CLAIMS = (replace(THEIRS["silence-is-noticed"], id="own", holds=holds),)
"""


def digest(text: str) -> str | None:
    there: dict[str, object] = {"__name__": HOME}
    exec(text, there)
    claims = there["CLAIMS"]
    assert isinstance(claims, tuple)
    return claim_digest(claims, HOME)


def test_the_same_claims_have_the_same_digest_wherever_they_stand() -> None:
    assert digest(TEXT) == digest(TEXT) is not None
    assert digest("ROW = 'another row of the table'\n\n\n" + TEXT) == digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 2"),
        ("LIMIT = 3", "LIMIT = True"),
        ("> LIMIT", ">= LIMIT"),
        ("too many", "too few"),
        ("most=1", "most=2"),
        ("GroupState.EMPTY", "GroupState.DEAD"),
        ('id="own"', 'id="ours"'),
        ('id="own"', 'id="own", meaning="x"'),
        ('id="own"', 'id="own", premise=lambda _: True'),
        ('"silence-is-noticed"', '"a-heartbeat-keeps-alive"'),
    ],
)
def test_what_decides_counts(old: str, new: str) -> None:
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) not in {digest(TEXT), None}


@pytest.mark.parametrize(
    "body",
    [
        "open('limit').read()",
        "eval('LIMIT')",
        "__import__('pytest')",
        "globals()['LIMIT']",
        "Own()",
        "pytest.fail()",
        "KAFKA_4.rule('HEARTBEAT-STABLE').guard",
    ],
)
def test_what_depends_on_other_things_has_none(body: str) -> None:
    text = TEXT.replace("len(group.members) > LIMIT", body)
    assert digest(f"import pytest\nclass Own: pass\n{text}") is None


def test_an_import_within_a_function_has_none() -> None:
    text = TEXT.replace("def helper(group):", "def helper(group):\n    import json")
    assert digest(text) is None


def test_every_shipped_function_has_a_digest() -> None:
    functions = [one for one in PROPERTIES.values() if one.holds is not None]
    digests = [claim_digest([one], HOME) for one in functions]
    assert None not in digests
    assert len(set(digests)) == len(functions)


def test_a_value_of_another_class_has_none() -> None:
    @dataclass
    class Own:
        limit: int

    assert claim_digest([Own(1)], HOME) is None
    assert claim_digest([], HOME) is not None
