"""Worlds that a change reaches are explored anew, and no others: a stale result can't be found."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from fencepost.model.classic.cells import when
from fencepost.model.classic.vocabulary import GroupState
from fencepost.model.revision import Revision, SetRule, derive
from fencepost.model.revisions.base import KAFKA_4, RULES
from fencepost.model.revisions.revisions import find
from fencepost.model.table.expr import all_of
from fencepost.model.table.table import Level
from fencepost.properties.checking import checking, world_cache
from fencepost.properties.checking.checking import (
    CheckBudget,
    PropertyStatus,
    check_promises,
    check_revision,
)
from fencepost.properties.checking.world_cache import WorldCache, code_digest, rule_digest
from fencepost.properties.claims.property_registry import PROPERTIES
from fencepost.properties.explorer.explorer import explore
from fencepost.properties.worlds.scope import NamedScope, Scope

JOINS = NamedScope("joins", "a process joins", Scope(clients=1, acts=("join",)))
BEATS = NamedScope("beats", "it beats", Scope(clients=1, acts=("join", "sync", "heartbeat")))
BOTH = (JOINS, BEATS)
Explored = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def settled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of this checkout may be new."""
    monkeypatch.setattr(world_cache, "_RECENT_S", -1e12)


@pytest.fixture
def explored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Explored:
    """Returns a function that checks with a cache, and returns the scopes that were explored."""
    names = {named.scope: named.name for named in BOTH}
    done: list[str] = []

    def noted(system: Any, *arguments: Any, **options: Any) -> Any:
        done.append(names.get(system.scope, "another"))
        return explore(system, *arguments, **options)

    monkeypatch.setattr(checking, "explore", noted)

    def run(revision: Revision = KAFKA_4, own: str = "", **options: Any) -> list[str]:
        done.clear()
        cache = WorldCache(tmp_path, own)
        check_revision(revision, **{"questions": BOTH, "cache": cache, **options})
        return list(done)

    return run


def changed(rule_id: str, table: str, **changes: Any) -> Revision:
    difference = SetRule(table, RULES[rule_id].but(**changes), "x")
    return derive(KAFKA_4, "own", "own", (difference,))


def test_a_second_check_explores_nothing_and_says_the_same(
    explored: Explored, tmp_path: Path
) -> None:
    assert explored() == ["joins", "beats"]
    assert explored() == []
    cache = WorldCache(tmp_path)
    one, two = (check_revision(KAFKA_4, questions=BOTH, cache=c) for c in (cache, None))
    assert [(r.property.id, r.finding) for r in one.results] == [
        (r.property.id, r.finding) for r in two.results
    ]


def test_a_changed_row_is_explored_where_it_decides(explored: Explored) -> None:
    assert explored(changed("HEARTBEAT-STABLE", "Heartbeat"), own="f") == ["joins", "beats"]
    row = changed("HEARTBEAT-STABLE", "Heartbeat", because="ours")
    assert explored(row, own="f") == ["beats"]
    assert explored(row, own="f") == []
    assert explored(changed("HEARTBEAT-STABLE", "Heartbeat"), own="f") == []


def test_any_field_of_a_row_counts_but_its_guard() -> None:
    rule = RULES["HEARTBEAT-STABLE"]
    other = RULES["JOIN-DYNAMIC-EMPTY"]
    changes = {each.name: getattr(other, each.name) for each in fields(rule)}
    changes |= {"level": Level.MAY, "defensive": "x"}
    digests = {name: rule_digest(rule.but(**{name: value})) for name, value in changes.items()}
    assert {name for name, digest in digests.items() if digest == rule_digest(rule)} == {"guard"}


def test_a_guard_counts_by_its_decisions(explored: Explored) -> None:
    rule = RULES["HEARTBEAT-STABLE"]
    explored(changed(rule.id, "Heartbeat"), own="f")
    alike = all_of(rule.guard, when(state=GroupState.STABLE))
    assert explored(changed(rule.id, "Heartbeat", guard=alike), own="f") == []


def test_other_things_that_count_miss(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    all_ = ["joins", "beats"]
    explored(own="f")
    assert explored(own="f") == []
    assert explored(own="another file or property function") == all_
    assert explored(replace(KAFKA_4, target_size=1), own="f") == all_
    assert explored(replace(KAFKA_4, name="kafka-3.9", ancestors=("kafka-4",)), own="f") == all_
    assert explored(own="f", properties=[PROPERTIES["leader-is-member"]]) == all_
    wide = (replace(JOINS, scope=Scope(clients=2, acts=("join",))), BEATS)
    assert explored(own="f", questions=wide) == ["another"]
    monkeypatch.setattr(world_cache, "code_digest", lambda: "a changed fencepost")
    assert explored(own="f") == all_


def test_what_is_not_known_in_full_is_not_cached(explored: Explored) -> None:
    mutant = find("mutant:kafka-10284")
    for _ in range(2):
        assert explored(mutant, questions=(JOINS,)) == ["joins"]
        assert explored(derive(KAFKA_4, "own", "own", ())) == ["joins", "beats"], "without a file"
        assert explored(budget=CheckBudget(max_states=10**6)) == ["joins", "beats"]


def test_a_damaged_file_counts_as_none(explored: Explored, tmp_path: Path) -> None:
    explored()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    for damage in (b"", b"x", files[0].read_bytes()[:-1], b"0" * 64 + b"x"):
        for path in files:
            path.write_bytes(damage)
        assert explored() == ["joins", "beats"]
        assert explored() == []


def test_a_folder_that_cant_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    cache = WorldCache(blocked)
    assert check_revision(KAFKA_4, questions=(JOINS,), cache=cache).results


def test_promises_are_cached_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scopes = (NamedScope("alone", "", Scope(clients=1, acts=("join", "sync", "tick"))),)
    first = check_promises(KAFKA_4, scopes=scopes, cache=WorldCache(tmp_path))
    monkeypatch.setattr(checking, "find_broken_promises", None)
    again = check_promises(KAFKA_4, scopes=scopes, cache=WorldCache(tmp_path))
    assert [(k.promise.id, k.finding) for k in first] == [(k.promise.id, k.finding) for k in again]
    assert PropertyStatus.HOLDS in {k.finding for k in again}


def test_the_code_is_all_of_model_and_properties(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "rule.py").write_text("A = 1")

    class Package:
        __path__ = (str(package),)

    monkeypatch.setattr(world_cache, "properties", Package)
    one = code_digest()
    (package / "rule.py").write_text("A = 2")
    two = code_digest()
    (package / "more.json").write_text("{}")
    assert len({one, two, code_digest()}) == 3
    monkeypatch.setattr(world_cache, "_RECENT_S", 60.0)
    assert code_digest() == "", "what was changed a moment ago may not be what runs"
    for path in package.iterdir():
        os.utime(path, (0, 0))
    monkeypatch.setattr(world_cache, "model", Package)
    assert code_digest()
