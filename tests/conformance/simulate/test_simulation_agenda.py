"""The order of what happens depends on what it is, not on when it was put down."""

from __future__ import annotations

from itertools import permutations

from fencepost.conformance.simulate.simulation import Agenda, Key, Turn

KEYS: list[Key] = [
    (5, "b", Turn.READ, 9),
    (5, "a", Turn.ARRIVE, 1),
    (5, "a", Turn.WAKE, 0),
    (4, "c", Turn.ARRIVE, 2),
]


def test_it_is_taken_by_time_client_and_stage_however_it_was_put_down() -> None:
    for given in permutations(KEYS):
        agenda = Agenda()
        for key in given:
            agenda.put(key, lambda: None)
        assert agenda.next_ms() == 4
        assert [agenda.take()[0] for _ in KEYS] == sorted(KEYS)
        assert agenda.next_ms() is None
