"""What Java's assignors answered once; `big_assignors.py` asks them."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from support.clients.java_sample import ODD, questions, read
from support.groups import group, partitions

from tools.assignors.assignor_figures import JavaAnswer, Parity, Question, answer_of, parity_of

KEPT = read()
PLAIN = {Parity.EQUAL, Parity.ONE_OF_SEVERAL}


def test_the_sample_is_what_is_asked() -> None:
    now = [(kind, msgspec.to_builtins(question.as_json())) for kind, question in questions()]
    kept = [(kind, msgspec.to_builtins(question.as_json())) for kind, question, _ in KEPT]
    assert kept == now, "make it anew: python tests/support/clients/java_sample.py"


def test_results_are_javas() -> None:
    count: Counter[Parity] = Counter()
    for kind, question, answer in KEPT:
        found = parity_of(question, answer)
        if kind not in ODD:
            assert found is not Parity.DIFFERENT, question
            count[found] += 1
            if question.assignor in {"range", "roundrobin"} or kind.startswith("same"):
                assert found in PLAIN, question
    assert count[Parity.EQUAL] > 80


@pytest.mark.parametrize("name", ODD)
def test_what_java_does_otherwise_is_known(name: str) -> None:
    found = [parity_of(question, answer) for kind, question, answer in KEPT if kind == name]
    assert tuple(found) == ODD[name][2]


def test_a_question_is_told_as_the_program_reads_it() -> None:
    asked = group("i1(ra): ta | ta0 @2", "m1: ta", ta="ra,rb -")
    told = Question("sticky", asked.members, asked.counts, asked.racks, 1).as_json()
    assert msgspec.json.decode(msgspec.json.encode(told)) == {
        "assignor": "sticky",
        "namings": 1,
        "topics": {"ta": [["ra", "rb"], []]},
        "members": [
            {
                "id": "i1",
                "instance": "i1",
                "topics": ["ta"],
                "owned": [["ta", 0]],
                "generation": 2,
                "rack": "ra",
            },
            {
                "id": "m1",
                "instance": None,
                "topics": ["ta"],
                "owned": [],
                "generation": -1,
                "rack": None,
            },
        ],
    }


def test_an_answer_is_read() -> None:
    read_ = {"took_us": 1500, "results": [{"m1": [["ta", 0]], "m2": []}, {"failed": "SomeError"}]}
    expected = ({"m1": partitions("ta0"), "m2": ()}, "SomeError")
    assert answer_of(read_) == JavaAnswer(expected, 1.5)
