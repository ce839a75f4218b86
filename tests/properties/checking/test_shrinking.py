from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from random import Random

from fencepost.properties.checking.shrinking import Reproducer, shrink_items


def shrink(
    items: list[int] | list[str],
    holds: Callable[[tuple[int | str, ...]], bool],
    simpler: Callable[[int | str], Iterator[int | str]] = lambda _: iter(()),
) -> tuple[int | str, ...] | None:
    shown = shrink_items(
        tuple[int | str, ...](items),
        lambda some: Reproducer(some, "run") if holds(some) else None,
        simpler,
    )
    return None if shown is None else shown.value


def test_it_leaves_what_is_needed() -> None:
    assert shrink([*range(20)], lambda items: {3, 7} <= set(items)) == (3, 7)


def test_it_leaves_out_two_that_need_each_other() -> None:
    def holds(items: tuple[int | str, ...]) -> bool:
        return items.count("(") == items.count(")") and "x" in items

    assert shrink([*"(x)()"], holds) == ("x",)


def test_it_puts_simpler_items_in_place() -> None:
    def holds(items: tuple[int | str, ...]) -> bool:
        return sum(map(int, items)) >= 10

    smallest = shrink([50, 60], holds, lambda item: iter(range(int(item))))
    assert smallest is not None
    assert sum(map(int, smallest)) == 10


def test_a_list_that_shows_nothing_has_no_smallest() -> None:
    assert shrink([1, 2], lambda _: False) is None


def test_it_stops_after_so_many_tries() -> None:
    tried = []

    def shows(items: tuple[int, ...]) -> Reproducer[tuple[int, ...], None] | None:
        tried.append(items)
        return Reproducer(items, None) if len(items) == 1000 else None

    shrink_items(range(1000), shows, tries=5)
    assert len(tried) == 6


def test_lists_shrink_by_the_same_runs_as_they_always_did() -> None:
    """Shrink 60 lists, of which some runs show a part, and some end at the limit of tries."""
    came = [shrink_one(number) for number in range(60)]
    assert hashlib.sha256(json.dumps(came).encode()).hexdigest()[:12] == "827ab01a4ff2"


def shrink_one(number: int) -> list[object]:
    random = Random(number)
    items = [random.randrange(9) for _ in range(random.randrange(4, 25))]
    needed = random.sample(items, min(3, len(items)))
    is_even_kept = random.random() < 0.5
    tried: list[list[int]] = []

    def covers(some: tuple[int, ...], least: int) -> bool:
        return all(any(item >= max(value, least) for item in some) for value in needed)

    def shows(some: tuple[int, ...]) -> Reproducer[tuple[int, ...], None] | None:
        tried.append(list(some))
        if not covers(some, 0) or (is_even_kept and (len(some) - len(items)) % 2):
            return None
        if number % 3 == 0 and covers(some, 1) and not is_even_kept:
            some = tuple(item for place, item in enumerate(some) if item >= 1 or not place)
        return Reproducer(some, None)

    shown = shrink_items(
        items, shows, lambda item: iter(range(item)), tries=5000 if number % 4 else 13
    )
    least = items if shown is None else list(shown.value)
    digest = hashlib.sha256(json.dumps(tried, sort_keys=True).encode()).hexdigest()[:12]
    return [digest, len(tried), least]
