"""An answer of another shape is a finding; whoever looks at what is handed on can read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.message_samples import sample

from fencepost.conformance.targets.stdio.stdio import Ledger
from fencepost.model.coordinator import CONFIG_DEFAULTS, Send, codes_in
from fencepost.model.history.words import answer_words
from fencepost.model.messages.draft_messages import ALL_APIS
from fencepost.model.plans.bind import Knowledge
from fencepost.model.plans.steps import IdOf
from fencepost.model.plans.times import times_for

ODD: tuple[Any, ...] = (
    None,
    True,
    7,
    -1,
    10**40,
    1.5,
    "x",
    "?",
    [],
    [1],
    [None],
    [[]],
    {},
    {"a": 1},
    [{}],
    [{"name": []}],
)
API_VERSIONS = [
    (name, version)
    for name, api in ALL_APIS.items()
    for version in sorted({api.lowest, api.highest, min(7, api.highest)})
]


def wrong(body: Any) -> Iterator[Any]:
    """A body with one thing changed: a value by an odd one, a field left out, a field too many."""
    if isinstance(body, dict):
        for key, value in body.items():
            rest = {k: v for k, v in body.items() if k != key}
            yield rest
            yield from ({**rest, key: odd} for odd in (*ODD, *wrong(value)))
        for extra in ("memberId", "topics", "groups", "members", "assignment", "errorCode"):
            yield from ({**body, extra: odd} for odd in ODD if extra not in body)
    if isinstance(body, list) and body:
        yield from ([*body[:-1], odd] for odd in (*ODD, *wrong(body[-1])))


@pytest.mark.parametrize(("api", "version"), API_VERSIONS)
def test_whatever_an_answer_is_it_can_be_read(api: str, version: int) -> None:
    right = {**sample(ALL_APIS[api].response, version), "errorCode": 0}
    if "errorCode" not in sample(ALL_APIS[api].response, version):
        del right["errorCode"]
    found = 0
    for body in wrong(right):
        ledger = Ledger(ALL_APIS, is_virtual=True)
        ledger.owes(Send("r1", "c1", "app", api, version, {}))
        (answer,) = ledger.take([{"id": "r1", "at_ms": 0, "body": body}])
        assert answer.body is not None
        found += bool(answer.findings)
        if not answer.findings:
            assert answer.body == body
        knowledge = Knowledge(times_for(CONFIG_DEFAULTS, lag_ms=0))
        knowledge.learn("a", api, answer.body, {})
        assert isinstance(knowledge.value(IdOf("a")), str)
        assert isinstance(answer_words(api, answer.body, {}), str)
        assert all(isinstance(code, int) for code in codes_in(answer.body))
    assert found > len(ODD)
